//! First windows as they leave the machine, over two TUN devices with a delay between them.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use firstflight_gateway::{Arm, Connection, Limits, Plan, Stage};
use firstflight_hooks::{Hooks, Polls, Refusal, Routes, Setup};
use firstflight_lab::{Cable, Netns, TcpInfo, Tun, Turn, check};
use firstflight_paths::Prefix;
use rustix::net::sockopt;

use crate::ground::{Ground, LIMITS, MILLISECOND, STACK, ends, plan};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const PORT: u16 = 8080;
/// From one end to the other.
const DELAY: Duration = Duration::from_millis(20);
/// Longer than all segments of a first window take to leave, shorter than the time to the first ACK.
pub(crate) const FLIGHT: Duration = Duration::from_millis(38);
/// A loss can be seen and retransmitted meanwhile on a busy machine, and no retransmission timeout (240 ms) can pass.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Path {
    pub(crate) server: Netns,
    client: Netns,
    near: Tun,
    far: Tun,
    /// Number, from zero, of the first data segment of the server that waits for [`PAUSE`] on its way; later ones wait behind it.
    pub(crate) pause_from: Option<usize>,
}

/// A transfer as the path has seen it.
pub(crate) struct Seen {
    /// Time of each data segment of the server after the first.
    data: Vec<Duration>,
    pub(crate) report: Connection,
    /// Retransmission timeouts that TCP_INFO counts at the end.
    timeouts: u32,
}

impl Path {
    pub(crate) fn new() -> Option<Self> {
        let path = || {
            let (server, client) = (Netns::new()?, Netns::new()?);
            for netns in [&server, &client] {
                netns.set_ipv4("tcp_congestion_control", "reno")?;
                netns.set_ipv4("tcp_no_metrics_save", "1")?;
            }
            let (near, far) = (Tun::open(&server, SERVER)?, Tun::open(&client, CLIENT)?);
            Ok::<_, firstflight_lab::Need>(Self { server, client, near, far, pause_from: None })
        };
        path().map_err(firstflight_skip::skip).ok()
    }

    /// Carries packets until `over`; drops the data segments of the server whose numbers, from zero, `loses` names.
    fn carry(&self, loses: impl Fn(usize) -> bool + Send, over: &AtomicBool) -> Vec<Duration> {
        let mut buffer = [0; 1500];
        let (mut forth, mut back) = (VecDeque::new(), VecDeque::new());
        let mut data: Vec<Instant> = vec![];
        let mut free = Instant::now();
        while !over.load(Ordering::Relaxed) {
            while let Some(packet) = self.near.receive(&mut buffer).expect("the device") {
                let now = Instant::now();
                let headers = usize::from(packet[0] & 15) * 4 + usize::from(packet[32] >> 4) * 4;
                if packet[0] >> 4 == 4 && packet.len() > headers {
                    data.push(now);
                    if loses(data.len() - 1) {
                        continue;
                    }
                    if self.pause_from == Some(data.len() - 1) {
                        free = now + PAUSE;
                    }
                }
                forth.push_back((now.max(free) + DELAY, packet.to_vec()));
            }
            while let Some(packet) = self.far.receive(&mut buffer).expect("the device") {
                back.push_back((Instant::now() + DELAY, packet.to_vec()));
            }
            for (queue, to) in [(&mut forth, &self.far), (&mut back, &self.near)] {
                while queue.front().is_some_and(|(due, _)| *due <= Instant::now()) {
                    let Some((_, packet)) = queue.pop_front() else { break };
                    let _ = to.send(&packet);
                }
            }
            self.near.wait(Duration::from_micros(200)).expect("the device");
        }
        data.iter().map(|time| *time - data[0]).collect()
    }

    /// The server sends `bytes` and closes.
    pub(crate) fn transfer(
        &self,
        hooks: &mut Hooks,
        bytes: usize,
        loses: impl Fn(usize) -> bool + Send,
    ) -> Seen {
        let (data, timeouts) = self.send(bytes, loses);
        let [report] = ends(hooks, "10.78.0.2", 1)[..] else { panic!("one report") };
        Seen { data, report, timeouts }
    }

    /// As [`Path::transfer`], without a report.
    fn send(&self, bytes: usize, loses: impl Fn(usize) -> bool + Send) -> (Vec<Duration>, u32) {
        self.serve(bytes, loses, |server| server.write_all(&vec![0; bytes]).expect("a connection"))
    }

