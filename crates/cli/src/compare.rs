//! `firstflight compare`: start-up schemes ranked by completion time.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;

use clap::Args;
use firstflight::{Input, PathValues, Simulator, Statistic, compare, files, parse_size};
use firstflight_compare::deployable;
use firstflight_compare::{DEFAULT_STARTUPS, Limits, default_candidates, default_startups};
use firstflight_document::{clipped, nearest, quoted};
use firstflight_report::{
    Colour, Folder, answer, brief, per_size, stage_all, stage_traces, table, whole_answer,
};
use firstflight_results::Table;
use firstflight_scenario::{Candidate, Profile};
use firstflight_schemes::catalogue::Schemes;

use crate::arguments::{SEEDS, one_of, whole};
use crate::captures::Keys;
use crate::failure::{Failure, wrong_at};
use crate::interrupt;
use crate::keys::{in_option, option};
use crate::memory::{Memory, failed};
use crate::objects::Objects;
use crate::output::{complain, csv, places, print, print_json};
use crate::progress::{Bar, Bytes};
use crate::schemes::{Chains, PROPOSED_CHAINS, PROPOSED_STARTUPS, schemes};
use crate::table::terminal_columns;

/// Rank start-up schemes by completion time, on a given path or on the path of a packet capture.
///
/// INPUT is a packet capture (pcap, pcapng) taken at the sender of TCP connections (`firstflight capture` prints how), a
/// scenario file, or the name of a path preset (`firstflight presets` lists them). Several captures, a folder of them or
/// the ring of `tcpdump -C` are read as one, - is standard input, and gzip and zstd are read directly. Without INPUT,
/// --rate, --rtt and --buffer describe the path. With captures or a preset, they replace values of the path.
///
/// A capture of a server with clients in several networks (/24 or /48) is answered network by network, and for the mix of what
/// was transferred to them: what to use for all, and which networks lose by it. Ctrl-C answers from the networks done.
///
/// The command prints a ranked table and writes two files: report.html, a page that needs no network, and
/// results.parquet, with one row for each simulated transfer; for a mix also networks.parquet.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight compare upload.pcap
  firstflight compare server.pcap --connection 7
  firstflight compare server.pcap --keylog keys.log
  firstflight compare server.pcap0 server.pcap1.gz
  firstflight compare captures/ --deployable --size 100KB,1MB
  ssh server sudo tcpdump -s 128 -c 100000 -w - tcp port 443 | firstflight compare -
  firstflight compare cable --size 30KB,1MB
  firstflight compare cable --rtt \"80 ms\" --loss 1%
  firstflight compare --rate \"40 Mbit/s\" --rtt \"100 ms\" --buffer \"0.5 BDP\" --loss 0.001
  firstflight compare geo-satellite --scheme slow-start+reno,hystart+++cubic --runs 100 --seed 7
  firstflight compare lte --startup slow-start,jump-start --avoidance reno --json
  firstflight compare upload.pcap --scheme hystart-linux+cubic,hystart-linux+cubic@iw30+paced,bbr
  firstflight compare upload.pcap --by p95
  firstflight compare cable --size 3MB --trace && wireshark out/slow-start+cubic-3MB.pcapng")]
