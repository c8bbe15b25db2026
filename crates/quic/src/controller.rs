//! The connection as a controller of quinn: time and round-trip estimates are translated, nothing else.

use std::any::Any;
use std::time::{Duration, Instant};

use firstflight_contract::{Nanos, Rate};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};

use crate::connection::Connection;

/// quinn sends a packet only if one byte of the window is left behind it.
const STRICTLY_BELOW: u64 = 1;

/// A connection, and the time from which its clock counts.
#[derive(Clone, Debug)]
pub(crate) struct Controlled {
    pub(crate) connection: Connection,
    pub(crate) opened: Instant,
}

impl Controlled {
    /// Nanoseconds since the connection was opened, at least 1: zero means "not known" in the contract.
    fn at(&self, time: Instant) -> Nanos {
        Nanos(nanos(time.saturating_duration_since(self.opened)).0.saturating_add(1))
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl Controller for Controlled {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let now = self.at(now);
        self.connection.on_sent(now, bytes);
    }

    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        let sent_at = self.at(sent);
        self.connection.on_packet_acked(sent_at, bytes, app_limited, nanos(rtt.get()));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        let now = self.at(now);
        self.connection.on_ack_done(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let (now, sent_at) = (self.at(now), self.at(sent));
        self.connection.on_congestion(now, sent_at, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.connection.on_mtu(new_mtu.into());
    }

    fn window(&self) -> u64 {
        self.connection.window().saturating_add(STRICTLY_BELOW)
    }

    fn metrics(&self) -> ControllerMetrics {
        let control = self.connection.answer().control;
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.connection.window();
        metrics.ssthresh = (control.ssthresh != u64::MAX).then_some(control.ssthresh);
        metrics.pacing_rate = (control.pacing != Rate::NONE).then_some(control.pacing.0);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.connection.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
