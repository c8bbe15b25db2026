//! The league that is built in, and outcomes of a few runs by hand.

use std::collections::BTreeMap;

use firstflight_hosts::simulator::Simulator;
use firstflight_sweep::{Plan, totals};

use crate::grid::{grid, text};
use crate::library::{League, Measure, Scenario};
use crate::outcome::{Outcome, outcome};
use crate::rows::{Exit, Row, Rows};
use crate::standing::standings;

fn league() -> League {
    League::built_in().expect("the league of the repository")
}

#[test]
fn every_start_runs_on_every_scenario_that_it_names() {
    let league = league();
    let observe = totals(1 << 32);
    let mut pairs = 0;
    for (name, scenario) in &league.scenarios {
        for (start_name, start) in league.starts.iter().filter(|(_, start)| start.runs_on(name)) {
            let grid = grid(&league, (name, scenario), (start_name, start), true);
            let plan =
                grid.and_then(Plan::new).unwrap_or_else(|error| panic!("{start_name} on {name}: {error}"));
            plan.check(&Simulator, &observe)
                .unwrap_or_else(|error| panic!("{start_name} on {name}: {error}"));
            pairs += 1;
        }
    }
    // Starts with a memory run on two scenarios.
    let few = league.starts.values().filter(|start| start.only.is_some()).count();
    assert_eq!(pairs, (league.starts.len() - few) * league.scenarios.len() + 2 * few);
}

#[test]
fn the_texts_of_the_league_name_pages_that_exist() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms");
    for (name, start) in &league().starts {
        let page = docs.join(format!("{}.md", start.page));
        assert!(page.exists(), "{name}: {}", page.display());
        assert!(!start.title.is_empty() && !start.version.is_empty(), "{name}");
    }
    for (name, scenario) in &league().scenarios {
        assert!(scenario.reason.ends_with('.') && !scenario.criteria.is_empty(), "{name}");
    }
}

#[test]
fn a_quick_league_has_fewer_sizes_replications_and_points_and_is_else_the_whole_one() {
    let league = league();
    let start = &league.starts["linux"];
    let read = |name: &str, quick: bool| {
        let text = text(&league, (name, &league.scenarios[name]), start, quick).expect("a grid");
        toml::from_str::<toml::Table>(&text).expect("TOML")
    };
    let lte = read("lte", true);
    let sizes: Vec<_> =
        lte["sizes"].as_array().expect("a list").iter().filter_map(toml::Value::as_str).collect();
    assert_eq!(sizes, ["30 KB", "300 KB", "3 MB"]);
    assert_eq!(lte["sample"]["points"].as_integer(), Some(4));
    assert_eq!(lte["replications"].as_integer(), Some(2));
    let mut fewer: BTreeMap<String, usize> = BTreeMap::new();
    for name in league.scenarios.keys() {
        let (mut quick, mut whole) = (read(name, true), read(name, false));
        for (key, most) in [("replications", 8), ("points", 4)] {
            let taken = |grid: &mut toml::Table| match key {
                "points" => grid.get_mut("sample")?.as_table_mut()?.remove(key)?.as_integer(),
                _ => grid.remove(key)?.as_integer(),
            };
            let [few, all] = [&mut quick, &mut whole].map(taken);
            assert_eq!(few, all.map(|all| all.min(most)), "{name}: {key}");
            *fewer.entry(key.into()).or_default() += usize::from(few < all);
        }
        let [few, all] = [&mut quick, &mut whole].map(|grid| grid.remove("sizes"));
        let few = few.as_ref().and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        let all = all.as_ref().and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        assert!(few.iter().all(|size| all.contains(size)) && few.is_empty() == all.is_empty(), "{name}");
        *fewer.entry("sizes".into()).or_default() += usize::from(few.len() < all.len());
        assert_eq!(quick, whole, "{name}");
    }
    assert!(["sizes", "points"].iter().all(|key| fewer[*key] > 10), "{fewer:?}");
}

fn run(size: u64, completion: Option<f64>) -> Row {
    let goodput = completion.map_or(1e6, |time| size as f64 * 8.0 / time);
    Row { size, completion, goodput, delivered: size as f64, first_flight: 10.0, ..Row::default() }
}

fn rows(blocks: &[Vec<Row>]) -> Rows {
    Rows { blocks: (0..).zip(blocks).map(|(cell, rows)| ((cell, 0), rows.clone())).collect() }
}

fn scenario(measure: Measure) -> Scenario {
    let mut scenario = league().scenarios["paths"].clone();
    scenario.measure = measure;
    scenario
}

fn of(measure: Measure, own: &Rows, reference: &Rows) -> Outcome {
    outcome(("own", "paths"), &scenario(measure), own, reference, &|_| String::new())
}

