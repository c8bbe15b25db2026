//! Subjects of the inputs of a comparison: their scenarios, and the paths that explain captures.

use firstflight_capture::{Connection, PathEstimate as InferredPath, infer, infer_together};
use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::{Amount, show_rate, show_time};
use firstflight_document::seconds::Seconds;
use firstflight_document::{Error, Places, Problem};
use firstflight_explain::{Explanation, Given, Question, Shown};
use firstflight_hosts::host::Host;
use firstflight_hosts::progress::Progress;
use firstflight_identify::Identified;
use firstflight_results::PathResult;
use firstflight_scenario::build::{Flow, Packet, Path};
use firstflight_scenario::{Limit, Loaded, Network, Receiver, Scenario, Source, limits};

use super::{Subject, whole};
use crate::connections::{between_busiest, is_bulk, largest};
use crate::inferred::{contradictions, describe, inferred_path, overrule, reorders};
use crate::input::{Input, Known};
use crate::networks::Network as ClientNetwork;
use crate::request::Request;

/// Rate of the access links of an inferred path: so fast that packets take no time there, because the inferred round
/// trip already includes that time.
const ENDS: &str = "100 Gbit/s";

/// The captured receive window is used if it limited the connections for this share of their time; otherwise it may
/// still have been growing.
const WINDOW_LIMITED: f64 = 0.1;

/// Initial share of the largest window. A Linux receiver with a large buffer first offers half of it
/// (`TCP_DEFAULT_SCALING_RATIO`), and later up to five eighths, when full packets have proved to fit.
const FIRST_WINDOW: f64 = 0.8;

/// The scheme of a captured sender of QUIC, if its stack was identified and is the one that runs the schemes. The initial window is that of the capture.
fn shown(request: &Request) -> Option<Shown> {
    let likeliest = request.input.identified()?.likeliest()?;
    let own = likeliest.profile == request.stack() && likeliest.profile.stack().is_quic();
    own.then(|| Shown { scheme: likeliest.candidate.scheme.clone(), probability: likeliest.probability })
}

impl<'a> Subject<'a> {
    /// The subject of a request, with the paths that explain its capture.
    ///
    /// # Errors
    /// As [`Subject::of`].
    pub(crate) fn explained(
        host: &'a dyn Host,
        request: &'a Request,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        Ok(Self::of(host, request)?.with_explanation(request, progress))
    }

    /// The subject with the paths that explain its capture.
    pub(crate) fn with_explanation(mut self, request: &Request, progress: &dyn Progress) -> Self {
        self.explain(request, progress);
        self
    }

    /// The subject of a request, enough to check it. Nothing is run.
    ///
    /// # Errors
    /// If a value of the path is missing or cannot be simulated.
    pub(crate) fn of(host: &'a dyn Host, request: &'a Request) -> Result<Self, Error> {
        match &request.input {
            Input::Given(known) => Self::given(host, known, request),
            Input::Preset(preset) => Self::loaded(host, preset.load(), preset.name, request),
            Input::Scenario(loaded) => Self::loaded(host, (**loaded).clone(), "scenario", request),
            Input::Capture { file, capture, known, .. } => {
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
    pub(crate) fn of_network(
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
        let scenario = Scenario::builder().path(path).build()?;
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
        let stack = request.stack().stack();
        let mss = path.mss_bytes.map_or(1500 - stack.header, |mss| mss as u32).clamp(64, 65_000);
        let packet = stack.full_packet(mss);
        // The simulated full packet must take as long as the captured one, whatever its headers.
        let captured = inferred.packet.known().map_or(f64::from(packet), |packet| packet.value);
        let longer = f64::from(packet) / captured.max(1.0);
        let least = inferred.rate.unknown().and_then(|unknown| unknown.low).unwrap_or(0.0);
        let rate = path.rate_bit_s.map_or(10e6, |rate| rate as f64 * longer);
        let rtt = path.rtt_ms.unwrap_or(100.0) * 1e6;
        refuse_beyond_limits(file, rate.max(least), rtt)?;
        if known.rtt.is_none() {
            refuse_times_of_machines(file, path.rtt_ms)?;
        }
        let (rate, rtt) = (Rate(whole(rate, limits::RATE.0)), Nanos(whole(rtt, limits::DELAY.0)));
        let buffer = Limit::Packets(whole(path.buffer_packets.unwrap_or(1) as f64, limits::PACKETS));
        let dumbbell = Path::new(rate, rtt, buffer).loss(path.loss.unwrap_or(0.0)).access_rate(ENDS);
        let sizes = Packet::new().size(Amount::Bytes(packet.into()));
        let scenario = Scenario::builder().title(file).path(dumbbell).packet(sizes).build()?;
        let mut subject = Self::loaded(host, scenario.into(), file, request)?;
        // Flights of QUIC have tickets and probes too: the initial window of an identified stack is better known than measured.
        let likeliest = request.input.identified().and_then(Identified::likeliest);
        let usual =
            likeliest.filter(|one| stack.is_quic() && one.candidate.settings.initial_window.is_none());
        let known_window = usual.is_some_and(|one| one.profile == request.stack());
        subject.settle_ends(inferred, mss, known_window);
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
            shown: shown(request),
            longer: self.longer,
            seed: request.search_seed.unwrap_or(request.seed),
            candidates: request.candidates,
            together: request.together,
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

    /// Gives the transfer the ACK policy of the captured connections, and their initial window unless that of the profile is known to be it.
    fn settle_ends(&mut self, inferred: &InferredPath, mss: u32, known_window: bool) {
        let flow = &mut self.scenario.flows[0];
        if let Some(window) = inferred.initial_window.known().filter(|_| !known_window) {
            flow.initial_window = (window.value.round().max(1.0) as u64) * u64::from(mss);
        }
        if let Some(receiver) = inferred.receiver.known() {
            flow.receive_as(receiver.label());
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

/// Refuses an inferred round trip, milliseconds, within which the machines at the ends decide when packets leave. Captures over loopback and over
/// a pair of virtual interfaces have 0.02 ms, and offload moves their packets in bursts of a whole window.
fn refuse_times_of_machines(file: &str, rtt_ms: Option<f64>) -> Result<(), Error> {
    /// Time within which a machine answers a packet.
    const MACHINE_MS: f64 = 0.1;
    let Some(rtt) = rtt_ms.filter(|rtt| *rtt < MACHINE_MS) else { return Ok(()) };
    let why = format!(
        "the inferred round-trip time is {rtt:.3} ms; below {MACHINE_MS} ms the machines at the ends decide when packets leave, and their time is not \
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
    let flow = Flow::new().name(name).profile(request.stack()).size(Amount::Bytes(request.sizes[0]));
    scenario.to_builder().flow(flow).build()
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

#[cfg(test)]
mod tests {
    use super::refuse_times_of_machines;

    #[test]
    fn a_round_trip_of_machines_alone_is_refused_by_name() {
        assert!(refuse_times_of_machines("a.pcap", None).is_ok());
        assert!(refuse_times_of_machines("a.pcap", Some(0.1)).is_ok());
        let error = refuse_times_of_machines("lo.pcap", Some(0.019_49)).expect_err("0.02 ms are of machines");
        assert_eq!(
            error.to_string(),
            "lo.pcap: the inferred round-trip time is 0.019 ms; below 0.1 ms the machines at the ends decide when packets leave, and their \
             time is not simulated; expected a capture across a network, or --rtt with the true value"
        );
    }
}
