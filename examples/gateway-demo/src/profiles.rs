//! Transfers to a network that the gateway knows beside the same transfers to one that it leaves alone: over twelve paths, next
//! to a bulk flow, and after the rate of a path fell tenfold.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firstflight::Scenario;
use firstflight::preset::preset;
use firstflight_daemon::Client;
use firstflight_lab::{Cable, Netns, be_on_time};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use serde_json::{Value, json};

use crate::demo::{figures, quantile};
use crate::server::{Failure, Place, Running, Serving, gateway, nginx};

/// A path, as the lines of a scenario after its title.
struct Profile {
    name: &'static str,
    lines: String,
    rate_mbit_s: f64,
    rtt_ms: f64,
    /// Greatest number of pairs of each size.
    pairs: usize,
}

/// Rates that the emulator holds on a small machine, Mbit/s.
const MOST_RATE: f64 = 100.0;
/// The eight presets, with their rate in Mbit/s and their round-trip time in ms.
const PRESETS: [(&str, f64, f64); 8] = [
    ("fibre", 1000.0, 10.0),
    ("cable", 300.0, 20.0),
    ("dsl", 20.0, 40.0),
    ("lte", 13.0, 70.0),
    ("geo-satellite", 50.0, 600.0),
    ("leo-satellite", 200.0, 50.0),
    ("transatlantic", 1000.0, 75.0),
    ("data-centre", 10_000.0, 0.1),
];
/// Path of the further experiments: its bandwidth-delay product is 33.3 packets of 1500 bytes.
const NARROW: &str = "[path]\nrate = \"8 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"20 packets\"\n";
/// The same at a tenth of the rate.
const FALLEN: &str = "[path]\nrate = \"0.8 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"20 packets\"\n";
/// Nothing is compared with the held-out connections here, so that as few as possible are held out.
const CONFIGURATION: &str = "mode = \"enforce\"\n[trial]\nholdout = 1\n";
/// The gateway plans for clients of the first network; an order leaves those of the second alone.
pub(crate) const NETWORKS: [[u8; 3]; 2] = [[10, 86, 1], [10, 86, 2]];
pub(crate) const KNOWN: usize = 0;
pub(crate) const STOCK: usize = 1;
const HOSTS: u8 = 8;
/// Sizes of the transfers, bytes.
const SIZES: [usize; 3] = [30_000, 60_000, 100_000];
const LESSON: usize = 300_000;
/// Size of the file of the bulk flow, bytes: it does not end.
const BULK: usize = 1 << 30;
const LESSONS: usize = 60;
/// Time for the transfers of a profile without random loss, the least number of pairs of each size, and the greatest.
const SPAN: Duration = Duration::from_secs(45);
const LEAST_PAIRS: usize = 20;
const PAIRS: usize = 60;
/// Pairs of each size where losses are random. A fifth to a half of the transfers lose a packet, so that the 95th percentile is that of
/// transfers with a loss, of which 25 pairs have five.
const LOSSY_PAIRS: usize = 240;
/// Segments of the bandwidth-delay product from which a quarter of the time is to be saved.
const OWED_FROM: f64 = 30.0;

fn profiles() -> Result<Vec<Profile>, Failure> {
    let mut all = vec![];
    for (name, rate, rtt_ms) in PRESETS {
        let lines =
            preset(name)?.text.lines().filter(|line| !line.starts_with("title")).map(|line| {
                match line.starts_with("rate = ") && rate > MOST_RATE {
                    true => format!("rate = \"{MOST_RATE} Mbit/s\"\n"),
                    false => format!("{line}\n"),
                }
            });
        let lines = lines.collect();
        all.push(Profile { name, lines, rate_mbit_s: rate.min(MOST_RATE), rtt_ms, pairs: PAIRS });
    }
    let path = |rate: f64, rtt: f64, rest: &str| {
        format!("[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt} ms\"\n{rest}\n")
    };
    let mut add = |name, rate_mbit_s, rtt_ms, lines: String| {
        let pairs = if lines.contains("loss = ") { LOSSY_PAIRS } else { PAIRS };
        all.push(Profile { name, lines, rate_mbit_s, rtt_ms, pairs });
    };
    add("shallow", 10.0, 50.0, path(10.0, 50.0, "buffer = \"10 packets\""));
    add("deep", 10.0, 50.0, path(10.0, 50.0, "buffer = \"1000 packets\""));
    add("lossy", 10.0, 50.0, path(10.0, 50.0, "buffer = \"42 packets\"\nloss = 0.01"));
    // Downwards 10 Mbit/s, upwards a fortieth, at which the ACKs of every second packet take 80 % of the rate.
    let link = |from: &str, to: &str, rate: &str| {
        format!(
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"25 ms\"\nbuffer = \"42 packets\"\n"
        )
    };
    let nodes = "[[node]]\nname = \"server\"\n[[node]]\nname = \"client\"\n";
    let links = link("server", "client", "10 Mbit/s") + &link("client", "server", "0.25 Mbit/s");
    add("asymmetric", 10.0, 50.0, format!("{nodes}{links}"));
    Ok(all)
}

