//! One line of a script: a JSON object with a time and an event.

use core::fmt::{self, Display};
use core::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::Error;
use crate::error::clipped;

/// Longest line, bytes: room for 30 000 blocks of an ACK.
pub const LONGEST: usize = 1 << 20;

/// Payload bytes of a full segment: the largest packet less the longest headers.
pub const MSS: RangeInclusive<u32> = 16..=65_483;
/// The largest window there is: RFC 7323 section 2.3, 65 535 shifted by 14.
const WINDOW: RangeInclusive<u64> = 0..=65_535 << 14;
/// Times: three years of virtual time.
const TIME_US: RangeInclusive<u64> = 0..=100_000_000_000_000;
/// Handshakes: up to an hour.
const RTT_US: RangeInclusive<u64> = 0..=3_600_000_000;
/// Most bytes of a connection.
const BYTES: u64 = 1_000_000_000_000_000;
const SEQUENCE: RangeInclusive<u64> = 1..=BYTES + 1;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Established(Opening),
    /// The application writes so many bytes.
    Write(u64),
    /// An ACK arrives.
    Ack(Ack),
    /// The application writes no more.
    Close,
    /// Time passes.
    Advance,
}

/// The peer's side of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Payload bytes of a full segment.
    pub mss: Option<u32>,
    /// The peer's window, bytes.
    pub window: u64,
    /// Whether the peer sends SACK blocks.
    pub sack: bool,
    /// Whether segments carry timestamps; `None` is as the profile has it.
    pub timestamps: Option<bool>,
    /// Duration of the handshake, microseconds; zero if not known.
    pub rtt_us: u64,
}

/// An ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next byte expected.
    pub ack: u64,
    /// The peer's window from there, bytes; `None` is as before.
    pub window: Option<u64>,
    /// Blocks `[from, to)` that arrived beyond it, newest first. A first block that lies below `ack`, or within the
    /// second, reports a duplicate (RFC 2883).
    pub blocks: Vec<(u64, u64)>,
    /// The transmission whose timestamp the ACK echoes.
    pub echo: Echo,
    /// Whether it echoes a congestion mark.
    pub ece: bool,
}

/// A transmission of the segment at the window's left edge: an ACK that advances echoes the timestamp of that segment
/// (RFC 7323 section 4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Echo {
    /// The first transmission.
    First,
    /// The last transmission until then.
    #[default]
    Last,
}

/// The keys of each event beside `at_us` and `do`.
const EVENTS: [(&str, &[&str]); 5] = [
    ("established", &["mss", "window", "sack", "timestamps", "rtt_us"]),
    ("write", &["bytes"]),
    ("ack", &["ack", "window", "sack", "ece", "echo"]),
    ("close", &[]),
    ("advance", &[]),
];

/// A line and its place.
#[derive(Debug)]
pub struct Line<'a> {
    number: usize,
    text: &'a str,
    members: Map<String, Value>,
}

