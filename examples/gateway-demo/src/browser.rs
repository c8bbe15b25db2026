//! Transfers as a browser makes them, to a network that the gateway knows beside the same to one that it leaves alone: beside an open
//! connection, after an idle time of a connection, six connections at once, and six streams of one connection of HTTP/2.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::demo::{figures, quantile};
use crate::profiles::{Clients, Daemon, Ground, KNOWN, NETWORKS, STOCK, on_time};
use crate::server::{Failure, HTTP2, Place, Serving};

/// Paths: rate in Mbit/s, round-trip time in ms, queue in packets.
const PATHS: [(&str, f64, f64, u32); 4] = [
    ("narrow", 8.0, 50.0, 20),
    ("dsl", 20.0, 40.0, 67),
    ("leo", 50.0, 50.0, 208),
    ("cable", 100.0, 20.0, 167),
];
/// Plans hold after an idle time, too, and as few connections as possible are held out: the two networks are compared.
const CONFIGURATION: &str = "mode = \"enforce\"\n[plan]\nidle = true\n[trial]\nholdout = 1\n";
const SIZES: [usize; 3] = [30_000, 60_000, 100_000];
/// Idle time between two pages: five retransmission timeouts, after which Linux sends ten segments.
const IDLE: Duration = Duration::from_millis(1500);
/// Connections that a browser opens to a server.
const SIX: usize = 6;
/// Time for the turns of a kind, and their least number.
const SPAN: Duration = Duration::from_secs(15);
const LEAST: usize = 8;

/// A way of asking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A new connection beside an open one of the same network.
    BesideOpen,
    /// The second response of a connection, after an idle time.
    KeepAlive,
    /// Six new connections at once.
    Six,
    /// The second responses of six connections at once, after an idle time.
    SixKeptAlive,
    /// Six streams of a new connection of HTTP/2 at once.
    Http2,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::BesideOpen, "beside-open"),
    (Kind::KeepAlive, "keep-alive"),
    (Kind::Six, "six"),
    (Kind::SixKeptAlive, "six-kept-alive"),
    (Kind::Http2, "http2"),
];

/// Measures these paths, all without a name, and returns the results.
pub(crate) fn run(program: &Path, names: &[&Path]) -> Result<Value, Failure> {
    let known = PATHS.map(|(name, ..)| name);
    if let Some(name) = names.iter().find(|name| !known.iter().any(|known| **name == Path::new(known))) {
        let why = format!("there is no path {:?}; expected one of: {}", name.display(), known.join(", "));
        return Err(why.into());
    }
    let mut results = vec![];
    for path in PATHS {
        if names.is_empty() || names.contains(&Path::new(path.0)) {
            results.push(measure(program, path)?);
        }
    }
    table(&results);
    Ok(json!({ "paths": results }))
}

/// Times of one kind, by size and network, seconds.
type Times = [[Vec<f64>; 2]; SIZES.len()];

fn measure(program: &Path, (name, rate, rtt_ms, buffer): (&str, f64, f64, u32)) -> Result<Value, Failure> {
    let lines =
        format!("[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt_ms} ms\"\nbuffer = \"{buffer} packets\"\n");
    let place = Place::new()?;
    let ground = Ground::new(&lines, &place, Serving::KeptAlive)?;
    let recording = place.files.join("events.jsonl");
    // In the server's namespace: idle connections are found in that of the gateway only.
    let daemon = ground.inside(|| Daemon::start(program, &place, CONFIGURATION, Some(&recording)))?;
    let clients = ground.clients();
    // The count of a connection's data in flight goes within four round-trip times.
    let pause = Duration::from_secs_f64(5.0 * rtt_ms / 1e3);
    let lessons = daemon.learn(clients, pause)?;
    let learned = daemon.explain()?;
    on_time()?;
    let mut kinds = vec![];
    for (kind, kind_name) in KINDS {
        eprintln!("{name}: {kind_name}");
        let (times, turns) = turns(clients, kind, pause)?;
        kinds.push((kind_name, times, turns));
    }
    let explained = daemon.explain()?;
    drop(daemon);
    let validity = ground.end()?;
    let losses = losses(&fs::read_to_string(&recording)?)?;
    let kinds = kinds.into_iter().map(|(kind, times, turns)| {
        let rows = SIZES.iter().zip(times).map(|(size, times)| {
            let [known, stock] = times.map(|mut times| {
                times.sort_by(f64::total_cmp);
                times
            });
            json!({
                "size_bytes": size,
                "turns": turns,
                "stock": figures(&stock),
                "known": figures(&known),
                "sooner_median": 1.0 - quantile(&known, 0.5) / quantile(&stock, 0.5),
                "later_p95": quantile(&known, 0.95) / quantile(&stock, 0.95) - 1.0,
            })
        });
        json!({ "kind": kind, "sizes": rows.collect::<Value>() })
    });
    Ok(json!({
        "path": name,
        "rate_mbit_s": rate,
        "rtt_ms": rtt_ms,
        "buffer_packets": buffer,
        "lessons": lessons,
        "learned": { "plan": learned["plan"], "estimate": learned["estimate"] },
        "at_the_end": { "plan": explained["plan"], "given": explained["given_segments"], "why_no_plan": explained["why_no_plan"], "estimate": explained["estimate"] },
        "kinds": kinds.collect::<Value>(),
        "losses_without_lessons": losses,
        "validity": validity,
    }))
}

