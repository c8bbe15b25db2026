//! Reader of qlog: the log that one end of a connection of QUIC writes (draft-marx-qlog-main-schema-00 to draft-ietf-quic-qlog-main-schema-12,
//! with the events of the drafts beside them).
//!
//! Drafts and stacks differ in the nesting of events, in names, units and in numbers that are strings; all are read. Events are read one
//! by one, and only packets with data, acknowledgements, losses, and limits of flow control are kept.

mod clock;
mod connection;
mod events;
mod formats;
mod in_flight;
mod logs;
mod steps;
mod value;

use std::io::{self, BufRead, BufReader, Read};

use super::Recorded;
use formats::{read_json, read_sequence};
use logs::Logs;

/// First byte of a record of a JSON text sequence (RFC 7464).
const RECORD: u8 = 0x1e;
/// Longest event, or other part of a log that is read at once, bytes.
const LONGEST: u64 = 4 << 20;
/// Maximum number of connections of one file.
const MAX_LOGS: usize = 1 << 12;

/// Whether these are the first bytes of a qlog: those of a JSON text sequence, or of a JSON object that names qlog. The name stands within the
/// first hundred bytes of the logs of most stacks.
pub fn is_qlog(head: &[u8]) -> bool {
    let named = || head.windows(4).any(|word| word == b"qlog");
    is_json(head) && (first_byte(head) == Some(RECORD) || named())
}

/// Whether these are the first bytes of a JSON object, or of a JSON text sequence.
pub(crate) fn is_json(head: &[u8]) -> bool {
    matches!(first_byte(head), Some(RECORD | b'{'))
}

/// First byte behind a byte order mark and white space.
fn first_byte(head: &[u8]) -> Option<u8> {
    let head = head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(head);
    head.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Content of a file.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) connections: Vec<Recorded>,
    pub(crate) warnings: Vec<String>,
    /// Events read.
    pub(crate) events: u64,
}

/// Reason why a file is no qlog.
#[derive(Debug)]
pub(crate) enum Failure {
    Io(io::Error),
    /// JSON of another kind, or no JSON: the reason.
    NotQlog(String),
}

/// Reads a log. `goes_on` is asked after each event; if not, the rest is left out.
pub(crate) fn read(input: impl Read, goes_on: &mut dyn FnMut() -> bool) -> Result<Content, Failure> {
    let mut input = BufReader::new(input);
    let mut logs = Logs::new(goes_on);
    let head = input.fill_buf().map_err(Failure::Io)?;
    let sequence = first_byte(head) == Some(RECORD);
    if head.starts_with(&[0xef, 0xbb, 0xbf]) {
        input.consume(3);
    }
    if sequence {
        read_sequence(&mut input, &mut logs)?
    } else {
        read_json(input, &mut logs)?
    }
    if !logs.is_qlog {
        return Err(Failure::NotQlog("a JSON file without traces or a version of qlog".into()));
    }
    Ok(logs.finish())
}
