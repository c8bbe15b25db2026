//! Peers of the socket that mean no good: idle, slow, large, many, malformed.

#![expect(clippy::disallowed_methods, reason = "the limits are times of a real process")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Scratch, Service, setup, teach};
use firstflight_daemon::{Setup, Site, Unanswered};
use firstflight_gateway::{Keys, Mode};
use serde_json::{Value, json};

/// Bytes to the socket, and all bytes of the answer.
fn exchanged(stream: impl Into<Stream>, bytes: &[u8]) -> String {
    let mut stream = stream.into();
    // The gateway may have answered and closed before the last byte.
    let _ = stream.0.write_all(bytes);
    let mut answer = vec![];
    let _ = stream.0.read_to_end(&mut answer);
    String::from_utf8(answer).expect("text")
}

trait Both: std::io::Read + std::io::Write {}
impl<T: std::io::Read + std::io::Write> Both for T {}
struct Stream(Box<dyn Both>);

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        Self(Box::new(stream))
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        Self(Box::new(stream))
    }
}

fn connect(folder: &Scratch) -> UnixStream {
    UnixStream::connect(folder.socket()).expect("a connection")
}

/// Status and `error` of an answer, which has nothing else.
fn error(answer: &str) -> (u16, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {answer:?}"));
    let text = body["error"].as_str().expect("a text").to_owned();
    assert_eq!((body.as_object().expect("an object").len(), text.lines().count()), (1, 1), "{body}");
    (status, text)
}

fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: gateway\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

#[test]
fn every_error_of_the_socket_is_json() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: gateway\r\n\r\n").into_bytes();
    let long = format!("GET /{} HTTP/1.1\r\nHost: gateway\r\n\r\n", "x".repeat(20_000)).into_bytes();
    let lines = format!("GET /v1/status HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100)).into_bytes();
    for (request, status, said) in [
        (get("/"), 404, "no such path"),
        (get("/v1/set"), 405, "GET is no method of this path"),
        (b"DELETE /v1/status HTTP/1.1\r\nHost: gateway\r\n\r\n".to_vec(), 405, "DELETE is no method"),
        (get("/v1/explain/%ff"), 400, "is no address"),
        (get("/v1/explain/"), 404, "no such path"),
        (get("/v1/prefixes?limit=many"), 400, "expected limit=20"),
        (get("/v1/prefixes?n=1"), 400, "expected limit=20"),
        (post("/v1/set", ""), 400, "the body is not the JSON that this path takes: EOF"),
        (post("/v1/set", "{\"prefix\": 7}"), 400, "the body is not the JSON"),
        (post("/v1/off", "{\"prefix\": \"192.0.2.0/24\", \"more\": 1}"), 400, "unknown field `more`"),
        (post("/v1/off", &format!("{{\"prefix\": \"{}\"}}", "x".repeat(5000))), 413, "at most 4096 bytes"),
        (
            b"POST /v1/off HTTP/1.1\r\nHost: gateway\r\nContent-Length: 500000000\r\n\r\n".to_vec(),
            413,
            "at most 4096 bytes",
        ),
        (
            [
                b"POST /v1/off HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n".as_slice(),
                &[b' '; 5000],
                b"\r\n0\r\n\r\n",
            ]
            .concat(),
            413,
            "at most 4096 bytes",
        ),
        (
            b"POST /v1/off HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
            400,
            "the body cannot be read",
        ),
        (
            [b"POST /v1/off HTTP/1.1\r\nContent-Length: 2\r\n\r\n".as_slice(), &[0xff, 0xfe]].concat(),
            400,
            "the body is not",
        ),
        (b"hello\r\n\r\n".to_vec(), 400, "the request is not HTTP/1.1"),
        (b"GET /v1/status HTTP/9.9\r\n\r\n".to_vec(), 400, "the request is not HTTP/1.1"),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
            400,
            "the request is not HTTP/1.1",
        ),
        (b"GET /\xff\xfe HTTP/1.1\r\n\r\n".to_vec(), 400, "the request is not HTTP/1.1"),
        (b"GET /v1/status HTTP/1.1\r\na b: c\r\n\r\n".to_vec(), 400, "the request is not HTTP/1.1"),
        (long, 431, "the head of the request is too large"),
        (lines, 431, "the head of the request is too large"),
        // Without [site] in the configuration there is no such path.
        (post("/v1/observation", "{\"record\": \"x\"}"), 404, "no such path"),
        (get("/v1/observation/192.0.2.1"), 404, "no such path"),
    ] {
        let answer = exchanged(connect(&scratch), &request);
        let (found, text) = error(&answer);
        let shown = String::from_utf8_lossy(&request[..request.len().min(80)]).into_owned();
        assert!(found == status && text.contains(said), "{shown:?}: {found} {text}");
    }
    // Of several requests in one go the first is answered.
    let many = get("/v1/status").repeat(1000);
    let answer = exchanged(connect(&scratch), &many);
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 1, "{answer}");
    // An import may be larger than other bodies, and is bounded by what the configuration can keep.
    let too_large = format!("POST /v1/import HTTP/1.1\r\nContent-Length: {}\r\n\r\n", 513_048_577);
    let (status, text) = error(&exchanged(connect(&scratch), too_large.as_bytes()));
    assert_eq!((status, text.as_str()), (413, "the body is too large; expected at most 513048576 bytes"));
    service.end().expect("it ends in order");
}

