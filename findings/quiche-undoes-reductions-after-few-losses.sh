#!/usr/bin/env bash
# A lost packet is a sign of congestion (RFC 9002 section 7). Of quiche's Cubic it is none in congestion avoidance: the window falls to 0.7 of itself, and
# a round trip later it is what it was, because fewer than a fifth of the window's packets were lost. Only the loss that ends slow start, and losses of a fifth of
# the window, reduce it. On a full queue quiche goes on above the capacity of the path, loses packets in each round trip, and takes the share of flows that
# answer to each loss: who measures a start by its losses sees reductions that were not kept.
# The cause: on_packet_acked() in src/recovery/congestion/cubic.rs takes a recovery that ended after fewer lost packets than
# ROLLBACK_THRESHOLD_PERCENT (20) of the window, two at least, for spurious, and calls rollback(). No lost packet has arrived late.
# Versions: quiche =0.30.0, cubic. Control: the same losses with reno, whose reductions stay.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "flights"
version = "0.0.0"
edition = "2021"

[dependencies]
quiche = "=0.30.0"

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const ONE_WAY: Duration = Duration::from_millis(30);
const SIZE: usize = 3_000_000;
/// Full datagrams of the server that are lost: the first of them ends slow start.
const LOST: [u64; 3] = [200, 500, 800];

fn configuration(controller: &str) -> quiche::Config {
    let mut configuration = quiche::Config::new(quiche::PROTOCOL_VERSION).unwrap();
    configuration.set_application_protos(&[b"flights"]).unwrap();
    configuration.load_cert_chain_from_pem_file(&format!("{}/certificate.pem", env!("WORK"))).unwrap();
    configuration.load_priv_key_from_pem_file(&format!("{}/key.pem", env!("WORK"))).unwrap();
    configuration.verify_peer(false);
    configuration.set_initial_max_data(30_000_000);
    configuration.set_initial_max_stream_data_bidi_local(30_000_000);
    configuration.set_initial_max_stream_data_bidi_remote(30_000_000);
    configuration.set_initial_max_streams_bidi(1);
    configuration.set_cc_algorithm_name(controller).unwrap();
    configuration
}

struct Datagram {
    arrival: Instant,
    to_server: bool,
    data: Vec<u8>,
}

/// Windows in bytes around each change of more than a fifth by one datagram of the client, or by the timer. The datagrams cross a path of 60 ms in memory.
fn response(controller: &str) -> Vec<(usize, usize)> {
    let (client_address, server_address) = ("192.0.2.1:40000".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
    let name = quiche::ConnectionId::from_ref(&[1; 16]);
    let mut settings = configuration(controller);
    let mut server = quiche::accept(&name, None, server_address, client_address, &mut settings).unwrap();
    let name = quiche::ConnectionId::from_ref(&[2; 16]);
    let mut client = quiche::connect(Some("localhost"), &name, client_address, server_address, &mut settings).unwrap();
    let (mut path, mut changes): (VecDeque<Datagram>, _) = (VecDeque::new(), Vec::new());
    let (mut buffer, mut asked, mut left, mut received, mut sent) = (vec![0; 65536], false, 0, 0, 0_u64);
    let start = Instant::now();
    while received < SIZE {
        assert!(start.elapsed() < Duration::from_secs(20), "the response is not complete");
        let now = Instant::now();
        while let Some(index) = path.iter().position(|datagram| datagram.arrival <= now) {
            let mut datagram = path.remove(index).unwrap();
            let (from, to) = if datagram.to_server { (client_address, server_address) } else { (server_address, client_address) };
            let before = window(&server);
            let receiver = if datagram.to_server { &mut server } else { &mut client };
            receiver.recv(&mut datagram.data, quiche::RecvInfo { from, to }).unwrap();
            let after = window(&server);
            if before.abs_diff(after) > before / 5 && sent > 100 {
                changes.push((before, after));
            }
            send(&mut server, &mut client, &mut path, &mut buffer, &mut sent);
        }
        let before = window(&server);
        for connection in [&mut client, &mut server] {
            if connection.timeout() == Some(Duration::ZERO) {
                connection.on_timeout();
            }
        }
        // A loss may be found by the timer too.
        let after = window(&server);
        if before.abs_diff(after) > before / 5 && sent > 100 {
            changes.push((before, after));
        }
        if client.is_established() && !asked {
            asked = true;
            client.stream_send(0, b"request", true).unwrap();
        }
        for stream in server.readable() {
            while server.stream_recv(stream, &mut buffer).is_ok() {
                left = SIZE;
            }
        }
        while left > 0 {
            match server.stream_send(0, &vec![0; left.min(200_000)], left <= 200_000) {
                Ok(size) => left -= size,
                Err(_) => break,
            }
        }
        for stream in client.readable() {
            while let Ok((size, _)) = client.stream_recv(stream, &mut buffer) {
                received += size;
            }
        }
        send(&mut server, &mut client, &mut path, &mut buffer, &mut sent);
        std::thread::sleep(Duration::from_micros(100));
    }
    changes
}

fn window(server: &quiche::Connection) -> usize {
    server.path_stats().next().map_or(0, |path| path.cwnd)
}

/// Both ends send what they may.
fn send(
    server: &mut quiche::Connection,
    client: &mut quiche::Connection,
    path: &mut VecDeque<Datagram>,
    buffer: &mut [u8],
    sent: &mut u64,
) {
    let now = Instant::now();
    while let Ok((size, _)) = client.send(buffer) {
        path.push_back(Datagram { arrival: now + ONE_WAY, to_server: true, data: buffer[..size].to_vec() });
    }
    while let Ok((size, _)) = server.send(buffer) {
        *sent += u64::from(size == 1200);
        if size != 1200 || !LOST.contains(sent) {
            path.push_back(Datagram { arrival: now + ONE_WAY, to_server: false, data: buffer[..size].to_vec() });
        }
    }
}

fn main() {
    for controller in ["cubic", "reno"] {
        let changes = response(controller);
        println!("{controller}, three datagrams lost: windows before and after each change {changes:?}");
        let undone = changes.iter().filter(|(before, after)| after > before).count();
        let reduced = changes.iter().filter(|(before, after)| after < before).count();
        assert_eq!(reduced, 3, "one reduction for each loss");
        match controller {
            "cubic" => assert_eq!(undone, 2, "the behaviour has changed"),
            _ => assert_eq!(undone, 0, "the control has changed"),
        }
    }
}
RUST
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2> /dev/null
# Compiles BoringSSL as well: two minutes of one core.
WORK=$work nice -n 19 cargo build --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
echo "quiche $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^quiche / { print $2 }')"
"$work/target/debug/flights"
echo "as described: of three reductions by one lost packet each, Cubic undid two a round trip later"
