use std::collections::{BTreeMap, BTreeSet};

use firstflight_results::{Harm, Mean, Sample, SampleSet};

use super::*;
use crate::costs::Costs;
use firstflight_hosts::stats::completion;

/// Result with a median of `median` seconds, and its difference from the baseline with the interval's ends.
fn result(scheme: &str, median: f64, against: Option<[f64; 3]>) -> SchemeResult {
    SchemeResult {
        scheme: scheme.into(),
        size_bytes: 30_000,
        completion_s: completion(&[median]),
        retransmits_mean: 0.0,
        startup_exit: None,
        rank: 1,
        same_as: None,
        ties_with_best: true,
        replications: 30,
        unfinished: 0,
        against_baseline: against.map(|[low, relative, high]| PairedDifference {
            seconds: relative,
            seconds_ci95: [low, high],
            relative,
            relative_ci95: [low, high],
        }),
        against_present: None,
        drops: Mean { mean: 0.0, ci95: None },
        others_drops_mean: 0.0,
        timeouts_mean: 0.0,
        widened_by: vec![],
        initial_window_packets: None,
        harm: None,
        how: vec![],
        risks: vec![],
    }
}

/// Harm to a bulk flow whose interval has no width.
fn exactly(bulk: f64) -> Harm {
    Harm {
        bulk,
        bulk_ci95: [bulk; 2],
        request_response: 1.0,
        request_response_ci95: [1.0; 2],
        replications: 16,
    }
}

/// Result that is `sooner` by this share than the present scheme, which takes 1 s, and has these costs.
fn candidate(scheme: &str, sooner: f64, drops: f64, harm: f64, how: &[&str]) -> SchemeResult {
    let mut result = result(scheme, 1.0 - sooner, Some([-sooner - 0.01, -sooner, -sooner + 0.01]));
    result.against_present = (sooner != 0.0).then(|| result.against_baseline.take()).flatten();
    result.drops.mean = drops;
    result.harm = Some(exactly(harm));
    result.how = how.iter().map(|&way| way.into()).collect();
    result
}

fn ask<'a>(present: Option<&'a str>, baseline: Option<&'a str>, limits: Limits) -> Question<'a> {
    Question {
        candidates: &[],
        present,
        baseline,
        limits,
        payload: 1000,
        no_answer: None,
        replications: behind(&[]),
    }
}

fn behind(samples: &[SampleSet]) -> Replications<'_> {
    static NONE: BTreeMap<u64, f64> = BTreeMap::new();
    Replications { samples, departures: &NONE, weights: None, by: Statistic::default() }
}

/// Replications with these times, seconds, and these drops.
fn replications(result: &SchemeResult, times: &[f64], drops: &[u64]) -> SampleSet {
    let sample = |(&time, &drops): (&f64, &u64)| Sample {
        seed: 1,
        completion_s: Some(time),
        retransmits: 0,
        timeouts: 0,
        drops,
        startup_exit: None,
    };
    SampleSet {
        scheme: result.scheme.clone(),
        size_bytes: result.size_bytes,
        samples: times.iter().zip(drops).map(sample).collect(),
    }
}

/// One replication behind each result.
fn single(results: &[SchemeResult]) -> Vec<SampleSet> {
    let of = |it: &SchemeResult| replications(it, &[median_of(it)], &[it.drops.mean as u64]);
    results.iter().map(of).collect()
}

fn asked_of<'a>(question: &Question<'a>, samples: &'a [SampleSet]) -> Question<'a> {
    Question { replications: behind(samples), ..*question }
}

fn one(results: &[SchemeResult], question: &Question<'_>) -> Recommended {
    one_of(results, &single(results), question)
}

fn one_of(results: &[SchemeResult], samples: &[SampleSet], question: &Question<'_>) -> Recommended {
    only(results, &asked_of(question, samples))
}

/// The recommendation from these results, which are of one size.
fn only(results: &[SchemeResult], question: &Question<'_>) -> Recommended {
    let [one] = <[Recommended; 1]>::try_from(recommended(results, &[30_000], question, None))
        .expect("one size, one recommendation");
    one
}

fn of(results: &[SchemeResult], baseline: Option<&str>) -> Recommended {
    one(results, &ask(None, baseline, Limits::default()))
}

