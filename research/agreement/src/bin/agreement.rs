//! Table of simulated against real transfers: the same scenarios in the simulator, on the kernel of this machine and over QUIC.
//!
//!     cargo run --release -p research-agreement --bin agreement -- [--schemes A,B] [--repeats N] [--store FILE]
//!         [--picture FILE] [--print] [PATH…] > table.md
//!
//! Needs root. A scheme takes about 90 s for all paths. Each run on the kernel is a line of the store as soon as it is over, so that
//! a command that was ended goes on where it was; `--print` runs nothing on the kernel. The simulator and QUIC run in virtual
//! time, at every call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use firstflight_contract::{Nanos, Rate, Role};
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::simulator::Simulator;
use firstflight_kernel::Offer;
use firstflight_lab::{Controls, Kernel, Quic, STOCK};
use firstflight_random::Stream;
use firstflight_report::figure::{Axis, Figure, Mark, Panel, Pattern, Point, Shape, Spacing, Tone};
use firstflight_results::FlowResult;
use firstflight_scenario::{LinkTrace, Network, Profile, Scenario, parse};
use firstflight_schemes::registry::SCHEMES;
use serde::{Deserialize, Serialize};

/// Times that a run is tried again on a machine that was too busy.
const PATIENCE: usize = 3;

/// Largest window of the receivers, which limits no transfer. Where the 3 MiB of Linux limit a transfer in recovery, the
/// simulator and the kernel differ: see docs/agreement.md.
const WINDOW: &str = "20 MB";

