//! Forecasts of transfers, by the library call behind `firstflight compare`.

use firstflight_capture::read;
use firstflight_results::{Comparison, ConnectionResult, InputFile, PathResult, SchemeResult};
use firstflight_scenario::seconds::Seconds;
use firstflight_study::compare::{Input, Known, compare};
use firstflight_study::progress::Silent;
use firstflight_study::simulator::Simulator;

use crate::controls::{Controls, request};
use crate::truth::{Transfer, TruePath};

/// Forecast and measurement of one transfer.
pub(crate) struct Cell {
    /// Kernel's name of the control.
    pub(crate) control: String,
    /// Application bytes.
    pub(crate) bytes: u64,
    /// Median of the repeats, milliseconds.
    pub(crate) truth_ms: f64,
    /// Result of the comparison; without a completion if the path is unknown.
    pub(crate) result: Option<SchemeResult>,
    /// Observation of the captured repeat; read only for forecasts on the true path.
    pub(crate) seen: Option<Seen>,
}

/// Observation of a captured transfer.
pub(crate) struct Seen {
    /// Retransmissions up to the end of the capture.
    pub(crate) retransmits: u64,
    /// End of start-up, in words.
    pub(crate) exit: String,
}

/// Forecasts from one capture.
pub(crate) struct CaptureForecast {
    /// Captured control.
    pub(crate) control: String,
    /// Captured size.
    pub(crate) bytes: u64,
    /// Forecasts, or the reason why the capture cannot be read.
    pub(crate) answer: Result<Answer, String>,
}

/// Forecasts from a readable capture.
pub(crate) struct Answer {
    /// Inferred path.
    pub(crate) path: PathResult,
    /// Captured connections and their re-runs.
    pub(crate) connections: Vec<ConnectionResult>,
    /// Every transfer on the path.
    pub(crate) cells: Vec<Cell>,
}

impl Seen {
    /// Reads the capture of a transfer; `None` if there is none with packets.
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

    /// Whether a packet was lost or start-up ended before the transfer did, in the simulation or the capture.
    pub(crate) fn matters(&self) -> bool {
        let retransmitted = self.seen.as_ref().is_some_and(|seen| seen.retransmits > 0);
        retransmitted
            || self.result.as_ref().is_some_and(|result| {
                result.startup_exit.is_some() || result.retransmits_mean > 0.0 || result.drops.mean > 0.0
            })
    }
}

/// Forecasts on the true path: their errors are those of the model.
pub(crate) fn on_true_path(path: &TruePath, controls: &Controls) -> Vec<Cell> {
    let request = request(path.input(), controls.schemes(), path.sizes());
    let report = compare(&Simulator, &request, &Silent).expect("every chain has been tested");
    let mut cells = cells(path, controls, &report.comparison);
    for cell in &mut cells {
        cell.seen = path.transfer(&cell.control, cell.bytes).and_then(Seen::of);
    }
    cells
}

/// Forecasts on the path inferred from a capture.
pub(crate) fn from_capture(path: &TruePath, source: &Transfer, controls: &Controls) -> CaptureForecast {
    let answer = source.capture.as_ref().ok_or_else(|| "no capture".to_owned()).and_then(|file| {
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
    CaptureForecast { control: source.control.clone(), bytes: source.bytes, answer }
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
