//! The path that schemes are compared on: given, known by name, in a scenario, or inferred from a capture.

use std::fmt::Write as _;

use firstflight_capture::{Connection, Estimate, Inferred, PathEstimate as Told, infer};
use firstflight_control::units::{Nanos, Rate};
use firstflight_net::random::Stream;
use statrs::distribution::{ContinuousCDF, Normal};

use firstflight_scenario::quantity::{show_bytes, show_rate, show_time};
use firstflight_scenario::{
    Dist, Limit, Loaded, Network, Path, Places, Profile, Receiver, Scenario, SchemeSpec, parse,
};

use super::{CompareError, Input, Known, Request, refused, try_build};
use crate::network::{Built, build};
use crate::results::{PathEstimate, PathResult};

/// A buffer of which nothing is known lies between these shares of the bandwidth-delay product.
const UNKNOWN_BUFFER_BDP: [f64; 2] = [0.1, 4.0];

/// What schemes are compared on: a scenario whose first flow is the transfer, and what is not known of it.
pub(super) struct Subject<'a> {
    scenario: Scenario,
    places: Option<Places>,
    title: String,
    path: PathResult,
    uncertain: Vec<Uncertain>,
    connections: &'a [Connection],
    warnings: Vec<String>,
    /// The path is not known well enough to simulate anything.
    unknown: bool,
}

/// A value of the path that each replication draws anew.
#[derive(Clone, Copy)]
struct Uncertain {
    field: &'static str,
    /// The best single value; `None` where only bounds are known.
    value: Option<f64>,
    low: f64,
    high: f64,
}

/// An interval narrower than this share of its value changes nothing that a reader would see.
const NARROW: f64 = 0.02;

impl<'a> Subject<'a> {
    pub(super) fn of(request: &'a Request) -> Result<Self, CompareError> {
        match &request.input {
            Input::Given(known) => Self::given(known, request),
            Input::Preset(preset) => Ok(Self::loaded(preset.load(), preset.name, request)),
            Input::Scenario(loaded) => Ok(Self::loaded((**loaded).clone(), "scenario", request)),
            Input::Capture { file, capture, known } => {
                let mut subject = Self::inferred(&infer(&capture.connections), &file.name, known, request);
                subject.warnings.splice(0..0, capture.warnings.clone());
                subject.connections = &capture.connections;
                Ok(subject)
            }
        }
    }

    fn given(known: &Known, request: &Request) -> Result<Self, CompareError> {
        let rate = known.rate.ok_or(CompareError::NotGiven("rate"))?;
        let rtt = known.rtt.ok_or(CompareError::NotGiven("round-trip time"))?;
        let buffer = known.buffer.ok_or(CompareError::NotGiven("buffer"))?;
        let text = path_text("", rate, rtt, buffer, known.loss.unwrap_or(0.0), 1500);
        let loaded = parse(&text, "the given path").map_err(CompareError::Scenario)?;
        Ok(Self::loaded(loaded, "the given path", request))
    }

    /// A scenario without flows gets a transfer; one with flows has it: the first.
    fn loaded(loaded: Loaded, name: &str, request: &Request) -> Self {
        let Loaded { mut scenario, places } = loaded;
        let given_flow = !scenario.flows.is_empty();
        if given_flow {
            scenario.flows[0].count = 1;
            scenario.flows[0].lifetime = None;
        } else {
            add_transfer(&mut scenario, request);
        }
        let title = if scenario.title.is_empty() { name.into() } else { scenario.title.clone() };
        let path = given_path(&scenario);
        Self {
            places: given_flow.then_some(places),
            title,
            path,
            uncertain: vec![],
            connections: &[],
            warnings: vec![],
            unknown: false,
            scenario,
        }
    }

