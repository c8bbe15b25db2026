//! The gateway: reports in, decisions out.

use core::net::IpAddr;
use std::collections::BTreeSet;

use firstflight_contract::Nanos;
use firstflight_paths::{Destination, Prefix};

use crate::connection::{Arm, Connection, Stage};
use crate::decision::{Decision, WhyNot};
use crate::estimate::Estimate;
use crate::host::{Host, HostVerdict};
use crate::memory::Paths;
use crate::orders::Orders;
use crate::plan::Plan;
use crate::prefix::{Around, Entry};
use crate::settings::{Changed, Mode, Override, Policy, Settings};
use crate::share::{Observation, Remote};
use crate::stamp::Stamp;
use crate::state::Step;
use crate::table::{Table, WARM, hash, hash_name};
use crate::trial::{Group, Verdict};

/// Longest time by which a tick moves the clock: a later time is a fault of the clock.
const LONGEST_TICK: Nanos = Nanos::from_secs(86_400);
/// Longest time by which a report moves the clock.
const LONGEST_REPORT: Nanos = Nanos::from_secs(60);
/// Parts of the prefixes of which each tick reviews one.
const SWEEPS: usize = 16;
/// Least number of prefixes that a tick reviews.
const SWEEP: usize = 1024;
/// Prefixes of which the oldest makes room.
const CANDIDATES: usize = 16;

/// A gateway. The same settings, reports, ticks and orders give the same decisions on every machine.
#[derive(Clone, Debug)]
pub struct Gateway {
    pub(crate) knowledge: Knowledge,
    pub(crate) table: Table,
    /// Next prefix to be reviewed by a tick.
    pub(crate) cursor: usize,
    /// Step of a state that is being saved.
    pub(crate) saving: Step,
}

/// Everything but the prefixes.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge {
    pub settings: Settings,
    /// Time of the newest report or tick; it never runs backwards.
    pub clock: Nanos,
    pub paths: Option<Paths>,
    pub host: Host,
    orders: Orders,
}

impl Knowledge {
    fn around(&self, prefix: &Prefix) -> Around<'_> {
        let whole = is_whole(prefix, self.settings.bits);
        Around {
            settings: &self.settings,
            now: Stamp::of(self.clock),
            reverted: self.host.reverted(),
            order: self.orders.of(prefix),
            wanted: self.paths.as_ref().map(|paths| paths.wanted(prefix, self.clock)),
            may_split: whole && self.settings.split.is_some(),
        }
    }
}

impl Gateway {
    /// A gateway that knows nothing.
    pub fn new(settings: Settings) -> Self {
        let paths = match settings.policy {
            Policy::Measured => None,
            Policy::Shared(policy) => Some(Paths::new(policy, &settings)),
        };
        let table = Table::new(settings.secret);
        let orders = settings.overrides.iter().copied().collect();
        let knowledge = Knowledge { clock: Nanos::ZERO, paths, host: Host::default(), settings, orders };
        Self { knowledge, table, cursor: 0, saving: Step::Idle }
    }

    /// Its rules.
    pub fn settings(&self) -> &Settings {
        &self.knowledge.settings
    }

    /// Takes a connection and appends the decisions that follow. A time before the newest one counts as that one; a
    /// time more than a minute after it as a minute after it.
    pub fn report(&mut self, connection: &Connection, out: &mut Vec<Decision>) {
        self.advance(connection.at, LONGEST_REPORT);
        let begin = out.len();
        let connection =
            Connection { at: self.knowledge.clock, peer: connection.peer.to_canonical(), ..*connection };
        if let Some(paths) = &mut self.knowledge.paths {
            paths.report(&connection);
        }
        let peer = connection.peer;
        let tag = hash(self.knowledge.settings.secret, Destination::from(peer).0, 128) as u32;
        let prefix = self.prefix(peer);
        let at = self.entry(prefix, out);
        self.note(at, &connection, tag, out);
        if self.table.at(at).split
            && let Some(part) = self.part(peer)
        {
            let at = self.entry(part, out);
            self.note(at, &connection, tag, out);
        }
        self.judge(&connection, out);
        self.observe_only(begin, out);
    }

