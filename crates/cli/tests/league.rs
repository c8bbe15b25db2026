//! `league`: a new start is one file; datasets continue and are read from other executors; errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::common::Scratch;

/// Folder of the repository.
fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A league of one scenario and few starts in `scratch`.
fn small(scratch: &Scratch, starts: &[&str]) {
    let source = repository().join("league");
    for folder in ["starts", "scenarios"] {
        fs::create_dir_all(scratch.path().join("own").join(folder)).expect("a folder");
    }
    let copy =
        |name: &str| fs::copy(source.join(name), scratch.path().join("own").join(name)).expect("a copy");
    copy("league.toml");
    copy("scenarios/geo.toml");
    for start in starts {
        copy(&format!("starts/{start}.toml"));
    }
}

/// Runs a command that succeeds.
fn made(scratch: &Scratch, arguments: &[&str]) {
    let run = scratch.run(arguments);
    assert_eq!(run.code, 0, "{}", run.err);
}

/// The Parquet files of a folder.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], vec![]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|it| it == "parquet") {
            found.push(path);
        }
    }
    assert!(!found.is_empty(), "{}", folder.display());
    found
}

/// A time at which no test runs.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(86_400)
}

/// Gives these files a time at which no test runs. A part that is made again has the same bytes, but the time of its making.
fn age(files: &[PathBuf]) {
    for file in files {
        let file = fs::File::options().write(true).open(file).expect("a file");
        file.set_modified(long_ago()).expect("its owner");
    }
}

/// Asserts that none of these aged files was written again.
fn assert_old(files: &[PathBuf]) {
    for file in files {
        let written = fs::metadata(file).and_then(|it| it.modified()).expect("a file");
        assert_eq!(written, long_ago(), "{} was made again", file.display());
    }
}

const OWN: [&str; 6] = ["league", "--quick", "--league", "own", "--out", "out"];

#[test]
fn a_new_start_is_one_file_and_only_its_runs_are_made() {
    let scratch = Scratch::new();
    small(&scratch, &["linux"]);
    made(&scratch, &OWN);
    let of_reference = parts(&scratch.path().join("out/runs/geo/linux"));
    age(&of_reference);
    let start = "title = \"Mine\"\nversion = \"1\"\nfamily = \"modern\"\npage = \"suss\"\n[flow]\nprofile = \"linux\"\nstartup = \
                 \"suss\"\navoidance = \"cubic\"\n";
    fs::write(scratch.path().join("own/starts/mine.toml"), start).expect("a file");
    let results: Value = scratch.run(&[&OWN[..], &["--json"]].concat()).json();
    let standings = results["standings"].as_array().expect("a list");
    assert_eq!(standings.len(), 2, "{results}");
    // SUSS quadruples where the round trip is long: sooner than the reference.
    assert_eq!((&standings[0]["start"], &standings[0]["rank"]), (&"mine".into(), &1.into()));
    assert!(standings[0]["ratio"]["high"].as_f64().expect("a number") < 1.0, "{results}");
    assert_old(&of_reference);
    let page = fs::read_to_string(scratch.path().join("out/pages/starts/mine.md")).expect("a page");
    assert!(page.starts_with("# Mine\n"), "{page}");
}

#[test]
fn datasets_of_other_executors_are_those_of_the_league() {
    let scratch = Scratch::new();
    small(&scratch, &["linux", "search"]);
    let own = scratch.run(&[&OWN[..], &["--json", "--threads", "1"]].concat()).json();
    let said = scratch.run(&["league", "--quick", "--league", "own", "--grids", "grids", "--out", "other"]);
    assert!(said.code == 0 && said.out.starts_with("2 grids in grids."), "{}{}", said.out, said.err);
    for start in ["linux", "search"] {
        let (grid, out) = (format!("grids/geo/{start}.toml"), format!("other/runs/geo/{start}"));
        made(&scratch, &["sweep", &grid, "--out", &out, "--threads", "2"]);
    }
    let parts = parts(&scratch.path().join("other/runs"));
    age(&parts);
    let other = scratch.run(&["league", "--quick", "--league", "own", "--out", "other", "--json"]).json();
    assert_eq!(own, other);
    assert_old(&parts);
}

