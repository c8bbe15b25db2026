//! A small paper whose numbers can be computed by hand, from its files to its verdicts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use firstflight_hosts::progress::{Progress, Silent};
use firstflight_hosts::simulator::Simulator;
use firstflight_reproduce::checked::{Outcome, Paired};
use firstflight_reproduce::evidence::{Evidence, Provenance};
use firstflight_reproduce::judge::{Judged, Verdict, judge};
use firstflight_reproduce::library::Library;
use firstflight_reproduce::readings::score;
use firstflight_reproduce::run::{Selection, Store, definitions, run, version};

/// From 5 s on, datagrams of 1000 bytes at half of the link's 10 Mbit/s. And a transfer of 31 packets from an initial window
/// of one packet: five rounds of 100 ms.
const SCENARIO: &str = r#"
duration = "10 s"
[path]
rate = "10 Mbit/s"
rtt = "100 ms"
buffer = "100 packets"
[packet]
size = "1000 B"
[[flow]]
name = "short"
profile = "ns2"
size = "31 packets"
[[udp]]
name = "cbr"
rate = "5 Mbit/s"
start = "5 s"
"#;

const EXPERIMENT: &str = r#"
title = "A link in two halves"
scenario = "two-halves.toml"
replications = 2
quick = true
[[axis]]
name = "rate"
key = "udp.cbr.rate"
values = ["2.5 Mbit/s", "5 Mbit/s"]
[metric.first]
title = "used in the first half"
link = "bottleneck"
take = "utilization"
between = ["3 s", "5 s"]
[metric.second]
title = "used in the second half"
link = "bottleneck"
take = "utilization"
between = ["5 s", "10 s"]
[metric.completion]
title = "completion, s"
flows = "short"
take = "completion_s"
over = "mean"
[metric.bdp]
title = "BDP, packets"
take = "bdp_packets"
[metric.window]
title = "initial window"
take = "initial_window_packets"
[metric.cwnd]
title = "window"
flow = "short.0"
take = "cwnd_packets"
every = "1 s"
"#;

/// The experiment with another axis and other metrics: `rest`, from `[[axis]]` on.
fn experiment(rest: &str) -> String {
    let (head, _) = EXPERIMENT.split_once("[[axis]]").expect("it has an axis");
    format!("{head}{rest}")
}

const CLAIMS: &str = r#"
[[claim]]
id = "XX-01"
[[claim.statement]]
that = "halves.second"
is = [0.25, 0.5]
word = "hundredth"
[[claim.statement]]
that = "halves.first"
is = [0, 0]
word = "exact"
[[claim.statement]]
that = "halves.completion[5 Mbit/s]"
is = 0.53
word = "fiftieth"
[[claim.statement]]
that = "halves.bdp[5 Mbit/s]"
is = 125
word = "exact"
[[claim.statement]]
that = "halves.cwnd[5 Mbit/s, time=9]"
is = 32
word = "one"
[[claim]]
id = "XX-02"
cause = "The first half is empty."
[[claim.statement]]
that = "halves.first > halves.second"
[[claim.because]]
that = "max(halves.first)"
is = 0
word = "exact"
[[claim]]
id = "XX-03"
not_checkable = "It was lost."
"#;

const WORDS: &str = "[word.exact]\nmeans = \"x\"\nby = 1e-9\n[word.hundredth]\nmeans = \"x\"\nwithin = 0.01\n\
    [word.fiftieth]\nmeans = \"x\"\nby = 0.02\n[word.one]\nmeans = \"x\"\nby = 1\n";

/// The target list and description of the small papers in the tests of this crate, the command line and the fuzz targets.
const TARGETS: &str = include_str!("../testdata/targets.psv");
const PAPER: &str = include_str!("../testdata/paper.toml");

