//! Subject of a comparison: a path that is given, a preset, in a scenario, or inferred from a capture.

use firstflight_document::seconds::Seconds;

use firstflight_capture::{Connection, PathEstimate as InferredPath, infer, infer_together};
use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::{Amount, show_rate, show_time};
use firstflight_document::{Error, Places, Problem};
use firstflight_random::Dist;
use firstflight_scenario::build::{Builder, Flow, Packet, Path};
use firstflight_scenario::{
    Candidate, Limit, Loaded, Network, Profile, Receiver, Scenario, Source, Threshold, limits,
};

use crate::connections::{between_busiest, is_bulk, largest};
use crate::halt::Halt;
use crate::how::deployable;
use crate::inferred::{contradictions, describe, inferred_path, overrule, reorders, uncertain_fields};
use crate::input::{Input, Known};
use crate::networks::Network as ClientNetwork;
use crate::replication::Replication;
use crate::request::Request;
use firstflight_explain::{Explanation, Given, Question};
use firstflight_hosts::host::{Begun, Ended, Host, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::progress::Progress;
use firstflight_results::PathResult;

/// Rate of the access links of an inferred path: so fast that packets take no time there, because the inferred round
/// trip already includes that time.
const ENDS: &str = "100 Gbit/s";

/// The captured receive window is used if it limited the connections for this share of their time; otherwise it may
/// still have been growing.
const WINDOW_LIMITED: f64 = 0.1;

/// Initial share of the largest window. A Linux receiver with a large buffer first offers half of it
/// (`TCP_DEFAULT_SCALING_RATIO`), and later up to five eighths, when full packets have proved to fit.
const FIRST_WINDOW: f64 = 0.8;

/// Subject of a comparison: a scenario whose first flow is the transfer, and the unknowns of its path.
pub(super) struct Subject<'a> {
    host: &'a dyn Host,
    scenario: Scenario,
    places: Places,
    title: String,
    path: PathResult,
    /// Paths that explain the capture; `None` for a given path.
    explanation: Option<Explanation>,
    connections: Vec<&'a Connection>,
    /// Indices of the connections that crossed the path, those with most data first.
    on_path: Vec<usize>,
    /// Estimates of the path's values; `None` for a given path.
    inferred: Option<InferredPath>,
    warnings: Vec<String>,
    /// Whether too little is known of the path to simulate it.
    unknown: bool,
    /// Limit of the memory of all runs and their results, bytes.
    memory: u64,
    /// Size of a simulated full packet over that of a captured one.
    longer: f64,
    /// Replications if anything is random.
    runs: u32,
}

impl<'a> Subject<'a> {
    /// The subject of a request, with the paths that explain its capture.
    ///
    /// # Errors
    /// As [`Subject::of`].
    pub(super) fn explained(
        host: &'a dyn Host,
        request: &'a Request,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        Ok(Self::of(host, request)?.with_explanation(request, progress))
    }

    /// The subject with the paths that explain its capture.
    pub(super) fn with_explanation(mut self, request: &Request, progress: &dyn Progress) -> Self {
        self.explain(request, progress);
        self
    }

    /// The subject of a request, enough to check it. Nothing is run.
    ///
    /// # Errors
    /// If a value of the path is missing or cannot be simulated.
    pub(super) fn of(host: &'a dyn Host, request: &'a Request) -> Result<Self, Error> {
        match &request.input {
            Input::Given(known) => Self::given(host, known, request),
            Input::Preset(preset) => Self::loaded(host, preset.load(), preset.name, request),
            Input::Scenario(loaded) => Self::loaded(host, (**loaded).clone(), "scenario", request),
            Input::Capture { file, capture, known } => {
                let connections: Vec<&Connection> =
                    capture.connections.iter().map(Connection::first_transfer).collect();
                let on_path = between_busiest(&connections);
                let inferred = infer(&capture.connections);
                let mut subject =
                    Self::captured(host, request, (&file.name, known), inferred, connections, on_path)?;
                subject.warnings.splice(0..0, capture.warnings.clone());
                Ok(subject)
            }
        }
    }

