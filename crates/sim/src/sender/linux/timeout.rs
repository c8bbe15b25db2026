//! The retransmission timeout: outstanding segments count as lost unless they left too recently. F-RTO (RFC 5682) then sends
//! new data to find out whether the timeout was spurious.

use super::ack::{Response, SeenAck};
use super::{Armed, Linux, wheel};
use crate::packet::Blocks;
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stack::Timers;
use crate::sender::stamps::{SACKED, sent};
use firstflight_contract::{Nanos, Trigger};

/// Shortest wait before everything is retransmitted after reneging, nanoseconds.
const LEAST_RENEGING_WAIT: u64 = 10_000_000;

impl Connection<Linux> {
    /// The timer fired.
    pub(crate) fn on_timer(&mut self, now: u64, port: &mut impl Port) {
        if self.una == self.nxt {
            self.rto_at = u64::MAX;
            return;
        }
        let wait = std::mem::take(&mut self.own.wait);
        if wait > 0 {
            let tick = self.stack.rto.granularity;
            let fires = if self.own.punctual || self.stack.rules.timers == Timers::Due {
                now - wait + self.rto.in_ticks(wait)
            } else {
                wheel::fires_at(now - wait, wait, tick)
            };
            if fires > now {
                self.rto_at = fires;
                return;
            }
        }
        self.orderly = false;
        match self.own.armed {
            Armed::Timeout => self.on_timeout(now, port),
            Armed::Probe => self.on_probe_timer(now, port),
            Armed::Reordering => self.on_reordering_timer(now, port),
        }
    }

    /// Arms the retransmission timer; in place of another timer, from when the first unacknowledged segment left.
    pub(super) fn rearm_timeout(&mut self, now: u64) {
        if self.una == self.nxt {
            self.rto_at = u64::MAX;
            return;
        }
        let mut wait = self.rto.timeout();
        if self.own.armed != Armed::Timeout {
            let due = sent(self.stamps.get(self.una)) + wait;
            wait = due.saturating_sub(now).max(1);
        }
        self.arm(now, Armed::Timeout, wait);
    }

    fn on_timeout(&mut self, now: u64, port: &mut impl Port) {
        self.stats.timeouts += 1;
        self.enter_loss(now);
        // Probes of a closed window do not count as timeouts.
        self.own.timeouts += u32::from(!self.is_window_closed());
        self.fit_into_window(self.una, port);
        self.retransmit(now, self.una, true, port);
        self.rto.back_off_linux();
        self.arm(now, Armed::Timeout, self.rto.timeout());
    }

    fn enter_loss(&mut self, now: u64) {
        let new_recovery = self.own.state < CaState::Recovery;
        self.mark_all_lost(now);
        // "Reduce ssthresh if it has not yet been made inside this window": RFC 5681 section 3.1 for the repeated
        // timeout; the reduction for a timeout during recovery has been made already.
        let reduces = self.own.state <= CaState::Disorder
            || self.own.high <= self.una
            || self.own.state == CaState::Loss && self.own.timeouts == 0;
        if reduces {
            self.own.undo.ssthresh = Some(self.current_ssthresh());
            self.report_episode(now, Trigger::Timeout);
            self.begin_undo();
        } else {
            self.chain.lose_window(Nanos(now));
        }
        self.report_losses(now, 0);
        let pipe = u64::from(self.own.in_flight(self.nxt - self.una));
        self.chain.control.cwnd = (pipe + 1) * self.mss;
        self.doubt_reordering();
        self.own.state = CaState::Loss;
        self.own.high = self.nxt;
        self.own.probe_end = 0;
        self.own.frto = new_recovery || self.own.timeouts > 0;
    }

    /// Whether the receiver has dropped a segment that it had reported (RFC 2018 section 8): the cumulative ACK stops below
    /// it.
    pub(super) fn has_reneged(&self) -> bool {
        self.una < self.nxt && self.stamps.get(self.una) & SACKED != 0
    }

    /// The next ACK may still continue beyond that segment. After half a round trip the timeout retransmits everything.
    #[cold]
    pub(super) fn wait_for_reneged(&mut self, now: u64) {
        self.arm(now, Armed::Timeout, (self.rto.srtt() / 2).max(LEAST_RENEGING_WAIT));
    }

    /// Segments that left less than a round trip ago may still arrive; the first segment counts as lost in any case.
    fn mark_all_lost(&mut self, now: u64) {
        let reneged = self.has_reneged();
        if reneged {
            self.own.reneged = true;
            // Blocks that the receiver goes on reporting count anew.
            self.own.last = Blocks::default();
        }
        if reneged || !self.stack.recovery.is_selective() {
            self.own.sacked = 0;
        }
        for segment in self.una..self.nxt {
            let word = self.common.stamps.get_mut(segment);
            if reneged {
                *word &= !SACKED;
            } else if segment != self.common.una && self.own.detector.time_left(now, *word, 0) > 0 {
                continue;
            }
            self.mark_lost(segment);
        }
    }

    /// An ACK after a timeout.
    pub(super) fn go_on_after_timeout(&mut self, seen: &mut SeenAck) -> Response {
        let recovered = self.una >= self.own.high;
        if seen.done.advanced > 0 && self.try_to_undo_timeout(seen, false) {
            return Response::Nothing;
        }
        if self.own.frto {
            // RFC 5682 section 3.1 step 3.b: data that was sent once has arrived.
            if seen.done.original && self.try_to_undo_timeout(seen, true) {
                return Response::Nothing;
            }
            if self.nxt > self.own.high {
                if seen.done.sacked > 0 || seen.is_duplicate {
                    // Step 3.a: the new data arrived and the old did not.
                    self.own.frto = false;
                }
            } else if seen.done.advanced > 0 && !recovered {
                self.own.high = self.nxt;
                // Step 2.b: new data, where there is some and the receiver has room.
                if self.nxt < self.available && self.nxt < self.window_end() {
                    return Response::NewFirst;
                }
                self.own.frto = false;
            }
        }
        if recovered {
            // Step 2.a.
            self.try_to_undo_recovery(seen);
            return Response::Nothing;
        }
        if !self.stack.recovery.is_selective() {
            if self.nxt > self.own.high && seen.is_duplicate {
                self.count_duplicate_without_sack(seen);
            } else if seen.done.advanced > 0 {
                self.own.sacked = 0;
            }
        }
        Response::Lost
    }

    /// RFC 5682 step 2.b was taken and new data has left.
    pub(super) fn frto_waits(&self) -> bool {
        self.nxt > self.own.high
    }

    pub(super) fn end_frto(&mut self) {
        self.own.frto = false;
    }
}