/// A temporary folder with the files of a paper, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(changes: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("small-paper-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        let files = BTreeMap::from([
            ("targets.psv", TARGETS),
            ("words.toml", WORDS),
            ("x/paper.toml", PAPER),
            ("x/scenarios/two-halves.toml", SCENARIO),
            ("x/experiments/halves.toml", EXPERIMENT),
            ("x/claims.toml", CLAIMS),
        ]);
        for (name, text) in files.into_iter().chain(changes.iter().copied()) {
            let path = folder.0.join(name);
            std::fs::create_dir_all(path.parent().expect("within the folder")).expect("a temporary folder");
            std::fs::write(path, text).expect("a temporary file");
        }
        folder
    }

    fn library(&self) -> Library {
        Library::open(&self.0).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A failure leaves files in the system's temporary folder, which is harmless.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn measure(library: &Library, store: &Store, progress: &dyn Progress) -> Result<Evidence, String> {
    run(&Simulator, library, &Selection::default(), store, Provenance::default(), progress)
        .map_err(|error| error.to_string())
}

/// A store that knows no run.
fn none() -> Store {
    Store::memory(&version(&Simulator))
}

fn open(file: &Path) -> Store {
    Store::open(file, &version(&Simulator)).unwrap_or_else(|error| panic!("{error}"))
}

fn verdicts(folder: &Folder) -> Vec<Judged> {
    let library = folder.library();
    let evidence = measure(&library, &none(), &Silent).unwrap_or_else(|error| panic!("{error}"));
    judge(&library, &evidence, "not run")
}

#[test]
fn measured_values_agree_with_the_hand_calculation() {
    let rows = verdicts(&Folder::new(&[]));
    let verdicts: Vec<_> = rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Matches, Verdict::Differs, Verdict::NotCheckable], "{rows:#?}");
    let why = &rows[1].why;
    assert_eq!(why, "Cause, consistent with the runs but not shown: The first half is empty.");
    assert!(rows[1].because[0].holds());
    assert_eq!(rows[2].why, "It was lost.");
}

/// 10.4 Mbit/s into 10 Mbit/s: the queue grows by 50 packets of 1000 bytes per second, up to 100.
#[test]
fn a_queue_is_read_during_the_run() {
    let experiment = experiment(
        r#"[[axis]]
name = "rate"
key = "udp.cbr.rate"
values = ["10.4 Mbit/s"]
[metric.queue]
title = "queue, packets"
link = "bottleneck"
take = "queue_packets"
every = "500 ms"
"#,
    );
    let expected = [("5", 0), ("5.5", 25), ("6", 50), ("7.5", 100), ("10", 100)];
    let statement = |(time, packets): &(&str, u32)| {
        format!(
            "[[claim.statement]]\nthat = \"filling.queue[time={time}]\"\nis = {packets}\nword = \"one\"\n"
        )
    };
    let first: String = expected.iter().map(statement).collect();
    let rest = "[[claim]]\nid = \"XX-02\"\nnot_checkable = \"x\"\n[[claim]]\nid = \"XX-03\"\nnot_checkable = \"x\"\n";
    let claims = format!("[[claim]]\nid = \"XX-01\"\n{first}{rest}");
    let with = |experiment: &str| {
        Folder::new(&[("x/claims.toml", &claims), ("x/experiments/filling.toml", experiment)])
    };
    let rows = verdicts(&with(&experiment));
    assert_eq!(rows[0].verdict, Verdict::Matches, "{:#?}", rows[0]);
    let never = experiment.replace("500 ms", "0 s");
    let error = measure(&with(&never).library(), &none(), &Silent).expect_err("an endless axis");
    assert!(error.contains("filling.toml") && error.contains("1 ms"), "{error}");
    let endless = SCENARIO.replace("duration = \"10 s\"\n", "");
    let folder = with(&experiment);
    std::fs::write(folder.0.join("x/scenarios/two-halves.toml"), endless).expect("a temporary file");
    let error = measure(&folder.library(), &none(), &Silent).expect_err("no end is known");
    assert!(error.contains("queue, packets") && error.contains("the end is unknown"), "{error}");
}

