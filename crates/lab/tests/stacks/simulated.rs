//! The row of a profile: what a probe would measure, computed from the packets of the simulator.

use std::collections::{BTreeMap, VecDeque};

use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_net::link::Passage;
use firstflight_probe::{Identity, LOST, Packet, Response, Row, row, third_lost};
use firstflight_scenario::Profile;
use firstflight_sim::audit::{Event, Recorder};
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::{Kind, Seen};
use firstflight_sim::outcome::simulate_observed;

/// Sequence number of a SYN.
const SYN: u32 = u32::MAX;
/// Bytes of the response before a silence, and of the one after it, as a probe has them.
const AROUND_SILENCE: [u64; 2] = [1_000_000, 300_000];

/// A connection of the simulator.
struct Connection {
    packets: Vec<Packet>,
    /// Segments that the receiver had in order, with their times.
    progress: Vec<(Nanos, u64)>,
    start: Nanos,
    /// Durations of its transfers.
    took: Vec<Nanos>,
}

impl Connection {
    /// A connection of `profile` over `path` that sends `bytes`, with further keys of the path and of the flow.
    fn run(profile: Profile, path: &str, bytes: u64, more: [&str; 2]) -> Self {
        let [of_path, of_flow] = more;
        let text = format!(
            "[path]\n{path}{of_path}\n[[flow]]\nprofile = \"{}\"\nsize = \"{bytes} B\"\nreceive_window = \"16 MiB\"\n{of_flow}\n",
            profile.word()
        );
        let scenario = firstflight_scenario::parse(&text, "row.toml").expect("a valid scenario").scenario;
        let built = build(&scenario, 1, Nanos::from_secs(1)).expect("it can be built");
        let (outcome, Recorder { mut log }) =
            simulate_observed(&built.network, Mode::PerHop, Recorder::default());
        log.sort_by_key(Event::at);
        let flow = &outcome.flows[0];
        let mut connection = Self {
            packets: vec![],
            progress: vec![],
            start: Nanos(flow.start.expect("it starts")),
            took: flow.completions.iter().copied().map(Nanos).collect(),
        };
        connection.note(&log, profile.stack().header);
        connection
    }

    /// Notes the packets of a log, in the order of their times.
    fn note(&mut self, log: &[Event], header: u32) {
        // Packets on their way: data by segment, in the order of departure, and ACKs. The paths keep their order and lose no ACK.
        let mut data: BTreeMap<u32, VecDeque<usize>> = BTreeMap::new();
        let mut acks = VecDeque::new();
        let (mut arrived, mut in_order) = (BTreeMap::new(), 0);
        let is_data = |packet: &Seen| packet.kind == Kind::Data && packet.seq != SYN;
        for event in log {
            match *event {
                Event::Sent { at, packet, .. } if packet.kind == Kind::Ack || is_data(&packet) => {
                    let (from_server, place) = (is_data(&packet), self.packets.len());
                    let bytes = if from_server { packet.size - header } else { 40 };
                    self.packets.push(Packet { from_server, left: Nanos(at), arrived: None, bytes });
                    match from_server {
                        true => data.entry(packet.seq).or_default().push_back(place),
                        false => acks.push_back(place),
                    }
                }
                Event::Offered { packet, passage: Passage::Dropped | Passage::LostOnWire, .. }
                    if is_data(&packet) =>
                {
                    data.get_mut(&packet.seq).and_then(VecDeque::pop_front).expect("it was sent");
                }
                Event::Arrived { at, packet } if is_data(&packet) => {
                    let place = data.get_mut(&packet.seq).and_then(VecDeque::pop_front).expect("it was sent");
                    self.packets[place].arrived = Some(Nanos(at));
                    arrived.insert(packet.seq, packet.carries_data());
                    let mut news = false;
                    while let Some(carries_data) = arrived.remove(&in_order) {
                        in_order += 1;
                        news |= carries_data;
                    }
                    if news {
                        self.progress.push((Nanos(at), in_order.into()));
                    }
                }
                Event::Arrived { at, packet } if packet.kind == Kind::Ack => {
                    let place = acks.pop_front().expect("it was sent");
                    self.packets[place].arrived = Some(Nanos(at));
                }
                _ => {}
            }
        }
        // Packets that are on their way when the simulation ends are no part of a transfer.
        let mut on_their_way: Vec<usize> = data.into_values().flatten().chain(acks).collect();
        on_their_way.sort_unstable();
        for place in on_their_way.into_iter().rev() {
            self.packets.remove(place);
        }
    }

