//! A chain behaves the same over every storage of its phases, and follows a change of the segment size.

use firstflight_contract::{Ack, Congestion, Control, Entry, Load, Nanos, Rate, Sent, StartupExit, Trigger};
use firstflight_host::chain::Chain;
use firstflight_host::phases::{Inline, Phases};
use firstflight_schemes::registry::AnyPhase;
use proptest::prelude::*;

const MSS: u32 = 1200;

fn entry(now: Nanos, mss: u32) -> Entry {
    Entry {
        now,
        rtt: Nanos::from_millis(50),
        flow_size: u64::MAX,
        receive_window: u64::MAX,
        mss,
        ..Entry::default()
    }
}

/// One call of a chain.
#[derive(Clone, Debug)]
enum Event {
    Ack { acked: u64, rtt_us: u64, flags: u32, load: Load },
    Congestion(Trigger),
    Sent,
    Idle,
    Spurious,
    SegmentSize(u32),
}

fn event() -> impl Strategy<Value = Event> {
    let flags = prop_oneof![
        6 => Just(0),
        3 => Just(Ack::ROUND_START),
        1 => Just(Ack::RECOVERY),
        1 => Just(Ack::APP_LIMITED | Ack::RATE_LIMITED),
    ];
    let load = prop_oneof![Just(Load::Unknown), Just(Load::Low), Just(Load::High), Just(Load::Over)];
    let trigger =
        prop_oneof![4 => Just(Trigger::Loss), 2 => Just(Trigger::Mark), 1 => Just(Trigger::Timeout)];
    prop_oneof![
        40 => (1..=2_u64, 40_000..90_000_u64, flags, load)
            .prop_map(|(acked, rtt_us, flags, load)| Event::Ack { acked, rtt_us, flags, load }),
        2 => trigger.prop_map(Event::Congestion),
        10 => Just(Event::Sent),
        1 => Just(Event::Idle),
        1 => Just(Event::Spurious),
        1 => (1000..9000_u32).prop_map(Event::SegmentSize),
    ]
}

/// A connection that reports random events to its chain.
struct Connection<S> {
    chain: Chain<AnyPhase, S>,
    now: Nanos,
    mss: u32,
    delivered: u64,
    sent: u64,
    lost: u64,
    round: u32,
}

impl<S: Phases<Phase = AnyPhase>> Connection<S> {
    fn start(mut chain: Chain<AnyPhase, S>) -> Self {
        chain.open(&entry(Nanos::ZERO, MSS));
        chain.start(&entry(Nanos::ZERO, MSS), 10 * u64::from(MSS), u64::MAX);
        Self { chain, now: Nanos::ZERO, mss: MSS, delivered: 0, sent: 0, lost: 0, round: 0 }
    }

    fn report(&mut self, event: &Event) {
        self.now += Nanos::from_millis(3);
        let in_flight = self.chain.control.cwnd;
        match *event {
            Event::Ack { acked, rtt_us, flags, load } => {
                let acked = acked * u64::from(self.mss);
                self.delivered += acked;
                self.sent = self.sent.max(self.delivered + in_flight);
                self.round += u32::from(flags & Ack::ROUND_START != 0);
                let growth = if flags & Ack::APP_LIMITED == 0 { acked } else { 0 };
                self.chain.on_ack(&Ack {
                    now: self.now,
                    rtt: Nanos::from_micros(rtt_us),
                    min_rtt: Nanos::from_millis(40),
                    srtt: Nanos::from_millis(60),
                    acked,
                    growth,
                    delivered: self.delivered,
                    sent: self.sent,
                    lost: self.lost,
                    in_flight,
                    pipe: in_flight.saturating_sub(acked),
                    rate: Rate::of(acked, Nanos::from_millis(1)),
                    prior_delivered: self.delivered.saturating_sub(in_flight),
                    round: self.round,
                    flags,
                    load,
                    mss: self.mss,
                    ..Ack::default()
                });
            }
            Event::Congestion(trigger) => {
                self.lost += u64::from(self.mss);
                self.chain.on_congestion(&Congestion {
                    now: self.now,
                    in_flight,
                    base: in_flight,
                    lost: u64::from(self.mss),
                    min_rtt: Nanos::from_millis(40),
                    trigger,
                    mss: self.mss,
                });
            }
            Event::Sent => {
                self.sent += u64::from(self.mss);
                self.chain.on_sent(&Sent { now: self.now, bytes: self.mss.into(), mss: self.mss });
            }
            Event::Idle => {
                let window = self.chain.control.cwnd;
                self.chain.on_idle(Entry { window, ..entry(self.now, self.mss) });
            }
            Event::Spurious => self.chain.on_spurious(),
            Event::SegmentSize(mss) => {
                self.mss = mss;
                self.chain.set_mss(mss);
            }
        }
    }

    fn state(&self) -> (Control, Option<StartupExit>, bool) {
        (self.chain.control, self.chain.startup_exit(), self.chain.in_avoidance())
    }
}

fn phases<const N: usize>(labels: [&str; N]) -> [AnyPhase; N] {
    labels.map(|label| AnyPhase::by_label(label).expect("registered"))
}

