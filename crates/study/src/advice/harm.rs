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
//!
//! The interval of a ratio is that of a ratio of means over paired replications (W. G. Cochran, "Sampling Techniques", 3rd
//! ed. 1977, chapter 6). All candidates have a first number of replications. Those whose interval contains the limit, and that
//! could be recommended, then have twice as many, until the limit is outside, or the work is spent. Before the last look three
//! standard errors decide, so that the looks together are wrong hardly more often than the last alone (J. L. Haybittle, British
//! Journal of Radiology 44, 1971).

use std::collections::VecDeque;

use firstflight_contract::Nanos;
use firstflight_net::random::Stream;
use firstflight_results::{Ci95, Harm, PairedDifference, RunResult};
use firstflight_scenario::{
    Candidate, Dist, Endpoints, Error, FlowGroup, Graph, Limit, Link, Network, Rounds, Scenario, SchemeSpec,
    Start,
};

use crate::compare::{Bench, go_on};
use crate::host::Observe;
use crate::parallel::try_map;
use crate::progress::Progress;
use crate::stats::t_975;

/// Least and largest number of replications of the first look. Each draws the path and the age of the bulk flow anew, and all
/// candidates meet the same draws.
const FIRST: [u32; 2] = [8, 16];
/// Packets that the first look may have, unless that leaves fewer replications than the least, and those of all further looks.
/// Ten million take half a second or less of one processor.
const FIRST_PACKETS: f64 = 2e7;
const FURTHER_PACKETS: f64 = 4e7;
/// Packets of the least number of runs beyond which harm is not measured: minutes of simulation.
const MOST_PACKETS: f64 = 4e8;
/// Standard errors between harm and limit that decide before the last look.
const SURE: f64 = 3.0;
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

/// The bystanders of a comparison, and their times so far. Every call gets the same bench and the same candidates.
pub(crate) struct Bystanders {
    present: Candidate,
    /// Ascending by size.
    sizes: Vec<AtSize>,
    /// Replications of the first look.
    first: u32,
}

/// A candidate that could be recommended at a size.
pub(crate) struct Contender {
    /// Its place among the candidates.
    pub(crate) place: usize,
    /// Its median completion time, seconds.
    pub(crate) median: f64,
}

struct AtSize {
    size: u64,
    /// Packets of one run, at most.
    packets: f64,
    /// Times beside the present scheme, by replication; `None` if a bystander did not end.
    present: Vec<Option<Times>>,
    /// Times beside each candidate, of its first replications.
    beside: Vec<Vec<Option<Times>>>,
}

impl Bystanders {
    /// The bystanders at these `sizes`, ascending, with as few replications as they may have in the first look if `few`.
    /// Nothing is run, but the round trip is measured.
    ///
    /// # Errors
    /// If the host refuses a run, or there is too much to run.
    pub(crate) fn new(
        bench: &Bench<'_>,
        present: Candidate,
        candidates: &[Candidate],
        sizes: &[u64],
        few: bool,
    ) -> Result<Self, Error> {
        let mut all = vec![];
        if let Some(&largest) = sizes.last() {
            let pipe = Pipe::of(bench, &present, largest, 0)?;
            let packets = |size: u64| pipe.before(AGE[1]) + (2 * size + pipe.after()) as f64 / pipe.packet;
            all.extend(sizes.iter().map(|&size| AtSize {
                size,
                packets: packets(size),
                present: vec![],
                beside: vec![vec![]; candidates.len()],
            }));
        }
        let replication = all.iter().map(|at| at.packets).sum::<f64>() * (candidates.len() + 1) as f64;
        if replication * f64::from(FIRST[0]) > MOST_PACKETS {
            let why = format!(
                "{} transfers beside two bystanders have more packets than can be simulated here",
                FIRST[0]
            );
            return Err(Error::invalid(why).expecting("a path with a smaller bandwidth-delay product"));
        }
        let more = !few && replication * f64::from(FIRST[1]) <= FIRST_PACKETS;
        Ok(Self { present, sizes: all, first: FIRST[usize::from(more)] })
    }