pub(crate) struct Options {
    /// Packet captures, scenario file, or name of a path preset
    #[arg(value_name = "INPUT")]
    inputs: Vec<OsString>,
    /// Schemes to compare, each a start-up and an avoidance scheme joined by +: slow-start+reno,hystart+++cubic. A plain name
    /// is what the stack has under it: cubic is hystart-linux+cubic with profile linux, slow-start+cubic with the others; vegas, which
    /// Linux has otherwise, is refused there. Settings in
    /// which the stack differs follow an @, joined by +: hystart-linux+cubic@iw30+paced. They are iw30 (initial window,
    /// packets), ssthresh=50 (initial slow-start threshold, packets) or ssthresh=bdp, paced or paced=40 (initial window, packets in
    /// a round-trip time), idle=keep
    #[arg(long = "scheme", value_name = "CHAINS", value_delimiter = ',')]
    #[arg(value_parser = Chains(&PROPOSED_CHAINS), hide_possible_values = true)]
    schemes: Vec<String>,
    #[arg(long = "startup", value_name = "LABELS", value_delimiter = ',')]
    #[arg(help = format!(
        "Start-up schemes to compare, each followed by the --avoidance scheme [default: those of {} that can run on the path; and, \
         without --avoidance, the stack's own scheme with other initial windows, paced, and with a threshold]",
        DEFAULT_STARTUPS.join(", ")
    ))]
    #[arg(value_parser = Chains(&PROPOSED_STARTUPS), hide_possible_values = true)]
    startups: Vec<String>,
    /// Avoidance scheme after each --startup scheme [default: cubic]
    #[arg(long, value_name = "LABEL")]
    avoidance: Option<String>,
    /// Sizes of the transfers, which then all count alike in the answer [default: 30KB,300KB,3MB, each counting as often as the capture has
    /// transfers of about its size]
    #[arg(long = "size", value_name = "SIZES", value_delimiter = ',', allow_hyphen_values = true)]
    sizes: Vec<String>,
    /// Bottleneck rate, such as "40 Mbit/s"
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    rate: Option<String>,
    /// Round-trip time without queueing, such as "100 ms"
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    rtt: Option<String>,
    /// Bottleneck buffer, such as "500 packets", "250 KB" or "1 BDP" (one bandwidth-delay product)
    #[arg(long, value_name = "DEPTH", allow_hyphen_values = true)]
    buffer: Option<String>,
    /// Probability of random loss for each packet, such as 0.001 or 0.1%; drops at a full buffer come in addition
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    loss: Option<String>,
    /// Compare on the path of this connection of the capture alone, by its number in `firstflight connections`. The page then has its
    /// time-sequence graph and its round trips
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(0..=u64::from(u32::MAX)))]
    connection: Option<u64>,
    #[command(flatten)]
    keys: Keys,
    /// Compare only what the stack of the profile has: a sysctl, a route, a kernel module, an option of a QUIC stack
    #[arg(long)]
    deployable: bool,
    /// Largest harm of a recommended candidate: the time of a bulk flow, and of short requests, that share the bottleneck,
    /// over their time beside the scheme that the stack has now [default: 1.1]
    #[arg(long, value_name = "RATIO", allow_hyphen_values = true)]
    max_harm: Option<String>,
    /// Largest share of the transfer's packets that a recommended candidate may drop, such as 1% or 0.01 [default: what the
    /// scheme that the stack has now drops, a tenth more, and a tenth of a packet]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    max_loss: Option<String>,
    /// Recommend the fastest, whatever it costs
    #[arg(long, conflicts_with_all = ["max_harm", "max_loss"])]
    fastest: bool,
    #[arg(long, value_name = "STATISTIC", default_value = "geometric-mean", allow_hyphen_values = true, help = format!(
        "Statistic of the times by which candidates are chosen, over all paths that the capture leaves possible: {}", Statistic::FORMS
    ))]
    by: String,
    #[arg(long, default_value = "linux", help = format!("Stack that runs the schemes: {}. The first flow of a scenario sets its own", one_of(Profile::WORDS)))]
    profile: String,
    /// Replications of each scheme at each size; only one runs if nothing on the path is random or unknown
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 30, value_parser = whole::<u32>(1..=100_000))]
    runs: u32,
    /// Seed of all random numbers; the same seed gives the same results
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1, value_parser = whole::<u64>(SEEDS))]
    seed: u64,
    #[command(flatten)]
    objects: Objects,
    #[command(flatten)]
    memory: Memory,
    /// Output folder for report.html, results.parquet and traces
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// Print the whole answer, and the ranked table of every size below it
    #[arg(long)]
    details: bool,
    /// Print the recommendation for each size by itself
    #[arg(long, conflicts_with_all = ["details", "json"])]
    per_size: bool,
    /// Print the answer in one line
    #[arg(long, conflicts_with_all = ["details", "per_size", "json"])]
    brief: bool,
    /// Print the results of every scheme at every size as CSV
    #[arg(long, conflicts_with_all = ["details", "per_size", "brief", "json"])]
    csv: bool,
    /// Print JSON instead of the answer
    #[arg(long, conflicts_with = "details")]
    json: bool,
    /// Write packet traces (pcapng and qlog): for each scheme and size the run nearest the median, and the re-run of
    /// each captured connection
    #[arg(long)]
    trace: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let profile = profile(&options.profile)?;
    let sizes: Vec<u64> = options.sizes.iter().map(|text| size(text)).collect::<Result<_, _>>()?;
    let known = options.objects.read()?;
    let values = options.path_values()?;
    let input = match &options.inputs[..] {
        [] => {
            if let Some(keys) = &options.keys.file {
                return Err(files::unused_keys(keys).into());
            }
            Input::Given(values.path().map_err(in_option)?)
        }
        named => {
            let keys = options.keys.file.as_deref();
            let replaced = || values.known().map_err(in_option);
            let read = || files::input(named, &known.catalogue, replaced, keys, &Bytes::new());
            values.change(interrupt::while_stoppable(read)?).map_err(in_option)?
        }
    };
    let input = match options.connection {
        Some(number) => {
            let place = option("connection", Some(&number.to_string()));
            input.connection(number).map_err(|error| error.in_file(&place, None))?
        }
        None => input,
    };
    let schemes = options.schemes(&input, profile, &known.catalogue)?;
    let (limits, by) = (options.limits()?, options.statistic()?);
    let comparison = compare(input)
        .candidates(schemes)
        .profile(profile)
        .replications(options.runs)
        .seed(options.seed)
        .deployable(options.deployable)
        .limits(limits)
        .by(by)
        .memory(options.memory.bytes()?)
        .provenance(command_line(), env!("FIRSTFLIGHT_REVISION").into());
    let comparison = if sizes.is_empty() { comparison } else { comparison.transfers(sizes) };
    let mix = comparison.networks() > 0;
    let bar = if mix { Bar::of_networks() } else { Bar::new() };
    let comparison = comparison.progress(&bar);
    if options.trace {
        comparison.check_recordings().map_err(failed)?;
    }
    let compared = || {
        // Opened before the simulations, so that a folder that cannot be written is reported at once.
        let folder = Folder::open(&options.out)?;
        Ok::<_, Failure>((folder, comparison.execute().map_err(failed)?))
    };
    let (mut folder, report) = if mix { interrupt::while_stoppable(compared) } else { compared() }?;
    known.check()?;
    stage_all(&mut folder, &report)?;
    if options.trace {
        for recording in comparison.recordings(&report)? {
            stage_traces(&mut folder, &recording)?;
        }
    }
    let written = folder.commit()?;
    if options.json {
        for warning in &report.comparison.warnings {
            complain(format_args!("warning: {warning}"));
        }
        return print_json(&report.comparison);
    }
    if options.brief {
        return print(&brief(&report));
    }
    if options.csv {
        return print(&csv(&Table::of_results(&report.comparison)));
    }
    let (width, colour) =
        (terminal_columns(), if console::colors_enabled() { Colour::Ansi } else { Colour::None });
    let mut text = match (options.per_size, options.details) {
        (true, _) => per_size(&report, width),
        (_, true) => whole_answer(&report, width, colour),
        _ => answer(&report, width, colour),
    };
    text.push('\n');
    if options.details {
        text += &table(&report, width, colour);
        text.push('\n');
    } else if options.per_size {
        text += "Every scheme: --details.\n";
    } else {
        text += "Every scheme: --details. For one size alone: --per-size.\n";
    }
    text.push_str(&places(&written));
    print(&text)
}

