//! Signals of congestion: delay and losses. A flow with a larger rate is more sensitive, so that flows come to share.

use super::{C4, LEAST_MAX_RTT, ONE, RECOVER, RECOVER_MORE, State, times};
use firstflight_contract::{Control, Exit, Lost};

/// Largest reduction, 1024ths.
const BETA: u64 = 256;
/// Largest threshold of delay, microseconds.
const MOST_DELAY: u64 = 25_000;
/// Signals of loss that start-up bears.
const STARTUP_LOSSES: u32 = 20;
/// Packets over which losses are averaged, and the weight of one: a right shift.
const SCOPE: u64 = 32;
const WEIGHT: u32 = 4;
/// Loss rates are parts of this.
const WHOLE: u64 = 1 << 30;

/// The averaged loss rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    last: u64,
    rate: u64,
}

impl Losses {
    /// `c4_update_loss_rate`: the packet `number` was lost, and those between it and the last one were not.
    fn update(&mut self, number: u64) {
        if number <= self.last {
            return;
        }
        for _ in 0..(number - self.last).min(SCOPE) {
            self.rate -= self.rate >> WEIGHT;
        }
        self.rate += (WHOLE - self.rate) >> WEIGHT;
        self.last = number;
    }

    /// Forgets the rate.
    pub(super) fn reset(&mut self) {
        self.rate = 0;
    }
}

impl C4 {
    /// `c4_sensitivity_1024`: none below 50 kB/s, 0.94 at 1 MB/s, full above 10 MB/s.
    fn sensitivity(&self) -> u64 {
        match self.nominal_rate {
            ..50_000 => 0,
            rate @ 50_000..1_000_000 => (rate - 50_000) * 963 / 950_000,
            rate @ 1_000_000..=10_000_000 => 963 + (rate - 1_000_000) * 61 / 9_000_000,
            _ => ONE,
        }
    }

    /// `c4_delay_threshold`: a sixteenth of the nominal max RTT or more, at most 25 ms.
    pub(super) fn threshold_of_delay(&self) -> u64 {
        let share = 64 + times(ONE - self.sensitivity(), 196);
        times(self.nominal_max_rtt, share).min(MOST_DELAY)
    }

    /// `c4_loss_threshold`: 2 % to 52 %.
    fn threshold_of_losses(&self) -> u64 {
        WHOLE / 50 + WHOLE / 2 / ONE * (ONE - self.sensitivity())
    }

    /// A lost packet.
    pub(super) fn take_lost(&mut self, lost: &Lost, control: &mut Control) {
        if self.state == State::Recovery && lost.prior_delivered < self.era_begins {
            // It left before the recovery.
            return;
        }
        self.losses.update(lost.number + 1);
        if self.losses.rate <= self.threshold_of_losses() {
            return;
        }
        if self.state == State::Initial {
            self.packets_in_startup += 1;
            if self.packets_in_startup > STARTUP_LOSSES {
                self.exit_initial(Exit::Loss);
            }
            return;
        }
        let beta = (BETA + times(self.sensitivity(), BETA)) / 2;
        self.delay_excess = 0;
        self.notify_congestion(beta, true, control);
    }

    /// The delay is excessive after an era at more than the nominal rate.
    pub(super) fn on_delay(&mut self, control: &mut Control) {
        let beta = (self.delay_excess * ONE / self.delay_threshold.max(1)).min(BETA);
        self.notify_congestion(beta, false, control);
    }

    /// `c4_notify_congestion`.
    fn notify_congestion(&mut self, beta: u64, by_losses: bool, control: &mut Control) {
        self.congestion_notified = true;
        if self.state == State::Recovery {
            if self.factor == RECOVER {
                // The queue still grows: slower, and for longer.
                self.factor = RECOVER_MORE;
                self.era_begins = self.delivered;
            }
        } else {
            // The rate of a probe is not in the nominal rate yet.
            if !matches!(self.state, State::Probing | State::Pushing) {
                self.nominal_rate -= times(self.nominal_rate, beta);
                if by_losses {
                    self.nominal_max_rtt -= times(self.nominal_max_rtt, beta);
                    self.nominal_max_rtt = self.nominal_max_rtt.max(LEAST_MAX_RTT);
                    self.delay_threshold = self.threshold_of_delay();
                }
            }
            self.enter_recovery();
        }
        self.apply(control);
    }
}
