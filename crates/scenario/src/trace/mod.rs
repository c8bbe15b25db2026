//! Link traces: the capacity of a link over time, from a file in one of two formats or from a program.

mod check;
mod lines;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use sha2::{Digest, Sha256};

use crate::error::{Error, Problem, clipped};
use crate::file::read_text;
use crate::limits;
use check::Flaw;
use lines::Lines;

/// Bytes of a full packet that a delivery opportunity carries.
const OPPORTUNITY: u64 = 1500;

/// Nanoseconds in the unit of mahimahi's format.
const MILLISECOND: u64 = 1_000_000;

/// A trace in place of a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrace {
    /// Name of the file in the scenario, or of a trace that no file holds.
    pub file: String,
    /// SHA-256 of the file, in hexadecimal; see [`LinkTrace::opportunities`] for a trace that no file holds.
    pub sha256: String,
    /// Capacity over time.
    pub schedule: Arc<Schedule>,
}

/// Capacity of a link over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Times of delivery opportunities, ascending; after the last, which is above zero, they repeat, counted from it.
    Opportunities(Vec<Nanos>),
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
        let schedule = Schedule::parse(text, shown)?;
        Ok(Self::of(file, text, schedule))
    }

    fn of(file: &str, text: &str, schedule: Schedule) -> Self {
        let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { file: file.into(), sha256, schedule: Arc::new(schedule) }
    }

    /// A trace `name` that no file holds: the delivery opportunities at these ascending times, each of a full packet. After
    /// the last, which is above zero, they repeat, counted from it.
    ///
    /// `sha256` is the hash of the times in nanoseconds, one in a line. Scenarios with the trace run, but their text names
    /// a file that does not exist.
    ///
    /// # Errors
    /// The first [`Error`] found; the rules are those of a file.
    pub fn opportunities(name: &str, times: Vec<Nanos>) -> Result<Self, Error> {
        check::opportunities(&times).map_err(|flaw| unfit(name, flaw))?;
        let text = text_of(&times, |text, time| writeln!(text, "{}", time.0));
        Ok(Self::of(name, &text, Schedule::Opportunities(times)))
    }

    /// A trace `name` that no file holds: rates with the ascending times from which they hold. The first holds from zero,
    /// the last, which is above zero, for ever.
    ///
    /// `sha256` is the hash of lines of nanoseconds, a comma and bit/s. Scenarios with the trace run, but their text
    /// names a file that does not exist.
    ///
    /// # Errors
    /// The first [`Error`] found; the rules are those of a file.
    pub fn rates(name: &str, steps: Vec<(Nanos, Rate)>) -> Result<Self, Error> {
        check::rates(&steps).map_err(|flaw| unfit(name, flaw))?;
        let text = text_of(&steps, |text, (from, rate)| writeln!(text, "{},{}", from.0, rate.0));
        Ok(Self::of(name, &text, Schedule::Rates(steps)))
    }

    /// Reads the trace `file` in `folder`.
    pub(crate) fn load(file: &str, folder: &Path) -> Result<Self, Error> {
        let unreadable = |why| Error::new(Problem::Unreadable(why));
        let (text, shown) = text_beside(file, folder, limits::TRACE).map_err(unreadable)?;
        Self::named(&text, file, &shown)
    }
}

/// The error that the trace `name`, which no file holds, has this flaw.
fn unfit(name: &str, Flaw { entry, problem, expected }: Flaw) -> Error {
    let error = Error::invalid(format!("entry {}: {problem}", entry + 1)).in_file(name, None);
    match expected {
        Some(expected) => error.expecting(expected),
        None => error,
    }
}

