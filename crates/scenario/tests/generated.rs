//! The files generated from the format are current, and agree with the reader.

use std::fs;
use std::path::{Path, PathBuf};

use firstflight_scenario::format::SECTIONS;
use firstflight_scenario::{Network, Profile, Scenario, load, parse, preset, schema};
use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_of_the_reference_is_a_scenario() {
    let page = fs::read_to_string(repository().join("docs/scenarios.md")).unwrap();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(parse(example, "scenarios.md").unwrap().scenario.flows[0].count, Some(10));
}

/// Every scenario of the repository, and every preset.
fn examples() -> Vec<(String, String)> {
    let folders =
        ["scenarios", "scenarios/schemes"].map(|folder| fs::read_dir(repository().join(folder)).unwrap());
    let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut texts: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap()))
        .collect();
    assert!(texts.len() >= 4, "scenarios are missing");
    texts.extend(preset::PRESETS.iter().map(|preset| (preset.name.into(), preset.text.into())));
    texts
}

/// Reads an example from where it is: it may name other files.
fn read(name: &str, text: &str) -> Scenario {
    let path = Path::new(name);
    let read = if path.exists() { load(path) } else { parse(text, name) };
    read.unwrap_or_else(|error| panic!("{error}")).scenario
}

#[test]
fn every_example_is_read_and_is_the_same_when_written_out_and_read_again() {
    for (name, text) in examples() {
        let scenario = read(&name, &text);
        let again = parse(&scenario.to_toml(), "written out").unwrap().scenario;
        assert_eq!(again, scenario);
        assert_eq!(again.hash(), scenario.hash());
    }
}

#[test]
fn a_file_is_read_as_its_text_is() {
    let path = repository().join("scenarios/adaptive-start-base.toml");
    let from_text = parse(&fs::read_to_string(&path).unwrap(), &path.display().to_string());
    assert_eq!(load(&path), from_text);
}

#[test]
fn the_schema_takes_every_example_and_what_each_is_written_out_as() {
    let validator = jsonschema::validator_for(&schema::schema()).unwrap();
    for (name, text) in examples() {
        let written = read(&name, &text).to_toml();
        for text in [text, written] {
            let errors: Vec<_> =
                validator.iter_errors(&document(&text)).map(|error| error.to_string()).collect();
            assert_eq!(errors, [""; 0], "{name}");
        }
    }
}

#[test]
fn what_the_schema_can_see_it_refuses_as_the_reader_does() {
    let validator = jsonschema::validator_for(&schema::schema()).unwrap();
    let base = "duration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"9 packets\"\n[[flow]]\n";
    assert!(parse(base, "").is_ok() && validator.is_valid(&document(base)));
    for line in [
        "seed = 1",
        "start = 5",
        "start = \"5 mbps\"",
        "start = { evry = \"5 s\" }",
        "start = { uniform = [\"5 s\"] }",
        "size = { pareto = { mean = \"5 packets\", shape = 1.0 } }",
        "size = \"5 BDP\"",
        "count = 0",
        "count = 1000000000000",
        "count = 1.5",
        "name = \"a b\"",
        "recovery = \"rack\"",
        "idle_restart = \"paced\"",
        "rounds = { count = 3 }",
        "startup = \"slow-start+\"",
        "startup = \"reno\"",
        "startup = { kind = \"slow-start\", filter = 1 }",
        "startup = { filter = 1 }",
        "avoidance = \"slow-start\"",
        "min_rto = 1.0",
        "handshake = \"no\"",
    ] {
        let text = format!("{base}{line}\n");
        assert!(parse(&text, "").is_err(), "the reader takes {line}");
        assert!(!validator.is_valid(&document(&text)), "the schema takes {line}");
    }
}

/// The same schema with the target of every `$ref` in place of the reference.
fn without_references(schema: &Value, definitions: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let inlined =
                map.iter().filter(|(key, _)| *key != "$defs").flat_map(|(key, value)| match value {
                    Value::String(target) if key == "$ref" => {
                        let name = target.strip_prefix("#/$defs/").expect("references lead to $defs");
                        let target = without_references(&definitions[name], definitions);
                        target.as_object().expect("a schema is an object").clone().into_iter().collect()
                    }
                    _ => vec![(key.clone(), without_references(value, definitions))],
                });
            Value::Object(inlined.collect())
        }
        Value::Array(values) => values.iter().map(|value| without_references(value, definitions)).collect(),
        plain => plain.clone(),
    }
}

