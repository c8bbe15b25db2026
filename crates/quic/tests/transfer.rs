//! Transfers by quinn over links of the simulator, in virtual time.

use std::ops::Range;
use std::sync::Arc;

use firstflight_contract::{Nanos, Rate, Trigger};
use firstflight_host::replay::{Event, Record};
use firstflight_net::link::{Link, Passage};
use firstflight_net::queue::Queue;
use firstflight_net::queue::drop_tail::DropTailPackets;
use firstflight_quic::transfer::virtual_time::{Direction, Network, Transfer, transfers};
use firstflight_quic::transfer::{Credentials, Settings};
use firstflight_quic::{Log, Scheme};
use firstflight_schemes::scheme::Value;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};

/// Payload of a full datagram: 1500 bytes on the wire.
const DATAGRAM: u16 = 1472;

/// A bottleneck towards the client, and a return path of the same rate without a limit.
struct Dumbbell {
    forward: Link,
    reverse: Link,
    /// Datagrams are lost in both directions while time is in this range, nanoseconds.
    outage: Range<u64>,
    /// Datagrams to the client that wait longer than this, nanoseconds, are marked.
    marked_above: u64,
    /// Departures of datagrams to the client, nanoseconds, and their sizes.
    sent: Vec<(u64, u32)>,
}

impl Dumbbell {
    /// 20 Mbit/s and 60 ms behind a queue of 100 packets.
    fn new() -> Self {
        let (rate, one_way) = (Rate(20_000_000), Nanos::from_millis(30));
        let queue = Queue::Packets(DropTailPackets { limit: 100 });
        Self {
            forward: Link::new(rate, one_way, queue),
            reverse: Link::new(rate, one_way, Queue::Unlimited),
            outage: 0..0,
            marked_above: u64::MAX,
            sent: vec![],
        }
    }
}

impl Network for Dumbbell {
    fn send(&mut self, now: Nanos, direction: Direction, bytes: u32) -> Option<(Nanos, bool)> {
        let now = now.0;
        if direction == Direction::Forward {
            self.sent.push((now, bytes));
        }
        if self.outage.contains(&now) {
            return None;
        }
        let waits = self.forward.free_at().saturating_sub(now);
        let link = match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        };
        let marked = direction == Direction::Forward && waits > self.marked_above;
        match link.offer(now, bytes, true) {
            Passage::Arrives(at) | Passage::Marked(at) => Some((Nanos(at), marked)),
            Passage::Dropped | Passage::LostOnWire => None,
        }
    }
}

fn run(
    controller: impl ControllerFactory + Send + Sync + 'static,
    network: &mut Dumbbell,
    sizes: &[u64],
) -> Vec<Transfer> {
    let settings = Settings {
        controller: Arc::new(controller),
        datagram: DATAGRAM,
        discovers: false,
        receive_window: 1 << 30,
        seed: 1,
    };
    transfers(&settings, &Credentials::new().unwrap(), network, sizes).unwrap()
}

fn named(label: &str) -> Scheme {
    Scheme::named(label).unwrap()
}

/// The path with an outage of two seconds, then marks, in the course of 10 MB.
fn rough() -> Dumbbell {
    Dumbbell { outage: 1_500_000_000..3_500_000_000, marked_above: 50_000_000, ..Dumbbell::new() }
}

#[test]
fn the_first_flight_is_the_initial_window() {
    let mut network = Dumbbell::new();
    let done =
        run(named("slow-start+reno").initial_window(20 * u64::from(DATAGRAM)), &mut network, &[1_000_000]);
    // The server hears the request 1.5 round trips after the client began: its hello took one.
    let asked = (done[0].fetch.0 - done[0].completion.0)..;
    let begins = network.sent.iter().find(|(_, size)| *size == 1500).expect("full datagrams were sent").0;
    assert!(asked.contains(&begins));
    // quinn paces at 1.25 windows a round trip: the window has left before its first datagram is acknowledged after 60 ms.
    // The window counts UDP payload; the session's tickets are part of the flight.
    let of_flight = |(at, _): &&(u64, u32)| (begins..begins + 60_000_000).contains(at);
    let flight: u32 = network.sent.iter().filter(of_flight).map(|(_, size)| size - 28).sum();
    let window = 20 * u32::from(DATAGRAM);
    assert!((window - u32::from(DATAGRAM)..=window).contains(&flight), "{flight} of {window} bytes");
}

