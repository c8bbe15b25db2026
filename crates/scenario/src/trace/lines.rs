//! Lines of trace files, and mahimahi's format.

use firstflight_contract::Nanos;

use super::check;
use super::{MILLISECOND, Schedule};
use crate::limits;
use firstflight_document::{Error, token};

const MILLISECONDS: &str = "the time of a delivery opportunity in whole milliseconds, such as 12, or seconds and Mbit/s in two columns, such as 0.5,12.5";

/// The problem of a line that is not `wanted`. A line is shown only if it is numbers: the file may be any that can be read.
pub(super) fn unlike(line: &str, wanted: &str) -> String {
    let number = |c: char| c.is_ascii_digit() || "+-.,;eE \t".contains(c);
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

impl<'a> Lines<'a> {
    /// `problem` in line `line`, from 0.
    pub(super) fn wrong(&self, line: usize, problem: String, expected: &str) -> Error {
        Error::invalid(problem).in_file(self.file, Some((line + 1, 1))).expecting(expected)
    }

    /// The numbers, from 0, and the texts of the lines that are neither blank nor comments.
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let lines = self.text.lines().map(str::trim).enumerate();
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    }

    /// The texts of the comments above line `end`.
    pub(super) fn comments(&self, end: usize) -> impl Iterator<Item = &'a str> + use<'a> {
        self.text.lines().take(end).filter_map(|line| line.trim().strip_prefix('#'))
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
        let lines = || self.text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let times = lines().map(time).collect::<Result<Vec<_>, _>>()?;
        check::opportunities(&times).map_err(|flaw| {
            let line = lines().nth(flaw.entry).or_else(|| lines().last()).map_or(0, |(number, _)| number);
            self.wrong(line, flaw.problem, flaw.expected.as_deref().unwrap_or(MILLISECONDS))
        })?;
        Ok(Schedule::Opportunities(times))
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
            ("# mahimahi\n1 ms\n", "x:2:1: this line is not numbers, so it is not such a pair"),
            ("root:x:0:0:/root\n", "x:1:1: this line is not numbers, so it is not such a time; expected"),
            ("0123456789012345678901234567890\n", "x:1:1: \"01234567890123456789…\" is not such a time"),
            ("5\n6\n4\n", "x:3:1: 4 ms lies before the 6 ms above it"),
            ("0\n0\n", "x:2:1: the trace ends at 0 ms, where it begins; expected a last time above zero"),
            ("100000000001\n", "x:1:1: 100000000001 ms is above the limit of 100000000000 ms"),
            ("time,Mbit/s\n", "x:1:1: the trace has no rates; expected seconds and Mbit/s, such as 0.5,12.5"),
            (
                "first,other\n0,1\n",
                "x:1:1: this line is not numbers, so it is not such a pair; expected seconds and Mbit/s",
            ),
            ("0,1\n1,2,3\n", "x:2:1: \"1,2,3\" is not such a pair"),
            ("0,1\n1;2\n", "x:2:1: \"1;2\" is not such a pair"),
            ("0,-1\n", "x:1:1: \"0,-1\" is not such a pair"),
            ("0,inf\n", "x:1:1: this line is not numbers, so it is not such a pair"),
            ("0,5\n2,6\n2,7\n", "x:3:1: 2 s does not lie after the 2 s above it"),
            ("0,5\n1,0\n", "x:2:1: the last rate holds to the end, and 0 bit/s carries nothing"),
            ("0,200000\n", "x:1:1: 200000 Mbit/s is above the limit of 100000 Mbit/s"),
            ("0,9e-7\n", "x:1:1: 9e-7 Mbit/s is below the limit of 1 bit/s"),
            ("0,1e300\n", "x:1:1: 1e300 Mbit/s is above the limit of 100000 Mbit/s"),
            ("0,1\n1e9,1\n", "x:2:1: 1e9 lies more than 100000000 s after the first time"),
        ] {
            let error = Schedule::parse(text, "x").expect_err(text).to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
