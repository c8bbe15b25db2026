//! The file system as the store uses it, so that tests can make every step fail.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::files;

/// A file system.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Opens a file to read it; [`None`] if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Stored>>>;

    /// Begins a file anew.
    ///
    /// # Errors
    /// It cannot be written.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Stored>>;

    /// Gives a file another name, in place of the file that has it.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    /// The folder cannot be written.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Waits until the names in a folder are durable.
    ///
    /// # Errors
    /// They may not be.
    fn sync(&self, folder: &Path) -> io::Result<()>;
}

/// An open file.
pub(crate) trait Stored: Read + Write + Seek + Debug + Send {
    /// Waits until the contents are durable.
    ///
    /// # Errors
    /// They may not be.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file to this many bytes.
    ///
    /// # Errors
    /// It is as long as before.
    fn cut(&self, length: u64) -> io::Result<()>;
}

/// The file system of the machine.
#[derive(Debug)]
pub(crate) struct Machine;

impl Disk for Machine {
    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Stored>>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Box::new(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Stored>> {
        Ok(Box::new(files::own(path, false)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

impl Stored for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Puts a complete file in place of the one at `path`, by way of a file beside it, which is returned open. It stays there
/// for certain only after [`sync_folder`]; until then a crash may bring the old one back.
///
/// # Errors
/// A step failed; the old file is there.
pub(crate) fn replace(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&mut dyn Stored) -> io::Result<()>,
) -> io::Result<Box<dyn Stored>> {
    let beside = path.with_added("new");
    let written = disk.create(&beside).and_then(|mut file| {
        write(&mut *file)?;
        file.sync()?;
        disk.rename(&beside, path)?;
        Ok(file)
    });
    written.inspect_err(|_| {
        // It takes room that the next attempt needs.
        let _ = disk.remove(&beside);
    })
}

/// Waits until the name of a file is durable.
///
/// # Errors
/// It may not be.
pub(crate) fn sync_folder(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    disk.sync(path.parent().unwrap_or(Path::new(".")))
}

/// A path with a word behind it.
pub(crate) trait Added {
    /// `PATH.WORD`.
    fn with_added(&self, word: &str) -> std::path::PathBuf;
}

impl Added for Path {
    fn with_added(&self, word: &str) -> std::path::PathBuf {
        let mut name = self.as_os_str().to_owned();
        name.push(".");
        name.push(word);
        name.into()
    }
}