    /// The subject of a request for one network of its capture.
    ///
    /// # Errors
    /// As [`Subject::of`].
    pub(super) fn of_network(
        host: &'a dyn Host,
        request: &'a Request,
        network: &ClientNetwork<'a>,
    ) -> Result<Self, Error> {
        let connections = network.connections.clone();
        let on_path = largest(&connections, (0..connections.len()).collect());
        let inferred = infer_together(&connections);
        let subject =
            Self::captured(host, request, (network.file, network.known), inferred, connections, on_path)?;
        Ok(Self { runs: network.runs, ..subject })
    }

    /// The subject of captured connections, of which those with the indices `on_path` crossed the `inferred` path.
    fn captured(
        host: &'a dyn Host,
        request: &Request,
        (file, known): (&str, &Known),
        inferred: InferredPath,
        connections: Vec<&'a Connection>,
        on_path: Vec<usize>,
    ) -> Result<Self, Error> {
        let mut subject = Self::inferred(host, &inferred, file, known, request)?;
        subject.settle_window(&inferred, &connections);
        Ok(Self { connections, on_path, inferred: Some(inferred), ..subject })
    }

    fn given(host: &'a dyn Host, known: &Known, request: &Request) -> Result<Self, Error> {
        let rate = known.rate.ok_or_else(|| missing("rate"))?;
        let rtt = known.rtt.ok_or_else(|| missing("rtt"))?;
        let buffer = known.buffer.ok_or_else(|| missing("buffer"))?;
        let path = Path::new(rate, rtt, buffer).loss(known.loss.unwrap_or(0.0));
        let scenario = built(&Scenario::builder().path(path))?;
        Self::loaded(host, scenario.into(), "the given path", request)
    }

    /// A scenario without `[[flow]]` gets a transfer; one with `[[flow]]` has it: the first.
    fn loaded(host: &'a dyn Host, loaded: Loaded, name: &str, request: &Request) -> Result<Self, Error> {
        let Loaded { mut scenario, places } = loaded;
        let given_flow = scenario.flows.first().is_some_and(|flow| flow.source == Source::Flow);
        if given_flow {
            if scenario.flows[0].parallel > 1 {
                let why = "compare times one connection, and this flow is split over several";
                return Err(places.refuse("flow[0].parallel", why).expecting("parallel = 1"));
            }
            scenario.flows[0].count = Some(1);
            scenario.flows[0].lifetime = None;
        } else {
            scenario = with_transfer(&scenario, &places, request)?;
        }
        let title = if scenario.title.is_empty() { name.into() } else { scenario.title.clone() };
        let path = given_path(&scenario);
        Ok(Self {
            host,
            places,
            title,
            path,
            explanation: None,
            connections: vec![],
            on_path: vec![],
            inferred: None,
            warnings: vec![],
            unknown: false,
            memory: request.memory,
            longer: 1.0,
            runs: request.runs.max(1),
            scenario,
        })
    }

    fn inferred(
        host: &'a dyn Host,
        inferred: &InferredPath,
        file: &str,
        known: &Known,
        request: &Request,
    ) -> Result<Self, Error> {
        let mut path = inferred_path(inferred, file);
        overrule(&mut path, known);
        let header = request.profile.stack().header;
        let mss = path.mss_bytes.map_or(1500 - header, |mss| mss as u32).clamp(64, 65_000);
        let packet = mss + header;
        // The simulated full packet must take as long as the captured one, whatever its headers.
        let captured = inferred.packet.known().map_or(f64::from(packet), |packet| packet.value);
        let longer = f64::from(packet) / captured.max(1.0);
        let least = inferred.rate.unknown().and_then(|unknown| unknown.low).unwrap_or(0.0);
        let rate = path.rate_bit_s.map_or(10e6, |rate| rate as f64 * longer);
        let rtt = path.rtt_ms.unwrap_or(100.0) * 1e6;
        refuse_beyond_limits(file, rate.max(least), rtt)?;
        if known.rtt.is_none() {
            refuse_times_of_hosts(file, path.rtt_ms)?;
        }
        let (rate, rtt) = (Rate(whole(rate, limits::RATE.0)), Nanos(whole(rtt, limits::DELAY.0)));
        let buffer = Limit::Packets(whole(path.buffer_packets.unwrap_or(1) as f64, limits::PACKETS));
        let dumbbell = Path::new(rate, rtt, buffer).loss(path.loss.unwrap_or(0.0)).access_rate(ENDS);
        let sizes = Packet::new().size(Amount::Bytes(packet.into()));
        let scenario = built(&Scenario::builder().title(file).path(dumbbell).packet(sizes))?;
        let mut subject = Self::loaded(host, scenario.into(), file, request)?;
        subject.settle_ends(inferred, mss);
        let warnings = inferred.notes.iter().cloned().chain(contradictions(inferred, known)).collect();
        Ok(Self { path, warnings, title: file.into(), longer, ..subject })
    }

