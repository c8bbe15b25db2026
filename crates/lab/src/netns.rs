//! A network namespace made, owned and removed.
//!
//! It has no name: a descriptor keeps it alive, and the kernel removes it when the descriptor and the sockets inside
//! are gone, however this process ends.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::thread;

use crate::need::Need;

/// A network namespace of its own.
#[derive(Debug)]
pub struct Netns {
    handle: File,
}

impl Netns {
    /// An empty namespace, its loopback down.
    ///
    /// # Errors
    /// If the kernel refuses a namespace: without CAP_SYS_ADMIN, or without network namespaces.
    pub fn new() -> Result<Self, Need> {
        // A namespace belongs to a thread. A new thread makes it, so that the caller's namespace does not change.
        thread::scope(|scope| {
            let maker = scope.spawn(|| {
                // SAFETY: takes no pointer.
                if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                    return Err(Need::last("a network namespace"));
                }
                let handle = File::open("/proc/thread-self/ns/net");
                Ok(Self { handle: handle.map_err(|error| Need::of("/proc/thread-self/ns/net", error))? })
            });
            maker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs `work` in a thread inside the namespace: descriptors that it opens and programs that it starts belong to the namespace.
    ///
    /// # Errors
    /// If the kernel does not let a thread enter.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Need> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // SAFETY: takes no pointer; the descriptor is open.
                if unsafe { libc::setns(self.handle.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
                    return Err(Need::last("to enter a network namespace"));
                }
                Ok(work())
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Sets `net.ipv4.<key>` of this namespace.
    ///
    /// # Errors
    /// If there is no such setting, it is not one of a namespace, or it does not take the value.
    pub fn set_ipv4(&self, key: &str, value: &str) -> Result<(), Need> {
        let written = self.run(|| fs::write(format!("/proc/sys/net/ipv4/{key}"), value))?;
        written.map_err(|error| Need::of("a setting of the network namespace", error))
    }
}