/// A threshold of 8 packets ends the start-up of 31; without one it outlasts the transfer.
#[test]
fn flows_are_selected_by_the_reason_for_which_start_up_ended() {
    let experiment = experiment(
        r#"[[axis]]
name = "threshold"
key = "flow.short.initial_ssthresh"
values = ["8 packets", "unlimited"]
[metric.threshold]
title = "flows that reached the threshold"
flows = "short"
take = "exit_time_s"
over = "count"
where = { exit = "threshold" }
[metric.loss]
title = "flows that lost a packet"
flows = "short"
take = "exit_time_s"
over = "count"
where = { exit = "loss" }
"#,
    );
    let claims = CLAIMS.replacen(
        "[[claim.statement]]",
        "[[claim.statement]]\nthat = \"ends.threshold\"\nis = [1, 0]\nword = \"exact\"\n\
         [[claim.statement]]\nthat = \"ends.loss\"\nis = [0, 0]\nword = \"exact\"\n[[claim.statement]]",
        1,
    );
    let with = |text: &str| Folder::new(&[("x/claims.toml", &claims), ("x/experiments/ends.toml", text)]);
    let rows = verdicts(&with(&experiment));
    assert_eq!(rows[0].verdict, Verdict::Matches, "{:#?}", rows[0]);
    let folder = with(&experiment.replace("\"threshold\" }", "\"treshold\" }"));
    let error = measure(&folder.library(), &none(), &Silent).expect_err("no such reason");
    assert!(error.contains("did you mean \"threshold\"?"), "{error}");
}

#[test]
fn a_number_outside_its_tolerance_differs() {
    let claims = CLAIMS.replace("is = [0.25, 0.5]", "is = [0.25, 0.51]");
    let rows = verdicts(&Folder::new(&[("x/claims.toml", &claims)]));
    assert_eq!((rows[0].verdict, rows[0].held, rows[0].of), (Verdict::Partly, 4, 5));
    let points: Vec<Outcome> = rows[0].statements[0].points.iter().map(|point| point.outcome).collect();
    assert_eq!(points, [Outcome::Holds, Outcome::Fails]);
}

#[test]
fn a_claim_matches_if_one_reading_holds_and_names_it() {
    let claims = CLAIMS
        .replace("is = 125", "is = 125\nreading = \"text\"")
        .replace("is = 32", "is = 99\nreading = \"table\"");
    let rows = verdicts(&Folder::new(&[("x/claims.toml", &claims)]));
    assert_eq!((rows[0].verdict, rows[0].why.as_str()), (Verdict::Matches, "Judged in the reading: text."));
}

#[test]
fn values_of_ns_2_are_kept_beside_the_measured_ones() {
    let ns2 = "[[measured]]\ncommand = \"ns x.tcl\"\ncells = [{ metric = \"halves.second\", at = [\"rate=5 Mbit/s\"], values = [0.49] }]\n";
    let rows = verdicts(&Folder::new(&[("x/ns2.toml", ns2)]));
    let given: Vec<_> = rows[0].statements[0].points.iter().map(|point| point.ns2.clone()).collect();
    assert_eq!(given, [Some(vec![None]), Some(vec![Some(0.49)])]);
}

/// Both points of an experiment with the values of three seeds each.
fn with_three_seeds(ns2: &str, values: [f64; 6]) -> Vec<Judged> {
    let experiment = EXPERIMENT.replace("replications = 2", "replications = 3");
    let library = Folder::new(&[("x/ns2.toml", ns2), ("x/experiments/halves.toml", &experiment)]).library();
    let mut evidence = measure(&library, &none(), &Silent).unwrap_or_else(|error| panic!("{error}"));
    let halves = evidence.papers.get_mut("x").expect("the paper").experiments.get_mut("halves");
    halves.expect("the experiment").metrics.get_mut("second").expect("the metric").values = values.into();
    judge(&library, &evidence, "not run")
}

#[test]
fn beside_fewer_seeds_of_ns_2_stand_our_values_of_the_same_seeds() {
    let ns2 = |seeds: u32| {
        format!(
            "[[measured]]\nseeds = {seeds}\ncommand = \"ns x.tcl arrivals-$N.txt\"\n\
             cells = [{{ metric = \"halves.second\", at = [\"rate=5 Mbit/s\"], values = [0.49] }}]\n"
        )
    };
    let values = [0.2, 0.3, 0.4, 0.5, 0.6, 1.0];
    let paired = |row: &Judged, statement: usize| -> Vec<_> {
        row.statements[statement].points.iter().map(|point| point.paired.clone()).collect()
    };
    let rows = with_three_seeds(&ns2(2), values);
    assert_eq!(rows[0].statements[0].points[1].measured, [Some(0.7)]);
    // ns-2 has no value at the first point. The mean of 0.5 and 0.6 at the second.
    let second = Paired { seeds: 2, measured: vec![Some(0.55)] };
    assert_eq!(paired(&rows[0], 0), [None, Some(second)]);
    assert_eq!(rows[0].statements[0].paired().as_deref(), Some("here, seeds 1 to 2"));
    // `first > second`: ns-2 has a value of one side only, hence no pair.
    assert_eq!(paired(&rows[1], 0), [None, None]);
    // Draws of its own.
    let rows = with_three_seeds(&ns2(2).replace("arrivals-", "seed "), values);
    assert_eq!(paired(&rows[0], 0), [None, None]);
    // As many seeds as ran here, or more than a user ran.
    for seeds in [3, 4] {
        let rows = with_three_seeds(&ns2(seeds), values);
        assert_eq!((paired(&rows[0], 0), rows[0].statements[0].paired()), (vec![None, None], None));
    }
}

