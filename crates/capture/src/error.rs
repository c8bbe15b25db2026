//! Errors of the capture reader.

use std::path::PathBuf;

/// Reason why a file has no usable connection. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The first bytes are neither pcap nor pcapng.
    #[error("{}: not a capture: expected a pcap or pcapng file, as written by tcpdump -w, dumpcap or Wireshark", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
    },
    /// The capture contains no packet.
    #[error("{}: the capture contains no packet{}", path.display(), if *truncated { ": it is truncated inside the first one" } else { "" })]
    Empty {
        /// The file.
        path: PathBuf,
        /// Whether the file ends inside its first packet or its header.
        truncated: bool,
    },
    /// No packet has a supported link type.
    #[error("{}: link type {link_type} is not supported: expected Ethernet (1), null or loopback (0, 108), raw IP (12, 14, 101, 228, 229) or Linux cooked (113, 276)", path.display())]
    LinkType {
        /// The file.
        path: PathBuf,
        /// Number of the link type in the registry of the tcpdump group.
        link_type: u32,
    },
    /// No packet is TCP.
    #[error("{}: no TCP packet among {packets} packets", path.display())]
    NoTcp {
        /// The file.
        path: PathBuf,
        /// Number of packets in the file.
        packets: u64,
    },
    /// No TCP packet has a time stamp: the file has only simple packet blocks.
    #[error("{}: the packets have no time stamps (simple packet blocks), so nothing can be inferred", path.display())]
    NoTimes {
        /// The file.
        path: PathBuf,
    },
    /// No TCP connection carried data.
    #[error("{}: no TCP connection carried data", path.display())]
    NoData {
        /// The file.
        path: PathBuf,
    },
}
