//! A client or a server: quinn's endpoint, its connections, and the application above them.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::congestion::ControllerFactory;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event, MtuDiscoveryConfig, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, VarInt,
};

use super::credentials::{Credentials, SERVER_NAME};

/// Bytes of a request: the number of bytes asked for, big-endian.
const REQUEST: usize = 8;

/// Bytes that the server hands to quinn at a time.
const CHUNK: [u8; 16 << 10] = [0; 16 << 10];

/// Settings of both sides.
#[derive(Clone)]
pub struct Settings {
    /// Congestion controllers of the server, which sends the data: a [`Scheme`](crate::Scheme), or one of quinn's own. The
    /// client has quinn's default.
    pub controller: Arc<dyn ControllerFactory + Send + Sync>,
    /// Payload of the largest UDP datagram, bytes, at least 1200.
    pub datagram: u16,
    /// Whether quinn begins with 1200 bytes and searches for that largest one, as by default. If not, it has that size at once.
    pub discovers: bool,
    /// Bytes of a stream and of a connection that the receiver takes beyond those that it has read.
    pub receive_window: u64,
    /// Seed of quinn's own random numbers (connection identifiers, skipped packet numbers).
    pub seed: u64,
}

/// A UDP datagram.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Its destination.
    pub to: SocketAddr,
    /// Its ECN field.
    pub ecn: Option<EcnCodepoint>,
    /// Its payload.
    pub contents: Vec<u8>,
}

/// A transfer as the client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Bytes of application data.
    pub bytes: u64,
    /// Time at which the client began the connection.
    pub connected_at: Instant,
    /// Time at which the application had the last byte.
    pub completed_at: Instant,
    /// Whether the request was in the first flight, and the server accepted it there.
    pub zero_rtt: bool,
}

/// A transfer as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Bytes of application data.
    pub bytes: u64,
    /// Time at which the request arrived.
    pub requested_at: Instant,
    /// Time at which the last byte was acknowledged.
    pub completed_at: Instant,
    /// Datagrams that quinn declared lost on the connection so far.
    pub lost_packets: u64,
}

/// A client or a server.
pub struct Peer {
    endpoint: Endpoint,
    client: Option<ClientConfig>,
    connections: BTreeMap<usize, Link>,
    outgoing: VecDeque<Datagram>,
    fetched: Vec<Fetched>,
    served: Vec<Served>,
    closed: Option<String>,
}

/// A connection, and its stream.
struct Link {
    connection: Connection,
    stream: Stream,
}

/// The stream of a connection.
enum Stream {
    /// The client has not asked yet.
    ToAsk { bytes: u64, since: Instant },
    /// The client waits for `left` of `bytes`.
    Asked { id: StreamId, bytes: u64, left: u64, since: Instant, early: bool },
    /// The server waits for a request, and has these bytes of it.
    Listening { request: Vec<u8>, id: Option<StreamId> },
    /// The server has `left` of `bytes` to send.
    Answering { id: StreamId, bytes: u64, left: u64, since: Instant },
    /// Nothing is left to do.
    Done,
}

/// Transport settings of both sides.
fn transport(settings: &Settings) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let window = VarInt::try_from(settings.receive_window).unwrap_or(VarInt::MAX);
    match settings.discovers {
        true => {
            let mut discovery = MtuDiscoveryConfig::default();
            discovery.upper_bound(settings.datagram);
            transport.mtu_discovery_config(Some(discovery))
        }
        false => transport.initial_mtu(settings.datagram).mtu_discovery_config(None),
    };
    transport
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(u64::MAX >> 2)
        .max_idle_timeout(None)
        .enable_segmentation_offload(false);
    transport
}

fn endpoint_config(settings: &Settings, salt: u8) -> Arc<EndpointConfig> {
    let mut config = EndpointConfig::default();
    let mut seed = [salt; 32];
    seed[..8].copy_from_slice(&settings.seed.to_be_bytes());
    config.rng_seed(Some(seed));
    Arc::new(config)
}

impl Peer {
    /// A server.
    pub fn server(settings: &Settings, credentials: &Credentials) -> Self {
        let mut config = ServerConfig::with_crypto(Arc::clone(&credentials.server) as Arc<_>);
        let mut transport = transport(settings);
        transport.congestion_controller_factory(Arc::clone(&settings.controller));
        config.transport_config(Arc::new(transport));
        let endpoint =
            Endpoint::new(endpoint_config(settings, 1), Some(Arc::new(config)), settings.discovers, None);
        Self::of(endpoint, None)
    }