    /// Prepares for [`Gateway::report`] of these connections, one after the other: reads what is known of their prefixes into the
    /// cache, several at a time. It changes nothing, and is of use with many prefixes only. Give it a batch of at most
    /// [`Gateway::BATCH`] connections right before their reports.
    pub fn prepare(&self, connections: &[Connection]) {
        self.table.warm(connections.iter().map(|connection| self.prefix(connection.peer)));
    }

    /// Most connections that [`Gateway::prepare`] reads of.
    pub const BATCH: usize = WARM;

    /// Lets time pass and reviews some of the prefixes: all of them in sixteen ticks, or in one if they are at most 1024.
    /// A time before the newest one counts as that one; a time more than a day after it as a day after it.
    pub fn tick(&mut self, now: Nanos, out: &mut Vec<Decision>) {
        self.advance(now, LONGEST_TICK);
        let begin = out.len();
        if self.knowledge.host.resumes(Stamp::of(self.knowledge.clock)) {
            out.push(Decision::ResumeHost);
        }
        let turns = self.table.len().div_ceil(SWEEPS).max(SWEEP).min(self.table.len());
        self.turn(turns, out);
        self.observe_only(begin, out);
    }

    /// Lets time pass and reviews all prefixes, as sixteen ticks would.
    pub(crate) fn sweep(&mut self, now: Nanos) {
        self.advance(now, LONGEST_TICK);
        self.turn(self.table.len(), &mut vec![]);
    }

    /// Lets time pass and reviews the prefix of an address, and its part, as a tick would.
    pub(crate) fn refresh(&mut self, now: Nanos, address: IpAddr) {
        self.advance(now, LONGEST_TICK);
        let now = Stamp::of(self.knowledge.clock);
        for prefix in [Some(self.prefix(address)), self.part(address)].into_iter().flatten() {
            let Some(at) = self.table.find(&prefix) else { continue };
            if self.table.at(at).is_worthless(&self.knowledge.settings, now) {
                self.table.remove(at);
            } else {
                self.review(at, &mut vec![]);
            }
        }
    }

    /// Reviews the next `turns` prefixes.
    fn turn(&mut self, turns: usize, out: &mut Vec<Decision>) {
        for _ in 0..turns {
            if self.cursor >= self.table.len() {
                self.cursor = 0;
            }
            let at = self.cursor;
            if self.table.at(at).is_worthless(&self.knowledge.settings, Stamp::of(self.knowledge.clock)) {
                self.table.remove(at);
                if self.table.len() == 0 {
                    break;
                }
                continue;
            }
            self.review(at, out);
            self.cursor += 1;
        }
    }

    /// Takes an observation of another gateway and appends the decisions that follow.
    pub fn remote(&mut self, remote: &Remote, out: &mut Vec<Decision>) {
        let begin = out.len();
        let prefix = remote.observation.prefix;
        if !is_whole(&prefix, self.knowledge.settings.bits) {
            return;
        }
        let tag = hash_name(self.knowledge.settings.secret, &remote.observation.host) as u32;
        let at = self.entry(prefix, out);
        let around = self.knowledge.around(&prefix);
        self.table.change(at, |entry| entry.note_remote(remote, tag, &around, out));
        self.observe_only(begin, out);
    }

    /// Measurement of the named gateway for the prefix of an address, as far as it counts here.
    pub fn heard(&self, address: IpAddr, host: &str) -> Option<Heard> {
        let entry = self.table.find(&self.prefix(address)).map(|at| self.table.at(at))?;
        let tag = hash_name(self.knowledge.settings.secret, host) as u32;
        let (window, seen, samples, weight) = entry.heard(tag)?;
        Some(Heard { window, age: seen.age(Stamp::of(self.knowledge.clock)), samples, weight })
    }

