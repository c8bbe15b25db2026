//! A small paper, whose numbers can be computed by hand, from its files to its verdicts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use firstflight_reproduce::evidence::{Evidence, Provenance};
use firstflight_reproduce::judge::{Judged, Verdict, judge};
use firstflight_reproduce::library::Library;
use firstflight_reproduce::run::{Selection, Store, definitions, run};
use firstflight_study::progress::{Progress, Silent};
use firstflight_study::simulator::Simulator;

/// Datagrams at half the link's rate from 5 s on, of 1000 bytes on 10 Mbit/s; and a transfer of 31 packets from a window of
/// one: five rounds of 100 ms.
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

const CLAIMS: &str = r#"
[[claim]]
id = "XX-01"
[[claim.statement]]
that = "halves.second"
is = [0.25, 0.5]
within = 0.01
[[claim.statement]]
that = "halves.first"
is = [0, 0]
by = 1e-9
[[claim.statement]]
that = "halves.completion[5 Mbit/s]"
is = 0.53
by = 0.02
[[claim.statement]]
that = "halves.bdp[5 Mbit/s]"
is = 125
[[claim.statement]]
that = "halves.cwnd[5 Mbit/s, time=9]"
is = 32
by = 1
[[claim]]
id = "XX-02"
cause = "The first half is empty."
[[claim.statement]]
that = "halves.first > halves.second"
[[claim.because]]
that = "max(halves.first)"
is = 0
by = 1e-9
[[claim]]
id = "XX-03"
not_checkable = "It was lost."
"#;

const TARGETS: &str = "id|paper|where|scenario|metric|value|kind\n\
    XX-01|XX|Table 1|a|b|c|exact\nXX-02|XX|Figure 1|a|b|c|order\nXX-03|XX|Figure 2|a|b|c|n/a\n";

const PAPER: &str =
    "key = \"XX\"\ntitle = \"t\"\nauthors = \"a\"\nyear = 2000\nvenue = \"v\"\nabout = \"x\"\n";

/// A folder of its own, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(changes: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("small-paper-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        let files = BTreeMap::from([
            ("targets.psv", TARGETS),
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
        // What is left behind is in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn measure(library: &Library, store: &Store, progress: &dyn Progress) -> Result<Evidence, String> {
    run(&Simulator, library, &Selection::default(), store, Provenance::default(), progress)
        .map_err(|error| error.to_string())
}

fn verdicts(folder: &Folder) -> Vec<Judged> {
    let library = folder.library();
    let evidence = measure(&library, &Store::none(), &Silent).unwrap_or_else(|error| panic!("{error}"));
    judge(&library, &evidence, "not run")
}

#[test]
fn what_can_be_computed_by_hand_comes_out() {
    let rows = verdicts(&Folder::new(&[]));
    let verdicts: Vec<_> = rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Matches, Verdict::Differs, Verdict::NotCheckable], "{rows:#?}");
    assert!(
        rows[1].why.contains("does not hold") && rows[1].why.contains("The first half is empty."),
        "{}",
        rows[1].why
    );
    assert!(rows[1].because[0].holds);
    assert_eq!(rows[2].why, "It was lost.");
}

/// 10.4 Mbit/s into 10: each second 50 packets of 1000 bytes more wait, until 100 do.
#[test]
fn what_waits_at_a_link_is_read_while_the_run_goes_on() {
    let experiment = r#"
title = "A queue that fills"
scenario = "two-halves.toml"
[[axis]]
name = "rate"
key = "udp.cbr.rate"
values = ["10.4 Mbit/s"]
[metric.queue]
title = "packets waiting"
link = "bottleneck"
take = "queue_packets"
every = "500 ms"
"#;
    let expected = [("5", 0), ("5.5", 25), ("6", 50), ("7.5", 100), ("10", 100)];
    let statement = |(time, packets): &(&str, u32)| {
        format!("[[claim.statement]]\nthat = \"filling.queue[time={time}]\"\nis = {packets}\nby = 1\n")
    };
    let first: String = expected.iter().map(statement).collect();
    let rest = "[[claim]]\nid = \"XX-02\"\nnot_checkable = \"x\"\n[[claim]]\nid = \"XX-03\"\nnot_checkable = \"x\"\n";
    let claims = format!("[[claim]]\nid = \"XX-01\"\n{first}{rest}");
    let with = |experiment: &str| {
        Folder::new(&[("x/claims.toml", &claims), ("x/experiments/filling.toml", experiment)])
    };
    let rows = verdicts(&with(experiment));
    assert_eq!(rows[0].verdict, Verdict::Matches, "{:#?}", rows[0]);
    let never = experiment.replace("500 ms", "0 s");
    let error = measure(&with(&never).library(), &Store::none(), &Silent).expect_err("an endless axis");
    assert!(error.contains("filling.toml") && error.contains("1 ms"), "{error}");
    let endless = SCENARIO.replace("duration = \"10 s\"\n", "");
    let folder = with(experiment);
    std::fs::write(folder.0.join("x/scenarios/two-halves.toml"), endless).expect("a temporary file");
    let error = measure(&folder.library(), &Store::none(), &Silent).expect_err("no end is known");
    assert!(error.contains("packets waiting") && error.contains("how long it lasts"), "{error}");
}

