//! Captures of one file, of several, of a folder, of the ring of `tcpdump -C`, or on standard input, read as one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

#[cfg(feature = "keys")]
use firstflight_capture::KeyLog;
use firstflight_capture::{Capture, Connection, Next, Reader, Source, first_packet_time, unpacked_head};
use firstflight_compare::is_capture;
use firstflight_document::{Error, file};
use firstflight_hosts::progress::Progress;
use firstflight_results::InputFile;
use sha2::{Digest, Sha256};

use super::rings::{self, Ring, ring};

/// Name of standard input on the command line.
pub const STANDARD_INPUT: &str = "-";

/// Whether a file is a capture by its first bytes, or has the name of one.
pub fn is_one(path: &Path, head: &[u8]) -> bool {
    has_name_of_one(path) || is_capture(head)
}

/// Whether a name ends as those of captures do: `x.pcap`, `x.pcap07` of a ring, `x.pcapng.gz`. Such a file is read as a
/// capture, so that an error describes it as one.
fn has_name_of_one(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    // compressions that are refused by name, too
    let packed = [".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip"];
    let name = packed.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    rings::CAPTURES.iter().chain(&LOGS).any(|end| name.ends_with(end))
}

/// Endings of qlogs.
const LOGS: [&str; 2] = [".qlog", ".sqlog"];

/// Files to read as one capture.
#[derive(Debug, Default)]
struct Files {
    paths: Vec<PathBuf>,
    warnings: Vec<String>,
}

impl Files {
    /// Adds a file, the captures of a folder or the files of a ring.
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        if !path.is_dir() {
            let Ring { files, warnings } = ring(path);
            self.warnings.extend(warnings);
            self.paths.extend(if files.is_empty() { vec![path.into()] } else { files });
            return Ok(());
        }
        let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
        let mut files: Vec<_> =
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        let all = files.len();
        files.retain(|path| head(path).is_ok_and(|head| is_capture(&head)));
        let place = path.display();
        if files.is_empty() {
            return Err(Error::invalid(format!(
                "{place}: the folder contains no capture; expected pcap or pcapng files, plain or compressed with gzip or \
                 zstd"
            )));
        }
        match all - files.len() {
            0 => {}
            1 => self.warnings.push(format!("{place}: one file is no capture and is passed over")),
            others => {
                self.warnings.push(format!("{place}: {others} files are no captures and are passed over"))
            }
        }
        self.paths.extend(files);
        Ok(())
    }

    /// Puts the files in the order of their first packets, each once.
    fn sort(&mut self) -> Result<(), Error> {
        if self.paths.len() < 2 {
            return Ok(());
        }
        self.paths.sort();
        let mut known = BTreeSet::new();
        self.paths.retain(|path| known.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
        let timed = std::mem::take(&mut self.paths).into_iter().map(|path| {
            let file = file::open(&path).map_err(|error| unreadable(&path, &error))?;
            let time = first_packet_time(file, &path).map_err(invalid)?;
            Ok((time, path))
        });
        let mut timed = timed.collect::<Result<Vec<_>, Error>>()?;
        timed.sort();
        self.paths = timed.into_iter().map(|(_, path)| path).collect();
        Ok(())
    }

    /// Names the rings of which only some files are read.
    fn name_partial_rings(&mut self) {
        let mut told = BTreeSet::new();
        for path in &self.paths {
            let Some(whole) = rings::whole(path).filter(|whole| told.insert(whole.clone())) else { continue };
            let files = ring(&whole).files;
            let missing = files.iter().filter(|file| !self.paths.contains(file)).count();
            if missing > 0 {
                self.warnings.push(format!(
                    "{}: {missing} of the {} files of its ring {} not read; {} stands for all of them",
                    path.display(),
                    files.len(),
                    if missing == 1 { "is" } else { "are" },
                    whole.display()
                ));
            }
        }
    }

    /// Name of all files together.
    fn name(&self) -> String {
        let first = self.paths.first().map(|path| base(path)).unwrap_or_default();
        match self.paths.len() {
            0 | 1 => first,
            2 => format!("{first} and 1 more file"),
            count => format!("{first} and {} more files", count - 1),
        }
    }
}

