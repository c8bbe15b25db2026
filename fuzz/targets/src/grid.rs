//! Any text as the grid of a sweep: an error in one line, or a grid that is equal after writing and reading it again, and whose work
//! is divided into parts without a gap.

use firstflight_sweep::{Error, Grid, Plan};

use crate::{Form, Target, text};

pub(crate) const TARGET: Target = Target {
    name: "grid",
    about: "text of a sweep's grid, read, written and read again: the same grid; its parts have all of its runs",
    run,
    longest: 8 << 10,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "title = ",
    "base = \"cable\"",
    "base = \"lte\"",
    "[base]",
    "[base.path]",
    "[[base.flow]]",
    "profile = \"rfc\"",
    "flow = \"transfer\"",
    "schemes = [\"slow-start+cubic\"]",
    "schemes = [\"hystart-linux+cubic@iw30+ssthresh=bdp\"]",
    "sizes = [\"30 KB\", \"3 MB\"]",
    "seed = ",
    "seeds = \"own\"",
    "replications = ",
    "{ least = 2, most = 1000000, within = 0.05 }",
    "measure = \"drops\"",
    "rows_per_part = ",
    "[[factor]]",
    "key = \"path.rate\"",
    "key = \"flow.transfer.startup\"",
    "key = \"topology.hops\"",
    "values = [\"10 Mbit/s\", \"20 Mbit/s\"]",
    "values = [0, 0.5, true]",
    "zip = { \"path.rtt\" = [\"1 ms\"], \"path.loss\" = [0.0] }",
    "[sample]",
    "kind = \"latin-hypercube\"",
    "kind = \"sobol\"",
    "kind = \"saltelli\"",
    "points = ",
    "[[sample.range]]",
    "low = \"1 ns\"",
    "high = \"100000000 s\"",
    "low = -1e308",
    "high = 1e308",
    "scale = \"log\"",
    "nan",
    "inf",
    "-1",
    "1000000",
    "100000000",
    "9223372036854775807",
    "\"\\u0000\"",
];

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let parse = |text: &str| Grid::parse(text, "grid.toml", &|_| Err("no file is opened here".into()));
    let grid = match parse(text) {
        Ok(grid) => grid,
        Err(error) => return one_line(&error),
    };
    let written = grid.to_toml();
    let again = parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!((again.to_toml(), again.hash()), (written, grid.hash()));
    let plan = match Plan::new(grid) {
        Ok(plan) => plan,
        Err(error) => return one_line(&error),
    };
    let (parts, runs) = (plan.parts(), plan.runs());
    assert!(parts > 0 && plan.cells() > 0 && runs >= plan.cells(), "{parts} parts of {runs} runs");
    assert!(plan.steps(0) > 0 && plan.steps(parts - 1) > 0 && plan.steps(parts) == 0);
}

fn one_line(error: &Error) {
    let error = error.to_string();
    assert!(!error.is_empty() && !error.chars().any(char::is_control), "{error:?}");
}
