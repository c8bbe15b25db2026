//! The gateway of a site: what it rebuilds from packets, against the senders' own state.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::Scratch;
use firstflight::recording::{Event, FlowRecording, Metrics};
use firstflight::{Run, Scenario};
use firstflight_capture::{Connection, Room, Watch, for_each};
use firstflight_contract::Nanos;
use firstflight_daemon::{Client, Groups, Interface, Kernel, Mirror, Setup, Site, Source, serve};
use firstflight_gateway::{Connection as Report, Gateway, Keys, Mode, Plan, Settings, Signer, typical};
use firstflight_lab::{Cable, Netns, TcpInfo};
use firstflight_paths::Prefix;
use firstflight_report::pcapng;

/// A scenario of one transfer by Linux's stack.
fn scenario(rate: u32, rtt: u32, buffer: &str, avoidance: &str, size: &str) -> Scenario {
    let text = format!(
        "duration = \"60 s\"\n[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{rtt} ms\"\nbuffer = \"{buffer}\"\n\
         [[flow]]\nname = \"server\"\nprofile = \"linux\"\nstartup = \"hystart-linux\"\navoidance = \"{avoidance}\"\n\
         size = \"{size}\"\n"
    );
    Scenario::from_text(&text).expect("a scenario")
}

/// The packets of a simulated sender, watched as on a link.
fn watched(scenario: &Scenario) -> (Vec<Connection>, FlowRecording) {
    let recording = Run::of(scenario).record().expect("a recording");
    let mut bytes = vec![];
    pcapng(&recording, &mut bytes).expect("written to memory");
    let mut watch = Watch::new(Room { of_connection: 1 << 16, ..Room::default() });
    for_each(&*bytes, "simulated", |at, link, data, length| {
        watch.frame(at, link, data, length);
    })
    .expect("a capture");
    watch.finish();
    (watch.take_ended(), recording.flows.into_iter().next().expect("one flow"))
}

/// The sender's own windows, segments: at its latest loss in congestion avoidance, and at the end.
fn own(flow: &FlowRecording) -> (Option<f64>, f64) {
    let segments = |bytes: u64| bytes as f64 / f64::from(flow.mss);
    let (mut now, mut in_avoidance, mut loss) = (Metrics::default(), false, None);
    // A reduction is recorded at the time of its loss, before the new state.
    let mut before = (0, Metrics::default());
    for (at, event) in &flow.events {
        if *at != before.0 {
            before = (*at, now);
        }
        match event {
            Event::Metrics(metrics) => now = *metrics,
            // A loss that ends start-up is none of congestion avoidance.
            Event::StartupExit { reason, .. } => in_avoidance |= *reason != "loss",
            Event::State { old, new: "recovery" } if *old != "loss" => {
                loss = in_avoidance.then(|| segments(before.1.cwnd)).or(loss);
                in_avoidance = true;
            }
            _ => {}
        }
    }
    (loss, segments(now.cwnd))
}

#[test]
fn windows_rebuilt_from_packets_are_those_of_simulated_senders() {
    let paths = [
        (8, 50, "20 packets"),
        (20, 100, "1 BDP"),
        (50, 30, "0.3 BDP"),
        (5, 200, "2 BDP"),
        (100, 10, "1 BDP"),
    ];
    let (mut all, mut close, mut losses) = (0, 0, 0);
    for (rate, rtt, buffer) in paths {
        for avoidance in ["cubic", "reno"] {
            for size in ["20 KB", "60 KB", "150 KB", "300 KB", "1 MB", "5 MB"] {
                let (connections, flow) = watched(&scenario(rate, rtt, buffer, avoidance, size));
                let [connection] = &connections[..] else { panic!("one connection") };
                let rebuilt = connection.windows().expect("windows");
                let (loss, last) = own(&flow);
                let what = format!("{rate} Mbit/s, {rtt} ms, {buffer}, {avoidance}, {size}");
                println!("{what}: rebuilt {rebuilt:?}, own {loss:?} and {last}");
                // Every loss in congestion avoidance is found, and no other one. Its window is exact where the flight filled it,
                // and never too large.
                assert_eq!(rebuilt.avoidance_loss.is_some(), loss.is_some(), "{what}");
                if let (Some(rebuilt), Some(own)) = (rebuilt.avoidance_loss, loss) {
                    assert!(rebuilt <= own + 1.0 && rebuilt >= 0.97 * own, "{what}");
                    losses += 1;
                }
                // The window at the end: never more than a tenth above the sender's own.
                assert!(rebuilt.close <= 1.1 * last + 1.5, "{what}");
                all += 1;
                close += u32::from((rebuilt.close / last - 1.0).abs() < 0.1);
            }
        }
    }
    println!("{losses} losses in congestion avoidance; {close} of {all} windows at the end within a tenth");
    assert!(losses >= 5 && 10 * close >= 9 * all);
}