#[test]
fn values_of_a_metric_in_ns_2_have_the_same_seeds() {
    let of = |seeds: &str, rate: &str| {
        format!(
            "[[measured]]\n{seeds}command = \"ns x.tcl arrivals-$N.txt\"\n\
             cells = [{{ metric = \"halves.second\", at = [\"rate={rate} Mbit/s\"], values = [0.49] }}]\n"
        )
    };
    let ns2 = of("seeds = 2\n", "2.5") + &of("", "5");
    let rows = verdicts(&Folder::new(&[("x/ns2.toml", &ns2)]));
    let problem = "ns2: halves.second at [\"rate=5 Mbit/s\"] has draws of its own, an earlier value has 2 seeds; expected the same";
    assert_eq!(rows[0].why, problem);
}

#[derive(Default)]
struct Counting(AtomicU64);

impl Progress for Counting {
    fn begin(&self, _: &str, total: u64) {
        self.0.store(total, Ordering::Relaxed);
    }
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}

/// Runs the paper with the store in `file`, and returns its results and whether anything was run.
fn with_store(library: &Library, file: &Path) -> (Evidence, bool) {
    let progress = Counting::default();
    let evidence = measure(library, &open(file), &progress).unwrap_or_else(|error| panic!("{error}"));
    (evidence, progress.0.load(Ordering::Relaxed) > 0)
}

fn text(evidence: &Evidence) -> String {
    serde_json::to_string(evidence).expect("numbers and texts")
}

