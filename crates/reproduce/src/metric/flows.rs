//! Metrics of flows: a value of every flow, and their combination.

use firstflight_quantile::type_7;
use firstflight_results::{FlowResult, RunResult};
use firstflight_scenario::Scenario;
use firstflight_sweep::leading_number;

use super::time::delivered_by;
use super::{Filter, Measured, Metric, Names, Over, Take, scenario, seconds};

pub(super) fn measure(metric: &Metric, scenario: &Scenario, run: &RunResult) -> Result<Measured, String> {
    let Some(Names::Several(times)) = &metric.within else { return of(metric, scenario, run) };
    let mut values = vec![];
    for time in times {
        let one = Metric { within: Some(Names::One(time.clone())), ..metric.clone() };
        values.extend(of(&one, scenario, run)?.values);
    }
    if values.len() != times.len() {
        return Err("quantiles have an axis of their own".into());
    }
    let times = times.iter().map(|time| seconds(time)).collect::<Result<_, _>>()?;
    Ok(Measured { axis: Some(("within", times)), values })
}

fn of(metric: &Metric, scenario: &Scenario, run: &RunResult) -> Result<Measured, String> {
    let mut values = vec![];
    let mut any = false;
    for flow in
        run.flows.iter().filter(|flow| metric.flows.as_ref().is_none_or(|names| names.include(&flow.name)))
    {
        any = true;
        let payload = scenario::payload_of(scenario, &flow.name);
        if kept(&metric.filter, flow, payload)? {
            values.extend(taken(metric, scenario, run, flow, payload)?);
        }
    }
    if !any && metric.filter.is_none() {
        return Err(format!("no flow is one of {:?}", metric.flows));
    }
    fold(metric.over.expect("checked when it was read"), values)
}

fn kept(filter: &Filter, flow: &FlowResult, payload: f64) -> Result<bool, String> {
    let packets = |text: &String| match (leading_number(text), text.ends_with("packets")) {
        (Some(number), true) => Ok(number * payload),
        _ => Err(format!("\"{text}\": expected a number of packets such as \"3 packets\"")),
    };
    let size = flow.size_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
    let lossless = flow.lost_packets == 0;
    Ok(filter.size_above.as_ref().map(packets).transpose()?.is_none_or(|limit| size > limit)
        && filter.size_below.as_ref().map(packets).transpose()?.is_none_or(|limit| size < limit)
        && filter.lossless.is_none_or(|wanted| wanted == lossless)
        && filter.lossy.is_none_or(|wanted| wanted != lossless)
        && filter.finished.is_none_or(|wanted| wanted == flow.completion_s.is_some())
        && filter
            .exit
            .as_ref()
            .is_none_or(|word| flow.startup_exit.is_some_and(|exit| exit.reason.label() == word)))
}

/// Values of one flow: none if there is nothing to measure, several for rounds.
fn taken(
    metric: &Metric,
    scenario: &Scenario,
    run: &RunResult,
    flow: &FlowResult,
    payload: f64,
) -> Result<Vec<f64>, String> {
    let exit = flow.startup_exit;
    let value = match metric.take.expect("checked when it was read") {
        Take::DeliveredPackets => Some(delivered(metric, run, flow)?),
        Take::DeliveredBytes if metric.within.is_none() && metric.between.is_none() => {
            Some(flow.delivered_bytes as f64)
        }
        Take::DeliveredBytes => Some(delivered(metric, run, flow)? * payload),
        Take::CapacityShare => {
            let lasted = match &metric.between {
                Some([from, until]) => seconds(until)? - seconds(from)?,
                None => run.simulated_s,
            };
            let capacity = scenario::rate(scenario)? * lasted;
            Some(delivered(metric, run, flow)? * payload * 8.0 / capacity)
        }
        Take::GoodputBitS => Some(flow.goodput_bit_s),
        Take::CompletionS => flow.completion_s,
        Take::RoundS => {
            return Ok(flow.rounds_s.iter().skip(metric.from_round.unwrap_or(1) - 1).copied().collect());
        }
        Take::Retransmits => Some(flow.retransmits as f64),
        Take::Timeouts => Some(flow.timeouts as f64),
        Take::LostPackets => Some(flow.lost_packets as f64),
        Take::FirstFlightPackets => Some(flow.first_flight_packets as f64),
        Take::MaxCwndPackets => Some(flow.max_cwnd_packets),
        Take::FinalCwndPackets => Some(flow.final_cwnd_packets),
        Take::ExitCwndPackets => exit.map(|exit| exit.cwnd_packets),
        Take::ExitTimeS => exit.map(|exit| exit.time_s),
        Take::ExitOvershootPackets => exit.map(|exit| exit.overshoot_packets as f64),
        Take::ExitCwndPerBdp => exit.map(|exit| exit.cwnd_packets / exit.bdp_packets),
        Take::SizeBytes => flow.size_bytes.map(|bytes| bytes as f64),
        Take::LossShare => {
            let sent = (flow.lost_packets + flow.delivered_packets) as f64;
            (sent > 0.0).then(|| flow.lost_packets as f64 / sent)
        }
        other => return Err(format!("{other:?} is not a metric of flows")),
    };
    Ok(value.into_iter().collect())
}

