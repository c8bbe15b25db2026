//! TCP Fast Start: V. Padmanabhan, R. Katz, "TCP Fast Start: A Technique For Speeding Up Web Transfers", IEEE Globecom
//! Internet Mini-Conference 1998.
//!
//! After an idle time a connection resumes with a reduced copy of its previous window. Every segment but the first is
//! marked as droppable, so that routers drop these segments before other traffic, and leaves in small bursts clocked by
//! a timer. If the segments are lost, the sender starts over as if fast start had not been attempted.

use crate::scheme;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Sent, Signals, Step, Trigger, Why,
    slow_start,
};

/// State of the remembered window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum State {
    /// The remembered window is not in use: slow start.
    #[default]
    SlowStart,
    /// The remembered window leaves in bursts; no ACK has arrived.
    Bursts,
    /// ACKs clock the sender again; part of the window is still unacknowledged.
    Clocked,
}

/// The remembered window, droppable and in bursts, after an idle time.
#[derive(Clone, Debug, Default)]
pub struct FastStart {
    parameters: Parameters,
    state: State,
    /// Window before the idle time, and window in use since, bytes.
    remembered: u64,
    window: u64,
    /// Bytes sent and delivered since sending resumed.
    sent: u64,
    delivered: u64,
    /// Segments left of the burst.
    burst_left: u64,
    /// A burst each round trip over the number of bursts in the window, as a rate of one segment for each of them.
    burst_rate: Rate,
}

scheme! {
    impl Scheme for FastStart {
        label: "fast-start",
        role: Role::Startup,
        source: "Padmanabhan and Katz, Globecom Internet Mini-Conference 1998; ns-2 tcp-fs.cc",
        summary: "slow start; after idle the previous window, droppable and in bursts",
        needs: Signals::PACING.union(Signals::SENT).union(Signals::START_OVER),
        resumes: true,
    }

    pub struct Parameters {
        /// largest burst before the first ACK
        max_burst: u64 = 4 packets,
    }
}

impl FastStart {
    fn leave(&mut self, control: &mut Control) {
        self.state = State::SlowStart;
        control.pacing = Rate::NONE;
        control.droppable = false;
        control.provisional = false;
    }

    /// In slow start, half of the window is known to have been delivered; in avoidance, all but the last segment.
    fn safe_window(&self, control: &Control, mss: u64) -> u64 {
        let window = if self.remembered < control.ssthresh {
            self.remembered / 2
        } else {
            self.remembered.saturating_sub(mss)
        };
        (window / mss * mss).max(mss)
    }
}

