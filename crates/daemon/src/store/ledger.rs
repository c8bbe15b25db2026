//! The operator's orders on disk: a text file to which each change is appended, durable before it is acknowledged.
//!
//! The first line names the format. Each further line is a record: its number, the length of its text, the first 64 bits of
//! the SHA-256 of all three, and the text, which is one change or several, separated by tabs. The first record has all orders
//! of its moment, each later one a change. The numbers rise by one, also from one file to the next that replaces it.
//!
//! - **Torn.** A last record that has no end, or ends in zeros, was being written when the machine stopped. It was never
//!   acknowledged, and is cut off.
//! - **Damaged.** Any other record that differs from its checksum, and a number that is missing, is damage: something that was
//!   acknowledged is lost. The whole records are used, the file is kept, and the loss is named.
//! - **Full disk.** A change that cannot be appended is retried by a new file with all orders. If that fails too, it is refused;
//!   later changes begin with a new file, until one is written.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::disk::{Disk, Stored, replace, sync_folder};

/// The first line.
const TITLE: &str = "firstflight orders 1";
/// Largest file that is read, bytes: a million orders.
const LARGEST: u64 = 64 << 20;
/// Between the changes of a record.
const BETWEEN: char = '\t';

/// The open file.
#[derive(Debug)]
pub(crate) struct Ledger {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The file to append to; [`None`] until a new one is written: what is in the old one may not be all that was acknowledged.
    file: Option<Box<dyn Stored>>,
    /// Bytes of whole records.
    length: u64,
    /// Number of the newest record.
    number: u64,
    /// Records behind the first one.
    changes: u64,
}

/// Contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Changes of the whole records, in their order.
    pub(crate) changes: Vec<String>,
    /// Number of the newest whole record.
    pub(crate) number: u64,
    /// Bytes of a record that was being written.
    pub(crate) torn: u64,
    /// Reasons for which the file is damaged, one line each.
    pub(crate) damage: Vec<String>,
}

impl Contents {
    /// Reads a file. Every text is read: what cannot be is named in `damage`.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let Some(title) = bytes.split_inclusive(|byte| *byte == b'\n').next() else {
            found.damage.push("it is empty".to_owned());
            return found;
        };
        if title != format!("{TITLE}\n").as_bytes() {
            found.damage.push(format!("it does not begin with the line {TITLE:?}"));
        }
        let mut expected = None;
        let lines = bytes[title.len()..].split_inclusive(|byte| *byte == b'\n');
        let last = lines.clone().count();
        for (at, line) in lines.enumerate() {
            let (place, last) = (at + 2, at + 1 == last);
            match record(line) {
                Ok((number, text)) => {
                    if expected.is_some_and(|expected| number != expected) || number == 0 {
                        let (expected, place) = (expected.unwrap_or(1), place);
                        found.damage.push(format!("line {place} is record {number}; expected {expected}"));
                    }
                    expected = Some(number + 1);
                    found.number = found.number.max(number);
                    found
                        .changes
                        .extend(text.split(BETWEEN).filter(|one| !one.is_empty()).map(str::to_owned));
                }
                Err(Wrong::Torn) if last => found.torn = line.len() as u64,
                Err(wrong) => {
                    found.damage.push(format!("line {place} {wrong}"));
                    expected = expected.map(|expected| expected + 1);
                }
            }
        }
        if found.number == 0 && found.damage.is_empty() {
            found.damage.push("it has no whole record".to_owned());
        }
        found
    }
}

/// Reason why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Wrong {
    #[error("ends early")]
    Torn,
    #[error("does not have the checksum that it states")]
    Checksum,
    #[error("is no record")]
    Form,
}

