//! The two ends of a connection.

use std::net::SocketAddr;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// End whose packet came first in the capture.
    First,
    Second,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Two endpoints, lower address first.
pub(crate) fn key(one: SocketAddr, other: SocketAddr) -> (SocketAddr, SocketAddr) {
    (one.min(other), one.max(other))
}
