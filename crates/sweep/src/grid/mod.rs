//! A grid: the file of a sweep, `GRID.toml`. docs/sweeps.md has the format.

mod format;

use std::collections::BTreeMap;

use firstflight_document::quantity::{parse_bytes, show_bytes};
use firstflight_document::{Error, Item, Problem, Table, nearest, quoted, reference, schema};
use firstflight_scenario::preset::PRESETS;
use firstflight_scenario::scheme::BUILT_IN;
use firstflight_scenario::{Candidate, Profile};
use toml::Value;

use super::sample::{Sampler, Spread};
use super::unit::Unit;
use super::{Axis, Point, digest, wrong};

/// Largest number of cells, and of points of a sample.
pub(super) const CELLS: u64 = 100_000_000;
/// Largest number of replications.
pub(super) const REPLICATIONS: u64 = 1_000_000;
/// Largest number of rows of a part.
pub(super) const ROWS: u64 = 1_000_000;
/// Measures whose interval can end the replications, and whose Sobol indices can be computed: columns of the table `sweep`.
pub const MEASURES: &[&str] = &[
    "completion_s",
    "goodput_bit_s",
    "retransmits",
    "timeouts",
    "lost_packets",
    "drops",
    "max_cwnd_packets",
];

/// Name of the transfer that is added to a base without `[[flow]]`.
const TRANSFER: &str = "transfer";
/// Its size.
const TRANSFER_SIZE: u64 = 300_000;

/// A sweep as data: nothing of it is on another file once it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Name of the file in errors.
    pub file: String,
    /// Title.
    pub title: String,
    /// The base scenario.
    pub base: toml::Table,
    /// Name of the `[[flow]]` that has the schemes and sizes; `None` for the first.
    pub flow: Option<String>,
    /// Schemes of every cell; empty for that of the scenario.
    pub schemes: Vec<Candidate>,
    /// Sizes of the transfers, bytes; empty for that of the scenario.
    pub sizes: Vec<u64>,
    /// Seed of the first replication; `None` for that of the scenario.
    pub seed: Option<u64>,
    /// Whether every cell has seeds of its own.
    pub own_seeds: bool,
    /// Replications.
    pub replications: Replications,
    /// Largest number of rows of a part; `None` for about a second of work.
    pub rows_per_part: Option<u64>,
    /// Factors, crossed; the last varies fastest.
    pub factors: Vec<Axis>,
    /// Sampled factors, which vary faster than all others.
    pub sample: Option<Sample>,
}

/// Number of runs of each cell, scheme and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replications {
    /// This number, at least one.
    Fixed(u32),
    /// Until an interval is narrow.
    Until {
        /// Least number.
        least: u32,
        /// Largest number.
        most: u32,
        /// Column of the table `sweep`.
        measure: &'static str,
        /// Largest half-width of the interval as a share of the mean.
        within: f64,
    },
}

impl Replications {
    /// Largest number.
    pub const fn most(self) -> u32 {
        match self {
            Self::Fixed(number) => number,
            Self::Until { most, .. } => most,
        }
    }
}

/// Points drawn from ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    spread: Spread,
    points: u64,
    seed: u64,
    pub(super) ranges: Vec<Span>,
}

/// The range of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) key: String,
    pub(super) unit: Unit,
    ends: [Value; 2],
    low: f64,
    high: f64,
    log: bool,
}

impl Span {
    /// The value at a share of the range, from 0 to 1.
    pub(super) fn at(&self, share: f64) -> Value {
        let number = match self.log {
            true => self.low * libm::pow(self.high / self.low, share),
            false => self.low + share * (self.high - self.low),
        };
        self.unit.show(number)
    }
}

impl Sample {
    /// The sampled keys, if the points are those from which Sobol indices are computed.
    pub fn keys_of_indices(&self) -> Option<Vec<&str>> {
        let keys = || self.ranges.iter().map(|span| span.key.as_str()).collect();
        (self.spread == Spread::Saltelli).then(keys)
    }

