//! Sweeps on the simulator and on a host that counts its runs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use firstflight_contract::Signals;
use firstflight_hosts::host::{Host, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::progress::{Halt, Silent};
use firstflight_hosts::simulator::Simulator;
use firstflight_scenario::Scenario;
use firstflight_sweep::{Axis, Error, Job, Store, Sweep, Swept, version};

const BASE: &str = r#"
    title = "base"
    seed = 5
    [path]
    rate = "10 Mbit/s"
    rtt = "20 ms"
    buffer = "20 packets"
    loss = 0.02
    [[flow]]
    name = "short"
    size = "60 KB"
"#;

/// The simulator, which counts its runs and fails after a number of them.
struct Counting {
    runs: AtomicU32,
    fails_after: u32,
}

impl Counting {
    fn new(fails_after: u32) -> Self {
        Self { runs: AtomicU32::new(0), fails_after }
    }

    fn count(&self) -> u32 {
        self.runs.load(Ordering::Relaxed)
    }
}

impl Host for Counting {
    fn name(&self) -> &'static str {
        Simulator.name()
    }

    fn offers(&self) -> Signals {
        Simulator.offers()
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        Simulator.check(scenario, observe)
    }

    fn draws(&self, scenario: &Scenario) -> bool {
        Simulator.draws(scenario)
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        if self.runs.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            return Err(Halt::Failed(Refusal { key: "path".into(), why: "the power is off".into() }));
        }
        Simulator.run(scenario, seed, observe)
    }
}

/// Three rates, two schemes, four seeds.
fn sweep() -> Sweep {
    Sweep::new(BASE, "base.toml")
        .expect("TOML")
        .crossed(Axis::of("path.rate", ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]))
        .crossed(Axis::of("flow.short.startup", ["slow-start", "hystart++"]))
        .replications(4)
}

/// The kept part of a run: seed and completion time, seconds.
type Kept = (u64, Option<f64>);

fn keep(run: Run) -> Kept {
    (run.result.seed, run.result.flows[0].completion_s)
}

fn run(sweep: &Sweep, host: &dyn Host, store: &Store<Kept>) -> Result<Swept<Kept>, Error> {
    sweep.run(host, &Observe::default(), store, keep, &Silent)
}

fn memory() -> Store<Kept> {
    Store::memory(&version(&Simulator, &Observe::default()))
}

/// A file of its own, removed with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("firstflight-sweep-{name}-{}", std::process::id())))
    }

    fn open(&self) -> Store<Kept> {
        Store::open(&self.0, &version(&Simulator, &Observe::default())).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn cells_are_all_combinations_with_the_last_axis_fastest() {
    let cells = sweep().cells().expect("valid");
    let points: Vec<String> = cells.iter().map(|cell| cell.point.join(" ")).collect();
    assert_eq!(points.len(), 6);
    assert_eq!(points[..3], ["5 Mbit/s slow-start", "5 Mbit/s hystart++", "10 Mbit/s slow-start"]);
    let text = cells[5].scenario.to_toml();
    assert!(text.contains("20 Mbit/s") && text.contains("hystart++"), "{text}");
    // The title is no part of a cell's identity.
    let untitled =
        Sweep::new(&BASE.replace("title = \"base\"", ""), "b").expect("TOML").cells().expect("valid");
    let titled = Sweep::new(BASE, "b").expect("TOML").cells().expect("valid");
    assert_eq!(titled[0].hash, untitled[0].hash);
}

#[test]
fn runs_have_consecutive_seeds_from_the_scenarios_or_the_given_one() {
    let seeds = |sweep: &Sweep| -> Vec<u64> {
        let swept = run(sweep, &Simulator, &memory()).expect("valid");
        swept.cell(1).iter().map(|(seed, _)| *seed).collect()
    };
    assert_eq!(seeds(&sweep()), [5, 6, 7, 8]);
    assert_eq!(seeds(&sweep().seed(100)), [100, 101, 102, 103]);
}

#[test]
fn results_are_in_the_order_of_jobs_for_any_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| run(&sweep(), &Simulator, &memory())).expect("valid")
    };
    let one = with(1);
    assert_eq!(one.runs.len(), 24);
    assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one));
    // A sequential loop over the jobs, each read from JSON as another process would, gives the same.
    let jobs = sweep().jobs(&version(&Simulator, &Observe::default())).expect("valid");
    let text = serde_json::to_string(&jobs).expect("serialisable");
    let jobs: Vec<Job> = serde_json::from_str(&text).expect("jobs");
    let runs: Vec<Kept> =
        jobs.iter().map(|job| keep(job.run(&Simulator, &Observe::default()).expect("valid"))).collect();
    assert_eq!(runs, one.runs);
}

