//! TCP_INFO of a socket.

use core::ffi::c_void;
use std::os::fd::AsRawFd;

use crate::need::Need;

/// The kernel's state of a connection's sender. Counts and windows are in segments, times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u16,
}

/// All of `struct tcp_info` of Linux 6.7, which was the first with `tcpi_total_rto`.
const LENGTH: usize = 248;
/// TCP_INFINITE_SSTHRESH.
const INFINITE: u32 = 0x7fff_ffff;
/// Option of linux/tcp.h that the library lacks.
const TCP_CC_INFO: libc::c_int = 26;

impl TcpInfo {
    /// Asks the kernel.
    ///
    /// # Errors
    /// If `socket` is not of TCP, or the kernel is older than 6.7 and does not count timeouts.
    pub fn of(socket: &impl AsRawFd) -> Result<Self, Need> {
        let mut bytes = [0_u8; LENGTH];
        let length = get(socket, libc::TCP_INFO, &mut bytes, "TCP_INFO")?;
        if length < LENGTH {
            let why = "the kernel is older than 6.7";
            return Err(Need::of("all of TCP_INFO", std::io::Error::other(why)));
        }
        Ok(Self::read(&bytes))
    }

    /// Segments in flight (RFC 6675's pipe): sent, and neither delivered nor declared lost.
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
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
            mss: word(16),
            timeouts: u16::from_ne_bytes([bytes[240], bytes[241]]),
        }
    }
}

/// TCP_CC_INFO of a socket whose congestion control is `bbr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BbrInfo {
    /// Pacing gain, in units of 1/256.
    pub(crate) pacing_gain: u32,
}

impl BbrInfo {
    /// The gain in start-up: 2885/1000 and one unit (`bbr_high_gain` of tcp_bbr).
    pub(crate) const STARTUP_GAIN: u32 = 739;

    /// Asks the kernel.
    ///
    /// # Errors
    /// If `socket` is not of TCP, or has another congestion control.
    pub(crate) fn of(socket: &impl AsRawFd) -> Result<Self, Need> {
        // struct tcp_bbr_info of linux/inet_diag.h: five words, the fourth being the pacing gain.
        let mut bytes = [0_u8; 20];
        let length = get(socket, TCP_CC_INFO, &mut bytes, "TCP_CC_INFO")?;
        if length < bytes.len() {
            return Err(Need::of("TCP_CC_INFO", std::io::Error::other("the socket does not have bbr")));
        }
        Ok(Self { pacing_gain: u32::from_ne_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) })
    }
}

/// Asks for an option of TCP; returns the number of bytes that the kernel wrote.
pub(crate) fn get(
    socket: &impl AsRawFd,
    name: libc::c_int,
    bytes: &mut [u8],
    what: &'static str,
) -> Result<usize, Need> {
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, and both places outlive the call.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            bytes.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(length as usize) } else { Err(Need::last(what)) }
}
