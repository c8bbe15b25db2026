//! A prefix: what is known of it, and the plan that is in force for it.
//!
//! 1. **Half jump.** The first plan goes half of the doublings from the stack's window to the target.
//! 2. **Whole jump.** After [`CONFIRM`] planned connections whose first window did not overflow, and while that of at most a
//!    third of the hosts overflowed last, the plan goes to the target, and follows it when it moves by an eighth.
//! 3. **Pace.** Where most hosts are measured to the limit, the first window leaves at the estimate in a round-trip time, as a
//!    jump of Careful Resume does (draft-ietf-tsvwg-careful-resume), and Jump Start's first window before it. The bottleneck's
//!    queue then grows by no more than the ten segments that Linux never paces. Elsewhere the path may take more than is known,
//!    and the window leaves at Linux's own pace, twice the window in a round-trip time.
//! 4. **Queue.** The plan is for handshakes with a round-trip time from half of the low end of the hosts' least ones to the high
//!    end and a queueing delay. With a longer one others fill the bottleneck's queue, and HyStart++ would end slow start
//!    (RFC 9406 section 4.2, whose bounds of the delay are taken): the connection starts as the stack starts it.
//! 5. **Overflow.** A window that is too large loses many of its segments; random losses take few. The evidence is the
//!    logarithm of the likelihood of what first windows lost, at [`WORSE`] times the path's own loss against the path's own
//!    ([`Entry::tried`]), summed over planned connections and never below zero (E. S. Page, "Continuous inspection schemes",
//!    Biometrika 41, 1954). The path's own loss is that of first windows without a plan, and within [`OWN`]. At [`PROOF`] the
//!    window is halved; without an overflow that takes a thousand connections or more. A deep queue holds a window that is too
//!    large, and the loss comes later. A planned connection that met the path's limit and delivered less than a third of its
//!    window in a round trip is proof by itself ([`SHORT`]), but for a host that is known to be as slow: the plan is that of
//!    most hosts. Further evidence counts only while the first window of more than a third of the hosts overflowed last. The
//!    window is not raised during the hold-down. The third halving ends the plan for the time of a freeze.
//! 6. **Harm.** The trial ends the plan for the time of a freeze.
//! 7. **Orders.** An order of the operator sets the window, whatever is known and lost; only harm ends it, too.

use core::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::connection::{Arm, Connection, Stage};
use crate::decision::{Decision, Misfit, Target, Why, WhyNot};
use crate::estimate::{Bound, Estimate, Hosts, PARTS, RTT_UNIT, Sample, Scope, Unfounded, founded};
use crate::plan::Plan;
use crate::settings::{Override, STOCK, Settings};
use crate::share::Remote;
use crate::stamp::Stamp;
use crate::trial::{Group, Trial, Verdict};

/// Planned connections without an overflow before the whole jump.
pub(crate) const CONFIRM: u8 = 4;
/// Planned connections without an overflow after which earlier halvings no longer count.
const FORGIVE: u8 = 32;
/// Bounds of the loss that a path may have by itself, of 65536: 1 % and 5 %. Below the lower one no path is known for certain
/// after some dozens of connections, and up to 2 % lost in a round trip is no sign of a full queue (BBRLossThresh of
/// draft-ietf-ccwg-bbr): [`WORSE`] times 1 % is as likely as 1 % at 2.2 %. The upper one is the most that clients can excuse.
const OWN: core::ops::RangeInclusive<u16> = 655..=3277;
/// Loss of a window that is too large, in losses of the path.
const WORSE: u64 = 4;
/// Thousandths of ln [`WORSE`].
const LOST: u64 = 1386;
/// Thousandths of ln 1000: the evidence is below it for a thousand connections, on average, if there is no overflow.
const PROOF: u64 = 6908;
/// Part of a first window, or of a shorter transfer, that its path delivers in a round trip at least. A paced window takes a
/// round-trip time to leave and one to be acknowledged, so that its rate is half of a window in a round trip even if no second
/// flight was measured.
const SHORT: u32 = 3;
/// Bounds of the queueing delay, an eighth of the round-trip time between them (RFC 9406, MIN_RTT_THRESH, MAX_RTT_THRESH,
/// MIN_RTT_DIVISOR).
const LEAST_QUEUE: Nanos = Nanos::from_millis(4);
const MOST_QUEUE: Nanos = Nanos::from_millis(16);
/// Segments over which the path's own loss is averaged: sixteen first windows of the stack.
const MEMORY: i64 = 160;
/// Bit of [`Entry::path`]; windows are below it.
const PACED: u16 = 0x8000;
/// Number of planned connections over which the first window is averaged.
const LATELY: i32 = 8;
/// Halvings that end a plan.
const STRIKES: u8 = 3;