/// Whether both storages give the same registers and exits after every event.
fn compare<const N: usize>(labels: [&str; N], events: &[Event]) -> Result<(), TestCaseError> {
    let mut sequence = Connection::start(Chain::new(phases(labels).to_vec()).expect("a chain"));
    let inline = Chain::<AnyPhase, _>::with(Inline::new(phases(labels))).expect("a chain");
    prop_assert!(inline.labels().eq(labels));
    prop_assert_eq!((sequence.chain.label(), sequence.chain.needs()), (labels.join("+"), inline.needs()));
    let mut inline = Connection::start(inline);
    prop_assert_eq!(sequence.state(), inline.state());
    for event in events {
        sequence.report(event);
        inline.report(event);
        prop_assert_eq!(sequence.state(), inline.state(), "after {:?}", event);
        prop_assert!(inline.chain.control.cwnd >= inline.mss.into());
    }
    Ok(())
}

proptest! {
    #[test]
    fn storage_of_the_phases_makes_no_difference(events in prop::collection::vec(event(), 1..400)) {
        compare(["slow-start", "reno"], &events)?;
        compare(["hystart++", "cubic"], &events)?;
        compare(["limited-slow-start", "h-tcp"], &events)?;
        compare(["rate-based-pacing", "delay-slow-start", "cubic"], &events)?;
        compare(["vcp"], &events)?;
        compare(["bbr"], &events)?;
    }
}

#[test]
fn the_floor_and_the_loss_window_follow_a_new_segment_size() {
    let labels = ["slow-start", "reno"];
    let mut connection = Connection::start(Chain::new(phases(labels).to_vec()).expect("a chain"));
    connection.report(&Event::Congestion(Trigger::Timeout));
    assert_eq!(connection.chain.control.cwnd, 1200, "RFC 5681's loss window: one segment");
    // Path MTU discovery succeeds: a window of one segment becomes one larger segment at once.
    connection.report(&Event::SegmentSize(1400));
    assert_eq!(connection.chain.control.cwnd, 1400);
    connection.report(&Event::Ack { acked: 2, rtt_us: 50_000, flags: 0, load: Load::Unknown });
    assert_eq!(connection.chain.control.cwnd, 3 * 1400);
    connection.report(&Event::Congestion(Trigger::Timeout));
    assert_eq!(connection.chain.control.cwnd, 1400);
}

#[test]
fn the_next_phase_is_entered_with_the_new_segment_size() {
    let labels = ["slow-start", "reno"];
    let mut connection = Connection::start(Chain::new(phases(labels).to_vec()).expect("a chain"));
    connection.report(&Event::SegmentSize(1400));
    connection.chain.control.cwnd = 3000;
    connection.report(&Event::Congestion(Trigger::Loss));
    assert!(connection.chain.in_avoidance());
    // RFC 5681 equation (4): ssthresh = max(FlightSize / 2, 2 SMSS), with segments of 1400 bytes.
    assert_eq!(connection.chain.control.ssthresh, 2800);
}

#[test]
fn bbr_goes_on_counting_when_segments_become_larger() {
    // The total of delivered bytes is the same before and after: in segments of the new size it would be smaller.
    let ack = Event::Ack { acked: 1, rtt_us: 40_000, flags: Ack::ROUND_START, load: Load::Unknown };
    let mut events = vec![Event::Congestion(Trigger::Loss); 3];
    for size in [1200, 8900, 1200, 8900] {
        events.push(Event::SegmentSize(size));
        for _ in 0..40 {
            events.extend([ack.clone(), Event::Congestion(Trigger::Loss)]);
        }
    }
    compare(["bbr"], &events).expect("no underflow, equal registers");
}

#[test]
fn start_up_goes_on_after_a_loss_that_was_none() {
    let chain = Chain::with(Inline::new(phases(["hystart-linux", "reno"]))).expect("a chain");
    let mut connection = Connection::start(chain);
    let ack = Event::Ack { acked: 2, rtt_us: 50_000, flags: 0, load: Load::Unknown };
    connection.report(&ack);
    let before = connection.chain.control;
    connection.report(&Event::Congestion(Trigger::Loss));
    assert!(connection.chain.in_avoidance() && connection.chain.control.cwnd < before.cwnd);
    connection.report(&Event::Spurious);
    // Window and threshold are those before, and so is the phase.
    assert_eq!(connection.chain.control, before);
    assert!(!connection.chain.in_avoidance());
    // The first end of start-up stays on record.
    assert!(connection.chain.startup_exit().is_some());
}

#[test]
fn avoidance_goes_on_after_a_loss_that_was_none_at_the_threshold() {
    let chain = Chain::with(Inline::new(phases(["hystart-linux", "reno"]))).expect("a chain");
    let mut connection = Connection::start(chain);
    connection.report(&Event::Congestion(Trigger::Loss));
    connection.report(&Event::Congestion(Trigger::Loss));
    connection.report(&Event::Spurious);
    assert!(connection.chain.in_avoidance());
}
