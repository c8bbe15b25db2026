//! Sobol indices of the sampled keys, by a Python library.

use std::io::Write;
use std::process::{Command, Stdio};

use firstflight_results::SobolIndex;
use firstflight_sweep::Plan;
use serde::Deserialize;
use serde_json::json;

use super::{Work, python};
use crate::failure::{Failure, wrong_at};
use crate::table::{Align, table};

/// The Python program.
const PROGRAM: &str = include_str!("sensitivity.py");
const PLACE: &str = "--sensitivity";

/// A row that the program prints.
#[derive(Deserialize)]
struct Row {
    block: u64,
    size_bytes: Option<u64>,
    scheme: String,
    of: String,
    key: String,
    first: f64,
    first_half_width: f64,
    total: f64,
    total_half_width: f64,
}

/// Whether the plan has the points from which indices are computed, and Python the libraries.
pub(super) fn check(plan: &Plan) -> Result<(), Failure> {
    let sample = plan.grid().sample.as_ref();
    if sample.and_then(|sample| sample.keys_of_indices()).is_none() {
        let why = "the grid has no sample from which Sobol indices are computed";
        return Err(wrong_at(PLACE, why).expecting("[sample] with kind = \"saltelli\"").into());
    }
    python(PLACE, "import SALib, pyarrow", "SALib pyarrow")
}

/// The indices of the whole dataset.
pub(super) fn indices(work: &Work<'_>, measure: &str) -> Result<Vec<SobolIndex>, Failure> {
    let sample = work.plan.grid().sample.as_ref();
    let keys = sample.and_then(|sample| sample.keys_of_indices());
    let order = json!({ "keys": keys, "points": work.plan.points(), "schemes": work.plan.schemes() });
    let mut child = Command::new("python3")
        .args(["-c", PROGRAM])
        .arg(&work.options.out)
        .arg(measure)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    // A program that ends early reports why on standard error.
    let _ = child.stdin.take().expect("a pipe").write_all(order.to_string().as_bytes());
    let output = child.wait_with_output().map_err(Failure::new)?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(wrong_at(PLACE, why.lines().last().unwrap_or("python3 has failed")).into());
    }
    let rows: Vec<Row> = serde_json::from_slice(&output.stdout).map_err(Failure::new)?;
    let index = |row: Row| SobolIndex {
        point: work.plan.combination(row.block),
        scheme: row.scheme,
        size_bytes: row.size_bytes,
        of: row.of,
        key: row.key,
        first: row.first,
        first_half_width: row.first_half_width,
        total: row.total,
        total_half_width: row.total_half_width,
    };
    Ok(rows.into_iter().map(index).collect())
}

/// The indices as a table; empty without any.
pub(super) fn text(indices: &[SobolIndex]) -> String {
    if indices.is_empty() {
        return String::new();
    }
    let share = |value: f64, half: f64| format!("{value:.2} +- {half:.2}");
    let row = |index: &SobolIndex| {
        let size = index.size_bytes.map_or("-".into(), |bytes| bytes.to_string());
        let (first, total) =
            (share(index.first, index.first_half_width), share(index.total, index.total_half_width));
        let of = index.of.clone();
        [index.point.clone(), index.scheme.clone(), size, of, index.key.clone(), first, total]
    };
    let rows: Vec<[String; 7]> = indices.iter().map(row).collect();
    use Align::{Left, Right};
    let columns = [
        ("factors", Left),
        ("scheme", Left),
        ("bytes", Right),
        ("of", Left),
        ("key", Left),
        ("alone", Right),
        ("with others", Right),
    ];
    format!("\nShare of each key in the variance, with 95 % intervals:\n\n{}", table(columns, &rows))
}