    pub(super) fn sampler(&self) -> Sampler {
        Sampler::new(self.spread, self.ranges.len(), self.points, self.seed)
    }
}

impl Grid {
    /// Reads the text of a grid; `file` is its name in errors. `open` gives the text of the scenario file that the base names.
    ///
    /// # Errors
    /// The first [`Error`] found: place, problem, expected values, nearest valid name.
    pub fn parse(
        text: &str,
        file: &str,
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Error> {
        // Once with the places of all keys, and once for values that are no quantity of the grid's own.
        let mut raw = text.parse::<toml::Table>().unwrap_or_default();
        firstflight_document::read(text, file, &format::ROOT, |root| read(root, &mut raw, file, open))
    }

    /// The grid as text that names no other file. Equal grids have equal texts, and [`Grid::parse`] reads the text back.
    pub fn to_toml(&self) -> String {
        let mut root = toml::Table::new();
        let mut set = |name: &str, value: Value| drop(root.insert(name.into(), value));
        set("title", self.title.clone().into());
        set("base", Value::Table(self.base.clone()));
        if let Some(flow) = &self.flow {
            set("flow", flow.clone().into());
        }
        if !self.schemes.is_empty() {
            set("schemes", self.schemes.iter().map(Candidate::label).collect::<Vec<_>>().into());
        }
        if !self.sizes.is_empty() {
            set("sizes", self.sizes.iter().map(|&size| show_bytes(size)).collect::<Vec<_>>().into());
        }
        if let Some(seed) = self.seed {
            set("seed", Value::Integer(seed.cast_signed()));
        }
        set("seeds", if self.own_seeds { "own" } else { "common" }.into());
        set("replications", self.replications.to_value());
        if let Some(rows) = self.rows_per_part {
            set("rows_per_part", Value::Integer(rows.cast_signed()));
        }
        if !self.factors.is_empty() {
            set("factor", self.factors.iter().map(factor_value).collect::<Vec<_>>().into());
        }
        if let Some(sample) = &self.sample {
            set("sample", sample.to_value());
        }
        root.to_string()
    }

    /// SHA-256 of [`Grid::to_toml`], in hexadecimal. A file name of the grid or of its base is no part of it.
    pub fn hash(&self) -> String {
        digest([self.to_toml().as_str()])
    }
}

/// A table of these entries.
fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Table(entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The factor in its general form: the keys and their values.
fn factor_value(axis: &Axis) -> Value {
    let keys = axis.points.first().map(|point| point.set.keys()).into_iter().flatten();
    let values = |key: &String| axis.points.iter().map(|point| point.set[key].clone()).collect::<Vec<_>>();
    let zip: toml::Table = keys.map(|key| (key.clone(), values(key).into())).collect();
    table([("zip", Value::Table(zip))])
}

impl Replications {
    fn to_value(self) -> Value {
        match self {
            Self::Fixed(number) => Value::Integer(number.into()),
            Self::Until { least, most, measure, within } => table([
                ("least", Value::Integer(least.into())),
                ("most", Value::Integer(most.into())),
                ("measure", measure.into()),
                ("within", within.into()),
            ]),
        }
    }
}

impl Sample {
    fn to_value(&self) -> Value {
        let range = |span: &Span| {
            let [low, high] = span.ends.clone();
            let scale = if span.log { "log" } else { "linear" };
            table([("key", span.key.clone().into()), ("low", low), ("high", high), ("scale", scale.into())])
        };
        table([
            ("kind", self.spread.word().into()),
            ("points", Value::Integer(self.points.cast_signed())),
            ("seed", Value::Integer(self.seed.cast_signed())),
            ("range", self.ranges.iter().map(range).collect::<Vec<_>>().into()),
        ])
    }
}

impl Spread {
    const ALL: [Self; 3] = [Self::LatinHypercube, Self::Sobol, Self::Saltelli];

    fn word(self) -> &'static str {
        format::KINDS[Self::ALL.iter().position(|one| *one == self).expect("all are there")]
    }

    fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
}

fn read(
    root: &Table<'_>,
    raw: &mut toml::Table,
    file: &str,
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Grid, Error> {
    let title = root.get("title").map_or(Ok(""), |item| item.text())?.to_owned();
    let sizes = root.get("sizes").map(|item| sizes(&item)).transpose()?.unwrap_or_default();
    let mut base = base(&root.need("base")?, raw.remove("base"), open)?;
    let profile = root.get("profile").map_or(Ok(Profile::Linux.word()), |item| item.word())?;
    if !base.contains_key("flow") {
        let size = sizes.first().copied().unwrap_or(TRANSFER_SIZE);
        let flow = [("name", TRANSFER), ("profile", profile), ("size", &show_bytes(size))];
        base.insert("flow".into(), vec![table(flow.map(|(key, value)| (key, value.into())))].into());
    } else if let Some(item) = root.get("profile") {
        return Err(item.invalid("the base has a [[flow]], whose own profile is used"));
    }
    let flow = root.get("flow").map(|item| item.text().map(str::to_owned)).transpose()?;
    let stack = profile_of(&base, flow.as_deref());
    Ok(Grid {
        file: file.into(),
        title,
        base,
        flow,
        schemes: root.get("schemes").map(|item| schemes(&item, stack)).transpose()?.unwrap_or_default(),
        sizes,
        seed: root.get("seed").map(|item| item.integer()).transpose()?,
        own_seeds: root.get("seeds").map(|item| item.word()).transpose()? == Some(format::SEEDS[1]),
        replications: root
            .get("replications")
            .map_or(Ok(Replications::Fixed(1)), |item| replications(&item))?,
        rows_per_part: root.get("rows_per_part").map(|item| item.integer()).transpose()?,
        factors: factors(root, raw)?,
        sample: root.get("sample").map(|item| sample(&item, raw.get("sample"))).transpose()?,
    })
}

/// The base document.
fn base(
    item: &Item<'_>,
    raw: Option<Value>,
    open: &dyn Fn(&str) -> Result<String, String>,
) -> Result<toml::Table, Error> {
    if let Some(Value::Table(inline)) = raw {
        return Ok(inline);
    }
    const EXPECTED: &str = "a path preset, the name of a scenario file, or a table [base]";
    let name = item.text().map_err(|error| error.expecting(EXPECTED))?;
    if let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) {
        return Ok(preset.text.parse().expect("every preset is read by a test"));
    }
    let text = open(name).map_err(|why| {
        let near = nearest(name, PRESETS.iter().map(|preset| preset.name));
        item.fail(Problem::Unreadable(why)).expecting(EXPECTED).near(near)
    })?;
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        wrong(format!("{name}:{line}"), error.message())
    })
}