#[test]
fn the_fastest_scheme_beyond_the_threshold_is_recommended_with_its_gain() {
    // The first is faster, but perhaps not on the next thirty paths.
    let results = [
        result("lucky", 0.7, Some([-0.5, -0.3, 0.1])),
        result("sure", 0.75, Some([-0.3, -0.25, -0.2])),
        result("base", 1.0, None),
    ];
    let chosen = of(&results, Some("base"));
    assert_eq!(
        (chosen.scheme.as_deref(), chosen.gain),
        (Some("sure"), Some([0.2, 0.25, 0.3])),
        "{}",
        chosen.why
    );
    assert_eq!(chosen.why, "its median is 25 % below that of base (20 % to 30 %)");
}

#[test]
fn a_gain_below_the_threshold_is_not_worth_having_however_sure() {
    let results = [result("fast", 0.981, Some([-0.0192, -0.019, -0.0188])), result("base", 1.0, None)];
    let chosen = of(&results, Some("base"));
    assert_eq!((chosen.scheme, chosen.gain), (None, Some([0.0188, 0.019, 0.0192])));
}

#[test]
fn nothing_is_recommended_where_all_are_equal_or_the_baseline_is_the_fastest() {
    let equal = [result("base", 1.0, None), result("same", 1.0, Some([0.0; 3]))];
    let chosen = of(&equal, Some("base"));
    assert_eq!((chosen.scheme, chosen.gain), (None, Some([0.0; 3])));
    let slower = [result("base", 1.0, None), result("slow", 1.5, Some([0.4, 0.5, 0.6]))];
    assert_eq!(of(&slower, Some("base")).scheme, None);
}

#[test]
fn a_scheme_that_leaves_more_transfers_unfinished_is_not_recommended() {
    let mut results = [result("fast", 0.5, Some([-0.6, -0.5, -0.4])), result("base", 1.0, None)];
    results[0].unfinished = 3;
    assert_eq!(of(&results, Some("base")).scheme, None);
    results[1].unfinished = 3;
    assert_eq!(of(&results, Some("base")).scheme.as_deref(), Some("fast"));
}

#[test]
fn without_a_baseline_the_fastest_is_named_if_any_differs() {
    let mut results = [result("fast", 0.5, None), result("slow", 1.0, None)];
    assert_eq!(of(&results, None).scheme, None, "both are marked as equally good");
    results[1].ties_with_best = false;
    let chosen = of(&results, None);
    assert_eq!((chosen.scheme.as_deref(), chosen.gain), (Some("fast"), None));
}

#[test]
fn a_failed_check_gives_no_answer_at_any_size() {
    let results = [result("fast", 0.5, Some([-0.6, -0.5, -0.4])), result("base", 1.0, None)];
    let why = no_answer(false, None, Some(3.16)).expect("off by 316 %");
    assert!(why.contains("off by 316 %"), "{why}");
    let question = Question { no_answer: Some(&why), ..ask(None, Some("base"), Limits::default()) };
    for one in recommended(&results, &[30_000, 300_000], &question, None) {
        assert_eq!((one.scheme, one.gain, &one.why), (None, None, &why));
    }
    assert_eq!(no_answer(false, None, Some(0.3)), None);
    assert!(no_answer(true, None, None).is_some());
}

#[test]
fn the_fastest_whose_cost_is_acceptable_is_recommended_and_a_faster_one_is_named() {
    // The present scheme drops 10 packets: the limit is 11 and a tenth.
    let results = [
        candidate("burst", 0.5, 2642.0, 1.0, &[]),
        candidate("greedy", 0.4, 11.0, 1.2, &["Linux: …"]),
        candidate("fair", 0.3, 11.0, 1.1, &["Linux: …"]),
        candidate("present", 0.0, 10.0, 1.0, &["Linux: …"]),
    ];
    let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
    assert_eq!((chosen.scheme.as_deref(), chosen.max_harm), (Some("fair"), Some(1.1)));
    assert!((chosen.max_drops.expect("a limit") - 11.1).abs() < 1e-9);
    assert!(chosen.why.ends_with("; burst ends sooner, but drops 2642 packets (limit 11)"), "{}", chosen.why);
    let scheme = |limits: Limits| one(&results, &ask(Some("present"), None, limits)).scheme;
    let limits = Limits { harm: Some(1.25), ..Limits::default() };
    assert_eq!(scheme(limits).as_deref(), Some("greedy"));
    // 30 KB are 30 packets of 1000 bytes; a third of them are 10.
    let limits = Limits { loss: Some(1.0 / 3.0), ..Limits::default() };
    assert_eq!(scheme(limits), None);
    let limits = Limits { fastest: true, ..Limits::default() };
    assert_eq!(scheme(limits).as_deref(), Some("burst"));
}

