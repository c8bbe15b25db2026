//! The page of a start.

use firstflight_league::{League, Outcome, Results};

use super::table::{harm, percent, ratio, two};
use super::{exits, with_outcomes};

/// The list of all starts.
pub(super) fn index(league: &League, results: &Results) -> String {
    let mut out = "# Starts\n\n| start | version | family | time |\n|---|---|---|---|\n".to_owned();
    for (name, start) in with_outcomes(&league.starts, results, |it| &it.start) {
        let standing = results.standings.iter().find(|it| it.start == *name);
        out += &format!(
            "| [{}]({name}.md) | {} | {} | {} |\n",
            start.title,
            start.version,
            start.family.word(),
            ratio(standing.map(|it| it.ratio))
        );
    }
    out
}

/// The page: the rule, the best and the worst scenario, all scenarios.
pub(super) fn page(league: &League, results: &Results, name: &str) -> String {
    let start = &league.starts[name];
    let mut own: Vec<&Outcome> = results.outcomes.iter().filter(|it| it.start == name).collect();
    let key = |it: &Outcome| it.ratio.map_or(f64::INFINITY, |it| it.mean);
    own.sort_by(|a, b| key(a).total_cmp(&key(b)).then_with(|| a.scenario.cmp(&b.scenario)));
    let title = |name: &str| league.scenarios.get(name).map_or(name, |it| it.title.as_str()).to_owned();
    let of = |name: &str| own.iter().find(|it| it.scenario == name).and_then(|it| it.ratio);
    // The page of a stack is beside the folder of the schemes' pages.
    let rule = match start.page.strip_prefix("../") {
        Some(page) => format!("../../{page}.md"),
        None => format!("../../algorithms/{}.md", start.page),
    };
    let mut out = format!("# {}\n\nVersion: {}. [The rule]({rule}).", start.title, start.version);
    let standing = results.standings.iter().find(|it| it.start == name);
    match standing {
        Some(it) => {
            out += &format!(
                " Rank {} of {}, time {} of `{}`.\n\n![Time on each scenario](../images/{name}.svg)\n\nBest: {}, {}. Worst: {}, {}.\n\n",
                it.rank,
                results.standings.len(),
                ratio(Some(it.ratio)),
                results.reference,
                title(&it.best),
                ratio(of(&it.best)),
                title(&it.worst),
                ratio(of(&it.worst)),
            );
        }
        None => {
            out += &format!(
                "\n\nThis start needs what only some scenarios have, and is not in the standing.\n\n![Time on each scenario](../images/{name}.svg)\n\n"
            );
        }
    }
    out += "| scenario | time | other measure | exits | exit window / BDP | lost before a rule's exit | lost, % |\n\
            |---|---|---|---|--:|--:|--:|\n";
    for it in own {
        let measure = league.scenarios.get(&it.scenario).and_then(|it| harm(it.measure));
        let other = measure.map_or_else(|| "-".into(), |word| format!("{word} {}", ratio(it.harm)));
        out += &format!(
            "| [{}](../scenarios/{}.md) | {} | {other} | {} | {} | {} | {} |\n",
            title(&it.scenario),
            it.scenario,
            ratio(it.ratio),
            exits(it),
            two(it.exit_over_bdp),
            two(it.lost_before_rule),
            percent(Some(it.lost_share))
        );
    }
    out += &format!("\nThe start is `league/starts/{name}.toml`.\n");
    out
}