    /// Explains a capture by simulation: sets the paths from which replications are drawn.
    fn explain(&mut self, request: &Request, progress: &dyn Progress) {
        let (Input::Capture { known, .. }, Some(inferred)) = (&request.input, &self.inferred) else { return };
        let on_path = || self.on_path.iter().map(|&index| (index, self.connections[index]));
        let mut connections: Vec<_> = on_path().filter(|(_, one)| is_bulk(one)).collect();
        if connections.is_empty() {
            connections = on_path().collect();
        }
        let packet = f64::from(self.scenario.packet.size);
        let given = Given {
            rate: known.rate.map(|rate| rate.0 as f64 * self.longer),
            rtt: known.rtt.map(|rtt| rtt.0 as f64 * 1e-9),
            buffer: known.buffer.map(|buffer| match buffer {
                Limit::Packets(n) => n as f64,
                Limit::Bytes(n) => n as f64 * self.longer / packet,
            }),
            loss: known.loss,
        };
        let question = Question {
            host: self.host,
            base: &self.scenario,
            path: inferred,
            connections,
            given,
            longer: self.longer,
            seed: request.search_seed.unwrap_or(request.seed),
            candidates: request.candidates,
            breadth: request.breadth,
        };
        progress.begin("candidate paths", Explanation::STEPS);
        self.explanation = Explanation::find(&question, progress);
        progress.finish();
        self.unknown = self.explanation.is_none();
        if let Some(explanation) = &self.explanation {
            describe(&mut self.path, explanation, self.longer);
            self.warnings.extend(self.path.reordering.map(reorders));
        }
        self.warnings.extend(open_questions(&self.path, self.unknown));
    }

    /// Difference of the capture from its re-runs, in standard deviations, if it resembles none of them.
    pub(super) fn unlike(&self) -> Option<f64> {
        let explanation = self.explanation.as_ref().filter(|it| !it.resembles())?;
        Some(explanation.misfit())
    }

    /// Packets that the explained connections sent, if none was lost; `None` without a capture.
    pub(super) fn packets_without_loss(&self) -> Option<f64> {
        self.explanation.as_ref()?;
        let seen = || self.on_path.iter().map(|&index| &self.connections[index].observed);
        let none = seen().all(|one| one.retransmits == 0);
        none.then(|| seen().map(|one| one.packets as f64).sum::<f64>().max(1.0))
    }

