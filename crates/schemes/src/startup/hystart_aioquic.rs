//! The end of slow start of aioquic 1.7, `src/aioquic/quic/congestion/base.py`, class `QuicRttMonitor`, which aioquic names after
//! HyStart.
//!
//! Slow start that stops when the RTT has risen by a quarter for a while. The newest five samples, a millisecond apart at
//! least, have a smallest and a largest one. The base is the least largest one so far. Each sample at which the smallest of the five lies a
//! quarter above the base is a sign. Five signs end slow start. A smaller rise takes the signs back; no rise leaves them.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Role, Signals, Step, slow_start,
};

/// Samples that are judged together, and signs that end slow start (`_size`).
const SIZE: usize = 5;

/// Slow start with aioquic's monitor of round trips.
#[derive(Clone, Debug, Default)]
pub struct HystartAioquic {
    parameters: Parameters,
    /// `_samples`: the newest ones, in a ring.
    samples: [Nanos; SIZE],
    /// `_sample_idx`: place of the next one.
    place: u32,
    /// `_ready`: the ring is full.
    ready: bool,
    /// `_sample_time`: time of the newest one.
    sampled_at: Option<Nanos>,
    /// `_filtered_min`: the least largest sample of five; `None` before there was one.
    base: Option<Nanos>,
    /// `_increases`: signs.
    signs: u32,
}

scheme! {
    impl Scheme for HystartAioquic {
        label: "hystart-aioquic",
        role: Role::Startup,
        source: "aioquic 1.7.2, src/aioquic/quic/congestion/base.py, QuicRttMonitor",
        summary: "slow start that stops when five samples in a row stay a quarter above the smallest RTT, five times",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        /// time between samples (K_GRANULARITY)
        granularity: Nanos = 1 ms,
        /// fraction of the base by which the RTT must have risen
        rise_divisor: u64 in 1..=1024 = 4,
        /// signs that end slow start (_size)
        signs: u32 in 1..=255 = 5,
    }
}

impl HystartAioquic {
    /// Whether the RTT is increasing (`is_rtt_increasing`).
    fn rises(&mut self, now: Nanos, rtt: Nanos) -> bool {
        if self.sampled_at.is_some_and(|at| now <= at.saturating_add(self.parameters.granularity)) {
            return false;
        }
        self.sampled_at = Some(now);
        if let Some(sample) = self.samples.get_mut(self.place as usize) {
            *sample = rtt;
        }
        self.place += 1;
        if self.place as usize >= SIZE {
            self.place = 0;
            self.ready = true;
        }
        if !self.ready {
            return false;
        }
        let (mut smallest, mut largest) = (rtt, rtt);
        for &sample in &self.samples {
            smallest = smallest.min(sample);
            largest = largest.max(sample);
        }
        let base = self.base.map_or(largest, |base| base.min(largest));
        self.base = Some(base);
        if smallest <= base {
            // "delta" is zero or negative, which is no sign and takes none back; a base of zero does not occur.
            return false;
        }
        if smallest.saturating_sub(base).0.saturating_mul(self.parameters.rise_divisor) < base.0 {
            self.signs = 0;
            return false;
        }
        self.signs += 1;
        self.signs >= self.parameters.signs
    }
}

impl Phase for HystartAioquic {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        *self = Self { parameters: self.parameters, ..Self::default() };
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // aioquic counts what an ACK delivers before it looks at its RTT.
        let step = slow_start(ack, control);
        if step == Step::Stay && ack.rtt != Nanos::ZERO && self.rises(ack.now, ack.rtt) {
            control.ssthresh = control.cwnd;
            return Step::Exit(Exit::Delay);
        }
        step
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::startup::test_sender;

    type Sender = test_sender::Sender<HystartAioquic>;

    #[test]
    fn five_signs_of_a_quarter_end_slow_start() {
        // Five samples of 80 ms are the base. A rise of a quarter is 20 ms. Four more samples leave one of 80 ms among the newest five; the fifth
        // is the first sign, the ninth the fifth.
        for (rtt, acks, step) in [(99_999, 30, Step::Stay), (100_000, 9, Step::Exit(Exit::Delay))] {
            let mut s = Sender::new(20, &[]);
            assert_eq!(s.acks_until_exit(5, 2_000, 80_000), (5, Step::Stay));
            assert_eq!(s.acks_until_exit(30, 2_000, rtt), (acks, step), "{rtt} us");
        }
    }

    #[test]
    fn samples_within_a_millisecond_are_left_out() {
        // ACKs come each 0.6 ms: every second one counts, as 0.6 ms are not more than 1 ms. The first ACK after the five of the base comes 0.6 ms
        // after a sample, so that nine samples take eighteen ACKs.
        let mut s = Sender::new(20, &[]);
        assert_eq!(s.acks_until_exit(9, 600, 80_000), (9, Step::Stay));
        assert_eq!(s.acks_until_exit(30, 600, 100_000), (18, Step::Exit(Exit::Delay)));
    }

    #[test]
    fn a_small_rise_takes_the_signs_back_and_none_leaves_them() {
        // Eight samples give four signs. Of a sample of 90 ms, the smallest of five is an eighth above the base: the signs are gone. A sample of 80 ms is
        // no rise: one more sign, of five samples of 100 ms later, is the fifth.
        for (between, acks) in [(90_000, 9), (80_000, 5)] {
            let mut s = Sender::new(20, &[]);
            assert_eq!(s.acks_until_exit(5, 2_000, 80_000), (5, Step::Stay));
            assert_eq!(s.acks_until_exit(8, 2_000, 100_000), (8, Step::Stay));
            assert_eq!(s.ack(2_000, between), Step::Stay);
            assert_eq!(
                s.acks_until_exit(30, 2_000, 100_000),
                (acks, Step::Exit(Exit::Delay)),
                "{between} us"
            );
        }
    }
}
