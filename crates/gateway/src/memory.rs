//! The simulator's policies in a gateway: its shared memory of paths, fed by the same reports.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_paths::{
    Destination, Grouping, Handle, Limits, Memory, Policy, Prefix, Sample, Transfer, Unfit,
};
use serde::{Deserialize, Serialize};

use crate::connection::{Connection, Stage};
use crate::prefix::Wanted;
use crate::serial;
use crate::settings::{STOCK, Settings};

/// A memory of paths and its live connections.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    policy: Policy,
    memory: Memory,
    /// Live connections by peer and by the millisecond at which they were established.
    live: BTreeMap<(Destination, u64), Handle>,
    /// Payload of a full segment of the newest connection, bytes.
    mss: u32,
    /// Time of the memory's clock when the gateway's showed the second one. The memory's clock goes on over restarts.
    clock: (Nanos, Nanos),
}

/// A memory of paths that outlives the process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedPaths {
    memory: firstflight_paths::Saved,
    live: Vec<((Destination, u64), Handle)>,
    mss: u32,
    #[serde(with = "serial::nanos")]
    now: Nanos,
}

/// Most live connections of a memory.
const CONNECTIONS: u32 = 1 << 20;

impl Paths {
    pub(crate) fn new(policy: Policy, settings: &Settings) -> Self {
        let (v4, v6) = settings.bits;
        let limits = Limits { clusters: settings.prefixes, connections: CONNECTIONS };
        let memory = Memory::new(policy.settings(), Grouping::bits(v4, v6), limits);
        Self { policy, memory, live: BTreeMap::new(), mss: 1448, clock: (Nanos::ZERO, Nanos::ZERO) }
    }

    /// Takes a connection: one that was reported live before goes on.
    pub(crate) fn report(&mut self, connection: &Connection) {
        let at = self.now(connection.at);
        let Connection { peer, age, mss, cwnd, ssthresh, srtt, min_rtt, .. } = *connection;
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
        let sample = Sample { now: at, cwnd, ssthresh, srtt, min_rtt, avoiding: cwnd >= ssthresh };
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

    /// Time of the memory's clock.
    fn now(&self, gateway: Nanos) -> Nanos {
        let (memory, then) = self.clock;
        memory.saturating_add(gateway.saturating_sub(then))
    }

    /// Its contents, to be saved at this time of the gateway's clock.
    pub(crate) fn saved(&self, now: Nanos) -> SavedPaths {
        let live = self.live.iter().map(|(key, handle)| (*key, *handle)).collect();
        SavedPaths { memory: self.memory.saved(), live, mss: self.mss, now: self.now(now) }
    }

    /// Puts saved contents in place of its own, `elapsed` after they were saved.
    pub(crate) fn restore(&mut self, saved: SavedPaths, now: Nanos, elapsed: Nanos) -> Result<(), Unfit> {
        let SavedPaths { memory, live, mss, now: then } = saved;
        self.memory.restore(memory)?;
        if mss == 0 || live.iter().any(|(_, handle)| !self.memory.knows(*handle)) {
            return Err(Unfit::Damaged);
        }
        self.live = live.into_iter().collect();
        (self.mss, self.clock) = (mss, (then.saturating_add(elapsed), now));
        Ok(())
    }

    /// The window and threshold that the policy plans for a transfer without an end.
    pub(crate) fn wanted(&self, prefix: &Prefix, now: Nanos) -> Wanted {
        self.planned(&self.policy, prefix, now, u64::MAX)
    }

    /// The window and threshold that this policy, of the same data, plans for a transfer of this size to a prefix.
    pub(crate) fn planned(&self, policy: &Policy, prefix: &Prefix, now: Nanos, bytes: u64) -> Wanted {
        let now = self.now(now);
        let mss = u64::from(self.mss);
        let group = self.memory.group(prefix.first());
        let newest = self.memory.cluster(group).and_then(|cluster| cluster.newest());
        let destination = newest.unwrap_or(Destination::from(prefix.first()));
        let transfer = Transfer { now, destination, rtt: Nanos::ZERO, bytes, mss: self.mss };
        let plan = self.memory.plan(policy, group, &transfer);
        let segments = |bytes: u64| u32::try_from(bytes / mss).unwrap_or(u32::MAX);
        Wanted { window: segments(plan.cwnd), ssthresh: (plan.ssthresh > 0).then(|| segments(plan.ssthresh)) }
    }
}
