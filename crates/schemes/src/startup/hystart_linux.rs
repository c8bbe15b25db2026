//! HyStart of Linux 6.x, `net/ipv4/tcp_cubic.c`, derived from S. Ha, I. Rhee, "Taming the Elephants: New TCP Slow
//! Start", Computer Networks 55(9), 2011.
//!
//! Slow start that stops at the first of two signs. ACK train: ACKs at most 2 ms apart have arrived for longer than the
//! smallest RTT (half of it without pacing), so the packets in flight span the path. Delay: the smallest of more than
//! eight RTT samples of a round exceeds the smallest RTT by an eighth, so a queue grows. Differences from the paper:
//! times are microseconds; the rise is relative to the smallest RTT, not to the round before; below a window of 16
//! segments nothing is measured; the train has a margin for segmentation offload.

use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Signals, Step, Why, slow_start,
};

/// The margin is the time of four of the largest offloaded packets at the pacing rate: 4 `sk_gso_max_size`, bytes.
const CUSHION: u64 = 4 * 65_536;

/// Slow start with the two signs of the Linux kernel.
#[derive(Clone, Debug, Default)]
pub struct HystartLinux {
    parameters: Parameters,

    /// `low_window` in bytes.
    low: u64,
    /// `found`: a sign ended this slow start; later slow starts are plain until a timeout.
    found: bool,
    /// `delay_min`, the smallest RTT; zero if there was none.
    delay_min: Nanos,
    /// `end_seq`: the round lasts until more than this many bytes have left the network. `None` if the bytes sent at the
    /// beginning of the round are not known yet.
    end: Option<u64>,
    round_start: Nanos,
    /// Arrival of the last ACK of the train.
    last_ack: Nanos,
    /// Smallest RTT of the round; `None` before its first sample.
    curr_rtt: Option<Nanos>,
    samples: u32,
}

scheme! {
    impl Scheme for HystartLinux {
        label: "hystart-linux",
        role: Role::Startup,
        source: "Linux 6.x, net/ipv4/tcp_cubic.c; after Ha and Rhee, Computer Networks 55(9), 2011",
        summary: "slow start that stops when a train of ACKs spans the path or the RTT rises above the smallest",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        /// window below which no sign is measured (hystart_low_window)
        low_window: u64 = 16 packets,
        /// whether an ACK train ends slow start (hystart_detect & 1)
        ack_train: bool = true,
        // `hystart_ack_delta_us`, 2000.
        /// largest gap between ACKs of one train (hystart_ack_delta_us)
        ack_delta: Nanos = 2 ms,
        /// largest margin of the train's length, four packets of 64 KiB at the pacing rate (hystart_ack_delay)
        max_ack_delay: Nanos = 1 ms,
        /// whether a rise of the RTT ends slow start (hystart_detect & 2)
        delay: bool = true,
        // `HYSTART_MIN_SAMPLES`: that many RTT samples of a round are taken before one is judged.
        /// RTT samples of a round before one is judged (HYSTART_MIN_SAMPLES)
        min_samples: u32 in 1..=255 = 8,
        // The rise asked for is `delay_min >> 3`.
        /// fraction of the smallest RTT that a rise must exceed (HYSTART_DELAY_THRESH)
        delay_divisor: u64 in 1..=1024 = 8,
        // `HYSTART_DELAY_MIN`, 4000 us.
        /// smallest rise asked for (HYSTART_DELAY_MIN)
        delay_min_rise: Nanos = 4 ms,
        // `HYSTART_DELAY_MAX`, 16000 us.
        /// largest rise asked for (HYSTART_DELAY_MAX)
        delay_max_rise: Nanos = 16 ms,
        /// 6.15: rounds pass at every window (commit 25c1a9ca53db, in stable series too); before-6.15: only from
        /// low_window on, so that the first round begins in the middle of one; next-ack: with the ACK after the one that ends a
        /// round, as in quic-go
        round_start: RoundStart = Linux615,
    }
}

choice! {
    /// Values of the parameter `round_start`.
    pub enum RoundStart {
        /// Rounds pass at every window (Linux 6.15).
        Linux615 = "6.15",
        /// Rounds pass from `low_window` on only (before Linux 6.15).
        BeforeLinux615 = "before-6.15",
        /// A round begins with the ACK after the one that ends the round before (quic-go, `hybrid_slow_start.go`).
        NextAck = "next-ack",
    }
}

