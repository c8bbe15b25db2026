//! Declaration of a phase: the facts that a host needs before it runs the phase.

use crate::Signals;

/// Facts about a phase that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Stable label.
    pub label: &'static str,
    /// Place in a connection's life.
    pub role: Role,
    /// Signals that the phase needs from its host.
    pub needs: Signals,
    /// First phase of a connection under a phase that never ends.
    pub beginning: Beginning,
    /// Whether the phase, as the first of its chain, applies only below the slow-start threshold: a connection whose
    /// initial window is not below it begins with the next phase (RFC 5681 section 3.1).
    pub below_threshold: bool,
    /// Whether the phase, as the last of its chain, sees the ACKs that other phases answer
    /// ([`Phase::on_watched`](crate::Phase::on_watched)).
    pub watches: bool,
    /// Whether the phase, as the first of its chain, rules after an idle time: it is entered with
    /// [`Why::Idle`](crate::Why::Idle) however large the window is. Its exit leads back to the phase that the window
    /// calls for: slow start below the threshold, avoidance above.
    pub resumes: bool,
}

impl Declaration {
    /// A phase that needs nothing, watches nothing, and begins with a start-up scheme.
    pub const fn new(label: &'static str, role: Role) -> Self {
        Self {
            label,
            role,
            needs: Signals::NONE,
            beginning: Beginning::Startup,
            below_threshold: false,
            watches: false,
            resumes: false,
        }
    }
}

/// A phase that states its declaration.
pub trait Declared {
    /// The declaration; the same for every value of the phase.
    fn declaration(&self) -> &'static Declaration;
}

/// Place of a scheme in a connection's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Begins a connection, and ends.
    Startup,
    /// Follows a start-up phase, and never ends.
    Avoidance,
    /// Rules the whole connection (BBR), its window during recovery included.
    Standalone,
}

impl Role {
    /// All roles, in the order of listings.
    pub const ALL: [Self; 3] = [Self::Startup, Self::Avoidance, Self::Standalone];
    /// The role of every phase of a chain but the last.
    pub const LEADING: &[Self] = &[Self::Startup];
    /// The roles that the last phase of a chain may have.
    pub const LAST: &[Self] = &[Self::Avoidance, Self::Standalone];

    /// Word in results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Avoidance => "avoidance",
            Self::Standalone => "whole",
        }
    }
}

/// Beginning of a connection under a scheme that never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// With a start-up scheme; below `ssthresh` the connection is in slow start (RFC 5681 section 3.1).
    Startup,
    /// By the scheme's own rule, which also holds below `ssthresh`; a start-up scheme may precede it.
    Own,
    /// By the scheme's own rule, and no scheme can precede it.
    Alone,
}
