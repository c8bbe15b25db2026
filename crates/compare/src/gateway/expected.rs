//! The effect that a plan of the gateway is expected to have.

use firstflight_document::quantity::parse_bytes;
use firstflight_hosts::progress::Progress;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::SchemeResult;
use firstflight_scenario::build::{Flow, Path};
use firstflight_scenario::{Error, Scenario};
use serde::Serialize;

use crate::{Request, compare};

/// Sizes of transfers, those that a first window decides.
const SIZES: [&str; 3] = ["30 KB", "100 KB", "300 KB"];
/// Depths of the queue at the bottleneck, which is not learned, bandwidth-delay products.
const BUFFERS: [f64; 3] = [0.25, 1.0, 2.0];
/// The scheme of Linux's BBR.
pub const BBR: &str = "bbr";
/// Payload bytes of a full segment.
const MSS: f64 = 1448.0;

/// Expected effect on transfers of one size.
#[derive(Debug, Serialize)]
pub struct Expected {
    /// Size as a quantity.
    pub size: &'static str,
    /// Share of the completion time that is saved: least and most over the queues that were tried.
    pub sooner: [f64; 2],
    /// Retransmitted segments a transfer more than without the plan: least and most.
    pub more_retransmits: [f64; 2],
}

/// Simulates transfers of this stack with and without the plan on the learned path, whose delivery is `segments` in a round-trip time
/// of `rtt_ms`. The plan is a first window of `window` segments, and `pace` of them in a round-trip time.
///
/// # Errors
/// If the simulator refuses the path.
pub fn expected(
    stack: &str,
    window: u64,
    pace: Option<u64>,
    (segments, rtt_ms): (f64, f64),
    progress: &dyn Progress,
) -> Result<Vec<Expected>, Error> {
    let rate = segments * MSS * 8.0 / (rtt_ms / 1e3);
    let mut expected = SIZES.map(|size| Expected {
        size,
        sooner: [f64::INFINITY, f64::NEG_INFINITY],
        more_retransmits: [f64::INFINITY, f64::NEG_INFINITY],
    });
    for buffer in BUFFERS {
        let path = Path::new(format!("{rate:.0} bit/s"), format!("{rtt_ms:.3} ms"), format!("{buffer} BDP"));
        let flow = Flow::new().size("30 KB").text("profile", Some("linux"));
        let scenario = Scenario::builder().path(path).flow(flow).build()?;
        let pace = pace.map_or(String::new(), |pace| format!("={pace}"));
        // BBR paces itself, whatever the plan.
        let paced = if stack == BBR { String::new() } else { format!("+paced{pace}") };
        let planned = format!("{stack}@iw{window}{paced}");
        let mut request = Request::of(scenario).schemes([stack, &planned])?;
        request.sizes = SIZES.iter().map(|size| parse_bytes(size)).collect::<Result<_, _>>()?;
        request.harm = false;
        let report = compare(&Simulator, &request, progress)?;
        let results = &report.comparison.results;
        for (row, size) in expected.iter_mut().zip(sizes(results)) {
            let of = |planned: bool| {
                let mut rows = results.iter().filter(|row| row.size_bytes == size);
                rows.find(|row| row.initial_window_packets.is_some() == planned)
            };
            let (Some(stock), Some(with)) = (of(false), of(true)) else { continue };
            let (Some(before), Some(after)) = (&stock.completion_s, &with.completion_s) else { continue };
            let widen =
                |range: &mut [f64; 2], value: f64| *range = [range[0].min(value), range[1].max(value)];
            widen(&mut row.sooner, 1.0 - after.median / before.median);
            widen(&mut row.more_retransmits, with.retransmits_mean - stock.retransmits_mean);
        }
    }
    Ok(expected.into_iter().filter(|row| row.sooner[0].is_finite()).collect())
}

/// The sizes of a comparison, ascending.
fn sizes(results: &[SchemeResult]) -> Vec<u64> {
    let mut sizes: Vec<_> = results.iter().map(|row| row.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
