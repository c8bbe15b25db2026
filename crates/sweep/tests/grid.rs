//! Grids: their errors, their samples, their parts, and the dataset made of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use firstflight_hosts::progress::{Progress, Silent};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{Table, Value};
use firstflight_sweep::{Dataset, Error, Grid, Halt, Plan, Replications, schema_text, totals};

/// Two rates, two schemes, a lossy path.
const GRID: &str = r#"
title = "two rates"
schemes = ["slow-start+cubic", "hystart++ + cubic"]
sizes = ["30 KB"]
replications = 3
rows_per_part = 6
seed = 5

[base.path]
rate = "10 Mbit/s"
rtt = "20 ms"
buffer = "20 packets"
loss = 0.02

[[factor]]
key = "path.rate"
values = ["10 Mbit/s", "20 Mbit/s"]
"#;

pub(crate) fn grid() -> String {
    GRID.replace("hystart++ + cubic", "hystart+++cubic")
}

fn nothing(name: &str) -> Result<String, String> {
    Err(format!("there is no {name}"))
}

fn parse(text: &str) -> Result<Grid, Error> {
    Grid::parse(text, "grid.toml", &nothing)
}

fn parsed(text: &str) -> Grid {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn plan(text: &str) -> Plan {
    Plan::new(parsed(text)).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    let made = parse(text).and_then(Plan::new);
    let checked = made.and_then(|plan| plan.check(&Simulator, &totals(4_000_000_000)));
    checked.expect_err("refused").to_string()
}

pub(crate) fn part(plan: &Plan, part: u64, threads: usize) -> Table {
    let made = plan.part(part, &Simulator, &totals(4_000_000_000), threads, &Silent);
    made.unwrap_or_else(|halt| panic!("{halt:?}"))
}

pub(crate) fn column<'a>(table: &'a Table, name: &str) -> &'a [Value] {
    let at = table.columns.iter().position(|column| column.name == name);
    &table.values[at.unwrap_or_else(|| panic!("there is no column {name}"))]
}

pub(crate) fn numbers(table: &Table, name: &str) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Real(number) => *number,
        Value::Unsigned(number) => *number as f64,
        other => panic!("{name}: {other:?}"),
    };
    column(table, name).iter().map(number).collect()
}

fn all(plan: &Plan) -> Vec<Table> {
    (0..plan.parts()).map(|at| part(plan, at, 2)).collect()
}

