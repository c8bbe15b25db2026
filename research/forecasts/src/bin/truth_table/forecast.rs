//! Forecasts of transfers, by the library call behind `firstflight compare`.

use std::fs::File;
use std::path::Path;

use firstflight_capture::{Capture, Next, Reader, first_packet_time, read};
use firstflight_compare::{Identity, Input, Known, compare};
use firstflight_document::seconds::Seconds;
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_quantile::type_7;
use firstflight_results::{CompareReport, Comparison, InputFile, PathResult, Recommended, SchemeResult};

use research_forecasts::processor_seconds;

use crate::controls::{Ask, Controls, request};
use crate::truth::{Transfer, TruePath};

/// Forecast of one transfer.
pub(crate) struct Cell<'a> {
    /// Measurements.
    pub(crate) transfer: &'a Transfer,
    /// Result of the comparison; without a completion if the path is unknown.
    pub(crate) result: Option<SchemeResult>,
    /// Times of the replications that ended, milliseconds, ascending.
    times_ms: Vec<f64>,
}

/// Statistic of completion times by which controls are ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Statistic {
    Median,
    /// 75th percentile.
    UpperQuartile,
    Mean,
    /// The exponential of the mean of logarithms.
    GeometricMean,
}

impl Statistic {
    /// The statistic that ranks the candidates of the advice.
    pub(crate) const ADVICE: Self = Self::GeometricMean;
    pub(crate) const ALL: [Self; 4] = [Self::Median, Self::UpperQuartile, Self::Mean, Self::GeometricMean];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::UpperQuartile => "75th percentile",
            Self::Mean => "mean",
            Self::GeometricMean => "geometric mean",
        }
    }

    /// Its value for `sorted` times, ascending; `None` of nothing.
    fn of(self, sorted: &[f64]) -> Option<f64> {
        let mean = |of: fn(f64) -> f64| {
            (!sorted.is_empty())
                .then(|| sorted.iter().map(|&time| of(time)).sum::<f64>() / sorted.len() as f64)
        };
        match self {
            Self::Median => (!sorted.is_empty()).then(|| type_7(sorted, 0.5)),
            Self::UpperQuartile => (!sorted.is_empty()).then(|| type_7(sorted, 0.75)),
            Self::Mean => mean(|time| time),
            Self::GeometricMean => mean(f64::ln).map(f64::exp),
        }
    }
}

/// Observation of a captured transfer.
pub(crate) struct Seen {
    /// Retransmissions up to the end of the capture.
    pub(crate) retransmits: u64,
    /// End of start-up, in words.
    pub(crate) exit: String,
}

/// Forecasts from one capture.
pub(crate) struct CaptureForecast<'a> {
    /// The path on which it was taken.
    pub(crate) path: &'a TruePath,
    /// The captured transfer.
    pub(crate) source: &'a Transfer,
    /// Number of captures that are read as one.
    pub(crate) number: usize,
    /// Names of their files.
    pub(crate) file: String,
    /// Forecasts, or the reason why the capture cannot be read.
    pub(crate) answer: Result<Answer<'a>, String>,
}

/// Forecasts from a readable capture.
pub(crate) struct Answer<'a> {
    /// Inferred path.
    pub(crate) path: PathResult,
    /// Reason why the forecasts are no answer.
    pub(crate) no_answer: Option<String>,
    /// Median relative error of the re-runs, if one was compared.
    pub(crate) departure: Option<f64>,
    /// Label of the scheme that the stack has now.
    pub(crate) present: Option<String>,
    /// Advice for each size.
    pub(crate) recommended: Vec<Recommended>,
    /// Every transfer on the path.
    pub(crate) cells: Vec<Cell<'a>>,
    /// Processor seconds that the answer took, of all threads.
    pub(crate) seconds: f64,
}

impl Seen {
    /// Reads the first capture of a transfer; `None` if there is none with packets.
    pub(crate) fn of(transfer: &Transfer) -> Option<Self> {
        let capture = read(transfer.captures.first()?).ok()?;
        let observed = &capture.connections.first()?.observed;
        let exit = observed.startup.exit.as_ref().map_or(String::from("–"), |exit| {
            let since = exit.time.saturating_sub(observed.first_data).as_secs_f64() * 1e3;
            format!("{since:.0} ms, {:.1} packets, {}", exit.cwnd_packets, exit.reason.label())
        });
        Some(Self { retransmits: observed.retransmits, exit })
    }
}

