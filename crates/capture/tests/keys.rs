//! Captures of quinn's connections, opened by their secrets, against what quinn and the network counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use etherparse::PacketBuilder;
use firstflight_capture::{Capture, Estimate, Inferred, KeyLog, Next, Reader, Source, infer};
use firstflight_contract::{Nanos, Rate};
use firstflight_net::link::{Link, Passage};
use firstflight_net::queue::Queue;
use firstflight_net::queue::drop_tail::DropTailPackets;
use firstflight_quic::transfer::{Credentials, Peer, Settings};
use quinn_proto::congestion::CubicConfig;
use rustls::CipherSuite;

use crate::common::pcap;

/// Bytes of the response.
const BYTES: u64 = 600_000;
/// Path: 10 Mbit/s, 40 ms.
const RATE: Rate = Rate(10_000_000);
const ONE_WAY: Nanos = Nanos::from_millis(20);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);
const CLIENT: ([u8; 4], u16) = ([198, 51, 100, 2], 50_000);
/// Datagrams of the server that are lost, by their numbers: all carry data.
const LOST: [usize; 3] = [30, 31, 60];
/// Packets that wait before the bottleneck at most; the path holds 35.
const BUFFER: u32 = 200;

/// Secrets of connections as lines of a key log.
#[derive(Debug, Default)]
struct Lines(Mutex<String>);

impl rustls::KeyLog for Lines {
    fn log(&self, label: &str, random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        let mut lines = self.0.lock().expect("no test panicked");
        let _ = writeln!(lines, "{label} {} {}", hex(random), hex(secret));
    }
}

/// A datagram at the server: time in microseconds, whether the server sent it, content.
type Seen = (u64, bool, Vec<u8>);

/// A transfer of quinn: the datagrams at the server, the key log, and the datagrams that the server declared lost.
struct Transfer {
    seen: Vec<Seen>,
    keys: String,
    lost: u64,
}

fn transfer(suite: CipherSuite, losses: &[usize]) -> Transfer {
    let lines = Arc::new(Lines::default());
    let credentials = Credentials::with_key_log(Arc::clone(&lines) as Arc<dyn rustls::KeyLog>, Some(suite))
        .expect("credentials");
    let controller = Arc::new(CubicConfig::default());
    let settings = Settings { controller, datagram: 1452, discovers: true, receive_window: 1 << 24, seed: 1 };
    let (mut client, mut server) =
        (Peer::client(&settings, &credentials), Peer::server(&settings, &credentials));
    #[expect(clippy::disallowed_methods, reason = "an origin that no result contains")]
    let origin = Instant::now();
    let queue = Queue::Packets(DropTailPackets { limit: BUFFER });
    let mut links = [Queue::Unlimited, queue].map(|queue| Link::new(RATE, ONE_WAY, queue));
    let mut flying: BTreeMap<(u64, usize), (bool, Vec<u8>)> = BTreeMap::new();
    let (mut seen, mut now, mut count, mut from_server) = (vec![], 0, 0, 0);
    client.fetch(origin, SERVER.into(), BYTES);
    while server.served().is_empty() {
        for of_server in [true, false] {
            let peer = if of_server { &mut server } else { &mut client };
            while let Some(datagram) = peer.transmit() {
                count += 1;
                from_server += usize::from(of_server);
                if of_server {
                    seen.push((now / 1000, true, datagram.contents.clone()));
                }
                let bytes = datagram.contents.len() as u32 + 28;
                let arrival = links[usize::from(of_server)].offer(now, bytes, true);
                if let Passage::Arrives(at) = arrival
                    && !(of_server && losses.contains(&from_server))
                {
                    flying.insert((at, count), (of_server, datagram.contents));
                }
            }
        }
        let timer = [client.due(), server.due()].into_iter().flatten().min();
        let timer = timer.map(|due| due.saturating_duration_since(origin).as_nanos() as u64);
        let arrival = flying.first_key_value().map(|((at, _), _)| *at);
        now = now.max(arrival.into_iter().chain(timer).min().expect("something is due"));
        let time = origin + Duration::from_nanos(now);
        match arrival.filter(|at| *at <= now).and_then(|_| flying.pop_first()) {
            Some((_, (true, contents))) => client.receive(time, SERVER.into(), None, &contents),
            Some((_, (false, contents))) => {
                seen.push((now / 1000, false, contents.clone()));
                server.receive(time, CLIENT.into(), None, &contents);
            }
            None => {
                client.on_time(time);
                server.on_time(time);
            }
        }
    }
    let keys = lines.0.lock().expect("no test panicked").clone();
    Transfer { seen, keys, lost: server.served()[0].lost_packets }
}

