//! `firstflight gateway orders` and `firstflight gateway audit`: what was ordered, by whom and when.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::{Socket, run, word};
use crate::failure::{Failure, wrong_at};
use crate::output::{print_json, show};

/// Most files that the gateway keeps of its audit log besides the newest.
const KEPT: u32 = 9;

/// Show every order with its origin: a line of the configuration, or the process that gave it and the time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway orders
  firstflight gateway orders --json | jq '.orders[] | select(.origin == \"socket\")'")]
pub(super) struct Orders {
    #[command(flatten)]
    socket: Socket,
    /// Print them as [[override]] tables for the configuration, those that are in force
    #[arg(long, conflicts_with = "json")]
    toml: bool,
}

/// Show the audit log: every order with its time, user, process, effect and result, the oldest first
///
/// Reads the files of the state folder, so that the gateway need not run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway audit
  firstflight gateway audit --last 20 --json | jq '.[] | select(.uid != 0)'")]
pub(super) struct Audit {
    /// Folder of the log, in place of the configuration's
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Configuration file; without one, /etc/firstflight/gateway.toml if it exists, else the defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only this many, the newest
    #[arg(long, value_name = "COUNT")]
    last: Option<usize>,
    /// Print an array of JSON objects instead of lines
    #[arg(long)]
    json: bool,
}

pub(super) fn orders(options: &Orders) -> Result<(), Failure> {
    let found = options.socket.get("/v1/orders")?;
    if options.socket.json {
        return print_json(&found);
    }
    let orders = found["orders"].as_array().cloned().unwrap_or_default();
    if options.toml {
        let text: String = orders.iter().filter(|order| order["in_force"] == true).map(table).collect();
        return show(&text);
    }
    let stop = found["stopped"] == true;
    let stop = stop
        .then(|| format!("all connections start as the stack starts them{}\n", given(&found["stopped_by"])));
    let mut text = stop.unwrap_or_default();
    for order in &orders {
        text += &format!("{}\n", line(order));
    }
    show(if text.is_empty() { "no orders\n" } else { &text })
}

/// An order as a line.
pub(super) fn line(order: &Value) -> String {
    let origin = match (order["origin"].as_str(), order["file"].as_str(), order["line"].as_u64()) {
        (Some("file"), Some(file), Some(line)) => format!(", {file}:{line}"),
        (Some("file"), ..) => ", configuration".to_owned(),
        _ => given(order),
    };
    let waits = order["why_not"].as_str().map_or(String::new(), |why| format!("; not in force: {why}"));
    format!("{} {}{origin}{waits}", word(&order["prefix"]), super::order_words(&order["order"]))
}

/// The process that gave an order and the time, as the end of a line.
pub(super) fn given(order: &Value) -> String {
    let Some(at) = order["at"].as_str() else { return ", socket".to_owned() };
    let uid = order["uid"].as_u64().map_or(String::new(), |uid| format!(", user {uid}"));
    let comm = order["comm"].as_str().map_or(String::new(), |comm| format!(", {comm}"));
    let pid = order["pid"].as_u64().map_or(String::new(), |pid| format!(" {pid}"));
    format!(", socket, {at}{uid}{comm}{pid}")
}

/// An order as a table of the configuration, with its origin.
fn table(order: &Value) -> String {
    let what = match &order["order"] {
        Value::String(action) => format!("action = \"{action}\""),
        other => format!("window = {}", other["set"]),
    };
    format!("# {}\n[[override]]\nprefix = \"{}\"\n{what}\n\n", line(order), word(&order["prefix"]))
}

pub(super) fn audit(options: &Audit) -> Result<(), Failure> {
    let folder = match &options.state {
        Some(folder) => folder.clone(),
        None => run::configuration(options.config.as_deref())?.state,
    };
    let mut lines = entries(&folder)?;
    if let Some(last) = options.last {
        lines.drain(..lines.len().saturating_sub(last));
    }
    if options.json {
        return print_json(&lines);
    }
    show(&lines.iter().map(|entry| audited(entry) + "\n").collect::<String>())
}

/// The lines of the log, the oldest first.
fn entries(folder: &Path) -> Result<Vec<Value>, Failure> {
    let newest = folder.join("audit.jsonl");
    let older = (1..=KEPT).rev().map(|number| folder.join(format!("audit.jsonl.{number}")));
    let mut entries = vec![];
    for path in older.filter(|path| path.exists()).chain([newest]) {
        let text = String::from_utf8_lossy(&super::read(&path)?).into_owned();
        for (number, line) in text.lines().enumerate() {
            let parsed = serde_json::from_str(line);
            let place = || format!("{}:{}", path.display(), number + 1);
            entries.push(
                parsed.map_err(|error| wrong_at(place(), format!("no line of the audit log: {error}")))?,
            );
        }
    }
    Ok(entries)
}

/// A line of the log in words.
fn audited(entry: &Value) -> String {
    let list = |key: &str| {
        let words: Vec<_> = entry[key].as_array().into_iter().flatten().map(word).collect();
        if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
    };
    let who = entry["uid"].as_u64().map_or("user unknown".to_owned(), |uid| format!("user {uid}"));
    let comm = entry["comm"].as_str().map_or(String::new(), |comm| format!(", {comm}"));
    let pid = entry["pid"].as_u64().map_or(String::new(), |pid| format!(" {pid}"));
    let head =
        format!("{} {who}{comm}{pid}, {}: {}", word(&entry["at"]), word(&entry["via"]), word(&entry["what"]));
    match entry["why"].as_str() {
        Some(why) => format!("{head}; refused: {why}"),
        None => format!("{head}; before: {}; after: {}", list("before"), list("after")),
    }
}
