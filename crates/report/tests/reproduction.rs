//! The published reproduction is what the papers' files and the program say now.
//!
//! Pages are made again of `docs/reproduction/results.json`; that file is held to the definition of every experiment, and to
//! what the quick ones measure now. The rest of it takes half an hour to measure: `make reproduction`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_report::reproduction::{
    RESULTS, VERDICTS, pages, readings_file, readings_json, readings_page, readings_stem, results, verdicts,
};
use firstflight_reproduce::checked::Outcome;
use firstflight_reproduce::evidence::{Evidence, Measured};
use firstflight_reproduce::judge::{Verdict, judge};
use firstflight_reproduce::library::Library;
use firstflight_reproduce::readings::Scores;
use firstflight_reproduce::run::{Selection, Store, definitions, run, version};

const AGAIN: &str = "run `make reproduction`, or `make reproduction-pages` if only texts have changed";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction")
}

fn published() -> Evidence {
    let text = std::fs::read_to_string(folder().join(RESULTS)).expect("published results");
    serde_json::from_str(&text).expect("results as this program writes them")
}

fn library() -> Library {
    Library::built_in().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_line_of_the_target_list_has_its_claim() {
    let library = library();
    let without: Vec<&str> = library
        .targets
        .iter()
        .map(|target| target.id.as_str())
        .filter(|id| library.claim(id).is_none())
        .collect();
    assert!(without.is_empty(), "{without:?}");
    assert_eq!(library.targets.len(), 165);
}

#[test]
fn published_results_are_of_the_experiments_as_they_are_now() {
    let library = library();
    let published = published();
    let now = definitions(&library, None).unwrap_or_else(|error| panic!("{error}"));
    let then: BTreeMap<(String, String), String> = published
        .papers
        .iter()
        .flat_map(|(paper, of)| {
            of.experiments
                .iter()
                .map(move |(name, one)| ((paper.clone(), name.clone()), one.definition.clone()))
        })
        .collect();
    let stale: BTreeSet<_> = now
        .iter()
        .chain(&then)
        .filter(|(key, _)| now.get(*key) != then.get(*key))
        .map(|(key, _)| key)
        .collect();
    assert!(stale.is_empty(), "{stale:?} have changed since: {AGAIN}");
}

#[test]
fn published_pages_are_those_that_results_give() {
    let library = library();
    let published = published();
    let judged = judge(&library, &published, "Not run.");
    let files = pages(&library, &published, &judged).unwrap_or_else(|error| panic!("{error}"));
    for (name, text) in &files {
        let there = std::fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(there == *text, "docs/reproduction/{name} is stale: {AGAIN}");
    }
    let mut there = BTreeSet::new();
    for (sub, prefix) in [("", ""), ("images", "images/")] {
        for entry in std::fs::read_dir(folder().join(sub)).expect("a folder").flatten() {
            if entry.path().is_file() {
                there.insert(format!("{prefix}{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    // Scores of readings are measured by a command of their own; their pages follow from them.
    let mut scored = vec![];
    let tables = library.papers.iter().flat_map(|paper| paper.readings.iter().map(move |one| (paper, one)));
    for (paper, (part, readings)) in tables {
        let file = readings_file(&paper.folder, part);
        let Ok(text) = std::fs::read_to_string(folder().join(&file)) else { continue };
        let scores: Scores = serde_json::from_str(&text).expect("scores as this program writes them");
        assert_eq!(readings_json(&scores), text);
        let page = format!("{}.md", readings_stem(&paper.folder, part));
        let there = std::fs::read_to_string(folder().join(&page)).unwrap_or_default();
        assert!(there == readings_page(&library, &scores), "docs/reproduction/{page} is stale");
        assert_eq!(scores.clone().marked(readings).as_ref(), Some(&scores), "{page}");
        scored.extend([file, page]);
    }
    assert!(!scored.is_empty());
    let wanted: BTreeSet<String> =
        files.keys().cloned().chain([RESULTS, VERDICTS].map(str::to_owned)).chain(scored).collect();
    assert_eq!(there, wanted, "{AGAIN}");
    assert_eq!(std::fs::read_to_string(folder().join(RESULTS)).ok(), Some(results(&published)));
    assert!(std::fs::read_to_string(folder().join(VERDICTS)).ok() == Some(verdicts(&judged)), "{AGAIN}");
}

#[test]
fn every_difference_has_a_cause_or_is_said_to_be_open() {
    let library = library();
    for row in judge(&library, &published(), "Not run.") {
        let (_, claim) = library.claim(&row.id).expect("every line has a claim");
        let fails = row.judged().any(|one| one.outcome == Outcome::Fails);
        match (fails, row.verdict) {
            (true, Verdict::Refuted) => assert!(claim.cause.is_none() && claim.open.is_none(), "{}", row.id),
            (true, _) => {
                assert!(
                    claim.cause.is_some() != claim.open.is_some(),
                    "{} fails; expected a cause, or `open`",
                    row.id
                );
            }
            (false, Verdict::Matches) => {
                assert!(claim.cause.is_none() && claim.open.is_none(), "{} matches, and has a cause", row.id);
            }
            (false, Verdict::NotCheckable) => assert!(!row.why.is_empty(), "{}", row.id),
            (false, _) => {}
        }
        // A statement about a metric that does not exist would otherwise pass for a difference.
        let all = row.statements.iter().chain(&row.because).chain(&row.turns).chain(&row.refutation);
        let problems: Vec<_> = all.filter_map(|one| one.problem.as_ref()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", row.id);
    }
}

#[test]
fn every_line_has_a_value_of_ns2_or_the_reason_why_it_has_none() {
    let library = library();
    for row in judge(&library, &published(), "Not run.").iter().filter(|row| row.kind != "config") {
        let (paper, _) = library.claim(&row.id).expect("every line has a claim");
        let has = row
            .statements
            .iter()
            .flat_map(|one| &one.points)
            .any(|point| point.ns2.as_ref().is_some_and(|sides| sides.iter().any(Option::is_some)));
        let reasons = paper.about.without_ns2.iter().filter(|one| one.lines.contains(&row.id)).count();
        assert_eq!(reasons, usize::from(!has), "{}: ns-2 {has}, {reasons} reasons", row.id);
    }
}

#[test]
fn the_citation_names_the_version_and_every_paper() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CITATION.cff");
    let text = std::fs::read_to_string(file).expect("a citation");
    assert!(text.contains(concat!("\nversion: ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
    for about in library().papers.iter().map(|paper| &paper.about) {
        let entry =
            text.split("  - type: ").find(|entry| entry.contains(&format!("title: \"{}\"", about.title)));
        let entry = entry.unwrap_or_else(|| panic!("{} is not cited", about.title));
        assert!(entry.contains(&format!("year: {}\n", about.year)), "{entry}");
        for author in about.authors.split(", ") {
            let name = author.rsplit(' ').next().expect("a name");
            assert!(entry.contains(&format!("family-names: {name},")), "{author}: {entry}");
        }
    }
}

/// The published measurements of an experiment, with as many replications as its file asks for.
fn first(measured: &Measured, replications: u32) -> Measured {
    let mut first = measured.clone();
    first.version.clear();
    let count = replications as usize;
    for array in first.metrics.values_mut().filter(|array| array.samples > count) {
        array.values = array.values.chunks(array.samples).flat_map(|chunk| chunk[..count].to_vec()).collect();
        array.samples = count;
    }
    if measured.replications > replications {
        first.replications = replications;
        // The packets of the first runs alone are not published.
        first.packet_hops = 0;
    }
    first
}

#[test]
fn quick_experiments_measure_today_what_was_published() {
    let library = library();
    let published = published();
    let selection = Selection { quick: true, ..Selection::default() };
    let store = Store::memory(&version(&Simulator));
    let now = run(&Simulator, &library, &selection, &store, published.provenance.clone(), &Silent)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut compared = 0;
    for (paper, of) in &now.papers {
        for (name, measured) in &of.experiments {
            let then = published.papers.get(paper).and_then(|paper| paper.experiments.get(name));
            let then = then.map(|then| first(then, measured.replications));
            let mut measured = measured.clone();
            if then.as_ref().is_some_and(|then| then.packet_hops == 0) {
                measured.packet_hops = 0;
            }
            // Not a number is not equal to itself.
            let text = |value: &_| serde_json::to_string(value).expect("texts and numbers");
            assert!(
                then.map(|then| text(&then)) == Some(text(&measured)),
                "{paper}/{name} measures other values: {AGAIN}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 10, "only {compared} experiments are quick");
}
