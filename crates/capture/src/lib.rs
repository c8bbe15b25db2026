//! Captures of real TCP and QUIC connections: their behaviour, and the path inferred from it.
//!
//! [`read`] parses a pcap or pcapng file, or the qlog of an end, into [`Connection`]s, packet by packet; [`Reader`] reads several files as one. A
//! capture of any length takes a fixed memory: what is kept for the analysis is bounded, and every connection counts for
//! the [`Group`] of its client's network; [`bottlenecks`] divides the connections of a network. [`infer`] estimates the
//! rate, round trip, buffer and loss of their path, each with its uncertainty or with the reason why it is
//! unknown. `docs/captures.md` explains every estimator and compares its results with known paths.

mod aggregates;
mod bucket;
mod carried;
mod clock;
mod compression;
mod connection;
mod container;
mod copies;
mod copy_place;
mod decode;
mod doubts;
mod ecn;
mod error;
mod estimate;
mod facts;
mod flows;
mod groups;
mod infer;
mod limits;
mod numbers;
mod observed;
mod offered;
mod opening;
mod packet;
mod packet_trace;
mod passes;
mod quic;
mod reader;
mod registers;
mod reordering;
pub mod seconds;
mod segment;
mod sending;
mod sequence;
mod series;
mod side;
pub mod simulated;
mod source;
mod stamps;
mod startup;
mod successor;
pub mod summary;
mod syn;
mod table;
mod tap;
mod threshold;
mod transfers;
mod vantage;
mod view;
mod watch;
mod window;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use crate::aggregates::Aggregates;
pub use crate::bucket::Bucket;
pub use crate::carried::Transfer;
pub use crate::compression::unpacked_head;
pub use crate::copy_place::Copies;
pub use crate::decode::PassedOver;
pub use crate::ecn::CongestionMarks;
pub use crate::error::{Error, Problem};
pub use crate::estimate::{AckPolicy, Estimate, Inferred, Opening, PathEstimate, Unknown};
pub use crate::groups::{Group, Network};
pub use crate::infer::{bottlenecks, infer, infer_together, weighted_quantile};
pub use crate::observed::{Connection, FirstRoundTrip, Observed};
pub use crate::offered::Offered;
#[cfg(feature = "keys")]
pub use crate::quic::KeyLog;
pub use crate::quic::qlog::is_qlog;
pub use crate::reader::{Capture, Counts, Next, Reader, first_packet_time};
pub use crate::registers::Registers;
pub use crate::reordering::Reordering;
pub use crate::sending::{Sending, Sent};
pub use crate::sequence::TimeSequence;
pub use crate::series::Series;
pub use crate::source::Source;
pub use crate::startup::{ExitReason, ObservedExit, Startup};
pub use crate::threshold::SlowStartEnd;
pub use crate::transfers::{SizeClass, Sizes};
pub use crate::vantage::Vantage;
pub use crate::watch::{Request, Room, Watch, Watched, for_each};
pub use crate::window::Windows;

/// Reads the capture at `path`, also if it is compressed with gzip or zstd.
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
    let mut reader = Reader::default();
    reader.add(input, name, &mut || Next::Continue)?;
    reader.finish(name)
}
