//! Recorded rates of a link: delivery opportunities, or rates that change at given times.
//!
//! In both forms the end of a transmission is known when the packet arrives. Time is whole nanoseconds, and
//! rounding errors do not accumulate.

use std::sync::Arc;

use firstflight_contract::{Rate, mul_add_div};

use crate::serialisation::{PER_BYTE, transmission};

/// Bytes of a delivery opportunity, and overhead per packet: mahimahi counts packets as its TUN device
/// delivers them, 4 bytes longer than the IP packet, and an opportunity carries the longest of them.
const OPPORTUNITY: u64 = 1504;
const TUN_HEADER: u64 = 4;

/// Recorded capacity of a link over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateTrace {
    /// Delivery opportunities, repeated for ever.
    Opportunities(Opportunities),
    /// Rates, each until the next.
    Rates(Rates),
}

/// Times of delivery opportunities, nanoseconds, in order. The sequence repeats, with the last time as its
/// period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    times: Vec<u64>,
}

/// Start time, nanoseconds, and rate, bit/s, of each step; the last rate holds for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    steps: Vec<(u64, u64)>,
}

impl RateTrace {
    /// Delivery opportunities at these times, nanoseconds.
    ///
    /// # Panics
    /// Panics if the times are not in order, or none lies above zero.
    pub fn opportunities(times: Vec<u64>) -> Self {
        assert!(
            times.is_sorted() && times.last() > Some(&0),
            "times of opportunities must be sorted and end above zero"
        );
        Self::Opportunities(Opportunities { times })
    }

    /// Rates in bit/s with the times, nanoseconds, from which they hold.
    ///
    /// # Panics
    /// Panics if the first rate does not hold from zero, the times do not ascend, or the last rate is zero.
    pub fn rates(steps: Vec<(u64, u64)>) -> Self {
        let rises = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(
            steps.first().is_some_and(|first| first.0 == 0) && rises,
            "times of rates must begin at zero and ascend"
        );
        assert!(steps.last().is_some_and(|last| last.1 > 0), "the last rate must be above zero");
        Self::Rates(Rates { steps })
    }

    /// Minimum time, nanoseconds, from the arrival of a packet of `size` bytes to the end of its
    /// transmission.
    pub fn least(&self, size: u32) -> u64 {
        match self {
            Self::Opportunities(_) => 1,
            Self::Rates(rates) => {
                let fastest = rates.steps.iter().map(|step| step.1).max().unwrap_or(1);
                transmission(Rate(fastest), size)
            }
        }
    }

    /// Share of the capacity by `end`, nanoseconds, that packets of together `bytes` took, from 0 to 1. The last of them has
    /// left by `end`.
    pub fn utilization(&self, packets: u64, bytes: u64, end: u64) -> f64 {
        let taken = match self {
            Self::Opportunities(_) => bytes + packets * TUN_HEADER,
            Self::Rates(_) => bytes,
        };
        taken as f64 / self.capacity(end).max(1) as f64
    }

    /// Bytes that could have been carried by `end`; those of opportunities include the overhead per packet.
    fn capacity(&self, end: u64) -> u64 {
        match self {
            Self::Opportunities(opportunities) => {
                let (cycle, index) = opportunities.after(end);
                (cycle * opportunities.times.len() as u64 + index as u64) * OPPORTUNITY
            }
            Self::Rates(rates) => {
                let until = |index: usize| rates.end(index).min(end);
                let held = rates.steps.iter().enumerate().filter(|(_, (from, _))| *from < end);
                let bytes = held.fold((0, 0), |(bytes, carry), (index, &(from, rate))| {
                    let (whole, rest) = mul_add_div(rate, until(index) - from, carry, PER_BYTE);
                    (bytes + whole, rest)
                });
                bytes.0
            }
        }
    }
}

impl Opportunities {
    fn period(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    /// First opportunity after `now`: its cycle and its index in the cycle. The period is the last time, so
    /// the cycle of `now` always has one.
    fn after(&self, now: u64) -> (u64, usize) {
        let (cycle, rest) = (now / self.period(), now % self.period());
        (cycle, self.times.partition_point(|&time| time <= rest))
    }
}

impl Rates {
    /// End of the rate step `index`, nanoseconds.
    fn end(&self, index: usize) -> u64 {
        self.steps.get(index + 1).map_or(u64::MAX, |next| next.0)
    }

    /// Index of the rate step at `now`.
    fn at(&self, now: u64) -> usize {
        self.steps.partition_point(|step| step.0 <= now) - 1
    }
}

/// Position of one link in a trace.
#[derive(Clone, Debug)]
pub struct TracePlayer {
    trace: Arc<RateTrace>,
    head: Head,
}

/// Progress of the last transmission.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    /// End of the last transmission, nanoseconds. Under opportunities, the time of the opportunity in use.
    at: u64,
    /// Cycle and index of the opportunity or rate step in force then.
    cycle: u64,
    index: usize,
    /// Capacity left at `at` for a packet that arrived earlier: bytes of the opportunity, or the unused part
    /// of the nanosecond that ends at `at`.
    left: u64,
}

