//! Gateways that share observations through a store: a Redis server of the test's own, on a Unix socket.

#![expect(clippy::disallowed_methods, reason = "records have the time of the wall clock")]

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use common::{Scratch, Service, connection, setup, teach};
use firstflight_contract::Nanos;
use firstflight_daemon::{Setup, Sharing};
use firstflight_gateway::{Connection, Mode, Observation, Settings, Share, Signer};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

const RTT: Nanos = Nanos::from_millis(40);

/// A Redis server, ended with the value.
struct Redis {
    process: Child,
    folder: PathBuf,
}

impl Redis {
    /// [`None`], with the reason on standard output, where there is no Redis.
    fn start(folder: &Path, password: Option<&str>) -> Option<Self> {
        let password = password.map(|password| ["--requirepass", password]);
        Self::with(folder, password.as_ref().map_or(&[], |words| words.as_slice()))
    }

    /// The same with more words of its command line.
    fn with(folder: &Path, words: &[&str]) -> Option<Self> {
        // The program of Debian's redis-tools is the whole server; its name decides what it does.
        let mut command = Command::new("/usr/bin/redis-check-rdb");
        command.arg0("redis-server").args(["--port", "0", "--save", "", "--appendonly", "no"]);
        command.args(["--loglevel", "warning", "--dir"]).arg(folder).arg("--unixsocket").arg(socket(folder));
        command.args(words);
        let process = match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
            Ok(process) => process,
            Err(error) => {
                firstflight_skip::skip(format_args!("redis-check-rdb of the package redis-tools: {error}"));
                return None;
            }
        };
        let redis = Self { process, folder: folder.to_owned() };
        for _ in 0..1000 {
            if std::os::unix::net::UnixStream::connect(socket(folder)).is_ok() {
                return Some(redis);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not listen after ten seconds");
    }

    fn signal(&self, signal: i32) {
        // SAFETY: takes no pointer; the process has not been waited for, so that its number is its own.
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    fn kill(&mut self) {
        self.process.kill().expect("a process of this test");
        self.process.wait().expect("a process of this test");
        let _ = fs::remove_file(socket(&self.folder));
    }

    fn connection(&self) -> redis::Connection {
        let client = redis::Client::open(format!("unix://{}", socket(&self.folder).display()));
        client.expect("an address").get_connection().expect("a connection")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("redis.sock")
}

/// Hosts of these tests.
const HOSTS: [&str; 14] = [
    "left", "right", "fresh", "here", "there", "alone", "replay", "with", "without", "same", "host-0",
    "host-1", "host-2", "liar",
];

/// The secret of a host: its name, filled up.
fn seed(host: &str) -> [u8; 32] {
    let mut seed = [0; 32];
    seed.iter_mut().zip(host.bytes()).for_each(|(to, byte)| *to = byte);
    seed
}

fn signer(host: &str) -> Signer {
    Signer::from_seed(host, &seed(host))
}

/// A key as PEM: RFC 8410 has the bytes before it.
fn pem(label: &str, before: &[u8], key: [u8; 32]) -> String {
    let text = base64::prelude::BASE64_STANDARD.encode([before, &key].concat());
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

const PRIVATE: &[u8] = &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const PUBLIC: &[u8] = &[0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

fn public(host: &str) -> String {
    pem("PUBLIC KEY", PUBLIC, signer(host).public())
}

fn write_with(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

fn share(folder: &Path, host: &str) -> Share {
    let (key_file, keys) = (folder.join(format!("{host}.key")), folder.join("keys"));
    write_with(&key_file, &pem("PRIVATE KEY", PRIVATE, seed(host)), 0o600);
    fs::create_dir_all(&keys).expect("a folder");
    for host in HOSTS {
        let path = keys.join(format!("{host}.pem"));
        // Those who read it at the same time see all of it.
        if !path.exists() {
            write_with(&path, &public(host), 0o644);
        }
    }
    Share {
        url: format!("unix://{}", socket(folder).display()),
        key_file,
        keys,
        ca_file: None,
        host: host.into(),
        weight: 500,
        max_age: Nanos::from_secs(1800),
    }
}

/// A gateway that shares through the store in `folder` under this name; two hosts make a plan.
fn gateway(folder: &Path, host: &str) -> Service {
    gateway_with(folder, share(folder, host))
}

fn gateway_with(folder: &Path, share: Share) -> Service {
    let own = folder.join(format!("{}-{}", share.host, share.url.len()));
    fs::create_dir_all(&own).expect("a folder");
    let usual = setup(&own, Mode::Enforce);
    let settings = Settings { hosts: 2, ..usual.settings };
    Service::with(Setup { settings, share: Some(Sharing::open(&share).expect("a store")), ..usual })
}

fn shared(service: &Service) -> Value {
    service.client.get("/v1/status").expect("a status")["share"].clone()
}

fn connected(service: &Service, wanted: bool) {
    service.until(if wanted { "the store answers" } else { "the store is given up" }, || {
        shared(service)["connected"] == wanted
    });
}

fn counted(service: &Service, key: &str, least: u64) {
    service.until(key, || shared(service)[key].as_u64().is_some_and(|count| count >= least));
}

fn refused(service: &Service, reason: &str) -> u64 {
    shared(service)["refused"][reason].as_u64().unwrap_or(0)
}

fn plans(service: &Service) -> usize {
    service.kernel.told(|told| told.plans.len())
}

/// One connection to a host of 192.0.2.0/24 that carried nothing: it brings no sample.
fn glimpse(service: &Service, host: u8) {
    let now = firstflight_hooks::now().0;
    service.kernel.told(|told| told.reports.push(Connection { bytes: 0, sent: 0, ..connection(now, host) }));
}

fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs()
}

fn prefix() -> Prefix {
    "192.0.2.0/24".parse().expect("a prefix")
}

/// 40 segments, measured just now.
fn observation(host: &str) -> Observation {
    Observation::new(host, prefix(), 40 * 16, RTT, 40, wall())
}

fn put(redis: &mut redis::Connection, place: &str, record: &[u8]) {
    redis::cmd("SET").arg(place).arg(record).exec(redis).expect("the store takes it");
}

fn log(folder: &Path, host: &str) -> String {
    let own = fs::read_dir(folder).expect("a folder").filter_map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.starts_with(&format!("{host}-")).then(|| path.join("state/decisions.jsonl"))
    });
    own.map(|path| fs::read_to_string(path).expect("a log")).collect()
}

#[test]
fn a_fresh_gateway_plans_from_what_two_others_measured() {
    let scratch = Scratch::new();
    let Some(redis) = Redis::start(&scratch.0, None) else { return };
    let taught = ["left", "right"].map(|host| gateway(&scratch.0, host));
    for service in &taught {
        connected(service, true);
        teach(service);
        // After 8, 16 and 32 of the 40 reports; at first there are too few samples.
        counted(service, "published", 3);
    }
    // Each record leaves the store when it would be too old to be taken.
    let mut store = redis.connection();
    let keys: Vec<String> = redis::cmd("KEYS").arg("firstflight:2:192*").query(&mut store).expect("keys");
    for key in &keys {
        let left: i64 = redis::cmd("TTL").arg(key).query(&mut store).expect("a time");
        assert!((1700..=1800).contains(&left), "{key}: {left} s");
    }
    let places: std::collections::BTreeSet<_> =
        ["left", "right"].map(|host| observation(host).place()).into();
    assert_eq!(
        (keys.into_iter().collect::<std::collections::BTreeSet<_>>(), places.len()),
        (places.clone(), 2)
    );

    let fresh = gateway(&scratch.0, "fresh");
    connected(&fresh, true);
    assert_eq!(plans(&fresh), 0);
    glimpse(&fresh, 9);
    counted(&fresh, "taken", 2);
    fresh.until("a plan", || plans(&fresh) == 1);
    let plan = fresh.kernel.told(|told| told.plans[0]);
    // The others measured 34.5 segments. A first plan is half of the doublings from 10 to 34: sqrt(340) = 18.4.
    assert_eq!((plan.prefix, plan.window), (prefix(), 18));
    let found = fresh.client.get("/v1/explain/192.0.2.200").expect("an explanation");
    assert_eq!(
        (&found["estimate"]["hosts"], &found["estimate"]["hosts_measured_to_the_limit"]),
        (&json!(2), &json!(0))
    );
    assert_eq!((&shared(&fresh)["taken"], refused(&fresh, "signature")), (&json!(2), 0));
    let metrics = String::from_utf8(fresh.client.get_bytes("/metrics").expect("metrics")).expect("text");
    for line in ["firstflight_gateway_share_taken_total 2", "firstflight_gateway_share_connected 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line} is missing in\n{metrics}");
    }
    fresh.end().expect("it ends in order");
    let log = log(&scratch.0, "fresh");
    let taken = log.lines().filter(|line| line.contains("\"share\":\"taken\"")).collect::<Vec<_>>();
    assert!(taken.len() == 1 && taken[0].contains("measured 34.5 segments"), "{log}");

    // An observation of another gateway is not published as the gateway's own.
    let keys: Vec<String> = redis::cmd("KEYS").arg("firstflight:2:192*").query(&mut store).expect("keys");
    assert_eq!(keys.len(), places.len());
    // The recording replays, with the observations of others.
    let events = fs::read_dir(&scratch.0).expect("a folder").map(|entry| entry.expect("an entry").path());
    let events = events.map(|path| path.join("events.jsonl")).filter(|path| path.exists());
    let mut remotes = 0;
    for events in events {
        let text = fs::read_to_string(&events).expect("a recording");
        remotes += text.lines().filter(|line| line.starts_with("{\"remote\"")).count();
        if events.to_string_lossy().contains("/fresh-") {
            let replayed = firstflight_gateway::replay(text.lines()).expect("a recording");
            assert_eq!(replayed.difference, None);
        }
    }
    assert!(remotes >= 2, "{remotes}");
    for service in taught {
        service.end().expect("it ends in order");
    }
}

#[test]
fn a_store_that_is_killed_or_stopped_leaves_a_gateway_that_works_alone_and_shares_again_later() {
    let scratch = Scratch::new();
    let Some(mut redis) = Redis::start(&scratch.0, None) else { return };
    let service = gateway(&scratch.0, "here");
    connected(&service, true);
    for turn in 0..2_u8 {
        // First killed, then stopped: a partition, in which the store's socket takes connections and nothing answers.
        let stopped = turn == 1;
        if stopped {
            redis.signal(libc::SIGSTOP);
        } else {
            redis.kill();
        }
        // A connection that asks the store: its failure is found within a second.
        glimpse(&service, 9);
        connected(&service, false);
        // The gateway learns and plans, its thread is not held up, and its socket answers.
        let network = 10 + turn;
        let now = firstflight_hooks::now().0;
        let report = |i: u64| Connection {
            peer: IpAddr::from([198, 51, network, 1 + (i % 5) as u8]),
            ..connection(now + i * 1_000_000, 1)
        };
        service.kernel.told(|told| told.reports.extend((0..40).map(report)));
        service.until("a plan", || plans(&service) == usize::from(turn) + 1);
        let renewals = || service.kernel.told(|told| told.renewals);
        let before = renewals();
        for _ in 0..30 {
            service.client.get("/v1/status").expect("a status");
            thread::sleep(Duration::from_millis(100));
        }
        // Once a second.
        assert!(renewals() >= before + 2, "{} signs of life in three seconds", renewals() - before);
        let why = shared(&service)["why_not_connected"].clone();
        let said = if stopped { "no answer within 1 s" } else { "No such file" };
        assert!(why.as_str().is_some_and(|why| why.contains(said)), "{why}");

        // After that, everything is asked and published again.
        let published = shared(&service)["published"].as_u64().expect("a number");
        redis = if stopped {
            redis.signal(libc::SIGCONT);
            redis
        } else {
            Redis::start(&scratch.0, None).expect("it ran before")
        };
        connected(&service, true);
        let now = firstflight_hooks::now().0;
        service.kernel.told(|told| {
            told.reports.push(Connection { peer: IpAddr::from([198, 51, network, 1]), ..connection(now, 1) });
        });
        counted(&service, "published", published + 1);
        // A store that has answered for a while is tried again after a second.
        thread::sleep(Duration::from_secs(6));
    }
    // A gateway that starts without its store works, too.
    redis.kill();
    let alone = gateway(&scratch.0, "alone");
    connected(&alone, false);
    teach(&alone);
    alone.until("a plan", || plans(&alone) == 1);
    for service in [service, alone] {
        service.end().expect("it ends in order");
    }
    let log = log(&scratch.0, "here");
    for kind in ["away", "here"] {
        let lines = log.lines().filter(|line| line.contains(&format!("\"share\":\"{kind}\""))).count();
        assert!(lines >= 3, "{lines} lines of {kind} in\n{log}");
    }
}

#[test]
fn poisoned_records_are_refused_by_name_and_counted() {
    let scratch = Scratch::new();
    let Some(redis) = Redis::start(&scratch.0, None) else { return };
    let mut store = redis.connection();
    let good = observation("there");
    let record = good.sign(&signer("there"));
    let elsewhere = Observation { prefix: "198.51.100.0/24".parse().expect("a prefix"), ..good.clone() };
    let records: [(&str, Vec<u8>); 7] = [
        ("signature", record.replacen("\"window\":640", "\"window\":720", 1).into()),
        ("version", Observation { version: 1, ..good.clone() }.sign(&signer("there")).into()),
        ("value", Observation { samples: u32::MAX, ..good.clone() }.sign(&signer("there")).into()),
        ("age", Observation { at: wall() - 1900, ..good.clone() }.sign(&signer("there")).into()),
        ("misplaced", elsewhere.sign(&signer("there")).into()),
        // 16 MB, of which no more than the longest record is read.
        ("unsigned", vec![b'x'; 16 << 20]),
        ("unsigned", vec![0xff; 100]),
    ];
    let places = Observation::places(&prefix());
    for (place, (_, record)) in places.iter().zip(&records) {
        put(&mut store, place, record);
    }
    // A place that is no string.
    redis::cmd("RPUSH").arg(&places[15]).arg("list").exec(&mut store).expect("the store takes it");

    let service = gateway(&scratch.0, "here");
    connected(&service, true);
    glimpse(&service, 9);
    service.until("all are refused", || refused(&service, "unsigned") == 3);
    for reason in ["signature", "version", "value", "age", "misplaced"] {
        assert_eq!(refused(&service, reason), 1, "{reason}");
    }
    assert_eq!((&shared(&service)["taken"], &shared(&service)["connected"]), (&json!(0), &json!(true)));
    let found = service.client.get("/v1/explain/192.0.2.9").expect("an explanation");
    assert_eq!((&found["estimate"], &found["plan"]), (&json!(null), &json!(null)));
    let metrics = String::from_utf8(service.client.get_bytes("/metrics").expect("metrics")).expect("text");
    assert!(metrics.contains("firstflight_gateway_share_refused_total{reason=\"unsigned\"} 3"), "{metrics}");
    service.end().expect("it ends in order");
    let log = log(&scratch.0, "here");
    assert!(log.contains("the signature does not fit the record"), "{log}");

    // An older record of a host in place of its newer one, after that was taken: another gateway of the same state.
    let service = gateway(&scratch.0, "replay");
    connected(&service, true);
    redis::cmd("FLUSHALL").exec(&mut store).expect("the store takes it");
    put(&mut store, &good.place(), record.as_bytes());
    let other = places.iter().find(|place| **place != good.place()).expect("other places");
    put(
        &mut store,
        other,
        Observation { at: good.at - 60, ..good.clone() }.sign(&signer("there")).as_bytes(),
    );
    glimpse(&service, 9);
    counted(&service, "taken", 1);
    // Whichever place is read first; the older one is not taken after the newer one.
    let taken = shared(&service)["taken"].as_u64().expect("a number");
    assert_eq!(taken + refused(&service, "replayed"), 2);
    let estimate =
        || service.client.get("/v1/explain/192.0.2.9").expect("an explanation")["estimate"].clone();
    service.until("an estimate", || !estimate().is_null());
    let estimate = estimate();
    assert_eq!((&estimate["hosts"], &estimate["window_segments"]), (&json!(1), &json!(40.0)));
    service.end().expect("it ends in order");
}

/// A store that answers each message with these bytes, for ever.
fn flooding(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().take(4) {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 4096]);
            // At most 256 MB, should nobody stop it.
            for _ in 0..(256 << 20) / bytes.len() {
                if stream.write_all(bytes).is_err() {
                    break;
                }
            }
        }
    });
    port
}

