//! A scenario written back with every default spelt out, and the hash of that.
//!
//! Two files that describe the same experiment, one of them by leaving out what is the default or by writing
//! `1 BDP` for `500 packets`, are the same text here. Reading that text gives the same [`Scenario`].

use core::fmt::Write;

use firstflight_contract::{Nanos, Rate, Role};
use firstflight_schemes::scheme::{ParamKind, Value};
use sha2::{Digest, Sha256};

use crate::dist::Dist;
use crate::format::{EAGER, UNLIMITED};
use crate::model::{
    Codel, Direction, Endpoints, FlowGroup, FqCodel, Growth, Interval, Limit, Network, Queue, Reads, Rounds,
    Scenario, Source, Start, UdpSource,
};
use crate::quantity::{show_bytes, show_rate, show_time};
use crate::scheme::PhaseSpec;
use crate::trace::LinkTrace;

impl Scenario {
    /// The scenario as a file that leaves nothing to a default. [`crate::parse`] gives it back unchanged; where it names
    /// traces, [`crate::load`] does so beside them.
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        out.text("title", &self.title);
        if let Some(duration) = self.duration {
            out.time("duration", duration);
        }
        out.plain("seed", self.seed);
        out.heading("[packet]");
        out.bytes("size", self.packet.size.into());
        if let Some(size) = self.packet.ack_size {
            out.bytes("ack_size", size.into());
        }
        out.network(&self.network);
        for flow in &self.flows {
            out.heading(match flow.source {
                Source::Flow => "[[flow]]",
                Source::Telnet(_) => "[[telnet]]",
                Source::Web(_) => "[[web]]",
            });
            out.flow(flow, &self.network);
        }
        for udp in &self.udp {
            out.heading("[[udp]]");
            out.udp(udp, &self.network);
        }
        out.0
    }

    /// SHA-256 of [`Scenario::to_toml`], in hexadecimal: equal for files that describe the same experiment.
    pub fn hash(&self) -> String {
        Sha256::digest(self.to_toml()).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

fn codel_keys(codel: Codel) -> String {
    let Codel { target, interval, ecn } = codel;
    format!("target = {}, interval = {}, ecn = {ecn}", time(target), time(interval))
}

#[derive(Default)]
struct Writer(String);

impl Writer {
    fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.0, "\n{heading}");
    }

    fn plain(&mut self, key: &str, value: impl core::fmt::Display) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.plain(key, quoted(value));
    }

    fn time(&mut self, key: &str, value: Nanos) {
        self.plain(key, time(value));
    }

    fn bytes(&mut self, key: &str, value: u64) {
        self.plain(key, bytes(value));
    }

    fn window(&mut self, key: &str, value: Option<u64>) {
        self.plain(key, value.map_or_else(|| quoted(UNLIMITED), bytes));
    }

    fn network(&mut self, network: &Network) {
        match network {
            Network::Dumbbell(path) => {
                self.heading("[path]");
                self.supply(path.rate, path.trace.as_ref());
                self.time("rtt", path.rtt);
                self.hop(path.buffer, &path.queue, path.loss);
                self.text("access_rate", &show_rate(path.access_rate));
            }
            Network::Graph(graph) => {
                for node in &graph.nodes {
                    self.heading("[[node]]");
                    self.text("name", &node.name);
                    self.text("access_rate", &show_rate(node.access_rate));
                    if let Some(subnet) = &node.subnet {
                        self.text("subnet", subnet);
                    }
                }
                for link in &graph.links {
                    self.heading("[[link]]");
                    self.text("name", &link.name);
                    self.text("from", &graph.nodes[link.from].name);
                    self.text("to", &graph.nodes[link.to].name);
                    self.supply(link.rate, link.trace.as_ref());
                    self.time("delay", link.delay);
                    self.plain("cost", link.cost);
                    self.hop(link.buffer, &link.queue, link.loss);
                }
            }
        }
    }

    fn supply(&mut self, rate: Rate, trace: Option<&LinkTrace>) {
        match trace {
            None => self.text("rate", &show_rate(rate)),
            Some(LinkTrace { file, sha256, .. }) => {
                self.plain("trace", format_args!("{} # SHA-256 {sha256}", quoted(file)));
            }
        }
    }

    fn hop(&mut self, buffer: Limit, queue: &Queue, loss: f64) {
        self.plain(
            "buffer",
            match buffer {
                Limit::Packets(n) => packets(n),
                Limit::Bytes(n) => bytes(n),
            },
        );
        match *queue {
            Queue::DropTail => self.text("queue", "drop-tail"),
            Queue::Router(mut router) => {
                let label = router.label();
                let params = router.params().into_iter().map(|(name, value)| format!(", {name} = {value:?}"));
                let params: String = params.collect();
                self.plain("queue", format_args!("{{ kind = \"{label}\"{params} }}"));
            }
            Queue::Priority => self.text("queue", "priority"),
            Queue::Codel(codel) => {
                self.plain("queue", format_args!("{{ kind = \"codel\", {} }}", codel_keys(codel)));
            }
            Queue::FqCodel(FqCodel { codel, quantum, flows }) => self.plain(
                "queue",
                format_args!(
                    "{{ kind = \"fq-codel\", {}, quantum = {}, flows = {flows} }}",
                    codel_keys(codel),
                    bytes(quantum)
                ),
            ),
            Queue::Red(red) | Queue::Choke(red) => self.plain(
                "queue",
                format_args!(
                    "{{ kind = \"{}\", min = {}, max = {}, weight = {:?}, max_p = {:?}, gentle = {}, ecn = {} }}",
                    if matches!(queue, Queue::Red(_)) { "red" } else { "choke" },
                    packets(red.min),
                    packets(red.max),
                    red.weight,
                    red.max_p,
                    red.gentle,
                    red.ecn
                ),
            ),
        }
        self.plain("loss", format_args!("{loss:?}"));
    }

    fn flow(&mut self, flow: &FlowGroup, network: &Network) {
        self.text("name", &flow.name);
        self.text("profile", flow.profile.word());
        let count = flow.count.map_or_else(|| quoted(UNLIMITED), |count| count.to_string());
        self.plain(if matches!(flow.source, Source::Web(_)) { "sessions" } else { "count" }, count);
        self.plain("start", start(flow.start));
        self.plain("size", flow.size.map_or_else(|| quoted(UNLIMITED), |size| dist(size, bytes)));
        match flow.source {
            Source::Flow => self.plain("parallel", flow.parallel),
            Source::Telnet(Interval::Tcplib) => self.text("interval", "tcplib"),
            Source::Telnet(Interval::Law(law)) => self.plain("interval", dist(law, time)),
            Source::Web(web) => {
                if web.persistent {
                    self.plain("parallel", flow.parallel);
                }
                self.plain("pages", web.pages);
                self.plain("page_gap", dist(web.page_gap, time));
                self.plain("objects", dist(web.objects, |x| format!("{x:?}")));
                self.plain("object_gap", dist(web.object_gap, time));
                self.text("connections", if web.persistent { "persistent" } else { "per-object" });
            }
        }
        if let Some(lifetime) = flow.lifetime {
            self.plain("lifetime", dist(lifetime, time));
        }
        if let Some(Rounds { count, idle, jitter }) = flow.rounds {
            let (idle, jitter) = (time(idle), time(jitter));
            self.plain("rounds", format_args!("{{ count = {count}, idle = {idle}, jitter = {jitter} }}"));
        }
        let (last, before) = flow.scheme.phases().split_last().expect("a scheme has phases");
        let whole = last.role() == Role::Standalone;
        match before {
            [] if whole => self.plain("startup", phase(last)),
            // It begins by itself.
            [] => {}
            [one] => self.plain("startup", phase(one)),
            several => {
                let list: Vec<_> = several.iter().map(phase).collect();
                self.plain("startup", format_args!("[{}]", list.join(", ")));
            }
        }
        if !whole {
            self.plain("avoidance", phase(last));
        }
        self.text("recovery", flow.recovery.word());
        if flow.has_partial_acks() {
            self.text("partial_acks", flow.partial_acks.word());
        }
        self.bytes("initial_window", flow.initial_window);
        self.window("initial_ssthresh", flow.initial_ssthresh);
        self.window("receive_window", flow.receive_window);
        self.window("initial_receive_window", flow.initial_receive_window);
        self.text("receiver", flow.receiver.word());
        self.time("delayed_ack_timer", flow.delayed_ack_timer);
        match flow.receiver_reads {
            Reads::Eager => self.text("receiver_reads", EAGER),
            Reads::Every(n) => self.bytes("receiver_reads", n),
        }
        match flow.growth {
            Growth::PerAck => self.plain("byte_counting", false),
            Growth::ByteCounting => self.plain("byte_counting", true),
            // Only a profile sets it, where the key is absent.
            Growth::AllAcked => {}
        }
        self.time("min_rto", flow.min_rto);
        self.time("rto_granularity", flow.rto_granularity);
        self.text("idle_restart", flow.idle_restart.word());
        self.plain("limited_transmit", flow.limited_transmit);
        self.plain("handshake", flow.handshake);
        self.text("data_in_syn", flow.data_in_syn.word());
        if let Some(cluster) = &flow.cluster {
            self.text("cluster", cluster);
        }
        self.endpoints(&flow.endpoints, network);
        self.plain("extra_rtt", dist(flow.extra_rtt, time));
    }

    fn udp(&mut self, udp: &UdpSource, network: &Network) {
        self.text("name", &udp.name);
        self.text("rate", &show_rate(udp.rate));
        self.bytes("size", udp.size.into());
        self.time("start", udp.start);
        if let Some(periods) = udp.on_off {
            let (on, off) = (dist(periods.on, time), dist(periods.off, time));
            self.plain("on_off", format_args!("{{ on = {on}, off = {off} }}"));
        }
        self.endpoints(&udp.endpoints, network);
    }

    fn endpoints(&mut self, endpoints: &Endpoints, network: &Network) {
        match (endpoints, network) {
            (Endpoints::Path(Direction::Forward), _) => self.text("direction", "forward"),
            (Endpoints::Path(Direction::Reverse), _) => self.text("direction", "reverse"),
            (Endpoints::Nodes { from, to }, Network::Graph(graph)) => {
                self.text("from", &graph.nodes[*from].name);
                self.text("to", &graph.nodes[*to].name);
            }
            (Endpoints::Pairs(pairs), Network::Graph(graph)) => {
                let names = |nodes: &mut dyn Iterator<Item = usize>| {
                    nodes.map(|node| quoted(&graph.nodes[node].name)).collect::<Vec<_>>().join(", ")
                };
                self.plain("from", format_args!("[{}]", names(&mut pairs.iter().map(|pair| pair.0))));
                self.plain("to", format_args!("[{}]", names(&mut pairs.iter().map(|pair| pair.1))));
            }
            (Endpoints::Nodes { .. } | Endpoints::Pairs(_), Network::Dumbbell(_)) => {
                unreachable!("a dumbbell has no nodes")
            }
        }
    }
}

