//! Translation in time: where everything begins later, everything ends as much later, and nothing else changes.

use super::{Held, assert_same, hold};
use firstflight_contract::Nanos;
use firstflight_hosts::network::build;
use firstflight_net::router::RouterConfig;
use firstflight_scenario::{Profile, parse};
use firstflight_sim::config::{Network, QueueConfig};
use firstflight_sim::outcome::{Outcome, simulate};

/// A whole number of all periods that the simulator counts from time zero: ticks and timer buckets of Linux (8^6 of 4 ms),
/// ticks of ns-2 and jiffies, 200 ms of VCP and Quick-Start, samples of a second and averages of a minute.
const LATER: Nanos = Nanos::from_secs(1_966_080);

/// Timers of Linux that are longer have buckets of 8^7 ticks.
const WIDEST: Nanos = Nanos::from_secs(66_000);

/// Whether `span` counts whole periods.
fn is_whole(span: Nanos, period: u64) -> bool {
    span.0.is_multiple_of(period.max(1))
}

/// The network with everything `by` later.
fn later(network: &Network, by: Nanos) -> Network {
    let mut later = network.clone();
    later.end += by;
    later.flows.iter_mut().for_each(|flow| flow.app.start += by.0);
    for (from, until) in later.udp.iter_mut().flat_map(|source| &mut source.on) {
        *from += by;
        *until += by;
    }
    later
}

/// The results with all times `by` earlier, without those that count from the beginning of the run: means over the whole run.
fn from(mut outcome: Outcome, by: Nanos) -> Outcome {
    outcome.end -= by.0;
    for flow in &mut outcome.flows {
        flow.start = flow.start.map(|start| start - by.0);
        if let Some(exit) = &mut flow.startup_exit {
            exit.at = exit.at - by;
        }
    }
    for link in &mut outcome.links {
        // A link that has carried nothing was never busy.
        link.stats.busy_until = link.stats.busy_until.saturating_sub(by.0);
        (link.utilization, link.mean_queue) = (0.0, 0.0);
    }
    outcome
}

#[test]
fn a_run_in_which_everything_begins_later_has_the_same_results() {
    hold(500, 150, |case| -> Held {
        let network = case.network;
        if network.links.iter().any(|link| link.trace.is_some()) {
            return Ok(Some("a trace is a rate at absolute times"));
        }
        let xcp = |queue: &QueueConfig| matches!(queue, QueueConfig::Router(RouterConfig::Xcp(_), _));
        if network.links.iter().any(|link| xcp(&link.queue)) {
            return Ok(Some("the control intervals of an XCP router begin with the run"));
        }
        if network.flows.iter().any(|flow| !is_whole(LATER, flow.stack.rto.granularity)) {
            return Ok(Some("the clock of a host ticks from time zero on"));
        }
        if ["jiffy =", "refresh =", "sample =", "\"spand\", "].iter().any(|key| case.text.contains(key)) {
            return Ok(Some("a scheme with a period of its own counts it from time zero"));
        }
        if network.flows.iter().any(|flow| flow.stack.recovery.is_rack()) && network.end > WIDEST {
            return Ok(Some("the buckets of the longest timers do not divide the shift"));
        }
        if network.flows.len() > 500 {
            return Ok(Some("with many connections the simulator's clock is shorter"));
        }
        let moved = simulate(&later(network, LATER));
        assert_same(&from(moved, LATER), &from(case.base.clone(), Nanos::ZERO))?;
        Ok(None)
    });
}

/// 2^16 ticks of 10 ms: a whole number of ticks and of buckets of Linux's timers.
const SHIFT: Nanos = Nanos::from_millis(655_360);

/// The schemes that need nothing but a plain path, in both roles.
fn startups() -> Vec<String> {
    let labels = firstflight_schemes::registry::SCHEMES.iter().map(|info| (info.label, info.role));
    let of = |role| labels.clone().filter(move |(_, own)| *own == role).map(|(label, _)| label);
    let standalone = of(firstflight_contract::Role::Standalone).map(|label| format!("startup = \"{label}\""));
    let starting = of(firstflight_contract::Role::Startup);
    let avoiding: Vec<&str> = of(firstflight_contract::Role::Avoidance).collect();
    // Each start-up scheme with one of the others, in turn; each other with slow start; a second start-up scheme after slow start.
    let chains = starting.clone().enumerate().map(|(n, startup)| {
        format!("startup = \"{startup}\"\navoidance = \"{}\"", avoiding[n % avoiding.len()])
    });
    let avoidances =
        avoiding.iter().map(|avoidance| format!("startup = \"slow-start\"\navoidance = \"{avoidance}\""));
    let pairs =
        starting.map(|then| format!("startup = [\"limited-slow-start\", \"{then}\"]\navoidance = \"reno\""));
    chains.chain(avoidances).chain(pairs).chain(standalone).collect()
}

/// A path with a small buffer, in which packets are lost.
const LOSSY: &str = "rate = \"20 Mbit/s\"\nrtt = \"3 ms\"\nbuffer = \"12 packets\"";