#[test]
fn the_ratio_is_the_geometric_mean_over_the_blocks() {
    // Blocks with ratios 2 and 1/2 of 10 KB and 1 MB each: logarithms of 0 and of ln 2 ± ...; the mean over both blocks is 1.
    let reference = rows(&vec![vec![run(10_000, Some(1.0)), run(1_000_000, Some(1.0))]; 2]);
    let own = rows(&[
        vec![run(10_000, Some(2.0)), run(1_000_000, Some(2.0))],
        vec![run(10_000, Some(0.5)), run(1_000_000, Some(0.5))],
    ]);
    let found = of(Measure::Time, &own, &reference);
    let ratio = found.ratio.expect("two blocks");
    assert!((ratio.mean - 1.0).abs() < 1e-12, "{ratio:?}");
    // Student's t with one degree of freedom: 12.706 ln 2 = 8.807.
    assert!((ratio.high.ln() - 8.807).abs() < 0.001, "{ratio:?}");
    assert_eq!((found.runs, found.unfinished), (4, 0));
    // 10 KB are 6.9 segments, within a flight of ten; 1 MB are not.
    assert_eq!(found.limited, 0.5);
    assert_eq!(found.sizes[0].median_s, Some(1.25));
    assert_eq!(found.classes.map(|class| class.is_some()), [true, true, false]);
}

#[test]
fn a_transfer_that_does_not_finish_counts_with_its_rate_and_has_no_median() {
    let reference = rows(&[vec![run(1_000_000, Some(1.0))], vec![run(1_000_000, Some(1.0))]]);
    // 1 MB at 1 Mbit/s takes 8 s.
    let own = rows(&[vec![run(1_000_000, None)], vec![run(1_000_000, None)]]);
    let found = of(Measure::Time, &own, &reference);
    assert!((found.ratio.expect("two blocks").mean - 8.0).abs() < 1e-9);
    assert_eq!((found.unfinished, found.sizes[0].median_s, found.sizes[0].p95_s), (2, None, None));
}

#[test]
fn displaced_data_is_that_of_others_without_the_transfer_less_that_with_it() {
    let with = |delivered: f64, others: f64| Row {
        delivered,
        others_delivered: others,
        ..run(1_000_000, Some(1.0))
    };
    let alone = |others: f64| Row { others_delivered: others, ..run(1, Some(0.1)) };
    // 2 MB lost for 1 MB, and 1 MB lost for 1 MB.
    let own = rows(&[vec![alone(9e6), with(1e6, 7e6)], vec![alone(9e6), with(1e6, 8e6)]]);
    let harm = of(Measure::Displaced, &own, &own).harm.expect("two blocks");
    assert_eq!(harm.mean, 1.5);
}

#[test]
fn exits_by_a_rule_have_their_losses_beside_them() {
    let exit = |reason: &str, lost_before| Row {
        exit: Some(Exit { reason: reason.into(), cwnd: 200.0, bdp: 100.0, lost_before }),
        lost: lost_before,
        ..run(1_448_000, Some(1.0))
    };
    let own =
        rows(&[vec![exit("delivery", 274.0)], vec![exit("loss", 5.0)], vec![run(1_448_000, Some(1.0))]]);
    let found = of(Measure::Time, &own, &own);
    let third = 1.0 / 3.0;
    let shares = [("delivery", third), ("loss", third), ("none", third)];
    assert_eq!(found.exits, BTreeMap::from(shares.map(|(reason, share)| (reason.to_owned(), share))));
    assert_eq!((found.lost_before_rule, found.exit_over_bdp), (Some(274.0), Some(2.0)));
    // 279 of 3000 + 279 packets.
    assert!((found.lost_share - 279.0 / 3279.0).abs() < 1e-12);
}

#[test]
fn ranks_part_only_where_intervals_part() {
    let mut league = league();
    league.scenarios.retain(|name, _| name == "paths");
    league.starts.retain(|name, _| ["linux", "search", "bbr"].contains(&name.as_str()));
    let outcome_of = |start: &str, mean: f64, half: f64| {
        let reference = rows(&[vec![run(10_000, Some(1.0))], vec![run(10_000, Some(1.0))]]);
        let mut found = of(Measure::Time, &reference, &reference);
        found.start = start.into();
        found.ratio = Some(crate::Interval { mean, low: mean - half, high: mean + half });
        found
    };
    // search overlaps both; bbr and linux part.
    let outcomes =
        [outcome_of("linux", 1.0, 0.05), outcome_of("search", 1.08, 0.06), outcome_of("bbr", 1.2, 0.07)];
    let ranks: Vec<(String, u64)> =
        standings(&league, &outcomes).into_iter().map(|it| (it.start, it.rank)).collect();
    assert_eq!(ranks, [("linux".into(), 1), ("search".into(), 1), ("bbr".into(), 2)]);
}
