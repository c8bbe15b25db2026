//! RFC 9959, Careful Resume: windows of a saved path, by hand.

use firstflight_contract::{Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Plan, Rate, Step, Trigger};
use firstflight_paths::{Cluster, Destination, Policy, Sample, Transfer};
use firstflight_schemes::scheme::{Scheme as _, Value};
use firstflight_schemes::startup::careful_resume::CarefulResume;

use super::held::{Held, hold, hold_eq};
use super::{Case, Run};

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(100);
/// Smallest round trip of every connection.
const LEAST_RTT: Nanos = Nanos::from_millis(80);
/// The window that is saved: half of it is a jump to 100 segments.
const SAVED: u64 = 200;

/// Reason why a case is not observable: the protocol has no line for a saved window.
const UNSEEN: &str = "the protocol has no saved window";

const fn case(name: &'static str, section: &'static str, sentence: &'static str, held: fn() -> Held) -> Case {
    Case { name, source: section, sentence, run: Run::Here { held, unseen: UNSEEN } }
}

/// A connection with an initial window of ten segments, and a sender that always has data.
struct Sender {
    phase: CarefulResume,
    control: Control,
    now: Nanos,
    sent: u64,
    delivered: u64,
}

impl Sender {
    /// With this plan.
    fn planned(plan: Plan, params: &[(&str, Value)]) -> Self {
        let mut phase = CarefulResume::default();
        for &(name, value) in params {
            phase.set(name, value);
        }
        let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
        phase.enter(&Entry { plan, mss: MSS as u32, ..Entry::default() }, &mut control);
        Self { phase, control, now: RTT, sent: 10 * MSS, delivered: 0 }
    }

    /// With a saved window of 200 segments, and this saved round trip.
    fn resuming(saved_rtt: Nanos, params: &[(&str, Value)]) -> Self {
        Self::planned(Plan { cwnd: SAVED * MSS, rtt: saved_rtt, samples: 1, ..Plan::default() }, params)
    }

    fn ack(&mut self, flags: u32) -> Step {
        let before = self.sent - self.delivered;
        self.delivered += MSS;
        let ack = Ack {
            now: self.now,
            rtt: RTT,
            min_rtt: RTT,
            srtt: RTT,
            acked: MSS,
            growth: if flags & Ack::RECOVERY == 0 { MSS } else { 0 },
            delivered: self.delivered,
            sent: self.sent,
            in_flight: before,
            pipe: before - MSS,
            flags,
            mss: MSS as u32,
            ..Ack::default()
        };
        let step = self.phase.on_ack(&ack, &mut self.control);
        if flags & Ack::APP_LIMITED == 0 {
            self.sent = self.sent.max(self.delivered + self.control.cwnd);
        }
        step
    }

    /// ACKs for so many segments.
    fn acks(&mut self, count: u64) {
        for _ in 0..count {
            let _ = self.ack(0);
        }
    }

    fn lose(&mut self, trigger: Trigger) -> Step {
        let event = Congestion { trigger, base: self.control.cwnd, mss: MSS as u32, ..Congestion::default() };
        self.phase.on_congestion(&event, &mut self.control)
    }

    /// Window, segments.
    fn window(&self) -> f64 {
        self.control.cwnd as f64 / MSS as f64
    }

    /// Checks the window.
    fn has(&self, window: f64) -> Held {
        hold_eq!(self.window(), window);
        Ok(format!("{window} segments"))
    }
}

fn transfer(destination: u8, now: u64) -> Transfer {
    let (now, destination) = (Nanos::from_secs(now), Destination(destination.into()));
    Transfer { now, destination, bytes: u64::MAX, mss: MSS as u32, ..Transfer::default() }
}

fn sample(now: u64, segments: u64, srtt: Nanos, avoiding: bool) -> Sample {
    let min_rtt = srtt.min(LEAST_RTT);
    Sample { now: Nanos::from_secs(now), cwnd: segments * MSS, ssthresh: u64::MAX, srtt, min_rtt, avoiding }
}

/// The rule of plans, and a cluster whose last connection to destination 7 left this window after a second.
fn left(segments: u64) -> Result<(Policy, Cluster), String> {
    let policy = Policy::new("careful-resume", &[]).map_err(|error| error.to_string())?;
    let settings = Policy::settings_for([&policy]).map_err(|error| format!("{error:?}"))?;
    let mut cluster = Cluster::new(settings);
    let key = cluster.open(&transfer(7, 0), &sample(0, 10, LEAST_RTT, false));
    cluster.observe(key, &sample(1, segments, RTT, true));
    cluster.close(key, Nanos::from_secs(1));
    Ok((policy, cluster))
}

fn small_windows() -> Held {
    for (segments, saved) in [(39, 0), (40, 40 * MSS)] {
        let (policy, cluster) = left(segments)?;
        hold_eq!(policy.plan(&cluster, &transfer(7, 2)).cwnd, saved);
    }
    Ok("39 segments: nothing; 40 segments: saved".to_owned())
}

