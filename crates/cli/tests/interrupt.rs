//! SIGINT, SIGTERM and SIGHUP at any moment leave a whole set of files or none, and the store of a reproduction with its runs.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::Scratch;
use crate::common::server::{THREE, capture};

const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("HUP", 1)];

/// The program with every signal at its default. A parent such as `nohup` may ignore SIGHUP, and its children would, too.
fn command(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_firstflight")]).args(arguments);
    command.current_dir(scratch.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn started(scratch: &Scratch, arguments: &[&str]) -> Child {
    command(scratch, arguments).spawn().expect("the program starts")
}

/// Sends the signal once `reached` is true, or not at all if the program ends before.
fn interrupted(mut child: Child, signal: &str, reached: impl Fn() -> bool) -> ExitStatus {
    loop {
        if let Some(ended) = child.try_wait().expect("a child") {
            return ended;
        }
        if reached() {
            let kill = ["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &child.id().to_string()];
            // The program may have ended in between.
            let _ = Command::new("sh").args(kill).stderr(Stdio::null()).status().expect("a shell");
            return child.wait().expect("a child");
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Names of the files in `folder` and the folders below it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for path in entries.flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => {
                found.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
    }
    found
}

fn unfinished(folder: &Path) -> usize {
    files(folder).iter().filter(|name| name.ends_with(".part")).count()
}

/// Interrupts at several moments. The folder then has `whole`, or what it had before.
fn holds_all_or_nothing(arguments: &[&str], whole: &BTreeSet<String>) {
    let mut hits = 0;
    for (signal, number) in SIGNALS {
        // Once the folder is there, and once so many temporary files are.
        for count in [0, 1, 3] {
            for earlier in [false, true] {
                let scratch = Scratch::new();
                let folder = scratch.path().join("new/out");
                if earlier {
                    scratch.write("new/out/report.html", "earlier");
                }
                let child = started(&scratch, arguments);
                let status = interrupted(child, signal, || folder.exists() && unfinished(&folder) >= count);
                hits += usize::from(status.signal().is_some());
                assert!(status.signal() == Some(number) || status.success(), "{signal} {count}: {status}");
                let left = files(&folder);
                assert_eq!(unfinished(&folder), 0, "{signal} {count}: {left:?}");
                let before: BTreeSet<String> =
                    earlier.then(|| "report.html".to_owned()).into_iter().collect();
                let content = std::fs::read(folder.join("report.html")).unwrap_or_default();
                match status.success() {
                    true => assert!(left.is_superset(whole), "{signal} {count}: {left:?}"),
                    // The signal came after the files had their names, and before the end of the program.
                    false if left.is_superset(whole) => {}
                    false => {
                        assert_eq!(left, before, "{signal} {count}");
                        assert_eq!(content == b"earlier", earlier, "{signal} {count}");
                        assert_eq!(
                            scratch.path().join("new").exists(),
                            earlier,
                            "{signal} {count}: new folders stay"
                        );
                    }
                }
            }
        }
    }
    assert!(hits > 0, "no signal arrived before the program ended");
}

#[test]
fn an_interrupted_comparison_leaves_all_files_or_none() {
    let arguments = [
        "compare",
        "--rate",
        "1 Gbit/s",
        "--rtt",
        "20 ms",
        "--buffer",
        "1 BDP",
        "--size",
        "30MB",
        "--startup",
        "slow-start,hystart++",
        "--trace",
        "--out",
        "new/out",
    ];
    let traces = ["slow-start+cubic-30MB", "hystart+++cubic-30MB"];
    let whole = traces.into_iter().flat_map(|name| [format!("{name}.pcapng"), format!("{name}.sqlog")]);
    let whole = whole.chain(["report.html", "results.parquet"].map(String::from)).collect();
    holds_all_or_nothing(&arguments, &whole);
}

#[test]
fn a_first_interrupt_gives_the_answer_for_the_networks_so_far() {
    let scratch = Scratch::new();
    scratch.write("server.pcap", capture(&scratch, &THREE));
    let arguments = [
        "compare",
        "server.pcap",
        "--startup",
        "slow-start,hystart++",
        "--size",
        "100KB",
        "--runs",
        "4",
        "--out",
        "new",
    ];
    let folder = scratch.path().join("new");
    // The folder is made when the first network begins. It is answered whole, and the others are not begun.
    let status = interrupted(started(&scratch, &arguments), "INT", || folder.exists());
    assert!(status.success(), "{status}");
    assert_eq!(unfinished(&folder), 0);
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page").replace('\u{a0}', " ");
    let stated = "stopped after 1 of 3 networks, which stand for 50 % of the data of all 3";
    assert!(page.contains(stated), "the page has no such warning");
    assert!(page.contains("203.0.113.0/24") && !page.contains("198.51.100.0/24"));
}

#[test]
fn an_interrupted_reproduction_keeps_its_finished_runs_and_continues() {
    let scratch = Scratch::new();
    let store = scratch.path().join("out/runs.jsonl");
    let arguments = ["reproduce", "AS", "--quick", "--out", "out"];
    let lines = || std::fs::read_to_string(&store).unwrap_or_default().matches("\"sum\"").count();
    let mut finished = String::new();
    for (signal, number) in SIGNALS {
        let before = lines();
        let status = interrupted(started(&scratch, &arguments), signal, || lines() >= before + 2);
        assert!(status.signal() == Some(number) || status.success(), "{status}");
        if !status.success() {
            assert_eq!(files(&scratch.path().join("out")), ["runs.jsonl".to_owned()].into());
        }
        let now = std::fs::read_to_string(&store).expect("a store");
        let whole = now.rfind('\n').map_or(0, |end| end + 1);
        assert!(now.starts_with(&finished), "a finished run is gone");
        finished = now[..whole].to_owned();
    }
    let interrupted = scratch.run(&arguments);
    assert_eq!(interrupted.code, 0, "{interrupted:?}");
    let now = std::fs::read_to_string(&store).expect("a store");
    for run in finished.lines().filter(|line| !line.trim().is_empty()) {
        assert_eq!(now.lines().filter(|line| *line == run).count(), 1, "{run}");
    }
    let fresh = Scratch::new();
    assert_eq!(fresh.run(&arguments).out, interrupted.out);
    for name in ["results.json", "README.md", "index.html"] {
        let read = |scratch: &Scratch| std::fs::read(scratch.path().join("out").join(name)).expect("written");
        assert!(read(&fresh) == read(&scratch), "{name}");
    }
}

#[test]
fn an_interrupted_sender_ends_by_the_signal() {
    for (signal, number) in SIGNALS {
        let scratch = Scratch::new();
        let mut command = command(&scratch, &["sender"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        // After its answer the sender waits for its next line.
        let mut input = child.stdin.take().expect("piped");
        let open = r#"{"at_us":0,"do":"established","mss":1000,"window":65535,"rtt_us":1000}"#;
        writeln!(input, "{open}").expect("the sender reads");
        let mut answer = String::new();
        let read = BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut answer);
        assert!(read.is_ok() && answer.contains("cwnd"), "{answer}");
        let status = interrupted(child, signal, || true);
        assert_eq!(status.signal(), Some(number));
        drop(input);
    }
}
