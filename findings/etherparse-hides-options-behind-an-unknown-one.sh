#!/usr/bin/env bash
# The Rust crate etherparse stops at the first TCP option that it does not know. RFC 9293 (section 3.1) gives every option but two a length,
# so that a reader passes over an unknown one. With TCP Fast Open's request in front (RFC 7413), the window scale and SACK behind it are not
# listed. Who reads the receive window of such a connection finds it 128 times too small, and looks for the limit in the wrong place.
# Cause: TcpOptionsIterator::next() (src/transport/tcp_options_iterator.rs) answers an unknown kind with UnknownId and empties the rest of the list.
# Versions: etherparse =0.21.0. Control: the same options without Fast Open's.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "options"
version = "0.0.0"
edition = "2021"

[dependencies]
etherparse = "=0.21.0"

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use etherparse::TcpOptionsIterator;

// Maximum segment size 1460; window scale 7; SACK permitted; no operation as padding.
const SEGMENT_SIZE: [u8; 4] = [2, 4, 5, 180];
const OTHERS: [u8; 6] = [1, 3, 3, 7, 4, 2];
// A request for a cookie: kind 34, length 2.
const FAST_OPEN: [u8; 2] = [34, 2];

fn main() {
    let without = [&SEGMENT_SIZE[..], &OTHERS, &[1, 1]].concat();
    let with = [&SEGMENT_SIZE[..], &FAST_OPEN, &OTHERS].concat();
    let read = |options: &[u8]| -> Vec<String> {
        TcpOptionsIterator::from_slice(options).map(|option| format!("{option:?}")).collect()
    };
    let has = |list: &[String], word: &str| list.iter().any(|option| option.contains(word));
    let (control, found) = (read(&without), read(&with));
    println!("without Fast Open: {control:?}");
    println!("with Fast Open:    {found:?}");
    assert!(has(&control, "WindowScale(7)") && has(&control, "SelectiveAcknowledgementPermitted"), "the control has changed");
    assert!(has(&found, "MaximumSegmentSize(1460)") && has(&found, "UnknownId(34)"), "the behaviour has changed");
    assert!(!has(&found, "WindowScale") && !has(&found, "SelectiveAcknowledgementPermitted"), "the behaviour has changed");
}
RUST
nice -n 19 cargo build --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
echo "etherparse $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^etherparse/ { print $2 }')"
"$work/target/debug/options"
echo "as described: an unknown option ends the list"
