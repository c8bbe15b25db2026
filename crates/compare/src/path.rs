//! Subject of a comparison: a path that is given, a preset, in a scenario, or inferred from a capture.

mod origin;

use firstflight_capture::{Connection, PathEstimate as InferredPath};
use firstflight_contract::{Nanos, Rate};
use firstflight_document::{Error, Places};
use firstflight_explain::Explanation;
use firstflight_hosts::host::{Begun, Ended, Host, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_random::Dist;
use firstflight_results::PathResult;
use firstflight_scenario::{Candidate, Network, Profile, Scenario, Threshold, limits};

use crate::halt::Halt;
use crate::how::deployable;
use crate::inferred::uncertain_fields;
use crate::replication::Replication;
use crate::request::Request;

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
    /// Difference of the capture from its re-runs, in standard deviations, if it resembles none of them.
    pub(super) fn unlike(&self) -> Option<f64> {
        let explanation = self.explanation.as_ref().filter(|it| !it.resembles())?;
        Some(explanation.misfit())
    }

    /// Whether the explained connections sent no packet twice.
    pub(super) fn shows_no_loss(&self) -> bool {
        self.on_path.iter().all(|&index| self.connections[index].observed.retransmits == 0)
    }

    /// Paths that explain the capture.
    pub(super) fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }

    /// The same, of a subject that is no longer needed.
    pub(super) fn into_explanation(self) -> Option<Explanation> {
        self.explanation
    }

    /// Names of the path's values that the explanation leaves uncertain.
    pub(super) fn uncertain_fields(&self) -> Vec<String> {
        self.explanation.as_ref().map_or_else(Vec::new, uncertain_fields)
    }

    /// Host that runs the simulations.
    pub(super) fn host(&self) -> &dyn Host {
        self.host
    }

    /// Checks that the subject can carry every size and admits every scheme of a request.
    ///
    /// # Errors
    /// If it does not, or the stack does not have a scheme and that is asked for.
    pub(super) fn can(&self, request: &Request) -> Result<(), Error> {
        request.sizes.iter().try_for_each(|&size| self.carries(size))?;
        for scheme in &request.schemes {
            self.admits(scheme)?;
            if request.deployable && !deployable(scheme, self.profile()) {
                let expected = "a candidate that docs/deploy.md lists, or no --deployable";
                return Err(Error::invalid("this stack does not have it")
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

/// The nearest whole number from one to `most`, the limit of the scenario format.
fn whole(value: f64, most: u64) -> u64 {
    (value.round().max(1.0) as u64).min(most)
}
