#!/usr/bin/env bash
# quinn-proto publishes its congestion controllers and their trait, so that a bench could drive NewReno, Cubic or BBR by itself. Nobody can:
# Controller::on_ack() takes an RttEstimator, a public type whose constructor is private and which has no Default. A caller outside has to run a
# whole connection with a handshake to get one, and cannot give it a round trip: the method that updates it is private too.
# Cause: RttEstimator::new() and update() are pub(crate) in quinn-proto/src/connection/paths.rs.
# Versions: quinn-proto 0.11.19, Rust 1.85 or newer. Control: the same program without the two calls compiles, and shows a window of 12000.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src"
cd "$work"
cat > Cargo.toml <<'TOML'
[package]
name = "estimator"
version = "0.1.0"
edition = "2021"

[dependencies]
quinn-proto = { version = "=0.11.19", default-features = false }

[features]
new = []
default-of = []
update = []
TOML
cat > src/main.rs <<'RUST'
use quinn_proto::congestion::{Controller, NewReno, NewRenoConfig};
use quinn_proto::RttEstimator;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The only call that needs an estimator.
fn acknowledge(reno: &mut NewReno, rtt: &RttEstimator) {
    let now = Instant::now();
    reno.on_ack(now, now, 1200, false, rtt);
}

#[cfg(feature = "update")]
fn measure(rtt: &mut RttEstimator) {
    rtt.update(Duration::ZERO, Duration::from_millis(100));
}

fn main() {
    let mut reno = NewReno::new(Arc::new(NewRenoConfig::default()), Instant::now(), 1200);
    #[cfg(feature = "new")]
    acknowledge(&mut reno, &RttEstimator::new(Duration::from_millis(100)));
    #[cfg(feature = "default-of")]
    acknowledge(&mut reno, &RttEstimator::default());
    // The control compiles the call, and cannot make it.
    let _: fn(&mut NewReno, &RttEstimator) = acknowledge;
    let _ = Duration::ZERO;
    reno.on_mtu_update(1200);
    println!("window {}", reno.window());
}
RUST
failed=0
expect() { # name, pattern, command
    local name=$1 pattern=$2
    shift 2
    "$@" > output 2>&1 || true
    if grep -q -- "$pattern" output; then
        echo "$name: $(grep -m 1 -- "$pattern" output)"
    else
        echo "$name: changed; expected $pattern"
        tail -n 20 output
        failed=1
    fi
}
expect "control" "^window 12000$" cargo run --quiet
expect "RttEstimator::new" "error\[E0624\]: associated function \`new\` is private" cargo check --quiet --features new
expect "RttEstimator::default" "error\[E0599\]: no function or associated item named \`default\`" cargo check --quiet --features default-of
expect "RttEstimator::update" "error\[E0624\]: method \`update\` is private" cargo check --quiet --features update
exit "$failed"