/// The first bytes of a file.
pub fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = vec![];
    file::open(path)?.take(512).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether `path` names captures rather than a log or another text: a folder, the files of a ring, or a file that is one by its
/// name or its first bytes, also within gzip or zstd. Standard input, which can be read once, is no capture.
///
/// # Errors
/// The error of the operating system if the file cannot be read.
pub fn names_captures(path: &Path) -> io::Result<bool> {
    if path.as_os_str() == OsStr::new(STANDARD_INPUT) {
        return Ok(false);
    }
    if path.is_dir() || !path.exists() && !ring(path).files.is_empty() {
        return Ok(true);
    }
    let file = file::open(path)?;
    Ok(has_name_of_one(path) || unpacked_head(file, 512).map_or(true, |head| is_capture(&head)))
}

/// Reads the captures `named` as one: files, folders of captures, the files of a ring by the name that they were made from, or `-` for
/// standard input. The digest is
/// that of their bytes one after another. `progress` counts bytes, of a total of 0 if their number is unknown; what is read until
/// it is [stopped](Progress::stopped) is the capture. `keys` is the key log that opens packets of QUIC.
///
/// # Errors
/// [`Error`] if a file cannot be read, there is no capture with connections that carried data, or the key log is none.
pub fn read(
    named: &[&Path],
    keys: Option<&Path>,
    progress: &dyn Progress,
) -> Result<(InputFile, Capture), Error> {
    let reader = match keys {
        Some(path) => opening(path)?,
        None => Reader::default(),
    };
    let (file, mut capture) = read_all(reader, named, progress)?;
    let is_quic = |one: &Connection| matches!(one.source, Source::Opened | Source::Datagrams);
    if let Some(path) = keys.filter(|_| !capture.connections.iter().any(is_quic)) {
        let place = path.display();
        capture
            .warnings
            .push(format!("{place}: the key log is not used: the capture has no packets of QUIC"));
    }
    Ok((file, capture))
}

/// A reader that opens packets by a key log.
#[cfg(feature = "keys")]
fn opening(path: &Path) -> Result<Reader, Error> {
    Ok(Reader::with_keys(key_log(path)?))
}

#[cfg(not(feature = "keys"))]
fn opening(path: &Path) -> Result<Reader, Error> {
    let why = "this program was built without its feature keys; `make build` builds one that reads key logs";
    Err(Error::invalid(format!("{}: {why}", path.display())))
}

/// Reads a key log.
#[cfg(feature = "keys")]
fn key_log(path: &Path) -> Result<KeyLog, Error> {
    let mut text = vec![];
    let most = KeyLog::MOST as u64;
    let input = file::open(path).map_err(|error| unreadable(path, &error))?;
    input.take(most + 1).read_to_end(&mut text).map_err(|error| unreadable(path, &error))?;
    let wrong = |why: String| Error::invalid(format!("{}: {why}", path.display()));
    if text.len() as u64 > most {
        return Err(wrong(format!("the key log is too large; expected at most {} MiB", most >> 20)));
    }
    let text = String::from_utf8(text).map_err(|_| {
        wrong(
            "not a key log: it is no text; expected lines such as CLIENT_TRAFFIC_SECRET_0 RANDOM SECRET"
                .into(),
        )
    })?;
    KeyLog::parse(&text).map_err(wrong)
}