    /// Paths that explain the capture.
    pub(super) fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }

    /// Names of the path's values that the explanation leaves uncertain.
    pub(super) fn uncertain_fields(&self) -> Vec<String> {
        self.explanation.as_ref().map_or_else(Vec::new, uncertain_fields)
    }

    /// Gives the transfer the initial window and the ACK policy of the captured connections.
    fn settle_ends(&mut self, inferred: &InferredPath, mss: u32) {
        let flow = &mut self.scenario.flows[0];
        if let Some(window) = inferred.initial_window.known() {
            flow.initial_window = (window.value.round().max(1.0) as u64) * u64::from(mss);
        }
        if let Some(receiver) = inferred.receiver.known() {
            let word = receiver.label();
            let named = Receiver::ALL.iter().copied().find(|r| r.word() == word);
            // Of a stack without a buffer that grows, the ACKs at first are the nearest to it.
            let tuned = named == Some(Receiver::Tuned) && !flow.profile.stack().tuned_buffer;
            flow.receiver =
                if tuned { Receiver::QuickAckThenDelayed } else { named.unwrap_or(flow.receiver) };
        }
    }

    /// Gives the transfer the receive window of the captured connections, if that limited them or is larger than the
    /// stack's own. A window that still opened when the capture ended opens on: to that of a Linux receiver whose buffer
    /// gave the first window, or to the stack's own.
    fn settle_window(&mut self, inferred: &InferredPath, connections: &[&Connection]) {
        let Some(largest) = inferred.receive_window.known() else { return };
        let limited = |connection: &&Connection| {
            let seen = &connection.observed;
            let limits = [seen.congestion_limited, seen.window_limited, seen.application_limited];
            let all: f64 = limits.map(Seconds::as_secs_f64).iter().sum();
            seen.window_limited.as_secs_f64() > WINDOW_LIMITED * all
        };
        let flow = &mut self.scenario.flows[0];
        let largest = (largest.value as u64).max(self.scenario.packet.payload(flow.profile).into());
        let first = inferred.opening.map(|opening| opening.first);
        let opening = inferred.opening.filter(|opening| opening.goes_on);
        if flow.receiver == Receiver::Tuned {
            // Such a buffer limits the first flights and grows.
            flow.receive_window = flow.receive_window.max(Some(largest));
            flow.initial_receive_window = first.or(flow.initial_receive_window);
        } else if connections.iter().any(limited) {
            (flow.receive_window, flow.initial_receive_window) = (Some(largest), None);
        } else if let Some(opening) = opening {
            let open = (opening.first as f64 / FIRST_WINDOW) as u64;
            let limit = largest.max(open).max(flow.receive_window.unwrap_or(0));
            (flow.receive_window, flow.initial_receive_window) = (Some(limit), Some(opening.first));
        } else if flow.receive_window.is_some_and(|own| own < largest) {
            let first = first.map_or(largest, |first| first.min(largest));
            (flow.receive_window, flow.initial_receive_window) = (Some(largest), Some(first));
        }
    }

    /// Host that runs the simulations.
    pub(super) fn host(&self) -> &dyn Host {
        self.host
    }

    /// Checks that the subject can carry every size and admits every scheme of a request.
    ///
    /// # Errors
    /// If it does not, or no deployed stack has a scheme and that is asked for.
    pub(super) fn can(&self, request: &Request) -> Result<(), Error> {
        request.sizes.iter().try_for_each(|&size| self.carries(size))?;
        for scheme in &request.schemes {
            self.admits(scheme)?;
            if request.deployable && !deployable(scheme, self.profile()) {
                let expected = "a candidate that docs/deploy.md lists, or no --deployable";
                return Err(Error::invalid("no deployed stack has it")
                    .at_key(scheme.label())
                    .expecting(expected));
            }
        }
        Ok(())
    }

    /// Checks that one connection can send transfers of `size` bytes.
    fn carries(&self, size: u64) -> Result<(), Error> {
        let flow = &self.scenario.flows[0];
        let payload = self.scenario.packet.payload(flow.profile);
        let transfers = flow.rounds.map_or(1, |rounds| u64::from(rounds.count));
        if size.div_ceil(payload.into()).saturating_mul(transfers) <= limits::SEGMENTS {
            return Ok(());
        }
        let why = format!("{transfers} transfers of {size} B in packets of {payload} B");
        Err(Error::invalid(why).at_key("sizes").expecting(format!("at most {} packets", limits::SEGMENTS)))
    }

    /// Checks that the stack and the host can run a scheme on this path.
    fn admits(&self, scheme: &Candidate) -> Result<(), Error> {
        if scheme.settings.ssthresh == Some(Threshold::Bdp) && self.bdp_packets().is_none() {
            let why = "the bandwidth-delay product is known of a [path] only, and this network is a graph";
            return Err(Error::invalid(why).at_key(scheme.label()).expecting("packets, such as ssthresh=50"));
        }
        let mut scenario = self.scenario.clone();
        self.give(&mut scenario, scheme);
        let checked = self.host.check(&scenario, &self.observe());
        // Keys that a scheme sets are refused at its label, others at their places in the file.
        let of_scheme = |key: &str| {
            [".startup", ".paced", ".initial_pace", ".idle_restart"].iter().any(|end| key.ends_with(end))
        };
        checked.map(drop).map_err(|refusal| match self.places(&refusal.key) {
            Some(places) if !of_scheme(&refusal.key) => places.refuse(&refusal.key, refusal.why),
            _ => Error::invalid(refusal.why).at_key(scheme.label()),
        })
    }

    /// Observation of a run's totals. Comparisons have no use for deliveries, so none are recorded.
    pub(super) fn observe(&self) -> Observe {
        Observe { grid: limits::TIME, memory: self.memory, ..Observe::default() }
    }

    /// The memory of a transfer of `size` under `scheme`.
    ///
    /// # Errors
    /// If the host cannot run the scheme on the path.
    pub(super) fn estimate(
        &self,
        scheme: &Candidate,
        size: u64,
        observe: &Observe,
    ) -> Result<Estimate, Error> {
        let mut scenario = self.scenario.clone();
        self.give(&mut scenario, scheme);
        scenario.flows[0].size = Some(Dist::Fixed(size));
        self.host.check(&scenario, observe).map_err(|refusal| self.too_large(refusal))
    }

    /// Places of the scenario's file, unless `key` belongs to a transfer that the comparison has added.
    fn places(&self, key: &str) -> Option<&Places> {
        (self.places.gives("flow[0]") || self.places.gives(key)).then_some(&self.places)
    }

    /// Refuses work that takes more memory than the limit; answers how many runs may be made at the same time.
    pub(super) fn admit(&self, estimate: &Estimate) -> Result<usize, Error> {
        estimate.admit(1, self.memory).map_err(|refusal| self.too_large(refusal))?;
        Ok(estimate.threads(1, self.memory))
    }

    /// Error of a run that the host refuses.
    pub(super) fn too_large(&self, refusal: Refusal) -> Error {
        match self.places(&refusal.key) {
            Some(places) => places.refuse(&refusal.key, refusal.why),
            None => Error::invalid(refusal.why).at_key(refusal.key),
        }
    }

    /// One replication of one scheme at one size.
    ///
    /// # Errors
    /// If the traffic drawn for this replication takes more memory than the limit.
    pub(super) fn run(
        &self,
        scheme: &Candidate,
        size: u64,
        replication: Replication,
        observe: &Observe,
    ) -> Result<Run, Halt> {
        self.run_scenario(&self.scenario_of(scheme, size, replication), replication, observe)
    }

    /// Scenario of one replication: its first flow is the transfer.
    pub(crate) fn scenario_of(&self, scheme: &Candidate, size: u64, replication: Replication) -> Scenario {
        let mut scenario = match &self.explanation {
            Some(explanation) => explanation.at(replication.share()).scenario(
                &self.scenario,
                Some(Nanos::ZERO),
                replication.own_seed(),
            ),
            None => self.scenario.clone(),
        };
        self.give(&mut scenario, scheme);
        scenario.flows[0].size = Some(Dist::Fixed(size));
        scenario
    }

    /// Runs a scenario that was made from [`Subject::scenario_of`].
    ///
    /// # Errors
    /// As [`Subject::run`].
    pub(crate) fn run_scenario(
        &self,
        scenario: &Scenario,
        replication: Replication,
        observe: &Observe,
    ) -> Result<Run, Halt> {
        // Every scheme has been checked, but a seed may draw more flows than a run may have.
        let run = self.host.run(scenario, replication.own_seed(), observe);
        run.map_err(|halt| halt.map(|refusal| self.too_large(refusal)))
    }

    /// Begins a scenario that was made from [`Subject::scenario_of`], for runs that are equal until its first flow begins.
    ///
    /// # Errors
    /// As [`Subject::run`].
    pub(super) fn begin(
        &self,
        scenario: &Scenario,
        replication: Replication,
    ) -> Result<Option<Box<dyn Begun>>, Halt> {
        let begun = self.host.begin(scenario, replication.own_seed(), self.memory);
        begun.map_err(|halt| halt.map(|refusal| self.too_large(refusal)))
    }

    /// Goes on with a run that [`Subject::begin`] began.
    ///
    /// # Errors
    /// As [`Subject::run`].
    pub(super) fn go_on(&self, begun: &dyn Begun, scenario: &Scenario) -> Result<Option<Vec<Ended>>, Halt> {
        begun.go_on(scenario).map_err(|halt| halt.map(|refusal| self.too_large(refusal)))
    }

    /// Gives the transfer a scheme and its settings.
    fn give(&self, scenario: &mut Scenario, scheme: &Candidate) {
        let flow = &mut scenario.flows[0];
        scheme.apply(flow, scenario.packet.payload(flow.profile), self.bdp_packets().unwrap_or(1));
    }

    /// Stack of the transfer.
    pub(super) fn profile(&self) -> Profile {
        self.scenario.flows[0].profile
    }

    /// Payload of a full packet, bytes.
    pub(super) fn payload(&self) -> u32 {
        self.scenario.packet.payload(self.profile())
    }

    /// Bandwidth-delay product of the path with the central values of all unknowns, in whole packets of their size on the wire; `None`
    /// in a graph.
    pub(crate) fn bdp_packets(&self) -> Option<u64> {
        let Network::Dumbbell(path) = &self.scenario.network else { return None };
        // The kinds of path that explain a capture may have other values than the scenario.
        let rate = self.path.rate_bit_s.map(|rate| whole(rate as f64 * self.longer, limits::RATE.0));
        let rtt = self.path.rtt_ms.map(|rtt| whole(rtt * 1e6, limits::DELAY.0));
        let bytes = rate.map_or(path.rate, Rate).bytes_in(rtt.map_or(path.rtt, Nanos));
        Some(bytes / u64::from(self.scenario.packet.size))
    }

    /// Scenario of the transfer, without what an explanation adds.
    pub(super) fn base(&self) -> &Scenario {
        &self.scenario
    }

    /// Replications; a single one if all would be equal.
    pub(super) fn replications(&self, request: &Request) -> Vec<Replication> {
        let of = if self.draws() { self.runs } else { 1 };
        (0..of).map(|index| Replication { index, of, seed: request.seed }).collect()
    }

    /// Whether replications can differ.
    fn draws(&self) -> bool {
        if self.explanation.is_some() {
            return true;
        }
        let mut scenario = self.scenario.clone();
        // Every replication has the same size.
        scenario.flows[0].size = Some(Dist::Fixed(1));
        self.host.draws(&scenario)
    }

    pub(super) fn connections(&self) -> &[&'a Connection] {
        &self.connections
    }

    pub(super) fn on_path(&self) -> &[usize] {
        &self.on_path
    }

    pub(super) fn path_unknown(&self) -> bool {
        self.unknown
    }

    pub(super) fn title(&self) -> String {
        self.title.clone()
    }

    pub(super) fn path_result(&self) -> PathResult {
        let known = self.path.rate_bit_s.is_some() && self.path.rtt_ms.is_some();
        PathResult { bdp_packets: self.bdp_packets().filter(|_| known), ..self.path.clone() }
    }

    pub(super) fn scenario_text(&self) -> String {
        self.scenario.to_toml()
    }

    pub(super) fn scenario_hash(&self) -> String {
        self.scenario.hash()
    }

    pub(super) fn warnings(&self, replications: usize) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        let why = match (self.draws(), replications) {
            _ if self.unknown => return warnings,
            (false, _) => {
                "nothing on this path is random, so one run of each scheme is enough and the intervals have no width; \
                 real paths vary"
            }
            (true, 1) => {
                "replications differ, and only one was asked for: the intervals have no width, and another seed gives other times"
            }
            (true, _) => return warnings,
        };
        warnings.push(why.into());
        warnings
    }
}

