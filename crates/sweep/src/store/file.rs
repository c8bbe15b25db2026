//! The file of a store.
//!
//! A record is one line, `{"run":"...","version":"...","value":...,"sum":"0123456789abcdef"}`. The sum is the beginning of
//! the SHA-256 of all bytes of the line before `,"sum"`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use firstflight_document::file::open;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Damage, Inner, Store};
use crate::{Error, digest, wrong};

/// Between a record and its sum.
const SUM: &str = ",\"sum\":\"";
/// Hexadecimal digits of the sum.
const DIGITS: usize = 16;
/// After the sum.
const END: &str = "\"}";

/// A file that grows by whole lines.
#[derive(Debug)]
pub(super) struct Appender {
    path: PathBuf,
    file: File,
}

#[derive(Serialize)]
struct Written<'a, T> {
    run: &'a str,
    version: &'a str,
    value: &'a T,
}

/// A record without its value, which belongs to a version.
#[derive(Deserialize)]
struct Head {
    run: String,
    version: String,
}

#[derive(Deserialize)]
struct Value<T> {
    value: T,
}

impl<T: Serialize + DeserializeOwned> Store<T> {
    /// Opens the store in the file at `path`; creates the file if it does not exist. Results of other versions stay in the
    /// file and are not used. Damaged records are reported by [`Store::damage`] and overwritten with spaces.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(path: &Path, version: &str) -> Result<Self, Error> {
        let failed = |verb: &str, error: io::Error| {
            wrong(path.display().to_string(), format!("cannot be {verb}: {error}"))
        };
        let mut bytes = vec![];
        match open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("read", error)),
            _ => {}
        }
        let (known, damaged) = read(&bytes, version);
        if !damaged.is_empty() {
            erase(path, &damaged).map_err(|error| failed("written", error))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = Appender { path: path.into(), file: file.map_err(|error| failed("written", error))? };
        let inner = Mutex::new(Inner { known, file: Some(file) });
        let damage = damaged.into_iter().map(|one| one.damage).collect();
        Ok(Self { version: version.into(), inner, damage })
    }
}

impl<T: Serialize> Store<T> {
    /// Stores the result of a run.
    ///
    /// # Errors
    /// If the file cannot be written, or the value is not representable in JSON.
    pub fn put(&self, run: &str, value: T) -> Result<(), Error> {
        let mut inner = self.lock();
        if let Some(Appender { path, file }) = &mut inner.file {
            let failed = |why: String| wrong(path.display().to_string(), format!("cannot be written: {why}"));
            let line = line(&Written { run, version: &self.version, value: &value });
            let line = line.map_err(|error| failed(error.to_string()))?;
            // The line break before the record ends a line that an interruption left unfinished.
            file.write_all(format!("\n{line}\n").as_bytes()).map_err(|error| failed(error.to_string()))?;
        }
        inner.known.insert(run.into(), value);
        Ok(())
    }
}

/// A record with its sum.
fn line(record: &impl Serialize) -> serde_json::Result<String> {
    let record = serde_json::to_string(record)?;
    let body = record.strip_suffix('}').expect("an object");
    Ok(format!("{body}{SUM}{}{END}", sum(body)))
}

fn sum(body: &str) -> String {
    digest([body])[..DIGITS].to_owned()
}

/// The record of a line whose sum matches, without the sum.
fn intact(line: &[u8]) -> Option<String> {
    let text = str::from_utf8(line).ok()?;
    let (body, given) = text.strip_suffix(END)?.rsplit_once(SUM)?;
    (sum(body) == given).then(|| format!("{body}}}"))
}

/// A damaged line and its place in the file.
struct Damaged {
    damage: Damage,
    from: usize,
    length: usize,
}

/// Results of `version`, and damaged lines.
fn read<T: DeserializeOwned>(bytes: &[u8], version: &str) -> (BTreeMap<String, T>, Vec<Damaged>) {
    let (mut known, mut damaged) = (BTreeMap::new(), vec![]);
    let mut from = 0;
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let begin = from;
        from += line.len() + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record =
            intact(line).and_then(|record| Some((serde_json::from_str::<Head>(&record).ok()?, record)));
        let read = match record {
            Some((head, _)) if head.version != version => continue,
            Some((head, record)) => {
                serde_json::from_str::<Value<T>>(&record).ok().map(|one| (head.run, one.value))
            }
            None => None,
        };
        match read {
            Some((run, value)) => {
                known.insert(run, value);
            }
            None => {
                let damage = Damage { line: number, run: run_of(line) };
                damaged.push(Damaged { damage, from: begin, length: line.len() });
            }
        }
    }
    (known, damaged)
}