/// A scenario of these lines with one flow.
fn scenario(lines: &str) -> Result<Scenario, Failure> {
    let ends = if lines.contains("[[node]]") { "from = \"server\"\nto = \"client\"\n" } else { "" };
    let flow = format!("[[flow]]\nname = \"nginx\"\nprofile = \"linux\"\nsize = \"100 KB\"\n{ends}");
    Ok(Scenario::from_text(&format!("duration = \"3600 s\"\n{lines}\n{flow}"))?)
}

/// Measures every profile whose result is not in `folder` yet, keeps each there, and returns all of them. With `names`, only these
/// are measured.
pub(crate) fn run(program: &Path, folder: Option<&Path>, names: &[&Path]) -> Result<Value, Failure> {
    let all = profiles()?;
    let known = || all.iter().map(|profile| profile.name).chain(["bulk-counted", "bulk-unseen", "fallen"]);
    if let Some(name) = names.iter().find(|name| !known().any(|known| **name == Path::new(known))) {
        let known = known().collect::<Vec<_>>().join(", ");
        return Err(format!("there is no profile {:?}; expected one of: {known}", name.display()).into());
    }
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
    }
    let kept = |name: &str, measure: &dyn Fn() -> Result<Value, Failure>| -> Result<Option<Value>, Failure> {
        let file = folder.map(|folder| folder.join(format!("{name}.json")));
        if let Some(text) = file.as_ref().and_then(|file| fs::read_to_string(file).ok()) {
            eprintln!("{name}: measured before");
            return Ok(Some(serde_json::from_str(&text)?));
        }
        if !names.is_empty() && !names.contains(&Path::new(name)) {
            return Ok(None);
        }
        let began = Instant::now();
        eprintln!("{name} ...");
        let value = measure()?;
        eprintln!("{name}: {:.0} s", began.elapsed().as_secs_f64());
        if !is_valid(&value["validity"]) {
            eprintln!("{name}: not valid, and not kept: {}", value["validity"]);
        } else if let Some(file) = file {
            fs::write(file, format!("{value:#}\n"))?;
        }
        Ok(Some(value))
    };
    let mut results = vec![];
    for profile in &all {
        results.extend(kept(profile.name, &|| compare(program, profile))?);
    }
    // The gateway counts a bulk flow to the known network among its connections, and knows nothing of one to another network.
    let bulk = [("bulk-counted", KNOWN), ("bulk-unseen", STOCK)];
    let bulk = bulk.map(|(name, network)| kept(name, &|| beside_bulk(program, name, network)));
    let bulk: Vec<_> = bulk.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    let fallen = kept("fallen", &|| after_a_fall(program))?.unwrap_or_default();
    table(&results, &bulk, &fallen);
    Ok(json!({ "profiles": results, "bulk": bulk, "fallen": fallen }))
}

/// A laid cable with a server at its near end, and clients at its far end.
pub(crate) struct Ground {
    cable: Cable,
    server: Running,
}

