//! Losses: recovery, timeouts, and the bound that a probe's losses set.

use super::{Bbr3Picoquic, INFINITE, ONE, Sample, State, times};
use firstflight_contract::{Control, Lost, mul_div};

/// `BBRLossThresh`, thousandths.
const LOSS_THRESH: u64 = 20;
/// `BBRBeta`, thousandths.
const BETA: u64 = 700;
/// Packets that must be lost, so that two of a small flight are no signal.
const LEAST_LOST: u64 = 3;

/// State of a recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    pub(super) is_in: bool,
    is_timeout: bool,
    /// For a round trip, a packet is sent for each one delivered.
    pub(super) conserving: bool,
    /// It ends with a packet that left after this total was delivered.
    ends: u64,
    /// Total delivered when it began or ended.
    delivered: u64,
}

impl Bbr3Picoquic {
    /// `IsInflightTooHigh`, for a packet that left when `prior_delivered` were delivered.
    pub(super) fn is_inflight_too_high(&self, prior_delivered: u64, lost: u64, tx_in_flight: u64) -> bool {
        prior_delivered > self.recovery.delivered
            && lost > times(tx_in_flight, LOSS_THRESH)
            && lost > LEAST_LOST * self.mtu
    }

    /// `BBRHandleInflightTooHigh`.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        tx_in_flight: u64,
        app_limited: bool,
        cwnd: u64,
        now: u64,
    ) {
        self.probe.samples = false;
        if !app_limited {
            self.inflight_hi = tx_in_flight.max(times(self.target_inflight(cwnd), BETA));
        }
        if self.state == State::Up {
            self.start_probe_bw_down(now);
        }
    }

    /// `BBRHandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, packet: &Lost, control: &Control) {
        if !self.probe.samples || self.state != State::Up {
            return;
        }
        let lost = packet.lost.saturating_sub(packet.prior_lost);
        if self.is_inflight_too_high(packet.prior_delivered, lost, packet.prior_in_flight) {
            let tx_in_flight = Self::inflight_at_loss(packet, lost);
            let limited = packet.flags & Lost::RATE_LIMITED != 0;
            self.handle_inflight_too_high(tx_in_flight, limited, control.cwnd, super::micros(packet.now));
        }
    }

    /// `BBRInflightHiFromLostPacket`. The code takes the share of the difference, where the draft subtracts the losses from the share.
    fn inflight_at_loss(packet: &Lost, lost: u64) -> u64 {
        let inflight_prev = packet.prior_in_flight.saturating_sub(packet.bytes);
        let lost_prev = lost.saturating_sub(packet.bytes);
        if inflight_prev <= lost_prev {
            return packet.prior_in_flight;
        }
        inflight_prev + mul_div(inflight_prev - lost_prev, LOSS_THRESH, ONE - LOSS_THRESH)
    }

    /// `BBRSaveCwnd`.
    pub(super) fn saved_cwnd(&self, control: &Control) -> u64 {
        if !self.recovery.is_in && self.state != State::ProbeRtt {
            control.cwnd
        } else {
            self.prior_cwnd.max(control.cwnd)
        }
    }

    /// `BBRCheckRecovery`.
    pub(super) fn check_recovery(&mut self, sample: &Sample, control: &mut Control) {
        if self.recovery.is_in {
            if self.recovery.is_timeout || sample.prior_delivered >= self.recovery.ends {
                self.exit_recovery(sample.now, control);
            }
        } else if self.is_inflight_too_high(sample.prior_delivered, sample.lost, sample.tx_in_flight) {
            self.prior_cwnd = self.saved_cwnd(control);
            control.cwnd = sample.in_transit + self.mtu.max(sample.newly_acked);
            self.recovery = Recovery {
                is_in: true,
                is_timeout: false,
                conserving: true,
                ends: self.delivered,
                delivered: self.delivered,
            };
        }
    }

    /// `BBROnExitRecovery`.
    fn exit_recovery(&mut self, now: u64, control: &mut Control) {
        control.cwnd = control.cwnd.max(self.prior_cwnd);
        if self.recovery.is_timeout {
            self.enter_startup_again();
        } else if self.state == State::Up {
            self.start_probe_bw_down(now);
        }
        self.recovery = Recovery { delivered: self.delivered, ..Recovery::default() };
        self.probe_rtt_min_stamp = now;
        self.min_rtt_stamp = now;
    }

    /// `BBROnEnterRTO`.
    pub(super) fn on_enter_rto(&mut self, control: &mut Control) {
        if !self.recovery.is_in {
            self.prior_cwnd = self.saved_cwnd(control);
            self.recovery.is_in = true;
        }
        // The host adds what is still in flight.
        control.cwnd = self.mtu;
        if self.recovery.is_timeout {
            return;
        }
        let prior_bw = if self.bw > 0 { self.bw } else { self.max_bw };
        if prior_bw > 0 && self.min_rtt != INFINITE {
            self.bdp_seed = self.bdp_seed.max(self.inflight(prior_bw, ONE));
        }
        self.recovery.is_timeout = true;
        self.recovery.delivered = self.delivered;
    }
}