fn start(start: Start) -> String {
    match start {
        Start::At(at) => time(at),
        Start::Every(gap) => format!("{{ every = {} }}", time(gap)),
        Start::Exponential(mean) => format!("{{ exponential = {} }}", time(mean)),
        Start::Uniform(low, high) => format!("{{ uniform = [{}, {}] }}", time(low), time(high)),
    }
}

fn dist<T>(dist: Dist<T>, show: impl Fn(T) -> String) -> String {
    match dist {
        Dist::Fixed(x) => show(x),
        Dist::Uniform(low, high) => format!("{{ uniform = [{}, {}] }}", show(low), show(high)),
        Dist::Exponential(mean) => format!("{{ exponential = {} }}", show(mean)),
        Dist::Pareto { mean, shape } => {
            format!("{{ pareto = {{ mean = {}, shape = {shape:?} }} }}", show(mean))
        }
        Dist::ParetoII { mean, shape } => {
            format!("{{ pareto_ii = {{ mean = {}, shape = {shape:?} }} }}", show(mean))
        }
        Dist::Lognormal { median, sigma, tail } => {
            let tail = tail.map_or_else(String::new, |(from, shape)| {
                format!(", tail = {{ from = {}, shape = {shape:?} }}", show(from))
            });
            format!("{{ lognormal = {{ median = {}, sigma = {sigma:?}{tail} }} }}", show(median))
        }
    }
}

fn phase(phase: &PhaseSpec) -> String {
    if phase.params.is_empty() {
        return quoted(phase.label);
    }
    let known = phase.build().info().params;
    let mut out = format!("{{ kind = {}", quoted(phase.label));
    for &(name, value) in &phase.params {
        let kind = known.iter().find(|param| param.name == name).map(|param| param.kind);
        let value = match (value, kind) {
            (Value::Number(x), _) => format!("{x:?}"),
            (Value::Time(t), _) => time(t),
            (Value::Packets(n), _) => packets(n),
            (Value::Rate(r), _) => quoted(&show_rate(r)),
            (Value::Flag(flag), _) => flag.to_string(),
            (Value::Choice(index), Some(ParamKind::Choice(words))) => quoted(words[index]),
            (Value::Choice(_), _) => unreachable!("the scheme took a choice for {name}"),
        };
        let _ = write!(out, ", {name} = {value}");
    }
    out + " }"
}

fn packets(n: impl core::fmt::Display) -> String {
    format!("\"{n} packets\"")
}

fn time(time: Nanos) -> String {
    quoted(&show_time(time))
}

fn bytes(n: u64) -> String {
    quoted(&show_bytes(n))
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}
