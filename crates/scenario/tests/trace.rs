//! Link traces in files beside the scenario's.

use std::fs;
use std::path::{Path, PathBuf};

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::{Limit, LinkTrace, Loaded, Network, Schedule, load, parse};

const SCENARIO: &str = "[path]\ntrace = \"up.trace\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n";

/// A folder of this test's own with these files.
fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn dumbbell(loaded: Loaded) -> firstflight_scenario::Path {
    let Network::Dumbbell(path) = loaded.scenario.network else { panic!("a dumbbell") };
    path
}

#[test]
fn a_trace_stands_for_its_mean_rate_and_is_reached_ten_times_as_fast_as_its_fastest() {
    // Ten packets of 12 000 bits in 100 ms: 1.2 Mbit/s, of which 100 ms are 15 000 bytes; two of them at once.
    let trace = "10\n20\n30\n40\n50\n60\n70\n80\n100\n100\n";
    let folder = folder("mean", &[("run.toml", SCENARIO), ("up.trace", trace)]);
    let path = dumbbell(load(&folder.join("run.toml")).unwrap());
    assert_eq!((path.rate, path.access_rate), (Rate(1_200_000), Rate(240_000_000)));
    assert_eq!((path.bdp(), path.buffer), (15_000, Limit::Packets(10)));
    let times = [10, 20, 30, 40, 50, 60, 70, 80, 100, 100].map(Nanos::from_millis).to_vec();
    assert_eq!(*path.trace.unwrap().schedule, Schedule::Opportunities(times));
}

#[test]
fn a_trace_is_looked_for_from_the_folder_of_the_scenario() {
    let text = SCENARIO.replace("up.trace", "../traces/5g.csv");
    let folder =
        folder("relative", &[("a/b/run.toml", &text), ("a/traces/5g.csv", "time,Mbit/s\n0,10\n1.5,30\n")]);
    let path = dumbbell(load(&folder.join("a/b/run.toml")).unwrap());
    let LinkTrace { file, schedule, .. } = path.trace.unwrap();
    assert_eq!(file, "../traces/5g.csv");
    let steps = vec![(Nanos::ZERO, Rate(10_000_000)), (Nanos::from_millis(1500), Rate(30_000_000))];
    assert_eq!(*schedule, Schedule::Rates(steps));
}

#[test]
fn links_take_traces_too_both_ways_where_they_are_both() {
    let text = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nboth = true\n\
                trace = \"up.trace\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n";
    let folder = folder("links", &[("run.toml", text), ("up.trace", "1\n")]);
    let Network::Graph(graph) = load(&folder.join("run.toml")).unwrap().scenario.network else { panic!() };
    // A packet of 12 000 bits each millisecond.
    assert_eq!(graph.links.iter().map(|link| link.rate).collect::<Vec<_>>(), [Rate(12_000_000); 2]);
    assert!(graph.links.iter().all(|link| link.trace.is_some()));
    assert_eq!(graph.nodes[0].access_rate, Rate(120_000_000));
}

#[test]
fn a_scenario_with_a_trace_written_out_is_the_same_again_and_its_hash_is_of_the_trace_too() {
    let folder = folder("again", &[("run.toml", SCENARIO), ("up.trace", "1\n")]);
    let scenario = load(&folder.join("run.toml")).unwrap().scenario;
    let text = scenario.to_toml();
    // `printf '1\n' | sha256sum`
    let digest = "4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865";
    assert!(text.contains(&format!("trace = \"up.trace\" # SHA-256 {digest}\n")), "{text}");
    fs::write(folder.join("again.toml"), &text).unwrap();
    assert_eq!(load(&folder.join("again.toml")).unwrap().scenario, scenario);
    fs::write(folder.join("up.trace"), "2\n").unwrap();
    assert_ne!(load(&folder.join("run.toml")).unwrap().scenario.hash(), scenario.hash());
}

#[test]
fn a_trace_that_cannot_be_used_is_refused_with_what_is_wrong_and_where() {
    let folder = folder(
        "refused",
        &[
            ("run.toml", SCENARIO),
            ("up.trace", "5\nx\n"),
            ("both.toml", &SCENARIO.replace("rtt", "rate = \"1 Mbit/s\"\nrtt")),
        ],
    );
    let refused = |file: &str| load(&folder.join(file)).unwrap_err().to_string();
    let here = folder.display();
    assert_eq!(
        refused("run.toml"),
        format!(
            "{here}/up.trace:2:1: this line is not numbers, so it is not such a time; expected the time of a delivery opportunity in whole \
             milliseconds, such as 12, or seconds and Mbit/s in two columns, such as 0.5,12.5"
        )
    );
    assert_eq!(
        refused("both.toml"),
        format!(
            "{here}/both.toml:2:9: path.trace = \"up.trace\": the rate is given twice; expected only one of rate \
             and trace"
        )
    );
    fs::remove_file(folder.join("up.trace")).unwrap();
    let missing = refused("run.toml");
    let beginning = format!(
        "{here}/run.toml:2:9: path.trace = \"up.trace\": cannot be read: {here}/up.trace: No such file"
    );
    assert!(missing.starts_with(&beginning), "{missing}");
    fs::write(folder.join("up.trace"), [0xff, 0xfe]).unwrap();
    assert!(refused("run.toml").contains("up.trace: it is not UTF-8 text"), "{}", refused("run.toml"));
    fs::write(folder.join("up.trace"), vec![b'1'; (64 << 20) + 1]).unwrap();
    assert!(
        refused("run.toml").contains("it is longer than the limit of 67108864 bytes"),
        "{}",
        refused("run.toml")
    );
    assert_eq!(
        parse(SCENARIO, "text").unwrap_err().to_string(),
        "text:2:9: path.trace = \"up.trace\": a scenario that is not in a file cannot name a file without a folder"
    );
}