    /// Number of runs of the first look.
    pub(crate) fn first_runs(&self) -> u64 {
        let candidates = self.sizes.first().map_or(0, |at| at.beside.len() as u64);
        self.sizes.len() as u64 * (candidates + 1) * u64::from(self.first)
    }

    /// The first look: every candidate at every size. Each run is a step of progress.
    ///
    /// # Errors
    /// If the host refuses a run, or the progress is stopped.
    pub(crate) fn first(
        &mut self,
        bench: &Bench<'_>,
        candidates: &[Candidate],
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let all: Vec<usize> = (0..candidates.len()).collect();
        let first = self.first;
        self.sizes
            .iter_mut()
            .try_for_each(|at| at.extend(bench, &self.present, candidates, &all, first, progress))
    }

    /// Harm of each candidate at each size, in the order of the sizes and candidates; `None` if a bystander did not end.
    pub(crate) fn harm(&self) -> HarmBySize {
        let of_size = |at: &AtSize| (0..at.beside.len()).map(|place| Some(at.harm(place)?.shown())).collect();
        self.sizes.iter().map(of_size).collect()
    }
}

impl AtSize {
    fn harm(&self, place: usize) -> Option<Ratios> {
        Ratios::of(&self.beside[place], &self.present)
    }

    fn replications(&self) -> u32 {
        self.present.len() as u32
    }

    /// Runs the replications up to number `until` of the candidates at `places`, which have had all so far.
    fn extend(
        &mut self,
        bench: &Bench<'_>,
        present: &Candidate,
        candidates: &[Candidate],
        places: &[usize],
        until: u32,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let replications: Vec<u32> = (self.replications()..until).collect();
        let scenes = try_map(&replications, |&index| Scene::of(bench, present, self.size, index))?;
        // The same run twice has the same times.
        let (own, others): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|&&place| candidates[place] == *present);
        let tasks = scenes.iter().flat_map(|scene| {
            let others = others.iter().map(|&place| &candidates[place]);
            std::iter::once(present).chain(others).map(move |candidate| (scene, candidate))
        });
        let tasks: Vec<(&Scene, &Candidate)> = tasks.collect();
        let times = try_map(&tasks, |(scene, candidate)| {
            go_on(progress)?;
            let times = scene.run(bench, candidate)?;
            progress.advance(1);
            Ok::<_, Error>(times)
        })?;
        for replication in times.chunks(others.len() + 1) {
            self.present.push(replication[0]);
            for (&place, &times) in others.iter().zip(&replication[1..]) {
                self.beside[place].push(times);
            }
            for &place in &own {
                self.beside[place].push(replication[0]);
            }
        }
        Ok(())
    }
}

/// One of the paths of a mix: its share, its bench, and its bystanders.
pub(crate) struct Part<'a> {
    /// Share of the path at each size, ascending.
    pub(crate) shares: Vec<f64>,
    pub(crate) bench: Bench<'a>,
    pub(crate) bystanders: &'a mut Bystanders,
}

