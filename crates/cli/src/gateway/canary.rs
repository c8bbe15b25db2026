//! `firstflight gateway canary`: plans for a share of the connections first, and the report on it.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{Socket, undurable, word};
use crate::failure::Failure;
use crate::output::{print_json, show};

/// Report of the canary, in Markdown: what is compared, with intervals, the decision, the times, and who ordered it
///
/// A canary gives plans to a share of the networks first, and to more of them while planned connections do no worse than those that are
/// held out. It stops by itself if they do.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  firstflight gateway canary > change-4711.md
  firstflight gateway canary --json | jq .state
  firstflight gateway canary begin 'ramp = \"1 % 60 min, 10 % 240 min, 100 %\"' 'ports = \"443\"'
  firstflight gateway canary stop")]
pub(super) struct Options {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    socket: Socket,
}

#[derive(Debug, Subcommand)]
enum Act {
    Begin(Begin),
    /// Stop the canary: no network has a plan until another one begins, or it is released
    #[command(after_help = "\
Examples:
  firstflight gateway canary stop")]
    Stop(Socket),
    /// Forget the canary: plans are for every connection, or a canary of the configuration begins anew
    #[command(after_help = "\
Examples:
  firstflight gateway canary release")]
    Release(Socket),
}

/// Begin a canary, in place of the one that runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway canary begin
  firstflight gateway canary begin 'ramp = \"5 % 60 min, 100 %\"' 'p95 = 5' 'cgroups = \"/sys/fs/cgroup/system.slice/nginx.service\"'")]
struct Begin {
    /// Lines of the table [canary] of the configuration; keys that are missing have its defaults
    #[arg(value_name = "LINE")]
    rules: Vec<String>,
    #[command(flatten)]
    socket: Socket,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    match &options.act {
        None => {
            let found = options.socket.get("/v1/canary")?;
            if options.socket.json { print_json(&found) } else { show(&report(&found)) }
        }
        Some(Act::Begin(Begin { rules, socket })) => order(socket, &json!({ "begin": rules.join("\n") })),
        Some(Act::Stop(socket)) => order(socket, &json!("stop")),
        Some(Act::Release(socket)) => order(socket, &json!("release")),
    }
}

fn order(socket: &Socket, body: &Value) -> Result<(), Failure> {
    let answer = socket.client().post("/v1/canary", body).map_err(Failure::new)?;
    match socket.json {
        true => print_json(&answer),
        false => show(&format!("{}\n{}", summary(&answer), undurable(&answer))),
    }
}

/// The state as a line.
pub(super) fn summary(found: &Value) -> String {
    let state = word(&found["state"]);
    if state == "none" {
        return "no canary: plans are for every connection".to_owned();
    }
    let mut line = format!(
        "canary {state}: step {} of {}, {} % of the networks",
        found["step"], found["steps"], found["share_percent"]
    );
    if let Some(why) = found["why"].as_str() {
        line += &format!(": {why}");
    }
    if let Some(waits) = found["waits_for"].as_str() {
        line += &format!("; waits for {waits}");
    }
    line
}

fn report(found: &Value) -> String {
    if found["state"] == "none" {
        return format!("{}\n", summary(found));
    }
    let rules = &found["rules"];
    let mut text = format!("# Canary of the gateway: {}\n\n| | |\n|---|---|\n", word(&found["state"]));
    let mut row = |name: &str, value: String| text += &format!("| {name} | {} |\n", value.replace('|', "/"));
    let by = &found["ordered_by"];
    row(
        "ordered by",
        match by["place"].as_str() {
            Some(place) => place.to_owned(),
            None => {
                let process =
                    |key: &str| by[key].as_u64().map_or("unknown".to_owned(), |number| number.to_string());
                format!("user {}, process {} ({})", process("uid"), process("pid"), word(&by["comm"]))
            }
        },
    );
    row("begun", word(&found["begun"]).to_owned());
    row("ended", found["ended"].as_str().unwrap_or("not yet").to_owned());
    row("decision", decision(found));
    let every = |list: &Value, all: &str| {
        let words: Vec<_> = list.as_array().into_iter().flatten().map(plain).collect();
        if words.is_empty() { all.to_owned() } else { words.join(", ") }
    };
    row("ports", every(&rules["ports"], "every port"));
    row("cgroups", every(&rules["cgroups"], "every cgroup of the gateway"));
    let ramp = rules["ramp"].as_array().into_iter().flatten().map(|step| match step["time_s"].as_f64() {
        Some(time) => format!("{} % {}", step["share_percent"], span(time)),
        None => format!("{} %", step["share_percent"]),
    });
    row("ramp", ramp.collect::<Vec<_>>().join(", "));
    row(
        "bounds",
        format!(
            "retransmissions {} points, 95th percentile {} %, from {} held-out connections on",
            rules["retransmissions_points"], rules["p95_percent"], rules["evidence"]
        ),
    );
    row(
        "networks",
        format!(
            "{} with a plan, {} without the canary",
            found["networks"]["with_a_plan"], found["networks"]["planned_without_canary"]
        ),
    );
    for (number, step) in found["steps_begun"].as_array().into_iter().flatten().enumerate() {
        text += &self::step(number + 1, step);
    }
    text
}

