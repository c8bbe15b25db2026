//! Live connections of a cluster, in two phases, each ordered by age.
//!
//! Slots are reused and never move. The slots of each phase are linked in order of age, so that the oldest
//! connection is found at once. A connection that changes phase is inserted from the young end, where it
//! nearly always belongs.

use firstflight_contract::Nanos;

use crate::intervals::Intervals;
use crate::{Destination, Sample};

const NONE: u32 = u32::MAX;

/// Key of a live connection. Its serial number is unique in a cluster's lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Key {
    slot: u32,
    serial: u64,
}

/// State of a live connection.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Connection {
    /// Destination.
    pub destination: Destination,
    /// Start time.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub opened: Nanos,
    /// Time of the last observation.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub seen: Nanos,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh: u64,
    /// Smoothed RTT; zero if unknown.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub srtt: Nanos,
    /// Smallest RTT; zero if unknown.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub min_rtt: Nanos,
    /// Moving average of the window, bytes: `awnd` of ns-2.
    pub awnd: f64,
    /// Drop events of this connection.
    pub drops: Intervals,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Whether the connection is in congestion avoidance (the AIMD phase) rather than slow start.
    pub avoiding: bool,
    /// Whether the current transfer has met a loss.
    pub lossy: bool,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Slot {
    /// Zero if the slot is free.
    serial: u64,
    connection: Connection,
    older: u32,
    younger: u32,
}

/// Connections of one phase.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Phase {
    oldest: u32,
    youngest: u32,
    count: u32,
    /// Sum of the windows, bytes.
    cwnd: u64,
}

const EMPTY: Phase = Phase { oldest: NONE, youngest: NONE, count: 0, cwnd: 0 };

/// Live connections of a cluster.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Roster {
    slots: Vec<Slot>,
    /// First free slot; free slots are linked by `younger`.
    free: u32,
    /// Number of connections opened so far.
    opened: u64,
    phases: [Phase; 2],
}

impl Roster {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: NONE, opened: 0, phases: [EMPTY; 2] }
    }

    pub(crate) fn insert(&mut self, connection: Connection) -> Key {
        self.opened += 1;
        let slot = Slot { serial: self.opened, connection, older: NONE, younger: NONE };
        let at = if self.free == NONE {
            if self.slots.len() == self.slots.capacity() {
                // Most clusters never have two connections at a time.
                self.slots.reserve_exact(self.slots.len().max(1));
            }
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        } else {
            let at = self.free;
            self.free = self.slots[at as usize].younger;
            self.slots[at as usize] = slot;
            at
        };
        self.link(at);
        Key { slot: at, serial: self.opened }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Connection> {
        let connection = *self.get(key)?;
        self.unlink(key.slot);
        if self.is_empty() {
            self.slots = Vec::new();
            self.free = NONE;
        } else {
            let slot = &mut self.slots[key.slot as usize];
            (slot.serial, slot.younger) = (0, self.free);
            self.free = key.slot;
        }
        Some(connection)
    }

    /// Whether both orders of age and the list of free slots lead through each slot once.
    #[cfg(feature = "serde")]
    pub(crate) fn is_sound(&self) -> bool {
        let mut reached = vec![false; self.slots.len()];
        let mut reach = |at: u32| {
            self.slots.get(at as usize).filter(|_| !core::mem::replace(&mut reached[at as usize], true))
        };
        let mut live = 0;
        for (avoiding, phase) in [false, true].into_iter().zip(&self.phases) {
            let (mut at, mut before, mut count, mut cwnd) = (phase.oldest, NONE, 0u32, 0u64);
            while at != NONE {
                let Some(slot) = reach(at) else { return false };
                if slot.serial == 0 || slot.older != before || slot.connection.avoiding != avoiding {
                    return false;
                }
                (before, at) = (at, slot.younger);
                (count, cwnd) = (count + 1, cwnd.saturating_add(slot.connection.cwnd));
            }
            if before != phase.youngest || count != phase.count || cwnd != phase.cwnd {
                return false;
            }
            live += count;
        }
        let mut free = 0;
        let mut at = self.free;
        while at != NONE {
            let Some(slot) = reach(at) else { return false };
            if slot.serial != 0 {
                return false;
            }
            (at, free) = (slot.younger, free + 1);
        }
        live as usize + free == self.slots.len()
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Connection> {
        self.slots.get(key.slot as usize).filter(|s| s.serial == key.serial).map(|s| &s.connection)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        (slot.serial == key.serial).then_some(&mut slot.connection)
    }

    /// Updates window and phase from a sample; the caller updates the other fields.
    pub(crate) fn observe(&mut self, key: Key, sample: &Sample) -> Option<&mut Connection> {
        let connection = self.get(key)?;
        let (was, before) = (connection.avoiding, connection.cwnd);
        if was == sample.avoiding {
            let phase = &mut self.phases[usize::from(was)];
            phase.cwnd = phase.cwnd - before + sample.cwnd;
            self.get_mut(key)?.cwnd = sample.cwnd;
        } else {
            self.unlink(key.slot);
            let connection = self.get_mut(key)?;
            (connection.avoiding, connection.cwnd) = (sample.avoiding, sample.cwnd);
            self.link(key.slot);
        }
        self.get_mut(key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count(false) + self.count(true) == 0
    }

    /// Number of connections in avoidance or in slow start.
    pub(crate) fn count(&self, avoiding: bool) -> u32 {
        self.phases[usize::from(avoiding)].count
    }

    /// Sum of their windows, bytes.
    pub(crate) fn cwnd(&self, avoiding: bool) -> u64 {
        self.phases[usize::from(avoiding)].cwnd
    }

    /// Oldest connection in avoidance or in slow start.
    pub(crate) fn oldest(&self, avoiding: bool) -> Option<&Connection> {
        self.slots.get(self.phases[usize::from(avoiding)].oldest as usize).map(|s| &s.connection)
    }

    /// Live connections, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter(|s| s.serial != 0).map(|s| &s.connection)
    }

    fn link(&mut self, at: u32) {
        let Slot { serial, connection, .. } = self.slots[at as usize];
        let mut phase = self.phases[usize::from(connection.avoiding)];
        let (mut older, mut younger) = (phase.youngest, NONE);
        while older != NONE && self.slots[older as usize].serial > serial {
            (older, younger) = (self.slots[older as usize].older, older);
        }
        match older {
            NONE => phase.oldest = at,
            older => self.slots[older as usize].younger = at,
        }
        match younger {
            NONE => phase.youngest = at,
            younger => self.slots[younger as usize].older = at,
        }
        let slot = &mut self.slots[at as usize];
        (slot.older, slot.younger) = (older, younger);
        phase.count += 1;
        phase.cwnd += connection.cwnd;
        self.phases[usize::from(connection.avoiding)] = phase;
    }

    fn unlink(&mut self, at: u32) {
        let Slot { connection, older, younger, .. } = self.slots[at as usize];
        let phase = &mut self.phases[usize::from(connection.avoiding)];
        phase.count -= 1;
        phase.cwnd -= connection.cwnd;
        match older {
            NONE => phase.oldest = younger,
            older => self.slots[older as usize].younger = younger,
        }
        match younger {
            NONE => self.phases[usize::from(connection.avoiding)].youngest = older,
            younger => self.slots[younger as usize].older = older,
        }
    }
}