/// The error that a value of the path is missing.
fn missing(key: &str) -> Error {
    Error::new(Problem::Missing)
        .at_key(format!("path.{key}"))
        .expecting("rate, rtt and buffer of the path; or a capture, a scenario or a preset")
}

/// Refuses an inferred rate, bit/s, and round trip, nanoseconds, that no scenario can have.
fn refuse_beyond_limits(file: &str, rate: f64, rtt: f64) -> Result<(), Error> {
    let beyond = |value: String, what: &str, most: String, option: &str| {
        Error::invalid(format!("the inferred {what} is {value}, and at most {most} can be simulated"))
            .in_file(file, None)
            .expecting(format!("{option} with the true value, if the capture is wrong"))
    };
    if rtt > limits::DELAY.0 as f64 {
        let value = show_time(Nanos(rtt as u64));
        return Err(beyond(value, "round-trip time", show_time(limits::DELAY), "--rtt"));
    }
    if rate > limits::RATE.0 as f64 {
        let value = show_rate(Rate(rate as u64));
        return Err(beyond(value, "rate", show_rate(limits::RATE), "--rate"));
    }
    Ok(())
}

/// Refuses an inferred round trip, milliseconds, within which hosts decide when packets leave. Captures over loopback and over
/// a pair of virtual interfaces have 0.02 ms, and offload moves their packets in bursts of a whole window.
fn refuse_times_of_hosts(file: &str, rtt_ms: Option<f64>) -> Result<(), Error> {
    /// Time within which a host answers a packet.
    const HOST_MS: f64 = 0.1;
    let Some(rtt) = rtt_ms.filter(|rtt| *rtt < HOST_MS) else { return Ok(()) };
    let why = format!(
        "the inferred round-trip time is {rtt:.3} ms; below {HOST_MS} ms the hosts decide when packets leave, and their time is not \
         simulated"
    );
    Err(Error::invalid(why)
        .in_file(file, None)
        .expecting("a capture across a network, or --rtt with the true value"))
}

