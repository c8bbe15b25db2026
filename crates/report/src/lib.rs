//! Presents results: a terminal table, a self-contained HTML page, a Parquet file, and traces as packet captures and
//! qlog.
//!
//! Every writer is a pure function of its input: the same report gives the same bytes. Only [`Folder`] touches the file
//! system, and it leaves either complete files or none.

mod advice;
mod decimate;
pub mod figure;
mod format;
mod headline;
pub mod hosts;
mod names;
mod networks;
mod output;
mod page;
mod parquet;
mod path;
mod policy;
pub mod reproduction;
mod rows;
mod shown;
mod spread;
mod table;
mod trace;

use std::path::{Path, PathBuf};

use firstflight_results::{CompareReport, Table};
pub use format::{lines, printable, wrap};
pub use output::{Folder, OutputError, discard_on_panic, discard_unfinished};
pub use page::{DRAWING_JS, Sections, UPLOT_JS, html, licences, style};
use parquet::parquet_of;
pub use parquet::{parquet, stage_tables, stage_tables_in};
pub use policy::policy;
pub use table::{Colour, table};
pub use trace::{Vantage, pcapng, qlog, stage_logs, stage_traces};

/// Name of the page in the output folder.
pub const REPORT_FILE: &str = "report.html";
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