#[test]
fn errors_name_the_place_the_value_and_the_nearest_name() {
    let text = grid();
    for (from, to, error) in [
        (
            "replications = 3",
            "replication = 3",
            "grid.toml:5:1: replication = 3: no such key; expected one of: title, ",
        ),
        (
            "replications = 3",
            "replications = 0",
            "grid.toml:5:16: replications = 0: out of range; expected a whole number from 1",
        ),
        (
            "slow-start+cubic",
            "slow-strat+cubic",
            "grid.toml:3:12: schemes[0] = \"slow-strat+cubic\": there is no scheme \"slow-strat\"",
        ),
        (
            "\"30 KB\"",
            "\"30\"",
            "grid.toml:4:10: sizes[0] = \"30\": the unit is missing; expected a size above zero",
        ),
        ("\"30 KB\"", "\"30 KB\", \"30 KB\"", "grid.toml:4:19: sizes[1] = \"30 KB\": given twice"),
        (
            "key = \"path.rate\"",
            "key = \"path.rat\"",
            "grid.toml: at 10 Mbit/s: path.rat = \"10 Mbit/s\": no such key; expected",
        ),
        (
            "\"20 Mbit/s\"]",
            "\"20 mbps\"]",
            "grid.toml: at 20 mbps: path.rate = \"20 mbps\": \"mbps\" is refused",
        ),
        (
            "values = [\"10 Mbit/s\", \"20 Mbit/s\"]",
            "values = []",
            "grid.toml:17:10: factor[0].values = []: empty",
        ),
        (
            "values = ",
            "vales = ",
            "grid.toml:17:1: factor[0].vales = [\"10 Mbit/s\", \"20 Mbit/s\"]: no such key; expected one of: key, values, zip",
        ),
        (
            "title = \"two rates\"",
            "flow = \"bulk\"",
            "grid.toml: flow = \"bulk\": the base has no such [[flow]]; expected one of: transfer",
        ),
        (
            "replications = 3",
            "replications = { most = 5, least = 7 }",
            "grid.toml:5:25: replications.most = 5: below the least number, 7",
        ),
        (
            "replications = 3",
            "replications = { mst = 5 }",
            "grid.toml:5:18: replications.mst = 5: no such key",
        ),
        (
            "key = \"path.rate\"",
            "key = \"cell\"",
            "grid.toml: at 10 Mbit/s: cell = \"10 Mbit/s\": no such key",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let found = refused(&text.replacen(from, to, 1));
        assert!(found.starts_with(error), "{to}:\n{found}\n{error}");
    }
    let near = refused(&text.replace("slow-start+", "slow-strat+"));
    assert!(near.ends_with("did you mean \"slow-start\"?"), "{near}");
    let base = refused("base = \"cabel\"\n");
    assert!(
        base.contains("grid.toml:1:8: base = \"cabel\": cannot be read: there is no cabel; expected"),
        "{base}"
    );
    assert!(base.ends_with("did you mean \"cable\"?"), "{base}");
}

#[test]
fn errors_of_samples_name_what_is_wrong() {
    let sample =
        |body: &str| format!("base = \"cable\"\n[sample]\n{body}\n[[sample.range]]\nkey = \"path.rtt\"\n");
    let sobol = sample("kind = \"sobol\"\npoints = 4");
    for (text, error) in [
        (sobol.clone() + "low = \"10 ms\"\n", "grid.toml:5:1: sample.range[0].high: missing"),
        (
            sobol.clone() + "low = \"10 ms\"\nhigh = \"5 ms\"\n",
            "grid.toml:8:8: sample.range[0].high = \"5 ms\": not above the lower end",
        ),
        (
            sobol.clone() + "low = \"10 ms\"\nhigh = \"5 KB\"\n",
            "grid.toml:8:8: sample.range[0].high = \"5 KB\": of another kind than the lower end",
        ),
        (
            sobol.clone() + "low = \"x\"\nhigh = \"5 KB\"\n",
            "grid.toml:7:7: sample.range[0].low = \"x\": no quantity and no number; expected such as",
        ),
        (
            sobol + "low = \"0 s\"\nhigh = \"5 s\"\nscale = \"log\"",
            "grid.toml:7:7: sample.range[0].low = \"0 s\": a logarithmic range begins above zero",
        ),
        (
            sample("kind = \"sobl\"\npoints = 4") + "low = \"1 s\"\nhigh = \"2 s\"",
            "grid.toml:3:8: sample.kind = \"sobl\": there is no \"sobl\"; expected one of: latin-hypercube, sobol, saltelli; did you mean \"sobol\"?",
        ),
    ] {
        let found = refused(&text);
        assert!(found.starts_with(error), "{text}\n{found}\n{error}");
    }
}

#[test]
fn the_written_grid_is_read_back_unchanged() {
    for text in [
        grid(),
        "base = \"lte\"\nreplications = { most = 40, measure = \"drops\" }\n[sample]\nkind = \"saltelli\"\npoints = 4\n\
         [[sample.range]]\nkey = \"path.rtt\"\nlow = \"10 ms\"\nhigh = \"1 s\"\nscale = \"log\"\n"
            .into(),
        grid() + "[[factor]]\nzip = { \"path.rtt\" = [\"10 ms\", \"20 ms\"], \"path.loss\" = [0.0, 0.5] }\n",
    ] {
        let grid = parsed(&text);
        let again = parsed(&grid.to_toml());
        assert_eq!((again.to_toml(), again.hash()), (grid.to_toml(), grid.hash()), "{text}");
    }
    // A table `[[factor]]` with key and values, and one with zip, are the same factor.
    let zipped = grid().replace("key = \"path.rate\"\nvalues = ", "zip = { \"path.rate\" = ") + "}\n";
    assert_eq!(parsed(&zipped.replace("]\n}", "] }")).hash(), parsed(&grid()).hash());
}

#[test]
fn every_scheme_of_a_cell_has_the_same_seeds() {
    let plan = plan(&grid());
    assert_eq!((plan.cells(), plan.runs(), plan.parts()), (2, 12, 2));
    for (at, table) in all(&plan).iter().enumerate() {
        assert_eq!(numbers(table, "cell"), [at as f64; 6]);
        assert_eq!(numbers(table, "seed"), [5.0, 5.0, 6.0, 6.0, 7.0, 7.0]);
        assert_eq!(numbers(table, "replication"), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
        let schemes: Vec<&Value> = column(table, "scheme").iter().collect();
        assert_eq!(
            schemes[..2],
            [&Value::Text("slow-start+cubic".into()), &Value::Text("hystart+++cubic".into())]
        );
        assert_eq!(numbers(table, "path_rate_bit_s"), [[10e6, 20e6][at]; 6]);
        assert_eq!(numbers(table, "size_bytes"), [30e3; 6]);
    }
    // With seeds of its own, a cell begins after the last seed of the cell before it.
    let own = self::plan(&(grid().replace("seed = 5", "seed = 5\nseeds = \"own\"")));
    assert_eq!(numbers(&part(&own, 1, 1), "seed"), [8.0, 8.0, 9.0, 9.0, 10.0, 10.0]);
}

#[test]
fn a_row_is_the_run_of_its_scenario_and_seed() {
    let table = part(&plan(&grid()), 1, 1);
    let scenario = "[path]\nrate = \"20 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"20 packets\"\nloss = 0.02\n[[flow]]\nname = \
                    \"transfer\"\nprofile = \"linux\"\nsize = \"30 KB\"\nstartup = \"hystart++\"\navoidance = \"cubic\"\n";
    let scenario = firstflight_scenario::Scenario::from_text(scenario).expect("a scenario");
    let run = firstflight_hosts::host::Host::run(&Simulator, &scenario, 6, &totals(4_000_000_000))
        .expect("a run")
        .result;
    assert_eq!(numbers(&table, "completion_s")[3], run.flows[0].completion_s.expect("it ends"));
    assert_eq!(numbers(&table, "packet_hops")[3], run.engine.packet_hops as f64);
}

#[test]
fn parts_do_not_depend_on_threads_and_cover_every_run_once() {
    let text = grid().replace("rows_per_part = 6", "rows_per_part = 4");
    let plan = plan(&text);
    assert_eq!(plan.parts(), 3);
    let mut seen = BTreeSet::new();
    for at in 0..plan.parts() {
        let one = part(&plan, at, 1);
        assert_eq!(part(&plan, at, 3), one);
        let seeds = numbers(&one, "seed");
        for (row, seed) in seeds.iter().enumerate() {
            let scheme = format!("{:?}", column(&one, "scheme")[row]);
            assert!(seen.insert((numbers(&one, "cell")[row] as u64, *seed as u64, scheme)));
        }
    }
    assert_eq!(seen.len(), 12);
}

#[test]
fn a_sampled_value_lies_in_its_range_and_the_file_has_the_value_that_was_run() {
    let text = "base = \"cable\"\nsizes = [\"3 KB\"]\n[sample]\nkind = \"latin-hypercube\"\npoints = 16\n[[sample.range]]\nkey = \
                \"path.rtt\"\nlow = \"10 ms\"\nhigh = \"160 ms\"\nscale = \"log\"\n[[sample.range]]\nkey = \"path.buffer\"\nlow = \
                \"0.5 BDP\"\nhigh = \"2 BDP\"\n";
    let table = part(&plan(text), 0, 1);
    let (rtts, buffers) = (numbers(&table, "path_rtt_s"), numbers(&table, "path_buffer_bdp"));
    // A slice of the logarithm is a factor of 16^(1/16) = 2^(1/4).
    let mut slices: Vec<u64> = rtts.iter().map(|rtt| ((rtt / 0.01).log2() * 4.0) as u64).collect();
    slices.sort_unstable();
    assert!(slices.into_iter().eq(0..16), "{rtts:?}");
    assert!(buffers.iter().all(|buffer| (0.5..2.0).contains(buffer)), "{buffers:?}");
    // No transfer is faster than one round trip.
    assert!(numbers(&table, "completion_s").iter().zip(&rtts).all(|(done, rtt)| done > rtt));
}

#[test]
fn replications_end_when_every_interval_is_narrow() {
    let text = grid().replace("replications = 3", "replications = { least = 4, most = 400, within = 0.1 }");
    let plan = plan(&text);
    assert!(matches!(plan.grid().replications, Replications::Until { least: 4, most: 400, .. }));
    for table in all(&plan) {
        let times = numbers(&table, "completion_s");
        let runs = times.len() / 2;
        assert!((4..400).contains(&runs), "{runs}");
        for scheme in 0..2 {
            let of: Vec<f64> = times.iter().copied().skip(scheme).step_by(2).collect();
            let (mean, interval) = firstflight_hosts::stats::mean_ci95(&of);
            assert!(interval.expect("several")[1] - mean <= 0.1 * mean, "{scheme} of {runs}");
            // One step earlier it was not narrow for both schemes: 4, 6, 9, 14, 21, 32, ...
        }
        let steps: Vec<usize> =
            std::iter::successors(Some(4_usize), |n| Some(n + n.div_ceil(2))).take(12).collect();
        assert!(steps.contains(&runs), "{runs}");
    }
    // A bound that cannot be kept: the most are run.
    let never =
        grid().replace("replications = 3", "replications = { least = 4, most = 9, within = 0.000001 }");
    assert_eq!(numbers(&part(&self::plan(&never), 0, 1), "seed").len(), 18);
}

/// A folder of its own, removed with the value.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("firstflight-dataset-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// Every file, by its path in the folder.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = vec![];
        let mut open = vec![self.0.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => open.push(path),
                    path => {
                        let content = std::fs::read(&path).expect("a file");
                        found.push((path.strip_prefix(&self.0).expect("within").to_owned(), content));
                    }
                }
            }
        }
        found.sort();
        found
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn make(folder: &Path, text: &str, parts: &[u64], threads: usize, progress: &dyn Progress) -> u64 {
    let plan = plan(text);
    let dataset = Dataset::open(folder, &plan, "version").unwrap_or_else(|error| panic!("{error}"));
    let open = dataset.state(parts.iter().copied()).expect("readable").open;
    let made = dataset.make(&plan, &open, (&Simulator, &totals(4_000_000_000), threads), progress);
    made.unwrap_or_else(|error| panic!("{error}")).parts
}

