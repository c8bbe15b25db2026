//! Files that documents and commands name. Only regular files are read: a pipe, a device or a directory could block the
//! program or never end.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;

use crate::error::clipped;

/// Opens the regular file at `path`.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::InvalidInput`] with the kind of the file if it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // The kind is asked before the file is opened, since opening a pipe blocks; and again of the open file.
    refuse_others(std::fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    refuse_others(file.metadata()?.file_type())?;
    Ok(file)
}

/// The text of the regular file at `path`, at most `most` bytes.
///
/// # Errors
/// The reason why it cannot be read.
pub fn read_text(path: &Path, most: u64) -> Result<String, String> {
    let mut bytes = vec![];
    open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is longer than the limit of {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".into())
}

/// The text of `file` in `folder`, at most `most` bytes, and its name in errors.
///
/// # Errors
/// The reason why it cannot be read.
pub fn text_beside(file: &str, folder: &Path, most: u64) -> Result<(String, String), String> {
    let path = folder.join(file);
    let named = path.display().to_string();
    match read_text(&path, most) {
        Ok(text) => Ok((text, named)),
        Err(why) => Err(format!("{}: {why}", clipped(&named))),
    }
}

fn refuse_others(kind: FileType) -> io::Result<()> {
    match kind.is_file() {
        true => Ok(()),
        false => {
            let why = format!("it is {}; expected a regular file", named(kind));
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
    }
}

/// Kind of a file that is not regular, in words.
fn named(kind: FileType) -> &'static str {
    if kind.is_dir() {
        return "a directory";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    "not a regular file"
}
