//! Sockets, with the options that the standard library does not have.

use core::ffi::{c_int, c_void};
use core::mem::size_of_val;
use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};

use crate::need::Need;
use crate::tcp_info;

/// Send buffer: all data that a script writes waits in the socket.
const SEND_BUFFER: c_int = 64 << 20;
/// Bytes of data that were not sent yet, beyond which a write waits. The window never finds less than this to send.
const NOT_SENT: c_int = 1 << 20;

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
///
/// A namespace that does not offer a congestion control may leave the default in force without an error, so the choice is
/// read back.
pub(crate) fn set_congestion_control(socket: &impl AsRawFd, name: &str) -> Result<(), Need> {
    const WHAT: &str = "this congestion control in the kernel";
    set(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes(), WHAT)?;
    let mut bytes = [0; 16];
    let length = tcp_info::get(socket, libc::TCP_CONGESTION, &mut bytes, WHAT)?;
    let found = bytes[..length].split(|&byte| byte == 0).next().unwrap_or_default();
    if found == name.as_bytes() {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found);
    Err(Need::of(WHAT, io::Error::other(format!("{name} was asked for, and the socket has {found}"))))
}

/// Room for everything a script writes at once.
pub(crate) fn set_large_send_buffer(socket: &impl AsRawFd) -> Result<(), Need> {
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER, "a large send buffer")
}

/// Lets writes wait while much of the data before was not sent, so that a flow without end does not fill the memory.
pub(crate) fn set_send_low_water(socket: &impl AsRawFd) -> Result<(), Need> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &NOT_SENT, "TCP_NOTSENT_LOWAT")
}

/// Lets the kernel pace what the socket sends, whatever its congestion control.
pub(crate) fn set_paced(socket: &impl AsRawFd) -> Result<(), Need> {
    // Any rate but the largest turns pacing on; this one limits nothing.
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(u64::MAX - 1), "SO_MAX_PACING_RATE")
}

/// Lets a read wait until this many bytes have come.
pub(crate) fn set_receive_low_water(socket: &impl AsRawFd, bytes: u64) -> Result<(), Need> {
    let bytes = bytes.min(c_int::MAX as u64) as c_int;
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes, "SO_RCVLOWAT")
}

/// Sends the acknowledgement that is due now, and not when the timer of delayed ACKs fires.
pub(crate) fn acknowledge_now(socket: &impl AsRawFd) -> Result<(), Need> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK, &1, "TCP_QUICKACK")
}

/// Lets the first data acknowledge the handshake, in place of a packet of its own.
pub(crate) fn set_acknowledge_with_data(socket: &impl AsRawFd) -> Result<(), Need> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK, &0, "TCP_QUICKACK")
}

/// Closing resets the connection, so that nothing of it outlives its namespace.
pub(crate) fn set_reset_on_close(socket: &impl AsRawFd) -> Result<(), Need> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set(socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger, "SO_LINGER")
}

/// A socket in the namespace of the calling thread that listens at `at`.
pub(crate) fn listen(at: SocketAddrV4) -> Result<TcpListener, Need> {
    TcpListener::bind(at).map_err(|error| Need::of("a listening socket", error))
}

/// A socket in the namespace of the calling thread that is not connected.
pub(crate) fn unconnected() -> Result<TcpStream, Need> {
    // SAFETY: takes no pointer.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(Need::last("a socket"));
    }
    // SAFETY: the call above made this descriptor, and nothing else owns it.
    Ok(TcpStream::from(unsafe { OwnedFd::from_raw_fd(socket) }))
}

/// Connects `socket`; returns when the connection is open.
pub(crate) fn connect(socket: &TcpStream, to: SocketAddrV4) -> io::Result<()> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*to.ip()).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: the address outlives the call, which reads its length.
    let done = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            (&raw const address).cast::<libc::sockaddr>(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for data and discards it, at most `most` bytes; returns how many, 0 at the end of the connection.
pub(crate) fn discard(socket: &TcpStream, most: u64) -> io::Result<u64> {
    let most = most.min(1 << 30) as usize;
    // SAFETY: TCP discards data under MSG_TRUNC and writes to no place.
    let read = unsafe { libc::recv(socket.as_raw_fd(), core::ptr::null_mut(), most, libc::MSG_TRUNC) };
    u64::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Ends the calls that wait on `socket`.
pub(crate) fn shut(socket: &impl AsRawFd) {
    // SAFETY: takes no pointer. A socket that was never connected refuses, and nothing waits on it.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}
