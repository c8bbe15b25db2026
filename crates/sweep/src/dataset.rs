//! The dataset of a sweep: a folder with a Parquet file for each part of the plan.
//!
//! ```text
//! DIR/_sweep.json                                  the manifest: grid, version, number of parts
//! DIR/part=000012/0123456789abcdef-fedcba9876543210.parquet
//! ```
//!
//! The first half of a file's name is its key: a hash of the version, of the grid and of the part's number. The second half is
//! the hash of its bytes. A file is written under a temporary name and renamed when it is whole, so that a sweep that was
//! killed at any point continues with the parts that are missing; a file with another key or other bytes is not used. The manifest
//! is locked by the sweep that is at work, and a temporary file by the process that writes it. The names
//! begin with `_` and `.` where readers of datasets are to ignore them.

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use firstflight_document::clipped;
use firstflight_document::file::read_text;
use firstflight_results::{Table, Value, parquet};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::shared::{Lock, create_whole, lock, read_in_pieces, remove_leftovers, write_whole};
use super::{Error, Halt, Plan, digest, wrong};
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::progress::Progress;

/// Name of the manifest.
const MANIFEST: &str = "_sweep.json";
/// Version of the layout of a dataset.
const FORMAT: u32 = 1;
/// Hexadecimal digits of the key and of the hash in the name of a file.
const DIGITS: usize = 16;
/// No part is longer, bytes: it has at most a million rows of about a kilobyte.
const LONGEST_PART: u64 = 4 << 30;
/// No manifest is longer, bytes: a grid and its base have at most four mebibytes each.
const LONGEST_MANIFEST: u64 = 64 << 20;

/// The dataset of a plan.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    manifest: Manifest,
}

/// Content of the manifest: equal for every executor and number of workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Manifest {
    format: u32,
    title: String,
    version: String,
    grid_sha256: String,
    cells: u64,
    runs: u64,
    parts: u64,
    /// The grid as a file that names no other.
    grid: String,
}

/// The sole sweep at work on a dataset.
#[derive(Debug)]
#[must_use]
pub struct Alone {
    _file: Option<File>,
    /// Reason why other sweeps are not kept out.
    pub warning: Option<String>,
}

/// State of some parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Numbers of the parts that are missing, ascending.
    pub open: Vec<u64>,
    /// Number of finished parts.
    pub finished: u64,
    /// Bytes of the finished parts.
    pub bytes: u64,
    /// Files that are not used, and why.
    pub refused: Vec<String>,
}

/// Work done on a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Number of parts that were made.
    pub parts: u64,
    /// Whether the user ended the work.
    pub stopped: bool,
}

impl Dataset {
    /// The dataset of `plan` in `folder`, which is created if it is missing. `version` is that of [`version`](super::version).
    ///
    /// # Errors
    /// If the folder has the dataset of another grid or version, or cannot be written.
    pub fn open(folder: &Path, plan: &Plan, version: &str) -> Result<Self, Error> {
        let manifest = Manifest {
            format: FORMAT,
            title: plan.grid().title.clone(),
            version: version.into(),
            grid_sha256: plan.grid().hash(),
            cells: plan.cells(),
            runs: plan.runs(),
            parts: plan.parts(),
            grid: plan.grid().to_toml(),
        };
        let path = folder.join(MANIFEST);
        let at = path.display().to_string();
        // Another process may begin the same folder at the same time. One of them writes the manifest, and all others read it.
        while !manifest.is_in(folder, &path, &at)? {
            let failed = |error: io::Error| wrong(&at, format!("cannot be written: {error}"));
            fs::create_dir_all(folder).map_err(failed)?;
            let text = serde_json::to_string_pretty(&manifest).expect("texts and numbers") + "\n";
            match create_whole(&path, text.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created.map_err(failed)?,
            }
        }
        Ok(Self { folder: folder.into(), manifest })
    }

    /// Keeps other sweeps out of the dataset until the value is dropped or the process ends. Those who make single parts are not
    /// kept out: they write the same bytes.
    ///
    /// # Errors
    /// If another sweep is at work on the dataset.
    pub fn alone(&self) -> Result<Alone, Error> {
        let path = self.folder.join(MANIFEST);
        let place = path.display();
        // Locks over a network need a file that can be written.
        let file = match File::options().read(true).write(true).open(&path) {
            Ok(file) => file,
            // Nothing can be written, as the first part will show.
            Err(_) => return Ok(Alone { _file: None, warning: None }),
        };
        match lock(&file) {
            Lock::Ours => Ok(Alone { _file: Some(file), warning: None }),
            Lock::Theirs => Err(wrong(place.to_string(), "another sweep is at work on this dataset")
                .expecting("its end, another folder, or --parts for a share of the work")),
            Lock::Without(error) => {
                let warning = format!(
                    "{place}: it cannot be locked ({error}), so no second sweep is kept out of the folder"
                );
                Ok(Alone { _file: None, warning: Some(warning) })
            }
        }
    }

    /// Number of parts.
    pub fn parts(&self) -> u64 {
        self.manifest.parts
    }

