use std::collections::BTreeSet;
use std::fs;
use std::path::{Path as FilePath, PathBuf};

use firstflight_contract::{Nanos, Rate};

use super::*;
use crate::format::{self, Section};
use crate::model::{self, Limit};
use crate::read::parse_in;
use crate::scheme::{BUILT_IN, SchemeSpec};
use crate::{Profile, Recovery, preset};
use firstflight_document::Node as TreeNode;
use firstflight_document::quantity::{Amount, Depth};
use firstflight_random::Dist;

/// A builder whose setters can be called by name.
trait ByName: Sized {
    fn empty() -> Self;
    fn call(self, key: &str, value: &Value) -> Option<Self>;
    fn tree(self) -> Tree;

    /// The builder with every value of `tree`; required keys, which only constructors take, are set directly.
    fn of(tree: &Tree) -> Self
    where
        Self: From<Tree>,
    {
        tree.entries().iter().fold(Self::empty(), |table, entry| {
            let value = nested(&entry.name, &entry.node.value);
            let (before, key) = (table.tree(), &entry.name);
            Self::from(before.clone()).call(key, &value).unwrap_or_else(|| {
                let mut tree = before;
                tree.set(key, value);
                Self::from(tree)
            })
        })
    }
}

macro_rules! by_name {
    ($($name:ident: $($setter:ident),+;)+) => { $(
        impl From<Tree> for $name {
            fn from(tree: Tree) -> Self { Self(tree) }
        }
        impl ByName for $name {
            fn empty() -> Self { Self(Tree::default()) }
            fn call(self, key: &str, value: &Value) -> Option<Self> {
                $(if let Some(set) = self.clone().$setter(key, value) { return Some(set); })+
                None
            }
            fn tree(self) -> Tree { self.0 }
        }
    )+ };
}

by_name! {
    Path: set_own; Packet: set_own; Flow: set_own, set_stack; Telnet: set_own, set_stack; Web: set_own, set_stack;
    Udp: set_own; OnOff: set_own; Rounds: set_own; Queue: set_own; Loss: set_own; Reorder: set_own; Shaper: set_own; Node: set_own; Link: set_own; ParkingLot: set_own;
    ThreeRouter: set_own; TransitStub: set_own; Level: set_own; GraphMl: set_own;
}

/// A value that passed through the builder of its table, if it has one.
fn nested(key: &str, value: &Value) -> Value {
    let Value::Table(tree) = value else { return value.clone() };
    Value::Table(match key {
        "queue" => Queue::of(tree).tree(),
        "loss" => Loss::of(tree).tree(),
        "shaper" => Shaper::of(tree).tree(),
        "reorder" => Reorder::of(tree).tree(),
        "rounds" => Rounds::of(tree).tree(),
        "on_off" => OnOff::of(tree).tree(),
        "cross" => Flow::of(tree).tree(),
        "top" | "transit" | "stub" => Level::of(tree).tree(),
        _ => tree.clone(),
    })
}

