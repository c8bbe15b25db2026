//! The metrics by HTTP and as a file, their peers that mean no good, and Prometheus itself.

#![expect(clippy::disallowed_methods, reason = "the limits are times of a real process")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Scratch, Service, connection, counted, setup, teach};
use firstflight_contract::Nanos;
use firstflight_daemon::{Client, Doors};
use firstflight_gateway::{Arm, Connection, Metrics, Mode};
use firstflight_skip::skip;
use serde_json::{Value, json};

/// An address of this host whose port is free.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

fn serving(scratch: &Scratch) -> (Service, SocketAddr) {
    let at = free();
    let metrics = Metrics { listen: Some(at), ..Metrics::default() };
    (Service::with(firstflight_daemon::Setup { metrics, ..setup(&scratch.0, Mode::Enforce) }), at)
}

/// Status, head and body of an answer.
fn answer(at: SocketAddr, request: &[u8]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    // The gateway may have answered and closed before the last byte.
    let _ = stream.write_all(request);
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    (status, head.to_lowercase(), body.to_owned())
}

fn get(path: &str, accept: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: gateway\r\nAccept: {accept}\r\n\r\n").into_bytes()
}

/// Accept of Prometheus 2.42.
const PROMETHEUS: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

#[test]
fn the_address_of_the_metrics_has_metrics_and_nothing_else() {
    let scratch = Scratch::new();
    let (service, at) = serving(&scratch);
    for (accept, kind, end) in [
        (PROMETHEUS, "content-type: application/openmetrics-text; version=1.0.0", true),
        ("*/*", "content-type: application/openmetrics-text; version=1.0.0", true),
        ("text/plain", "content-type: text/plain; version=0.0.4", false),
    ] {
        let (status, head, body) = answer(at, &get("/metrics", accept));
        assert_eq!(status, 200, "{accept}");
        assert!(head.contains(kind), "{accept}: {head}");
        assert_eq!(body.ends_with("# EOF\n"), end, "{accept}: {body}");
        assert!(body.contains("firstflight_gateway_mode{mode=\"enforce\"} 1\n"), "{body}");
    }
    let post =
        |path: &str| format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes();
    for (request, status, said) in [
        (get("/", "*/*"), 404, "no such path; expected /metrics"),
        (get("/v1/status", "*/*"), 404, "no such path; expected /metrics"),
        (get("/v1/export", "*/*"), 404, "no such path; expected /metrics"),
        (post("/v1/off"), 404, "no such path; expected /metrics"),
        (post("/v1/undo"), 404, "no such path; expected /metrics"),
        (post("/metrics"), 405, "POST is no method of this path; expected GET"),
        (b"DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), 405, "DELETE is no method"),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            400,
            "the request is not HTTP/1.1",
        ),
        (get(&format!("/{}", "x".repeat(20_000)), "*/*"), 431, "expected at most 8192 bytes"),
    ] {
        let (found, _, body) = answer(at, &request);
        let body: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body:?}"));
        let error = body["error"].as_str().expect("a text");
        assert!(found == status && error.contains(said), "{found} {error}, expected {status} {said}");
    }
    let status = service.client.get("/v1/status").expect("an answer");
    assert_eq!((&status["stopped"], &status["mode"]), (&json!(false), &json!("enforce")));
    service.end().expect("it ends in order");
    assert!(TcpStream::connect(at).is_err(), "the address is free again");
}

#[test]
fn readers_of_metrics_that_are_slow_or_many_hold_up_nobody() {
    let scratch = Scratch::new();
    let (service, at) = serving(&scratch);
    let began = Instant::now();
    let mut idle: Vec<_> = (0..4).map(|_| TcpStream::connect(at).expect("a connection")).collect();
    idle[0].write_all(b"GET /metr").expect("sent");
    let (status, _, body) = answer(at, &get("/metrics", "*/*"));
    assert!(status == 503 && body.contains("host 127.0.0.1 has 4 connections"), "{status} {body}");
    // The kill switch does not wait for them.
    let off = Instant::now();
    service.client.post("/v1/off", &json!({})).expect("an answer");
    assert!(off.elapsed() < Duration::from_secs(1), "{:?}", off.elapsed());
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("an answer");
        assert!(said.starts_with("HTTP/1.1 408 ") && said.contains("within 5 s"), "{said}");
    }
    let took = began.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_secs(10)).contains(&took), "{took:?}");
    // The others close, and their places are free: at most a second for the last bytes.
    drop(idle);
    service.until("a place is free", || answer(at, &get("/metrics", "*/*")).0 == 200);
    service.end().expect("it ends in order");
}

