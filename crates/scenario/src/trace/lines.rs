//! The two formats of trace files.

use firstflight_contract::{Nanos, Rate};

use super::check::{self, Flaw};
use super::{MILLISECOND, Schedule};
use crate::error::{Error, token};
use crate::limits;
use crate::seconds::Seconds;

const MILLISECONDS: &str = "the time of a delivery opportunity in whole milliseconds, such as 12";
const PAIR: &str = "seconds and Mbit/s, such as 0.5,12.5";
/// The only first line without values.
const HEADING: &str = "time,Mbit/s";
/// The slowest link that carries anything, Mbit/s: 1 bit/s.
const SLOWEST: f64 = 1e-6;
/// [`check::FASTEST`] in Mbit/s.
const FASTEST: f64 = 100_000.0;

/// The problem of a line that is not `wanted`. A line is shown only if it is numbers: the file may be any that can be read.
fn unlike(line: &str, wanted: &str) -> String {
    let number = |c: char| c.is_ascii_digit() || "+-.,eE".contains(c);
    match line.trim() {
        "" => format!("an empty line is not {wanted}"),
        text if text.chars().all(number) => format!("\"{}\" is not {wanted}", token(text)),
        _ => format!("this line is not numbers, so it is not {wanted}"),
    }
}

/// The lines of a trace.
pub(super) struct Lines<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
}

impl Lines<'_> {
    /// `problem` in line `line`, from 0.
    fn wrong(&self, line: usize, problem: String, expected: &str) -> Error {
        Error::invalid(problem).in_file(self.file, Some((line + 1, 1))).expecting(expected)
    }

    /// `flaw` of the trace in its line, after `heading` lines without an entry.
    fn flawed(&self, flaw: Flaw, heading: usize, usual: &str) -> Error {
        let last = self.text.lines().count().saturating_sub(1);
        self.wrong((flaw.entry + heading).min(last), flaw.problem, flaw.expected.as_deref().unwrap_or(usual))
    }

    pub(super) fn opportunities(&self) -> Result<Schedule, Error> {
        let most = limits::TIME.0 / MILLISECOND;
        let time = |(number, line): (usize, &str)| {
            let wrong = |problem| Err(self.wrong(number, problem, MILLISECONDS));
            match line.trim().parse::<u64>() {
                Err(_) => wrong(unlike(line, "such a time")),
                Ok(time) if time > most => wrong(format!("{time} ms is above the limit of {most} ms")),
                Ok(time) => Ok(Nanos(time * MILLISECOND)),
            }
        };
        let times = self.text.lines().enumerate().map(time).collect::<Result<Vec<_>, _>>()?;
        check::opportunities(&times).map_err(|flaw| self.flawed(flaw, 0, MILLISECONDS))?;
        Ok(Schedule::Opportunities(times))
    }

    pub(super) fn rates(&self) -> Result<Schedule, Error> {
        let mut steps: Vec<(Nanos, Rate)> = vec![];
        let heading = usize::from(self.text.lines().next().is_some_and(|line| line.trim() == HEADING));
        for (number, line) in self.text.lines().enumerate() {
            if number < heading {
                continue;
            }
            let wrong = |problem| Err(self.wrong(number, problem, PAIR));
            let value = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
            let Some((own_time, own_rate)) = line.split_once(',') else {
                return wrong(unlike(line, "such a pair"));
            };
            let (Some(time), Some(rate)) = (value(own_time), value(own_rate)) else {
                return wrong(unlike(line, "such a pair"));
            };
            if rate > FASTEST {
                return wrong(format!("{} Mbit/s is above the limit of {FASTEST} Mbit/s", token(own_rate)));
            }
            if time > limits::TIME.as_secs_f64() {
                return wrong(format!(
                    "{} s is above the limit of {} s",
                    token(own_time),
                    limits::TIME.as_secs_f64()
                ));
            }
            if rate > 0.0 && rate < SLOWEST {
                return wrong(format!("{} Mbit/s is below the limit of 1 bit/s", token(own_rate)));
            }
            // Whole nanoseconds and bits per second, to the nearest.
            steps.push((Nanos((time * 1e9).round() as u64), Rate((rate * 1e6).round() as u64)));
        }
        check::rates(&steps).map_err(|flaw| self.flawed(flaw, heading, PAIR))?;
        Ok(Schedule::Rates(steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_trace_is_refused_with_its_line() {
        for (text, message) in [
            (
                "",
                "x:1:1: the trace is empty; expected the time of a delivery opportunity in whole milliseconds, such as 12",
            ),
            ("1\n\n2\n", "x:2:1: an empty line is not such a time; expected the time of a"),
            ("1\n2.5\n", "x:2:1: \"2.5\" is not such a time"),
            ("-1\n", "x:1:1: \"-1\" is not such a time"),
            ("# mahimahi\n1\n", "x:1:1: this line is not numbers, so it is not such a time"),
            ("root:x:0:0:/root\n", "x:1:1: this line is not numbers, so it is not such a time; expected"),
            ("0123456789012345678901234567890\n", "x:1:1: \"01234567890123456789…\" is not such a time"),
            ("5\n6\n4\n", "x:3:1: 4 ms lies before the 6 ms above it"),
            ("0\n0\n", "x:2:1: the trace ends at 0 ms, where it begins; expected a last time above zero"),
            ("100000000001\n", "x:1:1: 100000000001 ms is above the limit of 100000000000 ms"),
            ("time,Mbit/s\n", "x:1:1: the trace has no rates; expected seconds and Mbit/s, such as 0.5,12.5"),
            (
                "seconds,mbps\n0,1\n",
                "x:1:1: this line is not numbers, so it is not such a pair; expected seconds and Mbit/s",
            ),
            ("0,1\n1,2,3\n", "x:2:1: \"1,2,3\" is not such a pair"),
            ("0,1\n1;2\n", "x:2:1: this line is not numbers, so it is not such a pair"),
            ("0,-1\n", "x:1:1: \"0,-1\" is not such a pair"),
            ("0,inf\n", "x:1:1: this line is not numbers, so it is not such a pair"),
            ("1,5\n", "x:1:1: there is no rate before 1 s"),
            ("0,5\n2,6\n2,7\n", "x:3:1: 2 s does not lie after the 2 s above it"),
            ("0,5\n1,0\n", "x:2:1: the last rate holds to the end, and 0 bit/s carries nothing"),
            ("0,200000\n", "x:1:1: 200000 Mbit/s is above the limit of 100000 Mbit/s"),
            ("0,9e-7\n", "x:1:1: 9e-7 Mbit/s is below the limit of 1 bit/s"),
            ("0,1e300\n", "x:1:1: 1e300 Mbit/s is above the limit of 100000 Mbit/s"),
            ("0,1\n1e9,1\n", "x:2:1: 1e9 s is above the limit of 100000000 s"),
        ] {
            let error = Schedule::parse(text, "x").expect_err(text).to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