    fn inferred(told: &Told, file: &str, known: &Known, request: &Request) -> Self {
        let mut path = told_path(told, file);
        overrule(&mut path, known);
        let mut uncertain = vec![];
        for (field, estimate) in [("rate_bit_s", &told.rate), ("rtt_ms", &told.rtt), ("loss", &told.loss)] {
            uncertain.extend(interval(field, estimate, &path));
        }
        let mut warnings = told.notes.clone();
        let unknown = path.rate_bit_s.is_none() || path.rtt_ms.is_none();
        for name in ["rate_bit_s", "rtt_ms"] {
            if path.cannot_tell.iter().any(|field| field == name) {
                let option = if name == "rtt_ms" { "--rtt" } else { "--rate" };
                warnings.push(format!(
                    "{name} cannot be told from this capture, so that no scheme can be simulated on its path; give it \
                     with {option}"
                ));
            }
        }
        let rate = Rate(path.rate_bit_s.unwrap_or(10_000_000));
        let rtt = Nanos((path.rtt_ms.unwrap_or(100.0) * 1e6).round().max(1.0) as u64);
        let header = request.profile.stack().header;
        let mss = path.mss_bytes.map_or(1500 - header, |mss| mss as u32).clamp(64, 65_000);
        // A full packet must take as long as it did, whatever its headers here are.
        let captured = told.packet.known().map_or(f64::from(mss + header), |packet| packet.value);
        let rate =
            Rate((rate.0 as f64 * f64::from(mss + header) / captured.max(1.0)).round().max(1.0) as u64);
        let bdp = rate.bytes_in(rtt) as f64 / f64::from(mss + header);
        let buffer = match path.buffer_packets {
            Some(packets) => packets.max(1),
            None => {
                let bounds =
                    told.buffer.unknown().map_or((None, None), |unknown| (unknown.low, unknown.high));
                let low = bounds.0.unwrap_or(UNKNOWN_BUFFER_BDP[0] * bdp).max(1.0);
                let high = bounds.1.unwrap_or(UNKNOWN_BUFFER_BDP[1] * bdp).max(low);
                uncertain.push(Uncertain { field: "buffer_packets", value: None, low, high });
                (low * high).sqrt().round() as u64
            }
        };
        uncertain.extend(interval("buffer_packets", &told.buffer, &path));
        let loss = path.loss.unwrap_or(0.0);
        let text = path_text(file, rate, rtt, Limit::Packets(buffer), loss, mss + header);
        let loaded = parse(&text, file).expect("a path inferred from a capture is a valid one");
        let mut subject = Self::loaded(loaded, file, request);
        subject.settle_ends(told, mss);
        Self { path, uncertain, warnings, unknown, title: file.into(), ..subject }
    }

    /// The transfer's two ends behave as the captured ones did.
    fn settle_ends(&mut self, told: &Told, mss: u32) {
        let flow = &mut self.scenario.flows[0];
        if let Some(window) = told.initial_window.known() {
            flow.initial_window = (window.value.round().max(1.0) as u64) * u64::from(mss);
        }
        if let Some(window) = told.receive_window.known() {
            flow.receive_window = Some((window.value as u64).max(u64::from(mss)));
        }
        if let Some(receiver) = told.receiver.known() {
            let word = receiver.label();
            flow.receiver = Receiver::ALL.iter().copied().find(|r| r.word() == word).unwrap_or(flow.receiver);
        }
    }

    /// Whether the stack and the simulator can run a scheme here.
    pub(super) fn admits(&self, scheme: &SchemeSpec) -> Result<(), CompareError> {
        let mut scenario = self.scenario.clone();
        scenario.flows[0].scheme = scheme.clone();
        try_build(&scenario).map_err(|refusal| refused(refusal, self.places.as_ref(), scheme))
    }

    /// The run of one scheme at one size under one seed.
    pub(super) fn build(&self, scheme: &SchemeSpec, size: u64, seed: u64) -> Built {
        let mut scenario = self.draw(seed);
        scenario.flows[0].scheme = scheme.clone();
        scenario.flows[0].size = Some(Dist::Fixed(size));
        build(&scenario, seed, Nanos::from_secs(1)).expect("every scheme was tried before")
    }