/// A Python program that runs as another user; [`None`], with the reason, where that cannot be.
fn as_user(user: u32, program: &str, socket: &Path) -> Option<Child> {
    use std::os::unix::process::CommandExt as _;
    // SAFETY: getuid has no conditions.
    if unsafe { libc::getuid() } != 0 {
        firstflight_skip::skip("only root can start a program as another user");
        return None;
    }
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(socket).uid(user).gid(user);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            firstflight_skip::skip(format_args!("python3: {error}"));
            None
        }
    }
}

/// Opens 500 connections, sends a part of a request on each, prints a line, and opens new ones for those that end, until
/// standard input ends.
const IDLE: &str = "
import os, select, socket, sys
sys.stdin.fileno()
def one():
    s = socket.socket(socket.AF_UNIX); s.settimeout(5)
    try:
        s.connect(sys.argv[1]); s.send(b'POST /v1/off HTTP/1.1\\r\\n')
    except OSError:
        pass
    return s
all = [one() for _ in range(500)]
print('ready', flush=True)
while not select.select([0], [], [], 0.2)[0]:
    for at, s in enumerate(all):
        try:
            s.setblocking(False)
            over = not s.recv(4096)
        except BlockingIOError:
            over = False
        except OSError:
            over = True
        if over:
            s.close(); all[at] = one()
";

fn line(child: &mut Child) -> String {
    use std::io::BufRead as _;
    let mut text = String::new();
    let out = child.stdout.as_mut().expect("a pipe");
    std::io::BufReader::new(out).read_line(&mut text).expect("a line");
    text
}

/// Resident memory of this process, bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

fn open_to_all(folder: &Scratch) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o755)).expect("a folder for all");
}

#[test]
fn two_thousand_idle_clients_of_any_users_do_not_hold_the_kill_switch() {
    let scratch = Scratch::new();
    open_to_all(&scratch);
    let service = Service::start(&scratch.0, Mode::Enforce);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let before = resident();
    // Three users, and root, who may give orders, 500 connections each.
    let mut idle = vec![];
    for user in [0, 61_001, 61_002, 61_003] {
        let Some(child) = as_user(user, IDLE, &scratch.socket()) else { return };
        idle.push(child);
    }
    for child in &mut idle {
        assert_eq!(line(child), "ready\n");
    }
    for (path, body) in [("/v1/off", json!({})), ("/v1/release", json!({})), ("/v1/undo", json!({}))] {
        let since = Instant::now();
        service.client.post(path, &body).unwrap_or_else(|error| panic!("{path}: {error}"));
        // The issue names this time.
        assert!(since.elapsed() < Duration::from_secs(1), "{path}: {:?}", since.elapsed());
    }
    assert!(service.kernel.told(|told| told.stopped && told.plans.is_empty()));
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    // A user has 32 places; one more is refused by name.
    let told = "
import socket, sys
def one():
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); return s
all = [one() for _ in range(33)]
print(all[32].recv(4096).decode().splitlines()[-1])
";
    let mut more = as_user(61_004, told, &scratch.socket()).expect("as above");
    assert_eq!(
        line(&mut more),
        "{\"error\":\"user 61004 has 32 connections; expected at most as many at a time\"}\n"
    );
    more.wait().expect("a child");
    for mut child in idle {
        drop(child.stdin.take());
        child.wait().expect("a child");
    }
    service.end().expect("it ends in order");
}

