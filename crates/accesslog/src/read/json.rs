//! Lines of JSON objects. Servers name the same fields differently: nginx by its variables (ngx_http_log_module, `escape=json`),
//! Caddy (Caddy 2, "Logging", whose `request` is an object), Traefik (Traefik 3, "Access logs"), CloudFront ("Standard logging
//! (v2)") and others. Of several names of one field, the first in the lists below counts.

use std::borrow::Cow;
use std::fmt;

use firstflight_contract::Nanos;
use firstflight_document::calendar::{fraction, number, since_1970, stamp};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::bracketed::{common, local};
use super::fields::{beyond, forwarded, is_image, path, size};
use super::w3c::moment;
use super::{Flaw, Found};

const CLIENT: &[&str] = &[
    "client_ip",
    "remote_ip",
    "ClientHost",
    "ClientAddr",
    "remote_addr",
    "c-ip",
    "ClientIP",
    "clientip",
    "clientIp",
    "remoteAddr",
    "remote_address",
    "client",
    "remoteIp",
    "clientIP",
    "downstream_remote_address",
];
/// Addresses that proxies named.
const FORWARDED: &[&str] = &[
    "http_x_forwarded_for",
    "x_forwarded_for",
    "x-forwarded-for",
    "X-Forwarded-For",
    "forwarded_for",
    "xff",
];
const TIME: &[&str] = &[
    "time_iso8601",
    "StartUTC",
    "time_local",
    "ts",
    "@timestamp",
    "timestamp",
    "timestamp(ms)",
    "EdgeStartTimestamp",
    "StartLocal",
    "msec",
    "start_time",
    "time",
];
const BYTES: &[&str] = &[
    "body_bytes_sent",
    "DownstreamContentSize",
    "size",
    "bytes_sent",
    "sc-bytes",
    "EdgeResponseBytes",
    "response_size",
    "response_body_size",
    "responseSize",
    "responseBytes",
    "bytes",
    "bytes_read",
];
/// Objects whose fields are those of the line.
const WITHIN: &[&str] = &["request", "httpRequest", "properties", "nginx", "jsonPayload"];
/// Texts that are a line of a log themselves, which collectors such as Docker and Filebeat put into an object.
const LINES: &[&str] = &["log", "message", "MESSAGE", "line"];
const PATH: &[&str] = &["request_uri", "RequestPath", "cs-uri-stem", "ClientRequestURI", "uri", "path"];

/// A field by its place in its list, and its value.
type Ranked<T> = Option<(usize, T)>;

/// Fields of a line.
#[derive(Default)]
struct Line<'a> {
    client: Ranked<Cow<'a, str>>,
    forwarded: Ranked<Cow<'a, str>>,
    /// A line of another format.
    inner: Option<Cow<'a, str>>,
    time: Ranked<Scalar<'a>>,
    date: Option<Cow<'a, str>>,
    bytes: Ranked<Scalar<'a>>,
    path: Ranked<Cow<'a, str>>,
    request: Option<Cow<'a, str>>,
}

/// A value.
#[derive(Clone, Debug)]
enum Scalar<'a> {
    Text(Cow<'a, str>),
    Whole(u64),
    Number(f64),
    Other,
}

/// A line that is a JSON object.
pub(super) fn line(line: &[u8]) -> Result<Found<'static>, Flaw> {
    if line.first() != Some(&b'{') {
        return Err(Flaw::Shape);
    }
    let mut found = Line::default();
    let mut reader = serde_json::Deserializer::from_slice(line);
    Object(&mut found).deserialize(&mut reader).and_then(|()| reader.end()).map_err(|_| Flaw::Shape)?;
    let named = found.forwarded.as_ref().and_then(|(_, list)| forwarded(list.as_bytes()));
    let client = match (&found.client, named, &found.inner) {
        (Some((_, client)), named, _) => beyond(forwarded(client.as_bytes()).ok_or(Flaw::Client)?, || named),
        (None, Some(client), _) => client,
        (None, None, Some(text)) => return inner(text.trim_ascii().as_bytes()),
        (None, None, None) => return Err(Flaw::Fields),
    };
    let Some((_, time)) = &found.time else { return Err(Flaw::Fields) };
    let at = time_of(time, found.date.as_deref()).ok_or(Flaw::Time)?;
    let bytes = found.bytes.and_then(|(_, bytes)| match bytes {
        Scalar::Text(text) => size(text.as_bytes()),
        Scalar::Whole(bytes) => Some(bytes),
        Scalar::Number(_) | Scalar::Other => None,
    });
    let own = found.path.as_ref().map(|(_, path)| path.as_bytes());
    let path = own.or_else(|| found.request.as_ref().map(|request| path(request.as_bytes())));
    Ok(Found { at, client, bytes, path: path.unwrap_or_default() }.without_line())
}

