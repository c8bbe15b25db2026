//! The scene: a bulk flow by Cubic has the bottleneck for 20 to 40 round trips. Then the transfer begins, and with it a
//! connection that asks for 10 KB, waits a round trip and asks again. The bulk flow ends a fixed number of bytes after the
//! transfer's beginning: as many as the transfer has, and four times the path's content. Until the transfer begins, all runs
//! of one replication are equal packet by packet, at every size and beside every candidate, so that this time is simulated once.

use std::collections::VecDeque;

use firstflight_contract::Nanos;
use firstflight_random::Dist;
use firstflight_results::RunResult;
use firstflight_scenario::{
    Candidate, Endpoints, FlowGroup, Graph, Limit, Link, Network, Rounds, Scenario, SchemeSpec, Start, limits,
};

use crate::bench::Bench;
use crate::halt::Halt;
use firstflight_hosts::host::{Begun, Ended, Observe};
use firstflight_sweep::{Sampler, Spread};

/// Age of the bulk flow when the transfer begins, at least and at most, round trips with a full queue.
pub(super) const AGE: [f64; 2] = [20.0, 40.0];
/// Largest amount that the bulk flow may send before, packets: it bounds the time that a run takes on fast and long paths.
const BEFORE: f64 = 20_000.0;
/// Content of the path (bytes in flight and in the queue) that the bulk flow sends besides the transfer's size.
const AFTER: f64 = 4.0;
/// Largest queue that counts for that content, bandwidth-delay products.
const DEEPEST: f64 = 4.0;
/// Response to a request, bytes: fewer than an initial window of ten packets.
const RESPONSE: u64 = 10_000;
/// Least and largest number of requests.
const REQUESTS: [f64; 2] = [4.0, 50.0];

/// Names of the bystanders. No flow of a scenario can have a name with a space.
const BULK: &str = "bystander bulk";
const REQUESTER: &str = "bystander requests";

/// Times of the bystanders, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// Age of the bulk flow when the transfer began, as a share of the range from [`AGE`].
    pub(super) age: f64,
    pub(super) bulk: f64,
    pub(super) request_response: f64,
}

/// The bystanders of one replication.
pub(super) struct Scene {
    index: u32,
    age: f64,
    /// Time at which the transfer begins.
    begin: Nanos,
    pipe: Pipe,
    bulk: FlowGroup,
    /// Bytes that the bulk flow delivers before the transfer begins.
    before: u64,
    requests: FlowGroup,
    /// The time before the transfer begins, which all runs of the scene share; `None` if the host makes each run from its beginning.
    begun: Option<Box<dyn Begun>>,
}

impl Scene {
    pub(super) fn of(bench: &Bench<'_>, present: &Candidate, index: u32) -> Result<Self, Halt> {
        let pipe = Pipe::of(bench, present, index)?;
        let scenario = bench.scenario(present, 1, index);
        let [share, phase] = ages(bench.seed(), index);
        let age = pipe.before(AGE[0] + (AGE[1] - AGE[0]) * share);
        let begin = Nanos((age * pipe.packet * 8e9 / pipe.rate) as u64);
        let bulk = bystander(&scenario, BULK, Start::At(Nanos::ZERO));
        let before = delivered(bench, &scenario, &bulk, index, begin)?;
        let first = Nanos((phase * pipe.rtt * 1e9) as u64);
        let requests = bystander(&scenario, REQUESTER, Start::At(begin.saturating_add(first)));
        let mut scene = Self { index, age: share, begin, pipe, bulk, before, requests, begun: None };
        scene.begun = bench.begin(&scene.with(scenario, 1, limits::BYTES), index)?;
        Ok(scene)
    }

    /// Times of the bystanders beside a transfer of `size` bytes by a candidate.
    pub(super) fn run(
        &self,
        bench: &Bench<'_>,
        candidate: &Candidate,
        size: u64,
    ) -> Result<Option<Times>, Halt> {
        let bulk = self.before + size + self.pipe.after();
        let scenario = self.with(bench.scenario(candidate, size, self.index), self.requests(size), bulk);
        let goes_on = self.begun.as_ref().map(|begun| bench.go_on(&**begun, &scenario)).transpose()?;
        let ended = match goes_on.flatten() {
            Some(ended) => ended,
            None => {
                let run = bench.run(&scenario, self.index, &bench.totals())?;
                run.result.flows.iter().filter_map(Ended::of).collect()
            }
        };
        let of = |name: &str| ended.iter().find(|flow| flow.name.starts_with(name));
        let (Some(bulk), Some(requests)) = (of(BULK), of(REQUESTER)) else { return Ok(None) };
        let all = requests.transfers_s.len() == self.requests(size) as usize;
        Ok(all.then(|| Times {
            age: self.age,
            bulk: bulk.start_s + bulk.transfers_s[0] - seconds(self.begin),
            request_response: requests.transfers_s.iter().sum(),
        }))
    }

