//! ProbeRTT.

use super::{Bbr3, Sample, State};
use crate::standalone::bbr3::probe_bw::AckPhase;
use firstflight_contract::{Control, Moment, Nanos};

/// `BBR.ProbeRTTDuration`.
const PROBE_RTT_DURATION: Nanos = Nanos::from_millis(200);

impl Bbr3 {
    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample, control: &mut Control) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // Saved first: the window is not yet reduced.
            self.save_cwnd(control);
            self.state = State::ProbeRtt;
            self.probe_rtt_done = Moment::NEVER;
            self.probe.ack_phase = AckPhase::Stopping;
            self.start_round();
            self.slowed.begin(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample, control);
        }
        self.idle_restart = false;
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, sample: &Sample, control: &mut Control) {
        self.slowed.hold(self.delivered, sample.in_flight);
        if self.probe_rtt_done == Moment::NEVER {
            if sample.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done = Moment::at(sample.now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(sample.now, control);
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Nanos, control: &mut Control) {
        if self.probe_rtt_done.time().is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd(control);
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
