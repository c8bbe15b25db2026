//! `firstflight gateway`, on the kernel of this machine and a cgroup of the test's own.
#![cfg(target_os = "linux")]

#[path = "gateway/canary.rs"]
mod canary;
mod common;
#[path = "gateway/faults.rs"]
mod faults;
#[path = "gateway/orders.rs"]
mod orders;
#[path = "gateway/safety.rs"]
mod safety;
#[path = "gateway/site.rs"]
mod site;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::Scratch;
use serde_json::Value;

/// A folder of the cgroup2 hierarchy, removed at the end; [`None`] where this process cannot make one.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new() -> Option<Self> {
        Self::named("test")
    }

    /// Tests run side by side, each in a folder of its own.
    fn named(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let root = mounts.lines().find_map(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            (fields[2] == "cgroup2").then(|| fields[1].to_owned())
        })?;
        let folder = Path::new(&root).join(format!("firstflight-{name}-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        Some(Self(folder))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A process that was killed takes a moment to leave.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A gateway, ended by force at the end of the test if it still runs.
struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a gateway and waits until it answers; prints the reason where this machine cannot run one.
fn start(scratch: &Scratch, cgroup: &Cgroup) -> Option<Gateway> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args([
            "gateway",
            "run",
            "--mode",
            "enforce",
            "--state",
            "state",
            "--socket",
            "gateway.sock",
            "--cgroup",
        ])
        .arg(&cgroup.0)
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    for _ in 0..500 {
        if let Some(status) = child.try_wait().expect("a child") {
            let said = child.wait_with_output().expect("its output").stderr;
            firstflight_skip::skip(format_args!("{status}: {}", String::from_utf8_lossy(&said).trim()));
            return None;
        }
        if scratch.run(&["gateway", "status", "--socket", "gateway.sock"]).code == 0 {
            return Some(Gateway(child));
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the gateway neither answered nor ended within ten seconds");
}

fn ask(scratch: &Scratch, arguments: &[&str]) -> Value {
    let arguments = [&["gateway"], arguments, &["--socket", "gateway.sock", "--json"]].concat();
    let ran = scratch.run(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[test]
fn a_gateway_takes_orders_keeps_them_over_a_death_and_ends_in_order() {
    let Some(cgroup) = Cgroup::new() else {
        return firstflight_skip::skip("no cgroup2 hierarchy in which this user may make a folder");
    };
    let scratch = Scratch::new();
    let Some(mut gateway) = start(&scratch, &cgroup) else { return };

    let status = ask(&scratch, &["status"]);
    assert_eq!(status["mode"], "enforce");
    assert!(status["tiers"].as_array().expect("tiers").contains(&"in use: sock_ops".into()), "{status}");
    // The daemon has no capability; the loader had them.
    let of = fs::read_to_string(format!("/proc/{}/status", gateway.0.id())).expect("its status");
    let effective = of.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("a set").trim();
    assert_eq!(effective.trim_start_matches('0'), "");

    ask(&scratch, &["set", "192.0.2.0/24", "20"]);
    ask(&scratch, &["off", "198.51.100.0/24"]);
    let found = ask(&scratch, &["explain", "192.0.2.7"]);
    assert_eq!((&found["prefix"], &found["order"]["set"]), (&"192.0.2.0/24".into(), &20.into()));
    assert_eq!(ask(&scratch, &["explain", "198.51.100.7"])["order"], "off");
    let plan = ask(&scratch, &["plan", "198.51.100.7", "100KB"]);
    assert_eq!((&plan["start"], plan["reason"].is_string()), (&"stock".into(), true), "{plan}");
    for (arguments, said) in [
        (&["set", "192.0.2.0/24", "46"][..], "a first window of 46 segments; expected 10 to 45"),
        (&["set", "192.0.2.0/24", "9"], "a first window of 9 segments; expected 10 to 45"),
        (&["off", "192.0.2.1/24"], "expected 192.0.2.0/24"),
        (&["explain", "192.0.2"], "not an address"),
        (&["plan", "192.0.2.7", "0KB"], "zero bytes"),
    ] {
        let ran = scratch.run(&[&["gateway"], arguments, &["--socket", "gateway.sock"]].concat());
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains(said) && ran.err.lines().count() == 1, "{}", ran.err);
    }

    // Orders outlive a death: they are in the store when the answer comes.
    gateway.0.kill().expect("it is killed");
    gateway.0.wait().expect("it has ended");
    drop(gateway);
    let gone = scratch.run(&["gateway", "status", "--socket", "gateway.sock"]);
    assert_eq!(gone.code, 2);
    assert!(gone.err.contains("start one with `firstflight gateway run`"), "{}", gone.err);
    let mut gateway = start(&scratch, &cgroup).expect("it starts again");
    assert_eq!(ask(&scratch, &["status"])["orders"], 2);
    assert_eq!(ask(&scratch, &["release"])["released"], 2);
    assert_eq!(ask(&scratch, &["undo"])["removed_orders"], 0);
    assert_eq!(ask(&scratch, &["status"])["stopped"], true);

    // SAFETY: takes no pointer; the child has not been waited for, so that its number is its own.
    let id = gateway.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
    assert!(gateway.0.wait().expect("it ends").success());
    // The socket file goes with the gateway, unless root started it and its user may not write the folder.
    let gone = scratch.run(&["gateway", "status", "--socket", "gateway.sock"]);
    assert!(gone.code == 2 && gone.err.contains("start one with `firstflight gateway run`"), "{}", gone.err);
}

#[test]
fn a_second_gateway_on_the_folder_or_the_cgroup_is_refused_by_name() {
    let Some(cgroup) = Cgroup::named("second") else {
        return firstflight_skip::skip("no cgroup2 hierarchy in which this user may make a folder");
    };
    let scratch = Scratch::new();
    let Some(_gateway) = start(&scratch, &cgroup) else { return };
    let folder = cgroup.0.to_str().expect("text");
    for (state, why) in [
        ("state", "another gateway, process "),
        ("other", "another gateway starts the connections of this cgroup; expected one gateway for each"),
    ] {
        let arguments = ["gateway", "run", "--state", state, "--socket", "other.sock", "--cgroup", folder];
        let ran = scratch.run(&arguments);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(why) && ran.err.lines().count() == 1, "{}", ran.err);
    }
    assert_eq!(ask(&scratch, &["status"])["mode"], "enforce");
}

#[test]
fn a_configuration_that_is_wrong_changes_nothing() {
    let scratch = Scratch::new();
    for (text, said) in [
        ("mod = \"observe\"", "gateway.toml:1:1: mod = \"observe\": no such key"),
        ("cgroup = \"/nonexistent\"", "/nonexistent"),
        ("cgroup = \"/proc\"", "expected a folder of the cgroup2 hierarchy"),
        (
            "[[override]]\nprefix = \"10.0.0.0/8\"\naction = \"off\"\n[[override]]\nprefix = \"10.1.0.0/16\"\nwindow = 20",
            "10.1.0.0/16 overlaps 10.0.0.0/8",
        ),
        (
            "[share]\nurl = \"redis://127.0.0.1\"\nkey_file = \"/nonexistent/key\"\nkeys = \"/nonexistent\"\nhost = \"here\"",
            "share.key_file /nonexistent/key: No such file",
        ),
        (
            "read_group = \"no-such-group-here\"",
            "read_group \"no-such-group-here\": this system has no such group",
        ),
    ] {
        scratch.write("gateway.toml", text);
        let before = scratch.snapshot();
        let ran = scratch.run(&[
            "gateway",
            "run",
            "--config",
            "gateway.toml",
            "--state",
            "state",
            "--socket",
            "s.sock",
        ]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(said), "{}", ran.err);
        assert_eq!(scratch.snapshot(), before);
    }
}

#[test]
fn a_pipe_is_refused_as_a_file_and_never_waited_for() {
    let scratch = Scratch::new();
    let made = Command::new("mkfifo").arg(scratch.path().join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    for arguments in [
        &["gateway", "run", "--config", "pipe"][..],
        &["gateway", "import", "pipe"],
        &["gateway", "replay", "pipe"],
        &["gateway", "simulate", "pipe"],
        &["gateway", "site", "pipe"],
        &["gateway", "survey", "pipe"],
    ] {
        let ran = scratch.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.err.contains("expected a regular file"), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_log_is_surveyed() {
    let scratch = Scratch::new();
    // Two clients of one network and one of another, each 40 s apart, for 20 minutes.
    let log = |bytes: u32| -> String {
        let line = |i: u32| {
            let (minute, second) = (40 * i / 60, 40 * i % 60);
            let client = ["192.0.2.1", "192.0.2.2", "198.51.100.1"][i as usize % 3];
            let time = format!("[10/Oct/2024:13:{minute:02}:{second:02} +0000]");
            format!("{client} - - {time} \"GET / HTTP/1.1\" 200 {bytes}\n")
        };
        (0..30).map(line).collect()
    };
    scratch.write("small.log", log(100));
    scratch.write("access.log", log(100_000));
    let survey = |name: &str| scratch.run(&["gateway", "survey", name, "--json"]).json();
    let (small, found) = (survey("small.log"), survey("access.log"));
    // A response of one packet is no evidence, so that a gateway keeps nothing of its network.
    assert_eq!((&small["requests"], &small["prefixes"]), (&30.into(), &0.into()));
    assert_eq!((&found["requests"], &found["prefixes"]), (&30.into(), &2.into()));
    // Within 60 s, only a request 40 s earlier counts: that of the other client of the same network, once in three.
    let window = &found["windows"][0];
    assert_eq!(window["window_s"], 60.0);
    assert!((window["seen"].as_f64().expect("a share") - 1.0 / 3.0).abs() < 0.04, "{window}");
    assert_eq!(found["judged"], Value::Null);
}

/// A capture of one connection of less than a minute.
const CAPTURE: &[u8] = include_bytes!("../../capture/testdata/p1-reno-1000KB.pcap");

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packed.write_all(bytes).expect("memory");
    packed.finish().expect("memory")
}

#[test]
fn a_capture_is_surveyed_however_it_is_named_and_short() {
    let scratch = Scratch::new();
    // `firstflight capture` prints a command that captures 60 s into the files of a ring: server.pcap00 and so on.
    scratch.write("server.pcap00", CAPTURE);
    scratch.write("plain", CAPTURE);
    scratch.write("packed", packed(CAPTURE));
    scratch.write("folder/server.pcap", CAPTURE);
    let outs: Vec<_> = ["server.pcap", "server.pcap00", "plain", "packed", "folder"]
        .iter()
        .map(|name| scratch.run(&["gateway", "survey", name, "--json"]).json())
        .collect();
    let found = &outs[0];
    assert_eq!((&found["requests"], &found["windows"]), (&1.into(), &Value::Array(vec![])));
    assert_eq!((&found["judged"]["prefixes"], &found["log"]), (&0.into(), &Value::Null));
    assert!(outs.iter().all(|out| out == found), "{outs:?}");
    let text = scratch.run(&["gateway", "survey", "server.pcap"]).out;
    assert!(text.starts_with("the capture spans 0 s, less than the shortest window, 60 s\n"), "{text}");
    // Its name does not make a log a capture, nor its compression.
    let log = "192.0.2.1 - - [10/Oct/2024:13:55:36 +0000] \"GET / HTTP/1.1\" 200 100\n\
               192.0.2.1 - - [10/Oct/2024:15:55:36 +0000] \"GET / HTTP/1.1\" 200 100\n";
    scratch.write("access.log.gz", packed(log.as_bytes()));
    let found = scratch.run(&["gateway", "survey", "access.log.gz", "--json"]).json();
    assert_eq!((&found["requests"], &found["log"]["format"]), (&2.into(), &"combined".into()));
    let refused = scratch.run(&["gateway", "survey", "plain", "--format", "json"]);
    assert!(refused.code == 2 && refused.err.contains("this is a capture"), "{refused:?}");
}

#[test]
fn a_log_in_json_is_simulated_as_the_same_log_in_the_combined_format() {
    let scratch = Scratch::new();
    let json: String = (0..300)
        .map(|i| {
            let (ts, host) = (1_728_518_400 + 20 * i, 1 + i % 5);
            format!("{{\"ts\":{ts}.0,\"request\":{{\"remote_ip\":\"192.0.2.{host}\"}},\"size\":100000}}\n")
        })
        .collect();
    scratch.write("caddy.log", json);
    scratch.write(
        "access.log",
        requests().lines().take(300).map(|line| format!("{line}\n")).collect::<String>(),
    );
    let out = |file| {
        let run = ["gateway", "simulate", file, "--rate", "8 Mbit/s", "--rtt", "50 ms", "--json"];
        scratch.run(&run).json()
    };
    assert_eq!(out("caddy.log")["sizes"], out("access.log")["sizes"]);
}

/// A log of 300 requests of 100 KB, 20 s apart, from five hosts of one network, and one without a size.
fn requests() -> String {
    let line = |i: u32, size: &str| {
        let (hour, minute, second) = (i / 180, i / 3 % 60, 20 * (i % 3));
        let stamp = format!("10/Oct/2024:{hour:02}:{minute:02}:{second:02} +0000");
        format!("192.0.2.{} - - [{stamp}] \"GET / HTTP/1.1\" 200 {size}\n", 1 + i % 5)
    };
    (0..300).map(|i| line(i, "100000")).chain([line(300, "-")]).collect()
}

#[test]
fn an_access_log_is_simulated_on_a_path_that_is_stated() {
    let scratch = Scratch::new();
    scratch.write("access.log", requests());
    let path = ["--rate", "8 Mbit/s", "--rtt", "50 ms", "--json"];
    let found = scratch.run(&[&["gateway", "simulate", "access.log"], &path[..]].concat()).json();
    assert_eq!(
        (&found["connections"], &found["left_out"], &found["networks"]),
        (&300.into(), &1.into(), &1.into())
    );
    // Eight connections teach; a twentieth of the others is held out.
    let row = &found["sizes"][0];
    assert_eq!(row["of"], "45 to 199");
    let planned = row["planned"].as_u64().expect("a number");
    assert!((250..=292).contains(&planned), "{row}");
    // 70 segments of 1.5 ms each take 105 ms on the link. The stack sends 10 and 20 in the first two round trips of 50 ms: no
    // transfer ends before 50 + 50 + 40 * 1.5 ms, nor one of the gateway's before 50 + 70 * 1.5 ms.
    let [stock, with] = ["stock_s", "gateway_s"].map(|key| row[key].as_f64().expect("a time"));
    assert!((0.16..0.23).contains(&stock) && (0.155..stock).contains(&with), "{row}");
    let harm = &found["harm_to_others"][0];
    assert_eq!((&harm["network"], &harm["bytes"]), (&"192.0.2.0/24".into(), &100_000.into()));
    for of in ["bulk", "request_response"] {
        assert!((0.8..1.3).contains(&harm["harm"][of].as_f64().expect("a ratio")), "{harm}");
    }
}

#[test]
fn a_file_and_a_path_that_do_not_fit_are_refused_by_name() {
    let scratch = Scratch::new();
    scratch.write("access.log", requests());
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture/testdata/p1-reno-1000KB.pcap");
    for (arguments, said) in [
        (
            &["simulate", "access.log"][..],
            "an access log does not state the paths of its clients; expected --rate and --rtt",
        ),
        (&["simulate", "access.log", "--rate", "8 Mbit/s", "--rtt", "0 ms"], "--rtt"),
        (&["simulate", "access.log", "--rate", "8 Mbits", "--rtt", "50 ms"], "--rate"),
        (
            &["simulate", capture, "--rate", "8 Mbit/s", "--rtt", "50 ms"],
            "the file has measurements of its paths",
        ),
        (&["site", "access.log"], "not a capture; expected a pcap or pcapng file"),
        (
            &["site", "--interface", "no-such-one", "--socket", "s.sock", "--state", "state"],
            "no such interface",
        ),
        (&["site", capture, "--hosts", "10.0.0.1/24"], "expected 10.0.0.0/24"),
    ] {
        let before = scratch.snapshot();
        let ran = scratch.run(&[&["gateway"], arguments].concat());
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.out);
        assert!(ran.err.contains(said) && ran.err.lines().count() == 1, "{arguments:?}: {}", ran.err);
        assert_eq!(scratch.snapshot(), before);
    }
}

#[test]
fn a_site_learns_from_a_capture_and_another_gateway_can_take_what_it_learned() {
    let scratch = Scratch::new();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture/testdata/p1-reno-1000KB.pcap");
    let found = scratch.run(&["gateway", "site", capture, "--json", "--export", "learned.state"]).json();
    assert_eq!((&found["seen"]["connections"], &found["seen"]["early"]), (&1.into(), &0.into()));
    // One connection is too few for a plan, by name.
    let network = &found["networks"][0];
    assert_eq!((&network["hosts"], &network["plan"]), (&1.into(), &Value::Null));
    assert!(network["why_no_plan"].as_str().is_some_and(|why| why.contains("are needed")), "{network}");
    let state = fs::read(scratch.path().join("learned.state")).expect("it was written");
    let mut gateway = firstflight_gateway::Gateway::new(firstflight_gateway::Settings::default());
    gateway
        .load(&state, firstflight_contract::Nanos::from_secs(1), firstflight_contract::Nanos::ZERO)
        .expect("a state");
    assert_eq!(gateway.prefixes(), 1);
    // The sender of a network that is not the site's is none of its hosts.
    let none = scratch.run(&["gateway", "site", capture, "--hosts", "203.0.113.0/24", "--json"]).json();
    assert_eq!(none["networks"], serde_json::json!([]));
}