    /// Number of requests beside a transfer of `size` bytes. Two flows share the rate while the transfer lasts; each request takes a
    /// round trip, and one passes before it.
    fn requests(&self, size: u64) -> u32 {
        let full = self.pipe.content * 8.0 / self.pipe.rate;
        let lasts = (2 * size) as f64 * 8.0 / self.pipe.rate + AFTER * full;
        (lasts / (2.0 * full)).clamp(REQUESTS[0], REQUESTS[1]) as u32
    }

    /// The scenario of a transfer, beside a number of requests and a bulk flow of this many bytes.
    fn with(&self, mut scenario: Scenario, requests: u32, bulk: u64) -> Scenario {
        scenario.flows[0].start = Start::At(self.begin);
        // One transfer is under test, however many the scenario's connection makes.
        scenario.flows[0].rounds = None;
        let idle = Nanos((self.pipe.rtt * 1e9) as u64);
        scenario.flows.extend([
            FlowGroup { size: Some(Dist::Fixed(bulk)), ..self.bulk.clone() },
            FlowGroup {
                size: Some(Dist::Fixed(RESPONSE)),
                rounds: Some(Rounds { count: requests, idle, jitter: Nanos::ZERO }),
                ..self.requests.clone()
            },
        ]);
        scenario.duration = scenario.duration.map(|duration| duration.saturating_add(self.begin));
        scenario
    }
}

/// Age of the bulk flow and moment of the first request in a replication, as shares of their ranges. The paths have the first
/// dimension of the sequence. In the second any power of two of first replications has one age in each part of the range: the
/// bulk flow's window rises and falls in these round trips, and the harm with it.
fn ages(seed: u64, index: u32) -> [f64; 2] {
    let point = Sampler::new(Spread::Sobol, 3, Bench::MOST.into(), seed).at(index.into());
    [point[1], point[2]]
}

/// The path of one replication.
pub(super) struct Pipe {
    /// Rate of the bottleneck, bit/s.
    rate: f64,
    /// Round-trip time without queue, seconds.
    rtt: f64,
    /// Bytes in flight and in the queue when the path is full.
    content: f64,
    /// Bytes of a full packet.
    pub(super) packet: f64,
}

impl Pipe {
    pub(super) fn of(bench: &Bench<'_>, present: &Candidate, index: u32) -> Result<Self, Halt> {
        let scenario = bench.scenario(present, 1, index);
        let rtt = round_trip(bench, present, index)?;
        let (rate, queue) = bottleneck(&scenario);
        let bdp = rate * rtt / 8.0;
        let packet = f64::from(scenario.packet.size);
        Ok(Self { content: bdp + queue.min(DEEPEST * bdp), rate, rtt, packet })
    }

    /// Packets that the bulk flow can send in this number of round trips with a full queue, within [`BEFORE`].
    pub(super) fn before(&self, round_trips: f64) -> f64 {
        (round_trips * self.content / self.packet).min(BEFORE)
    }

    /// Bytes that the bulk flow sends besides the size of the transfer.
    pub(super) fn after(&self) -> u64 {
        (AFTER * self.content) as u64
    }
}

/// A flow between the ends of the transfer, by Cubic with every setting of its stack.
fn bystander(scenario: &Scenario, name: &str, start: Start) -> FlowGroup {
    let like = &scenario.flows[0];
    let stack = like.profile.stack();
    let chain = format!("{}+cubic", stack.startup_before("cubic"));
    FlowGroup {
        name: name.into(),
        start,
        size: None,
        rounds: None,
        scheme: SchemeSpec::parse(&chain).expect("profiles have chains"),
        idle_restart: stack.idle_restart,
        initial_ssthresh: None,
        paced: false,
        initial_pace: None,
        ..like.clone()
    }
}

/// Round-trip time of the path, seconds: the time of a transfer of one byte.
fn round_trip(bench: &Bench<'_>, present: &Candidate, index: u32) -> Result<f64, Halt> {
    let mut scenario = bench.scenario(present, 1, index);
    scenario.flows.truncate(1);
    scenario.flows[0].rounds = None;
    let result: RunResult = bench.run(&scenario, index, &bench.totals())?.result;
    Ok(result.flows[0].completion_s.unwrap_or(1.0).max(1e-6))
}

