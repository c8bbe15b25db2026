//! Table of simulated against real transfers: the same scenarios in the simulator and on the kernel of this machine.
//!
//!     cargo run --release -p firstflight-lab --example agreement [--schemes SCHEME,…] [PATH…] > agreement.md
//!
//! Needs root and about ten minutes for all paths. Each transfer runs once in the simulator and three times on the kernel.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use firstflight_contract::{Nanos, Rate};
use firstflight_lab::{CongestionControl, Controls, Kernel, STOCK};
use firstflight_net::random::Stream;
use firstflight_results::FlowResult;
use firstflight_scenario::{LinkTrace, Network, Scenario, parse};
use firstflight_study::host::{Host, Observe};
use firstflight_study::simulator::Simulator;

/// Runs on the kernel for each transfer.
const REPEATS: usize = 3;
/// Times that a run is tried again on a machine that was too busy.
const PATIENCE: usize = 20;

/// Largest window of the receivers, which limits no transfer. Where the 3 MiB of Linux limit a transfer in recovery, the
/// simulator and the kernel differ: see docs/agreement.md.
const WINDOW: &str = "20 MB";

/// Paths: name, and keys of `[path]`.
const PATHS: [(&str, &str); 7] = [
    ("10 Mbit/s, 100 ms, 1 BDP", "rate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\""),
    ("20 Mbit/s, 20 ms, 2 BDP", "rate = \"20 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"2 BDP\""),
    ("50 Mbit/s, 50 ms, 0.5 BDP", "rate = \"50 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"0.5 BDP\""),
    ("100 Mbit/s, 200 ms, 0.25 BDP", "rate = \"100 Mbit/s\"\nrtt = \"200 ms\"\nbuffer = \"0.25 BDP\""),
    ("random loss of 0.5 %", "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 BDP\"\nloss = 0.005"),
    ("CoDel", "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1000 packets\"\nqueue = \"codel\""),
    (VARYING, "rate = \"15 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"200 packets\""),
];
const VARYING: &str = "rate that varies as in a cell of LTE";

const SIZES: [(&str, u64); 5] =
    [("30 KB", 30_000), ("100 KB", 100_000), ("300 KB", 300_000), ("3 MB", 3_000_000), ("10 MB", 10_000_000)];

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

fn scenario(path: (&str, &str), scheme: &str, bytes: u64) -> Scenario {
    let (startup, avoidance) = scheme.rsplit_once('+').unwrap_or((scheme, scheme));
    let scheme = match startup == avoidance {
        true => format!("startup = \"{startup}\""),
        false => format!("startup = \"{startup}\"\navoidance = \"{avoidance}\""),
    };
    let flow =
        format!("profile = \"linux\"\nsize = \"{bytes} B\"\nreceive_window = \"{WINDOW}\"\n{scheme}\n");
    let text = format!("[path]\n{}\n[[flow]]\n{flow}", path.1);
    let mut scenario = parse(&text, path.0).unwrap_or_else(|error| panic!("{error}")).scenario;
    if path.0 == VARYING
        && let Network::Dumbbell(path) = &mut scenario.network
    {
        let trace = varying();
        path.rate = trace.schedule.mean();
        path.trace = Some(trace);
    }
    scenario
}

/// One transfer: as simulated, and each run on the kernel.
struct Transfer {
    simulated: FlowResult,
    real: Vec<FlowResult>,
}

impl Transfer {
    fn run(scenario: &Scenario, controls: &[CongestionControl]) -> Result<Self, String> {
        let on = |host: &dyn Host| {
            let run = host.run(scenario, scenario.seed, &Observe::default());
            run.map(|mut run| run.result.flows.remove(0)).map_err(|refusal| refusal.to_string())
        };
        let kernel = Kernel { controls };
        let in_time = || {
            let mut run = on(&kernel);
            for _ in 0..PATIENCE {
                if let Err(why) = &run {
                    eprintln!("{why}");
                    thread::sleep(Duration::from_secs(5));
                    run = on(&kernel);
                }
            }
            run
        };
        let real = (0..REPEATS).map(|_| in_time()).collect::<Result<_, _>>()?;
        Ok(Self { simulated: on(&Simulator)?, real })
    }

