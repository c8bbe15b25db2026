//! Link traces: the capacity of a link over time, from a file in one of two formats.

use crate::seconds::Seconds;
use std::path::Path;
use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use sha2::{Digest, Sha256};

use crate::error::{Error, Problem, clipped, token};
use crate::file::read_text;
use crate::limits;

/// Bytes of a full packet that a delivery opportunity carries.
const OPPORTUNITY: u64 = 1500;

/// A trace in place of a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrace {
    /// Name of the file in the scenario.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Capacity over time.
    pub schedule: Arc<Schedule>,
}

/// Capacity of a link over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Times of delivery opportunities, milliseconds, ascending; after the last, which is above zero, they repeat, counted
    /// from it.
    Opportunities(Vec<u64>),
    /// Rates with the times from which they hold; the times begin with zero and rise; the last rate, above zero, holds for
    /// ever.
    Rates(Vec<(Nanos, Rate)>),
}

impl LinkTrace {
    /// A trace from the text of a file; `file` is its name.
    ///
    /// # Errors
    /// As [`Schedule::parse`].
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        Self::named(text, file, file)
    }

    /// A trace from `text`, whose file is `file` in the scenario and `shown` in errors.
    fn named(text: &str, file: &str, shown: &str) -> Result<Self, Error> {
        let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        let schedule = Arc::new(Schedule::parse(text, shown)?);
        Ok(Self { file: file.into(), sha256, schedule })
    }

    /// Reads the trace `file` in `folder`.
    pub(crate) fn load(file: &str, folder: &Path) -> Result<Self, Error> {
        let unreadable = |why| Error::new(Problem::Unreadable(why));
        let (text, shown) = text_beside(file, folder, limits::TRACE).map_err(unreadable)?;
        Self::named(&text, file, &shown)
    }
}

/// The text of `file` in `folder`, at most `most` bytes, and its name in errors; or the reason why it cannot be read.
pub(crate) fn text_beside(file: &str, folder: &Path, most: u64) -> Result<(String, String), String> {
    let path = folder.join(file);
    let named = path.display().to_string();
    match read_text(&path, most) {
        Ok(text) => Ok((text, named)),
        Err(why) => Err(format!("{}: {why}", clipped(&named))),
    }
}

impl Schedule {
    /// Reads a trace: `time,Mbit/s` lines if the first line has a comma, else mahimahi's format. `file` is its name in
    /// errors.
    ///
    /// # Errors
    /// The first [`Error`] found, with its line.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let lines = Lines { text, file };
        if text.lines().next().unwrap_or_default().contains(',') {
            lines.rates()
        } else {
            lines.opportunities()
        }
    }

    /// The mean rate: full packets of 1500 bytes over the trace's length; of rates the mean until the last line, or
    /// the only one; at least 1 bit/s.
    pub fn mean(&self) -> Rate {
        match self {
            Self::Opportunities(times) => {
                let bits = times.len() as u128 * u128::from(OPPORTUNITY) * 8;
                Rate((bits * 1000 / u128::from(times[times.len() - 1])).max(1) as u64)
            }
            Self::Rates(steps) => {
                let (length, last) = steps[steps.len() - 1];
                let carried = steps
                    .windows(2)
                    .map(|pair| u128::from(pair[0].1.0) * u128::from((pair[1].0 - pair[0].0).0));
                let mean = carried.sum::<u128>().checked_div(length.0.into());
                Rate(mean.map_or(last.0, |mean| mean.max(1) as u64))
            }
        }
    }

    /// The highest rate: the most full packets in one millisecond; of rates the highest.
    pub fn fastest(&self) -> Rate {
        match self {
            Self::Opportunities(times) => {
                let most = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
                Rate(most as u64 * OPPORTUNITY * 8 * 1000)
            }
            Self::Rates(steps) => steps.iter().map(|step| step.1).max().unwrap_or(Rate(0)),
        }
    }
}

const MILLISECONDS: &str = "the time of a delivery opportunity in whole milliseconds, such as 12";
const PAIR: &str = "seconds and Mbit/s, such as 0.5,12.5";
/// The only first line without values.
const HEADING: &str = "time,Mbit/s";
/// The slowest link that carries anything, Mbit/s: 1 bit/s.
const SLOWEST: f64 = 1e-6;
/// The fastest link, Mbit/s: 100 Gbit/s.
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
struct Lines<'a> {
    text: &'a str,
    file: &'a str,
}

