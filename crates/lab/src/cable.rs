//! Two networks joined by an emulated path, for programs of any kind.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use etherparse::{IpNumber, Ipv4HeaderSlice};
use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_probe::Packet;
use firstflight_results::Validity;
use firstflight_scenario::Scenario;
use firstflight_sim::config::{Network as Config, QueueConfig};

use crate::clock::Clock;
use crate::emulator::realtime::{Emulated, Observer, Way, emulate};
use crate::need::Need;
use crate::netns::Netns;
use crate::traffic::Start;
use crate::tun::{MTU, Tun};
use crate::turn::Turn;

/// Congestion control of connections over the path, the kernel's default in most distributions. A namespace may not change its
/// own default; a route may.
const CONGESTION_CONTROL: [&str; 2] = ["congctl", "cubic"];
/// Time from the moment at which the emulator is ready to the start of its clock, nanoseconds.
const LEAD: u64 = 10_000_000;

/// Two networks, near and far, and a path between them, emulated in real time until it is [cut](Cable::cut).
///
/// Nothing has a name outside this process: the kernel removes networks and devices with the last program inside them.
#[derive(Debug)]
pub struct Cable {
    near: Arc<Netns>,
    far: Arc<Netns>,
    over: Arc<AtomicBool>,
    numbered: Arc<Numbered>,
    clock: Clock,
    emulator: JoinHandle<io::Result<Ran>>,
    _turn: Turn,
}

/// The emulation of a cable that has ended: how exact it was, the packets that were noted, and the devices.
type Ran = (Emulated, Vec<Passed>, [Tun; 2]);

/// A packet of TCP or UDP on a cable, with the port of its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) far_port: u16,
    /// The near end counts as the server.
    pub(crate) packet: Packet,
}

/// Connections whose data has numbers, which `drop` of a path means. Data counts from the arrival of a request on.
#[derive(Debug, Default)]
pub(crate) struct Numbered(Mutex<Vec<Connection>>);

/// A connection, by the port of its far end.
#[derive(Debug)]
struct Connection {
    port: u16,
    /// Number of its flow.
    flow: u32,
    stage: Stage,
}

/// Stage of a connection's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Silent,
    /// The next packet of the far end has it.
    Asks,
    /// A packet that has it is on its way.
    Leaves,
    /// It has arrived.
    Arrived,
}

impl Numbered {
    /// Packets of the far end at `port`, and to it, take the path of flow `flow`.
    pub(crate) fn open(&self, port: u16, flow: u32) {
        let mut connections = self.all();
        connections.retain(|connection| connection.port != port);
        connections.push(Connection { port, flow, stage: Stage::Silent });
    }

