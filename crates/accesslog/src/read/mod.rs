//! Reader of web servers' access logs, one line at a time. Only client, time, the bytes of the answer and, to leave out images,
//! the request are used.

mod answer;
mod balancer;
mod bracketed;
mod fields;
mod format;
mod json;
mod lines;
mod passed;
#[cfg(test)]
mod tests;
mod w3c;

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::net::IpAddr;

use firstflight_contract::Nanos;

use super::Request;
pub use format::Format;
use format::Reader;
use lines::{Line, Lines};
pub use passed::{Passed, Reason};

/// Longest line that is read, bytes.
const LONGEST: usize = 64 << 10;
/// Lines by which the format is recognised, and most bytes of them.
const SAMPLE: (usize, usize) = (1000, 4 << 20);

/// Time by which servers' lines are out of order, since they write a request when its answer ends, and the share of requests, one in so
/// many, that may be later: long downloads. A few always may.
const LATE: Nanos = Nanos::from_secs(60);
const MAY_BE_LATE: u64 = 20;
const FEW: u64 = 10;

/// Selection of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All requests.
    All,
    /// All requests except those for images.
    Pages,
}

/// Error in a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The operating system or the compression fails.
    #[error("line {line}: cannot be read: {source}")]
    Unreadable {
        /// The line, from 1.
        line: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A line does not end.
    #[error("line {line}: longer than {} MiB; expected a line of a web server's log", lines::ENDLESS >> 20)]
    Endless {
        /// The line, from 1.
        line: u64,
    },
    /// The file has another format.
    #[error("this is {found}; expected one of: {}", Format::list())]
    Foreign {
        /// Kind of file that was recognised.
        found: &'static str,
    },
    /// The requests are not in order of time.
    #[error(
        "{late} of {requests} requests are more than a minute earlier than one before them, so the log is not in order of time; \
         expected the oldest lines first: of rotated files, those with the highest numbers, as ls -rv lists them"
    )]
    Disordered {
        /// Requests that are more than a minute earlier than one before them.
        late: u64,
        /// All requests.
        requests: u64,
    },
    /// Most lines cannot be read.
    #[error("most lines cannot be read as {}: {passed}", format.describe())]
    Mostly {
        /// The format.
        format: Format,
        /// The lines.
        passed: Passed,
    },
}

/// Reason why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// It is longer than [`LONGEST`].
    TooLong,
    /// It is no line of the format.
    Shape,
    /// It lacks a field of a client or a time.
    Fields,
    /// The time is invalid.
    Time,
    /// The client is not an address.
    Client,
    /// The client could be one of two addresses.
    TwoClients,
}

/// Fields of a line.
#[derive(Debug)]
struct Found<'a> {
    at: Nanos,
    client: IpAddr,
    bytes: Option<u64>,
    /// The path of the request; empty if the line has none.
    path: &'a [u8],
}

/// Iterator over the requests of a log, plain or compressed with gzip. Blank lines and, in formats other than W3C's, lines that
/// begin with `#` are skipped. Lines that cannot be read are [counted](Log::passed); if they are most, the last item is an error.
#[derive(Debug)]
pub struct Log<R> {
    lines: Lines<R>,
    keep: Keep,
    /// The format, if it is known.
    reader: Option<Reader>,
    /// Lines that were read to recognise the format.
    sample: VecDeque<Line>,
    passed: Passed,
    /// The latest time, the requests, and those that are more than [`LATE`] earlier than one before them.
    order: (Nanos, u64, u64),
    /// Whether the log has ended.
    ended: bool,
}

impl<R: BufRead> Log<R> {
    /// Reads a log from `input` in the format that its first lines have.
    pub fn new(input: R, keep: Keep) -> Self {
        Self::of(input, keep, None)
    }

    /// Reads a log from `input` in a format, or in that which its first lines have.
    pub fn of(input: R, keep: Keep, format: Option<Format>) -> Self {
        Self {
            lines: Lines::new(input),
            keep,
            reader: format.map(Reader::new),
            sample: VecDeque::new(),
            passed: Passed::default(),
            order: (Nanos::ZERO, 0, 0),
            ended: false,
        }
    }

    /// The format; `None` before the first request.
    pub fn format(&self) -> Option<Format> {
        self.reader.as_ref().map(Reader::format)
    }

    /// Lines that were passed over so far.
    pub fn passed(&self) -> &Passed {
        &self.passed
    }

    /// Reads lines until the format is recognised.
    fn recognise(&mut self) -> Result<(), LogError> {
        let mut bytes = 0;
        while self.sample.len() < SAMPLE.0
            && bytes < SAMPLE.1
            && let Some(line) = self.lines.next()?
        {
            bytes += line.text.len();
            self.sample.push_back(line);
        }
        if self.sample.is_empty() {
            return Ok(());
        }
        let reader = Reader::recognised(self.sample.iter().map(|line| &*line.text));
        let foreign = LogError::Foreign { found: "no access log of a kind that is read" };
        self.reader = Some(reader.ok_or(foreign)?);
        Ok(())
    }

    fn request(&mut self) -> Result<Option<Request>, LogError> {
        if self.reader.is_none() {
            self.recognise()?;
        }
        let Some(reader) = &mut self.reader else { return Ok(None) };
        loop {
            let sampled = self.sample.pop_front();
            let line = match &sampled {
                Some(line) => line,
                None => match self.lines.next_borrowed()? {
                    Some(line) => line,
                    None => break,
                },
            };
            if reader.skips(&line.text) {
                continue;
            }
            let found = if line.is_cut { Err(Flaw::TooLong) } else { reader.read(&line.text) };
            self.passed.lines += 1;
            match found {
                Ok(Found { path, .. }) if self.keep == Keep::Pages && fields::is_image(path) => {}
                Ok(Found { at, client, bytes, .. }) => {
                    let (newest, requests, late) = &mut self.order;
                    *requests += 1;
                    *late += u64::from(at.saturating_add(LATE) < *newest);
                    *newest = at.max(*newest);
                    return Ok(Some(Request { at, client, bytes, bottleneck: None }));
                }
                Err(flaw) => self.passed.add(flaw, line),
            }
        }
        if 2 * self.passed.count() > self.passed.lines {
            let (format, passed) = (reader.format(), self.passed.clone());
            return Err(LogError::Mostly { format, passed });
        }
        let (_, requests, late) = self.order;
        if late > FEW && MAY_BE_LATE * late > requests {
            return Err(LogError::Disordered { late, requests });
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Log<R> {
    type Item = Result<Request, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.request().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}
