//! Any text as the events of a gateway's log: refused by its line, or a log whose replay makes the same decisions.

use firstflight_contract::Nanos;
use firstflight_gateway::{Event, Gateway, Logged, MOST, Observation, Override, Remote, STOCK, replay};

use crate::gateways::{enforcing, held, measured, reports};
use crate::{Form, Target, text};

pub(crate) const TARGET: Target = Target {
    name: "gateway_log",
    about: "text as a gateway's log: refused by its line, or events whose replay makes the same decisions",
    run,
    longest: 16 << 10,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "{\"report\":",
    "{\"tick\":{\"now\":",
    "{\"order\":{\"prefix\":",
    "{\"remote\":{\"observation\":",
    "{\"decide\":",
    "\"resume_host\"",
    "{\"start\":",
    "\"version\":1",
    "\"peer\":\"192.0.2.1\"",
    "\"peer\":\"2001:db8::1\"",
    "\"arm\":\"stock\"",
    "\"arm\":\"holdout\"",
    "\"arm\":{\"planned\":20}",
    "\"stage\":\"live\"",
    "\"stage\":\"ended\"",
    "\"192.0.2.0/24\"",
    "{\"window\":12}",
    "\"off\"",
    "\"freeze\"",
    "null",
    "true",
    "0",
    "1",
    "4294967295",
    "18446744073709551615",
    "}}",
    "\n",
];

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    if let Err(error) = replay(text.lines()) {
        assert!(error.to_string().starts_with("line "), "{error}");
    }
    // The events again, after a valid beginning: a changed beginning does not have the checksum of its state.
    let mut log = String::new();
    let mut logged = Logged::begin(Gateway::new(enforcing()), &mut log);
    let events = text.lines().map_while(|line| Event::parse(line, 1).ok());
    let events = events.take_while(|event| match event {
        Event::Order { order: Some(Override::Window(window)), .. } => (STOCK..=MOST).contains(window),
        _ => true,
    });
    for event in events {
        let decisions = logged.apply(&event, &mut log).to_vec();
        held(logged.gateway(), &decisions);
    }
    let replayed = replay(log.lines()).unwrap_or_else(|error| panic!("{error}\n{log}"));
    assert_eq!(replayed.difference, None, "{log}");
    assert_eq!(replayed.events + replayed.decisions + 1, log.lines().count());
}

/// Events of some seconds, of every kind.
pub(crate) fn every_event() -> Vec<u8> {
    let mut events: Vec<Event> = reports(Nanos::from_secs(5)).map(Event::Report).collect();
    let second = "192.0.2.1".parse().expect("an address");
    events.extend((0..9).map(|turn| Event::Report(measured(Nanos::from_secs(9 + turn), second, 40))));
    let prefix = "192.0.2.0/24".parse().expect("a prefix");
    let order = Some(Override::Window(12));
    events.push(Event::Order { prefix, order });
    events.push(Event::Order { prefix, order: None });
    let observation = Observation::new("there", prefix, 640, Nanos::from_millis(80), 40, 1_700_000_000);
    let age = Nanos::from_secs(3);
    events.push(Event::Remote(Remote { observation, age, weight: 500 }));
    events.push(Event::Tick { now: Nanos::from_secs(4000) });
    events.iter().flat_map(|event| (event.line() + "\n").into_bytes()).collect()
}

/// A whole log, with its beginning and its decisions.
pub(crate) fn whole() -> Vec<u8> {
    let mut log = String::new();
    let mut logged = Logged::begin(Gateway::new(enforcing()), &mut log);
    let events = every_event();
    for line in text(&events).expect("lines").lines() {
        logged.apply(&Event::parse(line, 1).expect("an event"), &mut log);
    }
    log.into_bytes()
}