impl Ground {
    pub(crate) fn new(lines: &str, place: &Place, serving: Serving) -> Result<Self, Failure> {
        let addresses = |hosts: std::ops::Range<u8>| -> Vec<Ipv4Addr> {
            let of = |[a, b, c]: [u8; 3]| hosts.clone().map(move |host| Ipv4Addr::new(a, b, c, host));
            NETWORKS.into_iter().flat_map(of).collect()
        };
        let cable = Cable::lay(&scenario(lines)?, &addresses(1..2), &addresses(2..2 + HOSTS))?;
        let sizes = [SIZES.as_slice(), &[LESSON, BULK]].concat();
        let server = nginx(place, cable.near(), Ipv4Addr::UNSPECIFIED, &sizes, serving)?;
        let ground = Self { cable, server };
        let ready = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(50));
            ground.clients().get(STOCK, 0, SIZES[0]).is_ok()
        });
        if ready { Ok(ground) } else { Err("nginx did not start within some seconds".into()) }
    }

    /// Runs it in the server's namespace.
    pub(crate) fn inside<T: Send>(
        &self,
        run: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let ran = self.cable.near().run(|| run().map_err(|error| error.to_string()))?;
        Ok(ran?)
    }

    pub(crate) fn clients(&self) -> Clients<'_> {
        Clients { netns: self.cable.far() }
    }

    pub(crate) fn end(self) -> Result<Value, Failure> {
        drop(self.server);
        Ok(serde_json::to_value(self.cable.cut()?)?)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Clients<'a> {
    netns: &'a Netns,
}

impl Clients<'_> {
    /// A connection to the server from a host of one of the networks, and the request for a file.
    fn ask(&self, network: usize, host: usize, size: usize) -> Result<(TcpStream, Instant), Failure> {
        let mut stream = self.connect(network, host, 80)?;
        let begun = Instant::now();
        let request = format!("GET /{size} HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        Ok((stream, begun))
    }

    /// A connection to a port of the server from a host of one of the networks.
    pub(crate) fn connect(&self, network: usize, host: usize, port: u16) -> Result<TcpStream, Failure> {
        let [a, b, c] = NETWORKS[network];
        let own = Ipv4Addr::new(a, b, c, 2 + host as u8 % HOSTS);
        let server = SocketAddr::from((Ipv4Addr::new(a, b, c, 1), port));
        let stream = self.netns.run(|| -> std::io::Result<TcpStream> {
            let client = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            bind(&client, &SocketAddr::from((own, 0)))?;
            connect(&client, &server)?;
            Ok(client.into())
        })??;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(stream)
    }

    /// Time from the end of the client's handshake to the last byte, seconds.
    fn get(&self, network: usize, host: usize, size: usize) -> Result<f64, Failure> {
        let (mut stream, begun) = self.ask(network, host, size)?;
        let mut bytes = Vec::with_capacity(size + 1024);
        stream.read_to_end(&mut bytes)?;
        let took = begun.elapsed().as_secs_f64();
        let head =
            bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or("a response without a head")?;
        if bytes.len() - head - 4 != size {
            return Err(format!("{} bytes came, with the head: expected {size}", bytes.len()).into());
        }
        Ok(took)
    }
}

/// The gateway, which leaves the second network alone.
pub(crate) struct Daemon {
    client: Client,
    _process: Running,
}

impl Daemon {
    pub(crate) fn start(
        program: &Path,
        place: &Place,
        configuration: &str,
        recording: Option<&Path>,
    ) -> Result<Self, Failure> {
        let (process, client) = gateway(program, place, configuration, recording)?;
        let [a, b, c] = NETWORKS[STOCK];
        client.post("/v1/off", &json!({ "prefix": format!("{a}.{b}.{c}.0/24") }))?;
        Ok(Self { client, _process: process })
    }

    pub(crate) fn explain(&self) -> Result<Value, Failure> {
        let [a, b, c] = NETWORKS[KNOWN];
        Ok(self.client.get(&format!("/v1/explain/{a}.{b}.{c}.2"))?)
    }

