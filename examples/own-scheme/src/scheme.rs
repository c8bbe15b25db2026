//! Delay-bounded slow start: slow start that ends when queueing delay reaches a share of the propagation delay.
//!
//! A scheme of this example, from no paper. It shows the parts of a scheme: declaration, parameters, state, rule.

use firstflight::scheme::{
    Ack, Congestion, Control, Entry, Exit, Phase, Role, Signals, Step, scheme, slow_start,
};

/// Slow start with a bound on queueing delay.
#[derive(Clone, Debug, Default)]
pub struct DelayBounded {
    parameters: Parameters,
}

scheme! {
    impl Scheme for DelayBounded {
        label: "delay-bounded",
        role: Role::Startup,
        source: "an example of Firstflight's documentation",
        summary: "slow start until the queueing delay reaches a share of the propagation delay",
        needs: Signals::RTT,
    }

    pub struct Parameters {
        /// Queueing delay that ends slow start, percent of the smallest RTT.
        bound: u64 in 1..=1000 = 25,
    }
}

impl Phase for DelayBounded {
    fn enter(&mut self, _: &Entry, _: &mut Control) {}

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // Queueing delay = RTT - smallest RTT. Zero RTT: this ACK has no sample.
        let queueing = ack.rtt.saturating_sub(ack.min_rtt);
        if 100 * queueing.0 > self.parameters.bound * ack.min_rtt.0 {
            // Below the threshold a connection is in slow start, whichever phase is in force.
            control.ssthresh = control.cwnd;
            return Step::Exit(Exit::Delay);
        }
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        // Start-up is over; the next phase reduces the window.
        Step::Exit(event.trigger.into())
    }
}
