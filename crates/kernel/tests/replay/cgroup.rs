//! A cgroup of this process alone.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

/// A cgroup below a folder of the cgroup2 hierarchy. Dropping it moves the process back and removes the cgroup.
pub(crate) struct Cgroup {
    folder: PathBuf,
    /// Cgroup to which the process belongs otherwise.
    home: PathBuf,
}

impl Cgroup {
    /// A cgroup without processes; `root` is the hierarchy's.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let home = own.lines().find_map(|line| line.strip_prefix("0::/")).ok_or(io::ErrorKind::NotFound)?;
        let folder = root.join(format!("firstflight-test-{}", process::id()));
        fs::create_dir(&folder)?;
        Ok(Self { folder, home: root.join(home) })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Moves this process into the cgroup.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), process::id().to_string())
    }

    /// Moves this process back.
    pub(crate) fn leave(&self) -> io::Result<()> {
        fs::write(self.home.join("cgroup.procs"), process::id().to_string())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = self.leave();
        let _ = fs::remove_dir(&self.folder);
    }
}