/// The name of the run in a damaged line, if its beginning is still readable.
fn run_of(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"{\"run\":\"")?;
    let end = rest.iter().position(|&byte| byte == b'"')?;
    let readable = rest[..end].iter().all(|byte| (b' '..=b'~').contains(byte));
    readable.then(|| String::from_utf8_lossy(&rest[..end]).into_owned())
}

/// Overwrites damaged lines with spaces, so that they are reported once.
fn erase(path: &Path, damaged: &[Damaged]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    for Damaged { from, length, .. } in damaged {
        file.seek(SeekFrom::Start(*from as u64))?;
        file.write_all(&vec![b' '; *length])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of its own, removed with the value.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("firstflight-store-{name}-{}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            Self(path)
        }

        fn open(&self, version: &str) -> Store<Vec<f64>> {
            Store::open(&self.0, version).unwrap_or_else(|error| panic!("{error}"))
        }

        /// Three runs of version 1.
        fn filled(name: &str) -> Self {
            let scratch = Self::new(name);
            let store = scratch.open("1");
            for i in 0..3_u32 {
                store.put(&format!("run {i}"), vec![f64::from(i), 0.1]).expect("writable");
            }
            scratch
        }

        fn bytes(&self) -> Vec<u8> {
            std::fs::read(&self.0).expect("there")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn known(store: &Store<Vec<f64>>) -> Vec<Option<Vec<f64>>> {
        (0..3).map(|i| store.get(&format!("run {i}"))).collect()
    }

    #[test]
    fn stored_results_are_read_again_by_the_same_version_only() {
        let scratch = Scratch::filled("versions");
        assert_eq!(known(&scratch.open("1")), [0.0, 1.0, 2.0].map(|i| Some(vec![i, 0.1])));
        assert_eq!(known(&scratch.open("2")), [None, None, None]);
        assert!(scratch.open("2").damage().is_empty());
    }

    #[test]
    fn a_flipped_bit_loses_its_run_and_changes_no_result() {
        let whole = Scratch::filled("flips").bytes();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (known, damaged) = read::<Vec<f64>>(&bytes, "1");
            assert!(known.len() < 3 && !damaged.is_empty(), "bit {bit}: not noticed");
            for (run, value) in &known {
                let i: f64 = run.strip_prefix("run ").and_then(|i| i.parse().ok()).expect("a name as stored");
                assert_eq!(*value, [i, 0.1], "bit {bit}");
            }
        }
    }

    /// The file is cut at every byte, as by a kill in the middle of a write, and then continued.
    #[test]
    fn a_file_cut_anywhere_keeps_every_whole_record_and_takes_new_ones() {
        let scratch = Scratch::filled("cuts");
        let whole = scratch.bytes();
        for cut in 0..whole.len() {
            std::fs::write(&scratch.0, &whole[..cut]).expect("writable");
            let store = scratch.open("1");
            let before = known(&store);
            for i in (0..3).filter(|&i| before[i].is_none()) {
                store.put(&format!("run {i}"), vec![i as f64, 0.1]).expect("writable");
            }
            let again = scratch.open("1");
            assert_eq!(known(&again), [0.0, 1.0, 2.0].map(|i| Some(vec![i, 0.1])), "cut at {cut}");
            assert!(again.damage().is_empty(), "cut at {cut}: {:?}", again.damage());
        }
    }

    #[test]
    fn damage_names_line_and_run_once() {
        let scratch = Scratch::filled("names");
        let text = String::from_utf8(scratch.bytes()).expect("UTF-8");
        std::fs::write(&scratch.0, text.replace("[1.0,0.1]", "[1.5,0.1]")).expect("writable");
        let store = scratch.open("1");
        // Every record follows an empty line.
        assert_eq!(store.damage(), [Damage { line: 4, run: Some("run 1".into()) }]);
        assert_eq!(known(&store), [Some(vec![0.0, 0.1]), None, Some(vec![2.0, 0.1])]);
        assert!(scratch.open("1").damage().is_empty());
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_damage() {
        let scratch = Scratch::filled("utf8");
        let mut bytes = scratch.bytes();
        bytes.extend_from_slice(b"\xff\xfe\n");
        std::fs::write(&scratch.0, bytes).expect("writable");
        let store = scratch.open("1");
        assert_eq!((store.damage().len(), known(&store).iter().flatten().count()), (1, 3));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_reported_as_such() {
        let error = Store::<f64>::open(&std::env::temp_dir(), "1").expect_err("a folder");
        assert!(
            error.to_string().ends_with("cannot be read: it is a directory; expected a regular file"),
            "{error}"
        );
        #[cfg(unix)]
        {
            let error = Store::<f64>::open(Path::new("/dev/zero"), "1").expect_err("a device");
            assert_eq!(
                error.to_string(),
                "/dev/zero: cannot be read: it is a device; expected a regular file"
            );
        }
    }
}
