//! `firstflight gateway advise`: what the gateway would do, and the effect that the simulator expects.

use std::net::IpAddr;

use clap::Args;
use firstflight_compare::gateway::{BBR, Expected, expected};
use firstflight_gateway::STOCK;
use firstflight_report::printable;
use serde::Serialize;
use serde_json::Value;

use super::{Socket, address, word};
use crate::failure::Failure;
use crate::output::{print_json, show};
use crate::progress::Bar;

/// Networks for which the command advises without an address.
const NETWORKS: usize = 5;
/// Show the plan of a network, its expected effect, and how to have it without the gateway
///
/// The effect is simulated on the learned path, with queues of a quarter of the bandwidth-delay product, of one and of two,
/// because the queue is not learned: the range covers all three. The stack is that of the gateway's host: its congestion control is read
/// there. No effect is stated for one that the simulator does not have. Routes, sysctls and options of QUIC servers are printed for
/// those who do not let the gateway act.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway advise
  firstflight gateway advise 192.0.2.7
  firstflight gateway advise 192.0.2.7 --json")]
pub(super) struct Options {
    /// Address of a client; without one, the five networks with the most hosts
    #[arg(value_name = "ADDRESS", value_parser = address)]
    address: Option<IpAddr>,
    #[command(flatten)]
    socket: Socket,
}

/// Advice for a network.
#[derive(Debug, Serialize)]
struct Advice {
    prefix: String,
    /// First window, segments; none if the stack's own is to stay.
    window_segments: Option<u64>,
    /// Reason why there is no plan.
    why_not: Option<String>,
    /// Congestion control of the host.
    control: Option<String>,
    expected: Vec<Expected>,
    /// Reason why no effect is stated.
    why_no_effect: Option<String>,
    /// Ways to have it without the gateway: name, and command or setting.
    how: Value,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let found = match options.address {
        Some(address) => vec![options.socket.get(&format!("/v1/explain/{address}"))?],
        None => {
            let found = options.socket.get(&format!("/v1/prefixes?limit={NETWORKS}"))?;
            found["prefixes"].as_array().cloned().unwrap_or_default()
        }
    };
    let control = &options.socket.get("/v1/status")?["congestion_control"];
    let advice = found.iter().map(|found| advise(found, control)).collect::<Result<Vec<_>, _>>()?;
    if options.socket.json {
        return print_json(&advice);
    }
    if advice.is_empty() {
        return show("The gateway knows no network yet.\n");
    }
    let texts: Vec<_> = advice.iter().map(text).collect();
    show(&texts.join("\n"))
}

fn advise(found: &Value, control: &Value) -> Result<Advice, Failure> {
    let prefix = word(&found["prefix"]).to_owned();
    let why_not = found["why_no_plan"].as_str().map(str::to_owned);
    // While all plans are stopped, the plan is that which comes back.
    let plan = [&found["plan"], &found["plan_after_release"]].into_iter().find(|plan| !plan.is_null());
    let plan = plan.unwrap_or(&Value::Null);
    let window = plan["window_segments"].as_u64();
    let estimate = &found["estimate"];
    let learned = (
        estimate["window_segments"].as_f64(),
        estimate["rtt_ms"][0].as_f64(),
        estimate["rtt_ms"][1].as_f64(),
    );
    let name = control["name"].as_str().map(str::to_owned);
    let mut advice = Advice {
        prefix,
        window_segments: None,
        why_not,
        control: name,
        expected: vec![],
        why_no_effect: None,
        how: Value::Null,
    };
    let (Some(window), (Some(segments), Some(low), Some(high))) = (window, learned) else {
        return Ok(advice);
    };
    let rtt_ms = (low + high) / 2.0;
    // An order may have another window than the estimate, of which the pace is.
    let pace = plan["pace_segments_per_rtt"].as_u64().map(|pace| pace.max(window));
    let pace = pace.filter(|pace| window > STOCK.into() && *pace < 2 * window);
    match stack(control) {
        Ok(stack) => advice.expected = expected(stack, window, pace, (segments, rtt_ms), &Bar::new())?,
        Err(why) => advice.why_no_effect = Some(why),
    }
    (advice.window_segments, advice.how) = (Some(window), found["how"].clone());
    Ok(advice)
}

