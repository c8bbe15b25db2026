//! Reader of the common log format of NCSA httpd, and of the combined format of Apache, which extends it:
//!
//! ```text
//! 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326
//! ```
//!
//! Lines are read one at a time. Only client, time, the bytes of the answer and, to leave out images, the request are used.

use std::io::{self, BufRead, Read};

use firstflight_contract::Nanos;

use super::Request;

/// Longest line that is read, bytes.
const LONGEST: u64 = 64 << 10;

/// Most bytes of a field that a message repeats.
const SHOWN: usize = 80;

/// File name extensions of inline images, which Zhang, Qiu and Keshav leave out.
const IMAGES: [&[u8]; 8] = [b".gif", b".jpg", b".jpeg", b".png", b".ico", b".svg", b".webp", b".bmp"];

/// Selection of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All requests.
    All,
    /// All requests except those for images.
    Pages,
}

/// Error in a log. Every message names the line, counted from 1.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The operating system failed to read.
    #[error("line {line}: cannot be read: {source}")]
    Unreadable {
        /// The line.
        line: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The line is too long.
    #[error("line {line}: longer than {LONGEST} bytes; expected a line of a web server's log")]
    TooLong {
        /// The line.
        line: u64,
    },
    /// The client is not an address.
    #[error(
        "line {line}: client = {found:?}: not an address; expected an IPv4 or IPv6 address (names are not looked up)"
    )]
    Client {
        /// The line.
        line: u64,
        /// Text found there.
        found: String,
    },
    /// The time is invalid.
    #[error(
        "line {line}: time = {found:?}: not a time; expected one such as [10/Oct/2000:13:55:36 -0700], from 1970 to 2553"
    )]
    Time {
        /// The line.
        line: u64,
        /// Text found there.
        found: String,
    },
}

/// Iterator over the requests of a log. Blank lines and lines that begin with `#` are skipped.
#[derive(Debug)]
pub struct Log<R> {
    input: R,
    keep: Keep,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Log<R> {
    /// Reads a log from `input`.
    pub fn new(input: R, keep: Keep) -> Self {
        Self { input, keep, line: vec![], number: 0 }
    }

    /// Reads the next line; false at the end of the log.
    fn advance(&mut self) -> Result<bool, LogError> {
        self.line.clear();
        self.number += 1;
        let line = self.number;
        let read = self.input.by_ref().take(LONGEST).read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| LogError::Unreadable { line, source })?;
        if read as u64 == LONGEST && !self.line.ends_with(b"\n") {
            return Err(LogError::TooLong { line });
        }
        Ok(read > 0)
    }

    fn request(&self, line: &[u8]) -> Result<Request, LogError> {
        let text = |bytes: &[u8]| match bytes.get(..SHOWN) {
            Some(beginning) => format!("{}…", String::from_utf8_lossy(beginning)),
            None => String::from_utf8_lossy(bytes).into_owned(),
        };
        let client = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        let address = str::from_utf8(client).ok().and_then(|client| client.parse().ok());
        let client = address.ok_or_else(|| LogError::Client { line: self.number, found: text(client) })?;
        let stamp = between(line, b'[', b']').unwrap_or_default();
        let at = str::from_utf8(stamp).ok().and_then(time);
        let at = at.ok_or_else(|| LogError::Time { line: self.number, found: text(stamp) })?;
        Ok(Request { at, client, bytes: size(line), bottleneck: None })
    }
}

impl<R: BufRead> Iterator for Log<R> {
    type Item = Result<Request, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
            let line = self.line.trim_ascii();
            let passed = line.is_empty() || line.starts_with(b"#");
            if !passed && (self.keep == Keep::All || !is_image(line)) {
                return Some(self.request(line));
            }
        }
    }
}

/// Bytes between the first `open` and the next `close`.
fn between(line: &[u8], open: u8, close: u8) -> Option<&[u8]> {
    let from = line.iter().position(|&byte| byte == open)? + 1;
    let length = line[from..].iter().position(|&byte| byte == close)?;
    Some(&line[from..from + length])
}