impl HystartLinux {
    /// The kernel's reset at the start of a connection and at a timeout.
    fn reset(&mut self, now: Nanos, end: Option<u64>) {
        self.found = false;
        self.delay_min = Nanos::ZERO;
        self.start_round(now, end);
    }

    fn start_round(&mut self, now: Nanos, end: Option<u64>) {
        self.round_start = now;
        self.last_ack = now;
        self.end = end;
        self.curr_rtt = None;
        self.samples = 0;
    }

    /// Begins a new round with the first ACK for data sent after this one began. That is one ACK later than
    /// [`Ack::ROUND_START`]. The difference matters: the ACK that completes a flight may arrive most of an RTT before
    /// the first ACK of the next flight, and a train is timed from the latter.
    #[inline]
    fn pass_rounds(&mut self, ack: &Ack) {
        // The next sequence number (`snd_nxt`), and the first that may be missing (`snd_una`): nothing before it is in the
        // network. `delivered` would not do: it counts what arrived twice, so that after a spurious retransmission every round
        // would begin in the flight before.
        let next = ack.sent - ack.retransmitted;
        let missing = next.saturating_sub(ack.pipe);
        let ends_behind = self.parameters.round_start == RoundStart::NextAck;
        match self.end {
            None if ends_behind => self.start_round(ack.now, Some(next)),
            None => self.end = Some(next),
            // The samples of this ACK are the last of the round.
            Some(end) if ends_behind && missing > end => self.end = None,
            Some(end) if missing > end => self.start_round(ack.now, Some(next)),
            Some(_) => {}
        }
    }

    /// Margin of the train's length: the time of the largest offloaded packets at the pacing rate. The kernel keeps
    /// that rate even without pacing: twice cwnd/srtt, 1.2 times from half the threshold on.
    fn ack_delay(&self, ack: &Ack, control: &Control) -> Nanos {
        let time = if control.pacing != Rate::NONE {
            control.pacing.time_for(CUSHION)
        } else {
            let tenths = if control.cwnd < control.ssthresh / 2 { 20 } else { 12 };
            Nanos(ack.srtt.0.saturating_mul(10 * CUSHION) / control.cwnd.saturating_mul(tenths).max(1))
        };
        time.min(self.parameters.max_ack_delay)
    }

    /// Time from the beginning of the round, if this ACK continues the train.
    #[inline]
    pub(super) fn train(&mut self, ack: &Ack) -> Option<Nanos> {
        if ack.now - self.last_ack > self.parameters.ack_delta {
            return None;
        }
        self.last_ack = ack.now;
        Some(ack.now - self.round_start)
    }

    /// Length that a train must exceed.
    #[inline]
    pub(super) fn longest_train(&self, ack: &Ack, control: &Control) -> Nanos {
        let threshold = self.delay_min.saturating_add(self.ack_delay(ack, control));
        // Pacing spreads a flight over up to half the RTT in slow start; without pacing half the RTT is enough.
        if control.pacing == Rate::NONE { Nanos(threshold.0 / 2) } else { threshold }
    }

    /// Whether the RTT of the round has risen.
    #[inline]
    pub(super) fn rises(&mut self, ack: &Ack) -> bool {
        let curr_rtt = self.curr_rtt.map_or(ack.rtt, |smallest| smallest.min(ack.rtt));
        self.curr_rtt = Some(curr_rtt);
        if self.samples < self.parameters.min_samples {
            self.samples += 1;
            return false;
        }
        let fraction = Nanos(self.delay_min.0 / self.parameters.delay_divisor);
        let rise = fraction.max(self.parameters.delay_min_rise).min(self.parameters.delay_max_rise);
        curr_rtt > self.delay_min.saturating_add(rise)
    }

    /// The sign that this ACK gives, if any.
    #[inline]
    pub(super) fn look(&mut self, ack: &Ack, control: &Control) -> Option<Exit> {
        let mut sign = None;
        if self.parameters.ack_train
            && let Some(length) = self.train(ack)
            && length > self.longest_train(ack, control)
        {
            sign = Some(Exit::AckTrain);
        }
        if self.parameters.delay && self.rises(ack) {
            sign = sign.or(Some(Exit::Delay));
        }
        sign
    }