/// A prefix.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    place: Place,
    hosts: Hosts,
    #[serde(with = "crate::trial::optional")]
    trial: Trial,
    /// Time of the newest report.
    pub seen: Stamp,
    /// End of the hold-down or freeze.
    until: Stamp,
    /// End of the plan in force.
    expires: Stamp,
    /// Window of the plan in force, segments; zero without a plan.
    window: u16,
    /// Threshold of the plan in force, segments; zero for none.
    ssthresh: u16,
    /// Round-trip times of the plan in force, units of 64 us.
    gate: (u16, u16),
    /// Segments that the path holds by the plan in force, and [`PACED`] if the first window leaves at the path's rate; zero without a
    /// plan.
    path: u16,
    /// Share of the plan's window that planned connections got of late, of 255; zero before the first.
    given: u8,
    /// Share of the segments of first windows without a plan that were lost, of 65536.
    loss: u16,
    /// Evidence against the window, thousandths.
    evidence: u16,
    strikes: u8,
    /// Planned connections without an overflow since the window changed.
    clean: u8,
    step: Step,
    rest: Rest,
    /// Whether connections are also counted for the parts of the prefix.
    pub split: bool,
}

/// A prefix in 17 bytes, of any alignment; a [`Prefix`] has 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Prefix", into = "Prefix")]
struct Place {
    first: [u8; 16],
    length: u8,
}

impl From<Prefix> for Place {
    fn from(prefix: Prefix) -> Self {
        let first = match prefix.first() {
            IpAddr::V4(first) => first.to_ipv6_mapped(),
            IpAddr::V6(first) => first,
        };
        Self { first: first.octets(), length: prefix.length() }
    }
}

impl From<Place> for Prefix {
    fn from(place: Place) -> Self {
        Self::around(IpAddr::from(place.first), place.length)
    }
}

/// Progress of the jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    Half,
    Whole,
}

/// Reason for which the window is not raised until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Rest {
    No,
    /// After a halving.
    HoldDown,
    /// No plan at all.
    Freeze,
}

/// Window and threshold that a policy wants, segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub window: u32,
    pub ssthresh: Option<u32>,
}

/// State of the gateway around a prefix.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub settings: &'a Settings,
    pub now: Stamp,
    /// Time until which no plan is made on this host.
    pub reverted: Option<Stamp>,
    /// Order of the operator for the prefix.
    pub order: Option<Override>,
    /// The policy, if it is not the estimate itself.
    pub wanted: Option<Wanted>,
    /// Whether the hosts of the prefix may be split if they disagree.
    pub may_split: bool,
}

impl Entry {
    pub(crate) fn new(prefix: Prefix, now: Stamp) -> Self {
        Self {
            place: prefix.into(),
            hosts: Hosts::default(),
            trial: Trial::default(),
            seen: now,
            until: now,
            expires: now,
            window: 0,
            ssthresh: 0,
            gate: (0, 0),
            path: 0,
            given: 0,
            loss: 0,
            evidence: 0,
            strikes: 0,
            clean: 0,
            step: Step::Half,
            rest: Rest::No,
            split: false,
        }
    }

