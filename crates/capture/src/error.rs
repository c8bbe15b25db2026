//! Why a capture could not be used.

use std::path::PathBuf;

/// Why a file gave no connection to look at. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The first bytes are neither pcap nor pcapng.
    #[error("{}: not a capture: expected a pcap or pcapng file (tcpdump -w, dumpcap or Wireshark write them)", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
    },
    /// A capture that holds no packet.
    #[error("{}: the capture holds no packet{}", path.display(), if *truncated { ": it breaks off before the first one ends" } else { "" })]
    Empty {
        /// The file.
        path: PathBuf,
        /// Whether it breaks off inside its first packet or its header.
        truncated: bool,
    },
    /// Every packet lies on a link type that is not read.
    #[error("{}: link type {link_type} is not supported: expected Ethernet (1), null or loopback (0, 108), raw IP (12, 14, 101, 228, 229) or Linux cooked (113, 276)", path.display())]
    LinkType {
        /// The file.
        path: PathBuf,
        /// The link type's number in the registry of the tcpdump group.
        link_type: u32,
    },
    /// No packet is TCP.
    #[error("{}: none of the {packets} packets is TCP", path.display())]
    NoTcp {
        /// The file.
        path: PathBuf,
        /// How many packets it holds.
        packets: u64,
    },
    /// No TCP packet carries a time stamp: only simple packet blocks, which have none.
    #[error("{}: its packets carry no time stamps (simple packet blocks): without times there is nothing to infer", path.display())]
    NoTimes {
        /// The file.
        path: PathBuf,
    },
    /// There is TCP, but no connection that carried data.
    #[error("{}: no TCP connection in it carried data", path.display())]
    NoData {
        /// The file.
        path: PathBuf,
    },
}
