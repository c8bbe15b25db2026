//! Inference of the path from the connections of a capture.

mod bottlenecks;
mod buffer;
mod ends;
mod pool;
mod rate;
mod rtt;
mod stats;
mod widened;

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::estimate::{Estimate, Inferred, PathEstimate};
use crate::infer::buffer::Losses;
use crate::observed::Connection;
use crate::packet_trace::PacketTrace;
use crate::vantage::Vantage;
use crate::view::View;

pub use bottlenecks::bottlenecks;
pub use stats::quantile as weighted_quantile;

/// Infers the path of `connections`, pooling those between the two hosts that exchanged most data.
///
/// Concurrent connections count as one stream through the bottleneck. The estimates of groups that ran at
/// different times are compared: a contradiction widens the interval and is noted. For a capture away from
/// the sender, its times are reconstructed from time stamps; without them the affected values are unknown.
pub fn infer(connections: &[Connection]) -> PathEstimate {
    let mut notes = Vec::new();
    let pooled = pool::busiest_pair(connections, &mut notes);
    infer_pooled(pooled, notes)
}

/// Infers the path of connections that all crossed the same bottleneck, between whichever hosts ([`bottlenecks`]).
/// Otherwise as [`infer`].
pub fn infer_together(connections: &[&Connection]) -> PathEstimate {
    infer_pooled(connections.to_vec(), vec![])
}

fn infer_pooled(mut pooled: Vec<&Connection>, mut notes: Vec<String>) -> PathEstimate {
    // one capture has one point of capture: if it is away from the sender, connections that could not be
    // moved there mislead
    if pooled.iter().any(|connection| connection.trace.view != View::AtSender) {
        pooled.retain(|connection| connection.vantage != Vantage::Unknown);
    }
    note_vantage(&pooled, &mut notes);
    let traces: Vec<&PacketTrace> = pooled.iter().map(|connection| &connection.trace).collect();
    let Measured { rate, rtt, losses } = widened::widen(measure_pooled(&pooled, &mut notes), &traces);
    PathEstimate {
        rate,
        rtt,
        buffer: losses.buffer,
        loss: losses.random,
        mss: ends::mss(&traces),
        packet: ends::packet(&traces),
        ack: ends::ack(&traces),
        initial_window: ends::initial_window(&pooled),
        receive_window: ends::receive_window(&traces),
        opening: ends::opening(&traces),
        receiver: ends::receiver(&traces),
        notes,
    }
}

/// Measurements of the bottleneck.
struct Measured {
    rate: Inferred<Estimate>,
    rtt: Inferred<Estimate>,
    losses: Losses,
}

impl Measured {
    fn of(groups: &[Vec<&Connection>]) -> Self {
        let connections: Vec<&Connection> = groups.iter().flatten().copied().collect();
        let parts: Vec<Vec<&PacketTrace>> =
            groups.iter().map(|group| group.iter().map(|one| &one.trace).collect()).collect();
        let rate = rate::rate(&parts);
        let rtt = rtt::rtt(&connections, &rate.bit_s);
        let losses = buffer::losses(&parts, &rate, &rtt);
        Self { rate: rate.bit_s, rtt, losses }
    }
}

/// Measures all connections together and compares the groups that ran at different times.
fn measure_pooled(pooled: &[&Connection], notes: &mut Vec<String>) -> Measured {
    let groups = pool::concurrent(pooled);
    let all = Measured::of(&groups);
    if groups.len() < 2 {
        return all;
    }
    let (mut rates, mut rtts, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        let Measured { rate, rtt, losses } = Measured::of(&[group]);
        rates.push(rate);
        rtts.push(rtt);
        buffers.push(losses.buffer);
    }
    let Measured { rate, rtt, losses: Losses { buffer, random } } = all;
    let megabits = |bit_s: f64| format!("{:.3} Mbit/s", bit_s / 1e6);
    let milliseconds = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    let packets = |packets: f64| format!("{packets:.0} packets");
    Measured {
        rate: pool::settle(rate, &rates, "rate", megabits, notes),
        rtt: pool::settle(rtt, &rtts, "round-trip time", milliseconds, notes),
        losses: Losses { buffer: pool::settle(buffer, &buffers, "buffer", packets, notes), random },
    }
}

/// Resolution of the capture's clock, seconds: the smallest step in any of its connections.
fn clock_step<'a>(traces: impl Iterator<Item = &'a PacketTrace>) -> f64 {
    let steps = traces.map(|trace| trace.clock_step).filter(|step| *step > Nanos::ZERO);
    steps.min().unwrap_or_default().as_secs_f64()
}

/// Notes the point of capture if it limits the estimates.
fn note_vantage(pooled: &[&Connection], notes: &mut Vec<String>) {
    let count = |of: fn(&Connection) -> bool| pooled.iter().filter(|connection| of(connection)).count();
    if pooled.iter().all(|connection| connection.trace.acks.is_empty()) {
        notes.push("the capture contains only the direction of the data: without acknowledgements little can be inferred".into());
    } else if count(|connection| connection.vantage == Vantage::Unknown) > 0 {
        notes.push(
            "neither a handshake nor time stamps show where the capture was taken; the sender is assumed"
                .into(),
        );
    }
    let elsewhere = count(|connection| connection.trace.view != View::AtSender);
    if elsewhere == 0 {
        return;
    }
    let by_stamps = count(|connection| matches!(connection.trace.view, View::Stamped(_)));
    let tick = pooled.iter().map(|connection| connection.trace.view.resolution()).max().unwrap_or_default();
    let how = if by_stamps == elsewhere {
        format!(
            "the sender's times come from its time stamps, with a resolution of {:.0} ms",
            tick.as_secs_f64() * 1e3
        )
    } else {
        "without time stamps of the sender over a longer time, queueing ahead of the capture is invisible"
            .into()
    };
    notes.push(format!(
        "{elsewhere} of {} connections were captured away from the sender: {how}",
        pooled.len()
    ));
}