    /// Own measurement of this gateway of a prefix, for other gateways; [`None`] without a founded estimate, or if the hosts of
    /// the prefix disagree. `host` is the name of this host, `wall` the seconds since 1970.
    pub fn observation(&self, prefix: &Prefix, host: &str, wall: u64) -> Option<Observation> {
        let Knowledge { settings, clock, .. } = &self.knowledge;
        let entry = self.table.find(prefix).map(|at| self.table.at(at))?;
        if !is_whole(prefix, settings.bits) {
            return None;
        }
        let now = Stamp::of(*clock);
        let estimate = entry.own_estimate(settings, now).filter(|estimate| !estimate.disagree())?;
        let Estimate { median, rtt, samples, .. } = estimate;
        // The time of its newest sample, not of this record: an old estimate does not become new by publishing.
        let at = wall.saturating_sub(entry.seen.age(now).0 / 1_000_000_000);
        Some(Observation::new(host, *prefix, median, rtt.0, samples, at))
    }

    /// [`Gateway::observation`] of every prefix, in no order.
    pub fn observations<'a>(&'a self, host: &'a str, wall: u64) -> impl Iterator<Item = Observation> + 'a {
        self.table.iter().filter_map(move |entry| self.observation(&entry.prefix(), host, wall))
    }

    /// Sets or ends an order of the operator, and appends the decisions that follow.
    pub fn order(&mut self, prefix: Prefix, order: Option<Override>, out: &mut Vec<Decision>) {
        let begin = out.len();
        self.knowledge.settings.overrides.retain(|(other, _)| *other != prefix);
        self.knowledge.settings.overrides.extend(order.map(|order| (prefix, order)));
        self.knowledge.orders.set(prefix, order);
        for at in self.within(&prefix) {
            self.review(at, out);
        }
        self.observe_only(begin, out);
    }

    /// Positions of the prefixes that this one contains. Those of a narrow one are looked up, rather than found among a million.
    fn within(&self, prefix: &Prefix) -> Vec<usize> {
        let Settings { bits, split, .. } = self.knowledge.settings;
        let first = prefix.first();
        let lengths = [Some(bits), split].into_iter().flatten().map(|bits| of_family(first, bits));
        let lengths: Vec<_> = lengths.filter(|length| *length >= prefix.length()).collect();
        let parts =
            |length: &u8| 1_usize.checked_shl((length - prefix.length()).into()).unwrap_or(usize::MAX);
        let all = lengths.iter().map(parts).fold(0, usize::saturating_add);
        if all >= self.table.len() {
            let inside = |at: &usize| prefix.contains(&self.table.at(*at).prefix());
            return (0..self.table.len()).filter(inside).collect();
        }
        let parts = lengths.iter().flat_map(|length| prefix.parts(*length));
        let mut found: Vec<_> = parts.filter_map(|part| self.table.find(&part)).collect();
        // In the order of the table, as a search through it finds them.
        found.sort_unstable();
        found
    }

    /// Takes the rules of `wanted` that may change while it runs, and answers with those that differed: see [`Settings::adopt`].
    pub fn adopt(&mut self, wanted: &Settings) -> Vec<Changed> {
        self.knowledge.settings.adopt(wanted)
    }

    /// Ages every sample, and nothing else: for a state whose age is not known.
    pub fn age_samples(&mut self, by: Nanos) {
        let now = Stamp::of(self.knowledge.clock);
        for at in 0..self.table.len() {
            self.table.change(at, |entry| entry.aged(now, by));
        }
    }

    /// Puts a restored gateway of the same settings in its place, but keeps its own orders; returns the old one.
    pub fn replace(&mut self, mut restored: Self) -> Self {
        restored.knowledge.settings.overrides.clone_from(&self.knowledge.settings.overrides);
        restored.knowledge.orders.clone_from(&self.knowledge.orders);
        std::mem::replace(self, restored)
    }

    /// The plans in force, in no order.
    pub fn plans(&self) -> impl Iterator<Item = Plan> {
        let plans = self.knowledge.settings.mode != Mode::Observe && self.knowledge.host.reverted().is_none();
        self.table.iter().filter(move |_| plans).filter_map(|entry| entry.plan(&self.knowledge.settings))
    }

    /// The order that counts for an address, with its prefix.
    pub fn ordered(&self, address: IpAddr) -> Option<(Prefix, Override)> {
        self.knowledge.orders.covering(&Prefix::around(address, 128))
    }

    /// The order that counts for a prefix.
    pub fn order_for(&self, prefix: &Prefix) -> Option<Override> {
        self.knowledge.orders.of(prefix)
    }

