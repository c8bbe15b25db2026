//! The sender's own clock: retransmission, pacing, application. Each fires at its own time, in order.

use super::stack::{IdleRestart, Recovery};
use super::{Port, Repair, Sender};
use firstflight_contract::{Entry, Nanos};

/// What a sender's timers do, in the order in which equal times fire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Stop,
    App,
    Rto,
    Pace,
}

impl Sender {
    /// Fires every timer due up to `to`, each at its own time.
    #[cold]
    pub fn advance(&mut self, to: u64, port: &mut impl Port) {
        loop {
            let (at, due) = self.earliest();
            if at > to {
                self.check_at = at;
                return;
            }
            match due {
                Due::Stop => {
                    self.available = self.available.min(self.max);
                    self.app.stop();
                    self.finished = true;
                    self.app_at = u64::MAX;
                }
                Due::App => self.on_app(at, port),
                Due::Rto => self.on_rto(at, port),
                Due::Pace => {
                    self.pace_at = u64::MAX;
                    self.send(at, port);
                }
            }
        }
    }

    fn earliest(&self) -> (u64, Due) {
        let timers = [
            (self.app.stops_at(), Due::Stop),
            (self.app_at, Due::App),
            (self.rto_at, Due::Rto),
            (self.pace_at, Due::Pace),
        ];
        timers.into_iter().min().expect("four timers")
    }

    fn on_app(&mut self, now: u64, port: &mut impl Port) {
        self.app_at = u64::MAX;
        if self.established {
            self.note_application_limit();
            self.app.resume(now);
            self.on_written(now);
            if self.una == self.max {
                self.restart_after_idle(now);
            }
            self.send(now, port);
        } else {
            self.begin(now, port);
        }
    }

    /// Sending resumes with nothing in flight: what the idle time does to the window.
    pub(super) fn restart_after_idle(&mut self, now: u64) {
        self.rto.set_fine(false);
        let idle = now - self.last_sent_at;
        self.slow_after_timeout = false;
        if self.elsewhere > 0 {
            // The window is not this connection's alone: whoever keeps it knows whether it was idle.
            return;
        }
        let entry = Entry {
            now: Nanos(now),
            rtt: Nanos(self.rto.srtt()),
            window: self.chain.control.cwnd,
            receive_window: self.offered(),
            plan: self.plan,
            ..Entry::default()
        };
        if self.chain.is_standalone() {
            return self.chain.on_idle(entry);
        }
        if idle <= self.rto.timeout() || self.stack.idle_restart == IdleRestart::Keep {
            return;
        }
        // Where the first phase rules idle times, the restart window is what it falls back on.
        if self.linux && !self.chain.resumes() {
            self.shrink_after_idle(idle);
        } else if self.stack.idle_restart == IdleRestart::Validate {
            self.decay_after_idle(now, idle);
        } else {
            // RFC 5681 section 4.1: "a TCP SHOULD set cwnd to no more than RW before beginning transmission if the
            // TCP has not sent data in an interval exceeding the retransmission timeout."
            let restart_window = u64::from(self.stack.initial_window) * self.mss;
            self.chain.control.cwnd = self.chain.control.cwnd.min(restart_window);
        }
        self.chain.on_idle(entry);
        self.resumed = self.una;
        self.rto.set_fine(self.chain.control.provisional);
    }

    /// What the receiver has room for beyond the last ACK, bytes.
    pub(super) fn offered(&self) -> u64 {
        u64::from(self.stack.receive_window.at(self.una)).saturating_mul(self.mss)
    }

    /// Restarts the retransmission timer, or stops it where nothing is outstanding (RFC 6298 section 5).
    #[inline(always)]
    pub(crate) fn restart_rto(&mut self, now: u64) {
        if self.una == self.max {
            self.rto_at = u64::MAX;
            return;
        }
        self.rto_at = now + self.rto.timeout();
        self.check_at = self.check_at.min(self.rto_at);
    }

    fn on_rto(&mut self, now: u64, port: &mut impl Port) {
        if self.linux && self.established {
            return self.on_rack_timer(now, port);
        }
        if self.rto.is_fine() && !self.chain.control.provisional {
            // What it was fine for has been acknowledged: it is due when the usual timer would be.
            let started_at = now - self.rto.timeout();
            self.rto.set_fine(false);
            self.rto_at = started_at + self.rto.timeout();
            return;
        }
        self.stats.timeouts += 1;
        let repeated = self.rto.backed_off();
        // A guess of which some has got through is given up, and nothing more.
        if !self.chain.control.provisional || self.una == self.resumed {
            self.rto.back_off();
        }
        if !self.established {
            if self.opening {
                self.fall_back();
            }
            // What asks for something may be what routers dropped: RFC 4782 sends the repeat without a request.
            return self.send_syn(now, (0, 0), port);
        }
        self.start_over(now, repeated, port);
    }

    /// Slow start from the cumulative ACK.
    pub(crate) fn start_over(&mut self, now: u64, repeated: bool, port: &mut impl Port) {
        self.collapse(now, repeated);
        self.after_timeout = true;
        self.rto.set_fine(false);
        self.restart_rto(now);
        self.send(now, port);
    }

    /// After a timeout: one segment, and everything outstanding counts as lost.
    fn collapse(&mut self, now: u64, repeated: bool) {
        self.inflation = 0;
        self.slow_after_timeout = true;
        // RFC 5681 section 3.1: after a second timeout of the same segment "ssthresh is held constant".
        if repeated && !self.stack.ns2 {
            self.chain.lose_window(Nanos(now));
        } else {
            self.report_timeout(now);
        }
        // Everything outstanding is presumed lost once; a repeated timeout adds only its own retransmission.
        let presumed =
            if self.repair == Repair::Loss { 1 } else { self.max - self.una - self.board.sacked() };
        self.lost += u64::from(presumed);
        self.recover = self.max;
        self.nxt = self.una;
        self.timed = u32::MAX;
        self.board.clear(self.una);
        self.repair = Repair::Loss;
        // ns-2's Tahoe goes on counting: duplicates still on their way release nothing.
        if !(self.stack.ns2 && self.stack.recovery == Recovery::Tahoe) {
            self.dup_acks = 0;
        }
        self.orderly = false;
    }
}
