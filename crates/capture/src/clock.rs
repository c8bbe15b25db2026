//! Steps of the capture's clock: they are recognised, and the times after them corrected.
//!
//! A clock that is set while a connection runs falsifies every round trip and every pause that contains the step.
//! A step back shows itself where packets whose order is certain have times in the other order: one side's
//! progress (its numbers and time stamps never fall), and an acknowledgement after the data it acknowledges.
//! Packets that were only written late are in order by their numbers, so sorting them is enough. A step of any
//! kind shows itself in the time stamps of both ends: the capture's clock gains or loses the same amount against
//! both of them, between the same packets, and keeps it. A pause stops neither clock; queueing, a change of route
//! and a host that sleeps move only one of the two.
//!
//! A step divides the packets into epochs. The times of each epoch are moved by the steps before it. As their size
//! is known no better than the pause at the step, no sample spans two epochs.

use std::ops::{Range, RangeInclusive};

use firstflight_contract::Nanos;

use crate::flows::{Epoch, Flow, Packet};
use crate::packet::Flags;
use crate::side::Side;
use crate::stamps::{TICKS, since, tick_like, ticks};

/// Maximum number of steps. A clock that steps more often is no clock: the packets after the last step are left
/// out, with a warning.
pub(crate) const MAX_STEPS: usize = 1000;

/// Smallest step. Several processors stamp packets of one direction less exactly than this.
const LEAST: Nanos = Nanos::from_micros(100);
/// Smallest step against time stamps, however short their tick: hosts are late by this much now and then.
const LEAST_BY_STAMPS: Nanos = Nanos::from_millis(1);
/// Packets of a side before and after a step that show whether it lasts.
const WINDOW: usize = 8;
/// Latest time that a corrected packet may have; the reader has no later ones either.
const LATEST: Nanos = Nanos(u64::MAX / 2);
/// Packets of a side before and after a step that measure it.
const MEASURED: usize = 64;
/// Connections that measure a step.
const MEASURING: usize = 8;

/// A step of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Number of the first packet after it.
    first: u32,
    /// Change of the clock, nanoseconds; negative is back.
    by: i128,
    /// Whether time stamps measure the change; otherwise it is at least this large.
    measured: bool,
    /// Times of the packet before it and of the first packet of the capture, as captured.
    at: Nanos,
    start: Nanos,
}

impl Step {
    /// A step of a clock of which only this is known: the times at both of its ends, of which the second is that of the packet `first`, and the times
    /// of the latest packet before it and of the first packet, nanoseconds.
    pub(crate) fn between(first: u32, (from, to): (i64, i64), (at, start): (i64, i64)) -> Self {
        let by = i128::from(to) - i128::from(from);
        let since = at.saturating_sub(start).max(0).cast_unsigned();
        Self { first, by, measured: by > 0, at: Nanos(since), start: Nanos::ZERO }
    }
}

/// Moves the times of the packets, which are in the order of the file, by the steps of the clock, and numbers
/// their epochs. Returns the steps.
pub(crate) fn mend(flows: &mut [Flow]) -> Vec<Step> {
    let paces: Vec<[Option<Pace>; 2]> = flows.iter().map(paces).collect();
    let mut signs = Vec::new();
    for (index, flow) in flows.iter().enumerate() {
        signs_of_order(flow, index, &mut signs);
        signs_of_stamps(flow, index, paces[index], &mut signs);
    }
    if signs.is_empty() {
        return Vec::new();
    }
    let steps = located(signs, &Order::of(flows), |place, epochs| {
        let change = |&flow: &usize| change(&flows[flow], paces[flow], epochs);
        place.flows.iter().filter_map(change).min().map(|(_, by)| by)
    });
    let end = steps.get(MAX_STEPS).map_or(u32::MAX, |step| step.first);
    for flow in flows {
        flow.packets.truncate(flow.packets.partition_point(|packet| packet.number < end));
        correct(&mut flow.packets, &steps);
    }
    steps
}

/// Moves the times of packets, in the order of the file, by the steps before them.
fn correct(packets: &mut [Packet], steps: &[Step]) {
    let (mut passed, mut moved, mut steps) = (0_u16, 0, steps.iter().peekable());
    for packet in packets {
        while let Some(step) = steps.next_if(|step| step.first <= packet.number) {
            passed = passed.saturating_add(1);
            moved -= step.by;
        }
        packet.epoch = packet.epoch.saturating_add(passed);
        packet.at = Nanos((i128::from(packet.at.0) + moved).clamp(0, i128::from(LATEST.0)) as u64);
    }
}