/// The builder with the values of `tree`, set by the public setters where the values have the right types.
fn builder_of(tree: &Tree) -> Builder {
    let each =
        |builder: Builder, name: &str, tables: &[TreeNode], add: fn(Builder, &Tree) -> Builder| match tables
            .iter()
            .map(|node| node.value.as_table())
            .collect::<Option<Vec<_>>>()
        {
            Some(tables) if !tables.is_empty() => tables.into_iter().fold(builder, add),
            _ => builder.set(name, Value::Array(tables.to_vec())),
        };
    tree.entries().iter().fold(Scenario::builder(), |builder, entry| {
        let name = &*entry.name;
        match (name, &entry.node.value) {
            ("title", Value::Text(title)) => builder.title(title),
            ("duration", Value::Text(duration)) => builder.duration(duration),
            ("seed", Value::Integer(seed)) if u64::try_from(*seed).is_ok() => builder.seed(*seed as u64),
            ("path", Value::Table(path)) => builder.path(Path::of(path)),
            ("packet", Value::Table(packet)) => builder.packet(Packet::of(packet)),
            ("topology", Value::Table(topology)) => {
                match topology.get("kind").and_then(|kind| kind.value.as_str()) {
                    Some("parking-lot") => builder.topology(ParkingLot::of(topology)),
                    Some("three-router") => builder.topology(ThreeRouter::of(topology)),
                    Some("transit-stub") => builder.topology(TransitStub::of(topology)),
                    _ => builder.topology(GraphMl::of(topology)),
                }
            }
            ("node", Value::Array(all)) => each(builder, name, all, |b, t| b.node(Node::of(t))),
            ("link", Value::Array(all)) => each(builder, name, all, |b, t| b.link(Link::of(t))),
            ("flow", Value::Array(all)) => each(builder, name, all, |b, t| b.flow(Flow::of(t))),
            ("telnet", Value::Array(all)) => each(builder, name, all, |b, t| b.telnet(Telnet::of(t))),
            ("web", Value::Array(all)) => each(builder, name, all, |b, t| b.web(Web::of(t))),
            ("udp", Value::Array(all)) => each(builder, name, all, |b, t| b.udp(Udp::of(t))),
            (_, value) => builder.set(name, value.clone()),
        }
    })
}

fn tree_of(text: &str) -> Tree {
    Source { text: Some(text), ..Source::default() }.tree().unwrap()
}