impl Options {
    /// The options of the path.
    fn path_values(&self) -> Result<PathValues, Failure> {
        let values = PathValues {
            rate: self.rate.clone(),
            rtt: self.rtt.clone(),
            buffer: self.buffer.clone(),
            loss: self.loss.clone(),
        };
        if self.inputs.is_empty() && values.given().next().is_none() {
            return Err(Failure::new(
                "no path is given; expected a capture (pcap, pcapng), a scenario (TOML), a path preset \
                 (`firstflight presets` lists them), or options such as --rate \"40 Mbit/s\" --rtt \"100 ms\" --buffer \
                 \"1 BDP\"",
            ));
        }
        Ok(values)
    }

    fn schemes(&self, input: &Input, profile: Profile, known: &Schemes) -> Result<Vec<Candidate>, Failure> {
        if !self.schemes.is_empty() || !self.startups.is_empty() {
            let stack = (known, input.profile(profile));
            return schemes(&self.schemes, &self.startups, self.avoidance.as_deref(), stack);
        }
        if self.avoidance.is_none() {
            return Ok(default_candidates(input, profile, &Simulator, self.deployable));
        }
        let startups: Vec<String> =
            default_startups(input, profile, &Simulator).into_iter().map(String::from).collect();
        let mut schemes = schemes(&[], &startups, self.avoidance.as_deref(), (known, profile))?;
        schemes.retain(|candidate| !self.deployable || deployable(candidate, profile));
        Ok(schemes)
    }

    /// Statistic of the times by which candidates are chosen.
    fn statistic(&self) -> Result<Statistic, Failure> {
        let wrong = || wrong_at(option("by", Some(&quoted(&self.by))), "there is no such statistic");
        Statistic::from_word(&self.by).ok_or_else(|| {
            let near = nearest(&self.by, ["geometric-mean", "mean", "p50", "p75", "p95"]);
            wrong().expecting(Statistic::FORMS).near(near).into()
        })
    }

