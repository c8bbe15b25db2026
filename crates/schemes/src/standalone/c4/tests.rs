//! Recorded connections of picoquic, replayed through the scheme.

use super::{C4, State};
use crate::recordings::Replay;

/// Name of the state in a recording.
fn name(scheme: &C4) -> &'static str {
    match scheme.state {
        State::Initial => "initial",
        State::Recovery => "recovery",
        State::Cruising => "cruising",
        State::Probing => "probing",
        State::Pushing => "pushing",
        State::Resuming => "resuming",
    }
}

#[test]
fn show() {
    for path in [
        "pico-c4.S1",
        "pico-c4.S2",
        "pico-c4.S3",
        "pico-c4.S4",
        "pico-c4.S5",
        "pico-c4.S6",
        "pico-c4.S7",
        "pico-c4.S8",
        "pico-c4.S9",
        "pico-c4-seed1.S1",
        "pico-c4-seed1.S2",
    ] {
        let text = std::fs::read_to_string(format!("/tmp/D/c4/{path}.csv")).unwrap();
        println!("PATH {path}");
        let mut scheme = C4::default();
        if path.contains("seed") {
            scheme.parameters.seed_window =
                text.lines().nth(1).unwrap().split(',').nth(17).unwrap().parse().unwrap_or(0);
        }
        let replay = Replay {
            scheme,
            sees_handshake: false,
            knows_rtt: true,
            state: name,
            sample: |_, computed, _| computed,
            before_ack: |_, _| {},
        };
        println!("RESULT {path} {:?}", replay.run(&text));
    }
}
