//! A TUN device: packets that the kernel routes to it are read here, packets written here arrive at the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::need::Need;
use crate::netns::Netns;

/// Its name; each is alone in its namespace.
const NAME: &str = "tun0";
/// Bytes of the largest packet.
pub(crate) const MTU: usize = 1500;

/// An open device. The device is removed when this value is dropped.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// A device inside `netns`, up, with `address/24` as the kernel's own address.
    ///
    /// # Errors
    /// As [`Tun::with`].
    pub fn open(netns: &Netns, address: Ipv4Addr) -> Result<Self, Need> {
        Self::with(netns, &[address], MTU)
    }

    /// A device inside `netns` whose packets have at most `mtu` bytes, up, with each `address/24` as an address of the
    /// kernel's own.
    ///
    /// Packets come one segment at a time: without `gso_max_segs 1` the kernel hands over bursts of several.
    ///
    /// # Errors
    /// Without /dev/net/tun, CAP_NET_ADMIN or iproute2.
    pub fn with(netns: &Netns, addresses: &[Ipv4Addr], mtu: usize) -> Result<Self, Need> {
        netns.run(|| {
            let open =
                OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun");
            let file = open.map_err(|error| Need::of("/dev/net/tun", error))?;
            // SAFETY: all zeroes are a value of this plain struct.
            let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
            for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
            // SAFETY: the request outlives the call, and its name ends in a zero.
            if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw const request) } != 0 {
                return Err(Need::last("a TUN device"));
            }
            for address in addresses {
                ip(&["address", "add", &format!("{address}/24"), "dev", NAME])?;
            }
            let mtu = mtu.to_string();
            ip(&["link", "set", "dev", NAME, "mtu", &mtu, "txqueuelen", "10000", "gso_max_segs", "1", "up"])?;
            Ok(Self { file })
        })?
    }

    /// Gives the packets of `netns` to the addresses of `network` the attributes of `ip-route(8)`, such as `initcwnd 20`.
    ///
    /// # Errors
    /// If the kernel refuses them.
    pub(crate) fn set_route(
        netns: &Netns,
        network: Ipv4Addr,
        own: Ipv4Addr,
        attributes: &[&str],
    ) -> Result<(), Need> {
        let (network, own) = (format!("{network}/24"), own.to_string());
        let route =
            ["route", "replace", &network, "dev", NAME, "proto", "kernel", "scope", "link", "src", &own];
        netns.run(|| ip(&[&route[..], attributes].concat()))?
    }

    /// Brings the loopback device of `netns` up, so that its programs reach each other.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn set_loopback(netns: &Netns) -> Result<(), Need> {
        netns.run(|| ip(&["link", "set", "dev", "lo", "up"]))?
    }

    /// Packets of `netns` that did not fit the queue of its device.
    ///
    /// # Errors
    /// If the kernel does not show the count.
    pub fn dropped(netns: &Netns) -> Result<u64, Need> {
        let read = netns.run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
        let text = read.map_err(|error| Need::of("/proc/net/dev", error))?;
        let device = text.lines().find_map(|line| line.trim().strip_prefix(NAME)?.strip_prefix(':'));
        // Eight numbers of what came, then bytes, packets, errors and drops of what was sent.
        let count = device.and_then(|numbers| numbers.split_whitespace().nth(11)?.parse().ok());
        count.ok_or_else(|| Need::of("the counters of a TUN device", io::Error::other("there are none")))
    }

    /// The next packet that the kernel sent, into `buffer`; `None` if there is none now.
    ///
    /// # Errors
    /// If the device fails.
    pub fn receive<'a>(&self, buffer: &'a mut [u8; MTU]) -> io::Result<Option<&'a [u8]>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(&buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet to the kernel, which has dealt with it on return.
    ///
    /// # Errors
    /// If the kernel refuses the packet.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }

    /// Waits until the kernel has sent something, at most `time`.
    ///
    /// # Errors
    /// If waiting fails.
    pub fn wait(&self, time: Duration) -> io::Result<()> {
        wait([self], time).map(drop)
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Waits until one of the devices or sockets has something to read, at most `time`; returns which have something.
pub(crate) fn wait<const N: usize>(those: [&impl AsRawFd; N], time: Duration) -> io::Result<[bool; N]> {
    let mut polls = those.map(|one| libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let timeout = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
    };
    // SAFETY: both places outlive the call; no signal mask is given.
    match unsafe { libc::ppoll(polls.as_mut_ptr(), N as libc::nfds_t, &raw const timeout, core::ptr::null()) }
    {
        -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
            Err(io::Error::last_os_error())
        }
        _ => Ok(polls.map(|poll| poll.revents != 0)),
    }
}

/// Runs `ip` in the namespace of the calling thread.
fn ip(arguments: &[&str]) -> Result<(), Need> {
    let ran = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| Need::of("the program `ip` of iproute2", error))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
    Err(Need::of("to set up a TUN device with `ip`", io::Error::other(said)))
}