#[test]
fn slow_heads_and_bodies_end_by_the_clock() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Observe);
    // A byte every half second, for ever: the head has five seconds, the body as many.
    let slow = |first: &'static str| {
        let mut stream = connect(&scratch);
        thread::spawn(move || {
            let since = Instant::now();
            stream.write_all(first.as_bytes()).expect("written");
            stream.set_read_timeout(Some(Duration::from_millis(500))).expect("a time");
            let mut answer = String::new();
            while since.elapsed() < Duration::from_secs(30) {
                let _ = stream.write_all(b"x");
                let mut bytes = [0; 4096];
                match stream.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(count) => answer += &String::from_utf8_lossy(&bytes[..count]),
                    Err(_) => {}
                }
            }
            (answer, since.elapsed())
        })
    };
    let head = slow("GET /v1/status HTTP/1.1\r\nx: ");
    let body = slow("POST /v1/off HTTP/1.1\r\nContent-Length: 4000\r\n\r\n");
    for (thread, said) in
        [(head, "no complete head of a request within 5 s"), (body, "no complete body within 5 s")]
    {
        let (answer, took) = thread.join().expect("no panic");
        let (status, text) = error(&answer);
        assert_eq!((status, text.as_str()), (408, said));
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    service.end().expect("it ends in order");
}

#[test]
fn an_answer_that_nobody_reads_holds_one_turn_and_no_order() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    // Lists of 10 000 prefixes of many networks, more than a socket's buffer.
    let now = firstflight_hooks::now().0;
    let reports = (0..2000_u32).map(|number| {
        let peer = std::net::IpAddr::from([198, (number >> 8) as u8, number as u8, 1]);
        firstflight_gateway::Connection { peer, ..crate::common::connection(now + u64::from(number), 1) }
    });
    service.kernel.told(|told| told.reports.extend(reports));
    service
        .until("many prefixes", || service.client.get("/v1/status").expect("a status")["prefixes"] == 2000);
    let request = b"GET /v1/prefixes?limit=10000 HTTP/1.1\r\n\r\n";
    let mut first = connect(&scratch);
    first.write_all(request).expect("written");
    thread::sleep(Duration::from_millis(300));
    let (status, text) = error(&exchanged(connect(&scratch), request));
    assert!(status == 503 && text.contains("expected one at a time"), "{status} {text}");
    service.client.get("/v1/status").expect("other questions are answered");
    let since = Instant::now();
    service.client.post("/v1/off", &json!({})).expect("an answer");
    assert!(since.elapsed() < Duration::from_secs(1));
    // Given up, it leaves its turn to the next.
    drop(first);
    service.until("the next one", || service.client.get("/v1/prefixes?limit=10000").is_ok());
    service.end().expect("it ends in order");
}

#[test]
fn the_listener_of_a_site_has_places_for_its_hosts_and_few_for_others() {
    let scratch = Scratch::new();
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let listen: SocketAddr = free.expect("an address");
    let site = Site {
        listen,
        hosts: vec!["127.0.0.0/24".parse().expect("a prefix")],
        signer: None,
        keys: Keys::new(),
        weight: 500,
    };
    let service = Service::with(Setup { site: Some(site), ..setup(&scratch.0, Mode::Observe) });
    let large = b"POST /v1/observation HTTP/1.1\r\nContent-Length: 500000000\r\n\r\n";
    let (status, _) = error(&exchanged(TcpStream::connect(listen).expect("a connection"), large));
    assert_eq!(status, 413);
    let mut idle: Vec<_> = (0..32).map(|_| TcpStream::connect(listen).expect("a connection")).collect();
    let (status, text) = error(&exchanged(TcpStream::connect(listen).expect("a connection"), b""));
    assert_eq!(
        (status, text.as_str()),
        (503, "host 127.0.0.1 has 32 connections; expected at most as many at a time")
    );
    // Another host, which is not of the site, has four.
    let stranger = || {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&stream, &SocketAddr::from(([127, 9, 9, 9], 0))).expect("an address of the loopback");
        connect(&stream, &listen).expect("a connection");
        TcpStream::from(stream)
    };
    let strangers: Vec<_> = (0..4).map(|_| stranger()).collect();
    let (status, text) = error(&exchanged(stranger(), b""));
    assert!(status == 503 && text.starts_with("host 127.9.9.9 has 4 connections"), "{text}");
    // The places of the socket are others.
    service.client.post("/v1/off", &json!({})).expect("an answer");
    drop((idle.pop(), strangers));
    service.until("a place", || {
        let answer =
            exchanged(TcpStream::connect(listen).expect("a connection"), b"GET /v1/status HTTP/1.1\r\n\r\n");
        answer.starts_with("HTTP/1.1 200 OK")
    });
    service.end().expect("it ends in order");
}

#[test]
fn a_client_of_ours_shows_the_reason_when_it_is_refused_early() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Observe);
    let refused = service.client.post_bytes("/v1/off", vec![b' '; 8 << 20]);
    assert!(
        matches!(&refused, Err(Unanswered::Refused(why)) if why.contains("at most 4096 bytes")),
        "{refused:?}"
    );
    service.end().expect("it ends in order");
}
