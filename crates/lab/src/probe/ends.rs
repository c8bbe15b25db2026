//! quinn's endpoint on a socket of this machine: one thread, without a runtime.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, ServerConfig,
    Transmit,
};

use crate::tun::wait;

/// Datagrams that quinn hands over at a time, as the program `quinn` takes them on Linux.
const BATCH: usize = 10;

/// An endpoint, its socket and its connections.
pub(super) struct Ends {
    endpoint: Endpoint,
    socket: UdpSocket,
    connections: BTreeMap<usize, Connection>,
}

#[expect(clippy::disallowed_methods, reason = "connections to real servers run in real time")]
pub(super) fn now() -> Instant {
    Instant::now()
}

impl Ends {
    /// An endpoint at an address of the calling thread's network; with `server` it accepts connections.
    pub(super) fn open(at: (Ipv4Addr, u16), server: Option<ServerConfig>) -> io::Result<Self> {
        let endpoint = Endpoint::new(EndpointConfig::default().into(), server.map(Into::into), true, None);
        Ok(Self { endpoint, socket: UdpSocket::bind(at)?, connections: BTreeMap::new() })
    }

    pub(super) fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Longest smoothed round trip of the connections.
    pub(super) fn rtt(&self) -> Duration {
        self.connections.values().map(Connection::rtt).max().unwrap_or_default()
    }

    /// Begins a connection.
    pub(super) fn connect(&mut self, config: ClientConfig, server: SocketAddr) -> Result<(), String> {
        let connected = self.endpoint.connect(now(), config, server, "localhost");
        let (handle, connection) = connected.map_err(|error| error.to_string())?;
        self.connections.insert(handle.0, connection);
        Ok(())
    }

    /// Lets `act` work on each connection, and sends what the connections have.
    pub(super) fn act(&mut self, mut act: impl FnMut(usize, &mut Connection)) -> io::Result<()> {
        let present = now();
        let mut buffer = vec![];
        for (&handle, connection) in &mut self.connections {
            if connection.poll_timeout().is_some_and(|due| due <= present) {
                connection.handle_timeout(present);
            }
            act(handle, connection);
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(ConnectionHandle(handle), event) {
                    connection.handle_event(event);
                }
            }
            while let Some(transmit) = connection.poll_transmit(present, BATCH, &mut buffer) {
                send(&self.socket, &transmit, &buffer)?;
                buffer.clear();
            }
        }
        self.connections.retain(|_, connection| !connection.is_drained());
        Ok(())
    }

    /// Takes a datagram, for which it waits until `until` or the next timer.
    pub(super) fn wait(&mut self, until: Instant) -> io::Result<()> {
        let due = self.connections.values_mut().filter_map(Connection::poll_timeout).min();
        let time = due.map_or(until, |due| due.min(until)).saturating_duration_since(now());
        match wait([&self.socket], time)? {
            [true] => self.receive(),
            [false] => Ok(()),
        }
    }

    /// Closes all connections.
    pub(super) fn close(mut self) {
        // A datagram that cannot be sent is not needed.
        let _ = self.act(|_, connection| connection.close(now(), 0_u8.into(), Default::default()));
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut bytes = [0; 2048];
        let (size, from) = self.socket.recv_from(&mut bytes)?;
        let mut response = vec![];
        match self.endpoint.handle(now(), from, None, None, bytes[..size].into(), &mut response) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                if let Some(connection) = self.connections.get_mut(&handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now(), &mut response, None) {
                    Ok((handle, connection)) => {
                        self.connections.insert(handle.0, connection);
                    }
                    Err(refused) => {
                        if let Some(transmit) = refused.response {
                            send(&self.socket, &transmit, &response)?;
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => send(&self.socket, &transmit, &response)?,
            None => {}
        }
        Ok(())
    }
}

/// Sends the datagrams of a transmission one by one.
fn send(socket: &UdpSocket, transmit: &Transmit, contents: &[u8]) -> io::Result<()> {
    let contents = &contents[..transmit.size];
    for datagram in contents.chunks(transmit.segment_size.unwrap_or(transmit.size).max(1)) {
        socket.send_to(datagram, transmit.destination)?;
    }
    Ok(())
}

/// A time from now.
pub(super) fn within(time: Duration) -> Instant {
    now() + time
}