impl TracePlayer {
    /// Starts at time zero of `trace`.
    pub fn new(trace: Arc<RateTrace>) -> Self {
        Self { trace, head: Head::default() }
    }

    /// End of the transmission of a packet of `size` bytes that arrives at `now`, no earlier than the
    /// previous packet. `u64::MAX` if it would be later: after 584 years.
    pub fn carry(&mut self, now: u64, size: u32) -> u64 {
        match &*self.trace {
            RateTrace::Opportunities(opportunities) => self.head.take_opportunities(opportunities, now, size),
            RateTrace::Rates(rates) => self.head.take_time(rates, now, size),
        }
        self.head.at
    }
}

impl Head {
    /// A packet leaves with the opportunity that carries its last byte. The rest of that opportunity serves
    /// only packets that were already waiting: a packet that arrives at the instant of an opportunity misses
    /// it.
    fn take_opportunities(&mut self, opportunities: &Opportunities, now: u64, size: u32) {
        if self.at <= now {
            (self.cycle, self.index) = opportunities.after(now);
            self.left = OPPORTUNITY;
        }
        let mut need = u64::from(size) + TUN_HEADER;
        while need > self.left {
            need -= self.left;
            self.left = OPPORTUNITY;
            self.index += 1;
            if self.index == opportunities.times.len() {
                (self.cycle, self.index) = (self.cycle + 1, 0);
            }
        }
        self.left -= need;
        let cycle = self.cycle.saturating_mul(opportunities.period());
        self.at = cycle.saturating_add(opportunities.times[self.index]);
    }

