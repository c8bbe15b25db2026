//! How fast the path delivers, measured on every ACK: N. Cardwell, Y. Cheng, S. Hassas Yeganeh, V. Jacobson,
//! "Delivery Rate Estimation", draft-cheng-iccrg-delivery-rate-estimation, as Linux applies it (tcp_rate.c).
//!
//! Every sending is stamped with what had been delivered by then. When the segment arrives, what was delivered
//! since, over the time it took, is a sample. Sending and acknowledging are two phases of that time, and the
//! longer one counts: compressed ACKs cannot show a rate above the one data was sent at.
//!
//! For hosts that count segments: [`RateSampler::on_sent`] for each sending, repeats included;
//! [`RateSampler::on_delivered`] for each segment an ACK newly delivers; [`RateSampler::sample`] once an ACK.

use firstflight_contract::{Nanos, Rate};

/// What a host keeps with each segment in flight; replaced when it is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Segments delivered when it left, shifted left once; the low bit says that the application limited the
    /// sender then.
    delivered_and_limited: u64,
    /// When the last of them had been delivered.
    delivered_at: Nanos,
    /// When the first segment of its window left.
    first_sent_at: Nanos,
}

impl Stamp {
    fn delivered(self) -> u64 {
        self.delivered_and_limited >> 1
    }

    fn limited(self) -> bool {
        self.delivered_and_limited & 1 != 0
    }
}

/// What one ACK shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Segments delivered over `interval`.
    pub delivered: u64,
    /// The time it took; zero where the ACK gives no sample.
    pub interval: Nanos,
    /// Segments delivered when the newest segment of this ACK had left.
    pub prior_delivered: u64,
    /// The application limited the sender when it left: the path may be faster.
    pub limited: bool,
}

impl RateSample {
    /// The rate of segments of `mss` bytes; [`Rate::NONE`] where there is no sample.
    pub fn rate(&self, mss: u64) -> Rate {
        Rate::of(self.delivered * mss, self.interval)
    }
}

/// The newest segment that the ACK at hand delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Nanos,
    segment: u64,
    stamp: Stamp,
}

/// One connection's estimator.
#[derive(Clone, Debug)]
pub struct RateSampler {
    /// Segments delivered, and [`HANDSHAKE`].
    delivered: u64,
    /// When the last of them was; the start of the flight if nothing was outstanding.
    delivered_at: Nanos,
    /// When the last of them had been sent; the start of the flight if nothing was outstanding.
    first_sent_at: Nanos,
    /// What is sent counts as limited by the application until more than this is delivered; zero is no limit.
    limited_until: u64,
    newest: Option<Newest>,
}

/// Linux counts the SYN as delivered. It keeps "limited until" from being zero, and lets the first segment
/// delivered end a limit that was set before anything was sent.
const HANDSHAKE: u64 = 1;

impl Default for RateSampler {
    fn default() -> Self {
        Self {
            delivered: HANDSHAKE,
            delivered_at: Nanos::ZERO,
            first_sent_at: Nanos::ZERO,
            limited_until: 0,
            newest: None,
        }
    }
}