    /// The scenario with what is not known drawn; as it is, where everything is known.
    fn draw(&self, seed: u64) -> Scenario {
        let mut scenario = self.scenario.clone();
        let Network::Dumbbell(path) = &mut scenario.network else { return scenario };
        for unknown in &self.uncertain {
            let share = Stream::named(seed, unknown.field).unit();
            unknown.put(path, share);
        }
        scenario
    }

    /// The scenario at its central values, for the re-runs of captured connections.
    pub(super) fn central(&self) -> &Scenario {
        &self.scenario
    }

    /// One seed a replication; a single one where nothing is random.
    pub(super) fn seeds(&self, request: &Request) -> Vec<u64> {
        let runs = if self.is_random() { request.runs.max(1) } else { 1 };
        (0..u64::from(runs)).map(|i| request.seed.wrapping_add(i)).collect()
    }

    /// Whether replications can differ at all.
    fn is_random(&self) -> bool {
        let random_path = match &self.scenario.network {
            Network::Dumbbell(path) => random_link(&path.queue, path.loss),
            Network::Graph(graph) => graph.links.iter().any(|link| random_link(&link.queue, link.loss)),
        };
        let random_flow = |flow: &firstflight_scenario::FlowGroup| {
            !matches!(flow.extra_rtt, Dist::Fixed(_))
                || !matches!(
                    flow.start,
                    firstflight_scenario::Start::At(_) | firstflight_scenario::Start::Every(_)
                )
                || flow.profile == Profile::Ns2
        };
        let random_size = |flow: &firstflight_scenario::FlowGroup| {
            !matches!(flow.size, None | Some(Dist::Fixed(_)))
                || !matches!(flow.lifetime, None | Some(Dist::Fixed(_)))
        };
        !self.uncertain.is_empty()
            || random_path
            || self.scenario.flows.iter().any(random_flow)
            || self.scenario.flows.iter().skip(1).any(random_size)
            || self.scenario.udp.iter().any(|udp| udp.on_off.is_some())
    }

    pub(super) fn connections(&self) -> &[Connection] {
        self.connections
    }

    pub(super) fn path_unknown(&self) -> bool {
        self.unknown
    }

    pub(super) fn title(&self) -> String {
        self.title.clone()
    }

    pub(super) fn path_result(&self) -> PathResult {
        self.path.clone()
    }

    /// The fields whose values replications draw anew over a range that a reader would notice.
    pub(super) fn uncertain(&self) -> Vec<String> {
        self.uncertain.iter().filter(|u| u.matters()).map(|unknown| unknown.field.to_owned()).collect()
    }

    pub(super) fn scenario_text(&self) -> String {
        self.scenario.to_toml()
    }

    pub(super) fn scenario_hash(&self) -> String {
        self.scenario.hash()
    }

    pub(super) fn warnings(&self, replications: usize) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if replications == 1 && !self.unknown {
            warnings.push(
                "nothing on this path is random, so that one run of each scheme tells all and the intervals have no \
                 width; real paths vary"
                    .into(),
            );
        }
        warnings
    }
}

impl Uncertain {
    /// Puts a value into the path, the one below which it lies with probability `share`.
    fn put(&self, path: &mut Path, share: f64) {
        let drawn = self.at(share);
        match self.field {
            "rate_bit_s" => path.rate = Rate(drawn.round().max(1.0) as u64),
            "rtt_ms" => path.rtt = Nanos((drawn * 1e6).round().max(1.0) as u64),
            "loss" => path.loss = drawn.clamp(0.0, 1.0),
            _ => path.buffer = Limit::Packets(drawn.round().max(1.0) as u64),
        }
    }

