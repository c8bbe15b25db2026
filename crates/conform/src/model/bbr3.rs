//! picoquic's BBRv3.

use firstflight_contract::Nanos;
use firstflight_schemes::scheme::{Scheme as _, Value};
use firstflight_schemes::standalone::bbr3_picoquic::{Bbr3Picoquic, State};

use super::{Model, Replay, Replayed, seed_of};
use crate::vector::{Event, Vector};

/// Bytes of picoquic's first packet (`PICOQUIC_INITIAL_MTU_IPV4`).
const FIRST_PACKET: f64 = 1252.0;
/// Seeds that are tried on either side of the computed one.
const TRIED: u32 = 2_000;

impl Model for Bbr3Picoquic {
    const SEES_HANDSHAKE: bool = true;
    const COUNTS_RANGES: bool = true;

    fn state(&self) -> &'static str {
        match self.view().state {
            State::Startup => "startup",
            State::StartupLongRtt => "startup_long_rtt",
            State::StartupResume => "startup_resume",
            State::Drain => "drain",
            State::Down => "probe_bw_down",
            State::Cruise => "probe_bw_cruise",
            State::Refill => "probe_bw_refill",
            State::Up => "probe_bw_up",
            State::ProbeRtt => "probe_rtt",
        }
    }

    /// On long round trips picoquic asks when the sender last had nothing to send, which no column has: the window grows or stays.
    fn window_limited(&self, event: &Event) -> Option<bool> {
        match event.answer.state.as_str() {
            "startup_long_rtt" => Some(event.cwnd_before.is_some_and(|before| event.answer.cwnd > before)),
            _ => event.window_limited,
        }
    }

    /// The recording has the largest bandwidth: no sample is above it, and where it rises, it is the sample.
    fn sample(&mut self, event: &Event, computed: u64) -> u64 {
        let known = self.view().max_bw;
        match event.bandwidth {
            None => computed.min(known),
            Some(largest) if largest > known => largest,
            Some(largest) => computed.min(largest),
        }
    }
}

/// Clock of picoquic when it made the connection, microseconds: the server does with the first packet, which has crossed half of the round
/// trip and the bottleneck.
fn clock(vector: &Vector) -> Option<u32> {
    let (rate, rtt) = (vector.bottleneck_mbit?, vector.base_rtt_ms?);
    Some((rtt * 500.0 + FIRST_PACKET * 8.0 / rate) as u32)
}

fn replay(vector: &Vector, seed: u32) -> Result<Replayed, String> {
    let mut scheme = Bbr3Picoquic::default();
    scheme.set("seed", Value::Number(f64::from(seed)));
    if let Some((window, _)) = seed_of(vector) {
        scheme.set("seed_window", Value::Number(window as f64));
    }
    Replay::new(scheme, Nanos::ZERO).run(vector)
}

/// The seed is the clock; where the first probe then begins at another ACK, it is the nearest with which it begins there.
pub(super) fn run(vector: &Vector) -> Result<Replayed, String> {
    let clock = clock(vector);
    let first = clock.unwrap_or_default();
    let mut replayed = replay(vector, first)?;
    let mut taken = match clock {
        Some(clock) => format!("seed {clock}: half of base_rtt_ms, and 1252 bytes at bottleneck_mbit"),
        None => "seed 0: the comments have no bottleneck_mbit and base_rtt_ms".to_owned(),
    };
    if replayed.probe_theirs != replayed.probe_ours && replayed.probe_theirs.is_some() {
        let others = (1..=TRIED).flat_map(|step| [first.checked_add(step), first.checked_sub(step)]);
        for seed in others.flatten() {
            let tried = replay(vector, seed)?;
            if tried.probe_theirs == tried.probe_ours {
                taken = format!(
                    "seed {seed}: the nearest to {first} with which the first probe begins at its ACK"
                );
                replayed = tried;
                break;
            }
        }
    }
    replayed.model.taken.push(taken);
    Ok(replayed)
}