    /// The grid as a file that names no other.
    pub fn grid(&self) -> &str {
        &self.manifest.grid
    }

    /// SHA-256 of the grid, in hexadecimal.
    pub fn grid_sha256(&self) -> &str {
        &self.manifest.grid_sha256
    }

    /// Version of the results.
    pub fn version(&self) -> &str {
        &self.manifest.version
    }

    /// State of some parts. Every file is read, and its bytes are compared with its name.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn state(&self, parts: impl IntoIterator<Item = u64>) -> Result<State, Error> {
        let mut state = State::default();
        for part in parts {
            let folder = self.folder_of(part);
            let failed = |path: &Path, error: io::Error| {
                wrong(path.display().to_string(), format!("cannot be read: {error}"))
            };
            let mut bytes = None;
            for path in files(&folder).map_err(|error| failed(&folder, error))? {
                match self.check(part, &path).map_err(|error| failed(&path, error))? {
                    Ok(length) => bytes = Some(length),
                    Err(why) => state.refused.push(format!("{}: {why}", path.display())),
                }
            }
            match bytes {
                Some(bytes) => (state.finished, state.bytes) = (state.finished + 1, state.bytes + bytes),
                None => state.open.push(part),
            }
        }
        Ok(state)
    }

    /// Values of the named columns of table `sweep` in all finished parts, column by column, in the order of the rows.
    ///
    /// # Errors
    /// If a part is missing or cannot be read.
    pub fn columns(&self, names: &[&str]) -> Result<Vec<Vec<Value>>, Error> {
        let mut all: Vec<Vec<Value>> = vec![vec![]; names.len()];
        for part in 0..self.parts() {
            let folder = self.folder_of(part);
            let failed =
                |why: &dyn Display| wrong(folder.display().to_string(), format!("cannot be read: {why}"));
            let finished = files(&folder).map_err(|error| failed(&error))?;
            let mut whole = finished.iter().filter(|path| matches!(self.check(part, path), Ok(Ok(_))));
            let path = whole.next().ok_or_else(|| failed(&"the part is missing"))?;
            let file = File::open(path).map_err(|error| failed(&error))?;
            let read = parquet::read(file, names)
                .map_err(|error| wrong(path.display().to_string(), error.to_string()))?;
            for (column, values) in all.iter_mut().zip(read) {
                column.extend(values);
            }
        }
        Ok(all)
    }

    /// Number of these parts that have a file, which is not read.
    pub fn present(&self, parts: &[u64]) -> u64 {
        let has_file = |part: &&u64| files(&self.folder_of(**part)).is_ok_and(|files| !files.is_empty());
        parts.iter().filter(has_file).count() as u64
    }

    /// Length of the file of a part; the reason why the file is not used.
    fn check(&self, part: u64, path: &Path) -> io::Result<Result<u64, String>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some((key, sum)) = name.strip_suffix(".parquet").and_then(|name| name.split_once('-')) else {
            return Ok(Err("not the name of a part".into()));
        };
        if key != self.key(part) {
            return Ok(Err("of another version, grid or part".into()));
        }
        let mut hash = Sha256::new();
        match read_in_pieces(path, LONGEST_PART, |piece| hash.update(piece)) {
            Ok(length) if digits(hash) == sum => Ok(Ok(length)),
            Ok(_) => Ok(Err("damaged: its bytes are not those of its name".into())),
            Err(error) => match error.kind() {
                // A device, a pipe, a link to nothing.
                io::ErrorKind::InvalidInput | io::ErrorKind::NotFound => Ok(Err(error.to_string())),
                io::ErrorKind::FileTooLarge => Ok(Err(format!("longer than {LONGEST_PART} bytes"))),
                _ => Err(error),
            },
        }
    }

    /// Makes these parts in their order, and writes each when it is whole. A file that is not used is removed once its part is
    /// written.
    ///
    /// Two parts are in memory at a time: the one whose runs are made, by all threads, and the one that is written.
    ///
    /// # Errors
    /// If a cell cannot be run, or a part cannot be written. Parts that were written before stay.
    pub fn make(
        &self,
        plan: &Plan,
        parts: &[u64],
        (host, observe, threads): (&dyn Host, &Observe, usize),
        progress: &dyn Progress,
    ) -> Result<Made, Error> {
        progress.begin("runs", parts.iter().map(|&part| plan.steps(part)).sum());
        let (send, receive) = sync_channel::<(u64, Table)>(0);
        let made = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0;
                for (part, table) in receive {
                    self.write(part, &table)?;
                    written += 1;
                }
                Ok::<u64, Error>(written)
            });
            let mut halted = None;
            for &part in parts {
                match plan.part(part, host, observe, threads, progress) {
                    // The writer has failed, and reports why.
                    Ok(table) => {
                        if send.send((part, table)).is_err() {
                            break;
                        }
                    }
                    Err(halt) => {
                        halted = Some(halt);
                        break;
                    }
                }
            }
            drop(send);
            let parts = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            match halted {
                Some(Halt::Failed(error)) => Err(error),
                halted => Ok(Made { parts, stopped: halted.is_some() }),
            }
        });
        progress.finish();
        made
    }

    fn write(&self, part: u64, table: &Table) -> Result<(), Error> {
        let folder = self.folder_of(part);
        let place = folder.display().to_string();
        let failed = |error: &dyn std::fmt::Display| wrong(&place, format!("cannot be written: {error}"));
        let mut bytes = vec![];
        let about = [
            ("part", part.to_string()),
            ("grid_sha256", self.manifest.grid_sha256.clone()),
            ("version", self.manifest.version.clone()),
        ];
        let about = about.map(|(key, value)| (key.to_owned(), value)).into();
        parquet::write(table, env!("CARGO_PKG_VERSION"), about, &mut bytes)
            .map_err(|error| wrong(&place, error.to_string()))?;
        fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
        let path = folder.join(format!("{}-{}.parquet", self.key(part), sum_of(&bytes)));
        write_whole(&path, &bytes).map_err(|error| failed(&error))?;
        for other in files(&folder).map_err(|error| failed(&error))? {
            if other != path {
                // Another process may have removed it.
                let _ = fs::remove_file(other);
            }
        }
        Ok(())
    }

    /// Removes what killed processes have left beside the finished parts.
    pub fn remove_leftovers(&self) {
        let parts = (0..self.parts()).map(|part| self.folder_of(part));
        for folder in parts.chain([self.folder.clone()]) {
            remove_leftovers(&folder);
        }
    }

    fn folder_of(&self, part: u64) -> PathBuf {
        self.folder.join(format!("part={part:06}"))
    }

    fn key(&self, part: u64) -> String {
        let Manifest { version, grid_sha256, .. } = &self.manifest;
        digest([version.as_str(), grid_sha256, &part.to_string()])[..DIGITS].to_owned()
    }
}

