//! Socket options that the standard library does not have.

use core::ffi::{c_int, c_void};
use core::mem::size_of_val;
use std::os::fd::AsRawFd;

use crate::need::Need;

/// Send buffer: all data that a script writes waits in the socket.
const SEND_BUFFER: c_int = 64 << 20;

fn set<T: ?Sized>(
    socket: &impl AsRawFd,
    level: c_int,
    name: c_int,
    value: &T,
    what: &'static str,
) -> Result<(), Need> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the value outlives the call, which reads `length` bytes of it.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast::<c_void>(), length)
    };
    if done == 0 { Ok(()) } else { Err(Need::last(what)) }
}

/// Selects this congestion control, in place of the kernel's default.
pub(crate) fn set_congestion_control(socket: &impl AsRawFd, name: &str) -> Result<(), Need> {
    set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        name.as_bytes(),
        "this congestion control in the kernel",
    )
}

/// Room for everything a script writes at once.
pub(crate) fn set_large_send_buffer(socket: &impl AsRawFd) -> Result<(), Need> {
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER, "a large send buffer")
}

/// Closing resets the connection, so that nothing of it outlives its namespace.
pub(crate) fn set_reset_on_close(socket: &impl AsRawFd) -> Result<(), Need> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set(socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger, "SO_LINGER")
}
