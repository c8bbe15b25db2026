//! The states, and their changes at the ends of eras.

use super::{C4, CRUISE, CRUISES, INITIAL, LEAST_MAX_RTT, LEVEL, PROBE, PUSH, RECOVER, State, times};
use firstflight_contract::{Exit, mul_div};

/// Eras without growth that end start-up.
const STALLED_ERAS: u32 = 3;
/// Most by which the RTT of an era counts above the smallest, microseconds.
const MOST_JITTER: u64 = 250_000;
/// Start-up may begin again once, above this RTT and below this rate.
const JITTERY_RTT: u64 = 50_000;
const JITTERY_RATE: u64 = 1_000_000;
/// Smoothed RTT below which pacing is loosened, microseconds, and the factor that comes on top.
const TINY_RTT: u64 = 1_000;
const LOOSER: u64 = 48;
/// Eras of resuming.
const RESUMING_ERAS: u32 = 2;
/// Below this factor growth is judged by congestion alone.
const MEASURABLE: u64 = 1088;

/// Growth of the rate since the last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    None,
    Slow,
    Fast,
}

impl C4 {
    /// `c4_growth_evaluate`: the rate grew by a quarter of the push, or by three.
    fn growth(&self) -> Growth {
        let (old, new) = (self.old_rate, self.nominal_rate);
        if self.push_factor <= MEASURABLE {
            let grew = new > old && !self.congestion_notified;
            return if grew { Growth::Fast } else { Growth::None };
        }
        let pushed = times(old, self.push_factor);
        if new < (3 * old + pushed) / 4 {
            Growth::None
        } else if new > (old + 3 * pushed) / 4 {
            Growth::Fast
        } else {
            Growth::Slow
        }
    }

    /// `c4_growth_reset`.
    fn reset_growth(&mut self) {
        self.congestion_notified = false;
        self.not_limited = false;
        self.old_rate = self.nominal_rate;
        self.push_factor = self.factor;
    }

    /// `c4_era_reset`.
    fn reset_era(&mut self) {
        self.era_begins = self.delivered;
        self.era_max_rtt = 0;
        self.era_min_rtt = u64::MAX;
        self.previous_factor = self.factor;
    }

    /// `c4_enter_initial`.
    pub(super) fn enter_initial(&mut self) {
        self.state = State::Initial;
        self.initial_cwnd = self.cwnd;
        self.level = LEVEL;
        self.factor = INITIAL;
        self.packets_in_startup = 0;
        self.reset_era();
        self.eras_without_growth = 0;
        self.reset_growth();
    }

    /// `c4_exit_initial`.
    pub(super) fn exit_initial(&mut self, reason: Exit) {
        if self.nominal_rate == 0 {
            return;
        }
        self.nominal_max_rtt =
            mul_div(self.initial_cwnd / 2, 1_000_000, self.nominal_rate).max(LEAST_MAX_RTT);
        self.delay_threshold = self.threshold_of_delay();
        self.eras_without_growth = 0;
        self.level = LEVEL;
        self.exit = Some(reason);
        self.enter_recovery();
    }

    /// `c4_initial_handle_ack`.
    pub(super) fn take_initial_ack(&mut self, acked: u64, ends: bool) {
        self.packets_in_startup += 1;
        self.initial_cwnd += acked >> (3 * self.eras_without_growth).min(63);
        if !ends {
            return;
        }
        if self.growth() != Growth::None {
            self.eras_without_growth = 0;
        } else if self.not_limited && self.nominal_rate > 0 {
            self.eras_without_growth += 1;
        }
        self.reset_era();
        if self.eras_without_growth >= STALLED_ERAS {
            self.exit_initial(Exit::Delivery);
        } else {
            self.reset_growth();
        }
    }

    /// `c4_enter_recovery`.
    pub(super) fn enter_recovery(&mut self) {
        if self.state == State::Initial {
            self.reset_growth();
        }
        if self.state != State::Recovery {
            self.state = State::Recovery;
            self.reset_era();
            self.factor = RECOVER;
        }
    }

    /// `c4_exit_recovery`.
    fn exit_recovery(&mut self) {
        if self.growth() != Growth::None {
            if self.resuming_eras == 0 {
                self.level += 1;
            }
            self.recent_congestions = 0;
        } else {
            if self.not_limited {
                self.level = LEVEL;
            }
            if self.congestion_notified {
                self.recent_congestions += 1;
                if self.recent_congestions >= 2 && self.recent_maximum_rate > 0 {
                    self.nominal_rate = self.nominal_rate.min(self.recent_maximum_rate);
                }
            } else {
                self.recent_congestions = 0;
            }
        }
        self.resuming_eras = 0;
        self.recent_maximum_rate = 0;
        self.reset_growth();
        self.delay_excess = 0;
        self.losses.reset();
        if self.level >= PROBE.len() {
            self.enter_initial();
        } else if self.level > LEVEL {
            self.enter_pushing();
        } else {
            self.enter_cruise();
        }
    }