/// Server of the namespaces, and the hosts of its clients.
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 87, 1, 1);
const HOSTS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(10, 87, 1, 2),
    Ipv4Addr::new(10, 87, 1, 3),
    Ipv4Addr::new(10, 87, 1, 4),
    Ipv4Addr::new(10, 87, 1, 5),
];
/// 8 Mbit/s and 50 ms: 33.3 packets of 1500 bytes in flight.
const PATH: &str = "duration = \"300 s\"\n[path]\nrate = \"8 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"60 packets\"\n\
                    [[flow]]\nname = \"server\"\nprofile = \"linux\"\nsize = \"100 KB\"\n";

/// Values of the kernel's sender at the end of a connection; windows in segments.
#[derive(Clone, Copy, Debug)]
struct Kernels {
    bytes: usize,
    client: IpAddr,
    avoidance_loss: Option<f64>,
    close: f64,
    min_rtt: Duration,
}

/// Answers one download, and looks at the sender every millisecond until the last byte is acknowledged.
fn answer(mut stream: TcpStream) -> Kernels {
    let client = stream.peer_addr().expect("an address").ip();
    let mut request = [0; 1024];
    let length = stream.read(&mut request).expect("a request");
    let text = String::from_utf8_lossy(&request[..length]).into_owned();
    let size: usize = text.split(['/', ' ']).nth(2).and_then(|size| size.parse().ok()).expect("a size");
    let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {size}\r\n\r\n");
    let body = [head.into_bytes(), vec![b'x'; size]].concat();
    let mut writing = stream.try_clone().expect("a second descriptor");
    thread::scope(|scope| {
        let writer = scope.spawn(move || writing.write_all(&body).expect("it is written"));
        let (mut before, mut avoidance_loss) = (None::<TcpInfo>, None);
        loop {
            let now = TcpInfo::of(&stream).expect("TCP_INFO");
            if let Some(before) = before.replace(now)
                && before.ca_state < 3
                && now.ca_state == 3
                && before.ssthresh.is_some_and(|ssthresh| before.cwnd >= ssthresh)
            {
                avoidance_loss = Some(f64::from(before.cwnd));
            }
            if writer.is_finished() && now.unacked == 0 {
                let min_rtt = Duration::from_micros(now.min_rtt.into());
                return Kernels { bytes: size, client, avoidance_loss, close: now.cwnd.into(), min_rtt };
            }
            thread::sleep(Duration::from_millis(1));
        }
    })
}

