//! The list of schemes and queues.

use firstflight_contract::Signals;
use firstflight_hosts::host::Host;
use firstflight_hosts::simulator::Simulator;
use firstflight_net::queue::Discipline;
use firstflight_schemes::registry::SCHEMES;
use serde::Serialize;

/// A scheme or a queue, as `firstflight algorithms --json` lists it.
#[derive(Clone, Debug, Serialize)]
pub struct Algorithm {
    /// Stable label.
    pub label: &'static str,
    /// Role: `startup`, `avoidance`, `whole`, `router` or `queue`.
    pub role: &'static str,
    /// Paper and section, or RFC.
    pub source: &'static str,
    /// Names of the signals that it needs from a host.
    pub needs: Vec<&'static str>,
    /// Names of the hosts that offer them.
    pub hosts: Vec<&'static str>,
    /// One sentence for listings. Not in JSON.
    #[serde(skip)]
    pub summary: &'static str,
}

/// Signals that the Linux kernel offers to a scheme. The kernel as a host is a crate above this one.
pub const KERNEL: Signals =
    Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::HANDSHAKE).union(Signals::PLAN);

/// Signals that QUIC offers to a scheme. QUIC as a host is a crate above this one.
pub const QUIC: Signals =
    Signals::RTT.union(Signals::RATE).union(Signals::SENT).union(Signals::HANDSHAKE).union(Signals::PLAN);

const SIMULATOR: &str = "simulator";

/// Every scheme and every queue, in listing order.
pub fn algorithms() -> Vec<Algorithm> {
    let schemes = SCHEMES.iter().map(|info| Algorithm {
        label: info.label,
        role: info.role.label(),
        source: info.source,
        needs: info.needs.names().collect(),
        hosts: hosts(info.needs),
        summary: info.summary,
    });
    let disciplines = Discipline::INFO.iter().map(|info| Algorithm {
        label: info.label,
        role: info.role.label(),
        source: info.source,
        needs: vec![],
        hosts: vec![SIMULATOR],
        summary: info.summary,
    });
    schemes.chain(disciplines).collect()
}

/// Names of the hosts that offer the signals `needs`.
fn hosts(needs: Signals) -> Vec<&'static str> {
    let hosts = [(SIMULATOR, Simulator.offers()), ("kernel", KERNEL), ("quic", QUIC)];
    hosts.iter().filter(|(_, offered)| offered.has(needs)).map(|(name, _)| *name).collect()
}