    /// The same with a server that writes the bytes itself.
    pub(crate) fn serve(
        &self,
        bytes: usize,
        loses: impl Fn(usize) -> bool + Send,
        write: impl FnOnce(&mut TcpStream),
    ) -> (Vec<Duration>, u32) {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let carrier = scope.spawn(|| self.carry(loses, &over));
            let listener = self.server.run(|| TcpListener::bind((SERVER, PORT)));
            let listener = listener.expect("the namespace").expect("a listener");
            let address = SocketAddr::from((SERVER, PORT));
            let reader = scope.spawn(move || {
                let client = self.client.run(|| TcpStream::connect(address));
                let mut client = client.expect("the namespace").expect("a connection");
                let mut all = vec![];
                client.read_to_end(&mut all).expect("all bytes");
                assert_eq!(all.len(), bytes);
            });
            let (mut server, _) = listener.accept().expect("a connection");
            write(&mut server);
            server.shutdown(std::net::Shutdown::Write).expect("a connection");
            reader.join().expect("a client");
            let timeouts = TcpInfo::of(&server).map_or(0, |info| info.timeouts.into());
            drop(server);
            thread::sleep(3 * DELAY);
            over.store(true, Ordering::Relaxed);
            (carrier.join().expect("a path"), timeouts)
        })
    }
}

/// Segments of the first window: those that left before an ACK of the first could come.
fn first_window(data: &[Duration]) -> usize {
    data.iter().filter(|time| **time < FLIGHT).count()
}

