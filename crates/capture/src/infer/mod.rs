//! The path from the connections of a capture.

mod buffer;
mod ends;
mod pool;
mod rate;
mod rtt;
mod stats;

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::estimate::{Estimate, Inferred, PathEstimate};
use crate::infer::buffer::Losses;
use crate::observed::{Connection, Vantage};
use crate::trace::Trace;
use crate::view::View;

/// Infers the path of `connections`: of those between the two hosts that exchanged most data, pooled.
///
/// Connections that ran side by side count as one stream through the bottleneck; what the groups told is compared, and
/// a contradiction widens the interval and is noted. Away from the sender its times are reconstructed from time
/// stamps; without them the result says what cannot be told.
pub fn infer(connections: &[Connection]) -> PathEstimate {
    let mut notes = Vec::new();
    let mut pooled = pool::busiest_pair(connections, &mut notes);
    // one capture has one vantage point: where it is away from the sender, what could not be moved there misleads
    if pooled.iter().any(|connection| connection.trace.view != View::AtSender) {
        pooled.retain(|connection| connection.vantage != Vantage::Unknown);
    }
    note_vantage(&pooled, &mut notes);
    let traces: Vec<&Trace> = pooled.iter().map(|connection| &connection.trace).collect();
    let Measured { rate, rtt, losses } = measure_pooled(&pooled, &mut notes);
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
        receiver: ends::receiver(&traces),
        notes,
    }
}

/// What packets tell of the bottleneck.
struct Measured {
    rate: Inferred<Estimate>,
    rtt: Inferred<Estimate>,
    losses: Losses,
}

impl Measured {
    fn of(groups: &[Vec<&Connection>]) -> Self {
        let connections: Vec<&Connection> = groups.iter().flatten().copied().collect();
        let parts: Vec<Vec<&Trace>> =
            groups.iter().map(|group| group.iter().map(|one| &one.trace).collect()).collect();
        let rate = rate::rate(&parts);
        let rtt = rtt::rtt(&connections, &rate.bit_s);
        let losses = buffer::losses(&parts, &rate, &rtt);
        Self { rate: rate.bit_s, rtt, losses }
    }
}

/// Measures all connections together, and holds the groups that ran at different times against each other.
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

/// How exact the times of a capture are, by the smallest step seen in any of its connections.
fn clock_step<'a>(traces: impl Iterator<Item = &'a Trace>) -> f64 {
    let steps = traces.map(|trace| trace.clock_step).filter(|step| *step > Nanos::ZERO);
    steps.min().unwrap_or_default().as_secs_f64()
}

/// Says where the capture was taken, where that limits what it can tell.
fn note_vantage(pooled: &[&Connection], notes: &mut Vec<String>) {
    let count = |of: fn(&Connection) -> bool| pooled.iter().filter(|connection| of(connection)).count();
    if pooled.iter().all(|connection| connection.trace.acks.is_empty()) {
        notes.push("the capture holds one direction only, that of the data: without acknowledgements it tells little of the path".into());
    } else if count(|connection| connection.vantage == Vantage::Unknown) > 0 {
        notes.push("neither a handshake nor time stamps tell where the capture was taken: it is taken to be at the sender".into());
    }
    let elsewhere = count(|connection| connection.trace.view != View::AtSender);
    if elsewhere == 0 {
        return;
    }
    let by_stamps = count(|connection| matches!(connection.trace.view, View::Stamped(_)));
    let tick = pooled.iter().map(|connection| connection.trace.view.resolution()).max().unwrap_or_default();
    let how = if by_stamps == elsewhere {
        format!("the sender's times are those of its time stamps, to {:.0} ms", tick.as_secs_f64() * 1e3)
    } else {
        "without time stamps of the sender over a longer time, queueing ahead of the capture does not show"
            .into()
    };
    notes.push(format!(
        "{elsewhere} of {} connections were captured away from the sender: {how}",
        pooled.len()
    ));
}