    /// Its prefix.
    pub(crate) fn prefix(&self) -> Prefix {
        self.place.into()
    }

    /// Takes a connection of the host with this tag, and reviews the plan.
    pub(crate) fn note(
        &mut self,
        connection: &Connection,
        tag: u32,
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        self.seen = around.now;
        let sample = Sample::of(connection);
        let slow = sample.and_then(|sample| self.slow(connection, tag, sample));
        if let Some(sample) = sample {
            self.hosts.note(around.now, tag, sample, around.settings.half_life);
        }
        if connection.stage == Stage::Ended {
            self.ended(connection, (tag, slow), around, out);
        }
        self.review(around, out);
    }

    /// Measurement of another gateway with this tag: [`Hosts::heard`].
    pub(crate) fn heard(&self, tag: u32) -> Option<(u16, Stamp, u8, u16)> {
        self.hosts.heard(tag)
    }

    /// Takes an observation of another gateway with this tag, and reviews the plan.
    pub(crate) fn note_remote(
        &mut self,
        remote: &Remote,
        tag: u32,
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        let Remote { observation, age, weight } = remote;
        let rtt = u16::try_from(observation.rtt.div_ceil(RTT_UNIT)).unwrap_or(u16::MAX);
        let sample = Sample { parts: observation.window, bound: Bound::Lower, rtt };
        self.hosts.note_remote(around.now.before(*age), tag, sample, observation.samples, *weight);
        self.review(around, out);
    }

    /// The estimate of this gateway's own measurements, if it is founded.
    pub(crate) fn own_estimate(&self, settings: &Settings, now: Stamp) -> Option<Estimate> {
        let estimate = self.hosts.estimate(now, settings.half_life, Scope::Own)?;
        founded(&estimate, settings).ok().map(|()| estimate)
    }

    /// Whether the path of a planned connection delivered less than a third of its window: rule 5. `None` if not.
    fn slow(&self, connection: &Connection, tag: u32, sample: Sample) -> Option<Misfit> {
        let segments = connection.bytes / u64::from(connection.mss.max(1));
        let of = segments.min(connection.arm.window().into()) as u32;
        let short = |parts: u16| SHORT * u32::from(parts) < of * PARTS;
        let new = self.hosts.measured(tag).is_none_or(|known| !short(known));
        let slow = connection.arm.is_larger() && sample.bound == Bound::Exact && short(sample.parts);
        (slow && new).then_some(Misfit::Slow { delivered: sample.parts, of })
    }

    fn ended(
        &mut self,
        connection: &Connection,
        (tag, slow): (u32, Option<Misfit>),
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        let unit = Nanos::from_micros(1);
        let group = match connection.arm {
            Arm::Planned(window) => {
                self.give(window);
                if connection.arm.is_larger() {
                    self.tried(connection, (tag, slow), around, out);
                }
                Group::Planned
            }
            // Beside a plan, connections start so that met a queue: their losses are not the path's own.
            Arm::Stock => {
                if self.window == 0 {
                    self.unplanned_loss(connection);
                }
                return;
            }
            Arm::Holdout(_) => {
                self.unplanned_loss(connection);
                Group::Holdout
            }
        };
        if self.window == 0 || !connection.arm.is_compared() {
            return;
        }
        if let Some(harm) = self.trial.note(group, connection, unit, around.settings.false_alarm.0) {
            let until = around.now.after(around.settings.freeze);
            self.stop(WhyNot::Harm { harm, until: until.time() }, out);
            self.rest(Rest::Freeze, until);
            self.trial = Trial::default();
        }
    }

