//! The rules of a trace, from a file or from a program.

use firstflight_contract::{Nanos, Rate};

use super::{MILLISECOND, OPPORTUNITY};
use crate::limits;
use firstflight_document::quantity::{show_rate, show_time};

/// The highest rate of a step.
pub(super) const FASTEST: Rate = Rate(100_000_000_000);

/// A fault of a trace.
pub(super) struct Flaw {
    /// The entry, from 0.
    pub(super) entry: usize,
    pub(super) problem: String,
    /// Description of valid entries, if it is not that of every entry.
    pub(super) expected: Option<String>,
}

impl Flaw {
    fn at(entry: usize, problem: String) -> Self {
        Self { entry, problem, expected: None }
    }

    fn of_the_last(entries: usize, problem: &str, expected: &str) -> Self {
        Self { entry: entries - 1, problem: problem.into(), expected: Some(expected.into()) }
    }
}

/// Refuses opportunities that are out of order, beyond the limits, or never repeat.
pub(super) fn opportunities(times: &[Nanos]) -> Result<(), Flaw> {
    if let Some(place) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        let (above, time) = (show_time(times[place]), show_time(times[place + 1]));
        return Err(Flaw::at(place + 1, format!("{time} lies before the {above} above it")));
    }
    match times.last() {
        None => return Err(Flaw::at(0, "the trace is empty".into())),
        Some(&Nanos::ZERO) => {
            let problem = "the trace ends at 0 ms, where it begins";
            return Err(Flaw::of_the_last(times.len(), problem, "a last time above zero"));
        }
        Some(&last) => within(times.len() - 1, last)?,
    }
    let most = (limits::RATE.0 / (OPPORTUNITY * 8 * 1000)) as usize;
    match in_a_millisecond(times).find(|(_, packets)| *packets > most) {
        Some((entry, packets)) => {
            let from = show_time(times[entry]);
            let problem = format!("{packets} packets leave in the millisecond from {from}");
            Err(Flaw { entry, problem, expected: Some(format!("at most {most}")) })
        }
        None => Ok(()),
    }
}

/// For every opportunity its number, and the packets that leave in the millisecond that begins with it.
pub(super) fn in_a_millisecond(times: &[Nanos]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut end = 0;
    times.iter().enumerate().map(move |(first, from)| {
        while times.get(end).is_some_and(|time| time.0 - from.0 < MILLISECOND) {
            end += 1;
        }
        (first, end - first)
    })
}

/// Refuses rates that are out of order, beyond the limits, or end with zero.
pub(super) fn rates(steps: &[(Nanos, Rate)]) -> Result<(), Flaw> {
    for (entry, &(from, rate)) in steps.iter().enumerate() {
        let flaw = |problem| Err(Flaw::at(entry, problem));
        match entry.checked_sub(1).map(|above| steps[above].0) {
            None if from != Nanos::ZERO => {
                return flaw(format!("there is no rate before {}", show_time(from)));
            }
            Some(above) if from <= above => {
                let (from, above) = (show_time(from), show_time(above));
                return flaw(format!("{from} does not lie after the {above} above it"));
            }
            _ => {}
        }
        if rate > FASTEST {
            return flaw(format!("{} is above the limit of {}", show_rate(rate), show_rate(FASTEST)));
        }
        within(entry, from)?;
    }
    match steps.last() {
        None => Err(Flaw::at(0, "the trace has no rates".into())),
        Some((_, Rate(0))) => {
            let problem = "the last rate holds to the end, and 0 bit/s carries nothing";
            Err(Flaw::of_the_last(
                steps.len(),
                problem,
                "a last rate above zero: leave out the outage at the end, or add the time and the rate after it",
            ))
        }
        Some(_) => Ok(()),
    }
}

fn within(entry: usize, time: Nanos) -> Result<(), Flaw> {
    if time <= limits::TIME {
        return Ok(());
    }
    let (time, most) = (show_time(time), show_time(limits::TIME));
    Err(Flaw::at(entry, format!("{time} is above the limit of {most}")))
}
