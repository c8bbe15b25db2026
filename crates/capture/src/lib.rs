//! Captures of real TCP connections: their behaviour, and the path inferred from it.
//!
//! [`read`] parses a pcap or pcapng file into [`Connection`]s, packet by packet. [`infer`] estimates the
//! rate, round trip, buffer and loss of their path, each with its uncertainty or with the reason why it is
//! unknown. `docs/captures.md` explains every estimator and compares its results with known paths.

mod clock;
mod connection;
mod container;
mod error;
mod estimate;
mod flows;
mod infer;
mod limits;
mod observed;
mod packet;
mod packet_trace;
pub mod seconds;
mod series;
mod stamps;
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

/// Maximum number of TCP packets kept from a capture; the packets behind them are left out with a warning. The
/// limit bounds the memory for any file, however large or hostile. Start-up lies at the front of a capture.
const MAX_PACKETS: usize = 1 << 21;

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
        if flows.kept() < MAX_PACKETS { Next::Continue } else { Next::Stop }
    });
    let ending = ending.map_err(|failure| {
        let problem = match failure {
            Failure::Io(error) => Problem::Unreadable(error),
            Failure::NotACapture => Problem::NotACapture,
        };
        problem.of(name)
    })?;
    if counts.packets == 0 {
        return Err(Problem::Empty { truncated: ending != Ending::Whole }.of(name));
    }
    let mut warnings: Vec<String> = not_read(name, ending, &counts).into_iter().collect();
    let other_links = counts.unknown_link == counts.packets;
    if let Some(link_type) = unknown_link_type.filter(|_| other_links) {
        return Err(Problem::LinkType(link_type).of(name).after(warnings));
    }
    if counts.timeless == counts.tcp && counts.tcp > 0 {
        return Err(Problem::NoTimes.of(name).after(warnings));
    }
    warnings.extend(left_out(name, &counts));
    if counts.tcp == 0 {
        return Err(Problem::NoTcp(counts.packets).of(name).after(warnings));
    }
    match flows.into_connections(&mut warnings) {
        Ok(connections) => Ok(Capture { connections, warnings, counts }),
        Err(problem) => Err(problem.of(name).after(warnings)),
    }
}

/// Warning that the end of the file was not read.
fn not_read(name: &Path, ending: Ending, counts: &Counts) -> Option<String> {
    let name = name.display();
    let Counts { packets, tcp, .. } = counts;
    match ending {
        Ending::Whole => None,
        Ending::BrokenOff => {
            Some(format!("{name}: the file is truncated after {packets} packets; these are used"))
        }
        Ending::Damaged => {
            Some(format!("{name}: the file is damaged after {packets} packets; these are used"))
        }
        Ending::Stopped => Some(format!(
            "{name}: only the first {tcp} TCP packets are used, since at most {MAX_PACKETS} are kept"
        )),
    }
}

/// Warnings about packets that are left out.
fn left_out(name: &Path, counts: &Counts) -> impl Iterator<Item = String> {
    let kinds = [
        (counts.unknown_link, "have unsupported link types"),
        (counts.timeless, "have no time stamp (simple packet blocks)"),
        (counts.duplicates, "were captured twice"),
    ];
    let some = kinds.into_iter().filter(|(count, _)| *count > 0);
    some.map(move |(count, what)| format!("{}: {count} packets {what} and are left out", name.display()))
}