/// Turns of one kind, both networks in each; the first one changes from turn to turn.
fn turns(clients: Clients<'_>, kind: Kind, pause: Duration) -> Result<(Times, usize), Failure> {
    let mut times: Times = Default::default();
    let began = Instant::now();
    let mut turn = 0;
    let open = match kind {
        Kind::BesideOpen => vec![Kept::open(clients, KNOWN, 7)?, Kept::open(clients, STOCK, 7)?],
        _ => vec![],
    };
    while turn < LEAST || began.elapsed() < SPAN {
        for (size, times) in SIZES.iter().zip(&mut times) {
            let order = if turn % 2 == 0 { [KNOWN, STOCK] } else { [STOCK, KNOWN] };
            let mut kept = order.map(|_| vec![]);
            if let Kind::KeepAlive | Kind::SixKeptAlive = kind {
                for (network, kept) in order.iter().zip(&mut kept) {
                    for host in 0..if kind == Kind::KeepAlive { 1 } else { SIX } {
                        let mut connection = Kept::open(clients, *network, turn + host)?;
                        connection.get(SIZES[0])?;
                        kept.push(connection);
                    }
                }
                thread::sleep(IDLE);
            }
            for (network, kept) in order.into_iter().zip(&mut kept) {
                times[network].extend(match kind {
                    Kind::BesideOpen => vec![Kept::open(clients, network, turn)?.get(*size)?],
                    Kind::Http2 => http2(clients, network, turn, *size)?,
                    Kind::Six => at_once(clients, network, turn, *size)?,
                    Kind::KeepAlive | Kind::SixKeptAlive => together(kept, *size)?,
                });
                thread::sleep(pause);
            }
        }
        turn += 1;
    }
    drop(open);
    Ok((times, turn))
}

/// A connection that stays open.
struct Kept {
    stream: BufReader<TcpStream>,
}

impl Kept {
    fn open(clients: Clients<'_>, network: usize, host: usize) -> Result<Self, Failure> {
        Ok(Self { stream: BufReader::with_capacity(1 << 16, clients.connect(network, host, 80)?) })
    }

    /// Time from the request to the last byte, seconds.
    fn get(&mut self, size: usize) -> Result<f64, Failure> {
        let begun = Instant::now();
        self.stream.get_mut().write_all(format!("GET /{size} HTTP/1.1\r\nHost: demo\r\n\r\n").as_bytes())?;
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("a response without a head".into());
            }
        }
        self.stream.read_exact(&mut vec![0; size])?;
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// Times of a request on each of these connections at once.
fn together(kept: &mut [Kept], size: usize) -> Result<Vec<f64>, Failure> {
    let ready = Barrier::new(kept.len());
    thread::scope(|scope| {
        let asking: Vec<_> = kept
            .iter_mut()
            .map(|connection| {
                let ready = &ready;
                scope.spawn(move || {
                    ready.wait();
                    connection.get(size).map_err(|error| error.to_string())
                })
            })
            .collect();
        asking.into_iter().map(|asked| Ok(asked.join().map_err(|_| "a client has failed")??)).collect()
    })
}

/// Times of six new connections at once, each from the end of its handshake.
fn at_once(clients: Clients<'_>, network: usize, host: usize, size: usize) -> Result<Vec<f64>, Failure> {
    let ready = Barrier::new(SIX);
    thread::scope(|scope| {
        let asking: Vec<_> = (0..SIX)
            .map(|number| {
                let ready = &ready;
                scope.spawn(move || {
                    ready.wait();
                    let opened = Kept::open(clients, network, host + number);
                    opened.and_then(|mut connection| connection.get(size)).map_err(|error| error.to_string())
                })
            })
            .collect();
        asking.into_iter().map(|asked| Ok(asked.join().map_err(|_| "a client has failed")??)).collect()
    })
}