    /// A client.
    pub fn client(settings: &Settings, credentials: &Credentials) -> Self {
        let mut config = ClientConfig::new(Arc::clone(&credentials.client) as Arc<_>);
        config.transport_config(Arc::new(transport(settings)));
        Self::of(Endpoint::new(endpoint_config(settings, 2), None, settings.discovers, None), Some(config))
    }

    fn of(endpoint: Endpoint, client: Option<ClientConfig>) -> Self {
        Self {
            endpoint,
            client,
            connections: BTreeMap::new(),
            outgoing: VecDeque::new(),
            fetched: vec![],
            served: vec![],
            closed: None,
        }
    }

    /// The client opens a connection to `server` and asks for `bytes`.
    ///
    /// # Panics
    /// If this is a server, or `server` is no address that can be connected to.
    pub fn fetch(&mut self, now: Instant, server: SocketAddr, bytes: u64) {
        let config = self.client.clone().expect("only a client asks");
        let connected = self.endpoint.connect(now, config, server, SERVER_NAME);
        let (handle, connection) = connected.expect("the address of a server can be connected to");
        let mut link = Link { connection, stream: Stream::ToAsk { bytes, since: now } };
        // With a ticket of a connection before, the request is part of the first flight.
        self.act(&mut link, now);
        self.connections.insert(handle.0, link);
        self.drive(now);
    }

