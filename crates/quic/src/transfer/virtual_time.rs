//! Transfers in virtual time: quinn's own code, the caller's network, and a clock that jumps from event to event. A transfer
//! takes as long as its packets take to compute, and the same seed gives the same times.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use firstflight_contract::Nanos;
use quinn_proto::EcnCodepoint;
use thiserror::Error;

use super::peer::after;
use super::{Credentials, Datagram, Peer, Settings};

/// Bytes of the IPv4 and UDP headers in front of a datagram.
const HEADERS: u32 = 28;

/// Events after which a transfer that does not end is given up.
const MOST_EVENTS: u64 = 1 << 28;

/// Direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the server, which sends the data, to the client.
    Forward,
    /// From the client to the server.
    Reverse,
}

/// A network that knows on sending when a datagram arrives.
pub trait Network {
    /// A datagram of `bytes` with its IP and UDP headers leaves at `now`. Returns its arrival, and whether it was marked by
    /// ECN; `None` if it is lost. Calls come in order of time.
    fn send(&mut self, now: Nanos, direction: Direction, bytes: u32) -> Option<(Nanos, bool)>;
}

/// Result of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time from the client's first datagram until its application had the last byte.
    pub fetch: Nanos,
    /// Time from the arrival of the request at the server until the server had the acknowledgement of the last byte.
    pub completion: Nanos,
    /// Datagrams that the server declared lost.
    pub lost_packets: u64,
    /// Whether the request was in the first flight.
    pub zero_rtt: bool,
}

/// Reason why a transfer did not end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// quinn closed the connection.
    #[error("quinn closed the connection: {0}")]
    Closed(String),
    /// Nothing was left to happen.
    #[error("the connection waits for nothing")]
    Stuck,
    /// The transfer took too many events.
    #[error("the transfer did not end within {MOST_EVENTS} datagrams and timers")]
    Endless,
}

/// Transfers `sizes` bytes, one connection after the other, over `network`. From the second on, clients have a ticket and
/// ask in their first flight.
///
/// # Errors
/// [`TransferError`] if a transfer does not end.
pub fn transfers(
    settings: &Settings,
    credentials: &Credentials,
    network: &mut impl Network,
    sizes: &[u64],
) -> Result<Vec<Transfer>, TransferError> {
    let mut run = Run::new(settings, credentials, network);
    sizes.iter().map(|bytes| run.transfer(*bytes)).collect()
}

/// A client, a server, and the datagrams between them.
struct Run<'n, N> {
    origin: Instant,
    now: u64,
    client: Peer,
    server: Peer,
    network: &'n mut N,
    /// Datagrams in flight by arrival and number.
    flying: BTreeMap<(u64, u64), (Direction, Datagram)>,
    sent: u64,
}

fn address(direction: Direction) -> SocketAddr {
    let host = match direction {
        Direction::Forward => 1,
        Direction::Reverse => 2,
    };
    (Ipv4Addr::new(192, 0, 2, host), 443).into()
}

impl<'n, N: Network> Run<'n, N> {
    fn new(settings: &Settings, credentials: &Credentials, network: &'n mut N) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin that no result contains: all times are differences"
        )]
        let origin = Instant::now();
        Self {
            origin,
            now: 0,
            client: Peer::client(settings, credentials),
            server: Peer::server(settings, credentials),
            network,
            flying: BTreeMap::new(),
            sent: 0,
        }
    }

    fn instant(&self) -> Instant {
        after(self.origin, self.now)
    }

    fn transfer(&mut self, bytes: u64) -> Result<Transfer, TransferError> {
        let now = self.instant();
        self.client.fetch(now, address(Direction::Forward), bytes);
        let (fetched, served) = (self.client.fetched().len(), self.server.served().len());
        for _ in 0..MOST_EVENTS {
            self.launch();
            if let (Some(fetched), Some(served)) =
                (self.client.fetched().get(fetched), self.server.served().get(served))
            {
                let between = |from: Instant, to: Instant| {
                    Nanos(u64::try_from((to - from).as_nanos()).unwrap_or(u64::MAX))
                };
                return Ok(Transfer {
                    fetch: between(fetched.connected_at, fetched.completed_at),
                    completion: between(served.requested_at, served.completed_at),
                    lost_packets: served.lost_packets,
                    zero_rtt: fetched.zero_rtt,
                });
            }
            if let Some(why) = self.client.closed().or(self.server.closed()) {
                return Err(TransferError::Closed(why.into()));
            }
            self.step()?;
        }
        Err(TransferError::Endless)
    }

    /// Hands what both sides send to the network.
    fn launch(&mut self) {
        for direction in [Direction::Forward, Direction::Reverse] {
            loop {
                let peer = match direction {
                    Direction::Forward => &mut self.server,
                    Direction::Reverse => &mut self.client,
                };
                let Some(mut datagram) = peer.transmit() else { break };
                let bytes = datagram.contents.len() as u32 + HEADERS;
                if let Some((arrival, marked)) = self.network.send(Nanos(self.now), direction, bytes) {
                    if marked && datagram.ecn.is_some() {
                        datagram.ecn = Some(EcnCodepoint::Ce);
                    }
                    self.sent += 1;
                    self.flying.insert((arrival.0, self.sent), (direction, datagram));
                }
            }
        }
    }

    /// The next arrival or timer.
    fn step(&mut self) -> Result<(), TransferError> {
        let due = |peer: &mut Peer| {
            let due = peer.due()?.saturating_duration_since(self.origin);
            Some(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX))
        };
        let timer = [due(&mut self.client), due(&mut self.server)].into_iter().flatten().min();
        let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
        let next = arrival.into_iter().chain(timer).min().ok_or(TransferError::Stuck)?;
        self.now = self.now.max(next);
        let now = self.instant();
        if arrival == Some(next) {
            let (_, (direction, datagram)) = self.flying.pop_first().expect("an arrival is due");
            let (peer, from) = match direction {
                Direction::Forward => (&mut self.client, address(Direction::Forward)),
                Direction::Reverse => (&mut self.server, address(Direction::Reverse)),
            };
            peer.receive(now, from, datagram.ecn, &datagram.contents);
        } else {
            self.client.on_time(now);
            self.server.on_time(now);
        }
        Ok(())
    }
}