/// Resident memory of this process, bytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[test]
fn a_store_that_floods_or_speaks_nonsense_is_left_alone() {
    const HUGE: [u8; 4096] = [b'x'; 4096];
    for (bytes, said) in [
        (b"*2000000000\r\n".as_slice(), ""),
        // A string that never ends.
        (&HUGE, ""),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ""),
        (b"-ERR no\r\n", "it refuses"),
    ] {
        let scratch = Scratch::new();
        let before = memory();
        let share =
            Share { url: format!("redis://127.0.0.1:{}", flooding(bytes)), ..share(&scratch.0, "here") };
        let service = gateway_with(&scratch.0, share);
        service.until("a failure", || shared(&service)["why_not_connected"] != "not asked yet");
        connected(&service, false);
        let why = shared(&service)["why_not_connected"].clone();
        assert!(why.as_str().is_some_and(|why| why.contains(said)), "{why}");
        teach(&service);
        service.until("a plan", || plans(&service) == 1);
        service.end().expect("it ends in order");
        let grown = memory().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes more for {:?}", String::from_utf8_lossy(&bytes[..8]));
    }
}

#[test]
fn a_password_is_given_and_never_shown() {
    let scratch = Scratch::new();
    let Some(_redis) = Redis::start(&scratch.0, Some("sesame")) else { return };
    let usual = share(&scratch.0, "with");
    let with = Share { url: format!("{}?pass=sesame", usual.url), ..usual.clone() };
    let service = gateway_with(&scratch.0, with);
    connected(&service, true);
    let status = service.client.get("/v1/status").expect("a status").to_string();
    assert!(!status.contains("sesame"), "{status}");
    service.end().expect("it ends in order");
    let service = gateway_with(&scratch.0, share(&scratch.0, "without"));
    service.until("a reason", || shared(&service)["why_not_connected"].to_string().contains("NOAUTH"));
    service.end().expect("it ends in order");
}