/// Every scenario of the repository and every preset, with its folder.
fn examples() -> Vec<(PathBuf, String)> {
    let root = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![];
    for folder in ["scenarios", "scenarios/schemes"].map(|folder| root.join(folder)) {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "toml") {
                all.push((folder.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(all.len() > 20, "scenarios are missing: {}", all.len());
    all.extend(preset::PRESETS.iter().map(|preset| (root.clone(), preset.text.to_owned())));
    all
}

/// The scenario, or the error without the place in a file.
fn verdict(read: Result<Scenario, Error>) -> Result<Scenario, Error> {
    read.map_err(|error| error.in_file("", None).with_value(None))
}

fn assert_same_as_file(folder: &FilePath, tree: &Tree) -> bool {
    let text = tree.to_toml();
    let file = parse_in(Some(folder), &text, "", BUILT_IN).map(|loaded| loaded.scenario);
    let built = builder_of(tree).folder(folder).build();
    let accepted = built.is_ok();
    assert_eq!(verdict(built), verdict(file), "{text}");
    accepted
}

#[test]
fn a_builder_gives_the_scenario_of_the_file() {
    for (folder, text) in examples() {
        let file = parse_in(Some(&folder), &text, "", BUILT_IN).unwrap().scenario;
        let tree = tree_of(&text);
        assert!(assert_same_as_file(&folder, &tree));
        let built = builder_of(&tree).folder(&folder).build().unwrap();
        assert_eq!(built, file);
        assert_eq!(parse_in(Some(&folder), &built.to_toml(), "", BUILT_IN).unwrap().scenario, built);
        assert_eq!(built.to_builder().build().unwrap(), built);
    }
}

/// Replaces the values of a tree, one after another, by `value`.
fn mutants(tree: &Tree, value: &Value) -> Vec<Tree> {
    let inside = |node: &TreeNode| -> Vec<Value> {
        match &node.value {
            Value::Table(table) => mutants(table, value).into_iter().map(Value::Table).collect(),
            Value::Array(nodes) => {
                let one = |at: usize| {
                    let Value::Table(table) = &nodes[at].value else { return vec![] };
                    let put = |mutant| {
                        let mut nodes = nodes.clone();
                        nodes[at] = Value::Table(mutant).into();
                        Value::Array(nodes)
                    };
                    mutants(table, value).into_iter().map(put).collect()
                };
                (0..nodes.len()).flat_map(one).collect()
            }
            _ => vec![],
        }
    };
    let mut all = vec![];
    for entry in tree.entries() {
        for replacement in inside(&entry.node).into_iter().chain([value.clone()]) {
            let mut mutant = tree.clone();
            mutant.set(&entry.name, replacement);
            all.push(mutant);
        }
        let mut without = tree.clone();
        without.remove(&entry.name);
        without.set(&format!("{}x", entry.name), entry.node.value.clone());
        all.push(without);
    }
    all
}

#[test]
fn a_builder_refuses_with_the_errors_of_the_file() {
    let values = [
        Value::text("5 packets"),
        Value::text("40 mbps"),
        Value::text("0 s"),
        Value::text("slow-strat"),
        Value::Flag(true),
        Value::Integer(-1),
        Value::Integer(3),
        Value::Float(0.5),
        Value::array([]),
        Value::table([("kind", Value::text("red")), ("shape", Value::Float(2.0))]),
    ];
    let (mut refused, mut accepted) = (0, 0);
    for (number, (folder, text)) in examples().iter().enumerate() {
        // Two values for each example keep the test short; all values meet many examples.
        for offset in [0, 3] {
            for mutant in mutants(&tree_of(text), &values[(number + offset) % values.len()]) {
                match assert_same_as_file(folder, &mutant) {
                    true => accepted += 1,
                    false => refused += 1,
                }
            }
        }
    }
    assert!(refused > 500 && accepted > 20, "{refused} refused, {accepted} accepted");
}

#[test]
fn every_key_of_the_format_has_a_setter_or_a_constructor() {
    fn check<T: ByName>(section: &Section, required: &[&str]) {
        for key in section.keys {
            let set = T::empty().call(key.name, &Value::Flag(true)).is_some();
            assert!(set != required.contains(&key.name), "{}: {}", section.name, key.name);
        }
    }
    check::<Path>(&format::PATH, &["rate", "trace", "rtt", "buffer"]);
    check::<Packet>(&format::PACKET, &[]);
    check::<Flow>(&format::FLOW, &[]);
    check::<Telnet>(&format::TELNET, &[]);
    check::<Web>(&format::WEB, &[]);
    check::<Udp>(&format::UDP, &["rate"]);
    check::<OnOff>(&format::ON_OFF, &["on", "off"]);
    check::<Rounds>(&format::ROUNDS, &["count", "idle"]);
    check::<Queue>(&format::QUEUE, &["kind"]);
    check::<Loss>(&format::LOSS, &["mean", "burst"]);
    check::<Reorder>(&format::REORDER, &["share", "delay"]);
    check::<Shaper>(&format::SHAPER, &["rate", "burst"]);
    check::<Node>(&format::NODE, &["name"]);
    check::<Link>(&format::LINK, &["from", "to", "rate", "trace", "delay", "buffer"]);
    check::<ParkingLot>(&format::PARKING_LOT, &["kind", "hops", "rate", "rtt", "buffer"]);
    check::<ThreeRouter>(&format::THREE_ROUTER, &["kind"]);
    check::<TransitStub>(&format::TRANSIT_STUB, &["kind"]);
    check::<Level>(&format::LEVEL, &[]);
    check::<GraphMl>(&format::GRAPHML, &["kind", "file", "buffer"]);
    let root: BTreeSet<_> = format::ROOT.keys.iter().map(|key| key.name).collect();
    let builder = ["title", "duration", "seed", "path", "packet", "topology", "node", "link", "flow", "udp"];
    assert_eq!(root, builder.into_iter().chain(["telnet", "web"]).collect());
}

#[test]
fn typed_values_and_text_are_equal() {
    let build = |path: Path, flow: Flow| Scenario::builder().path(path).flow(flow).build().unwrap();
    let text = build(
        Path::new("40 Mbit/s", "100 ms", "1 BDP").queue("codel"),
        Flow::new()
            .profile("linux")
            .size("300 KB")
            .start("1.5 s")
            .extra_rtt(Law::uniform("0 ms", "40 ms"))
            .recovery("newreno")
            .initial_window("10 packets")
            .min_rto("200 ms")
            .startup("slow-start")
            .avoidance("reno"),
    );
    let typed = build(
        Path::new(Rate(40_000_000), Nanos::from_millis(100), Depth::Bdp(1_000_000))
            .queue(model::Queue::Codel(model::Codel::STANDARD)),
        Flow::new()
            .profile(Profile::Linux)
            .size(Amount::Bytes(300_000))
            .start(core::time::Duration::from_millis(1500))
            .extra_rtt(Dist::Uniform(Nanos::ZERO, Nanos::from_millis(40)))
            .recovery(Recovery::NewReno)
            .initial_window(Amount::Packets(10))
            .min_rto(Nanos::from_millis(200))
            .scheme(&SchemeSpec::parse("slow-start+reno").unwrap()),
    );
    assert_eq!(typed, text);
    // 40 Mbit/s x 100 ms = 500 000 bytes; at 1500 bytes 333.3 packets.
    let model::Network::Dumbbell(path) = typed.network else { panic!("a path is a dumbbell") };
    assert_eq!(path.buffer, Limit::Packets(333));
}

#[test]
fn every_law_of_the_format_can_be_built() {
    let size = |law: Law<kind::Amount>| {
        let path = Path::new("1 Mbit/s", "1 s", "9 packets");
        Scenario::builder().path(path).flow(Flow::new().size(law)).build().unwrap().flows[0].size
    };
    assert_eq!(size(Law::exponential("1 KB")), Some(Dist::Exponential(1000)));
    assert_eq!(size(Law::pareto("1 KB", 1.5)), Some(Dist::Pareto { mean: 1000, shape: 1.5 }));
    assert_eq!(size(Law::pareto_ii("1 KB", 1.5)), Some(Dist::ParetoII { mean: 1000, shape: 1.5 }));
    let lognormal = |tail| Some(Dist::Lognormal { median: 1000, sigma: 0.5, tail });
    assert_eq!(size(Law::lognormal("1 KB", 0.5)), lognormal(None));
    assert_eq!(size(Law::lognormal("1 KB", 0.5).tail("3 KB", 1.1)), lognormal(Some((3000, 1.1))));
    let every = Flow::new().start(every("50 ms")).count(3).size("1 KB");
    let scenario = Scenario::builder().path(Path::new("1 Mbit/s", "1 s", "9 packets")).flow(every).build();
    assert_eq!(scenario.unwrap().flows[0].start, model::Start::Every(Nanos::from_millis(50)));
}

#[test]
fn a_built_scenario_is_refused_at_the_key() {
    let path = || Path::new("1 Mbit/s", "1 s", "9 packets");
    let message = |builder: Builder| builder.build().unwrap_err().to_string();
    assert_eq!(
        message(Scenario::builder()),
        "there is no network; expected [path], [topology], or [[node]] and [[link]]"
    );
    assert_eq!(
        message(Scenario::builder().path(Path::new(Rate(0), "1 s", "9 packets"))),
        "path.rate = \"0 bit/s\": a rate of zero carries nothing; expected a rate above zero such as \"40 Mbit/s\""
    );
    assert_eq!(
        message(Scenario::builder().path(path()).flow(Flow::new().size("1 KB")).flow(Flow::new())),
        "flow[1]: the flows of \"flow1\" never finish, and nothing ends the run; expected a size, a lifetime, or a \
         duration"
    );
    assert_eq!(
        message(Scenario::builder().path(path().loss(1.0))),
        "path.loss = 1.0: out of range; expected a number from 0 to 1 (exclusive), or a table of: mean, burst"
    );
    let red = Queue::new("red").min("5 packets").max("3 packets");
    assert_eq!(
        message(Scenario::builder().path(path().queue(red))),
        "path.queue.max = \"3 packets\": RED's max (3 packets) is not above its min (5 packets)"
    );
}