#[test]
fn an_address_that_is_taken_or_of_another_host_is_named() {
    let scratch = Scratch::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("an address");
    let why = Doors::open(&scratch.socket(), None, Some(at)).expect_err("refused").to_string();
    assert_eq!(why, format!("the address of the metrics {at}: Address already in use (os error 98)"));
    let other = "192.0.2.1:9475".parse().expect("an address");
    let why = Doors::open(&scratch.socket(), None, Some(other)).expect_err("refused").to_string();
    assert!(why.starts_with("the address of the metrics 192.0.2.1:9475: "), "{why}");
    assert!(!scratch.socket().exists(), "no socket is left behind");
}

/// Lines of the metrics of the socket.
fn lines(client: &Client) -> Vec<String> {
    let text = String::from_utf8(client.get_bytes("/metrics").expect("metrics")).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn connections_within_the_host_are_counted_apart_and_orders_by_their_result() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    let now = firstflight_hooks::now().0;
    let to = |peer: &str, arm| {
        let peer: IpAddr = peer.parse().expect("an address");
        Connection { peer, arm, ..connection(now, 1) }
    };
    service.kernel.told(|told| {
        told.reports.extend([
            to("127.0.0.1", Arm::Stock),
            to("127.1.2.3", Arm::Stock),
            to("::1", Arm::Planned(20)),
            to("::ffff:127.0.0.1", Arm::Stock),
            to("203.0.113.9", Arm::Stock),
            to("2001:db8::9", Arm::Planned(20)),
        ]);
    });
    let has = |line: &str| lines(&service.client).contains(&format!("firstflight_gateway_{line}"));
    service.until("the reports are counted", || has("connections_total{start=\"stock\",peer=\"client\"} 1"));
    for line in [
        "connections_total{start=\"stock\",peer=\"local\"} 3",
        "connections_total{start=\"planned\",peer=\"local\"} 1",
        "connections_total{start=\"planned\",peer=\"client\"} 1",
        "planned_window_segments_count{peer=\"client\"} 1",
        // 70 segments of each.
        "sent_segments_total{start=\"stock\",peer=\"local\"} 210",
    ] {
        assert!(has(line), "{line} is missing in {:#?}", lines(&service.client));
    }
    let prefix = json!({ "prefix": "192.0.2.0/24" });
    service.client.post("/v1/set", &json!({ "prefix": "192.0.2.0/24", "window": 20 })).expect("an order");
    service.client.post("/v1/set", &json!({ "prefix": "192.0.2.0/24", "window": 9 })).expect_err("refused");
    service.client.post("/v1/off", &json!({ "prefix": "198.51.100.0/24" })).expect("an order");
    service.client.post("/v1/release", &prefix).expect("an order");
    service.client.post("/v1/reload", &json!({})).expect_err("there is no configuration");
    service.until("a tick", || has("reload_successful 0"));
    for line in [
        "operator_orders_total{order=\"set\",result=\"done\"} 1",
        "operator_orders_total{order=\"set\",result=\"refused\"} 1",
        "operator_orders_total{order=\"off\",result=\"done\"} 1",
        "operator_orders_total{order=\"release\",result=\"done\"} 1",
        "operator_orders_total{order=\"reload\",result=\"refused\"} 1",
        "orders{origin=\"socket\",order=\"off\"} 1",
        "orders{origin=\"socket\",order=\"set\"} 0",
        "lost_reports_total 7",
        "kernel_info{mechanism=\"none\"} 1",
    ] {
        assert!(has(line), "{line} is missing in {:#?}", lines(&service.client));
    }
    service.end().expect("it ends in order");
}

