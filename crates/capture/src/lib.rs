//! Captures of real TCP connections: their behaviour, and the path inferred from it.
//!
//! [`read`] parses a pcap or pcapng file into [`Connection`]s, packet by packet. [`infer`] estimates the
//! rate, round trip, buffer and loss of their path, each with its uncertainty or with the reason why it is
//! unknown. `docs/captures.md` explains every estimator and compares its results with known paths.

mod connection;
mod container;
mod error;
mod estimate;
mod flows;
mod infer;
mod observed;
mod packet;
mod packet_trace;
pub mod seconds;
mod series;
mod startup;
mod view;
mod walk;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Serialize;

use crate::container::{Ending, Failure, Next, for_each_frame};
use crate::flows::Flows;
use crate::packet::{Content, decode};

pub use crate::error::{Error, Problem};
pub use crate::estimate::{AckPolicy, Estimate, Inferred, PathEstimate, Unknown};
pub use crate::infer::infer;
pub use crate::observed::{Connection, ExitReason, Observed, ObservedExit, Series, Startup, Vantage};

/// A capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Connections that carried data, by the time of their first packet.
    pub connections: Vec<Connection>,
    /// Data left out or doubtful, one sentence each.
    pub warnings: Vec<String>,
    /// Packet counts.
    pub counts: Counts,
}

/// Packet counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All packets.
    pub packets: u64,
    /// TCP packets.
    pub tcp: u64,
    /// Packets of unsupported link types.
    pub unknown_link: u64,
    /// Packets captured twice; all other counts include them once.
    pub duplicates: u64,
    /// Packets without a time stamp, which are not used.
    pub timeless: u64,
}

/// Maximum number of TCP packets read from a capture; later packets are left out with a warning. The limit
/// bounds the memory for any file, however large or hostile, to a few hundred megabytes. Start-up lies at the
/// front of a capture.
const MAX_TCP_PACKETS: u64 = 1 << 21;

/// Reads the capture at `path`.
///
/// # Errors
/// [`Error`], which names the file, if it has no usable connection. A truncated file is used up to its end,
/// with a warning in [`Capture::warnings`].
pub fn read(path: impl AsRef<Path>) -> Result<Capture, Error> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| Problem::Unreadable(error).of(path))?;
    read_from(file, path)
}

/// Reads a capture from a stream of bytes; `name` is its name in errors.
///
/// # Errors
/// As [`read`].
pub fn read_from(input: impl Read, name: impl AsRef<Path>) -> Result<Capture, Error> {
    let name = name.as_ref();
    let mut counts = Counts::default();
    let mut flows = Flows::default();
    let mut unknown_link_type = None;
    let ending = for_each_frame(input, |frame| {
        counts.packets += 1;
        match decode(frame.link_type, frame.data, frame.wire_len) {
            Content::Tcp(packet) => {
                counts.tcp += 1;
                match frame.at {
                    Some(at) => counts.duplicates += u64::from(flows.add(at, &packet).is_err()),
                    None => counts.timeless += 1,
                }
            }
            Content::Other => {}
            Content::UnknownLink => {
                counts.unknown_link += 1;
                unknown_link_type = Some(frame.link_type);
            }
        }
        if counts.tcp < MAX_TCP_PACKETS { Next::Continue } else { Next::Stop }
    });
    let ending = ending.map_err(|failure| {
        let problem = match failure {
            Failure::Io(error) => Problem::Unreadable(error),
            Failure::NotACapture => Problem::NotACapture,
        };
        problem.of(name)
    })?;
    if counts.packets == 0 {
        return Err(Problem::Empty { truncated: ending == Ending::BrokenOff }.of(name));
    }
    if counts.tcp == 0 {
        let problem = match unknown_link_type {
            Some(link_type) if counts.unknown_link == counts.packets => Problem::LinkType(link_type),
            _ => Problem::NoTcp(counts.packets),
        };
        return Err(problem.of(name));
    }
    if counts.timeless == counts.tcp {
        return Err(Problem::NoTimes.of(name));
    }
    let mut warnings = warnings(name, ending, &counts);
    let connections = flows.into_connections(&mut warnings);
    if connections.is_empty() {
        return Err(Problem::NoData.of(name));
    }
    Ok(Capture { connections, warnings, counts })
}

fn warnings(name: &Path, ending: Ending, counts: &Counts) -> Vec<String> {
    let name = name.display();
    let mut warnings = Vec::new();
    match ending {
        Ending::Whole => {}
        Ending::BrokenOff => warnings
            .push(format!("{name}: the file is truncated after {} packets; these are used", counts.packets)),
        Ending::Stopped => {
            warnings.push(format!("{name}: only the first {MAX_TCP_PACKETS} TCP packets are used"));
        }
    }
    for (count, what) in [
        (counts.unknown_link, "have unsupported link types"),
        (counts.timeless, "have no time stamp (simple packet blocks)"),
        (counts.duplicates, "were captured twice"),
    ] {
        if count > 0 {
            warnings.push(format!("{name}: {count} packets {what} and are left out"));
        }
    }
    warnings
}
