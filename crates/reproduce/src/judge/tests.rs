use std::collections::BTreeMap;

use firstflight_sweep::{Array, Axis};

use super::*;
use crate::evidence::Measured;
use crate::words::Words;

/// Two schemes, four replications each.
fn measured(reno: [f64; 4], js: [f64; 4]) -> Measurements {
    let array = Array {
        axes: vec![Axis::of("scheme", ["Reno", "JS"]).dimension()],
        samples: 4,
        values: [reno, js].concat(),
    };
    let metrics = BTreeMap::from([("m".to_owned(), array)]);
    let one = Measured { metrics, ..Measured::default() };
    Measurements { experiments: BTreeMap::from([("e".to_owned(), one)]) }
}

/// Words with round tolerances.
fn words() -> Words {
    toml::from_str(
        "[word.percent]\nmeans = \"x\"\nwithin = 0.02\n[word.near]\nmeans = \"x\"\nwithin = 0.015\n\
         [word.points]\nmeans = \"x\"\nby = 9\n[word.slightly]\nmeans = \"x\"\nmost = 1.1\n[word.much]\nmeans = \"x\"\nleast = 1.25\n",
    )
    .expect("words")
}

fn claim(text: &str) -> Claim {
    let mut claim: Claim = toml::from_str(&format!("id = \"X\"\n{text}")).expect("a claim");
    claim.learn(&words()).unwrap_or_else(|why| panic!("{why}"));
    claim
}

fn checked(ours: &Measurements, statement: &str) -> Checked {
    let claim = claim(&format!("[[statement]]\n{statement}"));
    let bench = Bench::alone(ours);
    check(&claim.statements[0], "X.1".into(), true, &bench)
}

fn outcome(ours: &Measurements, statement: &str) -> Outcome {
    let checked = checked(ours, statement);
    assert_eq!(checked.problem, None);
    checked.outcome
}

fn holds(ours: &Measurements, statement: &str) -> bool {
    outcome(ours, statement) == Outcome::Holds
}

