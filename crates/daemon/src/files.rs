//! Files of the gateway: secrets that nobody else may read, and a state folder that its user owns.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::audit;
use crate::privileges::User;
use crate::service::Trouble;

/// Largest file of a key, bytes.
const LARGEST_KEY: u64 = 16 << 10;
/// Name of the learned state in the state folder.
pub(crate) const LEARNED: &str = "learned.state";
/// Name of the orders of the socket in the state folder.
pub(crate) const ORDERS: &str = "orders.journal";
/// Name of the canary in the state folder.
pub(crate) const CANARY: &str = "canary.json";
/// Name of the store of earlier versions in the state folder.
pub(crate) const OLD_STORE: &str = "state.redb";
/// Name of the lock of the state folder.
pub(crate) const LOCK: &str = "lock";
/// Name of the decision log in the state folder.
pub(crate) const LOG: &str = "decisions.jsonl";

/// Reads the file of a secret. As PostgreSQL has it for its keys: a file of root's may be readable by its group, for a service
/// without root's rights; every other file by its owner alone.
pub(crate) fn secret(key: &'static str, path: &Path) -> Result<Vec<u8>, Trouble> {
    open(key, path, private)
}

/// Reads the file of a key, also one that others may use.
pub(crate) fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, Trouble> {
    open(key, path, |_, _, _| Ok(()))
}

fn open(
    key: &'static str,
    path: &Path,
    check: impl Fn(&'static str, &Path, &fs::Metadata) -> Result<(), Trouble>,
) -> Result<Vec<u8>, Trouble> {
    let trouble = |error: &dyn ToString| Trouble::of(key, path, error);
    // A pipe without a writer would be waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = file.map_err(|error| trouble(&error))?;
    let data = file.metadata().map_err(|error| trouble(&error))?;
    if !data.is_file() || data.len() > LARGEST_KEY {
        return Err(trouble(&format!("expected a regular file of at most {LARGEST_KEY} bytes")));
    }
    check(key, path, &data)?;
    let mut bytes = vec![];
    file.take(LARGEST_KEY).read_to_end(&mut bytes).map_err(|error| trouble(&error))?;
    Ok(bytes)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// It is another, or cannot be read.
pub(crate) fn bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let data = file.metadata()?;
    if !data.is_file() || data.len() > most {
        return Err(io::Error::other(format!("expected a regular file of at most {most} bytes")));
    }
    let mut bytes = vec![];
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Checks that nobody but the owner may use a file with a secret.
///
/// # Errors
/// The file cannot be looked at, or others may use it.
pub fn is_private(key: &'static str, path: &Path) -> Result<(), Trouble> {
    let data = fs::metadata(path).map_err(|error| Trouble::of(key, path, &error))?;
    private(key, path, &data)
}

fn private(key: &'static str, path: &Path, data: &fs::Metadata) -> Result<(), Trouble> {
    let (mode, allowed) = (data.mode() & 0o777, if data.uid() == 0 { 0o740 } else { 0o700 });
    if mode & !allowed == 0 {
        return Ok(());
    }
    let why = format!("others may use it, mode {mode:04o}; expected 0600: chmod 600 {}", path.display());
    Err(Trouble::of(key, path, &why))
}

/// Checks that nobody but the owner may write a file or folder.
pub(crate) fn is_guarded(key: &'static str, path: &Path) -> Result<(), Trouble> {
    let data = fs::metadata(path).map_err(|error| Trouble::of(key, path, &error))?;
    let mode = data.mode() & 0o777;
    if mode & 0o022 == 0 {
        return Ok(());
    }
    let why = format!("others may write it, mode {mode:04o}; expected: chmod go-w {}", path.display());
    Err(Trouble::of(key, path, &why))
}

/// Opens a file that only its owner may use, to write it anew or to append to it. One that exists gets that mode.
pub(crate) fn own(path: &Path, append: bool) -> io::Result<File> {
    let file = OpenOptions::new()
        .create(true)
        .append(append)
        .write(true)
        .truncate(!append)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Makes the state folder if it is missing, for its owner alone.
///
/// # Errors
/// It cannot be made, or others may write it.
pub(crate) fn folder(state: &Path) -> Result<(), Trouble> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(state);
    made.map_err(|error| Trouble::of("the state folder", state, &error))?;
    is_guarded("the state folder", state)
}

/// Makes the state folder if it is missing, for its owner alone, and gives it with the gateway's files to `user`. Files of the
/// gateway that others may use get the mode 0600.
///
/// # Errors
/// The folder is another user's, or others may write it.
pub fn prepare(state: &Path, user: Option<&User>) -> Result<(), Trouble> {
    let trouble = |error: &dyn ToString| Trouble::of("the state folder", state, error);
    folder(state)?;
    let folder = File::open(state).map_err(|error| trouble(&error))?;
    if let Some(user) = user {
        let owner = folder.metadata().map_err(|error| trouble(&error))?.uid();
        // A number without a name is what a unit with DynamicUser leaves behind.
        if owner != 0 && owner != user.id && User::has_name(owner) {
            let why = format!("it is of user {owner}; expected root or {user}");
            return Err(trouble(&why));
        }
    }
    let entries = fs::read_dir(state).map_err(|error| trouble(&error))?;
    for entry in entries {
        let entry = entry.map_err(|error| trouble(&error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let own = |own: &&str| name.starts_with(own);
        if name != LOCK && ![LEARNED, ORDERS, CANARY, OLD_STORE, LOG, audit::FILE].iter().any(own) {
            continue;
        }
        let path = entry.path();
        // A link or device that another user put here in the place of a file stays as it is.
        let open =
            OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        let Ok(file) = open else { continue };
        let data = file.metadata().map_err(|error| trouble(&error))?;
        if !data.is_file() || data.nlink() != 1 {
            continue;
        }
        let failed = |error: io::Error| Trouble::of("the state folder", &path, &error);
        give(&file, user).map_err(failed)?;
        if data.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
        }
    }
    give(&folder, user).map_err(|error| trouble(&error))
}

/// Makes a file for what the gateway will write there, and gives it to `user`.
///
/// # Errors
/// The file cannot be made.
pub fn reserve(key: &'static str, path: &Path, user: Option<&User>) -> Result<(), Trouble> {
    // A device stays as it is.
    let made =
        own(path, true).and_then(|file| if file.metadata()?.is_file() { give(&file, user) } else { Ok(()) });
    made.map_err(|error| Trouble::of(key, path, &error))
}

fn give(file: &File, user: Option<&User>) -> io::Result<()> {
    match user {
        Some(user) => std::os::unix::fs::fchown(file, Some(user.id), Some(user.group)),
        None => Ok(()),
    }
}
