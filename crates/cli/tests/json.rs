//! JSON output of the commands, on which scripts rely.

use std::collections::BTreeSet;
use std::process::Command;

use crate::common::Scratch;
use serde_json::{Value, json};

/// Paths of all keys in `value`; `flows[].name` for keys inside arrays. A null has no keys.
fn keys(value: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    walk(member, &path, found);
                    found.insert(path);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, &format!("{path}[]"), found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(value, "", &mut found);
    found
}

const SCENARIO: &str = r#"title = "Two flows"
duration = "3 s"
[path]
rate = "10 Mbit/s"
rtt = "50 ms"
buffer = "20 packets"
[[flow]]
name = "short"
size = "300 KB"
[[flow]]
name = "bulk"
start = "1 s"
"#;

#[test]
fn algorithms_have_the_five_fields_and_the_labels_of_the_contract() {
    let list = Scratch::new().run(&["algorithms", "--json"]).json();
    let list = list.as_array().expect("an array");
    let fields = ["label", "role", "source", "needs", "hosts"].map(String::from).into();
    let mut labels = BTreeSet::new();
    for algorithm in list {
        assert_eq!(keys(algorithm), fields, "{algorithm}");
        let role = algorithm["role"].as_str().expect("a word");
        assert!(["startup", "avoidance", "whole", "router", "queue"].contains(&role), "{role}");
        assert!(!algorithm["source"].as_str().expect("text").is_empty(), "{algorithm}");
        let hosts = algorithm["hosts"].as_array().expect("an array");
        assert_eq!(hosts.first(), Some(&json!("simulator")), "{algorithm}");
        assert!(
            hosts.iter().all(|host| ["simulator", "kernel", "quic"].iter().any(|name| host == name)),
            "{algorithm}"
        );
        let label = algorithm["label"].as_str().expect("a word");
        assert!(labels.insert((role, label)), "{algorithm} is listed twice");
    }
    // Labels of the contract that the papers of the contract name, by role.
    let startup = "slow-start limited-slow-start smooth-start hoe vegas adaptive-start hybrid-slow-start hystart-linux \
        hystart++ swift-start fast-start delay-slow-start quick-start jump-start liss iss miss js spand cached averaged \
        congestion-manager rate-based-pacing past aron-druschel";
    let avoidance = "reno vegas westwood highspeed scalable bic cubic h-tcp fast exp xcp vcp";
    let rest = [
        ("whole", "bbr"),
        ("queue", "drop-tail red choke codel fq-codel priority policer"),
        ("router", "quick-start xcp vcp"),
    ];
    for (role, list) in [("startup", startup), ("avoidance", avoidance)].into_iter().chain(rest) {
        for label in list.split_whitespace() {
            assert!(labels.contains(&(role, label)), "{role} {label}");
        }
    }
}