    /// The plan for an address: in the mode observe the one that would be.
    pub fn plan(&self, address: IpAddr) -> Option<Plan> {
        let found = |prefix: Prefix| self.table.find(&prefix).map(|at| self.table.at(at));
        let whole = found(self.prefix(address))?;
        let part = if whole.split { self.part(address).and_then(found) } else { None };
        part.unwrap_or(whole).plan(&self.knowledge.settings)
    }

    /// Measurements and plan for an address, with the reasons.
    pub fn explain(&self, address: IpAddr) -> Explanation {
        let now = Stamp::of(self.knowledge.clock);
        let found = |prefix: Prefix| self.table.find(&prefix).map(|at| self.table.at(at));
        let prefix = self.prefix(address);
        // An order may be for less than the prefix.
        let order = self.knowledge.orders.of(&Prefix::around(address, 128));
        let whole = found(prefix);
        let part = whole.filter(|entry| entry.split).and_then(|_| found(self.part(address)?));
        let Some(entry) = part.or(whole) else {
            // The kernel has an order without a plan.
            let why_not = match order {
                Some(Override::Off) => Some(WhyNot::Operator),
                Some(Override::Freeze) => Some(WhyNot::NothingFrozen),
                Some(Override::Window(_)) if self.knowledge.settings.mode == Mode::Enforce => None,
                Some(Override::Window(_)) | None => Some(WhyNot::Unknown),
            };
            return Explanation { order, why_not, ..Explanation::unknown(prefix, self.knowledge.clock) };
        };
        let around = self.knowledge.around(&entry.prefix());
        let (hosts, strikes, loss) = entry.counters();
        let plan = entry.plan(&self.knowledge.settings);
        let why_not = match (self.knowledge.settings.mode, entry.why_not(&around)) {
            (Mode::Observe, None) => Some(WhyNot::Observing),
            (_, None) if plan.is_none() => Some(WhyNot::Due),
            (_, why_not) => why_not,
        };
        Explanation {
            prefix: entry.prefix(),
            at: self.knowledge.clock,
            seen: Some(entry.seen.time()),
            hosts,
            estimate: entry.estimated(&self.knowledge.settings, now),
            order,
            plan,
            given: entry.given(),
            live: None,
            why_not,
            strikes,
            own_loss: f64::from(loss) / 65_536.0,
            trial: entry.verdict(),
        }
    }

    /// At most `limit` prefixes: those with a plan first, then those with the most hosts, then the latest reported.
    pub fn busiest(&self, limit: usize) -> Vec<Explanation> {
        let mut ranking = Ranking::new(limit);
        while !self.rank(&mut ranking, usize::MAX) {}
        self.ranked(ranking)
    }

    /// Ranks at most `most` further prefixes; answers whether those were the last ones. With a million prefixes, all of them take
    /// some tens of milliseconds.
    pub fn rank(&self, ranking: &mut Ranking, most: usize) -> bool {
        let from = ranking.next.min(self.table.len());
        ranking.next = from.saturating_add(most).min(self.table.len());
        for entry in self.table.span(from, ranking.next) {
            ranking.take(entry);
        }
        ranking.next == self.table.len()
    }

    /// The prefixes of a ranking.
    pub fn ranked(&self, ranking: Ranking) -> Vec<Explanation> {
        // One that moved in the table meanwhile may be there twice.
        let mut seen = BTreeSet::new();
        let prefixes = ranking.prefixes().filter(|prefix| seen.insert(*prefix));
        prefixes.map(|prefix| self.explain(prefix.first())).collect()
    }

    /// Results of the trial over all prefixes.
    pub fn verdict(&self) -> HostVerdict {
        self.knowledge.host.verdict()
    }

    /// Number of prefixes known.
    pub fn prefixes(&self) -> usize {
        self.table.len()
    }

    /// Number of plans in force.
    pub fn planned(&self) -> usize {
        self.table.planned()
    }

