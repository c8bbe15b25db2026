//! Bytes of a connection that are queued at the bottleneck, measured once a round trip by Vegas: L. S. Brakmo, L. L.
//! Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995, section III.B;
//! in the form of ns-2.35 (`tcp-vegas.cc`).

use crate::estimate::flights::Flights;
use firstflight_contract::{Ack, Nanos, mul_div};

/// Measurement over the flights of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    flights: Flights,
    /// BaseRTT: smallest RTT of a segment; zero before the first. The handshake's RTT does not count: its packets are
    /// small, and the longer transmission time of a segment would count as queueing.
    base: Nanos,
    /// Bytes delivered in total at the end of the flight that is being acknowledged; zero before the first.
    end: u64,
    /// RTT samples of its ACKs.
    sum: u64,
    samples: u64,
}

impl Backlog {
    /// A measurement on a path with a known smallest RTT.
    #[cfg(test)]
    pub(crate) fn over(base: Nanos) -> Self {
        Self { base, ..Self::default() }
    }

    /// Processes an ACK; on the first of a flight, returns the queued bytes of the flight before: the outstanding bytes
    /// less those that the path holds at the actual rate without a queue.
    #[inline]
    pub(crate) fn on_ack(&mut self, ack: &Ack, mss: u64) -> Option<u64> {
        if ack.rtt > Nanos::ZERO && (ack.rtt < self.base || self.base == Nanos::ZERO) {
            self.base = ack.rtt;
        }
        if ack.is(Ack::RECOVERY) {
            // Retransmissions do not measure the queue.
            *self = Self { flights: self.flights, base: self.base, ..Self::default() };
            return None;
        }
        let waiting = if self.flights.begins(ack) { self.of_flight(ack, mss) } else { None };
        // The ACK that begins a flight belongs to it.
        if ack.rtt > Nanos::ZERO {
            self.sum += ack.rtt.0;
            self.samples += 1;
        }
        waiting
    }

    fn of_flight(&mut self, ack: &Ack, mss: u64) -> Option<u64> {
        let before = core::mem::replace(
            self,
            Self { flights: self.flights, base: self.base, end: self.flights.end(), ..Self::default() },
        );
        if before.end == 0 || before.samples == 0 {
            return None;
        }
        // "Expected = WindowSize/BaseRTT", "Actual": the bytes sent since the distinguished segment left over its RTT,
        // here over the mean RTT of the flight. "Diff = Expected - Actual", times BaseRTT.
        let rtt = before.sum / before.samples;
        let sent = self.end.saturating_sub(before.end);
        let held = mul_div(sent, before.base.0, rtt.max(1));
        // Outstanding are the segment of this ACK and all later ones. Other segments of a delayed ACK waited at the
        // receiver, not at the bottleneck.
        Some((ack.pipe + mss).saturating_sub(held))
    }
}

/// Bytes that wait as segments, to the nearest one, as ns-2 has it.
pub(crate) fn segments(waiting: u64, mss: u64) -> u64 {
    (waiting + mss / 2) / mss.max(1)
}

/// ns-2: "incr cwnd unless we havent been able to keep up with it": no more than two segments of the window are unused
/// when the ACK has released one.
#[inline]
pub(crate) fn limits(cwnd: u64, ack: &Ack, mss: u64) -> bool {
    cwnd <= ack.pipe.saturating_add(3 * mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const BASE: Nanos = Nanos::from_millis(100);

    /// ACKs of one segment each under a steady window, their RTTs `rtt_ms`; what waited, bytes, at each start of a flight.
    fn steady(window: u64, rtts_ms: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut backlog = Backlog::over(BASE);
        let acks = rtts_ms.into_iter().enumerate().map(|(n, rtt)| Ack {
            rtt: Nanos::from_millis(rtt),
            delivered: (n as u64 + 1) * MSS,
            in_flight: window * MSS,
            pipe: (window - 1) * MSS,
            mss: MSS as u32,
            ..Ack::default()
        });
        acks.filter_map(|ack| backlog.on_ack(&ack, MSS)).collect()
    }

    #[test]
    fn the_backlog_is_the_window_times_the_queueing_share_of_the_rtt() {
        // Expected 20/0.1 = 200 segments/s, actual 20/0.125 = 160: Diff is 40 segments/s, in 100 ms 4 segments.
        assert_eq!(steady(20, [125; 61]), [4 * MSS; 3]);
        assert_eq!(steady(20, [100; 61]), [0; 3]);
    }

    #[test]
    fn the_rtt_is_the_mean_over_the_flight() {
        // 10 samples of 100 ms and 10 of 150 ms: 20 - 20 x 100/125 = 4.
        assert_eq!(steady(20, (0..41).map(|n| if n % 2 == 0 { 100 } else { 150 })), [4 * MSS; 2]);
    }

    #[test]
    fn the_base_is_the_smallest_rtt_of_a_segment_and_not_the_handshakes() {
        let mut backlog = Backlog::default();
        let waiting = (1..=61).filter_map(|n| {
            let (rtt, min_rtt) = (Nanos::from_millis(101), BASE);
            let (in_flight, pipe) = (20 * MSS, 19 * MSS);
            backlog.on_ack(
                &Ack { rtt, min_rtt, delivered: n * MSS, in_flight, pipe, mss: MSS as u32, ..Ack::default() },
                MSS,
            )
        });
        assert!(waiting.eq([0; 3]), "what a segment takes longer than the SYN does not wait");
    }

    #[test]
    fn a_flight_without_samples_gives_no_measurement() {
        assert_eq!(steady(20, [0; 61]), [0; 0]);
    }

    #[test]
    fn a_segment_that_waits_at_the_receiver_for_its_partner_does_not_count() {
        // 11 segments outstanding, an ACK for each two, no queue: 10 leave in each RTT, and the eleventh waits.
        let mut backlog = Backlog::default();
        for n in 1..40 {
            let ack = Ack {
                rtt: BASE,
                delivered: 2 * n * MSS,
                in_flight: 11 * MSS,
                pipe: 9 * MSS,
                mss: MSS as u32,
                ..Ack::default()
            };
            assert!(matches!(backlog.on_ack(&ack, MSS), None | Some(0)), "ACK {n}");
        }
    }

    #[test]
    fn recovery_ends_the_measurement() {
        let mut backlog = Backlog::over(BASE);
        let ack = |n: u64, flags| Ack {
            rtt: BASE + Nanos::from_millis(100),
            delivered: n * MSS,
            pipe: 0,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        };
        assert_eq!(backlog.on_ack(&ack(1, 0), MSS), None);
        assert_eq!(backlog.on_ack(&ack(2, 0), MSS), Some(500));
        assert_eq!(backlog.on_ack(&ack(3, Ack::RECOVERY), MSS), None);
        assert_eq!(backlog.on_ack(&ack(4, 0), MSS), None);
        assert_eq!(backlog.on_ack(&ack(5, 0), MSS), Some(500));
    }
}
