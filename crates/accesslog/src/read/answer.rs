//! The part of a line behind the time in brackets: the request, its status, and the bytes of the answer.
//!
//! Their order varies: nginx's and Apache's formats can have the status before the request, or an unquoted request. Envoy (Envoy 1.18,
//! "Access logging", default format; Istio adds fields) and Amazon S3 ("Amazon S3 server access log format") have others:
//!
//! ```text
//! [2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" …
//! 79a5… bucket [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5… 3E57… REST.GET.OBJECT key "GET /key HTTP/1.1" 200 - 113 …
//! ```

use std::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_document::calendar::number;

use super::fields::{address, forwarded_only, path, quoted, size, words};
use super::{Flaw, Found};

/// The answer to a request.
pub(super) struct Answer<'a> {
    /// The path of the request.
    pub(super) path: &'a [u8],
    pub(super) bytes: Option<u64>,
    /// The part of the line behind the request.
    pub(super) rest: &'a [u8],
}

/// Whether a field is the status of an answer.
fn is_status(field: &[u8]) -> bool {
    field.len() == 3 && number(field).is_some_and(|status| (100..600).contains(&status))
}

/// Whether a field is a number or none.
fn is_count(field: &[u8]) -> bool {
    size(field).is_some()
}

/// The answer in the fields behind the time.
pub(super) fn of(behind: &[u8]) -> Answer<'_> {
    let Some((request, rest)) = request(behind) else {
        return Answer { path: b"", bytes: None, rest: b"" };
    };
    let before = &behind[..behind.iter().position(|&byte| byte == b'"').unwrap_or(0)];
    let mut fields = words(rest);
    let first = fields.next();
    // The status: in quotation marks behind an unquoted request, before the request, or behind it.
    if is_status(request) {
        return Answer { path: path(before), bytes: first.and_then(size), rest };
    }
    let bytes = if words(before).last().is_some_and(is_status) {
        first.and_then(size)
    } else {
        first.filter(|first| is_status(first)).and_then(|_| size(fields.next()?))
    };
    Answer { path: path(request), bytes, rest }
}

/// The request, and what follows it. A request can have quotation marks that are not escaped: it ends at the first one that a status
/// and a number follow, if there is one.
fn request(behind: &[u8]) -> Option<(&[u8], &[u8])> {
    let usual = quoted(behind)?;
    let has_answer = |rest: &[u8]| {
        let mut fields = words(rest);
        rest.first() == Some(&b' ')
            && fields.next().is_some_and(is_status)
            && fields.next().is_some_and(is_count)
    };
    if has_answer(usual.1) || is_status(usual.0) {
        return Some(usual);
    }
    let from = behind.iter().position(|&byte| byte == b'"')? + 1;
    let marks = (from..behind.len()).filter(|&at| behind[at] == b'"' && behind[at - 1] != b'\\');
    let end = marks.take(16).find(|&at| has_answer(&behind[at + 1..]));
    Some(end.map_or(usual, |end| (&behind[from..end], &behind[end + 1..])))
}

/// The client that proxies named: the first of a quoted list of addresses, such as nginx's `"$http_x_forwarded_for"`.
pub(super) fn forwarded_in(mut rest: &[u8]) -> Option<IpAddr> {
    while let Some((text, behind)) = quoted(rest) {
        if let Some(client) = forwarded_only(text) {
            return Some(client);
        }
        rest = behind;
    }
    None
}

/// A line of Envoy behind its time: the forwarded addresses follow the bytes received and sent and two durations.
pub(super) fn envoy(at: Nanos, behind: &[u8]) -> Result<Found<'_>, Flaw> {
    let (request, mut rest) = quoted(behind).ok_or(Flaw::Client)?;
    while let Some((text, behind)) = quoted(rest) {
        let mut last: [&[u8]; 4] = [b""; 4];
        for field in words(&rest[..rest.len() - behind.len() - text.len() - 2]) {
            last.rotate_left(1);
            last[3] = field;
        }
        if last.iter().all(|field| is_count(field)) {
            let client = forwarded_only(text).ok_or(Flaw::Client)?;
            return Ok(Found { at, client, bytes: size(last[1]), path: path(request) });
        }
        rest = behind;
    }
    Err(Flaw::Client)
}

/// A line of Amazon S3 behind its time; the bytes follow the status and the error code.
pub(super) fn s3(at: Nanos, behind: &[u8]) -> Option<Found<'_>> {
    let client = address(words(behind).next()?)?;
    let (request, rest) = quoted(behind)?;
    let mut fields = words(rest);
    fields.next().filter(|status| is_status(status))?;
    Some(Found { at, client, bytes: size(fields.nth(1)?), path: path(request) })
}
