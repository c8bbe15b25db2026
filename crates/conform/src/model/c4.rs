//! picoquic's C4.

use firstflight_contract::{Ack, Congestion, Control, Entry, Lost, Nanos, Phase, Rate, Step};
use firstflight_schemes::scheme::{Scheme as _, Value};
use firstflight_schemes::standalone::c4::{C4, State};

use super::{Model, Replay, Replayed, seed_of, within_2_percent};
use crate::vector::{Event, Vector};

/// A factor of one.
const ONE: u64 = 1024;

struct Picoquic(C4);

impl Phase for Picoquic {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.0.enter(entry, control);
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.0.on_lost(lost, control);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.0.on_ack(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.0.on_congestion(event, control)
    }

    fn on_spurious(&mut self) {
        self.0.on_spurious();
    }
}

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

impl Model for Picoquic {
    const SEES_HANDSHAKE: bool = false;
    const COUNTS_RANGES: bool = false;

    fn state(&self) -> &'static str {
        match self.0.view().state {
            State::Initial => "initial",
            State::Recovery => "recovery",
            State::Cruising => "cruising",
            State::Probing => "probing",
            State::Pushing => "pushing",
            State::Resuming => "resuming",
        }
    }

    /// The pacing rate tells the nominal rate after start-up: no sample is above it, and where it rises, it is the sample.
    fn sample(&mut self, event: &Event, computed: u64) -> u64 {
        let Some(state) = state_of(&event.answer.state) else { return computed };
        let pacing = event.answer.pacing.unwrap_or(Rate::NONE).0 / 8;
        if state == State::Initial {
            return self.initial_sample(event, computed, pacing);
        }
        let nominals = state.factors().iter().map(|factor| (pacing * ONE).div_ceil(*factor));
        let close = nominals.clone().find(|rate| within_2_percent(computed, *rate));
        close.unwrap_or_else(|| computed.min(nominals.max().unwrap_or(computed)))
    }
}

impl Picoquic {
    /// In start-up the pacing rate is the mean of twice the nominal rate and of the peak, where the peak is larger. The peak is a value of
    /// picoquic's transport, which begins to measure in the handshake: the window tells it where it jumps to half of the peak's product
    /// with the smoothed RTT.
    fn initial_sample(&mut self, event: &Event, computed: u64, pacing: u64) -> u64 {
        let (cwnd, srtt) = (event.answer.cwnd, (event.srtt.0 / 1000).max(1));
        let before = event.cwnd_before.unwrap_or(cwnd);
        if cwnd > before + event.acked {
            self.0.raise_peak((2 * cwnd * 1_000_000).div_ceil(srtt));
        }
        let view = self.0.view();
        let rate = |sample: u64| C4::initial_pacing(view.nominal_rate.max(sample), 0);
        if within_2_percent(C4::initial_pacing(view.nominal_rate.max(computed), view.peak_rate), pacing) {
            return computed;
        }
        // The peak rises, as far as it moves no window; else the sample is another.
        let peak = (2 * pacing).saturating_sub(rate(computed));
        if peak > view.peak_rate && peak > rate(computed) && peak * srtt / 2_000_000 <= cwnd {
            self.0.raise_peak(peak);
            return computed;
        }
        match view.peak_rate {
            peak if peak > pacing => (2 * pacing).saturating_sub(peak) / 2,
            _ => pacing / 2,
        }
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
    let mut replayed = Replay::new(Picoquic(scheme), known).run(vector)?;
    replayed.model.taken.extend(taken);
    Ok(replayed)
}
