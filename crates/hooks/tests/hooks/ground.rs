//! A cgroup and a network namespace of the tests' own, and connections in them.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Limits, Plan, Stage};
use firstflight_hooks::{Hooks, Setup, Tiers, now};
use firstflight_lab::{Netns, TcpInfo};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MILLISECOND;
/// Linux's initial window (RFC 6928), segments.
pub(crate) const STACK: u32 = 10;
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Bounds under which nothing is held out.
pub(crate) const LIMITS: Limits =
    Limits { window: 45, ssthresh: false, lease: Nanos(60 * SECOND), holdout: 0 };

/// The process is in one cgroup at a time, so tests take turns.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Ground {
    pub(crate) netns: Netns,
    pub(crate) cgroup: PathBuf,
    /// The cgroup that the process came from.
    home: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Ground {
    /// `None`, with the reason on standard error, where this machine cannot run the hooks.
    pub(crate) fn new() -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let tiers = Tiers::detect();
        if !tiers.sock_ops.is_present() || !tiers.adoption.is_present() {
            firstflight_skip::skip(tiers);
            return None;
        }
        match Self::make(turn) {
            Ok(ground) => Some(ground),
            Err(why) => {
                firstflight_skip::skip(why);
                None
            }
        }
    }

    fn make(turn: MutexGuard<'static, ()>) -> Result<Self, String> {
        let netns = Netns::new().map_err(|need| need.to_string())?;
        netns.set_ipv4("tcp_congestion_control", "reno").map_err(|need| need.to_string())?;
        let address = |address| ["address", "add", address, "dev", "lo", "nodad"];
        let addresses =
            [&["link", "set", "lo", "up"][..], &address("2001:db8:7::1/128"), &address("2001:db8:8::1/128")];
        for arguments in addresses {
            let done = netns.run(|| Command::new("ip").args(arguments).status());
            let done = done.map_err(|need| need.to_string())?.map_err(|error| format!("ip: {error}"))?;
            if !done.success() {
                return Err(format!("ip {}: {done}", arguments.join(" ")));
            }
        }
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).ok_or("no cgroup2")?.to_owned();
        let root = root().ok_or("no cgroup2 hierarchy is mounted")?;
        let cgroup = root.join(format!("firstflight-hooks-{}", std::process::id()));
        fs::create_dir_all(&cgroup).map_err(|error| format!("{}: {error}", cgroup.display()))?;
        let ground = Self { netns, cgroup, home: root.join(own), _turn: turn };
        ground.enter(&ground.cgroup).map_err(|error| error.to_string())?;
        Ok(ground)
    }

    fn enter(&self, cgroup: &std::path::Path) -> io::Result<()> {
        fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string())
    }

    /// Puts this process where it came from, outside of the cgroup that the hooks watch.
    pub(crate) fn leave(&self) {
        self.enter(&self.home).expect("the way back");
    }

    pub(crate) fn come_back(&self) {
        self.enter(&self.cgroup).expect("the own cgroup");
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup { cgroup: Some(self.cgroup.clone()), plans: 4096, ..Setup::new(LIMITS) }
    }

    /// Hooks with a daemon that lives.
    pub(crate) fn hooks(&self, setup: &Setup) -> Hooks {
        let hooks = Hooks::load(setup).expect("hooks");
        hooks.renew().expect("a sign of life");
        hooks
    }

    /// A connection from this address of the loopback to a server at [`SERVER`], or at the same address of IPv6.
    pub(crate) fn connect(&self, from: &str) -> Pair {
        let from: IpAddr = from.parse().expect("an address");
        let server = if from.is_ipv4() { IpAddr::V4(SERVER) } else { "2001:db8:7::1".parse().expect("") };
        self.connect_to(TcpListener::bind, (server, 0).into(), from)
    }

    /// The same to a listener that `listen` opens at `server`.
    pub(crate) fn connect_to(
        &self,
        listen: impl FnOnce(SocketAddr) -> io::Result<TcpListener> + Send,
        server: SocketAddr,
        from: IpAddr,
    ) -> Pair {
        connect_in(&self.netns, listen, server, from)
    }
}

/// A connection within a network namespace.
pub(crate) fn connect_in(
    netns: &Netns,
    listen: impl FnOnce(SocketAddr) -> io::Result<TcpListener> + Send,
    server: SocketAddr,
    from: IpAddr,
) -> Pair {
    let pair = netns.run(|| -> io::Result<Pair> {
        let listener = listen(server)?;
        let mut to = listener.local_addr()?;
        if let (IpAddr::V4(_), IpAddr::V6(_)) = (from, to.ip()) {
            to.set_ip(SERVER.into());
        }
        let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let client = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        bind(&client, &SocketAddr::new(from, 0))?;
        connect(&client, &to)?;
        let (server, _) = listener.accept()?;
        Ok(Pair { client: client.into(), server })
    });
    pair.expect("the namespace").expect("a connection")
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.enter(&self.home);
        // Moved threads leave at once; a process that a test has killed takes a moment.
        for _ in 0..100 {
            if fs::remove_dir(&self.cgroup).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} could not be removed", self.cgroup.display());
    }
}

fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
    line.split(' ').nth(1).map(PathBuf::from)
}

/// Both ends of a connection.
pub(crate) struct Pair {
    pub(crate) client: TcpStream,
    pub(crate) server: TcpStream,
}

impl Pair {
    /// The server's congestion window, segments.
    pub(crate) fn window(&self) -> u32 {
        TcpInfo::of(&self.server).expect("TCP_INFO").cwnd
    }

    /// Sends bytes from the server, and ends once they have come.
    pub(crate) fn transfer(&mut self, bytes: usize) {
        let mut from = self.server.try_clone().expect("a descriptor");
        let sender = thread::spawn(move || from.write_all(&vec![0; bytes]));
        let mut left = vec![0; bytes];
        self.client.read_exact(&mut left).expect("all bytes");
        sender.join().expect("a sender").expect("all bytes");
    }

    /// Ends it: the server closes first, then the client.
    pub(crate) fn close(self) {
        drop(self.server);
        drop(self.client);
    }
}

/// A plan for a prefix that any handshake may use for a minute.
pub(crate) fn plan(prefix: &str, window: u32) -> Plan {
    Plan {
        prefix: prefix.parse().expect("a prefix"),
        window,
        path: window,
        ssthresh: None,
        paced: false,
        rtt: (Nanos::ZERO, Nanos(10 * SECOND)),
        expires: Nanos(now().0 + 60 * SECOND),
        holdout: 0,
    }
}

/// Reports of ends, of peers whose addresses begin with `peer`, until there are `many` or a second has passed.
pub(crate) fn ends(hooks: &mut Hooks, peer: &str, many: usize) -> Vec<Connection> {
    let mut ends = vec![];
    for _ in 0..50 {
        let shown = hooks.drain(Duration::from_millis(20), |connection| {
            if connection.peer.to_string().starts_with(peer) && connection.stage == Stage::Ended {
                ends.push(connection);
            }
        });
        shown.expect("reports");
        if ends.len() >= many {
            break;
        }
    }
    ends
}

pub(crate) fn any_v6(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))
}
