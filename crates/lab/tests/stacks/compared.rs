//! Differences between a real row and a simulated one.

use firstflight_probe::{By, Reason, Row};

/// Largest differences, as shares: of windows, of bytes after a silence, of the time with a lost datagram, and of other times.
const WINDOW: f64 = 0.05;
const AFTER_SILENCE: f64 = 0.05;
const THIRD_LOST: f64 = 0.05;
const TIME: f64 = 0.10;
/// Largest difference of the duration of a first flight: a share, and milliseconds, for a server takes time to hand its datagrams over.
const FLIGHT: (f64, f64) = (0.10, 1.0);

/// A difference that is larger than it may be.
#[derive(Debug)]
pub(crate) struct Difference {
    /// Name of the value: `round 2`, `time of 12000`.
    pub(crate) what: String,
    pub(crate) real: String,
    pub(crate) simulated: String,
}

/// All differences, and the errors of the times of transfers, as shares.
pub(crate) fn compared(real: &Row, simulated: &Row) -> (Vec<Difference>, Vec<f64>) {
    let mut all = vec![];
    let mut note = |what: String, holds: bool, real: String, simulated: String| {
        if !holds {
            all.push(Difference { what, real, simulated });
        }
    };
    let near = |real: f64, simulated: f64, share: f64| (simulated - real).abs() <= share * real;
    for (number, (one, other)) in (1..=3).zip(real.rounds.iter().zip(&simulated.rounds)) {
        let [datagrams, bytes] = [[one.datagrams, other.datagrams], [one.bytes, other.bytes]]
            .map(|both| both.map(|it| it.to_string()));
        for (what, [one, other]) in [("datagrams", datagrams), ("bytes", bytes)] {
            note(format!("{what} of round {number}"), one == other, one, other);
        }
    }
    let burst = |row: &Row| row.first_flight.bursts.first().map_or(0, |burst| burst.datagrams);
    let flight = |row: &Row| row.first_flight.packets.last().map_or(0.0, |(at, _)| *at);
    let (one, other) = (burst(real), burst(simulated));
    note("first burst".into(), one == other, one.to_string(), other.to_string());
    let (one, other) = (flight(real), flight(simulated));
    let holds = (one - other).abs() <= FLIGHT.1 + FLIGHT.0 * one;
    note("duration of the first flight".into(), holds, format!("{one} ms"), format!("{other} ms"));
    let reason = |row: &Row| match row.startup_end.map(|end| end.reason) {
        Some(Reason::Loss) => "loss",
        Some(Reason::NoGrowth) => "no growth",
        None => "none",
    };
    let (one, other) = (reason(real), reason(simulated));
    note("end of start-up".into(), one == other, one.into(), other.into());
    if let (Some(one), Some(other)) = (real.startup_end, simulated.startup_end)
        && one.reason == other.reason
    {
        let (one, other) = (one.window, other.window);
        let holds = near(one as f64, other as f64, WINDOW);
        note("window at the end of start-up".into(), holds, one.to_string(), other.to_string());
    }
    for (one, other) in real.after_idle.iter().zip(&simulated.after_idle) {
        let holds = near(one.bytes as f64, other.bytes as f64, AFTER_SILENCE);
        let what = format!("after {} s", one.idle_s);
        note(what, holds, format!("{} B", one.bytes), format!("{} B", other.bytes));
    }
    if let (Some(one), Some(other)) = (real.third_lost, simulated.third_lost) {
        let holds = near(one.seconds, other.seconds, THIRD_LOST);
        note("time with a loss".into(), holds, one.seconds.to_string(), other.seconds.to_string());
        let rule =
            |lost: firstflight_probe::ThirdLost| lost.repair.map_or("none", |repair| By::words(repair.by));
        let after = |lost: firstflight_probe::ThirdLost| lost.repair.map_or(0.0, |repair| repair.after_ms);
        let words = [one, other].map(|lost| format!("{} after {} ms", rule(lost), after(lost)));
        let [real, simulated] = words;
        note("repair".into(), rule(one) == rule(other), real, simulated);
    } else {
        let has = |row: &Row| row.third_lost.is_some().to_string();
        note("a lost datagram".into(), has(real) == has(simulated), has(real), has(simulated));
    }
    let mut errors = vec![];
    for (one, other) in real.transfers.iter().zip(&simulated.transfers) {
        let holds = near(one.seconds, other.seconds, TIME);
        errors.push((other.seconds / one.seconds - 1.0).abs());
        let what = format!("time of {}", one.bytes);
        note(what, holds, one.seconds.to_string(), other.seconds.to_string());
    }
    (all, errors)
}