#[test]
fn a_dataset_has_the_same_bytes_for_any_order_and_is_made_once() {
    let text = grid().replace("rows_per_part = 6", "rows_per_part = 4");
    let (one, other) = (Scratch::new("order"), Scratch::new("reverse"));
    assert_eq!(make(&one.0, &text, &[0, 1, 2], 1, &Silent), 3);
    for at in [2, 0, 1] {
        assert_eq!(make(&other.0, &text, &[at], 3, &Silent), 1);
    }
    assert_eq!(one.files(), other.files());
    assert_eq!(one.files().len(), 4, "three parts and the manifest");
    assert_eq!(make(&one.0, &text, &[0, 1, 2], 1, &Silent), 0, "nothing is left");
}

#[test]
fn a_damaged_part_and_one_of_another_version_are_named_and_made_again() {
    let text = grid();
    let scratch = Scratch::new("damage");
    make(&scratch.0, &text, &[0, 1], 1, &Silent);
    let whole = scratch.files();
    let dataset = Dataset::open(&scratch.0, &plan(&text), "version").expect("its own");
    for (path, content) in whole.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "parquet")) {
        let path = scratch.0.join(path);
        for cut in [0, content.len() / 2, content.len() - 1] {
            std::fs::write(&path, &content[..cut]).expect("writable");
            let state = dataset.state(0..2).expect("readable");
            assert_eq!((state.open.len(), state.refused.len()), (1, 1), "{cut}");
            assert!(
                state.refused[0].starts_with(&*path.to_string_lossy())
                    && state.refused[0].contains("damaged")
            );
        }
        let mut flipped = content.clone();
        flipped[content.len() / 3] ^= 4;
        std::fs::write(&path, flipped).expect("writable");
        assert_eq!(make(&scratch.0, &text, &[0, 1], 1, &Silent), 1);
        assert_eq!(scratch.files(), whole);
        // The part of another version has another key.
        let other = path.with_file_name(format!("{}-0123456789abcdef.parquet", "0".repeat(16)));
        std::fs::rename(&path, &other).expect("movable");
        let refused = dataset.state(0..2).expect("readable").refused;
        assert!(
            refused.len() == 1 && refused[0].ends_with("of another version, grid or part"),
            "{refused:?}"
        );
        assert_eq!(make(&scratch.0, &text, &[0, 1], 1, &Silent), 1);
        assert_eq!(scratch.files(), whole);
    }
}

