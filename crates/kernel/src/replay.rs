//! The kernel's events, answered once more by the chain that the simulator runs.

use std::collections::BTreeMap;

use firstflight_contract::{Ack, Congestion, Trigger};
use firstflight_host::chain::Chain;
use firstflight_host::replay::Event as Told;
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
        let told = match &record.event {
            Event::Told(told) => told,
            Event::End => {
                self.connections.remove(&record.connection);
                return;
            }
            Event::Panic => {
                counts.panics += 1;
                return;
            }
        };
        if let Told::Start { entry, .. } = told {
            let Ok(chain) = Chain::new(self.phases.clone()) else { return };
            let connection = Connection { chain, rounds: RoundCounter::default(), mss: entry.mss };
            self.connections.insert(record.connection, connection);
            counts.connections += 1;
        }
        // A trace that began later lacks the start of a connection.
        let Some(Connection { chain, rounds, mss }) = self.connections.get_mut(&record.connection) else {
            return;
        };
        (chain.control.cwnd, chain.control.ssthresh) = record.before;
        let ended = chain.startup_exit().is_some();
        let mut same_round = true;
        match told {
            Told::Ack(ack) => {
                counts.acks += 1;
                counts.recovering += u64::from(ack.is(Ack::RECOVERY));
                let (acked, next) = record.positions;
                same_round =
                    rounds.on_ack(acked, next) == ack.is(Ack::ROUND_START) && rounds.count() == ack.round;
            }
            Told::Congestion(event) => match event.trigger {
                Trigger::Loss => counts.losses += 1,
                Trigger::Mark => counts.marks += 1,
                Trigger::Timeout => counts.timeouts += 1,
            },
            Told::LoseWindow(_) => counts.timeouts += 1,
            Told::Spurious => counts.undone += 1,
            Told::Idle(_) => counts.idle += 1,
            Told::Start { .. } | Told::Mss(_) | Told::Sent(_) | Told::Lost(_) => {}
        }
        if let Told::Ack(Ack { mss: now, .. }) | Told::Congestion(Congestion { mss: now, .. }) = told
            && now != mss
        {
            *mss = *now;
            chain.take(&Told::Mss(*now));
        }
        let answer = chain.take(told);
        counts.events += 1;
        counts.exits += u64::from(answer.exit.is_some() && !ended);
        if answer != record.answer || !same_round {
            counts.different += 1;
            counts.first.get_or_insert_with(|| format!("{record:?}, but the simulator's chain: {answer:?}"));
        }
    }
}
