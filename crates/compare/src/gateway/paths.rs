//! The paths of the networks of a server, from the connections that it had.

use std::collections::BTreeMap;
use std::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Settings};
use firstflight_paths::Prefix;

/// Path of a network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Greatest rate, bytes per second.
    pub rate: u64,
    /// Least round-trip time.
    pub rtt: Nanos,
    /// Payload of a full segment, bytes.
    pub mss: u32,
}

/// Time at which a connection was established.
pub fn began(report: &Connection) -> Nanos {
    report.at.saturating_sub(report.age)
}

pub(super) fn network(address: IpAddr, settings: &Settings) -> Prefix {
    let (v4, v6) = settings.bits;
    Prefix::around(address, if address.to_canonical().is_ipv4() { v4 } else { v6 })
}

/// The path of each network.
pub(super) fn paths(reports: &[Connection], settings: &Settings) -> BTreeMap<Prefix, Measured> {
    let mut paths = BTreeMap::<Prefix, Measured>::new();
    for report in reports.iter().filter(|report| report.min_rtt > Nanos::ZERO) {
        let path = paths.entry(network(report.peer, settings)).or_default();
        path.rate = path.rate.max(report.rate);
        path.rtt = if path.rtt == Nanos::ZERO { report.min_rtt } else { path.rtt.min(report.min_rtt) };
        path.mss = path.mss.max(report.mss);
    }
    paths
}