#[test]
fn stored_runs_are_not_made_again_and_give_the_same_results() {
    let folder = Folder::new(&[]);
    let library = folder.library();
    let file = folder.0.join("runs.jsonl");
    let (first, ran) = with_store(&library, &file);
    assert!(ran);
    let (second, ran) = with_store(&library, &file);
    assert!(!ran && text(&first) == text(&second));
    // A store of other sources knows none of the runs.
    let others = Store::open(&file, "other sources").expect("intact");
    assert!(others.damage().is_empty());
    let progress = Counting::default();
    measure(&library, &others, &progress).expect("valid");
    assert!(progress.0.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_run_whose_record_is_damaged_is_made_again_and_results_stay_the_same() {
    let folder = Folder::new(&[]);
    let library = folder.library();
    let file = folder.0.join("runs.jsonl");
    let (first, _) = with_store(&library, &file);
    let whole = std::fs::read(&file).expect("kept");
    // The lowest bit of a value's first digit: without a checksum, another valid number.
    let values = b"\"values\":[";
    let digit = whole.windows(values.len()).position(|part| part == values).expect("values") + values.len();
    assert!(whole[digit].is_ascii_digit());
    let mut flipped = whole.clone();
    flipped[digit] ^= 1;
    let half = whole[..whole.len() / 3].to_vec();
    let not_utf8 = [&whole[..], b"\xff\xfe\n"].concat();
    for (damaged, again) in [(flipped, true), (half, true), (not_utf8, false)] {
        std::fs::write(&file, damaged).expect("writable");
        let store = open(&file);
        assert_eq!(store.damage().len(), 1);
        let (evidence, ran) = with_store(&library, &file);
        assert!(ran == again && text(&evidence) == text(&first), "{evidence:?}");
    }
}

#[test]
fn metrics_of_one_run_that_are_measured_at_different_times_are_all_kept() {
    let more = EXPERIMENT.replace(
        "[metric.second]",
        "[metric.drops]\ntitle = \"drops\"\nlink = \"bottleneck\"\ntake = \"drops\"\n[metric.second]",
    );
    let folder = Folder::new(&[("x/experiments/more.toml", &more)]);
    let library = folder.library();
    let file = folder.0.join("runs.jsonl");
    let run_one = |names: &[&str]| {
        let selection = Selection { experiments: Some(names), ..Selection::default() };
        let progress = Counting::default();
        run(&Simulator, &library, &selection, &open(&file), Provenance::default(), &progress).expect("valid");
        progress.0.load(Ordering::Relaxed) > 0
    };
    assert!(run_one(&["halves"]));
    assert!(run_one(&["more"]), "drops are not known");
    assert!(!run_one(&["halves"]) && !run_one(&["more", "halves"]));
}

#[test]
fn an_experiment_without_replications_is_refused() {
    let none_of_it = EXPERIMENT.replace("replications = 2", "replications = 0");
    let library = Folder::new(&[("x/experiments/halves.toml", &none_of_it)]).library();
    let error = measure(&library, &none(), &Silent).expect_err("nothing to run");
    assert_eq!(error, "x/experiments/halves.toml: replications = 0: no run; expected at least 1");
}

#[test]
fn replications_have_consecutive_seeds_from_the_one_given() {
    let lossy = SCENARIO.replace("[packet]", "loss = 0.05\n[packet]");
    let library = Folder::new(&[("x/scenarios/two-halves.toml", &lossy)]).library();
    let completions = |seed: Option<u64>| {
        let selection = Selection { seed, ..Selection::default() };
        let evidence =
            run(&Simulator, &library, &selection, &none(), Provenance::default(), &Silent).expect("valid");
        let array = &evidence.papers["x"].experiments["halves"].metrics["completion"];
        (array.at(0)[0], array.at(0)[1])
    };
    let (seventh, eighth) = completions(Some(7));
    assert_ne!(seventh, eighth);
    assert_eq!(completions(Some(8)).0, eighth);
    // The default seed of a scenario is 1.
    assert_eq!(completions(None), completions(Some(1)));
}

#[test]
fn a_definition_depends_on_the_runs_and_not_on_titles() {
    let of = |changes: &[(&str, &str)]| definitions(&Folder::new(changes).library(), None).expect("valid");
    let plain = of(&[]);
    assert_eq!(of(&[("x/experiments/halves.toml", &EXPERIMENT.replace("A link", "The link"))]), plain);
    assert_eq!(of(&[("x/scenarios/two-halves.toml", &format!("title = \"t\"\n{SCENARIO}"))]), plain);
    for (from, to) in [("2.5 Mbit/s", "2 Mbit/s"), ("3 s", "4 s"), ("replications = 2", "replications = 3")] {
        assert_ne!(of(&[("x/experiments/halves.toml", &EXPERIMENT.replace(from, to))]), plain, "{to}");
    }
}

#[test]
fn an_error_names_its_file_and_the_valid_values() {
    let experiment = |from: &str, to: &str| ("x/experiments/halves.toml", EXPERIMENT.replace(from, to));
    let claims = |from: &str, to: &str| ("x/claims.toml", CLAIMS.replace(from, to));
    for ((file, text), parts) in [
        (experiment("udp.cbr.rate", "udp.cbx.rate"), ["halves.toml", "did you mean \"cbr\""]),
        (
            experiment("two-halves", "halfs"),
            ["halves.toml: scenario = \"halfs.toml\"", "expected two-halves.toml"],
        ),
        (experiment("take = \"utilization\"", "take = \"utilisation\""), ["halves.toml:13: ", "utilization"]),
        (
            experiment("link = \"bottleneck\"", "link = \"bottleneek\""),
            ["halves.toml", "did you mean \"bottleneck\""],
        ),
        (experiment("quick = true", "quik = true"), ["halves.toml:5: ", "quick"]),
        (
            claims("halves.second\"\nis", "halfs.second\"\nis"),
            ["claims.toml", "there is no experiment \"halfs\""],
        ),
        (claims("XX-03", "XX-04"), ["claims.toml", "no line of targets.psv"]),
        (claims("halves.first > ", "halves.first >> "), ["claims.toml", "expected a number"]),
    ] {
        let folder = Folder::new(&[(file, &text)]);
        let message = match Library::open(&folder.0) {
            Err(error) => error.to_string(),
            Ok(library) => measure(&library, &none(), &Silent).expect_err(&text),
        };
        assert!(parts.iter().all(|part| message.contains(part)) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn the_limit_of_the_memory_holds_for_the_list_of_cells() {
    let library = Folder::new(&[]).library();
    let error =
        definitions(&library, Some(1_000)).expect_err("two cells of more than 1000 bytes").to_string();
    assert!(error.contains("axes") && error.contains("--memory raises the limit"), "{error}");
    assert!(definitions(&library, Some(1_000_000)).is_ok());
}

/// Two readings of the stream's start, scored on statements about both rates.
const READINGS: &str = r#"
about = "x"
lines = ["XX-01"]
replications = 3
without = ["5 Mbit/s"]
[[choice]]
name = "start of the stream"
[[choice.point]]
name = "5 s"
printed = true
[[choice.point]]
name = "3 s"
fitted = 1
[[choice.point.change]]
scenarios = ["two-halves.toml"]
set = { "udp.cbr.start" = "3 s" }
"#;

/// The last two statements need the point that is left out.
const READ: &str = r#"
[[claim]]
id = "XX-01"
[[claim.statement]]
that = "halves.second"
is = 0.25
word = "hundredth"
[[claim.statement]]
that = "halves.first"
is = 0.25
word = "hundredth"
[[claim.statement]]
that = "halves.second[5 Mbit/s] > halves.second[2.5 Mbit/s]"
[[claim.statement]]
that = "halves.second[rate=5.1] > 0.4"
[[claim]]
id = "XX-02"
not_checkable = "x"
[[claim]]
id = "XX-03"
not_checkable = "x"
"#;

#[test]
fn readings_score_what_is_run_under_every_joint_choice() {
    let folder = Folder::new(&[("x/claims.toml", READ), ("x/readings-half.toml", READINGS)]);
    let library = folder.library();
    let paper = &library.papers[0];
    assert_eq!(paper.readings.keys().collect::<Vec<_>>(), ["half"]);
    let scores = score(&Simulator, &library, paper, "half", &none(), Provenance::default(), None, &Silent)
        .unwrap_or_else(|error| panic!("{error}"));
    let rows: Vec<_> = scores.readings.iter().map(|one| (one.held(), one.fitted, one.printed)).collect();
    // From 5 s on the stream fills a quarter of the second half, from 3 s on of both.
    assert_eq!(rows, [((1, 2), 0, true), ((2, 2), 1, false)]);
    // One statement each, less the fitted value: the line that matches decides.
    assert_eq!(scores.best(), Some(&scores.readings[1]));
    // The same scores under other marks, and under a choice of another name.
    let mut readings = paper.readings["half"].clone();
    assert_eq!(scores.clone().marked(&readings).as_ref(), Some(&scores));
    readings.choices[0].points[1].fitted = 2;
    let marked = scores.clone().marked(&readings).expect("the same choices");
    assert_eq!(marked.readings.iter().map(|one| one.fitted).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(marked.best(), Some(&marked.readings[0]));
    readings.choices[0].points[1].name = "4 s".into();
    assert_eq!(scores.marked(&readings), None);
}

#[test]
fn readings_that_cannot_be_scored_are_refused() {
    let error = |from: &str, to: &str| {
        let readings = READINGS.replace(from, to);
        assert_ne!(readings, READINGS);
        let folder = Folder::new(&[("x/claims.toml", READ), ("x/readings.toml", &readings)]);
        Library::open(&folder.0).expect_err("a wrong file").to_string()
    };
    for (from, to, expected) in [
        ("replications = 3", "replications = 1", "too few for an interval"),
        ("[\"5 Mbit/s\"]", "[\"7 Mbit/s\"]", "no axis has a point \"7 Mbit/s\""),
        ("[\"5 Mbit/s\"]", "[\"5 Mbit/s\", \"2.5 Mbit/s\"]", "no statement is scored without these points"),
    ] {
        let found = error(from, to);
        assert!(found.contains(expected) && found.contains("readings.toml"), "{found}");
    }
}
