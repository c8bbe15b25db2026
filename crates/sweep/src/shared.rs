//! Files of a folder that several processes write at the same time.
//!
//! Locks are those of `flock(2)`: the system releases them when their process ends, however it ends.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use firstflight_document::file::open;

/// End of the names of files that are being written.
const TEMPORARY: &str = ".part";

/// Result of asking for a lock.
#[derive(Debug)]
pub(super) enum Lock {
    /// This process has it until the file is closed.
    Ours,
    /// Another process has it.
    Theirs,
    /// The file system has no locks.
    Without(io::Error),
}

/// Asks for the lock of a file, without waiting.
#[cfg(unix)]
pub(super) fn lock(file: &File) -> Lock {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Lock::Ours,
        Err(Errno::WOULDBLOCK) => Lock::Theirs,
        Err(error) => Lock::Without(error.into()),
    }
}

/// Asks for the lock of a file, without waiting.
#[cfg(not(unix))]
pub(super) fn lock(_file: &File) -> Lock {
    Lock::Without(io::ErrorKind::Unsupported.into())
}

/// Writes a file that appears under its name only when it is whole, and replaces another one of this name.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    written(path, bytes, |temporary| fs::rename(temporary, path))
}

/// Writes a file that appears under its name only when it is whole.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is a file of this name, which stays as it is.
pub(super) fn create_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    written(path, bytes, |temporary| {
        match fs::hard_link(temporary, path) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                return Err(error);
            }
            // A file system without links.
            Err(_) => File::create_new(path)?.write_all(bytes)?,
        }
        let _ = fs::remove_file(temporary);
        Ok(())
    })
}

/// Writes a temporary file, and lets `place` give it its name.
fn written(path: &Path, bytes: &[u8], place: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    /// Another process may take the file for a leftover once: between its creation and its lock.
    const ATTEMPTS: u32 = 3;
    let mut attempt = 1;
    loop {
        let (temporary, mut file) = temporary(path)?;
        let _ = lock(&file);
        let done = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| place(&temporary));
        match done {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => attempt += 1,
            Err(error) => {
                let _ = fs::remove_file(temporary);
                return Err(error);
            }
        }
    }
}

/// A new file beside `path`. Processes of other machines may have the same number.
fn temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 0_u32;
    loop {
        let temporary = path.with_file_name(format!(".{name}.{}.{number}{TEMPORARY}", std::process::id()));
        match File::create_new(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return Ok((temporary, created?)),
        }
    }
}

/// Removes the temporary files in `folder` whose processes have ended.
pub(super) fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') || !name.ends_with(TEMPORARY) {
            continue;
        }
        // Locks over a network need a file that can be written.
        let regular = open(&entry.path()).and_then(|_| File::options().write(true).open(entry.path()));
        if regular.is_ok_and(|file| matches!(lock(&file), Lock::Ours)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Gives all bytes of a regular file of at most `most` bytes to `take`, and returns their number.
///
/// # Errors
/// That of the system; [`io::ErrorKind::InvalidInput`] if the file is no regular file, and [`io::ErrorKind::FileTooLarge`] if it is
/// longer.
pub(super) fn read_in_pieces(path: &Path, most: u64, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut file = open(path)?;
    let (mut piece, mut length) = (vec![0; 1 << 16], 0);
    if file.metadata()?.len() > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(length),
            Ok(read) => {
                length += read as u64;
                take(&piece[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if length > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}