fn ip(arguments: &[&str]) {
    let ran = Command::new("ip").args(arguments).output().expect("iproute2");
    assert!(ran.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn windows_rebuilt_on_an_interface_are_those_of_the_kernels_senders() {
    let path = Scenario::from_text(PATH).expect("a scenario");
    let cable = match Cable::lay(&path, &[SERVER], &HOSTS) {
        Ok(cable) => cable,
        Err(why) => return firstflight_skip::skip(why),
    };
    let hosts = vec!["10.87.1.1/32".parse().expect("a prefix")];
    let socket = Path::new("unused");
    let mirror =
        cable.near().run(|| Mirror::begin(Interface::open("tun0")?, hosts, socket, None)).expect("entered");
    let mut mirror = mirror.expect("the interface");
    let listener = cable.near().run(|| TcpListener::bind((SERVER, 80))).expect("entered").expect("a port");
    let sizes = [30_000, 100_000, 300_000, 1_500_000];
    let downloads: Vec<_> = sizes.iter().flat_map(|size| HOSTS.map(|host| (*size, host))).collect();
    let mut kernels = vec![];
    for (size, host) in &downloads {
        let download = || {
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--show-error", "--fail", "--max-time", "60", "--output", "/dev/null"]);
            curl.arg("--interface").arg(host.to_string()).arg(format!("http://{SERVER}/{size}"));
            assert!(curl.status().expect("curl").success());
        };
        thread::scope(|scope| {
            let client = scope.spawn(|| cable.far().run(download).expect("entered"));
            let (stream, _) = listener.accept().expect("a client");
            kernels.push(answer(stream));
            client.join().expect("no panic");
        });
    }
    let mut reports = vec![];
    for _ in 0..300 {
        mirror.drain(&mut |report| reports.push(report)).expect("reports");
        if reports.len() >= downloads.len() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let counts = mirror.counts();
    drop(mirror);
    let validity = cable.cut().expect("the emulation");
    assert_eq!(reports.len(), downloads.len(), "{counts}");
    println!("{counts}; emulation late by {} ms in 99 %", validity.lateness_p99_ms);
    // Reports come in no order. Each client loads each size once: the size and the client name a connection.
    let window = |kernel: &Kernels| kernel.avoidance_loss.unwrap_or(kernel.close);
    kernels.sort_by_key(|kernel| (kernel.bytes, kernel.client));
    reports.sort_by_key(|report| (report.bytes, report.peer));
    for (kernel, report) in kernels.iter().zip(&reports) {
        assert_eq!(kernel.client, report.peer);
        println!("{kernel:?}; rebuilt {} segments, least round trip {} ns", report.cwnd, report.min_rtt.0);
    }
    if validity.lateness_p99_ms > 0.5 {
        let late = validity.lateness_p99_ms;
        return firstflight_skip::skip(format_args!(
            "accuracy: packets were late by {late} ms, 0.5 are allowed"
        ));
    }
    for (kernel, report) in kernels.iter().zip(&reports) {
        let rebuilt = f64::from(report.cwnd);
        assert!((rebuilt / window(kernel) - 1.0).abs() < 0.1, "{kernel:?} {report:?}");
        let late = report.min_rtt.0 as f64 / kernel.min_rtt.as_nanos() as f64 - 1.0;
        assert!(late.abs() < 0.01, "{kernel:?} {report:?}");
    }
    // The estimate of the site's gateway, and the one from the senders' own windows. The path holds 33.3 segments of 1500 bytes. In some
    // runs the senders end with smaller windows, and the site's estimate was 25.4 segments; that slow start overshot is a conjecture.
    let estimate = |reports: &[Report]| {
        let mut gateway = Gateway::new(Settings { mode: Mode::Advise, ..Settings::default() });
        reports.iter().for_each(|report| gateway.report(report, &mut vec![]));
        gateway.explain(HOSTS[0].into()).estimate.expect("an estimate")
    };
    let own: Vec<Report> = kernels
        .iter()
        .zip(&reports)
        .map(|(kernel, report)| Report {
            cwnd: window(kernel) as u32,
            min_rtt: Nanos(kernel.min_rtt.as_nanos() as u64),
            ..*report
        })
        .collect();
    let [rebuilt, own] = [&reports, &own].map(|reports| estimate(reports));
    println!("the site's gateway estimates {rebuilt}; from the senders' own windows {own}");
    let ratio = f64::from(rebuilt.median) / f64::from(own.median);
    assert!((ratio - 1.0).abs() < 0.1, "{rebuilt} {own}");
}

#[test]
fn a_request_pushes_what_the_site_knows_to_the_host_that_is_asked() {
    let netns = match Netns::new() {
        Ok(netns) => netns,
        Err(why) => return firstflight_skip::skip(format_args!("this machine does not grant {why}")),
    };
    let scratch = Scratch::new();
    let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
    let setup = |name: &str, address: &str, mode| {
        let folder = scratch.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Setup {
            // One observation of the site is enough for a plan.
            settings: Settings { mode, hosts: 1, ..Settings::default() },
            socket: folder.join("gateway.sock"),
            groups: Groups::default(),
            state: folder,
            snapshot_every: Nanos::from_secs(3600),
            journal_bytes: 1 << 20,
            record: None,
            transfers: None,
            idle: false,
            source: Source::default(),
            share: None,
            metrics: firstflight_gateway::Metrics::default(),
            site: Some(Site {
                listen: address.parse().expect("an address"),
                hosts: vec![prefix("10.9.0.0/24")],
                signer: Some(Signer::from_seed("site", &[7; 32])),
                keys: Keys::of(&Signer::from_seed("site", &[7; 32])),
                weight: 500,
            }),
            tiers: vec![],
        }
    };
    let (there, here) =
        (setup("site", "10.9.0.2:4646", Mode::Advise), setup("host", "10.9.0.1:4646", Mode::Enforce));
    let over = AtomicBool::new(false);
    let plans = Arc::new(Mutex::new(vec![]));
    let started = |client: &Client| {
        (0..500).any(|_| {
            thread::sleep(Duration::from_millis(20));
            client.get("/v1/status").is_ok()
        })
    };
    let work = || {
        ip(&["link", "set", "lo", "up"]);
        for address in ["10.9.0.1/32", "10.9.0.2/32", "192.0.2.9/32"] {
            ip(&["address", "add", address, "dev", "lo"]);
        }
        let site = there.site.as_ref();
        let mirror = Interface::open("lo")
            .and_then(|lo| Mirror::begin(lo, vec![prefix("10.9.0.0/24")], &there.socket, site))
            .expect("the interface");
        let host = Host(Arc::clone(&plans));
        let ends = || over.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let services = [
                scope.spawn(|| serve(&there, Box::new(mirror), ends, |why| println!("site: {why}"))),
                scope.spawn(|| serve(&here, Box::new(host), ends, |why| println!("host: {why}"))),
            ];
            let site = Client::new(&there.socket);
            assert!(started(&site) && started(&Client::new(&here.socket)));
            site.post_bytes("/v1/import", learned()).expect("it learns");
            let _listener = TcpListener::bind("10.9.0.1:80").expect("a port");
            // The server never answers: the request is enough.
            let curl = ["--silent", "--max-time", "0.3", "--interface", "192.0.2.9", "http://10.9.0.1/"];
            let _ = Command::new("curl").args(curl).status().expect("curl");
            let known = (0..500).any(|_| {
                thread::sleep(Duration::from_millis(10));
                !plans.lock().expect("no panic").is_empty()
            });
            let status = site.get("/v1/status").expect("an answer");
            over.store(true, Ordering::Relaxed);
            services.into_iter().for_each(|service| service.join().expect("no panic").expect("it ends"));
            (known, status)
        })
    };
    let (known, status) = netns.run(work).expect("entered");
    assert!(known, "{status}");
    let plan: Plan = plans.lock().expect("no panic")[0];
    // Half of the doublings from 10 to 40.
    assert_eq!((plan.prefix, plan.window), (prefix("192.0.2.0/24"), 20));
    assert_eq!(status["mirror"]["pushes"]["taken"], 1, "{status}");
}

/// A state in which 192.0.2.0/24 holds 40 segments.
fn learned() -> Vec<u8> {
    let mut gateway = Gateway::new(Settings { mode: Mode::Advise, ..Settings::default() });
    for turn in 0..80_u64 {
        let peer = [192, 0, 2, 1 + (turn % 5) as u8].into();
        let report = Report { at: Nanos::from_secs(1 + turn), ..typical(peer) };
        gateway.report(&report, &mut vec![]);
    }
    gateway.save()
}

/// The kernel of a host, as far as it gets plans.
struct Host(Arc<Mutex<Vec<Plan>>>);

impl Kernel for Host {
    fn drain(&mut self, _: &mut dyn FnMut(Report)) -> Result<(), String> {
        Ok(())
    }

    fn set(&mut self, plan: &Plan) -> Result<(), String> {
        self.0.lock().expect("no panic").push(*plan);
        Ok(())
    }
}