#[test]
fn the_file_of_the_metrics_is_replaced_as_a_whole_and_removed_at_the_end() {
    let scratch = Scratch::new();
    let path = scratch.0.join("firstflight.prom");
    let metrics = Metrics { textfile: Some((path.clone(), Nanos::from_millis(50))), ..Metrics::default() };
    let wanted = firstflight_daemon::Setup { metrics, ..setup(&scratch.0, Mode::Observe) };
    let service = Service::with(wanted.clone());
    let read = || fs::read_to_string(&path).expect("the file is always there");
    let first = fs::metadata(&path).expect("a file");
    assert_eq!(first.permissions().mode() & 0o777, 0o644);
    // An open file stays as it is: there is another one in its place.
    let mut open = fs::File::open(&path).expect("a file");
    teach(&service);
    service.until("it is written again", || {
        counted(&read(), "firstflight_gateway_connections_total{start=\"stock\"") == 40
    });
    let mut before = String::new();
    open.read_to_string(&mut before).expect("text");
    assert!(
        before.contains("firstflight_gateway_connections_total{start=\"stock\",peer=\"client\"} 0\n"),
        "{before}"
    );
    for _ in 0..1000 {
        let text = read();
        let whole = text.starts_with("# HELP ")
            && text.contains("\nfirstflight_gateway_last_tick_timestamp_seconds ");
        assert!(whole && text.ends_with('\n') && !text.contains("# EOF"), "{text}");
    }
    // A folder that is gone is a warning, and no end of the gateway; the file comes again with the folder.
    let warnings = |client: &Client| {
        let lines = lines(client);
        let line = lines.iter().find_map(|line| line.strip_prefix("firstflight_gateway_warnings_total "));
        line.and_then(|count| count.parse::<u64>().ok()).expect("a count")
    };
    let none = warnings(&service.client);
    fs::create_dir(scratch.0.join("firstflight.prom.new")).expect("a folder in the place of the file");
    service.until("a warning is counted", || warnings(&service.client) > none);
    fs::remove_dir(scratch.0.join("firstflight.prom.new")).expect("removed");
    let stale = fs::metadata(&path).expect("a file").ino();
    service.until("it is written again", || fs::metadata(&path).is_ok_and(|data| data.ino() != stale));
    service.end().expect("it ends in order");
    assert!(!path.exists() && !scratch.0.join("firstflight.prom.new").exists());

    let missing = scratch.0.join("no/such/firstflight.prom");
    let metrics = Metrics { textfile: Some((missing.clone(), Nanos::from_millis(50))), ..Metrics::default() };
    let setup = firstflight_daemon::Setup { metrics, ..wanted };
    let kernel = Box::new(crate::common::Played::default());
    let why = firstflight_daemon::serve(&setup, kernel, || true, |_| ()).expect_err("refused").to_string();
    let expected =
        format!("the file of the metrics {}: No such file or directory (os error 2)", missing.display());
    assert_eq!(why, expected);
}

/// A program of Prometheus: an installed one, or the one that `make test` unpacks, because the package would start a service. [`None`] after
/// the reason was printed.
fn program(name: &str, what: &str) -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/usr/bin").join(name);
    let runs = |program: &PathBuf| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = [PathBuf::from(name), unpacked].into_iter().find(runs);
    if found.is_none() {
        skip(format!("{what} need `{name}` (package prometheus)"));
    }
    found
}

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn promtool_finds_no_fault_in_the_alerts_and_their_tests_pass() {
    let Some(promtool) = program("promtool", "the tests of the alerts") else { return };
    for (verb, file) in [("check", "firstflight.rules.yml"), ("test", "firstflight.test.yml")] {
        let output =
            Command::new(&promtool).args([verb, "rules", file]).current_dir(packaging("prometheus")).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", said(&output));
    }
}

#[test]
fn promtool_finds_no_fault_in_the_text_of_the_metrics() {
    let Some(promtool) = program("promtool", "the names of the metrics") else { return };
    let scratch = Scratch::new();
    let (service, at) = serving(&scratch);
    teach(&service);
    service
        .client
        .post("/v1/plan", &json!({ "destination": "192.0.2.7", "bytes": 100_000 }))
        .expect("an answer");
    let (_, _, text) = answer(at, &get("/metrics", "text/plain"));
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
    service.end().expect("it ends in order");
}

/// Prometheus with a gateway to read, ended with the value.
struct Prometheus {
    child: Child,
    at: SocketAddr,
}

