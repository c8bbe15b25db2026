//! A VCP router: Y. Xia, L. Subramanian, I. Stoica, S. Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005, sections 3
//! and 4 ("the paper").
//!
//! It measures how loaded its link is and says so in two bits: there is room, there is little room, there is too much.

use crate::queue::Arrival;
use firstflight_contract::{Load, Rate};

/// Nanoseconds. `t_rho`: the load is measured over this, above most RTTs.
const SPAN: u64 = 200_000_000;
/// Nanoseconds. `t_q`: the queue is sampled so often.
const SAMPLE: u64 = 10_000_000;
/// Weight of what was known of the queue beside a new sample.
const KEPT: f64 = 0.875;
/// `kappa_q`: how much of the standing queue counts as load.
const QUEUE_SHARE: f64 = 0.5;
/// Load factors at which there is little room, and too much.
const HIGH: f64 = 0.8;
const OVER: f64 = 1.0;

/// Parameters of a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcpConfig {
    /// Share of the link that is to be used (`gamma_l`).
    pub target: f64,
}

impl Default for VcpConfig {
    fn default() -> Self {
        Self { target: 0.98 }
    }
}

/// What a VCP router knows.
#[derive(Clone, Debug)]
pub struct Vcp {
    /// Bytes of the link in a nanosecond, and what a span is to carry.
    bytes_per_ns: f64,
    full: f64,
    /// The number of the current span, and what arrived in it, bytes.
    span: u64,
    arrived: u64,
    /// The number of the next sample, and the smoothed queue, bytes.
    sample: u64,
    queue: f64,
    load: Load,
}

impl Vcp {
    /// A router in front of an idle link of this rate.
    pub fn new(config: VcpConfig, rate: Rate) -> Self {
        let bytes_per_ns = rate.0 as f64 / 8e9;
        let full = config.target * bytes_per_ns * SPAN as f64;
        Self { bytes_per_ns, full, span: 0, arrived: 0, sample: 1, queue: 0.0, load: Load::Low }
    }

    /// A packet arrives, whatever becomes of it.
    pub(super) fn watch(&mut self, arrival: &Arrival) {
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

    /// The more loaded of this router and those before it is what counts.
    pub(super) fn answer(&self, load: &mut Load) {
        *load = self.load.max(*load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// What a router of 8 Mbit/s, a million bytes a second, says after a span of so many bytes and with a queue so long,
    /// bytes, all the time.
    fn says(bytes: u32, queue: u64) -> Load {
        let mut router = Vcp::new(VcpConfig::default(), Rate(8_000_000));
        for i in 0..200_u64 {
            let now = i * MS;
            let arrival = Arrival {
                now,
                // A byte takes a microsecond.
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
    fn the_load_of_a_span_is_said_in_three_steps() {
        // 0.98 of 200 000 bytes are 196 000: 0.8 of that are 156 800.
        assert_eq!(says(156_600, 0), Load::Low);
        assert_eq!(says(157_000, 0), Load::High);
        assert_eq!(says(195_800, 0), Load::High);
        assert_eq!(says(196_200, 0), Load::Over);
    }

    #[test]
    fn half_of_the_standing_queue_counts_as_load() {
        // Twenty samples of 20 000 bytes from an empty queue: (1 - 0.875^20) * 20 000 = 18 616, of which half is 9308:
        // 186 600 + 9308 are below 196 000 and 187 000 + 9308 above it. The last samples lie up to 1 ms after an arrival.
        assert_eq!(says(186_000, 20_000), Load::High);
        assert_eq!(says(188_000, 20_000), Load::Over);
    }

    #[test]
    fn a_router_says_no_less_than_those_before_it() {
        let router = Vcp::new(VcpConfig::default(), Rate(8_000_000));
        let mut load = Load::Over;
        router.answer(&mut load);
        assert_eq!(load, Load::Over);
    }

    #[test]
    fn after_a_silence_there_is_room() {
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