#[test]
fn a_trace_of_several_columns_is_named_with_its_column_and_written_out_again() {
    let trace = "Timestamp,DL_bitrate,UL_bitrate\n2020.01.01_00.00.00,12000,3\n2020.01.01_00.00.01,48000,3\n";
    let with = |table: &str| SCENARIO.replace("\"up.trace\"", table);
    let chosen = "{ file = \"up.trace\", column = \"DL_bitrate\" }";
    let folder = folder(
        "columns",
        &[
            ("run.toml", &with(chosen)),
            ("up.toml", &with("{ file = \"up.trace\", column = \"UL_bitrate\", unit = \"Mbit/s\" }")),
            ("plain.toml", SCENARIO),
            ("unit.toml", &with("{ file = \"up.trace\", unit = \"mbps\" }")),
            ("up.trace", trace),
        ],
    );
    let loaded = load(&folder.join("run.toml")).unwrap();
    let text = loaded.scenario.to_toml();
    assert!(text.contains(&format!("trace = {chosen} # SHA-256 ")), "{text}");
    fs::write(folder.join("again.toml"), &text).unwrap();
    assert_eq!(load(&folder.join("again.toml")).unwrap().scenario, loaded.scenario);
    let up = load(&folder.join("up.toml")).unwrap();
    assert_ne!(up.scenario.hash(), loaded.scenario.hash());
    // 12 Mbit/s for a second.
    assert_eq!(dumbbell(loaded).rate, Rate(12_000_000));
    assert_eq!(dumbbell(up).rate, Rate(3_000_000));
    let refused = |file: &str| load(&folder.join(file)).unwrap_err().to_string();
    let plain = refused("plain.toml");
    assert!(plain.contains("column = \"DL_bitrate\" or column = \"UL_bitrate\""), "{plain}");
    let unit = refused("unit.toml");
    assert!(
        unit.contains("path.trace.unit = \"mbps\"") && unit.contains("expected one of: bit/s, kbit/s"),
        "{unit}"
    );
}

#[test]
fn a_trace_that_stands_in_the_scenario_is_that_of_a_file_with_its_lines() {
    let lines = "time,Mbit/s\n0,10\n1.5,30\n";
    let folder = folder("inline", &[("run.toml", SCENARIO), ("up.trace", lines)]);
    let of_file = dumbbell(load(&folder.join("run.toml")).unwrap());
    let inline = SCENARIO.replace("\"up.trace\"", "{ text = \"\"\"\ntime,Mbit/s\n0,10\n1.5,30\n\"\"\" }");
    let scenario = parse(&inline, "run.toml").expect("a scenario that names no file").scenario;
    let again = parse(&scenario.to_toml(), "run.toml").expect("its own text").scenario;
    assert_eq!(again, scenario);
    let Network::Dumbbell(path) = scenario.network else { panic!("a dumbbell") };
    assert_eq!((path.rate, path.buffer), (of_file.rate, of_file.buffer));
    let [own, file] = [path.trace, of_file.trace].map(|trace| trace.expect("a trace"));
    assert_eq!((&own.schedule, &own.sha256), (&file.schedule, &file.sha256));
    assert_eq!((own.columns.text.as_deref(), file.columns.text), (Some(lines), None));
}

#[test]
fn a_trace_in_the_scenario_is_refused_by_its_line_or_beside_a_file() {
    let refused = |trace: &str| {
        let text = SCENARIO.replace("\"up.trace\"", trace);
        parse(&text, "run.toml").expect_err("no trace").to_string()
    };
    let at = SCENARIO.lines().position(|line| line.contains("up.trace")).expect("a trace") + 1;
    let of_line =
        "path.trace.text: line 2 of the text: \"1,-3\" is not such a pair; expected seconds and Mbit/s";
    let error = refused("{ text = \"0,10\\n1,-3\\n\" }");
    assert!(error.starts_with(&format!("run.toml:{at}:")) && error.contains(of_line), "{error}");
    // A text of several lines is named by the line of the file.
    let error = refused("{ text = \"\"\"\n0,10\n1,-3\n\"\"\" }");
    assert!(error.starts_with(&format!("run.toml:{}:1: {of_line}", at + 2)), "{error}");
    let error = refused("{ text = '''0,10\n1,-3\n''' }");
    assert!(error.starts_with(&format!("run.toml:{}:1: {of_line}", at + 1)), "{error}");
    // A line that continues in the next one of the file has no line of its own.
    let error = refused("{ text = \"\"\"0,10\n1,\\\n-3\n\"\"\" }");
    assert!(error.starts_with(&format!("run.toml:{at}:")) && error.contains(of_line), "{error}");
    let error = refused("{ text = \"0,10\\n\", file = \"up.trace\" }");
    assert!(error.contains("the trace is given twice; expected only one of file and text"), "{error}");
}
