//! The clusters of all the peers of a host, in bounded memory.
//!
//! A cluster that has live connections stays. The others are kept until their room is needed: then the one whose last
//! connection closed longest ago makes it.

#![expect(clippy::disallowed_types, reason = "the map is looked up, never iterated: its order shows nowhere")]

use core::net::IpAddr;
use std::collections::HashMap;
use std::sync::Arc;

use firstflight_contract::{Nanos, Plan};

use crate::group::{Group, Grouping};
use crate::{Cluster, Key, Policy, Sample, Settings, Transfer};

const NONE: u32 = u32::MAX;

/// What a memory may hold at most.
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
    /// Entries whose cluster is not in use, linked by `after`.
    vacant: u32,
    /// Entries whose cluster has no live connection: the one that was left first, and the one left last.
    longest_left: u32,
    last_left: u32,
    connections: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    group: Group,
    cluster: Box<Cluster>,
    /// Neighbours among those left: who was left before, who after.
    before: u32,
    after: u32,
}

/// A live connection of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    entry: u32,
    key: Key,
}

impl Memory {
    /// An empty one: `settings` say what each cluster keeps, `grouping` which addresses share one.
    ///
    /// # Panics
    /// As [`Cluster::new`].
    pub fn new(settings: Settings, grouping: Grouping, limits: Limits) -> Self {
        settings.check().expect("settings that can be kept");
        Self {
            settings: Arc::new(settings),
            grouping,
            limits,
            index: HashMap::new(),
            entries: Vec::new(),
            vacant: NONE,
            longest_left: NONE,
            last_left: NONE,
            connections: 0,
        }
    }

    /// The group of an address.
    pub fn group(&self, address: IpAddr) -> Group {
        self.grouping.of(address)
    }

    /// The cluster of a group, if it is known.
    pub fn cluster(&self, group: Group) -> Option<&Cluster> {
        self.index.get(&group).map(|&at| &*self.entries[at as usize].cluster)
    }

    /// How many clusters there are, live and remembered.
    pub fn clusters(&self) -> usize {
        self.index.len()
    }

    /// How many live connections.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// The plan for a transfer of this group; all zero where nothing is known.
    pub fn plan(&self, policy: &Policy, group: Group, transfer: &Transfer) -> Plan {
        self.cluster(group).map_or(Plan::default(), |cluster| policy.plan(cluster, transfer))
    }

    /// A connection begins: [`Cluster::open`]. [`None`] where there is no room for it: too many live connections, or
    /// every cluster that may be kept has some.
    pub fn open(&mut self, group: Group, transfer: &Transfer, first: &Sample) -> Option<Handle> {
        if self.connections >= self.limits.connections {
            return None;
        }
        let entry = match self.index.get(&group) {
            Some(&at) => {
                if self.entries[at as usize].cluster.is_empty() {
                    self.take_up(at);
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

    /// [`Cluster::observe`].
    #[inline]
    pub fn observe(&mut self, handle: Handle, sample: &Sample) {
        self.entries[handle.entry as usize].cluster.observe(handle.key, sample);
    }

    /// [`Cluster::lost`].
    pub fn lost(&mut self, handle: Handle, now: Nanos, cwnd: u64) {
        self.entries[handle.entry as usize].cluster.lost(handle.key, now, cwnd);
    }

    /// [`Cluster::done`].
    pub fn done(&mut self, handle: Handle, now: Nanos) {
        self.entries[handle.entry as usize].cluster.done(handle.key, now);
    }

    /// [`Cluster::close`].
    pub fn close(&mut self, handle: Handle, now: Nanos) {
        let cluster = &mut self.entries[handle.entry as usize].cluster;
        if cluster.connection(handle.key).is_none() {
            return;
        }
        cluster.close(handle.key, now);
        self.connections -= 1;
        if cluster.is_empty() {
            if self.settings.outlive_connections() {
                self.leave(handle.entry);
            } else {
                self.forget(handle.entry);
            }
        }
    }

    /// An entry with an empty cluster, in no list.
    fn room(&mut self) -> Option<u32> {
        if self.vacant == NONE && self.entries.len() < self.limits.clusters as usize {
            let cluster = Box::new(Cluster::with(Arc::clone(&self.settings)));
            let group = Group::Named(NONE);
            self.entries.push(Entry { group, cluster, before: NONE, after: NONE });
            return Some(self.entries.len() as u32 - 1);
        }
        if self.vacant == NONE {
            let oldest = self.longest_left;
            if oldest == NONE {
                return None;
            }
            self.take_up(oldest);
            self.forget(oldest);
        }
        let at = self.vacant;
        self.vacant = self.entries[at as usize].after;
        Some(at)
    }

    /// A cluster that is in no list is dropped; its entry is free.
    fn forget(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        self.index.remove(&entry.group);
        entry.cluster.forget();
        entry.after = self.vacant;
        self.vacant = at;
    }

    /// A cluster's last connection closed.
    fn leave(&mut self, at: u32) {
        let before = self.last_left;
        let entry = &mut self.entries[at as usize];
        (entry.before, entry.after) = (before, NONE);
        match before {
            NONE => self.longest_left = at,
            before => self.entries[before as usize].after = at,
        }
        self.last_left = at;
    }

    /// A cluster that was left has a connection again, or is to go.
    fn take_up(&mut self, at: u32) {
        let Entry { before, after, .. } = self.entries[at as usize];
        match before {
            NONE => self.longest_left = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.last_left = before,
            after => self.entries[after as usize].before = before,
        }
    }
}
