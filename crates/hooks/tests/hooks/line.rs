//! Connections to hosts of a network, 10.79.0.16/28, over an emulated path. Its server is in another /28, so that the clients' ends of the
//! connections, which are in the tests' cgroup too, do not count.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use firstflight_lab::{Cable, check};
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::ground::Pair;

const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 79, 0, 1)), 8081);
/// The network.
pub(crate) const NETWORK: &str = "10.79.0.16/28";
/// Lengths of the prefixes of plans.
pub(crate) const BITS: (u8, u8) = (28, 48);

/// The path of a round-trip time of 50 ms, with a server whose control is Reno.
pub(crate) struct Line {
    pub(crate) cable: Cable,
    listener: TcpListener,
}

/// Address of a host of the network, of six.
pub(crate) fn host(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 79, 0, 17 + (number % 6) as u8)
}

impl Line {
    /// `None`, with the reason on standard error, where this machine cannot emulate it. `buffer` in packets.
    pub(crate) fn lay(rate: &str, buffer: u32) -> Option<Self> {
        if !check::can_run(&check::abilities()) {
            firstflight_skip::skip("`firstflight lab check` says what this machine lacks");
            return None;
        }
        let text = format!(
            "duration = \"60 s\"\n[path]\nrate = \"{rate}\"\nrtt = \"50 ms\"\nbuffer = \"{buffer} packets\"\n\
             [[flow]]\nname = \"transfer\"\nprofile = \"linux\"\nsize = \"300 KB\"\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect("a valid scenario").scenario;
        let hosts: Vec<_> = (0..6).map(host).collect();
        let near = Ipv4Addr::new(10, 79, 0, 1);
        let cable = Cable::lay(&scenario, &[near], &hosts).expect("a cable");
        cable.near().set_ipv4("tcp_no_metrics_save", "1").expect("a setting of the namespace");
        let listener = cable.near().run(|| TcpListener::bind(SERVER)).expect("the namespace");
        let listener = listener.expect("a listener");
        sockopt::set_tcp_congestion(&listener, "reno").expect("Reno");
        Some(Self { cable, listener })
    }

    /// The client's end of a connection of this host.
    pub(crate) fn open(&self, number: usize) -> TcpStream {
        let opened = self.cable.far().run(|| -> io::Result<TcpStream> {
            let client = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            bind(&client, &SocketAddr::from((host(number), 0)))?;
            connect(&client, &SERVER)?;
            Ok(client.into())
        });
        opened.expect("the namespace").expect("a connection")
    }

    /// The server's end of the next connection.
    pub(crate) fn accept(&self) -> TcpStream {
        self.listener.accept().expect("a connection").0
    }

    pub(crate) fn connect(&self, number: usize) -> Pair {
        let client = self.open(number);
        Pair { client, server: self.accept() }
    }
}
