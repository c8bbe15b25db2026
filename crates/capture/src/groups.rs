//! Connections of a capture by the network of their client: what a server's traffic is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::packet::{Flags, TcpPacket};
use crate::side::Side;
use crate::transfers::Sizes;

/// A network of clients: an IPv4 /24, or an IPv6 /48, the prefix that a site gets (RFC 6177).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpAddr);

impl Network {
    /// The network of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(v4) => {
                let [a, b, c, _] = v4.octets();
                Ipv4Addr::new(a, b, c, 0).into()
            }
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => return Self::of(v4.into()),
                None => {
                    let [a, b, c, ..] = v6.segments();
                    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0).into()
                }
            },
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, if self.0.is_ipv4() { 24 } else { 48 })
    }
}

/// Connections of the clients of one network. All of its numbers count every connection, kept or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The network; `None` for all networks beyond the first [`Group::MOST`].
    pub network: Option<Network>,
    /// Connections that carried data.
    pub connections: u64,
    /// Data bytes sent to the clients, each counted once.
    pub to_clients: u64,
    /// Data bytes received from the clients, each counted once.
    pub from_clients: u64,
    /// Transfers to the clients; each answer on a connection that is kept alive is one.
    pub answers: Sizes,
    /// Transfers from the clients.
    pub requests: Sizes,
    /// Indices of the connections kept, in [`Capture::connections`](crate::Capture::connections).
    pub kept: Vec<usize>,
}

impl Group {
    /// Maximum number of networks that have a group of their own.
    pub const MOST: usize = 1 << 17;

    /// Data bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.to_clients.saturating_add(self.from_clients)
    }

    /// Transfers in the direction that carried more data: those that the server's start-up decides, or the uploads of the
    /// clients.
    pub fn transfers(&self) -> &Sizes {
        if self.to_clients >= self.from_clients { &self.answers } else { &self.requests }
    }

    /// An empty group.
    pub(crate) fn new(network: Option<Network>) -> Self {
        Self {
            network,
            connections: 0,
            to_clients: 0,
            from_clients: 0,
            answers: Sizes::default(),
            requests: Sizes::default(),
            kept: vec![],
        }
    }
}

/// Side of the client: the one that opened the connection, or the one with the higher port if the capture lacks the
/// handshake, since ports of clients are drawn from the upper range (RFC 6335).
pub(crate) fn client(first: &TcpPacket) -> Side {
    let opens = first.flags.has(Flags::SYN).then(|| !first.flags.has(Flags::ACK));
    if opens.unwrap_or(first.from.port() >= first.to.port()) { Side::First } else { Side::Second }
}

/// Number of a group.
pub(crate) type GroupId = u32;

/// Groups while the capture is read.
#[derive(Default)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    by_network: BTreeMap<Network, GroupId>,
    others: Option<GroupId>,
}

impl Groups {
    /// The group of a client's address.
    pub(crate) fn of(&mut self, client: IpAddr) -> GroupId {
        let network = Network::of(client);
        if let Some(&known) = self.by_network.get(&network) {
            return known;
        }
        let next = self.groups.len() as GroupId;
        if self.by_network.len() < Group::MOST {
            self.by_network.insert(network, next);
            self.groups.push(Group::new(Some(network)));
            return next;
        }
        *self.others.get_or_insert_with(|| {
            self.groups.push(Group::new(None));
            next
        })
    }

    pub(crate) fn get(&mut self, id: GroupId) -> &mut Group {
        &mut self.groups[id as usize]
    }

    /// Counts a transfer.
    pub(crate) fn transfer(&mut self, id: GroupId, from_client: bool, bytes: u64) {
        let group = self.get(id);
        let sizes = if from_client { &mut group.requests } else { &mut group.answers };
        sizes.add(bytes);
    }

    /// The groups, by their data, the most first. `kept` has the group of each connection that is kept.
    pub(crate) fn finish(mut self, kept: &[GroupId]) -> Vec<Group> {
        for (index, &id) in kept.iter().enumerate() {
            self.get(id).kept.push(index);
        }
        let mut groups = self.groups;
        groups.retain(|group| group.connections > 0);
        groups
            .sort_by_key(|group| (group.network.is_none(), std::cmp::Reverse(group.bytes()), group.network));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_24_bits_of_ipv4_and_48_of_ipv6() {
        let network = |address: &str| Network::of(address.parse().unwrap()).to_string();
        assert_eq!(network("203.0.113.77"), "203.0.113.0/24");
        assert_eq!(network("2001:db8:1:2::9"), "2001:db8:1::/48");
        assert_eq!(network("::ffff:203.0.113.77"), "203.0.113.0/24");
    }
}