/// Every table, array and value of `value`, as the path of keys and indices that leads to it.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.into());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), all))
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(i, value)| pointers(value, &format!("{at}/{i}"), all));
        }
        _ => {}
    }
}

#[test]
fn references_change_no_verdict_on_examples_and_their_mutants() {
    let schema = schema::schema();
    let shared = jsonschema::validator_for(&schema).unwrap();
    let inlined = jsonschema::validator_for(&without_references(&schema, &schema["$defs"])).unwrap();
    let documents: Vec<_> = examples().iter().map(|(_, text)| document(text)).collect();
    // Values of every type, some of which fit at other places.
    let mut values = vec![json!(null), json!(true), json!(0), json!(0.5), json!(-1), json!([]), json!({})];
    values.extend(["1 s", "2 packets", "3 KB", "1 BDP", "cubic", "bbr", "unlimited"].map(Value::from));
    let mut verdicts = [0, 0];
    for (number, document) in documents.iter().enumerate() {
        assert!(shared.is_valid(document) && inlined.is_valid(document));
        let mut places = vec![];
        pointers(document, "", &mut places);
        let donor = &documents[(number + 1) % documents.len()];
        let mut donors = vec![];
        pointers(donor, "", &mut donors);
        for (at, place) in places.iter().enumerate() {
            let from_donor = donor.pointer(&donors[at % donors.len()]).unwrap();
            let own = &values[at % values.len()];
            let other_own = &values[(at + 5) % values.len()];
            for value in [own, other_own, from_donor] {
                let mut mutant = document.clone();
                *mutant.pointer_mut(place).unwrap() = value.clone();
                let verdict = shared.is_valid(&mutant);
                assert_eq!(verdict, inlined.is_valid(&mutant), "{place} = {value}");
                verdicts[usize::from(verdict)] += 1;
            }
        }
    }
    assert!(verdicts[0] > 100 && verdicts[1] > 20, "refused and accepted: {verdicts:?}");
}

/// A value that no key takes.
const BOGUS: &str = "1979-05-27";

#[test]
fn the_reader_reads_every_key_of_the_format() {
    // A date in place of any key's value must be noticed, under that key.
    for section in SECTIONS {
        for key in section.keys {
            let text = with_bogus(section.name, key.name);
            let error = parse(&text, "").expect_err(&text);
            let last = error.place.key.rsplit('.').next().unwrap_or_default();
            assert_eq!(last, key.name, "{error}\n{text}");
            assert_eq!(error.place.value.as_deref(), Some(BOGUS), "{error}\n{text}");
        }
    }
}

