//! The store of a sweep: results of finished runs, by the names of the runs.
//!
//! In a file, each run is one line of JSON with a checksum, appended when the run ends. A sweep that was interrupted at any
//! point continues with the runs that the file lacks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(not(feature = "files"))]
use super::Error;

#[cfg(feature = "files")]
mod file;

/// Results of finished runs.
#[derive(Debug)]
pub struct Store<T> {
    version: String,
    inner: Mutex<Inner<T>>,
    damage: Vec<Damage>,
}

#[derive(Debug)]
struct Inner<T> {
    known: BTreeMap<String, T>,
    #[cfg(feature = "files")]
    file: Option<file::Appender>,
}

/// A damaged record: a half line, or a line whose checksum does not match. Its run is made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Line in the file, from 1.
    pub line: u64,
    /// Name of the run, if it can still be read.
    pub run: Option<String>,
}

impl<T> Store<T> {
    /// A store in memory. `version` names everything that results depend on besides the run's name: see
    /// [`version`](super::version).
    pub fn memory(version: &str) -> Self {
        let inner = Inner {
            known: BTreeMap::new(),
            #[cfg(feature = "files")]
            file: None,
        };
        Self { version: version.into(), inner: Mutex::new(inner), damage: vec![] }
    }

    /// Version of the results.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Damaged records found when the file was opened, in the order of lines.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Store<T> {
    /// Result of a run; `None` if the run is not finished.
    pub fn get(&self, run: &str) -> Option<T> {
        self.lock().known.get(run).cloned()
    }
}

#[cfg(not(feature = "files"))]
impl<T> Store<T> {
    /// Stores the result of a run.
    ///
    /// # Errors
    /// None: the store is in memory.
    pub fn put(&self, run: &str, value: T) -> Result<(), Error> {
        self.lock().known.insert(run.into(), value);
        Ok(())
    }
}
