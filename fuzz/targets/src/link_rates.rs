//! Links of every rate against exact integers. A transmission ends at the first whole nanosecond that is not before its exact
//! end, which counts from the exact end of the packet before it. A link of one rate may be slower by a nanosecond and 2^-45 of
//! the time; it is never faster, so that no link carries more than its rate.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate, Sum};
use firstflight_net::link::{Link, Passage};
use firstflight_net::queue::Queue;
use firstflight_net::queue::drop_tail::DropTailPackets;
use firstflight_net::rate_trace::{RateTrace, TracePlayer};
use firstflight_scenario::limits;

use crate::draw::Draw;
use crate::{Form, Target};

pub(crate) const TARGET: Target = Target {
    name: "link_rates",
    about: "a link of 1 bit/s to 100 Tbit/s, or of several rates, and up to 64 packets: every end, every wait and the \
            bytes carried against exact integers",
    run,
    longest: 512,
    form: Form::Numbers,
};

/// Bits per byte times nanoseconds per second: the capacity that a byte needs, in bit/s times nanoseconds.
const PER_BYTE: u128 = 8_000_000_000;
/// Times of arrivals stay below this, nanoseconds.
const LATEST: u64 = limits::TIME.0;
const PACKETS: usize = 64;

/// The values of a link, drawn from the input.
impl Draw<'_> {
    /// A rate of any order of magnitude.
    fn rate(&mut self) -> u64 {
        let shift = u32::from(self.byte()) % 47;
        ((self.number(6) & ((1 << 47) - 1)) >> shift).clamp(1, limits::RATE.0)
    }

    fn size(&mut self) -> u32 {
        match self.byte() {
            few @ 0..64 => 40 + u32::from(few),
            64..128 => 1500,
            _ => (self.number(2) as u32).clamp(1, limits::PACKET as u32),
        }
    }

    /// Time between two arrivals where a full packet takes `packet`.
    fn gap(&mut self, packet: u64) -> u64 {
        match self.byte() {
            0..96 => 0,
            96..128 => self.number(1),
            128..224 => (u128::from(packet) * u128::from(self.number(1)) / 128) as u64,
            _ => self.number(6) >> (self.byte() % 48),
        }
    }
}

fn run(bytes: &[u8]) {
    let mut draw = Draw::of(bytes);
    let steps = match draw.byte() {
        0..192 => vec![(0, draw.rate())],
        more => changing(&mut draw, usize::from(more) % 7 + 2),
    };
    let rate = steps[steps.len() - 1].1;
    let delay = draw.number(4);
    let arrivals = arrivals(&mut draw, (1500 * PER_BYTE / u128::from(rate)) as u64);
    let exact = ends(&steps, &arrivals);
    let trace = RateTrace::rates(steps.clone());
    let mut player = TracePlayer::new(Arc::new(trace));
    for (&(now, size), &end) in arrivals.iter().zip(&exact) {
        assert_eq!(player.carry(now, size), end, "a trace of {steps:?}: {size} bytes at {now}");
    }
    for queue in [Queue::Unlimited, Queue::Packets(DropTailPackets { limit: PACKETS as u32 })] {
        let counts = !matches!(queue, Queue::Unlimited);
        let mut link = Link::new(Rate(rate), Nanos(delay), queue);
        if steps.len() > 1 {
            link = link.with_trace(TracePlayer::new(Arc::new(RateTrace::rates(steps.clone()))));
        }
        let mut waited = 0;
        for (&(now, size), &end) in arrivals.iter().zip(&exact) {
            waited += u128::from(link.free_at().saturating_sub(now));
            let passage = link.offer(now, size, false);
            let own = link.free_at();
            assert_eq!(passage, Passage::Arrives(own + delay), "{size} bytes at {now} over {steps:?}");
            let later = if steps.len() > 1 { 0 } else { 1 + (end >> 45) };
            assert!(
                (end..=end + later).contains(&own),
                "{own}, exactly {end}: {size} bytes at {now} over {steps:?}"
            );
        }
        let stats = link.stats_until(u64::MAX);
        assert_eq!(stats.packets, arrivals.len() as u64, "{steps:?}");
        assert_eq!(stats.bytes, arrivals.iter().map(|&(_, size)| u64::from(size)).sum::<u64>(), "{steps:?}");
        if counts || steps.len() > 1 {
            assert_eq!(stats.waiting_ns, sum(waited), "the waits over {steps:?}");
        }
    }
}

/// A sum of this value.
fn sum(value: u128) -> Sum {
    let mut sum = Sum::default();
    let mut left = value;
    while left > 0 {
        let part = left.min(u128::from(u64::MAX)) as u64;
        sum.add(part);
        left -= u128::from(part);
    }
    sum
}

/// Steps of a trace: rates from rising times; the last is above zero.
fn changing(draw: &mut Draw<'_>, count: usize) -> Vec<(u64, u64)> {
    let mut steps = vec![];
    let mut at = 0;
    for _ in 0..count {
        let rate = if draw.byte() < 32 { 0 } else { draw.rate() };
        steps.push((at, rate));
        at += 1 + (draw.number(6) >> (draw.byte() % 48));
    }
    steps.push((at, draw.rate()));
    steps
}

/// Times and sizes of packets, in order of time.
fn arrivals(draw: &mut Draw<'_>, packet: u64) -> Vec<(u64, u32)> {
    let mut now = 0_u64;
    let mut arrivals = vec![];
    while arrivals.len() < PACKETS && (!draw.is_empty() || arrivals.is_empty()) {
        now = (now + draw.gap(packet)).min(LATEST);
        arrivals.push((now, draw.size()));
    }
    arrivals
}

/// The ends of transmissions over a link without a limit. They are found in capacity: the integral of the rate over time, an
/// exact integer at whole nanoseconds. A packet uses the capacity that follows that of the packet before, or that of its
/// arrival on an idle link.
fn ends(steps: &[(u64, u64)], arrivals: &[(u64, u32)]) -> Vec<u64> {
    let (mut used, mut free_at) = (0, 0);
    let end = |&(now, size): &(u64, u32)| {
        if free_at <= now {
            used = capacity(steps, now);
        }
        used += u128::from(size) * PER_BYTE;
        free_at = first_time_with(steps, used);
        free_at
    };
    arrivals.iter().map(end).collect()
}

/// Capacity from time zero until `at`, in bit/s times nanoseconds.
fn capacity(steps: &[(u64, u64)], at: u64) -> u128 {
    let ends = steps.iter().skip(1).map(|step| step.0).chain([u64::MAX]);
    let held = steps.iter().zip(ends).take_while(|((from, _), _)| *from < at);
    held.map(|(&(from, rate), end)| u128::from(rate) * u128::from(end.min(at) - from)).sum()
}

/// The first whole nanosecond with this capacity before it.
fn first_time_with(steps: &[(u64, u64)], needed: u128) -> u64 {
    let last = steps.iter().rposition(|&(from, _)| capacity(steps, from) < needed).unwrap_or(0);
    let (from, rate) = steps[last];
    from + (needed - capacity(steps, from)).div_ceil(u128::from(rate)) as u64
}
