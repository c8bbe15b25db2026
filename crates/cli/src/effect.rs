//! `firstflight effect`: the connections of a server after a change beside those before it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use firstflight::{Identity, Input, Known, Simulator, files};
use firstflight_capture::is_qlog;
use firstflight_compare::{Connections, connections, effect, forecast};
use firstflight_document::file;
use firstflight_report::{bytes, count, gained, percent_magnitude, time, wrap};
use firstflight_results::{Change, Effect, EffectAtSize, EffectSide};

use crate::arguments::{SEEDS, whole};
use crate::captures::Keys;
use crate::failure::{Failure, wrong_at};
use crate::output::{complain, print_json, show};
use crate::progress::Bar;
use crate::table::{Align, table, terminal_columns};

/// Measure the effect of a change: the connections of a server after it beside those before it
///
/// BEFORE and AFTER are packet captures of the same server, folders of captures, rings, or files that `firstflight connections --json`
/// wrote. Times of transfers are compared size by size, with 95 % intervals by a bootstrap over connections, and beside each stands the
/// gain that was to be expected: a forecast from the capture before, for the first flight seen after.
///
/// The verdict is "sooner" or "later" if the whole interval over all sizes is; otherwise "no difference shown", with the number of
/// connections that would show 2 %. Captures over different paths show no effect.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight effect before.pcap after.pcap
  firstflight effect monday/ tuesday/ --json
  firstflight connections before.pcap --json > before.json
  firstflight effect before.json after.pcap")]
pub(crate) struct Options {
    /// Capture before the change
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Capture after the change
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    #[command(flatten)]
    keys: Keys,
    /// Leave out the forecast, which takes the time of a comparison
    #[arg(long)]
    no_forecast: bool,
    /// Seed of the resamples and of the forecast; the same seed gives the same results
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 1, value_parser = whole::<u64>(SEEDS))]
    seed: u64,
    /// Print JSON instead of the text
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let stdin = OsStr::new(files::STANDARD_INPUT);
    if options.before == stdin && options.after == stdin {
        let once = wrong_at("-", "standard input can be read once");
        return Err(once.expecting("a file for one of the two captures").into());
    }
    let (before, path) = read(&options.before, &options.keys)?;
    let (after, other) = read(&options.after, &options.keys)?;
    if let Some(keys) = options.keys.file.as_deref().filter(|_| path.is_none() && other.is_none()) {
        return Err(files::unused_keys(keys).into());
    }
    let mut found = effect(&before, &after, options.seed);
    if before.connections == after.connections {
        found.warnings.insert(0, "both sides are the same connections".into());
    }
    if options.no_forecast {
        found.no_forecast = Some("--no-forecast was given".into());
    } else {
        forecast(&Simulator, &mut found, path, &Bar::new());
    }
    if options.json {
        for warning in &found.warnings {
            complain(format_args!("warning: {warning}"));
        }
        return print_json(&found);
    }
    show(&text(&found))
}

/// The connections of one side, and its capture if it is one.
fn read(path: &Path, keys: &Keys) -> Result<(Connections, Option<Input>), Failure> {
    let place = path.display();
    let head = if path == OsStr::new(files::STANDARD_INPUT) || path.is_dir() {
        vec![]
    } else {
        // A ring has no file of this name.
        files::head(path).unwrap_or_default()
    };
    let expected = "a capture, or the array that `firstflight connections --json` prints";
    match head.trim_ascii_start().first() {
        Some(b'[') => {
            let text = file::open(path).and_then(std::io::read_to_string);
            let text = text.map_err(|error| wrong_at(&place, error))?;
            let connections =
                serde_json::from_str(&text).map_err(|error| wrong_at(&place, error).expecting(expected))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok((Connections { name, connections }, None))
        }
        Some(b'{') if !is_qlog(&head) => {
            let why = "an object of JSON; results of `compare` and `run` have no times of captured transfers";
            Err(wrong_at(&place, why).expecting(expected).into())
        }
        _ if head.starts_with(b"PAR1") => {
            let why = "a Parquet file of simulated transfers, which has no captured connections";
            Err(wrong_at(&place, why).expecting(expected).into())
        }
        _ => {
            let (file, capture) = keys.read(&[path])?;
            for warning in &capture.warnings {
                complain(format_args!("warning: {warning}"));
            }
            let rows = Connections { name: file.name.clone(), connections: connections(&capture) };
            let input = Input::Capture {
                file,
                capture: Box::new(capture),
                known: Known::default(),
                identity: Identity::default(),
            };
            Ok((rows, Some(input)))
        }
    }
}