/// Warning about steps of a clock, as the reader knows it.
pub(crate) fn warning(clock: &str, steps: &[Step]) -> Option<String> {
    const NAMED: usize = 3;
    let name = |step: &Step| {
        let way = if step.by < 0 { "back" } else { "forward" };
        let least = if step.measured { "" } else { "at least " };
        let size = step.by.unsigned_abs() as f64 / 1e6;
        let at = (step.at.0 as f64 - step.start.0 as f64) / 1e9;
        format!("{way} by {least}{size:.1} ms at {at:.3} s")
    };
    let named = steps.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    let more = match steps.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (times, rest) = match steps.len() {
        1 => ("once".into(), String::new()),
        times if times <= MAX_STEPS => (format!("{times} times"), String::new()),
        _ => (
            format!("more than {MAX_STEPS} times"),
            format!("; the packets after the first {MAX_STEPS} steps are left out"),
        ),
    };
    (!steps.is_empty()).then(|| {
        format!(
            "{clock} was set {times} while connections ran ({named}{more}): later times are corrected, and \
             no round trip or pause that contains a step is used{rest}"
        )
    })
}

/// A sign of a step between two packets: after number `from`, and not after number `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    from: u32,
    to: u32,
    back: bool,
    flow: usize,
}

/// Part of the file that contains one step.
struct Gap {
    from: u32,
    to: u32,
    back: bool,
    /// Connections with a sign of it.
    flows: Vec<usize>,
}

/// A packet with the highest numbers that it reports.
#[derive(Clone, Copy)]
struct Progress<'a> {
    packet: &'a Packet,
    /// End of the peer's data that has arrived, cumulatively or selectively.
    arrived: u64,
}

impl<'a> Progress<'a> {
    fn of(flow: &Flow, packet: &'a Packet) -> Self {
        let selective = flow.sacks(packet).iter().map(|(_, end)| *end).max();
        Self { packet, arrived: selective.map_or(packet.ack, |end| end.max(packet.ack)) }
    }

    /// Whether it was sent after `last`, a packet of the same side: its time stamp or one of its numbers is higher,
    /// and none is lower.
    fn follows(&self, last: &Self) -> bool {
        let stamps = last.packet.timestamps.zip(self.packet.timestamps);
        match stamps.map_or(0, |((before, _), (after, _))| ticks(before, after)) {
            0 => {
                let [(end, arrived), (then, arrived_then)] =
                    [last, self].map(|one| (one.packet.end(), one.arrived));
                (then >= end && arrived_then > arrived) || (then > end && arrived_then >= arrived)
            }
            later => later > 0,
        }
    }
}

