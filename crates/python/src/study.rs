//! Runs, comparisons and inferences.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use firstflight::Host;
use firstflight::memory;
use firstflight::quantity::{parse_bytes, parse_time};
use firstflight::scheme::Nanos;
use firstflight::{
    Compare, Error, Input, Limits, Made, PathValues, Profile, Run, Statistic, inferred_path, parse_share,
    parse_size,
};
use firstflight_document::quoted;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::error::raised;
use crate::input::Given;
use crate::job::Job;
use crate::outcome::{Kind, Outcome, Packets};
use crate::scenario::Scenario;
use crate::scheme::{self, Chosen};

/// Runs a scenario in the simulator. firstflight.run is the function for users.
#[pyfunction]
#[pyo3(signature = (scenario, *, schemes: "collections.abc.Sequence[object] | None" = None, avoidance = "cubic", replications = 1, seed = None, grid = "1 s", memory = None, trace = false, bpf: "collections.abc.Sequence[str | os.PathLike[str]]" = vec![], progress: "collections.abc.Callable[[str, int, int], object] | None" = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn run(
    py: Python<'_>,
    scenario: PyRef<'_, Scenario>,
    schemes: Option<Vec<Bound<'_, PyAny>>>,
    avoidance: &str,
    replications: u32,
    seed: Option<u64>,
    grid: &str,
    memory: Option<&str>,
    trace: bool,
    bpf: Vec<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let job = Job::default();
    let chosen =
        schemes.map(|schemes| Chosen::read(&schemes, avoidance, &job)?.with_objects(&bpf)).transpose()?;
    let mut loaded = scenario.loaded().clone();
    let host = job.host();
    if loaded.scenario.flows.is_empty() && loaded.scenario.udp.is_empty() {
        let example = "a flow, such as Scenario(source, flow=[{\"size\": \"3 MB\"}]); compare() needs none";
        return Err(raised(Error::invalid("the scenario has no traffic to run").expecting(example)));
    }
    if let Some(chosen) = &chosen {
        // The values of the keys are then no longer those of the file.
        loaded = loaded.scenario.into();
        give(&mut loaded.scenario, chosen).map_err(raised)?;
    }
    // A scheme in Python may draw random numbers of its own.
    if replications > 1 && !job.calls_python.load(Ordering::Relaxed) && !host.draws(&loaded.scenario) {
        let why = CString::new(format!(
            "replications = {replications}: nothing in the scenario is random, so that all runs are the same"
        ))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &why, 2)?;
    }
    let kind = job.wait(py, progress, || {
        let mut run = Run::of(loaded)
            .replications(count(replications)?)
            .grid(interval(grid)?)
            .memory(bytes(memory)?)
            .host(&host)
            .progress(&job);
        if let Some(seed) = seed {
            run = run.seed(seed);
        }
        if trace {
            run.check(true, true)?;
        }
        let Made { result, samples, recording, .. } = run.execute_observed(trace, trace)?;
        let result = Box::new(result);
        chosen.as_ref().map_or(Ok(()), Chosen::check)?;
        let packets = Packets::Recorded(recording.into_iter().collect());
        Ok(Kind::Run { result, samples, packets })
    })?;
    Ok(Outcome(kind))
}

/// Gives the schemes to the flow groups: one to all of them, or one to each in order.
fn give(scenario: &mut firstflight::Scenario, chosen: &Chosen) -> Result<(), Error> {
    let (groups, schemes) = (scenario.flows.len(), chosen.parsed(Profile::Linux)?.len());
    if schemes != 1 && schemes != groups {
        let why = format!("{schemes} schemes for {groups} flow groups");
        return Err(Error::invalid(why)
            .at_key("schemes")
            .expecting("one for all groups, or one for each in order"));
    }
    for (place, group) in scenario.flows.iter_mut().enumerate() {
        let parsed = chosen.parsed(group.profile)?;
        let candidate = &parsed[place % schemes];
        if candidate.settings != firstflight::Settings::default() {
            let why = "a setting behind the scheme";
            return Err(Error::invalid(why)
                .at_key("schemes")
                .with_value(quoted(&candidate.label()))
                .expecting("the keys of the scenario, such as initial_window"));
        }
        group.scheme = candidate.scheme.clone();
    }
    Ok(())
}

