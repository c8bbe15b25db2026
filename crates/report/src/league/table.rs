//! Tables of the league, and the numbers in them.

use std::collections::BTreeMap;

use super::with_outcomes;
use firstflight_league::{Interval, League, Measure, Results, Scenario};

/// Two decimals; a hyphen for no value.
pub(super) fn two(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2}"))
}

/// A share in per cent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".into(), |share| format!("{:.1}", share * 100.0))
}

/// A ratio with its interval.
pub(super) fn ratio(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "-".into(), |it| format!("{:.2} ({:.2} to {:.2})", it.mean, it.low, it.high))
}

/// A time in three digits.
fn seconds(value: f64) -> String {
    match value {
        value if value < 0.001 => format!("{:.3} ms", value * 1000.0),
        value if value < 0.1 => format!("{:.1} ms", value * 1000.0),
        value => format!("{value:.3} s"),
    }
}

/// Exits by their shares, the most frequent first.
pub(super) fn exits_in_words(exits: &BTreeMap<String, f64>) -> String {
    let mut all: Vec<(&String, &f64)> = exits.iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let words = all.iter().filter(|(_, share)| **share >= 0.005);
    words.map(|(reason, share)| format!("{reason} {:.0} %", **share * 100.0)).collect::<Vec<_>>().join(", ")
}

/// Criteria of a scenario, without the name of the RFC.
pub(super) fn criteria(scenario: &Scenario) -> String {
    let short = |text: &String| text.strip_prefix("RFC 9743: ").unwrap_or(text).to_owned();
    scenario.criteria.iter().map(short).collect::<Vec<_>>().join("; ")
}

/// Name of the measure that is no time.
pub(super) const fn harm(measure: Measure) -> Option<&'static str> {
    match measure {
        Measure::Time | Measure::Rounds => None,
        Measure::Displaced => Some("displaced"),
        Measure::Requests => Some("requests"),
        Measure::Newcomer => Some("newcomer"),
        Measure::Twins => Some("twins"),
        Measure::Delivered => Some("delivered"),
    }
}

/// Size in words.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1_000_000_000 => format!("{} GB", bytes / 1_000_000_000),
        bytes if bytes >= 1_000_000 => format!("{} MB", bytes / 1_000_000),
        bytes if bytes >= 1000 => format!("{} KB", bytes / 1000),
        bytes => format!("{bytes} B"),
    }
}

/// The list of all scenarios.
pub(super) fn index(league: &League, results: &Results) -> String {
    let mut out = "# Scenarios\n\n| scenario | reason | runs of a start |\n|---|---|--:|\n".to_owned();
    for (name, scenario) in with_outcomes(&league.scenarios, results, |it| &it.scenario) {
        let of = results.outcomes.iter().find(|it| it.scenario == *name);
        let runs = of.map_or(0, |it| it.runs);
        out += &format!("| [{}]({name}.md) | {} | {runs} |\n", scenario.title, scenario.reason);
    }
    out
}

/// The page of a scenario: all starts, the fastest first; then each value of its factor.
pub(super) fn scenario(league: &League, results: &Results, (name, scenario): (&str, &Scenario)) -> String {
    let mut outcomes: Vec<_> = results.outcomes.iter().filter(|it| it.scenario == name).collect();
    let key = |it: &firstflight_league::Outcome| it.ratio.or(it.harm).map_or(f64::INFINITY, |it| it.mean);
    outcomes.sort_by(|a, b| key(a).total_cmp(&key(b)).then_with(|| a.start.cmp(&b.start)));
    let sizes: Vec<u64> =
        outcomes.first().map_or(vec![], |it| it.sizes.iter().map(|it| it.size_bytes).collect());
    let mut out = format!(
        "# {}\n\n{}\n\nCriteria of RFC 9743: {}.\n\n",
        scenario.title,
        scenario.reason,
        criteria(scenario)
    );
    if !scenario.ranked {
        out += "This scenario does not count in the standing.\n\n";
    }
    let harm = harm(scenario.measure);
    out += "| start | time | ";
    if let Some(harm) = harm {
        out += &format!("{harm} | ");
    }
    for bytes in &sizes {
        out += &format!("{}: median, 95 % | ", size(*bytes));
    }
    out += "exits | exit window / BDP | lost before a rule's exit | lost, % | wait |\n|---|---|";
    out += &"---|".repeat(usize::from(harm.is_some()) + sizes.len() + 5);
    out.push('\n');
    for it in &outcomes {
        out += &format!(
            "| [{}](../starts/{}.md) | {} | ",
            league.starts[&it.start].title,
            it.start,
            ratio(it.ratio)
        );
        if harm.is_some() {
            out += &format!("{} | ", ratio(it.harm));
        }
        for bytes in &sizes {
            let found = it.sizes.iter().find(|it| it.size_bytes == *bytes);
            let cell = found.map_or_else(
                || "-".into(),
                |it| {
                    let time = |value: Option<f64>| value.map_or_else(|| "-".into(), seconds);
                    format!("{}, {}", time(it.median_s), time(it.p95_s))
                },
            );
            out += &format!("{cell} | ");
        }
        out += &format!(
            "{} | {} | {} | {} | {} |\n",
            exits_in_words(&it.exits),
            two(it.exit_over_bdp),
            two(it.lost_before_rule),
            percent(Some(it.lost_share)),
            it.wait_s.map_or_else(|| "-".into(), seconds)
        );
    }
    if let Some(by) = &scenario.by {
        out += &format!(
            "\n## By `{by}`\n\n| start | value | time | exits | exit window / BDP | lost before a rule's exit | lost, % |\n|---|---|---|---|---|---|---|\n"
        );
        for it in &outcomes {
            for group in &it.groups {
                out += &format!(
                    "| `{}` | {} | {} | {} | {} | {} | {} |\n",
                    it.start,
                    group.value,
                    ratio(group.ratio),
                    exits_in_words(&group.exits),
                    two(group.exit_over_bdp),
                    two(group.lost_before_rule),
                    percent(Some(group.lost_share))
                );
            }
        }
    }
    out += &format!("\nThe grid is in `league/scenarios/{name}.toml`.\n");
    out
}