impl Manifest {
    /// Whether the manifest is in its folder; `false` if the folder is empty, or there is none.
    ///
    /// # Errors
    /// If there is another one, or parts without one.
    fn is_in(&self, folder: &Path, path: &Path, at: &str) -> Result<bool, Error> {
        let read = || match read_text(path, LONGEST_MANIFEST) {
            Ok(text) => self.refuse_other(at, &text).map(|()| true),
            Err(_) if path.symlink_metadata().is_err_and(|it| it.kind() == io::ErrorKind::NotFound) => {
                Ok(false)
            }
            Err(why) => Err(wrong(at, format!("cannot be read: {why}"))),
        };
        if read()? {
            return Ok(true);
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let part = entries.into_iter().find(|name| name.to_string_lossy().starts_with("part="));
        match part {
            // The manifest may have come before the part, after it was looked for.
            Some(part) if !read()? => {
                let at = folder.join(part).display().to_string();
                Err(wrong(at, "a part of a dataset without manifest").expecting("a folder without parts"))
            }
            part => Ok(part.is_some()),
        }
    }

    /// Refuses the text of another manifest.
    fn refuse_other(&self, place: &str, text: &str) -> Result<(), Error> {
        let unreadable = |why: &dyn Display| wrong(place, format!("not the manifest of a sweep: {why}"));
        let found: serde_json::Value = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        let own = serde_json::to_value(self).expect("texts and numbers");
        let shown = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => clipped(text),
            other => clipped(&other.to_string()),
        };
        // The order decides which of several differences is named.
        for (key, of_dataset) in
            [("format", true), ("grid_sha256", true), ("version", true)].into_iter().chain(OTHERS)
        {
            let (own, Some(found)) = (&own[key], found.get(key)) else {
                return Err(unreadable(&format_args!("it has no {key}")));
            };
            if own == found {
                continue;
            }
            let (found, own) = (shown(found), shown(own));
            let error = if of_dataset {
                let what = key.trim_end_matches("_sha256");
                wrong(place, format!("the dataset is of another {what}: {found}, and this is {own}"))
            } else {
                wrong(place, format!("damaged: its {key} is {found}, and that of its grid is {own}"))
            };
            return Err(error.expecting("another folder, or one without dataset"));
        }
        Ok(())
    }
}

/// Keys of the manifest that follow from its grid.
const OTHERS: [(&str, bool); 5] =
    [("title", false), ("cells", false), ("runs", false), ("parts", false), ("grid", false)];

/// The Parquet files of a folder, ascending by name; none if there is no folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut found = vec![];
    for entry in entries {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|extension| extension == "parquet") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn sum_of(bytes: &[u8]) -> String {
    digits(Sha256::new_with_prefix(bytes))
}

/// The beginning of a hash, in hexadecimal.
fn digits(hash: Sha256) -> String {
    hash.finalize().iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// Numbers as ranges: `0-3,7`. The numbers are ascending.
pub fn ranges(numbers: &[u64]) -> String {
    let mut out: Vec<(u64, u64)> = vec![];
    for &number in numbers {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => out.push((number, number)),
        }
    }
    let one = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    out.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3,7,9-10");
    }
}