    /// Averages the first windows of planned connections, as shares of the plan's.
    fn give(&mut self, window: u32) {
        if self.window == 0 {
            return;
        }
        let share = (u64::from(window) * 255 / u64::from(self.window)).clamp(1, 255) as i32;
        let given = i32::from(self.given);
        // At least one step, so that the mean of equal shares is the share.
        let step = (share - given) / LATELY;
        let step = if step == 0 { (share - given).signum() } else { step };
        self.given = if given == 0 { share } else { given + step } as u8;
    }

    /// Averages the loss of first windows without a plan.
    fn unplanned_loss(&mut self, connection: &Connection) {
        let sent = i64::from(connection.first_window_sent());
        if sent > 0 {
            let share = i64::from(connection.first_window_lost()) * 65_535 / sent;
            let loss = i64::from(self.loss);
            self.loss = (loss + (share - loss) * sent / MEMORY) as u16;
        }
    }

    /// Counts the first window of a planned connection: rule 5. Lost segments are taken for independent, so that their number
    /// has nearly Poisson's distribution.
    fn tried(
        &mut self,
        connection: &Connection,
        (tag, slow): (u32, Option<Misfit>),
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        // It began before a halving, and says nothing of the window after it.
        if 2 * u64::from(connection.arm.window()) > 3 * u64::from(self.window) {
            return;
        }
        let own = u64::from(self.loss.clamp(*OWN.start(), *OWN.end()));
        let against = LOST * u64::from(connection.first_window_lost());
        let expected = (WORSE - 1) * 1000 * own * u64::from(connection.first_window_sent()) / 65_536;
        let overflow = slow.is_some() || against > expected;
        self.hosts.tried(tag, overflow);
        let proof = if slow.is_some() { PROOF } else { 0 };
        let evidence = (u64::from(self.evidence) + against).saturating_sub(expected).max(proof);
        self.evidence = evidence.min(2 * PROOF) as u16;
        if !overflow {
            self.clean = self.clean.saturating_add(1);
            if self.clean >= FORGIVE && self.step == Step::Whole && self.rest == Rest::No {
                self.strikes = 0;
            }
            return;
        }
        let free = around.order.is_none();
        if free && self.window > 0 && evidence >= PROOF && (self.strikes == 0 || self.many_overflow()) {
            self.strike(connection, slow, around, out);
        }
    }

    /// Whether the last planned first window of more than a third of the hosts overflowed.
    fn many_overflow(&self) -> bool {
        let (lost, tried) = self.hosts.losers();
        3 * lost > tried
    }

    fn strike(
        &mut self,
        connection: &Connection,
        slow: Option<Misfit>,
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        let Settings { hold_down, freeze, .. } = *around.settings;
        let (from, host) = (u32::from(self.window), connection.peer);
        let lost =
            Misfit::Lost { lost: connection.first_window_lost(), sent: connection.first_window_sent() };
        let misfit = slow.unwrap_or(lost);
        self.strikes += 1;
        (self.evidence, self.clean) = (0, 0);
        if self.strikes >= STRIKES {
            let until = around.now.after(freeze);
            self.stop(WhyNot::Frozen { host, until: until.time() }, out);
            self.rest(Rest::Freeze, until);
            self.trial = Trial::default();
            return;
        }
        let until = around.now.after(hold_down);
        self.rest(Rest::HoldDown, until);
        self.step = Step::Half;
        if from / 2 <= STOCK {
            self.stop(WhyNot::Halved { from, host, until: until.time() }, out);
            return;
        }
        // Linux's own pace is now that of the window before.
        (self.window, self.path) = ((from / 2) as u16, self.path & !PACED);
        self.set(Why::Halved { from, host, misfit, strikes: self.strikes, hold_down }, around, out);
    }

    fn rest(&mut self, rest: Rest, until: Stamp) {
        (self.rest, self.until) = (rest, until);
    }

    /// Brings the plan in line with what is known.
    pub(crate) fn review(&mut self, around: &Around<'_>, out: &mut Vec<Decision>) {
        if let Err(why) = self.reviewed(around, out) {
            self.stop(why, out);
        }
    }