    /// `c4_enter_cruise`.
    fn enter_cruise(&mut self) {
        self.reset_era();
        if self.cruises_left == 0 {
            self.cruises_left = if self.level == 0 { 1 } else { CRUISES };
        }
        self.factor = if self.srtt < TINY_RTT { CRUISE + LOOSER } else { CRUISE };
        self.state = State::Cruising;
    }

    /// `c4_enter_probing`.
    fn enter_probing(&mut self) {
        self.factor = PROBE[self.level];
        self.push_factor = self.factor;
        self.reset_era();
        self.state = State::Probing;
    }

    /// `c4_enter_pushing`.
    fn enter_pushing(&mut self) {
        self.factor = PUSH;
        self.state = State::Pushing;
        self.eras_without_growth = 0;
        self.reset_growth();
        self.reset_era();
    }

    /// `c4_on_pushing_rate_measurement`: a rate that grows fast begins an era anew.
    pub(super) fn take_pushing_rate(&mut self) {
        if self.growth() == Growth::Fast {
            self.reset_growth();
            self.reset_era();
            self.eras_without_growth = 0;
        }
    }

    /// `c4_enter_resuming`.
    pub(super) fn enter_resuming(&mut self) {
        self.factor = PROBE[3];
        self.resuming_eras = 0;
        self.state = State::Resuming;
        self.reset_growth();
        self.reset_era();
    }

    /// `c4_on_resuming_ack`, `c4_on_resuming_era_end`: an era counts from when the remembered window is in flight.
    pub(super) fn take_resuming_ack(&mut self, in_flight: u64, ends: bool) {
        if in_flight + in_flight / 16 < self.parameters.seed_window {
            self.era_begins = self.delivered;
            return;
        }
        if !ends {
            return;
        }
        self.update_max_rtt();
        self.resuming_eras += 1;
        if self.resuming_eras >= RESUMING_ERAS {
            self.enter_recovery();
        } else {
            self.reset_era();
        }
    }

    /// `c4_update_min_max_rtt`: the RTT of an era at the nominal rate or less has no queue of the sender's own.
    fn update_max_rtt(&mut self) {
        // An era of retransmissions alone has no sample.
        if self.previous_factor <= super::ONE && self.era_max_rtt > 0 {
            if self.era_min_rtt < self.running_min_rtt {
                self.running_min_rtt = self.era_min_rtt;
            } else {
                self.running_min_rtt = (7 * self.running_min_rtt + self.era_min_rtt) / 8;
            }
            let max = self.era_max_rtt.min(self.running_min_rtt + MOST_JITTER);
            if max > self.nominal_max_rtt {
                self.nominal_max_rtt = max;
            } else {
                self.nominal_max_rtt = (7 * self.nominal_max_rtt + max) / 8;
            }
        }
        self.nominal_max_rtt = self.nominal_max_rtt.max(LEAST_MAX_RTT);
        self.delay_threshold = self.threshold_of_delay();
    }

    /// The end of an era after start-up; `unlimited`: the application did not limit its newest packet.
    pub(super) fn end_era(&mut self, unlimited: bool) {
        self.update_max_rtt();
        if !self.initial_after_jitter
            && self.nominal_max_rtt > JITTERY_RTT
            && self.nominal_rate < JITTERY_RATE
            && 5 * self.running_min_rtt < 2 * self.nominal_max_rtt
        {
            // Start-up ended too early, because of jitter or of other flows.
            self.initial_after_jitter = true;
            return self.enter_initial();
        }
        match self.state {
            State::Recovery => self.exit_recovery(),
            State::Cruising => {
                self.cruises_left = self.cruises_left.saturating_sub(1);
                self.reset_era();
                if self.cruises_left == 0 && unlimited {
                    self.enter_probing();
                }
            }
            State::Probing => self.enter_recovery(),
            State::Pushing => {
                if self.growth() == Growth::Fast {
                    self.reset_growth();
                    self.reset_era();
                } else if self.previous_factor >= PUSH {
                    self.enter_recovery();
                }
            }
            State::Initial | State::Resuming => {}
        }
    }
}