/// The elements of an array that is not empty.
fn filled<'a>(item: &Item<'a>) -> Result<Vec<Item<'a>>, Error> {
    let elements = item.elements().map_err(|error| error.expecting("an array"))?;
    if elements.is_empty() {
        return Err(item.invalid("empty; at least one value belongs here"));
    }
    Ok(elements)
}

/// Refuses an element that stands twice.
fn distinct<T: PartialEq>(items: &[Item<'_>], values: &[T]) -> Result<(), Error> {
    let twice = (1..values.len()).find(|&at| values[..at].contains(&values[at]));
    twice.map_or(Ok(()), |at| Err(items[at].invalid("given twice")))
}

/// The stack of the flow that has the schemes: the one of this name, or the first.
fn profile_of(base: &toml::Table, flow: Option<&str>) -> Profile {
    let flows = base.get("flow").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |flow: &Value, key: &str| flow.get(key).and_then(Value::as_str).map(str::to_owned);
    let chosen = flows.iter().find(|it| flow.is_none_or(|name| text(it, "name").as_deref() == Some(name)));
    let word = chosen.and_then(|flow| text(flow, "profile"));
    word.and_then(|word| Profile::from_word(&word)).unwrap_or(Profile::Rfc)
}

fn schemes(item: &Item<'_>, profile: Profile) -> Result<Vec<Candidate>, Error> {
    let items = filled(item)?;
    let of = |item: &Item<'_>| {
        let text = item.text()?;
        Candidate::parse_on(text, BUILT_IN, profile).map_err(|error| {
            let mut failed = item.fail(error.problem.clone()).near(error.nearest.as_deref());
            if let Some(expected) = &error.expected {
                failed = failed.expecting(expected);
            }
            failed
        })
    };
    let all = items.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    distinct(&items, &all)?;
    Ok(all)
}