#[test]
fn an_order_holds_if_the_interval_of_the_paired_difference_is_clear_of_zero() {
    // Differences 1, 3, 2, 2: mean 2, deviation 0.816; t(3) = 3.182, so 2 +- 1.30. The spread of either side, ten, does
    // not matter.
    let paired = measured([10., 20., 30., 20.], [11., 23., 32., 22.]);
    assert_eq!(outcome(&paired, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Holds);
    assert_eq!(outcome(&paired, "that = \"e.m[JS] < e.m[Reno]\""), Outcome::Fails);
    // Differences 1, -1, 3, 1: mean 1, deviation 1.63: 1 +- 2.6.
    let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
    assert_eq!(outcome(&loose, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Undecided);
    assert_eq!(outcome(&loose, "that = \"e.m[JS] < e.m[Reno]\""), Outcome::Undecided);
}

#[test]
fn an_interval_within_a_tenth_of_the_effect_from_zero_is_undecided() {
    // Differences 1, 3, 2, 2 less 0.6: 1.4 +- 1.30 begins at 0.10, which is less than 0.14; less 0.5: 1.5 +- 1.30 begins at
    // 0.20, which is more than 0.15.
    let near = measured([10.6, 20.6, 30.6, 20.6], [11., 23., 32., 22.]);
    assert_eq!(outcome(&near, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Undecided);
    let clear = measured([10.5, 20.5, 30.5, 20.5], [11., 23., 32., 22.]);
    assert_eq!(outcome(&clear, "that = \"e.m[JS] > e.m[Reno]\""), Outcome::Holds);
}

#[test]
fn an_undecided_statement_states_the_seeds_that_would_decide_it() {
    // Differences 1, -1, 3, 1: mean 1, deviation 1.633. By tables of t, 2.131 x 1.633 / sqrt(16) = 0.870 is less than 0.9, and
    // 2.145 x 1.633 / sqrt(15) = 0.904 is more.
    let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
    assert_eq!(checked(&loose, "that = \"e.m[JS] > e.m[Reno]\"").needs, Some(16));
    // Mean 0.1: more than a thousand.
    let nothing = measured([10.9, 20.9, 30.9, 20.9], [11., 19., 33., 21.]);
    assert_eq!(checked(&nothing, "that = \"e.m[JS] > e.m[Reno]\"").needs, Some(MOST_SEEDS + 1));
    let paired = measured([10., 20., 30., 20.], [11., 23., 32., 22.]);
    assert_eq!(checked(&paired, "that = \"e.m[JS] > e.m[Reno]\"").needs, None);
}

#[test]
fn a_contradicted_pair_contradicts_the_chain() {
    let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
    assert_eq!(outcome(&loose, "that = \"e.m[JS] < e.m[Reno] < 0\""), Outcome::Fails);
}

#[test]
fn near_holds_if_the_interval_of_the_ratio_is_within_the_tolerance() {
    // Ratios 1.01, 0.99, 1.01, 0.99: mean 1, deviation 0.0115: 1 +- 0.0184. From the ends of 2 % it stays away by 0.0016,
    // which is less than a tenth of 0.02; of 9 units of 100, far.
    let near = measured([100.; 4], [101., 99., 101., 99.]);
    assert_eq!(outcome(&near, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"percent\""), Outcome::Undecided);
    assert_eq!(outcome(&near, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"points\""), Outcome::Holds);
    let closer = measured([100.; 4], [100.5, 99.5, 100.5, 99.5]);
    assert_eq!(outcome(&closer, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"percent\""), Outcome::Holds);
    let far = measured([100.; 4], [111., 109., 111., 109.]);
    assert_eq!(outcome(&far, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"points\""), Outcome::Undecided);
    assert_eq!(outcome(&far, "that = \"e.m[JS] ~ e.m[Reno]\"\nword = \"percent\""), Outcome::Fails);
}

#[test]
fn a_number_is_undecided_where_its_interval_crosses_the_tolerance() {
    // 100 +- 1.84 of 100 +- 9, of 92 +- 9 and of 80 +- 9.
    let ours = measured([100.; 4], [101., 99., 101., 99.]);
    for (expected, wanted) in [(100, Outcome::Holds), (92, Outcome::Undecided), (80, Outcome::Fails)] {
        let text = format!("that = \"e.m[JS]\"\nis = {expected}\nword = \"points\"");
        assert_eq!(outcome(&ours, &text), wanted, "{expected}");
    }
}

#[test]
fn words_bound_the_size_of_an_order() {
    let by = |factor: f64| measured([100.; 4], [factor * 100.; 4]);
    for (factor, slightly, much) in
        [(0.9, false, false), (1.05, true, false), (1.2, false, false), (1.3, false, true)]
    {
        let ours = by(factor);
        let word = |word: &str| holds(&ours, &format!("that = \"e.m[JS] > e.m[Reno]\"\nword = \"{word}\""));
        assert_eq!((word("slightly"), word("much")), (slightly, much), "{factor}");
    }
    // With a tolerance an order may be missed by as much.
    assert!(holds(&by(0.99), "that = \"e.m[JS] > e.m[Reno]\"\nword = \"percent\""));
    assert!(!holds(&by(0.97), "that = \"e.m[JS] > e.m[Reno]\"\nword = \"percent\""));
}

#[test]
fn single_runs_and_the_interval_of_one_further_run_are_given() {
    // Differences 1, -1, 3, 1: three of four above zero; 1 +- 3.182 x 1.633 x sqrt(1 + 1/4).
    let loose = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
    let checked = checked(&loose, "that = \"e.m[JS] > e.m[Reno]\"");
    assert_eq!(checked.single, Some(Share { show: 3, of: 4 }));
    let [low, high] = checked.points[0].one_run.expect("four runs");
    assert!((low + 4.81).abs() < 0.01 && (high - 6.81).abs() < 0.01, "{low} {high}");
    let ratio = checked.points[0].ratio.expect("positive values");
    assert!((ratio.here - 84. / 80.).abs() < 1e-6);
}

#[test]
fn points_that_are_excepted_do_not_count() {
    let apart = measured([1., 1., 1., 1.], [3., 3., 3., 3.]);
    assert!(!holds(&apart, "that = \"e.m > 2\""));
    assert!(holds(&apart, "that = \"e.m > 2\"\nexcept = [\"Reno\"]"));
}

/// The verdict on a claim about JS at 2 and Reno at 1, four equal runs each.
fn judged(text: &str) -> (Verdict, usize, usize, Option<Shown>) {
    let ours = measured([1.; 4], [2.; 4]);
    let claim = claim(text);
    let bench = Bench::alone(&ours);
    let mut judged = Judged { id: "X".into(), ..Judged::default() };
    decide(&mut judged, &claim, &bench);
    (judged.verdict, judged.held, judged.of, judged.cause.map(|cause| cause.shown))
}

const TRUE: &str = "[[statement]]\nthat = \"e.m[JS] > e.m[Reno]\"\n";
const FALSE: &str = "[[statement]]\nthat = \"e.m[JS] < e.m[Reno]\"\n";

#[test]
fn a_verdict_counts_the_statements_that_hold() {
    assert_eq!(judged(&[TRUE, TRUE].concat()), (Verdict::Matches, 2, 2, None));
    assert_eq!(judged(&[TRUE, FALSE].concat()), (Verdict::Partly, 1, 2, None));
    assert_eq!(judged(&[FALSE, FALSE].concat()), (Verdict::Differs, 0, 2, None));
    let apart = format!("{TRUE}{FALSE}not_judged = \"no such choice\"\n");
    assert_eq!(judged(&apart), (Verdict::Matches, 1, 1, None));
}

#[test]
fn a_reading_that_the_paper_does_not_print_is_not_judged() {
    let two = format!("{FALSE}reading = \"a\"\n{TRUE}reading = \"b\"\n");
    assert_eq!(judged(&two).0, Verdict::Matches);
    assert_eq!(judged(&format!("as_printed = [\"a\"]\n{two}")).0, Verdict::Differs);
}

#[test]
fn a_claim_is_refuted_only_if_it_fails_and_its_own_set_up_rules_it_out() {
    let refuted = |statement: &str, argument: &str| {
        judged(&format!("refuted = \"x\"\n{statement}[[refutation]]\nthat = \"{argument}\"\n")).0
    };
    assert_eq!(refuted(FALSE, "1 < 2"), Verdict::Refuted);
    assert_eq!(refuted(FALSE, "2 < 1"), Verdict::Differs);
    assert_eq!(refuted(TRUE, "1 < 2"), Verdict::Matches);
}

#[test]
fn a_cause_is_shown_only_if_it_turns_every_statement_that_fails() {
    let cause = |rest: &str| judged(&format!("cause = \"x\"\n{FALSE}{FALSE}{rest}")).3;
    let turn = |number: usize, that: &str| format!("[[turns]]\nstatement = {number}\nthat = \"{that}\"\n");
    let (yes, no) = ("e.m[Reno] < e.m[JS]", "e.m[JS] < e.m[Reno]");
    assert_eq!(cause(""), Some(Shown::Conjecture));
    assert_eq!(cause(&(turn(1, yes) + &turn(2, yes))), Some(Shown::Shown));
    // A value that was chosen so that one of them holds is not the same evidence.
    let fitted = turn(2, yes) + "fitted = \"gamma 3\"\n";
    assert_eq!(cause(&(turn(1, yes) + &fitted)), Some(Shown::Fitted));
    assert_eq!(cause(&turn(1, yes)), Some(Shown::Consistent));
    assert_eq!(cause(&(turn(1, yes) + &turn(2, no))), Some(Shown::Consistent));
    assert_eq!(cause(&turn(1, no)), Some(Shown::Conjecture));
    assert_eq!(cause("[[because]]\nthat = \"1 < 2\"\n"), Some(Shown::Consistent));
    assert_eq!(cause("[[because]]\nthat = \"2 < 1\"\n"), Some(Shown::Conjecture));
    // Evidence against the cause outweighs the turn.
    let against = turn(1, yes) + &turn(2, yes) + "[[because]]\nthat = \"2 < 1\"\n";
    assert_eq!(cause(&against), Some(Shown::Conjecture));
}

#[test]
fn an_undecided_line_counts_the_seeds_of_its_undecided_statements() {
    // Differences 1, -1, 3, 1 in `e`, four seeds; `f` has the cause, two.
    let mut ours = measured([10., 20., 30., 20.], [11., 19., 33., 21.]);
    let mut other = ours.experiments["e"].clone();
    ours.experiments.get_mut("e").expect("there").replications = 4;
    other.replications = 2;
    ours.experiments.insert("f".into(), other);
    let open = "[[statement]]\nthat = \"e.m[JS] > e.m[Reno]\"\n[[because]]\nthat = \"f.m[JS] > f.m[Reno]\"\n";
    let why = |ours: &Measurements, text: &str| {
        let mut judged = Judged::default();
        decide(&mut judged, &claim(text), &Bench::alone(ours));
        (judged.verdict, judged.why)
    };
    let (verdict, text) = why(&ours, open);
    assert!(verdict == Verdict::Undecided && text.starts_with("After 4 seeds"), "{text}");
    let both = open.replace("[[because]]", "[[statement]]");
    assert!(why(&ours, &both).1.starts_with("After 2 to 4 seeds"));
    ours.experiments.get_mut("e").expect("there").replications = MOST_SEEDS;
    assert!(why(&ours, open).1.starts_with("All 60 seeds are spent"));
}

#[test]
fn a_cause_is_judged_by_the_rule_of_the_line() {
    let learn = |text: &str| {
        let mut claim: Claim =
            toml::from_str(&format!("id = \"X\"\ncause = \"x\"\n{text}")).expect("a claim");
        claim.learn(&words())
    };
    let line = "[[statement]]\nthat = \"e.m[JS]\"\nis = 2\nword = \"near\"\n";
    let turn = |word: &str, is: u32, of: u32| {
        format!("{line}[[turns]]\nstatement = {of}\nthat = \"e.m[Reno]\"\nis = {is}\nword = \"{word}\"\n")
    };
    assert_eq!(learn(&turn("near", 2, 1)), Ok(()));
    let fitted = turn("near", 2, 1) + "fitted = \"x\"\n";
    assert_eq!(learn(&fitted), Ok(()));
    let misplaced = fitted.replace("[[turns]]\nstatement = 1\n", "[[because]]\n");
    for text in [turn("percent", 2, 1), turn("near", 3, 1), turn("near", 2, 2), misplaced] {
        assert!(learn(&text).is_err(), "{text}");
    }
    let unknown = learn(&line.replace("near", "nearly")).expect_err("no such word");
    assert!(unknown.contains("did you mean \"near\""), "{unknown}");
}

#[test]
fn a_statement_about_a_missing_value_does_not_hold() {
    let nothing = measured([1.; 4], [f64::NAN; 4]);
    for statement in
        ["that = \"e.m[JS] > 0\"", "that = \"e.m[JS] < 9\"", "that = \"e.m[JS]\"\nis = 1\nword = \"points\""]
    {
        assert_eq!(outcome(&nothing, statement), Outcome::Fails, "{statement}");
    }
}

#[test]
fn somewhere_needs_one_point_and_mostly_more_than_half() {
    let apart = measured([1., 1., 1., 1.], [3., 3., 3., 3.]);
    assert!(!holds(&apart, "that = \"e.m > 2\""));
    assert!(holds(&apart, "that = \"e.m > 2\"\nholds = \"somewhere\""));
    assert!(!holds(&apart, "that = \"e.m > 2\"\nholds = \"mostly\""));
}
