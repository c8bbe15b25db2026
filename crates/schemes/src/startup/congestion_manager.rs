//! Congestion Manager: H. Balakrishnan, S. Seshan, "The Congestion Manager", RFC 3124.
//!
//! All connections to a destination share one congestion window, so a new connection neither starts from the initial
//! window nor adds load to the network. The host shares the registers and divides the window among the connections; the
//! scheme is slow start on the shared window.

use crate::scheme;
use firstflight_contract::{Ack, Congestion, Control, Entry, Phase, Role, Signals, Step, slow_start};

/// Slow start on a shared window.
#[derive(Clone, Debug, Default)]
pub struct CongestionManager;

scheme! {
    impl Scheme for CongestionManager {
        label: "congestion-manager",
        role: Role::Startup,
        source: "RFC 3124",
        summary: "slow start on one window that all connections to a destination share",
        needs: Signals::SHARED_WINDOW,
    }
}

impl Phase for CongestionManager {
    fn enter(&mut self, _: &Entry, _: &mut Control) {}

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}