#[test]
fn a_league_that_cannot_run_is_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    small(&scratch, &["linux"]);
    let refused = |arguments: &[&str], parts: &[&str]| {
        let run = scratch.run(arguments);
        assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
        assert!(parts.iter().all(|part| run.err.contains(part)), "{}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        assert!(!scratch.path().join("out").exists());
    };
    refused(&[&OWN[..], &["--start", "linus"]].concat(), &["there is no such start", "linux"]);
    refused(&[&OWN[..], &["--scenario", "goe"]].concat(), &["there is no such scenario", "geo"]);
    let place = scratch.path().join("own/starts/wrong.toml");
    fs::write(
        &place,
        "title = \"Wrong\"\nversion = \"1\"\nfamily = \"modern\"\npage = \"suss\"\nflaw = 1\n[flow]\n",
    )
    .expect("a file");
    refused(&OWN, &["starts/wrong.toml:5", "flaw"]);
    let flow = "title = \"Wrong\"\nversion = \"1\"\nfamily = \"modern\"\npage = \"suss\"\n[flow]\nprofile = \"linux\"\nstartup = \"sus\"\n";
    fs::write(&place, flow).expect("a file");
    refused(&OWN, &["wrong on geo", "startup", "sus"]);
    fs::write(
        &place,
        flow.replace("startup = \"sus\"", "startup = \"suss\"").replace("[flow]", "only = [\"goe\"]\n[flow]"),
    )
    .expect("a file");
    refused(&OWN, &["starts/wrong.toml", "only", "geo"]);
    fs::remove_file(place).expect("it is there");
    fs::write(scratch.path().join("results.json"), "{\"league\": 1}").expect("a file");
    refused(
        &["league", "--results", "results.json", "--out", "out"],
        &["results.json:1", "not the results of a league"],
    );
    for option in [["--start", "linux"], ["--scenario", "geo"], ["--threads", "1"]] {
        let run = scratch.run(&[&["league", "--results", "results.json"], &option[..]].concat());
        assert_eq!(run.code, 2, "{}", run.err);
        assert!(run.err.contains("--results") && run.err.contains(option[0]), "{}", run.err);
    }
    refused(&[&OWN[..], &["--scenarios", "none"]].concat(), &["none", "cannot be read"]);
    scratch.write("mine/note.txt", "");
    refused(&[&OWN[..], &["--scenarios", "mine"]].concat(), &["mine: the folder has no scenario"]);
    scratch.write("mine/geo.toml", "");
    refused(&[&OWN[..], &["--scenarios", "mine"]].concat(), &["mine/geo.toml", "a scenario geo already"]);
    fs::remove_file(scratch.path().join("mine/geo.toml")).expect("it is there");
    scratch.write("mine/my-trace.toml", example());
    refused(&[&OWN[..], &["--scenarios", "mine"]].concat(), &["mine/my-cell.trace", "cannot be read"]);
}

/// The scenario that `league/README.md` shows.
fn example() -> String {
    let readme = fs::read_to_string(repository().join("league/README.md")).expect("a page");
    let (_, rest) = readme.split_once("## A scenario of your own").expect("a section");
    let (_, rest) = rest.split_once("```toml\n").expect("a block");
    rest.split_once("```").expect("its end").0.to_owned()
}

#[test]
fn a_scenario_of_an_own_folder_names_a_trace_of_mahimahi_beside_it() {
    let scratch = Scratch::new();
    small(&scratch, &["linux", "suss"]);
    scratch.write("mine/my-trace.toml", example());
    // A packet each millisecond: 12 Mbit/s.
    scratch.write("mine/my-cell.trace", "1\n2\n3\n4\n");
    let only = ["--scenarios", "mine", "--scenario", "my-trace"];
    let results = scratch.run(&[&OWN[..], &only, &["--json"]].concat()).json();
    assert_eq!(results["league"], "2026.1 with own scenarios");
    let outcomes = results["outcomes"].as_array().expect("a list");
    let names: Vec<_> = outcomes.iter().map(|it| (&it["scenario"], &it["start"])).collect();
    assert_eq!(names, [(&"my-trace".into(), &"linux".into()), (&"my-trace".into(), &"suss".into())]);
    // 3 MB take 2 s at the rate of the trace, and the first flights.
    let sizes = outcomes[0]["sizes"].as_array().expect("a list");
    let of_3_mb = sizes.iter().find(|it| it["size_bytes"] == 3_000_000).expect("a size");
    let median = of_3_mb["median_s"].as_f64().expect("a time");
    assert!(2.0 < median && median < 4.0, "{median}");
    assert!(scratch.path().join("out/pages/scenarios/my-trace.md").exists());
}

#[test]
fn a_standing_without_a_ranked_start_says_so() {
    let scratch = Scratch::new();
    small(&scratch, &["linux", "suss"]);
    let place = scratch.path().join("own/scenarios/geo.toml");
    let text = fs::read_to_string(&place).expect("a scenario");
    fs::write(&place, format!("ranked = false\n{text}")).expect("a file");
    let run = scratch.run(&OWN);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("No start has a rank here") && !run.out.contains("displaced"), "{}", run.out);
    let page = fs::read_to_string(scratch.path().join("out/pages/README.md")).expect("a page");
    assert!(page.contains("No start has a rank here") && !page.contains("standing.svg"), "{page}");
    assert!(!scratch.path().join("out/pages/images/standing.svg").exists());
}

#[test]
fn the_pages_of_the_documentation_are_those_of_its_results() {
    let docs = repository().join("docs/league");
    let scratch = Scratch::new();
    let results = docs.join("results.json");
    made(&scratch, &["league", "--results", results.to_str().expect("UTF-8"), "--out", "out"]);
    let pages = scratch.path().join("out/pages");
    let mut count = 0;
    for folder in ["", "starts", "scenarios", "images"] {
        for entry in fs::read_dir(pages.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                continue;
            }
            let name = path.strip_prefix(&pages).expect("a page");
            let shown = fs::read_to_string(docs.join(name)).unwrap_or_default();
            let own = fs::read_to_string(&path).expect("a page");
            assert!(shown == own, "docs/league/{} is stale; `make league-pages` renews it", name.display());
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

#[test]
fn the_synthetic_traces_are_those_of_their_program() {
    let scratch = Scratch::new();
    let made =
        Command::new("python3").arg(repository().join("tools/league-traces")).arg(scratch.path()).output();
    match made {
        Err(error) => firstflight_skip::skip(format_args!("python3: {error}")),
        Ok(made) => {
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            for name in ["lte.csv", "5g.csv", "leo.csv", "wifi.trace"] {
                let shipped =
                    fs::read_to_string(repository().join("league/traces").join(name)).expect("a trace");
                let made = fs::read_to_string(scratch.path().join(name)).expect("a trace");
                assert!(made == shipped, "league/traces/{name}");
            }
        }
    }
}
