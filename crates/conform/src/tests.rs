//! Vectors that this repository has, and faults of vectors.

use std::path::Path;

use crate::verdict::own;
use crate::{Kept, Outcome, Vector, Verdict, cases, is_of, own_cases, vectors};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/testdata"))
}

fn read(name: &str) -> String {
    use std::io::Read as _;
    let file = std::fs::File::open(folder().join(name)).expect("a vector");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("it is text");
    text
}

#[test]
fn windows_are_those_of_the_authors_code() {
    let all = vectors(folder()).expect("the folder");
    let verdicts: Vec<Verdict> =
        all.iter().map(|vector| Verdict::of(vector.as_ref().expect("a vector"))).collect();
    let of = |scheme: &str, path: &str| {
        verdicts
            .iter()
            .find(|verdict| (&*verdict.scheme, &*verdict.path) == (scheme, path))
            .expect("a verdict")
    };
    // Events of the start-up, the event that ends it, and the events after it that the vector has in full.
    for (scheme, path, start, exit, later) in [
        ("neqo-classic", "S9", 43, Some(44), 112),
        ("neqo-hystart-unpaced", "S2", 792, Some(793), 521),
        ("quinn-cubic", "S9", 43, Some(44), 137),
        ("quinn-newreno", "S9", 43, Some(44), 109),
        ("s2n-cubic", "S9", 43, Some(44), 125),
        ("s2n-cubic", "S2", 139, Some(140), 521),
        ("tquic-cubic", "S9", 49, Some(50), 139),
    ] {
        let verdict = of(scheme, path);
        assert!(matches!(verdict.outcome, Outcome::Equal | Outcome::WithinASegment), "{verdict:?}");
        assert_eq!((verdict.start_events, verdict.start_equal), (start, start), "{verdict:?}");
        assert_eq!((verdict.exit_theirs, verdict.exit_ours), (exit, exit), "{verdict:?}");
        assert_eq!((verdict.later_events, verdict.later_within), (later, later), "{verdict:?}");
    }
}

#[test]
fn models_have_the_states_and_windows_of_picoquic() {
    for (name, outcome, acks, states) in [
        (
            "pico-bbr3.S1.csv.gz",
            Outcome::Equal,
            133,
            "startup drain probe_bw_cruise probe_bw_refill probe_bw_up probe_bw_down probe_bw_cruise",
        ),
        (
            "pico-bbr3.S3.csv.gz",
            Outcome::Equal,
            126,
            "startup drain probe_bw_cruise probe_bw_refill probe_bw_up probe_bw_down probe_bw_refill probe_bw_up probe_bw_down",
        ),
        (
            "pico-c4.S2.csv.gz",
            Outcome::Equal,
            161,
            "initial recovery cruising probing recovery pushing recovery",
        ),
        (
            "pico-c4.S7.csv.gz",
            Outcome::AsTheModel,
            107,
            "initial recovery cruising recovery cruising probing recovery cruising",
        ),
        // Packets shrink to 1252 bytes after ten losses, and the window with them.
        ("pico-cubic.S1.csv.gz", Outcome::AsTheModel, 131, "slow_start congestion_avoidance"),
        // The RTT ends slow start: the first samples are of the handshake.
        ("pico-cubic.S2.csv.gz", Outcome::AsTheModel, 147, "slow_start congestion_avoidance"),
    ] {
        let verdict = Verdict::of(&Vector::parse(&read(name), name).expect("a vector"));
        assert_eq!(verdict.outcome, outcome, "{verdict:?}");
        let model = verdict.model.expect("counts");
        assert_eq!(
            (model.acks, model.windows_within, model.rates_within, model.rates),
            (acks, acks, acks, acks)
        );
        assert_eq!((model.other_states, model.states_theirs.join(" ")), (0, states.to_owned()));
        assert!(model.same_states());
    }
}

#[test]
fn the_seed_of_a_model_is_the_clock_of_its_connection_or_fits_the_first_probe() {
    let text = read("pico-bbr3.S3.csv.gz");
    let taken = |text: &str| {
        let verdict = Verdict::of(&Vector::parse(text, "pico-bbr3.S3.csv").expect("a vector"));
        (verdict.outcome, verdict.model.expect("counts").taken)
    };
    // 10 ms, and 1252 bytes at 50 Mbit/s: 200 us.
    let known = "seed 10200: half of base_rtt_ms, and 1252 bytes at bottleneck_mbit";
    assert_eq!(taken(&text), (Outcome::Equal, vec![known.to_owned()]));
    let (_, fitted) = taken(&text.replace("base_rtt_ms=20", "base_rtt_ms=30"));
    assert!(
        fitted[0].ends_with("the nearest to 15200 with which the first probe begins at its ACK"),
        "{fitted:?}"
    );
}

