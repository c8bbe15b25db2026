//! The locks of a gateway: they end with the process that has them, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::files;

/// A lock that is held.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Locks a state folder.
    ///
    /// # Errors
    /// Another process has it, or its file cannot be opened.
    pub(crate) fn take(folder: &Path) -> io::Result<Self> {
        let mut lock = Self::held(Self::options().create(true).truncate(false).mode(0o600), folder)?;
        // For people only; a full disk does not keep a gateway from its folder.
        let _ = lock.0.set_len(0).and_then(|()| writeln!(lock.0, "{}", std::process::id()));
        Ok(lock)
    }

    /// Finds out whether a process has a state folder; nothing is made there.
    ///
    /// # Errors
    /// One has, or the file of its lock cannot be opened.
    pub(crate) fn is_free(folder: &Path) -> io::Result<()> {
        match Self::held(&mut Self::options(), folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Root may open it in a folder of another user, who may have put something else there.
    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        options
    }

    fn held(options: &mut OpenOptions, folder: &Path) -> io::Result<Self> {
        let mut file = options.open(folder.join(files::LOCK))?;
        let data = file.metadata()?;
        if !data.is_file() || data.nlink() != 1 {
            let why = format!("expected {} as a regular file with this name only", files::LOCK);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if is_locked(&file)? {
            return Ok(Self(file));
        }
        let mut holder = String::new();
        // The number is for people only.
        let _ = file.read_to_string(&mut holder);
        let why = format!(
            "another gateway, process {}, has this folder; expected a folder of its own (`state` in the configuration, or \
             --state)",
            holder.trim()
        );
        Err(io::Error::new(io::ErrorKind::WouldBlock, why))
    }

    /// Locks a cgroup: two gateways would both start its connections.
    ///
    /// # Errors
    /// Another process has it, or it cannot be opened.
    pub(crate) fn take_cgroup(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        if !is_locked(&file)? {
            let why = "another gateway starts the connections of this cgroup; expected one gateway for each (`cgroup` in the \
                       configuration, or --cgroup)";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
        }
        Ok(Self(file))
    }
}

/// Locks a file; false if another process has it.
fn is_locked(file: &File) -> io::Result<bool> {
    // SAFETY: the descriptor is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}
