//! Clusters of all peers of a host, in bounded memory.
//!
//! A cluster with live connections stays. Other clusters are kept until their space is needed; then the one
//! whose last connection closed first is dropped.

#![expect(clippy::disallowed_types, reason = "the map is never iterated, so its order has no effect")]

use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::Arc;

use firstflight_contract::{Nanos, Plan};

use crate::group::{Group, Grouping};
#[cfg(feature = "serde")]
use crate::saved::{Saved, Unfit};
use crate::{Cluster, Key, Policy, Sample, Settings, Transfer};

const NONE: u32 = u32::MAX;

/// Limits of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clusters, live and remembered.
    pub clusters: u32,
    /// Live connections.
    pub connections: u32,
}

/// Clusters by group.
#[derive(Clone, Debug)]
pub struct Memory {
    settings: Arc<Settings>,
    grouping: Grouping,
    limits: Limits,
    index: HashMap<Group, u32>,
    entries: Vec<Entry>,
    /// Unused entries, linked by `after`.
    vacant: u32,
    /// Entries without live connections: the one abandoned first and the one abandoned last.
    first_idle: u32,
    last_idle: u32,
    connections: u32,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Entry {
    group: Group,
    cluster: Box<Cluster>,
    /// Neighbours in the list of entries without live connections.
    before: u32,
    after: u32,
}

/// List in which an entry of saved contents was found.
#[cfg(feature = "serde")]
#[derive(Clone, Copy, PartialEq)]
enum Idle {
    Unseen,
    Vacant,
    Listed,
}

/// A live connection in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Handle {
    entry: u32,
    key: Key,
}

impl Memory {
    /// Creates an empty memory: `settings` define the contents of each cluster, `grouping` the addresses that
    /// share one.
    ///
    /// # Panics
    /// As [`Cluster::new`].
    pub fn new(settings: Settings, grouping: Grouping, limits: Limits) -> Self {
        settings.check().expect("valid settings");
        Self {
            settings: Arc::new(settings),
            grouping,
            limits,
            index: HashMap::new(),
            entries: Vec::new(),
            vacant: NONE,
            first_idle: NONE,
            last_idle: NONE,
            connections: 0,
        }
    }

    /// Group of an address.
    pub fn group(&self, address: IpAddr) -> Group {
        self.grouping.of(address)
    }

    /// Cluster of a group, if it exists.
    pub fn cluster(&self, group: Group) -> Option<&Cluster> {
        self.index.get(&group).map(|&at| &*self.entries[at as usize].cluster)
    }

    /// Number of clusters, live and remembered.
    pub fn clusters(&self) -> usize {
        self.index.len()
    }

    /// Number of live connections.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// Plan for a transfer to this group; all zero if nothing is known.
    pub fn plan(&self, policy: &Policy, group: Group, transfer: &Transfer) -> Plan {
        self.cluster(group).map_or(Plan::default(), |cluster| policy.plan(cluster, transfer))
    }

    /// Adds a connection: [`Cluster::open`]. Returns [`None`] without room: too many live connections, or no
    /// cluster without live connections that could be dropped.
    pub fn open(&mut self, group: Group, transfer: &Transfer, first: &Sample) -> Option<Handle> {
        if self.connections >= self.limits.connections {
            return None;
        }
        let entry = match self.index.get(&group) {
            Some(&at) => {
                if self.entries[at as usize].cluster.is_empty() {
                    self.unlink(at);
                }
                at
            }
            None => {
                let at = self.room()?;
                self.entries[at as usize].group = group;
                self.index.insert(group, at);
                at
            }
        };
        self.connections += 1;
        let key = self.entries[entry as usize].cluster.open(transfer, first);
        Some(Handle { entry, key })
    }

    /// Whether the connection is live.
    pub fn knows(&self, handle: Handle) -> bool {
        self.entries
            .get(handle.entry as usize)
            .is_some_and(|entry| entry.cluster.connection(handle.key).is_some())
    }

    /// Updates a connection: [`Cluster::observe`].
    #[inline]
    pub fn observe(&mut self, handle: Handle, sample: &Sample) {
        self.entries[handle.entry as usize].cluster.observe(handle.key, sample);
    }

    /// Records a loss: [`Cluster::lost`].
    pub fn lost(&mut self, handle: Handle, now: Nanos, cwnd: u64) {
        self.entries[handle.entry as usize].cluster.lost(handle.key, now, cwnd);
    }

    /// Records the end of a transfer: [`Cluster::done`].
    pub fn done(&mut self, handle: Handle, now: Nanos) {
        self.entries[handle.entry as usize].cluster.done(handle.key, now);
    }

