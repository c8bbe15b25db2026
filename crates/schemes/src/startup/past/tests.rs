use super::*;
use crate::scheme::{Scheme as _, Value};

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);

/// A path without queue before the train: one link, in nanoseconds for a packet.
struct Path {
    phase: Past,
    control: Control,
    link: u64,
    now: Nanos,
    delivered: u64,
    flags: u32,
}

impl Path {
    fn new(window: u64, link: Nanos, rtt: Nanos) -> Self {
        let mut phase = Past::default();
        let mut control = Control { cwnd: window * MSS, ..Control::default() };
        phase.enter(&Entry { rtt, mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control, link: link.0, now: RTT, delivered: 0, flags: 0 }
    }

    /// The whole window leaves as it is paced, and is acknowledged: `per_ack` packets an ACK.
    fn train(&mut self, per_ack: u64) -> Step {
        let packets = self.control.cwnd / MSS;
        let gap = if self.control.pacing == Rate::NONE { 0 } else { self.control.pacing.time_for(MSS).0 };
        let start = self.now.0;
        let mut free = 0;
        let mut step = Step::Stay;
        for i in 1..=packets {
            let sent = start + (i - 1) * gap;
            free = sent.max(free) + self.link;
            self.delivered += MSS;
            if i % per_ack != 0 && i < packets {
                continue;
            }
            assert_eq!(step, Step::Stay, "before the train's last ACK");
            // The receiver's timer, for a packet left over.
            let held = if i % per_ack == 0 { 0 } else { 200_000_000 };
            self.now = Nanos(free + RTT.0 - self.link + held);
            let acked = if i % per_ack == 0 { per_ack * MSS } else { (i % per_ack) * MSS };
            let ack = Ack {
                now: self.now,
                rtt: Nanos(self.now.0 - sent),
                min_rtt: RTT,
                acked,
                growth: MSS,
                delivered: self.delivered,
                flags: self.flags,
                mss: MSS as u32,
                ..Ack::default()
            };
            step = self.phase.on_ack(&ack, &mut self.control);
        }
        step
    }

    fn windows(&mut self, per_ack: u64, trains: usize) -> Vec<u64> {
        (0..trains)
            .map(|_| {
                assert_eq!(self.train(per_ack), Step::Stay);
                self.control.cwnd / MSS
            })
            .collect()
    }
}

#[test]
fn trains_double_and_take_half_a_round_trip() {
    let mut path = Path::new(2, Nanos(1), RTT);
    for packets in [2, 4, 8, 16] {
        assert_eq!(path.control.cwnd, packets * MSS);
        // N packets in 50 ms.
        assert_eq!((path.control.pacing, path.control.burst), (Rate(packets * MSS * 8 * 20), MSS));
        assert_eq!(path.train(1), Step::Stay);
    }
}

#[test]
fn the_first_train_slower_than_it_left_gives_the_paths_rate_and_bdp() {
    // 800 us a packet, 10 Mbit/s: BDP 125 packets. 10, 20 and 40 packets in 50 ms are 2, 4 and 8 Mbit/s... 5 ms, 2.5 ms
    // and 1.25 ms apart; 80 are 625 us apart, and their ACKs 800 us.
    for per_ack in [1, 2] {
        let mut path = Path::new(10, Nanos::from_micros(800), RTT);
        assert_eq!(path.windows(per_ack, 3), [20, 40, 80]);
        assert_eq!(path.train(per_ack), Step::Over(Exit::Delivery));
        assert_eq!((path.control.cwnd, path.control.ssthresh), (125 * MSS, 125 * MSS));
        // The window leaves at the rate that was found, and the first ACK ends that.
        assert_eq!(path.control.pacing, Rate(10_000_000));
        let ack = Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() };
        assert_eq!(path.phase.on_ack(&ack, &mut path.control), Step::Exit(Exit::Delivery));
        assert_eq!((path.control.pacing, path.control.cwnd), (Rate::NONE, 125 * MSS));
    }
}

#[test]
fn a_train_a_little_faster_than_the_path_is_let_pass() {
    // 80 packets 625 us apart. ACKs 680 us apart are 8.8 % further, 700 us 12 %.
    for (us, exits) in [(680, false), (700, true)] {
        let mut path = Path::new(80, Nanos::from_micros(us), RTT);
        assert_eq!(path.train(1) == Step::Over(Exit::Delivery), exits, "{us} us");
    }
    let mut path = Path::new(80, Nanos::from_micros(680), RTT);
    path.phase.set("tolerance", Value::Number(0.05));
    assert_eq!(path.train(1), Step::Over(Exit::Delivery));
}

