//! Any text as a scenario: an error, or a scenario that is equal after writing and reading it again.

use firstflight_scenario::parse;

use crate::{Form, Target, refused, text};

pub(crate) const TARGET: Target = Target {
    name: "scenario",
    about: "text of a scenario, read, written and read again: the same scenario",
    run,
    longest: 16 << 10,
    form: Form::Text(WORDS),
};

/// Words of the scenario format.
pub(crate) const WORDS: &[&str] = &[
    "[path]",
    "[[flow]]",
    "[[udp]]",
    "[[telnet]]",
    "[[web]]",
    "[[link]]",
    "[[node]]",
    "[packet]",
    "[topology]",
    "rate",
    "rtt",
    "buffer",
    "loss",
    "queue",
    "duration",
    "seed",
    "size",
    "ack_size",
    "startup",
    "avoidance",
    "profile",
    "recovery",
    "receiver",
    "initial_window",
    "min_rto",
    "start",
    "count",
    "rounds",
    "idle_restart",
    "name",
    "delay",
    "from",
    "to",
    "both",
    "access_rate",
    "extra_rtt",
    "lifetime",
    "receive_window",
    "\"10 Mbit/s\"",
    "\"20 ms\"",
    "\"50 packets\"",
    "\"1 BDP\"",
    "\"30 KB\"",
    "\"100 Tbit/s\"",
    "\"1 bit/s\"",
    "\"1 ns\"",
    "\"100000000 s\"",
    "\"red\"",
    "\"codel\"",
    "\"fq-codel\"",
    "\"choke\"",
    "{ kind = \"policer\", rate = \"1 bit/s\", burst = \"1500 B\" }",
    "\"linux\"",
    "\"ns2\"",
    "\"rfc\"",
    "\"sack\"",
    "\"tahoe\"",
    "{ uniform = [\"1 ms\", \"2 ms\"] }",
    "{ exponential = \"1 s\" }",
    "{ every = \"1 s\" }",
    "\"hystart++\"",
    "\"jump-start\"",
    "\"cubic\"",
    "\"bbr\"",
    "\"slow-start\"",
    "nan",
    "inf",
    "1e308",
    "-1",
    "\"\\u0000\"",
];

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let loaded = match parse(text, "fuzz.toml") {
        Ok(loaded) => loaded,
        Err(error) => return refused(error),
    };
    let written = loaded.scenario.to_toml();
    let again = parse(&written, "written.toml").unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again.scenario, loaded.scenario, "{written}");
    for flow in &loaded.scenario.flows {
        assert_eq!(flow.scheme.build().len(), flow.scheme.phases().len());
    }
    refused(loaded.places.refuse("flow[0].startup", "no"));
}
