use super::*;
use crate::scheme::{Scheme as _, Value};

const MSS: u64 = 1000;
/// 40 Mbit/s and 100 ms: 5000 packets a second, 500 in a round trip.
const BASE: Nanos = Nanos::from_millis(100);
const BDP: u64 = 500;
const PER_PACKET: Nanos = Nanos::from_micros(200);

/// A sender over one link that queues what exceeds the BDP.
struct Sender {
    phase: Fast,
    control: Control,
}

impl Sender {
    fn new(packets: u64, set: &[(&str, Value)]) -> Self {
        let mut phase = Fast::default();
        for (name, value) in set {
            phase.set(name, *value);
        }
        let mut control = Control { cwnd: packets * MSS, ssthresh: packets * MSS, ..Control::default() };
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control }
    }

    fn packets(&self) -> f64 {
        self.control.cwnd as f64 / MSS as f64
    }

    /// A window of ACKs; each packet waited for what the window exceeds the BDP by.
    fn round(&mut self) -> f64 {
        for i in 0..self.control.cwnd / MSS {
            let queued = (self.control.cwnd / MSS).saturating_sub(BDP);
            let ack = Ack {
                rtt: BASE + Nanos(queued * PER_PACKET.0),
                min_rtt: BASE,
                acked: MSS,
                growth: MSS,
                flags: if i == 0 { Ack::ROUND_START } else { 0 },
                mss: MSS as u32,
                ..Ack::default()
            };
            let _ = self.phase.on_ack(&ack, &mut self.control);
        }
        self.packets()
    }
}

#[test]
fn without_a_queue_every_second_round_trip_adds_gamma_alpha() {
    // baseRTT/RTT = 1: w + gamma alpha = w + 10, risen to within the round trip, kept in the next.
    let mut s = Sender::new(100, &[]);
    let windows: Vec<f64> = (0..4).map(|_| s.round()).collect();
    assert_eq!(windows, [110.0, 110.0, 120.0, 120.0]);
    let mut s = Sender::new(100, &[("alpha", Value::Packets(200)), ("rounds", Value::Number(1.0))]);
    let windows: Vec<f64> = (0..3).map(|_| s.round()).collect();
    // min(2 w, w + 100)
    assert_eq!(windows, [200.0, 300.0, 400.0]);
}

#[test]
fn the_window_never_more_than_doubles() {
    let mut s = Sender::new(20, &[("alpha", Value::Packets(200))]);
    assert_eq!((s.round(), s.round(), s.round()), (40.0, 40.0, 80.0));
}

#[test]
fn a_window_that_connections_share_may_fall_below_a_lower_target() {
    // 600 packets, 100 of them in the queue: RTT 120 ms, and (600 + 600 / 1.2 + alpha) / 2 = 560 packets for alpha = 20.
    let mut s = Sender::new(600, &[]);
    let ack = |flags| Ack {
        rtt: BASE + Nanos(100 * PER_PACKET.0),
        min_rtt: BASE,
        acked: MSS,
        growth: MSS,
        flags,
        mss: MSS as u32,
        ..Ack::default()
    };
    let _ = s.phase.on_ack(&ack(Ack::ROUND_START), &mut s.control);
    assert_eq!(s.packets(), 560.0);
    // Another connection of the group lost a packet. The fall to 560 packets leaves no rise for the rest of the round trip.
    s.control.cwnd = 300 * MSS;
    let _ = s.phase.on_ack(&ack(0), &mut s.control);
    assert_eq!(s.packets(), 300.0);
}

#[test]
fn in_equilibrium_alpha_packets_are_queued() {
    // w = baseRTT/RTT w + alpha, and RTT/baseRTT = w/BDP: w = BDP + alpha.
    for (alpha, gamma, rounds) in [(20, 0.5, 2.0), (20, 0.5, 1.0), (100, 0.3, 2.0), (100, 1.0, 2.0)] {
        for start in [100, 510, 2000] {
            let set = [
                ("alpha", Value::Packets(alpha)),
                ("gamma", Value::Number(gamma)),
                ("rounds", Value::Number(rounds)),
            ];
            let mut s = Sender::new(start, &set);
            for _ in 0..400 {
                s.round();
            }
            let queued = s.packets() - BDP as f64;
            assert!((queued - alpha as f64).abs() <= 1.0, "alpha {alpha}, gamma {gamma}: {queued} queued");
            assert!(s.control.ssthresh <= s.control.cwnd, "slow start must not begin again");
        }
    }
}

#[test]
fn too_large_a_window_falls_at_once_by_gamma_of_the_excess() {
    // 2000 packets: RTT 400 ms. (1 - 0.5) 2000 + 0.5 (2000/4 + 20) = 1260.
    let mut s = Sender::new(2000, &[]);
    let rtt = BASE + Nanos(1500 * PER_PACKET.0);
    let ack =
        Ack { rtt, min_rtt: BASE, growth: MSS, flags: Ack::ROUND_START, mss: MSS as u32, ..Ack::default() };
    let _ = s.phase.on_ack(&ack, &mut s.control);
    assert_eq!((s.control.cwnd, s.control.ssthresh), (1260 * MSS, 1260 * MSS));
}

#[test]
fn the_rtt_is_averaged_over_a_third_of_the_windows_acks() {
    let mut s = Sender::new(100, &[]);
    let sample = |s: &mut Sender, ms| s.phase.measure(Nanos::from_millis(ms), s.control.cwnd, MSS);
    let average = |s: &Sender| (s.phase.average >> ONE_BITS) as f64 / 1e6;
    sample(&mut s, 100);
    sample(&mut s, 200);
    // eta = 3/100
    assert!((average(&s) - 103.0).abs() < 1e-5, "{}", average(&s));
    sample(&mut s, 3);
    assert!((average(&s) - 100.0).abs() < 1e-5, "{}", average(&s));
    s.control.cwnd = 4 * MSS;
    sample(&mut s, 200);
    // at most a quarter
    assert!((average(&s) - 125.0).abs() < 1e-5, "{}", average(&s));
}

#[test]
fn a_loss_halves_the_window_and_small_windows_keep_two_segments() {
    let mut s = Sender::new(100, &[]);
    let _ = s.round();
    let event = Congestion { base: s.control.cwnd, mss: MSS as u32, ..Congestion::default() };
    let _ = s.phase.on_congestion(&event, &mut s.control);
    assert_eq!((s.control.cwnd, s.control.ssthresh), (55 * MSS, 55 * MSS));
    let _ = s.phase.on_congestion(&Congestion { base: MSS, ..event }, &mut s.control);
    assert_eq!(s.control.cwnd, 2 * MSS);
}

#[test]
fn the_window_stays_constant_during_recovery() {
    let mut s = Sender::new(2000, &[]);
    let rtt = Nanos::from_millis(400);
    let flags = Ack::RECOVERY | Ack::ROUND_START;
    let ack = Ack { rtt, min_rtt: BASE, growth: MSS, flags, mss: MSS as u32, ..Ack::default() };
    let _ = s.phase.on_ack(&ack, &mut s.control);
    assert_eq!(s.control.cwnd, 2000 * MSS);
}
