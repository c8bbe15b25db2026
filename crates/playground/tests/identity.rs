//! The module answers as the library does natively, byte for byte: on every preset, on captures and on scenarios.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::{as_in_browser, captures, has, module, order};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstflight_playground::{Engine, Silent};
use serde_json::{Value, json};

/// The module in a process of node.
struct Node {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Node {
    /// `None`, with the reason printed, without the target or without node.
    fn start() -> Option<Self> {
        let module = module()?;
        if !has("node") {
            firstflight_skip::skip(
                "node cannot be started; the module runs in Chromium in tests/chromium.rs",
            );
            return None;
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut process = Command::new("node")
            .args([here.join("tests/common/engine.mjs"), here.join("assets/engine.js"), module])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let to = process.stdin.take();
        let from = BufReader::new(process.stdout.take().expect("piped"));
        Some(Self { process, to, from })
    }

    fn answer(&mut self, order: &Value, file: Option<&Path>) -> (Result<Vec<u8>, String>, f64) {
        let to = self.to.as_mut().expect("open until the end");
        writeln!(to, "{}", json!({ "order": order, "file": file })).expect("node reads its pipe");
        let mut line = String::new();
        self.from.read_line(&mut line).expect("node answers");
        let reply: Value = serde_json::from_str(&line).expect("a line of JSON");
        let result = match reply["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(STANDARD.decode(reply["answer"].as_str().expect("an answer")).expect("base64")),
        };
        (result, reply["ms"].as_f64().expect("a time"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The end of its input ends node.
        self.to = None;
        let _ = self.process.wait();
    }
}

/// Orders after a comparison.
const VIEWS: [&str; 4] = ["json", "scenario", "report", "packets"];

/// Holds all answers to a comparison and to `views` to each other. Returns the number of equal answers.
fn same(node: &mut Node, name: &str, compare: &Value, file: Option<&PathBuf>, views: &[&str]) -> u32 {
    let bytes = file.map(|file| std::fs::read(file).expect("readable")).unwrap_or_default();
    let mut native = Engine::default();
    let mut equal = 0;
    let views = views.iter().map(|&view| match view {
        "packets" => json!({ "do": view, "trace": 0 }),
        view => json!({ "do": view }),
    });
    for order in [compare.clone()].into_iter().chain(views) {
        let attached = if order["do"] == "compare" { &bytes[..] } else { &[] };
        let expected =
            native.answer(order.to_string().as_bytes(), attached, &Silent).map(|it| as_in_browser(&it));
        let (found, ms) =
            node.answer(&order, file.filter(|_| order["do"] == "compare").map(PathBuf::as_path));
        if order["do"] == "compare" {
            println!("{name}: {ms:.0} ms in node");
        }
        // A whole answer is too long for a message.
        let short = |it: &Result<Vec<u8>, String>| it.as_ref().map(|it| it.len()).map_err(Clone::clone);
        assert!(found == expected, "{name}, {order}: {:?} is not {:?}", short(&found), short(&expected));
        equal += u32::from(found.is_ok());
    }
    equal
}

const SCHEMES: [&str; 8] = [
    "slow-start",
    "limited-slow-start",
    "hystart++",
    "hystart-linux",
    "hybrid-slow-start",
    "adaptive-start",
    "jump-start",
    "bbr",
];

#[test]
fn presets_have_the_same_bytes_in_the_module() {
    let Some(mut node) = Node::start() else { return };
    for preset in firstflight::preset::PRESETS {
        let order = order(&json!({ "preset": preset.name }), &SCHEMES, 30);
        assert_eq!(same(&mut node, preset.name, &order, None, &VIEWS), 5, "{} has all answers", preset.name);
    }
}

#[test]
fn a_random_path_has_the_same_bytes_in_the_module() {
    let Some(mut node) = Node::start() else { return };
    let path = json!({ "rate": "40 Mbit/s", "rtt": "60 ms", "buffer": "0.5 BDP", "loss": "0.2%" });
    let order = order(&json!({ "path": path }), &SCHEMES, 10);
    assert_eq!(same(&mut node, "40 Mbit/s with loss", &order, None, &VIEWS), 5);
}

#[test]
fn captures_have_the_same_bytes_in_the_module() {
    let Some(mut node) = Node::start() else { return };
    let captures = captures();
    assert!(!captures.is_empty(), "captures ship with the project");
    for capture in &captures {
        let name = capture.file_name().and_then(|it| it.to_str()).expect("a name");
        // A shorter search than the page's: the same code, in a time for tests. The packets search the path once more.
        let order = order(&json!({ "file": name, "paths": 12 }), &["slow-start", "jump-start"], 3);
        let views = if name == "p2-reno-30KB.pcap" { &VIEWS[..] } else { &VIEWS[..3] };
        assert_eq!(
            same(&mut node, name, &order, Some(capture), views),
            views.len() as u32 + 1,
            "{name} has all answers"
        );
    }
}

#[test]
fn a_scenario_and_a_wrong_one_have_the_same_answers_in_the_module() {
    let Some(mut node) = Node::start() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let scenario = folder.join("playground-codel.toml");
    std::fs::write(
        &scenario,
        "title = \"CoDel beside a stream\"\n[path]\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"2 BDP\"\n\
         queue = \"codel\"\n[[flow]]\nprofile = \"linux\"\nsize = \"300 KB\"\n[[udp]]\nname = \"stream\"\nrate = \"5 Mbit/s\"\n",
    )
    .expect("written");
    let order_of = |name: &str| order(&json!({ "file": name }), &["slow-start", "bbr"], 5);
    assert_eq!(same(&mut node, "a scenario", &order_of("codel.toml"), Some(&scenario), &VIEWS), 5);
    let wrong = folder.join("playground-wrong.toml");
    std::fs::write(&wrong, "[path]\nrat = \"20 Mbit/s\"\n").expect("written");
    assert_eq!(same(&mut node, "a wrong scenario", &order_of("wrong.toml"), Some(&wrong), &VIEWS), 0);
    let (refused, _) = node.answer(&order_of("wrong.toml"), Some(&wrong));
    assert!(refused.expect_err("a wrong key").contains("did you mean \"rate\"?"));
}
