//! Transfers between the two ends of a path.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::path::{Conditions, Path, RECEIVER};

const PORT: u16 = 7700;

/// A socket option of TCP, as text.
fn congestion_control(socket: &TcpStream, name: Option<&str>) -> io::Result<String> {
    let mut held = [0_u8; 16];
    let mut length = held.len() as libc::socklen_t;
    // SAFETY: both buffers outlive the calls, which touch as many bytes as they are told.
    let done = unsafe {
        let set = name.map_or(0, |name| {
            let bytes = name.len() as libc::socklen_t;
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                name.as_ptr().cast(),
                bytes,
            )
        });
        set | libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            held.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(String::from_utf8_lossy(&held).trim_end_matches('\0').to_owned())
}

/// The congestion control that a new connection over this machine's loopback gets.
pub(crate) fn congestion_control_of_a_connection() -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    congestion_control(&TcpStream::connect(listener.local_addr()?)?, None)
}

/// A connection over a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) path: Conditions,
    /// The application writes for so long.
    pub(crate) span: Duration,
    /// After so many bytes it pauses.
    pub(crate) burst: usize,
    pub(crate) pause: Duration,
}

/// One connection under `control`; returns the bytes that arrived.
pub(crate) fn send(path: &Path, control: &str, load: Load, seed: u64) -> io::Result<u64> {
    let Load { path: conditions, span, burst, pause } = load;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let carried = scope.spawn(|| path.carry(conditions, seed, &over));
        let arrived =
            path.receiver.run(|| TcpListener::bind((RECEIVER, PORT))).map_err(io::Error::other)??;
        let received = scope.spawn(move || {
            let (mut socket, _) = arrived.accept()?;
            let (mut buffer, mut total) = (vec![0; 1 << 16], 0);
            loop {
                match socket.read(&mut buffer)? {
                    0 => return Ok::<u64, io::Error>(total),
                    n => total += n as u64,
                }
            }
        });
        let sent = path.sender.run(|| {
            let mut socket = TcpStream::connect((RECEIVER, PORT))?;
            let got = congestion_control(&socket, Some(control))?;
            assert_eq!(got, control, "the namespace gave another congestion control");
            // The connection ends soon after its last byte.
            let room: libc::c_int = 128 << 10;
            // SAFETY: the value outlives the call, which reads as many bytes as it has.
            unsafe {
                let value = (&raw const room).cast();
                libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, value, 4);
            }
            socket.set_write_timeout(Some(Duration::from_secs(20)))?;
            let begun = Instant::now();
            let data = vec![0x5a; 1 << 16];
            let mut in_burst = 0;
            while begun.elapsed() < span {
                in_burst += socket.write(&data)?;
                if in_burst >= burst {
                    in_burst = 0;
                    thread::sleep(pause);
                }
            }
            Ok::<_, io::Error>(())
        });
        let outcome = match sent {
            Ok(Ok(())) => received.join().map_err(|_| io::Error::other("the receiver panicked"))?,
            Ok(Err(error)) => Err(error),
            Err(need) => Err(io::Error::other(need)),
        };
        over.store(true, Ordering::Relaxed);
        carried.join().map_err(|_| io::Error::other("the path panicked"))??;
        outcome
    })
}