    /// The far end at `port`, whose connection is open, asks with its next packet.
    pub(crate) fn ask(&self, port: u16) {
        self.step(port, Stage::Silent, Stage::Asks);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet of the far end leaves; whether it has a request.
    fn asks(&self, port: u16) -> bool {
        self.step(port, Stage::Asks, Stage::Leaves)
    }

    /// Takes a connection from one stage to another; whether it was at the first.
    fn step(&self, port: u16, from: Stage, to: Stage) -> bool {
        let mut connections = self.all();
        let at = |connection: &&mut Connection| connection.port == port && connection.stage == from;
        match connections.iter_mut().find(at) {
            Some(connection) => {
                connection.stage = to;
                true
            }
            None => false,
        }
    }

    /// Flow of a connection, and whether its request has arrived; `None` if it has no flow of its own.
    fn flow(&self, port: u16) -> Option<(u32, bool)> {
        let connections = self.all();
        let own = connections.iter().find(|connection| connection.port == port)?;
        Some((own.flow, own.stage == Stage::Arrived))
    }
}

/// Why there is no path, or why it failed.
#[derive(Debug)]
pub struct Broken(pub(crate) String);

impl core::fmt::Display for Broken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Broken {}

impl From<Need> for Broken {
    fn from(need: Need) -> Self {
        Self(format!("this machine does not grant {need}"))
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(format!("the emulator failed: {error}"))
    }
}

impl Broken {
    /// No attempt kept its times, for these reasons.
    pub(crate) fn busy(attempts: u32, reasons: &[String]) -> Self {
        Self(format!(
            "this machine was too busy for real time in {attempts} attempts, so there is no result: {}",
            reasons.join("; ")
        ))
    }
}

/// Two networks whose path is not emulated yet: packets between them wait.
#[derive(Debug)]
pub(crate) struct Slack {
    config: Config,
    sides: [Arc<Netns>; 2],
    tuns: [Tun; 2],
    far: Vec<Ipv4Addr>,
    _turn: Turn,
}

impl Slack {
    /// Two networks with these addresses, and the links of `config`. Waits until no other run of this machine is in real time.
    pub(crate) fn of(config: Config, near: &[Ipv4Addr], far: &[Ipv4Addr]) -> Result<Self, Broken> {
        let turn = Turn::take()?;
        let sides = [Arc::new(Netns::new()?), Arc::new(Netns::new()?)];
        // No connection starts from the kernel's memory of an earlier one.
        sides.iter().try_for_each(|side| side.set_ipv4("tcp_no_metrics_save", "1"))?;
        let tuns = [Tun::with(&sides[0], near, MTU)?, Tun::with(&sides[1], far, MTU)?];
        for (side, addresses) in sides.iter().zip([near, far]) {
            for &own in addresses {
                let [a, b, c, _] = own.octets();
                Tun::set_route(side, Ipv4Addr::new(a, b, c, 0), own, &CONGESTION_CONTROL)?;
            }
        }
        Ok(Self { config, sides, tuns, far: far.to_vec(), _turn: turn })
    }

    /// The network at the sending end.
    pub(crate) fn near(&self) -> &Arc<Netns> {
        &self.sides[0]
    }

    /// Starts the emulation; `note` keeps a note of each packet.
    pub(crate) fn tighten(self, note: bool) -> Result<Cable, Broken> {
        let Self { config, sides: [near, far], tuns, far: addresses, _turn } = self;
        let over = Arc::new(AtomicBool::new(false));
        let numbered = Arc::new(Numbered::default());
        let start = Arc::new(Start::default());
        let mut signs = Signs {
            far: addresses,
            over: Arc::clone(&over),
            numbered: Arc::clone(&numbered),
            latest: 0,
            passed: note.then(Vec::new),
        };
        let emulator = {
            let start = Arc::clone(&start);
            thread::Builder::new().name("cable".to_owned()).spawn(move || {
                let emulated = emulate(&config, [&tuns[0], &tuns[1]], &start, &mut signs)?;
                // The devices stay until the cable is cut.
                Ok((emulated, signs.passed.unwrap_or_default(), tuns))
            })?
        };
        start.when_ready(1, LEAD);
        let clock = start.wait().ok_or_else(|| Broken("the run was called off".into()))?;
        Ok(Cable { near, far, over, numbered, clock, emulator, _turn })
    }
}

impl Cable {
    /// Joins two networks by the path of `scenario`, for at most its duration. Each address belongs to a network of 24
    /// bits of its own or together with others; the ends of a connection have one such network in common. Packets to
    /// the far addresses take the path of the scenario's first flow, all others its way back. Waits until no other run of this machine is in real time.
    ///
    /// # Errors
    /// [`Broken`] if the scenario has no such path, if its queue reads acknowledgements, or if this machine does not grant namespaces, devices or real time.
    pub fn lay(scenario: &Scenario, near: &[Ipv4Addr], far: &[Ipv4Addr]) -> Result<Self, Broken> {
        Self::lay_with(scenario, near, far, false)
    }

