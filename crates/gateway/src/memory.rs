//! The simulator's policies in a gateway: its shared memory of paths, fed by the same reports.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_paths::{Destination, Grouping, Handle, Limits, Memory, Policy, Prefix, Sample, Transfer};

use crate::connection::{Connection, Stage};
use crate::prefix::Wanted;
use crate::settings::{STOCK, Settings};

/// A memory of paths and its live connections.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub policy: Policy,
    pub memory: Memory,
    /// Live connections by peer and by the millisecond at which they were established.
    pub live: BTreeMap<(Destination, u64), Handle>,
    /// Payload of a full segment of the newest connection, bytes.
    pub mss: u32,
}

/// Most live connections of a memory.
const CONNECTIONS: u32 = 1 << 20;

impl Paths {
    pub(crate) fn new(policy: Policy, settings: &Settings) -> Self {
        let (v4, v6) = settings.bits;
        let limits = Limits { clusters: settings.prefixes, connections: CONNECTIONS };
        let memory = Memory::new(policy.settings(), Grouping::bits(v4, v6), limits);
        Self { policy, memory, live: BTreeMap::new(), mss: 1448 }
    }

    /// Takes a connection: one that was reported live before goes on.
    pub(crate) fn report(&mut self, connection: &Connection) {
        let Connection { at, peer, age, mss, cwnd, ssthresh, srtt, .. } = *connection;
        if mss == 0 || cwnd == 0 {
            return;
        }
        self.mss = mss;
        let began = at.saturating_sub(age);
        let destination = Destination::from(peer);
        let key = (destination, began.0 / 1_000_000);
        let bytes = |segments: u32| u64::from(segments) * u64::from(mss);
        let ssthresh = ssthresh.map_or(u64::MAX, bytes);
        let cwnd = bytes(cwnd);
        let sample = Sample { now: at, cwnd, ssthresh, srtt, avoiding: cwnd >= ssthresh };
        let handle = self.live.remove(&key).or_else(|| {
            let rtt = connection.handshake_rtt;
            let transfer = Transfer { now: at, destination, rtt, bytes: u64::MAX, mss };
            let first = Sample { cwnd: bytes(STOCK), ssthresh: u64::MAX, avoiding: false, ..sample };
            self.memory.open(self.memory.group(peer), &transfer, &first)
        });
        let Some(handle) = handle else { return };
        self.memory.observe(handle, &sample);
        if connection.stage == Stage::Live {
            self.live.insert(key, handle);
            return;
        }
        if connection.retransmits > 0 {
            self.memory.lost(handle, at, cwnd);
        }
        self.memory.close(handle, at);
    }

    /// The window and threshold that the policy plans for a prefix.
    pub(crate) fn wanted(&self, prefix: &Prefix, now: Nanos) -> Wanted {
        let mss = u64::from(self.mss);
        let group = self.memory.group(prefix.first());
        let newest = self.memory.cluster(group).and_then(|cluster| cluster.newest());
        let destination = newest.unwrap_or(Destination::from(prefix.first()));
        let transfer = Transfer { now, destination, rtt: Nanos::ZERO, bytes: u64::MAX, mss: self.mss };
        let plan = self.memory.plan(&self.policy, group, &transfer);
        let segments = |bytes: u64| u32::try_from(bytes / mss).unwrap_or(u32::MAX);
        Wanted { window: segments(plan.cwnd), ssthresh: (plan.ssthresh > 0).then(|| segments(plan.ssthresh)) }
    }
}
