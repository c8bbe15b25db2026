//! The event log: the events of a gateway and its decisions, one JSON object a line. A replay gives the same decisions,
//! byte for byte.

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::decision::Decision;
use crate::gateway::Gateway;
use crate::serial;
use crate::settings::{Override, Settings};
use crate::share::Remote;
use crate::state::{STATE_VERSION, StateError};

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The log begins, with these settings and a saved state.
    Start {
        /// Version of the state.
        version: u32,
        /// The settings, with the secret.
        settings: Box<Settings>,
        /// The state of the gateway in hexadecimal digits.
        state: String,
    },
    /// [`Gateway::report`].
    Report(Connection),
    /// [`Gateway::tick`].
    Tick {
        /// The time.
        #[serde(with = "serial::nanos")]
        now: Nanos,
    },
    /// [`Gateway::order`].
    Order {
        /// The prefix.
        prefix: Prefix,
        /// The order, or none to end it.
        order: Option<Override>,
    },
    /// [`Gateway::remote`].
    Remote(Remote),
    /// A decision that followed from the event before.
    Decide(Decision),
}

impl Event {
    /// The line of the log, without its end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("every part has a JSON form")
    }

    /// Reads a line; `number` is its place in the log, for errors.
    ///
    /// # Errors
    /// [`LogError::Line`].
    pub fn parse(line: &str, number: usize) -> Result<Self, LogError> {
        serde_json::from_str(line).map_err(|error| LogError::Line { number, why: error.to_string() })
    }
}

/// A gateway that logs its events and its decisions.
#[derive(Clone, Debug)]
pub struct Logged {
    gateway: Gateway,
    decisions: Vec<Decision>,
}

impl Logged {
    /// Begins a log of this gateway; appends its first line to `log`.
    pub fn begin(gateway: Gateway, log: &mut String) -> Self {
        let state = gateway.save().iter().fold(String::new(), |mut hex, byte| {
            hex.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
            );
            hex
        });
        let settings = Box::new(gateway.settings().clone());
        add(log, &Event::Start { version: STATE_VERSION, settings, state });
        Self { gateway, decisions: vec![] }
    }

    /// The gateway.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Gives the event to the gateway, appends its line and those of its decisions to `log`, and returns the decisions.
    /// [`Event::Start`] and [`Event::Decide`] are not given: they are ignored.
    pub fn apply(&mut self, event: &Event, log: &mut String) -> &[Decision] {
        self.decisions.clear();
        let out = &mut self.decisions;
        match event {
            Event::Report(connection) => self.gateway.report(connection, out),
            Event::Tick { now } => self.gateway.tick(*now, out),
            Event::Order { prefix, order } => self.gateway.order(*prefix, *order, out),
            Event::Remote(remote) => self.gateway.remote(remote, out),
            Event::Start { .. } | Event::Decide(_) => return &[],
        }
        add(log, event);
        for decision in &self.decisions {
            add(log, &Event::Decide(*decision));
        }
        &self.decisions
    }
}

fn add(log: &mut String, event: &Event) {
    log.push_str(&event.line());
    log.push('\n');
}

/// Reason why a log cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// A line is no event.
    #[error("line {number}: not an event of the gateway's log: {why}")]
    Line {
        /// Line number, from 1.
        number: usize,
        /// The problem.
        why: String,
    },
    /// The log does not begin with its settings.
    #[error("line 1: expected the settings and the state, {{\"start\": …}}")]
    Start,
    /// A setting at the beginning is out of its range.
    #[error("line 1: {0}")]
    Settings(String),
    /// The state at the beginning cannot be restored.
    #[error("line 1: {0}")]
    State(#[from] StateError),
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Events that were given to the gateway.
    pub events: usize,
    /// Decisions that were equal.
    pub decisions: usize,
    /// The first line that differs.
    pub difference: Option<Difference>,
}

/// A line of a log that a replay does not repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Line number, from 1.
    pub line: usize,
    /// The line of the log; empty at its end.
    pub logged: String,
    /// The line of the replay; empty if it has no decision there.
    pub replayed: String,
}

/// Gives the events of a log to a new gateway and compares its decisions with those of the log.
///
/// # Errors
/// [`LogError`] if the log cannot be read.
pub fn replay<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Replay, LogError> {
    let mut lines = lines.into_iter().enumerate().map(|(at, line)| (at + 1, line)).peekable();
    let (_, first) = lines.next().ok_or(LogError::Start)?;
    let mut gateway = match Event::parse(first, 1)? {
        Event::Start { version, settings, state } => start(version, *settings, &state)?,
        _ => return Err(LogError::Start),
    };
    let mut replay = Replay { events: 0, decisions: 0, difference: None };
    let mut again = String::new();
    while let Some((number, line)) = lines.next() {
        let event = Event::parse(line, number)?;
        if let Event::Decide(_) = event {
            replay.difference =
                Some(Difference { line: number, logged: line.into(), replayed: String::new() });
            return Ok(replay);
        }
        if let Event::Order { order: Some(order), .. } = event {
            order
                .check(&gateway.gateway.settings().windows())
                .map_err(|why| LogError::Line { number, why })?;
        }
        again.clear();
        gateway.apply(&event, &mut again);
        replay.events += 1;
        for own in again.lines().skip(1) {
            match lines.peek() {
                Some((_, logged)) if *logged == own => {
                    lines.next();
                    replay.decisions += 1;
                }
                other => {
                    let (line, logged) = other.copied().unwrap_or((number + 1, ""));
                    let logged = if logged.starts_with("{\"decide\"") { logged } else { "" };
                    replay.difference =
                        Some(Difference { line, logged: logged.into(), replayed: own.into() });
                    return Ok(replay);
                }
            }
        }
    }
    Ok(replay)
}

/// The gateway with which a log begins.
fn start(version: u32, settings: Settings, state: &str) -> Result<Logged, LogError> {
    if version != STATE_VERSION {
        return Err(StateError::Version { found: version }.into());
    }
    settings.check().map_err(LogError::Settings)?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| Some((digit(pair.first()?)? * 16 + digit(pair.get(1)?)?) as u8);
    let state: Option<Vec<u8>> = state.as_bytes().chunks(2).map(byte).collect();
    let state = state.ok_or(StateError::Contents("expected hexadecimal digits"))?;
    let mut gateway = Gateway::new(settings);
    gateway.resume(&state)?;
    Ok(Logged { gateway, decisions: vec![] })
}
