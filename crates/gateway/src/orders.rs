//! Orders of the operator by prefix.

use std::collections::{BTreeMap, BTreeSet};

use firstflight_paths::Prefix;

use crate::settings::Override;

/// Orders of the operator; of several that contain a prefix, the one for the longest counts.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    by_prefix: BTreeMap<Prefix, Override>,
    /// Lengths of the prefixes, IPv4 and IPv6, longest first.
    lengths: [Vec<u8>; 2],
}

impl FromIterator<(Prefix, Override)> for Orders {
    fn from_iter<T: IntoIterator<Item = (Prefix, Override)>>(orders: T) -> Self {
        let mut all = Self { by_prefix: orders.into_iter().collect(), ..Self::default() };
        all.measure();
        all
    }
}

impl Orders {
    /// Sets or ends the order for a prefix.
    pub fn set(&mut self, prefix: Prefix, order: Option<Override>) {
        match order {
            Some(order) => self.by_prefix.insert(prefix, order),
            None => self.by_prefix.remove(&prefix),
        };
        self.measure();
    }

    /// The order for the longest prefix that contains this one.
    pub fn of(&self, prefix: &Prefix) -> Option<Override> {
        let lengths = &self.lengths[usize::from(!prefix.is_v4())];
        let covering = lengths.iter().filter(|length| **length <= prefix.length());
        covering
            .map(|length| Prefix::around(prefix.first(), *length))
            .find_map(|at| self.by_prefix.get(&at).copied())
    }

    fn measure(&mut self) {
        self.lengths = [true, false].map(|v4| {
            let lengths = self.by_prefix.keys().filter(|prefix| prefix.is_v4() == v4);
            lengths.map(Prefix::length).collect::<BTreeSet<_>>().into_iter().rev().collect()
        });
    }
}
