//! The extended log file format of W3C (P. Hallam-Baker, B. Behlendorf, "Extended Log File Format", W3C working draft
//! WD-logfile-960323), of which a line `#Fields:` names the fields: IIS (Microsoft, "W3C Extended Log File Format") and
//! CloudFront ("Standard log file format", Amazon CloudFront Developer Guide), which separates them by tabs. Times are UTC.

use std::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_document::calendar::stamp;

use super::fields::{beyond, forwarded, forwarded_only, size};
use super::{Flaw, Found};

/// Fields of the lines that follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    date: Option<usize>,
    time: Option<usize>,
    client: Option<usize>,
    /// The addresses that proxies named.
    forwarded: Option<usize>,
    bytes: Option<usize>,
    path: Option<usize>,
    /// The date in the last line `#Date:`.
    day: Option<[u8; 10]>,
}

impl Fields {
    /// Takes a line that begins with `#`.
    pub(super) fn directive(&mut self, line: &[u8]) {
        if let Some(names) = line.strip_prefix(b"#Fields:") {
            let names: Vec<_> = fields(names.trim_ascii()).collect();
            let find = |name: &[u8]| names.iter().position(|other| other.eq_ignore_ascii_case(name));
            *self = Self {
                date: find(b"date"),
                time: find(b"time"),
                client: find(b"c-ip").or_else(|| find(b"x-forwarded-for")),
                forwarded: find(b"x-forwarded-for").or_else(|| find(b"cs(x-forwarded-for)")),
                bytes: find(b"sc-bytes"),
                path: find(b"cs-uri-stem").or_else(|| find(b"cs-uri")),
                day: self.day,
            };
        } else if let Some(date) = line.strip_prefix(b"#Date:") {
            self.day = date.trim_ascii().get(..10).and_then(|day| day.try_into().ok());
        }
    }

    /// A line of values.
    pub(super) fn line<'a>(&self, line: &'a [u8]) -> Result<Found<'a>, Flaw> {
        let (Some(time), Some(client)) = (self.time, self.client) else { return Err(Flaw::Fields) };
        let mut values: [&[u8]; 6] = [b""; 6];
        let wanted = [self.date, Some(time), Some(client), self.bytes, self.path, self.forwarded];
        let mut count = 0;
        for (at, value) in fields(line).enumerate() {
            for (place, wanted) in values.iter_mut().zip(wanted) {
                if wanted == Some(at) {
                    *place = value;
                }
            }
            count += 1;
        }
        if wanted.iter().flatten().any(|&at| at >= count) {
            return Err(Flaw::Shape);
        }
        let [date, time, client, bytes, path, named] = values;
        let peer = forwarded(client).ok_or(Flaw::Client)?;
        let day = if self.date.is_some() { date } else { self.day.as_ref().map_or(&b""[..], |day| day) };
        Ok(Found {
            at: moment(day, time).ok_or(Flaw::Time)?,
            client: beyond(peer, || list(named)),
            bytes: self.bytes.and_then(|_| size(bytes)),
            path,
        })
    }
}

/// The first of forwarded addresses, between which IIS writes `+` for a blank.
fn list(named: &[u8]) -> Option<IpAddr> {
    let plain: Vec<u8> = named.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    forwarded_only(&plain)
}

/// The time of a date such as `2024-10-10` and a time of day such as `13:55:36`.
pub(super) fn moment(date: &[u8], time: &[u8]) -> Option<Nanos> {
    let mut text = [b' '; 32];
    let length = 11 + time.len();
    text.get_mut(..10)?.copy_from_slice(date.get(..10).filter(|_| date.len() == 10)?);
    text.get_mut(11..length)?.copy_from_slice(time);
    stamp(&text[..length])
}

/// The fields of a line: separated by tabs if it has some, else by blanks outside quotation marks.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let tabs = line.contains(&b'\t');
    let mut quoted = false;
    let ends = move |byte: &u8| {
        quoted ^= *byte == b'"' && !tabs;
        if tabs { *byte == b'\t' } else { *byte == b' ' && !quoted }
    };
    line.split(ends).filter(move |field| tabs || !field.is_empty())
}
