//! `firstflight log`: the share of a server's connections that a memory of paths would help, from the server's log.

use std::fmt::Display;
use std::io::{self, BufReader, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use firstflight::files::STANDARD_INPUT;
use firstflight_accesslog::{Analysis, Format, Grouping, Keep, Log, Passed, Request, Study, WindowShare};
use firstflight_contract::Nanos;
use firstflight_document::quantity::{parse_time, show_time};
use firstflight_document::{file, quoted};
use firstflight_hosts::progress::Progress;
use serde::Serialize;

use crate::arguments::whole;
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output::{complain, print_json, show};
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
/// A memory of paths helps only those connections. The log can be compressed with gzip. Its format is recognised by its first
/// lines: combined (Apache, nginx; also common, or with the virtual host first; Envoy, Amazon S3), json (lines of nginx, Caddy,
/// Traefik, Envoy, HAProxy, CloudFront, Cloudflare), haproxy, w3c (IIS, CloudFront) or alb (Amazon's load balancers). Lines that cannot
/// be read are counted and shown; if they are most, the command fails.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight log /var/log/apache2/access.log
  firstflight log access.log --window '10 min' --window '60 min' --network 20
  firstflight log u_ex241010.log --format iis
  zcat $(ls -rv access.log.*.gz) | firstflight log - --pages --json")]
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
    #[command(flatten)]
    format: LogFormat,
    /// Leave out requests for images, which reuse an open connection
    #[arg(long)]
    pages: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// The option `--format`.
#[derive(Debug, Args)]
pub(crate) struct LogFormat {
    /// Format of the log, rather than that which its first lines have
    #[arg(long = "format", value_name = "NAME", value_parser = PossibleValuesParser::new(Format::names()))]
    name: Option<String>,
}

impl LogFormat {
    /// The format that is chosen.
    pub(crate) fn chosen(&self) -> Option<Format> {
        self.name.as_deref().and_then(Format::named)
    }
}

/// A log that was read.
#[derive(Debug, Serialize)]
pub(crate) struct Read {
    /// Name of the format; `None` of a log without lines.
    format: Option<&'static str>,
    /// Lines that are neither blank nor comments.
    lines: u64,
    /// Lines that were passed over.
    passed_over: u64,
    #[serde(skip)]
    warning: Option<String>,
}

impl Read {
    /// Warns of the lines that were passed over. It follows the last error that is possible: an error is one line.
    pub(crate) fn warn(&self) {
        if let Some(warning) = &self.warning {
            complain(format_args!("warning: {warning}"));
        }
    }
}

#[derive(Serialize)]
struct Output {
    #[serde(flatten)]
    analysis: Analysis,
    log: Read,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let (analysis, log) = analyse(options)?;
    if options.json {
        return print_json(&Output { analysis, log });
    }
    let rows: Vec<_> = analysis.windows.iter().map(row).collect();
    show(&table(COLUMNS, &rows))
}

fn analyse(options: &Options) -> Result<(Analysis, Read), Failure> {
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
    let log = for_each_request(&options.file, keep, options.format.chosen(), |request| study.add(request))?;
    let at = |why: &dyn Display| Failure::new(wrong_at(shown(&options.file).display(), why));
    let analysis = study.finish().map_err(|error| at(&format!("{error}; --window sets shorter ones")))?;
    log.warn();
    Ok((analysis, log))
}

/// A file as errors name it.
fn shown(file: &Path) -> &Path {
    if file == Path::new(STANDARD_INPUT) { Path::new("standard input") } else { file }
}

/// Reads the log `file`, or standard input for -, with progress on a terminal.
pub(crate) fn for_each_request(
    file: &Path,
    keep: Keep,
    format: Option<Format>,
    mut each: impl FnMut(Request),
) -> Result<Read, Failure> {
    let place = shown(file);
    let at = |why: &dyn Display| Failure::new(wrong_at(place.display(), why));
    let (input, bytes): (Box<dyn io::Read>, u64) = if place != file {
        let input = io::stdin();
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
    let input = BufReader::with_capacity(1 << 20, Counted { input, bar: &bar });
    let mut log = Log::of(input, keep, format);
    for request in log.by_ref() {
        each(request.map_err(|error| at(&error))?);
    }
    bar.finish();
    let passed: &Passed = log.passed();
    let warning = (passed.count() > 0).then(|| format!("{}: {passed}", place.display()));
    let format = log.format().map(Format::name);
    Ok(Read { format, lines: passed.lines, passed_over: passed.count(), warning })
}

/// An input that reports the bytes read to a progress bar.
struct Counted<'a> {
    input: Box<dyn io::Read>,
    bar: &'a Bar,
}

impl io::Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
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
