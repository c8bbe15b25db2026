//! `firstflight gateway check` and `firstflight gateway reload`: a configuration before and while a gateway runs.

use std::path::PathBuf;

use clap::Args;
use firstflight_daemon::Sharing;
use firstflight_gateway::{Configuration, Override};
use serde_json::{Map, Value, json};

use super::{Socket, run, word};
use crate::failure::Failure;
use crate::output::{print_json, show};

/// Check a configuration as `gateway run` and a reload do, and change nothing
///
/// Exit code 2 with one line if it has an error. The system's groups and the files of secrets that it names are checked, too; the
/// cgroup and the kernel are not asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway check /etc/firstflight/gateway.toml
  firstflight gateway check gateway.toml --json")]
pub(super) struct Check {
    /// The configuration file
    #[arg(value_name = "CONFIG")]
    file: PathBuf,
    /// Print one JSON object instead of a summary
    #[arg(long)]
    json: bool,
}

/// Have a running gateway read its configuration again
///
/// A configuration with an error changes nothing: exit code 2 with the error. Keys that need a restart are named.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway reload
  firstflight gateway reload --json | jq .needs_restart")]
pub(super) struct Reload {
    #[command(flatten)]
    socket: Socket,
}

/// Reach of `plan.idle`: the kernel lists idle connections by network namespace.
pub(super) const IDLE: &str = "reaches the idle connections of the gateway's own network namespace alone";

/// All checks of a configuration that need no kernel.
pub(super) fn whole(configuration: &Configuration) -> Result<(), Failure> {
    run::groups(configuration)?;
    run::user(configuration)?;
    run::site(configuration)?;
    configuration.share.as_ref().map(Sharing::open).transpose().map_err(Failure::new)?;
    Ok(())
}

pub(super) fn check(options: &Check) -> Result<(), Failure> {
    let configuration = run::configuration(Some(&options.file))?;
    whole(&configuration)?;
    let Configuration { settings, orders, cgroup, state, socket, share, site, transfers, canary, .. } =
        &configuration;
    let count = |wanted: fn(&Override) -> bool| orders.iter().filter(|(_, order, _)| wanted(order)).count();
    let windows = count(|order| matches!(order, Override::Window(_)));
    let freezes = count(|order| *order == Override::Freeze);
    let offs = count(|order| *order == Override::Off);
    if options.json {
        let tables: Map<_, _> = configuration
            .values()
            .into_iter()
            .map(|(table, values)| (if table.is_empty() { "gateway" } else { table }.to_owned(), values))
            .collect();
        return print_json(&json!({
            "file": options.file,
            "valid": true,
            "mode": settings.mode.label(),
            "cgroup": cgroup,
            "state": state,
            "socket": socket,
            "window": settings.window,
            "holdout_share": f64::from(settings.holdout) / 1000.0,
            "overrides": { "window": windows, "freeze": freezes, "off": offs },
            "shares": share.is_some(),
            "serves_a_site": site.is_some(),
            "applies_transfers": transfers.apply,
            "canary": canary.is_some(),
            "tables": tables,
            "idle": configuration.idle.then_some(IDLE),
        }));
    }
    let mut text = format!("{}: valid\n", options.file.display());
    for (table, values) in configuration.values() {
        let Some(values) = values.as_object() else {
            text += &format!("{:<17}absent\n", format!("[{table}]"));
            continue;
        };
        let shown = |value: &Value| match value {
            Value::Null => "absent".to_owned(),
            Value::String(text) if table.is_empty() => text.clone(),
            other => other.to_string(),
        };
        if table.is_empty() {
            values.iter().for_each(|(key, value)| text += &format!("{key:<17}{}\n", shown(value)));
        } else {
            let words: Vec<_> =
                values.iter().map(|(key, value)| format!("{key} = {}", shown(value))).collect();
            text += &format!("{:<17}{}\n", format!("[{table}]"), words.join(", "));
        }
    }
    if configuration.idle {
        text += &format!("{:<17}{IDLE}\n", "plan.idle");
    }
    text += &format!("{:<17}{windows} windows, {freezes} frozen, {offs} off\n", "[[override]]");
    show(&text)
}

pub(super) fn reload(options: &Reload) -> Result<(), Failure> {
    let Reload { socket } = options;
    let answer = socket.client().post("/v1/reload", &json!({})).map_err(Failure::new)?;
    if socket.json { print_json(&answer) } else { show(&reloaded(&answer)) }
}

fn reloaded(answer: &Value) -> String {
    let list = |key: &str| answer[key].as_array().cloned().unwrap_or_default();
    let mut text = format!("{} was read again\n", word(&answer["file"]));
    for changed in list("changed") {
        text += &format!(
            "{} = {}, before {}\n",
            word(&changed["key"]),
            word(&changed["now"]),
            word(&changed["before"])
        );
    }
    for order in list("orders") {
        let now = super::order_words(&order["now"]);
        text +=
            &format!("{}: {now}, before {}\n", word(&order["prefix"]), super::order_words(&order["before"]));
    }
    let restart = list("needs_restart");
    if !restart.is_empty() {
        let keys: Vec<_> = restart.iter().map(word).collect();
        text += &format!("changed, and need a restart: {}\n", keys.join(", "));
    }
    text
}