#[test]
fn run_prints_the_object_of_the_contract() {
    let contract = json!({ "title": "", "seed": 1, "simulated_s": 20.0,
        "flows": [ { "name": "", "startup": "", "avoidance": "", "start_s": 0.0, "size_bytes": null,
            "completion_s": null, "delivered_bytes": 0, "delivered_packets": 0, "goodput_bit_s": 0.0,
            "retransmits": 0, "timeouts": 0, "lost_packets": 0,
            "startup_exit": { "time_s": 0.0, "cwnd_packets": 0.0, "bdp_packets": 0.0, "overshoot_packets": 0,
                "lost_before_exit_packets": 0, "reason": "loss" },
            "first_flight_packets": 0, "max_cwnd_packets": 0.0, "final_cwnd_packets": 0.0, "delivered_at": [] } ],
        "links": [ { "name": "", "utilization": 0.0, "drops": 0, "marks": 0, "mean_queue_packets": 0.0,
            "max_queue_packets": 0 } ],
        "fairness_jain": 1.0, "engine": { "packet_hops": 0, "cpu_s": 0.0, "wall_s": 0.0 } });
    let scratch = Scratch::new();
    scratch.write("two.toml", SCENARIO);
    let result = scratch.run(&["run", "two.toml", "--json", "--seed", "9"]).json();
    assert_eq!(keys(&result), keys(&contract));
    assert_eq!((&result["title"], &result["seed"]), (&json!("Two flows"), &json!(9)));
    assert_eq!((&result["simulated_s"], &result["flows"][0]["name"]), (&json!(3.0), &json!("short.0")));
    assert_eq!(result["flows"][0]["size_bytes"], json!(300_000));
    assert_eq!(
        (&result["flows"][1]["size_bytes"], &result["flows"][1]["completion_s"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        result["flows"][1]["start_s"].as_f64().map(|s| s > 1.0),
        Some(true),
        "the handshake comes first"
    );
    assert!(
        result["flows"][0]["completion_s"].as_f64().is_some_and(|s| s > 0.24),
        "300 KB take 0.24 s at 10 Mbit/s"
    );
}

#[test]
fn several_runs_add_every_run_and_means_to_the_first_run() {
    let scratch = Scratch::new();
    scratch.write("two.toml", SCENARIO.replace("[path]", "[path]\nloss = 0.01"));
    let one = scratch.run(&["run", "two.toml", "--json"]).json();
    let five = scratch.run(&["run", "two.toml", "--json", "--runs", "5"]).json();
    assert_eq!(one["flows"], five["flows"]);
    assert_eq!((one.get("runs"), one.get("means")), (None, None));
    assert_eq!(five["means"]["seeds"], json!([1, 2, 3, 4, 5]));
    assert_eq!(five["means"]["flows"][1]["goodput_bit_s"]["ci95"].as_array().map(Vec::len), Some(2));
    let runs = five["runs"].as_array().expect("an array of every run");
    assert_eq!(runs.iter().map(|run| &run["seed"]).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!((&runs[0]["flows"], &runs[0]["links"]), (&one["flows"], &one["links"]));
    let third = scratch.run(&["run", "two.toml", "--json", "--seed", "3"]).json();
    assert_eq!(keys(&runs[2]), keys(&third));
    assert_eq!((&runs[2]["flows"], &runs[2]["links"]), (&third["flows"], &third["links"]));
}

#[test]
fn the_grid_sets_the_times_of_delivery_samples() {
    let scratch = Scratch::new();
    scratch.write("two.toml", SCENARIO);
    let result = scratch.run(&["run", "two.toml", "--json", "--grid", "500ms"]).json();
    let times: Vec<f64> = result["flows"][0]["delivered_at"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|p| p[0].as_f64())
        .collect();
    assert!(times.len() >= 2 && times[..2] == [0.5, 1.0], "{times:?}");
}

#[test]
fn without_json_tables_are_printed_and_out_writes_the_object() {
    let scratch = Scratch::new();
    scratch.write("two.toml", SCENARIO);
    let run = scratch.run(&["run", "two.toml", "--out", "results"]);
    assert_eq!((run.code, &*run.err), (0, ""));
    for part in ["Two flows", "short.0", "bulk.0", "slow-start+reno", "bottleneck", "Wrote results/run.json"]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let written = std::fs::read_to_string(scratch.path().join("results/run.json")).expect("run.json");
    let written: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written["flows"][0]["name"], json!("short.0"));
    for table in ["run", "flow", "link", "sample"] {
        let file = scratch.path().join(format!("results/{table}.parquet"));
        let bytes = std::fs::read(file).expect("a Parquet file");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{table}");
    }
    assert_eq!(scratch.snapshot().len(), 8, "the folder, the scenario, results and five files in it");
}

#[test]
fn compare_prints_the_object_of_the_contract_and_writes_the_report() {
    let contract = json!({
        "path": { "inferred_from": null, "rate_bit_s": 0, "rtt_ms": 0, "buffer_packets": 0, "loss": 0.0,
            "mss_bytes": 0, "initial_window_packets": 0, "receiver": "" },
        "connections": [],
        "results": [ { "scheme": "", "size_bytes": 0, "completion_s": { "median": 0.0, "p95": 0.0, "ci95": [] },
            "retransmits_mean": 0.0, "startup_exit": { "time_s": 0.0, "cwnd_packets": 0.0, "reason": "" } } ] });
    let scratch = Scratch::new();
    let arguments = ["--rate", "10 Mbit/s", "--rtt", "50 ms", "--buffer", "20 packets", "--loss", "0.001"];
    let more = [
        "--startup",
        "slow-start,hystart++",
        "--avoidance",
        "reno",
        "--size",
        "30KB,1 MB",
        "--runs",
        "3",
        "--json",
    ];
    let run = scratch.run(&[&["compare"], &arguments[..], &more].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let result: Value = serde_json::from_str(&run.out).expect("JSON");
    assert!(keys(&result).is_superset(&keys(&contract)), "{:?}", keys(&result));
    assert_eq!(
        (&result["path"]["rate_bit_s"], &result["path"]["rtt_ms"]),
        (&json!(10_000_000), &json!(50.0))
    );
    assert_eq!((&result["path"]["buffer_packets"], &result["path"]["loss"]), (&json!(20), &json!(0.001)));
    let cells: BTreeSet<(String, u64)> = result["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|cell| {
            (cell["scheme"].as_str().expect("a word").into(), cell["size_bytes"].as_u64().expect("bytes"))
        })
        .collect();
    let expected =
        ["slow-start+reno", "hystart+++reno"].map(|s| [30_000, 1_000_000].map(|n| (s.to_owned(), n)));
    assert_eq!(cells, expected.into_iter().flatten().collect());
    let command = result["provenance"]["command"].as_str().expect("text");
    assert!(command.starts_with("firstflight compare --rate '10 Mbit/s' --rtt '50 ms'"), "{command}");
    let page = std::fs::read_to_string(scratch.path().join("out/report.html")).expect("report.html");
    assert!(page.contains("hystart++") && !page.contains("<script src"));
    let parquet = std::fs::read(scratch.path().join("out/results.parquet")).expect("results.parquet");
    assert_eq!((&parquet[..4], &parquet[parquet.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    assert_eq!(scratch.snapshot().len(), 4, "only a folder with two files");
}

const CAPTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture/testdata");

#[test]
fn a_capture_is_recognised_by_its_first_bytes_and_a_truncated_one_is_used_with_a_warning() {
    let scratch = Scratch::new();
    let whole = std::fs::read(format!("{CAPTURES}/p2-reno-30KB.pcap")).expect("a capture");
    scratch.write("whole", &whole);
    scratch.write("broken", &whole[..whole.len() - 100]);
    for (name, breaks_off) in [("whole", false), ("broken", true)] {
        let run = scratch.run(&[
            "compare",
            name,
            "--startup",
            "slow-start",
            "--size",
            "30KB",
            "--runs",
            "2",
            "--json",
        ]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(
            run.err.contains(&format!("warning: {name}: the file is truncated after")),
            breaks_off,
            "{}",
            run.err
        );
        let result: Value = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(result["path"]["inferred_from"], json!(name));
        let connection = &result["connections"][0];
        for key in ["bytes", "observed_completion_s", "rerun_completion_s", "observed_retransmits"] {
            assert!(connection.get(key).is_some(), "{key}: {connection}");
        }
        assert_eq!(result["provenance"]["inputs"][0]["name"], json!(name));
    }
}

#[test]
fn path_options_replace_values_inferred_from_the_capture() {
    let scratch = Scratch::new();
    let capture = format!("{CAPTURES}/p2-reno-30KB.pcap");
    let more = [
        "--rate",
        "20 Mbit/s",
        "--buffer",
        "64 packets",
        "--startup",
        "slow-start",
        "--size",
        "30KB",
        "--json",
    ];
    let run = scratch.run(&[&["compare", &*capture][..], &more].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let path = serde_json::from_str::<Value>(&run.out).expect("JSON")["path"].clone();
    assert_eq!((&path["rate_bit_s"], &path["buffer_packets"]), (&json!(20_000_000), &json!(64)));
    assert!(path["rtt_ms"].as_f64().is_some_and(|rtt| rtt > 1.0), "still inferred: {path}");
    let run = scratch.run(&["compare", &capture, "--buffer", "1 BDP"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("--buffer \"1 BDP\": a buffer in BDP needs a rate and an RTT beside it"),
        "{}",
        run.err
    );
}

#[test]
fn a_folder_with_the_name_of_a_preset_does_not_hide_the_preset() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("dsl")).expect("a folder");
    let run = scratch.run(&["compare", "dsl", "--startup", "slow-start", "--size", "30KB", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let path = serde_json::from_str::<Value>(&run.out).expect("JSON")["path"].clone();
    assert_eq!(path["rate_bit_s"], json!(20_000_000));
}

#[test]
fn a_printed_preset_is_a_scenario_that_runs() {
    let scratch = Scratch::new();
    let list = scratch.run(&["presets", "--json"]).json();
    let names: Vec<&str> =
        list.as_array().expect("a list").iter().filter_map(|p| p["name"].as_str()).collect();
    assert!(names.contains(&"cable") && names.len() >= 8, "{names:?}");
    let text = scratch.run(&["presets", "cable"]).out;
    assert!(text.contains("rate = \"300 Mbit/s\"") && text.contains('#'), "{text}");
    scratch.write("cable.toml", text + "[[flow]]\nsize = \"30 KB\"\n");
    assert_eq!(scratch.run(&["run", "cable.toml", "--json"]).json()["flows"][0]["size_bytes"], json!(30_000));
}

#[test]
fn reproduce_prints_a_row_for_a_line_of_the_target_list() {
    let scratch = Scratch::new();
    let contract = ["id", "paper", "where", "expected", "measured", "verdict", "why"];
    for (id, verdict) in [("AS-23", "matches"), ("SP-10", "not-checkable")] {
        let rows = scratch.run(&["reproduce", id, "--json"]).json();
        let rows = rows.as_array().expect("an array");
        assert_eq!(rows.len(), 1);
        for key in contract {
            assert!(rows[0].get(key).is_some(), "{id} has no {key}");
        }
        assert_eq!((rows[0]["id"].as_str(), rows[0]["verdict"].as_str()), (Some(id), Some(verdict)));
    }
    let shown = scratch.run(&["reproduce", "as-23"]);
    assert!(shown.out.contains("AS-23 (V.D): matches") && shown.out.contains("Experiment "), "{shown:?}");
    assert!(scratch.path().join("out/reproduction/images/AS-23.svg").exists());
}

#[test]
fn schema_version_and_completions_are_printed() {
    let scratch = Scratch::new();
    let schema = scratch.run(&["schema"]).json();
    assert!(schema["$defs"].is_object() && schema["properties"]["path"].is_object(), "{schema}");
    let version = scratch.run(&["--version"]);
    let expected = concat!("firstflight ", env!("CARGO_PKG_VERSION"));
    assert!(version.code == 0 && version.out.starts_with(expected), "{version:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = scratch.run(&["completions", shell]);
        assert!(
            script.code == 0 && script.out.contains("firstflight") && script.out.contains("compare"),
            "{shell}"
        );
    }
}

#[test]
fn bash_completes_names_of_presets_and_falls_back_to_files() {
    let scratch = Scratch::new();
    let script = scratch.run(&["completions", "bash"]).out;
    let complete = |command: &str, word: &str| {
        let ask = format!(
            "{script}\nCOMP_WORDS=(firstflight {command} {word}); COMP_CWORD=2; _firstflight firstflight {word} {command}; \
             echo \"${{COMPREPLY[@]}}\"; complete -p firstflight"
        );
        let answer = Command::new("bash").args(["-c", &ask]).output().expect("bash runs");
        String::from_utf8_lossy(&answer.stdout).into_owned()
    };
    for command in ["compare", "presets"] {
        assert!(complete(command, "cab").starts_with("cable\n"), "{}", complete(command, "cab"));
    }
    // No reply, and readline offers files then because the function is registered with `-o default`.
    let file = complete("compare", "server");
    assert!(file.starts_with("\ncomplete ") && file.contains(" -o default "), "{file}");
}

#[test]
fn zsh_and_fish_complete_names_of_presets_beside_files() {
    let scratch = Scratch::new();
    let presets = scratch.run(&["presets", "--json"]).json();
    let names: Vec<&str> =
        presets.as_array().expect("presets").iter().map(|it| it["name"].as_str().expect("a name")).collect();
    let names = names.join(" ");
    let zsh = scratch.run(&["completions", "zsh"]).out;
    let function = format!(
        "_firstflight_inputs() {{\n    _alternative 'presets:path preset:({names})' 'files:file:_files'\n}}\n"
    );
    // Defined before the script's last lines call the completion.
    assert!(
        zsh.find(&function).expect("the function") < zsh.find("\n_firstflight() {").expect("the completion")
    );
    let inputs = zsh.lines().filter(|line| line.contains("'*::inputs ")).collect::<Vec<_>>();
    assert!(inputs.len() == 1 && inputs[0].ends_with(":_firstflight_inputs' \\"), "{inputs:?}");
    let fish = scratch.run(&["completions", "fish"]).out;
    let on = |command: &str, files: &str| {
        format!(
            "complete -c firstflight -n \"__fish_firstflight_using_subcommand {command}\" {files}-a \"{names}\" "
        )
    };
    // With -f fish offers no files.
    assert!(fish.contains(&on("compare", "")) && fish.contains(&on("presets", "-f ")), "{fish}");
}

#[test]
fn every_command_prints_its_help() {
    let scratch = Scratch::new();
    for command in ["compare", "run", "algorithms", "presets", "sender", "schema", "completions"] {
        let run = scratch.run(&[command, "--help"]);
        assert_eq!((run.code, &*run.err), (0, ""), "{command}");
        assert!(run.out.contains("Usage: firstflight") && run.out.contains("Examples:"), "{command}");
    }
}
