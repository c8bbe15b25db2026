//! quinn's `NewReno` for `firstflight conform --stack`, in the controller protocol of docs/conform.md.
//!
//!     cargo build --release --package firstflight-quic --example quinn_newreno
//!     firstflight conform quinn-newreno --vectors vectors --stack target/release/examples/quinn_newreno

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use firstflight_contract::Nanos;
use firstflight_quic::transfer::virtual_time::{Direction, Network, transfers};
use firstflight_quic::transfer::{Credentials, Settings};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, NewReno, NewRenoConfig};
use serde_json::{Value, json};

/// A controller that keeps the estimator of its connection: quinn-proto lets nobody else make one.
#[derive(Clone)]
struct Keeper(Arc<Mutex<Option<RttEstimator>>>);

impl ControllerFactory for Keeper {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

impl Controller for Keeper {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        *self.0.lock().expect("one thread") = Some(*rtt);
    }
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        12_000
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        12_000
    }
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
        self
    }
}

/// Ten milliseconds each way, without a limit.
struct Wire;

impl Network for Wire {
    fn send(&mut self, now: Nanos, _: Direction, _: u32) -> Option<(Nanos, bool)> {
        Some((now + Nanos::from_millis(10), false))
    }
}

/// Number of a line's key; 0 if the key has none.
fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "quinn's instants have no other origin; only differences count"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kept = Keeper(Arc::default());
    let controller = Arc::new(kept.clone());
    let settings =
        Settings { controller, datagram: 1200, discovers: false, receive_window: 1 << 20, seed: 1 };
    transfers(&settings, &Credentials::new()?, &mut Wire, &[1000])?;
    // `NewReno` takes the estimator and does not read it.
    let rtt = kept.0.lock().expect("one thread").take().ok_or("the transfer had no ACK")?;
    // The controller begins with the first packet, as in the recordings: quinn then ignores the ACK of that packet.
    let begin = Instant::now();
    let at = |us: &Value| begin + Duration::from_nanos((number(us) * 1e3) as u64);
    let mut reno = NewReno::new(Arc::new(NewRenoConfig::default()), begin, 1200);
    for line in std::io::stdin().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let now = at(&line["at_us"]);
        let packets = |key: &str| line[key].as_array().cloned().unwrap_or_default();
        match line["do"].as_str() {
            Some("start") => {
                let mut config = NewRenoConfig::default();
                config.initial_window(number(&line["initial_window"]) as u64);
                reno = NewReno::new(Arc::new(config), begin, number(&line["mss"]) as u16);
            }
            Some("ack") => {
                let limited = line["app_limited"] == true;
                for packet in packets("acked") {
                    reno.on_ack(now, at(&packet[2]), number(&packet[1]) as u64, limited, &rtt);
                }
                let lost = packets("lost");
                if let Some(newest) = lost.last() {
                    let bytes = lost.iter().map(|packet| number(&packet[1]) as u64).sum();
                    let persistent = line["persistent_congestion"] == true;
                    reno.on_congestion_event(now, at(&newest[2]), persistent, bytes);
                }
            }
            _ => {}
        }
        let over = reno.metrics().ssthresh.is_some_and(|threshold| threshold < u64::MAX);
        println!(
            "{}",
            json!({"protocol": 1, "name": "quinn-proto, NewReno", "cwnd": reno.window(), "over": over})
        );
        std::io::stdout().flush()?;
    }
    Ok(())
}
