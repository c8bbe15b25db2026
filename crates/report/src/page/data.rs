//! Numbers for the plots, decimated and rounded to the resolution of a screen.

use firstflight_results::{CapturedTrace, CompareReport, Series, Trace};
use serde::Serialize;

use crate::decimate::kept;
use crate::figure::Look;
use crate::format::{bytes, printable};
use crate::names::Names;
use crate::spread::Spread;

/// Slots of time in which the extremes are kept; a plot is up to about 500 pixels wide.
const SLOTS: usize = 150;

#[derive(Serialize)]
struct Data {
    schemes: Vec<SchemeData>,
    sizes: Vec<SizeData>,
    reference: Option<usize>,
    results: Vec<ResultData>,
    bdp: Option<f64>,
    buffer: Option<u64>,
    traces: Vec<TraceData>,
    captured: Vec<CapturedData>,
}

#[derive(Serialize)]
struct SchemeData {
    label: String,
    name: String,
    colour: usize,
    dash: &'static [u32],
    form: &'static str,
    hollow: bool,
}

#[derive(Serialize)]
struct SizeData {
    bytes: u64,
    label: String,
}

#[derive(Serialize)]
struct ResultData {
    scheme: usize,
    size: usize,
    median: f64,
    ci: [f64; 2],
    relative: Option<[f64; 3]>,
}

#[derive(Serialize)]
struct TraceData {
    scheme: usize,
    size: u64,
    end: Option<f64>,
    /// Time, seconds; window, packets.
    exit: Option<[f64; 2]>,
    losses: Vec<f64>,
    series: SeriesData,
}

#[derive(Serialize)]
struct CapturedData {
    observed: SeriesData,
    observed_retransmits: Vec<f64>,
    rerun: SeriesData,
    rerun_retransmits: Vec<f64>,
}

#[derive(Serialize)]
struct SeriesData {
    t: Vec<f64>,
    cwnd: Vec<f64>,
    in_flight: Vec<f64>,
    queue: Vec<f64>,
    delivered: Vec<f64>,
}

/// JSON for a `script` element. It contains no `<`, so it can neither end the element nor begin a comment.
pub(super) fn json(report: &CompareReport, names: &Names) -> String {
    let comparison = &report.comparison;
    let sizes = comparison.sizes();
    let spread = Spread::of(&comparison.path);
    let results = comparison.results.iter().filter_map(|r| {
        let completion = r.completion_s?;
        Some(ResultData {
            scheme: names.index(&r.scheme),
            size: sizes.iter().position(|&s| s == r.size_bytes)?,
            median: rounded(completion.median),
            ci: spread.ends(&completion).map(rounded),
            relative: comparison.difference(r).map(|d| {
                let [low, high] = d.relative_ci95;
                [d.relative, low, high].map(rounded)
            }),
        })
    });
    let exit_bdp = comparison.results.iter().find_map(|r| r.startup_exit).map(|e| e.bdp_packets);
    let data = Data {
        schemes: names
            .iter()
            .map(|n| {
                let Look { colour, dash, form, hollow } = Look::of(n.colour);
                SchemeData { label: printable(n.label()), name: n.short.clone(), colour, dash, form, hollow }
            })
            .collect(),
        sizes: sizes.iter().map(|&s| SizeData { bytes: s, label: bytes(s) }).collect(),
        reference: comparison.reference().map(|it| names.index(it)),
        results: results.collect(),
        bdp: comparison.path.bdp_packets.map(|packets| packets as f64).or(exit_bdp).map(rounded),
        buffer: comparison.path.buffer_packets,
        traces: report.traces.iter().map(|t| trace(t, names)).collect(),
        captured: report.captured.iter().map(captured).collect(),
    };
    serde_json::to_string(&data).expect("plain data with string keys").replace('<', "\\u003c")
}

fn trace(trace: &Trace, names: &Names) -> TraceData {
    let exit = trace.startup_exit;
    let instants: Vec<f64> =
        exit.map(|e| e.time_s).into_iter().chain(trace.losses_s.iter().copied()).collect();
    TraceData {
        scheme: names.index(&trace.scheme),
        size: trace.size_bytes,
        end: trace.completion_s.map(micros),
        exit: exit.map(|e| [micros(e.time_s), rounded(e.cwnd_packets)]),
        losses: distinct(&trace.losses_s),
        series: series(&trace.series, &instants),
    }
}

fn captured(captured: &CapturedTrace) -> CapturedData {
    CapturedData {
        observed: series(&captured.observed, &captured.observed_retransmits_s),
        observed_retransmits: distinct(&captured.observed_retransmits_s),
        rerun: series(&captured.rerun, &captured.rerun_retransmits_s),
        rerun_retransmits: distinct(&captured.rerun_retransmits_s),
    }
}

fn series(series: &Series, instants: &[f64]) -> SeriesData {
    let kept = kept(series, SLOTS, instants);
    let column = |values: &[f64]| kept.iter().filter_map(|&i| values.get(i)).map(|&v| rounded(v)).collect();
    let mut t: Vec<f64> = kept.iter().map(|&i| micros(series.time_s[i])).collect();
    // The plots draw one value at each time: a window that falls at the time of its peak is drawn to fall 1 us later.
    for i in 1..t.len() {
        if t[i] <= t[i - 1] {
            t[i] = micros(t[i - 1] + 1e-6);
        }
    }
    SeriesData {
        t,
        cwnd: column(&series.cwnd_packets),
        in_flight: column(&series.in_flight_packets),
        queue: column(&series.queue_packets),
        delivered: column(&series.delivered_bytes),
    }
}

/// Times rounded to the microsecond, without duplicates.
fn distinct(instants: &[f64]) -> Vec<f64> {
    let mut micros: Vec<f64> = instants.iter().map(|&t| micros(t)).collect();
    micros.dedup();
    micros
}

fn micros(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// Five significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powi(4 - value.abs().log10().floor() as i32);
    (value * unit).round() / unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_times_ascend_even_if_the_window_has_two_values_at_one_time() {
        let jump = Series {
            time_s: vec![0.0, 1.0, 1.0, 2.0],
            cwnd_packets: vec![10.0, 20.0, 10.0, 11.0],
            ..Series::default()
        };
        let data = series(&jump, &[1.0]);
        assert_eq!(data.t, [0.0, 1.0, 1.000_001, 2.0]);
        assert_eq!(data.cwnd, [10.0, 20.0, 10.0, 11.0]);
        assert!(data.queue.is_empty());
    }

    #[test]
    fn numbers_are_rounded_to_five_digits() {
        assert_eq!(rounded(123_456.7), 123_460.0);
        assert_eq!(rounded(-0.001_234_567), -0.001_234_6);
        assert_eq!(rounded(0.0), 0.0);
    }
}