/// A line within an object.
fn inner(text: &[u8]) -> Result<Found<'static>, Flaw> {
    if text.first() == Some(&b'{') { line(text) } else { common(text).map(Found::without_line) }
}

impl Found<'_> {
    /// The same without the line: of the path only whether it is that of an image.
    fn without_line(self) -> Found<'static> {
        Found { path: if is_image(self.path) { b".png" } else { b"" }, ..self }
    }
}

/// The time of a value: a stamp, or seconds, milliseconds, microseconds or nanoseconds since 1970 by their size.
fn time_of(value: &Scalar<'_>, date: Option<&str>) -> Option<Nanos> {
    match value {
        Scalar::Text(text) => {
            let text = text.as_bytes();
            let split = || moment(date?.as_bytes(), text);
            let named = || local(text, true).or_else(|| local(text, false));
            stamp(text).or_else(named).or_else(split).or_else(|| digits(text))
        }
        Scalar::Whole(whole) => of_size(*whole, 0),
        // The microseconds of a time since 1970 are those that an f64 has.
        Scalar::Number(number) if (0.0..1e11).contains(number) => {
            let micros = libm::round(number * 1e6) as u64;
            since_1970((micros / 1_000_000) as i64, (micros % 1_000_000) as u32 * 1000)
        }
        Scalar::Number(number) if (1e11..1e14).contains(number) => {
            ((number * 1e3) as u64).checked_mul(1000).map(Nanos)
        }
        Scalar::Number(_) | Scalar::Other => None,
    }
}

/// Digits with or without a point, such as nginx's `$msec`.
fn digits(text: &[u8]) -> Option<Nanos> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (nanos, rest) = fraction(&text[length..])?;
    rest.is_empty().then(|| of_size(u64::try_from(number(&text[..length])?).ok()?, nanos))?
}

fn of_size(whole: u64, nanos: u32) -> Option<Nanos> {
    let unit = match whole {
        0..100_000_000_000 => return since_1970(whole as i64, nanos),
        100_000_000_000..100_000_000_000_000 => 1_000_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1000,
        _ => 1,
    };
    whole.checked_mul(unit).map(Nanos)
}

fn rank(list: &[&str], name: &str) -> Option<usize> {
    list.iter().position(|known| *known == name)
}

/// Whether a field that is `new` in its list replaces the one that was found.
fn better<T>(found: &Ranked<T>, new: usize) -> bool {
    found.as_ref().is_none_or(|(old, _)| new < *old)
}

/// Reads an object into a line.
struct Object<'b, 'a>(&'b mut Line<'a>);

impl<'de> DeserializeSeed<'de> for Object<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, or a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.0.request = Some(text.into());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.request = Some(text.to_owned().into());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let line = self.0;
        while let Some(name) = map.next_key_seed(AsText)? {
            if WITHIN.contains(&&*name) {
                map.next_value_seed(Object(line))?;
                continue;
            }
            let ranks = [CLIENT, TIME, BYTES, PATH].map(|list| rank(list, &name));
            let (forwarded, is_line) = (rank(FORWARDED, &name), LINES.contains(&&*name));
            if ranks == [None; 4] && name != "date" && forwarded.is_none() && !is_line {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(AsScalar)?;
            match (ranks, value) {
                ([Some(new), ..], Scalar::Text(text))
                    if text != "-" && !text.is_empty() && better(&line.client, new) =>
                {
                    line.client = Some((new, text));
                }
                ([_, Some(new), ..], value) if better(&line.time, new) => line.time = Some((new, value)),
                ([_, _, Some(new), _], value) if better(&line.bytes, new) => line.bytes = Some((new, value)),
                ([.., Some(new)], Scalar::Text(text)) if better(&line.path, new) => {
                    line.path = Some((new, text))
                }
                ([None, None, None, None], Scalar::Text(text)) if is_line => line.inner = Some(text),
                ([None, None, None, None], Scalar::Text(text)) => match forwarded {
                    Some(new) if text != "-" && !text.is_empty() && better(&line.forwarded, new) => {
                        line.forwarded = Some((new, text));
                    }
                    Some(_) => {}
                    None => line.date = Some(text),
                },
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a text, borrowed where it has no escapes.
struct AsText;

impl<'de> DeserializeSeed<'de> for AsText {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for AsText {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads a value that is no object and no array, and passes over these.
struct AsScalar;

impl<'de> DeserializeSeed<'de> for AsScalar {
    type Value = Scalar<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AsScalar {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(text.to_owned().into()))
    }

    fn visit_u64<E>(self, whole: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Whole(whole))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
