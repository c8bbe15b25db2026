//! Lines of an input, plain or compressed with gzip.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::{LONGEST, LogError};

/// Bytes after which a line is taken for one that does not end.
pub(super) const ENDLESS: u64 = 64 << 20;

/// First bytes of files that are no logs, and what they are.
const FOREIGN: [(&[u8], &str); 9] = [
    (&[0x0a, 0x0d, 0x0d, 0x0a], "a packet capture"),
    (&[0xa1, 0xb2, 0xc3, 0xd4], "a packet capture"),
    (&[0xd4, 0xc3, 0xb2, 0xa1], "a packet capture"),
    (&[0xa1, 0xb2, 0x3c, 0x4d], "a packet capture"),
    (&[0x4d, 0x3c, 0xb2, 0xa1], "a packet capture"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd, and only gzip is read"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "compressed with xz, and only gzip is read"),
    (b"BZh", "compressed with bzip2, and only gzip is read"),
    (b"PK\x03\x04", "a zip archive, and only gzip is read"),
];

/// A line.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its bytes, without white space at the ends, and at most [`LONGEST`] of them.
    pub(super) text: Vec<u8>,
    /// Whether it has more bytes.
    pub(super) is_cut: bool,
}

/// Lines of an input.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: Input<R>,
    line: Line,
}

/// An input.
#[derive(Debug)]
enum Input<R> {
    /// Its first bytes have not been seen.
    New(Option<R>),
    Plain(R),
    Gzip(Box<BufReader<MultiGzDecoder<R>>>),
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: Input::New(Some(input)), line: Line::default() }
    }

    /// The next line, to be kept.
    pub(super) fn next(&mut self) -> Result<Option<Line>, LogError> {
        let found = self.next_borrowed()?.is_some();
        Ok(found.then(|| Line { text: self.line.text.clone(), ..self.line }))
    }

    /// The next line.
    pub(super) fn next_borrowed(&mut self) -> Result<Option<&Line>, LogError> {
        if let Input::New(input) = &mut self.input {
            let input = input.take().expect("an input is opened once");
            self.input = Input::open(input)?;
        }
        self.line.number += 1;
        let (number, text) = (self.line.number, &mut self.line.text);
        text.clear();
        let read = match &mut self.input {
            Input::New(_) => unreachable!("the input is open"),
            Input::Plain(input) => one(input, text),
            Input::Gzip(input) => one(&mut **input, text),
        };
        let (bytes, is_cut) = read.map_err(|source| LogError::Unreadable { line: number, source })?;
        if bytes > ENDLESS {
            return Err(LogError::Endless { line: number });
        }
        // The mark of UTF-8 at the beginning of a file.
        let mark = if number == 1 && text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        text.truncate(text.trim_ascii_end().len());
        let blank = text.len() - text[mark.min(text.len())..].trim_ascii_start().len();
        text.drain(..blank);
        self.line.is_cut = is_cut;
        Ok((bytes > 0).then_some(&self.line))
    }
}

impl<R: BufRead> Input<R> {
    /// Recognises the compression, and files that are no logs.
    fn open(mut input: R) -> Result<Self, LogError> {
        let unreadable = |source| LogError::Unreadable { line: 1, source };
        let known = |head: &[u8]| match FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            Some((_, found)) => Err(LogError::Foreign { found }),
            None => Ok(()),
        };
        let head = input.fill_buf().map_err(unreadable)?;
        known(head)?;
        if !head.starts_with(&[0x1f, 0x8b]) {
            return Ok(Self::Plain(input));
        }
        let mut unpacked = Box::new(BufReader::with_capacity(1 << 18, MultiGzDecoder::new(input)));
        known(unpacked.fill_buf().map_err(unreadable)?)?;
        Ok(Self::Gzip(unpacked))
    }
}

/// Reads a line to `text`, or its beginning; returns its bytes, which are more than [`ENDLESS`] if it did not end by then, and
/// whether it is longer than what was taken.
fn one(input: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<(u64, bool)> {
    let mut bytes = input.by_ref().take(LONGEST as u64).read_until(b'\n', text)? as u64;
    let is_cut = bytes == LONGEST as u64 && !text.ends_with(b"\n");
    while is_cut && bytes <= ENDLESS {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        input.consume(used);
        bytes += used as u64;
        if used == 0 || end.is_some() {
            break;
        }
    }
    Ok((bytes, is_cut))
}
