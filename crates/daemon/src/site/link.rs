//! Packets of an interface, as an `AF_PACKET` socket shows them: their headers, with the kernel's times.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use firstflight_contract::Nanos;

/// Bytes of a packet that are read: link, tags, IPv6 and TCP with all options fit.
const HEAD: usize = 192;
/// Packets in a call.
const BATCH: usize = 64;
/// Room of the socket, bytes: a tenth of a second of a million packets a second and more.
const ROOM: libc::c_int = 64 << 20;
/// Bytes of ancillary data: a time.
const ANCILLARY: usize = 64;

/// A socket that sees each packet of an interface. It needs CAP_NET_RAW to open, and nothing afterwards.
#[derive(Debug)]
pub(super) struct Link {
    socket: OwnedFd,
    link_type: u32,
    dropped: u64,
}

impl Link {
    /// Sees the packets of this interface, also those for other hosts, as a switch mirrors them.
    pub(super) fn open(interface: &str) -> Result<Self, String> {
        let failed = |why: &str| format!("{why}: {}", io::Error::last_os_error());
        let name = CString::new(interface).map_err(|_| "the name has a zero byte".to_owned())?;
        // SAFETY: the name ends in a zero.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err("this machine has no such interface; `ip link` lists them".to_owned());
        }
        // Of no protocol, so that packets of other interfaces do not arrive before `bind`.
        // SAFETY: takes no pointer.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(failed("its packets cannot be read (expected root, or CAP_NET_RAW)"));
        }
        // SAFETY: the descriptor was just opened, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)
            .map_err(|why| format!("times: {why}"))?;
        // The forced size needs CAP_NET_ADMIN; without it the system's own limit holds.
        let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &ROOM);
        let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &ROOM);
        let all = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)
            .map_err(|why| format!("packets for other hosts: {why}"))?;
        // SAFETY: all zeroes are a value of this plain struct.
        let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as libc::c_int;
        let mut length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the descriptor is open; the address has the length that is stated.
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
        // SAFETY: as above; both places are writable.
        let named =
            unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
        if bound != 0 || named != 0 {
            return Err(failed("its packets cannot be read"));
        }
        let link_type = match address.sll_hatype {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => 1,
            libc::ARPHRD_NONE | ARPHRD_RAWIP | libc::ARPHRD_PPP | libc::ARPHRD_TUNNEL => 101,
            other => {
                return Err(format!("its packets are of hardware type {other}; expected Ethernet or IP"));
            }
        };
        Ok(Self { socket, link_type, dropped: 0 })
    }

    /// Waits for packets, at most this long, and shows those that have come, at most some thousands: time since 1970, link
    /// type, first bytes, bytes on the link.
    pub(super) fn read(
        &mut self,
        wait: Duration,
        mut each: impl FnMut(Nanos, u32, &[u8], u32),
    ) -> io::Result<()> {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, as stated.
        unsafe { libc::poll(&raw mut poll, 1, wait.as_millis() as libc::c_int) };
        for _ in 0..64 {
            if self.batch(&mut each)? < BATCH {
                break;
            }
        }
        Ok(())
    }

    fn batch(&self, each: &mut impl FnMut(Nanos, u32, &[u8], u32)) -> io::Result<usize> {
        let mut heads = [[0_u8; HEAD]; BATCH];
        let mut ancillary = [[0_u64; ANCILLARY / 8]; BATCH];
        let mut parts: [libc::iovec; BATCH] =
            core::array::from_fn(|at| libc::iovec { iov_base: heads[at].as_mut_ptr().cast(), iov_len: HEAD });
        // SAFETY: all zeroes are values of this plain struct.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { core::mem::zeroed() };
        for (at, message) in messages.iter_mut().enumerate() {
            message.msg_hdr.msg_iov = &raw mut parts[at];
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = ancillary[at].as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = ANCILLARY;
        }
        // SAFETY: the descriptor is open; each message points to places that live until the end of this function.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                core::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        }
        for (at, message) in messages[..count as usize].iter().enumerate() {
            // SAFETY: the kernel filled the message and its ancillary data.
            let Some(time) = (unsafe { stamp(&message.msg_hdr) }) else { continue };
            let head = &heads[at][..HEAD.min(message.msg_len as usize)];
            each(time, self.link_type, head, message.msg_len);
        }
        Ok(count as usize)
    }

    /// Packets for which the socket had no room, so far.
    pub(super) fn dropped(&mut self) -> u64 {
        // packets and drops since the last question (struct tpacket_stats)
        let mut counts = [0_u32; 2];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the descriptor is open; the two places are writable and as long as stated.
        let answer = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if answer == 0 {
            self.dropped += u64::from(counts[1]);
        }
        self.dropped
    }
}

/// Hardware type of interfaces without a link header (linux/if_arp.h).
const ARPHRD_RAWIP: u16 = 519;

/// Time of a message, since 1970.
///
/// # Safety
/// The message is one that the kernel filled.
unsafe fn stamp(message: &libc::msghdr) -> Option<Nanos> {
    // SAFETY: by the condition of this function.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref()? };
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: a message of this type holds a timespec, perhaps not aligned.
    let time = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
    Some(Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

fn set<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the descriptor is open; the value has the length that is stated.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            core::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
