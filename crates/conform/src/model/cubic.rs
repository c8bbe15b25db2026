//! picoquic's CUBIC.

use firstflight_contract::Nanos;
use firstflight_schemes::standalone::cubic_picoquic::CubicPicoquic;

use super::{Model, Replay, Replayed};
use crate::vector::{Event, Vector};

impl Model for CubicPicoquic {
    const SEES_HANDSHAKE: bool = false;
    const COUNTS_RANGES: bool = false;

    fn state(&self) -> &'static str {
        if self.in_slow_start() { "slow_start" } else { "congestion_avoidance" }
    }

    /// picoquic asks when the sender last had nothing to send, which no column has. In slow start the window shows it: the window grows or
    /// stays. On the curve the download of a recording always has more to send.
    fn window_limited(&self, event: &Event) -> Option<bool> {
        let grew = event.cwnd_before.is_some_and(|before| event.answer.cwnd >= before + event.acked);
        Some(event.window_limited == Some(true) || grew || !self.in_slow_start())
    }

    /// CUBIC takes no sample. The peak rate is a value of picoquic's transport, which begins to measure in the handshake: where the window
    /// jumps in slow start, it jumps to half of the peak's product with the smoothed RTT, and grows by what was acknowledged.
    fn sample(&mut self, event: &Event, computed: u64) -> u64 {
        let (cwnd, srtt) = (event.answer.cwnd, (event.srtt.0 / 1000).max(1));
        let before = event.cwnd_before.unwrap_or(cwnd);
        if self.in_slow_start() && cwnd > before + event.acked {
            self.raise_peak((2 * (cwnd - event.acked) * 1_000_000).div_ceil(srtt));
        }
        computed
    }
}

pub(super) fn run(vector: &Vector) -> Result<Replayed, String> {
    let known = vector.events.first().map_or(Nanos::ZERO, |event| event.min_rtt);
    let mut replayed = Replay::new(CubicPicoquic::default(), known).run(vector)?;
    replayed.model.taken.push("peak rate: where the window jumps in slow start".to_owned());
    replayed.model.taken.push("RTT of the handshake: the smallest RTT of the first row".to_owned());
    Ok(replayed)
}