/// Warnings about values that could not be inferred.
fn open_questions(path: &PathResult, unknown: bool) -> Vec<String> {
    let unknown_fields =
        ["rate_bit_s", "rtt_ms"].into_iter().filter(|name| path.cannot_tell.iter().any(|f| f == name));
    unknown_fields
        .map(|name| {
            let option = if name == "rtt_ms" { "--rtt" } else { "--rate" };
            let so = if unknown {
                "so no scheme can be simulated on its path"
            } else {
                "so results cover its whole possible range"
            };
            format!("{name} cannot be inferred from this capture, {so}; give it with {option}")
        })
        .collect()
}

fn built(scenario: &Builder) -> Result<Scenario, Error> {
    scenario.build()
}

/// The scenario with the transfer whose schemes are compared, at the first of the sizes.
fn with_transfer(scenario: &Scenario, places: &Places, request: &Request) -> Result<Scenario, Error> {
    if let Network::Graph(_) = scenario.network {
        let why = "compare needs the ends of the transfer, and the scenario has no [[flow]]";
        return Err(places.refuse("", why).expecting("a [[flow]] with from and to"));
    }
    let taken = |name: &str| {
        scenario.flows.iter().any(|flow| flow.name == name) || scenario.udp.iter().any(|udp| udp.name == name)
    };
    let name = std::iter::once("transfer".to_owned()).chain((2..).map(|number| format!("transfer{number}")));
    let name = name.into_iter().find(|name| !taken(name)).expect("a scenario has a limited number of names");
    let flow = Flow::new().name(name).profile(request.profile).size(Amount::Bytes(request.sizes[0]));
    built(&scenario.to_builder().flow(flow))
}

