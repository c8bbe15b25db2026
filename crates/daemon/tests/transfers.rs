//! Plans for single transfers through the socket, and its clients in three languages.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{Scratch, Service, connection, setup, teach};
use firstflight_daemon::{Groups, Setup, Start, Unanswered};
use firstflight_gateway::{Connection, Mode};
use firstflight_hooks::Transfers;
use serde_json::{Value, json};

/// The kernel here is played, so that the socket of a client finds no program.
const NO_PROGRAM: &str = "the socket is not in the cgroup of the gateway";

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/clients")
}

/// A service that has a plan for 127.0.0.0/24, a network of 34 segments.
fn taught(scratch: &Scratch) -> Service {
    let service = Service::start(&scratch.0, Mode::Enforce);
    let now = firstflight_hooks::now().0;
    let report = |i: u64| {
        let peer = IpAddr::from([127, 0, 0, 1 + (i % 5) as u8]);
        Connection { peer, ..connection(now + i * 1_000_000, 1) }
    };
    service.kernel.told(|told| told.reports.extend((0..40).map(report)));
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    service
}

fn ask(service: &Service, request: Value) -> Result<Value, String> {
    service.client.post("/v1/plan", &request).map_err(|error| match error {
        Unanswered::Refused(why) => why,
        other => panic!("{other}"),
    })
}

#[test]
fn a_plan_waits_for_its_socket_in_the_mode_enforce_only() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    let request = json!({ "destination": "192.0.2.7", "bytes": 101_360, "mss": 1448, "cookie": 77 });
    let answer = ask(&service, request.clone()).expect("an answer");
    assert_eq!(answer, json!({ "start": "stock", "reason": "no measurement of it is kept" }));
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let answer = ask(&service, request.clone()).expect("an answer");
    // 1 250 000 bytes/s for 40 ms are 34.5 segments, so that Wc = 34; 32 + 33 + 34 is the shortest ramp of 70 segments.
    let most = service.kernel.told(|told| told.plans[0].window);
    let window = most.min(32);
    assert_eq!((&answer["start"], &answer["waits_for_socket"]), (&json!("planned"), &json!(true)));
    assert_eq!((&answer["window_segments"], &answer["ssthresh_segments"]), (&json!(window), &json!(32)));
    let rate = answer["pacing_bytes_per_s"].as_f64().expect("a rate");
    assert!((rate / (2.0 * 34.0 * 1448.0 / 0.04) - 1.0).abs() < 0.002, "{answer}");
    let told = service.kernel.told(|told| told.transfers.clone());
    assert_eq!(
        told.iter().map(|(cookie, plan)| (*cookie, plan.plan.window)).collect::<Vec<_>>(),
        [(77, window)]
    );

    let without = ask(&service, json!({ "destination": "192.0.2.7", "bytes": 101_360 })).expect("an answer");
    assert_eq!(without["why_not_applied"], "the request has no cookie");
    service.client.post("/v1/off", &json!({})).expect("an answer");
    let answer = ask(&service, request).expect("an answer");
    assert_eq!(answer["start"], "stock");
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("stopped by the operator, user ") && reason.ends_with(": no plan is used"),
        "{reason}"
    );
    assert_eq!(service.kernel.told(|told| told.transfers.len()), 1);
    let metrics = String::from_utf8(service.client.get_bytes("/metrics").expect("metrics")).expect("text");
    assert!(metrics.contains("firstflight_gateway_transfer_plans_total{start=\"planned\"} 2"), "{metrics}");
    service.end().expect("it ends in order");
}

#[test]
fn the_configuration_bounds_the_plans() {
    for (mode, transfers, why) in [
        (Mode::Advise, Some(Transfers { ssthresh: false }), "the mode is not enforce"),
        (Mode::Enforce, None, "transfers.apply is false"),
    ] {
        let scratch = Scratch::new();
        let service = Service::with(Setup { transfers, ..setup(&scratch.0, mode) });
        teach(&service);
        let request = || json!({ "destination": "192.0.2.7", "bytes": 101_360, "cookie": 77 });
        service.until("a plan", || ask(&service, request()).expect("an answer")["start"] == "planned");
        let answer = ask(&service, request()).expect("an answer");
        assert_eq!((&answer["why_not_applied"], &answer["ssthresh_segments"]), (&json!(why), &json!(null)));
        assert!(service.kernel.told(|told| told.transfers.is_empty()));
        service.end().expect("it ends in order");
    }
}

#[test]
fn bad_requests_are_refused_by_name() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    let why = ask(&service, json!({ "destination": "192.0.2", "bytes": 1 })).expect_err("refused");
    assert_eq!(why, "\"192.0.2\" is no address; expected one as 192.0.2.7 or 2001:db8::7");
    let why = ask(&service, json!({ "destination": "192.0.2.7", "bytes": 0 })).expect_err("refused");
    assert_eq!(why, "bytes = 0, mss = 1448; expected 1 or more bytes, and an mss from 1 to 65535");
    assert!(ask(&service, json!({ "destination": "192.0.2.7", "bytes": 9, "idle": true })).is_err());
    service.end().expect("it ends in order");
}