    fn reviewed(&mut self, around: &Around<'_>, out: &mut Vec<Decision>) -> Result<(), WhyNot> {
        let now = around.now;
        if around.order == Some(Override::Off) {
            return Err(WhyNot::Operator);
        }
        if let Some(until) = around.reverted {
            return Err(WhyNot::HostReverted { until: until.time() });
        }
        let frozen = self.rest == Rest::Freeze && now < self.until;
        match around.order {
            Some(Override::Window(_)) if frozen => return Err(WhyNot::Waiting { until: self.until.time() }),
            Some(Override::Window(window)) => {
                let changed = u32::from(self.window) != window || self.gate != (0, u16::MAX);
                if changed || self.expires_soon(around) {
                    (self.window, self.gate) = (window as u16, (0, u16::MAX));
                    (self.ssthresh, self.path) = (0, (window as u16).min(PACED - 1));
                    self.set(Why::Operator, around, out);
                }
                return Ok(());
            }
            Some(Override::Freeze) if self.window == 0 => return Err(WhyNot::NothingFrozen),
            Some(Override::Freeze) => {
                if self.expires_soon(around) {
                    self.set(Why::Operator, around, out);
                }
                return Ok(());
            }
            Some(Override::Off) | None => {}
        }
        if self.rest != Rest::No && now >= self.until {
            if self.rest == Rest::Freeze {
                (self.strikes, self.evidence) = (0, 0);
                self.hosts.forget_tries();
            }
            self.rest = Rest::No;
        }
        if self.rest == Rest::Freeze || self.rest == Rest::HoldDown && self.window == 0 {
            return Err(WhyNot::Waiting { until: self.until.time() });
        }
        let target = self.target(around)?;
        let window = u32::from(self.window);
        let Target { window: goal, estimate } = target;
        let (next, why) = if window == 0 {
            (self.step, self.clean) = (Step::Half, 0);
            (half_jump(STOCK, goal), Why::HalfJump(target))
        } else if goal < window && (window - goal) * 8 >= window {
            (goal, Why::Follow { target, from: window })
        } else if self.rest != Rest::No || goal <= window {
            (window, Why::Renewed(target))
        } else if self.step == Step::Half && self.clean >= CONFIRM && !self.many_overflow() {
            self.step = Step::Whole;
            (goal, Why::WholeJump { target, clean: self.clean })
        } else if self.step == Step::Whole && (goal - window) * 8 >= window {
            (goal, Why::Follow { target, from: window })
        } else {
            (window, Why::Renewed(target))
        };
        let gate = gate(&estimate);
        // The upper end is to stay within about half of the queueing delay.
        let moved = |old: u16, new: u16, part| u32::from(old.abs_diff(new)) * part > u32::from(old);
        let other_gate = moved(self.gate.0, gate.0, 4) || moved(self.gate.1, gate.1, 16);
        let path = path(&estimate, next);
        let held = |path: u16| u32::from(path & !PACED);
        let other_path =
            held(self.path).abs_diff(held(path)) * 8 > held(self.path) || (self.path ^ path) & PACED != 0;
        if next == window && !other_gate && !other_path && !self.expires_soon(around) {
            return Ok(());
        }
        if next != window {
            self.clean = 0;
        }
        (self.window, self.gate, self.path) = (next as u16, gate, path);
        self.ssthresh = self.threshold(around, &estimate);
        self.set(why, around, out);
        Ok(())
    }