    /// The simulated value, then the least, the median and the largest real one.
    fn of(&self, value: impl Fn(&FlowResult) -> Option<f64>) -> Option<(f64, [f64; 3])> {
        let mut real: Vec<f64> = self.real.iter().filter_map(&value).collect();
        real.sort_by(f64::total_cmp);
        let [low, .., high] = real[..] else { return None };
        Some((value(&self.simulated)?, [low, real[real.len() / 2], high]))
    }
}

fn cell(value: Option<(f64, [f64; 3])>, digits: usize) -> String {
    match value {
        None => "- | -".into(),
        Some((simulated, [low, median, high])) => {
            let text = |value: f64| format!("{value:.digits$}");
            let mut out = format!("{} | {}", text(simulated), text(median));
            if text(low) != text(high) {
                let _ = write!(out, " ({} to {})", text(low), text(high));
            }
            out
        }
    }
}

/// Difference of the simulated value from the median real one, in percent of the latter.
fn difference((simulated, [_, median, _]): (f64, [f64; 3])) -> f64 {
    (simulated / median - 1.0) * 100.0
}

/// Row of the summary: the congestion control, and its differences of transfer times and of exit windows.
type Differences = (String, Vec<f64>, Vec<f64>);

fn table(path: (&str, &str), all: &mut [Differences]) -> Result<String, String> {
    let mut out = format!(
        "\n### {}\n\n| scheme | size | transfer, simulated s | kernel s | difference | exit window, simulated | kernel | \
         dropped, simulated | kernel |\n|---|---|---|---|---|---|---|---|---|\n",
        path.0
    );
    for (label, times, windows) in all {
        let controls =
            Controls::of(&scenario(path, label, SIZES[0].1)).map_err(|refusal| refusal.to_string())?;
        for (size, bytes) in SIZES {
            eprintln!("{}: {label} {size}", path.0);
            let transfer = Transfer::run(&scenario(path, label, bytes), controls.all())?;
            let time = transfer.of(|flow| flow.completion_s);
            let exit = transfer.of(|flow| flow.startup_exit.map(|exit| exit.cwnd_packets));
            times.extend(time.map(difference));
            windows.extend(exit.map(difference));
            let _ = writeln!(
                out,
                "| {} | {size} | {} | {} | {} | {} |",
                label,
                cell(time, 3),
                time.map_or("-".into(), |time| format!("{:+.1} %", difference(time))),
                cell(exit, 0),
                cell(transfer.of(|flow| Some(flow.lost_packets as f64)), 0),
            );
        }
    }
    Ok(out)
}

fn summary(all: &[Differences]) -> String {
    let mut out = String::from(
        "| scheme | transfers | transfer time, median | worst | exits | exit window, median | worst |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let of = |differences: &[f64]| {
        let mut sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        match sizes.last() {
            Some(worst) => {
                format!("{} | {:.1} % | {worst:.1} %", sizes.len(), sizes[sizes.len() / 2])
            }
            None => "0 | - | -".into(),
        }
    };
    for (name, times, windows) in all {
        let _ = writeln!(out, "| {name} | {} | {} |", of(times), of(windows));
    }
    out
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let schemes = match arguments.next_if(|argument| argument == "--schemes") {
        Some(_) => arguments.next().unwrap_or_default().split(',').map(String::from).collect(),
        None => STOCK.iter().map(|control| control.stands_for.to_string()).collect::<Vec<_>>(),
    };
    let wanted: Vec<String> = arguments.collect();
    let mut all: Vec<Differences> = schemes.into_iter().map(|label| (label, vec![], vec![])).collect();
    for path in
        PATHS.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|want| want == name))
    {
        match table(path, &mut all) {
            Ok(table) => print!("{table}"),
            Err(why) => {
                eprintln!("{}: {why}", path.0);
                return ExitCode::from(2);
            }
        }
    }
    print!("\n### All paths\n\n{}", summary(&all));
    ExitCode::SUCCESS
}
