//! One transfer over the path of a network, as the stack starts it and as the gateway does, in the simulator.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_gateway::Start;
use firstflight_hosts::progress::{Progress, Silent};
use firstflight_hosts::run::{RunOptions, run};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::Harm;
use firstflight_scenario::build::{Flow, Path};
use firstflight_scenario::{Error, Scenario};

use super::paths::Measured;
use crate::{Request, compare};

/// Stack of the simulated server: Linux with cubic.
const STARTUP: &str = "hystart-linux";
const AVOIDANCE: &str = "cubic";
/// The clients: Linux with the receive buffer that it has by default, and the first window that it then offers.
const RECEIVER: &str = "tuned-buffer";
const FIRST_OFFER: &str = "64240 B";
/// Payload of a full segment on a path of a log, bytes.
pub const MSS: u32 = 1448;
/// Headers of a segment, bytes.
pub const HEADERS: u32 = 52;
/// Segments below which each size is simulated by itself.
const EXACT: u64 = 256;
/// Larger sizes are rounded to a part of their power of two: two to the power of this are in one.
const FINE: u32 = 4;

/// A simulated transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) completion: Nanos,
    /// Greatest delivery within a round trip, segments.
    pub(super) burst: u64,
    pub(super) sent: u32,
    pub(super) retransmits: u32,
    pub(super) timeouts: u32,
    pub(super) first_window_lost: u32,
    pub(super) exit: Option<u32>,
    pub(super) window: u32,
}

/// Transfers that were simulated, each once.
pub(super) struct Simulations<'a> {
    pub(super) buffer: &'a str,
    pub(super) known: BTreeMap<(u64, Nanos, u64, u32, Option<u32>), Transfer>,
}

impl Simulations<'_> {
    pub(super) fn transfer(&mut self, path: &Measured, bytes: u64, start: Start) -> Result<Transfer, Error> {
        let bytes = rounded(bytes, path.mss);
        let key = (path.rate, path.rtt, bytes, start.arm.window(), start.pace);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let transfer = simulate(path, self.buffer, bytes, start)?;
        self.known.insert(key, transfer);
        Ok(transfer)
    }
}

/// The size that is simulated in place of this one: the same below 256 segments, else within 4 %, so that many requests share a
/// simulation.
pub(super) fn rounded(bytes: u64, mss: u32) -> u64 {
    let segments = bytes.div_ceil(mss.into());
    if segments < EXACT {
        return bytes;
    }
    let step = 1 << (segments.ilog2() - FINE);
    (segments + step / 2) / step * step * u64::from(mss)
}

/// The path of a network, with one flow of these bytes.
fn scenario(path: &Measured, buffer: &str, bytes: u64, start: Start) -> Result<Scenario, Error> {
    // Rates count payload.
    let rate = 8.0 * path.rate as f64 * f64::from(path.mss + HEADERS) / f64::from(path.mss);
    let rtt_s = path.rtt.0 as f64 / 1e9;
    let links = Path::new(format!("{rate:.0} bit/s"), format!("{:.6} ms", rtt_s * 1e3), buffer);
    let mut flow = Flow::new().size(format!("{bytes} B")).text("profile", Some("linux"));
    flow = flow.text("startup", Some(STARTUP)).text("avoidance", Some(AVOIDANCE));
    flow = flow.text("receiver", Some(RECEIVER)).text("initial_receive_window", Some(FIRST_OFFER));
    flow = flow.text("initial_window", Some(&format!("{} packets", start.arm.window())));
    if start.arm.is_larger() {
        flow = flow.paced(true);
    }
    if let Some(pace) = start.pace {
        flow = flow.initial_pace(format!("{pace} packets"));
    }
    Scenario::builder().path(links).flow(flow).build()
}

fn simulate(path: &Measured, buffer: &str, bytes: u64, start: Start) -> Result<Transfer, Error> {
    let rtt_s = path.rtt.0 as f64 / 1e9;
    let scenario = scenario(path, buffer, bytes, start)?;
    let options = RunOptions { grid: path.rtt.max(Nanos(1)), ..RunOptions::default() };
    let result = run(&Simulator, &scenario.into(), &options, &Silent)?.result;
    let flow = &result.flows[0];
    let Some(completion) = flow.completion_s else {
        return Err(Error::invalid(format!("a transfer of {bytes} bytes did not end in the simulation")));
    };
    let steps = flow.delivered_at.iter().map(|(_, packets)| *packets);
    let burst = steps.clone().zip(steps.skip(1)).map(|(before, after)| after - before).max().unwrap_or(0);
    let first = flow.delivered_at.first().map_or(flow.delivered_packets, |(_, packets)| *packets);
    let exit = flow.startup_exit.as_ref();
    Ok(Transfer {
        completion: Nanos((completion * 1e9) as u64),
        burst: burst.max(first),
        sent: (flow.delivered_packets + flow.retransmits) as u32,
        retransmits: flow.retransmits as u32,
        timeouts: flow.timeouts as u32,
        // The loss of a first window is seen one to two round trips after the start, any other one later.
        first_window_lost: exit
            .filter(|exit| exit.time_s < 2.0 * rtt_s)
            .map_or(0, |exit| exit.lost_before_exit_packets.min(flow.retransmits) as u32),
        exit: exit.map(|exit| exit.cwnd_packets as u32),
        window: flow.final_cwnd_packets as u32,
    })
}

