//! Sweeps that are killed go on where they stopped, and have the same bytes from any executor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{self, Scratch};

/// 30 parts of about 60 ms each in a program for tests.
const GRID: &str = r#"
title = "a lossy path"
base = "cable"
schemes = ["slow-start+cubic", "hystart-linux+cubic", "jump-start+cubic"]
sizes = ["300 KB"]
replications = 1000
rows_per_part = 600

[[factor]]
key = "path.loss"
values = [0.0, 0.01, 0.02]

[[factor]]
key = "path.rate"
values = ["10 Mbit/s", "100 Mbit/s"]
"#;

const PARTS: u64 = 30;

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("grid.toml", GRID);
    scratch
}

fn started(scratch: &Scratch, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(arguments)
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Every file of a dataset, without what an executor keeps for itself.
fn dataset(scratch: &Scratch, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let own = scratch.path().join(folder);
    let within = |path: &Path| Some(path.strip_prefix(&own).ok()?.to_owned());
    let files = scratch.snapshot().into_iter().filter_map(|(path, content)| Some((within(&path)?, content?)));
    files.filter(|(path, _)| !path.starts_with("_slurm")).collect()
}

/// Number of whole parts. No content is read, because a sweep at work renames its files.
fn finished(scratch: &Scratch, folder: &str) -> usize {
    let (mut count, mut open) = (0, vec![scratch.path().join(folder)]);
    while let Some(folder) = open.pop() {
        // A folder that is not there yet has no parts.
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".parquet") && !name.starts_with('.') {
                count += 1;
            }
        }
    }
    count
}

#[test]
fn a_sweep_that_is_killed_at_any_time_goes_on_and_makes_no_part_twice() {
    let scratch = scratch();
    let whole = scratch.run(&["sweep", "grid.toml", "--out", "whole", "--json"]).json();
    assert_eq!(
        (&whole["parts"], &whole["parts_made"], &whole["open"]),
        (&PARTS.into(), &PARTS.into(), &"".into())
    );
    assert_eq!(whole["runs"], 18_000);
    // The times of the kills are spread over the work by the golden ratio, and are long enough for some parts.
    let (mut kills, mut share) = (0, 0.0_f64);
    while kills < 200 && finished(&scratch, "killed") < PARTS as usize {
        let before = dataset(&scratch, "killed");
        let mut child = started(&scratch, &["sweep", "grid.toml", "--out", "killed", "--threads", "2"]);
        share = (share + 0.618_034) % 1.0;
        sleep(Duration::from_millis(30 + (share * 150.0) as u64));
        child.kill().expect("a child, or a zombie");
        child.wait().expect("a child");
        kills += 1;
        let after = dataset(&scratch, "killed");
        for (path, content) in &before {
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            assert!(hidden || after.get(path) == Some(content), "{} has changed", path.display());
        }
    }
    println!("{kills} kills");
    let report = scratch.run(&["sweep", "grid.toml", "--out", "killed", "--json"]).json();
    let (before, now) = (report["parts_before"].as_u64(), report["parts_made"].as_u64());
    assert_eq!(before.zip(now).map(|(before, now)| before + now), Some(PARTS), "{report}");
    assert_eq!(dataset(&scratch, "killed"), dataset(&scratch, "whole"), "nothing else is left, either");
}

#[test]
fn an_interrupt_ends_the_sweep_with_the_parts_that_are_missing() {
    let scratch = scratch();
    let child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(["sweep", "grid.toml", "--out", "out", "--threads", "1", "--json"])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    while finished(&scratch, "out") == 0 {
        sleep(Duration::from_millis(1));
    }
    let kill = ["-c", "kill -s INT \"$1\"", "sh", &child.id().to_string()];
    assert!(Command::new("sh").args(kill).status().expect("a shell").success());
    let ended = common::Finished::from(child.wait_with_output().expect("a child"));
    let report: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    let open = report["open"].as_str().expect("a text");
    // On a busy machine all parts may be finished before the signal comes.
    assert_eq!(ended.code, i32::from(!open.is_empty()), "{ended:?}");
    assert!(open.is_empty() || open.ends_with("-29") || open == "29", "{report}");
    assert_eq!(scratch.run(&["sweep", "grid.toml", "--out", "out"]).code, 0);
}