    /// Removes a connection: [`Cluster::close`].
    pub fn close(&mut self, handle: Handle, now: Nanos) {
        let cluster = &mut self.entries[handle.entry as usize].cluster;
        if cluster.connection(handle.key).is_none() {
            return;
        }
        cluster.close(handle.key, now);
        self.connections -= 1;
        if cluster.is_empty() {
            if self.settings.outlive_connections() {
                self.link_last(handle.entry);
            } else {
                self.forget(handle.entry);
            }
        }
    }

    /// Its contents, to be saved.
    #[cfg(feature = "serde")]
    pub fn saved(&self) -> Saved {
        let Self { entries, vacant, first_idle, last_idle, connections, .. } = self;
        let (first_idle, last_idle) = (*first_idle, *last_idle);
        Saved { entries: entries.clone(), vacant: *vacant, first_idle, last_idle, connections: *connections }
    }

    /// Puts saved contents in place of its own. Plans and handles are then those of the memory that was saved.
    ///
    /// # Errors
    /// [`Unfit`] if the contents were saved with other settings, are above the limits, or are damaged; the memory is then as
    /// before.
    #[cfg(feature = "serde")]
    pub fn restore(&mut self, saved: Saved) -> Result<(), Unfit> {
        let Saved { entries, vacant, first_idle, last_idle, connections } = saved;
        if entries.len() > self.limits.clusters as usize || connections > self.limits.connections {
            return Err(Unfit::Limits);
        }
        let mut index = HashMap::with_capacity(entries.len());
        let mut state = vec![Idle::Unseen; entries.len()];
        let mut walk = |from: u32, kind: Idle| {
            let (mut at, mut before) = (from, NONE);
            while at != NONE {
                let entry = entries.get(at as usize)?;
                if state[at as usize] != Idle::Unseen || (kind == Idle::Listed && entry.before != before) {
                    return None;
                }
                state[at as usize] = kind;
                (before, at) = (at, entry.after);
            }
            Some(before)
        };
        if walk(vacant, Idle::Vacant).is_none() || walk(first_idle, Idle::Listed) != Some(last_idle) {
            return Err(Unfit::Damaged);
        }
        let mut live = 0;
        let mut restored = Vec::with_capacity(entries.len());
        for (at, Entry { group, cluster, before, after }) in entries.into_iter().enumerate() {
            let cluster = cluster.restored(&self.settings).ok_or(Unfit::Settings)?;
            let count = cluster.avoiding() + cluster.starting();
            // A cluster is in a list exactly if it has no live connection.
            if (count == 0) != (state[at] != Idle::Unseen) {
                return Err(Unfit::Damaged);
            }
            if state[at] != Idle::Vacant && index.insert(group, at as u32).is_some() {
                return Err(Unfit::Damaged);
            }
            live += count;
            restored.push(Entry { group, cluster: Box::new(cluster), before, after });
        }
        if live != connections {
            return Err(Unfit::Damaged);
        }
        (self.index, self.entries, self.connections) = (index, restored, connections);
        (self.vacant, self.first_idle, self.last_idle) = (vacant, first_idle, last_idle);
        Ok(())
    }

    /// Finds or makes an entry with an empty cluster, in no list.
    fn room(&mut self) -> Option<u32> {
        if self.vacant == NONE && self.entries.len() < self.limits.clusters as usize {
            let cluster = Box::new(Cluster::with(Arc::clone(&self.settings)));
            let group = Group::Named(NONE);
            self.entries.push(Entry { group, cluster, before: NONE, after: NONE });
            return Some(self.entries.len() as u32 - 1);
        }
        if self.vacant == NONE {
            let oldest = self.first_idle;
            if oldest == NONE {
                return None;
            }
            self.unlink(oldest);
            self.forget(oldest);
        }
        let at = self.vacant;
        self.vacant = self.entries[at as usize].after;
        Some(at)
    }

    /// Frees the entry of a cluster that is in no list.
    fn forget(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        self.index.remove(&entry.group);
        entry.cluster.forget();
        entry.after = self.vacant;
        self.vacant = at;
    }

    /// Appends an entry whose last connection closed to the list of idle entries.
    fn link_last(&mut self, at: u32) {
        let before = self.last_idle;
        let entry = &mut self.entries[at as usize];
        (entry.before, entry.after) = (before, NONE);
        match before {
            NONE => self.first_idle = at,
            before => self.entries[before as usize].after = at,
        }
        self.last_idle = at;
    }

    /// Removes an entry from the list of idle entries, to use or drop it.
    fn unlink(&mut self, at: u32) {
        let Entry { before, after, .. } = self.entries[at as usize];
        match before {
            NONE => self.first_idle = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.last_idle = before,
            after => self.entries[after as usize].before = before,
        }
    }
}
