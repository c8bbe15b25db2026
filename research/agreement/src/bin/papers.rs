//! Results of two papers on the kernel of this machine, beside the simulator and the papers' numbers.
//!
//!     cargo run --release -p research-agreement --bin papers -- [PART OF A FIGURE'S NAME…] > table.md
//!
//! Needs root and about six minutes for all figures. docs/lab-papers.md has the result, and what is scaled.

use std::fmt::Write as _;
use std::process::ExitCode;

use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::simulator::Simulator;
use firstflight_lab::{Controls, Kernel};
use firstflight_results::{FlowResult, RunResult};
use firstflight_scenario::{Scenario, parse};

/// Times that a run is tried again on a machine that was too busy.
const PATIENCE: usize = 3;

/// A figure with its scenario, in which `SCHEME` and `MORE` stand for keys of a case.
struct Figure {
    name: &'static str,
    scenario: &'static str,
    /// Name, scheme, further keys of the flows under study, and the paper's result in words.
    cases: &'static [(&'static str, &'static str, &'static str, &'static str)],
    columns: &'static [(&'static str, Measure)],
}

/// A number of a run.
#[derive(Clone, Copy)]
enum Measure {
    /// Window at the end of start-up, of the flow at this place, packets.
    Exit(usize),
    /// Packets dropped by the bottleneck.
    Drops,
    /// Share of the bottleneck that was used, %.
    Used,
    /// Window of the first flow at the end over the round trip of 400 ms, Mbit/s.
    FinalRate,
    /// Megabytes that the first flow delivered within so many seconds.
    Delivered(usize),
    /// Longest time in which the first flow delivered nothing, in whole seconds.
    Silence,
}

const RENO: &str = "avoidance = \"reno\"";