/// The scheme that starts connections as this congestion control of Linux does.
fn stack(control: &Value) -> Result<&'static str, String> {
    match (control["name"].as_str(), control["hystart"].as_bool()) {
        (Some("cubic"), Some(false)) => Ok("slow-start+cubic"),
        (Some("cubic"), _) => Ok("hystart-linux+cubic"),
        (Some("reno"), _) => Ok("slow-start+reno"),
        (Some("bbr"), _) => Ok(BBR),
        (Some(other), _) => {
            let other = printable(other);
            Err(format!(
                "the host's congestion control is {other}; the simulator has cubic, reno and bbr of Linux"
            ))
        }
        (None, _) => Err("the gateway does not state the host's congestion control".to_owned()),
    }
}

fn text(advice: &Advice) -> String {
    let mut text = match (advice.window_segments, &advice.why_not) {
        (Some(window), None) => format!("{}: first window {window} segments, paced\n", advice.prefix),
        (Some(window), Some(why)) => {
            format!("{}: first window {window} segments, paced; not in force: {why}\n", advice.prefix)
        }
        (None, Some(why)) => return format!("{}: leave it as it is: {why}\n", advice.prefix),
        (None, None) => return format!("{}: leave it as it is\n", advice.prefix),
    };
    for Expected { size, sooner: [low, high], more_retransmits: [fewest, most] } in &advice.expected {
        text += &format!(
            "  {size}: {:.0} to {:.0} % sooner in the median, {fewest:.1} to {most:.1} more retransmissions a transfer (simulated)\n",
            100.0 * low,
            100.0 * high
        );
    }
    match (&advice.why_no_effect, &advice.control) {
        (Some(why), _) => text += &format!("  the effect is not known: {why}\n"),
        (None, Some(control)) => {
            text += &format!("  compared with this host's stack, {}\n", printable(control));
        }
        (None, None) => {}
    }
    text += "  without the gateway:\n";
    for step in advice.how.as_array().into_iter().flatten() {
        text += &format!("    {}: {}\n", printable(word(&step[0])), printable(word(&step[1])));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_baseline_is_the_control_of_the_host() {
        for (name, hystart, expected) in [
            // Linux 6.x: tcp_cubic.c has HyStart, on by default (module parameter `hystart`); Reno and tcp_bbr.c have none.
            ("cubic", Some(true), "hystart-linux+cubic"),
            ("cubic", None, "hystart-linux+cubic"),
            ("cubic", Some(false), "slow-start+cubic"),
            ("reno", Some(true), "slow-start+reno"),
            ("bbr", None, "bbr"),
        ] {
            assert_eq!(stack(&json!({ "name": name, "hystart": hystart })), Ok(expected));
        }
        let why = stack(&json!({ "name": "vegas", "hystart": true })).expect_err("it is not simulated");
        assert!(why.contains("vegas") && why.contains("cubic, reno and bbr"), "{why}");
        stack(&Value::Null).expect_err("a gateway of an older version");
    }

    fn network() -> Value {
        // 8 Mbit/s, 50 ms: 34.5 segments of 1448 bytes.
        json!({
            "prefix": "192.0.2.0/24",
            "plan": { "window_segments": 33, "pace_segments_per_rtt": 34 },
            "estimate": { "window_segments": 34.5, "rtt_ms": [50.0, 50.0] },
            "how": [],
        })
    }

    #[test]
    fn an_unknown_control_is_named_and_nothing_is_promised() {
        let advice = advise(&network(), &json!({ "name": "vegas", "hystart": true })).expect("an advice");
        assert!(advice.expected.is_empty() && advice.window_segments == Some(33));
        let text = text(&advice);
        assert!(text.contains("the effect is not known: the host's congestion control is vegas"), "{text}");
        assert!(!text.contains("sooner"), "{text}");
    }

    #[test]
    fn the_promise_beside_cubic_is_not_that_beside_a_slow_start_without_an_end() {
        let of = |control: &str, hystart: bool| {
            let control = json!({ "name": control, "hystart": hystart });
            let advice = advise(&network(), &control).expect("an advice");
            let [_, _, large] = &advice.expected[..] else { panic!("three sizes") };
            large.more_retransmits[0]
        };
        // 300 KB are 208 segments. Slow start alone ends with a loss of about the whole window above path and queue. HyStart ends it
        // before the largest of the queues is full, so that less than a half of these retransmissions can be saved.
        let (with, without) = (of("cubic", true), of("cubic", false));
        assert!(without < -20.0 && with > without / 2.0, "{with} {without}");
        assert!(of("bbr", true).is_finite());
    }
}
