//! The authors' log of a transfer, and rounds by hand.

use super::*;
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::Trigger;

const MSS: u64 = 1448;
const RTT_US: u64 = 100_000;

/// A sender of unlimited data with a window of ten segments, whose ACKs come one by one.
struct Sender {
    phase: Suss,
    control: Control,
    now_us: u64,
    delivered: u64,
    sent: u64,
}

impl Sender {
    fn new(why: Why) -> Self {
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        let mut phase = Suss::default();
        phase.enter(&Entry { why, mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control, now_us: RTT_US, delivered: 0, sent: 10 * MSS }
    }

    /// An ACK of a segment, after a gap; then the window is filled.
    fn ack(&mut self, gap_us: u64, rtt_us: u64) -> Step {
        self.now_us += gap_us;
        self.delivered += MSS;
        let pipe = self.sent - self.delivered;
        let step = self.phase.on_ack(
            &Ack {
                now: Nanos::from_micros(self.now_us),
                rtt: Nanos::from_micros(rtt_us),
                min_rtt: Nanos::from_micros(RTT_US),
                srtt: Nanos::from_micros(RTT_US),
                acked: MSS,
                growth: MSS,
                delivered: self.delivered,
                sent: self.sent,
                pipe,
                in_flight: pipe + MSS,
                mss: MSS as u32,
                ..Ack::default()
            },
            &mut self.control,
        );
        self.sent = self.sent.max(self.delivered + self.control.cwnd);
        step
    }

    /// So many ACKs, which end nothing; the window in segments, and whether it is paced.
    fn acks(&mut self, count: u64, gap_us: u64, rtt_us: u64) -> (u64, bool) {
        for n in 0..count {
            assert_eq!(self.ack(gap_us, rtt_us), Step::Stay, "ACK {n} of {count}");
        }
        (self.control.cwnd / MSS, self.control.pacing != Rate::NONE)
    }
}

#[test]
fn the_authors_windows_in_a_transfer_and_its_end() {
    let mut sender = Sender::new(Why::Connect);
    sender.phase.set("round_start", Value::Choice(RoundStart::BeforeLinux615 as usize));
    let (mut min_rtt, mut round_rtt, mut paced) = (0, 0, 0);
    let text = include_str!("../../../testdata/suss.csv");
    let rows: Vec<_> =
        text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).collect();
    for (at, line) in rows.iter().enumerate() {
        let fields: Vec<Option<u64>> = line.split(',').map(|field| field.parse().ok()).collect();
        let &[Some(time), Some(window), Some(flight), Some(delivered), new_min, new_round, Some(state)] =
            fields.as_slice()
        else {
            panic!("seven fields: {line}")
        };
        (min_rtt, round_rtt) = (new_min.unwrap_or(min_rtt), new_round.unwrap_or(round_rtt));
        let before = sender.control.cwnd;
        let (acked, pipe) = (delivered - sender.delivered, flight * MSS);
        sender.delivered = delivered;
        // The log has the smallest RTT of the round for each ACK's own.
        let rtt = if round_rtt == 0 { min_rtt } else { round_rtt };
        let ack = Ack {
            now: Nanos::from_micros(RTT_US + time),
            rtt: Nanos::from_micros(rtt),
            srtt: Nanos::from_micros(rtt),
            acked,
            growth: acked,
            delivered,
            sent: delivered + pipe,
            pipe,
            in_flight: pipe + acked,
            mss: MSS as u32,
            ..Ack::default()
        };
        let step = sender.phase.on_ack(&ack, &mut sender.control);
        if at + 1 == rows.len() {
            // The last ACK finds a window above 608 segments, and leaves what is in flight.
            assert_eq!(before, 609 * MSS);
            assert_eq!((step, sender.control.cwnd), (Step::Exit(Exit::AckTrain), window * MSS));
        } else if state == 2 && before > window * MSS {
            // The kernel's window grows with each departure of red data, here it is the last one of these at once.
            assert_eq!((step, before), (Step::Stay, 160 * MSS), "{line}");
            paced += 1;
        } else {
            assert_eq!((step, before), (Step::Stay, window * MSS), "{line}");
        }
    }
    assert_eq!((rows.len(), paced), (407, 20));
}

#[test]
fn the_second_round_doubles_twice_if_its_acks_take_less_than_a_quarter_of_the_rtt() {
    // Nine gaps to the tenth ACK, of which nine ACKs are counted: ten of nine ninths of the gaps. 10 x 2.499 ms < 25 ms.
    for (gap, end) in [(2_499, (40, true)), (2_500, (20, false))] {
        let mut sender = Sender::new(Why::Connect);
        assert_eq!(sender.acks(9, gap, RTT_US), (19, false));
        assert_eq!(sender.acks(1, gap, RTT_US), end, "{gap} us");
    }
}