impl Lines<'_> {
    /// `problem` in line `line`, from 0.
    fn wrong(&self, line: usize, problem: String, expected: &str) -> Error {
        Error::invalid(problem).in_file(self.file, Some((line + 1, 1))).expecting(expected)
    }

    /// The number of the last line, from 0.
    fn last(&self) -> usize {
        self.text.lines().count().saturating_sub(1)
    }

    fn opportunities(&self) -> Result<Schedule, Error> {
        let mut times: Vec<u64> = vec![];
        let most = limits::TIME.0 / 1_000_000;
        for (number, line) in self.text.lines().enumerate() {
            let wrong = |problem| Err(self.wrong(number, problem, MILLISECONDS));
            let last = times.last().copied().unwrap_or(0);
            match line.trim().parse::<u64>() {
                Err(_) => return wrong(unlike(line, "such a time")),
                Ok(time) if time > most => {
                    return wrong(format!("{time} ms is above the limit of {most} ms"));
                }
                Ok(time) if time < last => {
                    return wrong(format!("{time} ms lies before the {last} ms of the line above"));
                }
                Ok(time) => times.push(time),
            }
        }
        match times.last() {
            None => Err(self.wrong(0, "the trace is empty".into(), MILLISECONDS)),
            Some(0) => Err(self.wrong(
                self.last(),
                "the trace ends at 0 ms, where it begins".into(),
                "a time above zero in the last line",
            )),
            Some(_) => self.not_too_fast(times),
        }
    }

    /// The opportunities `times`, if no millisecond has more than the fastest link carries.
    fn not_too_fast(&self, times: Vec<u64>) -> Result<Schedule, Error> {
        let most = (limits::RATE.0 / (OPPORTUNITY * 8 * 1000)) as usize;
        let mut line = 0;
        for together in times.chunk_by(|a, b| a == b) {
            if together.len() > most {
                let packets = together.len();
                let problem = format!(
                    "{packets} packets leave at {} ms; the limit is {most} in a millisecond",
                    together[0]
                );
                return Err(Error::invalid(problem).in_file(self.file, Some((line + 1, 1))));
            }
            line += together.len();
        }
        Ok(Schedule::Opportunities(times))
    }

    fn rates(&self) -> Result<Schedule, Error> {
        let mut steps: Vec<(Nanos, Rate)> = vec![];
        for (number, line) in self.text.lines().enumerate() {
            if number == 0 && line.trim() == HEADING {
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
            let step = (Nanos((time * 1e9).round() as u64), Rate((rate * 1e6).round() as u64));
            match steps.last() {
                None if step.0 != Nanos::ZERO => {
                    return wrong(format!("there is no rate before {} s", token(own_time)));
                }
                Some(above) if step.0 <= above.0 => {
                    return wrong(format!(
                        "{} s does not lie after the time of the line above",
                        token(own_time)
                    ));
                }
                _ => steps.push(step),
            }
        }
        match steps.last() {
            None => Err(self.wrong(self.last(), "the trace has no rates".into(), PAIR)),
            Some((_, Rate(0))) => {
                let problem = "the last rate holds to the end, and 0 Mbit/s carries nothing";
                Err(self.wrong(self.last(), problem.into(), "a rate above zero in the last line"))
            }
            Some(_) => Ok(Schedule::Rates(steps)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Schedule {
        Schedule::parse(text, "x").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_line_of_mahimahi_is_a_millisecond_that_carries_1500_bytes() {
        let schedule = parse("0\n4\n4\r\n10\n");
        assert_eq!(schedule, Schedule::Opportunities(vec![0, 4, 4, 10]));
        // Four packets of 12 000 bits in 10 ms; two of them in one millisecond.
        assert_eq!((schedule.mean(), schedule.fastest()), (Rate(4_800_000), Rate(24_000_000)));
    }

    #[test]
    fn pairs_are_rounded_to_whole_nanoseconds_and_bits_per_second() {
        let schedule = parse("time,Mbit/s\n0,10\n0.5,0\n1.0000000004 , 2.0000006\n1e1,3\n");
        let steps =
            [(0, 10_000_000), (500_000_000, 0), (1_000_000_000, 2_000_001), (10_000_000_000, 3_000_000)];
        assert_eq!(schedule, Schedule::Rates(steps.map(|(time, rate)| (Nanos(time), Rate(rate))).to_vec()));
        // 5 Mbit in half a second, and 18 000 009 bit in nine seconds, over ten seconds.
        assert_eq!((schedule.mean(), schedule.fastest()), (Rate(2_300_000), Rate(10_000_000)));
        assert_eq!(parse("0,7.5\n").mean(), Rate(7_500_000));
    }

    #[test]
    fn a_millisecond_carries_no_more_than_the_fastest_link() {
        // 100 Tbit/s x 1 ms / 12 000 bits = 8 333 333.3 packets.
        let fastest = "3\n7\n".to_owned() + &"9\n".repeat(8_333_333);
        assert!(parse(&fastest).fastest() <= limits::RATE);
        let error = Schedule::parse(&(fastest + "9\n"), "x").expect_err("too fast").to_string();
        assert_eq!(error, "x:3:1: 8333334 packets leave at 9 ms; the limit is 8333333 in a millisecond");
    }

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
            ("5\n6\n4\n", "x:3:1: 4 ms lies before the 6 ms of the line above"),
            (
                "0\n0\n",
                "x:2:1: the trace ends at 0 ms, where it begins; expected a time above zero in the last line",
            ),
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
            ("0,5\n2,6\n2,7\n", "x:3:1: 2 s does not lie after the time of the line above"),
            ("0,5\n1,0\n", "x:2:1: the last rate holds to the end, and 0 Mbit/s carries nothing"),
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
