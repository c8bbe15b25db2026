//! A start-up scheme that panics, for the test that a connection survives it.

use firstflight_contract::{Ack, Congestion, Control, Declaration, Entry, Phase, Role, Step, slow_start};

/// Slow start that panics at its twentieth ACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panicking {
    left: u64,
}

impl Panicking {
    pub(crate) const DECLARATION: Declaration = Declaration::new("panicking", Role::Startup);
}

impl Phase for Panicking {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.left = 20;
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.left -= 1;
        // A division by zero at the twentieth.
        let _ = core::hint::black_box(ack.now.0 / self.left);
        slow_start(ack, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}