/// The effect for a reader.
fn text(effect: &Effect) -> String {
    let mut parts = vec![wrapped(&verdict(effect))];
    let quantities: Vec<[String; 4]> = effect.changed.iter().map(|it| quantity(it, "changed")).collect();
    let unchanged = effect.unchanged.iter().map(|it| quantity(it, "no difference shown"));
    let quantities: Vec<_> = quantities.into_iter().chain(unchanged).collect();
    if !quantities.is_empty() {
        let columns = [("", Align::Left), ("before", Align::Left), ("after", Align::Left), ("", Align::Left)];
        parts.push(table(columns, &quantities));
    }
    if !effect.sizes.is_empty() {
        let columns = [
            ("size", Align::Right),
            ("transfers", Align::Right),
            ("before", Align::Right),
            ("after", Align::Right),
            ("difference", Align::Left),
            ("95 % interval", Align::Left),
            ("forecast", Align::Left),
        ];
        parts.push(table(columns, &effect.sizes.iter().map(at_size).collect::<Vec<_>>()));
    }
    parts.push(wrapped(&side("Before", &effect.before)) + &wrapped(&side("After", &effect.after)));
    let no_forecast = effect.no_forecast.iter().map(|why| format!("No forecast: {why}."));
    let notes = no_forecast.chain(effect.warnings.iter().map(|it| format!("Warning: {it}.")));
    let notes: String = notes.map(|it| wrapped(&it)).collect();
    if !notes.is_empty() {
        parts.push(notes);
    }
    parts.join("\n")
}

/// A side, and what of it does not count.
fn side(name: &str, side: &EffectSide) -> String {
    let counted = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{name}: {}, {}, {}",
        side.name,
        counted(side.connections, "connection"),
        counted(side.transfers, "transfer")
    );
    if side.small > 0 {
        text += &format!("; {} below 9.5 KB left out", counted(side.small, "transfer"));
    }
    if side.application_limited > 0 {
        text += &format!(
            "; {} that the application held back left out",
            counted(side.application_limited, "transfer")
        );
    }
    text + "."
}

fn wrapped(text: &str) -> String {
    wrap(text, terminal_columns()).iter().map(|line| plain(line) + "\n").collect()
}

fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// The verdict in one or two sentences.
fn verdict(effect: &Effect) -> String {
    let between = |[low, high]: [f64; 2]| format!("{} to {}", gained(low), gained(high));
    match (&*effect.verdict, effect.gain, effect.gain_ci95) {
        ("sooner" | "later", Some(gain), Some([low, high])) => {
            let [low, high] = if gain < 0.0 { [high, low] } else { [low, high] };
            let ends = format!("{} to {}", percent_magnitude(low), percent_magnitude(high));
            format!("Transfers end {} after the change (95\u{a0}% interval: {ends}).", gained(gain))
        }
        _ if effect.paths_differ => "No difference shown, because the paths differ.".into(),
        (_, _, Some(interval)) => {
            let needed = effect.connections_needed.map_or_else(String::new, |count| {
                let connections = if count == 1 { "connection" } else { "connections" };
                format!(" About {count} {connections} on each side would show 2\u{a0}%.")
            });
            format!("No difference shown: anything from {} fits both captures.{needed}", between(interval))
        }
        _ => "No difference shown: there are too few connections for an interval.".into(),
    }
}

fn quantity(change: &Change, differs: &str) -> [String; 4] {
    let value = |value: f64| match &*change.unit {
        "packets" => count(value),
        "ms" => plain(&time(value / 1e3)),
        _ => plain(&percent_magnitude(value)),
    };
    let with_interval = |middle: f64, [low, high]: [f64; 2]| {
        let range = if value(low) == value(high) {
            String::new()
        } else {
            format!(" ({} to {})", value(low), value(high))
        };
        format!("{}{range}", value(middle))
    };
    [
        change.what.clone(),
        with_interval(change.before, change.before_ci95),
        with_interval(change.after, change.after_ci95),
        differs.into(),
    ]
}

fn at_size(it: &EffectAtSize) -> [String; 7] {
    let shown = |gain: f64| plain(&gained(gain));
    [
        plain(&bytes(it.size_bytes)),
        format!("{}, {}", it.transfers_before, it.transfers_after),
        plain(&time(it.before_s)),
        plain(&time(it.after_s)),
        shown(it.gain),
        it.gain_ci95.map_or_else(|| "-".into(), |[low, high]| format!("{} to {}", shown(low), shown(high))),
        it.forecast.map_or_else(|| "-".into(), shown),
    ]
}
