//! A start-up below a finite threshold ends at it, and the part of the ACK beyond it is counted once, by the next phase. RFC 5681
//! section 3.1: slow start is for a window below ssthresh. Linux's `tcp_slow_start` grows to ssthresh and returns the segments that
//! are left, which `tcp_cong_avoid_ai` counts.

use firstflight_contract::{Ack, Entry, Nanos, Role};
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::{AnyPhase, SCHEMES};
use firstflight_schemes::scheme::Value;

const MSS: u64 = 1000;

/// A connection that counts every acknowledged byte, as Linux and QUIC do.
struct Connection {
    chain: Chain<AnyPhase>,
    now: Nanos,
    delivered: u64,
}

impl Connection {
    /// A connection with a window of ten segments and this threshold, bytes. Without a round-trip time of the handshake nothing is
    /// paced.
    fn new(startup: &str, parameters: &[(&str, Value)], ssthresh: u64) -> Self {
        let mut phase = AnyPhase::by_label(startup).expect("registered");
        for &(name, value) in parameters {
            phase.set(name, value).expect("a parameter");
        }
        let reno = AnyPhase::by_label("reno").expect("registered");
        let mut chain = Chain::new(vec![phase, reno]).expect("a chain");
        chain.start(&Entry { mss: MSS as u32, ..Entry::default() }, 10 * MSS, ssthresh);
        Self { chain, now: Nanos::from_millis(100), delivered: 0 }
    }

    /// One ACK of `segments`, and what is left of it; returns the window, bytes.
    fn acknowledge(&mut self, segments: u64, flags: u32) -> u64 {
        let bytes = segments * MSS;
        self.now = self.now.saturating_add(Nanos::from_millis(20));
        self.delivered += bytes;
        let window = self.chain.control.cwnd;
        let ack = Ack {
            now: self.now,
            rtt: Nanos::from_millis(100),
            min_rtt: Nanos::from_millis(100),
            srtt: Nanos::from_millis(100),
            acked: bytes,
            growth: bytes,
            delivered: self.delivered,
            sent: self.delivered + window,
            in_flight: window + bytes,
            pipe: window,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        };
        let rest = self.chain.on_ack(&ack);
        if rest > 0 {
            let again = self.chain.on_ack(&Ack { acked: 0, rtt: Nanos::ZERO, growth: rest, ..ack });
            assert_eq!(again, 0, "the rest is counted once");
        }
        self.chain.control.cwnd
    }
}

/// Start-ups that are not slow start in the first flight. PaSt sends trains of its own size, and knows no threshold meanwhile.
const OTHER_FIRST_FLIGHTS: [&str; 4] = ["past", "smooth-start", "swift-start", "vegas"];

#[test]
fn every_start_up_stops_at_the_threshold_and_avoidance_counts_the_rest_once() {
    // A window of 10, a threshold of 12, one ACK of 10: 2 of them reach the threshold. Reno counts the other 8: four more make a
    // window of 12, and add a segment.
    for info in SCHEMES.iter().filter(|info| info.role == Role::Startup) {
        let mut connection = Connection::new(info.label, &[], 12 * MSS);
        if OTHER_FIRST_FLIGHTS.contains(&info.label) {
            continue;
        }
        assert_eq!(connection.acknowledge(10, Ack::ROUND_START), 12 * MSS, "{}", info.label);
        assert_eq!(connection.acknowledge(3, 0), 12 * MSS, "{}: three more", info.label);
        assert_eq!(connection.acknowledge(1, 0), 13 * MSS, "{}: the fourth", info.label);
    }
}