    /// Window to which the plan leads, from [`STOCK`] to the largest that is allowed.
    fn target(&mut self, around: &Around<'_>) -> Result<Target, WhyNot> {
        let estimate = self.estimate(around.settings, around.now)?;
        if estimate.disagree() {
            if around.may_split {
                self.split = true;
                return Err(WhyNot::Split(estimate));
            }
            return Err(WhyNot::Disagree(estimate));
        }
        if self.split {
            return Err(WhyNot::Split(estimate));
        }
        let wanted = around.wanted.map_or(estimate.segments(), |wanted| wanted.window);
        let target = Target { window: wanted.clamp(STOCK, around.settings.window), estimate };
        if target.window == STOCK && around.wanted.is_none_or(|wanted| wanted.ssthresh.is_none()) {
            return Err(WhyNot::NoGain(target));
        }
        Ok(target)
    }

    /// The estimate, if it is founded.
    fn estimate(&mut self, settings: &Settings, now: Stamp) -> Result<Estimate, WhyNot> {
        let found = self.hosts.estimate(now, settings.half_life, Scope::All);
        let none = Unfounded::Hosts { have: 0, need: settings.hosts };
        let estimate = found.ok_or(WhyNot::Unfounded(none))?;
        founded(&estimate, settings).map_err(|lack| {
            // Whether the hosts agree is asked anew when there are enough of them.
            self.split = false;
            WhyNot::Unfounded(lack)
        })?;
        Ok(estimate)
    }

    /// Threshold of the plan: that of the policy; for the estimate itself its median, if most hosts are measured to the
    /// limit. Zero for none.
    fn threshold(&self, around: &Around<'_>, estimate: &Estimate) -> u16 {
        if !around.settings.ssthresh {
            return 0;
        }
        let measured = || estimate.is_measured().then(|| estimate.segments());
        let threshold = around.wanted.map_or_else(measured, |wanted| wanted.ssthresh);
        threshold.map_or(0, |segments| segments.clamp(self.window.into(), u16::MAX.into()) as u16)
    }

    fn expires_soon(&self, around: &Around<'_>) -> bool {
        around.now.after(Nanos(around.settings.lifetime.0 / 2)) >= self.expires
    }

    fn set(&mut self, why: Why, around: &Around<'_>, out: &mut Vec<Decision>) {
        self.expires = around.now.after(around.settings.lifetime);
        out.extend(self.plan(around.settings).map(|plan| Decision::Set { plan, why }));
    }

    fn stop(&mut self, why: WhyNot, out: &mut Vec<Decision>) {
        if self.window > 0 {
            (self.window, self.ssthresh, self.path, self.given) = (0, 0, 0, 0);
            (self.clean, self.step) = (0, Step::Half);
            out.push(Decision::Remove { prefix: self.prefix(), why });
        }
    }

    /// Ends the plan and its trial, because the trial of the host showed harm.
    pub(crate) fn revert_with_host(&mut self, until: Nanos, out: &mut Vec<Decision>) {
        self.stop(WhyNot::HostReverted { until }, out);
        self.trial = Trial::default();
    }

    /// The plan in force.
    pub(crate) fn plan(&self, settings: &Settings) -> Option<Plan> {
        let time = |units: u16| Nanos(u64::from(units) * RTT_UNIT);
        (self.window > 0).then(|| Plan {
            prefix: self.prefix(),
            window: self.window.into(),
            ssthresh: (self.ssthresh > 0).then_some(self.ssthresh.into()),
            path: (self.path & !PACED).max(self.window).into(),
            paced: self.path & PACED != 0,
            rtt: (time(self.gate.0), if self.gate.1 == u16::MAX { Nanos::NEVER } else { time(self.gate.1) }),
            expires: self.expires.time(),
            holdout: settings.holdout,
        })
    }

    /// Reason why there is no plan; [`None`] if there is one.
    pub(crate) fn why_not(&self, around: &Around<'_>) -> Option<WhyNot> {
        if self.window > 0 {
            return None;
        }
        // The review of a copy, so that an explanation changes nothing.
        self.clone().reviewed(around, &mut vec![]).err()
    }

    /// The estimate, founded or not.
    pub(crate) fn estimated(&self, settings: &Settings, now: Stamp) -> Option<Estimate> {
        self.hosts.estimate(now, settings.half_life, Scope::All)
    }

