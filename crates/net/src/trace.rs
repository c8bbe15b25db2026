//! Links whose rate changes with time, as a trace of a real one says.
//!
//! Either way the end of a transmission is known when the packet arrives, and time is whole nanoseconds without drift:
//! rounding never adds up.

use std::sync::Arc;

use firstflight_contract::{mul_add_div, mul_div};

/// Bytes of a delivery opportunity, and what each packet takes beside its own: mahimahi counts packets as its TUN
/// device hands them over, 4 bytes longer than they are, and an opportunity takes the longest of them.
const OPPORTUNITY: u64 = 1504;
const TUN_HEADER: u64 = 4;
/// Bytes of a full packet that an opportunity carries.
pub const OPPORTUNITY_PACKET: u64 = OPPORTUNITY - TUN_HEADER;

/// Bits of a byte, and the nanoseconds of a second: rates times nanoseconds are compared with bytes times this.
const PER_BYTE: u64 = 8_000_000_000;

/// What a link can carry when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Delivery opportunities, again and again.
    Opportunities(Opportunities),
    /// Rates, each until the next.
    Rates(Rates),
}

/// Moments, nanoseconds, in order; after the last they begin again, counted from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    times: Vec<u64>,
}

/// From when which rate holds, nanoseconds and bits per second; the last one for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    steps: Vec<(u64, u64)>,
}

impl Trace {
    /// Opportunities at these times, nanoseconds.
    ///
    /// # Panics
    /// If they are not in order, or none lies above zero.
    pub fn opportunities(times: Vec<u64>) -> Self {
        assert!(times.is_sorted() && times.last() > Some(&0), "opportunities come in order and last a while");
        Self::Opportunities(Opportunities { times })
    }

    /// Rates with the times, nanoseconds, from which they hold, bits per second.
    ///
    /// # Panics
    /// If the first does not hold from zero, the times do not rise, or the last rate is zero.
    pub fn rates(steps: Vec<(u64, u64)>) -> Self {
        let rises = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(
            steps.first().is_some_and(|first| first.0 == 0) && rises,
            "rates hold from zero, one after the other"
        );
        assert!(steps.last().is_some_and(|last| last.1 > 0), "the last rate carries something");
        Self::Rates(Rates { steps })
    }

    /// The least time from the arrival of a packet of `size` bytes to the end of its transmission.
    pub fn least(&self, size: u32) -> u64 {
        match self {
            Self::Opportunities(_) => 1,
            Self::Rates(rates) => {
                let fastest = rates.steps.iter().map(|step| step.1).max().unwrap_or(1);
                mul_div(size.into(), PER_BYTE, fastest)
            }
        }
    }