#[test]
fn members_of_the_plan_group_may_ask_for_plans_and_nothing_else() {
    // SAFETY: getuid has no conditions.
    if unsafe { libc::getuid() } != 0 {
        return firstflight_skip::skip("only root can start a program as another user");
    }
    let scratch = Scratch::new();
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).expect("a folder that all may enter");
    let groups = Groups { plan: Some(65_533), ..Groups::default() };
    let service = Service::with(Setup { groups, ..setup(&scratch.0, Mode::Enforce) });
    let curl = |group: u32, arguments: &[&str]| {
        let asked = Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "10", "--unix-socket"])
            .arg(scratch.socket())
            .args(arguments)
            .uid(65_534)
            .gid(group)
            .output()
            .expect("curl runs");
        String::from_utf8_lossy(&asked.stdout).into_owned()
    };
    let plan = ["--json", "{\"destination\": \"192.0.2.7\", \"bytes\": 1000}", "http://gateway/v1/plan"];
    assert!(curl(65_533, &plan).contains("\"start\":\"stock\""), "{}", curl(65_533, &plan));
    assert!(curl(65_534, &plan).contains("expected root or a member of the configuration's plan_group"));
    for path in [&["http://gateway/v1/status"][..], &["--json", "{}", "http://gateway/v1/undo"]] {
        assert!(curl(65_533, path).contains("has no right to this"), "{path:?}");
    }
    service.end().expect("it ends in order");
}

#[test]
fn the_client_in_rust_asks_and_applies() {
    let scratch = Scratch::new();
    let service = taught(&scratch);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let _client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (server, _) = listener.accept().expect("a connection");
    let start = service.client.start(&server, 100_000, false).expect("an answer");
    assert_eq!(start, Start::Stock(NO_PROGRAM.to_owned()));
    let cookie = rustix::net::sockopt::socket_cookie(&server).expect("a cookie");
    assert_eq!(service.kernel.told(|told| told.transfers[0].0), cookie);
    service.client.post("/v1/off", &json!({})).expect("an answer");
    let start = service.client.start(&server, 100_000, true).expect("an answer");
    let Start::Stock(why) = start else { panic!("{start:?}") };
    assert!(why.starts_with("stopped by the operator, user "), "{why}");
    service.end().expect("it ends in order");
}

/// A process that is ended when the value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_client_in_c_asks_and_applies() {
    let scratch = Scratch::new();
    let program = scratch.0.join("sized-server");
    let compiled = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(clients().join("c/sized_server.c"))
        .status();
    match compiled {
        Err(error) => return firstflight_skip::skip(format_args!("cc: {error}")),
        Ok(status) => assert!(status.success(), "{status}"),
    }
    let service = taught(&scratch);
    let mut command = Command::new(&program);
    command.arg("0").arg(scratch.socket()).stdout(Stdio::piped());
    let mut server = Running(command.spawn().expect("it starts"));
    let mut port = String::new();
    BufReader::new(server.0.stdout.take().expect("its output")).read_line(&mut port).expect("a port");
    let port: u16 = port.trim().parse().expect("a port");
    let get = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        stream.write_all(b"GET /100000 HTTP/1.1\r\n\r\n").expect("a request");
        let mut reader = BufReader::new(stream);
        let head: Vec<_> =
            reader.by_ref().lines().map(|line| line.expect("text")).take_while(|l| !l.is_empty()).collect();
        reader.read_exact(&mut [0; 100_000]).expect("the body");
        head[2].clone()
    };
    assert_eq!(get(), format!("X-Start: {NO_PROGRAM}"));
    assert_eq!(service.kernel.told(|told| told.transfers.len()), 1);
    service.client.post("/v1/off", &json!({})).expect("an answer");
    let why = get();
    assert!(
        why.starts_with("X-Start: stopped by the operator, user ") && why.ends_with(": no plan is used"),
        "{why}"
    );
    service.end().expect("it ends in order");
    assert_eq!(get(), "X-Start: no gateway answers at its socket");
}

/// Prints the reasons of three starts, and of a refusal.
const PYTHON: &str = r#"
import socket, sys
sys.path.insert(0, sys.argv[1])
import firstflight_gateway as gateway
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
print(gateway.start(server, 100000, gateway=sys.argv[2])["reason"])
answer = gateway.plan("127.0.0.9", 100000, start="shifted", gateway=sys.argv[2])
print(answer["start"], answer["why_not_applied"])
print(gateway.plan("203.0.113.1", 100000, gateway=sys.argv[2])["reason"])
try:
    gateway.plan("127.0.0", 1, gateway=sys.argv[2])
except gateway.Refused as refused:
    print(refused)
try:
    gateway.plan("127.0.0.1", 1, gateway=sys.argv[2] + ".none")
except OSError as error:
    print(type(error).__name__)
"#;

#[test]
fn the_client_in_python_asks_and_applies() {
    let scratch = Scratch::new();
    let service = taught(&scratch);
    let ran = Command::new("python3")
        .args(["-B", "-c", PYTHON])
        .arg(clients().join("python"))
        .arg(scratch.socket())
        .output();
    let output = match ran {
        Err(error) => return firstflight_skip::skip(format_args!("python3: {error}")),
        Ok(output) => output,
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = [
        NO_PROGRAM,
        "planned the request has no cookie",
        "no measurement of it is kept",
        "\"127.0.0\" is no address; expected one as 192.0.2.7 or 2001:db8::7",
        "FileNotFoundError",
    ];
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines, expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(service.kernel.told(|told| told.transfers.len()), 1);
    service.end().expect("it ends in order");
}