impl RateSampler {
    /// A segment leaves at `now`; `nothing_outstanding` if every segment sent before is acknowledged. (Not: if
    /// none is thought to be in flight. What was wrongly declared lost would then shorten the interval.)
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, nothing_outstanding: bool) -> Stamp {
        if nothing_outstanding {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered_and_limited: self.delivered << 1 | u64::from(self.limited_until != 0),
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
        }
    }

    /// The ACK at hand is the first to report `segment`, last sent at `sent_at` with this stamp.
    #[inline]
    pub fn on_delivered(&mut self, stamp: &Stamp, sent_at: Nanos, segment: u64) {
        // The most recently sent one has seen most; of those sent at one instant, the last.
        if self.newest.is_none_or(|newest| (newest.sent_at, newest.segment) < (sent_at, segment)) {
            self.newest = Some(Newest { sent_at, segment, stamp: *stamp });
        }
    }

    /// The ACK at hand, of `now`, delivers `newly_delivered` segments in all; `min_rtt` is the smallest RTT of
    /// the connection, zero if not known.
    #[inline]
    pub fn sample(&mut self, now: Nanos, newly_delivered: u64, min_rtt: Nanos) -> RateSample {
        self.delivered += newly_delivered;
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if newly_delivered > 0 {
            self.delivered_at = now;
        }
        let Some(Newest { sent_at, stamp, .. }) = self.newest.take() else { return RateSample::default() };
        self.first_sent_at = sent_at;
        let sending = sent_at.saturating_sub(stamp.first_sent_at);
        let acknowledging = now.saturating_sub(stamp.delivered_at);
        let interval = sending.max(acknowledging);
        RateSample {
            delivered: self.delivered - stamp.delivered(),
            // Less than any round trip takes: a repeat was counted whose original had arrived.
            interval: if interval < min_rtt { Nanos::ZERO } else { interval },
            prior_delivered: stamp.delivered() - HANDSHAKE,
            limited: stamp.limited(),
        }
    }

    /// The application has nothing more to send, with `in_flight` segments on their way: until they and one
    /// more are delivered, samples may fall short of what the path can do.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.limited_until = self.delivered + in_flight;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// A host in miniature: it remembers every sending, times in milliseconds.
    #[derive(Default)]
    struct Host {
        sampler: RateSampler,
        sent: Vec<(Nanos, Stamp)>,
        acked: usize,
    }

    impl Host {
        fn send(&mut self, at: u64, segments: usize) {
            for _ in 0..segments {
                let outstanding = self.sent.len() - self.acked;
                let at = Nanos::from_millis(at);
                let stamp = self.sampler.on_sent(at, outstanding == 0);
                self.sent.push((at, stamp));
            }
        }

        /// A cumulative ACK for the next `segments`; the smallest RTT is 10 ms.
        fn ack(&mut self, at: u64, segments: usize) -> RateSample {
            for _ in 0..segments {
                let (sent_at, stamp) = self.sent[self.acked];
                self.sampler.on_delivered(&stamp, sent_at, self.acked as u64);
                self.acked += 1;
            }
            self.sampler.sample(Nanos::from_millis(at), segments as u64, Nanos::from_millis(10))
        }
    }

    fn sample(delivered: u64, interval: u64, prior_delivered: u64, limited: bool) -> RateSample {
        RateSample { delivered, interval: Nanos::from_millis(interval), prior_delivered, limited }
    }

    #[test]
    fn a_stamp_takes_24_bytes() {
        assert_eq!(size_of::<Stamp>(), 24);
    }

    #[test]
    fn the_first_flight_is_measured_from_its_own_start() {
        let mut host = Host::default();
        host.send(100, 2);
        assert_eq!(host.ack(112, 1), sample(1, 12, 0, false));
        assert_eq!(host.ack(114, 1), sample(2, 14, 0, false));
    }

    #[test]
    fn a_segment_counts_what_was_delivered_between_its_leaving_and_its_arrival() {
        // Two segments each 2 ms at the bottleneck, RTT 10 ms; each ACK sends one.
        //   sent 0, 0 | ACK 12: send #2 (1 delivered by then) | ACK 14: send #3 (2 delivered)
        //   ACK of #2 at 22: 3 - 1 = 2 delivered; acknowledged in 22 - 12 = 10 ms, but sent 12 ms after #0
        //   ACK of #3 at 24: 4 - 2 = 2 delivered; acknowledged in 24 - 14 = 10 ms, but sent 14 ms after #1
        let mut host = Host::default();
        host.send(0, 2);
        host.ack(12, 1);
        host.send(12, 1);
        host.ack(14, 1);
        host.send(14, 1);
        assert_eq!(host.ack(22, 1), sample(2, 12, 1, false));
        assert_eq!(host.ack(24, 1), sample(2, 14, 2, false));
    }

    #[test]
    fn compressed_acks_show_the_rate_of_sending() {
        // Four segments sent 10 ms apart; the ACKs of the last three come together. The ACK phase of the last
        // began when the first was acknowledged (20 -> 51 ms, 31 ms); it was sent 30 ms after the first.
        let mut host = Host::default();
        host.send(0, 1);
        host.send(10, 1);
        assert_eq!(host.ack(20, 1), sample(1, 20, 0, false));
        host.send(20, 1); // stamped 1 delivered at 20, window from 0
        host.send(30, 1); // the same
        assert_eq!(host.ack(51, 1), sample(2, 51, 0, false)); // #1, stamped 0 delivered at 0
        // #2: 3 - 1 = 2 delivered; sent 20 ms after its window began, acknowledged in 51 - 20 = 31 ms
        assert_eq!(host.ack(51, 1), sample(2, 31, 1, false));
        assert_eq!(host.ack(51, 1), sample(3, 31, 1, false));

        // Now a fast ACK phase: #4 and #5 leave at 60 and 100, their ACKs come at 111 and 111.
        host.send(60, 1); // nothing outstanding: window and deliveries from 60
        host.send(100, 1);
        assert_eq!(host.ack(111, 1), sample(1, 51, 4, false));
        // A burst of ACKs ends: #6 was sent at 111, #7 at 141; both ACKs at 151. The ACK phase of #7 is 40 ms
        // (from 111), its sending phase 141 - 60 = 81 ms (its window began with #4): 81 ms counts.
        host.send(111, 1);
        host.send(141, 1);
        host.ack(151, 1); // #5
        host.ack(151, 1); // #6
        assert_eq!(host.ack(151, 1), sample(3, 81, 5, false));
    }

    #[test]
    fn an_ack_of_many_is_measured_by_the_one_sent_last() {
        let mut host = Host::default();
        host.send(0, 1);
        host.send(4, 1);
        host.ack(11, 1);
        host.send(11, 1);
        // One ACK for #1 (sent 4) and #2 (sent 11): #2's stamp, 1 delivered at 11.
        assert_eq!(host.ack(25, 2), sample(2, 14, 1, false));
        // Sent at the same instant, but an ACK apart: the later stamp counts, whatever the order of reports.
        let mut sampler = RateSampler::default();
        let early = sampler.on_sent(Nanos::ZERO, true);
        sampler.on_delivered(&early, Nanos::ZERO, 0);
        sampler.sample(Nanos::from_millis(10), 1, Nanos::ZERO);
        let first = sampler.on_sent(Nanos::from_millis(10), true);
        sampler.on_delivered(&early, Nanos::from_millis(10), 1);
        sampler.on_delivered(&first, Nanos::from_millis(10), 2);
        sampler.on_delivered(&early, Nanos::from_millis(10), 1);
        assert_eq!(sampler.sample(Nanos::from_millis(20), 2, Nanos::ZERO).prior_delivered, 1);
    }

    #[test]
    fn less_than_the_smallest_round_trip_is_no_sample() {
        let mut host = Host::default();
        host.send(0, 2);
        assert_eq!(host.ack(9, 1), RateSample { interval: Nanos::ZERO, ..sample(1, 9, 0, false) });
        assert_eq!(host.ack(9, 1).rate(1000), Rate::NONE);
    }

    #[test]
    fn an_ack_that_delivers_nothing_gives_none_and_leaves_the_clock_alone() {
        let mut host = Host::default();
        host.send(0, 2);
        host.ack(12, 1);
        assert_eq!(host.ack(20, 0), RateSample::default());
        host.send(20, 1);
        // #2's interval begins with the delivery at 12, not with the empty ACK at 20; its window began at 0.
        host.ack(22, 1);
        assert_eq!(host.ack(32, 1), sample(2, 20, 1, false));
    }

    #[test]
    fn what_leaves_before_the_bubble_is_delivered_counts_as_limited() {
        let mut host = Host::default();
        host.send(0, 2);
        host.sampler.set_app_limited(2); // nothing more to send
        host.send(5, 1); // #2, the application comes back too late: limited
        assert_eq!(host.ack(12, 2), sample(2, 12, 0, false)); // sent before
        host.send(12, 1); // #3: 2 delivered, the bubble ends beyond 2: still limited
        assert!(host.ack(17, 1).limited); // #2: 3 delivered, the bubble is gone
        host.send(17, 1); // #4
        assert!(host.ack(24, 1).limited); // #3
        assert!(!host.ack(29, 1).limited); // #4
    }

    #[test]
    fn a_limit_from_before_the_first_segment_marks_the_first_flight_only() {
        let mut host = Host::default();
        host.sampler.set_app_limited(0);
        host.send(0, 2);
        assert!(host.ack(12, 1).limited);
        host.send(12, 1);
        assert!(host.ack(14, 1).limited);
        assert!(!host.ack(24, 1).limited);
    }

    #[test]
    fn silence_does_not_count() {
        let mut host = Host::default();
        host.send(0, 1);
        host.ack(10, 1);
        host.send(1000, 1);
        assert_eq!(host.ack(1010, 1), sample(1, 10, 1, false));
        // 1000 bytes in 10 ms are 800 kbit/s.
        assert_eq!(sample(1, 10, 1, false).rate(1000), Rate(800_000));
    }
}
