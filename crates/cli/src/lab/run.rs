//! `firstflight lab run`: one scenario on real stacks, and in the simulator beside them.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use firstflight::{Host, Run};
use firstflight_hosts::host::{Observe, Refusal};
use firstflight_hosts::simulator::Simulator;
use firstflight_hosts::trace::record::Recording;
use firstflight_lab::probe::{Protocol, STACKS, Stack};
use firstflight_lab::{Controls, Kernel, Quic, STOCK, Served};
use firstflight_report::hosts::{HostRun, page, picture};
use firstflight_report::{Folder, REPORT_FILE, Vantage, printable, stage_logs, stage_tables_in};
use firstflight_results::{RunResult, SampleRow, Validity};
use firstflight_scenario::Loaded;
use firstflight_schemes::catalogue::Schemes;
use serde_json::json;

use crate::arguments::{SEEDS, whole};
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::memory::failed;
use crate::output::{json_line, places, print, show};
use crate::progress::Bar;
use crate::run::{grid, scenario, scheme, seeds, short, tables};
use crate::table::{Align, table};

/// Name of the file with the JSON object.
const RUN_FILE: &str = "run.json";
/// Name of the file with the picture.
const PICTURE_FILE: &str = "windows.svg";
/// Folder of `--trace` without `--out`.
const FOLDER: &str = "out";

/// Run a scenario file on the kernel, over QUIC or in the simulator, or on several of them, and report the results of its flows and links
///
/// A run of the kernel that did not keep its times is repeated, at most twice; then the command fails, and prints no result.
#[derive(Debug, Args)]
#[command(after_help = "\
Range: 200 Mbit/s, round trips from 5 ms, 64 connections and 600 s. Between 200 and 400 Mbit/s runs
count only if they kept their times. QUIC has no such range. `firstflight algorithms --json` lists
the schemes of each under hosts; schemes that follow a plan run in the simulator only.

Hosts after simulator are servers of stacks, which send by their own settings: the flows say when a
client asks, and for how much. They must be on the PATH or in --stacks (make stacks).

With several hosts, a table and a JSON object hold the results of all, and with --out a page shows
the windows of all on one picture. If a server fails, its error is printed after the results of the
others.

Examples:
  firstflight lab run experiment.toml
  firstflight lab run experiment.toml --host quic
  firstflight lab run experiment.toml --host simulator,kernel,quic --out results
  firstflight lab run experiment.toml --host simulator,nginx,quic-go
  firstflight lab run experiment.toml --runs 5 --json")]
