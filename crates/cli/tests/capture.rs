//! `capture --run`: tcpdump, in its place a script that does what tcpdump does, and tcpdump itself in a network of its own.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use crate::common::{Finished, Scratch};

fn program(scratch: &Scratch) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
    command.current_dir(scratch.path()).stdin(Stdio::null());
    command
}

/// A folder in which `bin/tcpdump` is this script of the shell.
fn with_tcpdump(script: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("bin/tcpdump", format!("#!/bin/sh\n{script}\n"));
    let file = scratch.path().join("bin/tcpdump");
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).expect("a program");
    let shipped = format!("{}/../capture/testdata/p2-reno-30KB.pcap", env!("CARGO_MANIFEST_DIR"));
    scratch.write("shipped.pcap", std::fs::read(shipped).expect("a capture"));
    scratch
}

/// `capture --run` with the folder's tcpdump.
fn captured(scratch: &Scratch, arguments: &[&str]) -> Output {
    let path = format!("{}:/usr/bin:/bin", scratch.path().join("bin").display());
    let mut command = program(scratch);
    command.args(["capture", "--run"]).args(arguments).env("PATH", path);
    command.output().expect("the program runs")
}

#[test]
fn the_capture_goes_to_standard_output_and_everything_else_to_standard_error() {
    let scratch = with_tcpdump(
        "echo \"$@\" >arguments\ncat shipped.pcap\necho '48 packets captured' >&2\necho 'other' >&2",
    );
    let ran = captured(&scratch, &["--for", "60s", "--port", "80", "--port", "443", "--interface", "eth0"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(ran.stdout, std::fs::read(scratch.path().join("shipped.pcap")).expect("a capture"));
    let words = "tcpdump -i eth0 -s 128 -B 16384 -U -w - tcp port 80 or tcp port 443";
    let said = format!("capturing: timeout --foreground -k 5 60 {words}\n48 packets captured\n");
    assert_eq!(String::from_utf8_lossy(&ran.stderr), said);
    let arguments = std::fs::read_to_string(scratch.path().join("arguments")).expect("arguments");
    assert_eq!(format!("tcpdump {arguments}"), format!("{words}\n"));
    // As in a pipe.
    let read = scratch.run_with(&["connections", "-"], &ran.stdout);
    assert!(read.code == 0 && read.out.contains("30 KB"), "{read:?}");
}

#[test]
fn a_tcpdump_that_goes_on_is_ended_after_the_time_and_at_the_length() {
    // The program writes its last bytes after the signal.
    let scratch = with_tcpdump("trap 'echo end; exit 0' TERM\necho begin\nsleep 30 >&- 2>&- &\nwait");
    let ran = captured(&scratch, &["--for", "1s"]);
    assert_eq!(
        (ran.status.code(), &*String::from_utf8_lossy(&ran.stdout)),
        (Some(0), "begin\nend\n"),
        "{ran:?}"
    );
    let endless = with_tcpdump("exec cat /dev/zero");
    let ran = captured(&endless, &["--for", "60s", "--files", "1"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        said.ends_with("warning: the capture was ended at 100 MB; --files N allows N times 100 MB\n"),
        "{said}"
    );
    assert_eq!(ran.status.code(), Some(0));
    // The program that goes on is read for as much as tcpdump's buffer holds.
    assert!((100_000_000..=100_000_000 + (17 << 20)).contains(&ran.stdout.len()), "{}", ran.stdout.len());
}

#[test]
fn without_rights_or_without_tcpdump_the_error_has_the_remedy() {
    let refused =
        "echo 'tcpdump: any: You do not have permission to perform this capture on that device' >&2\nexit 1";
    let command = "sudo timeout --foreground -k 5 60 tcpdump -i any -s 128 -B 16384 -U -w - 'tcp port 443' | firstflight compare -";
    let no_rights = format!(
        "error: tcpdump: any: You do not have permission to perform this capture on that device; expected root or CAP_NET_RAW, as in: {command}"
    );
    let absent = "error: tcpdump: not installed on this machine; expected the package tcpdump, as in: sudo apt install tcpdump";
    let wrong = "error: tcpdump: syntax error";
    for (script, expected) in [
        (refused, &*no_rights),
        ("exec /nowhere/tcpdump", absent),
        ("echo 'tcpdump: syntax error' >&2; exit 1", wrong),
    ] {
        let ran = captured(&with_tcpdump(script), &["--for", "60s"]);
        assert_eq!((ran.status.code(), &*ran.stdout), (Some(2), &b""[..]), "{ran:?}");
        assert_eq!(String::from_utf8_lossy(&ran.stderr).lines().last(), Some(expected));
    }
}

#[test]
fn a_run_without_an_end_or_with_a_file_is_refused() {
    let scratch = Scratch::new();
    for (arguments, why) in [
        (&["capture", "--run"][..], "error: --for: missing"),
        (&["capture", "--run", "--for", "60s", "--write", "x.pcap"], "cannot be combined with"),
        (&["capture", "--run", "--for", "0s"], "error: --for \"0s\": zero"),
    ] {
        let run = scratch.run(arguments);
        assert_eq!((run.code, &*run.out, run.err.lines().count()), (2, "", 1), "{run:?}");
        assert!(run.err.contains(why), "{}", run.err);
    }
}

/// Transfers of 200 KB from a server at port 8443 of this network, one after another until the process is ended.
const TRANSFERS: &str = "
import socket, threading, time
server = socket.create_server(('127.0.0.1', 8443))
def serve():
    while True:
        peer, _ = server.accept()
        peer.recv(100)
        peer.sendall(bytes(200_000))
        peer.close()
threading.Thread(target=serve, daemon=True).start()
while True:
    client = socket.create_connection(('127.0.0.1', 8443))
    client.sendall(b'request')
    while client.recv(65536): pass
    client.close()
    time.sleep(0.2)
";

#[cfg(target_os = "linux")]
#[test]
fn tcpdump_captures_a_transfer_in_a_network_of_its_own() {
    let scratch = Scratch::new();
    scratch.write("transfers.py", TRANSFERS);
    let possible = ["--net", "sh", "-c", "ip link set lo up && tcpdump --version && python3 --version"];
    match Command::new("unshare").args(possible).output() {
        Ok(ran) if ran.status.success() => {}
        Ok(ran) => return firstflight_skip::skip(String::from_utf8_lossy(&ran.stderr).trim()),
        Err(error) => return firstflight_skip::skip(format_args!("unshare: {error}")),
    }
    let script = "ip link set lo up; timeout 20 python3 transfers.py & \"$1\" capture --run --for 4s --interface lo --port 8443 | \
                  \"$1\" connections - --json; kill $!";
    let ran = Command::new("unshare")
        .args(["--net", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_firstflight")])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output();
    let ran = Finished::from(ran.expect("a network"));
    assert!(ran.err.contains(" packets captured"), "{}", ran.err);
    let rows: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let rows = rows.as_array().expect("an array");
    let whole = rows.iter().find(|row| row["bytes"] == 200_000).expect("a whole transfer");
    assert_eq!(
        (&whole["requests"], &whole["client_network"]),
        (&1.into(), &"127.0.0.0/24".into()),
        "{whole}"
    );
}
