//! Random times of a run: starts, pauses and on-periods of traffic.

use firstflight_contract::Nanos;
use firstflight_random::Dist;
use firstflight_random::Stream;
use firstflight_scenario::{FlowGroup, Start, UdpSource, limits};

use super::room::{PERIOD, Room};
use crate::draw::draw;

/// Start times of a group's flows, in order: as many as it has, or all before `end`.
pub(super) fn starts(group: &FlowGroup, end: Nanos, seed: u64) -> Vec<Nanos> {
    let mut stream = Stream::named(seed, &format!("start {}", group.name));
    let mut clock = Nanos::ZERO;
    let start = |i: u64| match group.start {
        Start::At(at) => at,
        Start::Every(gap) => Nanos(gap.0.saturating_mul(i)),
        Start::Exponential(mean) => {
            clock = clock.saturating_add(draw(Dist::Exponential(mean), &mut stream));
            clock
        }
        Start::Uniform(from, until) => draw(Dist::Uniform(from, until), &mut stream),
    };
    match group.count {
        Some(count) => (0..count.into()).map(start).collect(),
        // One more than the limit, which is then refused.
        None => (0..=limits::FLOWS).map(start).take_while(|start| *start < end).collect(),
    }
}

/// On-periods of a source before `end`, as long as there is room.
pub(super) fn on_periods(
    source: &UdpSource,
    end: Nanos,
    stream: &mut Stream,
    room: &mut Room,
) -> Vec<(Nanos, Nanos)> {
    let Some(on_off) = source.on_off else {
        return Vec::from_iter((source.start < end).then_some((source.start, end)));
    };
    let mut periods = vec![];
    let mut at = source.start;
    while at < end && room.take(PERIOD) {
        let until = at.saturating_add(draw(on_off.on, stream).max(Nanos(1)));
        periods.push((at, until.min(end)));
        at = until.saturating_add(draw(on_off.off, stream).max(Nanos(1)));
    }
    periods
}

/// Idle times between the transfers of one connection.
pub(super) fn pauses(group: &FlowGroup, stream: &mut Stream) -> Vec<u64> {
    let Some(rounds) = group.rounds else { return vec![] };
    let longest = rounds.idle.saturating_add(rounds.jitter);
    (1..rounds.count).map(|_| draw(Dist::Uniform(rounds.idle, longest), stream).0).collect()
}