#[test]
fn a_folder_with_another_dataset_is_refused_and_stays() {
    let scratch = Scratch::new("other");
    make(&scratch.0, &grid(), &[0], 1, &Silent);
    let whole = scratch.files();
    let refused = |text: &str, version: &str| {
        Dataset::open(&scratch.0, &plan(text), version).expect_err("another").to_string()
    };
    let manifest = scratch.0.join("_sweep.json").display().to_string();
    let grid_error = refused(&grid().replace("30 KB", "31 KB"), "version");
    assert!(grid_error.starts_with(&format!("{manifest}: the dataset is of another grid: ")), "{grid_error}");
    let version_error = refused(&grid(), "next");
    let expected = format!(
        "{manifest}: the dataset is of another version: version, and this is next; expected another folder"
    );
    assert!(version_error.starts_with(&expected), "{version_error}");
    assert_eq!(scratch.files(), whole);
    std::fs::remove_file(scratch.0.join("_sweep.json")).expect("removable");
    let lost = refused(&grid(), "version");
    assert!(lost.contains("part=000000: a part of a dataset without manifest"), "{lost}");
}

/// Asks for the end after a number of steps.
struct Impatient(std::sync::atomic::AtomicU64, u64);

impl Progress for Impatient {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, by: u64) {
        self.0.fetch_add(by, std::sync::atomic::Ordering::Relaxed);
    }
    fn finish(&self) {}
    fn stopped(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed) >= self.1
    }
}