#[test]
fn of_equally_fast_candidates_the_deployable_and_then_the_least_change_is_recommended() {
    let mut results = [
        candidate("jump-start+cubic", 0.41, 0.0, 1.0, &[]),
        candidate("hystart-linux+cubic@iw60+paced", 0.405, 0.0, 1.0, &["Linux: …"]),
        candidate("hystart-linux+cubic@iw60", 0.40, 0.0, 1.0, &["Linux: …"]),
        candidate("hystart-linux+cubic@iw30", 0.40, 0.0, 1.0, &["Linux: …"]),
        candidate("bbr", 0.405, 0.0, 1.0, &["Linux: …"]),
        candidate("hystart-linux+cubic@iw20", 0.37, 0.0, 1.0, &["Linux: …"]),
        candidate("hystart-linux+cubic", 0.0, 0.0, 1.0, &["Linux: …"]),
    ];
    let candidates: Vec<Candidate> =
        results.iter().map(|it| Candidate::parse(&it.scheme).expect("a candidate")).collect();
    for (result, candidate) in results.iter_mut().zip(&candidates) {
        result.initial_window_packets = candidate.settings.initial_window;
    }
    let present = Some("hystart-linux+cubic");
    let question = Question { candidates: &candidates, ..ask(present, None, Limits::default()) };
    // 0.60 s is within 2 % of 0.59 s, 0.63 s is not. One setting is less than two, and than another scheme.
    let chosen = one(&results, &question);
    assert_eq!(
        (chosen.scheme.as_deref(), chosen.initial_window_packets),
        (Some("hystart-linux+cubic@iw30"), Some(30))
    );
    assert_eq!(chosen.gain.expect("a gain")[1], 0.40);
}

#[test]
fn of_candidates_that_may_be_as_fast_the_least_harmful_is_recommended() {
    let results = [
        candidate("lucky", 0.30, 0.0, 1.08, &["Linux: …"]),
        candidate("gentle", 0.27, 0.0, 1.01, &["Linux: …"]),
        candidate("late", 0.20, 0.0, 1.0, &["Linux: …"]),
        candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
    ];
    let question = ask(Some("present"), None, Limits::default());
    // The medians of ten replications: 0.70, 0.73, 0.80 and 1 s. Which of the first two is faster differs from one to the next.
    let by_turns = |a: f64, b: f64| [a, b, a, b, a, b, a, b, a, b];
    let (none, times) = ([0; 10], [by_turns(0.5, 0.9), by_turns(0.9, 0.56), by_turns(0.76, 0.84), [1.0; 10]]);
    let samples: Vec<SampleSet> =
        results.iter().zip(&times).map(|(it, times)| replications(it, times, &none)).collect();
    let chosen = one_of(&results, &samples, &question);
    // Logarithms of the ratio of the third to the first: 0.42 and -0.07 by turns, 0.17 +- 2.26 * 0.26 / sqrt(10).
    assert_eq!(chosen.as_fast, ["lucky", "late"], "even the third may be as fast");
    // Less harm than a hundredth is no reason for the third.
    assert_eq!(chosen.scheme.as_deref(), Some("gentle"));
    assert_eq!(
        chosen.chosen_by,
        ["harm", "time"],
        "the first does more harm, and the third is the same change"
    );
    assert_eq!(chosen.gain.expect("a gain")[1], 0.27);
    // Where all replications show the difference, the fastest is recommended for all its harm.
    let sure = [[0.70; 10], [0.73; 10], [0.80; 10], [1.0; 10]];
    let samples: Vec<SampleSet> =
        results.iter().zip(&sure).map(|(it, times)| replications(it, times, &none)).collect();
    let chosen = one_of(&results, &samples, &question);
    assert_eq!(
        (chosen.scheme.as_deref(), chosen.as_fast.len(), chosen.chosen_by.len()),
        (Some("lucky"), 0, 0)
    );
}