/// A certificate for `localhost` that vouches for itself, and its key, as files.
fn certificate(folder: &Path, name: &str) -> [PathBuf; 2] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let parts =
        [("CERTIFICATE", made.cert.der().to_vec()), ("PRIVATE KEY", made.signing_key.serialize_der())];
    parts.map(|(label, bytes)| {
        let path = folder.join(format!("{name}-{}", label.replace(' ', "-")));
        let text = base64::prelude::BASE64_STANDARD.encode(bytes);
        fs::write(&path, format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n"))
            .expect("written");
        path
    })
}

#[test]
fn a_store_with_tls_is_used_only_if_a_named_authority_vouches_for_it() {
    let scratch = Scratch::new();
    let [own, key] = certificate(&scratch.0, "own");
    let [other, _] = certificate(&scratch.0, "other");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let (text, own_text, key_text) = (port.to_string(), own.display().to_string(), key.display().to_string());
    let files = ["--tls-cert-file", &own_text, "--tls-key-file", &key_text, "--tls-auth-clients", "no"];
    let words = [["--tls-port", &text].as_slice(), &files].concat();
    let Some(redis) = Redis::with(&scratch.0, &words) else { return };
    let usual = share(&scratch.0, "here");
    let url = format!("rediss://localhost:{port}");
    let with = |url: &str, ca_file: &Path, host: &str| Share {
        url: url.into(),
        ca_file: Some(ca_file.to_owned()),
        ..share(&scratch.0, host)
    };
    let service = gateway_with(&scratch.0, with(&url, &own, "here"));
    connected(&service, true);
    teach(&service);
    counted(&service, "published", 1);
    let kept: Vec<String> =
        redis::cmd("KEYS").arg("firstflight:2:192*").query(&mut redis.connection()).expect("keys");
    assert_eq!(kept.len(), 1, "{kept:?}");
    service.end().expect("it ends in order");
    // Another authority; another name than the certificate's; no encryption.
    for (place, (url, authority, reason)) in [
        (url.clone(), &other, "TLS: invalid peer certificate"),
        (format!("rediss://127.0.0.1:{port}"), &own, "TLS: invalid peer certificate"),
        (format!("redis://localhost:{port}"), &own, ""),
    ]
    .into_iter()
    .enumerate()
    {
        let service = gateway_with(&scratch.0, with(&url, authority, &format!("host-{place}")));
        service.until("a failure", || shared(&service)["why_not_connected"] != "not asked yet");
        connected(&service, false);
        let why = shared(&service)["why_not_connected"].clone();
        assert!(why.as_str().is_some_and(|why| why.contains(reason)), "{why}");
        service.end().expect("it ends in order");
    }
    let none = Sharing::open(&with(&url, &usual.key_file, "here")).expect_err("refused").to_string();
    assert!(none.contains("it has no certificate of an authority"), "{none}");
}