#[test]
fn schemes_do_as_those_that_quinn_has() {
    // quinn's own controllers are an independent implementation; its arithmetic uses floating point.
    let window = 10 * u64::from(DATAGRAM) + 1;
    let mut reno = NewRenoConfig::default();
    reno.initial_window(window);
    let mut cubic = CubicConfig::default();
    cubic.initial_window(window);
    let size = [10_000_000];
    for (ours, theirs) in [
        ("slow-start+reno", run(reno, &mut Dumbbell::new(), &size)),
        ("slow-start+cubic", run(cubic, &mut Dumbbell::new(), &size)),
    ] {
        let done = run(named(ours), &mut Dumbbell::new(), &size);
        let ratio = done[0].completion.0 as f64 / theirs[0].completion.0 as f64;
        println!("{ours}: {ratio:.5} of the time of quinn's own");
        assert!((0.998..1.002).contains(&ratio), "{ours}: {:?} {:?}", done[0], theirs[0]);
    }
}

#[test]
fn every_event_replays_through_the_simulators_chain() {
    let mut events = 0;
    let mut marks = 0;
    for startup in [
        "slow-start",
        "limited-slow-start",
        "hystart++",
        "hystart-linux",
        "hybrid-slow-start",
        "adaptive-start",
        "hoe",
    ] {
        for avoidance in ["reno", "cubic", "westwood", "vegas", "h-tcp", "bic"] {
            let log = Log::new();
            let scheme = named(&format!("{startup}+{avoidance}")).recording(&log);
            run(scheme.clone(), &mut rough(), &[10_000_000]);
            let replayed =
                log.replay(scheme.phases()).unwrap_or_else(|error| panic!("{}: {error}", scheme.label()));
            let has = |trigger| {
                let of =
                    |record: &&Record| matches!(record.event, Event::Congestion(c) if c.trigger == trigger);
                log.connections().iter().flat_map(|connection| &connection.records).filter(of).count()
            };
            assert!(has(Trigger::Timeout) > 0, "{}: an outage is a timeout", scheme.label());
            marks += has(Trigger::Mark);
            events += replayed;
        }
    }
    println!("{events} events, {marks} marked windows");
    assert!(events > 100_000 && marks > 0, "{events} events, {marks} marked windows");
}

#[test]
fn another_scheme_does_not_replay() {
    let log = Log::new();
    run(named("slow-start+reno").recording(&log), &mut rough(), &[10_000_000]);
    for other in ["limited-slow-start+reno", "slow-start+cubic"] {
        let difference = log.replay(named(other).phases()).unwrap_err();
        assert!(difference.to_string().starts_with("event "), "{difference}");
    }
    // A parameter of the same scheme differs.
    let log = Log::new();
    run(named("limited-slow-start+reno").recording(&log), &mut rough(), &[10_000_000]);
    let mut phases = named("limited-slow-start+reno").phases().to_vec();
    phases[0].set("max_ssthresh", Value::Packets(101)).unwrap();
    assert!(log.replay(&phases).is_err());
}

#[test]
fn a_second_connection_asks_in_its_first_flight() {
    // One flight: a second one would wait for the pacer, whose bucket the handshake has partly emptied.
    let done = run(named("hystart+++cubic"), &mut Dumbbell::new(), &[6000, 6000]);
    assert_eq!([false, true], [done[0].zero_rtt, done[1].zero_rtt]);
    // The request is one round trip earlier, and so is the last byte.
    let saved = done[0].fetch.0 - done[1].fetch.0;
    assert!((58_000_000..64_000_000).contains(&saved), "{done:?}");
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let sizes = [100_000, 3_000_000];
    let run = || run(named("hystart+++cubic"), &mut rough(), &sizes);
    assert_eq!(run(), run());
}
