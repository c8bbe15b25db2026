//! `firstflight reproduce`: runs the experiments of papers and judges their claims.

use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use firstflight_document::file::open;
use firstflight_document::{clipped, nearest, quoted};
use firstflight_hosts::simulator::Simulator;
use firstflight_report::Folder;
use firstflight_report::reproduction::{
    IMAGES, RESULTS, VERDICTS, html, pages, picture_of, readings_file, readings_json, readings_page,
    readings_stem, results, verdicts,
};
use firstflight_reproduce::checked::{Checked, PointOf};
use firstflight_reproduce::evidence::{Evidence, Provenance};
use firstflight_reproduce::judge::{Judged, Verdict, judge};
use firstflight_reproduce::library::{Library, Paper};
use firstflight_reproduce::readings::{Scores, score};
use firstflight_reproduce::run::{Selection, Store, definitions, run, version};
use firstflight_reproduce::sequential::{Replications, next};
use firstflight_sweep::Damage;
use serde::de::DeserializeOwned;

use crate::arguments::{SEEDS, whole};
use crate::compare::command_line;
use crate::failure::{Failure, wrong_at};

use crate::memory::Memory;
use crate::output::{complain, json_line, places, print, show};
use crate::progress::Bar;
use crate::table::{Align, table};

/// Reproduce the evaluation of papers and compare every number that they print.
///
/// Finished runs are kept in the output folder, and an interrupted command continues from them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight reproduce --quick
  firstflight reproduce AS-01
  firstflight reproduce YN --replications 20
  firstflight reproduce YN-26 --further 50
  firstflight reproduce DL --readings
  firstflight reproduce HS --readings --results docs/reproduction/hybrid-slow-start-readings.json
  firstflight reproduce HS --update docs/reproduction/results.json
  firstflight reproduce all --json | jq '.[] | select(.verdict == \"differs\") | .id'")]
pub(crate) struct Options {
    /// A line of the target list, such as AS-01; a paper (YN, AS, SP, HS, DL, C4, SU); or all
    #[arg(value_name = "ID|PAPER|all", default_value = "all")]
    what: String,
    /// Run only the experiments that take seconds
    #[arg(long)]
    quick: bool,
    /// Replications of every cell with random numbers, instead of the number in the experiment's file
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u32>(2..=10_000))]
    replications: Option<u32>,
    /// Seed of the first replication, instead of the scenario's seed; each further replication has the next number
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(SEEDS))]
    seed: Option<u64>,
    /// Limit of the packet hops (10^9) that further seeds of undecided statements may take; 60 seeds are the most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        allow_hyphen_values = true,
        value_parser = whole::<u64>(0..=1_000_000)
    )]
    further: u64,
    /// Score lines of a paper under every joint choice of what the paper leaves open, and print the tables; with PART only the
    /// table of readings-PART.toml
    #[arg(
        long,
        value_name = "PART",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["quick", "replications", "seed", "further", "update"]
    )]
    readings: Option<String>,
    /// Read the papers from this folder instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    /// Judge the results in this results.json without running anything; with --readings, print the table of this JSON file again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "replications", "seed", "further"])]
    results: Option<PathBuf>,
    /// Run what is selected, put it in place of the same experiments in this results.json, and judge all lines; FILE itself stays as
    /// it is
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "replications", "seed", "results"])]
    update: Option<PathBuf>,
    #[command(flatten)]
    memory: Memory,
    /// Print one JSON array instead of a table
    #[arg(long)]
    json: bool,
    /// Output folder for results, pages and pictures
    #[arg(long, value_name = "DIR", default_value = "out/reproduction")]
    out: PathBuf,
}

