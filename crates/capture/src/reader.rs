//! Reader of captures: from the bytes of one file or several to connections.

use std::io::Read;
use std::path::{Path, PathBuf};

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::compression::{Foreign, Packed, Unpacked};
use crate::container::{Ending, Failure, Frame, for_each_frame};
use crate::copy_place::Copies;
use crate::decode::{Content, Decoder, Passed, PassedOver, Tally};
use crate::error::{Error, Problem};
use crate::flows::Duplicate;
use crate::groups::{Group, Network};
use crate::observed::Connection;
#[cfg(feature = "keys")]
use crate::quic::KeyLog;
use crate::quic::qlog::is_json;
use crate::quic::{Datagrams, Recorded, qlog};
use crate::table::{Connections, Table};
use crate::tap::Tap;

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
    /// Packets that may have carried TCP and could not be read, by file and reason.
    pub passed_over: Vec<PassedOver>,
    /// Packet counts.
    pub counts: Counts,
}

impl Capture {
    /// The connections of `group` that were kept, by the time of their first packet.
    pub fn connections_of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Connection> {
        group.kept.iter().map(|&index| &self.connections[index])
    }

    /// The capture of the connection with this index alone; `None` if there is none. Warnings about other connections are left out.
    pub fn only(mut self, index: usize) -> Option<Self> {
        let names: Vec<String> = self.connections.iter().map(Connection::name).collect();
        let about = |warning: &String, name: &String| warning.starts_with(&format!("{name}: "));
        self.warnings.retain(|warning| {
            let of = names.iter().position(|name| about(warning, name));
            of.is_none_or(|of| names[of] == *names.get(index).unwrap_or(&names[of]))
        });
        let only = self.connections.into_iter().nth(index)?;
        let groups = vec![group_of(&only)];
        Some(Self { connections: vec![only], groups, ..self })
    }
}

/// The group of a single connection.
fn group_of(connection: &Connection) -> Group {
    let mut group = Group::new(Some(Network::of(connection.client)));
    let uploads = connection.sender.ip() == connection.client;
    let (bytes, sizes) = if uploads {
        (&mut group.from_clients, &mut group.requests)
    } else {
        (&mut group.to_clients, &mut group.answers)
    };
    *bytes = connection.observed.bytes;
    connection.transfers().iter().for_each(|transfer| sizes.add(transfer.bytes));
    Group { connections: 1, kept: vec![0], ..group }
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
    /// Packets captured more than once, each as often as it was left out; all other counts include them once.
    pub duplicates: u64,
    /// The same, by the place of the copy.
    pub copies: Copies,
    /// Packets without a time stamp, which are not used.
    pub timeless: u64,
}

/// A capture while it is read, or qlogs: of one file, or of several that follow each other, such as the ring of `tcpdump -C`.
#[derive(Default)]
pub struct Reader {
    table: Table,
    datagrams: Datagrams,
    /// Whether a file is a qlog, and the number of connections that were read from qlogs.
    logs: bool,
    recorded: u64,
    decoder: Decoder,
    counts: Counts,
    warnings: Vec<String>,
    files: Vec<ReadFile>,
}

/// Packets between two questions whether to go on.
const BETWEEN_QUESTIONS: u64 = 1 << 12;

