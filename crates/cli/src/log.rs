//! `firstflight log`: the share of a server's connections that a memory of paths would help, from the server's log.

use std::fmt::Display;
use std::io::{BufReader, ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use firstflight_accesslog::{Analysis, Grouping, Keep, Log, Request, Study, WindowShare};
use firstflight_contract::Nanos;
use firstflight_scenario::quantity::{parse_time, show_time};
use firstflight_scenario::{file, quoted};
use firstflight_study::progress::Progress;

use crate::arguments::whole;
use crate::captures::STANDARD_INPUT;
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output::{print_json, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Columns of the table of windows.
pub(crate) const COLUMNS: [(&str, Align); 5] = [
    ("window", Align::Right),
    ("requests", Align::Right),
    ("network seen", Align::Right),
    ("networks held", Align::Right),
    ("at most", Align::Right),
];

/// Measure in a web server's log how often a connection comes from a network with another recent connection.
///
/// A memory of paths helps only those connections. The log is in the common or the combined format.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight log /var/log/apache2/access.log
  firstflight log access.log --window '10 min' --window '60 min' --network 20
  zcat access.log.*.gz | firstflight log - --pages --json")]
pub(crate) struct Options {
    /// The log, or - for standard input
    file: PathBuf,
    /// Age up to which a remembered network counts; may be given several times
    #[arg(long, value_name = "TIME", default_values = ["1 min", "5 min", "15 min", "60 min"])]
    window: Vec<String>,
    /// Prefix length of a network, IPv4
    #[arg(long, value_name = "BITS", default_value_t = 24, allow_hyphen_values = true, value_parser = whole::<u8>(0..=32))]
    network: u8,
    /// Prefix length of a network, IPv6
    #[arg(long, value_name = "BITS", default_value_t = 48, allow_hyphen_values = true, value_parser = whole::<u8>(0..=128))]
    network6: u8,
    /// Leave out requests for images, which reuse an open connection
    #[arg(long)]
    pages: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let analysis = analyse(options)?;
    if options.json {
        return print_json(&analysis);
    }
    let rows: Vec<_> = analysis.windows.iter().map(row).collect();
    show(&table(COLUMNS, &rows))
}

fn analyse(options: &Options) -> Result<Analysis, Failure> {
    let window = |text: &String| {
        let wrong = |problem: &dyn Display| {
            let place = option("window", Some(&quoted(text)));
            wrong_at(place, problem).expecting("a time above zero, such as \"5 min\"")
        };
        match parse_time(text) {
            Ok(time) if time.0 > 0 => Ok(time),
            Ok(_) => Err(Failure::from(wrong(&"zero"))),
            Err(error) => Err(wrong(&error.problem).near(error.nearest.as_deref()).into()),
        }
    };
    let windows = options.window.iter().map(window).collect::<Result<Vec<_>, _>>()?;
    let mut study = Study::new(&windows, Grouping::bits(options.network, options.network6));
    let keep = if options.pages { Keep::Pages } else { Keep::All };
    for_each_request(&options.file, keep, |request| study.add(request))?;
    let at = |why: &dyn Display| Failure::new(wrong_at(shown(&options.file).display(), why));
    study.finish().map_err(|error| at(&format!("{error}; --window sets shorter ones")))
}

/// A file as errors name it.
fn shown(file: &Path) -> &Path {
    if file == Path::new(STANDARD_INPUT) { Path::new("standard input") } else { file }
}

/// Reads the log `file`, or standard input for -, with progress on a terminal.
pub(crate) fn for_each_request(
    file: &Path,
    keep: Keep,
    mut each: impl FnMut(Request),
) -> Result<(), Failure> {
    let place = shown(file);
    let at = |why: &dyn Display| Failure::new(wrong_at(place.display(), why));
    let (input, bytes): (Box<dyn Read>, u64) = if place != file {
        let input = std::io::stdin();
        if input.is_terminal() {
            let why = "-: standard input is a terminal; expected a log, as in: zcat access.log.gz | firstflight log -";
            return Err(Failure::new(why));
        }
        (Box::new(input), 0)
    } else {
        let file = file::open(place).map_err(|error| {
            let instead =
                if error.kind() == ErrorKind::InvalidInput { ", or - for standard input" } else { "" };
            at(&format!("cannot be read: {error}{instead}"))
        })?;
        let bytes = file.metadata().map_or(0, |known| known.len());
        (Box::new(file), bytes)
    };
    let bar = Bar::new();
    bar.begin("bytes", bytes);
    for request in Log::new(BufReader::with_capacity(1 << 20, Counted { input, bar: &bar }), keep) {
        each(request.map_err(|error| at(&error))?);
    }
    bar.finish();
    Ok(())
}

/// An input that reports the bytes read to a progress bar.
struct Counted<'a> {
    input: Box<dyn Read>,
    bar: &'a Bar,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bar.advance(read as u64);
        Ok(read)
    }
}

pub(crate) fn row(window: &WindowShare) -> [String; 5] {
    [
        show_time(Nanos((window.window_s * 1e9).round() as u64)),
        window.requests.to_string(),
        format!("{:.1} %", 100.0 * window.seen),
        format!("{:.0}", window.held_mean),
        window.held_max.to_string(),
    ]
}
