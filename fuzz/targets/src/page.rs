//! The tables of `docs/reliability.md`: limits from the code, counts from the tally.

use std::io;
use std::path::PathBuf;

use firstflight_document::quantity::{show_bytes, show_rate, show_time};
use firstflight_scenario::limits;

use crate::{folder, tally};

/// The source of the limits, for what each one limits.
const SOURCE: &str = include_str!("../../../crates/scenario/src/limits.rs");

/// The page.
pub fn file() -> PathBuf {
    folder().join("../docs/reliability.md")
}

/// The page with its tables as they should be now.
///
/// # Errors
/// If the page or the tally cannot be read, or the page lacks a place for a table.
pub fn made() -> io::Result<String> {
    let page = std::fs::read_to_string(file())?;
    let page = filled(&page, "limits", &limits_table())?;
    filled(&page, "executions", &tally::table(&tally::read()?))
}

/// Writes the page.
///
/// # Errors
/// As [`made`], and if the page cannot be written.
pub fn write() -> io::Result<()> {
    let page = made()?;
    std::fs::write(file(), page)
}

/// `page` with `table` between the two marks of this name.
fn filled(page: &str, name: &str, table: &str) -> io::Result<String> {
    let (begin, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let lacks = || io::Error::other(format!("docs/reliability.md lacks {begin:?} or {end:?}"));
    let (before, after) = parts.ok_or_else(lacks)?;
    Ok(format!("{before}{begin}\n{table}\n{end}{after}"))
}

/// Every limit of a scenario.
fn limits_table() -> String {
    let mut out = String::from("| limit of | most |\n|---|---:|\n");
    let mut about = String::new();
    for line in SOURCE.lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            about += if about.is_empty() { "" } else { " " };
            about += text;
        } else if let Some(name) = line.strip_prefix("pub const ").and_then(|rest| rest.split(':').next()) {
            out += &format!("| {} | {} |\n", about.trim_end_matches('.'), value(name));
            about.clear();
        }
    }
    out
}

/// The value of a limit as a reader writes it.
fn value(name: &str) -> String {
    match name {
        "FILE" => mib(limits::FILE),
        "TRACE" => mib(limits::TRACE),
        "RATE" => show_rate(limits::RATE),
        "TIME" => show_time(limits::TIME),
        "DELAY" => show_time(limits::DELAY),
        "BYTES" => show_bytes(limits::BYTES),
        "PACKETS" => tally::grouped(limits::PACKETS),
        "WINDOW" => tally::grouped(limits::WINDOW),
        "SEGMENTS" => tally::grouped(limits::SEGMENTS),
        "COUNT" => tally::grouped(limits::COUNT as u64),
        "QUEUE" => tally::grouped(limits::QUEUE),
        "LINK_NAME" => tally::grouped(limits::LINK_NAME as u64),
        "BDP_MILLIONTHS" => tally::grouped(limits::BDP_MILLIONTHS),
        "RUN" => show_time(limits::RUN),
        "PACKET" => tally::grouped(limits::PACKET),
        "DROPS" => tally::grouped(limits::DROPS as u64),
        "FLOWS" => tally::grouped(limits::FLOWS),
        "BACKLOG" => tally::grouped(limits::BACKLOG),
        "ROUNDS" => tally::grouped(limits::ROUNDS),
        "PARALLEL" => tally::grouped(limits::PARALLEL),
        "GROUPS" => tally::grouped(limits::GROUPS as u64),
        "NODES" => tally::grouped(limits::NODES as u64),
        "LINKS" => tally::grouped(limits::LINKS as u64),
        "HOPS" => tally::grouped(limits::HOPS),
        "PAIRS" => tally::grouped(limits::PAIRS),
        "FLOW_QUEUES" => tally::grouped(limits::FLOW_QUEUES),
        "COST" => tally::grouped(limits::COST),
        "NAME" => tally::grouped(limits::NAME as u64),
        "PHASES" => tally::grouped(limits::PHASES as u64),
        _ => panic!("the limit {name} of crates/scenario/src/limits.rs is missing here"),
    }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