fn sizes(item: &Item<'_>) -> Result<Vec<u64>, Error> {
    let items = filled(item)?;
    let of = |item: &Item<'_>| match parse_bytes(item.text()?) {
        Ok(0) => Err(item.fail(Problem::Invalid("zero".into()))),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(item.fail(error.problem.clone())),
    };
    let all = items.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    distinct(&items, &all)?;
    Ok(all)
}

fn replications(item: &Item<'_>) -> Result<Replications, Error> {
    let table = match item.table(&format::UNTIL) {
        Ok(table) => table,
        Err(error) if matches!(error.problem, Problem::WrongType(_)) => {
            return Ok(Replications::Fixed(item.integer()? as u32));
        }
        Err(error) => return Err(error),
    };
    let most = table.need("most")?;
    let (least_item, most_number) = (table.get("least"), most.integer()?);
    let least = least_item.as_ref().map_or(Ok(10.min(most_number)), |item| item.integer())?;
    if least > most_number {
        return Err(most.invalid(format!("below the least number, {least}")));
    }
    let measure = table.get("measure").map_or(Ok(MEASURES[0]), |item| item.word())?;
    let within = table.get("within").map_or(Ok(0.05), |item| item.number())?;
    Ok(Replications::Until { least: least as u32, most: most_number as u32, measure, within })
}

fn factors(root: &Table<'_>, raw: &toml::Table) -> Result<Vec<Axis>, Error> {
    let Some(item) = root.get("factor") else { return Ok(vec![]) };
    let raw = raw.get("factor").and_then(Value::as_array).cloned().unwrap_or_default();
    let elements = item.elements()?;
    let mut axes: Vec<Axis> = vec![];
    for (item, raw) in elements.iter().zip(&raw) {
        let axis = factor(&item.table(&format::FACTOR)?, raw)?;
        let keys = |axis: &Axis| axis.points[0].set.keys().cloned().collect::<Vec<_>>();
        let earlier: Vec<String> = axes.iter().flat_map(keys).collect();
        if let Some(key) = keys(&axis).iter().find(|key| earlier.contains(key)) {
            return Err(item.invalid(format!("the key {key} is in two factors")));
        }
        axes.push(axis);
    }
    Ok(axes)
}

fn factor(table: &Table<'_>, raw: &Value) -> Result<Axis, Error> {
    let given = [table.get("key"), table.get("values"), table.get("zip")];
    let keys: Vec<(String, Vec<Value>)> = match &given {
        [Some(key), Some(values), None] => {
            filled(values)?;
            let raw = raw.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
            vec![(key.text()?.to_owned(), raw)]
        }
        [None, None, Some(zip)] => {
            let empty = || zip.invalid("no key; at least one key with its values belongs here");
            let keys = raw.get("zip").and_then(Value::as_table).ok_or_else(|| {
                zip.fail(Problem::WrongType("this is no table"))
                    .expecting("a table of keys, each with an array of values")
            })?;
            let values = |(key, value): (&String, &Value)| match value {
                Value::Array(values) if !values.is_empty() => Ok((key.clone(), values.clone())),
                _ => Err(zip.invalid(format!("{} has no array of values", quoted(key)))),
            };
            let keys = keys.iter().map(values).collect::<Result<Vec<_>, _>>()?;
            let first = keys.first().ok_or_else(empty)?;
            if let Some((key, values)) = keys.iter().find(|(_, values)| values.len() != first.1.len()) {
                let (number, other) = (values.len(), first.1.len());
                return Err(zip.invalid(format!(
                    "{number} values for {key} and {other} for {}; each key has as many as the others",
                    first.0
                )));
            }
            keys
        }
        _ => {
            let names = ["key", "values", "zip"].into_iter().zip(&given);
            let names: Vec<&str> = names.filter(|(_, item)| item.is_some()).map(|(name, _)| name).collect();
            let found = if names.is_empty() { "nothing".into() } else { names.join(" and ") };
            return Err(table.invalid(format!("{found} is given")).expecting("key and values, or zip"));
        }
    };
    let point = |at: usize| {
        let set: BTreeMap<String, Value> =
            keys.iter().map(|(key, values)| (key.clone(), values[at].clone())).collect();
        let name = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let names: Vec<String> = keys.iter().map(|(_, values)| name(&values[at])).collect();
        Point { name: names.join(", "), x: None, set, remove: vec![] }
    };
    let name = keys.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(", ");
    Ok(Axis { title: name.clone(), name, points: (0..keys[0].1.len()).map(point).collect() })
}