/// Frames of HTTP/2 (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Times of six streams of a new connection at once, each from the end of the handshake.
fn http2(clients: Clients<'_>, network: usize, host: usize, size: usize) -> Result<Vec<f64>, Failure> {
    let mut stream = clients.connect(network, host, HTTP2)?;
    let begun = Instant::now();
    let most = 0x3fff_ffff_u32.to_be_bytes();
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE: no window of HTTP/2 limits the transfer.
    hello.extend(frame(SETTINGS, 0, 0, &[&[0, 4], most.as_slice()].concat()));
    hello.extend(frame(WINDOW_UPDATE, 0, 0, &most));
    let path = format!("/{size}");
    // GET, http, :path and :authority of the static table of HPACK (RFC 7541, appendix A) with literal values.
    let fields = [&[0x82, 0x86, 0x04, path.len() as u8], path.as_bytes(), &[0x01, 4], b"demo"].concat();
    for number in 0..SIX as u32 {
        hello.extend(frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, &fields));
    }
    stream.write_all(&hello)?;
    let mut reader = BufReader::with_capacity(1 << 16, stream.try_clone()?);
    let (mut times, mut bytes) = (vec![], 0);
    while times.len() < SIX {
        let mut head = [0; 9];
        reader.read_exact(&mut head)?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        reader.read_exact(&mut payload)?;
        let (kind, flags) = (head[3], head[4]);
        match kind {
            DATA => bytes += payload.len(),
            SETTINGS if flags & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
            PING if flags & ACK == 0 => stream.write_all(&frame(PING, ACK, 0, &payload))?,
            GOAWAY => return Err("the server ended the connection".into()),
            _ => {}
        }
        if [DATA, HEADERS].contains(&kind) && flags & END_STREAM != 0 {
            times.push(begun.elapsed().as_secs_f64());
        }
    }
    match bytes == SIX * size {
        true => Ok(times),
        false => Err(format!("{bytes} bytes came in six streams: expected {}", SIX * size).into()),
    }
}

/// Segments sent and retransmitted to each network, without the lessons: connections after the last of them, by the recording.
fn losses(recording: &str) -> Result<Value, Failure> {
    let mut sums = [[0_u64; 3]; 2];
    for line in recording.lines() {
        let event: Value = serde_json::from_str(line)?;
        let report = &event["report"];
        let Some(peer) = report["peer"].as_str() else { continue };
        let number = |key: &str| report[key].as_u64().unwrap_or(0);
        if number("bytes") > 290_000 && number("bytes") < 310_000 {
            continue;
        }
        for (sums, [a, b, c]) in sums.iter_mut().zip(NETWORKS) {
            if peer.starts_with(&format!("{a}.{b}.{c}.")) {
                for (sum, more) in sums.iter_mut().zip([1, number("sent"), number("retransmits")]) {
                    *sum += more;
                }
            }
        }
    }
    let of = |[connections, sent, retransmits]: [u64; 3]| json!({ "connections": connections, "sent_segments": sent, "retransmits": retransmits });
    Ok(json!({ "known": of(sums[KNOWN]), "stock": of(sums[STOCK]) }))
}

/// Prints what the JSON says on standard error.
fn table(results: &[Value]) {
    let percent = |value: &Value| format!("{:.1} %", value.as_f64().unwrap_or(f64::NAN) * 100.0);
    let ms = |value: &Value| format!("{:.0}", value.as_f64().unwrap_or(f64::NAN) * 1e3);
    for result in results {
        let window = |state: &Value| state["plan"]["window_segments"].to_string();
        eprintln!(
            "{}: window {} at first, {} at the end; losses {}",
            result["path"],
            window(&result["learned"]),
            window(&result["at_the_end"]),
            result["losses_without_lessons"]
        );
        for kind in result["kinds"].as_array().into_iter().flatten() {
            for row in kind["sizes"].as_array().into_iter().flatten() {
                eprintln!(
                    "{:<16} {:>7} {:>14} ms {:>9} sooner, p95 {:>9} later",
                    kind["kind"].as_str().unwrap_or_default(),
                    row["size_bytes"],
                    format!("{} to {}", ms(&row["stock"]["median_s"]), ms(&row["known"]["median_s"])),
                    percent(&row["sooner_median"]),
                    percent(&row["later_p95"]),
                );
            }
        }
    }
}