pub(super) struct Options {
    /// The scenario file; its flows have profile = "linux"
    scenario: PathBuf,
    /// Where it runs: the TCP of this machine's kernel, quinn, the simulator, or the server of a stack; several separated by commas
    #[arg(long, value_enum, value_name = "HOST", value_delimiter = ',', default_value = "kernel")]
    host: Vec<HostChoice>,
    /// Folder of installed stacks, their programs in its folder bin
    #[arg(long, value_name = "DIR", default_value = "target/stacks")]
    stacks: PathBuf,
    /// Number of runs, each under its own seed; more than one adds every run and means with 95 % confidence intervals
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1, value_parser = whole::<u32>(1..=1000))]
    runs: u32,
    /// Seed of the first run, in place of the scenario's; each further run has the next number
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(SEEDS))]
    seed: Option<u64>,
    /// Report the delivered packets at each multiple of this time
    #[arg(long, value_name = "TIME", default_value = "1 s", allow_hyphen_values = true)]
    grid: String,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Folder for the page report.html, the picture windows.svg, the JSON object run.json and the tables run.parquet,
    /// flow.parquet, link.parquet and sample.parquet; of several hosts, the last five in a folder for each
    /// [default: none; with --trace, out]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the events of each sender in the first run as qlog: packets and registers of the kernel and the simulator, registers of
    /// QUIC
    #[arg(long)]
    trace: bool,
}

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostChoice {
    /// The TCP of this machine's kernel, in real time.
    Kernel,
    /// The QUIC stack quinn, in virtual time.
    Quic,
    /// The simulator, in virtual time.
    Simulator,
    /// The server of a stack of QUIC, in real time.
    Served(&'static Stack),
}

/// All hosts: the stacks of QUIC after the hosts of this program.
static HOSTS: LazyLock<Vec<HostChoice>> = LazyLock::new(|| {
    let own = [HostChoice::Kernel, HostChoice::Quic, HostChoice::Simulator];
    // quinn is a part of this program, which runs it in virtual time.
    let served = STACKS.iter().filter(|stack| stack.protocol == Protocol::Quic && stack.name != "quinn");
    own.into_iter().chain(served.map(HostChoice::Served)).collect()
});

impl ValueEnum for HostChoice {
    fn value_variants<'a>() -> &'a [Self] {
        &HOSTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Kernel => "The TCP of this machine's kernel, in real time",
            Self::Quic => "The QUIC stack quinn, in virtual time",
            Self::Simulator => "The simulator, in virtual time",
            Self::Served(_) => "A server of this stack of QUIC, in real time",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}

impl HostChoice {
    fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Quic => "quic",
            Self::Simulator => "simulator",
            Self::Served(stack) => stack.name,
        }
    }

    fn vantage(self) -> Vantage<'static> {
        match self {
            Self::Kernel => Vantage { name: "firstflight lab, sender in the Linux kernel", protocol: "TCP" },
            Self::Quic => Vantage { name: "firstflight lab, sender in quinn", protocol: "QUIC" },
            Self::Served(stack) => Vantage { name: stack.name, protocol: "QUIC" },
            Self::Simulator => Vantage::SIMULATOR,
        }
    }

    /// Sentence on the source of the registers over time.
    fn source(self) -> &'static str {
        match self {
            Self::Kernel => {
                "Registers: TCP_INFO of the sender, read after each ACK that the kernel has processed."
            }
            Self::Quic => "Registers: those of the scheme after each ACK.",
            Self::Simulator => "Registers: those of the sender after each event.",
            Self::Served(_) => {
                "Packets are encrypted: windows are bytes in flight, retransmissions are the datagrams that the network lost, and timeouts are not seen."
            }
        }
    }
}

/// The runs of one host.
struct Made {
    place: HostChoice,
    result: RunResult,
    samples: Vec<SampleRow>,
    recording: Option<Recording>,
    notes: Vec<String>,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let places = &options.host;
    if let Some(twice) = (1..places.len()).find(|&at| places[..at].contains(&places[at])) {
        let name = places[twice].name();
        return Err(wrong_at(option("host", None), format!("{name} is there twice")).into());
    }
    let mut servers = vec![];
    for place in places {
        let HostChoice::Served(stack) = place else { continue };
        if options.trace {
            let why = format!(
                "packets of {} are encrypted; expected kernel, quic or simulator beside it",
                stack.name
            );
            return Err(wrong_at(option("trace", None), why).into());
        }
        let server = Served::named(stack.name, &options.stacks);
        servers.push(server.map_err(|missing| Failure::new(missing.to_string()))?);
    }
    let loaded = scenario(&options.scenario, &Schemes::built_in())?;
    let grid = grid(&options.grid)?;
    let out = options.out.as_deref().or(options.trace.then_some(Path::new(FOLDER)));
    // Before schemes are loaded into the kernel and before the first run, so that a refusal costs nothing.
    let observe = Observe { grid, samples: out.is_some(), packets: options.trace, ..Observe::default() };
    for place in places {
        let checked = match place {
            HostChoice::Kernel => Controls::check(&loaded.scenario, &observe),
            HostChoice::Quic => Quic.check(&loaded.scenario, &observe).map(drop),
            HostChoice::Simulator => Simulator.check(&loaded.scenario, &observe).map(drop),
            HostChoice::Served(stack) => served(&servers, stack).check(&loaded.scenario, &observe).map(drop),
        };
        checked.map_err(|refusal| refused(&loaded, refusal, places))?;
    }
    let folder = out.map(Folder::open).transpose()?;
    let (mut made, mut failures) = (vec![], vec![]);
    for &place in places {
        match run_on(place, &loaded, options, &observe, &servers) {
            Ok(one) => made.push(one),
            // A server is a program of its own, without which the others have their results.
            Err(Failure::Because(why)) if matches!(place, HostChoice::Served(_)) && places.len() > 1 => {
                failures.push(why);
            }
            Err(failure) => return Err(failure),
        }
    }
    if made.is_empty() {
        return Err(Failure::new(failures.join("\n")));
    }
    let object = match &made[..] {
        [only] if places.len() == 1 => json_line(&only.result),
        all => json_line(&json!({ "hosts": all.iter().map(|made| &made.result).collect::<Vec<_>>() })),
    };
    let written = match folder {
        Some(folder) => write(folder, options, &made, &object)?,
        None => vec![],
    };
    match options.json {
        true => print(&object)?,
        false => show(&text(&made, &written))?,
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(failures.join("\n"))),
    }
}