fn saved_values() -> Held {
    let (policy, cluster) = left(SAVED)?;
    hold_eq!(policy.plan(&cluster, &transfer(7, 602)), Plan::default());
    let plan = policy.plan(&cluster, &transfer(7, 601));
    let (window, rtt) = (plan.cwnd / MSS, plan.rtt.0 / 1_000_000);
    hold!(
        plan.rtt == LEAST_RTT,
        "{window} segments for 600 s, with {rtt} ms; the round trips were 80 and 100 ms"
    );
    Ok(format!("{window} segments, {rtt} ms"))
}

fn first_round_trip() -> Held {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.has(10.0)?;
    sender.acks(9);
    hold_eq!(sender.control.pacing, Rate::NONE);
    sender.has(19.0)
}

fn other_endpoint() -> Held {
    let (policy, cluster) = left(SAVED)?;
    let plan = policy.plan(&cluster, &transfer(8, 2));
    let mut sender = Sender::planned(plan, &[]);
    sender.acks(10);
    sender.has(20.0)?;
    // A saved window without a round trip, and one that is too old, are as none.
    let old = Nanos::from_secs(601);
    for plan in [Plan { cwnd: SAVED * MSS, ..plan }, Plan { cwnd: SAVED * MSS, rtt: RTT, age: old, ..plan }] {
        let mut sender = Sender::planned(plan, &[]);
        sender.acks(10);
        sender.has(20.0)?;
    }
    Ok("20 segments after a round trip".to_owned())
}

fn early_congestion() -> Held {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(5);
    hold_eq!(sender.lose(Trigger::Loss), Step::Exit(Exit::Loss));
    Ok("the next phase has the loss".to_owned())
}

fn one_user() -> Held {
    let (policy, mut cluster) = left(SAVED)?;
    hold!(policy.plan(&cluster, &transfer(7, 2)).cwnd > 0);
    let key = cluster.open(&transfer(7, 2), &sample(2, 10, RTT, false));
    hold_eq!(policy.plan(&cluster, &transfer(7, 2)), Plan::default());
    cluster.observe(key, &sample(3, 90, RTT, true));
    hold!(policy.plan(&cluster, &transfer(7, 3)).cwnd > 0);
    Ok("no plan while the first one starts".to_owned())
}

fn little_data() -> Held {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(9);
    let _ = sender.ack(Ack::APP_LIMITED);
    sender.has(20.0)?;
    sender.acks(1);
    sender.has(100.0)
}

/// Jumps, or not, at a saved round trip of so many microseconds; the path has 100 ms.
fn at_rtts(rtts: &[(u64, bool)]) -> Held {
    for (saved, jumps) in rtts {
        let mut sender = Sender::resuming(Nanos::from_micros(*saved), &[]);
        sender.acks(10);
        hold!((sender.window() == 100.0) == *jumps, "saved {saved} us: {} segments", sender.window());
    }
    Ok(format!(
        "saved round trips of {:?} us beside 100 ms",
        rtts.iter().map(|(rtt, _)| rtt).collect::<Vec<_>>()
    ))
}

fn size_of_the_jump() -> Held {
    let mut sender = Sender::resuming(RTT, &[("max_jump", Value::Packets(60))]);
    sender.acks(10);
    sender.has(60.0)?;
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(10);
    sender.has(SAVED as f64 / 2.0)
}

fn pacing() -> Held {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(10);
    // 100 segments of 1000 bytes in 100 ms, a segment at a time.
    hold_eq!((sender.control.pacing, sender.control.burst), (Rate(8_000_000), MSS));
    Ok("8 Mbit/s, a segment at a time".to_owned())
}

/// Window after a loss, when so many segments of the jump were acknowledged.
fn retreat(after: u64) -> (Step, f64) {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(10 + after);
    let step = sender.lose(Trigger::Loss);
    (step, sender.window())
}

fn pipe_size() -> Held {
    // 18 segments were in flight at the jump.
    for (after, window) in [(11, 14.5), (21, 19.5)] {
        hold_eq!(retreat(after).1, window);
    }
    Ok("ten segments more leave five more".to_owned())
}

fn end_of_the_jump() -> Held {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(11);
    hold_eq!(sender.control.pacing, Rate::NONE);
    // Nothing was sent since the jump, and a round trip is over.
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(10);
    sender.sent = sender.delivered + 19 * MSS;
    sender.now = Nanos::from_millis(201);
    let _ = sender.ack(Ack::APP_LIMITED);
    hold_eq!(sender.control.pacing, Rate::NONE);
    sender.has(19.0)?;
    Ok("with a full window, and after a round trip".to_owned())
}

fn validating() -> Held {
    let mut sender = Sender::resuming(RTT, &[]);
    sender.acks(11);
    // The ACK finds the window full: 99 segments are in flight after it.
    sender.has(99.0)?;
    sender.acks(99);
    sender.has(198.0)?;
    Ok("99 segments, then one more for each segment".to_owned())
}

fn validated() -> Held {
    let ends = |acks: u64| {
        let mut sender = Sender::resuming(RTT, &[]);
        sender.acks(acks);
        sender.lose(Trigger::Loss)
    };
    // The last packet of the jump is acknowledged 99 segments after the first one.
    hold_eq!(ends(109), Step::Over(Exit::Loss));
    hold_eq!(ends(110), Step::Exit(Exit::Loss));
    Ok("a loss after it is one as any".to_owned())
}