    /// Bytes that full packets could have been carried by `end`.
    pub fn capacity(&self, end: u64) -> u64 {
        match self {
            Self::Opportunities(opportunities) => {
                let (cycle, index) = opportunities.after(end);
                (cycle * opportunities.times.len() as u64 + index as u64) * OPPORTUNITY_PACKET
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

    /// The first opportunity after `now`, by its cycle and its place there. The period is the last time, so there
    /// always is one in the cycle in which `now` lies.
    fn after(&self, now: u64) -> (u64, usize) {
        let (cycle, rest) = (now / self.period(), now % self.period());
        (cycle, self.times.partition_point(|&time| time <= rest))
    }
}

impl Rates {
    /// When the rate of `index` ends.
    fn end(&self, index: usize) -> u64 {
        self.steps.get(index + 1).map_or(u64::MAX, |next| next.0)
    }

    /// The rate that holds at `now`.
    fn at(&self, now: u64) -> usize {
        self.steps.partition_point(|step| step.0 <= now) - 1
    }
}

/// One link's way through a trace.
#[derive(Clone, Debug)]
pub struct Tape {
    trace: Arc<Trace>,
    head: Head,
}

/// Where it is.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    /// When the last transmission ends. Under opportunities this is the one in use.
    at: u64,
    /// The opportunity or rate in force then.
    cycle: u64,
    index: usize,
    /// What is left of it at `at` for a packet that is there before: bytes of the opportunity; of the rate, what the
    /// nanosecond that ends then could have carried more.
    left: u64,
}

impl Tape {
    /// A link that has carried nothing yet.
    pub fn new(trace: Arc<Trace>) -> Self {
        Self { trace, head: Head::default() }
    }

    /// When the transmission of a packet ends that arrives at `now`, no sooner than the one before it.
    pub fn carry(&mut self, now: u64, size: u32) -> u64 {
        match &*self.trace {
            Trace::Opportunities(opportunities) => self.head.take_opportunities(opportunities, now, size),
            Trace::Rates(rates) => self.head.take_time(rates, now, size),
        }
        self.head.at
    }
}

impl Head {
    /// A packet goes with the opportunity that carries its last byte. What it leaves of that is for packets that were
    /// there before it, and for nobody else: what comes at the very moment of an opportunity is too late for it.
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
        self.at = self.cycle * opportunities.period() + opportunities.times[self.index];
    }

    /// A packet is through at the first whole nanosecond by which the link could have carried it and all before it in
    /// the same busy time.
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
            need -= room;
            (self.at, self.index) = (end, self.index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn tape(trace: Trace) -> Tape {
        Tape::new(Arc::new(trace))
    }

    fn opportunities(ms: &[u64]) -> Tape {
        tape(Trace::opportunities(ms.iter().map(|ms| ms * MS).collect()))
    }

    #[test]
    fn a_full_packet_takes_an_opportunity_and_what_comes_with_it_is_too_late() {
        let mut tape = opportunities(&[2, 5, 10]);
        let ends = [(0, 1500), (1, 1500), (5 * MS, 1500), (10 * MS - 1, 1500)]
            .map(|(now, size)| tape.carry(now, size));
        // At 0: with the one at 2 ms. At 1 ns: that one is taken, so 5 ms. At 5 ms: that one is over, so 10 ms; the
        // trace begins again there, and the next packet goes 2 ms later.
        assert_eq!(ends, [2 * MS, 5 * MS, 10 * MS, 12 * MS]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_a_large_one_takes_several() {
        // 1504 bytes: three packets of 496 + 4 bytes make 1500, and 4 are left, which the next one takes as the first
        // of its 500. The large packet, 3000 + 4 bytes, needs 1504 - 496 = 1008 of that opportunity, all of the one
        // after it (1504), and 492 of the third; the last, 100 + 4, fits beside.
        let mut tape = opportunities(&[1, 2, 3, 4, 5, 6]);
        let ends = [496, 496, 496, 496, 3000, 100].map(|size| tape.carry(0, size));
        assert_eq!(ends, [1, 1, 1, 2, 4, 4].map(|ms| ms * MS));
    }

    #[test]
    fn what_nobody_was_there_for_is_lost() {
        let mut tape = opportunities(&[1, 2, 3, 4]);
        assert_eq!(tape.carry(0, 100), MS);
        // 1400 bytes of the first opportunity were left, but this packet came when it was over.
        assert_eq!(tape.carry(MS, 100), 2 * MS);
        // Two and a half periods of 4 ms later: 10 ms and a bit, so at 11.
        assert_eq!(tape.carry(10 * MS, 1500), 11 * MS);
    }

    #[test]
    fn several_opportunities_may_come_at_once_and_at_the_seam() {
        // Lines 0, 3, 3: at 3 ms two of the first round and, counted from there, the 0 of the second: three at once.
        let mut tape = opportunities(&[0, 3, 3]);
        let ends = [1500; 5].map(|size| tape.carry(0, size));
        assert_eq!(ends, [3, 3, 3, 6, 6].map(|ms| ms * MS));
    }

    #[test]
    fn a_packet_that_meets_a_change_of_rate_is_carried_at_both() {
        // 8 Mbit/s carry a byte in 1 us; from 1 ms on 4 Mbit/s, a byte in 2 us; from 3 ms on nothing, from 5 ms on 8.
        let mut tape =
            tape(Trace::rates(vec![(0, 8_000_000), (MS, 4_000_000), (3 * MS, 0), (5 * MS, 8_000_000)]));
        // 500 bytes of the first until 1 ms, the other 500 until 2 ms; the second, 1000 bytes, 500 of them until 3 ms,
        // then the pause, then 0.5 ms; the third comes in the pause and waits for both.
        assert_eq!(tape.carry(MS / 2, 1000), 2 * MS);
        assert_eq!(tape.carry(MS, 1000), 5 * MS + MS / 2);
        assert_eq!(tape.carry(4 * MS, 1000), 6 * MS + MS / 2);
        // Long after the last line its rate holds.
        assert_eq!(tape.carry(1_000_000 * MS, 1000), 1_000_001 * MS);
    }

    #[test]
    fn rounding_does_not_add_up() {
        // 7 Gbit/s: 1000 bytes take 8000 / 7 = 1142.857... ns. A thousand packets at once end after 1 142 857.14 ns,
        // the n-th at the nanosecond after 8000 n / 7; one that comes to an idle link takes 1143.
        let mut tape = tape(Trace::rates(vec![(0, 7_000_000_000)]));
        for n in 1..=1000_u64 {
            assert_eq!(tape.carry(0, 1000), (8000 * n).div_ceil(7));
        }
        assert_eq!(tape.carry(2_000_000, 1000), 2_001_143);
    }

    #[test]
    fn a_constant_rate_in_many_steps_is_that_rate() {
        let steps = (0..500).map(|i| (i * 7_919, 40_000_000)).collect();
        let (mut many, mut one) = (tape(Trace::rates(steps)), tape(Trace::rates(vec![(0, 40_000_000)])));
        for i in 0..2000_u64 {
            let (now, size) = (i * i % 977 + i * 1500, 40 + (i as u32 * 37) % 1460);
            assert_eq!(many.carry(now, size), one.carry(now, size));
        }
    }

    #[test]
    fn the_capacity_is_that_of_full_packets() {
        let trace = Trace::opportunities(vec![2 * MS, 5 * MS, 10 * MS]);
        // By 9 ms two, by 10 three, by 25 two rounds and two more.
        assert_eq!([9, 10, 25].map(|ms| trace.capacity(ms * MS)), [3000, 4500, 12_000]);
        let trace = Trace::rates(vec![(0, 8_000_000), (MS, 4_000_000)]);
        assert_eq!([0, 1, 3].map(|ms| trace.capacity(ms * MS)), [0, 1000, 2000]);
    }

    #[test]
    fn no_packet_is_faster_than_the_least_time() {
        let trace = Trace::rates(vec![(0, 90_000_000_000), (100, 100_000_000_000)]);
        let mut tape = tape(trace.clone());
        for i in 0..1000_u64 {
            let size = 40 + (i as u32 * 53) % 200;
            assert!(tape.carry(i * 7, size) >= i * 7 + trace.least(size));
        }
    }
}
