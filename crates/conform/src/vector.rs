//! Vectors: the events that a controller of another project was told, and its answer to each.
//!
//! A vector is a table of comma-separated values, packed with gzip or not. Comments at its beginning name the project, the scheme and the path. A
//! row is one call: amounts in bytes, times in microseconds since the flow began.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use csv::StringRecord;
use firstflight_contract::{Nanos, Rate};
use flate2::bufread::MultiGzDecoder;
use thiserror::Error;

/// Bytes of the longest vector that is read, unpacked.
const LONGEST: u64 = 64 << 20;
/// Payload bytes of the drivers' datagrams, where the comments state none.
const DATAGRAM: u64 = 1200;
/// Payload bytes of quicly's datagrams in its simulator.
const QUICLY_DATAGRAM: u64 = 1280;
/// Columns that every vector has.
const COMMON: [&str; 2] = ["t_us", "cwnd"];

/// A fault of a vector: file, line if there is one, and reason.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{}: {why}", .file, .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct Flaw {
    /// Name of the file.
    pub file: String,
    /// Line, counted from one.
    pub line: Option<u64>,
    /// The fault, and the expectation.
    pub why: String,
}

/// The driver that recorded a vector; it decides which columns a vector has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// One virtual-time driver around controllers of Rust libraries: acknowledged and lost packets in one row.
    Rust,
    /// quicly's simulator: a row for each acknowledgement and each lost packet, on a clock of a millisecond.
    Quicly,
    /// picoquic's simulator: a row for each notification.
    Picoquic,
}

impl Driver {
    /// Columns of the driver, beside those that every vector has.
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &[
                "acked",
                "lost",
                "inflight_before",
                "inflight_after",
                "sent_total",
                "rtt_us",
                "min_rtt_us",
                "srtt_us",
                "largest_pn",
                "app_limited",
                "state",
            ],
            Self::Quicly => &[
                "now_ms",
                "event",
                "bytes",
                "largest_or_lost_pn",
                "inflight_before",
                "inflight_after",
                "sent_total",
                "next_pn",
                "rtt_ms",
                "min_rtt_ms",
                "srtt_ms",
                "state",
            ],
            Self::Picoquic => &[
                "event",
                "acked",
                "newly_lost",
                "inflight_prior",
                "in_transit_before_call",
                "sent_total",
                "delivered_total",
                "lost_total",
                "rtt_us",
                "min_rtt_us",
                "srtt_us",
                "state",
            ],
        }
    }
}

/// The answer of a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Pacing rate, if the controller stated one.
    pub pacing: Option<Rate>,
    /// State in the controller's own word.
    pub state: String,
}

/// A call of a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Line of the file.
    pub line: u64,
    /// Kind of the call in the driver's word; empty where a driver has one kind.
    pub kind: String,
    /// Time since the flow began.
    pub at: Nanos,
    /// The controller's clock, which may be coarser.
    pub seen_at: Nanos,
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Bytes newly declared lost.
    pub lost: u64,
    /// Bytes in flight before the call.
    pub before: u64,
    /// Bytes in flight after the call, before anything is sent in response.
    pub after: u64,
    /// Bytes sent before the call.
    pub sent: u64,
    /// Number of the next packet, before anything is sent in response.
    pub next: u64,
    /// Payload bytes of a datagram.
    pub mss: u64,
    /// Number of the newest packet that is acknowledged, or of the packet that is lost.
    pub packet: Option<u64>,
    /// Round trip of the newest acknowledged packet; `None` without a new sample.
    pub rtt: Option<Nanos>,
    /// Smallest round trip so far.
    pub min_rtt: Nanos,
    /// Smoothed round trip.
    pub srtt: Nanos,
    /// Bytes delivered so far, where the driver counts them.
    pub delivered: Option<u64>,
    /// Bytes delivered since the newest acknowledged packet was sent, where the driver counts them.
    pub delivered_since: Option<u64>,
    /// Bytes lost since the newest acknowledged packet was sent, where the driver counts them.
    pub lost_since: Option<u64>,
    /// Bytes lost so far, where the driver counts them.
    pub lost_total: Option<u64>,
    /// Bytes in flight when the newest acknowledged packet was sent, where the driver counts them.
    pub flight_at_departure: Option<u64>,
    /// Ranges of lost packets that the controller counts at this call, where the driver states them.
    pub loss_ranges: Option<u64>,
    /// Window before the call, bytes, where the driver states it.
    pub cwnd_before: Option<u64>,
    /// Largest bandwidth of the controller's model, bytes a second, where it changed.
    pub bandwidth: Option<u64>,
    /// The sender had no more data.
    pub limited: bool,
    /// The driver's word that the window limited the sender, where it has one.
    pub window_limited: Option<bool>,
    /// Calls that the row sums up: 1, or more where a driver thinned its log.
    pub merged: u64,
    /// The controller's answer.
    pub answer: Answer,
}

