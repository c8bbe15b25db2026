//! Risks that a capture cannot exclude: events too rare to be seen in it, which would delay a further transfer.
//!
//! Such an event stands beside the range of a further transfer with its probability, and does not widen it.

use firstflight_results::Risk;
use firstflight_scenario::{Candidate, Network};

use crate::halt::Halt;
use crate::path::Subject;
use crate::replication::Replication;
use firstflight_quantile::type_7;

/// Minimum probability of a packet loss on the wire: IEEE 802.3 aims at one bit error in 10^12, which damages one packet
/// of 1500 bytes in 10^8.
const LEAST_LOSS: f64 = 1.2e-8;

/// Probability below which a risk is not worth a word.
const WORTH_SAYING: f64 = 0.005;

/// Runs in which a transfer may meet the event.
const RUNS: u32 = 10;

/// Mean number of lost packets in each run: most runs with a loss then have one.
const LOSSES: f64 = 0.5;

/// The risk of a random packet loss; `None` if the capture shows losses, if it is too rare, or if no run met one.
///
/// # Errors
/// If the host refuses a run.
pub(super) fn random_loss(
    subject: &Subject<'_>,
    scheme: &Candidate,
    size: u64,
) -> Result<Option<Risk>, Halt> {
    let Some(seen) = subject.packets_without_loss() else { return Ok(None) };
    let packets = size.div_ceil(subject.payload().into()) as f64;
    let probability = probability(seen, packets);
    if probability < WORTH_SAYING {
        return Ok(None);
    }
    let mut met = vec![];
    for index in 0..RUNS {
        let of = Replication { index, of: RUNS, seed: subject.base().seed };
        let mut scenario = subject.scenario_of(scheme, size, of);
        let Network::Graph(graph) = &mut scenario.network else { return Ok(None) };
        graph.links[0].loss = (LOSSES / packets).min(0.5);
        let run = subject.run_scenario(&scenario, of, &subject.observe())?;
        let flow = &run.result.flows[0];
        met.extend(flow.completion_s.filter(|_| flow.lost_packets > 0));
    }
    met.sort_by(f64::total_cmp);
    let what = "a random packet loss";
    Ok((!met.is_empty()).then(|| Risk { what: what.into(), probability, completion_s: type_7(&met, 0.5) }))
}

/// Probability of at least one loss among `packets`, after none among `seen`, if the loss probability p had the density
/// 1/p from [`LEAST_LOSS`] on: the integral of e^(-seen p) (1 - e^(-packets p)) / p over that of e^(-seen p) / p. The first
/// is ln(1 + packets / seen) for small [`LEAST_LOSS`], the second the exponential integral E1(seen [`LEAST_LOSS`]), which
/// for small arguments is -0.5772 - ln x.
fn probability(seen: f64, packets: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let all = -EULER - libm::log(seen * LEAST_LOSS);
    (libm::log(1.0 + packets / seen) / all).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_two_thousand_packets_without_a_loss_one_transfer_in_fourteen_of_as_many_meets_one() {
        // ln 2 / (-0.5772 - ln(2.4e-5)) = 0.6931 / (10.6375 - 0.5772) = 0.0689 = 1 / 14.5.
        let chance = probability(2000.0, 2000.0);
        assert!((1.0 / chance - 14.5).abs() < 0.05, "1 in {}", 1.0 / chance);
        // A tenth as many: ln 1.1 / 10.0603 = 0.00947.
        assert!((probability(2000.0, 200.0) - 0.009_474).abs() < 1e-5);
    }
}
