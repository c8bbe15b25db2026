//! Values that are remembered of the paths to destinations.

use std::net::IpAddr;

use firstflight_contract::Nanos;

/// A prefix of destination addresses. IPv4 and IPv4-mapped addresses are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    bits: u32,
    address: [u8; 16],
}

impl Prefix {
    /// The destinations whose first `bits` bits are those of `address`: at most 32 for IPv4, 128 for IPv6.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let (address, offset, longest) = match address {
            IpAddr::V4(address) => (address.to_ipv6_mapped(), 96, 32),
            IpAddr::V6(address) => (address, 0, 128),
        };
        (bits <= longest).then(|| Self { bits: offset + u32::from(bits), address: address.octets() })
    }

    /// `struct ff_prefix`.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        [self.bits.to_ne_bytes().as_slice(), &self.address].concat()
    }
}

/// A start for a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// First window, bytes; zero proposes none.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; zero proposes none.
    pub ssthresh: u64,
    /// Round-trip time over which the first window is paced; zero is the handshake's.
    pub rtt: Nanos,
    /// Time of the measurement, `CLOCK_MONOTONIC`.
    pub measured: Nanos,
    /// Number of samples behind it.
    pub samples: u64,
}

impl Memory {
    /// `struct ff_memory`.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let words = [self.cwnd, self.ssthresh, self.rtt.0, self.measured.0, self.samples];
        words.map(u64::to_ne_bytes).concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_prefix_is_one_of_mapped_addresses() {
        let prefix = Prefix::new("192.0.2.0".parse().expect("an address"), 24).expect("a prefix");
        assert_eq!(Prefix::new("::ffff:192.0.2.0".parse().expect("an address"), 120), Some(prefix));
        assert_eq!(Prefix::new("192.0.2.0".parse().expect("an address"), 33), None);
        assert_eq!(prefix.to_bytes().len(), 20);
    }
}