#[test]
fn equal_runs_are_made_once_and_stored_runs_not_again() {
    let twice = Sweep::new(BASE, "base.toml")
        .expect("TOML")
        .crossed(Axis::of("path.rate", ["10 Mbit/s", "10000 kbit/s"]))
        .replications(3);
    let (host, store) = (Counting::new(u32::MAX), memory());
    let first = run(&twice, &host, &store).expect("valid");
    assert_eq!((host.count(), first.runs.len()), (3, 6));
    assert_eq!(first.cell(0), first.cell(1));
    assert_eq!(run(&twice, &host, &store).expect("valid"), first);
    assert_eq!(host.count(), 3);
    // More replications add the new ones only.
    run(&twice.replications(5), &host, &store).expect("valid");
    assert_eq!(host.count(), 5);
}

#[test]
fn a_stopped_sweep_continues_where_it_stopped() {
    let whole = run(&sweep(), &Simulator, &memory()).expect("valid");
    let scratch = Scratch::new("stopped");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut made = BTreeMap::new();
    for fails_after in [0, 1, 7, 12] {
        let host = Counting::new(fails_after);
        let error = pool.install(|| run(&sweep(), &host, &scratch.open())).expect_err("stopped");
        assert!(error.to_string().ends_with("path: the power is off"), "{error}");
        made.insert(fails_after, host.count() - 1);
    }
    assert_eq!(made.values().sum::<u32>(), 20, "{made:?}");
    let host = Counting::new(u32::MAX);
    assert_eq!(run(&sweep(), &host, &scratch.open()).expect("valid"), whole);
    assert_eq!(host.count(), 4, "20 of 24 runs are in the store");
}

#[test]
fn results_along_the_axes_are_an_array() {
    let swept = run(&sweep(), &Simulator, &memory()).expect("valid");
    let completion = swept.array(|(_, seconds)| seconds.unwrap_or(f64::NAN));
    assert_eq!((completion.points(), completion.samples), (6, 4));
    assert_eq!(completion.label(3), ["10 Mbit/s", "hystart++"]);
    assert_eq!(completion.at(3)[2], swept.cell(3)[2].1.expect("finished"));
}

#[test]
fn errors_name_the_point_and_the_key() {
    let wrong = |key: &str, value: &str| {
        let sweep = Sweep::new(BASE, "base.toml").expect("TOML").crossed(Axis::of(key, ["20 ms", value]));
        run(&sweep, &Counting::new(0), &memory()).expect_err("wrong").to_string()
    };
    let rtt = wrong("path.rtt", "20 mss");
    assert!(rtt.starts_with("base.toml: at 20 mss: path.rtt = \"20 mss\": "), "{rtt}");
    let key = wrong("path.rttt", "20 ms");
    assert!(key.starts_with("base.toml: at 20 ms: path.rttt = \"20 ms\": no such key; expected"), "{key}");
    assert!(key.ends_with("did you mean \"rtt\"?"), "{key}");
    let group = wrong("flow.shirt.startup", "hystart++");
    assert_eq!(
        group,
        "base.toml: at 20 ms: flow.shirt: no such group; expected short; did you mean \"short\"?"
    );
    let empty = Sweep::new(BASE, "base.toml").expect("TOML").crossed(Axis::of("path.rtt", []));
    assert_eq!(empty.cells().expect_err("no point").to_string(), "base.toml: axis path.rtt has no point");
    let syntax = Sweep::new("[path]\nrate = \n", "base.toml").expect_err("not TOML").to_string();
    assert!(syntax.starts_with("base.toml:2: "), "{syntax}");
}
