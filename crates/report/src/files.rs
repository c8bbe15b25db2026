//! Files of results: the page and Parquet files of a comparison, and the tables of a run. Metadata of a Parquet file has keys that
//! begin with `firstflight.`.

use std::io::Write;
use std::path::{Path, PathBuf};

use firstflight_results::parquet::{self, ParquetError};
use firstflight_results::{CompareReport, Comparison, Provenance, RunResult, SampleRow, Table};

use crate::output::{Folder, OutputError};
use crate::page::{REPORT_FILE, html};

/// Name of the Parquet file in the output folder.
pub const PARQUET_FILE: &str = "results.parquet";
/// Name of the Parquet file with the networks of a mix.
pub const NETWORKS_FILE: &str = "networks.parquet";

/// Writes [`REPORT_FILE`], [`PARQUET_FILE`] and, of a mix, [`NETWORKS_FILE`] into `dir`, creates `dir` if it is missing, and
/// returns their paths.
///
/// # Errors
/// [`OutputError`] if a file cannot be written; `dir` is then as it was before.
pub fn write_all(dir: &Path, report: &CompareReport) -> Result<Vec<PathBuf>, OutputError> {
    let mut folder = Folder::open(dir)?;
    stage_all(&mut folder, report)?;
    folder.commit()
}

/// Stages [`REPORT_FILE`], [`PARQUET_FILE`] and, of a mix, [`NETWORKS_FILE`] in a folder to which the caller may add further files before
/// [`Folder::commit`].
///
/// # Errors
/// [`OutputError`] if a file cannot be written.
pub fn stage_all(folder: &mut Folder, report: &CompareReport) -> Result<(), OutputError> {
    folder.stage(REPORT_FILE, |file| file.write_all(html(report).as_bytes()))?;
    folder.stage(PARQUET_FILE, |file| parquet(report, file).map_err(std::io::Error::other))?;
    match Table::of_networks(&report.comparison) {
        None => Ok(()),
        Some(table) => folder.stage(NETWORKS_FILE, |file| {
            parquet_of(&table, &report.comparison, file).map_err(std::io::Error::other)
        }),
    }
}

/// Writes the replications of a comparison to `out`, one row for each replication of each scheme at each size, with the
/// provenance as metadata. The same report gives the same bytes.
///
/// # Errors
/// [`ParquetError`] if `out` fails.
pub fn parquet(report: &CompareReport, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
    parquet_of(&Table::of_replications(report), &report.comparison, out)
}

/// Writes a table of a comparison to `out`, with the provenance as metadata.
///
/// # Errors
/// [`ParquetError`] if `out` fails.
fn parquet_of(
    table: &Table,
    comparison: &Comparison,
    out: &mut (dyn Write + Send),
) -> Result<(), ParquetError> {
    let metadata = metadata(&comparison.title, &comparison.provenance);
    parquet::write(table, &comparison.provenance.version, metadata, out)
}

/// Stages the tables of a run as `run.parquet`, `flow.parquet`, `link.parquet` and `sample.parquet`; `version` is the
/// program's.
///
/// # Errors
/// [`OutputError`] if a file cannot be written.
pub fn stage_tables(
    folder: &mut Folder,
    result: &RunResult,
    samples: Vec<SampleRow>,
    version: &str,
) -> Result<(), OutputError> {
    stage_tables_in(folder, "", result, samples, version)
}

/// As [`stage_tables`], with `place` before the names of the files: `kernel/`.
///
/// # Errors
/// As [`stage_tables`].
pub fn stage_tables_in(
    folder: &mut Folder,
    place: &str,
    result: &RunResult,
    samples: Vec<SampleRow>,
    version: &str,
) -> Result<(), OutputError> {
    let tables = [
        Table::of_runs(result),
        Table::of_flows(result),
        Table::of_links(result),
        Table::of_samples(samples),
    ];
    for table in tables {
        let about = [("title", result.title.as_str()), ("version", version)];
        let metadata = about.map(|(key, value)| (format!("firstflight.{key}"), value.to_owned())).to_vec();
        folder.stage(&format!("{place}{}.parquet", table.name), |file| {
            parquet::write(&table, version, metadata, file).map_err(std::io::Error::other)
        })?;
    }
    Ok(())
}

fn metadata(title: &str, provenance: &Provenance) -> Vec<(String, String)> {
    let inputs: Vec<String> =
        provenance.inputs.iter().map(|i| format!("{} sha256:{}", i.name, i.sha256)).collect();
    let entries = [
        ("title", title.to_owned()),
        ("version", provenance.version.clone()),
        ("revision", provenance.revision.clone()),
        ("seed", provenance.seed.to_string()),
        ("replications", provenance.replications.to_string()),
        ("command", provenance.command.clone()),
        ("host", provenance.host.clone()),
        ("machine", provenance.machine.clone()),
        ("interval_method", provenance.interval_method.clone()),
        ("inputs", inputs.join("\n")),
        ("scenario_sha256", provenance.scenario_sha256.clone()),
        ("scenario", provenance.scenario.clone()),
    ];
    entries.into_iter().map(|(key, value)| (format!("firstflight.{key}"), value)).collect()
}
