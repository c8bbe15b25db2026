//! The congestion window: its target, a multiple of the BDP, and its changes during loss recovery.

use super::units::{Bandwidth, INITIAL_WINDOW, ONE, product, segments_at_once};
use super::{Bbr, HIGH_GAIN, MIN_WINDOW, Mode, Sample};
use firstflight_contract::Control;

/// State of the host's recovery (the kernel's `icsk_ca_state`, as far as BBR reads it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CaState {
    /// Nothing.
    #[default]
    None,
    /// Recovery from losses that ACKs showed.
    Recovery,
    /// A timeout.
    Loss,
}

/// Saved state of the window, segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The last window before loss recovery or PROBE_RTT reduced it.
    prior: u64,
    /// State of recovery at the last ACK.
    pub(super) ca_state: CaState,
    /// First round of a recovery: one segment is sent for each one delivered.
    pub(super) conserving: bool,
}

impl Bbr {
    /// The window in segments.
    pub(super) fn window_of(&self, control: &Control) -> u64 {
        control.cwnd / self.mss
    }

    /// Saves the window for the end of loss recovery or PROBE_RTT.
    pub(super) fn save_window(&mut self, control: &Control) {
        let cwnd = self.window_of(control);
        let uncut = self.window.ca_state == CaState::None && self.mode != Mode::ProbeRtt;
        self.window.prior = if uncut { cwnd } else { self.window.prior.max(cwnd) };
    }

    /// Restores at least the saved window.
    pub(super) fn restore_window(&self, control: &mut Control) {
        control.cwnd = control.cwnd.max(self.window.prior * self.mss);
    }

    /// `gain` times the BDP; before any RTT is known, a fixed initial window.
    fn bdp(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        self.min_rtt.map_or(INITIAL_WINDOW, |rtt| product(bandwidth, rtt, gain))
    }

    /// `segments` plus the pieces that the end hosts hold: one each in the sender's queue, in its offload and in the
    /// receiver's offload.
    fn with_budget(&self, segments: u64, control: &Control) -> u64 {
        let with_pieces = segments + 3 * segments_at_once(control.pacing, self.mss);
        // Even, for receivers that acknowledge every other segment.
        let even = with_pieces.next_multiple_of(2);
        // A probe must be measurable even if the BDP is a few segments.
        if self.mode == Mode::ProbeBandwidth && self.phase == 0 { even + 2 } else { even }
    }

    /// Target in flight at `gain` times the bandwidth estimate, policed or not.
    pub(super) fn inflight(&self, gain: u64, control: &Control) -> u64 {
        self.with_budget(self.bdp(self.max_bandwidth.get(), gain), control)
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, sample: &Sample, ca_state: CaState, control: &mut Control) {
        let mut cwnd = self.window_of(control);
        if sample.acked > 0 {
            cwnd = self.after_losses(cwnd, sample, ca_state);
            if self.window.conserving {
                cwnd = cwnd.max(sample.pipe + sample.acked);
            } else {
                cwnd = self.towards_target(cwnd, sample, control);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(MIN_WINDOW);
        }
        control.cwnd = cwnd * self.mss;
    }

    /// Lost segments leave the window. A recovery begins with the segments in flight and ends with the window of its
    /// beginning.
    fn after_losses(&mut self, cwnd: u64, sample: &Sample, ca_state: CaState) -> u64 {
        let mut cwnd = cwnd;
        if sample.newly_lost > 0 {
            cwnd = cwnd.saturating_sub(sample.newly_lost).max(1);
        }
        let before = core::mem::replace(&mut self.window.ca_state, ca_state);
        if ca_state == CaState::Recovery && before != CaState::Recovery {
            self.window.conserving = true;
            self.round_ends = sample.totals.delivered;
            cwnd = sample.pipe + sample.acked;
        } else if ca_state == CaState::None && before != CaState::None {
            self.window.conserving = false;
            cwnd = cwnd.max(self.window.prior);
        }
        cwnd
    }

    /// Grows to the target like slow start; falls to it at once, but only after the pipe was full once.
    fn towards_target(&self, cwnd: u64, sample: &Sample, control: &Control) -> u64 {
        let gain = match self.mode {
            // DRAIN keeps the window: only pacing slows the sender.
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth => 2 * ONE,
            Mode::ProbeRtt => ONE,
        };
        let bandwidth = self.bandwidth();
        let burst = if self.full_pipe { self.aggregation.window(bandwidth) } else { 0 };
        let target = self.with_budget(self.bdp(bandwidth, gain) + burst, control);
        // The kernel counts the SYN as delivered.
        let just_begun = sample.totals.delivered + 1 < INITIAL_WINDOW;
        let cwnd = if self.full_pipe {
            (cwnd + sample.acked).min(target)
        } else if cwnd < target || just_begun {
            cwnd + sample.acked
        } else {
            cwnd
        };
        cwnd.max(MIN_WINDOW)
    }
}