#[test]
fn two_gateways_of_one_name_are_named() {
    let scratch = Scratch::new();
    let Some(_redis) = Redis::start(&scratch.0, None) else { return };
    let one = gateway(&scratch.0, "same");
    let usual = share(&scratch.0, "same");
    let two = gateway_with(&scratch.0, Share { url: format!("{}?db=0", usual.url), ..usual });
    // Each leaves its sign every five seconds, and finds the other's.
    let mut said = false;
    for _ in 0..300 {
        let complaint = one.client.get("/v1/status").expect("a status")["complaint"].to_string();
        said |= complaint.contains("two gateways share as");
        if said {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(said);
    for service in [one, two] {
        service.end().expect("it ends in order");
    }
}

#[test]
fn a_secret_that_is_no_secret_is_refused_by_name() {
    let scratch = Scratch::new();
    let usual = share(&scratch.0, "here");
    let why = |share: &Share| Sharing::open(share).expect_err("refused").to_string();
    let key = usual.key_file.display().to_string();
    for mode in [0o644, 0o666, 0o604, 0o660] {
        fs::set_permissions(&usual.key_file, fs::Permissions::from_mode(mode)).expect("its mode");
        let said = format!(
            "share.key_file {key}: others may use it, mode {mode:04o}; expected 0600: chmod 600 {key}"
        );
        assert_eq!(why(&usual), said);
    }
    fs::set_permissions(&usual.key_file, fs::Permissions::from_mode(0o600)).expect("its mode");
    // The configuration of an older version: a secret that all hosts share.
    fs::write(&usual.key_file, "0123456789abcdef0123456789abcdef\n").expect("written");
    let old = format!(
        "share.key_file {key}: it has no private key of Ed25519 in PEM, and a secret that hosts share is not taken; expected what \
         `openssl genpkey -algorithm ed25519 -out {key}` makes"
    );
    assert_eq!(why(&usual), old);
    let missing = Share { key_file: "/nonexistent".into(), ..usual.clone() };
    assert!(why(&missing).starts_with("share.key_file /nonexistent: No such file"), "{}", why(&missing));
    let usual = share(&scratch.0, "here");
    let bad = Share { url: "redis://user:sesame@:99999".into(), ..usual };
    assert!(why(&bad).starts_with("share.url") && !why(&bad).contains("sesame"), "{}", why(&bad));
}

#[test]
fn a_folder_of_keys_that_others_may_write_or_in_which_two_hosts_are_one_is_refused() {
    let scratch = Scratch::new();
    let usual = share(&scratch.0, "here");
    let why = || Sharing::open(&usual).expect_err("refused").to_string();
    let keys = usual.keys.display().to_string();
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
    mode(&usual.keys, 0o777);
    assert_eq!(
        why(),
        format!("share.keys {keys}: others may write it, mode 0777; expected: chmod go-w {keys}")
    );
    mode(&usual.keys, 0o755);
    mode(&usual.keys.join("there.pem"), 0o666);
    assert!(why().contains("there.pem: others may write it, mode 0666; expected: chmod go-w "), "{}", why());
    mode(&usual.keys.join("there.pem"), 0o644);
    write_with(&usual.keys.join("thief.pem"), &public("there"), 0o644);
    assert!(why().contains("there and thief have the same key "), "{}", why());
    // Another name for the own key is refused, too.
    write_with(&usual.keys.join("thief.pem"), &public("here"), 0o644);
    assert!(why().contains("here and thief have the same key "), "{}", why());
    write_with(&usual.keys.join("thief.pem"), "no key\n", 0o644);
    assert!(why().contains("thief.pem: it has no public key in PEM"), "{}", why());
}

#[test]
fn a_partner_that_lies_under_many_names_is_one_host_and_named_in_the_explanation() {
    let scratch = Scratch::new();
    let Some(redis) = Redis::start(&scratch.0, None) else { return };
    let mut store = redis.connection();
    let liar =
        |name: &str| Observation { host: name.into(), window: 720, samples: 2805, ..observation("liar") };
    let places = Observation::places(&prefix());
    // Under its own name, under those of others, and under one that nobody has.
    for (place, name) in places.iter().zip(["liar", "there", "left", "right", "nobody"]) {
        put(&mut store, place, liar(name).sign(&signer("liar")).as_bytes());
    }
    // The windows of the old protocol, 4095.9 segments, and a key that it made up.
    put(
        &mut store,
        &places[5],
        Observation { window: u16::MAX, ..liar("liar") }.sign(&signer("liar")).as_bytes(),
    );
    put(&mut store, &places[6], liar("there").sign(&Signer::from_seed("there", &[9; 32])).as_bytes());
    let service = gateway(&scratch.0, "here");
    connected(&service, true);
    glimpse(&service, 9);
    for (reason, count) in [("foreign", 4), ("value", 1), ("unknown_key", 1)] {
        service.until(reason, || refused(&service, reason) == count);
    }
    counted(&service, "taken", 1);
    let explained = || service.client.get("/v1/explain/192.0.2.9").expect("an explanation");
    service.until("it is heard", || !explained()["from"].as_array().expect("a list").is_empty());
    let found = explained();
    assert_eq!((&found["hosts"], &found["plan"]), (&json!(1), &json!(null)), "{found}");
    let from = &found["from"];
    assert_eq!((from.as_array().expect("a list").len(), &from[0]["host"]), (1, &json!("liar")), "{found}");
    assert_eq!((&from[0]["window_segments_at_least"], &from[0]["weight"]), (&json!(45.0), &json!(0.5)));
    service.end().expect("it ends in order");
}
