#!/usr/bin/env bash
# quinn's BBR begins with a window of 240,000 bytes: 200 packets, 20 times the window of its Cubic and of its NewReno. Who changes the
# controller to compare the congestion avoidance of two algorithms changes the initial window, too, and most of the difference of a short
# transfer is the window. RFC 9002 has ten packets for every controller, and Linux's BBR begins with ten as well.
# Cause: BbrConfig::default() in src/congestion/bbr/mod.rs takes its constant of 200 packets of 1,200 bytes for the initial window.
# Versions: quinn-proto =0.11.19, without its default features. Controls: CubicConfig and NewRenoConfig.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "windows"
version = "0.0.0"
edition = "2021"

[dependencies]
quinn-proto = { version = "=0.11.19", default-features = false }

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let now = Instant::now();
    for size in [1200, 1452] {
        let cubic = Arc::new(CubicConfig::default()).build(now, size).window();
        let reno = Arc::new(NewRenoConfig::default()).build(now, size).window();
        let bbr = Arc::new(BbrConfig::default()).build(now, size).window();
        println!("datagrams of {size} bytes: initial window Cubic {cubic}, NewReno {reno}, BBR {bbr} bytes");
        assert_eq!((cubic, reno), (12_000, 12_000), "the control has changed");
        assert_eq!(bbr, 240_000, "the behaviour has changed");
    }
}
RUST
nice -n 19 cargo build --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
echo "quinn-proto $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^quinn-proto/ { print $2 }')"
"$work/target/debug/windows"
echo "as described: BBR begins with 20 times the window of the others"