fn checksum(number: u64, text: &[u8]) -> String {
    let digest =
        Sha256::new().chain_update(format!("{number} {} ", text.len())).chain_update(text).finalize();
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn line(number: u64, text: &str) -> String {
    format!("{number} {} {} {text}\n", text.len(), checksum(number, text.as_bytes()))
}

/// A file with these changes, a record each.
pub(crate) fn whole(changes: &[String]) -> String {
    let lines = (1..).zip(changes).map(|(number, change)| line(number, change));
    std::iter::once(format!("{TITLE}\n")).chain(lines).collect()
}

/// The number and the text of a line.
fn record(line: &[u8]) -> Result<(u64, &str), Wrong> {
    let ended = line.strip_suffix(b"\n");
    let wrong = if ended.is_some() { Wrong::Form } else { Wrong::Torn };
    let mut fields = ended.unwrap_or(line).splitn(4, |byte| *byte == b' ');
    let mut next = || fields.next().ok_or(wrong);
    let (number, length, sum, text) = (next()?, next()?, next()?, next()?);
    let parsed = |digits: &[u8]| str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    let (Some(number), Some(length)) = (parsed(number), parsed(length)) else { return Err(Wrong::Form) };
    // Without its end it is torn only as far as the end is missing, or was never written and is zeros.
    if ended.is_none() && ((text.len() as u64) < length || text.ends_with(&[0])) {
        return Err(Wrong::Torn);
    }
    if text.len() as u64 != length || checksum(number, text).as_bytes() != sum {
        return Err(Wrong::Checksum);
    }
    Ok((number, str::from_utf8(text).map_err(|_| Wrong::Form)?))
}

impl Ledger {
    /// Reads the file at `path`; [`None`] without one. Nothing is changed; the first change writes a new file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn open(disk: Arc<dyn Disk>, path: &Path) -> io::Result<(Self, Option<Contents>)> {
        let mut ledger = Self { disk, path: path.to_owned(), file: None, length: 0, number: 0, changes: 0 };
        let Some(file) = ledger.disk.open(path)? else { return Ok((ledger, None)) };
        let mut bytes = vec![];
        file.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            let damage = vec![format!("it is longer than {LARGEST} bytes")];
            return Ok((ledger, Some(Contents { damage, ..Contents::default() })));
        }
        let contents = Contents::parse(&bytes);
        ledger.number = contents.number;
        Ok((ledger, Some(contents)))
    }

    /// Makes a change durable. `all` are the orders after it.
    ///
    /// # Errors
    /// It is not durable.
    pub(crate) fn append(&mut self, change: &[String], all: &[String]) -> io::Result<()> {
        checked(change)?;
        match self.appended(change) {
            Ok(true) => Ok(()),
            Ok(false) => self.rewrite(all),
            Err(error) => {
                // A part of it may be there, and an error of the disk is reported once only: a new file has to be written.
                if let Some(file) = self.file.take() {
                    let _ = file.cut(self.length);
                }
                self.rewrite(all).map_err(|_| error)
            }
        }
    }

    /// Appends a record, if there is a file to append to.
    fn appended(&mut self, change: &[String]) -> io::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let line = line(self.number + 1, &joined(change));
        file.seek(SeekFrom::Start(self.length))?;
        file.write_all(line.as_bytes())?;
        file.sync()?;
        self.number += 1;
        self.changes += 1;
        self.length += line.len() as u64;
        Ok(true)
    }

    /// Has the next record a number behind this one.
    pub(crate) fn go_on_from(&mut self, number: u64) {
        self.number = self.number.max(number);
    }

    /// Number of the newest record.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether a new file would be shorter, or is missing.
    pub(crate) fn is_to_be_rewritten(&self) -> bool {
        self.changes > 0 || self.file.is_none()
    }

    /// Replaces the file by one with these orders.
    ///
    /// # Errors
    /// The old file or the new one is there. Until a new one is written no change is appended.
    pub(crate) fn rewrite(&mut self, all: &[String]) -> io::Result<()> {
        checked(all)?;
        let number = self.number + 1;
        let text = format!("{TITLE}\n{}", line(number, &joined(all)));
        let file = replace(&*self.disk, &self.path, |file| file.write_all(text.as_bytes()))?;
        // If the folder is not durable, a crash may bring the old file back.
        self.file = None;
        sync_folder(&*self.disk, &self.path)?;
        self.file = Some(file);
        (self.number, self.changes, self.length) = (number, 0, text.len() as u64);
        Ok(())
    }
}

fn joined(changes: &[String]) -> String {
    changes.join("\t")
}

/// A change must be one line without a tab, so that it is read as it was written.
fn checked(changes: &[String]) -> io::Result<()> {
    match changes.iter().find(|one| one.contains(['\n', BETWEEN, '\0'])) {
        Some(one) => {
            let why = format!("the order {one:?} has a line end, a tab or a zero; expected one line");
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