    /// The response that is asked for at `asked` and has `bytes`, of a transfer that takes `took` until its last ACK.
    fn response(&self, asked: Nanos, bytes: u64, took: Nanos) -> Response {
        let until = Nanos(asked.0 + took.0);
        let packets = self.packets.iter().filter(|packet| (asked..=until).contains(&packet.left));
        let packets: Vec<_> = packets.copied().collect();
        // The client asks the way of an ACK earlier, and has the last byte when the last segment has arrived.
        let ack = |packet: &&Packet| !packet.from_server && packet.arrived.is_some();
        let ack = packets.iter().find(ack).expect("an ACK arrives");
        let way = ack.arrived.unwrap_or_default().saturating_sub(ack.left);
        let last = self.progress.iter().map(|(at, _)| *at).rfind(|at| *at <= until).unwrap_or(until);
        Response { bytes, requested: asked.saturating_sub(way), asked, finished: last, packets }
    }

    fn first(&self, bytes: u64) -> Response {
        self.response(self.start, bytes, self.took[0])
    }
}

/// The keys of a row's path.
fn path_of(real: &Row) -> String {
    let terms = &real.identity.path;
    format!("rate = \"{}\"\nrtt = \"{}\"\nbuffer = \"{}\"\n", terms.rate, terms.rtt, terms.buffer)
}

/// Seconds of the responses of `real` by `profile`, with these keys of its flow.
pub(crate) fn seconds(profile: Profile, real: &Row, keys: &str) -> Vec<f64> {
    let path = path_of(real);
    let took = |bytes: u64| {
        let response = Connection::run(profile, &path, bytes, ["", keys]).first(bytes);
        response.finished.saturating_sub(response.requested).0 as f64 / 1e9
    };
    real.transfers.iter().map(|transfer| took(transfer.bytes)).collect()
}

/// The row of `profile` in the place of a server, with responses of these sizes and silences.
pub(crate) fn simulated(profile: Profile, real: &Row) -> Row {
    let (terms, path) = (&real.identity.path, path_of(real));
    let first = |bytes: u64| Connection::run(profile, &path, bytes, ["", ""]).first(bytes);
    let responses: Vec<_> = real.transfers.iter().map(|transfer| first(transfer.bytes)).collect();
    let after = real.after_idle.iter().map(|after| {
        let idle = Nanos((after.idle_s * 1e9).round() as u64);
        let [bytes, then] = AROUND_SILENCE;
        let rounds = format!("rounds = {{ count = 2, idle = \"{} ns\" }}", idle.0);
        let connection = Connection::run(profile, &path, bytes, ["", &rounds]);
        let asked = Nanos(connection.start.0 + connection.took[0].0 + idle.0);
        let mut response = connection.response(asked, then, connection.took[1]);
        // The scenario's second transfer has 1 MB, the probe's 300 KB.
        let mut sent = 0;
        response.packets.retain(|packet| {
            sent += if packet.from_server { u64::from(packet.bytes) } else { 0 };
            !packet.from_server || sent <= after.bytes.max(then)
        });
        (idle, response)
    });
    let after: Vec<_> = after.collect();
    let identity = Identity {
        stack: profile.word().into(),
        version: String::new(),
        protocol: real.identity.protocol.clone(),
        path: terms.clone(),
    };
    let lost = real.third_lost.and_then(|lost| {
        let drop = format!("drop = [{LOST}]");
        let connection = Connection::run(profile, &path, lost.bytes, [&drop, ""]);
        third_lost(&connection.first(lost.bytes), &connection.progress, &first(lost.bytes))
    });
    Row { third_lost: lost, ..row(identity, &responses, &after) }
}
