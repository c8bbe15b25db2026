//! Any text as the lines of a sender's script: an event, or an error that names the line.

use firstflight_script::{Event, Line};

use crate::{Form, Target, text};

pub(crate) const TARGET: Target = Target {
    name: "script",
    about: "text as lines of a sender's script: events within their ranges, or errors that name the line",
    run,
    longest: 512,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "{\"at_us\":",
    "\"do\":",
    "\"established\"",
    "\"write\"",
    "\"ack\"",
    "\"advance\"",
    "\"close\"",
    "\"mss\":1000",
    "\"window\":65535",
    "\"sack\":true",
    "\"sack\":[[3001,4001]]",
    "\"rtt_us\":100000",
    "\"timestamps\":true",
    "\"bytes\":30000",
    "\"ece\":true",
    "\"echo\":\"first\"",
    ",",
    "}",
    "[",
    "]",
    "18446744073709551615",
    "-1",
    "1e3",
    "\\u0000",
];

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    for (number, text) in (1..).zip(text.lines()) {
        match Line::read(number, text).and_then(|line| line.event()) {
            Ok((_, Event::Ack(ack))) => {
                assert!(ack.ack > 0 && ack.blocks.iter().all(|(from, to)| from < to), "{text}");
            }
            Ok((_, Event::Write(bytes))) => assert!(bytes > 0, "{text}"),
            Ok(_) => {}
            Err(error) => assert!(error.to_string().starts_with(&format!("{number}:")), "{error}"),
        }
    }
}