/// A file in which only the value of `key` in `section` is wrong. The wrong line stands first in its table or in
/// place of the right one.
fn with_bogus(section: &str, key: &str) -> String {
    let (before, line) = match section {
        "Top level" => ("", key.into()),
        "[path]" => ("path.", key.into()),
        "[packet]" => ("packet.", key.into()),
        "queue" => ("path.queue.", key.into()),
        "loss" => ("path.loss.", key.into()),
        "trace" => ("path.trace.", key.into()),
        "shaper" => ("path.shaper.", key.into()),
        "reorder" => ("path.reorder.", key.into()),
        "[[flow]]" => ("flow.", key.into()),
        "rounds" => ("flow.rounds.", key.into()),
        "start" => ("flow.start.", key.into()),
        "distribution of sizes" => ("flow.size.", key.into()),
        "distribution of times" => ("flow.lifetime.", key.into()),
        "distribution of delays" => ("flow.extra_rtt.", key.into()),
        "pareto (sizes)" => ("flow.size.pareto.", key.into()),
        "pareto (times)" => ("flow.lifetime.pareto.", key.into()),
        "pareto (delays)" => ("flow.extra_rtt.pareto.", key.into()),
        "[[telnet]]" => ("telnet.", key.into()),
        "[[web]]" => ("web.", key.into()),
        "lognormal" => ("flow.size.lognormal.", key.into()),
        "tail" => ("flow.size.lognormal.tail.", key.into()),
        "distribution of counts" => ("web.objects.", key.into()),
        "pareto (counts)" => ("web.objects.pareto.", key.into()),
        "[[udp]]" => ("udp.", key.into()),
        "on_off" => ("udp.on_off.", key.into()),
        "[[node]]" => ("node.", key.into()),
        "[[link]]" => ("link.", key.into()),
        topology if topology.starts_with("[topology]") => ("topology.", String::from(key)),
        "level" => ("topology.stub.", key.into()),
        other => panic!("the test does not know {other}"),
    };
    let target = format!("{before}{line}");
    let graph = matches!(section, "[[node]]" | "[[link]]") || matches!(key, "node" | "link" | "from" | "to");
    let topology = section.starts_with("[topology]") || section == "level" || key == "topology";
    let network: &[(&str, &str)] = match (graph, topology) {
        (true, _) => GRAPH,
        (_, true) => match section {
            "[topology] three-router" => &[("topology.kind", "\"three-router\"")],
            "[topology] graphml" => &[
                ("topology.kind", "\"graphml\""),
                ("topology.file", "\"none\""),
                ("topology.buffer", "\"9 packets\""),
            ],
            "[topology] transit-stub" | "level" => &[("topology.kind", "\"transit-stub\"")],
            _ => TOPOLOGY,
        },
        _ => PATH,
    };
    let mut document = Document::default();
    let sources = [
        ("flow.name", "\"f\""),
        ("telnet.name", "\"t\""),
        ("web.name", "\"w\""),
        ("udp.rate", "\"1 Mbit/s\""),
    ];
    let ends = [
        ("telnet.from", "\"a\""),
        ("telnet.to", "\"b\""),
        ("web.from", "\"a\""),
        ("web.to", "\"b\""),
        ("flow.from", "\"a\""),
        ("flow.to", "\"b\""),
        ("udp.from", "\"a\""),
        ("udp.to", "\"b\""),
    ];
    for (path, value) in network.iter().copied().chain(sources).chain(ends.into_iter().filter(|_| graph)) {
        document.set(path, value);
    }
    document.set("duration", "\"1 s\"");
    for sibling in SIBLINGS.iter().filter(|(group, ..)| target.starts_with(group)) {
        document.set(sibling.1, sibling.2);
    }
    if section == "trace" {
        document.0.retain(|(path, _)| path != "path.rate");
    }
    document.set(&target, BOGUS);
    document.text()
}

const PATH: &[(&str, &str)] =
    &[("path.rate", "\"1 Mbit/s\""), ("path.rtt", "\"10 ms\""), ("path.buffer", "\"9 packets\"")];
const TOPOLOGY: &[(&str, &str)] = &[
    ("topology.kind", "\"parking-lot\""),
    ("topology.hops", "2"),
    ("topology.rate", "\"1 Mbit/s\""),
    ("topology.rtt", "\"10 ms\""),
    ("topology.buffer", "\"9 packets\""),
];
const GRAPH: &[(&str, &str)] = &[
    ("node.name", "\"a\""),
    ("node2.name", "\"b\""),
    ("link.from", "\"a\""),
    ("link.to", "\"b\""),
    ("link.both", "true"),
    ("link.rate", "\"1 Mbit/s\""),
    ("link.delay", "\"1 ms\""),
    ("link.buffer", "\"9 packets\""),
];
/// Further keys that the tables inside tables need beside the wrong key.
const SIBLINGS: &[(&str, &str, &str)] = &[
    ("path.queue.", "path.queue.kind", "\"red\""),
    ("path.shaper.", "path.shaper.rate", "\"1 Mbit/s\""),
    ("path.reorder.", "path.reorder.share", "0.01"),
    ("path.reorder.", "path.reorder.delay", "\"5 ms\""),
    ("path.trace.", "path.trace.file", "\"none\""),
    ("path.loss.", "path.loss.mean", "0.01"),
    ("path.loss.", "path.loss.burst", "4"),
    ("flow.size.pareto.", "flow.size.pareto.mean", "\"9 packets\""),
    ("flow.lifetime.pareto.", "flow.lifetime.pareto.mean", "\"9 s\""),
    ("flow.extra_rtt.pareto.", "flow.extra_rtt.pareto.mean", "\"9 ms\""),
    ("flow.rounds.", "flow.rounds.count", "2"),
    ("flow.rounds.", "flow.rounds.idle", "\"9 s\""),
    ("flow.size.lognormal.", "flow.size.lognormal.median", "\"9 packets\""),
    ("flow.size.lognormal.", "flow.size.lognormal.sigma", "1"),
    ("flow.size.lognormal.tail.", "flow.size.lognormal.tail.from", "\"9 packets\""),
    ("web.objects.pareto.", "web.objects.pareto.mean", "2"),
    ("udp.on_off.", "udp.on_off.on", "\"9 s\""),
];

