//! Inputs from files: captures, scenarios and presets, recognised by name and content.

mod captures;
mod rings;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use firstflight_compare::{Identity, Input, Known};
use firstflight_document::{Error, nearest};
use firstflight_hosts::progress::Progress;
use firstflight_scenario::load_with;
use firstflight_scenario::preset::{PRESETS, preset};
use firstflight_schemes::catalogue::Schemes;

pub use captures::{STANDARD_INPUT, head, is_one, names_captures, read};

/// Reads the input `named` of a comparison: captures, one scenario, or the name of one preset. `schemes` are those that a
/// scenario may name. For captures, `known` gives the path values that replace inferred ones, and `progress` counts the bytes
/// read, as in [`read`]. `keys` is a key log of captures of QUIC.
///
/// # Errors
/// [`Error`] if there is no such file or preset, a file cannot be read, or the files are neither captures nor a scenario.
pub fn input<E: From<Error>>(
    named: &[OsString],
    schemes: &Schemes,
    known: impl FnOnce() -> Result<Known, E>,
    keys: Option<&Path>,
    progress: &dyn Progress,
) -> Result<Input, E> {
    if let [only] = named
        && let Some(input) = no_capture(Path::new(only), schemes)?
    {
        return match keys {
            Some(path) => Err(unused_keys(path).into()),
            None => Ok(input),
        };
    }
    if named.len() > 1 {
        for one in named {
            refuse_beside_captures(Path::new(one))?;
        }
    }
    let known = known()?;
    let paths: Vec<_> = named.iter().map(Path::new).collect();
    let (file, capture) = read(&paths, keys, progress)?;
    Ok(Input::Capture { file, capture: Box::new(capture), known, identity: Identity::default() })
}

/// The error that a key log is given and the input is no capture.
pub fn unused_keys(path: &Path) -> Error {
    let why = format!("{}: a key log opens packets of captures, and the input is none", path.display());
    Error::invalid(why).expecting("a capture (pcap, pcapng) of QUIC beside it")
}

/// The preset or the scenario at `path`; `None` if it is a capture.
fn no_capture(path: &Path, schemes: &Schemes) -> Result<Option<Input>, Error> {
    let named = path.to_string_lossy();
    if named == STANDARD_INPUT {
        return Ok(None);
    }
    // A folder with the name of a preset does not hide the preset.
    match preset(&named) {
        Ok(preset) if !path.exists() || path.is_dir() => return Ok(Some(Input::Preset(preset))),
        Err(_) if !path.exists() && rings::ring(path).files.is_empty() => {
            return Err(Error::invalid(neither(&named)));
        }
        _ => {}
    }
    match recognise(path).map_err(|error| unreadable(&named, &error))? {
        Kind::Capture => Ok(None),
        Kind::Text => Ok(Some(Input::Scenario(Box::new(load_with(path, schemes)?)))),
        Kind::Other => Err(Error::invalid(format!(
            "{named}: neither a capture nor a scenario; expected a pcap or pcapng file, also compressed with gzip or zstd, \
             or TOML text"
        ))),
    }
}

/// Refuses what cannot be read together with a capture.
fn refuse_beside_captures(path: &Path) -> Result<(), Error> {
    let named = path.to_string_lossy();
    let wrong = |what: &str| {
        Error::invalid(format!(
            "{named}: {what} cannot be combined with other inputs; expected captures only, or {what} alone"
        ))
    };
    if named == STANDARD_INPUT {
        return Err(wrong("standard input"));
    }
    if !path.exists() && rings::ring(path).files.is_empty() {
        return Err(match preset(&named) {
            Ok(_) => wrong("a path preset"),
            Err(_) => Error::invalid(format!("{named}: there is no such file")),
        });
    }
    match recognise(path).map_err(|error| unreadable(&named, &error))? {
        Kind::Capture => Ok(()),
        Kind::Text => Err(wrong("a scenario")),
        Kind::Other => Err(Error::invalid(format!(
            "{named}: not a capture; expected a pcap or pcapng file, also compressed with gzip or zstd"
        ))),
    }
}

/// The error that a name is neither that of a file nor of a preset, as text.
pub fn neither(named: &str) -> String {
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

fn unreadable(named: &str, error: &io::Error) -> Error {
    Error::invalid(format!("{named}: cannot be read: {error}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Capture,
    Text,
    Other,
}

fn recognise(path: &Path) -> io::Result<Kind> {
    // A folder of captures, or the files of a ring.
    if path.is_dir() || !path.exists() {
        return Ok(Kind::Capture);
    }
    let head = captures::head(path)?;
    Ok(match () {
        () if captures::is_one(path, &head) => Kind::Capture,
        () if head.contains(&0) => Kind::Other,
        () => Kind::Text,
    })
}
