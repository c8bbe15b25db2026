//! The pages of the league, in Markdown, with a picture each.

mod picture;
mod start;
mod table;

use std::collections::BTreeMap;

use firstflight_league::{League, NO_RANKS, Outcome, Results};

use table::{criteria, exits_in_words, percent, ratio, two};

/// Folder of the pages.
pub const PAGES: &str = "pages";

/// All pages by their file names: the standing, a page for each start and for each scenario, and their pictures.
///
/// # Errors
/// If the results name a start or a scenario that the league lacks.
pub fn pages(league: &League, results: &Results) -> Result<Vec<(String, String)>, String> {
    let names = results.outcomes.iter().map(|it| (&it.start, &it.scenario));
    for (start, scenario) in names {
        if !league.starts.contains_key(start) {
            return Err(format!("the league has no start {start}"));
        }
        if !league.scenarios.contains_key(scenario) {
            return Err(format!("the league has no scenario {scenario}"));
        }
    }
    let mut all = vec![("README.md".to_owned(), standing(league, results))];
    if !results.standings.is_empty() {
        all.push(("images/standing.svg".into(), picture::standing(league, results).svg()));
    }
    for (name, _) in with_outcomes(&league.starts, results, |it| &it.start) {
        all.push((format!("starts/{name}.md"), start::page(league, results, name)));
        all.push((format!("images/{name}.svg"), picture::start(league, results, name).svg()));
    }
    all.push(("starts/README.md".into(), start::index(league, results)));
    all.push(("scenarios/README.md".into(), table::index(league, results)));
    for (name, scenario) in with_outcomes(&league.scenarios, results, |it| &it.scenario) {
        all.push((format!("scenarios/{name}.md"), table::scenario(league, results, (name, scenario))));
    }
    Ok(all)
}

/// The page of the standing.
fn standing(league: &League, results: &Results) -> String {
    let quick = if results.quick {
        "These are the results of `--quick`, with few points and sizes: intervals are wide.\n\n"
    } else {
        ""
    };
    let mut out = format!(
        "# League {}\n\n{} starts on {} scenarios. A time is given over that of [`{reference}`](starts/{reference}.md) on the same paths \
         with the same randomness: 0.9 is a tenth sooner.\n\n",
        results.league,
        results.standings.len(),
        league.scenarios.len(),
        reference = results.reference,
    );
    if results.standings.is_empty() {
        out += &format!("{quick}{NO_RANKS}\n\n");
    } else {
        out += &format!("![Time over that of {}](images/standing.svg)\n\n{quick}", results.reference);
        out += &table_of_ranks(league, results);
    }
    out += &table_of_scenarios(league, results);
    out += &format!(
        "\n## Run it\n\n```text\nfirstflight league            # everything\nfirstflight league --quick    # a first look\n```\n\nA start is one \
         file of `league/starts`, a scenario one file of `league/scenarios`. These pages are made from `results.json` (sources and host \
         {}).\n",
        results.version
    );
    out
}

/// The ranks, and the meaning of the columns.
fn table_of_ranks(league: &League, results: &Results) -> String {
    let mut out = "Ranks part only where intervals part: a rank is one more than the number of starts whose 95 % interval lies wholly below. \
            Every ranked scenario has the same weight. \
            The rank is of time alone. A start that is fast because it loses packets of others is not good: the columns `lost`, `displaced`, \
            `requests` and `newcomer` stand beside it.\n\n\
            | rank | start | version | time | 95 % | to 100 KB | to 1 MB | above | lost, % | exit window / BDP | lost before a rule's exit | \
            wait | displaced | requests | newcomer | twins | limits |\n\
            |--:|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for it in &results.standings {
        let start = &league.starts[&it.start];
        let mean = |interval: Option<firstflight_league::Interval>| two(interval.map(|it| it.mean));
        out += &format!(
            "| {} | [{}](starts/{}.md) | {} | {:.3} | {:.3} to {:.3} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            it.rank,
            start.title,
            it.start,
            start.version,
            it.ratio.mean,
            it.ratio.low,
            it.ratio.high,
            two(it.classes[0]),
            two(it.classes[1]),
            two(it.classes[2]),
            percent(Some(it.lost_share)),
            two(it.exit_over_bdp),
            two(it.lost_before_rule),
            two(it.wait_ratio),
            mean(it.displaced),
            mean(it.requests),
            mean(it.newcomer),
            mean(it.twins),
            percent(it.limited),
        );
    }
    out += "\n- **to 100 KB, to 1 MB, above**: the time by the size of the transfer.\n\
            - **lost**: packets lost as a share of the lost and the delivered. **lost before a rule's exit**: packets lost before a start-up ended by its \
            own rule. An early exit that has lost packets is not early.\n\
            - **exit window / BDP**: the window at the end of start-up over the bandwidth-delay product, the median.\n\
            - **wait**: time that a packet waits at the bottleneck, over that of the reference.\n\
            - **displaced**: bytes that an older flow loses for each byte of the transfer. **requests**: time of small requests beside the \
            transfer, over that without it. **newcomer**: time of a transfer that comes later, over that beside the reference.\n\
            - **twins**: time of the slower of two equal transfers over that of the faster.\n\
            - **limits**: share of a browser's connections that need more than the first flight, so that a start can limit them.\n\n";
    out
}

/// The scenarios with their reasons, and the fastest start of each.
fn table_of_scenarios(league: &League, results: &Results) -> String {
    let mut out =
        "## Scenarios\n\n| scenario | reason | criteria of RFC 9743 | fastest |\n|---|---|---|---|\n"
            .to_owned();
    for (name, scenario) in with_outcomes(&league.scenarios, results, |it| &it.scenario) {
        let of = results.outcomes.iter().filter(|it| it.scenario == *name);
        let fastest = of
            .filter_map(|it| Some((it, it.ratio?)))
            .min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
            .map_or_else(|| "-".into(), |(it, best)| format!("`{}` {}", it.start, ratio(Some(best))));
        out += &format!(
            "| [{}](scenarios/{name}.md) | {} | {} | {fastest} |\n",
            scenario.title,
            scenario.reason,
            criteria(scenario)
        );
    }
    out
}

/// The starts or scenarios that the results have; the others have no page.
fn with_outcomes<'a, T>(
    all: &'a BTreeMap<String, T>,
    results: &'a Results,
    name_of: impl Fn(&'a Outcome) -> &'a String,
) -> impl Iterator<Item = (&'a String, &'a T)> {
    all.iter().filter(move |(name, _)| results.outcomes.iter().any(|it| name_of(it) == *name))
}

/// The exits of an outcome in words, the most frequent first.
fn exits(outcome: &Outcome) -> String {
    exits_in_words(&outcome.exits)
}
