//! Logs of JSON lines, of bounded size, with the files before them kept beside them: the decision log and the audit log.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::files;

/// A log file that starts anew when it is full.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
    size: u64,
    limit: u64,
    /// Full files that are kept.
    kept: u32,
}

impl Journal {
    /// Opens the log to append to it. A file of more than `limit` bytes becomes `PATH.1`, and that `PATH.2`, up to `kept` of them.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path, limit: u64, kept: u32) -> io::Result<Self> {
        let file = files::own(path, true)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), size, limit, kept })
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

    /// Hands all lines to the system. If another program has renamed or removed the file, the next line begins a new one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let own = self.file.get_ref().metadata()?;
        match fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => Ok(()),
            _ => {
                self.file = BufWriter::new(files::own(&self.path, true)?);
                self.size = self.file.get_ref().metadata()?.len();
                Ok(())
            }
        }
    }

    /// Hands all lines to the system, and gives the file, which a thread may make durable.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn flushed(&mut self) -> io::Result<File> {
        self.file.flush()?;
        self.file.get_ref().try_clone()
    }

    fn turn(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let numbered = |number: u32| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        for number in (1..self.kept).rev() {
            match fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, numbered(1))?;
        self.file = BufWriter::new(files::own(&self.path, true)?);
        self.size = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_starts_anew_and_the_files_before_it_stay() {
        let folder = std::env::temp_dir().join(format!("firstflight-journal-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("decisions.jsonl");
        let mut journal = Journal::open(&path, 20, 2).expect("a journal");
        for line in ["first line", "second", "third line"] {
            journal.line(line).expect("a line");
        }
        journal.flush().expect("written");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        assert_eq!(read("decisions.jsonl.1"), "first line\nsecond\n");
        assert_eq!(read("decisions.jsonl"), "third line\n");
        journal.line("a fourth line").expect("a line");
        journal.line("a fifth line").expect("a line");
        let file = journal.flushed().expect("written");
        assert_eq!(file.metadata().expect("a file").len(), 13);
        assert_eq!(
            ["decisions.jsonl.2", "decisions.jsonl.1", "decisions.jsonl"].map(read),
            ["third line\n", "a fourth line\n", "a fifth line\n"]
        );
        // Another program takes the file away, as logrotate does.
        fs::rename(&path, folder.join("taken")).expect("renamed");
        journal.line("6").expect("a line");
        journal.flush().expect("written");
        journal.line("7").expect("a line");
        journal.flush().expect("written");
        assert_eq!((read("taken"), read("decisions.jsonl")), ("a fifth line\n6\n".into(), "7\n".into()));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
