//! The page `docs/results.md`: every table and every JSON object, from their declarations.

use std::fmt::Write as _;

use crate::column::{Column, Field, Record};
use crate::{
    Answer, AnswerAtSize, CapturedConnection, CapturedExit, CapturedRegisters, CapturedTransfer, Change,
    Comparison, Completion, ConnectionResult, Copies, Effect, EffectAtSize, EffectSide, EngineResult,
    FlowMeans, FlowResult, FlowRow, ForAllSizes, Harm, IdentifiedSender, IdentifiedStack, InputFile,
    KindWeight, LimitedBy, LinkMeans, LinkResult, LinkRow, Mean, MixShare, NetworkResult, NetworkRow,
    PairedDifference, PassedOver, PathEstimate, PathResult, Provenance, Recommended, Reordering,
    ReplicationRow, ResearchStart, ResultRow, Risk, RunMeans, RunResult, RunRow, SampleRow, SchemeResult,
    SobolIndex, StartupExit, SweepResult, SweepRow, Table, TypicalExit, Validity, WindowRow,
};

const HEAD: &str = "\
# Results

Every field of every result is declared once, in `crates/results`: the Rust struct, the JSON object, the Parquet and Arrow
columns and this page come from that declaration. `make regenerate` writes this page.

Sizes are application bytes; a packet is a full segment. Every number has its unit in its name. An absent value is null, never
zero. Every number is finite and within the range of its column.

## Tables

`firstflight run SCENARIO --out DIR` writes the tables `run`, `flow`, `link` and `sample` as Parquet files of those names;
`run` numbers the runs of `--runs N`, and every other table refers to it. `sample` has the time series of every flow of the
first run. `firstflight compare` writes the table `replication` as `results.parquet`; from a capture with several
networks of clients also the table `network` as `networks.parquet`. `firstflight sweep` writes the table `sweep` as a
dataset of several Parquet files ([sweeps](sweeps.md)). The Python package has every table in memory, the tables `result`, `window`
and `sweep` too ([Python](python.md)).
";

const OBJECTS: &str = "\
## JSON objects

`firstflight run --json` prints the object [run](#object-run), `firstflight compare --json` the object
[comparison](#object-comparison), `firstflight sweep --json` the object [sweep](#object-sweep), `firstflight connections --json` an array of
[captured connections](#object-captured-connection), `firstflight effect --json` the object [effect](#object-effect),
`firstflight identify --json` an array of [senders](#object-sender). Fields keep the order of these tables.
";

/// The page in Markdown.
pub fn page() -> String {
    let mut out = String::from(HEAD);
    table::<RunRow>(&mut out, "run");
    table::<FlowRow>(&mut out, "flow");
    table::<LinkRow>(&mut out, "link");
    table::<SampleRow>(&mut out, "sample");
    table::<ReplicationRow>(&mut out, "replication");
    table::<NetworkRow>(&mut out, "network");
    table::<ResultRow>(&mut out, "result");
    table::<WindowRow>(&mut out, "window");
    table::<SweepRow>(&mut out, "sweep");
    out += "\n";
    out += OBJECTS;
    OBJECTS_OF_JSON.iter().for_each(|object| out += &object.section());
    out
}

fn table<R: Record>(out: &mut String, name: &str) {
    let about = R::DOC.trim();
    let about = about.strip_prefix(&format!("Row of table `{name}`: ")).unwrap_or(about);
    let _ = write!(
        out,
        "\n### Table {name}\n\nA row is {about}\n\n| column | type | unit | range | null | meaning |\n|---|---|---|---|---|---|\n"
    );
    for Column { name, kind, unit, doc, nullable, range } in Table::columns_of::<R>() {
        let range = if kind.is_number() { range.word() } else { "" };
        let _ =
            writeln!(out, "| `{name}` | {} | {unit} | {range} | {} | {doc} |", kind.word(), null(nullable));
    }
}

/// An object of JSON.
pub(crate) struct Object {
    pub(crate) name: &'static str,
    doc: &'static str,
    pub(crate) fields: fn() -> Vec<Field>,
}

impl Object {
    const fn of<R: Record>() -> Self {
        Self { name: R::NAME, doc: R::DOC, fields: R::fields }
    }

    /// The section of the page.
    fn section(&self) -> String {
        let (name, about) = (self.name, self.doc.trim());
        let mut out = format!(
            "\n### Object {name}\n\n{about}\n\n| field | type | unit | range | null | meaning |\n|---|---|---|---|---|---|\n"
        );
        for Field { name, kind, unit, doc, nullable, range } in (self.fields)() {
            let range = if kind.contains("number") || kind.contains("integer") { range.word() } else { "" };
            let (kind, null, doc) = (linked(&kind), null(nullable), doc.trim());
            let _ = writeln!(out, "| `{name}` | {kind} | {unit} | {range} | {null} | {doc} |");
        }
        out
    }
}

/// Every object of JSON.
pub(crate) const OBJECTS_OF_JSON: &[Object] = &[
    Object::of::<RunResult>(),
    Object::of::<FlowResult>(),
    Object::of::<StartupExit>(),
    Object::of::<LinkResult>(),
    Object::of::<EngineResult>(),
    Object::of::<Validity>(),
    Object::of::<RunMeans>(),
    Object::of::<FlowMeans>(),
    Object::of::<LinkMeans>(),
    Object::of::<Mean>(),
    Object::of::<Comparison>(),
    Object::of::<PassedOver>(),
    Object::of::<PathResult>(),
    Object::of::<KindWeight>(),
    Object::of::<Reordering>(),
    Object::of::<PathEstimate>(),
    Object::of::<ConnectionResult>(),
    Object::of::<LimitedBy>(),
    Object::of::<Copies>(),
    Object::of::<SchemeResult>(),
    Object::of::<Completion>(),
    Object::of::<Harm>(),
    Object::of::<Risk>(),
    Object::of::<TypicalExit>(),
    Object::of::<PairedDifference>(),
    Object::of::<Answer>(),
    Object::of::<AnswerAtSize>(),
    Object::of::<ResearchStart>(),
    Object::of::<Recommended>(),
    Object::of::<ForAllSizes>(),
    Object::of::<NetworkResult>(),
    Object::of::<MixShare>(),
    Object::of::<Provenance>(),
    Object::of::<InputFile>(),
    Object::of::<CapturedConnection>(),
    Object::of::<CapturedExit>(),
    Object::of::<CapturedRegisters>(),
    Object::of::<CapturedTransfer>(),
    Object::of::<Effect>(),
    Object::of::<Change>(),
    Object::of::<EffectAtSize>(),
    Object::of::<EffectSide>(),
    Object::of::<IdentifiedSender>(),
    Object::of::<IdentifiedStack>(),
    Object::of::<SweepResult>(),
    Object::of::<SobolIndex>(),
];

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
