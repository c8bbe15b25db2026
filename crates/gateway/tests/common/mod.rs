//! Helpers: connections over a path of a given window, with segments of 1460 bytes and a round trip of 100 ms.

#![allow(dead_code, reason = "each test program uses its own part")]

use core::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Connection, Decision, Gateway, Mode, Settings, Stage};

pub(crate) const MSS: u32 = 1460;
pub(crate) const RTT: Nanos = Nanos::from_millis(100);

pub(crate) fn at(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

/// Host `number` of 192.0.2.0/24.
pub(crate) fn host(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, number])
}

/// Settings that enforce, with the defaults of everything else.
pub(crate) fn enforcing() -> Settings {
    Settings { mode: Mode::Enforce, ..Settings::default() }
}

/// A connection that left slow start on a path of this window: it was not limited by the application, had a
/// retransmission after its first window, and delivered a window for each round trip. It carried 1000 segments.
pub(crate) fn exact(seconds: f64, peer: IpAddr, segments: u32) -> Connection {
    let bytes = 1000 * u64::from(MSS);
    Connection {
        at: at(seconds),
        peer,
        arm: Arm::Stock,
        stage: Stage::Ended,
        age: Nanos::from_secs(20),
        busy: Nanos(RTT.0 * 1000 / u64::from(segments)),
        mss: MSS,
        bytes,
        handshake_rtt: RTT,
        min_rtt: RTT,
        srtt: RTT,
        rate: u64::from(segments) * u64::from(MSS) * 10,
        limited: false,
        shared: false,
        cwnd: segments,
        ssthresh: Some(segments),
        receive_window: 1 << 20,
        sent: 1001,
        retransmits: 1,
        timeouts: 0,
        first_window_lost: 0,
    }
}

/// The same without a retransmission and with an infinite threshold: a lower bound.
pub(crate) fn bound(seconds: f64, peer: IpAddr, segments: u32) -> Connection {
    Connection { retransmits: 0, sent: 1000, ssthresh: None, ..exact(seconds, peer, segments) }
}

pub(crate) fn planned(connection: Connection, window: u32) -> Connection {
    Connection { arm: Arm::Planned(window), ..connection }
}

/// This many segments of the first window were retransmitted.
pub(crate) fn lost(connection: Connection, segments: u32) -> Connection {
    Connection { first_window_lost: segments, ..connection }
}

/// More than half of the first window was retransmitted.
pub(crate) fn overflown(connection: Connection) -> Connection {
    lost(connection, connection.arm.window() / 2 + 1)
}

pub(crate) fn report(gateway: &mut Gateway, connection: &Connection) -> Vec<Decision> {
    let mut out = vec![];
    gateway.report(connection, &mut out);
    out
}

pub(crate) fn tick(gateway: &mut Gateway, seconds: f64) -> Vec<Decision> {
    let mut out = vec![];
    gateway.tick(at(seconds), &mut out);
    out
}

/// Window of the plan in force for 192.0.2.0/24, segments.
pub(crate) fn window(gateway: &Gateway) -> Option<u32> {
    gateway.explain(host(1)).plan.map(|plan| plan.window)
}

/// Three samples of each of these hosts, all at this time.
pub(crate) fn learn(gateway: &mut Gateway, seconds: f64, hosts: u8, segments: u32) -> Vec<Decision> {
    let reports = (0..3 * hosts).map(|i| exact(seconds, host(i % hosts + 1), segments));
    reports.flat_map(|connection| report(gateway, &connection)).collect()
}