    fn at(&self, share: f64) -> f64 {
        let normal = |p: f64| Normal::standard().inverse_cdf(p.clamp(1e-6, 1.0 - 1e-6));
        match self.value {
            // Only bounds: on a logarithmic scale, where a buffer that may be anything between a tenth and four
            // bandwidth-delay products is as often below as above their geometric mean.
            None => self.low * libm::pow(self.high / self.low, share),
            // No loss among n packets: Jeffreys' posterior, Gamma(1/2) / n, which is half the square of a normal
            // variable over n. The upper end that is known here is Wilson's, 1.96^2 / n.
            Some(0.0) => {
                let z = normal((1.0 + share) / 2.0);
                self.high * z * z / (2.0 * 1.96 * 1.96)
            }
            // The two sides of a normal law, each as wide as its side of the interval.
            Some(value) => {
                let z = normal(share) / 1.96;
                let side = if z < 0.0 { value - self.low } else { self.high - value };
                (value + z * side).max(0.0)
            }
        }
    }

    /// Whether the interval is wide enough to be told to the reader.
    fn matters(&self) -> bool {
        match self.value {
            Some(value) => self.high - self.low > NARROW * value,
            None => true,
        }
    }
}

fn random_link(queue: &firstflight_scenario::Queue, loss: f64) -> bool {
    loss > 0.0 || matches!(queue, firstflight_scenario::Queue::Red(_))
}

/// The interval of an estimate that is in force, where it has any width.
fn interval(field: &'static str, estimate: &Inferred<Estimate>, path: &PathResult) -> Option<Uncertain> {
    let known = estimate.known()?;
    // What the user gave in its place is exact.
    path.estimates.iter().any(|e| e.field == field).then_some(())?;
    let scale = if field == "rtt_ms" { 1e3 } else { 1.0 };
    let floor = if field == "buffer_packets" { 1.0 } else { 0.0 };
    let (low, high) = ((known.low * scale).max(floor), (known.high * scale).max(floor));
    (high > low).then_some(Uncertain { field, value: Some(known.value * scale), low, high })
}

/// A scenario file of a path.
fn path_text(title: &str, rate: Rate, rtt: Nanos, buffer: Limit, loss: f64, packet: u32) -> String {
    let mut text = String::new();
    let buffer = match buffer {
        Limit::Packets(n) => format!("{n} packets"),
        Limit::Bytes(n) => show_bytes(n),
    };
    if !title.is_empty() {
        let _ = writeln!(text, "title = {title:?}");
    }
    let _ = writeln!(text, "[path]\nrate = \"{}\"\nrtt = \"{}\"", show_rate(rate), show_time(rtt));
    let _ = writeln!(text, "buffer = \"{buffer}\"\nloss = {loss:?}\n[packet]\nsize = \"{packet} B\"");
    text
}

