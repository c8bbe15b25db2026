//! CPU time of a report and of a tick, and the bytes of a prefix, with a million prefixes.
//!
//! `cargo bench -p firstflight-gateway --bench gateway`

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use firstflight_gateway::{Arm, Connection, Gateway};

/// CPU time of this process, nanoseconds.
fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn main() {
    for prefixes in [1_000, 1_000_000] {
        measure(prefixes);
    }
}

fn measure(prefixes: u32) {
    let mut gateway = Gateway::new(enforcing());
    let mut out = Vec::with_capacity(1 << 20);
    // Each prefix has five hosts and two samples of each, then a plan.
    let mut number = 0u32;
    for turn in 0..10 {
        let now = f64::from(turn);
        gateway.tick(at(now), &mut out);
        for prefix in 0..prefixes {
            gateway.report(&exact(now, peer(prefix, (turn % 5) as u8), 40), &mut out);
        }
        out.clear();
    }
    assert_eq!(gateway.planned(), prefixes as usize);
    // Reports in the order of a congruential generator, so that nothing is in the cache by its order.
    const REPORTS: u32 = 1_000_000;
    let mut batch = Vec::with_capacity(Gateway::BATCH);
    // Without and with preparation, in turn.
    let mut times = [[0; 5]; 2];
    for turn in 0..10 {
        let prepared = turn % 2;
        let begin = cpu();
        for _ in 0..REPORTS / Gateway::BATCH as u32 {
            batch.clear();
            batch.resize_with(Gateway::BATCH, || {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let prefix = ((u64::from(number) * u64::from(prefixes)) >> 32) as u32;
                let connection = exact(10.0, peer(prefix, (number % 5) as u8), 40);
                let arm = if number.is_multiple_of(20) { Arm::Holdout(20) } else { Arm::Planned(20) };
                Connection { arm, ..connection }
            });
            if prepared == 1 {
                gateway.prepare(&batch);
            }
            for connection in &batch {
                gateway.report(connection, &mut out);
                out.clear();
            }
        }
        times[prepared][turn / 2] = cpu() - begin;
    }
    let [alone, prepared] = times.map(|mut times| {
        times.sort_unstable();
        times[2] / u64::from(REPORTS)
    });
    let begin = cpu();
    gateway.tick(at(11.0), &mut out);
    let tick = cpu() - begin;
    let begin = cpu();
    let state = gateway.save();
    let save = cpu() - begin;
    let begin = cpu();
    gateway.load(&state, at(12.0), firstflight_contract::Nanos::ZERO).expect("its own state");
    let load = cpu() - begin;
    println!(
        "{prefixes} prefixes: {prepared} ns a report, {alone} ns without preparation (medians of 5 x {REPORTS}), {:.1} ms a tick, {} \
         bytes a prefix",
        tick as f64 / 1e6,
        gateway.bytes() / prefixes as usize
    );
    println!(
        "  a state of {} bytes a prefix: {:.2} s to save, {:.2} s to load",
        state.len() / prefixes as usize,
        save as f64 / 1e9,
        load as f64 / 1e9
    );
}

fn peer(prefix: u32, host: u8) -> std::net::IpAddr {
    let [_, a, b, c] = prefix.to_be_bytes();
    [a + 1, b, c, host].into()
}
