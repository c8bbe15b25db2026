//! Errors of the capture reader: place, problem, expected.

use std::path::PathBuf;

use crate::decode::SUPPORTED;

/// Reason why a file has no usable connection. `Display` prints one line: the file, the problem, what was expected,
/// and the warnings.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: {problem}{}{}",
    place.display(),
    expected.map(|expected| format!("; expected {expected}")).unwrap_or_default(),
    if warnings.is_empty() { String::new() } else { format!(" ({})", warnings.join("; ")) }
)]
pub struct Error {
    /// The file, as the caller named it.
    pub place: PathBuf,
    /// The problem.
    #[source]
    pub problem: Problem,
    /// Valid input; `None` if the problem makes it clear.
    pub expected: Option<&'static str>,
    /// Data left out or doubtful until then, one sentence each, as in [`Capture::warnings`](crate::Capture::warnings).
    pub warnings: Vec<String>,
}

impl Error {
    /// The error with the warnings that came before it.
    pub(crate) fn after(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }
}

/// Problem of a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file could not be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] std::io::Error),
    /// The first bytes are neither pcap nor pcapng.
    #[error("not a capture")]
    NotACapture,
    /// The capture contains no packet.
    #[error("the capture contains no packet{}", if *truncated { ": it is truncated inside the first one" } else { "" })]
    Empty {
        /// Whether the file ends inside its first packet or its header.
        truncated: bool,
    },
    /// No packet has a supported link type; the number is that of the registry of the tcpdump group.
    #[error("link type {0} is not supported")]
    LinkType(u32),
    /// The file has a compression that is not read.
    #[error("the file is compressed with {0}, which is not read")]
    Packed(&'static str),
    /// No packet is TCP.
    #[error("no TCP packet among {packets} packets{}", if *udp > 0 { format!(", of which {udp} are UDP") } else { String::new() })]
    NoTcp {
        /// All packets.
        packets: u64,
        /// Packets of UDP.
        udp: u64,
    },
    /// No packet is TCP as far as it was captured: how many are cut off, after how many bytes, and the snap length that they need.
    #[error("{packets} packets cut off at {at}, within their headers; capture with -s {snap_length}")]
    CutOff {
        /// Packets that are cut off.
        packets: u64,
        /// Bytes that were captured of each.
        at: String,
        /// Snap length, bytes.
        snap_length: u32,
    },
    /// The file is neither a capture nor a qlog: the reason.
    #[error("not a capture and not a qlog: {0}")]
    NotQlog(String),
    /// No connection of QUIC shows data and acknowledgements, and there is none of TCP.
    #[error("no connection of QUIC shows data and acknowledgements")]
    NoQuic,
    /// No TCP packet has a time stamp: the file has only simple packet blocks.
    #[error("the packets have no time stamps (simple packet blocks), so nothing can be inferred")]
    NoTimes,
    /// No TCP connection carried data.
    #[error("no TCP connection carried data")]
    NoData,
    /// TCP connections carried data, but the numbers of all their data packets are implausible.
    #[error("no TCP connection has a data packet with a plausible sequence number")]
    NoneUsable,
}

impl Problem {
    /// The error of the file `place` with this problem.
    pub(crate) fn of(self, place: impl Into<PathBuf>) -> Error {
        let expected = match self {
            Self::NotACapture => {
                Some("a pcap or pcapng file, as written by tcpdump -w, dumpcap or Wireshark")
            }
            Self::Packed(_) => Some("a pcap or pcapng file, plain or compressed with gzip or zstd"),
            Self::NotQlog(_) => {
                Some("a qlog of one end, as JSON or as a JSON text sequence, or a pcap or pcapng file")
            }
            Self::LinkType(_) => Some(SUPPORTED),
            _ => None,
        };
        Error { place: place.into(), problem: self, expected, warnings: Vec::new() }
    }
}
