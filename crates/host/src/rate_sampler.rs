//! Delivery-rate samples, one per ACK: N. Cardwell, Y. Cheng, S. Hassas Yeganeh, V. Jacobson, "Delivery Rate Estimation",
//! draft-cheng-iccrg-delivery-rate-estimation, as Linux implements it (tcp_rate.c), in bytes instead of packets.
//!
//! The host stamps every packet with the amount delivered before it left. When the packet is delivered, the sample is the
//! amount delivered since, divided by the elapsed time. The elapsed time is the longer of the time that the data took to
//! be sent and the time that it took to be acknowledged: compressed ACKs then show no rate above the sending rate.
//!
//! The host calls [`RateSampler::on_sent`] for each packet, retransmissions included, [`RateSampler::on_delivered`] for
//! each packet that an ACK newly delivers, and [`RateSampler::sample`] once per ACK. Packets may differ in size.

use firstflight_contract::{Nanos, Rate};

/// State of the connection when a packet left. The host stores one stamp with each packet in flight, and a new one when it
/// retransmits the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes delivered by then, shifted left by one bit; the low bit is set if the application limited the sender.
    delivered_and_limited: u64,
    /// Time of the newest delivery by then.
    delivered_at: Nanos,
    /// Time at which the first packet of the current sending interval left.
    first_sent_at: Nanos,
}

impl Stamp {
    /// Bytes delivered when the packet left, plus [`HANDSHAKE`].
    fn counted(self) -> u64 {
        self.delivered_and_limited >> 1
    }

    /// Bytes delivered when the packet left.
    pub fn delivered(self) -> u64 {
        self.counted().saturating_sub(HANDSHAKE)
    }

    /// Whether the application limited the sender when the packet left.
    pub fn limited(self) -> bool {
        self.delivered_and_limited & 1 != 0
    }
}

/// Delivery-rate sample of one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered during `interval`.
    pub delivered: u64,
    /// Length of the interval; zero if the ACK gives no sample.
    pub interval: Nanos,
    /// Bytes delivered in total when the newest packet of this ACK left.
    pub prior_delivered: u64,
    /// The application limited the sender when that packet left: the path may be faster than the sample.
    pub limited: bool,
}

impl RateSample {
    /// The delivery rate; [`Rate::NONE`] if the ACK gives no sample.
    pub fn rate(&self) -> Rate {
        Rate::of(self.delivered, self.interval)
    }
}

/// The newest packet that the present ACK delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Nanos,
    number: u64,
    stamp: Stamp,
}

/// Delivery-rate estimator of one connection.
#[derive(Clone, Debug)]
pub struct RateSampler {
    /// Bytes delivered, plus [`HANDSHAKE`].
    delivered: u64,
    /// Time of the newest delivery; the start of the flight if nothing was outstanding.
    delivered_at: Nanos,
    /// Time at which the newest delivered packet left; the start of the flight if nothing was outstanding.
    first_sent_at: Nanos,
    /// Packets count as limited by the application until `delivered` exceeds this value; zero if there is no limit.
    limited_until: u64,
    newest: Option<Newest>,
}

