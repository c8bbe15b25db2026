//! Harm to a bystander: by how much longer others take because a transfer shares their bottleneck.
//!
//! R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the Deployment of
//! Congestion Control Algorithms", HotNets 2019: a new algorithm may do as much harm to existing ones as they do to each
//! other. The measure here is a ratio: the bystander's time beside the candidate, to its time beside the scheme that the
//! stack has now.
//!
//! The scene: a bulk flow by Cubic has the bottleneck for 20 to 40 round trips. Then the transfer begins, and with it a
//! connection that asks for 10 KB, waits a round trip and asks again. The bulk flow ends a fixed number of bytes after the
//! transfer's beginning: as many as the transfer has, and four times the path's content. Until the transfer begins, all runs
//! of one replication are equal packet by packet.

use std::collections::VecDeque;

use firstflight_contract::Nanos;
use firstflight_net::random::Stream;
use firstflight_results::{Harm, RunResult};
use firstflight_scenario::{
    Candidate, Dist, Endpoints, Error, FlowGroup, Graph, Limit, Link, Network, Rounds, Scenario, SchemeSpec,
    Start,
};

use crate::compare::{Bench, go_on};
use crate::host::Observe;
use crate::parallel::try_map;
use crate::progress::Progress;

/// Least and largest number of replications. Each draws the path and the age of the bulk flow anew, and all candidates meet
/// the same draws. With forty, harm varies from seed to seed by some 0.03.
const RUNS: [u64; 2] = [6, 40];
/// Packets that all runs together may have, unless that leaves fewer replications than the least number.
const PACKETS: u64 = 10_000_000;
/// Packets of the least number of runs beyond which harm is not measured: minutes of simulation.
const MOST_PACKETS: u64 = 300_000_000;
/// Age of the bulk flow when the transfer begins, at least and at most, round trips with a full queue.
const AGE: [f64; 2] = [20.0, 40.0];
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

/// Number of replications: as many as keep all runs together within [`PACKETS`].
///
/// # Errors
/// If the host refuses a run.
pub(crate) fn replications(
    bench: &Bench<'_>,
    present: &Candidate,
    candidates: usize,
    sizes: &[u64],
) -> Result<u32, Error> {
    let Some(&largest) = sizes.last() else { return Ok(0) };
    let pipe = Pipe::of(bench, present, largest, 0)?;
    let one = |size: u64| pipe.before(AGE[1]) + (2 * size + pipe.after()) as f64 / pipe.packet;
    let each: f64 = sizes.iter().map(|&size| one(size)).sum();
    let all = each * (candidates + 1) as f64;
    if all * RUNS[0] as f64 > MOST_PACKETS as f64 {
        let why = format!(
            "{} transfers beside two bystanders have more packets than can be simulated here",
            RUNS[0]
        );
        return Err(Error::invalid(why).expecting("a path with a smaller bandwidth-delay product"));
    }
    Ok((PACKETS as f64 / all).clamp(RUNS[0] as f64, RUNS[1] as f64) as u32)
}

/// Harm of each candidate at each size, by size and then by candidate; `None` if a bystander did not end.
pub(crate) type HarmBySize = Vec<Vec<Option<Harm>>>;

/// Harm of each candidate at each size, in the order of `sizes` and `candidates`.
///
/// # Errors
/// If the host refuses a run.
pub(crate) fn harm(
    bench: &Bench<'_>,
    present: &Candidate,
    candidates: &[Candidate],
    sizes: &[u64],
    progress: &dyn Progress,
) -> Result<HarmBySize, Error> {
    if sizes.is_empty() {
        return Ok(vec![]);
    }
    let cells: Vec<(u64, u32)> =
        sizes.iter().flat_map(|&size| (0..bench.replications()).map(move |index| (size, index))).collect();
    let scenes = try_map(&cells, |&(size, index)| Scene::of(bench, present, size, index))?;
    let tasks: Vec<(&Scene, &Candidate)> = scenes
        .iter()
        .flat_map(|scene| std::iter::once(present).chain(candidates).map(move |candidate| (scene, candidate)))
        .collect();
    let times = try_map(&tasks, |(scene, candidate)| {
        go_on(progress)?;
        let times = scene.run(bench, candidate);
        progress.advance(1);
        times
    })?;
    let each = candidates.len() + 1;
    let by_size = times.chunks(each * bench.replications() as usize);
    Ok(by_size.map(|runs| (1..each).map(|place| ratio(runs, each, place)).collect()).collect())
}

/// Number of runs of [`harm`] that count as progress.
pub(crate) fn runs(replications: u32, candidates: usize, sizes: usize) -> u64 {
    (candidates as u64 + 1) * sizes as u64 * u64::from(replications)
}

/// Times of the bystanders, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    bulk: f64,
    request_response: f64,
}

/// The total time of all replications beside the candidate at `place`, over that beside the present scheme, at place 0.
fn ratio(runs: &[Option<Times>], each: usize, place: usize) -> Option<Harm> {
    let mut totals = [[0.0; 2]; 2];
    for replication in runs.chunks(each) {
        let (beside, present) = (replication[place]?, replication[0]?);
        for (total, times) in totals.iter_mut().zip([beside, present]) {
            *total = [total[0] + times.bulk, total[1] + times.request_response];
        }
    }
    let [beside, present] = totals;
    (present[0] > 0.0 && present[1] > 0.0)
        .then(|| Harm { bulk: beside[0] / present[0], request_response: beside[1] / present[1] })
}

