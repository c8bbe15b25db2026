//! Transfers foretold by the library call behind `firstflight compare`.

use firstflight_capture::read;
use firstflight_results::{Comparison, ConnectionResult, InputFile, PathResult, SchemeResult};
use firstflight_scenario::seconds::Seconds;
use firstflight_study::compare::{Input, Known, compare};
use firstflight_study::progress::Silent;
use firstflight_study::simulator::Simulator;

use crate::controls::{Controls, request};
use crate::truth::{Transfer, TruePath};

/// One transfer, foretold and measured.
pub(crate) struct Cell {
    /// The kernel's name of the control.
    pub(crate) control: String,
    /// Application bytes.
    pub(crate) bytes: u64,
    /// Median of the repeats.
    pub(crate) truth_ms: f64,
    /// What the comparison says; its completion is absent if the path could not be told.
    pub(crate) result: Option<SchemeResult>,
    /// What the captured one of the repeats was seen to do; looked up on the true path only.
    pub(crate) seen: Option<Seen>,
}

/// What a captured transfer was seen to do.
pub(crate) struct Seen {
    /// Packets sent again until the capture ends.
    pub(crate) retransmits: u64,
    /// How its start-up ended, in words.
    pub(crate) exit: String,
}

/// What one capture tells.
pub(crate) struct Told {
    /// The control that was captured.
    pub(crate) control: String,
    /// The size that was captured.
    pub(crate) bytes: u64,
    /// What it tells; the reason, where the capture cannot be read.
    pub(crate) answer: Result<Answer, String>,
}

/// What a readable capture tells.
pub(crate) struct Answer {
    /// The path.
    pub(crate) path: PathResult,
    /// The captured connections beside their re-runs.
    pub(crate) connections: Vec<ConnectionResult>,
    /// Every transfer on the path.
    pub(crate) cells: Vec<Cell>,
}

impl Seen {
    /// Reads the capture of a transfer; `None` where there is none that holds packets.
    pub(crate) fn of(transfer: &Transfer) -> Option<Self> {
        let capture = read(transfer.capture.as_ref()?).ok()?;
        let observed = &capture.connections.first()?.observed;
        let exit = observed.startup.exit.as_ref().map_or(String::from("-"), |exit| {
            let since = exit.time.saturating_sub(observed.first_data).as_secs_f64() * 1e3;
            format!("{since:.0} ms, {:.1} packets, {}", exit.cwnd_packets, exit.reason.label())
        });
        Some(Self { retransmits: observed.retransmits, exit })
    }
}

impl Cell {
    /// Relative error of the median.
    pub(crate) fn error(&self) -> Option<f64> {
        Some(self.median_ms()? / self.truth_ms - 1.0)
    }

    /// Median, milliseconds.
    pub(crate) fn median_ms(&self) -> Option<f64> {
        Some(self.result.as_ref()?.completion_s?.median * 1e3)
    }

    /// 95 % interval, milliseconds.
    pub(crate) fn interval_ms(&self) -> Option<[f64; 2]> {
        Some(self.result.as_ref()?.completion_s?.ci95.map(|seconds| seconds * 1e3))
    }

    /// Whether something was lost or start-up ended before the transfer did, by the simulation or by the capture.
    pub(crate) fn matters(&self) -> bool {
        let sent_again = self.seen.as_ref().is_some_and(|seen| seen.retransmits > 0);
        sent_again
            || self.result.as_ref().is_some_and(|result| {
                result.startup_exit.is_some() || result.retransmits_mean > 0.0 || result.drops.mean > 0.0
            })
    }
}

/// Every transfer of a path on the path itself: what is wrong here is the model's.
pub(crate) fn on_true_path(path: &TruePath, controls: &Controls) -> Vec<Cell> {
    let request = request(path.input(), controls.schemes(), path.sizes());
    let report = compare(&Simulator, &request, &Silent).expect("every chain was tried on a path of its own");
    let mut cells = cells(path, controls, &report.comparison);
    for cell in &mut cells {
        cell.seen = path.transfer(&cell.control, cell.bytes).and_then(Seen::of);
    }
    cells
}

/// Every transfer of a path on the path that a capture tells.
pub(crate) fn from_capture(path: &TruePath, source: &Transfer, controls: &Controls) -> Told {
    let answer = source.capture.as_ref().ok_or_else(|| "there is no capture".to_owned()).and_then(|file| {
        let capture = read(file).map_err(|error| error.to_string())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let input = Input::Capture {
            file: InputFile { name, bytes: 0, sha256: String::new() },
            capture: Box::new(capture),
            known: Known::default(),
        };
        let request = request(input, controls.schemes(), path.sizes());
        let comparison =
            compare(&Simulator, &request, &Silent).map_err(|error| error.to_string())?.comparison;
        let cells = cells(path, controls, &comparison);
        Ok(Answer { path: comparison.path, connections: comparison.connections, cells })
    });
    Told { control: source.control.clone(), bytes: source.bytes, answer }
}

fn cells(path: &TruePath, controls: &Controls, comparison: &Comparison) -> Vec<Cell> {
    let mut cells = vec![];
    for (control, label) in controls.labels() {
        for transfer in path.transfers.iter().filter(|transfer| transfer.control == control) {
            let mut results = comparison.results.iter();
            let result = results.find(|row| row.scheme == label && row.size_bytes == transfer.bytes).cloned();
            cells.push(Cell {
                control: control.into(),
                bytes: transfer.bytes,
                truth_ms: transfer.truth_ms(),
                result,
                seen: None,
            });
        }
    }
    cells
}
