//! TCP_INFO of a socket.

use core::ffi::c_void;
use std::os::fd::AsRawFd;

use crate::need::Need;

/// The kernel's state of a connection's sender. Counts and windows are in segments, times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold; `None` while it is infinite.
    pub ssthresh: Option<u32>,
    /// The state of congestion avoidance: 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Segments between the cumulative ACK and the last sent.
    pub unacked: u32,
    /// Of these, reported by SACK; without SACK, duplicate ACKs counted.
    pub sacked: u32,
    /// Of these, declared lost.
    pub lost: u32,
    /// Of these, retransmitted.
    pub retrans: u32,
    /// The reordering that has been seen, segments.
    pub reordering: u32,
    /// Smoothed round-trip time.
    pub rtt: u32,
    /// Retransmission timeout, without backoff.
    pub rto: u32,
    /// Least round-trip time of the last minutes.
    pub min_rtt: u32,
    /// The rate at which the socket is paced, or would be, bytes/s.
    pub pacing_rate: u64,
}

/// Up to and with `tcpi_min_rtt` and a little more; the kernel has more, older ones have less.
const LENGTH: usize = 160;
/// TCP_INFINITE_SSTHRESH.
const INFINITE: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// Asks the kernel.
    ///
    /// # Errors
    /// If `socket` is not of TCP, or the kernel is older than 4.6 and does not report the smallest round-trip time.
    pub fn of(socket: &impl AsRawFd) -> Result<Self, Need> {
        let mut bytes = [0_u8; LENGTH];
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, and both places outlive the call.
        let done = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast::<c_void>(),
                &raw mut length,
            )
        };
        if done != 0 {
            return Err(Need::last("TCP_INFO"));
        }
        if (length as usize) < LENGTH {
            return Err(Need::of("all of TCP_INFO", std::io::Error::other("the kernel is too old")));
        }
        Ok(Self::read(&bytes))
    }

    /// Offsets of `struct tcp_info` in linux/tcp.h, which are part of the kernel's interface.
    fn read(bytes: &[u8; LENGTH]) -> Self {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let halves = |at: usize| [word(at), word(at + 4)];
        let [low, high] = if cfg!(target_endian = "little") { halves(104) } else { [word(108), word(104)] };
        Self {
            ca_state: bytes[1],
            rto: word(8),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retrans: word(36),
            rtt: word(68),
            ssthresh: Some(word(76)).filter(|&ssthresh| ssthresh < INFINITE),
            cwnd: word(80),
            reordering: word(88),
            pacing_rate: u64::from(high) << 32 | u64::from(low),
            min_rtt: word(148),
        }
    }
}
