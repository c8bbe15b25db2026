//! VCP router: Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005,
//! sections 3 and 4 ("the paper").
//!
//! The router measures the load of its link and writes it into two bits of each packet: low load, high load
//! or overload.

use crate::arrival::Arrival;
use firstflight_contract::{Load, Rate};

/// Nanoseconds. `t_rho`: the period over which load is measured, longer than most RTTs.
const SPAN: u64 = 200_000_000;
/// Nanoseconds. `t_q`: the sampling period of the queue.
const SAMPLE: u64 = 10_000_000;
/// Weight of the old average against a new queue sample.
const KEPT: f64 = 0.875;
/// Spans after which an old average no longer counts: of their 1000 samples it keeps a share of 0.875^1000 = 1e-58.
const REMEMBERED: u64 = 50;
/// `kappa_q`: share of the standing queue that counts as load.
const QUEUE_SHARE: f64 = 0.5;
/// Load factors at which high load and overload begin.
const HIGH: f64 = 0.8;
const OVER: f64 = 1.0;

/// Parameters of a VCP router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcpConfig {
    /// Target utilisation of the link (`gamma_l`).
    pub target: f64,
}

impl Default for VcpConfig {
    fn default() -> Self {
        Self { target: 0.98 }
    }
}

/// State of a VCP router.
#[derive(Clone, Debug)]
pub struct Vcp {
    /// Link rate, bytes per nanosecond, and the bytes that a span can carry at the target utilisation.
    bytes_per_ns: f64,
    full: f64,
    /// Number of the current span, and bytes arrived in it.
    span: u64,
    arrived: u64,
    /// Number of the next sample, and the smoothed queue, bytes.
    sample: u64,
    queue: f64,
    load: Load,
}

impl Vcp {
    /// Creates a router in front of an idle link of this rate.
    pub fn new(config: VcpConfig, rate: Rate) -> Self {
        let bytes_per_ns = rate.0 as f64 / 8e9;
        let full = config.target * bytes_per_ns * SPAN as f64;
        Self { bytes_per_ns, full, span: 0, arrived: 0, sample: 1, queue: 0.0, load: Load::Low }
    }

    /// Counts an arriving packet, even if it is dropped.
    pub(super) fn watch(&mut self, arrival: &Arrival) {
        let current = arrival.now / SPAN;
        if current - self.span > REMEMBERED {
            // A silence of years costs no more than one of seconds.
            self.span = current - REMEMBERED;
            (self.sample, self.arrived) = (self.span * (SPAN / SAMPLE) + 1, 0);
        }
        while self.sample * SAMPLE <= arrival.now {
            let left = (arrival.free_at).saturating_sub(self.sample * SAMPLE);
            self.queue = KEPT * self.queue + (1.0 - KEPT) * left as f64 * self.bytes_per_ns;
            if self.sample * SAMPLE == (self.span + 1) * SPAN {
                self.end_span();
            }
            self.sample += 1;
        }
        self.arrived += u64::from(arrival.size);
    }

    /// The paper's equation (1): rho = (lambda + kappa_q q) / (gamma_l C t_rho).
    fn end_span(&mut self) {
        let load = (self.arrived as f64 + QUEUE_SHARE * self.queue) / self.full;
        self.load = match load {
            x if x < HIGH => Load::Low,
            x if x < OVER => Load::High,
            _ => Load::Over,
        };
        self.arrived = 0;
        self.span += 1;
    }

