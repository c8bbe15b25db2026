//! Captures, read with a progress bar; a Ctrl-C ends the reading, and what was read is the capture.

use std::path::{Path, PathBuf};

use clap::Args;
use firstflight::files;
#[cfg(all(target_os = "linux", feature = "gateway"))]
pub(crate) use firstflight::files::{STANDARD_INPUT, is_one};
use firstflight_capture::Capture;
use firstflight_results::InputFile;

use crate::failure::Failure;
#[cfg(all(target_os = "linux", feature = "gateway"))]
use crate::failure::wrong_at;
use crate::interrupt;
use crate::progress::Bytes;

/// Secrets of captured connections.
#[derive(Debug, Args)]
pub(crate) struct Keys {
    /// Key log of captured QUIC connections, as TLS libraries write it to the file that SSLKEYLOGFILE names. Packets, acknowledgements and
    /// losses are then read, where they are modelled otherwise. The capture needs whole packets: tcpdump -s 0
    #[arg(long = "keylog", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

impl Keys {
    /// Reads the captures `named` as one.
    pub(crate) fn read(&self, named: &[&Path]) -> Result<(InputFile, Capture), Failure> {
        Ok(interrupt::while_stoppable(|| files::read(named, self.file.as_deref(), &Bytes::new()))?)
    }
}

/// Reads the captures `named` as one.
#[cfg(all(target_os = "linux", feature = "gateway"))]
pub(crate) fn read(named: &[&Path]) -> Result<(InputFile, Capture), Failure> {
    Keys { file: None }.read(named)
}

/// Whether `path` names captures rather than a log.
#[cfg(all(target_os = "linux", feature = "gateway"))]
pub(crate) fn are_named(path: &Path) -> Result<bool, Failure> {
    Ok(files::names_captures(path).map_err(|error| wrong_at(path.display(), error))?)
}

/// The first bytes of a file; none of standard input, which can be read once.
#[cfg(all(target_os = "linux", feature = "gateway"))]
pub(crate) fn head(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(vec![]);
    }
    Ok(files::head(path).map_err(|error| wrong_at(path.display(), error))?)
}