/// The selected lines.
enum What {
    All,
    Paper(String),
    Line(String),
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let measured = options.results.as_deref().filter(|_| options.readings.is_none());
    let measured = measured.map(read_results).transpose()?;
    let older = options.update.as_deref().map(read_results).transpose()?;
    let library = match &options.papers {
        Some(folder) => Library::open(folder),
        None => Library::built_in(),
    }
    .map_err(Failure::new)?;
    let what = what(&options.what, &library)?;
    // Errors in the files come before anything is written.
    let memory = Some(options.memory.bytes()?);
    definitions(&library, memory).map_err(Failure::new)?;
    if let Some(part) = &options.readings {
        return readings(options, part, &library, &what, memory);
    }
    let claim = match &what {
        What::Line(id) => library.claim(id),
        _ => None,
    };
    let folder = match &what {
        What::Paper(folder) => Some(folder.as_str()),
        What::Line(_) => claim.map(|(paper, _)| paper.folder.as_str()),
        What::All => None,
    };
    let experiments = claim.map(|(_, claim)| claim.experiments());
    let selection = Selection {
        paper: folder,
        experiments: experiments.as_deref(),
        quick: options.quick,
        replications: options.replications,
        more: None,
        seed: options.seed,
        memory,
    };
    let not_run = match options.quick {
        true => "Not run: --quick leaves out what takes longer.",
        false => "Not run: something else was asked for.",
    };
    let asked = |id: &str| match &what {
        What::All => true,
        What::Line(line) => line == id,
        What::Paper(folder) => library.claim(id).is_some_and(|(paper, _)| paper.folder == *folder),
    };
    let rows = |evidence: &Evidence| -> Vec<Judged> {
        judge(&library, evidence, not_run).into_iter().filter(|row| asked(&row.id)).collect()
    };
    let evidence = match measured {
        Some(evidence) => evidence,
        None => {
            // With --quick, --replications or --seed there are no further seeds.
            let plain = options.quick || options.replications.is_some() || options.seed.is_some();
            let budget = if plain { 0 } else { options.further * 1_000_000_000 };
            runs(&library, &selection, &store(&options.out)?, budget, &rows)?
        }
    };
    let (evidence, rows) = match older {
        Some(mut all) => {
            let known = |folder: &str, name: &str| {
                library
                    .papers
                    .iter()
                    .any(|paper| paper.folder == folder && paper.experiments.contains_key(name))
            };
            all.update(evidence, known);
            let rows = judge(&library, &all, not_run);
            (all, rows)
        }
        None => {
            let rows = rows(&evidence);
            (evidence, rows)
        }
    };
    let written = match &what {
        What::Line(_) if options.update.is_none() => write_picture(&options.out, &rows)?,
        _ => write_pages(&options.out, &library, &evidence, &rows)?,
    };
    if options.json {
        return print(&json_line(&rows));
    }
    let text = match &what {
        What::Line(_) if options.update.is_none() => {
            rows.iter().map(|row| explained(row, &library)).collect()
        }
        _ => listed(&rows),
    };
    show(&(text + "\n" + &places(&written)))
}

