//! Forms of a file: a JSON text sequence (RFC 7464), one JSON object with all traces, or a header and events, each a value.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::logs::{Logs, is_header};
use super::{Failure, LONGEST, RECORD};

/// Records that begin with [`RECORD`].
pub(super) fn read_sequence(input: &mut impl BufRead, logs: &mut Logs<'_>) -> Result<(), Failure> {
    let mut record = vec![];
    loop {
        record.clear();
        let read = input.by_ref().take(LONGEST).read_until(RECORD, &mut record).map_err(Failure::Io)?;
        if read == 0 {
            return Ok(());
        }
        let ended = record.pop_if(|last| *last == RECORD).is_some();
        let text = record.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value) => logs.record(&value),
            Err(_) if !logs.is_qlog => return Err(Failure::NotQlog("the first record is no JSON".into())),
            // The last record of a log whose writer was ended.
            Err(error) if !ended && error.is_eof() => {
                logs.truncated = true;
                return Ok(());
            }
            Err(_) => logs.bad += 1,
        }
        if logs.stopped() {
            return Ok(());
        }
    }
}

/// One object with all traces; or a header and events, each a value.
pub(super) fn read_json(input: impl Read, logs: &mut Logs<'_>) -> Result<(), Failure> {
    let left = Rc::new(Cell::new(LONGEST));
    logs.left = Rc::clone(&left);
    let limited = Limited { inner: input, left };
    let mut json = serde_json::Deserializer::from_reader(limited);
    let mut result = Top(logs).deserialize(&mut json);
    if result.is_ok() {
        for value in json.into_iter::<Value>() {
            logs.left.set(LONGEST);
            match value {
                Ok(value) => logs.record(&value),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            if logs.stopped() {
                return Ok(());
            }
        }
    }
    logs.end_trace();
    match result {
        Ok(()) => Ok(()),
        Err(_) if logs.stopped => Ok(()),
        Err(error) if error.is_io() => Err(Failure::Io(error.into())),
        Err(error) if !logs.is_qlog => Err(Failure::NotQlog(format!("no JSON: {error}"))),
        Err(error) if error.is_eof() => {
            logs.truncated = true;
            Ok(())
        }
        Err(error) => {
            logs.broken = Some(error.to_string());
            Ok(())
        }
    }
}

/// Reader that fails beyond a number of bytes, which each part of a log sets anew.
struct Limited<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.get().checked_sub(read as u64);
        self.left
            .set(left.ok_or_else(|| io::Error::other(format!("an event is longer than {LONGEST} bytes")))?);
        Ok(read)
    }
}

/// The object at the top of a file.
struct Top<'a, 'b>(&'a mut Logs<'b>);
/// The list of traces.
struct Traces<'a, 'b>(&'a mut Logs<'b>);
/// One trace.
struct Trace<'a, 'b>(&'a mut Logs<'b>);
/// The events of a trace.
struct Events<'a, 'b>(&'a mut Logs<'b>);

macro_rules! seed {
    ($name:ident, $deserialize:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
                json.$deserialize(self)
            }
        }
    };
}

seed!(Top, deserialize_map);
seed!(Traces, deserialize_seq);
seed!(Trace, deserialize_map);
seed!(Events, deserialize_seq);

impl<'de> Visitor<'de> for Top<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a qlog")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.left.set(LONGEST);
            match key.as_str() {
                "traces" => {
                    self.0.is_qlog = true;
                    map.next_value_seed(Traces(self.0))?;
                }
                "trace" => {
                    let trace: Value = map.next_value()?;
                    for (key, value) in trace.as_object().into_iter().flatten() {
                        self.0.common.take(key, value);
                    }
                }
                key => {
                    self.0.is_qlog |= is_header(key);
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Traces<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a list of traces")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Trace(self.0))?.is_some() {
            self.0.end_trace();
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Trace<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.left.set(LONGEST);
            match key.as_str() {
                "events" => map.next_value_seed(Events(self.0))?,
                key => {
                    let value: Value = map.next_value()?;
                    self.0.common.take(key, &value);
                }
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Events<'_, '_> {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.left.set(LONGEST);
        while let Some(event) = seq.next_element::<Value>()? {
            self.0.left.set(LONGEST);
            self.0.event(&event);
            if self.0.stopped() {
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