#[test]
fn a_candidate_with_a_lower_median_that_takes_longer_on_average_is_passed_over_and_named() {
    let results = [
        candidate("tail", 0.31, 0.0, 1.0, &["Linux: …"]),
        candidate("steady", 0.25, 0.0, 1.0, &["Linux: …"]),
        candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
    ];
    // Three in ten of its transfers wait for a timeout: the mean of the logarithms of the ratio is
    // 0.7 ln(0.69 / 0.75) + 0.3 ln(3 / 0.75) = 0.3575, a factor of 1.43; its interval is +- 2.045 * 0.68 / sqrt(30).
    let tail: Vec<f64> = (0..30).map(|index| if index % 10 < 7 { 0.69 } else { 3.0 }).collect();
    let samples = [
        replications(&results[0], &tail, &[0; 30]),
        replications(&results[1], &[0.75; 30], &[0; 30]),
        replications(&results[2], &[1.0; 30], &[0; 30]),
    ];
    let chosen = one_of(&results, &samples, &ask(Some("present"), None, Limits::default()));
    assert_eq!((chosen.scheme.as_deref(), chosen.as_fast.len()), (Some("steady"), 0));
    assert!(
        chosen.why.ends_with("; tail has a lower median, but takes 43 % longer in the geometric mean"),
        "{}",
        chosen.why
    );
}

#[test]
fn a_harm_within_the_limit_may_have_an_interval_beyond_it_by_less_than_is_worth_having() {
    let mut results = [candidate("near", 0.4, 0.0, 1.09, &[]), candidate("present", 0.0, 0.0, 1.0, &[])];
    let mut verdict = |value: f64, interval: [f64; 2]| {
        let harm = results[0].harm.as_mut().expect("measured");
        (harm.bulk, harm.bulk_ci95) = (value, interval);
        let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
        (chosen.scheme.is_some(), chosen.undecided.len())
    };
    // 1.1 and two hundredths of it are 1.122.
    assert_eq!(verdict(1.09, [1.06, 1.12]), (true, 0));
    assert_eq!(verdict(1.09, [1.055, 1.125]), (false, 1));
    assert_eq!(verdict(1.105, [1.09, 1.12]), (false, 1));
    assert_eq!(verdict(1.11, [1.105, 1.115]), (false, 0));
}

#[test]
fn harm_that_cannot_be_told_from_the_least_is_no_reason() {
    let mut results = [
        candidate("a", 0.30, 0.0, 1.00, &[]),
        candidate("b", 0.30, 0.0, 1.05, &["Linux: …"]),
        candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
    ];
    let question = ask(Some("present"), None, Limits::default());
    assert_eq!(one(&results, &question).scheme.as_deref(), Some("a"), "five hundredths less harm");
    // Its interval begins within two hundredths of the least: the stack has it.
    results[1].harm.as_mut().expect("measured").bulk_ci95 = [1.01, 1.09];
    assert_eq!(one(&results, &question).scheme.as_deref(), Some("b"));
}

#[test]
fn drops_above_the_limit_by_chance_are_no_reason() {
    let results = [candidate("fast", 0.3, 2.0, 1.0, &[]), candidate("present", 0.0, 1.0, 1.0, &[])];
    let question = ask(Some("present"), None, Limits::default());
    let behind = |fast: &[u64; 4], present: &[u64; 4]| {
        let samples =
            [replications(&results[0], &[0.7; 4], fast), replications(&results[1], &[1.0; 4], present)];
        one_of(&results, &samples, &question)
    };
    // Beyond the limits of 0.1, 0.1, 3.4 and 0.1 packets by -0.1, 4.9, 0.6 and -0.1: 1.3 +- 3.18 * 2.4 / 2.
    let chosen = behind(&[0, 5, 4, 0], &[0, 0, 3, 0]);
    assert_eq!(chosen.scheme.as_deref(), Some("fast"), "{}", chosen.why);
    // By 1.9 each time.
    let chosen = behind(&[2, 2, 2, 2], &[0, 0, 0, 0]);
    assert_eq!(chosen.scheme, None);
    assert!(chosen.why.contains("fast ends sooner, but drops 2.00 packets"), "{}", chosen.why);
}