#[test]
fn another_state_or_window_of_a_model_is_found() {
    let text = read("pico-c4.S2.csv.gz");
    let verdict = |text: &str| Verdict::of(&Vector::parse(text, "pico-c4.S2.csv").expect("a vector"));
    let other = verdict(&text.replace(",probing,", ",pushing,"));
    assert_eq!(other.outcome, Outcome::Differs);
    let first = other.first_difference.expect("a difference");
    assert_eq!((first.state.as_str(), first.state_ours.as_deref()), ("pushing", Some("probing")));
    // bbr3 has other rules than c4.
    let bbr = Verdict::of(&Vector::parse(&text, "pico-bbr3.S2.csv").expect("a vector"));
    assert_eq!(bbr.outcome, Outcome::Differs);
    let empty = verdict(&text.replacen(",105353,", ",,", 1));
    assert_eq!(empty.outcome, Outcome::NotComparable);
    let why = empty.why.expect("a reason");
    assert!(why.starts_with("event 2: rtt_us, delivered_total or delivered_since_sent is empty"), "{why}");
}

#[test]
fn a_scheme_without_its_like_names_the_rule_that_differs() {
    let text = read("s2n-cubic.S9.csv.gz").replace("scheme=s2n-cubic", "scheme=s2n-bbr2");
    let verdict = Verdict::of(&Vector::parse(&text, "s2n-bbr2.S9.csv").expect("a vector"));
    assert_eq!(verdict.outcome, Outcome::NotComparable);
    assert_eq!(verdict.why.as_deref(), Some("s2n-quic's BBR is version 2 of its drafts; no scheme here is"));
}

#[test]
fn a_changed_answer_is_found_with_its_event_and_both_windows() {
    let text = read("neqo-hystart-unpaced.S2.csv.gz");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // The fourth event: four comments, the columns, three rows before it. The window grows by a datagram of 1200 bytes.
    let row = &mut lines[8];
    assert!(row.contains(",16800,"), "{row}");
    *row = row.replace(",16800,", ",16801,");
    let vector = Vector::parse(&lines.join("\n"), "changed.S2.csv").expect("a vector");
    let verdict = Verdict::of(&vector);
    assert_eq!(verdict.outcome, Outcome::Differs);
    let first = verdict.first_difference.expect("a difference");
    assert_eq!((first.event, first.line, first.theirs, first.ours), (4, 9, 16_801, 16_800));
}

#[test]
fn the_rules_of_another_stack_are_seen() {
    // s2n-quic leaves slow start by its eighth sample of a round; HyStart++ becomes careful there.
    let text = read("s2n-cubic.S2.csv.gz").replace("scheme=s2n-cubic", "scheme=neqo-hystart-unpaced");
    let verdict = Verdict::of(&Vector::parse(&text, "taken.S2.csv").expect("a vector"));
    assert_eq!(verdict.outcome, Outcome::Differs, "{verdict:?}");
}

#[test]
fn a_vector_of_an_unknown_scheme_is_not_comparable_and_says_why() {
    let text = read("quinn-cubic.S9.csv.gz").replace("scheme=quinn-cubic", "scheme=quinn-other");
    let verdict = Verdict::of(&Vector::parse(&text, "other.S9.csv").expect("a vector"));
    assert_eq!(verdict.outcome, Outcome::NotComparable);
    assert_eq!(verdict.why.as_deref(), Some("no scheme here is quinn-other"));
}

#[test]
fn a_vector_without_a_whole_event_is_not_called_equal() {
    let text = read("quinn-cubic.S9.csv.gz");
    let rows: Vec<&str> = text.lines().collect();
    // The last column of the last row: it sums up several calls.
    let summed =
        rows.iter().rfind(|row| row.rsplit(',').next().is_some_and(|count| count.len() > 1)).expect("a row");
    let vector =
        Vector::parse(&[&rows[..5], &[summed]].concat().join("\n"), "thin.S9.csv").expect("a vector");
    let verdict = Verdict::of(&vector);
    assert_eq!((verdict.outcome, verdict.start_events), (Outcome::NotComparable, 0), "{verdict:?}");
    assert_eq!(verdict.why.as_deref(), Some("the vector has no whole event"));
}

