//! The trial over all prefixes of a host.

use firstflight_contract::Nanos;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::stamp::Stamp;
use crate::trial::{CLASSES, Group, Harm, Moments, Trial, Verdict, class};

/// Planned and held-out connections of all prefixes. Completion times are counted in round trips, so that connections
/// of different prefixes can be compared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Host {
    trial: Trial,
    /// By group and size class.
    arms: [[Sums; CLASSES]; 2],
    /// End of a revert.
    reverted: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sums {
    /// Of the logarithm of the completion time, nanoseconds.
    busy: Moments,
    sent: u64,
    retransmits: u64,
    timeouts: u64,
}

/// Parts of a round trip that completion times are counted in.
const PARTS: u64 = 64;

impl Host {
    /// Takes a connection; returns harm that is significant at the level `false_alarm` and reverts the host until then.
    pub(crate) fn note(
        &mut self,
        group: Group,
        connection: &Connection,
        false_alarm: f64,
        until: Stamp,
    ) -> Option<Harm> {
        let sums = &mut self.arms[group as usize][class(connection)];
        sums.busy.note(libm::log(connection.busy.0.max(1) as f64));
        let sum = [&mut sums.sent, &mut sums.retransmits, &mut sums.timeouts];
        for (sum, more) in sum.into_iter().zip([connection.sent, connection.retransmits, connection.timeouts])
        {
            *sum = sum.saturating_add(more.into());
        }
        if connection.min_rtt == Nanos::ZERO || self.reverted.is_some() {
            return None;
        }
        let unit = Nanos((connection.min_rtt.0 / PARTS).max(1));
        let harm = self.trial.note(group, connection, unit, false_alarm)?;
        self.reverted = Some(until);
        self.trial = Trial::default();
        Some(harm)
    }

    /// End of the revert that is in force.
    pub(crate) fn reverted(&self) -> Option<Stamp> {
        self.reverted
    }

    /// Whether a revert ends now.
    pub(crate) fn resumes(&mut self, now: Stamp) -> bool {
        self.reverted.take_if(|until| *until <= now).is_some()
    }

    pub(crate) fn verdict(&self) -> HostVerdict {
        let row = |group: Group, class: usize| {
            let Sums { busy, sent, retransmits, timeouts } = self.arms[group as usize][class];
            Arms { connections: busy.count(), ln_busy: busy.mean(), sent, retransmits, timeouts }
        };
        HostVerdict {
            trial: self.trial.verdict(),
            reverted: self.reverted.map(Stamp::time),
            classes: core::array::from_fn(|class| [row(Group::Planned, class), row(Group::Holdout, class)]),
        }
    }

    /// Whether its values are in their ranges, after a restore.
    pub(crate) fn is_sound(&self) -> bool {
        self.trial.is_sound() && self.arms.iter().flatten().all(|sums| sums.busy.is_sound())
    }

    /// Moves every time; see [`Stamp::moved`].
    pub(crate) fn moved(&mut self, from: Stamp, to: Stamp) {
        self.reverted = self.reverted.map(|until| until.moved(from, to));
    }
}

/// Results of the trial over all prefixes.
#[derive(Clone, Debug, PartialEq)]
pub struct HostVerdict {
    /// Completion times in round trips.
    pub trial: Verdict,
    /// End of the revert that is in force.
    pub reverted: Option<Nanos>,
    /// Sums by size class: planned, held out.
    pub classes: [[Arms; 2]; CLASSES],
}

/// Sums over the connections of one group and size class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arms {
    /// Connections.
    pub connections: u32,
    /// Mean logarithm of the completion time in nanoseconds; zero without a connection.
    pub ln_busy: f64,
    /// Data segments sent, with retransmissions.
    pub sent: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}