/// A path: its name, keys of `[path]`, and keys of the flow.
type Way = (&'static str, &'static str, &'static str);

/// At 200 Mbit/s a receiver that is woken for each packet takes more of a core than the validity of a run allows.
const PATHS: [Way; 9] = [
    ("10 Mbit/s, 100 ms, 1 BDP", "rate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"", ""),
    ("20 Mbit/s, 20 ms, 2 BDP", "rate = \"20 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"2 BDP\"", ""),
    ("50 Mbit/s, 50 ms, 0.5 BDP", "rate = \"50 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"0.5 BDP\"", ""),
    ("100 Mbit/s, 200 ms, 0.25 BDP", "rate = \"100 Mbit/s\"\nrtt = \"200 ms\"\nbuffer = \"0.25 BDP\"", ""),
    ("40 Mbit/s, 300 ms, 1 BDP", "rate = \"40 Mbit/s\"\nrtt = \"300 ms\"\nbuffer = \"1 BDP\"", ""),
    (
        "200 Mbit/s, 30 ms, 1 BDP",
        "rate = \"200 Mbit/s\"\nrtt = \"30 ms\"\nbuffer = \"1 BDP\"",
        "receiver_reads = \"256 KB\"\n",
    ),
    ("random loss of 0.5 %", "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 BDP\"\nloss = 0.005", ""),
    ("CoDel", "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1000 packets\"\nqueue = \"codel\"", ""),
    (VARYING, "rate = \"15 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"200 packets\"", ""),
];
const VARYING: &str = "rate that varies as in a cell of LTE";
/// Paths of constant rate without random loss or CoDel, for which the aims hold.
const CONSTANT: usize = 6;

const SIZES: [(&str, u64); 5] =
    [("30 KB", 30_000), ("100 KB", 100_000), ("300 KB", 300_000), ("3 MB", 3_000_000), ("10 MB", 10_000_000)];

/// Place of a path in the list.
fn number(way: Way) -> usize {
    PATHS.iter().position(|known| *known == way).expect("a path of the list")
}

/// The rate of a made-up cell: every 50 ms it changes by a factor of up to 1.5, between 2 and 40 Mbit/s.
fn varying() -> LinkTrace {
    let mut stream = Stream::named(1, "cell");
    let mut rate = 15e6_f64;
    let steps = (0..2000).map(|number| {
        let step = (Nanos::from_millis(50 * number), Rate(rate.round() as u64));
        rate = (rate * 1.5_f64.powf(2.0 * stream.unit() - 1.0)).clamp(2e6, 40e6);
        step
    });
    LinkTrace::rates("cell", steps.collect()).expect("the steps make a trace")
}

fn scenario(way: Way, scheme: &str, bytes: u64, profile: Profile) -> Scenario {
    let (name, path, keys) = way;
    let (startup, avoidance) = scheme.rsplit_once('+').unwrap_or((scheme, scheme));
    let scheme = match startup == avoidance {
        true => format!("startup = \"{startup}\""),
        false => format!("startup = \"{startup}\"\navoidance = \"{avoidance}\""),
    };
    let flow = format!(
        "profile = \"{}\"\nsize = \"{bytes} B\"\nreceive_window = \"{WINDOW}\"\n{keys}{scheme}\n",
        profile.word()
    );
    let text = format!("[path]\n{path}\n[[flow]]\n{flow}");
    let mut scenario = parse(&text, name).unwrap_or_else(|error| panic!("{error}")).scenario;
    if name == VARYING
        && let Network::Dumbbell(path) = &mut scenario.network
    {
        let trace = varying();
        path.rate = trace.schedule.mean();
        path.trace = Some(trace);
    }
    scenario
}

/// Every chain that the kernel runs: each start-up scheme with reno, each avoidance scheme after slow
/// start, and those of the kernel itself. Chains that follow a plan are not among them.
fn every_chain() -> Vec<String> {
    let stock = STOCK.iter().map(|control| control.stands_for.to_string());
    let ours = SCHEMES.iter().filter_map(|info| {
        let labels = match info.role {
            Role::Startup => vec![info.label, "reno"],
            Role::Avoidance => vec!["slow-start", info.label],
            Role::Standalone => vec![info.label],
        };
        Offer::new(&labels).ok()?;
        let chain = labels.join("+");
        let scenario = scenario(PATHS[0], &chain, SIZES[0].1, Profile::Linux);
        Controls::check(&scenario, &Observe::default()).is_ok().then_some(chain)
    });
    let mut all: Vec<String> = vec![];
    for chain in stock.chain(ours) {
        if !all.contains(&chain) {
            all.push(chain);
        }
    }
    all
}

/// Totals of one transfer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Totals {
    time_s: Option<f64>,
    exit_packets: Option<f64>,
    dropped: u64,
}

impl From<&FlowResult> for Totals {
    fn from(flow: &FlowResult) -> Self {
        let exit_packets = flow.startup_exit.map(|exit| exit.cwnd_packets);
        Self { time_s: flow.completion_s, exit_packets, dropped: flow.lost_packets }
    }
}

/// Path, scheme, size.
type Key = (String, String, String);

/// A line of the store: one run on the kernel.
#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    scheme: String,
    size: String,
    repeat: usize,
    #[serde(flatten)]
    totals: Totals,
}

/// Runs on the kernel.
#[derive(Default)]
struct Store {
    file: Option<PathBuf>,
    runs: BTreeMap<Key, Vec<Totals>>,
}

impl Store {
    fn open(file: Option<PathBuf>) -> Result<Self, String> {
        let mut store = Self { file, ..Self::default() };
        let Some(file) = &store.file else { return Ok(store) };
        let text = match fs::read_to_string(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| format!("{}: {error}", file.display()))?,
        };
        // A command that was killed may have left half a line.
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
            store.runs.entry((line.path, line.scheme, line.size)).or_default().push(line.totals);
        }
        Ok(store)
    }

    fn add(&mut self, key: Key, totals: Totals) -> Result<(), String> {
        let runs = self.runs.entry(key.clone()).or_default();
        runs.push(totals);
        let Some(file) = &self.file else { return Ok(()) };
        let (path, scheme, size) = key;
        let line = Line { path, scheme, size, repeat: runs.len(), totals };
        let text = serde_json::to_string(&line).map_err(|error| error.to_string())?;
        let opened = OpenOptions::new().create(true).append(true).open(file);
        opened.and_then(|mut file| writeln!(file, "{text}")).map_err(|error| error.to_string())
    }
}