/// Bytes of the answer: the second number behind the request, in which a quotation mark has a backslash before it. Apache
/// writes `-` for none.
fn size(line: &[u8]) -> Option<u64> {
    let from = line.iter().position(|&byte| byte == b'"')? + 1;
    let mut escaped = false;
    let end = line[from..].iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    let mut numbers = line[from + end + 1..].split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let status = str::from_utf8(numbers.next()?).ok()?;
    number(status, 3)?;
    match numbers.next()? {
        b"-" => Some(0),
        bytes => str::from_utf8(bytes)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?
            .parse()
            .ok(),
    }
}

/// Whether the request's path, without its query, has the extension of an image.
fn is_image(line: &[u8]) -> bool {
    let request = between(line, b'"', b'"').unwrap_or_default();
    let path = request.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
    let path = path.split(|&byte| byte == b'?').next().unwrap_or_default().to_ascii_lowercase();
    IMAGES.iter().any(|ending| path.ends_with(ending))
}

/// Time since 1970, UTC, of a stamp such as `10/Oct/2000:13:55:36 -0700`.
fn time(stamp: &str) -> Option<Nanos> {
    let (local, offset) = stamp.split_once(' ')?;
    let mut parts = local.split(['/', ':']);
    let day = number(parts.next()?, 2)?;
    let month = month(parts.next()?)?;
    let year = number(parts.next()?, 4)?;
    let mut clock = |most| parts.next().and_then(|text| number(text, 2)).filter(|&value| value <= most);
    // 60 is a leap second.
    let seconds = clock(23)? * 3600 + clock(59)? * 60 + clock(60)?;
    if parts.next().is_some() || day == 0 || day > days_in(year, month) {
        return None;
    }
    let east = match offset.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = offset[1..].split_at_checked(2)?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    // Time zones are within a day of UTC. Later years have too many nanoseconds.
    if hours > 23 || minutes > 59 || year > 2553 {
        return None;
    }
    let utc = days(year, month, day) * 86_400 + seconds - east * (hours * 60 + minutes) * 60;
    u64::try_from(utc).ok().map(Nanos::from_secs)
}

/// Number with exactly `digits` digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let fits = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