impl Prometheus {
    fn start(program: &Path, folder: &Path, gateway: SocketAddr) -> Self {
        let rules = packaging("prometheus/firstflight.rules.yml");
        let configuration = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [{}]\nscrape_configs:\n  \
             - job_name: firstflight-gateway\n    static_configs:\n      - targets: [\"{gateway}\"]\n",
            rules.display()
        );
        let file = folder.join("prometheus.yml");
        fs::write(&file, configuration).expect("written");
        let at = free();
        let child = Command::new(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address={at}"))
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("prometheus.log")).expect("a log"))
            .spawn()
            .expect("it runs");
        Self { child, at }
    }

    /// The answer of its interface, if it gives one.
    fn ask(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(self.at).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: a\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }

    /// The values of a query.
    fn query(&self, query: &str) -> Vec<Value> {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let found = self.ask(&format!("/api/v1/query?query={escaped}")).expect("an answer");
        assert_eq!(found["status"], "success", "{query}: {found}");
        found["data"]["result"].as_array().expect("a list").clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn prometheus_reads_the_gateway_and_answers_every_query_of_the_dashboard() {
    let Some(program) = program("prometheus", "the queries of the dashboard") else { return };
    let scratch = Scratch::new();
    let (service, at) = serving(&scratch);
    let prometheus = Prometheus::start(&program, &scratch.0, at);
    let instance = at.to_string();
    // Two readings, so that there are rates: counts grow meanwhile.
    for readings in 1..=4 {
        let now = firstflight_hooks::now().0;
        let to = |host| IpAddr::from([203, 0, 113, host]);
        let of = |arm| (0..10).map(move |host| Connection { peer: to(host), arm, ..connection(now, host) });
        let (planned, held_out) = (of(Arm::Planned(20)), of(Arm::Holdout(20)));
        let local = Connection { peer: IpAddr::from([127, 0, 0, 1]), ..connection(now, 1) };
        service.kernel.told(|told| told.reports.extend(planned.chain(held_out).chain([local])));
        let order = json!({ "prefix": format!("198.51.100.{readings}/32") });
        service.client.post("/v1/off", &order).expect("an order");
        let count = || {
            let found =
                prometheus.ask("/api/v1/query?query=count_over_time(firstflight_gateway_enforcing%5B1m%5D)");
            let count = found.and_then(|found| found["data"]["result"][0]["value"][1].as_str()?.parse().ok());
            count.unwrap_or(0)
        };
        let until = Instant::now() + Duration::from_secs(30);
        while count() < 2 * readings {
            let log = fs::read_to_string(scratch.0.join("prometheus.log")).unwrap_or_default();
            assert!(Instant::now() < until, "it does not read the gateway: {log}");
            thread::sleep(Duration::from_millis(100));
        }
    }
    let targets = prometheus.ask("/api/v1/targets").expect("an answer");
    let target = &targets["data"]["activeTargets"][0];
    assert_eq!((&target["health"], &target["lastError"]), (&json!("up"), &json!("")), "{targets}");
    let rules = prometheus.ask("/api/v1/rules").expect("an answer");
    let rules = rules["data"]["groups"][0]["rules"].as_array().expect("rules").clone();
    assert_eq!(rules.len(), 14);
    for rule in &rules {
        assert_eq!((&rule["health"], &rule["state"]), (&json!("ok"), &json!("inactive")), "{rule}");
    }

    let dashboard = fs::read_to_string(packaging("grafana.json")).expect("a file");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    // There is no exchange that could refuse a record.
    let empty = "share_refused_total";
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query");
            let filled = query.replace("$instance", ".*").replace("$peer", "client");
            assert!(!filled.contains('$'), "{filled}");
            let found = prometheus.query(&filled);
            asked += 1;
            assert_eq!(found.is_empty(), query.contains(empty), "{query}: {found:?}");
        }
    }
    assert_eq!(asked, 33);
    let value = |query: &str| prometheus.query(query)[0]["value"][1].as_str().expect("a number").to_owned();
    for (query, expected) in [
        ("firstflight_gateway_connections_total{start=\"planned\",peer=\"client\"}", "40"),
        ("firstflight_gateway_connections_total{start=\"stock\",peer=\"local\"}", "4"),
        ("firstflight_gateway_orders{origin=\"socket\",order=\"off\"}", "4"),
        ("count({__name__=~\"firstflight_gateway_.+\",mechanism!=\"\"})", "1"),
        // 20 is the bound of its class.
        ("histogram_quantile(1, sum by (le) (firstflight_gateway_planned_window_segments_bucket))", "20"),
    ] {
        assert_eq!(value(query), expected, "{query}");
    }
    let labels = prometheus.ask("/api/v1/label/instance/values?match[]=firstflight_gateway_enforcing");
    assert_eq!(labels.expect("an answer")["data"], json!([instance]), "the variable of the dashboard");
    drop(prometheus);
    service.end().expect("it ends in order");
}