fn on(host: &dyn Host, scenario: &Scenario) -> Result<Totals, String> {
    let run = host.run(scenario, scenario.seed, &Observe::default());
    run.map(|run| Totals::from(&run.result.flows[0])).map_err(|refusal| refusal.to_string())
}

/// Runs on the kernel until each transfer has so many runs. First all transfers have one, then all have two.
fn measure(paths: &[Way], schemes: &[String], repeats: usize, store: &mut Store) -> Result<(), String> {
    for repeat in 1..=repeats {
        for scheme in schemes {
            let mut controls = None;
            for &path in paths {
                for (size, bytes) in SIZES {
                    let key = (path.0.to_owned(), scheme.clone(), size.to_owned());
                    if store.runs.get(&key).is_some_and(|runs| runs.len() >= repeat) {
                        continue;
                    }
                    let scenario = scenario(path, scheme, bytes, Profile::Linux);
                    if controls.is_none() {
                        controls = Some(Controls::of(&scenario).map_err(|refusal| refusal.to_string())?);
                    }
                    let kernel = Kernel { controls: controls.as_ref().map_or(STOCK, Controls::all) };
                    let mut run = on(&kernel, &scenario);
                    for _ in 0..PATIENCE {
                        if let Err(why) = &run {
                            eprintln!("{}: {scheme} {size}: {why}", path.0);
                            thread::sleep(Duration::from_secs(5));
                            run = on(&kernel, &scenario);
                        }
                    }
                    // A transfer that was never in time is missing from the table. The next call tries it again.
                    match run {
                        Ok(totals) => store.add(key, totals)?,
                        Err(why) => eprintln!("{}: {scheme} {size} is left out: {why}", path.0),
                    }
                }
            }
            eprintln!("run {repeat} of {scheme} is complete");
        }
    }
    Ok(())
}

/// One transfer in the simulator, on the kernel and over QUIC.
struct Transfer {
    path: usize,
    scheme: usize,
    simulated: Totals,
    /// Each run; none if it was not run.
    real: Vec<Totals>,
    /// Simulated with profile quinn, and over QUIC; `None` for a scheme that QUIC cannot honour.
    quic: Option<[Totals; 2]>,
}

/// The middle one of an odd number of values, or the lower of the two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

impl Transfer {
    fn real(&self, value: impl Fn(&Totals) -> Option<f64>) -> Option<f64> {
        median(self.real.iter().filter_map(value).collect())
    }

    /// Difference of the simulated from the median real value, in percent of the latter.
    fn difference(&self, value: impl Fn(&Totals) -> Option<f64>) -> Option<f64> {
        Some((value(&self.simulated)? / self.real(&value)? - 1.0) * 100.0)
    }

    /// Difference of the simulated time, with profile quinn, from that over QUIC, in percent of the latter.
    fn over_quic(&self) -> Option<f64> {
        let [simulated, real] = self.quic?;
        Some((simulated.time_s? / real.time_s? - 1.0) * 100.0)
    }
}

fn transfers(paths: &[Way], schemes: &[String], store: &Store) -> Result<Vec<Transfer>, String> {
    let mut all = vec![];
    for &way in paths {
        let path = number(way);
        for (scheme, label) in schemes.iter().enumerate() {
            for (name, bytes) in SIZES {
                let key = (way.0.to_owned(), label.clone(), name.to_owned());
                let real = store.runs.get(&key).cloned().unwrap_or_default();
                let simulated = on(&Simulator, &scenario(way, label, bytes, Profile::Linux))?;
                let quinn = scenario(way, label, bytes, Profile::Quinn);
                let quic = on(&Quic, &quinn).ok();
                let quic = quic.map(|real| Ok::<_, String>([on(&Simulator, &quinn)?, real])).transpose()?;
                all.push(Transfer { path, scheme, simulated, real, quic });
            }
        }
    }
    Ok(all)
}