    /// Prefixes with a founded estimate, and those whose hosts disagree.
    pub(crate) fn judged(&self) -> (u64, u64) {
        let Knowledge { settings, clock, .. } = &self.knowledge;
        let whole = self.table.iter().filter(|entry| is_whole(&entry.prefix(), settings.bits));
        let estimates = whole.filter_map(|entry| entry.own_estimate(settings, Stamp::of(*clock)));
        let (mut prefixes, mut disagree) = (0, 0);
        for estimate in estimates {
            prefixes += 1;
            disagree += u64::from(estimate.disagree());
        }
        (prefixes, disagree)
    }

    /// Bytes of memory, without those of a shared memory of paths.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.table.bytes()
    }

    fn advance(&mut self, to: Nanos, most: Nanos) {
        let first = self.knowledge.clock == Nanos::ZERO;
        let most = if first { Nanos::NEVER } else { self.knowledge.clock.saturating_add(most) };
        self.knowledge.clock = to.clamp(self.knowledge.clock, most);
    }

    /// The prefix whose hosts share what is known with this address.
    pub fn prefix(&self, address: IpAddr) -> Prefix {
        Prefix::around(address, of_family(address, self.knowledge.settings.bits))
    }

    fn part(&self, address: IpAddr) -> Option<Prefix> {
        Some(Prefix::around(address, of_family(address, self.knowledge.settings.split?)))
    }

    fn note(&mut self, at: usize, connection: &Connection, tag: u32, out: &mut Vec<Decision>) {
        let around = self.knowledge.around(&self.table.at(at).prefix());
        self.table.change(at, |entry| entry.note(connection, tag, &around, out));
    }

    fn review(&mut self, at: usize, out: &mut Vec<Decision>) {
        let around = self.knowledge.around(&self.table.at(at).prefix());
        self.table.change(at, |entry| entry.review(&around, out));
    }

    /// Position of a prefix, which is added if there is none; a full table forgets another one first.
    fn entry(&mut self, prefix: Prefix, out: &mut Vec<Decision>) -> usize {
        if let Some(at) = self.table.find(&prefix) {
            return at;
        }
        if self.table.len() >= self.knowledge.settings.prefixes.max(2) as usize {
            self.forget_one(out);
        }
        self.table.insert(Entry::new(prefix, Stamp::of(self.knowledge.clock)))
    }

    /// Forgets the prefix that was reported longest ago among the next few, those without a plan first.
    fn forget_one(&mut self, out: &mut Vec<Decision>) {
        let len = self.table.len();
        let candidates = (0..CANDIDATES.min(len)).map(|step| (self.cursor + step) % len);
        let rank = |at: &usize| (self.table.at(*at).is_planned(), self.table.at(*at).seen, *at);
        let oldest = candidates.min_by_key(rank).expect("a full table has entries");
        self.cursor = (self.cursor + CANDIDATES) % len;
        let removed = self.table.remove(oldest);
        if removed.is_planned() {
            out.push(Decision::Remove { prefix: removed.prefix(), why: WhyNot::Forgotten });
        }
    }

    /// Takes the connection into the trial of all prefixes.
    fn judge(&mut self, connection: &Connection, out: &mut Vec<Decision>) {
        let group = match connection.arm {
            Arm::Planned(_) => Group::Planned,
            Arm::Holdout(_) => Group::Holdout,
            Arm::Stock => return,
        };
        if connection.stage != Stage::Ended || !connection.arm.is_compared() {
            return;
        }
        let until = Stamp::of(self.knowledge.clock).after(self.knowledge.settings.freeze);
        if let Some(harm) =
            self.knowledge.host.note(group, connection, self.knowledge.settings.false_alarm.1, until)
        {
            let until = until.time();
            // The first decision halts all plans at once; the others take them away.
            out.push(Decision::RevertHost { until, harm });
            (0..self.table.len())
                .for_each(|at| self.table.change(at, |entry| entry.revert_with_host(until, out)));
        }
    }

    /// In the mode observe there are no decisions.
    fn observe_only(&self, begin: usize, out: &mut Vec<Decision>) {
        if self.knowledge.settings.mode == Mode::Observe {
            out.truncate(begin);
        }
    }
}

/// The first prefixes of a table, as far as they were ranked.
#[derive(Clone, Debug)]
pub struct Ranking {
    limit: usize,
    /// Next position of the table.
    next: usize,
    /// The first ones, and further ones that came since the last cut.
    found: Vec<Rank>,
    /// Greatest rank that may still be among the first.
    bar: Option<Rank>,
}