const FIGURES: &[Figure] = &[
    Figure {
        name: "Adaptive Start, section VI",
        scenario: "duration = \"25 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"400 ms\"\nbuffer = \"500 KB\"\n[[flow]]\n\
                   profile = \"linux\"\nrecovery = \"newreno\"\ninitial_window = \"4 packets\"\ninitial_ssthresh = \"32 KiB\"\n\
                   receive_window = \"4 MiB\"\nreceiver = \"ack-every-packet\"\nSCHEME\nMORE\n",
        cases: &[
            (
                "NewReno",
                "startup = \"slow-start\"\navoidance = \"reno\"",
                "",
                "window after 25 s about 2 Mbit/s, 20 % of the capacity",
            ),
            (
                "Astart",
                "startup = \"adaptive-start\"\navoidance = \"westwood\"",
                "",
                "fast in the first 3 s, then on to the capacity",
            ),
        ],
        columns: &[
            ("window at 25 s, Mbit/s", Measure::FinalRate),
            ("MB by 3 s", Measure::Delivered(3)),
            ("MB by 24 s", Measure::Delivered(24)),
        ],
    },
    Figure {
        name: "Hybrid Slow Start, Figure 1, a quarter of the rate",
        scenario: "duration = \"30 s\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"370 ms\"\nbuffer = \"3083 packets\"\n[[flow]]\n\
                   profile = \"linux\"\ninitial_window = \"3 packets\"\nreceive_window = \"64 MB\"\nSCHEME\nMORE\n",
        cases: &[(
            "slow start",
            "startup = \"slow-start\"\navoidance = \"reno\"",
            "",
            "window up to 37000, 24666 fit: a quarter is 9250 and 6167; first flow recovers in more than 20 s",
        )],
        columns: &[
            ("window at the end of slow start", Measure::Exit(0)),
            ("drops", Measure::Drops),
            ("longest silence, s", Measure::Silence),
            ("MB by 29 s", Measure::Delivered(29)),
        ],
    },
    Figure {
        name: "Hybrid Slow Start, Figure 2, until 14 s",
        scenario: "duration = \"14 s\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"106 ms\"\nbuffer = \"883 packets\"\n[[flow]]\n\
                   profile = \"linux\"\ncount = 2\nstart = { every = \"10 s\" }\ninitial_window = \"3 packets\"\n\
                   receive_window = \"20 MB\"\nSCHEME\nMORE\n",
        cases: &[
            ("slow start", "startup = \"slow-start\"", RENO, "a burst of losses for about 10 s"),
            ("limited slow start", "startup = \"limited-slow-start\"", RENO, "-"),
            (
                "HyStart",
                "startup = \"hybrid-slow-start\"",
                RENO,
                "first flow leaves at 870, second early by delay",
            ),
            ("Astart", "startup = \"adaptive-start\"", RENO, "as slow start"),
            ("packet pair", "startup = \"hoe\"", RENO, "estimates of 2300 and 2800, far above the capacity"),
            ("Vegas", "startup = \"vegas\"", RENO, "leaves too early"),
        ],
        columns: &[
            ("exit of flow 1", Measure::Exit(0)),
            ("exit of flow 2", Measure::Exit(1)),
            ("drops", Measure::Drops),
            ("used, %", Measure::Used),
        ],
    },
    Figure {
        name: "Hybrid Slow Start, Figure 3, an eighth of the rate, among others, until 16 s",
        scenario: "duration = \"16 s\"\n[path]\nrate = \"50 Mbit/s\"\nrtt = \"160 ms\"\nbuffer = \"667 packets\"\n[[flow]]\n\
                   name = \"bulk\"\nprofile = \"linux\"\ncount = 2\nstart = { every = \"8 s\" }\n\
                   initial_window = \"3 packets\"\nreceive_window = \"20 MB\"\nSCHEME\nMORE\n[[flow]]\nname = \"mid\"\n\
                   profile = \"linux\"\navoidance = \"reno\"\nreceive_window = \"20 MB\"\nstart = { exponential = \"1600 ms\" }\n\
                   size = { lognormal = { median = \"750 KB\", sigma = 1.0 } }\n[[flow]]\nname = \"back\"\nprofile = \"linux\"\n\
                   avoidance = \"reno\"\nreceive_window = \"20 MB\"\ndirection = \"reverse\"\nstart = { exponential = \"1600 ms\" }\n\
                   size = { lognormal = { median = \"750 KB\", sigma = 1.0 } }\n",
        cases: &[
            (
                "HyStart, Linux receiver",
                "startup = \"hybrid-slow-start\"",
                RENO,
                "train or delay works under every ACK policy",
            ),
            (
                "HyStart, an ACK for each",
                "startup = \"hybrid-slow-start\"",
                "avoidance = \"reno\"\nreceiver = \"ack-every-packet\"",
                "leaves about 10 % above the BDP, which is 667 here",
            ),
            ("slow start, Linux receiver", "startup = \"slow-start\"", RENO, "-"),
        ],
        columns: &[
            ("exit of flow 1", Measure::Exit(0)),
            ("exit of flow 2", Measure::Exit(1)),
            ("drops", Measure::Drops),
            ("used, %", Measure::Used),
        ],
    },
    Figure {
        name: "Hybrid Slow Start, Figure 4, a quarter of the rate, starts at 0 and 10 s, until 20 s",
        scenario: "duration = \"20 s\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"160 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\n\
                   profile = \"linux\"\ncount = 2\nstart = { every = \"10 s\" }\ninitial_window = \"3 packets\"\n\
                   receive_window = \"20 MB\"\nSCHEME\nMORE\n",
        cases: &[
            (
                "HyStart",
                "startup = \"hybrid-slow-start\"",
                "avoidance = \"cubic\"",
                "the highest utilisation throughout",
            ),
            (
                "limited slow start",
                "startup = \"limited-slow-start\"",
                "avoidance = \"cubic\"",
                "below HyStart",
            ),
            ("slow start", "startup = \"slow-start\"", "avoidance = \"cubic\"", "below HyStart"),
        ],
        columns: &[
            ("used, %", Measure::Used),
            ("drops", Measure::Drops),
            ("exit of flow 1", Measure::Exit(0)),
        ],
    },
    Figure {
        name: "Hybrid Slow Start, Figure 5, 100 Mbit/s and 100 ms, one flow without SACK, until 15 s",
        scenario: "duration = \"15 s\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\n\
                   profile = \"linux\"\nrecovery = \"newreno\"\ninitial_window = \"3 packets\"\nreceive_window = \"20 MB\"\n\
                   SCHEME\nMORE\n",
        cases: &[
            (
                "slow start",
                "startup = \"slow-start\"",
                "avoidance = \"cubic\"",
                "a blackout of more than 20 s (at 400 Mbit/s)",
            ),
            ("HyStart", "startup = \"hybrid-slow-start\"", "avoidance = \"cubic\"", "recovers"),
        ],
        columns: &[
            ("used, %", Measure::Used),
            ("drops", Measure::Drops),
            ("MB by 10 s", Measure::Delivered(10)),
            ("longest silence, s", Measure::Silence),
        ],
    },
];