impl Reader {
    /// A reader that opens the packets of QUIC whose secrets are in a key log.
    #[cfg(feature = "keys")]
    pub fn with_keys(keys: KeyLog) -> Self {
        let mut reader = Self::default();
        reader.datagrams.open_by(keys);
        reader.decoder.keep_payload();
        reader
    }

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
        self.decoder.begin_file(self.files.len());
        let mut file = ReadFile::new(name);
        let head = head(&mut input).map_err(|error| failed(Failure::Io(error), name))?;
        if is_json(head.get_ref()) {
            return self.add_log(head.chain(&mut input), file, goes_on);
        }
        let ending = for_each_frame(head.chain(&mut input), |frame| {
            file.packets += 1;
            self.frame(&frame, &mut file);
            if self.counts.packets.is_multiple_of(BETWEEN_QUESTIONS) { goes_on() } else { Next::Continue }
        });
        let packets = file.packets;
        let ending = match (ending, input.state()) {
            // what could not be unpacked may be the header, too
            (Err(Failure::NotACapture), state) if state != Packed::Whole => Ending::BrokenOff,
            (ending, _) => ending.map_err(|failure| failed(failure, name))?,
        };
        file.truncated = ending != Ending::Whole || input.state() != Packed::Whole;
        self.files.push(file);
        if packets > 0 {
            self.warnings.extend(not_read(name, ending, input.state(), packets));
        }
        Ok(if ending == Ending::Stopped { Next::Stop } else { Next::Continue })
    }

    /// Adds the connections of a qlog.
    fn add_log(
        &mut self,
        input: impl Read,
        mut file: ReadFile,
        goes_on: &mut dyn FnMut() -> Next,
    ) -> Result<Next, Error> {
        let mut stopped = false;
        let (mut count, mut asked) = (0_u64, || {
            stopped = stopped || goes_on() == Next::Stop;
            !stopped
        });
        let mut each = || {
            count += 1;
            !count.is_multiple_of(BETWEEN_QUESTIONS) || asked()
        };
        let content = qlog::read(input, &mut each).map_err(|failure| {
            let problem = match failure {
                qlog::Failure::Io(error) => Problem::Unreadable(error),
                qlog::Failure::NotQlog(why) => Problem::NotQlog(why),
            };
            problem.of(&file.name)
        })?;
        file.packets = content.events;
        self.counts.packets += content.events;
        let place = file.name.display();
        self.warnings.extend(content.warnings.iter().map(|warning| format!("{place}: {warning}")));
        self.logs = true;
        for recorded in content.connections {
            let first = self.table.next_number();
            self.recorded += u64::from(self.table.add_recorded(Recorded { first, ..recorded }));
        }
        self.files.push(file);
        Ok(if stopped { Next::Stop } else { Next::Continue })
    }

    fn frame(&mut self, frame: &Frame<'_>, file: &mut ReadFile) {
        self.counts.packets += 1;
        let Some(link_type) = frame.link_type else {
            file.passed.add(Passed::NoInterface, frame.data.len(), frame.wire_len);
            return;
        };
        match self.decoder.decode(frame.at, link_type, frame.data, frame.wire_len) {
            Content::Tcp(packet) => {
                self.counts.tcp += 1;
                if !packet.whole {
                    file.passed.add_cut_options(frame.data.len(), frame.wire_len);
                }
                match frame.at {
                    Some(at) => {
                        let number = u16::try_from(self.files.len()).unwrap_or(u16::MAX);
                        let tap = Tap::new(number, frame.interface, link_type, frame.data);
                        if let Err(Duplicate(kind)) = self.table.add(at, &packet, tap) {
                            file.copies.count(kind);
                        }
                    }
                    None => file.timeless += 1,
                }
            }
            Content::Udp(packet) => {
                self.datagrams.add(frame.at, &packet, self.table.next_number(), self.decoder.payload());
            }
            Content::Fragment => {}
            Content::Passed(why) => {
                self.counts.unknown_link += u64::from(matches!(why, Passed::Link(_)));
                file.passed.add(why, frame.data.len(), frame.wire_len);
            }
        }
    }

    /// Analyses what was read; `name` is the name of the capture in errors.
    ///
    /// # Errors
    /// [`Error`] if there is no usable connection.
    pub fn finish(self, name: impl AsRef<Path>) -> Result<Capture, Error> {
        let name = name.as_ref();
        let Self {
            mut table,
            datagrams,
            logs,
            mut recorded,
            mut decoder,
            mut counts,
            mut warnings,
            mut files,
        } = self;
        for (number, incomplete) in decoder.take_incomplete() {
            if let Some(file) = files.get_mut(number) {
                file.passed.add_incomplete(incomplete);
            }
        }
        table.leave_out_copies(|file, kind| {
            if let Some(file) = files.get_mut(usize::from(file)) {
                file.copies.count(kind);
            }
        });
        files.iter().for_each(|file| counts.copies.add(file.copies));
        counts.duplicates = counts.copies.all();
        counts.timeless = files.iter().map(|file| file.timeless).sum();
        if counts.packets == 0 {
            let truncated = files.iter().any(|file| file.truncated);
            return Err(Problem::Empty { truncated }.of(name));
        }
        warnings.extend(without_packets(&files));
        let passed = ReadFile::sum(&files);
        let other_links = counts.unknown_link == counts.packets;
        if let Some(link_type) = passed.link_type().filter(|_| other_links) {
            return Err(Problem::LinkType(link_type).of(name).after(warnings));
        }
        if counts.timeless == counts.tcp && counts.tcp > 0 {
            return Err(Problem::NoTimes.of(name).after(warnings));
        }
        let (udp, quic) = (datagrams.packets(), datagrams.has_any());
        for one in datagrams.finish(&mut warnings) {
            recorded += u64::from(table.add_recorded(one));
        }
        if counts.tcp == 0 && recorded == 0 {
            let (problem, cut) = match passed.cut() {
                _ if quic || logs => (Problem::NoQuic, true),
                Some((packets, at, snap_length)) => (Problem::CutOff { packets, at, snap_length }, false),
                None => (Problem::NoTcp { packets: counts.packets, udp }, true),
            };
            let reasons = passed.reasons().filter(|why| cut || *why != Some(Passed::Cut));
            warnings.extend(reasons.flat_map(|why| left_out(&files, &passed, why)));
            return Err(problem.of(name).after(warnings));
        }
        warnings.extend(passed.reasons().flat_map(|why| left_out(&files, &passed, why)));
        let timeless = |file: &ReadFile| (file.timeless > 0).then(|| counted(file.timeless, TIMELESS));
        warnings.extend(by_file(&files, timeless, || counted(counts.timeless, TIMELESS)));
        let twice = |copies: &Copies| format!("{}: {}", counted(copies.all(), TWICE), copies.places());
        let copies = |file: &ReadFile| (file.copies.all() > 0).then(|| twice(&file.copies));
        warnings.extend(by_file(&files, copies, || twice(&counts.copies)));
        let listed =
            |file: &ReadFile| file.passed.listed(&file.name.display().to_string()).collect::<Vec<_>>();
        let passed_over = files.iter().flat_map(listed).collect();
        match table.finish(&mut warnings) {
            Ok(Connections { connections, groups }) => {
                Ok(Capture { connections, groups, warnings, passed_over, counts })
            }
            Err(problem) => Err(problem.of(name).after(warnings)),
        }
    }
}