/// The members of an object.
struct Members {
    members: Map<String, Value>,
    /// A key that the object has twice.
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut read = Members { members: Map::new(), twice: None };
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    if read.members.insert(key.clone(), value).is_some() {
                        read.twice.get_or_insert(key);
                    }
                }
                Ok(read)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl<'a> Line<'a> {
    /// Line `number`, counted from 1.
    ///
    /// # Errors
    /// Where `text` is no JSON object, or has a key twice.
    pub fn read(number: usize, text: &'a str) -> Result<Self, Error> {
        let fail = |column: usize, why: &str| {
            let expected = "an object such as {\"at_us\":0,\"do\":\"advance\"}";
            Error::new(format!("{number}:{column}"), why).expected(expected)
        };
        match serde_json::from_str(text) {
            Ok(Members { members, twice: None }) => Ok(Self { number, text, members }),
            Ok(Members { twice: Some(key), .. }) => {
                let column = column(text, &key, 1);
                Err(Error::new(format!("{number}:{column}: {}", clipped(&key)), "given twice")
                    .expected("each key once"))
            }
            Err(error) if error.is_data() => Err(fail(1, "not a JSON object")),
            Err(error) => {
                let why = error.to_string();
                let why = why.split_once(" at line").map_or(&*why, |(why, _)| why);
                Err(fail(error.column().max(1), &format!("not JSON: {why}")))
            }
        }
    }

    /// The time in microseconds, and the event.
    ///
    /// # Errors
    /// If a key is missing or unknown, or a value is not one that it takes.
    pub fn event(&self) -> Result<(u64, Event), Error> {
        let names = EVENTS.map(|(name, _)| name);
        let word = match self.members.get("do") {
            Some(Value::String(word)) => word,
            Some(_) => return Err(self.wrong("do", one_of(&names))),
            None => return Err(self.missing("do", &one_of(&names))),
        };
        let Some((_, keys)) = EVENTS.iter().find(|(name, _)| name == word) else {
            let wrong = self.at("do", format!("there is no \"{}\"", clipped(word))).expected(one_of(&names));
            return Err(wrong.nearest(nearest(word, names)));
        };
        let keys: Vec<&str> = ["at_us", "do"].into_iter().chain(keys.iter().copied()).collect();
        if let Some(key) = self.members.keys().find(|key| !keys.contains(&&***key)) {
            let near = nearest(key, keys.iter().copied());
            return Err(self.at(key, "no such key").expected(one_of(&keys)).nearest(near));
        }
        let at_us = self.need("at_us", TIME_US)?;
        let event = match &**word {
            "established" => Event::Established(Opening {
                mss: self.whole("mss", (*MSS.start()).into()..=(*MSS.end()).into())?.map(|mss| mss as u32),
                window: self.need("window", WINDOW)?,
                sack: self.flag("sack")?,
                timestamps: self.members.get("timestamps").map(|_| self.flag("timestamps")).transpose()?,
                rtt_us: self.whole("rtt_us", RTT_US)?.unwrap_or(0),
            }),
            "write" => Event::Write(self.need("bytes", 1..=BYTES)?),
            "ack" => Event::Ack(Ack {
                ack: self.need("ack", SEQUENCE)?,
                window: self.whole("window", WINDOW)?,
                blocks: self.blocks()?,
                ece: self.flag("ece")?,
                echo: self.echo()?,
            }),
            "close" => Event::Close,
            _ => Event::Advance,
        };
        Ok((at_us, event))
    }

    /// The error that the value of `key` is impossible here, because of `why`.
    pub fn impossible(&self, key: &str, why: impl Display) -> Error {
        self.at(key, why)
    }

    /// The error that `key` is missing.
    pub fn missing(&self, key: &str, expected: &str) -> Error {
        self.at(key, "missing").expected(expected)
    }

    fn need(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64, Error> {
        self.whole(key, range.clone())?.ok_or_else(|| self.missing(key, &a_number(&range)))
    }

    fn whole(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Error> {
        match self.members.get(key) {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|n| range.contains(n)) {
                Some(n) => Ok(Some(n)),
                None => Err(self.wrong(key, a_number(&range))),
            },
        }
    }

    fn flag(&self, key: &str) -> Result<bool, Error> {
        match self.members.get(key) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong(key, "true or false".into())),
        }
    }

    fn echo(&self) -> Result<Echo, Error> {
        match self.members.get("echo").map(Value::as_str) {
            None | Some(Some("last")) => Ok(Echo::Last),
            Some(Some("first")) => Ok(Echo::First),
            _ => Err(self.wrong("echo", one_of(&["first", "last"]))),
        }
    }

    fn blocks(&self) -> Result<Vec<(u64, u64)>, Error> {
        let fail = || {
            self.wrong("sack", "blocks [from, to] of bytes with from below to, such as [[3001,4001]]".into())
        };
        let Some(value) = self.members.get("sack") else { return Ok(vec![]) };
        let blocks = value.as_array().ok_or_else(fail)?.iter().map(|block| {
            let [from, to] = &block.as_array()?[..] else { return None };
            let (from, to) = (from.as_u64()?, to.as_u64()?);
            let whole = from < to && SEQUENCE.contains(&from) && SEQUENCE.contains(&to);
            whole.then_some((from, to))
        });
        blocks.collect::<Option<_>>().ok_or_else(fail)
    }

    fn wrong(&self, key: &str, expected: String) -> Error {
        self.at(key, "not a valid value").expected(expected)
    }

    fn at(&self, key: &str, problem: impl Display) -> Error {
        let value = self.members.get(key);
        let value = value.map_or(String::new(), |value| format!(" = {}", clipped(&value.to_string())));
        let column = column(self.text, key, 0);
        Error::new(format!("{}:{column}: {}{value}", self.number, clipped(key)), problem)
    }
}

/// Column of a key, in characters from 1, behind so many others of its name; 1 if the key is written with escapes.
fn column(text: &str, key: &str, others: usize) -> usize {
    let quoted = format!("\"{key}\"");
    let at = text.match_indices(&quoted).nth(others).map(|(at, _)| at);
    at.map_or(1, |at| text[..at].chars().count() + 1)
}

/// The name nearest to `written`, if one is near enough for a slip of the keys. That of crate `document` is out of reach: a program that
/// drives a sender needs this crate alone.
fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.into_iter().map(|name| (strsim::osa_distance(written, name), name));
    let near = |&(distance, name): &(usize, &str)| distance < name.len() && distance <= 1.max(name.len() / 3);
    distances.filter(near).min().map(|(_, name)| name)
}

fn one_of(names: &[&str]) -> String {
    format!("one of: {}", names.join(", "))
}