/// Further looks at each size, until it is known of those contenders that could be recommended for all `parts` together whether
/// their harm is within `limit`. Each time the part that is least sure for its share has twice as many replications.
///
/// # Errors
/// If the host refuses a run, or the progress is stopped.
pub(crate) fn settle(
    parts: &mut [Part<'_>],
    candidates: &[Candidate],
    limit: f64,
    contenders: &[Vec<Contender>],
    progress: &dyn Progress,
) -> Result<(), Error> {
    let mut left = FURTHER_PACKETS;
    for (at, of_size) in contenders.iter().enumerate() {
        let mut own = left / (contenders.len() - at) as f64;
        loop {
            let of_parts: Vec<(f64, &AtSize)> =
                parts.iter().map(|part| (part.shares[at], &part.bystanders.sizes[at])).collect();
            let open = open(&|place| mixed(&of_parts, place), limit, of_size);
            let Some(part) = least_sure(&of_parts, &open).map(|index| &mut parts[index]) else { break };
            let Bystanders { present, sizes, .. } = &mut *part.bystanders;
            let bystanders = &mut sizes[at];
            let more = bystanders.replications();
            let runs = (open.len() as u64 + 1) * u64::from(more);
            let work = bystanders.packets * runs as f64;
            if work > own {
                break;
            }
            (own, left) = (own - work, left - work);
            progress.begin("harm near its limit", runs);
            bystanders.extend(&part.bench, present, candidates, &open, 2 * more, progress)?;
        }
    }
    Ok(())
}

/// Harm to both bystanders of the candidate at `place`, over all parts by their share; `None` if a bystander did not end.
fn mixed(parts: &[(f64, &AtSize)], place: usize) -> Option<[Ratio; 2]> {
    let counted = || parts.iter().filter(|(share, _)| *share > 0.0);
    let total: f64 = counted().map(|(share, _)| share).sum();
    let (mut values, mut squares) = ([0.0; 2], [0.0; 2]);
    for (share, of_size) in counted() {
        let share = share / total;
        for (index, ratio) in of_size.harm(place)?.both().into_iter().enumerate() {
            values[index] += share * ratio.value;
            squares[index] += (share * ratio.error) * (share * ratio.error);
        }
    }
    let ratio = |index: usize| Ratio { value: values[index], error: f64::sqrt(squares[index]) };
    (total > 0.0).then(|| [ratio(0), ratio(1)])
}

/// The part whose harm of the `open` candidates has the largest standard error for its share, of those that can have more
/// replications; `None` if nothing is open.
fn least_sure(parts: &[(f64, &AtSize)], open: &[usize]) -> Option<usize> {
    let error = |&(share, of_size): &(f64, &AtSize)| {
        let errors = open.iter().filter_map(|&place| of_size.harm(place)).flat_map(Ratios::both);
        share * errors.map(|ratio| ratio.error).fold(0.0, f64::max)
    };
    let can = |part: &(usize, &(f64, &AtSize))| 2 * part.1.1.replications() <= Bench::MOST;
    let errors = parts.iter().enumerate().filter(can).map(|(index, part)| (index, error(part)));
    let unsure = errors.filter(|(_, error)| *error > 0.0);
    unsure.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
}

/// Places of the contenders of which it is not known whether they are within the limit, and that are as fast as every one that
/// is known to be.
fn open(harm: &dyn Fn(usize) -> Option<[Ratio; 2]>, limit: f64, contenders: &[Contender]) -> Vec<usize> {
    // A candidate beside which a bystander did not end stays so.
    let known: Vec<(&Contender, Option<bool>)> =
        contenders.iter().filter_map(|it| Some((it, surely_within(harm(it.place)?, limit)))).collect();
    let within = known.iter().filter(|(_, within)| *within == Some(true)).map(|(it, _)| it.median);
    let latest = within.fold(f64::INFINITY, f64::min) * (1.0 + PairedDifference::WORTH_HAVING);
    let open = known.iter().filter(|(it, within)| within.is_none() && it.median <= latest);
    open.map(|(it, _)| it.place).collect()
}

/// Whether both are within the limit, as far as [`SURE`] standard errors show it.
fn surely_within(both: [Ratio; 2], limit: f64) -> Option<bool> {
    if both.iter().any(|ratio| ratio.value - SURE * ratio.error > limit) {
        return Some(false);
    }
    both.iter().all(|ratio| ratio.value + SURE * ratio.error <= limit).then_some(true)
}

/// Harm of each candidate at each size, by size and then by candidate.
pub(crate) type HarmBySize = Vec<Vec<Option<Harm>>>;

/// Times of the bystanders, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    bulk: f64,
    request_response: f64,
}

/// Ratio of two means, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    value: f64,
    error: f64,
}

