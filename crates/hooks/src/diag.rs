//! Reports of connections without eBPF: polls of `sock_diag` (`linux/inet_diag.h`, `linux/sock_diag.h`).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Connection, Stage};

use crate::hooks::now;
use crate::refusal::Refusal;

/// NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, INET_DIAG_INFO.
const SOCK_DIAG: libc::c_int = 4;
const BY_FAMILY: u16 = 20;
const INFO: u16 = 2;
/// States with a sender that may still be acknowledged: established, FIN-WAIT-1 and -2, CLOSE-WAIT, LAST-ACK, CLOSING.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// Bytes of `struct nlmsghdr`, `struct inet_diag_msg`, and of `struct tcp_info` up to the newest field in use.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const TCP_INFO: usize = 232;
/// TCP_INFINITE_SSTHRESH.
const INFINITE: u32 = 0x7fff_ffff;
/// Linux's initial window (RFC 6928), segments.
const INITIAL: u32 = 10;

/// Polls the connections in the network namespace of the thread that made it. A connection that begins and ends between
/// two polls is missed, and the last values of one that ends are those of the poll before.
#[derive(Debug)]
pub struct Polls {
    socket: OwnedFd,
    /// By the kernel's cookie of the socket.
    live: BTreeMap<u64, Followed>,
    polls: u64,
}

#[derive(Debug)]
struct Followed {
    connection: Connection,
    first_seen: Nanos,
    poll: u64,
}

impl Polls {
    /// Opens the kernel's interface.
    ///
    /// # Errors
    /// If the kernel has none.
    pub fn new() -> Result<Self, Refusal> {
        // SAFETY: takes no pointer.
        let socket =
            unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, SOCK_DIAG) };
        if socket < 0 {
            return Err(Refusal::last("sock_diag"));
        }
        // SAFETY: a descriptor that this call has opened.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        // A dump that stops must not stop this process.
        let patience = libc::timeval { tv_sec: 5, tv_usec: 0 };
        let length = size_of::<libc::timeval>() as libc::socklen_t;
        // SAFETY: the value, and its length.
        unsafe {
            let value = (&raw const patience).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, value, length);
        }
        Ok(Self { socket, live: BTreeMap::new(), polls: 0 })
    }

    /// Polls once and shows `each` connection that has ended since the last poll, and in the first poll those that live.
    /// `window` answers with the first window that a new connection to an address was given, [`None`] for the stack's.
    /// Answers with the number of live connections.
    ///
    /// The delivery rate is the greatest that a poll saw. The round-trip time of the handshake is unknown. A
    /// retransmission counts as one of the first window if it is seen before as many other segments were sent.
    ///
    /// # Errors
    /// If the kernel does not answer; the poll then counts as none.
    pub fn poll(
        &mut self,
        window: impl Fn(IpAddr) -> Option<u32>,
        mut each: impl FnMut(Connection),
    ) -> Result<usize, Refusal> {
        let mut found = vec![];
        for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
            self.dump(family, &mut found).map_err(|error| Refusal::failed("sock_diag", error))?;
        }
        self.polls += 1;
        let at = now();
        for (cookie, mut connection) in found {
            let known = self.live.get(&cookie);
            let first_seen = known.map_or(at, |known| known.first_seen);
            connection.at = at;
            connection.age = Nanos(at.0 - first_seen.0);
            connection.arm = match known {
                Some(known) => known.connection.arm,
                None if self.polls > 1 => window(connection.peer).map_or(Arm::Stock, Arm::Planned),
                None => Arm::Stock,
            };
            if let Some(known) = known.filter(|known| known.connection.rate > connection.rate) {
                (connection.rate, connection.limited) = (known.connection.rate, known.connection.limited);
            }
            let first = if let Arm::Planned(window) = connection.arm { window } else { INITIAL };
            let others = connection.sent.saturating_sub(connection.retransmits);
            // Until a segment beyond the first window is sent, every retransmission is of the first window.
            let before = known.map_or(0, |known| known.connection.first_window_lost);
            connection.first_window_lost = if others <= first { connection.retransmits } else { before };
            if self.polls == 1 {
                each(connection);
            }
            self.live.insert(cookie, Followed { connection, first_seen, poll: self.polls });
        }
        let polls = self.polls;
        self.live.retain(|_, followed| {
            if followed.poll != polls {
                each(Connection { at, stage: Stage::Ended, ..followed.connection });
            }
            followed.poll == polls
        });
        Ok(self.live.len())
    }

    /// Asks for all connections of a family.
    fn dump(&self, family: u8, found: &mut Vec<(u64, Connection)>) -> io::Result<()> {
        let mut request = [0_u8; HEADER + 56];
        request[..4].copy_from_slice(&(HEADER as u32 + 56).to_ne_bytes());
        request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[HEADER..HEADER + 3].copy_from_slice(&[family, libc::IPPROTO_TCP as u8, 1 << (INFO - 1)]);
        request[HEADER + 4..HEADER + 8].copy_from_slice(&STATES.to_ne_bytes());
        // SAFETY: the bytes, and their number.
        let sent = unsafe {
            libc::send(self.socket.as_raw_fd(), request.as_ptr().cast(), request.len(), libc::MSG_NOSIGNAL)
        };
        if sent != request.len() as isize {
            return Err(io::Error::last_os_error());
        }
        let mut buffer = vec![0_u8; 1 << 18];
        loop {
            // SAFETY: a place for the answer, and its length.
            let read =
                unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            if read < 0 {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(error);
            }
            if read_messages(&buffer[..read as usize], found)? {
                return Ok(());
            }
        }
    }
}