/// The transfer whose schemes are compared, at the first of the sizes.
fn add_transfer(scenario: &mut Scenario, request: &Request) {
    let (profile, size) = (request.profile.word(), show_bytes(request.sizes[0]));
    let flow = format!("\n[[flow]]\nname = \"transfer\"\nprofile = \"{profile}\"\nsize = \"{size}\"\n");
    let added = parse(&(scenario.to_toml() + &flow), "the compared transfer");
    *scenario = added.expect("the canonical form is a valid scenario").scenario;
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

fn told_path(told: &Told, file: &str) -> PathResult {
    let value = |estimate: &Inferred<Estimate>| estimate.known().map(|e| e.value);
    let whole = |estimate: &Inferred<Estimate>| value(estimate).map(|v| v.round().max(0.0) as u64);
    let estimates = [
        ("rate_bit_s", &told.rate, 1.0),
        ("rtt_ms", &told.rtt, 1e3),
        ("buffer_packets", &told.buffer, 1.0),
        ("loss", &told.loss, 1.0),
        ("mss_bytes", &told.mss, 1.0),
        ("initial_window_packets", &told.initial_window, 1.0),
    ];
    let mut estimates: Vec<PathEstimate> =
        estimates.into_iter().map(|(field, estimate, scale)| told_value(field, estimate, scale)).collect();
    estimates.push(PathEstimate {
        field: "receiver".into(),
        value: None,
        word: told.receiver.known().map(|policy| policy.label().into()),
        low: None,
        high: None,
        how: told
            .receiver
            .unknown()
            .map_or_else(|| "bytes covered by each acknowledgement".into(), |u| u.why.clone()),
    });
    PathResult {
        inferred_from: Some(file.into()),
        rate_bit_s: whole(&told.rate),
        rtt_ms: value(&told.rtt).map(|s| s * 1e3),
        buffer_packets: whole(&told.buffer),
        loss: value(&told.loss),
        mss_bytes: whole(&told.mss),
        initial_window_packets: whole(&told.initial_window),
        receiver: told.receiver.known().map(|policy| policy.label().into()),
        cannot_tell: told.cannot_tell().into_iter().map(Into::into).collect(),
        estimates,
    }
}

fn told_value(field: &str, estimate: &Inferred<Estimate>, scale: f64) -> PathEstimate {
    let (value, low, high, how) = match estimate {
        Inferred::Known(e) => (Some(e.value * scale), Some(e.low * scale), Some(e.high * scale), &e.how),
        Inferred::CannotTell(u) => (None, u.low.map(|x| x * scale), u.high.map(|x| x * scale), &u.why),
    };
    let how = how.trim_end_matches('.').into();
    PathEstimate { field: field.into(), value, word: None, low, high, how }
}

/// What the user knows takes the place of what the capture tells.
fn overrule(path: &mut PathResult, known: &Known) {
    let mut given = vec![];
    if let Some(rate) = known.rate {
        path.rate_bit_s = Some(rate.0);
        given.push("rate_bit_s");
    }
    if let Some(rtt) = known.rtt {
        path.rtt_ms = Some(rtt.0 as f64 * 1e-6);
        given.push("rtt_ms");
    }
    if let Some(loss) = known.loss {
        path.loss = Some(loss);
        given.push("loss");
    }
    if let Some(buffer) = known.buffer {
        let packet = path.mss_bytes.unwrap_or(1448) + 52;
        path.buffer_packets = Some(match buffer {
            Limit::Packets(n) => n,
            Limit::Bytes(n) => n / packet,
        });
        given.push("buffer_packets");
    }
    path.cannot_tell.retain(|field| !given.contains(&field.as_str()));
    path.estimates.retain(|estimate| !given.contains(&estimate.field.as_str()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_never_seen_is_drawn_near_zero_and_beyond_its_bound_as_rarely_as_it_should_be() {
        // None of 691 packets lost: Wilson's upper end is 3.84 / 691 = 0.556 %.
        let loss = Uncertain { field: "loss", value: Some(0.0), low: 0.0, high: 3.84 / 691.0 };
        // Jeffreys: the median of Gamma(1/2, 1) is 0.2275, its 97.5 % point 2.512.
        assert!((loss.at(0.5) * 691.0 - 0.2275).abs() < 0.001, "{}", loss.at(0.5) * 691.0);
        assert!((loss.at(0.975) * 691.0 - 2.512).abs() < 0.005);
        assert!(loss.at(0.0) < 1e-9);
    }

    #[test]
    fn a_value_with_an_interval_lies_at_its_centre_in_the_median_and_at_its_ends_with_2_5_percent() {
        let rate = Uncertain { field: "rate_bit_s", value: Some(20.0), low: 19.0, high: 23.0 };
        assert!((rate.at(0.5) - 20.0).abs() < 1e-6);
        assert!((rate.at(0.025) - 19.0).abs() < 0.001 && (rate.at(0.975) - 23.0).abs() < 0.001);
    }

    #[test]
    fn a_buffer_of_which_only_bounds_are_known_is_as_often_below_as_above_their_geometric_mean() {
        let buffer = Uncertain { field: "buffer_packets", value: None, low: 25.0, high: 400.0 };
        assert!((buffer.at(0.5) - 100.0).abs() < 1e-9);
    }
}