fn a_number(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Result<(u64, Event), String> {
        Line::read(7, text).and_then(|line| line.event()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_ack_may_leave_out_what_did_not_change() {
        let ack = |ack, window, blocks, echo, ece| Event::Ack(Ack { ack, window, blocks, echo, ece });
        let short = event(r#"{"at_us":5,"do":"ack","ack":1001}"#);
        assert_eq!(short, Ok((5, ack(1001, None, vec![], Echo::Last, false))));
        let full = r#"{"at_us":5,"do":"ack","ack":1,"window":0,"sack":[[2001,3001],[9,11]],"echo":"first","ece":true}"#;
        let full = event(full);
        assert_eq!(full, Ok((5, ack(1, Some(0), vec![(2001, 3001), (9, 11)], Echo::First, true))));
    }

    #[test]
    fn a_malformed_line_is_refused_with_its_place_and_what_was_expected() {
        for (text, message) in [
            ("[1]", "7:1: not a JSON object; expected an object"),
            ("{\"at_us\":0,", "7:11: not JSON: EOF while parsing"),
            (r#"{"at_us":0}"#, "7:1: do: missing; expected one of: established"),
            (
                r#"{"at_us":0,"do":"wirte","bytes":1}"#,
                "7:12: do = \"wirte\": there is no \"wirte\"; expected one of: established, write, ack, \
                 close, advance; did you mean \"write\"?",
            ),
            (
                r#"{"at_us":0,"do":"write","byte":1}"#,
                "7:25: byte = 1: no such key; expected one of: at_us, do, bytes; did you mean \"bytes\"?",
            ),
            (r#"{"do":"advance"}"#, "7:1: at_us: missing; expected a whole number from 0 to"),
            (
                r#"{"at_us":1.5,"do":"advance"}"#,
                "7:2: at_us = 1.5: not a valid value; expected a whole number",
            ),
            (r#"{"at_us":-1,"do":"advance"}"#, "7:2: at_us = -1: not a valid value"),
            (r#"{"at_us":"0","do":"advance"}"#, "7:2: at_us = \"0\": not a valid value"),
            (r#"{"at_us":1.0,"do":"advance"}"#, "7:2: at_us = 1.0: not a valid value"),
            (r#"{"at_us":18446744073709551616,"do":"advance"}"#, "7:2: at_us = 1.8446744073709552e+19: not"),
            (
                r#"{"at_us":100000000000001,"do":"advance"}"#,
                "7:2: at_us = 100000000000001: not a valid value",
            ),
            (r#"{"at_us":1e999,"do":"advance"}"#, "7:14: not JSON: number out of range"),
            (r#"{"at_us":NaN,"do":"advance"}"#, "7:10: not JSON: expected value"),
            (r#"{"at_us":0,"do":"advance"} {}"#, "7:28: not JSON: trailing characters"),
            (r#"{"at_us":0,"at_us":5,"do":"advance"}"#, "7:12: at_us: given twice; expected each key once"),
            (r#"{"at_us":0,"do":"advance","do":"close"}"#, "7:27: do: given twice; expected each key once"),
            (
                r#"{"at_us":0,"\u0061t_us":0,"do":"advance"}"#,
                "7:1: at_us: given twice; expected each key once",
            ),
            (
                r#"{"at_us":0,"do":"ack","ack":1,"sack":[[5,5]]}"#,
                "7:31: sack = [[5,5]]: not a valid value; expected blocks",
            ),
            (r#"{"at_us":0,"do":"ack","ack":1,"sack":[[5,6,7]]}"#, "7:31: sack = [[5,6,7]]"),
            (r#"{"at_us":0,"do":"ack","ack":1,"ece":1}"#, "7:31: ece = 1: not a valid value"),
        ] {
            let refused = event(text).expect_err(text);
            assert!(refused.starts_with(message), "{text}\n{refused}");
        }
        let deep = format!("{{\"at_us\":{}", "[".repeat(100_000));
        assert!(event(&deep).expect_err("too deep").contains(": not JSON: recursion limit exceeded"));
    }

    #[test]
    fn long_keys_and_values_are_cut() {
        let long = "x".repeat(5000);
        for line in [
            format!(r#"{{"at_us":0,"do":"{long}"}}"#),
            format!(r#"{{"at_us":0,"do":"advance","{long}":"{long}"}}"#),
            format!(r#"{{"at_us":0,"{long}":1,"{long}":2}}"#),
            format!(r#"{{"at_us":0,"do":"ack","ack":1,"sack":[{}]}}"#, "[1,1],".repeat(1000) + "[1,1]"),
        ] {
            let refused = event(&line).expect_err("refused");
            assert!(refused.chars().count() < 400 && refused.contains('…'), "{refused}");
        }
    }
}