    /// Writes the higher of this router's load and the load already in the packet.
    pub(super) fn answer(&self, load: &mut Load) {
        *load = self.load.max(*load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Load that a router of 8 Mbit/s, a million bytes per second, reports after a span with this many bytes
    /// and a constant queue, bytes.
    fn load_after(bytes: u32, queue: u64) -> Load {
        let mut router = Vcp::new(VcpConfig::default(), Rate(8_000_000));
        for i in 0..200_u64 {
            let now = i * MS;
            let arrival = Arrival {
                now,
                // One byte takes one microsecond.
                free_at: now + queue * 1000,
                waiting_packets: 0,
                waiting_bytes: 0,
                size: bytes / 200,
                ecn_capable: false,
            };
            router.watch(&arrival);
        }
        let mut load = Load::Low;
        let end = Arrival {
            now: 200 * MS,
            free_at: 199 * MS + queue * 1000,
            waiting_packets: 0,
            waiting_bytes: 0,
            size: 0,
            ecn_capable: false,
        };
        router.watch(&end);
        router.answer(&mut load);
        load
    }

    #[test]
    fn the_load_of_a_span_is_reported_in_three_steps() {
        // 0.98 of 200 000 bytes is 196 000; 0.8 of that is 156 800.
        assert_eq!(load_after(156_600, 0), Load::Low);
        assert_eq!(load_after(157_000, 0), Load::High);
        assert_eq!(load_after(195_800, 0), Load::High);
        assert_eq!(load_after(196_200, 0), Load::Over);
    }

    #[test]
    fn half_of_the_standing_queue_counts_as_load() {
        // Twenty samples of 20 000 bytes from an empty queue: (1 - 0.875^20) * 20 000 = 18 616, half of which
        // is 9308. 186 600 + 9308 is below 196 000 and 187 000 + 9308 above. The last samples lie up to 1 ms
        // after an arrival.
        assert_eq!(load_after(186_000, 20_000), Load::High);
        assert_eq!(load_after(188_000, 20_000), Load::Over);
    }

    #[test]
    fn a_silence_of_any_length_leaves_the_state_of_its_last_spans() {
        // A queue that empties before, during and after the last ten seconds of a silence of a minute.
        for free_at in [1, 49, 51, 55, 59, 60, 70].map(|seconds| seconds * 1000 * MS) {
            let config = VcpConfig::default();
            let [mut silent, mut steady] =
                [Vcp::new(config, Rate(8_000_000)), Vcp::new(config, Rate(8_000_000))];
            let arrival = |now: u64, size: u32| Arrival {
                now,
                free_at,
                waiting_packets: 0,
                waiting_bytes: 0,
                size,
                ecn_capable: false,
            };
            for router in [&mut silent, &mut steady] {
                router.watch(&arrival(0, 500_000));
            }
            // Arrivals of no bytes keep the other router from skipping anything.
            (1..60_000).step_by(7).for_each(|ms| steady.watch(&arrival(ms * MS, 0)));
            for router in [&mut silent, &mut steady] {
                router.watch(&arrival(60_000 * MS, 1000));
            }
            let state = |router: &Vcp| (router.span, router.sample, router.arrived, router.load);
            assert_eq!(state(&silent), state(&steady), "{free_at}");
            let apart = (silent.queue - steady.queue).abs();
            assert!(apart <= 1e-9 * steady.queue.max(1.0), "{} {}", silent.queue, steady.queue);
        }
    }

    /// Such a silence had 10^10 samples.
    #[test]
    fn a_silence_of_the_longest_run_is_passed_at_once() {
        let mut router = Vcp::new(VcpConfig::default(), Rate(8_000_000));
        let now = 100_000_000_000 * MS;
        let arrival =
            Arrival { now, free_at: now, waiting_packets: 0, waiting_bytes: 0, size: 1, ecn_capable: false };
        router.watch(&arrival);
        assert_eq!((router.span, router.arrived, router.load), (now / SPAN, 1, Load::Low));
    }

    #[test]
    fn a_router_never_lowers_the_load_of_earlier_routers() {
        let router = Vcp::new(VcpConfig::default(), Rate(8_000_000));
        let mut load = Load::Over;
        router.answer(&mut load);
        assert_eq!(load, Load::Over);
    }

    #[test]
    fn the_load_is_low_after_a_silence() {
        let mut router = Vcp::new(VcpConfig::default(), Rate(8_000_000));
        let mut arrival = Arrival {
            now: 0,
            free_at: 0,
            waiting_packets: 0,
            waiting_bytes: 0,
            size: 500_000,
            ecn_capable: false,
        };
        router.watch(&arrival);
        for (ms, expected) in [(200, Load::Over), (10_000, Load::Low)] {
            (arrival.now, arrival.free_at) = (ms * MS, 1);
            router.watch(&arrival);
            let mut load = Load::Unknown;
            router.answer(&mut load);
            assert_eq!(load, expected, "{ms} ms");
        }
    }
}