/// Reads the messages of one answer; whether the last of the dump was among them.
fn read_messages(mut bytes: &[u8], found: &mut Vec<(u64, Connection)>) -> io::Result<bool> {
    while bytes.len() >= HEADER {
        let length = word(bytes, 0) as usize;
        if length < HEADER || length > bytes.len() {
            return Err(io::Error::other("a message that is longer than the answer"));
        }
        let (message, kind) = (&bytes[HEADER..length], u16::from_ne_bytes([bytes[4], bytes[5]]));
        match libc::c_int::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR if message.len() >= 4 => {
                return Err(io::Error::from_raw_os_error((word(message, 0) as i32).wrapping_neg()));
            }
            _ if kind == BY_FAMILY => found.extend(connection(message)),
            _ => {}
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(false)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// A `struct inet_diag_msg` with its attributes. `None` without the sender's measurements.
fn connection(message: &[u8]) -> Option<(u64, Connection)> {
    let (head, mut attributes) = message.split_at_checked(MESSAGE)?;
    let peer: IpAddr = match libc::c_int::from(head[0]) {
        libc::AF_INET => Ipv4Addr::from(std::array::from_fn::<u8, 4, _>(|i| head[24 + i])).into(),
        libc::AF_INET6 => Ipv6Addr::from(std::array::from_fn::<u8, 16, _>(|i| head[24 + i])).to_canonical(),
        _ => return None,
    };
    let cookie = long(head, 44);
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let value = attributes.get(4..length)?;
        if kind == INFO && value.len() >= TCP_INFO {
            return Some((cookie, measured(peer, value)));
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}

/// A `struct tcp_info`.
fn measured(peer: IpAddr, info: &[u8]) -> Connection {
    let microseconds = |at: usize| Nanos(u64::from(word(info, at)) * 1000);
    Connection {
        at: Nanos::ZERO,
        peer,
        arm: Arm::Stock,
        stage: Stage::Live,
        age: Nanos::ZERO,
        busy: Nanos(long(info, 168).saturating_mul(1000)),
        mss: word(info, 16),
        bytes: long(info, 120),
        handshake_rtt: Nanos::ZERO,
        min_rtt: if word(info, 148) == u32::MAX { Nanos::ZERO } else { microseconds(148) },
        srtt: microseconds(68),
        rate: long(info, 160),
        limited: info[7] & 1 != 0,
        shared: false,
        cwnd: word(info, 80),
        ssthresh: Some(word(info, 76)).filter(|ssthresh| *ssthresh < INFINITE),
        receive_window: word(info, 228).into(),
        sent: word(info, 156),
        retransmits: word(info, 100),
        // Linux 6.7 was the first to count them.
        timeouts: info.get(240..242).map_or(0, |bytes| u16::from_ne_bytes([bytes[0], bytes[1]]).into()),
        first_window_lost: 0,
    }
}
