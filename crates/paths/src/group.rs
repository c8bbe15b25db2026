//! Which connections belong together: the same host, the same leading address bits, the same route, or a cluster's name.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

use crate::Destination;
use crate::table::PrefixTable;

/// Bits before an IPv4 address where IPv6 maps it.
const MAPPED_BITS: u8 = 96;

/// Addresses that begin alike. IPv4 addresses are those that IPv6 maps, so that a socket of either family tells the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    bits: u128,
    length: u8,
}

impl Prefix {
    /// The prefix of this length around an address; an IPv4 address has at most 32 bits, an IPv6 address 128.
    pub fn around(address: IpAddr, length: u8) -> Self {
        let address = address.to_canonical();
        let length = match address {
            IpAddr::V4(_) => MAPPED_BITS + length.min(32),
            IpAddr::V6(_) => length.min(128),
        };
        Self { bits: Destination::from(address).0 & mask(length), length }
    }

    /// Whether it covers this address, given as its destination.
    pub(crate) fn covers(&self, destination: u128) -> bool {
        destination & mask(self.length) == self.bits
    }

    /// Whether it covers all of `other`.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.length <= other.length && self.covers(other.bits)
    }

    pub(crate) fn bits(&self) -> u128 {
        self.bits
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from_bits(self.bits).to_ipv4_mapped() {
            Some(v4) if self.length >= MAPPED_BITS => write!(f, "{v4}/{}", self.length - MAPPED_BITS),
            _ => write!(f, "{}/{}", Ipv6Addr::from_bits(self.bits), self.length),
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((address, length)) = text.split_once('/') else {
            return Err(format!(
                "{text} is no prefix: an address, a slash and a number of bits, as 192.0.2.0/24"
            ));
        };
        let address: IpAddr =
            address.parse().map_err(|_| format!("{address} is neither an IPv4 nor an IPv6 address"))?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.parse().ok().filter(|length| *length <= most);
        let length = length.ok_or_else(|| format!("{text} must say a number of bits from 0 to {most}"))?;
        if let (IpAddr::V6(_), IpAddr::V4(v4)) = (address, address.to_canonical()) {
            return Err(format!("{text} maps an IPv4 address: write {v4} and up to 32 bits"));
        }
        let prefix = Self::around(address, length);
        if prefix.bits != Destination::from(address).0 {
            return Err(format!("{text} has bits beyond its length: {prefix} has not"));
        }
        Ok(prefix)
    }
}

/// What connections of a cluster have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Their destinations' addresses begin alike.
    Prefix(Prefix),
    /// They bear the same number: of a name in a [`PrefixTable`], or whatever the host knows better.
    Named(u32),
}

/// How destinations are grouped: by the longest match in a table of prefixes, else by so many leading bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    v4: u8,
    v6: u8,
    table: PrefixTable,
}

impl Default for Grouping {
    /// A /24 (Yu and Newman, section 6) or a /48 (what a site is assigned, RFC 6177) shares a bottleneck.
    fn default() -> Self {
        Self::bits(24, 48)
    }
}

impl Grouping {
    /// By this many leading bits of IPv4 and IPv6 addresses.
    pub fn bits(v4: u8, v6: u8) -> Self {
        Self { v4, v6, table: PrefixTable::default() }
    }

    /// Every host is alone.
    pub fn host() -> Self {
        Self::bits(32, 128)
    }

    /// By the longest match in `table`; what matches nothing is grouped as before.
    pub fn with_table(self, table: PrefixTable) -> Self {
        Self { table, ..self }
    }

    /// The group of a destination.
    pub fn of(&self, address: IpAddr) -> Group {
        let length = if address.to_canonical().is_ipv4() { self.v4 } else { self.v6 };
        let destination = Destination::from(address).0;
        self.table.find(destination).unwrap_or_else(|| Group::Prefix(Prefix::around(address, length)))
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
    fn any_number_of_bits_groups_and_all_of_them_part_hosts() {
        assert_eq!(grouped(&Grouping::bits(8, 32), "10.1.2.3"), "10.0.0.0/8");
        assert_eq!(grouped(&Grouping::bits(0, 0), "10.1.2.3"), "0.0.0.0/0");
        assert_eq!(grouped(&Grouping::bits(0, 0), "2001:db8::1"), "::/0");
        assert_eq!(grouped(&Grouping::host(), "10.1.2.3"), "10.1.2.3/32");
        assert_eq!(grouped(&Grouping::host(), "2001:db8::1"), "2001:db8::1/128");
    }

    #[test]
    fn a_prefix_says_what_is_wrong_with_it() {
        for (text, why) in [
            (
                "192.0.2.0",
                "192.0.2.0 is no prefix: an address, a slash and a number of bits, as 192.0.2.0/24",
            ),
            ("192.0.2/24", "192.0.2 is neither an IPv4 nor an IPv6 address"),
            ("192.0.2.0/33", "192.0.2.0/33 must say a number of bits from 0 to 32"),
            ("2001:db8::/129", "2001:db8::/129 must say a number of bits from 0 to 128"),
            ("192.0.2.1/24", "192.0.2.1/24 has bits beyond its length: 192.0.2.0/24 has not"),
            (
                "::ffff:192.0.2.0/120",
                "::ffff:192.0.2.0/120 maps an IPv4 address: write 192.0.2.0 and up to 32 bits",
            ),
        ] {
            assert_eq!(text.parse::<Prefix>(), Err(why.to_owned()));
        }
    }
}
