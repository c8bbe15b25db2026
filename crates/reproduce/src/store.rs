//! Runs that are done, kept as they end, so that work that was interrupted goes on where it was.
//!
//! One line of JSON for each run. A line counts only for the sources that wrote it, by the hash of all that stands between a
//! scenario and a number: what others measured is measured again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::metric::Measured;

/// Hash of the sources that results depend on.
pub const SOURCES: &str = env!("FIRSTFLIGHT_SOURCES");

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) packet_hops: u64,
    /// By the definition of the metric.
    pub(crate) metrics: BTreeMap<String, Values>,
}

/// The values of one metric in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Values {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    axis: Option<(String, Vec<f64>)>,
    values: Vec<Option<f64>>,
}

impl Values {
    pub(crate) fn of(measured: Measured) -> Self {
        let values = measured.values.into_iter().map(|v| v.is_finite().then_some(v)).collect();
        Self { axis: measured.axis.map(|(name, x)| (name.to_owned(), x)), values }
    }

    pub(crate) fn axis(&self) -> Option<(&str, &[f64])> {
        self.axis.as_ref().map(|(name, x)| (name.as_str(), x.as_slice()))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        self.values.iter().map(|value| value.unwrap_or(f64::NAN))
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    sources: String,
    run: String,
    #[serde(flatten)]
    done: Done,
}

/// A file of runs.
pub struct Store {
    known: BTreeMap<String, Done>,
    file: Option<Mutex<File>>,
}

impl Store {
    /// Keeps nothing.
    pub fn none() -> Self {
        Self { known: BTreeMap::new(), file: None }
    }

    /// The file at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// If it can be neither read nor made.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut known = BTreeMap::new();
        if let Ok(file) = File::open(path) {
            for line in BufReader::new(file).lines() {
                // The last line may be half of one.
                if let Ok(Line { sources, run, done }) = serde_json::from_str(&line?)
                    && sources == SOURCES
                {
                    known.insert(run, done);
                }
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { known, file: Some(Mutex::new(file)) })
    }

    /// What a run gave, if it is known and has all these metrics.
    pub(crate) fn get(&self, run: &str, metrics: &BTreeMap<String, &crate::Metric>) -> Option<&Done> {
        self.known.get(run).filter(|done| metrics.keys().all(|key| done.metrics.contains_key(key)))
    }

    /// Keeps what a run gave.
    pub(crate) fn put(&self, run: &str, done: &Done) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let line = Line { sources: SOURCES.into(), run: run.into(), done: done.clone() };
        // The line break first: it ends what an interruption may have left of a line.
        let text = format!("\n{}\n", serde_json::to_string(&line).expect("numbers and texts"));
        file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())
    }
}
