//! Clock of a log: formats of its times, and the time to which they are relative.

use serde_json::Value;

use super::super::MAX_EVENTS;
use super::value::number;

/// Origin of the time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Absolute,
    Relative,
    Delta,
}

impl Format {
    /// By its name in any draft.
    pub(super) fn named(name: Option<&str>) -> Self {
        match name {
            Some("absolute") => Self::Absolute,
            Some("delta" | "relative_to_previous_event") => Self::Delta,
            // Also `relative_to_epoch`, whose epoch is the reference.
            _ => Self::Relative,
        }
    }
}

/// Time to which others are relative: a number of units, or a date.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reference {
    units: f64,
    nanos: f64,
}

impl Reference {
    /// A number, or a clock with an epoch (RFC 3339) or with the time of day at the start.
    pub(super) fn of(value: &Value) -> Self {
        let date = |name: &str| value.get(name).and_then(Value::as_str).and_then(epoch);
        let date = date("epoch").or_else(|| date("wall_clock_time"));
        Self { units: number(value).unwrap_or(0.0), nanos: date.unwrap_or(0.0) }
    }

    /// Nanoseconds, where a unit has as many.
    pub(super) fn nanos(self, unit: f64) -> f64 {
        self.units * unit + self.nanos
    }
}

/// Nanoseconds from 1970 to a date of RFC 3339.
fn epoch(text: &str) -> Option<f64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let place = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(place);
    let seconds = |text: &str| {
        let mut sum = 0.0;
        for (part, unit) in text.split(':').zip([3600.0, 60.0, 1.0]) {
            sum += part.parse::<f64>().ok()? * unit;
        }
        Some(sum)
    };
    let offset = match zone.split_at(1) {
        ("+", zone) => -seconds(zone)?,
        ("-", zone) => seconds(zone)?,
        _ => 0.0,
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    // Days of the months of a year that begins in March.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    let whole = (days * 86_400) as f64 + seconds(clock)? + offset;
    Some(whole * 1e9).filter(|nanos| *nanos >= 0.0)
}

/// Number of an event among those of a log that have to do with packets, in the order of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line(pub(super) u32);

/// Packets that show the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// This end sent the packet of this number, of the space of application data.
    Sent {
        /// Packet number.
        number: u64,
        /// Whether the other end acknowledges it: it has data.
        has_data: bool,
    },
    /// The other end acknowledged packets up to this number.
    Acked(u64),
}

/// Times of a log in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Nanoseconds, as the log has them.
    pub(super) times: Vec<i64>,
    /// Packets that events send or acknowledge, with the lines of the events, in ascending order.
    pub(super) marks: Vec<(Line, Mark)>,
    /// Lines whose time is beyond any clock; they have the time before.
    pub(super) unusable: Vec<Line>,
}

impl Clock {
    /// Maximum number of lines.
    const MOST: usize = 4 * MAX_EVENTS;
    /// Latest time of a clock, and largest difference from its reference, nanoseconds: 126 years.
    const LATEST: f64 = 4e18;

    /// Takes the time of the next event, in nanoseconds. Returns its line; `None` if there are too many.
    pub(super) fn add(&mut self, time: f64, reference: f64, format: Format) -> Option<Line> {
        let line = Line(u32::try_from(self.times.len()).ok().filter(|_| self.times.len() < Self::MOST)?);
        let nanos = |value: f64| (value.abs() <= Self::LATEST).then(|| value.round() as i64);
        let before = self.times.last().copied();
        let at = match (format, before) {
            (Format::Absolute, _) => nanos(time),
            (Format::Delta, Some(before)) => nanos(time).and_then(|time| before.checked_add(time)),
            (Format::Relative | Format::Delta, _) => {
                nanos(time).zip(nanos(reference)).and_then(|(time, reference)| reference.checked_add(time))
            }
        };
        let at = at.filter(|at| nanos(*at as f64).is_some()).unwrap_or_else(|| {
            self.unusable.push(line);
            before.or(nanos(reference)).unwrap_or(0)
        });
        self.times.push(at);
        Some(line)
    }

    /// Takes what the event of the latest line shows.
    pub(super) fn mark(&mut self, mark: Mark) {
        if let Some(last) = self.times.len().checked_sub(1) {
            self.marks.push((Line(last as u32), mark));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_rfc_3339_are_times_since_1970() {
        // `date --date DATE +%s`
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", 0.0),
            ("2026-11-28T17:18:30.5Z", 1_795_886_310.5),
            ("2024-02-29T23:59:59+01:00", 1_709_247_599.0),
            ("2000-03-01T00:00:00-00:30", 951_870_600.0),
        ] {
            assert_eq!(epoch(text), Some(seconds * 1e9), "{text}");
        }
        for text in [
            "unknown",
            "2026-13-01T00:00:00Z",
            "2026-01-9223372036854775807T00:00:00Z",
            "2026-11-28",
            "2026-11-28T17:18:30",
        ] {
            assert_eq!(epoch(text), None, "{text}");
        }
    }
}
