//! One run in real time at a time, over all processes of the machine.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::Duration;

use crate::need::Need;

/// Name of the lock. An abstract socket vanishes with its process, and leaves no file behind.
const NAME: &[u8] = b"firstflight-lab";
/// Pause between two attempts to take the turn.
const PAUSE: Duration = Duration::from_millis(50);
/// Attempts, half an hour in all.
const ATTEMPTS: u32 = 36_000;

/// The right to run in real time, until this value is dropped.
#[derive(Debug)]
pub struct Turn {
    lock: Option<UnixListener>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lock = None;
        // Processes that wait look once in each pause: one of them is to be next, not this process again.
        thread::sleep(2 * PAUSE);
    }
}

impl Turn {
    /// Waits until no other run of this machine is in real time.
    ///
    /// # Errors
    /// If the others take more than half an hour, or the kernel has no Unix sockets.
    pub fn take() -> Result<Self, Need> {
        const WHAT: &str = "a turn on this machine";
        let name = SocketAddr::from_abstract_name(NAME).map_err(|error| Need::of(WHAT, error))?;
        for _ in 0..ATTEMPTS {
            match UnixListener::bind_addr(&name) {
                Ok(lock) => return Ok(Self { lock: Some(lock) }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => thread::sleep(PAUSE),
                Err(error) => return Err(Need::of(WHAT, error)),
            }
        }
        Err(Need::of(WHAT, io::Error::other("other runs in real time did not end for half an hour")))
    }
}
