//! A TUN device: packets that the kernel routes to it are read here, packets written here arrive at the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
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
    /// Packets come one segment at a time: without `gso_max_segs 1` the kernel hands over bursts of several.
    ///
    /// # Errors
    /// Without /dev/net/tun, CAP_NET_ADMIN or iproute2.
    pub fn open(netns: &Netns, address: Ipv4Addr) -> Result<Self, Need> {
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
            let mtu = MTU.to_string();
            ip(&["address", "add", &format!("{address}/24"), "dev", NAME])?;
            ip(&["link", "set", "dev", NAME, "mtu", &mtu, "txqueuelen", "10000", "gso_max_segs", "1", "up"])?;
            Ok(Self { file })
        })?
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
        let mut poll = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
        };
        // SAFETY: both structs outlive the call; no signal mask is given.
        match unsafe { libc::ppoll(&raw mut poll, 1, &raw const timeout, core::ptr::null()) } {
            -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
                Err(io::Error::last_os_error())
            }
            _ => Ok(()),
        }
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
