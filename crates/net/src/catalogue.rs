//! Catalogue of the queueing disciplines that a link can have, each with its source and a one-line summary.

use crate::settings::Key;

/// Kind of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It queues, drops or marks packets.
    Queue,
    /// It also sends a rate or window signal to the senders.
    Router,
}

impl Role {
    /// Word used in results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Router => "router",
        }
    }
}

/// Description of one discipline.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// Stable label, also the `kind` in a scenario.
    pub label: &'static str,
    /// Kind of the discipline.
    pub role: Role,
    /// Paper and section, or RFC.
    pub source: &'static str,
    /// One sentence for listings.
    pub summary: &'static str,
    /// Keys in a scenario.
    pub keys: &'static [Key],
}

impl Discipline {
    pub(crate) const fn queue(
        label: &'static str,
        source: &'static str,
        summary: &'static str,
        keys: &'static [Key],
    ) -> Self {
        Self { label, role: Role::Queue, source, summary, keys }
    }

    pub(crate) const fn router(
        label: &'static str,
        source: &'static str,
        summary: &'static str,
        keys: &'static [Key],
    ) -> Self {
        Self { label, role: Role::Router, source, summary, keys }
    }
}