/// Keys and values by table, written as TOML with one heading for each table.
#[derive(Default)]
struct Document(Vec<(String, String)>);

impl Document {
    fn set(&mut self, path: &str, value: &str) {
        // A wrong value of a whole table takes the place of its keys.
        self.0.retain(|(other, _)| other != path && !other.starts_with(&format!("{path}.")));
        if path == "node" {
            self.0.retain(|(other, _)| !other.starts_with("node2."));
        }
        self.0.push((path.into(), value.into()));
    }

    fn text(&self) -> String {
        let table = |path: &str| path.split_once('.').map_or(String::new(), |(table, _)| table.into());
        let mut tables: Vec<_> = self.0.iter().map(|(path, _)| table(path)).collect();
        tables.sort();
        tables.dedup();
        let mut out = String::new();
        for name in tables {
            match &name[..] {
                "" => {}
                "path" | "packet" | "topology" => out += &format!("[{name}]\n"),
                list => out += &format!("[[{}]]\n", list.trim_end_matches('2')),
            }
            for (path, value) in self.0.iter().filter(|(path, _)| table(path) == name) {
                let key = path.strip_prefix(&format!("{name}.")).unwrap_or(path);
                out += &format!("{key} = {value}\n");
            }
        }
        out
    }
}

#[test]
fn every_preset_is_a_path_without_traffic_that_cites_a_source_for_each_value() {
    for preset in preset::PRESETS {
        let scenario = preset.load().scenario;
        assert!(matches!(scenario.network, Network::Dumbbell(_)), "{}", preset.name);
        assert!(scenario.flows.is_empty() && scenario.udp.is_empty(), "{}", preset.name);
        assert!(!scenario.title.is_empty(), "{}", preset.name);
        let lines: Vec<_> = preset.text.lines().collect();
        for key in ["rate", "rtt", "buffer", "loss"] {
            let Some(at) = lines.iter().position(|line| line.starts_with(&format!("{key} ="))) else {
                continue;
            };
            assert!(lines[at - 1].starts_with('#'), "{}: nothing is said of {key}", preset.name);
        }
    }
    assert_eq!(preset::PRESETS.len(), 8);
}

#[test]
fn a_preset_that_does_not_exist_is_refused_with_the_nearest_name() {
    assert_eq!(
        preset::preset("fiber").unwrap_err().to_string(),
        "there is no path preset \"fiber\"; expected one of: fibre, cable, dsl, lte, geo-satellite, leo-satellite, \
         transatlantic, data-centre; did you mean \"fibre\"?"
    );
    assert_eq!(preset::preset("data-centre").unwrap().name, "data-centre");
}

#[test]
fn every_profile_gives_a_flow_the_schemes_of_its_stack() {
    let label = |profile: Profile, keys: &str| {
        let text = format!(
            "duration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"9 packets\"\n\
             [[flow]]\nprofile = \"{}\"\n{keys}",
            profile.word()
        );
        parse(&text, "").unwrap().scenario.flows.remove(0).scheme.label()
    };
    assert_eq!(
        [Profile::Rfc, Profile::Ns2, Profile::Linux].map(|profile| label(profile, "")),
        ["slow-start+reno", "slow-start+reno", "hystart-linux+cubic"]
    );
    // HyStart is a part of Linux's CUBIC, not of its slow start.
    assert_eq!(label(Profile::Linux, "avoidance = \"reno\""), "slow-start+reno");
    assert_eq!(label(Profile::Linux, "startup = \"slow-start\""), "slow-start+cubic");
    assert_eq!(label(Profile::Rfc, "avoidance = \"cubic\""), "slow-start+cubic");
}

fn document(text: &str) -> Value {
    table(DeTable::parse(text).unwrap().get_ref())
}

fn table(table: &DeTable<'_>) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), plain(value.get_ref()))).collect()
}

fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Integer(n) => Value::from(n.as_str().parse::<i64>().unwrap()),
        DeValue::Float(x) => Value::from(x.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(values) => values.iter().map(|value| plain(value.get_ref())).collect(),
        DeValue::Table(inner) => table(inner),
    }
}
