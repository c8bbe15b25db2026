//! Lines that were passed over.

use std::fmt;

use super::lines::Line;
use super::{Flaw, LONGEST};

/// Characters of a line that are shown.
const SHOWN: usize = 20;

/// Lines of a log, and those that were passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Lines that are neither blank nor comments.
    pub lines: u64,
    /// Lines that were passed over, by the reason.
    pub reasons: Vec<Reason>,
}

/// Lines that were passed over for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub(super) flaw: Flaw,
    /// Number of the lines.
    pub count: u64,
    /// Number of the first line, from 1.
    pub first: u64,
    /// Beginning of the first line, at most 20 characters.
    pub beginning: String,
}

impl Passed {
    /// Number of the lines that were passed over.
    pub fn count(&self) -> u64 {
        self.reasons.iter().map(|reason| reason.count).sum()
    }

    pub(super) fn add(&mut self, flaw: Flaw, line: &Line) {
        match self.reasons.iter_mut().find(|reason| reason.flaw == flaw) {
            Some(reason) => reason.count += 1,
            None => self.reasons.push(Reason {
                flaw,
                count: 1,
                first: line.number,
                beginning: beginning(&line.text),
            }),
        }
    }
}

fn beginning(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN + 4)]);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} lines are passed over: ", self.count(), self.lines)?;
        for (at, reason) in self.reasons.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "; " })?;
            write!(f, "{reason}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.flaw {
            Flaw::TooLong => {
                return write!(
                    f,
                    "{} longer than {LONGEST} bytes (line {}, {:?})",
                    self.count, self.first, self.beginning
                );
            }
            Flaw::Shape => "of another form",
            Flaw::Fields => "without a field of a client and a time",
            Flaw::Time => "whose time is not one from 1970 to 2553",
            Flaw::Client => "whose client is not an IPv4 or IPv6 address (names are not looked up)",
            Flaw::TwoClients => "with two addresses, either of which could be the client's",
        };
        write!(f, "{} {why} (line {}, {:?})", self.count, self.first, self.beginning)
    }
}