#[test]
fn vectors_are_chosen_by_the_project_s_word_and_by_the_label_here() {
    for (scheme, name, chosen) in [
        ("neqo-hystart-unpaced", "neqo", true),
        ("neqo-hystart-unpaced", "neqo-hystart", true),
        ("neqo-hystart-unpaced", "neqo-hy", false),
        ("neqo-hystart-unpaced", "hystart++", true),
        ("neqo-hystart-unpaced", "cubic", true),
        ("quinn-newreno", "cubic", false),
    ] {
        assert_eq!(is_of(scheme, name), chosen, "{scheme} {name}");
    }
}

#[test]
fn faults_are_named_with_file_line_and_expectation() {
    let text = read("quinn-newreno.S9.csv.gz");
    let flaw = |text: &str| Vector::parse(text, "v.csv").expect_err("a flaw").to_string();
    assert_eq!(
        flaw("t_us,cwnd\n1,2\n"),
        "v.csv:1: the comment `# project=` is missing; expected a recorded vector"
    );
    assert_eq!(flaw("# project=x\nt_us,cwnd\n"), "v.csv: the comments have no `scheme=`");
    let renamed = flaw(&text.replace(",srtt_us,", ",srtt,"));
    assert!(
        renamed.starts_with("v.csv: the column srtt_us is missing; expected t_us, cwnd, acked"),
        "{renamed}"
    );
    let rows: Vec<&str> = text.lines().collect();
    let swapped: Vec<&str> = rows[..5].iter().chain([&rows[7], &rows[6]]).copied().collect();
    let back = flaw(&swapped.join("\n"));
    assert!(
        back.starts_with("v.csv:7: the time ") && back.contains("is before that of the row above"),
        "{back}"
    );
    let cells: Vec<&str> = rows[5].split(',').collect();
    let word = rows[5].replacen(cells[0], "soon", 1);
    let none = flaw(&[&rows[..5], &[&word]].concat().join("\n"));
    assert_eq!(none, "v.csv:6: t_us = \"soon\"; expected a whole number of 0 or more");
    assert_eq!(flaw(&rows[..5].join("\n")), "v.csv: no row; expected a row for each call");
}

#[test]
fn the_cases_of_hystart_plus_plus_hold_for_the_scheme_here() {
    let verdicts = own_cases("hystart++");
    assert_eq!(verdicts.len(), 15);
    let not: Vec<_> = verdicts.iter().filter(|verdict| verdict.kept != Kept::Kept).collect();
    assert!(not.is_empty(), "{not:#?}");
}

#[test]
fn the_cases_of_bbr_hold_for_the_scheme_here() {
    let verdicts = own_cases("bbr3");
    assert_eq!(verdicts.len(), 23);
    let not: Vec<_> = verdicts.iter().filter(|verdict| verdict.kept != Kept::Kept).collect();
    assert!(not.is_empty(), "not kept: {not:#?}");
    let outside = cases("bbr3", &mut || own("slow-start"));
    assert!(outside.iter().all(|verdict| verdict.kept == Kept::NotObservable), "{outside:#?}");
}

#[test]
fn the_cases_of_careful_resume_hold() {
    let verdicts = own_cases("careful-resume");
    assert_eq!(verdicts.len(), 20);
    assert!(verdicts.iter().all(|verdict| verdict.kept == Kept::Kept), "{verdicts:#?}");
}

#[test]
fn the_cases_of_search_hold_for_the_scheme_here_and_not_for_hystart_plus_plus() {
    let verdicts = own_cases("search");
    assert_eq!(verdicts.len(), 3);
    assert!(verdicts.iter().all(|verdict| verdict.kept == Kept::Kept), "{verdicts:#?}");
    // HyStart++ leaves slow start when the second round trip is twice the first.
    let early = cases("search", &mut || own("hystart++"));
    let not: Vec<_> =
        early.iter().filter(|verdict| verdict.kept != Kept::Kept).map(|verdict| verdict.case).collect();
    assert_eq!(not, ["SEARCH-05"]);
}

#[test]
fn plain_slow_start_violates_the_cases_that_ask_for_caution() {
    let verdicts = cases("hystart++", &mut || own("slow-start"));
    let violated: Vec<_> = verdicts
        .iter()
        .filter(|verdict| verdict.kept == Kept::Violated)
        .map(|verdict| verdict.case)
        .collect();
    assert_eq!(violated, ["HSPP-04b", "HSPP-05b", "HSPP-06b", "HSPP-07", "HSPP-08", "HSPP-10"]);
}
