//! Refused input, and the exact words of the errors.
//!
//! Each case is a change to one valid file: a line of it is replaced, or lines are added at its end.

mod network;
mod traffic;

use firstflight_contract::Role;
use firstflight_document::{Error, Problem};
use firstflight_scenario::parse;
use firstflight_scenario::scheme::labels_of;

/// Line number, replacement text, and message; `{startup}` and `{avoidance}` are the registered labels.
type Case = (usize, &'static str, &'static str);

const BASE: &str = r#"title = "base"
duration = "20 s"
[path]
rate = "40 Mbit/s"
rtt = "100 ms"
buffer = "500 packets"
[packet]
size = "1000 B"
[[flow]]
name = "bulk"
startup = "slow-start"
"#;

/// The message for `BASE` with line `line` (from 1) replaced, or with lines added after the last.
fn message(line: usize, text: &str) -> String {
    let mut lines: Vec<_> = BASE.lines().collect();
    match line {
        12.. => lines.push(text),
        n => lines[n - 1] = text,
    }
    match parse(&lines.join("\n"), "base.toml") {
        Ok(loaded) => panic!("{text:?} is accepted: {:?}", loaded.scenario),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_refusal_names_the_place_the_key_the_value_and_what_was_expected() {
    let labels = |roles| labels_of(roles).collect::<Vec<_>>().join(", ");
    for (line, text, expected) in network::CASES.iter().chain(traffic::CASES) {
        let expected = expected
            .replace("{startup}", &labels(&[Role::Startup, Role::Standalone]))
            .replace("{avoidance}", &labels(&[Role::Avoidance]));
        assert_eq!(message(*line, text), expected);
    }
}

#[test]
fn the_base_that_the_cases_change_is_valid() {
    parse(BASE, "base.toml").unwrap();
}

#[test]
fn a_message_is_short_whatever_texts_of_others_it_quotes() {
    let long = "b c ".repeat(25_000);
    let error = |problem: Problem| Error::new(problem).to_string();
    for message in [
        error(Problem::Invalid(format!("the grid {long} is of another"))),
        error(Problem::Unreadable(long.clone())),
        error(Problem::Syntax(long.clone())),
        error(Problem::NotImplemented(long.clone())),
        Error::invalid("wrong").in_file(&long, Some((1, 2))).to_string(),
        Error::invalid("wrong").expecting(format!("one of: {long}")).to_string(),
        Error::invalid("wrong").near(Some(&long)).to_string(),
        Error::invalid("wrong").at_key(&*long).with_value(long.clone()).to_string(),
    ] {
        assert!(message.contains("… (100") && message.chars().count() < 2100, "{}", message.chars().count());
    }
    // A list of all schemes stays whole.
    let all = Error::unknown_name("scheme", "x", labels_of(&Role::ALL)).to_string();
    assert!(all.ends_with(labels_of(&Role::ALL).last().expect("some")), "{all}");
}

#[test]
fn a_message_shows_80_characters_of_a_long_key_name_or_unit_and_says_its_length() {
    let long = "b".repeat(100_000);
    for (line, text, shown) in [
        (4, format!("{long} = 1"), "path.bbbbbbbbbb"),
        (4, format!("rate = \"1 {long}\""), "path.rate = \"1 bbbbbbbbbb"),
        (11, format!("startup = \"{long}\""), "flow[0].startup = \"bbbbbbbbbb"),
        (12, format!("recovery = \"{long}\""), "flow[0].recovery = \"bbbbbbbbbb"),
        (1, format!("title = [\"{long}\"]"), "title = [\"bbbbbbbbbb"),
    ] {
        let message = message(line, &text);
        assert!(message.contains(shown), "{message}");
        let longest = message.split(|c| c != 'b').map(str::len).max().unwrap_or(0);
        assert!((40..=80).contains(&longest), "{message}");
        assert!(message.contains("… (10000"), "{message}");
    }
    // A text of several lines is shown on one.
    for (line, text, shown) in [
        (4, r#"rate = "1 x\n\u0007""#, r#"there is no unit "x\n\u0007" here"#),
        (4, r#""a\n\u0007b" = 1"#, r#"path."a\n\u0007b" = 1: no such key"#),
    ] {
        let message = message(line, text);
        assert!(message.contains(shown) && message.lines().count() == 1, "{message}");
    }
    let message = message(12, r#"recovery = "\u0007\n""#);
    assert!(message.contains("flow[0].recovery = \"\\u0007\\n\": there is no"), "{message}");
}