    /// The same; `note` keeps a note of each packet for [`Cable::cut_with`].
    pub(crate) fn lay_with(
        scenario: &Scenario,
        near: &[Ipv4Addr],
        far: &[Ipv4Addr],
        note: bool,
    ) -> Result<Self, Broken> {
        let built = build(scenario, scenario.seed, Nanos(0)).map_err(|error| Broken(error.to_string()))?;
        if built.network.flows.len() != 1 {
            return Err(Broken(format!(
                "the scenario has {} flows; expected one, whose path the programs use",
                built.network.flows.len()
            )));
        }
        // Queues would take the acknowledgements of all connections for those of one.
        if built.network.links.iter().any(|link| matches!(link.queue, QueueConfig::AckFilter(_))) {
            return Err(Broken(
                "queue \"ack-filter\": a cable does not tell connections apart; expected another queue"
                    .into(),
            ));
        }
        Slack::of(built.network, near, far)?.tighten(note)
    }

    /// The network at the sending end of the scenario's flow.
    pub fn near(&self) -> &Netns {
        &self.near
    }

    /// The network at the receiving end.
    pub fn far(&self) -> &Netns {
        &self.far
    }

    /// The clock of the emulator.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// The connections whose data has numbers.
    pub(crate) fn numbered(&self) -> &Numbered {
        &self.numbered
    }

    /// Ends the emulation and says how exact it was.
    ///
    /// # Errors
    /// [`Broken`] if the emulator was refused real time or a device failed.
    pub fn cut(self) -> Result<Validity, Broken> {
        self.cut_with().map(|(emulated, _)| emulated.validity)
    }

    /// The same, with the packets of a cable that notes them, in the order in which they entered.
    pub(crate) fn cut_with(self) -> Result<(Emulated, Vec<Passed>), Broken> {
        self.over.store(true, Ordering::Relaxed);
        let (emulated, passed, _) =
            self.emulator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((emulated, passed))
    }
}

/// Knows the ways of packets by their destination.
struct Signs {
    far: Vec<Ipv4Addr>,
    over: Arc<AtomicBool>,
    numbered: Arc<Numbered>,
    /// Time of the newest packet, nanoseconds.
    latest: u64,
    /// Packets so far, if they are noted.
    passed: Option<Vec<Passed>>,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    /// Its place among those noted.
    place: Option<usize>,
    /// The far port of a connection whose request it has.
    asks: Option<u16>,
}

impl Observer for Signs {
    type Note = Note;

    fn came(&mut self, at: u64, packet: &[u8]) -> Option<(Way, Note)> {
        self.latest = at;
        let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let to_far = self.far.contains(&header.destination_addr());
        let (path, ecn_capable) = (u32::from(!to_far), header.ecn().value() != 0);
        let mut way = Way { path, ecn_capable, data_of: None, ack: None };
        let mut note = Note { place: None, asks: None };
        if let (Some(passed), Some((far_port, bytes))) = (&mut self.passed, payload(&header, packet, to_far))
        {
            let packet = Packet { from_server: to_far, left: Nanos(at), arrived: None, bytes };
            if let Some((flow, asked)) = self.numbered.flow(far_port) {
                way.path += 2 * flow;
                way.data_of = (asked && packet.is_data()).then_some(flow);
                note.asks = (!to_far && self.numbered.asks(far_port)).then_some(far_port);
            }
            note.place = Some(passed.len());
            passed.push(Passed { far_port, packet });
        }
        Some((way, note))
    }

    fn went(&mut self, at: u64, note: Note) {
        if let (Some(passed), Some(place)) = (&mut self.passed, note.place) {
            passed[place].packet.arrived = Some(Nanos(at));
        }
        if let Some(port) = note.asks {
            self.numbered.step(port, Stage::Leaves, Stage::Arrived);
        }
    }

    fn lost(&mut self, note: Note) {
        if let Some(port) = note.asks {
            self.numbered.step(port, Stage::Leaves, Stage::Asks);
        }
    }

