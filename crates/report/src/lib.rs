//! Presents results: a terminal table, a self-contained HTML page, a Parquet file, and traces as packet captures and
//! qlog.
//!
//! Every writer is a pure function of its input: the same report gives the same bytes. Only [`Folder`] touches the file
//! system, and it leaves either complete files or none.

mod advice;
mod answer;
mod decimate;
pub mod figure;
#[cfg(feature = "files")]
mod files;
mod format;
mod headline;
pub mod hosts;
#[cfg(feature = "papers")]
pub mod league;
mod names;
mod networks;
mod output;
mod page;
mod path;
mod pictures;
mod policy;
#[cfg(feature = "papers")]
pub mod reproduction;
mod rows;
mod shown;
mod spread;
mod table;
mod trace;

pub use answer::{answer, brief, gained, per_size, whole_answer};
#[cfg(feature = "files")]
pub use files::{NETWORKS_FILE, PARQUET_FILE, parquet, stage_all, stage_tables, stage_tables_in, write_all};
pub use format::{bytes, count, lines, percent_magnitude, printable, time, wrap};
pub use output::{Folder, OutputError, discard_on_panic, discard_unfinished};
pub use page::{DRAWING_JS, REPORT_FILE, Sections, UPLOT_JS, html, licences, style};
pub use policy::policy;
pub use table::{Colour, table};
pub use trace::{Vantage, pcapng, qlog, stage_logs, stage_traces, trace_files};
