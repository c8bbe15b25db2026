//! Source of a connection's packets, and the size of those of QUIC that count as full.

use serde::Serialize;

/// Source of a connection's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Packets of TCP in a capture: data and acknowledgements.
    #[default]
    Segments,
    /// The qlog of one end of a QUIC connection: packets, their sizes, acknowledgements and losses.
    Qlog,
    /// Packets of a QUIC connection in a capture that a key log opens.
    Opened,
    /// Datagrams of an encrypted QUIC connection in a capture: their sizes and times. Acknowledgements and losses are modelled.
    Datagrams,
}

impl Source {
    /// Transport protocol of the connection.
    pub const fn transport(self) -> &'static str {
        match self {
            Self::Segments => "tcp",
            Self::Qlog | Self::Opened | Self::Datagrams => "quic",
        }
    }

    /// Word used in results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Segments => "segments",
            Self::Qlog => "qlog",
            Self::Opened => "opened",
            Self::Datagrams => "datagrams",
        }
    }
}

/// Size of a full packet of QUIC: the largest one that three packets in a hundred reach, and three at least if there are as many. Larger ones are
/// probes of the path's MTU. `None` of no packet.
pub fn full_size(sizes: impl Iterator<Item = u32>) -> Option<u32> {
    let mut sizes: Vec<u32> = sizes.collect();
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let place = (sizes.len() / 33).max(2).min(sizes.len().checked_sub(1)?);
    Some(sizes[place])
}

/// Encrypted datagrams that are shorter than this carry acknowledgements and control frames only, bytes.
pub const LEAST_DATA: u32 = 80;

/// Whether a packet of this size is a full one beside others of the size `full`. Stacks begin with datagrams of 1200 bytes and probe for larger
/// ones, up to 1472.
pub(crate) fn is_full(size: u32, full: u32) -> bool {
    u64::from(size) * 5 >= u64::from(full) * 4
}