impl Ratio {
    /// The ratio of the means over pairs, each of a numerator and a denominator, and its standard error
    /// sqrt(sum (y - r x)^2 / (n (n - 1))) / mean x. `None` if the denominators add up to zero, or for a single pair.
    fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let n = pairs.len() as f64;
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
        let below = sum(&|pair| pair.1);
        if below <= 0.0 || pairs.len() < 2 {
            return None;
        }
        let value = sum(&|pair| pair.0) / below;
        let squares = sum(&|(y, x)| (y - value * x) * (y - value * x));
        Some(Self { value, error: (squares / (n * (n - 1.0))).sqrt() / (below / n) })
    }

    /// 95 % interval by Student's t; a time cannot be negative.
    fn ci95(self, pairs: usize) -> Ci95 {
        let half = t_975(pairs - 1) * self.error;
        [(self.value - half).max(0.0), self.value + half]
    }
}

/// Harm to both bystanders.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratios {
    bulk: Ratio,
    request_response: Ratio,
    replications: usize,
}

impl Ratios {
    /// Times of the first replications beside a candidate, over those beside the present scheme; `None` if a bystander did
    /// not end in one of them.
    fn of(beside: &[Option<Times>], present: &[Option<Times>]) -> Option<Self> {
        let pairs: Option<Vec<(Times, Times)>> =
            beside.iter().zip(present).map(|(a, b)| Some(((*a)?, (*b)?))).collect();
        let pairs = pairs?;
        let of = |time: fn(&Times) -> f64| {
            Ratio::of(
                &pairs.iter().map(|(beside, present)| (time(beside), time(present))).collect::<Vec<_>>(),
            )
        };
        Some(Self {
            bulk: of(|times| times.bulk)?,
            request_response: of(|times| times.request_response)?,
            replications: pairs.len(),
        })
    }

    fn both(self) -> [Ratio; 2] {
        [self.bulk, self.request_response]
    }

    fn shown(&self) -> Harm {
        Harm {
            bulk: self.bulk.value,
            bulk_ci95: self.bulk.ci95(self.replications),
            request_response: self.request_response.value,
            request_response_ci95: self.request_response.ci95(self.replications),
            replications: self.replications as u32,
        }
    }
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

    fn times(bulk: f64, request_response: f64) -> Option<Times> {
        Some(Times { bulk, request_response })
    }

    #[test]
    fn harm_is_the_ratio_of_the_times_of_all_replications_with_the_interval_of_a_ratio_of_means() {
        // (2 + 3 + 4) / (1 + 2 + 3) = 1.5. The residuals 2 - 1.5, 3 - 3 and 4 - 4.5 have squares of 0.5 in sum; the standard
        // error is sqrt(0.5 / (3 * 2)) / 2 = 0.144338. t(2, 97.5 %) = 4.30265: 1.5 +- 0.621034.
        let present = [times(1.0, 2.0), times(2.0, 2.0), times(3.0, 2.0)];
        let beside = [times(2.0, 2.0), times(3.0, 2.0), times(4.0, 2.0)];
        let harm = Ratios::of(&beside, &present).expect("all ended").shown();
        assert_eq!((harm.bulk, harm.request_response, harm.replications), (1.5, 1.0, 3));
        let [low, high] = harm.bulk_ci95;
        assert!((low - 0.878_966).abs() < 1e-5 && (high - 2.121_034).abs() < 1e-5, "{low} {high}");
        assert_eq!(harm.request_response_ci95, [1.0, 1.0]);
        // Of a candidate that stopped earlier the first pairs count: 5 / 3.
        let harm = Ratios::of(&beside[..2], &present).expect("all ended").shown();
        assert!((harm.bulk - 5.0 / 3.0).abs() < 1e-12 && harm.replications == 2);
        assert_eq!(Ratios::of(&[None, beside[1]], &present), None);
        assert_eq!(Ratios::of(&beside[..1], &present), None, "one pair has no interval");
    }