/// Scores the readings of a paper, of all its tables or of one part. Its runs are kept in the store, like all others.
fn readings(
    options: &Options,
    part: &str,
    library: &Library,
    what: &What,
    memory: Option<u64>,
) -> Result<(), Failure> {
    let with = || {
        let all = library.papers.iter().filter(|paper| !paper.readings.is_empty());
        all.map(|paper| paper.about.key.as_str()).collect::<Vec<_>>().join(", ")
    };
    let wrong = |problem: &str| {
        wrong_at(format!("ID {}", quoted(&clipped(&options.what))), problem)
            .expecting(format!("a paper that has readings: {}", with()))
    };
    let What::Paper(folder) = what else { return Err(wrong("--readings scores a whole paper").into()) };
    let paper = library.papers.iter().find(|paper| paper.folder == *folder).expect("it was found before");
    if paper.readings.is_empty() {
        return Err(wrong("the paper has no readings").into());
    }
    let parts = || paper.readings.keys().map(String::as_str);
    if !part.is_empty() && parts().all(|known| known != part) {
        let known: Vec<String> = parts().filter(|known| !known.is_empty()).map(quoted).collect();
        let expected = match known.is_empty() {
            true => "--readings without a part: the paper has one table".to_owned(),
            false => format!("one of: {}", known.join(", ")),
        };
        let problem = format!("the paper has no readings-{}.toml", clipped(part));
        return Err(wrong_at("--readings", problem).expecting(expected).near(nearest(part, parts())).into());
    }
    let mut tables = vec![];
    match &options.results {
        Some(file) => tables.push(read_scores(file, paper, part)?),
        None => {
            let store = store(&options.out)?;
            for part in parts().filter(|known| part.is_empty() || *known == part) {
                let bar = Bar::new();
                let table = score(&Simulator, library, paper, part, &store, provenance(), memory, &bar);
                tables.push(table.map_err(Failure::new)?);
            }
        }
    }
    let mut files = Folder::open(&options.out)?;
    let mut all = vec![];
    for scores in tables {
        let part = scores.part.as_str();
        let (json, page) = (readings_json(&scores), readings_page(library, &scores));
        files.stage(&readings_file(folder, part), |file| file.write_all(json.as_bytes()))?;
        let name = format!("{}.md", readings_stem(folder, part));
        files.stage(&name, |file| file.write_all(page.as_bytes()))?;
        all.push(scores);
    }
    let written = files.commit()?;
    if options.json {
        return print(&json_line(&all));
    }
    let tables: Vec<String> = all.iter().map(scored).collect();
    show(&(tables.join("\n") + "\n" + &places(&written)))
}

/// Version and command for results. The hashes of the sources stay the same while a commit is moved, and identify what ran: two
/// programs that have the same ones make the same runs.
fn provenance() -> Provenance {
    let sources = version(&Simulator);
    let version =
        format!("{}, sources {}", env!("FIRSTFLIGHT_VERSION"), sources.trim_end_matches(" simulator"));
    Provenance { version, command: command_line() }
}

/// Table of the readings of one part.
fn scored(scores: &Scores) -> String {
    use Align::{Left, Right};
    let rows: Vec<[String; 5]> = scores
        .readings
        .iter()
        .map(|one| {
            let (held, of) = one.held();
            let note = match (one.printed, scores.best() == Some(one)) {
                (true, true) => "as printed, best",
                (true, false) => "as printed",
                (false, true) => "best",
                (false, false) => "",
            };
            [
                one.taken.join("; "),
                format!("{held} of {of}"),
                format!("{} of {}", one.matching(), one.lines.len()),
                one.fitted.to_string(),
                note.into(),
            ]
        })
        .collect();
    let columns = [("reading", Left), ("statements", Right), ("lines", Right), ("fitted", Right), ("", Left)];
    table(columns, &rows)
}

/// Makes the runs of `selection`, and further ones for undecided statements within `budget` packet hops.
fn runs(
    library: &Library,
    selection: &Selection<'_>,
    store: &Store,
    mut budget: u64,
    rows: &dyn Fn(&Evidence) -> Vec<Judged>,
) -> Result<Evidence, Failure> {
    let mut known = Replications::new();
    loop {
        let provenance = provenance();
        let selection = Selection { more: Some(&known), ..*selection };
        let evidence =
            run(&Simulator, library, &selection, store, provenance, &Bar::new()).map_err(Failure::new)?;
        let (more, cost) = next(library, &evidence, &rows(&evidence), &known, budget);
        if more == known {
            return Ok(evidence);
        }
        (known, budget) = (more, budget - cost);
    }
}

/// Writes the picture of each line.
fn write_picture(out: &Path, rows: &[Judged]) -> Result<Vec<PathBuf>, Failure> {
    let mut folder = Folder::open(out)?;
    for row in rows {
        if let Some(svg) = picture_of(row) {
            folder.stage(&format!("{IMAGES}/{}.svg", row.id), |file| file.write_all(svg.as_bytes()))?;
        }
    }
    Ok(folder.commit()?)
}