    /// A transmission ends at the first whole nanosecond by which the link can have carried the packet and
    /// all earlier packets of the same busy period.
    fn take_time(&mut self, rates: &Rates, now: u64, size: u32) {
        if self.at <= now {
            (self.at, self.index, self.left) = (now, rates.at(now), 0);
        }
        let need = u64::from(size) * PER_BYTE;
        let mut need = match self.left.checked_sub(need) {
            Some(left) => return self.left = left,
            None => need - self.left,
        };
        loop {
            let rate = rates.steps[self.index].1;
            let end = rates.end(self.index);
            let room = rate.saturating_mul(end - self.at);
            if need <= room {
                let time = need.div_ceil(rate);
                self.at += time;
                self.left = rate * time - need;
                return;
            }
            if end == u64::MAX {
                self.at = end;
                return;
            }
            need -= room;
            (self.at, self.index) = (end, self.index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn player(trace: RateTrace) -> TracePlayer {
        TracePlayer::new(Arc::new(trace))
    }

    fn opportunities(ms: &[u64]) -> TracePlayer {
        player(RateTrace::opportunities(ms.iter().map(|ms| ms * MS).collect()))
    }

    #[test]
    fn a_full_packet_takes_an_opportunity_and_a_packet_that_arrives_with_one_misses_it() {
        let mut tape = opportunities(&[2, 5, 10]);
        let ends = [(0, 1500), (1, 1500), (5 * MS, 1500), (10 * MS - 1, 1500)]
            .map(|(now, size)| tape.carry(now, size));
        // At 0: the opportunity at 2 ms. At 1 ns: that one is taken, so 5 ms. At 5 ms: that one is missed, so
        // 10 ms; the trace repeats from there, and the next packet leaves 2 ms later.
        assert_eq!(ends, [2 * MS, 5 * MS, 10 * MS, 12 * MS]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_a_large_one_takes_several() {
        // 1504 bytes: three packets of 496 + 4 bytes take 1500; the next packet takes the remaining 4 as the
        // first of its 500. The large packet, 3000 + 4 bytes, needs 1504 - 496 = 1008 of that opportunity,
        // all of the next (1504), and 492 of the third; the last packet, 100 + 4, fits in the rest.
        let mut tape = opportunities(&[1, 2, 3, 4, 5, 6]);
        let ends = [496, 496, 496, 496, 3000, 100].map(|size| tape.carry(0, size));
        assert_eq!(ends, [1, 1, 1, 2, 4, 4].map(|ms| ms * MS));
    }

    #[test]
    fn unused_capacity_of_an_opportunity_is_lost() {
        let mut tape = opportunities(&[1, 2, 3, 4]);
        assert_eq!(tape.carry(0, 100), MS);
        // 1400 bytes of the first opportunity were left, but this packet arrives too late for it.
        assert_eq!(tape.carry(MS, 100), 2 * MS);
        // At 10 ms, two and a half periods of 4 ms: the next opportunity is at 11 ms.
        assert_eq!(tape.carry(10 * MS, 1500), 11 * MS);
    }

    #[test]
    fn several_opportunities_may_coincide_also_where_the_trace_repeats() {
        // Times 0, 3, 3: at 3 ms two opportunities of the first cycle and the 0 of the second, three in all.
        let mut tape = opportunities(&[0, 3, 3]);
        let ends = [1500; 5].map(|size| tape.carry(0, size));
        assert_eq!(ends, [3, 3, 3, 6, 6].map(|ms| ms * MS));
    }

    #[test]
    fn a_packet_in_transmission_at_a_rate_change_is_carried_at_both_rates() {
        // 8 Mbit/s carries a byte in 1 us; from 1 ms, 4 Mbit/s in 2 us; from 3 ms nothing; from 5 ms 8 Mbit/s
        // again.
        let mut tape =
            player(RateTrace::rates(vec![(0, 8_000_000), (MS, 4_000_000), (3 * MS, 0), (5 * MS, 8_000_000)]));
        // First packet: 500 bytes until 1 ms and 500 until 2 ms. Second, 1000 bytes: 500 of them until 3 ms,
        // the pause, then 0.5 ms. The third comes in the pause and waits for both.
        assert_eq!(tape.carry(MS / 2, 1000), 2 * MS);
        assert_eq!(tape.carry(MS, 1000), 5 * MS + MS / 2);
        assert_eq!(tape.carry(4 * MS, 1000), 6 * MS + MS / 2);
        // The last rate holds for ever.
        assert_eq!(tape.carry(1_000_000 * MS, 1000), 1_000_001 * MS);
    }

    #[test]
    fn a_backlog_of_more_than_584_years_ends_at_the_last_nanosecond() {
        // At 1 bit/s from 1 s on a packet of 65,535 bytes takes 524,280 s, and 2^64 ns are 18,446,744,073 s: 35,184 packets
        // take 18,446,267,520 s, and one more would end later.
        let mut tape = player(RateTrace::rates(vec![(0, 0), (1000 * MS, 1)]));
        let last = (0..35_184).map(|_| tape.carry(0, 65_535)).last();
        assert_eq!(last, Some(18_446_267_521_000_000_000));
        assert_eq!([tape.carry(5, 65_535), tape.carry(7, 40)], [u64::MAX; 2]);
        // One opportunity in 10^17 ns: after 184 of them 4.7 * 10^16 ns are left.
        let mut tape = player(RateTrace::opportunities(vec![100_000_000_000 * MS]));
        let ends: Vec<u64> = (0..186).map(|_| tape.carry(0, 1500)).collect();
        assert_eq!(ends[183..], [18_400_000_000_000_000_000, u64::MAX, u64::MAX]);
    }

    #[test]
    fn rounding_errors_do_not_accumulate() {
        // 7 Gbit/s: 1000 bytes take 8000 / 7 = 1142.857... ns. Of a thousand packets sent at once the n-th
        // ends at the first nanosecond after 8000 n / 7; a packet on an idle link takes 1143 ns.
        let mut tape = player(RateTrace::rates(vec![(0, 7_000_000_000)]));
        for n in 1..=1000_u64 {
            assert_eq!(tape.carry(0, 1000), (8000 * n).div_ceil(7));
        }
        assert_eq!(tape.carry(2_000_000, 1000), 2_001_143);
    }

    #[test]
    fn a_constant_rate_in_many_steps_equals_one_step() {
        let steps = (0..500).map(|i| (i * 7_919, 40_000_000)).collect();
        let (mut many, mut one) =
            (player(RateTrace::rates(steps)), player(RateTrace::rates(vec![(0, 40_000_000)])));
        for i in 0..2000_u64 {
            let (now, size) = (i * i % 977 + i * 1500, 40 + (i as u32 * 37) % 1460);
            assert_eq!(many.carry(now, size), one.carry(now, size));
        }
    }

    #[test]
    fn the_capacity_counts_opportunities_or_integrates_rates() {
        let trace = RateTrace::opportunities(vec![2 * MS, 5 * MS, 10 * MS]);
        // By 9 ms two opportunities, by 10 ms three, by 25 ms two cycles and two more.
        assert_eq!([9, 10, 25].map(|ms| trace.capacity(ms * MS)), [2, 3, 8].map(|n| n * 1504));
        // A packet of 60,000 bytes takes 60,004 bytes of 40 opportunities, which have 60,160.
        let trace = RateTrace::opportunities(vec![MS]);
        assert_eq!(trace.utilization(1, 60_000, 40 * MS), 60_004.0 / 60_160.0);
        assert_eq!(trace.utilization(3, 4500, 3 * MS), 1.0);
        let trace = RateTrace::rates(vec![(0, 8_000_000), (MS, 4_000_000)]);
        assert_eq!([0, 1, 3].map(|ms| trace.capacity(ms * MS)), [0, 1000, 2000]);
    }

    #[test]
    fn no_transmission_is_shorter_than_the_minimum() {
        let trace = RateTrace::rates(vec![(0, 90_000_000_000), (100, 100_000_000_000)]);
        let mut tape = player(trace.clone());
        for i in 0..1000_u64 {
            let size = 40 + (i as u32 * 53) % 200;
            assert!(tape.carry(i * 7, size) >= i * 7 + trace.least(size));
        }
    }
}