/// Ranks schemes on a path. firstflight.compare is the function for users.
#[pyfunction]
#[pyo3(signature = (input: "object" = None, *, schemes: "collections.abc.Sequence[object] | None" = None, avoidance = "cubic", sizes = None, rate = None, rtt = None, buffer = None, loss = None, deployable = false, max_harm = None, max_loss = None, fastest = false, by = "geometric-mean", harm = true, profile = "linux", replications = 30, seed = 1, memory = None, trace = false, bpf: "collections.abc.Sequence[str | os.PathLike[str]]" = vec![], keylog: "str | os.PathLike[str] | None" = None, command = String::new(), progress: "collections.abc.Callable[[str, int, int], object] | None" = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn compare(
    py: Python<'_>,
    input: Option<&Bound<'_, PyAny>>,
    schemes: Option<Vec<Bound<'_, PyAny>>>,
    avoidance: &str,
    sizes: Option<Vec<String>>,
    rate: Option<String>,
    rtt: Option<String>,
    buffer: Option<String>,
    loss: Option<String>,
    deployable: bool,
    max_harm: Option<f64>,
    max_loss: Option<String>,
    fastest: bool,
    by: &str,
    harm: bool,
    profile: &str,
    replications: u32,
    seed: u64,
    memory: Option<&str>,
    trace: bool,
    bpf: Vec<PathBuf>,
    keylog: Option<PathBuf>,
    command: String,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let job = Job::default();
    let given = Given::take(input)?;
    let chosen = Chosen::read(&schemes.unwrap_or_default(), avoidance, &job)?.with_objects(&bpf)?;
    let values = PathValues { rate, rtt, buffer, loss };
    let host = job.host();
    let kind = job.wait(py, progress, || {
        let profile = profile_of(profile)?;
        let limits = Limits { harm: harm_limit(max_harm)?, loss: loss_limit(max_loss.as_deref())?, fastest };
        let by = statistic(by)?;
        let sizes =
            sizes.map(|sizes| sizes.iter().map(|text| size(text)).collect::<Result<_, _>>()).transpose()?;
        // Wrong names are refused before a large capture is read.
        chosen.candidates(profile)?;
        let (replications, memory) = (count(replications)?, bytes(memory)?);
        let input: Input = given.read(&values, &chosen.catalogue, keylog.as_deref(), &job)?;
        let candidates = chosen.candidates(input.profile(profile))?;
        let mut compare: Compare<'_> = firstflight::compare(input)
            .candidates(candidates)
            .profile(profile)
            .replications(replications)
            .seed(seed)
            .deployable(deployable)
            .harm(harm)
            .limits(limits)
            .by(by)
            .memory(memory)
            .provenance(command, env!("CARGO_PKG_VERSION").into())
            .host(&host)
            .progress(&job);
        if let Some(sizes) = sizes {
            compare = compare.transfers(sizes);
        }
        if trace {
            compare.check_recordings()?;
        }
        let report = Box::new(compare.execute()?);
        let recordings = if trace { compare.recordings(&report)? } else { vec![] };
        chosen.check()?;
        Ok(Kind::Comparison { report, packets: Packets::Recorded(recordings) })
    })?;
    Ok(Outcome(kind))
}

/// Infers the path that captured connections crossed. firstflight.infer is the function for users.
#[pyfunction]
#[pyo3(signature = (capture: "object", *, keylog: "str | os.PathLike[str] | None" = None, progress: "collections.abc.Callable[[str, int, int], object] | None" = None))]
pub fn infer(
    py: Python<'_>,
    capture: &Bound<'_, PyAny>,
    keylog: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let job = Job::default();
    let given = Given::take(Some(capture))?;
    let (kind, warnings) = job.wait(py, progress, || {
        let (file, capture) = given.read_capture(keylog.as_deref(), &job)?;
        let path = firstflight::capture::infer(&capture.connections);
        let warnings = if keylog.is_some() { capture.warnings } else { vec![] };
        Ok((Kind::Path(Box::new(inferred_path(&path, &file.name))), warnings))
    })?;
    warn(py, warnings)?;
    Ok(Outcome(kind))
}

/// Identifies the senders of a capture, as the JSON of the command identify. firstflight.identify is the function for users.
#[pyfunction]
#[pyo3(signature = (capture: "object", *, first = 5, seed = 1, keylog: "str | os.PathLike[str] | None" = None, progress: "collections.abc.Callable[[str, int, int], object] | None" = None))]
pub fn identify(
    py: Python<'_>,
    capture: &Bound<'_, PyAny>,
    first: u32,
    seed: u64,
    keylog: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let job = Job::default();
    let given = Given::take(Some(capture))?;
    let host = job.host();
    let (found, warnings) = job.wait(py, progress, || {
        let (file, capture) = given.read_capture(keylog.as_deref(), &job)?;
        let found = firstflight_identify::senders(&host, &capture, first as usize, seed);
        if found.is_empty() {
            return Err(firstflight_identify::none_shown(&file.name));
        }
        Ok((found, capture.warnings))
    })?;
    warn(py, warnings)?;
    serde_json::to_string(&found).map_err(raised)
}