fn read_all(
    mut reader: Reader,
    named: &[&Path],
    progress: &dyn Progress,
) -> Result<(InputFile, Capture), Error> {
    let mut digest = Digested { digest: Sha256::new(), bytes: 0 };
    if let [only] = named
        && only.as_os_str() == OsStr::new(STANDARD_INPUT)
    {
        let input = io::stdin();
        if input.is_terminal() {
            return Err(Error::invalid(
                "-: standard input is a terminal; expected a capture, as in: tcpdump -w - | firstflight compare -",
            ));
        }
        progress.begin("reading", 0);
        let place = Path::new("standard input");
        add(&mut reader, input.lock(), place, &mut digest, progress)?;
        progress.finish();
        let capture = reader.finish(place).map_err(invalid)?;
        return Ok((digest.file("standard input".into()), capture));
    }
    let mut files = Files::default();
    for path in named {
        files.add(path)?;
    }
    files.sort()?;
    files.name_partial_rings();
    let sizes = files.paths.iter().map(|path| fs::metadata(path).map_or(0, |data| data.len()));
    progress.begin("reading", sizes.sum());
    for path in &files.paths {
        let input = file::open(path).map_err(|error| unreadable(path, &error))?;
        if add(&mut reader, input, path, &mut digest, progress)? == Next::Stop {
            break;
        }
    }
    progress.finish();
    let first = files.paths.first().map_or(Path::new(""), PathBuf::as_path);
    let mut capture = reader.finish(first).map_err(invalid)?;
    capture.warnings.extend(std::mem::take(&mut files.warnings));
    Ok((digest.file(files.name()), capture))
}

/// Reads a file to its end, or until the reading is stopped.
fn add(
    reader: &mut Reader,
    input: impl Read,
    place: &Path,
    digest: &mut Digested,
    progress: &dyn Progress,
) -> Result<Next, Error> {
    let mut input = Observed { inner: input, digest, progress };
    let mut goes_on = || if progress.stopped() { Next::Stop } else { Next::Continue };
    let next = reader.add(&mut input, place, &mut goes_on).map_err(invalid)?;
    if next == Next::Continue {
        // The reader may stop before the end of the file; the digest covers the whole file.
        io::copy(&mut input, &mut io::sink()).map_err(|error| unreadable(place, &error))?;
    }
    Ok(next)
}

fn invalid(problem: impl Display) -> Error {
    Error::invalid(problem.to_string())
}

/// File name without folders.
fn base(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::invalid(format!("{}: cannot be read: {error}", path.display()))
}

/// Digest and length of the bytes read.
struct Digested {
    digest: Sha256,
    bytes: u64,
}

impl Digested {
    fn file(self, name: String) -> InputFile {
        let sha256 = self.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        InputFile { name, bytes: self.bytes, sha256 }
    }
}

/// Reader that computes the digest of the bytes read and shows the progress.
struct Observed<'a, R> {
    inner: R,
    digest: &'a mut Digested,
    progress: &'a dyn Progress,
}

impl<R: Read> Read for Observed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.digest.digest.update(&buffer[..read]);
        self.digest.bytes += read as u64;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use firstflight_hosts::progress::Silent;

    use super::*;

    #[test]
    fn the_digest_covers_every_byte_read() {
        // FIPS 180-2, appendix B.1: SHA-256 of "abc".
        let mut digest = Digested { digest: Sha256::new(), bytes: 0 };
        for part in [&b"a"[..], b"bc"] {
            let mut observed = Observed { inner: Cursor::new(part), digest: &mut digest, progress: &Silent };
            io::copy(&mut observed, &mut io::sink()).expect("memory can be read");
        }
        let file = digest.file("abc".into());
        assert_eq!(file.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(file.bytes, 3);
    }

    #[test]
    fn captures_are_known_by_their_names() {
        for name in ["a.pcap", "A.PCAPNG", "a.cap", "day.pcap12", "a.pcap.gz", "ring.pcap07.zst", "x/.pcap"] {
            assert!(has_name_of_one(Path::new(name)), "{name}");
        }
        for name in ["a.toml", "pcap", "a.gz", "a.pcap.toml", "a.pcap1x"] {
            assert!(!has_name_of_one(Path::new(name)), "{name}");
        }
    }
}