/// A line for each entry.
fn text_of<T>(entries: &[T], line: impl Fn(&mut String, &T) -> std::fmt::Result) -> String {
    let mut text = String::new();
    for entry in entries {
        line(&mut text, entry).expect("a text takes every line");
    }
    text
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
                Rate((bits * 1_000_000_000 / u128::from(times[times.len() - 1].0)).max(1) as u64)
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

    /// The highest rate: the most full packets in any one millisecond; of rates the highest.
    pub fn fastest(&self) -> Rate {
        match self {
            Self::Opportunities(times) => {
                let most = check::in_a_millisecond(times).map(|(_, packets)| packets).max().unwrap_or(0);
                Rate(most as u64 * OPPORTUNITY * 8 * 1000)
            }
            Self::Rates(steps) => steps.iter().map(|step| step.1).max().unwrap_or(Rate(0)),
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
        assert_eq!(schedule, Schedule::Opportunities([0, 4, 4, 10].map(Nanos::from_millis).to_vec()));
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
        assert_eq!(
            error,
            "x:3:1: 8333334 packets leave in the millisecond from 9 ms; expected at most 8333333"
        );
    }

    #[test]
    fn a_trace_of_a_program_is_that_of_a_file_with_the_same_times() {
        let ms = Nanos::from_millis;
        let built = LinkTrace::opportunities("lte", vec![ms(0), ms(4), ms(4), ms(10)]).expect("valid");
        assert_eq!(*built.schedule, parse("0\n4\n4\n10\n"));
        let steps = vec![(ms(0), Rate(10_000_000)), (ms(500), Rate(0)), (ms(1000), Rate(2_000_000))];
        let built = LinkTrace::rates("wifi", steps).expect("valid");
        assert_eq!((&built.file[..], &*built.schedule), ("wifi", &parse("0,10\n0.5,0\n1,2\n")));
        // printf '0,10000000\n500000000,0\n1000000000,2000000\n' | sha256sum
        assert_eq!(built.sha256, "63807f5cc0c1a0a9dc742d91b8df5c47ec0c8d9b15ec4445b84e39625a637af1");
    }

    #[test]
    fn times_between_milliseconds_count_in_every_window_of_one() {
        let us = |us: u64| Nanos(us * 1000);
        let times = [300, 900, 1200, 1299, 1300, 4000].map(us).to_vec();
        let schedule = LinkTrace::opportunities("x", times).expect("valid").schedule;
        // Four packets leave from 0.3 ms on before 1.3 ms, and six of 12 000 bits in 4 ms.
        assert_eq!((schedule.mean(), schedule.fastest()), (Rate(18_000_000), Rate(48_000_000)));
    }

    #[test]
    fn an_invalid_trace_of_a_program_is_refused_with_its_entry() {
        let ms = Nanos::from_millis;
        let times = |times: &[u64]| {
            let times = times.iter().map(|&time| ms(time)).collect();
            LinkTrace::opportunities("lte", times).expect_err("invalid").to_string()
        };
        assert_eq!(times(&[]), "lte: entry 1: the trace is empty");
        assert_eq!(times(&[5, 6, 4]), "lte: entry 3: 4 ms lies before the 6 ms above it");
        let at_zero =
            "lte: entry 2: the trace ends at 0 ms, where it begins; expected a last time above zero";
        assert_eq!(times(&[0, 0]), at_zero);
        assert_eq!(
            times(&[100_000_000_001]),
            "lte: entry 1: 100000000.001 s is above the limit of 100000000 s"
        );
        let rates = |steps: &[(u64, u64)]| {
            let steps = steps.iter().map(|&(from, rate)| (ms(from), Rate(rate))).collect();
            LinkTrace::rates("wifi", steps).expect_err("invalid").to_string()
        };
        assert_eq!(rates(&[]), "wifi: entry 1: the trace has no rates");
        assert_eq!(rates(&[(1, 5)]), "wifi: entry 1: there is no rate before 1 ms");
        assert_eq!(
            rates(&[(0, 5), (2, 6), (2, 7)]),
            "wifi: entry 3: 2 ms does not lie after the 2 ms above it"
        );
        let last = "wifi: entry 2: the last rate holds to the end, and 0 bit/s carries nothing; expected a last rate above zero";
        assert_eq!(rates(&[(0, 5), (1, 0)]), last);
        assert_eq!(
            rates(&[(0, 200_000_000_000)]),
            "wifi: entry 1: 200 Gbit/s is above the limit of 100 Gbit/s"
        );
    }
}
