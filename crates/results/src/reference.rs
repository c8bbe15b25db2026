//! The page `docs/results.md`: every table and every JSON object, from their declarations.

use std::fmt::Write as _;

use crate::column::{Column, Field, Record};
use crate::{
    Comparison, Completion, ConnectionResult, EngineResult, FlowMeans, FlowResult, FlowRow, InputFile,
    LinkMeans, LinkResult, LinkRow, Mean, PairedDifference, PathEstimate, PathResult, Provenance,
    ReplicationRow, RunMeans, RunResult, RunRow, SampleRow, SchemeResult, StartupExit, Table, TypicalExit,
};

const HEAD: &str = "\
# Results

Every field of every result is declared once, in `crates/results`: the Rust struct, the JSON object, the Parquet and Arrow
columns and this page come from that declaration. `make regenerate` writes this page.

Sizes are application bytes; a packet is a full segment. Every number has its unit in its name. An absent value is null, never
zero.

## Tables

`firstflight run SCENARIO --out DIR` writes the tables `run`, `flow`, `link` and `sample` as Parquet files of those names;
`run` numbers the runs of `--runs N`, and every other table refers to it. `sample` has the time series of every flow of the
first run. `firstflight compare` writes the table `replication` as `results.parquet`.
";

const OBJECTS: &str = "\
## JSON objects

`firstflight run --json` prints the object [run](#object-run), `firstflight compare --json` the object
[comparison](#object-comparison). Fields keep the order of these tables.
";

/// The page in Markdown.
pub fn page() -> String {
    let mut out = String::from(HEAD);
    table::<RunRow>(&mut out, "run");
    table::<FlowRow>(&mut out, "flow");
    table::<LinkRow>(&mut out, "link");
    table::<SampleRow>(&mut out, "sample");
    table::<ReplicationRow>(&mut out, "replication");
    out += "\n";
    out += OBJECTS;
    object::<RunResult>(&mut out);
    object::<FlowResult>(&mut out);
    object::<StartupExit>(&mut out);
    object::<LinkResult>(&mut out);
    object::<EngineResult>(&mut out);
    object::<RunMeans>(&mut out);
    object::<FlowMeans>(&mut out);
    object::<LinkMeans>(&mut out);
    object::<Mean>(&mut out);
    object::<Comparison>(&mut out);
    object::<PathResult>(&mut out);
    object::<PathEstimate>(&mut out);
    object::<ConnectionResult>(&mut out);
    object::<SchemeResult>(&mut out);
    object::<Completion>(&mut out);
    object::<TypicalExit>(&mut out);
    object::<PairedDifference>(&mut out);
    object::<Provenance>(&mut out);
    object::<InputFile>(&mut out);
    out
}

fn table<R: Record>(out: &mut String, name: &str) {
    let about = R::DOC.trim();
    let about = about.strip_prefix(&format!("Row of table `{name}`: ")).unwrap_or(about);
    let _ = write!(
        out,
        "\n### Table {name}\n\nA row is {about}\n\n| column | type | unit | null | meaning |\n|---|---|---|---|---|\n"
    );
    for Column { name, kind, unit, doc, nullable } in Table::columns_of::<R>() {
        let _ = writeln!(out, "| `{name}` | {} | {unit} | {} | {doc} |", kind.word(), null(nullable));
    }
}

fn object<R: Record>(out: &mut String) {
    let (name, about) = (R::NAME, R::DOC.trim());
    let _ = write!(
        out,
        "\n### Object {name}\n\n{about}\n\n| field | type | unit | null | meaning |\n|---|---|---|---|---|\n"
    );
    for Field { name, kind, unit, doc, nullable } in R::fields() {
        let _ =
            writeln!(out, "| `{name}` | {} | {unit} | {} | {} |", linked(&kind), null(nullable), doc.trim());
    }
}

fn null(nullable: bool) -> &'static str {
    if nullable { "yes" } else { "" }
}

/// A type with a link to the object that it names.
fn linked(kind: &str) -> String {
    match kind.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once(']')?))) {
        Some((before, (name, after))) => {
            format!("{before}[{name}](#object-{}){after}", name.replace(' ', "-"))
        }
        None => kind.into(),
    }
}