/// Harm of a transfer with this first window and its pace, as a comparison measures it.
pub(super) fn harm(
    path: &Measured,
    buffer: &str,
    bytes: u64,
    (window, pace): (u32, Option<u32>),
    progress: &dyn Progress,
) -> Result<Option<Harm>, Error> {
    let pace = pace.map_or(String::new(), |pace| format!("={pace}"));
    let chain = format!("{STARTUP}+{AVOIDANCE}@iw{window}+paced{pace}");
    let mut request = Request::of(scenario(path, buffer, bytes, Start::STOCK)?).schemes([chain])?;
    request.sizes = vec![bytes];
    let report = compare(&Simulator, &request, progress)?;
    Ok(report.comparison.results.first().and_then(|result| result.harm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_gateway::Arm;

    fn planned(window: u32, pace: Option<u32>) -> Start {
        Start { arm: Arm::Planned(window), pace }
    }

    #[test]
    fn a_window_that_fits_the_path_saves_a_round_trip_of_a_short_transfer() {
        // 8 Mbit/s of packets of 1500 bytes, 50 ms: 33 packets. 30 KB are 21 segments: 10 and 11, or 21 at once.
        let path = Measured { rate: 1_000_000 * 1448 / 1500, rtt: Nanos::from_millis(50), mss: 1448 };
        let [stock, planned] = [Start::STOCK, planned(34, None)]
            .map(|start| simulate(&path, "1 BDP", 30_000, start).expect("it runs"));
        // Two round trips and the 11 packets' time on the link, 1.5 ms each; one and 21 packets', paced over half of one.
        let seconds = |transfer: &Transfer| transfer.completion.0 as f64 / 1e9;
        assert!((seconds(&stock) - 0.1165).abs() < 0.003, "{stock:?}");
        assert!((seconds(&planned) - 0.0815).abs() < 0.006, "{planned:?}");
        assert_eq!((stock.retransmits, planned.retransmits), (0, 0));
    }

    #[test]
    fn transfers_lose_what_they_lose_on_the_kernel() {
        // nginx and curl over 8 Mbit/s, 50 ms and a queue of 20 packets on Linux 6.18: bytes with the headers of HTTP, the start, segments
        // retransmitted by nearly all downloads, and the median of their busy time. `make gateway-demo` measured those without a pace
        // when its plans had none.
        let path = Measured { rate: 1_000_000 * 1448 / 1500, rtt: Nanos::from_millis(50), mss: 1448 };
        for (bytes, start, retransmits, seconds) in [
            (30_237, Start::STOCK, 0, 0.120),
            (30_237, planned(33, None), 0, 0.080),
            (30_237, planned(33, Some(33)), 0, 0.082),
            (100_239, Start::STOCK, 0, 0.212),
            (100_239, planned(33, None), 1, 0.156),
            (100_239, planned(33, Some(33)), 0, 0.157),
            (300_239, Start::STOCK, 7, 0.420),
            (300_239, planned(33, Some(33)), 0, 0.369),
        ] {
            let transfer = simulate(&path, "20 packets", bytes, start).expect("it runs");
            assert_eq!(transfer.retransmits, retransmits, "{bytes} {start:?}");
            let time = transfer.completion.0 as f64 / 1e9;
            assert!((time / seconds - 1.0).abs() < 0.03, "{bytes} {start:?}: {time}");
        }
    }

    #[test]
    fn a_size_is_simulated_within_three_per_cent_and_a_small_one_exactly() {
        for bytes in [1, 1448, 30_000, 255 * 1448] {
            assert_eq!(rounded(bytes, 1448), bytes);
        }
        // 2^20 bytes are 725 segments: 32 segments are a sixteenth of 512, and 23 of them are nearest.
        assert_eq!(rounded(1 << 20, 1448), 23 * 32 * 1448);
        let worst = (1..20_000_u64).map(|i| {
            let bytes = i * 100_003;
            (rounded(bytes, 1448) as f64 / bytes as f64 - 1.0).abs()
        });
        assert!(worst.fold(0.0, f64::max) < 0.04);
    }
}