/// Bytes that the bulk flow delivers before the transfer begins.
fn delivered(
    bench: &Bench<'_>,
    scenario: &Scenario,
    bulk: &FlowGroup,
    index: u32,
    begin: Nanos,
) -> Result<u64, Halt> {
    let mut alone = scenario.clone();
    alone.flows[0] = bulk.clone();
    alone.duration = Some(begin.max(Nanos(1)));
    let observe = Observe { grid: begin.max(Nanos(1)), ..bench.totals() };
    Ok(bench.run(&alone, index, &observe)?.result.flows[0].delivered_bytes)
}

/// Rate, bit/s, and buffer, bytes, of the slowest link that carries the data.
fn bottleneck(scenario: &Scenario) -> (f64, f64) {
    let (rate, buffer) = match &scenario.network {
        Network::Dumbbell(path) => (path.rate, path.buffer),
        Network::Graph(graph) => {
            let route = route(graph, &scenario.flows[0].endpoints);
            let slowest = route.into_iter().min_by_key(|link| link.rate.0);
            slowest.map(|link| (link.rate, link.buffer)).expect("a transfer crosses a link")
        }
    };
    let bytes = match buffer {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(scenario.packet.size.into()),
    };
    (rate.0.max(1) as f64, bytes as f64)
}

/// The links of a shortest way, by hops, between the ends of a transfer; all links if there are several pairs of ends.
fn route<'a>(graph: &'a Graph, ends: &Endpoints) -> Vec<&'a Link> {
    let Endpoints::Nodes { from, to } = *ends else { return graph.links.iter().collect() };
    let mut leaving: Vec<Vec<&Link>> = vec![vec![]; graph.nodes.len()];
    for link in graph.links.iter().filter(|link| link.to != from) {
        leaving[link.from].push(link);
    }
    let mut before: Vec<Option<&Link>> = vec![None; graph.nodes.len()];
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        for &link in &leaving[node] {
            if before[link.to].is_none() {
                before[link.to] = Some(link);
                open.push_back(link.to);
            }
        }
    }
    let mut route = vec![];
    let mut node = to;
    while let Some(link) = before[node] {
        route.push(link);
        node = link.from;
    }
    route
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottleneck_of_a_graph_is_on_the_way_of_the_data() {
        // Data from a over b to c; its ACKs return over d, whose links are slower.
        let link = |from: &str, to: &str, rate: &str, buffer: &str| {
            format!(
                "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\ndelay = \"5 ms\"\nbuffer = \"{buffer}\"\n"
            )
        };
        let nodes: String =
            ["a", "b", "c", "d"].map(|name| format!("[[node]]\nname = \"{name}\"\n")).concat();
        let links = link("a", "b", "100 Mbit/s", "90 packets")
            + &link("b", "c", "20 Mbit/s", "60 packets")
            + &link("c", "d", "1 Mbit/s", "10 packets")
            + &link("d", "a", "300 kbit/s", "10 packets");
        let flow = "[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"30 KB\"\n";
        let text = nodes + &links + flow;
        let scenario = firstflight_scenario::parse(&text, "graph.toml").expect("a scenario").scenario;
        assert_eq!(bottleneck(&scenario), (20e6, 60.0 * 1500.0));
    }

    #[test]
    fn requests_last_as_long_as_the_transfer_and_the_bulk_flow_behind_it() {
        let text = "[path]\nrate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"80 packets\"\n[[flow]]\nsize = \"30 KB\"\n";
        let scenario = firstflight_scenario::parse(text, "path.toml").expect("a scenario").scenario;
        let [bulk, requests] =
            [BULK, REQUESTER].map(|name| bystander(&scenario, name, Start::At(Nanos::ZERO)));
        assert_eq!(bulk.size, None, "the bulk flow does not end before the transfer begins");
        // A full path of 250 KB takes 100 ms at 20 Mbit/s.
        let pipe = Pipe { rate: 20e6, rtt: 0.05, content: 250_000.0, packet: 1500.0 };
        let (index, age, begin, before, begun) = (0, 0.0, Nanos::ZERO, 0, None);
        let scene = Scene { index, age, begin, pipe, bulk, before, requests, begun };
        // 1.05 MB at half the rate take 840 ms, and four times the content 400 ms: 6.2 times 200 ms.
        assert_eq!(scene.requests(1_050_000), 6);
    }
}