/// Signs of steps back: packets of a connection whose order is certain, and whose times are in the other order.
fn signs_of_order(flow: &Flow, index: usize, signs: &mut Vec<Sign>) {
    let mut latest: [Option<Progress<'_>>; 2] = [None; 2];
    // packet with the latest new data
    let mut newest: [Option<&Packet>; 2] = [None; 2];
    for packet in &flow.packets {
        let (own, peer) = (packet.side as usize, packet.side.other() as usize);
        let progress = Progress::of(flow, packet);
        let after_own = latest[own].filter(|last| progress.follows(last)).map(|last| last.packet);
        let after_peer = newest[peer].filter(|last| packet.flags.has(Flags::ACK) && packet.ack >= last.end());
        for before in [after_own, after_peer].into_iter().flatten() {
            if before.at.saturating_sub(packet.at) >= LEAST {
                signs.push(Sign { from: before.number, to: packet.number, back: true, flow: index });
            }
        }
        if latest[own].is_none() || after_own.is_some() {
            latest[own] = Some(progress);
        }
        if newest[own].is_none_or(|last| packet.end() > last.end()) {
            newest[own] = Some(packet);
        }
    }
}

/// Time that the capture's clock lost against the time stamps of the side that sent both packets; zero if it is too
/// little for a step.
pub(crate) fn lost_between(flow: &Flow, before: &Packet, after: &Packet) -> Nanos {
    let pace = paces(flow)[before.side as usize];
    let (Some(pace), Some(from), Some(to)) = (pace, Stamped::of(before), Stamped::of(after)) else {
        return Nanos::ZERO;
    };
    if pace.is_jump(&from, &to, least_jump(pace, pace)) {
        Nanos(u64::try_from(-pace.gain(&from, &to)).unwrap_or(0))
    } else {
        Nanos::ZERO
    }
}

/// Smallest jump, nanoseconds, that half of it is more than the ticks of both clocks hide.
fn least_jump(one: Pace, other: Pace) -> i128 {
    i128::from(LEAST_BY_STAMPS.0.max(2 * (one.tick.0 + other.tick.0)))
}

/// Gives packets with this flag an epoch of their own, so that no sample spans from them to others.
pub(crate) fn set_apart(flow: &mut Flow, flag: u16) {
    flow.packets
        .iter_mut()
        .filter(|packet| packet.flags.has(flag))
        .for_each(|packet| packet.epoch = Epoch::MAX);
}

/// A packet with a time stamp.
#[derive(Clone, Copy)]
struct Stamped {
    number: u32,
    at: Nanos,
    stamp: u32,
}

impl Stamped {
    fn of(packet: &Packet) -> Option<Self> {
        let (stamp, _) = packet.timestamps?;
        Some(Self { number: packet.number, at: packet.at, stamp })
    }
}

fn stamped(packets: &[Packet], side: Side) -> impl DoubleEndedIterator<Item = Stamped> {
    packets.iter().filter(move |packet| packet.side == side).filter_map(Stamped::of)
}

/// Clock behind the time stamps of a side.
#[derive(Clone, Copy)]
struct Pace {
    tick: Nanos,
    /// Share by which the ticks seem longer or shorter than nominal; more than [`EXACT`] is queueing.
    off: f64,
}

/// Part of a connection, from one packet of a side to a later one.
struct Part {
    /// Nanoseconds by the capture's clock.
    time: i128,
    /// The same by the time stamps.
    ticks: i128,
}

impl Part {
    /// Parts of at least this number of ticks.
    const TICKS: i32 = 8;

    fn all(packets: &[Packet], side: Side) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut packets = stamped(packets, side);
        let Some(mut from) = packets.next() else { return parts };
        for packet in packets {
            let ticks = ticks(from.stamp, packet.stamp);
            if ticks >= Self::TICKS {
                let time = i128::from(packet.at.0) - i128::from(from.at.0);
                parts.push(Self { time, ticks: ticks.into() });
                from = packet;
            }
        }
        parts
    }

    /// Whether a clock with this tick counted these ticks, up to one at either end.
    fn fits(&self, tick: Nanos) -> bool {
        (self.time - self.ticks * i128::from(tick.0)).abs() <= 2 * i128::from(tick.0)
    }
}

/// A clock within this share of its nominal rate is surely that clock.
const EXACT: f64 = 0.02;

/// Clocks of both sides, if one of them is exact: queueing may distort the other.
fn paces(flow: &Flow) -> [Option<Pace>; 2] {
    let paces = [Side::First, Side::Second].map(|side| Pace::of(&flow.packets, side));
    if paces.iter().flatten().any(|pace| pace.off <= EXACT) { paces } else { [None; 2] }
}

impl Pace {
    /// The clock that fits most parts of the connection; a part with a step of the capture's clock does not fit. If
    /// queueing distorts most parts, it is the one like their median.
    fn of(packets: &[Packet], side: Side) -> Option<Self> {
        const FEWEST_PARTS: usize = 3;
        let parts = Part::all(packets, side);
        if parts.len() < FEWEST_PARTS {
            return None;
        }
        let fitting = |tick: Nanos| parts.iter().filter(move |part| part.fits(tick));
        let best = TICKS.into_iter().max_by_key(|tick| fitting(*tick).count())?;
        if 2 * fitting(best).count() > parts.len() {
            let (time, ticks) =
                fitting(best).fold((0, 0), |(time, ticks), part| (time + part.time, ticks + part.ticks));
            return Some(Self {
                tick: best,
                off: (time as f64 / (ticks * i128::from(best.0)) as f64 - 1.0).abs(),
            });
        }
        let mut paces: Vec<f64> = parts.iter().map(|part| part.time as f64 / part.ticks as f64).collect();
        paces.sort_by(f64::total_cmp);
        let pace = paces[paces.len() / 2];
        let tick = tick_like(pace)?;
        Some(Self { tick, off: (pace / tick.0 as f64 - 1.0).abs() })
    }

    /// Time that the capture's clock gains over this one between two packets, nanoseconds.
    fn gain(&self, from: &Stamped, to: &Stamped) -> i128 {
        i128::from(to.at.0) - i128::from(from.at.0) - since(from.stamp, to.stamp, self.tick)
    }

