//! The sender's own clock: retransmission, pacing, application. Each fires at its own time, in order.

use super::Port;
use super::connection::{Connection, SenderKind};
use super::stack::IdleRestart;
use firstflight_contract::{Entry, Nanos};

/// The timers of a sender, in the order in which equal times fire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Stop,
    App,
    Rto,
    Pace,
}

impl<K> Connection<K>
where
    Self: SenderKind,
{
    /// Fires every timer due up to `to`, each at its own time.
    #[cold]
    pub(super) fn advance(&mut self, to: u64, port: &mut impl Port) {
        loop {
            let (at, due) = self.earliest();
            self.note_window();
            if at > to {
                self.check_at = at;
                return;
            }
            match due {
                Due::Stop => {
                    self.available = self.available.min(self.max);
                    self.app.stop();
                    self.finished_at = at;
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
            self.on_write();
            let sent = self.max;
            self.app.resume(now, sent);
            self.on_written(now);
            if self.una == self.max {
                self.restart_after_idle(now);
            }
            self.send(now, port);
        } else {
            self.begin(now, port);
        }
    }

    /// Sending resumes with nothing in flight, after an idle time that may have shrunk the window.
    pub(super) fn restart_after_idle(&mut self, now: u64) {
        self.rto.set_fine(false);
        // A connection that has sent nothing has not been idle.
        let idle = self.last_sent_at.elapsed(Nanos(now)).unwrap_or_default().0;
        if !self.resume() {
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
        self.shrink_after_idle(now, idle);
        self.chain.on_idle(entry);
        let provisional = self.chain.control.provisional;
        self.rto.set_fine(provisional);
    }

    /// RFC 5681 section 4.1: "a TCP SHOULD set cwnd to no more than RW before beginning transmission if the TCP has not
    /// sent data in an interval exceeding the retransmission timeout."
    pub(super) fn shrink_to_restart_window(&mut self) {
        let restart_window = u64::from(self.stack.initial_window) * u64::from(self.stack.mss);
        self.chain.control.cwnd = self.chain.control.cwnd.min(restart_window);
    }

    fn on_rto(&mut self, now: u64, port: &mut impl Port) {
        if self.established {
            return self.on_retransmission_timer(now, port);
        }
        self.stats.timeouts += 1;
        self.rto.back_off();
        if self.opening {
            self.fall_back();
        }
        // A router may drop packets with a request: RFC 4782 sends the repeated SYN without one.
        self.send_syn(now, (0, 0), port);
    }
}