    /// Downloads until the plan is the whole estimate, within the eighth by which plans follow it, or does not come nearer to
    /// it; returns their number.
    pub(crate) fn learn(&self, clients: Clients<'_>, pause: Duration) -> Result<usize, Failure> {
        for lesson in 0..LESSONS {
            clients.get(KNOWN, lesson, LESSON)?;
            thread::sleep(pause);
            let found = self.explain()?;
            let window = found["plan"]["window_segments"].as_f64().unwrap_or(0.0);
            let estimate = found["estimate"]["window_segments"].as_f64().unwrap_or(f64::INFINITY);
            if lesson >= 15 && window >= estimate.min(45.0) * 7.0 / 8.0 {
                return Ok(lesson + 1);
            }
            // A path whose own window is below the stack's gets no plan.
            if lesson >= 20 && estimate < 11.0 {
                return Ok(lesson + 1);
            }
        }
        Ok(LESSONS)
    }
}

/// Transfers to the known network and to the other one in turn.
fn compare(program: &Path, profile: &Profile) -> Result<Value, Failure> {
    let place = Place::new()?;
    let ground = Ground::new(&profile.lines, &place, Serving::Closing)?;
    let daemon = Daemon::start(program, &place, CONFIGURATION, None)?;
    let clients = ground.clients();
    // The last ACKs and the FIN are on their way for a round-trip time.
    let pause = Duration::from_secs_f64((1.5 * profile.rtt_ms / 1e3).max(0.02));
    let lessons = daemon.learn(clients, pause)?;
    let learned = daemon.explain()?;
    on_time()?;
    let mut times = SIZES.map(|_| [vec![], vec![]]);
    let began = Instant::now();
    let mut turn = 0;
    let least = if profile.pairs > PAIRS { profile.pairs } else { LEAST_PAIRS };
    while turn < profile.pairs && (turn < least || began.elapsed() < SPAN) {
        for (size, times) in SIZES.iter().zip(&mut times) {
            // Each network is first in every second pair.
            for network in if turn % 2 == 0 { [KNOWN, STOCK] } else { [STOCK, KNOWN] } {
                times[network].push(clients.get(network, turn, *size)?);
                thread::sleep(pause);
            }
        }
        turn += 1;
    }
    let explained = daemon.explain()?;
    let status = daemon.client.get("/v1/status")?;
    drop(daemon);
    let validity = ground.end()?;
    let bdp = profile.rate_mbit_s * profile.rtt_ms * 1e3 / 8.0 / 1500.0;
    let sizes = SIZES.iter().zip(&times).map(|(size, [known, stock])| {
        let sorted = |times: &[f64]| {
            let mut times = times.to_vec();
            times.sort_by(f64::total_cmp);
            times
        };
        let halves = [0, 1].map(|half| {
            let every = stock.iter().skip(half).step_by(2).copied();
            quantile(&sorted(&every.collect::<Vec<_>>()), 0.95)
        });
        let (known, stock) = (sorted(known), sorted(stock));
        json!({
            "size_bytes": size,
            "pairs": known.len(),
            "stock": figures(&stock),
            "known": figures(&known),
            "sooner_median": 1.0 - quantile(&known, 0.5) / quantile(&stock, 0.5),
            "later_p95": quantile(&known, 0.95) / quantile(&stock, 0.95) - 1.0,
            // The stock's own transfers of even and of odd numbers: the noise of the figure above.
            "later_p95_of_stock_itself": halves[0].max(halves[1]) / halves[0].min(halves[1]) - 1.0,
        })
    });
    Ok(json!({
        "profile": profile.name,
        "rate_mbit_s": profile.rate_mbit_s,
        "rtt_ms": profile.rtt_ms,
        "bdp_packets": bdp,
        "quarter_owed": bdp >= OWED_FROM,
        "lessons": lessons,
        "learned": { "plan": learned["plan"], "estimate": learned["estimate"] },
        "at_the_end": { "plan": explained["plan"], "why_no_plan": explained["why_no_plan"], "estimate": explained["estimate"] },
        "sizes": sizes.collect::<Value>(),
        "complaint": status["complaint"],
        "validity": validity,
    }))
}

/// Time of a slot with transfers of one kind beside the bulk flow, and the number of slots of each kind.
const SLOT: Duration = Duration::from_secs(10);
const SLOTS: usize = 9;