    fn over(&self) -> Option<u64> {
        self.over.load(Ordering::Relaxed).then_some(self.latest)
    }
}

/// Port of the far end and bytes of the payload; `None` for anything but TCP and UDP.
fn payload(header: &Ipv4HeaderSlice<'_>, packet: &[u8], to_far: bool) -> Option<(u16, u32)> {
    let segment = packet.get(header.slice().len()..usize::from(header.total_len()))?;
    let headers = match header.protocol() {
        IpNumber::UDP => 8,
        IpNumber::TCP => usize::from(segment.get(12)? >> 4) * 4,
        _ => return None,
    };
    let port = if to_far { segment.get(2..4)? } else { segment.get(..2)? };
    let port = u16::from_be_bytes(port.try_into().ok()?);
    Some((port, segment.len().checked_sub(headers)? as u32))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV4;

    use firstflight_probe::LEAST;

    use super::*;
    use crate::segment::{Flags, Segment};

    #[test]
    fn a_note_has_the_port_of_the_far_end_and_the_payload() {
        let at = |host, port| SocketAddrV4::new([10, 87, 0, host].into(), port);
        let (near, far) = (at(1, 443), at(2, 50_000));
        let mut signs = Signs {
            far: vec![*far.ip()],
            over: Arc::default(),
            numbered: Arc::default(),
            latest: 0,
            passed: Some(vec![]),
        };
        let ack = Flags { ack: true, ..Flags::default() };
        let segment = Segment { seq: 7, ack: 9, flags: ack, length: 30, ..Segment::default() };
        for (number, (from, to)) in [(near, far), (far, near)].into_iter().enumerate() {
            let (way, note) = signs.came(5, &segment.packet(from, to)).expect("a way");
            assert_eq!((way.path, way.data_of, note.place), (number as u32, None, Some(number)));
            signs.went(9, note);
        }
        // RFC 768: a header of 8 bytes, then 4 of payload; 20 of IP before.
        let mut datagram = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 87, 0, 1, 10, 87, 0, 2];
        datagram.extend([0x01, 0xbb, 0xc3, 0x50, 0, 12, 0, 0, 1, 2, 3, 4]);
        let (_, note) = signs.came(6, &datagram).expect("a way");
        signs.lost(note);
        let noted = |from_server, left, arrived: Option<u64>, bytes| Passed {
            far_port: 50_000,
            packet: Packet { from_server, left: Nanos(left), arrived: arrived.map(Nanos), bytes },
        };
        let expected = [noted(true, 5, Some(9), 30), noted(false, 5, Some(9), 30), noted(true, 6, None, 4)];
        assert_eq!(signs.passed, Some(expected.to_vec()));
    }

    #[test]
    fn data_has_a_number_once_the_request_has_arrived() {
        let at = |host, port| SocketAddrV4::new([10, 87, 0, host].into(), port);
        let (near, far) = (at(1, 443), at(2, 50_000));
        const FULL: usize = LEAST as usize;
        let numbered = Arc::new(Numbered::default());
        let mut signs = Signs {
            far: vec![*far.ip()],
            over: Arc::default(),
            numbered: Arc::clone(&numbered),
            latest: 0,
            passed: Some(vec![]),
        };
        let segment = |length| Segment { length, ..Segment::default() };
        let mut send = |from, to, length| signs.came(5, &segment(length).packet(from, to)).expect("a way");
        let data = |way: Way| way.data_of;
        assert_eq!(data(send(near, far, FULL).0), None);
        numbered.open(far.port(), 7);
        let (way, _) = send(near, far, FULL);
        assert_eq!((way.path, data(way)), (14, None));
        numbered.ask(far.port());
        assert_eq!(data(send(near, far, FULL).0), None);
        let (_, request) = send(far, near, 30);
        assert_eq!((request.asks, data(send(near, far, FULL).0)), (Some(50_000), None));
        // A request that is lost leaves again.
        signs.lost(request);
        let mut send = |from, to, length| signs.came(5, &segment(length).packet(from, to)).expect("a way");
        let (_, request) = send(far, near, 30);
        assert_eq!(request.asks, Some(50_000));
        signs.went(6, request);
        let mut send = |from, to, length| signs.came(5, &segment(length).packet(from, to)).expect("a way");
        assert_eq!(data(send(near, far, FULL).0), Some(7));
        assert_eq!(data(send(near, far, FULL - 1).0), None);
        assert_eq!(data(send(near, at(2, 50_001), FULL).0), None);
        assert_eq!(send(far, near, 30).1.asks, None);
    }
}