    /// Whether the gain is at least `least` nanoseconds more than the drift of this clock.
    fn is_jump(&self, from: &Stamped, to: &Stamped, least: i128) -> bool {
        let drift = since(from.stamp, to.stamp, self.tick) as f64 * self.off.max(EXACT);
        self.gain(from, to).abs() >= least + drift.abs() as i128
    }
}

/// A jump of the capture's clock against the time stamps of one side, between two packets.
struct Jump {
    from: u32,
    to: u32,
    /// Nanoseconds.
    by: i128,
}

/// Signs of steps in the time stamps of both sides: the clock jumps against one, and against the other by about the
/// same.
fn signs_of_stamps(flow: &Flow, index: usize, paces: [Option<Pace>; 2], signs: &mut Vec<Sign>) {
    let [Some(one), Some(other)] = paces else { return };
    let packets = [Side::First, Side::Second].map(|side| stamped(&flow.packets, side).collect::<Vec<_>>());
    for (own, pace, peer, peer_pace) in
        [(&packets[0], one, &packets[1], other), (&packets[1], other, &packets[0], one)]
    {
        let jumps = jumps(own, pace, least_jump(one, other));
        for (at, jump) in jumps.iter().enumerate() {
            let begin = at.checked_sub(1).map_or(0, |before| jumps[before].to);
            let end = jumps.get(at + 1).map_or(u32::MAX, |next| next.from);
            if let Some((from, to)) = confirmed(jump, peer, peer_pace, begin..=end) {
                signs.push(Sign { from, to, back: jump.by < 0, flow: index });
            }
        }
    }
}

/// Part of the file that contains the step behind `jump`, if the other side, whose packets these are, jumps by about the
/// same. The jump is from one packet to the next, or from the fastest ones before to the fastest ones after. Queueing
/// changes with every packet. `span` has no other jump.
fn confirmed(jump: &Jump, packets: &[Stamped], pace: Pace, span: RangeInclusive<u32>) -> Option<(u32, u32)> {
    let first = packets.partition_point(|packet| packet.number <= jump.from).max(1);
    let nexts = (first..packets.len()).take_while(|&next| packets[next - 1].number < jump.to);
    let differs = |next: usize| {
        let (before, after) = packets.split_at(next);
        let least = |packets: &mut dyn Iterator<Item = &Stamped>| {
            let near = packets.take(MEASURED).take_while(|packet| span.contains(&packet.number));
            near.map(|packet| pace.gain(&after[0], packet)).min()
        };
        let fastest =
            least(&mut after.iter()).zip(least(&mut before.iter().rev())).map(|(late, early)| late - early);
        let adjacent = pace.gain(&packets[next - 1], &packets[next]);
        let differ = |by: i128| (by - jump.by).abs();
        fastest.map_or(differ(adjacent), |fastest| differ(fastest).min(differ(adjacent)))
    };
    let mut agreeing = nexts.filter(|&next| 2 * differs(next) <= jump.by.abs());
    let first = agreeing.next()?;
    let last = agreeing.last().unwrap_or(first);
    Some((jump.from.max(packets[first - 1].number), jump.to.min(packets[last].number)))
}

/// Jumps of the capture's clock against the time stamps of one side's packets that last at least until the next jump.
/// The delays before and after a jump vary by less than half of it.
fn jumps(packets: &[Stamped], pace: Pace, least: i128) -> Vec<Jump> {
    let is_jump = |next: usize| pace.is_jump(&packets[next - 1], &packets[next], least);
    let mut jumps = Vec::new();
    for next in (1..packets.len()).filter(|&next| is_jump(next)) {
        let (from, to) = (&packets[next - 1], &packets[next]);
        let (begin, end) = (next.saturating_sub(WINDOW), packets.len().min(next + WINDOW));
        let begin = (begin + 1..next).rev().find(|&at| is_jump(at)).unwrap_or(begin);
        let end = (next + 1..end).find(|&at| is_jump(at)).unwrap_or(end);
        let by = pace.gain(from, to);
        let varies = |range: Range<usize>| {
            let gains = || packets[range.clone()].iter().map(|packet| pace.gain(from, packet));
            gains().max().zip(gains().min()).map_or(0, |(most, least)| most - least)
        };
        let steady = |range: Range<usize>| range.len() > 1 && 2 * varies(range) < by.abs();
        if steady(begin..next) && steady(next..end) {
            jumps.push(Jump { from: from.number, to: to.number, by });
        }
    }
    jumps
}

/// Packets of the capture, by number: the order of the file.
struct Order(Vec<(u32, Nanos)>);

