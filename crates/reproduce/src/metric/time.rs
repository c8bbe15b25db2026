//! Metrics over time.

use firstflight_results::{FlowResult, RunResult};
use firstflight_scenario::Scenario;

use super::flows::fold;
use super::{Measured, Metric, Over, Take, scenario, seconds};
use crate::observe::Registers;

/// Packets of a flow delivered up to a time of the run, interpolated linearly between grid times.
pub(super) fn delivered_by(run: &RunResult, flow: &FlowResult, at: f64) -> f64 {
    let since = at - flow.start_s;
    let mut before = (0.0, 0.0);
    if since <= 0.0 {
        return 0.0;
    }
    let end = (run.simulated_s - flow.start_s, flow.delivered_packets as f64);
    let grid = flow.delivered_at.iter().map(|&(time, packets)| (time, packets as f64));
    for (time, packets) in grid.chain([end]) {
        if time >= since {
            let share = if time > before.0 { (since - before.0) / (time - before.0) } else { 1.0 };
            return before.1 + share * (packets - before.1);
        }
        before = (time, packets);
    }
    end.1
}

/// The interval, and the ends of the intervals, seconds.
pub(super) fn ends(metric: &Metric, run: &RunResult) -> Result<(f64, Vec<f64>), String> {
    let every = seconds(metric.every.as_deref().expect("checked when it was read"))?;
    let until = metric.until.as_deref().map_or(Ok(run.simulated_s), seconds)?;
    // The tolerance makes 0.1 s divide 1 s.
    let count = (until / every + 1e-9).floor() as usize;
    Ok((every, (1..=count).map(|i| i as f64 * every).collect()))
}

pub(super) fn rates(metric: &Metric, scenario: &Scenario, run: &RunResult) -> Result<Measured, String> {
    let (every, ends) = ends(metric, run)?;
    let mut flows = vec![];
    for flow in
        run.flows.iter().filter(|flow| metric.flows.as_ref().is_none_or(|names| names.include(&flow.name)))
    {
        let payload = scenario::payload_of(scenario, &flow.name);
        let mut before = 0.0;
        let rate = |&end: &f64| {
            let by = delivered_by(run, flow, end);
            (by - std::mem::replace(&mut before, by)) * payload * 8.0 / every
        };
        flows.push(ends.iter().map(rate).collect::<Vec<_>>());
    }
    let over = match metric.over {
        Some(Over::Quantiles) => return Err("quantiles have an axis of their own".into()),
        over => over.unwrap_or(Over::Sum),
    };
    let value = |i: usize| Ok(fold(over, flows.iter().map(|rates| rates[i]).collect())?.values[0]);
    let values = (0..ends.len()).map(value).collect::<Result<_, String>>()?;
    Ok(Measured { axis: Some(("time", ends)), values })
}

pub(super) fn registers(metric: &Metric, run: &RunResult, registers: &Registers) -> Result<Measured, String> {
    let name = metric.flow.as_deref().expect("checked when it was read");
    let flow = registers.get(name).ok_or_else(|| format!("no record of flow \"{name}\""))?;
    let (_, ends) = ends(metric, run)?;
    let series = &flow.series;
    let start = run.flows.iter().find(|flow| flow.name == name).map_or(0.0, |flow| flow.start_s);
    let take = metric.take.expect("checked when it was read");
    if take == Take::Losses {
        let mut values = vec![0.0; ends.len()];
        for loss in &flow.losses_s {
            if let Some(slot) = ends.iter().position(|end| start + loss <= *end) {
                values[slot] += 1.0;
            }
        }
        return Ok(Measured { axis: Some(("time", ends)), values });
    }
    let column = |i: usize| match take {
        Take::CwndPackets => series.cwnd_packets[i],
        Take::SsthreshPackets => series.ssthresh_packets[i].unwrap_or(f64::NAN),
        Take::QueuePackets => series.queue_packets[i],
        Take::InFlightPackets => series.in_flight_packets[i],
        _ => series.delivered_bytes[i],
    };
    // A register keeps its value until the next write.
    let value = |end: &f64| match series.time_s.partition_point(|time| start + time <= *end) {
        0 => f64::NAN,
        after => column(after - 1),
    };
    let values = ends.iter().map(value).collect();
    Ok(Measured { axis: Some(("time", ends)), values })
}
