//! Captures of real TCP connections: what they did, and what path they tell of.
//!
//! [`read`] takes a pcap or pcapng file apart into [`Connection`]s, packet by packet; [`infer`] tells from them the
//! path's rate, round trip, buffer and loss, each with its uncertainty or with the reason why the capture cannot
//! tell. The page `docs/captures.md` explains every estimator and shows what it finds on paths known exactly.

mod connection;
mod container;
mod error;
mod estimate;
mod flows;
mod infer;
mod observed;
mod packet;
pub mod seconds;
mod series;
mod startup;
mod trace;
mod view;
mod walk;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Serialize;

use crate::container::{Ending, Failure, Next, for_each_frame};
use crate::flows::Flows;
use crate::packet::{Content, decode};

pub use crate::error::Error;
pub use crate::estimate::{AckPolicy, Estimate, Inferred, PathEstimate, Unknown};
pub use crate::infer::infer;
pub use crate::observed::{Connection, ExitReason, Observed, Series, Startup, StartupExit, Vantage};

/// A capture, read.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The connections that carried data, by the time of their first packet.
    pub connections: Vec<Connection>,
    /// What was left out or is doubtful, a sentence each.
    pub warnings: Vec<String>,
    /// What the file holds.
    pub counts: Counts,
}

/// What a capture holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets of any kind.
    pub packets: u64,
    /// TCP packets.
    pub tcp: u64,
    /// Packets of link types that are not read.
    pub unknown_link: u64,
    /// Packets captured twice, counted once in everything else.
    pub duplicates: u64,
    /// Packets without a time stamp, which tell nothing here.
    pub timeless: u64,
}

/// TCP packets read of a capture: what follows is left out with a warning, so that no file, however large or
/// hostile, takes more than a few hundred megabytes. Start-up, which the captures are read for, lies at the front.
const MAX_TCP_PACKETS: u64 = 1 << 21;

/// Reads the capture at `path`.
///
/// # Errors
/// [`Error`], which names the file, where there is nothing to look at. A file that breaks off is used up to there
/// and says so in [`Capture::warnings`].
pub fn read(path: impl AsRef<Path>) -> Result<Capture, Error> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
    read_from(file, path)
}

/// Reads a capture from anything that gives its bytes; `name` stands for it in errors.
///
/// # Errors
/// As [`read`].
pub fn read_from(input: impl Read, name: impl AsRef<Path>) -> Result<Capture, Error> {
    let name = name.as_ref();
    let path = || name.to_path_buf();
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
    let ending = ending.map_err(|failure| match failure {
        Failure::Io(source) => Error::Unreadable { path: path(), source },
        Failure::NotACapture => Error::NotACapture { path: path() },
    })?;
    if counts.packets == 0 {
        return Err(Error::Empty { path: path(), truncated: ending == Ending::BrokenOff });
    }
    if counts.tcp == 0 {
        return Err(match unknown_link_type {
            Some(link_type) if counts.unknown_link == counts.packets => {
                Error::LinkType { path: path(), link_type }
            }
            _ => Error::NoTcp { path: path(), packets: counts.packets },
        });
    }
    if counts.timeless == counts.tcp {
        return Err(Error::NoTimes { path: path() });
    }
    let mut warnings = warnings(name, ending, &counts);
    let connections = flows.into_connections(&mut warnings);
    if connections.is_empty() {
        return Err(Error::NoData { path: path() });
    }
    Ok(Capture { connections, warnings, counts })
}

fn warnings(name: &Path, ending: Ending, counts: &Counts) -> Vec<String> {
    let name = name.display();
    let mut warnings = Vec::new();
    match ending {
        Ending::Whole => {}
        Ending::BrokenOff => warnings
            .push(format!("{name}: the file breaks off after {} packets; they are used", counts.packets)),
        Ending::Stopped => {
            warnings.push(format!("{name}: only the first {MAX_TCP_PACKETS} TCP packets are used"));
        }
    }
    for (count, what) in [
        (counts.unknown_link, "lie on link types that are not supported"),
        (counts.timeless, "carry no time stamp (simple packet blocks)"),
        (counts.duplicates, "were captured twice"),
    ] {
        if count > 0 {
            warnings.push(format!("{name}: {count} packets {what} and are left out"));
        }
    }
    warnings
}