/// Writes the HTML page, the results, and the Markdown pages with pictures.
fn write_pages(
    out: &Path,
    library: &Library,
    evidence: &Evidence,
    rows: &[Judged],
) -> Result<Vec<PathBuf>, Failure> {
    let files = pages(library, evidence, rows).map_err(Failure::new)?;
    let mut folder = Folder::open(out)?;
    folder.stage("index.html", |file| file.write_all(html(&files).as_bytes()))?;
    folder.stage(RESULTS, |file| file.write_all(results(evidence).as_bytes()))?;
    folder.stage(VERDICTS, |file| file.write_all(verdicts(rows).as_bytes()))?;
    for (name, text) in &files {
        folder.stage(name, |file| file.write_all(text.as_bytes()))?;
    }
    Ok(folder.commit()?)
}

/// Reads the selection on the command line.
fn what(word: &str, library: &Library) -> Result<What, Failure> {
    if word == "all" {
        return Ok(What::All);
    }
    let is = |known: &str| known.eq_ignore_ascii_case(word);
    if let Some(paper) = library.papers.iter().find(|paper| is(&paper.about.key) || is(&paper.folder)) {
        return Ok(What::Paper(paper.folder.clone()));
    }
    if let Some(target) = library.targets.iter().find(|target| is(&target.id)) {
        return Ok(What::Line(target.id.clone()));
    }
    let papers = library.papers.iter().map(|paper| paper.about.key.as_str());
    let known: Vec<&str> = papers.clone().chain(library.targets.iter().map(|t| t.id.as_str())).collect();
    let expected =
        format!("\"all\", a paper ({}) or a line of the target list", papers.collect::<Vec<_>>().join(", "));
    let wrong =
        wrong_at(format!("ID {}", quoted(&clipped(word))), "neither a paper nor a line of the target list")
            .expecting(expected);
    Err(wrong.near(nearest(&word.to_uppercase(), known.iter().copied())).into())
}

/// Largest file of results, bytes: twenty times that of all papers.
const LARGEST: u64 = 64 << 20;

/// Reads a table of readings that was measured before; of `part`, unless that is empty.
fn read_scores(file: &Path, paper: &Paper, part: &str) -> Result<Scores, Failure> {
    let scores: Scores = read_json(file, "a table's JSON file of `firstflight reproduce --readings`")?;
    let wrong = |why: String| wrong_at(file.display(), why);
    if scores.paper != paper.folder || !(part.is_empty() || part == scores.part) {
        let of = |folder: &str, part: &str| match part {
            "" => format!("{folder}/readings.toml"),
            part => format!("{folder}/readings-{part}.toml"),
        };
        return Err(wrong(format!(
            "it has the scores of {}",
            of(&clipped(&scores.paper), &clipped(&scores.part))
        ))
        .expecting(format!("those of {}", of(&paper.folder, part)))
        .into());
    }
    let marked = paper.readings.get(&scores.part).and_then(|readings| scores.marked(readings));
    marked.ok_or_else(|| {
        wrong("it has other choices, points or lines than the paper's files".into())
            .expecting("a table of these choices: run --readings without --results")
            .into()
    })
}

/// Reads results that were measured before.
fn read_results(file: &Path) -> Result<Evidence, Failure> {
    read_json(file, "a results.json of `firstflight reproduce`")
}

fn read_json<T: DeserializeOwned>(file: &Path, expected: &str) -> Result<T, Failure> {
    let wrong = |why: &dyn Display| wrong_at(file.display(), why).expecting(expected);
    let mut bytes = vec![];
    let read = open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| wrong_at(file.display(), format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(wrong(&format!("larger than {} MiB", LARGEST >> 20)).into());
    }
    Ok(serde_json::from_slice(&bytes).map_err(|error| wrong(&error))?)
}

/// The store of finished runs, in the output folder. Damaged records are reported.
fn store(folder: &Path) -> Result<Store, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot write into {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let file = folder.join("runs.jsonl");
    let store = Store::open(&file, &version(&Simulator)).map_err(Failure::new)?;
    let named = |damage: &Damage| match &damage.run {
        Some(run) => format!("line {} (run {run})", damage.line),
        None => format!("line {}", damage.line),
    };
    if let Some(names) = list(store.damage(), named) {
        let file = file.display();
        complain(format_args!("warning: {file}: damaged records: {names}; their runs are made again"));
    }
    Ok(store)
}

