//! Paced Start (PaSt): N. Hu, P. Steenkiste, "Improving TCP Startup Performance using Active Measurements: Algorithm
//! and Evaluation", ICNP 2003, as described by its abstract and by Yu and Newman (section 2).
//!
//! Each window of slow start is a train of evenly spaced packets. Each train has twice as many packets as the one
//! before, at half the spacing, until the ACKs of a train are further apart than its packets were: that train was
//! faster than the path. The rate of its ACKs is the rate of the path, and that rate times the round-trip time is the
//! window.

use crate::scheme;
use crate::scheme::Fixed;
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Exit, Nanos, Phase, Rate, Role, Signals, Step, Trigger, Why,
    compare_products, mul_div, slow_start,
};

/// Both are kept in 2^-16.
const ONE: u64 = 1 << 16;
/// Bytes; no train is larger.
const MAX_TRAIN: u64 = 1 << 40;

/// An ACK of the train, with the sending time of its newest packet.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    sent_at: Nanos,
    delivered: u64,
}

/// A train in flight.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// Size, bytes.
    size: u64,
    /// Bytes delivered in total when the last packet of the train is acknowledged.
    end: u64,
    first: Option<Arrival>,
    last: Option<Arrival>,
    /// Largest number of bytes that one ACK delivered.
    per_ack: u64,
    /// Whether the application or the receiver limited the train, so that its gaps do not count.
    limited: bool,
}

/// Stage of the connection.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Standard slow start.
    #[default]
    SlowStart,
    /// A train is in flight.
    Probing(Train),
    /// The window found leaves evenly spaced.
    Found,
    /// Packets of this train were lost.
    Recovering(Train, Trigger),
}

/// Trains of packets, each twice as fast as the one before.
#[derive(Clone, Debug, Default)]
pub struct Past {
    parameters: Parameters,
    state: State,
}

scheme! {
    impl Scheme for Past {
        label: "past",
        role: Role::Startup,
        source: "Hu and Steenkiste, ICNP 2003; Yu and Newman, section 2",
        summary: "paced trains, each twice as fast, until the ACKs of one are further apart than its packets",
        needs: Signals::PACING.union(Signals::RTT),
    }

    pub struct Parameters {
        // Part of a round trip over which a train leaves. The next train waits for the last ACK of the one before, so
        // a train and its ACKs take this much more than a round trip.
        /// part of a round trip over which a train leaves
        spread: Fixed<ONE> in 0.05..=1.0 = 0.5,
        /// relative excess of the ACKs' gaps over the packets' gaps that ends the probing
        tolerance: Fixed<ONE> in 0.01..=1.0 = 0.1,
    }
}

impl Train {
    fn new(size: u64, delivered: u64) -> Self {
        let end = delivered.saturating_add(size);
        Self { size, end, first: None, last: None, per_ack: 0, limited: false }
    }

    fn note(&mut self, ack: &Ack) {
        self.limited |= ack.is(Ack::APP_LIMITED);
        // An ACK for fewer bytes than others comes from the receiver's delayed-ACK timer.
        if ack.rtt > Nanos::ZERO && ack.acked >= self.per_ack {
            self.per_ack = ack.acked;
            let sent_at = ack.now.saturating_sub(ack.rtt);
            self.last = Some(Arrival { at: ack.now, sent_at, delivered: ack.delivered });
            self.first = self.first.or(self.last);
        }
    }

    /// The rate of the ACKs, if they were further apart than the packets.
    fn slowed(&self, tolerance: u64) -> Option<Rate> {
        let (Some(first), Some(last), false) = (self.first, self.last, self.limited) else { return None };
        // Packets and ACKs have the same number of gaps, so their sums compare as their means do. A train that left as
        // a burst does not count: its ACKs are further apart on every path.
        let input = last.sent_at.saturating_sub(first.sent_at);
        let output = last.at.saturating_sub(first.at);
        let slower =
            input > Nanos::ZERO && compare_products((output.0, ONE), (input.0, ONE + tolerance)).is_gt();
        slower.then(|| Rate::of(last.delivered - first.delivered, output))
    }
}

impl Past {
    /// Sends the next train, of about `size` bytes.
    fn begin(&mut self, size: u64, delivered: u64, rtt: Nanos, control: &mut Control, mss: u64) {
        // Only whole segments leave.
        let size = (size.min(MAX_TRAIN) / mss).max(1) * mss;
        control.cwnd = size;
        if rtt > Nanos::ZERO {
            control.pace(size, Nanos(mul_div(rtt.0, self.parameters.spread.0, ONE)), mss);
        }
        self.state = State::Probing(Train::new(size, delivered));
    }

    /// The whole train is acknowledged.
    fn judge(&mut self, train: &Train, ack: &Ack, control: &mut Control) -> Step {
        let (window, reason) = match train.slowed(self.parameters.tolerance.0) {
            Some(rate) => (rate.bytes_in(ack.min_rtt), Exit::Delivery),
            None if train.size >= control.ssthresh => (control.ssthresh, Exit::Threshold),
            None => {
                let next = if train.limited { train.size } else { 2 * train.size };
                self.begin(next.min(control.ssthresh), ack.delivered, ack.min_rtt, control, ack.mss.into());
                return Step::Stay;
            }
        };
        control.cwnd = window.clamp(2 * u64::from(ack.mss), MAX_TRAIN);
        control.ssthresh = control.cwnd;
        control.pace(control.cwnd, ack.min_rtt, u64::from(ack.mss));
        self.state = State::Found;
        Step::Over(reason)
    }
}

impl Phase for Past {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        control.stop_pacing();
        self.state = State::SlowStart;
        if entry.why == Why::Connect {
            self.begin(control.cwnd, 0, entry.rtt, control, entry.mss.into());
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        match &mut self.state {
            State::SlowStart => slow_start(ack, control),
            State::Probing(train) => {
                // The window is the rest of the train, so that no packet follows it.
                control.cwnd = control.cwnd.saturating_sub(ack.acked).max(u64::from(ack.mss));
                train.note(ack);
                if ack.delivered < train.end || ack.growth == 0 {
                    return Step::Stay;
                }
                let train = *train;
                self.judge(&train, ack, control)
            }
            State::Found => {
                // A round trip after the first of the window, the last of it has left.
                control.stop_pacing();
                Step::Exit(Exit::Delivery)
            }
            State::Recovering(_, trigger) => Step::Exit((*trigger).into()),
        }
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        control.stop_pacing();
        match self.state {
            State::Probing(train) if event.trigger != Trigger::Timeout => {
                // RFC 5681 equation (4) for the whole train: only its rest is in flight.
                control.ssthresh = (train.size / 2).max(2 * u64::from(event.mss));
                control.cwnd = control.cwnd.min(control.ssthresh);
                self.state = State::Recovering(train, event.trigger);
                Step::Over(event.trigger.into())
            }
            _ => {
                self.state = State::SlowStart;
                Step::Exit(event.trigger.into())
            }
        }
    }

    fn on_spurious(&mut self) {
        if let State::Recovering(train, _) = self.state {
            // The rest of the train does not leave evenly spaced.
            self.state = State::Probing(Train { limited: true, ..train });
        }
    }
}

#[cfg(test)]
mod tests;
