//! Metrics of links.

use firstflight_document::nearest;
use firstflight_document::seconds::Seconds;
use firstflight_results::{LinkResult, RunResult};

use super::{Measured, Metric, Ran, Take, run_of, seconds, time};

pub(super) fn measure(metric: &Metric, ran: &Ran<'_>) -> Result<Measured, String> {
    let whole = run_of(ran)?;
    let links = links(metric, whole)?;
    if metric.take == Some(Take::QueuePackets) {
        return queue(metric, ran, &links);
    }
    let Some([from, until]) = &metric.between else {
        return of(metric, &Counts::of(&links, whole.simulated_s), whole.simulated_s);
    };
    let (from, until) = (seconds(from)?, seconds(until)?);
    let by = |time: f64| match ran.read_at.iter().position(|at| at.as_secs_f64() == time) {
        Some(i) => {
            let readings: Vec<&LinkResult> = links.iter().map(|link| &link.readings[i]).collect();
            Counts::of(&readings, time.min(whole.simulated_s))
        }
        None => Counts::default(),
    };
    of(metric, &by(until).since(&by(from)), until - from)
}

/// Queue over time.
fn queue(metric: &Metric, ran: &Ran<'_>, links: &[&LinkResult]) -> Result<Measured, String> {
    let (_, ends) = time::ends(metric, run_of(ran)?)?;
    let waiting = |end: &f64| {
        // Both times are multiples of the same interval; one is rounded to nanoseconds.
        let read = ran.read_at.partition_point(|at| at.as_secs_f64() < end - 1e-9);
        if ran.read_at.get(read).is_none_or(|at| at.as_secs_f64() > end + 1e-9) {
            return Err("the end is unknown; expected `duration` in the scenario or `until` in the metric");
        }
        Ok(links.iter().map(|link| link.readings[read].waiting_packets as f64).sum())
    };
    let values = ends.iter().map(waiting).collect::<Result<_, _>>()?;
    Ok(Measured { axis: Some(("time", ends)), values })
}

/// Counters summed over links, and integrals over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    links: f64,
    packets: f64,
    drops: f64,
    marks: f64,
    /// Integrals over time: busy links times seconds, packets times seconds.
    busy: f64,
    queue: f64,
    max_queue: f64,
    /// Whether the counters cover a part of the run.
    part: bool,
}

impl Counts {
    /// Counters of links over `lasted` seconds.
    fn of(links: &[&LinkResult], lasted: f64) -> Self {
        let sum = |value: fn(&LinkResult) -> f64| links.iter().map(|link| value(link)).sum::<f64>();
        Self {
            links: links.len() as f64,
            packets: sum(|l| l.packets as f64),
            drops: sum(|l| l.drops as f64),
            marks: sum(|l| l.marks as f64),
            busy: sum(|l| l.utilization) * lasted,
            queue: sum(|l| l.mean_queue_packets) * lasted,
            max_queue: links.iter().map(|l| l.max_queue_packets as f64).fold(0.0, f64::max),
            part: false,
        }
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            links: self.links,
            packets: self.packets - before.packets,
            drops: self.drops - before.drops,
            marks: self.marks - before.marks,
            busy: self.busy - before.busy,
            queue: self.queue - before.queue,
            max_queue: self.max_queue,
            part: true,
        }
    }
}

fn of(metric: &Metric, counts: &Counts, lasted: f64) -> Result<Measured, String> {
    let per_link = 1.0 / (counts.links * lasted);
    Ok(Measured::one(match metric.take.expect("checked when it was read") {
        Take::Utilization => counts.busy * per_link,
        Take::Drops => counts.drops,
        Take::DropShare => counts.drops / (counts.packets + counts.drops),
        Take::Marks => counts.marks,
        Take::MeanQueuePackets => counts.queue * per_link,
        Take::MaxQueuePackets if !counts.part => counts.max_queue,
        other => return Err(format!("{other:?} is not a metric of links in a part of a run")),
    }))
}

/// The links of a metric.
fn links<'a>(metric: &Metric, run: &'a RunResult) -> Result<Vec<&'a LinkResult>, String> {
    let name = metric.link.as_deref().expect("checked when it was read");
    let links: Vec<&LinkResult> = run.links.iter().filter(|link| name == "*" || link.name == name).collect();
    if links.is_empty() {
        let names: Vec<&str> = run.links.iter().map(|link| link.name.as_str()).collect();
        let hint = nearest(name, names.iter().copied())
            .map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
        return Err(format!("no link \"{name}\"; links are {}{hint}", names.join(", ")));
    }
    Ok(links)
}
