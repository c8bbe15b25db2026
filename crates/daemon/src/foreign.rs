//! Programs and settings of others: the gateway yields to them, and says so.

use std::fs;

use firstflight_contract::Nanos;
use serde_json::{Value, json};

use crate::clock::Steps;
use crate::engine::Engine;

/// Settings of the gateway's network namespace that change how connections start. They hold for connections with and without a plan.
const SETTINGS: [&str; 2] = ["tcp_congestion_control", "tcp_slow_start_after_idle"];

/// Acts of others.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// Connections whose callbacks another program took, and plans that were not used for another first window.
    taken: u64,
    windows: u64,
    /// End of the time without plans.
    pub(crate) until: Option<Nanos>,
    clock: Steps,
    /// Values of [`SETTINGS`].
    settings: Vec<Option<String>>,
}

impl Engine<'_> {
    /// Uses no plan while another program takes the callbacks of connections, because their losses are then not measured.
    pub(crate) fn yield_to_others(&mut self, now: Nanos) {
        let (taken, windows) = match self.kernel.yields() {
            Ok(found) => found,
            Err(why) => return self.note(Err(why)),
        };
        let more = taken > self.foreign.taken;
        (self.foreign.taken, self.foreign.windows) = (taken, windows);
        let (before, hold) = (self.foreign.until, self.gateway.settings().hold_down);
        self.foreign.until = if more { Some(now + hold) } else { before.filter(|until| now < *until) };
        match (before, self.foreign.until) {
            (None, Some(_)) => {
                let why = "another program takes the callbacks by which connections are measured: the gateway yields, and uses no plan";
                self.note(Err(why.to_owned()));
                let halted = self.halt();
                self.note(halted);
            }
            (Some(_), None) => {
                self.note(Err("no other program takes callbacks any more: plans are used again".to_owned()));
                let halted = self.halt();
                self.note(halted);
            }
            _ => {}
        }
        let read = |key: &&str| {
            fs::read_to_string(format!("/proc/sys/net/ipv4/{key}")).ok().map(|text| text.trim().to_owned())
        };
        let settings: Vec<_> = SETTINGS.iter().map(read).collect();
        for ((key, was), is) in SETTINGS.iter().zip(&self.foreign.settings).zip(&settings) {
            if let (Some(was), Some(is)) = (was, is)
                && was != is
            {
                (self.troubles.say)(&format!(
                    "another program set net.ipv4.{key} from {was} to {is}: connections with and without a plan follow it"
                ));
            }
        }
        self.foreign.settings = settings;
    }

    /// Notes a step of the wall clock. Plans, leases and samples follow the time since boot, which takes no step.
    pub(crate) fn note_clock(&mut self, now: Nanos) {
        let Some(step) = self.foreign.clock.look() else { return };
        let way = if step > 0.0 { "forward" } else { "back" };
        let text = format!(
            "the wall clock was set {way} by {:.0} s: ages of snapshots and of other gateways' records follow it, plans and leases do not",
            step.abs()
        );
        (self.troubles.say)(&text);
        let written =
            self.logs.line(&json!({ "at_ns": now.0, "clock_step_s": step, "text": text }).to_string());
        self.note(written);
    }

    /// The part of `status` for them.
    pub(crate) fn foreign_status(&self) -> Value {
        json!({
            "yielding": self.foreign.until.is_some(),
            "callbacks_taken": self.foreign.taken,
            "other_first_windows": self.foreign.windows,
        })
    }
}