impl Cell<'_> {
    /// Relative error of the median.
    pub(crate) fn error(&self) -> Option<f64> {
        Some(self.median_ms()? / self.transfer.truth_ms() - 1.0)
    }

    /// Median, milliseconds.
    pub(crate) fn median_ms(&self) -> Option<f64> {
        Some(self.result.as_ref()?.completion_s?.median * 1e3)
    }

    /// Times between which nine of ten further transfers should end, milliseconds.
    pub(crate) fn range_ms(&self) -> Option<[f64; 2]> {
        let [low, _, _, _, high] = self.result.as_ref()?.completion_s?.quantiles;
        Some([low * 1e3, high * 1e3])
    }

    /// Share of the kernel's transfers in the range.
    pub(crate) fn covered(&self) -> Option<f64> {
        let [low, high] = self.range_ms()?;
        let repeats = &self.transfer.repeats_ms;
        let inside = repeats.iter().filter(|time| (low..=high).contains(*time)).count();
        Some(inside as f64 / repeats.len() as f64)
    }

    /// Width of the range over the widest that is sharp.
    pub(crate) fn width(&self) -> Option<f64> {
        let [low, high] = self.range_ms()?;
        Some((high - low) / self.transfer.allowed_ms())
    }
}

impl<'a> CaptureForecast<'a> {
    /// The answer, unless the capture is refused or has none.
    pub(crate) fn answered(&self) -> Option<&Answer<'a>> {
        self.answer.as_ref().ok().filter(|answer| answer.no_answer.is_none())
    }
}

impl Answer<'_> {
    /// Time of the control that the forecasts put first, beyond that of the fastest control, as a share of the fastest. The
    /// forecasts are ranked by the statistic `by`, and the kernel's transfers judged by the statistic `in_`.
    /// `None` unless two controls were measured and forecast at this size.
    pub(crate) fn regret(&self, bytes: u64, by: Statistic, in_: Statistic) -> Option<f64> {
        let of_size = self.cells.iter().filter(|cell| cell.transfer.bytes == bytes);
        let both: Vec<(f64, f64)> = of_size
            .filter_map(|cell| Some((by.of(&cell.times_ms)?, in_.of(&cell.transfer.repeats_ms)?)))
            .collect();
        let (_, chosen) = both.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let fastest = both.iter().map(|(_, truth)| *truth).min_by(f64::total_cmp)?;
        (both.len() > 1).then(|| chosen / fastest - 1.0)
    }
}

/// Forecasts on the true path, whose errors are those of the model; `None` if the path is not a plain one.
pub(crate) fn on_true_path<'a>(path: &'a TruePath, controls: &Controls) -> Option<Vec<Cell<'a>>> {
    let request = request(path.input()?, controls.candidates(path), path.sizes(), Ask::TIMES);
    let report = compare(&Simulator, &request, &Silent).expect("a plain path and chains of the registry");
    Some(cells(path, controls, &report))
}

/// Forecasts from a capture, or from several of the same path, which are read as one; `source` is the transfer of the first.
pub(crate) fn from_capture<'a>(
    path: &'a TruePath,
    source: &'a Transfer,
    files: &[&Path],
    controls: &Controls,
    ask: Ask,
) -> CaptureForecast<'a> {
    let name = |file: &&Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = files.iter().map(name).collect::<Vec<_>>().join(", ");
    let begin = processor_seconds();
    let answer = read_all(files).and_then(|capture| {
        let input = Input::Capture {
            file: InputFile { name: name.clone(), bytes: 0, sha256: String::new() },
            capture: Box::new(capture),
            known: Known::default(),
            identity: Identity::default(),
        };
        let request = request(input, controls.candidates(path), path.sizes(), ask);
        let report = compare(&Simulator, &request, &Silent).map_err(|error| error.to_string())?;
        let cells = cells(path, controls, &report);
        let seconds = processor_seconds() - begin;
        let Comparison { path, no_answer, departure, present, recommended, .. } = report.comparison;
        Ok(Answer { path, no_answer, departure, present, recommended, cells, seconds })
    });
    CaptureForecast { path, source, number: files.len(), file: name, answer }
}

/// The captures read as one, in the order of their first packets.
fn read_all(files: &[&Path]) -> Result<Capture, String> {
    let open = |path: &&Path| File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut timed = vec![];
    for path in files {
        let first = first_packet_time(open(path)?, path).map_err(|error| error.to_string())?;
        timed.push((first, *path));
    }
    timed.sort();
    let mut reader = Reader::default();
    for (_, path) in timed {
        reader.add(open(&path)?, path, &mut || Next::Continue).map_err(|error| error.to_string())?;
    }
    reader.finish(files.first().expect("a capture")).map_err(|error| error.to_string())
}

fn cells<'a>(path: &'a TruePath, controls: &Controls, report: &CompareReport) -> Vec<Cell<'a>> {
    let mut cells = vec![];
    for (control, label) in controls.labels() {
        for transfer in path.transfers.iter().filter(|transfer| transfer.control == control) {
            let mut results = report.comparison.results.iter();
            let result = results.find(|row| row.scheme == label && row.size_bytes == transfer.bytes).cloned();
            let own =
                report.samples.iter().find(|set| set.scheme == label && set.size_bytes == transfer.bytes);
            let samples = own.map_or(&[][..], |set| &set.samples);
            let ended = samples.iter().filter_map(|sample| sample.completion_s);
            let mut times_ms: Vec<f64> = ended.map(|time| time * 1e3).collect();
            times_ms.sort_by(f64::total_cmp);
            cells.push(Cell { transfer, result, times_ms });
        }
    }
    cells
}