#[test]
fn parts_can_be_made_one_by_one_and_begin_reports_them() {
    let scratch = scratch();
    let begun = scratch.run(&["sweep", "grid.toml", "--out", "one", "--begin", "--json"]).json();
    assert_eq!((&begun["open"], &begun["parts_before"]), (&"0-29".into(), &0.into()));
    for parts in ["7,3-5", "0-9", "10-29"] {
        assert_eq!(scratch.run(&["sweep", "grid.toml", "--out", "one", "--parts", parts]).code, 0, "{parts}");
    }
    let again = scratch.run(&["sweep", "grid.toml", "--out", "one", "--json"]).json();
    assert_eq!((&again["parts_before"], &again["parts_made"]), (&30.into(), &0.into()));
    scratch.run(&["sweep", "grid.toml", "--out", "two"]);
    assert_eq!(dataset(&scratch, "one"), dataset(&scratch, "two"));
    for (parts, problem) in [
        ("30", "there are no parts 30; the grid has 30"),
        ("5-3", "there are no parts 5-3; the grid has 30"),
        ("x", "\"x\" is no number"),
        ("", "\"\" is no number"),
    ] {
        let run = scratch.run(&["sweep", "grid.toml", "--out", "new", "--parts", parts]);
        let expected = "expected numbers and ranges from 0 to 29, such as 0-9,12";
        assert_eq!(run.err, format!("error: --parts \"{parts}\": {problem}; {expected}\n"));
        assert!(run.code == 2 && !scratch.path().join("new").exists());
    }
}

#[test]
fn a_second_sweep_of_a_folder_is_refused_while_the_first_is_at_work() {
    let scratch = scratch();
    scratch.write("other.toml", GRID.replace("300 KB", "301 KB"));
    scratch.run(&["sweep", "grid.toml", "--out", "alone"]);
    let mut first = started(&scratch, &["sweep", "grid.toml", "--out", "out", "--threads", "1"]);
    while finished(&scratch, "out") == 0 {
        sleep(Duration::from_millis(1));
    }
    // The first is stopped, so that it is at work whatever the speed of the machine.
    let signal = |name: &str| {
        let kill = ["-c", "kill -s \"$1\" \"$2\"", "sh", name, &first.id().to_string()];
        assert!(Command::new("sh").args(kill).status().expect("a shell").success());
    };
    signal("STOP");
    let second = scratch.run(&["sweep", "grid.toml", "--out", "out"]);
    let why = "error: out/_sweep.json: another sweep is at work on this dataset; expected its end, another folder, or --parts for a \
               share of the work\n";
    assert_eq!((second.code, &*second.err), (2, why));
    let other = scratch.run(&["sweep", "other.toml", "--out", "out"]);
    assert!(other.code == 2 && other.err.contains("the dataset is of another grid: "), "{other:?}");
    // Workers make parts beside it, and reports are made.
    assert_eq!(scratch.run(&["sweep", "grid.toml", "--out", "out", "--parts", "20-24"]).code, 0);
    assert_eq!(scratch.run(&["sweep", "grid.toml", "--out", "out", "--begin"]).code, 0);
    signal("CONT");
    assert!(first.wait().expect("a child").success());
    assert_eq!(dataset(&scratch, "out"), dataset(&scratch, "alone"));
    // A lock ends with its process.
    std::fs::remove_dir_all(scratch.path().join("out")).expect("removable");
    let mut killed = started(&scratch, &["sweep", "grid.toml", "--out", "out", "--threads", "1"]);
    while finished(&scratch, "out") == 0 {
        sleep(Duration::from_millis(1));
    }
    killed.kill().expect("a child, or a zombie");
    killed.wait().expect("a child");
    assert_eq!(scratch.run(&["sweep", "grid.toml", "--out", "out"]).code, 0);
    assert_eq!(dataset(&scratch, "out"), dataset(&scratch, "alone"));
}

