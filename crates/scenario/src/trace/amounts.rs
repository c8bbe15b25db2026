//! Logs of amounts: what a receiver got since the line before, as the bandwidth logs of the universities of Oslo and Ghent have it (H.
//! Riiser and others, "Commute path bandwidth traces from 3G networks", MMSys 2013; J. van der Hooft and others, "HTTP/2-based adaptive
//! streaming of HEVC video over 4G/LTE networks", IEEE Communications Letters 20(11), 2016; both pages of the data state the columns).
//!
//! A line has six columns without names: time since 1970 (seconds or milliseconds), milliseconds since the beginning, latitude,
//! longitude, bytes since the line before, milliseconds since the line before.

use firstflight_contract::{Nanos, Rate};

use super::lines::Lines;
use super::{MILLISECOND, Schedule, check};
use firstflight_document::Error;

const EXPECTED: &str = "time since 1970, ms since the beginning, latitude, longitude, bytes and ms since the line before, \
                        such as 1289406400 550772 59.851864 10.781833 191698 1080";

/// A line.
struct Amount {
    /// Milliseconds since the beginning.
    end: u64,
    bytes: u64,
    /// Milliseconds.
    length: u64,
}

impl Amount {
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [since_1970, end, latitude, longitude, bytes, length] = fields[..] else { return None };
        let whole = |field: &str| field.parse::<u64>().ok();
        let within = |field: &str, most: f64| field.parse::<f64>().is_ok_and(|degrees| degrees.abs() <= most);
        let is_line =
            [10, 13].contains(&since_1970.len()) && within(latitude, 90.0) && within(longitude, 180.0);
        whole(since_1970).filter(|_| is_line)?;
        Some(Self { end: whole(end)?, bytes: whole(bytes)?, length: whole(length)? })
    }
}

/// Whether the first two lines are those of such a log: the last column is the difference of the second.
pub(super) fn are_here(lines: &Lines<'_>) -> bool {
    let mut rows = lines.rows().map(|(_, line)| Amount::of(line));
    let (Some(Some(first)), Some(Some(second))) = (rows.next(), rows.next()) else { return false };
    second.end.checked_sub(first.end) == Some(second.length)
}

/// The rates: the bytes of a line over the time since the line before.
pub(super) fn rates(lines: &Lines<'_>) -> Result<Schedule, Error> {
    let (mut steps, mut places) = (vec![], vec![]);
    let mut before: Option<(u64, u64)> = None;
    for (number, line) in lines.rows() {
        let wrong = |problem: &str| Err(lines.wrong(number, problem.into(), EXPECTED));
        let Some(Amount { end, bytes, length }) = Amount::of(line) else {
            return wrong("this line has other columns than the first two");
        };
        let (origin, start) = match before {
            Some(before) => before,
            None => match end.checked_sub(length) {
                Some(start) => (start, start),
                None => return wrong("the line begins before the beginning"),
            },
        };
        if end <= start {
            return wrong("the time does not lie after that of the line before");
        }
        // The gap between two lines belongs to the later one.
        let bits = u128::from(bytes) * 8 * 1000;
        let rate = (bits + u128::from(end - start) / 2) / u128::from(end - start);
        steps.push((
            Nanos((start - origin).saturating_mul(MILLISECOND)),
            Rate(rate.min(u64::MAX.into()) as u64),
        ));
        places.push(number);
        before = Some((origin, end));
    }
    check::rates(&steps).map_err(|flaw| {
        let line = places.get(flaw.entry).copied().unwrap_or(0);
        lines.wrong(line, flaw.problem, flaw.expected.as_deref().unwrap_or(EXPECTED))
    })?;
    Ok(Schedule::Rates(steps))
}