/// Goodput of a bulk flow while transfers to the other or to the known network go on beside it.
fn beside_bulk(program: &Path, name: &str, network_of_bulk: usize) -> Result<Value, Failure> {
    let place = Place::new()?;
    let ground = Ground::new(NARROW, &place, Serving::Closing)?;
    let daemon = Daemon::start(program, &place, CONFIGURATION, None)?;
    let clients = ground.clients();
    let lessons = daemon.learn(clients, Duration::from_millis(75))?;
    let learned = daemon.explain()?;
    on_time()?;
    let (over, received) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut stream, _) = clients.ask(network_of_bulk, 0, BULK)?;
    let (mut goodput, mut times) = ([vec![], vec![]], [vec![], vec![]]);
    thread::scope(|scope| -> Result<(), Failure> {
        let reader = scope.spawn(|| -> Result<(), std::io::Error> {
            let mut bytes = vec![0; 1 << 16];
            while !over.load(Ordering::Relaxed) {
                received.fetch_add(stream.read(&mut bytes)? as u64, Ordering::Relaxed);
            }
            Ok(())
        });
        let mut measure = || -> Result<(), Failure> {
            thread::sleep(Duration::from_secs(5));
            for slot in 0..2 * SLOTS {
                // Stock, known, known, stock, and so on: a drift of the bulk flow meets both alike.
                let network = if slot % 4 == 0 || slot % 4 == 3 { STOCK } else { KNOWN };
                let (began, before) = (Instant::now(), received.load(Ordering::Relaxed));
                let mut turn = 0;
                while began.elapsed() < SLOT {
                    let size = SIZES[turn % SIZES.len()];
                    times[network].push(clients.get(network, 1 + slot + turn, size)?);
                    turn += 1;
                    // One transfer begins each second: a tenth of the path's rate.
                    let next = Duration::from_secs(turn as u64).saturating_sub(began.elapsed());
                    thread::sleep(next.min(SLOT.saturating_sub(began.elapsed())));
                }
                let bytes = received.load(Ordering::Relaxed) - before;
                goodput[network].push(bytes as f64 * 8.0 / began.elapsed().as_secs_f64() / 1e6);
            }
            Ok(())
        };
        let measured = measure();
        over.store(true, Ordering::Relaxed);
        reader.join().map_err(|_| "the reader of the bulk flow has failed")??;
        measured
    })?;
    drop(stream);
    let explained = daemon.explain()?;
    drop(daemon);
    let validity = ground.end()?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    Ok(json!({
        "bulk": name,
        "path": { "rate_mbit_s": 8.0, "rtt_ms": 50.0, "buffer_packets": 20 },
        "lessons": lessons,
        "learned": { "plan": learned["plan"] },
        "at_the_end": { "plan": explained["plan"], "why_no_plan": explained["why_no_plan"] },
        "bulk_mbit_s": { "stock": mean(&goodput[STOCK]), "known": mean(&goodput[KNOWN]) },
        "slots_mbit_s": { "stock": goodput[STOCK], "known": goodput[KNOWN] },
        "bulk_kept": mean(&goodput[KNOWN]) / mean(&goodput[STOCK]),
        "transfers": { "stock": figures(&times[STOCK]), "known": figures(&times[KNOWN]) },
        "sooner_median": 1.0 - quantile(&times[KNOWN], 0.5) / quantile(&times[STOCK], 0.5),
        "validity": validity,
    }))
}

/// Falls of the rate, and connections after each.
const FALLS: usize = 8;
const AFTER: usize = 5;