/// The server of a stack.
fn served<'a>(servers: &'a [Served], stack: &Stack) -> &'a Served {
    servers.iter().find(|server| server.name() == stack.name).expect("every stack of --host has a server")
}

/// A refusal of one host; with several hosts it names the way out.
fn refused(loaded: &Loaded, refusal: Refusal, places: &[HostChoice]) -> Failure {
    let why = match places {
        [_] => refusal.why,
        _ => format!("{}; or leave this host out of --host", refusal.why),
    };
    failed(loaded.places.refuse(&refusal.key, why))
}

fn run_on(
    place: HostChoice,
    loaded: &Loaded,
    options: &Options,
    observe: &Observe,
    servers: &[Served],
) -> Result<Made, Failure> {
    let controls = match place {
        HostChoice::Kernel => Some(
            Controls::of(&loaded.scenario)
                .map_err(|refusal| failed(loaded.places.refuse(&refusal.key, refusal.why)))?,
        ),
        HostChoice::Quic | HostChoice::Simulator | HostChoice::Served(_) => None,
    };
    let kernel = Kernel { controls: controls.as_ref().map_or(STOCK, Controls::all) };
    let host: &dyn Host = match place {
        HostChoice::Kernel => &kernel,
        HostChoice::Quic => &Quic,
        HostChoice::Simulator => &Simulator,
        HostChoice::Served(stack) => served(servers, stack),
    };
    let first = options.seed.unwrap_or(loaded.scenario.seed);
    let bar = Bar::new();
    let run = Run::of(loaded.clone()).host(host).replications(options.runs).grid(observe.grid).seed(first);
    let made = run.progress(&bar).execute_observed(observe.samples, observe.packets).map_err(failed)?;
    let firstflight::Made { mut result, samples, recording, .. } = made;
    if options.host.len() > 1 {
        result.host = Some(host.name().into());
    }
    let mut notes = ran(place, &result);
    notes.push(place.source().into());
    Ok(Made { place, result, samples, recording, notes })
}

fn write(
    mut folder: Folder,
    options: &Options,
    made: &[Made],
    object: &str,
) -> Result<Vec<PathBuf>, Failure> {
    let runs: Vec<_> = made
        .iter()
        .map(|made| {
            let Made { place, result, samples, notes, .. } = made;
            HostRun { host: place.name(), result, samples, notes }
        })
        .collect();
    let text = std::fs::read_to_string(&options.scenario).unwrap_or_default();
    let command = format!(
        "firstflight lab run {} --host {} --out DIR",
        options.scenario.display(),
        runs.iter().map(|run| run.host).collect::<Vec<_>>().join(",")
    );
    folder.stage(REPORT_FILE, |file| file.write_all(page(&runs, &text, &command).as_bytes()))?;
    if made.iter().any(|made| !made.result.flows.is_empty()) {
        folder.stage(PICTURE_FILE, |file| file.write_all(picture(&runs, 0).svg().as_bytes()))?;
    }
    folder.stage(RUN_FILE, |file| file.write_all(object.as_bytes()))?;
    for Made { place, result, samples, recording, .. } in made {
        let within = if made.len() > 1 { format!("{}/", place.name()) } else { String::new() };
        stage_tables_in(&mut folder, &within, result, samples.clone(), env!("CARGO_PKG_VERSION"))?;
        if let Some(recording) = recording {
            stage_logs(&mut folder, &within, recording, place.vantage())?;
        }
    }
    Ok(folder.commit()?)
}

