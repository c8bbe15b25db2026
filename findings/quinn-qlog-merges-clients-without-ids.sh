#!/usr/bin/env bash
# quinn's qlog gives all clients without connection IDs one name. A server has one log for its connections, divided by the group_id of each event,
# which is the connection ID that the client chose for itself. Clients of one socket need none and choose the empty one (quic-go's and
# Chromium's do), so that their connections have the group_id "": packet numbers, windows and round trips of different clients follow each
# other as those of one connection. RFC 9000 identifies a connection by the ID to which the client first sent (ODCID), which is never empty.
# Cause: Connection::orig_rem_cid, in src/connection/mod.rs, is the remote's own ID; on a server that is the client's source ID.
# Versions: quinn-proto =0.11.19 (feature qlog). Control: clients with connection IDs of 8 bytes have a group each.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "log"
version = "0.0.0"
edition = "2024"

[dependencies]
bytes = "1"
quinn-proto = { version = "=0.11.19", default-features = false, features = ["rustls-ring", "qlog"] }
rcgen = { version = "=0.14.8", default-features = false, features = ["ring"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use bytes::BytesMut;
use quinn_proto::*;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ONE_WAY: Duration = Duration::from_millis(50);

/// The log, which other code reads while quinn writes it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Log of a server of which `clients` clients with connection IDs of `id` bytes ask for 20,000 bytes, one after another, on a path of 100 ms in virtual
/// time: the library reads no clock.
fn log(clients: usize, id: usize) -> String {
    let log = Log::default();
    let mut settings = QlogConfig::default();
    settings.writer(Box::new(log.clone()));
    let stream = settings.into_stream();
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let mut transport = TransportConfig::default();
    transport.qlog_stream(stream);
    let mut serving = ServerConfig::with_single_cert(vec![certificate.cert.der().clone()], key.into()).unwrap();
    serving.transport_config(Arc::new(transport));
    let asking = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let (client_address, server_address): (SocketAddr, SocketAddr) =
        ("192.0.2.1:40000".parse().unwrap(), "192.0.2.2:443".parse().unwrap());
    let settings = Arc::new(EndpointConfig::default());
    let mut own = EndpointConfig::default();
    own.cid_generator(move || Box::new(RandomConnectionIdGenerator::new(id)));
    let mut client_end = Endpoint::new(Arc::new(own), None, true, None);
    let mut server_end = Endpoint::new(settings, Some(Arc::new(serving)), true, None);
    let mut now = Instant::now();
    for _ in 0..clients {
        let (client_handle, mut client) = client_end.connect(now, asking.clone(), server_address, "localhost").unwrap();
        let mut server: Option<(ConnectionHandle, Connection)> = None;
        let mut path: Vec<(Instant, bool, Vec<u8>)> = Vec::new();
        let (mut asked, mut answered, mut received) = (None, false, 0);
        let begin = now;
        while received < 20_000 {
            while let Some(index) = path.iter().position(|datagram| datagram.0 <= now) {
                let (_, to_server, data) = path.remove(index);
                let mut reply = Vec::new();
                let (end, from) = if to_server { (&mut server_end, client_address) } else { (&mut client_end, server_address) };
                match end.handle(now, from, None, None, BytesMut::from(&data[..]), &mut reply) {
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        server = Some(server_end.accept(incoming, now, &mut reply, None).map_err(|error| error.cause).unwrap());
                    }
                    Some(DatagramEvent::ConnectionEvent(_, event)) if to_server => server.as_mut().unwrap().1.handle_event(event),
                    Some(DatagramEvent::ConnectionEvent(_, event)) => client.handle_event(event),
                    _ => (),
                }
            }
            let mut ends = vec![(&mut client, &mut client_end, client_handle, true)];
            if let Some((handle, server)) = &mut server {
                ends.push((server, &mut server_end, *handle, false));
            }
            for (end, endpoint, handle, to_server) in ends {
                if end.poll_timeout().is_some_and(|time| time <= now) {
                    end.handle_timeout(now);
                }
                while end.poll().is_some() {}
                if to_server && asked.is_none() && !end.is_handshaking() {
                    let stream = end.streams().open(Dir::Bi).unwrap();
                    end.send_stream(stream).write(b"request").unwrap();
                    asked = Some(stream);
                }
                if let Some(stream) = asked.filter(|_| to_server) {
                    let mut stream = end.recv_stream(stream);
                    if let Ok(mut chunks) = stream.read(true) {
                        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                            received += chunk.bytes.len();
                        }
                        let _ = chunks.finalize();
                    };
                }
                if !to_server && !answered && let Some(stream) = end.streams().accept(Dir::Bi) {
                    assert_eq!(end.send_stream(stream).write(&vec![0; 20_000]), Ok(20_000));
                    answered = true;
                }
                while let Some(event) = end.poll_endpoint_events() {
                    if let Some(event) = endpoint.handle_event(handle, event) {
                        end.handle_event(event);
                    }
                }
                let mut buffer = Vec::new();
                while let Some(transmit) = end.poll_transmit(now, 1, &mut buffer) {
                    path.push((now + ONE_WAY, to_server, buffer[..transmit.size].to_vec()));
                    buffer.clear();
                }
            }
            assert!(now < begin + Duration::from_secs(5), "no response");
            let timers = [client.poll_timeout(), server.as_mut().and_then(|(_, server)| server.poll_timeout())];
            let times = path.iter().map(|datagram| datagram.0).chain(timers.into_iter().flatten());
            now = now.max(times.min().unwrap());
        }
        now += Duration::from_secs(1);
    }
    let text = log.0.lock().unwrap().clone();
    String::from_utf8(text).unwrap()
}

/// Values of a field of numbers or words.
fn values(log: &str, field: &str) -> Vec<String> {
    let begin = format!("\"{field}\":");
    let ends = |text: &str| text.split([',', '}']).next().unwrap_or_default().to_owned();
    log.split(&begin).skip(1).map(ends).collect()
}

fn main() {
    for (id, groups) in [(8, 2), (0, 1)] {
        let log = log(2, id);
        let mut names = values(&log, "group_id");
        names.sort();
        names.dedup();
        // Each connection has a first packet with data.
        let first = log.matches("{\"packet_type\":\"1RTT\",\"packet_number\":0,").count();
        println!("connection IDs of {id} bytes: the log of two connections has the groups {names:?}; packet 0 was sent {first} times");
        assert_eq!(first, 2, "the control has changed");
        assert_eq!(names.len(), groups, "the behaviour or the control has changed");
    }
}
RUST
nice -n 19 cargo build --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
echo "quinn-proto $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^quinn-proto/ { print $2 }')"
"$work/target/debug/log"
echo "as described: two connections have one group"
