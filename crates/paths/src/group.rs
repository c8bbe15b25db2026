//! Grouping of connections into clusters: by host, leading address bits, route, or the name of a cluster.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

use crate::Destination;

/// Number of bits before an IPv4 address in an IPv4-mapped IPv6 address.
const MAPPED_BITS: u8 = 96;

/// An address prefix. IPv4 addresses are represented by their IPv4-mapped IPv6 addresses, so that sockets of
/// both families give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    bits: u128,
    length: u8,
}

impl Prefix {
    /// Prefix of this length around an address; at most 32 bits for an IPv4 address, 128 for IPv6.
    pub fn around(address: IpAddr, length: u8) -> Self {
        let address = address.to_canonical();
        let length = match address {
            IpAddr::V4(_) => MAPPED_BITS + length.min(32),
            IpAddr::V6(_) => length.min(128),
        };
        Self { bits: Destination::from(address).0 & mask(length), length }
    }

    /// Its parts of this length, in their order; none if it is longer itself.
    pub fn parts(&self, length: u8) -> impl Iterator<Item = Self> + use<> {
        let Self { bits, length: own } = *self;
        let length = if self.is_v4() { MAPPED_BITS + length.min(32) } else { length.min(128) };
        let number =
            length.checked_sub(own).map_or(0, |more| 1_u128.checked_shl(more.into()).unwrap_or(u128::MAX));
        let step = 1_u128.checked_shl(128 - u32::from(length)).unwrap_or(0);
        (0..number).map(move |part| Self { bits: bits | (part * step), length })
    }

    /// Number of leading bits in common: at most 32 for IPv4, 128 for IPv6.
    pub fn length(&self) -> u8 {
        if self.is_v4() { self.length - MAPPED_BITS } else { self.length }
    }