/// A recorded flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// Name of the file.
    pub file: String,
    /// Project with its release.
    pub project: String,
    /// Scheme in the project's word, such as `neqo-search`.
    pub scheme: String,
    /// Path, such as `S1`.
    pub path: String,
    /// Driver that recorded it.
    pub driver: Driver,
    /// Another flow began before, so that the clock of the vector begins after that of its driver.
    pub competes: bool,
    /// Bottleneck, Mbit/s, if the comments state it.
    pub bottleneck_mbit: Option<f64>,
    /// Round trip of the empty path, ms, if the comments state it.
    pub base_rtt_ms: Option<f64>,
    /// Window of an earlier connection that the controller was given, bytes, with the round trip of that connection.
    pub seed: Option<(u64, Nanos)>,
    /// Calls in order.
    pub events: Vec<Event>,
}

impl Vector {
    /// Reads a vector.
    ///
    /// # Errors
    /// [`Flaw`] if the file cannot be read, a column is missing, a value is none, or times go back.
    pub fn open(path: &Path) -> Result<Self, Flaw> {
        let file = path.display().to_string();
        let flaw = |error: std::io::Error| Flaw {
            file: file.clone(),
            line: None,
            why: format!("cannot be read: {error}"),
        };
        let mut input = BufReader::new(File::open(path).map_err(flaw)?);
        let packed = input.fill_buf().map_err(flaw)?.starts_with(&[0x1f, 0x8b]);
        let mut text = String::new();
        let read = if packed {
            MultiGzDecoder::new(input).take(LONGEST + 1).read_to_string(&mut text)
        } else {
            input.take(LONGEST + 1).read_to_string(&mut text)
        };
        read.map_err(flaw)?;
        if text.len() as u64 > LONGEST {
            let why = format!("longer than {LONGEST} bytes; expected a vector of one flow");
            return Err(Flaw { file, line: None, why });
        }
        Self::parse(&text, &file)
    }

    /// Reads the text of a vector; `file` is its name in errors.
    ///
    /// # Errors
    /// As [`Vector::open`].
    pub fn parse(text: &str, file: &str) -> Result<Self, Flaw> {
        let flaw = |line, why| Flaw { file: file.to_owned(), line, why };
        let comments: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let project = comments.iter().find_map(|line| line.strip_prefix("# project=")).ok_or_else(|| {
            flaw(Some(1), "the comment `# project=` is missing; expected a recorded vector".into())
        })?;
        let words = || comments.iter().flat_map(|line| line.split_whitespace());
        let of = |key: &str| words().find_map(|word| word.strip_prefix(key)).map(str::to_owned);
        let missing = |what: &str| flaw(None, format!("the comments have no `{what}`"));
        let scheme = of("scheme=").ok_or_else(|| missing("scheme="))?;
        let path = of("path=").ok_or_else(|| missing("path="))?;
        let driver = match project {
            _ if project.contains("quicly") => Driver::Quicly,
            _ if project.contains("picoquic") => Driver::Picoquic,
            _ => Driver::Rust,
        };
        // quicly and picoquic have options and seeds in words of their own; the name of the file is the scheme's.
        let scheme = match driver {
            Driver::Rust => scheme,
            Driver::Quicly | Driver::Picoquic => stem(file).map_or(scheme, str::to_owned),
        };
        let mut mss = match driver {
            Driver::Rust => of("pkt=").and_then(|word| word.parse().ok()).unwrap_or(DATAGRAM),
            Driver::Quicly => QUICLY_DATAGRAM,
            Driver::Picoquic => DATAGRAM,
        };
        let competes = of("competitor=").is_some_and(|competitor| competitor != "none");
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let columns = reader.headers().map_err(|error| flaw(None, error.to_string()))?.clone();
        let columns: BTreeMap<&str, usize> =
            columns.iter().enumerate().map(|(at, name)| (name, at)).collect();
        let needed = COMMON.iter().chain(driver.columns());
        if let Some(column) = needed.clone().find(|column| !columns.contains_key(**column)) {
            let all: Vec<&str> = needed.copied().collect();
            return Err(flaw(None, format!("the column {column} is missing; expected {}", all.join(", "))));
        }
        let mut vector = Self {
            file: file.to_owned(),
            project: project.split(',').next().unwrap_or_default().to_owned(),
            scheme,
            path,
            driver,
            competes,
            bottleneck_mbit: of("bottleneck_mbit=").and_then(|word| word.parse().ok()),
            base_rtt_ms: of("base_rtt_ms=").and_then(|word| word.parse().ok()),
            seed: seed(&comments),
            events: vec![],
        };
        let mut row = StringRecord::new();
        let mut last = Event::default();
        loop {
            let line = reader.position().line();
            match reader.read_record(&mut row) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Err(flaw(Some(line), error.to_string())),
            }
            let line = row.position().map_or(line, csv::Position::line);
            let event = Cells { columns: &columns, row: &row }
                .event(driver, &mut mss, &last)
                .map_err(|why| flaw(Some(line), why))?;
            if event.at < last.at {
                let why = format!(
                    "the time {} us is before that of the row above, {} us",
                    event.at.0 / 1000,
                    last.at.0 / 1000
                );
                return Err(flaw(Some(line), why));
            }
            last = Event { line, ..event };
            vector.events.push(last.clone());
        }
        if vector.events.is_empty() {
            return Err(flaw(None, "no row; expected a row for each call".into()));
        }
        Ok(vector)
    }
}