/// Shows what limits the trust in a result.
fn warn(py: Python<'_>, warnings: Vec<String>) -> PyResult<()> {
    for warning in warnings {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(warning)?, 2)?;
    }
    Ok(())
}

/// Every scheme and every queue, as the JSON of the command algorithms.
#[pyfunction]
pub fn algorithms() -> PyResult<String> {
    serde_json::to_string(&firstflight::algorithms()).map_err(raised)
}

/// Names of the stack profiles, as the keyword profile takes them.
#[pyfunction]
pub fn profiles() -> Vec<&'static str> {
    Profile::WORDS.to_vec()
}

/// Names of the signals that a scheme may need.
#[pyfunction]
pub fn signals() -> Vec<&'static str> {
    scheme::signals().map(|(_, name)| name).collect()
}

/// The error of a keyword.
fn wrong(keyword: &str, value: &str, error: Error) -> Error {
    error.at_key(keyword).with_value(value.to_owned()).in_file("", None)
}

/// A transfer size.
pub(crate) fn size(text: &str) -> Result<u64, Error> {
    let expected = "sizes such as \"30 KB\", \"3 MB\"";
    parse_size(text).map_err(|error| wrong("sizes", &quoted(text), error.expecting(expected)))
}

/// The limit of the memory, bytes.
pub(crate) fn bytes(text: Option<&str>) -> Result<u64, Error> {
    let Some(text) = text else { return Ok(memory::DEFAULT) };
    match parse_bytes(text).map_err(|error| wrong("memory", &quoted(text), error))? {
        0 => Err(wrong("memory", &quoted(text), Error::invalid("zero").expecting("a size such as \"8 GB\""))),
        bytes => Ok(bytes),
    }
}

/// The stack of this name.
pub(crate) fn profile_of(word: &str) -> Result<Profile, Error> {
    let found = Profile::from_word(word);
    found.ok_or_else(|| {
        wrong("profile", &quoted(word), Error::unknown_name("profile", word, Profile::WORDS.iter().copied()))
    })
}

/// Most replications, as on the command line.
const MOST: u32 = 100_000;

/// A number of replications.
pub(crate) fn count(replications: u32) -> Result<u32, Error> {
    match (1..=MOST).contains(&replications) {
        true => Ok(replications),
        false => {
            let error = Error::invalid("out of range").expecting(format!("a whole number from 1 to {MOST}"));
            Err(wrong("replications", &replications.to_string(), error))
        }
    }
}

fn interval(text: &str) -> Result<Nanos, Error> {
    match parse_time(text).map_err(|error| wrong("grid", &quoted(text), error))? {
        Nanos(0) => {
            let error = Error::invalid("zero").expecting("a time above zero, such as \"100 ms\"");
            Err(wrong("grid", &quoted(text), error))
        }
        grid => Ok(grid),
    }
}

fn statistic(word: &str) -> Result<Statistic, Error> {
    Statistic::from_word(word).ok_or_else(|| {
        let error = Error::invalid("there is no such statistic").expecting(Statistic::FORMS);
        wrong("by", &quoted(word), error)
    })
}

fn harm_limit(ratio: Option<f64>) -> Result<Option<f64>, Error> {
    match ratio {
        Some(ratio) if !(ratio.is_finite() && ratio > 0.0) => {
            let error = Error::invalid("not a ratio above zero").expecting("a number such as 1.1");
            Err(wrong("max_harm", &ratio.to_string(), error))
        }
        ratio => Ok(ratio),
    }
}

fn loss_limit(text: Option<&str>) -> Result<Option<f64>, Error> {
    let Some(text) = text else { return Ok(None) };
    match parse_share(text).filter(|share| (0.0..=1.0).contains(share)) {
        Some(share) => Ok(Some(share)),
        None => {
            let error =
                Error::invalid("not a share").expecting("a share from 0 to 1, or from \"0%\" to \"100%\"");
            Err(wrong("max_loss", &quoted(text), error))
        }
    }
}