#[test]
fn a_number_outside_its_tolerance_differs() {
    let claims = CLAIMS.replace("is = [0.25, 0.5]", "is = [0.25, 0.51]");
    let rows = verdicts(&Folder::new(&[("x/claims.toml", &claims)]));
    assert_eq!(rows[0].verdict, Verdict::Differs);
    let points: Vec<bool> = rows[0].statements[0].points.iter().map(|point| point.holds).collect();
    assert_eq!(points, [true, false]);
}

#[test]
fn one_of_several_readings_is_enough_and_is_named() {
    let claims = CLAIMS
        .replace("is = 125", "is = 125\nreading = \"text\"")
        .replace("is = 32", "is = 99\nreading = \"table\"");
    let rows = verdicts(&Folder::new(&[("x/claims.toml", &claims)]));
    assert_eq!((rows[0].verdict, rows[0].why.as_str()), (Verdict::Matches, "The reading that fits: text."));
}

#[test]
fn what_ns_2_gives_stands_beside_what_is_measured() {
    let ns2 = "[[measured]]\nwhat = \"halves.second\"\nat = [\"rate=5 Mbit/s\"]\nvalues = [0.49]\ncommand = \"ns x.tcl\"\n";
    let rows = verdicts(&Folder::new(&[("x/ns2.toml", ns2)]));
    let given: Vec<_> = rows[0].statements[0].points.iter().map(|point| point.ns2.clone()).collect();
    assert_eq!(given, [Some(vec![None]), Some(vec![Some(0.49)])]);
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

#[test]
fn runs_that_are_done_are_not_done_again_and_give_the_same() {
    let folder = Folder::new(&[]);
    let library = folder.library();
    let file = folder.0.join("runs.jsonl");
    let progress = Counting::default();
    let first = measure(&library, &Store::open(&file).expect("a new file"), &progress).expect("valid");
    assert!(progress.0.load(Ordering::Relaxed) > 0);
    // An interruption may leave half a line.
    let kept = std::fs::read_to_string(&file).expect("kept");
    std::fs::write(&file, format!("{kept}{{\"sources\":\"")).expect("writable");
    let second = measure(&library, &Store::open(&file).expect("kept"), &progress).expect("valid");
    assert_eq!(progress.0.load(Ordering::Relaxed), 0);
    assert_eq!(serde_json::to_string(&first).ok(), serde_json::to_string(&second).ok());
    // What other sources measured is not taken.
    std::fs::write(&file, kept.replace("\"sources\":\"", "\"sources\":\"other")).expect("writable");
    measure(&library, &Store::open(&file).expect("kept"), &progress).expect("valid");
    assert!(progress.0.load(Ordering::Relaxed) > 0);
}

#[test]
fn replications_have_seeds_one_after_another_from_the_one_given() {
    let lossy = SCENARIO.replace("[packet]", "loss = 0.05\n[packet]");
    let library = Folder::new(&[("x/scenarios/two-halves.toml", &lossy)]).library();
    let completions = |seed: Option<u64>| {
        let selection = Selection { seed, ..Selection::default() };
        let evidence = run(&Simulator, &library, &selection, &Store::none(), Provenance::default(), &Silent)
            .expect("valid");
        let array = &evidence.papers["x"].experiments["halves"].metrics["completion"];
        (array.at(0)[0], array.at(0)[1])
    };
    let (seventh, eighth) = completions(Some(7));
    assert_ne!(seventh, eighth);
    assert_eq!(completions(Some(8)).0, eighth);
    // Scenarios begin with 1 where they do not say.
    assert_eq!(completions(None), completions(Some(1)));
}

#[test]
fn a_definition_changes_with_what_is_run_and_not_with_texts() {
    let of = |changes: &[(&str, &str)]| definitions(&Folder::new(changes).library()).expect("valid");
    let plain = of(&[]);
    assert_eq!(of(&[("x/experiments/halves.toml", &EXPERIMENT.replace("A link", "The link"))]), plain);
    assert_eq!(of(&[("x/scenarios/two-halves.toml", &format!("title = \"t\"\n{SCENARIO}"))]), plain);
    for (from, to) in [("2.5 Mbit/s", "2 Mbit/s"), ("3 s", "4 s"), ("replications = 2", "replications = 3")] {
        assert_ne!(of(&[("x/experiments/halves.toml", &EXPERIMENT.replace(from, to))]), plain, "{to}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_file_and_what_was_expected() {
    let experiment = |from: &str, to: &str| ("x/experiments/halves.toml", EXPERIMENT.replace(from, to));
    let claims = |from: &str, to: &str| ("x/claims.toml", CLAIMS.replace(from, to));
    for ((file, text), parts) in [
        (experiment("udp.cbr.rate", "udp.cbx.rate"), ["halves.toml", "did you mean \"cbr\""]),
        (experiment("two-halves", "halfs"), ["halves.toml", "there are two-halves.toml"]),
        (
            experiment("take = \"utilization\"", "take = \"utilisation\""),
            ["halves.toml: line", "utilization"],
        ),
        (
            experiment("link = \"bottleneck\"", "link = \"bottleneek\""),
            ["halves.toml", "did you mean \"bottleneck\""],
        ),
        (experiment("quick = true", "quik = true"), ["line 5", "quick"]),
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
            Ok(library) => measure(&library, &Store::none(), &Silent).expect_err(&text),
        };
        assert!(parts.iter().all(|part| message.contains(part)) && !message.contains('\n'), "{message}");
    }
}