#[test]
fn a_grid_that_cannot_run_writes_nothing() {
    let scratch = scratch();
    scratch.write("bad.toml", GRID.replace("\"100 Mbit/s\"", "\"100 mbps\""));
    let run = scratch.run(&["sweep", "bad.toml", "--out", "new"]);
    assert!(
        run.err.starts_with("error: bad.toml: at 0.02, 100 mbps: path.rate = \"100 mbps\": "),
        "{}",
        run.err
    );
    assert!(run.code == 2 && !scratch.path().join("new").exists());
    let run = scratch.run(&["sweep", "grid.toml", "--executor", "slrum"]);
    let error = "error: --executor \"slrum\": no such value; expected one of: threads, dask, slurm; did you mean \"slurm\"?\n";
    assert_eq!((run.code, &*run.err), (2, error));
}

/// Stands in for SLURM's program: runs the jobs of the array two at a time, kills some of them, and ends when all have ended.
const SBATCH: &str = r#"#!/bin/sh
set -u
for word in "$@"; do
    case "$word" in
        --array=0-*) last=${word#--array=0-} ;;
        --output=*) output=${word#--output=} ;;
        --parsable | --wait) ;;
        *) script=$word ;;
    esac
done
echo 4711
echo "$last" >> "$SBATCH_LOG"
job() {
    SLURM_ARRAY_TASK_ID=$1 setsid sh "$script" > "$(printf %s "$output" | sed "s/%A/4711/; s/%a/$1/")" 2>&1 &
    pid=$!
    if [ $((($1 + KILLED) % 3)) -eq 0 ]; then
        sleep 0.0$((3 + $1))
        # On a busy machine the job may not have its process group yet.
        for _ in $(seq 100); do
            kill -9 -$pid 2> /dev/null && echo killed >> "$SBATCH_LOG" && break
            sleep 0.01
        done
    fi
    wait $pid
}
status=0
at=0
while [ $at -le "$last" ]; do
    job $at & one=$!
    at=$((at + 1))
    if [ $at -le "$last" ]; then job $at & two=$!; at=$((at + 1)); wait $two || status=1; fi
    wait $one || status=1
done
exit $status
"#;

#[test]
fn an_array_of_slurm_jobs_makes_the_same_dataset_though_jobs_are_killed() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = scratch();
    scratch.run(&["sweep", "grid.toml", "--out", "threads"]);
    scratch.write("bin/sbatch", SBATCH);
    let sbatch = scratch.path().join("bin/sbatch");
    std::fs::set_permissions(&sbatch, std::fs::Permissions::from_mode(0o755)).expect("own file");
    let path = format!("{}:/usr/bin:/bin", scratch.path().join("bin").display());
    let sweep = |killed: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args([
                "sweep",
                "grid.toml",
                "--out",
                "an array's",
                "--executor",
                "slurm",
                "--dispatch",
                "1 us",
                "--json",
            ])
            .current_dir(scratch.path())
            .env("PATH", &path)
            .env("KILLED", killed)
            .env("SBATCH_LOG", scratch.path().join("log"))
            .output();
        common::Finished::from(output.expect("it runs"))
    };
    let mut before = 0;
    for round in 0..40 {
        let ended = sweep(if round < 3 { "0" } else { "1" });
        let report: serde_json::Value =
            serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        assert_eq!(report["parts_before"], before, "{ended:?}");
        assert!(report["parts_made"].as_u64() > Some(0), "{ended:?}");
        before += report["parts_made"].as_u64().expect("a number");
        let complete = report["open"] == "";
        assert_eq!(ended.code, i32::from(!complete), "{ended:?}");
        if complete {
            break;
        }
    }
    assert_eq!(before, PARTS, "no part is missing, and none was made twice");
    assert_eq!(dataset(&scratch, "an array's"), dataset(&scratch, "threads"));
    let log = std::fs::read_to_string(scratch.path().join("log")).expect("sbatch was called");
    let kills = log.lines().filter(|line| *line == "killed").count();
    println!("{} arrays, {kills} jobs killed", log.lines().count() - kills);
    assert!(kills > 0, "{log}");
}