/// The number after a key in a list of words such as `filled=0;bw=80398`.
fn word(text: &str, key: &str) -> Option<u64> {
    text.split(';').find_map(|word| word.strip_prefix(key))?.parse().ok()
}

/// The seed of a vector, such as `seed_cwnd=125000 B, 50123 us`.
fn seed(comments: &[&str]) -> Option<(u64, Nanos)> {
    let stated = comments.iter().find_map(|line| line.split_once("seed_cwnd="))?.1;
    let mut words = stated.split_whitespace();
    let window = words.next()?.parse().ok()?;
    let rtt = words.nth(1)?.parse().ok()?;
    Some((window, Nanos::from_micros(rtt)))
}

/// The part of a file's name before the path: `pico-c4-seed1` of `pico-c4-seed1.S3.csv.gz`.
fn stem(file: &str) -> Option<&str> {
    Path::new(file).file_name()?.to_str()?.split('.').next()
}

/// The cells of a row.
struct Cells<'a> {
    columns: &'a BTreeMap<&'a str, usize>,
    row: &'a StringRecord,
}

impl Cells<'_> {
    fn text(&self, column: &str) -> &str {
        self.columns.get(column).and_then(|at| self.row.get(*at)).unwrap_or_default()
    }

    /// The number in a column; `None` where the cell is empty.
    fn number(&self, column: &str) -> Result<Option<u64>, String> {
        match self.text(column) {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| format!("{column} = {text:?}; expected a whole number of 0 or more")),
        }
    }

    fn needed(&self, column: &str) -> Result<u64, String> {
        self.number(column)?.ok_or_else(|| format!("{column} is empty; expected a whole number of 0 or more"))
    }

    fn micros(&self, column: &str) -> Result<Option<Nanos>, String> {
        Ok(self.number(column)?.map(Nanos::from_micros))
    }

    fn millis(&self, column: &str) -> Result<Option<Nanos>, String> {
        Ok(self.number(column)?.map(Nanos::from_millis))
    }

    fn event(&self, driver: Driver, mss: &mut u64, last: &Event) -> Result<Event, String> {
        let state = match self.text("state") {
            "" => last.answer.state.clone(),
            state => state.to_owned(),
        };
        let pacing =
            self.number("pacing_Bps")?.map(|bytes| Rate(bytes.saturating_mul(8))).or(last.answer.pacing);
        let answer = Answer { cwnd: self.needed("cwnd")?, pacing, state };
        let event = Event {
            at: Nanos::from_micros(self.needed("t_us")?),
            seen_at: Nanos::from_micros(self.needed("t_us")?),
            merged: self.number("merged")?.unwrap_or(1).max(1),
            sent: self.number("sent_total")?.unwrap_or(last.sent),
            answer,
            mss: *mss,
            ..Event::default()
        };
        Ok(match driver {
            Driver::Rust => Event {
                acked: self.needed("acked")?,
                lost: self.needed("lost")?,
                before: self.needed("inflight_before")?,
                after: self.needed("inflight_after")?,
                next: event.sent.div_ceil(*mss),
                packet: self.number("largest_pn")?,
                rtt: self.micros("rtt_us")?,
                min_rtt: self.micros("min_rtt_us")?.unwrap_or(last.min_rtt),
                srtt: self.micros("srtt_us")?.unwrap_or(last.srtt),
                limited: self.number("app_limited")? == Some(1),
                ..event
            },
            Driver::Quicly => {
                let bytes = self.needed("bytes")?;
                let kind = self.text("event").to_owned();
                let (acked, lost) = match kind.as_str() {
                    "A" => (bytes, 0),
                    "L" => (0, bytes),
                    other => return Err(format!("event = {other:?}; expected A or L")),
                };
                Event {
                    kind,
                    seen_at: self.millis("now_ms")?.unwrap_or(event.seen_at),
                    acked,
                    lost,
                    // A row of a loss has none.
                    before: self.number("inflight_before")?.unwrap_or(last.after),
                    after: self.number("inflight_after")?.unwrap_or(last.after.saturating_sub(lost)),
                    next: self.number("next_pn")?.unwrap_or(last.next),
                    packet: self.number("largest_or_lost_pn")?,
                    rtt: self.millis("rtt_ms")?,
                    min_rtt: self.millis("min_rtt_ms")?.unwrap_or(last.min_rtt),
                    srtt: self.millis("srtt_ms")?.unwrap_or(last.srtt),
                    window_limited: self.number("cc_limited")?.map(|limited| limited == 1),
                    ..event
                }
            }
            Driver::Picoquic => {
                if let Some(mtu) = self.number("mtu")? {
                    *mss = mtu;
                }
                let before = self.needed("in_transit_before_call")?;
                let (acked, lost) = (self.needed("acked")?, self.number("newly_lost")?.unwrap_or(0));
                Event {
                    kind: self.text("event").to_owned(),
                    mss: *mss,
                    acked,
                    lost,
                    before: before.saturating_add(acked).saturating_add(lost),
                    after: before,
                    next: event.sent.div_ceil((*mss).max(1)),
                    rtt: self.micros("rtt_us")?,
                    min_rtt: self.micros("min_rtt_us")?.unwrap_or(last.min_rtt),
                    srtt: self.micros("srtt_us")?.unwrap_or(last.srtt),
                    delivered: self.number("delivered_total")?,
                    delivered_since: self.number("delivered_since_sent")?,
                    lost_since: self.number("lost_since_sent")?,
                    lost_total: self.number("lost_total")?,
                    flight_at_departure: self.number("inflight_prior")?,
                    loss_ranges: self.number("loss_ranges")?,
                    cwnd_before: self.number("cwnd_before")?,
                    bandwidth: word(self.text("detail"), "bw="),
                    limited: self.number("app_limited")? == Some(1),
                    window_limited: self.number("cwnd_limited")?.map(|limited| limited == 1),
                    ..event
                }
            }
        })
    }
}