impl Phase for FastStart {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.leave(control);
        self.remembered = entry.window;
        // Slow start also begins with one segment, and without an RTT there is no timer.
        if entry.why != Why::Idle || entry.window <= u64::from(entry.mss) || entry.rtt == Nanos::ZERO {
            return;
        }
        self.window = self.safe_window(control, entry.mss.into());
        control.cwnd = self.window;
        (self.sent, self.delivered, self.burst_left) = (0, 0, self.parameters.max_burst);
        // Bursts of maxburst every SRTT * maxburst / window.
        let offered = if entry.receive_window == 0 { u64::MAX } else { entry.receive_window };
        let interval = Nanos(entry.rtt.0.saturating_mul(self.parameters.max_burst));
        self.burst_rate = Rate::of(self.window.min(offered), interval).max(Rate(1));
        control.pacing = self.burst_rate;
        control.provisional = true;
        self.state = State::Bursts;
    }

    fn on_sent(&mut self, &Sent { bytes, .. }: &Sent, control: &mut Control) {
        if self.state == State::SlowStart {
            return;
        }
        self.sent += bytes;
        // Slow start would also send the first segment; only the other segments of the window are speculative.
        control.droppable = self.sent < self.window;
        if self.state == State::Bursts {
            // The first segment of a burst schedules the next burst; the other segments follow it at once.
            self.burst_left -= 1;
            control.pacing = Rate::NONE;
            if self.burst_left == 0 {
                self.burst_left = self.parameters.max_burst;
                control.pacing = self.burst_rate;
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if self.state == State::SlowStart {
            return slow_start(ack, control);
        }
        self.state = State::Clocked;
        control.pacing = Rate::NONE;
        self.delivered += ack.acked;
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        if control.cwnd < control.ssthresh {
            let _ = slow_start(ack, control);
        }
        if self.delivered < self.window {
            return Step::Stay;
        }
        self.leave(control);
        Step::Exit(Exit::Validated)
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        let in_doubt = self.state != State::SlowStart;
        let provisional = in_doubt && self.delivered > 0;
        match event.trigger {
            // A single lost segment is recovered as usual; a second loss in the same recovery shows in a partial ACK.
            Trigger::Loss | Trigger::Mark if in_doubt => {
                self.state = State::Clocked;
                control.pacing = Rate::NONE;
                control.droppable = false;
                // RFC 5681 equation (4).
                event.reduce_to(event.base / 2, control);
                Step::Over(event.trigger.into())
            }
            // The first segment arrived and others did not: start over, "almost as if a fast start had never been
            // attempted". The threshold stays; an infinite threshold becomes the window that is known to have been
            // delivered.
            Trigger::Timeout if provisional => {
                if control.ssthresh == u64::MAX {
                    control.ssthresh = self.remembered.max(2 * u64::from(event.mss));
                }
                self.leave(control);
                Step::Over(event.trigger.into())
            }
            _ => {
                self.leave(control);
                Step::Exit(event.trigger.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: Nanos = Nanos::from_millis(100);

    fn resumed(window: u64, ssthresh: u64) -> (FastStart, Control) {
        let mut phase = FastStart::default();
        // The host's rule has reduced the window to one segment.
        let mut control = Control { cwnd: MSS, ssthresh, ..Control::default() };
        let entry = Entry {
            rtt: RTT,
            window: window * MSS,
            receive_window: 1000 * MSS,
            mss: MSS as u32,
            why: Why::Idle,
            ..Entry::default()
        };
        phase.enter(&entry, &mut control);
        (phase, control)
    }

    fn ack(flags: u32) -> Ack {
        Ack { acked: MSS, growth: MSS, flags, mss: MSS as u32, ..Ack::default() }
    }

    fn congestion(trigger: Trigger) -> Congestion {
        Congestion { trigger, base: 18 * MSS, mss: MSS as u32, ..Congestion::default() }
    }

    #[test]
    fn half_the_window_of_slow_start_or_all_but_one_segment_of_avoidance_is_kept() {
        // ns-2: 33 in slow start gives 16; 20 at its threshold gives 19.
        for (before, ssthresh, window) in [(33, u64::MAX, 16), (20, 20 * MSS, 19), (3, u64::MAX, 1)] {
            assert_eq!(resumed(before, ssthresh).1.cwnd, window * MSS, "{before}");
        }
        // A window of one segment is not remembered.
        let (_, control) = resumed(1, u64::MAX);
        assert_eq!((control.cwnd, control.pacing, control.provisional), (MSS, Rate::NONE, false));
    }

    #[test]
    fn all_but_the_first_segment_of_the_window_are_droppable() {
        let (mut phase, mut control) = resumed(33, u64::MAX);
        let mut marked = vec![];
        for _ in 0..18 {
            marked.push(control.droppable);
            phase.on_sent(&Sent { now: Nanos::ZERO, bytes: MSS, mss: MSS as u32 }, &mut control);
        }
        let expected: Vec<bool> = (0..18).map(|n| (1..16).contains(&n)).collect();
        assert_eq!(marked, expected);
    }

    #[test]
    fn bursts_of_four_are_spread_over_the_round_trip_of_the_window() {
        // 16 in 100 ms: 4 each 25 ms. One segment at the rate in force takes as long as a whole burst; it is in force
        // for the first of each burst only.
        let (mut phase, mut control) = resumed(33, u64::MAX);
        let mut waits = vec![];
        for _ in 0..8 {
            waits.push(control.pacing != Rate::NONE);
            if control.pacing != Rate::NONE {
                assert_eq!(control.pacing.time_for(MSS), Nanos::from_millis(25));
            }
            phase.on_sent(&Sent { now: Nanos::ZERO, bytes: MSS, mss: MSS as u32 }, &mut control);
        }
        assert_eq!(waits, [true, false, false, false, true, false, false, false]);
        let _ = phase.on_ack(&ack(0), &mut control);
        assert_eq!(control.pacing, Rate::NONE, "ACKs are the clock");
    }

    #[test]
    fn it_ends_when_the_window_is_acknowledged() {
        let (mut phase, mut control) = resumed(33, u64::MAX);
        for n in 1..16 {
            assert_eq!(phase.on_ack(&ack(0), &mut control), Step::Stay);
            assert_eq!((control.cwnd, control.provisional), ((16 + n) * MSS, true), "slow start goes on");
        }
        assert_eq!(phase.on_ack(&ack(0), &mut control), Step::Exit(Exit::Validated));
        assert!(!control.provisional && !control.droppable);
    }

    #[test]
    fn one_loss_halves_the_window_and_a_second_starts_over_with_the_same_threshold() {
        let (mut phase, mut control) = resumed(33, u64::MAX);
        let _ = phase.on_ack(&ack(0), &mut control);
        assert_eq!(phase.on_congestion(&congestion(Trigger::Loss), &mut control), Step::Over(Exit::Loss));
        assert_eq!((control.cwnd, control.ssthresh), (9 * MSS, 9 * MSS));
        assert!(control.provisional && !control.droppable);
        assert_eq!(
            phase.on_congestion(&congestion(Trigger::Timeout), &mut control),
            Step::Over(Exit::Timeout)
        );
        assert_eq!((control.ssthresh, control.provisional), (9 * MSS, false));
        // Without a loss before, and with no threshold yet: the window that had worked.
        let (mut phase, mut control) = resumed(33, u64::MAX);
        let _ = phase.on_ack(&ack(0), &mut control);
        let _ = phase.on_congestion(&congestion(Trigger::Timeout), &mut control);
        assert_eq!(control.ssthresh, 33 * MSS);
    }

    #[test]
    fn a_lost_first_segment_is_a_timeout_like_any_other() {
        let (mut phase, mut control) = resumed(33, 40 * MSS);
        assert_eq!(
            phase.on_congestion(&congestion(Trigger::Timeout), &mut control),
            Step::Exit(Exit::Timeout)
        );
        assert_eq!((control.pacing, control.droppable, control.provisional), (Rate::NONE, false, false));
    }
}