#[test]
fn the_first_window_leaves_paced_and_its_losses_are_reported() {
    let Some(ground) = Ground::new() else { return };
    let Some(path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    // Both ends are in the cgroup: as hosts, they do not count as connections of one prefix.
    let mut hooks = ground.hooks(&Setup { bits: (32, 48), ..ground.setup() });
    let none = |_: usize| false;

    let stock = path.transfer(&mut hooks, 100_000, none);
    assert_eq!((first_window(&stock.data), stock.report.arm), (STACK as usize, Arm::Stock));

    hooks.set(&plan("10.78.0.2/32", 30)).expect("room");
    let planned = path.transfer(&mut hooks, 100_000, none);
    assert_eq!((first_window(&planned.data), planned.report.arm), (30, Arm::Planned(30)));
    // Linux paces at twice the window in a round-trip time, after ten segments without pacing: 20 of 30 segments take
    // a third of the round-trip time, 13 ms of 40. Without pacing all 30 leave within one.
    let spread = planned.data[29];
    assert!((8..25).contains(&spread.as_millis()), "{spread:?}");
    let Connection { bytes, sent, retransmits, first_window_lost, handshake_rtt, busy, age, .. } =
        planned.report;
    assert_eq!((bytes, sent, retransmits, first_window_lost), (100_000, planned.data.len() as u32, 0, 0));
    assert!((40..60).contains(&(handshake_rtt.0 / MILLISECOND)), "{handshake_rtt:?}");
    // 69 segments of 1448 bytes: 30, then the rest. The last ACK comes after two round-trip times, and the FIN's.
    // The kernel counts in ticks of at most 10 ms.
    assert!(busy.0 >= 70 * MILLISECOND && busy.0 <= age.0 + 10 * MILLISECOND, "{busy:?} of {age:?}");

    // At the pace of 30 in a round-trip time, they take two thirds of it, 27 ms.
    hooks.set(&Plan { paced: true, ..plan("10.78.0.2/32", 30) }).expect("room");
    let slow = path.transfer(&mut hooks, 300_000, none);
    assert_eq!(first_window(&slow.data), 30);
    let spread = slow.data[29];
    assert!((25..40).contains(&spread.as_millis()), "{spread:?}");
    // At that pace 207 segments take seven round-trip times; windows of 30, 60 and 117 take three.
    let all = slow.data[206];
    assert!((80..200).contains(&all.as_millis()), "{all:?}");

    hooks.set(&plan("10.78.0.2/32", 30)).expect("room");
    let lost = path.transfer(&mut hooks, 100_000, |number| number == 5).report;
    assert!(lost.first_window_lost == 1 && lost.retransmits >= 1 && lost.timeouts == 0, "{lost:?}");
    let later = path.transfer(&mut hooks, 100_000, |number| number == 40).report;
    assert!(later.first_window_lost == 0 && later.retransmits >= 1, "{later:?}");
    // The newest sample is then of one segment in a round-trip time or more: 36 kB/s. The first window is ten in 40 ms.
    let tail = path.transfer(&mut hooks, 100_000, |number| number == 69).report;
    assert!(tail.retransmits >= 1 && tail.rate > 200_000, "{tail:?}");
    // Every segment from the sixth to the 42nd is lost, probes too, so that only the timer starts the connection again.
    let silent = path.transfer(&mut hooks, 100_000, |number| (5..42).contains(&number));
    assert!(silent.report.first_window_lost >= 25 && silent.report.timeouts >= 1, "{:?}", silent.report);
    assert_eq!(silent.report.timeouts, silent.timeouts);
}

/// A queue of 20 packets behind a rate, at which slow start overflows it.
const NARROW: &str = r#"
    duration = "60 s"
    [path]
    rate = "8 Mbit/s"
    rtt = "50 ms"
    buffer = "20 packets"
    [[flow]]
    name = "transfer"
    profile = "linux"
    size = "300 KB"
"#;

#[test]
fn the_greatest_delivery_rate_is_that_of_the_path() {
    let Some(ground) = Ground::new() else { return };
    if !check::can_run(&check::abilities()) {
        firstflight_skip::skip("`firstflight lab check` says what this machine lacks");
        return;
    }
    const BYTES: usize = 300_000;
    let scenario = firstflight_scenario::parse(NARROW, "test.toml").expect("a valid scenario").scenario;
    let cable = Cable::lay(&scenario, &[SERVER], &[CLIENT]).expect("a cable");
    let listener = cable.near().run(|| TcpListener::bind((SERVER, PORT))).expect("the namespace");
    let listener = listener.expect("a listener");
    // CUBIC's slow start may end before it overflows the queue (HyStart).
    sockopt::set_tcp_congestion(&listener, "reno").expect("Reno");
    let connect = || {
        let client = cable.far().run(|| TcpStream::connect((SERVER, PORT))).expect("the namespace");
        (client.expect("a connection"), listener.accept().expect("a connection").0)
    };
    let old = connect();
    let mut hooks = ground.hooks(&ground.setup());
    let adopted = cable.near().run(|| hooks.adopt().expect("connections")).expect("the namespace");
    assert_eq!(adopted, 1, "the server's end");
    let mut reports = vec![];
    for (mut client, mut server) in std::iter::once(old).chain((0..2).map(|_| connect())) {
        thread::scope(|scope| {
            scope.spawn(|| {
                server.write_all(&[7; BYTES]).expect("a connection");
                server.shutdown(std::net::Shutdown::Write).expect("a connection");
            });
            let mut bytes = vec![];
            client.read_to_end(&mut bytes).expect("all bytes");
            assert_eq!(bytes.len(), BYTES);
        });
        drop((client, server));
        reports.extend(ends(&mut hooks, "10.78.0.2", 1));
    }
    let validity = cable.cut().expect("it was emulated");
    // Packets of 1500 bytes carry 1448.
    let path = 1e6 * 1448.0 / 1500.0;
    for report in &reports {
        assert!(report.retransmits > 0, "{report:?}");
        let share = report.rate as f64 / path;
        assert!((share - 1.0).abs() <= 0.1, "{share:.3} of the path's rate: {report:?}, {validity:?}");
    }
    assert_eq!(reports.len(), 3, "{validity:?}");
}

/// Windows at which the rest of 100 KB, the second flight, fills or overflows the queue of [`NARROW`].
const WINDOWS: [u32; 6] = [16, 21, 24, 28, 30, 34];

#[test]
fn a_threshold_or_a_pace_of_the_path_keeps_the_second_flight_within_a_short_queue() {
    let Some(ground) = Ground::new() else { return };
    if !check::can_run(&check::abilities()) {
        firstflight_skip::skip("`firstflight lab check` says what this machine lacks");
        return;
    }
    const BYTES: usize = 100_000;
    // 8 Mbit/s for 50 ms are 33.3 packets of 1500 bytes; the queue holds 20 more.
    const THRESHOLD: u32 = 34;
    const PACE: u32 = 33;
    let scenario = firstflight_scenario::parse(NARROW, "test.toml").expect("a valid scenario").scenario;
    let cable = Cable::lay(&scenario, &[SERVER], &[CLIENT]).expect("a cable");
    cable.near().set_ipv4("tcp_no_metrics_save", "1").expect("a setting of the namespace");
    let listener = cable.near().run(|| TcpListener::bind((SERVER, PORT))).expect("the namespace");
    let listener = listener.expect("a listener");
    sockopt::set_tcp_congestion(&listener, "cubic").expect("CUBIC");
    let limits = Limits { ssthresh: true, ..LIMITS };
    let mut hooks = ground.hooks(&Setup { bits: (32, 48), limits, ..ground.setup() });
    let mut transfer = |plan: &Plan| {
        hooks.set(plan).expect("room");
        let begin = Instant::now();
        let client = cable.far().run(|| TcpStream::connect((SERVER, PORT))).expect("the namespace");
        let (mut client, (mut server, _)) =
            (client.expect("a connection"), listener.accept().expect("a connection"));
        assert_eq!(TcpInfo::of(&server).expect("TCP_INFO").cwnd, plan.window);
        thread::scope(|scope| {
            scope.spawn(|| {
                server.write_all(&[7; BYTES]).expect("a connection");
                server.shutdown(std::net::Shutdown::Write).expect("a connection");
            });
            let mut bytes = vec![];
            client.read_to_end(&mut bytes).expect("all bytes");
            assert_eq!(bytes.len(), BYTES);
        });
        let time = begin.elapsed();
        drop((client, server));
        let [report] = ends(&mut hooks, "10.78.0.2", 1)[..] else { panic!("one report") };
        (time.as_secs_f64(), report.retransmits)
    };
    println!(
        "window: seconds and retransmissions of five transfers, as Linux | threshold {THRESHOLD} | pace {PACE}"
    );
    let mut lost = [0, 0, 0];
    for window in WINDOWS {
        let mut line = format!("{window}:");
        let arms = [(None, None), (Some(THRESHOLD), None), (None, Some(PACE))];
        for (arm, (ssthresh, pace)) in arms.into_iter().enumerate() {
            let (path, paced) = (pace.unwrap_or(window).max(window), pace.is_some());
            let plan = Plan { ssthresh, path, paced, ..plan("10.78.0.2/32", window) };
            for _ in 0..5 {
                let (time, retransmits) = transfer(&plan);
                lost[arm] += retransmits;
                line += &format!(" {time:.3}/{retransmits}");
            }
            line += if arm < 2 { " |" } else { "" };
        }
        println!("{line}");
    }
    let validity = cable.cut().expect("it was emulated");
    println!("{validity:?}");
    assert_eq!(
        lost[1..],
        [0, 0],
        "{lost:?} retransmissions without and with a threshold, and with a pace, {validity:?}"
    );
}

#[test]
fn a_connection_that_this_host_opens_starts_as_planned() {
    let Some(ground) = Ground::new() else { return };
    let Some(path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    let hooks = ground.hooks(&Setup { bits: (32, 48), ..ground.setup() });
    hooks.set(&plan("10.78.0.2/32", 30)).expect("room");
    let listener = path.client.run(|| TcpListener::bind((CLIENT, PORT)));
    let listener = listener.expect("the namespace").expect("a listener");
    let over = AtomicBool::new(false);
    let data = thread::scope(|scope| {
        let carrier = scope.spawn(|| path.carry(|_| false, &over));
        let sender = scope.spawn(|| {
            let opened = path.server.run(|| TcpStream::connect((CLIENT, PORT)));
            let mut opened = opened.expect("the namespace").expect("a connection");
            assert_eq!(TcpInfo::of(&opened).expect("TCP_INFO").cwnd, 30);
            opened.write_all(&[0; 60_000]).expect("a connection");
        });
        let (mut reader, _) = listener.accept().expect("a connection");
        reader.read_to_end(&mut vec![]).expect("all bytes");
        sender.join().expect("a sender");
        over.store(true, Ordering::Relaxed);
        carrier.join().expect("a path")
    });
    // The kernel has computed the rate of ten segments in half a round-trip time, 2 ms each, before it asks the program.
    // The first ten are not paced, so the other 20 take 40 ms; from then on ACKs come.
    let (unpaced, window) = (data[9], data[29]);
    assert!(unpaced.as_millis() < 2 && (33..50).contains(&window.as_millis()), "{data:?}");
}

#[test]
fn a_route_gives_the_first_window_without_ebpf_and_polls_report_it() {
    let Some(path) = Path::new() else { return };
    let _turn = Turn::take().expect("a turn on this machine");
    let inside = |work: &mut (dyn FnMut() + Send)| path.server.run(work).expect("the namespace");
    let show = || {
        let output = path.server.run(|| Command::new("ip").args(["route", "show", "proto", "211"]).output());
        String::from_utf8(output.expect("the namespace").expect("ip").stdout).expect("text")
    };
    let (mut routes, mut polls) = (None, None);
    inside(&mut || {
        routes = Some(Routes::new(2).expect("routes"));
        polls = Some(Polls::new().expect("sock_diag"));
    });
    let (mut routes, mut polls) = (routes.expect("routes"), polls.expect("polls"));
    assert_eq!(polls.poll(|_| None, |live| panic!("{live:?}")).expect("a poll"), 0);
    let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
    inside(&mut || {
        let refusal = routes.set(prefix("10.78.0.0/24"), 16).expect_err("the device's own route").to_string();
        assert!(refusal.contains("exactly this prefix"), "{refusal}");
        let refusal = routes.set(prefix("203.0.113.0/24"), 16).expect_err("no path").to_string();
        assert!(refusal.ends_with("203.0.113.0/24: the main table has none"), "{refusal}");
        let refusal = routes.set(prefix("10.78.0.0/25"), 17).expect_err("too wide").to_string();
        assert!(refusal.starts_with("window of a route = 17: expected 1 to 16"), "{refusal}");
        routes.set(prefix("10.78.0.0/25"), 14).expect("a route");
        routes.set(prefix("10.78.0.0/25"), 16).expect("the same route");
        routes.set(prefix("10.78.0.192/26"), 12).expect("a route");
        let refusal = routes.set(prefix("10.78.0.128/26"), 12).expect_err("no room");
        assert!(matches!(refusal, Refusal::Full { what: "routes", most: 2 }), "{refusal}");
    });
    assert_eq!(show().lines().count(), 2, "{}", show());
    assert_eq!(routes.window(CLIENT.into()), Some(16));
    assert_eq!(routes.window("10.78.0.130".parse().expect("an address")), None);

    // One connection lives while the polls see it, and ends.
    let (listener, address) = {
        let listener = path.server.run(|| TcpListener::bind((SERVER, 0))).expect("the namespace");
        let listener = listener.expect("a listener");
        let address = listener.local_addr().expect("an address");
        (listener, address)
    };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let carrier = scope.spawn(|| path.carry(|_| false, &over));
        let connect = scope.spawn(|| path.client.run(|| TcpStream::connect(address)));
        let (mut server, _) = listener.accept().expect("a connection");
        let mut client = connect.join().expect("a client").expect("the namespace").expect("a connection");
        server.write_all(&[0; 5000]).expect("a connection");
        client.read_exact(&mut [0; 5000]).expect("all bytes");
        // The ACK of the last byte is on its way.
        thread::sleep(3 * DELAY);
        let window = |address| routes.window(address);
        assert_eq!(polls.poll(window, |other| panic!("{other:?}")).expect("a poll"), 1);
        drop((server, client));
        thread::sleep(4 * DELAY);
        let mut ended = vec![];
        assert_eq!(polls.poll(window, |connection| ended.push(connection)).expect("a poll"), 0);
        let [connection] = ended[..] else { panic!("{ended:?}") };
        assert_eq!((connection.peer, connection.arm), (CLIENT.into(), Arm::Planned(16)));
        assert_eq!((connection.stage, connection.bytes, connection.cwnd >= 16), (Stage::Ended, 5000, true));
        assert!(connection.min_rtt.0 >= 40 * MILLISECOND && connection.rate > 0 && connection.sent == 4);
        over.store(true, Ordering::Relaxed);
        carrier.join().expect("a path");
    });
    let (data, _) = path.send(100_000, |_| false);
    assert_eq!(first_window(&data), 16);
    inside(&mut || assert_eq!(routes.refresh().expect("routes"), 0));
    // A process that dies leaves its routes; the next finds them.
    std::mem::forget(routes);
    assert_eq!(show().lines().count(), 2);
    let mut next = None;
    inside(&mut || next = Some(Routes::new(2).expect("routes")));
    assert_eq!(show(), "");
    let mut next = next.expect("routes");
    inside(&mut || next.set(prefix("10.78.0.0/25"), 16).expect("a route"));
    assert_eq!(show().lines().count(), 1);
    let mut next = Some(next);
    inside(&mut || drop(next.take()));
    assert_eq!(show(), "");
    let (data, _) = path.send(100_000, |_| false);
    assert_eq!(first_window(&data), STACK as usize);
}
