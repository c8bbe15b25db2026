//! Parts made by the workers of a Dask cluster, through a Python program that is part of this one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use firstflight::Progress;
use serde_json::json;

use super::{Work, jobs, python};
use crate::failure::Failure;
use crate::output::complain;
use crate::progress::Bar;

/// The Python program that gives the parts to Dask.
const PROGRAM: &str = include_str!("../../../python/python/firstflight/on_dask.py");

/// Whether Python has Dask.
pub(super) fn check() -> Result<(), Failure> {
    python("--executor \"dask\"", "import distributed", "\"dask[distributed]\"")
}

/// Makes the parts `open`. The Python program writes each part as it comes from a worker, and its number on a line.
pub(super) fn run(work: &Work<'_>, open: &[u64]) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let order = json!({
        "program": program,
        "grid": work.dataset.grid(),
        "out": work.options.out,
        "memory": work.options.memory.to_string(),
        "jobs": jobs(open, 1),
        "scheduler": work.options.scheduler,
    });
    let mut python = Command::new("python3");
    let mut child = python
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    let bar = Bar::new();
    bar.begin("parts", open.len() as u64);
    let mut input = child.stdin.take().expect("a pipe");
    // A Python program that ends early reports why on standard error.
    let _ = input.write_all(order.to_string().as_bytes());
    drop(input);
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        line.map_err(Failure::new)?;
        bar.advance(1);
    }
    let status = child.wait().map_err(Failure::new)?;
    bar.finish();
    if !status.success() {
        complain(format_args!("warning: python3 reports {status}"));
    }
    Ok(())
}