/// The bystanders of one replication at one size.
struct Scene {
    size: u64,
    index: u32,
    /// Time at which the transfer begins.
    begin: Nanos,
    bulk: FlowGroup,
    requests: FlowGroup,
}

impl Scene {
    fn of(bench: &Bench<'_>, present: &Candidate, size: u64, index: u32) -> Result<Self, Error> {
        let pipe = Pipe::of(bench, present, size, index)?;
        let scenario = &pipe.scenario;
        let mut stream = Stream::named(bench.seed(index), "bystanders");
        let age = pipe.before(AGE[0] + (AGE[1] - AGE[0]) * stream.unit());
        let begin = Nanos((age * pipe.packet * 8e9 / pipe.rate) as u64);
        let bulk = bystander(scenario, BULK, Start::At(Nanos::ZERO));
        let before = delivered(bench, scenario, &bulk, index, begin)?;
        let bulk = FlowGroup { size: Some(Dist::Fixed(before + size + pipe.after())), ..bulk };
        // Two flows share the rate while the transfer lasts; each request takes a round trip, and one passes before it.
        let full = pipe.content * 8.0 / pipe.rate;
        let lasts = (2 * size) as f64 * 8.0 / pipe.rate + AFTER * full;
        let count = (lasts / (2.0 * full)).clamp(REQUESTS[0], REQUESTS[1]) as u32;
        let first = Nanos((stream.unit() * pipe.rtt * 1e9) as u64);
        let requests = FlowGroup {
            size: Some(Dist::Fixed(RESPONSE)),
            rounds: Some(Rounds { count, idle: Nanos((pipe.rtt * 1e9) as u64), jitter: Nanos::ZERO }),
            ..bystander(scenario, REQUESTER, Start::At(begin.saturating_add(first)))
        };
        Ok(Self { size, index, begin, bulk, requests })
    }

    /// Times of the bystanders beside a candidate.
    fn run(&self, bench: &Bench<'_>, candidate: &Candidate) -> Result<Option<Times>, Error> {
        let mut scenario = bench.scenario(candidate, self.size, self.index);
        scenario.flows[0].start = Start::At(self.begin);
        // One transfer is under test, however many the scenario's connection makes.
        scenario.flows[0].rounds = None;
        scenario.flows.extend([self.bulk.clone(), self.requests.clone()]);
        scenario.duration = scenario.duration.map(|duration| duration.saturating_add(self.begin));
        let result = bench.run(&scenario, self.index, &bench.totals())?.result;
        let of = |name: &str| result.flows.iter().find(|flow| flow.name.starts_with(name));
        let (Some(bulk), Some(requests)) = (of(BULK), of(REQUESTER)) else { return Ok(None) };
        let asked = self.requests.rounds.map_or(0, |rounds| rounds.count as usize);
        let all = requests.rounds_s.len() == asked;
        let begin = seconds(self.begin);
        Ok(bulk.completion_s.filter(|_| all).map(|end| Times {
            bulk: bulk.start_s + end - begin,
            request_response: requests.rounds_s.iter().sum(),
        }))
    }
}

/// The path of one replication.
struct Pipe {
    scenario: Scenario,
    /// Rate of the bottleneck, bit/s.
    rate: f64,
    /// Round-trip time without queue, seconds.
    rtt: f64,
    /// Bytes in flight and in the queue when the path is full.
    content: f64,
    /// Bytes of a full packet.
    packet: f64,
}

impl Pipe {
    fn of(bench: &Bench<'_>, present: &Candidate, size: u64, index: u32) -> Result<Self, Error> {
        let scenario = bench.scenario(present, size, index);
        let rtt = round_trip(bench, present, index)?;
        let (rate, queue) = bottleneck(&scenario);
        let bdp = rate * rtt / 8.0;
        let packet = f64::from(scenario.packet.size);
        Ok(Self { content: bdp + queue.min(DEEPEST * bdp), scenario, rate, rtt, packet })
    }

    /// Packets that the bulk flow can send in this number of round trips with a full queue, within [`BEFORE`].
    fn before(&self, round_trips: f64) -> f64 {
        (round_trips * self.content / self.packet).min(BEFORE)
    }

    /// Bytes that the bulk flow sends besides the size of the transfer.
    fn after(&self) -> u64 {
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
        ..like.clone()
    }
}

/// Round-trip time of the path, seconds: the time of a transfer of one byte.
fn round_trip(bench: &Bench<'_>, present: &Candidate, index: u32) -> Result<f64, Error> {
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
) -> Result<u64, Error> {
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
    fn harm_is_the_ratio_of_the_times_of_all_replications() {
        let times = |bulk, request_response| Some(Times { bulk, request_response });
        // Two replications of the present scheme and two candidates: (2 + 4) / (1 + 3) and (2 + 2) / (2 + 2); then half.
        let runs = [
            times(1.0, 2.0),
            times(2.0, 2.0),
            times(0.5, 1.0),
            times(3.0, 2.0),
            times(4.0, 2.0),
            times(1.5, 1.0),
        ];
        assert_eq!(ratio(&runs, 3, 0), Some(Harm { bulk: 1.0, request_response: 1.0 }));
        assert_eq!(ratio(&runs, 3, 1), Some(Harm { bulk: 1.5, request_response: 1.0 }));
        assert_eq!(ratio(&runs, 3, 2), Some(Harm { bulk: 0.5, request_response: 0.5 }));
        let unfinished =
            [times(1.0, 2.0), None, times(1.0, 1.0), times(3.0, 2.0), times(4.0, 2.0), times(1.0, 1.0)];
        assert_eq!(ratio(&unfinished, 3, 1), None);
    }
}
