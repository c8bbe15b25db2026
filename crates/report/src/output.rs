//! Output folders in which either all files appear complete, or none.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// A folder being written. Files are staged under temporary names, and [`Folder::commit`] renames them together. A
/// `Folder` dropped before that removes its files and the folders that it created; [`discard_unfinished`] and
/// [`discard_on_panic`] do the same for all folders when the process ends without dropping them.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    /// Key in [`UNFINISHED`].
    key: u64,
    /// Temporary and final paths.
    staged: Vec<(PathBuf, PathBuf)>,
}

/// Files and folders that the uncommitted [`Folder`]s of this process have created, and that must be removed if the process
/// ends.
static UNFINISHED: Mutex<Unfinished> = Mutex::new(Unfinished { next: 0, folders: BTreeMap::new() });

#[derive(Debug)]
struct Unfinished {
    next: u64,
    folders: BTreeMap<u64, Litter>,
}

/// Temporary files, and folders that did not exist, outer ones first.
#[derive(Debug, Default)]
struct Litter {
    files: Vec<PathBuf>,
    dirs: Vec<PathBuf>,
}

impl Litter {
    /// Creates `dir` with the folders around it.
    fn create_dir(&mut self, dir: &Path) -> io::Result<()> {
        let missing = dir.ancestors().take_while(|a| !a.as_os_str().is_empty() && !a.exists());
        let missing: Vec<_> = missing.map(Path::to_owned).collect();
        self.dirs.extend(missing.into_iter().rev());
        fs::create_dir_all(dir)
    }

    /// Creates a temporary file, for its owner alone if it is private.
    fn create(&mut self, path: &Path, private: bool) -> io::Result<File> {
        self.files.push(path.to_owned());
        if !private {
            return File::create(path);
        }
        // A file that another left here might be open to others.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    }

    /// Removes everything. A file that cannot be removed stays, and so does a folder into which another program has
    /// written.
    fn remove(self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for dir in self.dirs.iter().rev() {
            let _ = fs::remove_dir(dir);
        }
    }
}

fn unfinished() -> MutexGuard<'static, Unfinished> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all open folders, and the folders that they created. Then calls `end`, which is to end
/// the process: until `end` returns, no file is staged and none gets its final name. A commit that has begun is finished
/// first.
pub fn discard_unfinished(end: impl FnOnce()) {
    let mut unfinished = unfinished();
    std::mem::take(&mut unfinished.folders).into_values().for_each(Litter::remove);
    end();
}

/// Lets every panic of this process first print its message, as before, and then remove what [`discard_unfinished`] removes.
/// A program that aborts on a panic drops no [`Folder`]. A program that catches panics must not call this: their folders
/// would be gone.
pub fn discard_on_panic() {
    let earlier = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        earlier(info);
        discard_soon();
    }));
}