/// At most eight items, joined by commas, and the number of the others; `None` without items.
fn list<T>(items: &[T], name: impl Fn(&T) -> String) -> Option<String> {
    const MOST: usize = 8;
    let names: Vec<String> = items.iter().take(MOST).map(name).collect();
    let others = match items.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!items.is_empty()).then(|| names.join(", ") + &others)
}

fn listed(rows: &[Judged]) -> String {
    use Align::Left;
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let cut = |text: &str| match text.char_indices().nth(60) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text.to_owned(),
            };
            [row.id.clone(), row.place.clone(), cut(&row.expected), cut(&row.measured), row.title()]
        })
        .collect();
    let columns = [("line", Left), ("where", Left), ("paper", Left), ("here", Left), ("verdict", Left)];
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let counts: Vec<String> =
        Verdict::ALL.iter().map(|one| format!("{} {}", count(*one), one.title())).collect();
    table(columns, &cells) + &format!("\n{}. firstflight reproduce ID explains one.\n", counts.join(", "))
}

fn explained(row: &Judged, library: &Library) -> String {
    let mut out = format!("{} ({}): {}\n\npaper  {}\n", row.id, row.place, row.title(), row.expected);
    if !row.measured.is_empty() {
        out += &format!("here   {}\n", row.measured);
    }
    if !row.why.is_empty() {
        out += &format!("\n{}\n", row.why);
    }
    if let Some(revised) = &row.revised {
        out += &format!("\nChanged after results had been seen: {revised}\n");
    }
    for fitted in &row.fitted {
        out += &format!("\nFitted to {}: {}.\n", fitted.to.join(", "), fitted.value);
    }
    if let Some(share) = row.single {
        out += &format!("\n{} of {} single runs show every statement at once.\n", share.show, share.of);
    }
    row.statements.iter().for_each(|one| out += &checked(one));
    for (title, statements) in [
        ("With the cause in place:", &row.turns),
        ("Evidence for the cause:", &row.because),
        ("The paper's own set-up:", &row.refutation),
    ] {
        if !statements.is_empty() {
            out += &format!("\n{title}\n");
            statements.iter().for_each(|one| out += &checked(one));
        }
    }
    let Some((paper, _)) = library.claim(&row.id) else { return out };
    for name in &row.experiments {
        let experiment = &paper.experiments[name];
        let axes: Vec<String> =
            experiment.axes.iter().map(|axis| format!("{} {}", axis.points.len(), axis.name)).collect();
        out += &format!(
            "\nExperiment {name}: {}\n  papers/{}/scenarios/{}, {} replications of {}\n",
            experiment.title,
            paper.folder,
            experiment.scenario,
            experiment.replications,
            if axes.is_empty() { "it".into() } else { axes.join(" x ") },
        );
        if !experiment.about.is_empty() {
            out += &format!("  {}\n", experiment.about);
        }
    }
    out
}

fn checked(one: &Checked) -> String {
    use Align::{Left, Right};
    let mut out = format!("\n`{}` {}\n", one.that, one.finding());
    if let Some(problem) = &one.problem {
        return out + problem + "\n";
    }
    let row = |point: &PointOf| {
        let outcome = point.outcome.word().to_owned();
        [
            point.at.join(", "),
            point.paper(),
            point.ns2(),
            point.paired(),
            point.here(),
            point.interval(),
            point.one_run(),
            outcome,
        ]
    };
    let rows: Vec<[String; 8]> = one.points.iter().map(row).collect();
    let columns = [
        ("at", Left),
        ("paper", Right),
        ("ns-2", Right),
        (&one.paired().unwrap_or_default(), Right),
        ("here", Right),
        ("95 %", Right),
        ("one run", Right),
        ("holds", Left),
    ];
    out += &table(columns, &rows);
    out
}
