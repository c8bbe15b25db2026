//! Logs of the gateway's thread: decisions, all events if the operator asked for them, and troubles.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use firstflight_contract::Nanos;
use firstflight_gateway::{Decision, Event};
use serde_json::json;

use crate::journal::Journal;
use crate::metrics::Metrics;

/// The decision log, and the recording of all events.
#[derive(Debug)]
pub(crate) struct Logs {
    journal: Journal,
    recording: Option<BufWriter<File>>,
}

impl Logs {
    pub(crate) fn new(journal: Journal, recording: Option<BufWriter<File>>) -> Self {
        Self { journal, recording }
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.recording.is_some()
    }

    /// Appends a decision.
    pub(crate) fn decision(&mut self, at: Nanos, decision: &Decision) -> Result<(), String> {
        let line = json!({ "at_ns": at.0, "decision": decision, "text": decision.to_string() }).to_string();
        self.journal.line(&line).map_err(unwritten)
    }

    /// Appends a line to the decision log and hands it to the system.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), String> {
        self.journal.line(line).map_err(unwritten)?;
        self.flush()
    }

    /// Hands all decisions to the system.
    pub(crate) fn flush(&mut self) -> Result<(), String> {
        self.journal.flush().map_err(unwritten)
    }

    /// Records an event with its decisions. A recording that cannot be written ends.
    pub(crate) fn event(&mut self, event: &Event, decided: &[Decision]) -> Result<(), String> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let decided = decided.iter().map(|decision| Event::Decide(*decision).line());
        let mut lines = std::iter::once(event.line()).chain(decided);
        lines.try_for_each(|line| writeln!(recording, "{line}")).map_err(|error| {
            self.recording = None;
            format!("the recording has ended: {error}")
        })
    }

    /// Completes the recording.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        let written = self.recording.as_mut().map_or(Ok(()), BufWriter::flush);
        written.map_err(|error| format!("the recording: {error}"))
    }
}

fn unwritten(error: std::io::Error) -> String {
    format!("the decision log: {error}")
}

/// Complaints of the kernel, the logs and the store. Each is said once, and the newest is kept for `status`.
#[derive(Debug)]
pub(crate) struct Troubles {
    pub(crate) newest: Option<String>,
    pub(crate) say: fn(&str),
    metrics: Arc<Metrics>,
}

impl Troubles {
    /// `newest` is one that was said before.
    pub(crate) fn new(newest: Option<String>, say: fn(&str), metrics: Arc<Metrics>) -> Self {
        Self { newest, say, metrics }
    }

    pub(crate) fn note(&mut self, result: Result<(), String>) {
        if let Err(why) = result
            && self.newest.as_ref() != Some(&why)
        {
            (self.say)(&why);
            self.metrics.warning();
            self.newest = Some(why);
        }
    }
}