    /// Hosts, strikes and the loss of first windows without a plan, of 65536.
    pub(crate) fn counters(&self) -> (usize, u8, u16) {
        (self.hosts.len(), self.strikes, self.loss)
    }

    /// First window that planned connections got of late, sixteenths of a segment.
    pub(crate) fn given(&self) -> Option<u16> {
        let parts = u32::from(self.window) * PARTS * u32::from(self.given) / 255;
        (self.given > 0).then_some(parts.min(u16::MAX.into()) as u16)
    }

    /// Results of the trial.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        (!self.trial.is_empty()).then(|| self.trial.verdict())
    }

    /// Whether nothing of it would be missed: no plan, no hold-down, and no sample with weight.
    pub(crate) fn is_worthless(&self, settings: &Settings, now: Stamp) -> bool {
        self.window == 0
            && (self.rest == Rest::No || now >= self.until)
            && self.hosts.estimate(now, settings.half_life, Scope::All).is_none()
    }

    /// Whether a plan is in force.
    pub(crate) fn is_planned(&self) -> bool {
        self.window > 0
    }

    /// Moves every time; see [`Stamp::moved`].
    pub(crate) fn moved(&mut self, from: Stamp, to: Stamp) {
        self.hosts.moved(from, to);
        for time in [&mut self.seen, &mut self.until, &mut self.expires] {
            *time = time.moved(from, to);
        }
    }

    /// Moves the times of the samples by this much into the past.
    pub(crate) fn aged(&mut self, now: Stamp, by: Nanos) {
        self.hosts.moved(now, now.before(by));
    }

    /// Whether its values are in their ranges, after a restore.
    pub(crate) fn is_sound(&self) -> bool {
        let threshold = self.ssthresh == 0 || self.ssthresh >= self.window;
        threshold
            && (self.path & !PACED) >= self.window.min(PACED - 1)
            && self.gate.0 <= self.gate.1
            && self.strikes <= STRIKES
            && self.hosts.is_sound()
            && self.trial.is_sound()
    }

    /// Holds a restored plan to the present settings. A window below the stack's own, which an order of an earlier version could
    /// have, is no plan.
    pub(crate) fn bound(&mut self, settings: &Settings) {
        if u32::from(self.window) < STOCK {
            self.stop(WhyNot::Forgotten, &mut vec![]);
            self.trial = Trial::default();
        }
        self.window = self.window.min(settings.window as u16);
        if !settings.ssthresh {
            self.ssthresh = 0;
        }
    }

    /// Reads all that a report needs; the result has no meaning.
    pub(crate) fn touch(&self) -> u32 {
        self.hosts.touch().wrapping_add(self.trial.touch())
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.hosts.bytes() + self.trial.bytes()
    }
}

/// Half of the doublings from `from` to `to` segments.
fn half_jump(from: u32, to: u32) -> u32 {
    if to <= from { to } else { (from * to).isqrt().max(from + 1) }
}

/// Segments that a path holds, and [`PACED`] if a first window leaves at that rate: rule 3. It does not where that is no slower than
/// Linux's own pace.
fn path(estimate: &Estimate, window: u32) -> u16 {
    let path = estimate.segments().max(window);
    let paced = estimate.is_measured() && path < 2 * window;
    path.min((PACED - 1).into()) as u16 | if paced { PACED } else { 0 }
}

/// Round-trip times of handshakes for which an estimate holds: rule 4.
fn gate(estimate: &Estimate) -> (u16, u16) {
    let units = |time: u64| u16::try_from(time / RTT_UNIT).unwrap_or(u16::MAX);
    let (Nanos(low), Nanos(high)) = estimate.rtt;
    let queue = (high / 8).clamp(LEAST_QUEUE.0, MOST_QUEUE.0);
    (units(low / 2), units(high.saturating_add(queue)))
}