fn show(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

/// Table of a path: a row for each scheme, and in it the times of all sizes, simulated / kernel.
fn table(way: Way, schemes: &[String], all: &[Transfer]) -> String {
    let path = number(way);
    let mut out = format!("\n### {}\n\n| scheme |", way.0);
    for (size, _) in SIZES {
        let _ = write!(out, " {size}, s |");
    }
    out += " exit window, 10 MB | dropped, 10 MB |\n|---|---|---|---|---|---|---|---|\n";
    for (scheme, label) in schemes.iter().enumerate() {
        let row: Vec<&Transfer> = all.iter().filter(|it| (it.path, it.scheme) == (path, scheme)).collect();
        let Some(last) = row.last() else { continue };
        if row.iter().all(|transfer| transfer.real.is_empty()) {
            continue;
        }
        let _ = write!(out, "| {label} |");
        let both = |transfer: &Transfer, value: fn(&Totals) -> Option<f64>, digits| {
            format!(
                " {} / {} |",
                show(value(&transfer.simulated), digits),
                show(transfer.real(value), digits)
            )
        };
        for transfer in &row {
            out += &both(transfer, |totals| totals.time_s, 3);
        }
        out += &both(last, |totals| totals.exit_packets, 0);
        out += &both(last, |totals| Some(totals.dropped as f64), 0);
        out.push('\n');
    }
    out
}

/// The same over QUIC: a row for each scheme that quinn can honour.
fn table_of_quic(way: Way, schemes: &[String], all: &[Transfer]) -> String {
    let path = number(way);
    let mut rows = String::new();
    for (scheme, label) in schemes.iter().enumerate() {
        let row = all.iter().filter(|it| (it.path, it.scheme) == (path, scheme));
        let cells: String = row
            .filter_map(|transfer| transfer.quic)
            .map(|times| format!(" {} |", times.map(|it| show(it.time_s, 3)).join(" / ")))
            .collect();
        if !cells.is_empty() {
            let _ = writeln!(rows, "| {label} |{cells}");
        }
    }
    if rows.is_empty() {
        return rows;
    }
    let sizes: String = SIZES.iter().map(|(size, _)| format!(" {size}, s |")).collect();
    format!("\n### Over QUIC: {}\n\n| scheme |{sizes}\n|---|---|---|---|---|---|\n{rows}", way.0)
}

/// Number, median size and worst size of differences.
fn sizes(differences: impl Iterator<Item = f64>) -> String {
    let sizes: Vec<f64> = differences.map(f64::abs).collect();
    let worst = sizes.iter().copied().reduce(f64::max);
    let (count, middle) = (sizes.len(), median(sizes));
    match (middle, worst) {
        (Some(middle), Some(worst)) => format!("{count} | {middle:.1} % | {worst:.1} %"),
        _ => "0 | - | -".into(),
    }
}

fn summary(schemes: &[String], all: &[Transfer]) -> String {
    let mut out = String::from(
        "| scheme | transfers | time, median | worst | exits | exit window, median | worst | other paths | time, median | worst \
         | over QUIC | time, median | worst |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (scheme, label) in schemes.iter().enumerate() {
        let of = || all.iter().filter(move |it| it.scheme == scheme);
        let constant = || of().filter(|it| it.path < CONSTANT);
        let times = sizes(constant().filter_map(|it| it.difference(|totals| totals.time_s)));
        if times.starts_with("0 ") {
            continue;
        }
        let exits = sizes(constant().filter_map(|it| it.difference(|totals| totals.exit_packets)));
        let other = sizes(
            of().filter(|it| it.path >= CONSTANT).filter_map(|it| it.difference(|totals| totals.time_s)),
        );
        let quic = sizes(constant().filter_map(Transfer::over_quic));
        let _ = writeln!(out, "| {label} | {times} | {exits} | {other} | {quic} |");
    }
    out
}

const TONES: [Tone; 9] = [
    Tone::Grey,
    Tone::Blue,
    Tone::Orange,
    Tone::Green,
    Tone::Magenta,
    Tone::Ochre,
    Tone::Violet,
    Tone::Cyan,
    Tone::Brown,
];

/// Differences of all transfers over their time on the kernel, one colour for each path.
fn picture(paths: &[Way], all: &[Transfer]) -> Figure {
    let time = |totals: &Totals| totals.time_s;
    let panel = |title: &str, named: bool, y: &dyn Fn(&Transfer) -> Option<f64>| {
        let marks = paths.iter().map(|&way| {
            let path = number(way);
            let of = all.iter().filter(|transfer| transfer.path == path);
            let point = |transfer: &Transfer| {
                Some(Point { x: transfer.real(time)?, y: y(transfer)?, label: String::new() })
            };
            let (tone, pattern) = (TONES[path % TONES.len()], Pattern(path));
            let shape = Shape::Points(of.filter_map(point).collect());
            Mark { name: named.then(|| way.0.to_owned()), tone, pattern, shape }
        });
        let y = Axis { title: title.into(), range: None, spacing: Spacing::Linear };
        Panel { height: 260, y, marks: marks.collect() }
    };
    Figure {
        title: "Transfer times of the same scenario on three hosts".into(),
        subtitle: "each dot is a transfer; its form and colour are those of its path".into(),
        x: Axis {
            title: "transfer time on the kernel, s".into(),
            range: None,
            spacing: Spacing::Logarithmic,
        },
        panels: vec![
            panel("simulated beyond kernel, %", true, &|transfer| transfer.difference(time)),
            panel("simulated beyond QUIC, %", false, &Transfer::over_quic),
        ],
    }
}

#[derive(Default)]
struct Options {
    schemes: Vec<String>,
    repeats: usize,
    store: Option<PathBuf>,
    picture: Option<PathBuf>,
    only_print: bool,
    paths: Vec<Way>,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { repeats: 1, ..Self::default() };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: expected a value"));
            match argument.as_str() {
                "--schemes" => options.schemes = value()?.split(',').map(String::from).collect(),
                "--repeats" => {
                    let text = value()?;
                    options.repeats =
                        text.parse().map_err(|_| format!("--repeats {text}: expected a number"))?;
                }
                "--store" => options.store = Some(value()?.into()),
                "--picture" => options.picture = Some(value()?.into()),
                "--print" => options.only_print = true,
                name => {
                    let known: Vec<_> = PATHS.iter().map(|way| way.0).collect();
                    let found = PATHS.iter().find(|way| way.0 == name);
                    options
                        .paths
                        .push(*found.ok_or(format!("{name}: expected one of {}", known.join("; ")))?);
                }
            }
        }
        if options.schemes.is_empty() {
            options.schemes = every_chain();
        }
        if options.paths.is_empty() {
            options.paths = PATHS.to_vec();
        }
        Ok(options)
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn work() -> Result<(), String> {
    let options = Options::read(std::env::args().skip(1))?;
    let Options { schemes, paths, .. } = &options;
    let mut store = Store::open(options.store.clone())?;
    if !options.only_print {
        measure(paths, schemes, options.repeats, &mut store)?;
    }
    let all = transfers(paths, schemes, &store)?;
    println!("### Summary\n\n{}", summary(schemes, &all));
    for &way in paths {
        print!("{}", table(way, schemes, &all));
    }
    for &way in paths {
        print!("{}", table_of_quic(way, schemes, &all));
    }
    match &options.picture {
        Some(file) => write(file, &picture(paths, &all).svg()),
        None => Ok(()),
    }
}

fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}
