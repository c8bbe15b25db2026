//! Output folders in which either all files appear complete, or none.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A folder being written. Files are staged under temporary names, and [`Folder::commit`] renames them together. A
/// `Folder` dropped before that removes its files and the folders that it created.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    /// Outermost folder that was created.
    created: Option<PathBuf>,
    /// Temporary and final paths.
    staged: Vec<(PathBuf, PathBuf)>,
}

/// An output folder, or a file in it, that could not be written.
#[derive(Debug)]
pub struct OutputError {
    /// The folder or file.
    pub path: PathBuf,
    /// Error of the operating system.
    pub source: io::Error,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, source } = self;
        write!(f, "cannot write `{}`: {source}; choose another folder with --out", path.display())
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
        let created = dir.ancestors().take_while(|a| !a.as_os_str().is_empty() && !a.exists()).last();
        let folder = Self { dir: dir.to_owned(), created: created.map(Path::to_owned), staged: Vec::new() };
        fs::create_dir_all(dir).map_err(at(dir))?;
        let probe = folder.temporary("probe");
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(at(dir))?;
        Ok(folder)
    }

    /// Writes a file under a temporary name; `write` receives a buffered writer.
    ///
    /// # Errors
    /// [`OutputError`] if writing fails or a folder named `name` exists.
    pub fn stage(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let (temporary, target) = (self.temporary(name), self.dir.join(name));
        if target.is_dir() {
            return Err(at(&target)(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        self.staged.push((temporary.clone(), target.clone()));
        let write_to = |file: File| {
            let mut buffer = BufWriter::new(file);
            write(&mut buffer)?;
            buffer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        };
        File::create(&temporary).and_then(write_to).map_err(at(&target))
    }

    /// Renames every staged file to its final name, replaces files of earlier runs, and returns the paths in staging
    /// order.
    ///
    /// # Errors
    /// [`OutputError`] if a file cannot be renamed; files renamed before it are complete.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, OutputError> {
        let mut written = Vec::with_capacity(self.staged.len());
        for (temporary, target) in &self.staged {
            fs::rename(temporary, target).map_err(at(target))?;
            written.push(target.clone());
        }
        self.staged.clear();
        self.created = None;
        Ok(written)
    }

    /// Temporary name that no other running process uses. It is in the same folder, so that renaming moves no data.
    fn temporary(&self, name: &str) -> PathBuf {
        self.dir.join(format!(".{name}.{}.part", std::process::id()))
    }
}

impl Drop for Folder {
    /// Removes staged files and created folders. A file that cannot be removed stays; the error that caused the drop
    /// is the one to report.
    fn drop(&mut self) {
        for (temporary, _) in &self.staged {
            let _ = fs::remove_file(temporary);
        }
        let Some(created) = &self.created else { return };
        // From the innermost outwards, and only empty folders: another program may have written files there.
        for dir in self.dir.ancestors().take_while(|dir| dir.starts_with(created)) {
            if fs::remove_dir(dir).is_err() {
                return;
            }
        }
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    move |source| OutputError { path: path.to_owned(), source }
}