fn month(name: &str) -> Option<i64> {
    let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (1..).zip(names).find_map(|(number, other)| (other == name).then_some(number))
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
    // Leap days before the year, counted from year 1; 719 162 days lie before 1970.
    let before = year - 1;
    let years = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1 - 719_162
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"192.0.2.7 - frank [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326"#;

    fn read(log: &str, keep: Keep) -> Vec<Result<Request, String>> {
        Log::new(log.as_bytes(), keep).map(|request| request.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn a_line_gives_its_client_and_its_time_in_utc() {
        // 20:55:36 UTC, 11 240 days after 1 January 1970: 11 240 * 86 400 + 75 336 s.
        let expected = Request {
            at: Nanos::from_secs(971_211_336),
            client: "192.0.2.7".parse().expect("an address"),
            bytes: Some(2326),
            bottleneck: None,
        };
        assert_eq!(read(LINE, Keep::All), [Ok(expected)]);
    }

    #[test]
    fn the_combined_format_and_ipv6_are_read() {
        let line = r#"2001:db8::7 - - [29/Feb/2024:00:00:00 +0530] "GET / HTTP/2.0" 200 1 "https://a.example/" "x [y]""#;
        // 28 February 2024, 18:30 UTC. `date -u -d '2024-02-28 18:30' +%s` says 1709145000.
        let requests = read(line, Keep::All);
        let request = requests[0].as_ref().expect("a request");
        assert_eq!(request.at, Nanos::from_secs(1_709_145_000));
        assert_eq!(request.client.to_string(), "2001:db8::7");
    }

    #[test]
    fn the_bytes_of_an_answer_follow_its_request_and_status() {
        for (rest, bytes) in [
            (r#""GET / HTTP/1.0" 200 2326"#, Some(2326)),
            (r#""GET / HTTP/1.0" 304 -"#, Some(0)),
            (r#""GET /?q=\"a\" 200 7" 206 512 "https://a.example/" "x""#, Some(512)),
            (r#""GET /\\" 200 3"#, Some(3)),
            (r#""GET / HTTP/1.0" 200"#, None),
            (r#""GET / HTTP/1.0" 200 -5"#, None),
            (r#""GET / HTTP/1.0" twohundred 5"#, None),
            (r#""GET / HTTP/1.0"#, None),
            ("", None),
        ] {
            let line = format!("192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] {rest}");
            assert_eq!(read(&line, Keep::All)[0].as_ref().expect("a request").bytes, bytes, "{rest}");
        }
    }

    #[test]
    fn keeping_pages_leaves_out_images() {
        let log = [("/a.gif", false), ("/b.JPG?x=1", false), ("/c.html?d.png", true), ("/", true)];
        for (path, kept) in log {
            let line = LINE.replace("/index.html", path);
            assert_eq!(read(&line, Keep::Pages).len(), usize::from(kept), "{path}");
            assert_eq!(read(&line, Keep::All).len(), 1);
        }
    }

    #[test]
    fn blank_lines_and_comments_are_skipped_but_counted() {
        let log = format!(
            "# a log\n\n{LINE}\r\nwww.example.org - - [10/Oct/2000:13:55:36 -0700] \"GET /\" 200 1\n"
        );
        let requests = read(&log, Keep::All);
        assert!(requests[0].is_ok());
        assert_eq!(
            requests[1],
            Err("line 4: client = \"www.example.org\": not an address; expected an IPv4 or IPv6 address (names are not looked up)"
                .to_owned())
        );
    }

    #[test]
    fn an_invalid_time_is_refused_with_its_line() {
        for stamp in [
            "10/Okt/2000:13:55:36 -0700",
            "31/Apr/2000:13:55:36 -0700",
            "29/Feb/1900:13:55:36 -0700",
            "10/Oct/2000:24:55:36 -0700",
            "10/Oct/2000:13:55:36",
            "10/Oct/2000:13:55:36 0700",
            "10/Oct/2000:13:55:36 -07",
            "10/Oct/2000:13:55:36:00 -0700",
            "01/Jan/1970:00:59:59 +0100",
            "10/Oct/2000:13:55:36 +2400",
            "10/Oct/2000:13:55:36 -9999",
            "10/Oct/2000:13:55:36 +0060",
            "10/Oct/2000:13:55:36 +\u{660}\u{661}00",
            "10/Oct/2000:13:55:36 +0000 ",
            "10/Oct/2000:13:60:36 +0000",
            "10/Oct/2000:13:55:61 +0000",
            "00/Oct/2000:13:55:36 +0000",
            "32/Oct/2000:13:55:36 +0000",
            "10/13/2000:13:55:36 +0000",
            "10/oct/2000:13:55:36 +0000",
            "10/Oct/0000:13:55:36 +0000",
            "10/Oct/2554:13:55:36 +0000",
            "10/Oct/9999:13:55:36 +0000",
            "10/Oct/99999:13:55:36 +0000",
            "10/Oct/-001:13:55:36 +0000",
            "",
        ] {
            let line = LINE.replace("10/Oct/2000:13:55:36 -0700", stamp);
            let expected = format!(
                "line 1: time = {stamp:?}: not a time; expected one such as [10/Oct/2000:13:55:36 -0700], from 1970 to 2553"
            );
            assert_eq!(read(&line, Keep::All), [Err(expected)]);
        }
    }

    #[test]
    fn the_last_valid_time_and_the_widest_time_zones_are_read() {
        // `date -u -d '2554-01-01 23:58:59' +%s`, and 10 October 2000, 13:55:36, a day less a minute later and earlier.
        for (stamp, seconds) in [
            ("31/Dec/2553:23:59:59 -2359", 18_429_379_139),
            ("10/Oct/2000:13:55:36 -2359", 971_272_476),
            ("10/Oct/2000:13:55:36 +2359", 971_099_796),
        ] {
            let line = LINE.replace("10/Oct/2000:13:55:36 -0700", stamp);
            let request = read(&line, Keep::All).remove(0).expect(stamp);
            assert_eq!(request.at, Nanos::from_secs(seconds), "{stamp}");
        }
    }

    #[test]
    fn long_fields_are_cut_in_messages() {
        let line = format!("{} - - [{}] \"GET /\" 200 1", "é".repeat(5000), "x".repeat(5000));
        let [Err(message)] = &read(&line, Keep::All)[..] else { panic!("refused") };
        assert!(message.contains('…') && message.chars().count() < 250, "{message}");
    }

    #[test]
    fn an_endless_line_is_refused_before_it_fills_memory() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        let first = Log::new(endless, Keep::All).next().expect("a line");
        assert_eq!(
            first.expect_err("too long").to_string(),
            "line 1: longer than 65536 bytes; expected a line of a web server's log"
        );
    }
}
