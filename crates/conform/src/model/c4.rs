//! picoquic's C4.

use firstflight_contract::{Nanos, Rate};
use firstflight_schemes::scheme::{Scheme as _, Value};
use firstflight_schemes::standalone::c4::{C4, State};

use super::{Model, Replay, Replayed, seed_of, within_2_percent};
use crate::vector::{Event, Vector};

/// A factor of one.
const ONE: u64 = 1024;

/// State of the machine that a word names.
fn state_of(word: &str) -> Option<State> {
    Some(match word {
        "initial" => State::Initial,
        "recovery" => State::Recovery,
        "cruising" => State::Cruising,
        "probing" => State::Probing,
        "pushing" => State::Pushing,
        "resuming" => State::Resuming,
        _ => return None,
    })
}

impl Model for C4 {
    const SEES_HANDSHAKE: bool = false;
    const COUNTS_RANGES: bool = false;

    fn state(&self) -> &'static str {
        match self.view().state {
            State::Initial => "initial",
            State::Recovery => "recovery",
            State::Cruising => "cruising",
            State::Probing => "probing",
            State::Pushing => "pushing",
            State::Resuming => "resuming",
        }
    }

    /// The sample behind the nominal rate, which the pacing rate shows after start-up: no sample is larger, and where it rises, the sample is
    /// its new value.
    fn sample(&mut self, event: &Event, computed: u64) -> u64 {
        let Some(state) = state_of(&event.answer.state) else { return computed };
        let pacing = event.answer.pacing.unwrap_or(Rate::NONE).0 / 8;
        if state == State::Initial {
            return initial_sample(self, event, computed, pacing);
        }
        let nominals = state.factors().iter().map(|factor| (pacing * ONE).div_ceil(*factor));
        let close = nominals.clone().find(|rate| within_2_percent(computed, *rate));
        close.unwrap_or_else(|| computed.min(nominals.max().unwrap_or(computed)))
    }
}

/// In start-up the pacing rate is the mean of twice the nominal rate and of the peak, where the peak is larger. The peak is a value of
/// picoquic's transport, which begins to measure in the handshake: the window shows it where the window jumps to half of the peak's product
/// with the smoothed RTT.
fn initial_sample(scheme: &mut C4, event: &Event, computed: u64, pacing: u64) -> u64 {
    let (cwnd, srtt) = (event.answer.cwnd, (event.srtt.0 / 1000).max(1));
    let before = event.cwnd_before.unwrap_or(cwnd);
    if cwnd > before + event.acked {
        scheme.raise_peak((2 * cwnd * 1_000_000).div_ceil(srtt));
    }
    let view = scheme.view();
    let rate = |sample: u64| C4::initial_pacing(view.nominal_rate.max(sample), 0);
    if within_2_percent(C4::initial_pacing(view.nominal_rate.max(computed), view.peak_rate), pacing) {
        return computed;
    }
    // The peak rises, as far as it moves no window; else the sample is another.
    let peak = (2 * pacing).saturating_sub(rate(computed));
    if peak > view.peak_rate && peak > rate(computed) && peak * srtt / 2_000_000 <= cwnd {
        scheme.raise_peak(peak);
        return computed;
    }
    match view.peak_rate {
        peak if peak > pacing => (2 * pacing).saturating_sub(peak) / 2,
        _ => pacing / 2,
    }
}

pub(super) fn run(vector: &Vector) -> Result<Replayed, String> {
    let mut scheme = C4::default();
    let mut taken =
        vec!["peak and nominal rate: the pacing rate, where they do not follow from the rows".to_owned()];
    let mut known = Nanos::ZERO;
    if let Some((window, rtt)) = seed_of(vector) {
        scheme.set("seed_window", Value::Number(window as f64));
        known = rtt;
        taken.push(format!("seed_window {window} bytes: seed_cwnd, as the path is like the earlier one"));
    }
    let mut replayed = Replay::new(scheme, known).run(vector)?;
    replayed.model.taken.extend(taken);
    Ok(replayed)
}