/// The datagrams as a capture that keeps so many bytes of each.
fn captured(seen: &[Seen], kept: usize) -> Vec<u8> {
    let packets: Vec<(u64, Vec<u8>)> = seen
        .iter()
        .map(|(us, of_server, contents)| {
            let (from, to) = if *of_server { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
            let mut bytes = vec![];
            let builder = PacketBuilder::ipv4(from.0, to.0, 64).udp(from.1, to.1);
            builder.write(&mut bytes, contents).expect("a packet");
            bytes.truncate(kept);
            (us + 1_000_000, bytes)
        })
        .collect();
    pcap(&packets)
}

fn read(bytes: &[u8], keys: &str) -> Capture {
    let mut reader = Reader::with_keys(KeyLog::parse(keys).expect("a key log"));
    reader.add(bytes, "test.pcap", &mut || Next::Continue).expect("a capture");
    reader.finish("test.pcap").expect("a connection")
}

fn known(value: &Inferred<Estimate>) -> &Estimate {
    value.known().unwrap_or_else(|| panic!("{value:?}"))
}

/// Checks the connection against the counts of the network.
fn check(capture: &Capture, lost: u64) {
    let [connection] = &capture.connections[..] else { panic!("{:?}", capture.warnings) };
    assert_eq!(capture.warnings, Vec::<String>::new());
    let seen = &connection.observed;
    assert_eq!((connection.source, connection.source.transport()), (Source::Opened, "quic"));
    assert_eq!((seen.retransmits, seen.lost_packets, seen.spurious_retransmits), (lost, lost, 0));
    assert_eq!((seen.bytes, seen.delivered_bytes), (BYTES, BYTES));
}

#[test]
fn every_cipher_suite_is_opened_and_shows_the_packets_that_were_lost() {
    for suite in [
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS13_AES_256_GCM_SHA384,
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    ] {
        let transfer = transfer(suite, &LOST);
        assert_eq!(transfer.lost, LOST.len() as u64, "quinn counts what the network lost");
        check(&read(&captured(&transfer.seen, usize::MAX), &transfer.keys), transfer.lost);
    }
}

#[test]
fn a_transfer_that_fills_the_buffer_shows_its_path() {
    let transfer = transfer(CipherSuite::TLS13_AES_128_GCM_SHA256, &[]);
    let capture = read(&captured(&transfer.seen, usize::MAX), &transfer.keys);
    check(&capture, transfer.lost);
    let path = infer(&capture.connections);
    let (rate, rtt) = (known(&path.rate), known(&path.rtt));
    let holds = |estimate: &Estimate, truth: f64| estimate.low <= truth && truth <= estimate.high;
    assert!((rate.value / RATE.0 as f64 - 1.0).abs() < 0.01 && holds(rate, RATE.0 as f64), "{rate:?}");
    assert!((rtt.value - 0.04).abs() < 0.0015, "{rtt:?}");
}

#[test]
fn datagrams_that_the_host_joined_are_opened_one_by_one() {
    let transfer = transfer(CipherSuite::TLS13_AES_128_GCM_SHA256, &LOST);
    // Short packets of one length that leave at once are one datagram, as with UDP GSO.
    let mut joined: Vec<Seen> = vec![];
    let mut lengths = vec![];
    for (us, of_server, contents) in &transfer.seen {
        let short = contents[0] & 0x80 == 0;
        match joined.last_mut().zip(lengths.last()) {
            Some(((at, true, before), len))
                if *of_server && short && at == us && before[0] & 0x80 == 0 && contents.len() == *len =>
            {
                before.extend(contents);
            }
            _ => {
                joined.push((*us, *of_server, contents.clone()));
                lengths.push(contents.len());
            }
        }
    }
    assert!(joined.iter().any(|(_, _, contents)| contents.len() > 2 * 1200));
    check(&read(&captured(&joined, usize::MAX), &transfer.keys), transfer.lost);
}

#[test]
fn a_connection_that_is_not_opened_is_named_and_modelled() {
    let Transfer { seen, keys, .. } = transfer(CipherSuite::TLS13_AES_128_GCM_SHA256, &[]);
    let other = transfer(CipherSuite::TLS13_AES_128_GCM_SHA256, &[]).keys;
    let lines = |without: &str| -> String {
        keys.lines().filter(|line| !line.starts_with(without)).flat_map(|line| [line, "\n"]).collect()
    };
    let whole = captured(&seen, usize::MAX);
    let cut = captured(&seen, 128);
    let cases = [
        (&whole, other, "the key log has no secret of the client random "),
        (
            &whole,
            lines("SERVER_TRAFFIC_SECRET_0"),
            "the key log lacks SERVER_TRAFFIC_SECRET_0 of the client random ",
        ),
        (&cut, keys.clone(), "its packets were not captured whole; tcpdump keeps whole packets with -s 0; "),
    ];
    for (bytes, keys, why) in cases {
        let capture = read(bytes, &keys);
        let name = format!("198.51.100.2:50000 - 192.0.2.1:443: {why}");
        assert!(capture.warnings[0].starts_with(&name), "{:?}", capture.warnings);
        assert!(
            capture.warnings[0].ends_with("; its acknowledgements are modelled"),
            "{:?}",
            capture.warnings
        );
        assert_eq!(capture.connections[0].source, Source::Datagrams);
    }
    // Without its first packets, nothing names the connection.
    let late: Vec<Seen> = seen.iter().filter(|(_, _, contents)| contents[0] & 0x80 == 0).cloned().collect();
    let mut reader = Reader::with_keys(KeyLog::parse(&keys).expect("a key log"));
    reader.add(&captured(&late, usize::MAX)[..], "test.pcap", &mut || Next::Continue).expect("a capture");
    let warnings = match reader.finish("test.pcap") {
        Ok(capture) => capture.warnings.join("\n"),
        Err(error) => error.to_string(),
    };
    assert!(
        warnings.contains("the capture lacks its first packets, by which a key log names connections"),
        "{warnings}"
    );
}