/// The first connections after the rate of a known path fell tenfold, beside those of the stack.
fn after_a_fall(program: &Path) -> Result<Value, Failure> {
    let place = Place::new()?;
    let fast = Ground::new(NARROW, &place, Serving::Closing)?;
    let daemon = Daemon::start(program, &place, CONFIGURATION, None)?;
    let lessons = daemon.learn(fast.clients(), Duration::from_millis(75))?;
    let learned = daemon.explain()?;
    let state = daemon.client.get_bytes("/v1/export")?;
    fast.end()?;
    let slow = Ground::new(FALLEN, &place, Serving::Closing)?;
    let clients = slow.clients();
    on_time()?;
    let size = SIZES[2];
    let mut times = [0; AFTER].map(|_| [vec![], vec![]]);
    let mut windows = vec![vec![]; AFTER];
    for fall in 0..FALLS {
        // The gateway knows what it knew before the fall.
        daemon.client.post_bytes("/v1/import", state.clone())?;
        for (number, times) in times.iter_mut().enumerate() {
            windows[number].push(daemon.explain()?["plan"]["window_segments"].clone());
            for network in if fall % 2 == 0 { [KNOWN, STOCK] } else { [STOCK, KNOWN] } {
                times[network].push(clients.get(network, fall + number, size)?);
                thread::sleep(Duration::from_millis(150));
            }
        }
    }
    drop(daemon);
    let validity = slow.end()?;
    let rows = times.iter_mut().zip(&windows).enumerate().map(|(number, (times, windows))| {
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [known, stock] = times;
        json!({
            "connection": number + 1,
            "window_segments": windows,
            "stock": figures(stock),
            "known": figures(known),
            "later_median": quantile(known, 0.5) / quantile(stock, 0.5) - 1.0,
            "later_max": quantile(known, 1.0) / quantile(stock, 1.0) - 1.0,
        })
    });
    Ok(json!({
        "path": { "rate_mbit_s": [8.0, 0.8], "rtt_ms": 50.0, "buffer_packets": 20 },
        "size_bytes": size,
        "falls": FALLS,
        "lessons": lessons,
        "plan": learned["plan"],
        "connections": rows.collect::<Value>(),
        "validity": validity,
    }))
}

/// Whether the emulator was on time, by the bounds of the lab's results.
fn is_valid(validity: &Value) -> bool {
    let within = |key: &str, most: f64| validity[key].as_f64().is_some_and(|value| value <= most);
    within("lateness_p99_ms", 0.5) && within("lateness_max_ms", 10.0) && within("core_share", 0.7)
}

/// Has the calling thread read what arrives at once, on a busy machine too.
pub(crate) fn on_time() -> Result<(), Failure> {
    be_on_time(10).map_err(|need| format!("this machine does not grant {need}").into())
}

/// Prints what the JSON says on standard error.
fn table(results: &[Value], bulk: &[Value], fallen: &Value) {
    let percent = |value: &Value| format!("{:.1} %", value.as_f64().unwrap_or(f64::NAN) * 100.0);
    let ms = |value: &Value| format!("{:.0}", value.as_f64().unwrap_or(f64::NAN) * 1e3);
    let window = |state: &Value| state["plan"]["window_segments"].to_string().replace("null", "-");
    eprintln!(
        "{:<14} {:>6} {:>9} {:>7} {:>16} {:>9} {:>10} {:>8} {:>9}",
        "profile", "BDP", "window", "bytes", "median, ms", "sooner", "later p95", "(noise)", "late, ms"
    );
    for result in results {
        for row in result["sizes"].as_array().into_iter().flatten() {
            eprintln!(
                "{:<14} {:>6.0} {:>9} {:>7} {:>16} {:>9} {:>10} {:>8} {:>9}",
                result["profile"].as_str().unwrap_or_default(),
                result["bdp_packets"].as_f64().unwrap_or(f64::NAN),
                format!("{}, {}", window(&result["learned"]), window(&result["at_the_end"])),
                row["size_bytes"],
                format!("{} to {}", ms(&row["stock"]["median_s"]), ms(&row["known"]["median_s"])),
                percent(&row["sooner_median"]),
                percent(&row["later_p95"]),
                percent(&row["later_p95_of_stock_itself"]),
                match is_valid(&result["validity"]) {
                    true => result["validity"]["lateness_p99_ms"].to_string(),
                    false => "not valid".to_owned(),
                },
            );
        }
    }
    for bulk in bulk {
        eprintln!(
            "{}: the bulk flow keeps {} of its goodput; the transfers beside it end {} sooner",
            bulk["bulk"].as_str().unwrap_or_default(),
            percent(&bulk["bulk_kept"]),
            percent(&bulk["sooner_median"])
        );
    }
    for row in fallen["connections"].as_array().into_iter().flatten() {
        eprintln!(
            "after the fall, connection {}: {} to {} ms, {} later",
            row["connection"],
            ms(&row["stock"]["median_s"]),
            ms(&row["known"]["median_s"]),
            percent(&row["later_median"])
        );
    }
}