    /// Takes the RTT sample of an ACK; whether it is the smallest one.
    #[inline]
    pub(super) fn take(&mut self, rtt: Nanos) -> bool {
        let smallest = self.delay_min == Nanos::ZERO || rtt < self.delay_min;
        if smallest {
            self.delay_min = rtt;
        }
        smallest
    }

    /// Passes the rounds; whether this ACK is looked at for signs.
    #[inline]
    pub(super) fn looks(&mut self, ack: &Ack, control: &Control) -> bool {
        if self.found || ack.is(Ack::RECOVERY) {
            return false;
        }
        let low = control.cwnd < self.low;
        if !(low && self.parameters.round_start == RoundStart::BeforeLinux615) {
            self.pass_rounds(ack);
        }
        !low
    }

    /// A sign was found: later slow starts are plain until a timeout.
    pub(super) fn find(&mut self) {
        self.found = true;
    }

    /// Sets where rounds begin.
    pub(super) fn set_round_start(&mut self, round_start: RoundStart) {
        self.parameters.round_start = round_start;
    }

    /// `delay_min`, the smallest RTT; zero if there was none.
    pub(super) fn smallest_rtt(&self) -> Nanos {
        self.delay_min
    }

    /// `curr_rtt`, the smallest RTT of the round.
    pub(super) fn smallest_rtt_of_round(&self) -> Option<Nanos> {
        self.curr_rtt
    }
}

