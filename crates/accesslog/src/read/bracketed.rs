//! Formats with the time in brackets.
//!
//! The common log format of NCSA httpd, the combined format of Apache, which extends it, and both with the virtual host first
//! (Apache HTTP Server 2.4, "Log Files" and mod_log_config, whose `vhost_combined` is `%v:%p %h %l %u %t …`; nginx,
//! ngx_http_log_module):
//!
//! ```text
//! 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326
//! ```
//!
//! Envoy's default format and Amazon S3's, whose time is in brackets too, are in `answer`. HAProxy's HTTP and TCP formats (HAProxy 2.9, Configuration Manual, sections 8.2.2 and 8.2.3), whose times have no zone:
//!
//! ```text
//! Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 …
//! ```

use std::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_document::calendar::{fraction, number, seconds, since_1970, stamp, zone};

use super::answer::{self, Answer};
use super::fields::{address, beyond, forwarded, is_public, path, quoted, size, with_port, words};
use super::{Flaw, Found};

/// The time in brackets, and the line before and behind it.
struct Parts<'a> {
    at: Nanos,
    before: &'a [u8],
    behind: &'a [u8],
}

/// Splits a line at the time in brackets. A user's name can have brackets too: the time is the first before a quotation mark, as
/// that of the request, or else the first at all.
fn split(line: &[u8], is_zoned: bool) -> Result<Parts<'_>, Flaw> {
    let (mut first, mut bracket) = (None, false);
    let mut from = 0;
    while let Some(open) = line[from..].iter().position(|&byte| byte == b'[').map(|at| from + at) {
        from = open + 1;
        let Some(close) = line[from..].iter().take(64).position(|&byte| byte == b']') else { continue };
        bracket = true;
        let Some(at) = local(&line[from..from + close], is_zoned) else { continue };
        let behind = line[from + close + 1..].trim_ascii_start();
        let parts = Parts { at, before: line[..open].trim_ascii(), behind };
        if !is_zoned || behind.first() == Some(&b'"') {
            return Ok(parts);
        }
        first = first.or(Some(parts));
    }
    first.ok_or(if bracket { Flaw::Time } else { Flaw::Shape })
}

/// Time since 1970, UTC, of a stamp such as `10/Oct/2000:13:55:36 -0700`, also with a fraction of a second; or, with a zone, as in
/// ISO 8601. HAProxy's has a fraction and no zone, and is taken as UTC.
pub(super) fn local(text: &[u8], is_zoned: bool) -> Option<Nanos> {
    let is = |at: usize, byte: u8| text.get(at) == Some(&byte);
    if !is(2, b'/') {
        return if is_zoned { stamp(text) } else { None };
    }
    if !(is(6, b'/') && is(11, b':') && is(14, b':') && is(17, b':')) {
        return None;
    }
    let digits = |from: usize, count: usize| number(text.get(from..from + count)?);
    let date = [digits(7, 4)?, month(text.get(3..6)?)?, digits(0, 2)?];
    let clock = [digits(12, 2)?, digits(15, 2)?, digits(18, 2)?];
    let (nanos, rest) = fraction(&text[20..])?;
    let east = match (is_zoned, rest) {
        (true, [b' ', sign @ (b'+' | b'-'), digits @ ..])
            if digits.len() == 4 && matches!(sign, b'+' | b'-') =>
        {
            zone(&rest[1..])?
        }
        (false, []) if text.len() > 20 => 0,
        _ => return None,
    };
    since_1970(seconds(date, clock)? - east, nanos)
}

fn month(name: &[u8]) -> Option<i64> {
    const NAMES: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    (1..).zip(NAMES.chunks(3)).find_map(|(number, other)| (other == name).then_some(number))
}

/// A line of the common or the combined format, of Envoy, which begins with the time, or of Amazon S3, whose client follows it.
pub(super) fn common(line: &[u8]) -> Result<Found<'_>, Flaw> {
    let Parts { at, before, behind } = split(line, true)?;
    if before.is_empty() {
        return answer::envoy(at, behind);
    }
    let peer = match (client(before), answer::s3(at, behind)) {
        (Ok(peer), _) => peer,
        (Err(_), Some(found)) => return Ok(found),
        (Err(flaw), None) => return Err(flaw),
    };
    let Answer { path, bytes, rest } = answer::of(behind);
    Ok(Found { at, client: beyond(peer, || answer::forwarded_in(rest)), bytes, path })
}

/// The client of a line whose fields before the time are these: the first, or the second if the first is the virtual host, a
/// list of forwarded addresses that is empty, or that of a proxy.
fn client(before: &[u8]) -> Result<IpAddr, Flaw> {
    let mut fields = words(before);
    let (first, second) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    if first.contains(&b',') {
        return forwarded(first).ok_or(Flaw::Client);
    }
    match (address(first), forwarded(second)) {
        (Some(client), None) => Ok(client),
        (None, Some(client)) => Ok(client),
        // Behind more than one field, such as the stamp of syslog, the only address.
        (None, None) => {
            let mut others = fields.filter_map(address);
            let client = others.next().ok_or(Flaw::Client)?;
            if others.all(|other| other == client) { Ok(client) } else { Err(Flaw::TwoClients) }
        }
        (Some(one), Some(other)) => {
            let has_port =
                |field: &[u8]| field.starts_with(b"[") || field.iter().filter(|&&b| b == b':').count() == 1;
            match (has_port(first) && !has_port(second), is_public(one), is_public(other)) {
                // `%v:%p %h`: the server's own address and port.
                (true, ..) | (false, false, true) => Ok(other),
                (false, true, false) => Ok(one),
                _ if one == other => Ok(one),
                _ => Err(Flaw::TwoClients),
            }
        }
    }
}

/// A line of HAProxy.
pub(super) fn haproxy(line: &[u8]) -> Result<Found<'_>, Flaw> {
    let Parts { at, before, behind } = split(line, false)?;
    let mut fields = words(behind).skip(2);
    let timers = fields.next().map_or(0, |timers| timers.split(|&byte| byte == b'/').count());
    let bytes = match timers {
        3 => fields.next(),
        5 => fields.nth(1),
        _ => return Err(Flaw::Shape),
    };
    // A plus sign before the bytes and the time: the line was written before the end.
    let bytes =
        bytes.map(|bytes| bytes.strip_prefix(b"+").unwrap_or(bytes)).and_then(size).ok_or(Flaw::Shape)?;
    let client = words(before).last().and_then(with_port).ok_or(Flaw::Client)?;
    let path = quoted(behind).map_or(&b""[..], |(request, _)| path(request));
    Ok(Found { at, client, bytes: Some(bytes), path })
}