fn given_path(scenario: &Scenario) -> PathResult {
    let flow = &scenario.flows[0];
    let payload = scenario.packet.payload(flow.profile);
    let mut path = PathResult {
        mss_bytes: Some(payload.into()),
        initial_window_packets: Some(flow.initial_window / u64::from(payload)),
        receiver: Some(flow.receiver.word().into()),
        ..PathResult::default()
    };
    if let Network::Dumbbell(bottleneck) = &scenario.network {
        path.rate_bit_s = Some(bottleneck.rate.0);
        path.rtt_ms = Some(bottleneck.rtt.0 as f64 * 1e-6);
        path.loss = Some(bottleneck.loss);
        path.buffer_packets = Some(match bottleneck.buffer {
            Limit::Packets(n) => n,
            Limit::Bytes(n) => n / u64::from(scenario.packet.size),
        });
    }
    path
}

/// The nearest whole number from one to `most`, the limit of the scenario format.
fn whole(value: f64, most: u64) -> u64 {
    (value.round().max(1.0) as u64).min(most)
}

#[cfg(test)]
mod tests {
    use super::refuse_times_of_hosts;

    #[test]
    fn a_round_trip_of_hosts_alone_is_refused_by_name() {
        assert!(refuse_times_of_hosts("a.pcap", None).is_ok());
        assert!(refuse_times_of_hosts("a.pcap", Some(0.1)).is_ok());
        let error = refuse_times_of_hosts("lo.pcap", Some(0.019_49)).expect_err("0.02 ms are of hosts");
        assert_eq!(
            error.to_string(),
            "lo.pcap: the inferred round-trip time is 0.019 ms; below 0.1 ms the hosts decide when packets leave, and their \
             time is not simulated; expected a capture across a network, or --rtt with the true value"
        );
    }
}
