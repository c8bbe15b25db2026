//! Dates and times of day as files have them, as time since 1970 (UTC).

use firstflight_contract::Nanos;

/// The last year whose nanoseconds since 1970 have 64 bits in every time zone.
const LAST: i64 = 2553;

/// Seconds from 1970 to a date of the Gregorian calendar and a time of day, both UTC; `None` if there is no such date or time, or
/// after 2553. Second 60 is a leap second.
pub fn seconds([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<i64> {
    let date = year <= LAST && (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month);
    let clock = hour <= 23 && minute <= 59 && second <= 60;
    (date && clock).then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Time since 1970 of seconds and nanoseconds; `None` before 1970, and if its nanoseconds are too many for 64 bits.
pub fn since_1970(seconds: i64, nanos: u32) -> Option<Nanos> {
    let whole = u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?;
    whole.checked_add(nanos.into()).map(Nanos)
}

/// A stamp such as `2024-10-10T13:55:36.25Z` (ISO 8601, RFC 3339), `2024-10-10 13:55:36 +0200`, `2024/10/10 13:55:36` or
/// `2024.10.10_13.55.36`. Without a zone it is UTC.
pub fn stamp(text: &[u8]) -> Option<Nanos> {
    let number = |from: usize, digits: usize| number(text.get(from..from + digits)?);
    let is = |at: usize, any: &[u8]| text.get(at).is_some_and(|byte| any.contains(byte));
    let separated = is(4, b"-/.") && is(10, b"Tt _") && is(13, b":.");
    if !separated || text[7] != text[4] || *text.get(16)? != text[13] {
        return None;
    }
    let date = [number(0, 4)?, number(5, 2)?, number(8, 2)?];
    let clock = [number(11, 2)?, number(14, 2)?, number(17, 2)?];
    let (nanos, rest) = fraction(&text[19..])?;
    since_1970(seconds(date, clock)? - zone(rest.trim_ascii())?, nanos)
}

/// A time since 1970 as `2024-10-10T13:55:36.250Z` (RFC 3339, UTC), cut to milliseconds.
pub fn show(time: Nanos) -> String {
    let (seconds, millis) = ((time.0 / 1_000_000_000) as i64, time.0 / 1_000_000 % 1000);
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970 + day / 366;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day).expect("January has begun");
    let date = day - days(year, month, 1) + 1;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}.{millis:03}Z", second % 60)
}

/// Nanoseconds of a fraction of a second, if the text begins with one, and the rest of the text. Digits behind the ninth are cut.
pub fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let Some((b'.' | b',', digits)) = text.split_first() else { return Some((0, text)) };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let nanos = (0..9).fold(0, |sum, at| {
        let digit = if at < length { digits[at] - b'0' } else { 0 };
        10 * sum + u32::from(digit)
    });
    Some((nanos, &digits[length..]))
}

/// Seconds east of UTC of a zone: `Z`, `UTC`, `GMT`, `+02:00`, `+0200`, `+02`, or nothing. Zones are within a day of UTC.
pub fn zone(text: &[u8]) -> Option<i64> {
    if matches!(text, b"" | b"Z" | b"z" | b"UTC" | b"GMT") {
        return Some(0);
    }
    let (sign, rest) = text.split_first()?;
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let minutes = match rest.len() {
        2 => 0,
        4 => number(&rest[2..])?,
        5 if rest[2] == b':' => number(&rest[3..])?,
        _ => return None,
    };
    let hours = number(&rest[..2])?;
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A number of digits only.
pub fn number(digits: &[u8]) -> Option<i64> {
    let fits = !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit);
    fits.then(|| digits.iter().fold(0, |sum, digit| 10 * sum + i64::from(digit - b'0')))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1 January 1970 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    // Leap days before the year, counted from year 1; 719 162 days lie before 1970.
    let before = year - 1;
    let years = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let leap = i64::from(month > 2 && is_leap(year));
    years + BEFORE[month as usize - 1] + leap + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_its_time_since_1970() {
        // `date -u -d '2024-02-29T12:34:56' +%s`
        let noon = 1_709_210_096_000_000_000;
        for (text, expected) in [
            ("2024-02-29T12:34:56Z", noon),
            ("2024-02-29T12:34:56", noon),
            ("2024-02-29t12:34:56z", noon),
            ("2024-02-29 12:34:56", noon),
            ("2024/02/29 12:34:56 UTC", noon),
            ("2024.02.29_12.34.56", noon),
            ("2024-02-29T14:34:56+02:00", noon),
            ("2024-02-29 07:04:56 -0530", noon),
            ("2024-02-29T12:34:56.25Z", noon + 250_000_000),
            ("2024-02-29T12:34:56,123456789123Z", noon + 123_456_789),
            ("1970-01-01T00:00:00Z", 0),
            // `date -u -d '2553-12-31T23:59:59' +%s`
            ("2553-12-31T23:59:59Z", 18_429_292_799_000_000_000),
        ] {
            assert_eq!(stamp(text.as_bytes()), Some(Nanos(expected)), "{text}");
        }
    }

    #[test]
    fn a_time_since_1970_is_shown_as_its_stamp() {
        // `date -u -d '2024-02-29T12:34:56' +%s` and so on.
        for (seconds, shown) in [
            (0, "1970-01-01T00:00:00.250Z"),
            (951_782_399, "2000-02-28T23:59:59.250Z"),
            (1_709_210_096, "2024-02-29T12:34:56.250Z"),
            (1_735_689_599, "2024-12-31T23:59:59.250Z"),
            (1_735_689_600, "2025-01-01T00:00:00.250Z"),
            (18_429_292_799, "2553-12-31T23:59:59.250Z"),
        ] {
            assert_eq!(show(Nanos(seconds * 1_000_000_000 + 250_999_999)), shown);
        }
        for day in 0..213_000_u64 {
            let noon = Nanos((day * 86_400 + 43_200) * 1_000_000_000);
            assert_eq!(stamp(show(noon).as_bytes()), Some(noon), "day {day}");
        }
    }

    #[test]
    fn a_time_that_no_calendar_has_is_none() {
        for text in [
            "",
            "2024-02-30T12:34:56Z",
            "2023-02-29T12:34:56Z",
            "1900-02-29T12:34:56Z",
            "2024-13-01T12:34:56Z",
            "2024-00-01T12:34:56Z",
            "2024-01-00T12:34:56Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T12:60:00Z",
            "2024-01-01T12:34:61Z",
            "2024-01-01T12:34:56.Z",
            "2024-01-01T12:34:56+24:00",
            "2024-01-01T12:34:56+0260",
            "2024-01-01T12:34:56 CET",
            "2024-01-01T12:34",
            "2024-01/01T12:34:56Z",
            "2024-01-01T12:34.56Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:30:00+01:00",
            "2554-01-01T00:00:00Z",
            "+024-01-01T12:34:56Z",
        ] {
            assert_eq!(stamp(text.as_bytes()), None, "{text}");
        }
    }
}