    /// Limits of what a recommended candidate may cost.
    fn limits(&self) -> Result<Limits, Failure> {
        let harm = self.max_harm.as_deref().map(|text| {
            let ratio = text.parse().ok().filter(|ratio: &f64| ratio.is_finite() && *ratio > 0.0);
            ratio.ok_or_else(|| {
                let wrong = wrong_at(option("max-harm", Some(&quoted(text))), "not a ratio above zero");
                wrong.expecting("a number such as 1.1, which is a tenth later than beside the present scheme")
            })
        });
        let loss = self.max_loss.as_deref().map(|text| {
            let (number, unit) =
                text.trim_end().strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
            let share = number.trim_end().parse().ok().map(|number: f64| number / unit);
            share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
                let wrong = wrong_at(option("max-loss", Some(&quoted(text))), "not a share");
                wrong.expecting("a share from 0 to 1, or from 0% to 100%")
            })
        });
        Ok(Limits { harm: harm.transpose()?, loss: loss.transpose()?, fastest: self.fastest })
    }
}

fn profile(word: &str) -> Result<Profile, Failure> {
    Profile::from_word(word).ok_or_else(|| {
        let wrong = wrong_at(
            option("profile", Some(&quoted(word))),
            format!("there is no profile {}", clipped(&quoted(word))),
        );
        let words = Profile::WORDS.iter().copied();
        wrong.expecting(format!("one of: {}", Profile::WORDS.join(", "))).near(nearest(word, words)).into()
    })
}

/// A transfer size. The space before the unit is optional, because a shell would need quotes.
fn size(text: &str) -> Result<u64, Failure> {
    let wrong = |problem: &dyn Display| {
        wrong_at(option("size", Some(&quoted(text))), problem).expecting("sizes such as 30KB,300KB,3MB")
    };
    parse_size(text).map_err(|error| wrong(&error.problem).near(error.nearest.as_deref()).into())
}

/// The command line, quoted for a shell.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("firstflight".to_owned())
        .chain(words.map(|word| firstflight::shell_word(&word)))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_options(arguments: &[&str]) -> Options {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            options: Options,
        }
        let all = ["compare", "cable"].into_iter().chain(arguments.iter().copied());
        <Command as clap::Parser>::try_parse_from(all).expect("options").options
    }

    #[test]
    fn limits_are_a_ratio_and_a_share() {
        let read = |arguments: &[&str]| read_options(arguments).limits();
        assert_eq!(read(&[]).ok(), Some(Limits::default()));
        let limits = Limits { harm: Some(1.25), loss: Some(0.02), fastest: false };
        assert_eq!(read(&["--max-harm", "1.25", "--max-loss", "2%"]).ok(), Some(limits));
        assert_eq!(read(&["--max-harm", "1.25", "--max-loss", "0.02"]).ok(), Some(limits));
        for (arguments, message) in [
            (["--max-harm", "0"], "--max-harm \"0\": not a ratio above zero; expected a number such as 1.1"),
            (["--max-harm", "ten"], "--max-harm \"ten\": not a ratio above zero"),
            (["--max-loss", "101%"], "--max-loss \"101%\": not a share; expected a share from 0 to 1"),
            (["--max-loss", "NaN"], "--max-loss \"NaN\": not a share"),
        ] {
            let Err(Failure::Because(why)) = read(&arguments) else { panic!("{arguments:?}") };
            assert!(why.contains(message), "{why}");
        }
    }

    #[test]
    fn a_statistic_is_a_word_or_a_percentile() {
        let read = |by: &str| read_options(&["--by", by]).statistic();
        assert_eq!(read_options(&[]).statistic().ok(), Some(Statistic::GeometricMean));
        assert_eq!(read("mean").ok(), Some(Statistic::Mean));
        assert_eq!(read("p95").ok(), Some(Statistic::Percentile(95)));
        for (by, message) in [
            (
                "p100",
                "--by \"p100\": there is no such statistic; expected geometric-mean, mean, or a percentile from p1 to p99",
            ),
            ("maen", "did you mean \"mean\"?"),
        ] {
            let Err(Failure::Because(why)) = read(by) else { panic!("{by}") };
            assert!(why.contains(message), "{why}");
        }
    }

    #[test]
    fn sizes_need_a_unit_but_no_space() {
        assert_eq!(size("30KB").ok(), Some(30_000));
        assert_eq!(size("1.5 MiB").ok(), Some(1_572_864));
        for (text, message) in [
            ("30", "--size \"30\": the unit is missing; expected sizes such as 30KB,300KB,3MB"),
            ("30KBB", "there is no unit \"KBB\" here"),
            ("0 B", "zero bytes"),
            ("2000 GB", "more than 1 TB"),
        ] {
            let Err(Failure::Because(why)) = size(text) else { panic!("{text}") };
            assert!(why.contains(message), "{why}");
        }
    }
}
