//! The kernel's events, answered once more by the chain that the simulator runs.

use std::collections::BTreeMap;

use firstflight_contract::Ack;
use firstflight_host::chain::Chain;
use firstflight_host::round::RoundCounter;
use firstflight_schemes::registry::AnyPhase;

use crate::record::{Event, Record};

/// Counts of events, and of those on which the kernel and the simulator's chain differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Connections that began.
    pub connections: u64,
    /// Events, all kinds together.
    pub events: u64,
    /// ACKs.
    pub acks: u64,
    /// ACKs during the reduction of a window.
    pub recovering: u64,
    /// Losses.
    pub losses: u64,
    /// ECN marks.
    pub marks: u64,
    /// Timeouts, repeated ones included.
    pub timeouts: u64,
    /// Undone reductions.
    pub undone: u64,
    /// Resumptions after an idle time.
    pub idle: u64,
    /// Connections whose start-up ended.
    pub exits: u64,
    /// Panics in the kernel.
    pub panics: u64,
    /// Events after which a register, the end of start-up or the count of rounds differs.
    pub different: u64,
    /// The first such event.
    pub first: Option<String>,
}

struct Connection {
    chain: Chain<AnyPhase>,
    rounds: RoundCounter,
    mss: u32,
}

/// Replays the records of one offer.
pub struct Replay {
    phases: Vec<AnyPhase>,
    connections: BTreeMap<u64, Connection>,
    compared: Compared,
}

impl Replay {
    /// For connections of these phases.
    pub fn new(phases: Vec<AnyPhase>) -> Self {
        Self { phases, connections: BTreeMap::new(), compared: Compared::default() }
    }

    /// The counts so far.
    pub fn compared(&self) -> &Compared {
        &self.compared
    }

    /// Answers one more record of the kernel, and compares.
    pub fn take(&mut self, record: &Record) {
        let counts = &mut self.compared;
        if let Event::Start(entry) = &record.event {
            let Ok(mut chain) = Chain::new(self.phases.clone()) else { return };
            chain.start(entry, record.before.0, record.before.1);
            let connection = Connection { chain, rounds: RoundCounter::default(), mss: entry.mss };
            self.connections.insert(record.connection, connection);
            counts.connections += 1;
        }
        // A trace that began later lacks the start of a connection.
        let Some(connection) = self.connections.get_mut(&record.connection) else { return };
        let chain = &mut connection.chain;
        if !matches!(record.event, Event::Start(_)) {
            (chain.control.cwnd, chain.control.ssthresh) = record.before;
        }
        let ended = chain.startup_exit().is_some();
        let mut rounds = true;
        match &record.event {
            Event::Start(_) => {}
            Event::Ack(ack, acked, next) => {
                counts.acks += 1;
                counts.recovering += u64::from(ack.is(Ack::RECOVERY));
                rounds = connection.rounds.on_ack(*acked, *next) == ack.is(Ack::ROUND_START)
                    && connection.rounds.count() == ack.round;
                if ack.mss != connection.mss {
                    connection.mss = ack.mss;
                    chain.set_mss(ack.mss);
                }
                chain.on_ack(ack);
            }
            Event::Congestion(event) => {
                match event.trigger {
                    firstflight_contract::Trigger::Loss => counts.losses += 1,
                    firstflight_contract::Trigger::Mark => counts.marks += 1,
                    firstflight_contract::Trigger::Timeout => counts.timeouts += 1,
                }
                if event.mss != connection.mss {
                    connection.mss = event.mss;
                    chain.set_mss(event.mss);
                }
                chain.on_congestion(event);
            }
            Event::LoseWindow(now) => {
                counts.timeouts += 1;
                chain.lose_window(*now);
            }
            Event::Spurious => {
                counts.undone += 1;
                chain.on_spurious();
            }
            Event::Idle(entry) => {
                counts.idle += 1;
                chain.on_idle(*entry);
            }
            Event::End => {
                self.connections.remove(&record.connection);
                return;
            }
            Event::Panic => {
                counts.panics += 1;
                return;
            }
        }
        counts.events += 1;
        counts.exits += u64::from(chain.startup_exit().is_some() && !ended);
        if chain.control != record.after || chain.startup_exit() != record.exit || !rounds {
            counts.different += 1;
            counts.first.get_or_insert_with(|| {
                format!(
                    "{record:?}, but the simulator's chain: {:?}, {:?}",
                    chain.control,
                    chain.startup_exit()
                )
            });
        }
    }
}
