//! Captures, read with a progress bar; a Ctrl-C ends the reading, and what was read is the capture.

use std::path::Path;

use firstflight::files;
pub(crate) use firstflight::files::{STANDARD_INPUT, head, is_one};
use firstflight_capture::Capture;
use firstflight_results::InputFile;

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Bytes;

/// Reads the captures `named` as one.
pub(crate) fn read(named: &[&Path]) -> Result<(InputFile, Capture), Failure> {
    Ok(interrupt::while_stoppable(|| files::read(named, &Bytes::new()))?)
}