#[test]
fn a_gain_beyond_the_limits_is_named_where_nothing_is_recommended() {
    let results = [candidate("burst", 0.5, 0.0, 1.5, &[]), candidate("present", 0.0, 0.0, 1.0, &[])];
    let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
    assert_eq!(chosen.scheme, None);
    assert_eq!(
        chosen.why,
        "no gain over present that is worth having is within the limits; burst ends sooner, but does too much harm: a bulk flow \
         beside it takes 1.50 times as long (95 % interval 1.50 to 1.50; limit 1.10)"
    );
}

#[test]
fn a_candidate_whose_harm_cannot_be_told_from_the_limit_is_passed_over_and_named() {
    let mut results = [
        candidate("burst", 0.5, 2642.0, 1.0, &[]),
        candidate("near", 0.4, 0.0, 1.08, &["Linux: …"]),
        candidate("fair", 0.3, 0.0, 1.02, &["Linux: …"]),
        candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
    ];
    let near = results[1].harm.as_mut().expect("measured");
    near.bulk_ci95 = [1.04, 1.13];
    let question = ask(Some("present"), None, Limits::default());
    let chosen = one(&results, &question);
    assert_eq!(chosen.scheme.as_deref(), Some("fair"));
    assert_eq!(chosen.undecided, ["near"]);
    assert!(
        chosen.why.ends_with(
            "; burst ends sooner, but drops 2642 packets (limit 0.10); near ends sooner, but its harm may exceed the limit: \
             a bulk flow beside it takes 1.08 times as long (95 % interval 1.04 to 1.13; limit 1.10)"
        ),
        "{}",
        chosen.why
    );
    let of = |results: &[SchemeResult]| {
        let samples = single(results);
        let question = asked_of(&question, &samples);
        contenders(results, &[30_000], &question).iter().map(|it| it.label().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        of(&results),
        ["near", "fair"],
        "neither the one that drops too much nor the one that gains nothing"
    );
    // Without another the answer is none.
    let alone = [results[1].clone(), results[3].clone()];
    let chosen = one(&alone, &question);
    assert_eq!((chosen.scheme, &chosen.undecided[..]), (None, &["near".to_owned()][..]));
    // Within a higher limit, and above a lower one, it is decided.
    let with = |limit: f64| Limits { harm: Some(limit), ..Limits::default() };
    assert_eq!(one(&alone, &ask(Some("present"), None, with(1.12))).scheme.as_deref(), Some("near"));
    let chosen = one(&alone, &ask(Some("present"), None, with(1.03)));
    assert_eq!((chosen.scheme, chosen.undecided.len()), (None, 0));
}

#[test]
fn a_candidate_that_may_be_as_fast_as_the_recommended_one_is_named_if_its_harm_may_exceed_the_limit() {
    let mut results = [
        candidate("near", 0.31, 0.0, 1.08, &["Linux: …"]),
        candidate("fair", 0.30, 0.0, 1.02, &["Linux: …"]),
        candidate("open", 0.30, 0.0, 1.09, &["Linux: …"]),
        candidate("harmful", 0.30, 0.0, 1.2, &["Linux: …"]),
        candidate("later", 0.28, 0.0, 1.08, &["Linux: …"]),
        candidate("present", 0.0, 0.0, 1.0, &["Linux: …"]),
    ];
    for place in [0, 2, 4] {
        results[place].harm.as_mut().expect("measured").bulk_ci95 = [1.04, 1.13];
    }
    let chosen = one(&results, &ask(Some("present"), None, Limits::default()));
    // 0.69 and 0.70 s are within 2 % of 0.70 s, 0.72 s is not.
    assert_eq!(chosen.scheme.as_deref(), Some("fair"));
    assert_eq!(chosen.undecided, ["near", "open"]);
    assert!(
        chosen.why.ends_with(
            "(29 % to 31 %); near may be as fast, but its harm may exceed the limit: a bulk flow beside it takes 1.08 times as \
             long (95 % interval 1.04 to 1.13; limit 1.10); the harm of open may exceed it, too"
        ),
        "{}",
        chosen.why
    );
}

#[test]
fn the_bystander_that_decides_is_named() {
    let mut result = candidate("near", 0.4, 0.0, 1.09, &[]);
    let harm = result.harm.as_mut().expect("measured");
    (harm.bulk_ci95, harm.request_response, harm.request_response_ci95) = ([1.08, 1.2], 1.2, [1.15, 1.18]);
    let cost = Cost { harm: Some(1.1), drops: None, lossy: BTreeSet::new() };
    let Verdict::Above(why) = cost.verdict(&result) else { panic!("above") };
    assert!(why.contains("short requests beside it take 1.20 times"), "{why}");
    let mut just = result.clone();
    just.harm.as_mut().expect("measured").request_response_ci95 = [1.102, 1.18];
    let Verdict::Above(why) = cost.verdict(&just) else { panic!("above") };
    assert!(why.ends_with("(95 % interval 1.102 to 1.180; limit 1.10)"), "{why}");
    result.harm.as_mut().expect("measured").request_response_ci95 = [1.0, 1.15];
    let Verdict::Open(why) = cost.verdict(&result) else { panic!("open") };
    assert!(why.contains("a bulk flow beside it takes 1.09 times"), "{why}");
}

/// Results at 30 KB and 300 KB with one replication each: a label, and for each size how much sooner than the present scheme, and its harm.
fn at_two_sizes(candidates: &[(&str, [f64; 2], [f64; 2])]) -> Vec<SchemeResult> {
    let at = |place: usize, size_bytes: u64| {
        let mut of_size: Vec<SchemeResult> = candidates
            .iter()
            .map(|(label, sooner, harm)| SchemeResult {
                size_bytes,
                ..candidate(label, sooner[place], 0.0, harm[place], &["Linux: …"])
            })
            .collect();
        of_size.sort_by(|a, b| median_of(a).total_cmp(&median_of(b)));
        of_size
    };
    [at(0, 30_000), at(1, 300_000)].concat()
}

fn of_two_sizes(results: &[SchemeResult]) -> (Vec<Option<String>>, ForAllSizes) {
    let samples = single(results);
    let question = asked_of(&ask(Some("present"), None, Limits::default()), &samples);
    let sizes = [30_000, 300_000];
    let all = for_all_sizes(results, &sizes, &question).expect("two sizes and a present scheme");
    let each = recommended(results, &sizes, &question, Some(&all)).into_iter().map(|it| it.scheme).collect();
    (each, all)
}

#[test]
fn the_candidate_for_all_sizes_is_the_fastest_over_all_whose_cost_is_acceptable_at_each() {
    let results = at_two_sizes(&[
        ("burst", [0.50, 0.40], [1.05, 1.30]),
        ("small", [0.40, 0.00], [1.05, 1.00]),
        ("both", [0.20, 0.30], [1.05, 1.05]),
        ("less", [0.10, 0.28], [1.00, 1.00]),
        ("present", [0.00, 0.00], [1.00, 1.00]),
    ]);
    let (each, all) = of_two_sizes(&results);
    assert_eq!(each, [Some("burst".into()), Some("both".into())], "at each size alone");
    assert_eq!(all.scheme.as_deref(), Some("both"));
    // 1 - sqrt(0.8 * 0.7); the others that gain take sqrt(0.6 * 1) = 0.775 and sqrt(0.9 * 0.72) = 0.805 against 0.748.
    assert!((all.gain.expect("a gain")[1] - 0.251_7).abs() < 1e-4, "{:?}", all.gain);
    assert!(all.as_fast.is_empty(), "{:?}", all.as_fast);
    assert_eq!(
        all.why,
        "over all sizes together, the geometric mean of its times is 25 % below that of present (25 % to 25 %); burst ends sooner, \
         but at 300 KB it does too much harm: a bulk flow beside it takes 1.30 times as long (95 % interval 1.30 to 1.30; limit 1.10)"
    );
    // One whose harm is open at one size is named, and with its harm within the limit it is recommended.
    let mut open = results.clone();
    let burst =
        open.iter_mut().find(|it| it.scheme == "burst" && it.size_bytes == 300_000).expect("a result");
    burst.harm = Some(Harm { bulk_ci95: [1.05, 1.15], ..exactly(1.09) });
    let (_, all) = of_two_sizes(&open);
    assert_eq!((all.scheme.as_deref(), &all.undecided[..]), (Some("both"), &["burst".to_owned()][..]));
    assert!(
        all.why.contains("burst ends sooner, but at 300 KB its harm may exceed the limit"),
        "{}",
        all.why
    );
}

#[test]
fn a_candidate_that_loses_time_at_one_size_is_not_for_all_sizes() {
    let results = at_two_sizes(&[
        ("early", [0.50, -0.03], [1.0, 1.0]),
        ("even", [0.10, -0.01], [1.0, 1.0]),
        ("present", [0.00, 0.00], [1.0, 1.0]),
    ]);
    let (each, all) = of_two_sizes(&results);
    assert_eq!(each, [Some("early".into()), None]);
    // A hundredth is no difference worth having: sqrt(0.9 * 1.01) = 0.953.
    assert_eq!(all.scheme.as_deref(), Some("even"));
    assert!(
        all.why.ends_with("; early ends sooner, but at 300 KB it takes 3 % longer than present"),
        "{}",
        all.why
    );
    let alone: Vec<SchemeResult> = results.iter().filter(|it| it.scheme != "even").cloned().collect();
    let (_, all) = of_two_sizes(&alone);
    assert_eq!((all.scheme, all.gain), (None, None));
    assert_eq!(
        all.why,
        "over all sizes together, no gain over present is worth having; early ends sooner, but at 300 KB it takes 3 % longer than \
         present"
    );
}

#[test]
fn the_candidate_for_all_sizes_is_recommended_where_another_is_only_the_smaller_change() {
    // Both are as fast at 30 KB, where the tie goes to the first label by rank; over both sizes one is faster.
    let mut results = at_two_sizes(&[
        ("iw30", [0.40, 0.20], [1.0, 1.0]),
        ("iw60", [0.40, 0.30], [1.0, 1.0]),
        ("present", [0.00, 0.00], [1.0, 1.0]),
    ]);
    for result in &mut results {
        result.initial_window_packets = result.scheme.strip_prefix("iw").and_then(|it| it.parse().ok());
    }
    let (each, all) = of_two_sizes(&results);
    assert_eq!(all.scheme.as_deref(), Some("iw60"));
    assert_eq!(each, [Some("iw60".into()), Some("iw60".into())]);
    let samples = single(&results);
    let question = asked_of(&ask(Some("present"), None, Limits::default()), &samples);
    let chosen = recommended(&results, &[30_000, 300_000], &question, Some(&all));
    assert_eq!(chosen[0].chosen_by, ["all-sizes"], "it is the larger change, and does no less harm");
    let small: Vec<SchemeResult> = results.into_iter().filter(|it| it.size_bytes == 30_000).collect();
    let alone = one(&small, &ask(Some("present"), None, Limits::default()));
    assert_eq!(alone.scheme.as_deref(), Some("iw30"), "the smaller window, if only this size is asked for");
    assert_eq!((&alone.as_fast[..], &alone.chosen_by[..]), (&["iw60".into()][..], &["change".into()][..]));
}

#[test]
fn a_single_size_has_no_candidate_for_all() {
    let results = at_two_sizes(&[("fast", [0.3, 0.3], [1.0, 1.0]), ("present", [0.0, 0.0], [1.0, 1.0])]);
    let samples = single(&results);
    let question = asked_of(&ask(Some("present"), None, Limits::default()), &samples);
    assert_eq!(for_all_sizes(&results, &[30_000], &question), None);
    assert_eq!(
        for_all_sizes(&results, &[30_000, 300_000], &asked_of(&ask(None, None, Limits::default()), &samples)),
        None
    );
}

#[test]
fn a_difference_whose_interval_reaches_zero_is_no_gain() {
    let chosen = |high: f64| {
        let results = [result("new", 0.9, Some([-0.2, -0.1, high])), result("base", 1.0, None)];
        one(&results, &ask(None, Some("base"), Limits::default())).scheme
    };
    assert_eq!(chosen(0.0), None);
    assert_eq!(chosen(-0.001).as_deref(), Some("new"));
}

#[test]
fn the_fastest_without_a_reference_has_the_criteria_that_chose_it() {
    let with = |scheme: &str, bulk: f64, ties_with_best: bool| SchemeResult {
        harm: Some(exactly(bulk)),
        ties_with_best,
        ..result(scheme, 1.0, None)
    };
    let results = [with("loud", 1.04, true), with("gentle", 1.0, true), with("slow", 1.04, false)];
    let chosen = one(&results, &ask(None, None, Limits::default()));
    assert_eq!(chosen.scheme.as_deref(), Some("gentle"));
    assert_eq!(chosen.chosen_by, ["harm"]);
}

#[test]
fn an_equal_candidate_lends_its_harm_of_more_replications() {
    let rows = [
        SchemeResult { same_as: Some("own".into()), ..result("alias", 1.0, None) },
        result("own", 1.0, None),
    ];
    let costs = [(1.1, 16), (1.2, 64)].map(|(bulk, replications)| Costs {
        harm: Some(Harm { replications, ..exactly(bulk) }),
        risks: vec![],
        how: vec![],
    });
    let harms = Costs::beside(&rows, costs.into()).into_iter().map(|row| row.harm.map(|harm| harm.bulk));
    assert_eq!(harms.collect::<Vec<_>>(), [Some(1.2), Some(1.2)]);
}

/// Ten replications of `base`, of `even`, which is sooner by a tenth in each, and of `rash`, which is sooner by a fifth in nine and waits for a
/// timeout in one.
fn with_a_timeout() -> (Vec<SchemeResult>, Vec<SampleSet>) {
    let mut results = vec![
        result("rash", 0.8, Some([-0.21, -0.2, -0.19])),
        result("even", 0.9, Some([-0.11, -0.1, -0.09])),
        result("base", 1.0, None),
    ];
    for result in &mut results {
        result.how = vec!["way".into()];
    }
    let mut rash = [0.8; 10];
    rash[9] = 3.0;
    let samples = vec![
        replications(&results[0], &rash, &[0; 10]),
        replications(&results[1], &[0.9; 10], &[0; 10]),
        replications(&results[2], &[1.0; 10], &[0; 10]),
    ];
    (results, samples)
}

#[test]
fn the_statistic_decides_between_a_usual_gain_and_a_rare_timeout() {
    let (results, samples) = with_a_timeout();
    let chosen = |by: Statistic| {
        let question = ask(None, Some("base"), Limits::default());
        let replications = Replications { by, ..behind(&samples) };
        only(&results, &Question { replications, ..question })
    };
    // ln: 0.9 ln 0.8 + 0.1 ln 3 = -0.091, and ln 0.9 = -0.105. The mean is (9 * 0.8 + 3) / 10 = 1.02.
    for by in [Statistic::GeometricMean, Statistic::Mean, Statistic::Percentile(95)] {
        let one = chosen(by);
        assert_eq!((one.scheme.as_deref(), one.sooner), (Some("even"), Some(1.0)), "{by}: {}", one.why);
    }
    let one = chosen(Statistic::Percentile(50));
    assert_eq!((one.scheme.as_deref(), one.sooner), (Some("rash"), Some(0.9)), "{}", one.why);
    assert!(
        one.why.starts_with("the 50th percentile of its times is 20 % below that of base"),
        "{}",
        one.why
    );
}

#[test]
fn a_lower_median_is_no_gain_where_the_paths_together_lose() {
    let (mut results, mut samples) = with_a_timeout();
    results.remove(1);
    samples.remove(1);
    // 0.7 ln 0.8 + 0.3 ln 3 = 0.17: the median is sooner by a fifth, and the geometric mean later by a sixth.
    for sample in &mut samples[0].samples[7..] {
        sample.completion_s = Some(3.0);
    }
    let question = ask(None, Some("base"), Limits::default());
    let one = one_of(&results, &samples, &question);
    assert_eq!(one.scheme, None);
    assert_eq!(
        one.why,
        "no gain over base is worth having; rash has a lower median, but takes 19 % longer in the geometric mean"
    );
}

#[test]
fn the_probability_of_an_earlier_end_is_that_among_times_that_differ() {
    let results = [result("own", 0.9, None), result("other", 1.0, None)];
    let mut samples = vec![
        replications(&results[0], &[0.9, 1.0, 1.1, 0.9], &[0; 4]),
        replications(&results[1], &[1.0; 4], &[0; 4]),
    ];
    let sooner = |samples: &[SampleSet]| behind(samples).sooner("own", "other", &[30_000]);
    assert_eq!(sooner(&samples), Some(2.0 / 3.0));
    // A transfer that does not end is later.
    samples[0].samples[0].completion_s = None;
    assert_eq!(sooner(&samples), Some(1.0 / 3.0));
    samples[1].samples[2].completion_s = None;
    assert_eq!(sooner(&samples), Some(2.0 / 3.0));
    let same = [samples[1].clone(), SampleSet { scheme: "own".into(), ..samples[1].clone() }];
    assert_eq!(sooner(&same), None);
    assert_eq!(behind(&samples).sooner("own", "third", &[30_000]), None);
}
