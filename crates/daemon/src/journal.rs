//! The decision log: a file of JSON lines, of bounded size, with the previous file kept beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A log file that starts anew when it is full.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
    size: u64,
    limit: u64,
}

impl Journal {
    /// Opens the log to append to it. A file of more than `limit` bytes becomes `PATH.1`, in place of an older one.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path, limit: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), size, limit })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        if self.size > 0 && self.size + line.len() as u64 > self.limit {
            self.turn()?;
        }
        writeln!(self.file, "{line}")?;
        self.size += line.len() as u64 + 1;
        Ok(())
    }

    /// Hands all lines to the system.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn turn(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let mut previous = self.path.clone().into_os_string();
        previous.push(".1");
        fs::rename(&self.path, previous)?;
        self.file = BufWriter::new(OpenOptions::new().append(true).create(true).open(&self.path)?);
        self.size = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_starts_anew_and_the_previous_one_stays() {
        let folder = std::env::temp_dir().join(format!("firstflight-journal-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("decisions.jsonl");
        let mut journal = Journal::open(&path, 20).expect("a journal");
        for line in ["first line", "second", "third line"] {
            journal.line(line).expect("a line");
        }
        journal.flush().expect("written");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        assert_eq!(read("decisions.jsonl.1"), "first line\nsecond\n");
        assert_eq!(read("decisions.jsonl"), "third line\n");
        fs::remove_dir_all(&folder).expect("removed");
    }
}