/// The handshake counts as one delivered byte (in Linux, the SYN as one packet). `limited_until` is then never zero while a
/// limit holds, and the first delivery ends a limit that was set before anything was sent.
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
    /// Stamp of a packet that leaves at `now`. `nothing_outstanding`: every packet sent before is acknowledged. A packet
    /// that is declared lost counts as outstanding: if it was declared lost wrongly, the interval would be too short.
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

    /// The present ACK is the first to report packet `number`, last sent at `sent_at` with this stamp. Numbers order packets
    /// that left at the same time. Returns whether the packet is the newest that the ACK reports so far: the sample is then
    /// made from it.
    #[inline]
    pub fn on_delivered(&mut self, stamp: &Stamp, sent_at: Nanos, number: u64) -> bool {
        let is_newest = self.newest.is_none_or(|newest| (newest.sent_at, newest.number) < (sent_at, number));
        if is_newest {
            self.newest = Some(Newest { sent_at, number, stamp: *stamp });
        }
        is_newest
    }

    /// Sample of the present ACK, which arrived at `now` and delivers `newly_delivered` bytes in total. `min_rtt` is the
    /// smallest round-trip time of the connection; zero if not known.
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
            delivered: self.delivered - stamp.counted(),
            // An interval below any round-trip time: the original of a retransmission had arrived.
            interval: if interval < min_rtt { Nanos::ZERO } else { interval },
            prior_delivered: stamp.delivered(),
            limited: stamp.limited(),
        }
    }

    /// The application has no more data to send, and `in_flight` bytes are in flight. Until more than these bytes are
    /// delivered, samples may be below the rate of the path.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.limited_until = self.delivered + in_flight;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Bytes of a segment.
    const SEGMENT: u64 = 1000;

    /// A host of segments of one size. It stores the stamp of every segment; times are in milliseconds.
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

        /// Cumulative ACK of the next `segments`; the smallest RTT is 10 ms.
        fn ack(&mut self, at: u64, segments: usize) -> RateSample {
            for _ in 0..segments {
                let (sent_at, stamp) = self.sent[self.acked];
                self.sampler.on_delivered(&stamp, sent_at, self.acked as u64);
                self.acked += 1;
            }
            let bytes = segments as u64 * SEGMENT;
            self.sampler.sample(Nanos::from_millis(at), bytes, Nanos::from_millis(10))
        }
    }

    /// A sample of `delivered` segments in `interval` milliseconds, `prior` segments having been delivered before.
    fn sample(delivered: u64, interval: u64, prior: u64, limited: bool) -> RateSample {
        RateSample {
            delivered: delivered * SEGMENT,
            interval: Nanos::from_millis(interval),
            prior_delivered: prior * SEGMENT,
            limited,
        }
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
    fn a_sample_counts_the_deliveries_between_sending_and_delivery() {
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
    fn compressed_acks_show_the_sending_rate() {
        // Four segments sent 10 ms apart; the ACKs of the last three arrive together. The ACK phase of the last
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

        // Now a fast ACK phase: #4 and #5 leave at 60 and 100, their ACKs arrive at 111 and 111.
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
    fn an_ack_of_several_segments_uses_the_one_sent_last() {
        let mut host = Host::default();
        host.send(0, 1);
        host.send(4, 1);
        host.ack(11, 1);
        host.send(11, 1);
        // One ACK for #1 (sent 4) and #2 (sent 11): #2's stamp, 1 delivered at 11.
        assert_eq!(host.ack(25, 2), sample(2, 14, 1, false));
        // Two segments sent at the same time, with an ACK between them: the later stamp counts in any order of reports.
        let mut sampler = RateSampler::default();
        let early = sampler.on_sent(Nanos::ZERO, true);
        sampler.on_delivered(&early, Nanos::ZERO, 0);
        sampler.sample(Nanos::from_millis(10), SEGMENT, Nanos::ZERO);
        let first = sampler.on_sent(Nanos::from_millis(10), true);
        sampler.on_delivered(&early, Nanos::from_millis(10), 1);
        sampler.on_delivered(&first, Nanos::from_millis(10), 2);
        sampler.on_delivered(&early, Nanos::from_millis(10), 1);
        let sample = sampler.sample(Nanos::from_millis(20), 2 * SEGMENT, Nanos::ZERO);
        assert_eq!(sample.prior_delivered, SEGMENT);
    }

    #[test]
    fn an_interval_below_the_smallest_rtt_gives_no_sample() {
        let mut host = Host::default();
        host.send(0, 2);
        assert_eq!(host.ack(9, 1), RateSample { interval: Nanos::ZERO, ..sample(1, 9, 0, false) });
        assert_eq!(host.ack(9, 1).rate(), Rate::NONE);
    }

    #[test]
    fn an_ack_that_delivers_nothing_gives_no_sample_and_starts_no_interval() {
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
    fn segments_sent_during_an_application_limit_are_limited() {
        let mut host = Host::default();
        host.send(0, 2);
        host.sampler.set_app_limited(2 * SEGMENT); // no more data
        host.send(5, 1); // #2, after the application's pause: limited
        assert_eq!(host.ack(12, 2), sample(2, 12, 0, false)); // sent before
        host.send(12, 1); // #3: 2 delivered, the limit ends beyond 2: still limited
        assert!(host.ack(17, 1).limited); // #2: 3 delivered, the limit ends
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
    fn idle_time_is_no_part_of_an_interval() {
        let mut host = Host::default();
        host.send(0, 1);
        host.ack(10, 1);
        host.send(1000, 1);
        assert_eq!(host.ack(1010, 1), sample(1, 10, 1, false));
        // 1000 bytes in 10 ms are 800 kbit/s.
        assert_eq!(sample(1, 10, 1, false).rate(), Rate(800_000));
    }
    #[test]
    fn packets_of_different_sizes_count_by_their_bytes() {
        // 1200, 300 and 1452 bytes leave at 0; one ACK at 20 ms delivers the first two, one at 25 ms the third.
        let mut sampler = RateSampler::default();
        let stamps = [0, 1, 2].map(|number| sampler.on_sent(Nanos::ZERO, number == 0));
        sampler.on_delivered(&stamps[0], Nanos::ZERO, 0);
        sampler.on_delivered(&stamps[1], Nanos::ZERO, 1);
        let first = sampler.sample(Nanos::from_millis(20), 1500, Nanos::from_millis(20));
        // 1500 bytes in 20 ms are 600 kbit/s.
        assert_eq!((first.delivered, first.prior_delivered, first.rate()), (1500, 0, Rate(600_000)));
        let later = sampler.on_sent(Nanos::from_millis(20), false);
        sampler.on_delivered(&stamps[2], Nanos::ZERO, 2);
        sampler.sample(Nanos::from_millis(25), 1452, Nanos::from_millis(20));
        // The packet sent at 20 ms was stamped with 1500 bytes; 1452 + 1200 bytes follow within 20 ms.
        sampler.on_delivered(&later, Nanos::from_millis(20), 3);
        let last = sampler.sample(Nanos::from_millis(40), 1200, Nanos::from_millis(20));
        assert_eq!(
            (last.delivered, last.interval, last.prior_delivered),
            (2652, Nanos::from_millis(20), 1500)
        );
        assert_eq!(last.rate(), Rate(1_060_800));
    }
}