/// Removes what [`discard_unfinished`] removes. Another thread may take up to a second to finish its commit; a thread that
/// itself panicked within this file would wait for ever.
fn discard_soon() {
    for _ in 0..1000 {
        let mut unfinished = match UNFINISHED.try_lock() {
            Ok(unfinished) => unfinished,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        return std::mem::take(&mut unfinished.folders).into_values().for_each(Litter::remove);
    }
}

/// An output folder, or a file in it, that could not be written.
#[derive(Debug)]
pub struct OutputError {
    /// The folder or file.
    pub path: PathBuf,
    /// Error of the operating system.
    pub source: io::Error,
    /// Files of the same set that have their final names already, because only the last step, renaming, failed.
    pub placed: Vec<PathBuf>,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, source, placed } = self;
        write!(f, "cannot write `{}`: {source}; choose another folder with --out", path.display())?;
        match placed.as_slice() {
            [] => Ok(()),
            [last] => write!(f, "; only `{}` is of this run", last.display()),
            [.., last] => {
                write!(f, "; only {} files up to `{}` are of this run", placed.len(), last.display())
            }
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Folder {
    /// Opens `dir` for writing and creates it if it is missing. Call it before the computation whose results go there,
    /// so that a folder that cannot be written is reported first.
    ///
    /// # Errors
    /// [`OutputError`] if `dir` cannot be created, is not a folder or cannot be written.
    pub fn open(dir: &Path) -> Result<Self, OutputError> {
        let mut unfinished = unfinished();
        let key = unfinished.next;
        unfinished.next += 1;
        let folder = Self { dir: dir.to_owned(), key, staged: vec![] };
        let probe = folder.temporary(&dir.join("probe"));
        let litter = unfinished.folders.entry(key).or_default();
        let opened = litter
            .create_dir(dir)
            .and_then(|()| litter.create(&probe, false))
            .and_then(|_| fs::remove_file(&probe))
            .map_err(at(dir));
        // Dropping the folder on an error takes the lock again.
        drop(unfinished);
        opened.map(|()| folder)
    }

    /// Writes a file under a temporary name; `write` receives a buffered writer. `name` may be in a folder within this
    /// one, `images/a.svg`, which is created if it is missing.
    ///
    /// # Errors
    /// [`OutputError`] if writing fails or a folder named `name` exists.
    pub fn stage(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.stage_as(name, false, write)
    }

    /// [`Folder::stage`], of a file that only its owner may use from its begin on (mode 0600).
    ///
    /// # Errors
    /// As [`Folder::stage`].
    pub fn stage_private(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.stage_as(name, true, write)
    }

    fn stage_as(
        &mut self,
        name: &str,
        private: bool,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let target = self.dir.join(name);
        let temporary = self.temporary(&target);
        refuse_folder(&target)?;
        let write_to = |file: File| {
            let mut buffer = BufWriter::new(file);
            write(&mut buffer)?;
            buffer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        let created = self.create(&temporary, private);
        created.and_then(write_to).map_err(at(&target))?;
        self.staged.push((temporary, target));
        Ok(())
    }

    fn create(&self, temporary: &Path, private: bool) -> io::Result<File> {
        let mut unfinished = unfinished();
        let litter = unfinished.folders.entry(self.key).or_default();
        litter.create_dir(temporary.parent().unwrap_or(&self.dir))?;
        litter.create(temporary, private)
    }

    /// Renames every staged file to its final name, replaces files of earlier runs, and returns the paths in staging
    /// order.
    ///
    /// # Errors
    /// [`OutputError`] if a file cannot be renamed. Files that were renamed before it are complete and stay; the error
    /// names them in [`OutputError::placed`]. The other files are those of earlier runs, if any.
    pub fn commit(self) -> Result<Vec<PathBuf>, OutputError> {
        let mut unfinished = unfinished();
        let committed = self.rename();
        if committed.is_ok() {
            unfinished.folders.remove(&self.key);
        }
        drop(unfinished);
        committed
    }

    fn rename(&self) -> Result<Vec<PathBuf>, OutputError> {
        self.staged.iter().try_for_each(|(_, target)| refuse_folder(target))?;
        let mut placed = Vec::with_capacity(self.staged.len());
        for (temporary, target) in &self.staged {
            if let Err(source) = fs::rename(temporary, target) {
                return Err(OutputError { path: target.clone(), source, placed });
            }
            placed.push(target.clone());
        }
        Ok(placed)
    }

    /// Temporary name for `target` that no other running process uses. It is in the same folder, so that renaming moves
    /// no data.
    fn temporary(&self, target: &Path) -> PathBuf {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        target.with_file_name(format!(".{name}.{}.part", std::process::id()))
    }
}

impl Drop for Folder {
    /// Removes what was not committed.
    fn drop(&mut self) {
        let litter = unfinished().folders.remove(&self.key);
        litter.into_iter().for_each(Litter::remove);
    }
}

/// Refuses a folder where a file is to be.
fn refuse_folder(target: &Path) -> Result<(), OutputError> {
    if target.is_dir() {
        return Err(at(target)(io::ErrorKind::IsADirectory.into()));
    }
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    move |source| OutputError { path: path.to_owned(), source, placed: vec![] }
}
