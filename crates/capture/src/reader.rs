//! Reader of captures: from the bytes of one file or several to connections.

use std::io::Read;
use std::path::{Path, PathBuf};

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::compression::{Foreign, Packed, Unpacked};
use crate::container::{Ending, Failure, for_each_frame};
use crate::error::{Error, Problem};
use crate::groups::Group;
use crate::observed::Connection;
use crate::packet::{Content, decode};
use crate::table::{Connections, Table};
use crate::udp::Udp;

pub use crate::container::Next;

/// A capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Connections that carried data and whose packets were kept, by the time of their first packet. All are kept, unless a
    /// warning says otherwise.
    pub connections: Vec<Connection>,
    /// All connections that carried data, by the network of their client; those with most data first.
    pub groups: Vec<Group>,
    /// Data left out or doubtful, one sentence each.
    pub warnings: Vec<String>,
    /// Packet counts.
    pub counts: Counts,
}

impl Capture {
    /// The connections of `group` that were kept, by the time of their first packet.
    pub fn connections_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Connection> {
        group.kept.iter().map(|&index| &self.connections[index])
    }
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

/// A capture while it is read: of one file, or of several that follow each other, such as the ring of `tcpdump -C`.
#[derive(Default)]
pub struct Reader {
    table: Table,
    udp: Udp,
    counts: Counts,
    unknown_link_type: Option<u32>,
    warnings: Vec<String>,
    /// Files without a packet, and whether they end inside the first one.
    empty: Vec<(PathBuf, bool)>,
}

/// Packets between two questions whether to go on.
const BETWEEN_QUESTIONS: u64 = 1 << 12;

impl Reader {
    /// Reads a file, plain or compressed with gzip or zstd; `name` is its name in errors and warnings. Files are to be
    /// added in the order of their first packets ([`first_packet_time`]). `goes_on` is asked every few thousand packets:
    /// on [`Next::Stop`] the rest of the file is left out with a warning.
    ///
    /// # Errors
    /// [`Error`] if the file cannot be read or is no capture. The reader can be used further.
    pub fn add(
        &mut self,
        input: impl Read,
        name: impl AsRef<Path>,
        goes_on: &mut dyn FnMut() -> Next,
    ) -> Result<Next, Error> {
        let name = name.as_ref();
        let mut input = open(input, name)?;
        let before = self.counts.packets;
        let ending = for_each_frame(&mut input, |frame| {
            self.counts.packets += 1;
            match decode(frame.link_type, frame.data, frame.wire_len) {
                Content::Tcp(packet) => {
                    self.counts.tcp += 1;
                    match frame.at {
                        Some(at) => self.counts.duplicates += u64::from(self.table.add(at, &packet).is_err()),
                        None => self.counts.timeless += 1,
                    }
                }
                Content::Udp(packet) => self.udp.add(&packet),
                Content::Other => {}
                Content::UnknownLink => {
                    self.counts.unknown_link += 1;
                    self.unknown_link_type = Some(frame.link_type);
                }
            }
            if self.counts.packets.is_multiple_of(BETWEEN_QUESTIONS) { goes_on() } else { Next::Continue }
        });
        let packets = self.counts.packets - before;
        let ending = match (ending, input.state()) {
            // what could not be unpacked may be the header, too
            (Err(Failure::NotACapture), state) if state != Packed::Whole => Ending::BrokenOff,
            (ending, _) => ending.map_err(|failure| failed(failure, name))?,
        };
        if packets == 0 {
            let truncated = ending != Ending::Whole || input.state() != Packed::Whole;
            self.empty.push((name.into(), truncated));
        } else {
            self.warnings.extend(not_read(name, ending, input.state(), packets));
        }
        Ok(if ending == Ending::Stopped { Next::Stop } else { Next::Continue })
    }

    /// Analyses what was read; `name` is the name of the capture in errors and warnings.
    ///
    /// # Errors
    /// [`Error`] if there is no usable connection.
    pub fn finish(self, name: impl AsRef<Path>) -> Result<Capture, Error> {
        let name = name.as_ref();
        let Self { table, udp, counts, unknown_link_type, mut warnings, empty } = self;
        if counts.packets == 0 {
            let truncated = empty.iter().any(|(_, truncated)| *truncated);
            return Err(Problem::Empty { truncated }.of(name));
        }
        warnings
            .extend(empty.iter().map(|(name, _)| format!("{}: the file contains no packet", name.display())));
        let other_links = counts.unknown_link == counts.packets;
        if let Some(link_type) = unknown_link_type.filter(|_| other_links) {
            return Err(Problem::LinkType(link_type).of(name).after(warnings));
        }
        if counts.timeless == counts.tcp && counts.tcp > 0 {
            return Err(Problem::NoTimes.of(name).after(warnings));
        }
        warnings.extend(left_out(name, &counts));
        if counts.tcp == 0 {
            let problem = match udp.quic() {
                Some(quic) => Problem::OnlyQuic(quic),
                None => Problem::NoTcp { packets: counts.packets, udp: udp.packets() },
            };
            return Err(problem.of(name).after(warnings));
        }
        warnings.extend(udp.quic());
        match table.finish(&mut warnings) {
            Ok(Connections { connections, groups }) => Ok(Capture { connections, groups, warnings, counts }),
            Err(problem) => Err(problem.of(name).after(warnings)),
        }
    }
}

/// Time of the first packet of a capture; `None` if it has no packet, or none with a time.
///
/// # Errors
/// [`Error`] if the file cannot be read or is no capture.
pub fn first_packet_time(input: impl Read, name: impl AsRef<Path>) -> Result<Option<Nanos>, Error> {
    let name = name.as_ref();
    let mut first = None;
    let ending = for_each_frame(open(input, name)?, |frame| {
        first = frame.at;
        if first.is_some() { Next::Stop } else { Next::Continue }
    });
    ending.map(|_| first).map_err(|failure| failed(failure, name))
}

pub(crate) fn open<R: Read>(input: R, name: &Path) -> Result<Unpacked<R>, Error> {
    Unpacked::new(input).map_err(|error| {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Foreign>()) {
            Some(Foreign(compression)) => Problem::Packed(compression).of(name),
            None => failed(Failure::Io(error), name),
        }
    })
}

pub(crate) fn failed(failure: Failure, name: &Path) -> Error {
    let problem = match failure {
        Failure::Io(error) => Problem::Unreadable(error),
        Failure::NotACapture => Problem::NotACapture,
    };
    problem.of(name)
}

/// Warning that the end of a file was not read.
fn not_read(name: &Path, ending: Ending, packed: Packed, packets: u64) -> Option<String> {
    let name = name.display();
    match (packed, ending) {
        (_, Ending::Stopped) => {
            Some(format!("{name}: reading was stopped after {packets} packets; these are used"))
        }
        (Packed::Truncated(compression), _) => Some(format!(
            "{name}: the {compression} data is truncated after {packets} packets; these are used"
        )),
        (Packed::Damaged(compression), _) => {
            Some(format!("{name}: the {compression} data is damaged after {packets} packets; these are used"))
        }
        (Packed::Whole, Ending::Whole) => None,
        (Packed::Whole, Ending::BrokenOff) => {
            Some(format!("{name}: the file is truncated after {packets} packets; these are used"))
        }
        (Packed::Whole, Ending::Damaged) => {
            Some(format!("{name}: the file is damaged after {packets} packets; these are used"))
        }
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