impl Phase for HystartLinux {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.low = self.parameters.low_window.saturating_mul(entry.mss.into());
        match entry.why {
            // Nothing was sent yet: the first ACK begins the first round.
            Why::Connect => self.reset(entry.now, Some(0)),
            Why::Handover | Why::Migrate | Why::Timeout => self.reset(entry.now, None),
            // Idle times leave the kernel's state as it is.
            Why::Idle => {}
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // An ACK for retransmissions only has no RTT sample and is ignored.
        if ack.rtt != Nanos::ZERO {
            self.take(ack.rtt);
            if self.looks(ack, control)
                && let Some(sign) = self.look(ack, control)
            {
                self.find();
                // This ACK no longer grows the window as slow start does.
                control.ssthresh = control.cwnd;
                return Step::Exit(sign);
            }
        }
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Value;
    use crate::startup::test_sender::{self, MSS};
    use firstflight_contract::Trigger;

    type Sender = test_sender::Sender<HystartLinux>;

    #[test]
    fn a_train_longer_than_half_the_smallest_rtt_and_its_margin_ends_slow_start() {
        let mut s = Sender::new(100, &[]);
        // The first ACK begins the round. Four packets of 64 KiB take 131 ms at 2 x 100 segments in 100 ms,
        // so the cushion is its most, 1 ms. An ACK a millisecond: 50 ms into the round is not past
        // (100 + 1)/2 = 50.5 ms, 51 ms is.
        assert_eq!(s.acks_until_exit(80, 1_000, 100_000), (52, Step::Exit(Exit::AckTrain)));
        // 51 ACKs grew the window by a segment each; the one that ends it did not.
        assert_eq!((s.control.cwnd, s.control.ssthresh), (151 * MSS, 151 * MSS));
    }

    #[test]
    fn with_pacing_the_train_must_span_the_whole_rtt() {
        let mut s = Sender::new(200, &[]);
        // At 100 Mbit/s, 262 144 bytes take 21 ms: the cushion is 1 ms here too, and 101 ms is not past it.
        s.control.pacing = Rate(100_000_000);
        assert_eq!(s.acks_until_exit(200, 1_000, 100_000), (103, Step::Exit(Exit::AckTrain)));
    }

    #[test]
    fn the_margin_shrinks_on_very_fast_paths() {
        // 5000 segments in 2 ms, doubled: 5 GB/s, at which 262 144 bytes take 52.4 us. (2000 + 52.4)/2 is
        // 1026.2 us; with an ACK every 10 us the train is past that after 1030.
        let mut s = Sender::new(5000, &[]);
        s.srtt_us = 2_000;
        assert_eq!(s.acks_until_exit(400, 10, 2_000), (104, Step::Exit(Exit::AckTrain)));
        // Near a known threshold the kernel reckons with 1.2 times: 3 GB/s, 87.4 us, 1043.7 us.
        let mut s = Sender::new(5000, &[]);
        s.srtt_us = 2_000;
        s.control.ssthresh = 9_000 * MSS;
        assert_eq!(s.acks_until_exit(400, 10, 2_000), (106, Step::Exit(Exit::AckTrain)));
    }

    #[test]
    fn a_gap_of_more_than_2_ms_breaks_the_train_for_the_rest_of_the_round() {
        let mut s = Sender::new(100, &[]);
        assert_eq!(s.acks_until_exit(10, 2_000, 100_000), (10, Step::Stay));
        assert_eq!(s.ack(2_001, 100_000), Step::Stay);
        // Another 89 ACKs belong to the first flight.
        assert_eq!(s.acks_until_exit(89, 1_000, 100_000), (89, Step::Stay));
        // The first ACK of the next flight begins a train again, however long it took to come.
        assert_eq!(s.acks_until_exit(100, 1_000, 100_000), (52, Step::Exit(Exit::AckTrain)));
    }

    #[test]
    fn a_round_begins_with_the_first_ack_of_a_flight_not_with_the_last_of_the_one_before() {
        // 20 ACKs of the first flight in 2 ms, then 98 ms of silence, as on a path that is far from full.
        let mut s = Sender::new(20, &[]);
        assert_eq!(s.acks_until_exit(20, 100, 100_000), (20, Step::Stay));
        // The second flight, 40 ACKs 1.3 ms apart, is 50.7 ms long: the last one is past
        // 50.5 ms.
        assert_eq!(s.ack(98_000, 100_000), Step::Stay);
        assert_eq!(s.acks_until_exit(60, 1_300, 100_000), (39, Step::Exit(Exit::AckTrain)));
    }

    #[test]
    fn a_spurious_retransmission_does_not_move_the_rounds() {
        // As above, and the tenth ACK of the first flight reports a segment that arrived twice. Were it counted, the second round
        // would begin with the last ACK of the first flight, and the silence of 98 ms would break its train.
        let mut s = Sender::new(20, &[]);
        assert_eq!(s.acks_until_exit(9, 100, 100_000), (9, Step::Stay));
        s.duplicate();
        assert_eq!(s.acks_until_exit(11, 100, 100_000), (11, Step::Stay));
        assert_eq!(s.ack(98_000, 100_000), Step::Stay);
        assert_eq!(s.acks_until_exit(60, 1_300, 100_000), (39, Step::Exit(Exit::AckTrain)));
    }

    #[test]
    fn an_rtt_rise_of_more_than_an_eighth_ends_slow_start_on_the_ninth_sample_of_the_round() {
        // delay_min 80 ms: an eighth is 10 ms, and a rise of exactly that is not more.
        for (rtt, step) in [(90_000, Step::Stay), (90_001, Step::Exit(Exit::Delay))] {
            let mut s = Sender::new(20, &[]);
            assert_eq!(s.acks_until_exit(20, 100, 80_000), (20, Step::Stay));
            assert_eq!(s.ack(80_000, rtt), Step::Stay);
            assert_eq!(s.acks_until_exit(7, 100, rtt), (7, Step::Stay));
            assert_eq!(s.ack(100, rtt), step, "{rtt} us");
        }
    }

    #[test]
    fn one_low_sample_however_late_keeps_the_round_from_judging() {
        let mut s = Sender::new(20, &[]);
        assert_eq!(s.acks_until_exit(20, 100, 80_000), (20, Step::Stay));
        assert_eq!(s.ack(80_000, 95_000), Step::Stay);
        assert_eq!(s.acks_until_exit(7, 100, 95_000), (7, Step::Stay));
        // The ninth is low, and with it the round's smallest.
        assert_eq!(s.ack(100, 85_000), Step::Stay);
        assert_eq!(s.acks_until_exit(30, 100, 95_000), (30, Step::Stay));
    }

    #[test]
    fn an_rtt_that_falls_ends_nothing() {
        let mut s = Sender::new(20, &[]);
        assert_eq!(s.acks_until_exit(20, 100, 80_000), (20, Step::Stay));
        assert_eq!(s.ack(60_000, 60_000), Step::Stay);
        assert_eq!(s.acks_until_exit(39, 100, 60_000), (39, Step::Stay));
        // The previous smallest RTT is a rise now: 60 ms and an eighth are 67.5 ms.
        assert_eq!(s.ack(60_000, 80_000), Step::Stay);
        assert_eq!(s.acks_until_exit(30, 100, 80_000), (8, Step::Exit(Exit::Delay)));
    }

    #[test]
    fn the_threshold_of_the_rise_lies_between_4_and_16_ms() {
        // 16 ms / 8 = 2 ms is raised to 4 ms; 200 ms / 8 = 25 ms is cut to 16 ms.
        for (smallest, rise) in [(16_000, 4_000), (200_000, 16_000)] {
            for (extra, step) in [(rise, Step::Stay), (rise + 1, Step::Exit(Exit::Delay))] {
                let mut s = Sender::new(20, &[]);
                assert_eq!(s.acks_until_exit(20, 10, smallest).1, Step::Stay);
                assert_eq!(s.ack(smallest, smallest + extra), Step::Stay);
                assert_eq!(s.acks_until_exit(8, 10, smallest + extra).1, step, "{smallest} us + {extra} us");
            }
        }
    }

    #[test]
    fn below_16_segments_nothing_is_looked_at_and_nothing_remembered() {
        // Six ACKs find a window of 10 to 15 segments and count for nothing; of the next, eight are taken as
        // samples, and the ninth judges: the window is 24 then.
        let mut s = Sender::new(10, &[]);
        assert_eq!(s.ack(0, 50_000), Step::Stay);
        assert_eq!(s.acks_until_exit(9, 100, 90_000), (9, Step::Stay));
        // Window 20. The next flight's first ACK begins a round of its own.
        assert_eq!(s.acks_until_exit(20, 100, 90_000), (9, Step::Exit(Exit::Delay)));
        assert_eq!(s.control.ssthresh, 28 * MSS);
    }

    #[test]
    fn before_6_15_the_first_round_begins_when_the_window_reaches_16() {
        // Initial window 10, an ACK every 1.5 ms, smallest RTT 20 ms: (20 + 1)/2 is 10.5 ms. Since 6.15 the
        // round begins with the first ACK, yet the window of 16 that the seventh ACK finds comes 9 ms later:
        // the train is broken by then. The flight ends; the next round's train is past 10.5 ms with its
        // eighth gap, 12 ms.
        let mut s = Sender::new(10, &[]);
        assert_eq!(s.acks_until_exit(40, 1_500, 20_000), (19, Step::Exit(Exit::AckTrain)));
        assert_eq!(s.control.ssthresh, 28 * MSS);
        // Before, the seventh ACK began a round, at which 22 segments had been sent: it takes the eighth gap
        // after it, across two flights.
        let mut s = Sender::new(10, &[("round_start", Value::Choice(1))]);
        assert_eq!(s.acks_until_exit(40, 1_500, 20_000), (15, Step::Exit(Exit::AckTrain)));
        assert_eq!(s.control.ssthresh, 24 * MSS);
    }

    #[test]
    fn each_sign_can_be_disabled() {
        let mut s = Sender::new(100, &[("ack_train", Value::Flag(false))]);
        assert_eq!(s.acks_until_exit(100, 1_000, 100_000), (100, Step::Stay));
        let mut s = Sender::new(20, &[("delay", Value::Flag(false))]);
        assert_eq!(s.acks_until_exit(20, 10, 80_000), (20, Step::Stay));
        assert_eq!(s.acks_until_exit(30, 10, 200_000), (30, Step::Stay));
    }

    #[test]
    fn a_timeout_resets_the_smallest_rtt_and_the_sign_and_an_idle_time_does_not() {
        let exited = || {
            let mut s = Sender::new(20, &[]);
            assert_eq!(s.acks_until_exit(20, 10, 80_000).1, Step::Stay);
            assert_eq!(s.acks_until_exit(9, 10, 100_000).1, Step::Exit(Exit::Delay));
            s.control.ssthresh = u64::MAX;
            s
        };
        let mut s = exited();
        s.enter(Why::Idle);
        assert_eq!(s.acks_until_exit(400, 10, 200_000), (400, Step::Stay));

        let mut s = exited();
        s.enter(Why::Timeout);
        // 100 ms is the smallest RTT now: it is no rise, 113 ms in the next flight is one.
        assert_eq!(s.acks_until_exit(s.in_flight() as u32, 10, 100_000).1, Step::Stay);
        assert_eq!(s.acks_until_exit(20, 10, 113_000), (9, Step::Exit(Exit::Delay)));
    }

    #[test]
    fn a_loss_ends_the_phase_without_a_sign() {
        let mut s = Sender::new(20, &[]);
        let loss = Congestion { trigger: Trigger::Loss, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(s.phase.on_congestion(&loss, &mut s.control), Step::Exit(Exit::Loss));
    }
}