    #[test]
    fn the_interval_contains_the_true_ratio_in_95_of_100_experiments() {
        // Both times share a part with an exponential distribution of mean 1 and have parts of their own: means of
        // 1 + 1.2 + 0.3 and 1 + 1 + 0.3.
        let mut stream = Stream::named(1, "test");
        let mut pair = move || {
            let mut exponential = || -libm::log(1.0 - stream.unit());
            let (common, own, other) = (exponential(), exponential(), exponential());
            (1.0 + 1.2 * common + 0.3 * own, 1.0 + common + 0.3 * other)
        };
        let truth = 2.5 / 2.3;
        let hits = (0..1000).filter(|_| {
            let pairs: Vec<(f64, f64)> = (0..16).map(|_| pair()).collect();
            let [low, high] = Ratio::of(&pairs).expect("positive").ci95(pairs.len());
            low <= truth && truth <= high
        });
        // Three standard deviations of a binomial: 3 * sqrt(1000 * 0.95 * 0.05) = 21.
        let hits = hits.count();
        assert!(hits >= 950 - 21, "{hits} of 1000");
    }

    /// Sixteen times of a bulk flow; half of them are `spread` above `mean`, half below: the standard error is
    /// spread / sqrt(15), 0.0258 for 0.1.
    fn sixteen(mean: f64, spread: f64) -> Vec<Option<Times>> {
        (0..16).map(|index| times(mean + if index % 2 == 0 { spread } else { -spread }, 1.0)).collect()
    }

    fn at_size(beside: Vec<Vec<Option<Times>>>) -> AtSize {
        AtSize { size: 30_000, packets: 1.0, present: sixteen(1.0, 0.0), beside }
    }

    #[test]
    fn contenders_that_could_be_recommended_and_are_near_the_limit_are_open() {
        // within: 1 + 3 * 0.0258 < 1.1; near: 1.05; above: 1.2 - 3 * 0.0258 > 1.1
        let all = at_size(vec![sixteen(1.0, 0.1), sixteen(1.05, 0.1), sixteen(1.2, 0.1), vec![None; 16]]);
        let harm = |place: usize| all.harm(place).map(Ratios::both);
        let contender = |&(place, median): &(usize, f64)| Contender { place, median };
        let of = |all: &[(usize, f64)]| {
            let contenders: Vec<Contender> = all.iter().map(contender).collect();
            open(&harm, 1.1, &contenders)
        };
        assert_eq!(of(&[(0, 2.0), (1, 1.0), (2, 0.5), (3, 0.1)]), [1]);
        // One within the limit is faster by more than two hundredths.
        assert_eq!(of(&[(0, 1.0), (1, 1.03)]), [0; 0]);
        assert_eq!(of(&[(0, 1.0), (1, 1.01)]), [1]);
    }

    #[test]
    fn the_harm_in_a_mix_is_the_mean_by_share_and_the_part_with_the_largest_error_for_its_share_is_least_sure()
     {
        let (first, second) = (at_size(vec![sixteen(1.2, 0.1)]), at_size(vec![sixteen(1.0, 0.2)]));
        let parts = [(0.6, &first), (0.2, &second)];
        // (0.6 * 1.2 + 0.2 * 1) / 0.8 = 1.15; sqrt((0.75 * 0.1)^2 + (0.25 * 0.2)^2) / sqrt(15) = 0.023274.
        let [bulk, requests] = mixed(&parts, 0).expect("all ended");
        assert!((bulk.value - 1.15).abs() < 1e-12 && (bulk.error - 0.023_274).abs() < 1e-6, "{bulk:?}");
        assert!((requests.value - 1.0).abs() < 1e-12 && requests.error == 0.0, "{requests:?}");
        // 0.6 * 0.1 is more than 0.2 * 0.2.
        assert_eq!(least_sure(&parts, &[0]), Some(0));
        assert_eq!(least_sure(&parts, &[]), None);
    }
}
