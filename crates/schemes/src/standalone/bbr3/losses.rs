//! The response to losses, and its undoing.

use super::{BETA, Bbr3, INFINITE, ONE, Sample, State, UNBOUNDED, times};
use firstflight_contract::{Control, Lost, Rate, mul_div};

/// State to restore if a loss episode proves spurious.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that the episode ended.
    pub(super) state: Option<State>,
    bw_shortterm: Rate,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl Bbr3 {
    /// `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self, control: &Control) {
        self.save_cwnd(control);
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `NoteLoss`.
    fn note_loss(&mut self, lost: &Lost, control: &Control) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_state_upon_loss(control);
        }
        self.is_loss_in_round = true;
        if self.next_lost != Some(lost.number) {
            self.lost_ranges += 1;
        }
        self.next_lost = Some(lost.number + 1);
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, packet: &Lost, control: &Control) {
        self.note_loss(packet, control);
        if !self.probe.is_sample {
            return;
        }
        let lost = packet.lost.saturating_sub(packet.prior_lost);
        if self.is_inflight_too_high(lost, packet.prior_in_flight) {
            let tx_in_flight = self.inflight_at_loss(packet, lost);
            let app_limited = packet.flags & Lost::RATE_LIMITED != 0;
            self.handle_inflight_too_high(packet, tx_in_flight, app_limited, control);
        }
    }

    /// `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost > times(tx_in_flight, self.parameters.loss_thresh.0)
    }

    /// `InflightAtLoss`: the flight at which the losses passed the threshold, within the packet.
    fn inflight_at_loss(&self, packet: &Lost, lost: u64) -> u64 {
        let threshold = self.parameters.loss_thresh.0;
        let inflight_prev = packet.prior_in_flight.saturating_sub(packet.bytes);
        let lost_prev = lost.saturating_sub(packet.bytes);
        // Zero if the losses before it had passed the threshold already.
        let budget = times(inflight_prev, threshold).saturating_sub(lost_prev);
        inflight_prev + mul_div(budget, ONE, ONE - threshold)
    }

    /// `HandleInflightTooHigh`.
    fn handle_inflight_too_high(
        &mut self,
        packet: &Lost,
        tx_in_flight: u64,
        app_limited: bool,
        control: &Control,
    ) {
        self.probe.prev_too_high = true;
        self.probe.is_sample = false;
        if !app_limited {
            self.inflight_longterm = tx_in_flight.max(times(self.target_inflight(control), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_probe_bw_down(packet.now);
        }
    }

    /// `UpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample, control: &Control) {
        self.update_max_bw(sample);
        if !self.loss_round_start {
            return;
        }
        self.adapt_lower_bounds(control);
        self.is_loss_in_round = false;
    }

    /// `AdaptLowerBoundsFromCongestion`, `InitLowerBounds`, `LossLowerBounds`.
    fn adapt_lower_bounds(&mut self, control: &Control) {
        if self.state.is_probing() || !self.is_loss_in_round {
            return;
        }
        if self.bw_shortterm == UNBOUNDED {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == INFINITE {
            self.inflight_shortterm = control.cwnd;
        }
        self.bw_shortterm = self.bw_latest.max(Rate(times(self.bw_shortterm.0, BETA)));
        self.inflight_shortterm = self.inflight_latest.max(times(self.inflight_shortterm, BETA));
    }

    /// `HandleSpuriousLossDetection`; the host restores the window.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.is_loss_in_round = false;
        self.reset_full_bw(Rate::NONE);
        let undo = self.undo;
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
        self.undo.state = None;
    }
}
