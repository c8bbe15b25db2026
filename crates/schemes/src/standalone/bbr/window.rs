//! The congestion window: towards a multiple of the BDP, and what loss repair makes of it.

use super::units::{Bandwidth, INITIAL_WINDOW, ONE, product, segments_at_once};
use super::{Bbr, HIGH_GAIN, MIN_WINDOW, Mode, Sample};
use firstflight_contract::Control;

/// What the host is repairing (the kernel's `icsk_ca_state`, as far as BBR looks at it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Repair {
    /// Nothing.
    #[default]
    None,
    /// Losses that ACKs showed.
    Recovery,
    /// A timeout.
    Loss,
}

/// The window's memory, segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The last window before loss repair or PROBE_RTT cut it.
    prior: u64,
    /// Repair at the last ACK.
    pub(super) repair: Repair,
    /// First round of a recovery: one segment leaves for each that is delivered.
    pub(super) conserving: bool,
}

impl Bbr {
    /// The window in segments.
    pub(super) fn window_of(&self, control: &Control) -> u64 {
        control.cwnd / self.mss
    }

    /// Keeps the window for when loss repair or PROBE_RTT is over.
    pub(super) fn save_window(&mut self, control: &Control) {
        let cwnd = self.window_of(control);
        let uncut = self.window.repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.window.prior = if uncut { cwnd } else { self.window.prior.max(cwnd) };
    }

    /// Goes back to it at the least.
    pub(super) fn restore_window(&self, control: &mut Control) {
        control.cwnd = control.cwnd.max(self.window.prior * self.mss);
    }

    /// `gain` times the BDP; before any RTT is known, a fixed initial window.
    fn bdp(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        self.min_rtt.map_or(INITIAL_WINDOW, |rtt| product(bandwidth, rtt, gain))
    }

    /// `segments`, and what the end hosts hold beside the path: one piece each in the sender's queue, in its
    /// offload and in the receiver's.
    fn with_budget(&self, segments: u64, control: &Control) -> u64 {
        let with_pieces = segments + 3 * segments_at_once(control.pacing, self.mss);
        // Even, for receivers that acknowledge every other segment.
        let even = with_pieces.next_multiple_of(2);
        // A probe has to show even where the BDP is a few segments.
        if self.mode == Mode::ProbeBandwidth && self.phase == 0 { even + 2 } else { even }
    }

    /// What to have in flight at `gain` times the largest bandwidth, policed or not.
    pub(super) fn inflight(&self, gain: u64, control: &Control) -> u64 {
        self.with_budget(self.bdp(self.max_bandwidth.get(), gain), control)
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, sample: &Sample, repair: Repair, control: &mut Control) {
        let mut cwnd = self.window_of(control);
        if sample.acked > 0 {
            cwnd = self.repaired(cwnd, sample, repair);
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

    /// What was lost leaves the window; a recovery begins with what is in flight, and ends where it began.
    fn repaired(&mut self, cwnd: u64, sample: &Sample, repair: Repair) -> u64 {
        let mut cwnd = cwnd;
        if sample.newly_lost > 0 {
            cwnd = cwnd.saturating_sub(sample.newly_lost).max(1);
        }
        let before = core::mem::replace(&mut self.window.repair, repair);
        if repair == Repair::Recovery && before != Repair::Recovery {
            self.window.conserving = true;
            self.round_ends = sample.totals.delivered;
            cwnd = sample.pipe + sample.acked;
        } else if repair == Repair::None && before != Repair::None {
            self.window.conserving = false;
            cwnd = cwnd.max(self.window.prior);
        }
        cwnd
    }

    /// Up to the target as slow start would go; down to it at once, but only where the pipe was once full.
    fn towards_target(&self, cwnd: u64, sample: &Sample, control: &Control) -> u64 {
        let gain = match self.mode {
            // DRAIN keeps the window: it slows the sender by pacing alone.
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