/// The vector of a file, or the vectors of a folder and of the folders within it, in the order of their names; each is a vector or the reason why it is none. Files
/// of a folder whose names are not those of vectors, such as `neqo-search.S1.csv.gz`, are left out.
///
/// # Errors
/// [`Flaw`] if the folder cannot be read.
pub fn vectors(folder: &Path) -> Result<Vec<Result<Vector, Flaw>>, Flaw> {
    if folder.is_file() {
        return Ok(vec![Vector::open(folder)]);
    }
    let mut files = vec![];
    list(folder, 0, &mut files)?;
    files.sort();
    Ok(files.iter().map(|file| Vector::open(file)).collect())
}

/// Folders within folders that are read.
const DEPTH: u32 = 4;

fn list(folder: &Path, depth: u32, files: &mut Vec<std::path::PathBuf>) -> Result<(), Flaw> {
    let flaw = |error: std::io::Error| Flaw {
        file: folder.display().to_string(),
        line: None,
        why: format!("cannot be read: {error}; expected a folder of vectors"),
    };
    for entry in std::fs::read_dir(folder).map_err(flaw)? {
        let path = entry.map_err(flaw)?.path();
        if path.is_dir() {
            if depth < DEPTH {
                list(&path, depth + 1, files)?;
            }
        } else if of_a_flow(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file's name is that of a vector: scheme, path and the ending, such as `neqo-search.S1.csv.gz`.
fn of_a_flow(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.strip_suffix(".csv").is_some_and(|name| name.split('.').count() == 2)
}
