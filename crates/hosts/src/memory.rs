//! The memory that runs take: estimated before they start, and refused above a limit.
//!
//! Every part of an estimate has the key that causes the part, so that a refusal names the key to change. Estimates are
//! upper bounds: `docs/reliability.md` compares them with measurements.

use crate::refusal::Refusal;
use firstflight_document::quantity::show_bytes;

/// Limit unless another is set: 4 GB. The number is the same on every machine, so that a command is accepted or refused
/// on all of them, and a machine with 8 GB has this much left for one command.
pub const DEFAULT: u64 = 4_000_000_000;

/// A reading of a link, bytes.
pub const READING: u64 = 400;

/// Estimated memory of a run, by the keys that cause it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    key: String,
    /// Bytes needed until the run ends.
    working: f64,
    /// Bytes of its results, needed until the results of all runs are written.
    kept: f64,
}

impl Part {
    fn of(&self, runs: f64) -> f64 {
        self.working + runs * self.kept
    }
}

impl Estimate {
    /// Adds `working` bytes that are needed until the run ends, and `kept` bytes of results; both because of `key`.
    pub fn add(&mut self, key: impl Into<String>, working: f64, kept: f64) {
        let key = key.into();
        match self.parts.iter_mut().find(|part| part.key == key) {
            Some(part) => (part.working, part.kept) = (part.working + working, part.kept + kept),
            None => self.parts.push(Part { key, working, kept }),
        }
    }

    /// Adds the parts of `other`.
    pub fn include(&mut self, other: Self) {
        other.parts.into_iter().for_each(|part| self.add(part.key, part.working, part.kept));
    }

    /// Bytes of one run at a time and of the results of `runs`.
    pub fn bytes(&self, runs: u64) -> f64 {
        self.parts.iter().map(|part| part.of(runs as f64)).sum()
    }

    /// Accepts `runs` runs whose results are kept, made one at a time or by several threads.
    ///
    /// # Errors
    /// [`Refusal`] if even one run at a time takes more than `limit` bytes: the key that causes most, the estimate, the
    /// limit, and the option that raises the limit. The key is `runs` if a single run would be accepted.
    pub fn admit(&self, runs: u64, limit: u64) -> Result<(), Refusal> {
        let total = self.bytes(runs);
        if total <= limit as f64 {
            return Ok(());
        }
        let runs = runs as f64;
        let largest = self.parts.iter().max_by(|a, b| a.of(runs).total_cmp(&b.of(runs)));
        let Some(largest) = largest else { return Ok(()) };
        let (key, most) = match self.bytes(1) <= limit as f64 {
            true => ("runs", total),
            false => (&*largest.key, largest.of(runs)),
        };
        let for_key = if size(most) != size(total) {
            format!(", {} of it for this key", size(most))
        } else {
            String::new()
        };
        Err(refusal(key, &format!("{} of memory{for_key}", size(total)), limit))
    }

    /// Number of runs that may be made at the same time, so that they and the results of `runs` stay within `limit`
    /// bytes; at least one.
    pub fn threads(&self, runs: u64, limit: u64) -> usize {
        let working: f64 = self.parts.iter().map(|part| part.working).sum();
        let results = self.bytes(runs) - working;
        (((limit as f64 - results) / working.max(1.0)) as usize).max(1)
    }

    /// Limit of each of `runs` runs, so that the results of all stay within `limit` bytes.
    pub fn share(&self, runs: u64, limit: u64) -> u64 {
        let spare = (limit as f64 - self.bytes(runs)).max(0.0) / runs.max(1) as f64;
        (self.bytes(1) + spare) as u64
    }
}

/// The refusal of `key`, which causes most of `estimate`.
pub fn refusal(key: &str, estimate: &str, limit: u64) -> Refusal {
    let why =
        format!("this takes {estimate}; expected at most {} (--memory raises the limit)", show_bytes(limit));
    Refusal { key: key.into(), why }
}

/// Bytes in words, two digits.
pub fn size(bytes: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let step = (0..units.len()).rev().find(|&step| bytes >= libm::pow(1000.0, step as f64)).unwrap_or(0);
    let value = bytes / libm::pow(1000.0, step as f64);
    let digits = usize::from(value < 9.95);
    format!("{value:.digits$} {}", units[step])
}