    /// A datagram arrived.
    pub fn receive(&mut self, now: Instant, from: SocketAddr, ecn: Option<EcnCodepoint>, contents: &[u8]) {
        let mut response = vec![];
        match self.endpoint.handle(now, from, None, ecn, contents.into(), &mut response) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                if let Some(link) = self.connections.get_mut(&handle) {
                    link.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut response, None) {
                    Ok((handle, connection)) => {
                        let stream = Stream::Listening { request: vec![], id: None };
                        self.connections.insert(handle.0, Link { connection, stream });
                    }
                    Err(error) => {
                        self.closed.get_or_insert(error.cause.to_string());
                        if let Some(transmit) = error.response {
                            self.send(&transmit, &response);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.send(&transmit, &response),
            None => {}
        }
        self.drive(now);
    }

    /// Time at which [`Peer::on_time`] is to be called next, if nothing arrives before.
    pub fn due(&mut self) -> Option<Instant> {
        self.connections.values_mut().filter_map(|link| link.connection.poll_timeout()).min()
    }

    /// It is `now`: timers that are due fire.
    pub fn on_time(&mut self, now: Instant) {
        for link in self.connections.values_mut() {
            if link.connection.poll_timeout().is_some_and(|due| due <= now) {
                link.connection.handle_timeout(now);
            }
        }
        self.drive(now);
    }

    /// The next datagram to send.
    pub fn transmit(&mut self) -> Option<Datagram> {
        self.outgoing.pop_front()
    }

    /// Bytes of application data that a client has of transfers that are not complete.
    pub fn received(&self) -> u64 {
        let received = |link: &Link| match link.stream {
            Stream::Asked { bytes, left, .. } => bytes.saturating_sub(left),
            Stream::ToAsk { .. } | Stream::Listening { .. } | Stream::Answering { .. } | Stream::Done => 0,
        };
        self.connections.values().map(received).sum()
    }

    /// Time at which the request of the oldest transfer that a server has not completed arrived.
    pub fn requested_at(&self) -> Option<Instant> {
        let requested = |link: &Link| match link.stream {
            Stream::Answering { since, .. } => Some(since),
            Stream::ToAsk { .. } | Stream::Asked { .. } | Stream::Listening { .. } | Stream::Done => None,
        };
        self.connections.values().find_map(requested)
    }

    /// Transfers that a client completed.
    pub fn fetched(&self) -> &[Fetched] {
        &self.fetched
    }

    /// Transfers that a server completed.
    pub fn served(&self) -> &[Served] {
        &self.served
    }

    /// Why a connection was closed before its transfer was complete; `None` if none was.
    pub fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    fn send(&mut self, transmit: &Transmit, contents: &[u8]) {
        let (to, ecn) = (transmit.destination, transmit.ecn);
        let contents = contents[..transmit.size].to_vec();
        self.outgoing.push_back(Datagram { to, ecn, contents });
    }

    /// Collects what the connections send of their own, then lets the applications act: a task of its own, which runs when the stack
    /// has sent what it has.
    fn drive(&mut self, now: Instant) {
        let handles: Vec<usize> = self.connections.keys().copied().collect();
        for handle in handles {
            let Some(mut link) = self.connections.remove(&handle) else { continue };
            self.collect(handle, &mut link, now);
            loop {
                self.act(&mut link, now);
                if !self.collect(handle, &mut link, now) {
                    break;
                }
            }
            if !link.connection.is_drained() {
                self.connections.insert(handle, link);
            }
        }
    }

    /// Collects what a connection sends; returns whether it sent anything.
    fn collect(&mut self, handle: usize, link: &mut Link, now: Instant) -> bool {
        let mut sent = false;
        loop {
            while let Some(event) = link.connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(ConnectionHandle(handle), event) {
                    link.connection.handle_event(event);
                }
            }
            let mut contents = vec![];
            let Some(transmit) = link.connection.poll_transmit(now, 1, &mut contents) else { return sent };
            self.send(&transmit, &contents);
            sent = true;
        }
    }

    /// The application of one connection acts on what happened.
    fn act(&mut self, link: &mut Link, now: Instant) {
        while let Some(event) = link.connection.poll() {
            match event {
                Event::Stream(StreamEvent::Finished { .. }) => {
                    if let Stream::Answering { bytes, since, .. } = link.stream {
                        let lost_packets = link.connection.stats().path.lost_packets;
                        self.served.push(Served {
                            bytes,
                            requested_at: since,
                            completed_at: now,
                            lost_packets,
                        });
                        link.stream = Stream::Done;
                    }
                }
                Event::ConnectionLost { reason } if !matches!(link.stream, Stream::Done) => {
                    self.closed.get_or_insert(reason.to_string());
                }
                _ => {}
            }
        }
        let connection = &mut link.connection;
        match &mut link.stream {
            Stream::ToAsk { bytes, since } => {
                let early = connection.is_handshaking();
                if early && !connection.has_0rtt() {
                    return;
                }
                if let Some(id) = connection.streams().open(Dir::Bi) {
                    let written = connection.send_stream(id).write(&bytes.to_be_bytes());
                    assert_eq!(written.ok(), Some(REQUEST), "a new stream takes a request");
                    link.stream = Stream::Asked { id, bytes: *bytes, left: *bytes, since: *since, early };
                }
            }
            Stream::Asked { id, bytes, left, since, early } => {
                let Some(ended) = drain(connection, *id, left) else { return };
                if ended && *left == 0 {
                    // The end of the client's side takes the acknowledgement of the last byte along at once.
                    let _ = connection.send_stream(*id).finish();
                    let zero_rtt = *early && connection.accepted_0rtt();
                    let (connected_at, completed_at) = (*since, now);
                    self.fetched.push(Fetched { bytes: *bytes, connected_at, completed_at, zero_rtt });
                    link.stream = Stream::Done;
                }
            }
            Stream::Listening { request, id } => {
                if id.is_none() {
                    *id = connection.streams().accept(Dir::Bi);
                }
                let Some(id) = *id else { return };
                read_request(connection, id, request);
                if let Ok(request) = <[u8; REQUEST]>::try_from(&request[..]) {
                    let bytes = u64::from_be_bytes(request);
                    link.stream = Stream::Answering { id, bytes, left: bytes, since: now };
                    self.act(link, now);
                }
            }
            Stream::Answering { id, left, .. } => {
                let mut stream = connection.send_stream(*id);
                while *left > 0 {
                    let chunk = &CHUNK[..CHUNK.len().min(usize::try_from(*left).unwrap_or(usize::MAX))];
                    let Ok(written) = stream.write(chunk) else { return };
                    *left -= written as u64;
                    if *left == 0 {
                        let _ = stream.finish();
                    }
                }
            }
            Stream::Done => {}
        }
    }
}

/// Reads all that is there; `None` if the stream does not exist (yet), else whether it ended.
fn drain(connection: &mut Connection, id: StreamId, left: &mut u64) -> Option<bool> {
    let mut stream = connection.recv_stream(id);
    let mut chunks = stream.read(true).ok()?;
    let ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => *left = left.saturating_sub(chunk.bytes.len() as u64),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let _ = chunks.finalize();
    Some(ended)
}

/// Reads what is there of a request.
fn read_request(connection: &mut Connection, id: StreamId, request: &mut Vec<u8>) {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return };
    while let Ok(Some(chunk)) = chunks.next(REQUEST - request.len()) {
        request.extend_from_slice(&chunk.bytes);
        if request.len() == REQUEST {
            break;
        }
    }
    let _ = chunks.finalize();
}

/// A duration on which quinn's timers and a host's clock agree: whole nanoseconds.
pub(crate) fn after(origin: Instant, nanos: u64) -> Instant {
    origin + Duration::from_nanos(nanos)
}