impl Order {
    fn of(flows: &[Flow]) -> Self {
        let packets = flows.iter().flat_map(|flow| &flow.packets);
        let mut order: Vec<_> = packets.map(|packet| (packet.number, packet.at)).collect();
        order.sort_unstable();
        Self(order)
    }

    /// The step in `place`: the clock goes furthest in its direction between two packets. The size assumes that no
    /// time passed between them.
    fn step(&self, gap: &Gap) -> Option<Step> {
        let from = self.0.partition_point(|(number, _)| *number < gap.from);
        let pairs = self.0[from..].windows(2).take_while(|pair| pair[1].0 <= gap.to);
        let change = |pair: &[(u32, Nanos)]| i128::from(pair[1].1.0) - i128::from(pair[0].1.0);
        let pair = pairs.max_by_key(|pair| if gap.back { -change(pair) } else { change(pair) })?;
        let start = self.0[0].1;
        Some(Step { first: pair[1].0, by: change(pair), measured: false, at: pair[0].1, start })
    }
}

/// Packets of two epochs, by number: from the first one to the step, and from there to before the last one.
type Epochs = (u32, u32, u32);

/// Steps that explain the signs, in the order of the file, at most one more than [`MAX_STEPS`]. `change` measures the
/// step in a gap by time stamps, in nanoseconds.
fn located(mut signs: Vec<Sign>, order: &Order, change: impl Fn(&Gap, Epochs) -> Option<i128>) -> Vec<Step> {
    let gaps = gaps(&mut signs);
    let mut found: Vec<(Step, &Gap)> = gaps.iter().filter_map(|gap| Some((order.step(gap)?, gap))).collect();
    found.sort_by_key(|(step, gap)| (step.first, !gap.back));
    found.dedup_by_key(|(step, _)| step.first);
    found.truncate(MAX_STEPS + 1);
    let first = |index: usize| found.get(index).map(|(step, _)| step.first);
    let sized = found.iter().enumerate().filter_map(|(index, (step, gap))| {
        let begin = index.checked_sub(1).and_then(first).unwrap_or(0);
        let end = first(index + 1).unwrap_or(u32::MAX);
        let way = |by: &i128| (*by < 0) == gap.back;
        match change(gap, (begin, step.first, end)).filter(way) {
            // no packet passed before the one ahead of it in the file
            Some(by) => Some(Step { by: by.min(step.by), measured: true, ..*step }),
            None => (step.by < 0 && gap.back).then_some(*step),
        }
    });
    sized.filter(|step| step.by.unsigned_abs() >= u128::from(LEAST.0)).collect()
}

/// Gaps of the fewest steps that explain the signs: each contains the end of the sign that ends first.
fn gaps(signs: &mut [Sign]) -> Vec<Gap> {
    signs.sort_by_key(|sign| (sign.back, sign.to));
    let mut gaps: Vec<Gap> = Vec::new();
    for &mut Sign { from, to, back, flow } in signs {
        match gaps.last_mut().filter(|gap| gap.back == back && from < gap.to) {
            Some(gap) => {
                gap.from = gap.from.max(from);
                if gap.flows.len() < MEASURING && !gap.flows.contains(&flow) {
                    gap.flows.push(flow);
                }
            }
            None => gaps.push(Gap { from, to, back, flows: vec![flow] }),
        }
    }
    gaps
}

/// Spread and size, in nanoseconds, of the change of the capture's clock against the time stamps of the side of
/// `flow` whose delays vary least.
fn change(flow: &Flow, paces: [Option<Pace>; 2], (begin, step, end): Epochs) -> Option<(i128, i128)> {
    let at = |number: u32| flow.packets.partition_point(|packet| packet.number < number);
    let (before, after) = (&flow.packets[at(begin)..at(step)], &flow.packets[at(step)..at(end)]);
    let of = |side: Side| {
        let pace = paces[side as usize]?;
        let first = stamped(after, side).next()?;
        let least = |packets: &mut dyn Iterator<Item = Stamped>| {
            let mut gains: Vec<i128> =
                packets.take(MEASURED).map(|packet| pace.gain(&first, &packet)).collect();
            gains.sort_unstable();
            Some((*gains.first()?, gains[gains.len() / 2]))
        };
        let (early, early_median) = least(&mut stamped(before, side).rev())?;
        let (late, late_median) = least(&mut stamped(after, side))?;
        Some(((early_median - early).max(late_median - late), late - early))
    };
    [Side::First, Side::Second].into_iter().filter_map(of).min()
}