/// A text or a number without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn decision(found: &Value) -> String {
    match (word(&found["state"]), found["why"].as_str(), found["waits_for"].as_str()) {
        ("stopped", Some(why), _) => format!("stopped, and no plan is used: {why}"),
        ("finished", ..) => {
            format!("no harm beyond the bounds: {} % of the networks have plans", found["share_percent"])
        }
        (_, _, Some(waits)) => format!("none yet: the step waits for {waits}"),
        (state, ..) => state.to_owned(),
    }
}

fn span(seconds: f64) -> String {
    if seconds >= 60.0 { format!("{:.0} min", seconds / 60.0) } else { format!("{seconds:.0} s") }
}

/// A step with its comparisons.
fn step(number: usize, step: &Value) -> String {
    let mut text = format!(
        "\n## Step {number}: {} % of the networks\n\nFrom {}, for {}: {} planned and {} held-out connections were compared.\n",
        step["share_percent"],
        word(&step["begun"]),
        span(step["ran_s"].as_f64().unwrap_or(0.0)),
        step["planned"],
        step["holdout"]
    );
    let end = |value: &Value, scale: f64, shift: f64| {
        value.as_f64().map_or("any".to_owned(), |value| format!("{:+.2}", scale * (value - shift)))
    };
    let verdict = |found: &Value| if found["worse"] == true { "worse" } else { "within" };
    let mut rows = String::new();
    let lost = &step["retransmissions"];
    if let (Some(planned), Some(holdout)) = (lost["planned"].as_f64(), lost["holdout"].as_f64()) {
        rows += &format!(
            "| retransmitted segments | {planned:.2} % | {holdout:.2} % | {} to {} points | {} points | {} |\n",
            end(&lost["interval"][0], 1.0, 0.0),
            end(&lost["interval"][1], 1.0, 0.0),
            lost["bound"],
            verdict(lost)
        );
    }
    for found in step["p95"].as_array().into_iter().flatten() {
        rows += &format!(
            "| 95th percentile of the time, {} | {:.3} s | {:.3} s | {} to {} % | {} % | {} |\n",
            word(&found["size"]),
            found["planned"].as_f64().unwrap_or(0.0),
            found["holdout"].as_f64().unwrap_or(0.0),
            end(&found["interval"][0], 100.0, 1.0),
            end(&found["interval"][1], 100.0, 1.0),
            found["bound"],
            verdict(found)
        );
    }
    if rows.is_empty() {
        text += "\nThere are too few for an interval.\n";
    } else {
        text += &format!(
            "\n| compared | planned | held out | difference, interval | bound | verdict |\n|---|---|---|---|---|---|\n{rows}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_numbers_the_decision_and_who_ordered_it() {
        let found = json!({
            "state": "stopped", "share_percent": 0.0, "step": 1, "steps": 2, "why": "the cause", "waits_for": null,
            "begun": "2026-11-28T00:00:00.000Z", "ended": "2026-11-28T00:40:00.000Z",
            "ordered_by": { "place": null, "uid": 1000, "pid": 42, "comm": "curl" },
            "networks": { "with_a_plan": 0, "planned_without_canary": 12 },
            "rules": {
                "ports": [443, 8443], "cgroups": [], "retransmissions_points": 1.0, "p95_percent": 10.0, "evidence": 200,
                "ramp": [{ "share_percent": 1.0, "time_s": 3600.0 }, { "share_percent": 100.0, "time_s": null }],
            },
            "steps_begun": [{
                "share_percent": 1.0, "begun": "2026-11-28T00:00:00.000Z", "ran_s": 2400.0, "planned": 3800, "holdout": 200,
                "retransmissions": { "planned": 3.0, "holdout": 0.1, "interval": [2.8, 3.0], "bound": 1.0, "worse": true },
                "p95": [{ "size": "45 to 199 segments", "planned": 0.2, "holdout": 0.19, "interval": [0.98, null], "bound": 10.0, "worse": false }],
            }],
        });
        let text = report(&found);
        for line in [
            "# Canary of the gateway: stopped",
            "| ordered by | user 1000, process 42 (curl) |",
            "| decision | stopped, and no plan is used: the cause |",
            "| ports | 443, 8443 |",
            "| ramp | 1.0 % 60 min, 100.0 % |",
            "From 2026-11-28T00:00:00.000Z, for 40 min: 3800 planned and 200 held-out connections were compared.",
            "| retransmitted segments | 3.00 % | 0.10 % | +2.80 to +3.00 points | 1.0 points | worse |",
            "| 95th percentile of the time, 45 to 199 segments | 0.200 s | 0.190 s | -2.00 to any % | 10.0 % | within |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }
}