    /// First address.
    pub fn first(&self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from_bits(self.bits)).to_canonical()
    }

    /// Whether it covers this address.
    pub fn has(&self, address: IpAddr) -> bool {
        self.covers(Destination::from(address).0)
    }

    /// Whether its addresses are those of IPv4.
    pub fn is_v4(&self) -> bool {
        self.length >= MAPPED_BITS && Ipv6Addr::from_bits(self.bits).to_ipv4_mapped().is_some()
    }

    /// Whether it covers this address, given as a destination. No IPv6 prefix covers an IPv4 address, though the form in which both are
    /// kept lies in `::/0`.
    fn covers(&self, destination: u128) -> bool {
        let mapped = Ipv6Addr::from_bits(destination).to_ipv4_mapped().is_some();
        destination & mask(self.length) == self.bits && mapped == self.is_v4()
    }

    /// Whether it covers all of `other`.
    pub fn contains(&self, other: &Self) -> bool {
        self.length <= other.length
            && other.bits & mask(self.length) == self.bits
            && other.is_v4() == self.is_v4()
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_v4() {
            return write!(f, "{}/{}", self.first(), self.length());
        }
        write!(f, "{}/{}", Ipv6Addr::from_bits(self.bits), self.length)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Control characters escaped, at most 80 characters.
        let shown = |text: &str| text.chars().take(80).flat_map(char::escape_debug).collect::<String>();
        let Some((address, length)) = text.split_once('/') else {
            return Err(format!(
                "{} is not a prefix: expected an address, a slash and a number of bits, as in 192.0.2.0/24",
                shown(text)
            ));
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| format!("{} is neither an IPv4 nor an IPv6 address", shown(address)))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.parse().ok().filter(|length| *length <= most);
        let length =
            length.ok_or_else(|| format!("{}: expected a number of bits from 0 to {most}", shown(text)))?;
        if let (IpAddr::V6(_), IpAddr::V4(v4)) = (address, address.to_canonical()) {
            return Err(format!(
                "{} is an IPv4-mapped address: expected {v4} and up to 32 bits",
                shown(text)
            ));
        }
        let prefix = Self::around(address, length);
        if prefix.bits != Destination::from(address).0 {
            return Err(format!("{} has bits set beyond its length: expected {prefix}", shown(text)));
        }
        Ok(prefix)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Prefix {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Prefix {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Property that the connections of a cluster have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Group {
    /// The destinations have a common prefix.
    Prefix(Prefix),
    /// The connections have the same number, which the host assigns.
    Named(u32),
}

/// Rule that groups destinations: by a number of leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    v4: u8,
    v6: u8,
}

impl Default for Grouping {
    /// A /24 (Yu and Newman, section 6) or a /48 (the size assigned to a site, RFC 6177) shares a bottleneck.
    fn default() -> Self {
        Self::bits(24, 48)
    }
}

impl Grouping {
    /// Groups by this many leading bits of IPv4 and IPv6 addresses.
    pub fn bits(v4: u8, v6: u8) -> Self {
        Self { v4, v6 }
    }

    /// Groups each host separately.
    pub fn host() -> Self {
        Self::bits(32, 128)
    }

    /// Group of a destination.
    pub fn of(&self, address: IpAddr) -> Group {
        let length = if address.to_canonical().is_ipv4() { self.v4 } else { self.v6 };
        Group::Prefix(Prefix::around(address, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn grouped(grouping: &Grouping, text: &str) -> String {
        match grouping.of(address(text)) {
            Group::Prefix(prefix) => prefix.to_string(),
            Group::Named(number) => format!("cluster {number}"),
        }
    }

    #[test]
    fn hosts_of_a_24_or_a_48_belong_together() {
        let grouping = Grouping::default();
        for (host, prefix) in [
            ("192.0.2.1", "192.0.2.0/24"),
            ("192.0.2.254", "192.0.2.0/24"),
            ("192.0.3.1", "192.0.3.0/24"),
            ("2001:db8:1:2::3", "2001:db8:1::/48"),
            ("2001:db8:1:ffff::3", "2001:db8:1::/48"),
            ("2001:db8:2::3", "2001:db8:2::/48"),
        ] {
            assert_eq!(grouped(&grouping, host), prefix, "{host}");
        }
    }

    #[test]
    fn an_ipv4_address_is_the_same_on_a_socket_of_either_family() {
        assert_eq!(grouped(&Grouping::default(), "::ffff:192.0.2.1"), "192.0.2.0/24");
    }

    #[test]
    fn any_number_of_bits_can_group_and_all_bits_separate_hosts() {
        assert_eq!(grouped(&Grouping::bits(8, 32), "10.1.2.3"), "10.0.0.0/8");
        assert_eq!(grouped(&Grouping::bits(0, 0), "10.1.2.3"), "0.0.0.0/0");
        assert_eq!(grouped(&Grouping::bits(0, 0), "2001:db8::1"), "::/0");
        assert_eq!(grouped(&Grouping::host(), "10.1.2.3"), "10.1.2.3/32");
        assert_eq!(grouped(&Grouping::host(), "2001:db8::1"), "2001:db8::1/128");
    }

    #[test]
    fn a_prefix_covers_addresses_of_its_family_only() {
        let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
        let all = ["0.0.0.0/0", "192.0.2.0/24", "192.0.2.7/32", "::/0", "::/80", "::/96", "2001:db8::/32"];
        // RFC 4291, section 2.5.5.2: an IPv4 address is the IPv6 address ::ffff:a.b.c.d on a socket of IPv6.
        for (text, covered) in [
            ("0.0.0.0/0", &all[..3]),
            ("192.0.2.0/24", &all[1..3]),
            ("::/0", &all[3..]),
            ("::/80", &all[4..6]),
            ("::/95", &all[5..6]),
            ("2001:db8::/32", &all[6..]),
        ] {
            let found: Vec<_> =
                all.into_iter().filter(|other| prefix(text).contains(&prefix(other))).collect();
            assert_eq!(found, covered, "{text}");
            for address in ["192.0.2.7", "::ffff:192.0.2.7"] {
                assert_eq!(
                    prefix(text).has(self::address(address)),
                    covered.contains(&"192.0.2.7/32"),
                    "{text}"
                );
            }
            assert_eq!(
                prefix(text).has(address("2001:db8::1")),
                covered.contains(&"2001:db8::/32"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_prefix_has_parts_of_any_greater_length() {
        let parts = |text: &str, length: u8| {
            let parts = text.parse::<Prefix>().expect("a prefix").parts(length);
            parts.map(|part| part.to_string()).collect::<Vec<_>>()
        };
        let quarters = ["192.0.2.0/26", "192.0.2.64/26", "192.0.2.128/26", "192.0.2.192/26"];
        assert_eq!(parts("192.0.2.0/24", 26), quarters);
        assert_eq!(parts("192.0.2.0/24", 24), ["192.0.2.0/24"]);
        assert_eq!(parts("192.0.2.0/24", 23), [""; 0]);
        assert_eq!(parts("0.0.0.0/0", 1), ["0.0.0.0/1", "128.0.0.0/1"]);
        assert_eq!(parts("2001:db8::/47", 48), ["2001:db8::/48", "2001:db8:1::/48"]);
        assert_eq!(parts("::/0", 0), ["::/0"]);
    }

    #[test]
    fn an_invalid_prefix_is_explained() {
        for (text, why) in [
            (
                "192.0.2.0",
                "192.0.2.0 is not a prefix: expected an address, a slash and a number of bits, as in 192.0.2.0/24",
            ),
            ("2\t001:db8::/48", "2\\t001:db8:: is neither an IPv4 nor an IPv6 address"),
            ("192.0.2/24", "192.0.2 is neither an IPv4 nor an IPv6 address"),
            ("192.0.2.0/33", "192.0.2.0/33: expected a number of bits from 0 to 32"),
            ("2001:db8::/129", "2001:db8::/129: expected a number of bits from 0 to 128"),
            ("192.0.2.1/24", "192.0.2.1/24 has bits set beyond its length: expected 192.0.2.0/24"),
            (
                "::ffff:192.0.2.0/120",
                "::ffff:192.0.2.0/120 is an IPv4-mapped address: expected 192.0.2.0 and up to 32 bits",
            ),
        ] {
            assert_eq!(text.parse::<Prefix>(), Err(why.to_owned()));
        }
    }
}
