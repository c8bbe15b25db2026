//! Table of prefixes, as in a router or derived from BGP; an address belongs to the longest prefix that
//! covers it (B. Krishnamurthy, J. Wang, "On network-aware clustering of web clients", SIGCOMM 2000).

use std::collections::BTreeMap;

use crate::group::{Group, Prefix};

const NONE: u32 = u32::MAX;

/// Prefixes, each a group of its own or part of a named group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixTable {
    /// By first address, shorter prefixes first.
    entries: Vec<Entry>,
    names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    prefix: Prefix,
    /// Number of its name.
    name: u32,
    /// Longest entry that contains this one.
    parent: u32,
}

/// Error in a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub why: String,
}

impl core::fmt::Display for TableError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl core::error::Error for TableError {}

impl PrefixTable {
    /// Reads one prefix per line, as `192.0.2.0/24`, with an optional name. Prefixes with the same name form
    /// one group, so that an autonomous system may have several. `#` starts a comment.
    ///
    /// # Errors
    /// [`TableError`] for a line that is not a prefix, has more than a prefix and a name, or repeats a
    /// prefix.
    pub fn read(text: &str) -> Result<Self, TableError> {
        let mut lines = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        let mut names = vec![];
        for (i, line) in text.lines().enumerate() {
            let fail = |why| TableError { line: i + 1, why };
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(word) = words.next() else { continue };
            let prefix: Prefix = word.parse().map_err(fail)?;
            let name = words.next().map_or(NONE, |name| {
                *numbers.entry(name).or_insert_with(|| {
                    names.push(name.to_owned());
                    names.len() as u32 - 1
                })
            });
            if let Some(word) = words.next() {
                return Err(fail(format!("unexpected {word} after a prefix and a name")));
            }
            if let Some((before, _)) = lines.insert(prefix, (i + 1, name)) {
                return Err(fail(format!("{prefix} is already on line {before}")));
            }
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(lines.len());
        let mut parent = NONE;
        for (prefix, (_, name)) in lines {
            while parent != NONE && !entries[parent as usize].prefix.contains(&prefix) {
                parent = entries[parent as usize].parent;
            }
            entries.push(Entry { prefix, name, parent });
            parent = entries.len() as u32 - 1;
        }
        Ok(Self { entries, names })
    }

    /// Number of prefixes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Name with this number ([`Group::Named`]).
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }

    /// Group of the longest prefix that covers this address.
    pub(crate) fn find(&self, destination: u128) -> Option<Group> {
        // The last entry that begins at or before the address covers it, or one of its parents does, or none.
        let mut at =
            (self.entries.partition_point(|e| e.prefix.bits() <= destination) as u32).checked_sub(1)?;
        while at != NONE {
            let Entry { prefix, name, parent } = self.entries[at as usize];
            if prefix.covers(destination) {
                return Some(if name == NONE { Group::Prefix(prefix) } else { Group::Named(name) });
            }
            at = parent;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Grouping;
    use core::net::IpAddr;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    const TEXT: &str = "
        # a made-up view of a router
        10.0.0.0/8        # a default of its own
        10.1.0.0/16       AS64500
        10.1.2.0/24
        10.1.2.128/25     AS64501
        192.0.2.0/24      AS64500
        2001:db8::/32     AS64500
        2001:db8:1::/48
    ";

    #[test]
    fn an_address_belongs_to_the_longest_prefix_that_covers_it() {
        let table = PrefixTable::read(TEXT).expect("a table");
        assert_eq!(table.len(), 7);
        let grouping = Grouping::default().with_table(table.clone());
        for (host, group) in [
            ("10.200.0.1", "10.0.0.0/8"),
            ("10.1.77.1", "AS64500"),
            ("10.1.2.1", "10.1.2.0/24"),
            ("10.1.2.200", "AS64501"),
            ("10.1.3.0", "AS64500"),
            ("10.2.0.0", "10.0.0.0/8"),
            ("192.0.2.7", "AS64500"),
            ("2001:db8:2::1", "AS64500"),
            ("2001:db8:1::1", "2001:db8:1::/48"),
            // In no prefix: grouped by leading bits.
            ("192.0.3.7", "192.0.3.0/24"),
            ("11.0.0.1", "11.0.0.0/24"),
            ("9.255.255.255", "9.255.255.0/24"),
            ("2001:db9::1", "2001:db9::/48"),
        ] {
            let found = match grouping.of(address(host)) {
                Group::Prefix(prefix) => prefix.to_string(),
                Group::Named(number) => table.name(number).expect("a name").to_owned(),
            };
            assert_eq!(found, group, "{host}");
        }
    }

    #[test]
    fn an_error_has_the_number_of_its_line() {
        for (text, line, why) in [
            ("10.0.0.0/8\nten", 2, "ten is not a prefix"),
            ("\n10.0.0.0/8 a b", 2, "unexpected b after a prefix and a name"),
            ("10.0.0.0/8\n\n10.0.0.0/8 a", 3, "10.0.0.0/8 is already on line 1"),
        ] {
            let error = PrefixTable::read(text).expect_err("a bad line");
            assert_eq!(error.line, line);
            assert!(error.why.starts_with(why), "{error}");
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            failure_persistence: None,
            rng_seed: proptest::test_runner::RngSeed::Fixed(4),
            ..proptest::prelude::ProptestConfig::default()
        })]
        #[test]
        fn a_table_finds_the_same_prefix_as_an_exhaustive_search(
            prefixes in proptest::collection::btree_set((0..64u32, 0..=6u8), 0..40),
            hosts in proptest::collection::vec(0..64u32, 20),
        ) {
            // Addresses that differ in their first six bits.
            let to_address = |top: u32| IpAddr::V4((top << 26).into());
            let prefixes: std::collections::BTreeSet<Prefix> =
                prefixes.iter().map(|&(top, length)| Prefix::around(to_address(top), length)).collect();
            let text: Vec<String> = prefixes.iter().map(Prefix::to_string).collect();
            let table = PrefixTable::read(&text.join("\n")).expect("a table");
            for host in hosts {
                let destination = crate::Destination::from(to_address(host)).0;
                let longest = prefixes.iter().filter(|p| p.covers(destination)).max_by_key(|p| {
                    prefixes.iter().filter(|other| other.contains(p)).count()
                });
                proptest::prop_assert_eq!(table.find(destination), longest.copied().map(Group::Prefix));
            }
        }
    }
}
