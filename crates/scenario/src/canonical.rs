//! Canonical form of a scenario: every default written out, and the hash of that text.
//!
//! Two files that describe the same experiment, one of which leaves out a default or has `1 BDP` for `500 packets`, have the
//! same canonical form. Reading the canonical form gives the same [`Scenario`].

use core::fmt::Write;

use firstflight_contract::{Nanos, Rate, Role};
use firstflight_net::settings::Field;
use sha2::{Digest, Sha256};

use crate::format::{EAGER, UNLIMITED};
use crate::model::{
    Endpoints, FlowGroup, Graph, Interval, Limit, Network, Path, Queue, Reads, Reorder, Rounds, Scenario,
    Shaper, Source, Start, UdpSource,
};
use crate::scheme::SchemeSpec;
use crate::stack;
use crate::trace::LinkTrace;
use firstflight_document::quantity::{show_bytes, show_rate, show_time};
use firstflight_document::{Tree, Value};
use firstflight_random::Dist;

impl Scenario {
    /// The scenario as a file without defaults. [`crate::parse`] reads it back unchanged; if it names traces,
    /// [`crate::load`] does so in their folder.
    pub fn to_toml(&self) -> String {
        self.to_tree().to_toml()
    }

    /// SHA-256 of [`Scenario::to_toml`], in hexadecimal: equal for files that describe the same experiment.
    pub fn hash(&self) -> String {
        Sha256::digest(self.to_toml()).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// The canonical form as a tree.
    pub(crate) fn to_tree(&self) -> Tree {
        let mut root = Tree::default();
        root.set("title", Value::text(&self.title));
        if let Some(duration) = self.duration {
            root.set("duration", time(duration));
        }
        root.set("seed", Value::Integer(self.seed.into()));
        let ack_size = self.packet.ack_size.map(|size| ("ack_size", bytes(size.into())));
        let packet = [("size", bytes(self.packet.size.into()))].into_iter().chain(ack_size);
        root.set("packet", Value::table(packet));
        match &self.network {
            Network::Dumbbell(path) => root.set("path", Value::Table(dumbbell(path))),
            Network::Graph(graph) => nodes_and_links(graph, &mut root),
        }
        for flow in &self.flows {
            let name = match flow.source {
                Source::Flow => "flow",
                Source::Telnet(_) => "telnet",
                Source::Web(_) => "web",
            };
            root.push(name, group(flow, &self.network));
        }
        for udp in &self.udp {
            root.push("udp", udp_source(udp, &self.network));
        }
        root
    }
}

fn dumbbell(path: &Path) -> Tree {
    let mut out = Tree::default();
    supply(path.rate, path.trace.as_ref(), &mut out);
    out.set("rtt", time(path.rtt));
    hop(path.buffer, &path.queue, path.shaper, &mut out);
    losses(path.loss, path.loss_burst, &path.drop, path.reorder, &mut out);
    out.set("access_rate", rate(path.access_rate));
    out
}

fn nodes_and_links(graph: &Graph, root: &mut Tree) {
    for node in &graph.nodes {
        let mut out = Tree::default();
        out.set("name", Value::text(&node.name));
        out.set("access_rate", rate(node.access_rate));
        if let Some(subnet) = &node.subnet {
            out.set("subnet", Value::text(subnet));
        }
        root.push("node", out);
    }
    for link in &graph.links {
        let mut out = Tree::default();
        out.set("name", Value::text(&link.name));
        out.set("from", Value::text(&graph.nodes[link.from].name));
        out.set("to", Value::text(&graph.nodes[link.to].name));
        supply(link.rate, link.trace.as_ref(), &mut out);
        out.set("delay", time(link.delay));
        out.set("cost", Value::Integer(link.cost.into()));
        hop(link.buffer, &link.queue, link.shaper, &mut out);
        losses(link.loss, link.loss_burst, &link.drop, link.reorder, &mut out);
        root.push("link", out);
    }
}

fn supply(own: Rate, trace: Option<&LinkTrace>, out: &mut Tree) {
    match trace {
        None => out.set("rate", rate(own)),
        Some(trace) => out.set("trace", Value::own(trace.clone())),
    }
}

fn hop(buffer: Limit, discipline: &Queue, shaper: Option<Shaper>, out: &mut Tree) {
    out.set("buffer", limit(buffer));
    out.set("queue", queue(discipline));
    if let Some(shaper) = shaper {
        out.set("shaper", self::shaper(shaper));
    }
}

/// Packets that the wire loses or lets others overtake.
fn losses(loss: f64, burst: f64, drop: &[u32], reorder: Option<Reorder>, out: &mut Tree) {
    let loss = Value::Float(loss);
    out.set(
        "loss",
        if burst == 1.0 { loss } else { Value::table([("mean", loss), ("burst", Value::Float(burst))]) },
    );
    if !drop.is_empty() {
        out.set("drop", Value::array(drop.iter().map(|&number| Value::Integer(number.into()))));
    }
    if let Some(reorder) = reorder {
        out.set("reorder", self::reorder(reorder));
    }
}

fn group(flow: &FlowGroup, network: &Network) -> Tree {
    let mut out = Tree::default();
    out.set("name", Value::text(&flow.name));
    out.set("profile", Value::text(flow.profile.word()));
    let count = flow.count.map_or_else(|| Value::text(UNLIMITED), |count| Value::Integer(count.into()));
    out.set(if matches!(flow.source, Source::Web(_)) { "sessions" } else { "count" }, count);
    out.set("start", start(flow.start));
    out.set("size", flow.size.map_or_else(|| Value::text(UNLIMITED), |size| dist(size, bytes)));
    traffic(flow, &mut out);
    if let Some(lifetime) = flow.lifetime {
        out.set("lifetime", dist(lifetime, time));
    }
    if let Some(transfers) = flow.rounds {
        out.set("rounds", rounds(transfers));
    }
    scheme(&flow.scheme, &mut out);
    stack::texts(flow, network).for_each(|(key, value)| out.set(key, value));
    out
}

/// The keys that differ between transfers, telnet and web.
fn traffic(flow: &FlowGroup, out: &mut Tree) {
    let parallel = Value::Integer(flow.parallel.into());
    match flow.source {
        Source::Flow => out.set("parallel", parallel),
        Source::Telnet(Interval::Tcplib) => out.set("interval", Value::text("tcplib")),
        Source::Telnet(Interval::Law(law)) => out.set("interval", dist(law, time)),
        Source::Web(web) => {
            if web.persistent {
                out.set("parallel", parallel);
            }
            out.set("pages", Value::Integer(web.pages.into()));
            out.set("page_gap", dist(web.page_gap, time));
            out.set("objects", dist(web.objects, Value::Float));
            out.set("object_gap", dist(web.object_gap, time));
            out.set("connections", Value::text(if web.persistent { "persistent" } else { "per-object" }));
        }
    }
}

/// The keys `startup` and `avoidance` of a chain.
pub(crate) fn scheme(scheme: &SchemeSpec, out: &mut Tree) {
    let (last, before) = scheme.phases().split_last().expect("a scheme has phases");
    let mut before: Vec<_> = before.iter().cloned().map(Value::own).collect();
    if last.role() == Role::Standalone {
        before.push(Value::own(last.clone()));
    }
    match <[Value; 1]>::try_from(before) {
        Ok([one]) => out.set("startup", one),
        // An avoidance scheme that begins the connection itself.
        Err(none) if none.is_empty() => {}
        Err(several) => out.set("startup", Value::array(several)),
    }
    if last.role() != Role::Standalone {
        out.set("avoidance", Value::own(last.clone()));
    }
}

fn udp_source(udp: &UdpSource, network: &Network) -> Tree {
    let mut out = Tree::default();
    out.set("name", Value::text(&udp.name));
    out.set("rate", rate(udp.rate));
    out.set("size", bytes(udp.size.into()));
    out.set("start", time(udp.start));
    if let Some(periods) = udp.on_off {
        let (on, off) = (dist(periods.on, time), dist(periods.off, time));
        out.set("on_off", Value::table([("on", on), ("off", off)]));
    }
    for (key, text) in ["direction", "from", "to"].into_iter().zip(udp.endpoints.texts(network)) {
        text.into_iter().for_each(|text| out.set(key, text));
    }
    out
}

impl Endpoints {
    /// The keys `direction`, `from` and `to`.
    pub(crate) fn texts(&self, network: &Network) -> [Option<Value>; 3] {
        let graph = match network {
            Network::Dumbbell(_) => None,
            Network::Graph(graph) => Some(graph),
        };
        let name = |node: usize| Value::text(&graph.expect("a dumbbell has no nodes").nodes[node].name);
        match self {
            Self::Path(direction) => [Some(Value::text(direction.word())), None, None],
            Self::Nodes { from, to } => [None, Some(name(*from)), Some(name(*to))],
            Self::Pairs(pairs) => [
                None,
                Some(Value::array(pairs.iter().map(|pair| name(pair.0)))),
                Some(Value::array(pairs.iter().map(|pair| name(pair.1)))),
            ],
        }
    }
}

/// A window, where none is unlimited.
pub(crate) fn window(size: Option<u64>) -> Value {
    size.map_or_else(|| Value::text(UNLIMITED), bytes)
}

pub(crate) fn time(time: Nanos) -> Value {
    Value::Text(show_time(time))
}

pub(crate) fn bytes(n: u64) -> Value {
    Value::Text(show_bytes(n))
}

pub(crate) fn rate(rate: Rate) -> Value {
    Value::Text(show_rate(rate))
}

fn packets(n: impl core::fmt::Display) -> Value {
    Value::Text(format!("{n} packets"))
}

pub(crate) fn limit(limit: Limit) -> Value {
    match limit {
        Limit::Packets(n) => packets(n),
        Limit::Bytes(n) => bytes(n),
    }
}

pub(crate) fn reads(reads: Reads) -> Value {
    match reads {
        Reads::Eager => Value::text(EAGER),
        Reads::Every(n) => bytes(n),
    }
}

pub(crate) fn rounds(rounds: Rounds) -> Value {
    let Rounds { count, idle, jitter } = rounds;
    Value::table([("count", Value::Integer(count.into())), ("idle", time(idle)), ("jitter", time(jitter))])
}

pub(crate) fn start(start: Start) -> Value {
    match start {
        Start::At(at) => time(at),
        Start::Every(gap) => Value::table([("every", time(gap))]),
        Start::Exponential(mean) => Value::table([("exponential", time(mean))]),
        Start::Uniform(low, high) => Value::table([("uniform", Value::array([time(low), time(high)]))]),
    }
}

pub(crate) fn dist<T>(dist: Dist<T>, show: impl Fn(T) -> Value) -> Value {
    let pareto = |mean, shape| Value::table([("mean", show(mean)), ("shape", Value::Float(shape))]);
    match dist {
        Dist::Fixed(x) => show(x),
        Dist::Uniform(low, high) => Value::table([("uniform", Value::array([show(low), show(high)]))]),
        Dist::Exponential(mean) => Value::table([("exponential", show(mean))]),
        Dist::Pareto { mean, shape } => Value::table([("pareto", pareto(mean, shape))]),
        Dist::ParetoII { mean, shape } => Value::table([("pareto_ii", pareto(mean, shape))]),
        Dist::Lognormal { median, sigma, tail } => {
            let tail = tail.map(|(from, shape)| {
                ("tail", Value::table([("from", show(from)), ("shape", Value::Float(shape))]))
            });
            let body = [("median", show(median)), ("sigma", Value::Float(sigma))].into_iter().chain(tail);
            Value::table([("lognormal", Value::table(body))])
        }
    }
}

pub(crate) fn queue(queue: &Queue) -> Value {
    let (label, mut queue) = (Value::text(queue.label()), *queue);
    let value = |field| {
        Some(match field {
            Field::Flag(&mut flag) => Value::Flag(flag),
            Field::Share(&mut share) => Value::Float(share),
            Field::Time(&mut at) => time(at),
            Field::Bytes(&mut size) => bytes(size),
            Field::Size(size) => bytes((*size)?.into()),
            Field::Rate(&mut pace) => rate(pace),
            Field::Threshold(&mut threshold) => packets(threshold),
            Field::Count(&mut count) => Value::Integer(count.into()),
        })
    };
    let fields = queue.fields().into_iter().filter_map(|(key, field)| Some((key.name, value(field)?)));
    let keys: Vec<_> = fields.collect();
    if keys.is_empty() { label } else { Value::table([("kind", label)].into_iter().chain(keys)) }
}

pub(crate) fn shaper(Shaper { rate, burst }: Shaper) -> Value {
    Value::table([("rate", self::rate(rate)), ("burst", bytes(burst))])
}

pub(crate) fn reorder(Reorder { share, delay, burst }: Reorder) -> Value {
    let keys = [("share", Value::Float(share)), ("delay", time(delay))];
    Value::table(keys.into_iter().chain((burst != 1.0).then_some(("burst", Value::Float(burst)))))
}