#[test]
fn a_stopped_dataset_goes_on_with_the_parts_that_are_missing() {
    let (whole, stopped) = (Scratch::new("whole"), Scratch::new("stopped"));
    let text = grid().replace("replications = 3", "replications = 60");
    let parts: Vec<u64> = (0..plan(&text).parts()).collect();
    assert_eq!(parts.len(), 40);
    make(&whole.0, &text, &parts, 1, &Silent);
    let mut made = 0;
    for after in [1, 10, 31] {
        made += make(&stopped.0, &text, &parts, 1, &Impatient(0.into(), after));
    }
    assert!((3..40).contains(&made), "{made}");
    made += make(&stopped.0, &text, &parts, 1, &Silent);
    assert_eq!(made, 40, "no part is made twice");
    assert_eq!(stopped.files(), whole.files());
    let halted = plan(&text).part(0, &Simulator, &totals(4_000_000_000), 1, &Impatient(0.into(), 0));
    assert!(matches!(halted, Err(Halt::Stopped)));
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_example_of_the_page_and_the_shipped_grids_can_run() {
    let page = std::fs::read_to_string(repository().join("docs/sweeps.md")).expect("docs/sweeps.md");
    let example =
        page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let folder = repository().join("scenarios/sweeps");
    let files = std::fs::read_dir(folder).expect("the grids").flatten().map(|entry| entry.path());
    let shipped = files.map(|path| std::fs::read_to_string(path).expect("a grid"));
    for text in shipped.chain([example.to_owned()]) {
        plan(&text).check(&Simulator, &totals(4_000_000_000)).unwrap_or_else(|error| panic!("{error}"));
        assert!(valid(&text), "the schema refuses {text}");
        assert!(valid(&parsed(&text).to_toml()), "the schema refuses the written grid of {text}");
    }
}

/// Whether the schema takes a grid.
fn valid(text: &str) -> bool {
    let schema = serde_json::from_str(&schema_text()).expect("the schema is JSON");
    let document: toml::Table = text.parse().expect("the grid is TOML");
    let document = serde_json::to_value(document).expect("TOML without dates is JSON");
    jsonschema::validator_for(&schema).expect("the schema is one").is_valid(&document)
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let sample =
        "[sample]\nkind = \"sobol\"\npoints = 4\n[[sample.range]]\nkey = \"path.rtt\"\nlow = \"1 ms\"\n";
    for (sound, wrong) in [
        ("title = \"a\"", "titel = \"a\""),
        ("seed = 5", "seed = -1"),
        ("sizes = [\"30 KB\"]", "sizes = \"30 KB\""),
        ("sizes = [\"30 KB\"]", "sizes = [\"30 packets\"]"),
        ("sizes = [\"30 KB\"]", "sizes = []"),
        ("schemes = [\"slow-start+cubic\"]", "schemes = [1]"),
        ("profile = \"rfc\"", "profile = \"rcf\""),
        ("replications = 3", "replications = 0"),
        ("replications = { most = 9 }", "replications = { least = 9 }"),
        (
            "replications = { most = 9, measure = \"drops\" }",
            "replications = { most = 9, measure = \"drop\" }",
        ),
        ("[[factor]]\nkey = \"path.loss\"\nvalues = [0]", "[[factor]]\nkey = \"path.loss\"\nvalues = 0"),
        ("[[factor]]\nzip = { \"path.loss\" = [0] }", "[[factor]]\nzip = { \"path.loss\" = 0 }"),
        (&format!("{sample}high = \"1 s\""), &format!("{sample}high = true")),
        (&format!("{sample}high = \"1 s\""), sample),
    ] {
        let grid = |line: &str| format!("base = \"cable\"\n{line}\n");
        assert!(parse(&grid(sound)).is_ok() && valid(&grid(sound)), "{sound}");
        assert!(parse(&grid(wrong)).is_err(), "the reader takes {wrong}");
        assert!(!valid(&grid(wrong)), "the schema takes {wrong}");
    }
}
