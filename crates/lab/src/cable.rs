//! Two networks joined by an emulated path, for programs of any kind.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use etherparse::Ipv4HeaderSlice;
use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_results::Validity;
use firstflight_scenario::Scenario;

use crate::emulator::realtime::{Emulated, Observer, Way, emulate};
use crate::need::Need;
use crate::netns::Netns;
use crate::traffic::Start;
use crate::tun::{MTU, Tun};
use crate::turn::Turn;

/// Congestion control of connections over the path, the kernel's default in most distributions. A namespace may not change its
/// own default; a route may.
const CONGESTION_CONTROL: [&str; 2] = ["congctl", "cubic"];
/// Time from the moment at which the emulator is ready to the start of its clock, nanoseconds.
const LEAD: u64 = 10_000_000;

/// Two networks, near and far, and a path between them, emulated in real time until it is [cut](Cable::cut).
///
/// Nothing has a name outside this process: the kernel removes networks and devices with the last program inside them.
#[derive(Debug)]
pub struct Cable {
    near: Netns,
    far: Netns,
    over: Arc<AtomicBool>,
    emulator: JoinHandle<io::Result<Emulated>>,
    _turn: Turn,
}

/// Why there is no path, or why it failed.
#[derive(Debug)]
pub struct Broken(String);

impl core::fmt::Display for Broken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Broken {}

impl From<Need> for Broken {
    fn from(need: Need) -> Self {
        Self(format!("this machine does not grant {need}"))
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(format!("the emulator failed: {error}"))
    }
}

impl Cable {
    /// Joins two networks by the path of `scenario`, for at most its duration. Each address belongs to a network of 24
    /// bits of its own or together with others; the ends of a connection have one such network in common. Packets to
    /// the far addresses take the path of the scenario's first flow, all others its way back. Waits until no other run of this machine is in real time.
    ///
    /// # Errors
    /// [`Broken`] if the scenario has no such path, or if this machine does not grant namespaces, devices or real time.
    pub fn lay(scenario: &Scenario, near: &[Ipv4Addr], far: &[Ipv4Addr]) -> Result<Self, Broken> {
        let built = build(scenario, scenario.seed, Nanos(0)).map_err(|error| Broken(error.to_string()))?;
        if built.network.flows.len() != 1 {
            return Err(Broken(format!(
                "the scenario has {} flows; expected one, whose path the programs use",
                built.network.flows.len()
            )));
        }
        let turn = Turn::take()?;
        let sides = [Netns::new()?, Netns::new()?];
        // No connection starts from the kernel's memory of an earlier one.
        sides.iter().try_for_each(|side| side.set_ipv4("tcp_no_metrics_save", "1"))?;
        let tuns = [Tun::with(&sides[0], near, MTU)?, Tun::with(&sides[1], far, MTU)?];
        for (side, addresses) in sides.iter().zip([near, far]) {
            for &own in addresses {
                let [a, b, c, _] = own.octets();
                Tun::set_route(side, Ipv4Addr::new(a, b, c, 0), own, &CONGESTION_CONTROL)?;
            }
        }
        let over = Arc::new(AtomicBool::new(false));
        let start = Arc::new(Start::default());
        let mut signs = Signs { far: far.to_vec(), over: Arc::clone(&over), latest: 0 };
        let emulator = {
            let start = Arc::clone(&start);
            thread::Builder::new()
                .name("cable".to_owned())
                .spawn(move || emulate(&built.network, [&tuns[0], &tuns[1]], &start, &mut signs))?
        };
        start.when_ready(1, LEAD);
        let [near, far] = sides;
        Ok(Self { near, far, over, emulator, _turn: turn })
    }

    /// The network at the sending end of the scenario's flow.
    pub fn near(&self) -> &Netns {
        &self.near
    }

    /// The network at the receiving end.
    pub fn far(&self) -> &Netns {
        &self.far
    }

    /// Ends the emulation and says how exact it was.
    ///
    /// # Errors
    /// [`Broken`] if the emulator was refused real time or a device failed.
    pub fn cut(self) -> Result<Validity, Broken> {
        self.over.store(true, Ordering::Relaxed);
        let emulated = self.emulator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(emulated.validity)
    }
}

/// Knows the ways of packets by their destination.
struct Signs {
    far: Vec<Ipv4Addr>,
    over: Arc<AtomicBool>,
    /// Time of the newest packet, nanoseconds.
    latest: u64,
}

impl Observer for Signs {
    type Note = ();

    fn came(&mut self, at: u64, packet: &[u8]) -> Option<(Way, ())> {
        self.latest = at;
        let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let path = u32::from(!self.far.contains(&header.destination_addr()));
        Some((Way { path, ecn_capable: header.ecn().value() != 0 }, ()))
    }

    fn went(&mut self, _: u64, (): ()) {}

    fn lost(&mut self, (): ()) {}

    fn over(&self) -> Option<u64> {
        self.over.load(Ordering::Relaxed).then_some(self.latest)
    }
}