#[test]
fn without_sbatch_or_dask_the_missing_program_is_named() {
    let scratch = scratch();
    let run = |executor: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(["sweep", "grid.toml", "--executor", executor])
            .current_dir(scratch.path())
            .env("PATH", scratch.path())
            .output();
        common::Finished::from(output.expect("it runs"))
    };
    let slurm = run("slurm");
    assert!(slurm.err.contains("error: --executor \"slurm\": sbatch cannot be started: "), "{slurm:?}");
    let dask = run("dask");
    assert!(dask.err.starts_with("error: --executor \"dask\": python3 cannot be started: "), "{dask:?}");
    assert!(dask.err.contains("; expected `pip install \"dask[distributed]\"`"), "{dask:?}");
    assert_eq!((slurm.code, dask.code), (2, 2));
}

/// Whether python3 can do an import; otherwise, the test is skipped.
fn python_can(import: &str, packages: &str) -> bool {
    let done = Command::new("python3").args(["-c", import]).stderr(Stdio::null()).status();
    let can = done.is_ok_and(|status| status.success());
    if !can {
        firstflight_skip::skip(format_args!("python3 cannot `{import}`; pip install {packages}"));
    }
    can
}

#[test]
fn dask_workers_make_the_same_dataset_though_they_are_killed() {
    if !python_can("import distributed", "\"dask[distributed]\"") {
        return;
    }
    let scratch = scratch();
    scratch.run(&["sweep", "grid.toml", "--out", "threads"]);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A dataset that a killed command has begun.
    scratch.run(&["sweep", "grid.toml", "--out", "dask", "--parts", "3,7-9"]);
    let output = Command::new("timeout")
        .args(["300", "python3"])
        .arg(repository.join("tests/sweep_dask/killed_workers.py"))
        .args([env!("CARGO_BIN_EXE_firstflight"), "grid.toml", "dask"])
        .current_dir(scratch.path())
        .env("PYTHONPATH", repository.join("../python/python/firstflight"))
        .output();
    let ended = common::Finished::from(output.expect("it runs"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let done: serde_json::Value =
        serde_json::from_str(ended.out.lines().last().expect("a line")).expect("JSON");
    println!("{} workers killed", done["kills"]);
    assert!(done["kills"].as_u64() > Some(0), "{done}");
    assert_eq!((&done["report"]["parts_before"], &done["report"]["parts_made"]), (&4.into(), &26.into()));
    assert_eq!(dataset(&scratch, "dask"), dataset(&scratch, "threads"));
}

/// A grid of paths without random loss, whose buffers are larger than any window of the transfer: only the round-trip time matters.
const INDICES: &str = r#"
base = "cable"
schemes = ["slow-start+cubic", "hystart-linux+cubic"]
sizes = ["30 KB"]
[sample]
kind = "saltelli"
points = 64
[[sample.range]]
key = "path.rtt"
low = "10 ms"
high = "200 ms"
[[sample.range]]
key = "path.buffer"
low = "1000 packets"
high = "2000 packets"
"#;

#[test]
fn the_whole_variance_is_due_to_the_one_key_that_matters() {
    let scratch = scratch();
    scratch.write("indices.toml", INDICES);
    let other = scratch.run(&["sweep", "grid.toml", "--sensitivity", "completion_s"]);
    let expected = "expected [sample] with kind = \"saltelli\"\n";
    assert!(other.code == 2 && other.err.ends_with(expected), "{other:?}");
    if !python_can("import SALib, pyarrow", "SALib pyarrow") {
        return;
    }
    let report = scratch.run(&["sweep", "indices.toml", "--sensitivity", "completion_s", "--json"]).json();
    assert_eq!((&report["cells"], &report["runs"]), (&256.into(), &512.into()));
    let rows = report["sensitivity"].as_array().expect("rows");
    // Two keys, of the times of two schemes and of the ratio of one.
    assert_eq!(rows.len(), 6);
    for row in rows {
        let [first, total] = ["first", "total"].map(|name| row[name].as_f64().expect("a number"));
        match (row["of"].as_str(), row["key"].as_str()) {
            (Some("completion_s"), Some("path.rtt")) => {
                assert!((first - 1.0).abs() < 0.05 && (total - 1.0).abs() < 0.05, "{row}");
            }
            (_, Some("path.buffer")) => assert_eq!((first, total), (0.0, 0.0), "{row}"),
            _ => {}
        }
    }
}