/// Without a plan, hosts that are missing, and age as one number; prefix. The least comes first.
type Rank = (u64, Prefix);

/// Further prefixes between two cuts: a cut then costs some comparisons for each, in whatever order they come.
const FURTHER: usize = 1024;

impl Ranking {
    /// A ranking of at most `limit` prefixes.
    pub fn new(limit: usize) -> Self {
        Self { limit, next: 0, found: vec![], bar: None }
    }

    fn take(&mut self, entry: &Entry) {
        let missing = (u16::MAX as usize).saturating_sub(entry.counters().0) as u64;
        let rank =
            u64::from(!entry.is_planned()) << 63 | missing << 32 | u64::from(entry.seen.until_the_last());
        let rank = (rank, entry.prefix());
        if self.bar.is_some_and(|bar| rank > bar) {
            return;
        }
        self.found.push(rank);
        if self.found.len() >= self.limit.saturating_add(FURTHER) {
            self.cut();
        }
    }

    /// Leaves the first ones, in no order.
    fn cut(&mut self) {
        if self.limit == 0 {
            self.found.clear();
        } else if self.found.len() > self.limit {
            self.bar = Some(*self.found.select_nth_unstable(self.limit - 1).1);
            self.found.truncate(self.limit);
        }
    }

    /// The prefixes in their order.
    fn prefixes(mut self) -> impl Iterator<Item = Prefix> {
        self.cut();
        self.found.sort_unstable();
        self.found.into_iter().map(|(_, prefix)| prefix)
    }
}

/// Whether a prefix has the length of these settings, rather than that of a part.
pub(crate) fn is_whole(prefix: &Prefix, bits: (u8, u8)) -> bool {
    prefix.length() == of_family(prefix.first(), bits)
}

fn of_family(address: IpAddr, (v4, v6): (u8, u8)) -> u8 {
    if address.to_canonical().is_ipv4() { v4 } else { v6 }
}

/// Connections of a prefix at this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// Open connections.
    pub connections: u32,
    /// Segments that they have in flight, and those of planned first windows that are not sent yet.
    pub in_flight: u32,
}

/// Measurements for an address, and the reason why it has a plan or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The prefix whose plan counts for it.
    pub prefix: Prefix,
    /// Time of the explanation.
    pub at: Nanos,
    /// Time of the newest report; [`None`] if there was none.
    pub seen: Option<Nanos>,
    /// Hosts that are kept, however old.
    pub hosts: usize,
    /// The estimate with its parts; [`None`] without a host whose sample has weight.
    pub estimate: Option<Estimate>,
    /// Order of the operator.
    pub order: Option<Override>,
    /// The plan in force, or in the mode observe the one that would be.
    pub plan: Option<Plan>,
    /// First window that planned connections got of late, averaged, sixteenths of a segment: less than the plan's where other
    /// connections had data in flight. [`None`] if none ended since the plan began.
    pub given: Option<u16>,
    /// The kernel's counts of the prefix; [`None`] where it has none. The gateway itself counts nothing.
    pub live: Option<Live>,
    /// Reason why there is no plan.
    pub why_not: Option<WhyNot>,
    /// Halvings that still count.
    pub strikes: u8,
    /// Share of the segments of first windows that the path loses by itself, from connections without a plan.
    pub own_loss: f64,
    /// Planned connections against those held out.
    pub trial: Option<Verdict>,
}

/// Measurement of another gateway for a prefix, as far as it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Window that its path carries at least, sixteenths of a segment.
    pub window: u16,
    /// Age of its newest sample.
    pub age: Nanos,
    /// Samples that count.
    pub samples: u8,
    /// Weight, thousandths of an own host.
    pub weight: u16,
}

impl Explanation {
    fn unknown(prefix: Prefix, at: Nanos) -> Self {
        Self {
            prefix,
            at,
            seen: None,
            hosts: 0,
            estimate: None,
            order: None,
            plan: None,
            given: None,
            live: None,
            why_not: Some(WhyNot::Unknown),
            strikes: 0,
            own_loss: 0.0,
            trial: None,
        }
    }
}
