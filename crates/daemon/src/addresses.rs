//! Addresses of this host.

use std::collections::BTreeSet;
use std::net::IpAddr;

use firstflight_contract::Nanos;
use nix::ifaddrs::getifaddrs;

/// Time between two looks at the interfaces.
const EVERY: Nanos = Nanos::from_secs(10);

/// Addresses of the interfaces of this network namespace, as they were a few seconds ago.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    all: BTreeSet<IpAddr>,
    next: Nanos,
}

impl Addresses {
    /// Whether a peer is this host: a loopback address, or one of an interface.
    pub(crate) fn has(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        peer.is_loopback() || self.all.contains(&peer)
    }

    /// Looks at the interfaces, if it is time for it.
    ///
    /// # Errors
    /// The kernel does not answer; the addresses before stay.
    pub(crate) fn refresh(&mut self, now: Nanos) -> Result<(), String> {
        if now < self.next {
            return Ok(());
        }
        self.next = now + EVERY;
        let found = getifaddrs().map_err(|error| format!("the addresses of this host: {error}"))?;
        let address = |address: nix::sys::socket::SockaddrStorage| {
            let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
            v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
        };
        self.all = found.filter_map(|interface| interface.address.and_then(address)).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_peer_within_this_host_has_a_loopback_address_or_one_of_an_interface() {
        let mut addresses = Addresses::default();
        for local in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
            assert!(addresses.has(ip(local)), "{local}");
        }
        // An address from which this host would reach a documentation network, if it has a way there.
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
        let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()).map(|own| own.ip());
        addresses.refresh(Nanos(1)).expect("an answer");
        if let Ok(own) = own {
            assert!(addresses.has(own), "{own} is none of {addresses:?}");
        }
        assert!(!addresses.has(ip("192.0.2.1")) && !addresses.has(ip("2001:db8::1")));
        // A later look is one only after its time.
        addresses.all.clear();
        addresses.refresh(Nanos(2)).expect("no look");
        assert!(addresses.all.is_empty());
        addresses.refresh(EVERY + Nanos(1)).expect("an answer");
        assert!(addresses.all.contains(&ip("127.0.0.1")), "{addresses:?}");
    }
}
