//! Files of a server under test, in a file system in memory that the server's threads and programs alone see. It vanishes with them.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::credentials::Credentials;

/// Folder on which the file system lies for the server.
const PLACE: &CStr = c"/media";
/// The same as text, then the files in it.
pub(super) const WORK: &str = "/media";
pub(super) const CERTIFICATE: &str = "/media/certificate.pem";
pub(super) const KEY: &str = "/media/key.pem";
pub(super) const FILES: &str = "/media/files";
/// Standard error of a server.
pub(super) const COMPLAINTS: &str = "/media/complaints";

/// Gives the calling thread, which must not be the first of the process, the files: certificate and key, and a file of zeros of each
/// of these sizes, whose name is its size in bytes.
pub(super) fn make(credentials: &Credentials, sizes: &[u64]) -> Result<(), String> {
    mount().map_err(|error| format!("this machine does not grant a file system of its own: {error}"))?;
    write(credentials, sizes)
        .map_err(|error| format!("the files of the server could not be written: {error}"))
}

fn write(credentials: &Credentials, sizes: &[u64]) -> io::Result<()> {
    let [certificate, key] = credentials.pem();
    fs::write(CERTIFICATE, certificate)?;
    fs::write(KEY, key)?;
    fs::create_dir(FILES)?;
    for bytes in sizes {
        File::create(Path::new(FILES).join(bytes.to_string()))?.set_len(*bytes)?;
    }
    Ok(())
}

fn mount() -> io::Result<()> {
    let done = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: takes no pointer. The thread has its own root and folder from now on.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let nothing = core::ptr::null();
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the texts end in a zero and outlive the call; the others may be null for a change of the kind of mount.
    done(unsafe { libc::mount(nothing, c"/".as_ptr(), nothing, private, core::ptr::null()) })?;
    let kind = c"tmpfs".as_ptr();
    // SAFETY: the texts end in a zero and outlive the call; a file system in memory needs no data.
    done(unsafe { libc::mount(kind, PLACE.as_ptr(), kind, 0, core::ptr::null()) })
}