/// A path in which the last packets of a transfer are lost, so that timers fire.
const TAIL: &str = "rate = \"1 Mbit/s\"\nrtt = \"25 ms\"\nbuffer = \"4 packets\"";

/// A transfer of `stack` across `path` beside an earlier one of its cluster, from `start` on.
fn text(path: &str, start: Nanos, stack: &str) -> String {
    let at = |ms: u64| format!("\"{} ns\"", start.0 + ms * 1_000_000);
    format!(
        "duration = {}\nseed = 1\n[path]\n{path}\n\
         [[flow]]\nname = \"first\"\nsize = \"30 packets\"\nstart = {}\ncluster = \"c\"\n\
         [[flow]]\nname = \"second\"\nsize = \"40 packets\"\nstart = {}\ncluster = \"c\"\n\
         rounds = {{ count = 3, idle = \"700 ms\" }}\n{stack}\n",
        at(4000),
        at(0),
        at(118),
    )
}

/// Results of such a scenario, counted from `start`; `None` if the simulator refuses it.
fn results(path: &str, start: Nanos, stack: &str) -> Option<Outcome> {
    let scenario = parse(&text(path, start, stack), "").ok()?.scenario;
    let built = build(&scenario, scenario.seed, Nanos::from_millis(10)).ok()?;
    Some(from(simulate(&built.network), start))
}

/// Holds the results of every stack from the start and from `shift` on to each other; returns the number of stacks.
fn hold_each(path: &str, shift: Nanos, stacks: impl Iterator<Item = String>) -> u32 {
    let mut held = 0;
    for stack in stacks {
        let Some(base) = results(path, Nanos::ZERO, &stack) else { continue };
        assert_eq!(results(path, shift, &stack).as_ref(), Some(&base), "{stack}");
        held += 1;
    }
    held
}

#[test]
fn every_scheme_under_every_profile_does_not_depend_on_when_it_starts() {
    // The window of `averaged` is sampled at whole seconds, of which 655.36 s is no whole number.
    let startups: Vec<String> = startups().into_iter().filter(|chain| !chain.contains("averaged")).collect();
    let of = |profile: &&str| {
        hold_each(LOSSY, SHIFT, startups.iter().map(|chain| format!("profile = \"{profile}\"\n{chain}")))
    };
    let held: Vec<u32> = Profile::WORDS.iter().map(of).collect();
    assert!(held.iter().all(|held| *held >= 25), "{held:?} of {}", startups.len());
}

/// No whole number of any tick.
const ODD: Nanos = Nanos(1_234_567_891);

#[test]
fn stacks_with_an_exact_clock_do_not_depend_on_the_nanosecond_at_which_they_start() {
    // Schemes that count jiffies, or seconds, from time zero are left out.
    let counts = ["averaged", "hybrid-slow-start", "hystart-linux"];
    let chains = startups().into_iter().filter(|chain| !counts.iter().any(|label| chain.contains(label)));
    let stacks = chains.flat_map(|chain| {
        ["rfc", "quinn"]
            .map(|profile| format!("profile = \"{profile}\"\n{chain}\nrto_granularity = \"1 ms\""))
    });
    let held = hold_each(TAIL, ODD, stacks);
    assert!(held >= 60, "{held}");
}

#[test]
fn every_idle_rule_receiver_and_data_in_the_syn_does_not_depend_on_when_it_starts() {
    let startups =
        ["slow-start", "jump-start", "js", "spand", "fast-start", "hystart-linux", "bbr"].map(|startup| {
            let avoidance = if startup == "bbr" { "" } else { "\navoidance = \"reno\"" };
            format!("startup = \"{startup}\"{avoidance}")
        });
    let receivers = [
        "receiver = \"ack-every-packet\"",
        "receiver = \"delayed-ack\"",
        "receiver = \"quickack-then-delayed\"",
        "receiver = \"tuned-buffer\"",
        "receiver_reads = \"9 KB\"",
    ];
    let opening = [
        "handshake = true",
        "handshake = false",
        "handshake = true\ndata_in_syn = \"tfo\"",
        "handshake = true\ndata_in_syn = \"t/tcp\"",
    ];
    let idle = ["restart", "keep", "validate", "pace"];
    let mut stacks = vec![];
    for (n, startup) in startups.iter().enumerate() {
        for profile in Profile::WORDS {
            for (m, opening) in opening.iter().enumerate() {
                for (l, idle) in idle.iter().enumerate() {
                    // Receivers take turns, and initial windows with them.
                    let receiver = receivers[(n + m + l) % receivers.len()];
                    let window = [10, 54][(m + l) % 2];
                    stacks.push(format!(
                        "profile = \"{profile}\"\n{startup}\n{opening}\nidle_restart = \"{idle}\"\n{receiver}\n\
                         initial_window = \"{window} packets\""
                    ));
                }
            }
        }
    }
    let count = stacks.len();
    let held = hold_each(LOSSY, SHIFT, stacks.into_iter());
    assert!(held >= 150, "{held} of {count}");
}