#[test]
fn start_ups_with_other_first_flights_stop_at_the_threshold_too() {
    // Swift-Start begins with four segments: 8 of the 10 reach the threshold, 2 are left: ten more make a window of 12.
    let mut swift = Connection::new("swift-start", &[], 12 * MSS);
    let begins_with = swift.chain.control.cwnd;
    assert_eq!((begins_with, swift.acknowledge(10, Ack::ROUND_START)), (4 * MSS, 12 * MSS));
    assert_eq!((swift.acknowledge(9, 0), swift.acknowledge(1, 0)), (12 * MSS, 13 * MSS));
    // Vegas grows in every other flight: the ACK that begins the second one makes the window 12.
    let mut vegas = Connection::new("vegas", &[], 12 * MSS);
    let windows: Vec<u64> = (0..4).map(|_| vegas.acknowledge(10, Ack::ROUND_START)).collect();
    assert!(
        windows.contains(&(12 * MSS)) && windows[..2].iter().all(|window| *window <= 12 * MSS),
        "{windows:?}"
    );
}

#[test]
fn a_start_up_that_grows_more_slowly_leaves_what_it_did_not_need() {
    // A quarter of a segment for each: 8 of the 10 reach the threshold, 2 are left. RFC 3742: K = 10 / (0.5 x 5) = 4. Smooth-start:
    // four ACKs for a segment from half the threshold on.
    let slow: [(&str, &[(&str, Value)]); 2] = [
        ("limited-slow-start", &[("max_ssthresh", Value::Packets(5))]),
        ("smooth-start", &[("gn", Value::Number(4.0)), ("smsthresh", Value::Number(0.5))]),
    ];
    for (startup, parameters) in slow {
        let mut connection = Connection::new(startup, parameters, 12 * MSS);
        assert_eq!(connection.acknowledge(10, Ack::ROUND_START), 12 * MSS, "{startup}");
        assert_eq!(connection.acknowledge(9, 0), 12 * MSS, "{startup}");
        assert_eq!(connection.acknowledge(1, 0), 13 * MSS, "{startup}");
    }
    // By default two ACKs for a segment: 4 of the 10, and 6 are left.
    let mut connection = Connection::new("smooth-start", &[], 12 * MSS);
    assert_eq!(connection.acknowledge(10, Ack::ROUND_START), 12 * MSS);
    assert_eq!((connection.acknowledge(5, 0), connection.acknowledge(1, 0)), (12 * MSS, 13 * MSS));
}

#[test]
fn a_threshold_between_two_segments_is_reached_exactly() {
    // 12.5 segments: 2.5 of the 10 reach it, 7.5 are left; five more make 12.5.
    for startup in ["slow-start", "hystart++", "hystart-linux", "adaptive-start"] {
        let mut connection = Connection::new(startup, &[], 12 * MSS + MSS / 2);
        assert_eq!(connection.acknowledge(10, Ack::ROUND_START), 12_500, "{startup}");
        assert_eq!(connection.acknowledge(4, 0), 12_500, "{startup}");
        assert_eq!(connection.acknowledge(1, 0), 13_500, "{startup}");
    }
}

#[test]
fn slow_start_under_an_avoidance_scheme_stops_at_the_threshold_too() {
    // After a loss and an idle time the last phase is in force below its threshold: 20 / 2 = 10, and the host restarts from 4.
    let mut connection = Connection::new("slow-start", &[], 10 * MSS);
    connection.chain.control.cwnd = 4 * MSS;
    assert!(connection.chain.in_avoidance());
    // 6 of the 8 reach the threshold; 2 and 8 make a window of 10.
    assert_eq!(connection.acknowledge(8, Ack::ROUND_START), 10 * MSS);
    assert_eq!((connection.acknowledge(7, 0), connection.acknowledge(1, 0)), (10 * MSS, 11 * MSS));
}

#[test]
fn a_step_of_one_segment_may_pass_a_threshold_that_is_a_part_of_it_away() {
    // RFC 5681 section 3.1: at most SMSS for an ACK, and "slow start ends when cwnd exceeds ssthresh".
    let mut connection = Connection::new("slow-start", &[], 10 * MSS + MSS / 2);
    assert_eq!(connection.acknowledge(1, Ack::ROUND_START), 11 * MSS);
}
