#!/usr/bin/env bash
# noq, a fork of quinn, spaces even the first packets of a response on a long path, although ten fit in its window and quinn sends them at once: on
# 100 ms the four packets of a response of 5,000 bytes leave one each 9.7 ms, so that the response takes 29 ms, a third of a round trip,
# longer than its window demands; on 600 ms it takes 167 ms longer. On a path of 10 ms all leave at once, so that a test in a data centre or on
# loopback does not show it. An initial window of ten packets says nothing about when they arrive.
# Cause: rate_capacity() in src/connection/pacing.rs limits a burst to 10 ms of one window a round trip, and the least burst of ten
# packets only holds within that; before anything was sent long paths are slow paths.
# Versions: noq-proto =1.4.0. Control: the same response on a path of 10 ms.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "flight"
version = "0.0.0"
edition = "2021"

[dependencies]
bytes = "1"
noq-proto = { version = "=1.4.0", default-features = false, features = ["rustls-ring"] }
rcgen = { version = "=0.14.8", default-features = false, features = ["ring"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use bytes::BytesMut;
use noq_proto::*;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

const REQUEST: Duration = Duration::from_secs(5);
const ONE: std::num::NonZero<usize> = std::num::NonZero::<usize>::MIN;
const SIZE: usize = 5_000;

/// Datagrams of a server's response as (milliseconds since the first one, bytes), long after the handshake, in virtual time: the library
/// reads no clock.
fn response(round_trip: Duration) -> Vec<(f64, usize)> {
    let one_way = round_trip / 2;
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let serving = ServerConfig::with_single_cert(vec![certificate.cert.der().clone()], key.into()).unwrap();
    let asking = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let (client_address, server_address): (SocketAddr, SocketAddr) =
        ("192.0.2.1:40000".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
    let settings = Arc::new(EndpointConfig::default());
    let mut client_end = Endpoint::new(settings.clone(), None, true);
    let mut server_end = Endpoint::new(settings, Some(Arc::new(serving)), true);
    let start = Instant::now();
    let (client_handle, mut client) = client_end.connect(start, asking, server_address, "localhost").unwrap();
    let mut server: Option<(ConnectionHandle, Connection)> = None;
    let mut path: Vec<(Instant, bool, Vec<u8>)> = Vec::new();
    let (mut now, mut asked, mut answered, mut sent) = (start, false, None, Vec::new());
    loop {
        while let Some(index) = path.iter().position(|datagram| datagram.0 <= now) {
            let (_, to_server, data) = path.remove(index);
            let mut reply = Vec::new();
            let (end, from) = if to_server { (&mut server_end, client_address) } else { (&mut client_end, server_address) };
            match end.handle(now, FourTuple::from(from), None, BytesMut::from(&data[..]), &mut reply) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    server = Some(server_end.accept(incoming, now, &mut reply, None).map_err(|error| error.cause).unwrap());
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) if to_server => server.as_mut().unwrap().1.handle_event(event),
                Some(DatagramEvent::ConnectionEvent(_, event)) => client.handle_event(event),
                _ => (),
            }
        }
        if client.poll_timeout().is_some_and(|time| time <= now) {
            client.handle_timeout(now);
        }
        while client.poll().is_some() {}
        if now >= start + REQUEST && !asked {
            asked = true;
            let stream = client.streams().open(Dir::Bi).unwrap();
            client.send_stream(stream).write(b"request").unwrap();
        }
        while let Some(event) = client.poll_endpoint_events() {
            if let Some(event) = client_end.handle_event(client_handle, event) {
                client.handle_event(event);
            }
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = client.poll_transmit(now, ONE, &mut buffer) {
            path.push((now + one_way, true, buffer[..transmit.size].to_vec()));
            buffer.clear();
        }
        if let Some((handle, server)) = &mut server {
            if server.poll_timeout().is_some_and(|time| time <= now) {
                server.handle_timeout(now);
            }
            while server.poll().is_some() {}
            if let Some(stream) = server.streams().accept(Dir::Bi) {
                assert_eq!(server.send_stream(stream).write(&[0; SIZE]), Ok(SIZE));
                answered = Some(now);
            }
            while let Some(event) = server.poll_endpoint_events() {
                if let Some(event) = server_end.handle_event(*handle, event) {
                    server.handle_event(event);
                }
            }
            while let Some(transmit) = server.poll_transmit(now, ONE, &mut buffer) {
                path.push((now + one_way, false, buffer[..transmit.size].to_vec()));
                if let Some(first) = answered {
                    sent.push(((now - first).as_secs_f64() * 1e3, transmit.size));
                }
                buffer.clear();
            }
            if sent.iter().map(|(_, size)| size).sum::<usize>() > SIZE {
                return sent;
            }
        }
        assert!(now < start + 2 * REQUEST, "no response");
        let timers = [client.poll_timeout(), server.as_mut().and_then(|(_, server)| server.poll_timeout())];
        let times = path.iter().map(|datagram| datagram.0).chain(timers.into_iter().flatten());
        now = now.max(times.chain((!asked).then_some(start + REQUEST)).min().unwrap());
    }
}

fn main() {
    for (milliseconds, least, most) in [(10, 0.0, 0.1), (100, 27.0, 31.0), (600, 150.0, 180.0)] {
        let sent = response(Duration::from_millis(milliseconds));
        let list: Vec<String> = sent.iter().map(|(at, size)| format!("{size} bytes at {at:.1} ms")).collect();
        println!("round trip {milliseconds} ms: {}", list.join(", "));
        let changed = if milliseconds == 10 { "the control has changed" } else { "the behaviour has changed" };
        assert!(sent.len() == 4 && sent[3].0 >= least && sent[3].0 <= most, "{changed}");
    }
}
RUST
nice -n 19 cargo build --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
echo "noq-proto $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^noq-proto/ { print $2 }')"
"$work/target/debug/flight"
echo "as described: the longer the path, the further apart the first packets"