fn text(made: &[Made], written: &[PathBuf]) -> String {
    let mut out = match made {
        [only] => tables(&only.result) + "\n",
        all => comparison(all) + "\n",
    };
    for Made { place, result, notes, .. } in made {
        let all = notes.split_last().map_or(&notes[..], |(_, first)| first);
        out += &(all.join("\n") + "\n");
        if *place != HostChoice::Simulator {
            out += &reads(result);
        }
    }
    out + &places(written)
}

/// Sentences on how a host ran a scenario.
fn ran(place: HostChoice, result: &RunResult) -> Vec<String> {
    let (who, time) = match place {
        HostChoice::Kernel => ("The kernel", ""),
        HostChoice::Quic => ("quinn", " of virtual time"),
        HostChoice::Simulator => ("The simulator", " of virtual time"),
        HostChoice::Served(stack) => (stack.name, ""),
    };
    let mut out = vec![format!("{who} ran {} s{time}{}.", short(result.simulated_s), seeds(result))];
    // In virtual time nothing is late.
    if matches!(place, HostChoice::Kernel | HostChoice::Served(_)) {
        out.extend(result.every_run().iter().filter_map(|run| run.validity.as_ref()).map(on_time));
    }
    out
}

fn reads(result: &RunResult) -> String {
    let mut reads: Vec<_> = result.flows.iter().filter_map(|flow| flow.receiver_reads.as_deref()).collect();
    reads.sort_unstable();
    reads.dedup();
    format!("Receivers read: {}.\n", reads.join(", "))
}

/// Table of the flows of all hosts, those of one place in the scenario together.
fn comparison(made: &[Made]) -> String {
    use Align::{Left, Right};
    let columns = [
        ("flow", Left),
        ("scheme", Left),
        ("host", Left),
        ("completion", Right),
        ("lost", Right),
        ("retransmitted", Right),
        ("timeouts", Right),
        ("start-up ended", Left),
    ];
    let flows = made.iter().map(|made| made.result.flows.len()).max().unwrap_or(0);
    let mut rows = vec![];
    for at in 0..flows {
        for Made { place, result, .. } in made {
            let Some(flow) = result.flows.get(at) else { continue };
            let exit = flow.startup_exit.map_or("not yet".into(), |exit| {
                format!(
                    "at {} s by {}, cwnd {}",
                    short(exit.time_s),
                    exit.reason.label(),
                    short(exit.cwnd_packets)
                )
            });
            rows.push([
                flow.name.clone(),
                scheme(flow),
                place.name().into(),
                flow.completion_s.map_or("-".into(), |s| format!("{} s", short(s))),
                flow.lost_packets.to_string(),
                flow.retransmits.to_string(),
                flow.timeouts.to_string(),
                exit,
            ]);
        }
    }
    let title = made.first().map_or("", |made| made.result.title.as_str());
    let title = if title.is_empty() { String::new() } else { format!("{}\n\n", printable(title)) };
    title + &table(columns, &rows)
}

/// The sentence on how a run kept its times.
pub(super) fn on_time(validity: &Validity) -> String {
    let Validity { lateness_p50_ms, lateness_p99_ms, lateness_max_ms, core_share, packets, attempts } =
        *validity;
    let attempt = if attempts == 1 { "first attempt".into() } else { format!("attempt {attempts}") };
    format!(
        "Valid at the {attempt}: {packets} packets, late by {lateness_p50_ms:.3} ms in the median, {lateness_p99_ms:.3} ms \
         at 99 % and {lateness_max_ms:.1} ms at most; {:.0} % of a core.",
        core_share * 100.0
    )
}
