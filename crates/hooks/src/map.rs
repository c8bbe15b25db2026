//! Maps of the kernel through their descriptors alone, so that a process without capabilities can use maps that
//! another process loaded. `libbpf-rs` opens a map only by its number, for which the kernel asks CAP_SYS_ADMIN.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use libbpf_rs::libbpf_sys::{bpf_map_delete_elem, bpf_map_lookup_elem, bpf_map_update_elem};

/// A map whose keys have `K` bytes.
#[derive(Debug)]
pub(crate) struct Map<const K: usize> {
    pub(crate) fd: OwnedFd,
}

impl<const K: usize> Map<K> {
    /// Stores a value of the length that the map was made for.
    pub(crate) fn set<const V: usize>(&self, key: &[u8; K], value: &[u8; V]) -> io::Result<()> {
        // SAFETY: key and value have the lengths of the map, which `Hooks` pairs with the types of `layout`.
        let answer = unsafe {
            bpf_map_update_elem(self.fd.as_raw_fd(), key.as_ptr().cast(), value.as_ptr().cast(), 0)
        };
        checked(answer)
    }

    /// Removes a value; answers whether there was one.
    pub(crate) fn remove(&self, key: &[u8; K]) -> io::Result<bool> {
        // SAFETY: as above.
        let answer = unsafe { bpf_map_delete_elem(self.fd.as_raw_fd(), key.as_ptr().cast()) };
        match checked(answer) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether there is a value, which has `V` bytes.
    pub(crate) fn has<const V: usize>(&self, key: &[u8; K]) -> io::Result<bool> {
        match self.get(key, &mut [0; V]) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fills `value`, which has the length of the map's values: of a per-CPU map, 8 bytes for each possible processor.
    pub(crate) fn get(&self, key: &[u8; K], value: &mut [u8]) -> io::Result<()> {
        // SAFETY: as above.
        let answer = unsafe {
            bpf_map_lookup_elem(self.fd.as_raw_fd(), key.as_ptr().cast(), value.as_mut_ptr().cast())
        };
        checked(answer)
    }
}

/// libbpf answers with a negative error number.
pub(crate) fn checked(answer: i32) -> io::Result<()> {
    if answer < 0 { Err(io::Error::from_raw_os_error(-answer)) } else { Ok(()) }
}
