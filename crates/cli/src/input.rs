//! The input of `compare`: a capture, a scenario or a preset, recognised by its name and content.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use firstflight_capture::{Capture, read_from};
use firstflight_results::InputFile;
use firstflight_scenario::preset::{PRESETS, preset};
use firstflight_scenario::{Loaded, file, load, nearest};
use firstflight_study::compare::{Input, Known, is_capture};
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Reads the input `named`, in any encoding. For a capture, `known` gives the path values that replace inferred ones.
pub(crate) fn input(named: &OsStr, known: impl FnOnce() -> Result<Known, Failure>) -> Result<Input, Failure> {
    let path = Path::new(named);
    let named = named.to_string_lossy();
    // A folder with the name of a preset does not hide the preset.
    match preset(&named) {
        Ok(preset) if !path.exists() || path.is_dir() => return Ok(Input::Preset(preset)),
        Err(_) if !path.exists() => return Err(Failure::new(neither(&named))),
        _ => {}
    }
    match recognise(path).map_err(|error| unreadable(&named, &error))? {
        Kind::Capture => {
            let known = known()?;
            let (file, capture) = read_capture(path)?;
            Ok(Input::Capture { file, capture: Box::new(capture), known })
        }
        Kind::Text => Ok(Input::Scenario(Box::new(scenario(path)?))),
        Kind::Other => Err(Failure::new(format!(
            "{named}: neither a capture nor a scenario; expected a pcap or pcapng file, or TOML text"
        ))),
    }
}

fn scenario(path: &Path) -> Result<Loaded, Failure> {
    Ok(load(path)?)
}

fn neither(named: &str) -> String {
    let names = PRESETS.iter().map(|preset| preset.name);
    let mut why = format!(
        "{named}: no file and no path preset has this name; expected a capture (pcap, pcapng), a scenario (TOML) or one \
         of: {}",
        names.clone().collect::<Vec<_>>().join(", ")
    );
    if let Some(nearest) = nearest(named, names) {
        why += &format!("; did you mean \"{nearest}\"?");
    }
    why
}

fn unreadable(named: &str, error: &io::Error) -> Failure {
    Failure::new(format!("{named}: cannot be read: {error}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Capture,
    Text,
    Other,
}

fn recognise(path: &Path) -> io::Result<Kind> {
    let mut head = vec![];
    file::open(path)?.take(512).read_to_end(&mut head)?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // A file with the extension of captures is read as one, so that the error describes the capture.
    let named = ["pcap", "pcapng", "cap"].iter().any(|word| extension.eq_ignore_ascii_case(word));
    Ok(match () {
        () if named || is_capture(&head) => Kind::Capture,
        () if head.contains(&0) => Kind::Other,
        () => Kind::Text,
    })
}

fn read_capture(path: &Path) -> Result<(InputFile, Capture), Failure> {
    let named = path.display().to_string();
    let file = file::open(path).map_err(|error| unreadable(&named, &error))?;
    let mut file = Digested { inner: file, digest: Sha256::new(), bytes: 0 };
    let capture = read_from(&mut file, path).map_err(Failure::new)?;
    // The reader may stop before the end of the file; the digest covers the whole file.
    io::copy(&mut file, &mut io::sink()).map_err(|error| unreadable(&named, &error))?;
    let sha256 = file.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_name().map_or(named, |name| name.to_string_lossy().into_owned());
    Ok((InputFile { name, bytes: file.bytes, sha256 }, capture))
}

/// Reader that computes the digest of the bytes read.
struct Digested<R> {
    inner: R,
    digest: Sha256,
    bytes: u64,
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn the_digest_covers_every_byte_read() {
        // FIPS 180-2, appendix B.1: SHA-256 of "abc".
        let mut digested = Digested { inner: Cursor::new(b"abc"), digest: Sha256::new(), bytes: 0 };
        io::copy(&mut digested, &mut io::sink()).expect("memory can be read");
        let hex: String = digested.digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digested.bytes, 3);
    }
}
