//! Congestion controls for the Linux kernel, compiled to BPF by others (`tcp_congestion_ops` in the section
//! `.struct_ops`), as schemes of a host. The object is not changed: its instructions run in a machine of eBPF, and read and
//! write the kernel's structs through a view that is kept from the events of the contract.
//!
//! `object_file.rs` reads an object and links a program for each of its congestion controls; `btf.rs` reads its types and
//! `relocate.rs` finds its fields in the view (`view.rs`); `machine.rs` runs it, and `calls.rs` has the functions of the
//! kernel that it may call; `scheme.rs` turns events into callbacks.

mod btf;
mod calls;
mod error;
mod machine;
mod object_file;
mod relocate;
mod scheme;
pub mod view;

use std::path::Path;

pub use error::{Fault, ObjectError};
pub use scheme::{KernelScheme, Stopped};

/// The complete congestion controls of an object, as schemes. One that the kernel would not register either, because a
/// callback is missing, is left out.
///
/// # Errors
/// [`ObjectError`] if the bytes are no object, no congestion control is complete, or one uses what does not exist here.
pub fn read(object: &[u8]) -> Result<Vec<KernelScheme>, ObjectError> {
    object_file::read(object)?.into_iter().map(KernelScheme::new).collect()
}

/// Largest file that is read, bytes; with debug information the kernel's own objects are below 1 MB.
const LARGEST: u64 = 16 << 20;

/// [`read`] for a file.
///
/// # Errors
/// Why the file cannot be read, or is no object.
pub fn open(file: &Path) -> Result<Vec<KernelScheme>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    if std::fs::metadata(file).map_err(unreadable)?.len() > LARGEST {
        return Err(format!("larger than {LARGEST} bytes"));
    }
    read(&std::fs::read(file).map_err(unreadable)?).map_err(|error| error.to_string())
}