/// Packets delivered in the metric's part of the run.
fn delivered(metric: &Metric, run: &RunResult, flow: &FlowResult) -> Result<f64, String> {
    match (&metric.within, &metric.between) {
        (None, None) => Ok(flow.delivered_packets as f64),
        (Some(within), None) => {
            let within = within.first();
            let at = seconds(within)?;
            // Half a nanosecond of tolerance: grid times are whole nanoseconds.
            match flow.delivered_at.iter().find(|(time, _)| *time > at - 5e-10) {
                Some((time, packets)) if *time < at + 5e-10 => Ok(*packets as f64),
                None => Ok(flow.delivered_packets as f64),
                Some(_) => Err(format!("the grid does not divide {within}")),
            }
        }
        (None, Some([from, until])) => {
            Ok(delivered_by(run, flow, seconds(until)?) - delivered_by(run, flow, seconds(from)?))
        }
        (Some(_), Some(_)) => Err("both `within` and `between`; expected one of them".into()),
    }
}

pub(super) fn fold(over: Over, mut values: Vec<f64>) -> Result<Measured, String> {
    let count = values.len() as f64;
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let first = values.first().copied();
    values.sort_by(f64::total_cmp);
    let at = |p: f64| if values.is_empty() { f64::NAN } else { type_7(&values, p) };
    Ok(Measured::one(match over {
        Over::Sum => sum(&values),
        Over::Mean => sum(&values) / count,
        Over::Median => at(0.5),
        Over::Min => at(0.0),
        Over::Max => at(1.0),
        Over::P5 => at(0.05),
        Over::P25 => at(0.25),
        Over::P75 => at(0.75),
        Over::P95 => at(0.95),
        Over::Stdev => {
            let mean = sum(&values) / count;
            (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (count - 1.0)).sqrt()
        }
        // R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984.
        Over::Jain => sum(&values) * sum(&values) / (count * values.iter().map(|x| x * x).sum::<f64>()),
        Over::Count => count,
        Over::Share => values.iter().filter(|x| **x > 0.0).count() as f64 / count,
        Over::First => first.unwrap_or(f64::NAN),
        Over::Quantiles => {
            let percent: Vec<f64> = (0..=100).map(f64::from).collect();
            let values = percent.iter().map(|p| at(p / 100.0)).collect();
            return Ok(Measured { axis: Some(("percent", percent)), values });
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(over: Over) -> f64 {
        fold(over, vec![4.0, 0.0, 2.0, 2.0]).expect("values").values[0]
    }

    #[test]
    fn values_of_flows_are_combined() {
        assert_eq!(
            [Over::Sum, Over::Mean, Over::Median, Over::Min, Over::Max].map(one),
            [8.0, 2.0, 2.0, 0.0, 4.0]
        );
        // (sum)^2 / (n sum of squares) = 64 / (4 * 24); three of four are above zero.
        assert_eq!(
            [Over::Jain, Over::Share, Over::Count, Over::First].map(one),
            [64.0 / 96.0, 0.75, 4.0, 4.0]
        );
    }

    #[test]
    fn quantiles_are_101_percentiles() {
        let all = fold(Over::Quantiles, (0..=10).map(f64::from).collect()).expect("values");
        let (name, percent) = all.axis.expect("an axis");
        assert_eq!((name, percent.len(), all.values[50], all.values[100]), ("percent", 101, 5.0, 10.0));
    }

    #[test]
    fn the_median_of_no_values_is_not_a_number() {
        assert!(fold(Over::Median, vec![]).expect("no value").values[0].is_nan());
        assert_eq!(fold(Over::Count, vec![]).expect("none").values, [0.0]);
    }
}