#[test]
fn without_a_round_trip_time_the_first_train_is_a_burst_and_is_not_judged() {
    let mut path = Path::new(10, Nanos::from_micros(800), Nanos::ZERO);
    assert_eq!(path.control.pacing, Rate::NONE);
    assert_eq!(path.windows(1, 1), [20]);
    assert_eq!(path.control.pacing, Rate(20 * MSS * 8 * 20));
}

#[test]
fn nothing_follows_a_train_before_its_last_ack() {
    let mut path = Path::new(10, Nanos::from_micros(800), RTT);
    for left in (1..10).rev() {
        path.delivered += MSS;
        let ack = Ack {
            acked: MSS,
            growth: MSS,
            delivered: path.delivered,
            rtt: RTT,
            mss: MSS as u32,
            ..Ack::default()
        };
        assert_eq!(path.phase.on_ack(&ack, &mut path.control), Step::Stay);
        // Packets of the ten that are in flight or unsent.
        assert_eq!(path.control.cwnd, left * MSS);
    }
}

#[test]
fn an_ack_that_the_receivers_timer_sent_does_not_count() {
    // Nine packets, two an ACK: the ninth's ACK comes 200 ms late.
    let mut path = Path::new(9, Nanos::from_micros(800), RTT);
    assert_eq!(path.windows(2, 1), [18]);
}

#[test]
fn a_train_the_application_did_not_fill_is_sent_again() {
    let mut path = Path::new(80, Nanos::from_micros(800), RTT);
    path.flags = Ack::APP_LIMITED;
    assert_eq!(path.windows(1, 2), [80, 80]);
    path.flags = 0;
    assert_eq!(path.train(1), Step::Over(Exit::Delivery));
}

#[test]
fn the_threshold_bounds_the_trains() {
    let mut path = Path::new(10, Nanos::from_micros(100), RTT);
    path.control.ssthresh = 32 * MSS;
    assert_eq!(path.windows(1, 2), [20, 32]);
    assert_eq!(path.train(1), Step::Over(Exit::Threshold));
    assert_eq!((path.control.cwnd, path.control.ssthresh), (32 * MSS, 32 * MSS));
    // The window leaves over a round trip.
    assert_eq!(path.control.pacing, Rate(32 * MSS * 80));
}

#[test]
fn a_loss_leaves_half_of_the_whole_train_not_of_its_rest() {
    let mut path = Path::new(80, Nanos::from_micros(800), RTT);
    let ack = Ack {
        acked: 70 * MSS,
        growth: MSS,
        delivered: 70 * MSS,
        rtt: RTT,
        mss: MSS as u32,
        ..Ack::default()
    };
    assert_eq!(path.phase.on_ack(&ack, &mut path.control), Step::Stay);
    let loss =
        Congestion { base: 10 * MSS, trigger: Trigger::Loss, mss: MSS as u32, ..Congestion::default() };
    assert_eq!(path.phase.on_congestion(&loss, &mut path.control), Step::Over(Exit::Loss));
    // Ten packets are in flight; slow start leads to forty.
    assert_eq!((path.control.cwnd, path.control.ssthresh), (10 * MSS, 40 * MSS));
    assert_eq!(path.control.pacing, Rate::NONE);
    let during = Ack { flags: Ack::RECOVERY, ..ack };
    assert_eq!(path.phase.on_ack(&during, &mut path.control), Step::Stay);
    assert_eq!(path.phase.on_ack(&ack, &mut path.control), Step::Exit(Exit::Loss));
}

#[test]
fn a_spurious_loss_lets_the_train_go_on_unjudged() {
    let mut path = Path::new(80, Nanos::from_micros(800), RTT);
    let loss =
        Congestion { base: 80 * MSS, trigger: Trigger::Loss, mss: MSS as u32, ..Congestion::default() };
    assert_eq!(path.phase.on_congestion(&loss, &mut path.control), Step::Over(Exit::Loss));
    path.phase.on_spurious();
    // The host restores the registers.
    (path.control.cwnd, path.control.ssthresh) = (80 * MSS, u64::MAX);
    assert_eq!(path.windows(1, 1), [80]);
}

#[test]
fn a_timeout_is_followed_by_slow_start() {
    let mut path = Path::new(80, Nanos::from_micros(800), RTT);
    let timeout =
        Congestion { base: 80 * MSS, trigger: Trigger::Timeout, mss: MSS as u32, ..Congestion::default() };
    assert_eq!(path.phase.on_congestion(&timeout, &mut path.control), Step::Exit(Exit::Timeout));
    path.control.cwnd = MSS;
    path.phase.enter(&Entry { why: Why::Timeout, mss: MSS as u32, ..Entry::default() }, &mut path.control);
    let ack = Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() };
    let _ = path.phase.on_ack(&ack, &mut path.control);
    assert_eq!((path.control.cwnd, path.control.pacing), (2 * MSS, Rate::NONE));
}