fn retreat_window() -> Held {
    let (step, window) = retreat(21);
    // PipeSize: 18, and 21 acknowledged since the jump.
    hold_eq!((step, window), (Step::Over(Exit::Loss), 19.5));
    Ok("19.5 of 39 segments".to_owned())
}

fn retreat_saved() -> Held {
    let (policy, mut cluster) = left(SAVED)?;
    let key = cluster.open(&transfer(7, 2), &sample(2, 10, RTT, false));
    cluster.lost(key, Nanos::from_secs(3), 39 * MSS);
    cluster.observe(key, &sample(3, 20, RTT, true));
    let window = policy.plan(&cluster, &transfer(7, 4)).cwnd / MSS;
    hold!(window == 0, "{window} segments stay saved until the connection ends, and leaves its own window");
    Ok("nothing is saved".to_owned())
}

/// A retreat with 79 more segments acknowledged in it.
fn recovered(params: &[(&str, Value)]) -> Result<Sender, String> {
    let mut sender = Sender::resuming(RTT, params);
    sender.acks(31);
    let _ = sender.lose(Trigger::Loss);
    for _ in 0..79 {
        let _ = sender.ack(Ack::RECOVERY);
        sender.has(19.5)?;
    }
    Ok(sender)
}

fn no_growth() -> Held {
    recovered(&[])?.has(19.5)
}

fn end_of_the_retreat() -> Held {
    // PipeSize: 118, and the ACK that ends the recovery.
    for (beta, threshold) in [(0.5, 59_500), (0.7, 83_300)] {
        let mut sender = recovered(&[("beta", Value::Number(beta))])?;
        hold_eq!(sender.ack(0), Step::Exit(Exit::Loss));
        hold_eq!(sender.control.ssthresh, threshold);
    }
    Ok("59.5 and 83.3 of 119 segments at beta 0.5 and 0.7".to_owned())
}

fn timeout() -> Held {
    for acks in [5, 10, 11, 31] {
        let mut sender = Sender::resuming(RTT, &[]);
        sender.acks(acks);
        hold_eq!(sender.lose(Trigger::Timeout), Step::Exit(Exit::Timeout));
    }
    Ok("the next phase has it, in every phase".to_owned())
}

const OBSERVE: &str = "RFC 9959, Observe";
const RECONNAISSANCE: &str = "RFC 9959, Reconnaissance";
const UNVALIDATED: &str = "RFC 9959, Unvalidated";
const VALIDATING: &str = "RFC 9959, Validating";
const RETREAT: &str = "RFC 9959, Safe Retreat";

pub(super) const CASES: &[Case] = &[
    case("CR-01", OBSERVE, "a window below four initial windows is not saved", small_windows),
    case("CR-02", OBSERVE, "window and smallest round trip are saved, for a lifetime", saved_values),
    case(
        "CR-03",
        RECONNAISSANCE,
        "the first round trip is as usual: the initial window, then slow start",
        first_round_trip,
    ),
    case(
        "CR-04",
        RECONNAISSANCE,
        "without a usable saved window of this destination nothing jumps",
        other_endpoint,
    ),
    case("CR-05", RECONNAISSANCE, "congestion before the jump ends Careful Resume", early_congestion),
    case("CR-06", RECONNAISSANCE, "one connection at a time uses the saved values", one_user),
    case("CR-07", RECONNAISSANCE, "the jump waits for more data than the window takes", little_data),
    case("CR-08", UNVALIDATED, "a round trip below half of the saved one is another path", || {
        at_rtts(&[(199_999, true), (200_001, false)])
    }),
    case("CR-09", UNVALIDATED, "a round trip above ten times the saved one is another path", || {
        at_rtts(&[(10_000, true), (9_999, false)])
    }),
    case(
        "CR-10",
        UNVALIDATED,
        "the jump is half of the saved window at most, and at most max_jump",
        size_of_the_jump,
    ),
    case(
        "CR-11",
        UNVALIDATED,
        "the jump is paced over a round trip, in bursts of an initial window at most",
        pacing,
    ),
    case("CR-12", UNVALIDATED, "PipeSize grows by what is acknowledged", pipe_size),
    case(
        "CR-13",
        UNVALIDATED,
        "the phase ends when the window is full, and after a round trip",
        end_of_the_jump,
    ),
    case("CR-14", VALIDATING, "it begins with what is in flight, and grows as usual", validating),
    case("CR-15", VALIDATING, "the ACK of the last packet of the jump ends it", validated),
    case("CR-16a", RETREAT, "a loss of the jump leaves half of PipeSize", retreat_window),
    case("CR-16b", RETREAT, "the saved values are deleted with it", retreat_saved),
    case("CR-17", RETREAT, "the window does not grow, and PipeSize still counts", no_growth),
    case("CR-18", RETREAT, "it ends with a threshold of beta times PipeSize at most", end_of_the_retreat),
    case("CR-19", "RFC 9959, RTO expiry", "a timeout ends Careful Resume in every phase", timeout),
];