impl Measure {
    fn of(self, run: &RunResult) -> Option<String> {
        let first = run.flows.first()?;
        let mb = |packets: u64| packets as f64 * 1448e-6;
        Some(match self {
            Self::Exit(place) => format!("{:.0}", run.flows.get(place)?.startup_exit?.cwnd_packets),
            Self::Drops => run.links.first()?.drops.to_string(),
            Self::Used => format!("{:.1}", run.links.first()?.utilization * 100.0),
            Self::FinalRate => format!("{:.2}", first.final_cwnd_packets * 1448.0 * 8e-6 / 0.4),
            Self::Delivered(seconds) => format!("{:.2}", mb(first.delivered_at.get(seconds - 1)?.1)),
            Self::Silence => silence(first).to_string(),
        })
    }
}

/// The longest run of whole seconds in which nothing was delivered.
fn silence(flow: &FlowResult) -> usize {
    let delivered = flow.delivered_at.windows(2).map(|pair| pair[1].1 > pair[0].1);
    let mut longest = 0;
    let mut now = 0;
    for any in delivered {
        now = if any { 0 } else { now + 1 };
        longest = longest.max(now);
    }
    longest
}

fn run(host: &dyn Host, scenario: &Scenario) -> Result<RunResult, String> {
    host.run(scenario, scenario.seed, &Observe::default())
        .map(|run| run.result)
        .map_err(|why| why.to_string())
}

/// The run on the kernel; `None`, with the reason printed, if the machine was never in time.
fn on_kernel(scenario: &Scenario) -> Result<Option<RunResult>, String> {
    let controls = Controls::of(scenario).map_err(|refusal| refusal.to_string())?;
    let kernel = Kernel { controls: controls.all() };
    kernel.check(scenario, &Observe::default()).map_err(|refusal| refusal.to_string())?;
    for _ in 0..PATIENCE {
        match run(&kernel, scenario) {
            Ok(result) => return Ok(Some(result)),
            Err(why) => eprintln!("{why}"),
        }
    }
    Ok(None)
}

fn table(figure: &Figure) -> Result<String, String> {
    let mut out = format!("\n## {}\n\n| case |", figure.name);
    for (name, _) in figure.columns {
        let _ = write!(out, " {name}, simulated | kernel |");
    }
    out += " the paper |\n|---|";
    out += &"---|".repeat(2 * figure.columns.len() + 1);
    out.push('\n');
    for &(name, scheme, more, said) in figure.cases {
        eprintln!("{}: {name}", figure.name);
        let text = figure.scenario.replace("SCHEME", scheme).replace("MORE", more);
        let scenario = parse(&text, name).map_err(|error| error.to_string())?.scenario;
        let (simulated, real) = (run(&Simulator, &scenario)?, on_kernel(&scenario)?);
        let _ = write!(out, "| {name} |");
        for (_, measure) in figure.columns {
            let cell = |run: Option<&RunResult>| run.and_then(|run| measure.of(run)).unwrap_or("-".into());
            let _ = write!(out, " {} | {} |", cell(Some(&simulated)), cell(real.as_ref()));
        }
        let _ = writeln!(out, " {said} |");
    }
    Ok(out)
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted =
        |figure: &&Figure| wanted.is_empty() || wanted.iter().any(|part| figure.name.contains(part));
    for figure in FIGURES.iter().filter(is_wanted) {
        match table(figure) {
            Ok(table) => print!("{table}"),
            Err(why) => {
                eprintln!("{}: {why}", figure.name);
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}