/// Time of the first packet of a capture; `None` if it has no packet, or none with a time, and of a qlog.
///
/// # Errors
/// [`Error`] if the file cannot be read or is no capture.
pub fn first_packet_time(input: impl Read, name: impl AsRef<Path>) -> Result<Option<Nanos>, Error> {
    let name = name.as_ref();
    let mut first = None;
    let mut input = open(input, name)?;
    let head = head(&mut input).map_err(|error| failed(Failure::Io(error), name))?;
    if is_json(head.get_ref()) {
        return Ok(None);
    }
    let ending = for_each_frame(head.chain(&mut input), |frame| {
        first = frame.at;
        if first.is_some() { Next::Stop } else { Next::Continue }
    });
    ending.map(|_| first).map_err(|failure| failed(failure, name))
}

/// The first bytes of a file.
fn head(input: &mut impl Read) -> std::io::Result<std::io::Cursor<Vec<u8>>> {
    let mut head = vec![];
    input.take(64).read_to_end(&mut head)?;
    Ok(std::io::Cursor::new(head))
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

const TIMELESS: &str = "have no time stamp (simple packet blocks)";
const TWICE: &str = "were captured twice";

fn counted(count: u64, what: &str) -> String {
    format!("{count} packets {what} and are left out")
}

/// A file that was read.
struct ReadFile {
    name: PathBuf,
    packets: u64,
    /// Whether it ended inside a packet, or its compressed data early.
    truncated: bool,
    passed: Tally,
    /// TCP packets that were captured another time.
    copies: Copies,
    /// TCP packets without a time.
    timeless: u64,
}

impl ReadFile {
    fn new(name: &Path) -> Self {
        Self {
            name: name.into(),
            packets: 0,
            truncated: false,
            passed: Tally::default(),
            copies: Copies::default(),
            timeless: 0,
        }
    }

    /// The packets of all files that were passed over.
    fn sum(files: &[Self]) -> Tally {
        let mut sum = Tally::default();
        files.iter().for_each(|file| sum.extend(&file.passed));
        sum
    }
}

/// Files that a warning names each.
const NAMED: usize = 3;

/// Names of files, of which at most [`NAMED`] are named.
fn names<'a>(files: impl ExactSizeIterator<Item = &'a ReadFile>) -> String {
    let others = files.len().saturating_sub(NAMED);
    let mut names: Vec<String> = files.take(NAMED).map(|file| file.name.display().to_string()).collect();
    let last = match others {
        0 => names.pop().unwrap_or_default(),
        1 => "1 more file".into(),
        others => format!("{others} more files"),
    };
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

/// Warning about the files without a packet.
fn without_packets(files: &[ReadFile]) -> Option<String> {
    let empty: Vec<&ReadFile> = files.iter().filter(|file| file.packets == 0).collect();
    let what = match empty.len() {
        0 => return None,
        1 => "the file contains no packet",
        _ => "the files contain no packet",
    };
    Some(format!("{}: {what}", names(empty.into_iter())))
}

/// Warnings about files, each with its sentence; if many have one, `all` is that of all together.
fn by_file(
    files: &[ReadFile],
    sentence: impl Fn(&ReadFile) -> Option<String>,
    all: impl Fn() -> String,
) -> Vec<String> {
    let some: Vec<(&ReadFile, String)> =
        files.iter().filter_map(|file| Some((file, sentence(file)?))).collect();
    if some.len() <= NAMED {
        return some
            .into_iter()
            .map(|(file, sentence)| format!("{}: {sentence}", file.name.display()))
            .collect();
    }
    vec![format!("{}: {}", names(some.iter().map(|(file, _)| *file)), all())]
}

/// Warnings about packets that are left out for this reason.
fn left_out(files: &[ReadFile], all: &Tally, why: Option<Passed>) -> Vec<String> {
    by_file(files, |file| file.passed.sentence(why), || all.sentence(why).unwrap_or_default())
}