#[test]
fn red_data_leaves_over_the_rest_of_the_round_trip_and_its_acks_do_not_enlarge_the_window() {
    let mut sender = Sender::new(Why::Connect);
    sender.acks(10, 100, RTT_US);
    // 20 segments over the half of the round trip that the blue data leaves.
    let rate = Rate::of(20 * MSS, Nanos::from_micros(RTT_US / 2));
    assert_eq!((sender.control.pacing, sender.control.burst), (rate, MSS));
    // The second round: 20 blue ACKs enlarge the window, and end a quadrupling to 160: 120 red segments over three quarters of
    // the round trip. 20 red ACKs let nothing more leave.
    sender.now_us += RTT_US;
    assert_eq!(sender.acks(19, 100, RTT_US), (59, false));
    assert_eq!(sender.acks(1, 100, RTT_US), (160, true));
    assert_eq!(sender.control.pacing, Rate::of(120 * MSS, Nanos::from_micros(RTT_US * 3 / 4)));
    assert_eq!(sender.acks(20, 100, RTT_US), (160, true));
    // The next round begins with the ACK of the first red segment.
    assert_eq!(sender.acks(1, 100, RTT_US), (161, false));
}

#[test]
fn the_third_round_doubles_once_if_its_acks_or_the_rtt_would_be_too_long_in_the_next() {
    // The blue ACKs of round 2 take 1 ms. Those of round 3 take `t`, and all of its ACKs 2t; as they went from 1 to 2t, the next
    // ones would take (2t)^2 / 1 ms: up to 100 ms with t = 5 ms. 20 gaps are 5 ms by the same counting as above.
    for (gap, end) in [(250, (160, true)), (251, (60, false))] {
        let mut sender = Sender::new(Why::Connect);
        sender.acks(10, 100, RTT_US);
        sender.now_us += RTT_US;
        assert_eq!(sender.acks(20, gap, RTT_US), end, "{gap} us");
    }
    // The first ACK has the smallest RTT, and ends round 1. It has risen by r in two rounds, and would rise by 3r/2 in three: that
    // may be an eighth, with r = 8.333 ms.
    for (rtt, end) in [(108_333, (160, true)), (108_334, (60, false))] {
        let mut sender = Sender::new(Why::Connect);
        sender.acks(10, 100, RTT_US);
        sender.now_us += RTT_US;
        assert_eq!(sender.acks(20, 100, rtt), end, "{rtt} us");
    }
}

#[test]
fn the_round_of_the_last_quadrupling_is_a_parameter() {
    for (rounds, end) in [(1, (60, false)), (2, (160, true))] {
        let mut sender = Sender::new(Why::Connect);
        sender.phase.set("suss_max", Value::Number(f64::from(rounds)));
        sender.acks(10, 100, RTT_US);
        sender.now_us += RTT_US;
        assert_eq!(sender.acks(20, 100, RTT_US), end, "{rounds}");
    }
}

#[test]
fn a_quadrupling_that_would_reach_the_threshold_is_left_out() {
    for (threshold, end) in [(41, (40, true)), (40, (20, false))] {
        let mut sender = Sender::new(Why::Connect);
        sender.control.ssthresh = threshold * MSS;
        assert_eq!(sender.acks(10, 100, RTT_US), end, "{threshold}");
    }
}

#[test]
fn it_does_not_act_on_short_paths_after_timeouts_and_under_pacing() {
    let mut short = Sender::new(Why::Connect);
    assert_eq!(short.acks(10, 10, 10_000), (20, false));
    let mut again = Sender::new(Why::Timeout);
    assert_eq!(again.acks(10, 100, RTT_US), (20, false));
    let mut control = Control { cwnd: 10 * MSS, pacing: Rate(1), ..Control::default() };
    let mut phase = Suss::default();
    phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
    assert_eq!(phase.state, State::Off);
}

#[test]
fn a_blue_train_that_would_be_too_long_with_the_red_data_sets_the_last_window() {
    // The round of 40 segments after a quadrupling: half of the RTT and of a margin of 1 ms are 50.5 ms, of which the blue ACKs
    // of half of the data may span 25.25 ms. With a gap of 1.5 ms, the 17th ACK after the first one is past it, 25.5 ms. It finds
    // a window of 57, and 17 segments were acknowledged before: as many more may be added, and a window above 74 ends the phase.
    let mut sender = Sender::new(Why::Connect);
    sender.acks(10, 100, RTT_US);
    sender.now_us += RTT_US;
    assert_eq!(sender.acks(17, 1_500, RTT_US), (57, false));
    assert_eq!(sender.phase.cap, None);
    assert_eq!(sender.acks(1, 1_500, RTT_US), (58, false));
    assert_eq!(sender.phase.cap, Some(74 * MSS));
    assert_eq!(sender.acks(17, 1_500, RTT_US), (75, false));
    assert_eq!(sender.ack(1_500, RTT_US), Step::Exit(Exit::AckTrain));
    // One quadrupling: the window stays.
    assert_eq!((sender.control.cwnd, sender.control.ssthresh), (75 * MSS, 75 * MSS));
}

#[test]
fn a_loss_ends_the_phase_and_its_pacing() {
    let mut sender = Sender::new(Why::Connect);
    assert_eq!(sender.acks(10, 100, RTT_US), (40, true));
    let loss = Congestion { trigger: Trigger::Loss, base: 1, mss: MSS as u32, ..Congestion::default() };
    assert_eq!(sender.phase.on_congestion(&loss, &mut sender.control), Step::Exit(Exit::Loss));
    assert_eq!(sender.control.pacing, Rate::NONE);
}