fn sample(item: &Item<'_>, raw: Option<&Value>) -> Result<Sample, Error> {
    let table = item.table(&format::SAMPLE)?;
    let spread = table.need("kind")?.choice(Spread::by_word)?;
    let points = table.need("points")?.integer()?;
    let range = table.need("range")?;
    let items = filled(&range)?;
    let most = Sampler::most(spread);
    if items.len() > most {
        return Err(range.invalid(format!("{} ranges; {} takes at most {most}", items.len(), spread.word())));
    }
    let raw =
        raw.and_then(|sample| sample.get("range")).and_then(Value::as_array).cloned().unwrap_or_default();
    let spans = items.iter().zip(&raw).map(|(item, raw)| span(&item.table(&format::RANGE)?, raw));
    let ranges = spans.collect::<Result<Vec<_>, _>>()?;
    distinct(&items, &ranges.iter().map(|span| &span.key).collect::<Vec<_>>())?;
    let seed = table.get("seed").map_or(Ok(1), |item| item.integer())?;
    Ok(Sample { spread, points, seed, ranges })
}

fn span(table: &Table<'_>, raw: &Value) -> Result<Span, Error> {
    let key = table.need("key")?.text()?.to_owned();
    let end = |name: &str| -> Result<_, Error> {
        let item = table.need(name)?;
        let value = raw.get(name).cloned().unwrap_or(Value::Boolean(false));
        let (unit, number) = Unit::read(&value);
        if unit == Unit::Word {
            return Err(item
                .fail(Problem::Invalid("no quantity and no number".into()))
                .expecting("such as \"10 ms\" or 0.01"));
        }
        Ok((item, value, unit, number))
    };
    let (low_item, low_value, low_unit, low) = end("low")?;
    let (high_item, high_value, high_unit, high) = end("high")?;
    let unit = low_unit.with(high_unit);
    if unit == Unit::Word {
        return Err(high_item.invalid("of another kind than the lower end"));
    }
    if low >= high {
        return Err(high_item.invalid("not above the lower end"));
    }
    let log = table.get("scale").map(|item| item.word()).transpose()? == Some(format::SCALES[1]);
    if log && low <= 0.0 {
        return Err(low_item.invalid("a logarithmic range begins above zero"));
    }
    Ok(Span { key, unit, ends: [low_value, high_value], low, high, log })
}

/// The JSON Schema of grids, as the text of a file. The base is described by that of scenarios.
pub fn schema_text() -> String {
    schema::schema_text(&schema::schema_of("Firstflight grid", format::SECTIONS))
}

/// `docs/sweeps.md` with its generated parts renewed.
///
/// # Panics
/// If a part does not exist.
pub fn refresh(page: &str) -> String {
    reference::renew(page, |name| match name {
        "tables" => reference::tables(format::SECTIONS),
        other => panic!("there is no generated part \"{other}\""),
    })
}
