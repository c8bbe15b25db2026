//! Risks that a capture cannot exclude: events too rare to be seen in it, which would delay a further transfer.
//!
//! Such an event stands beside the range of a further transfer with its probability, and does not widen it.

use firstflight_results::Risk;
use firstflight_scenario::{Candidate, Network};

use crate::halt::Halt;
use crate::path::Subject;
use crate::replication::Replication;
use firstflight_quantile::type_7;

/// Probability below which a risk is not worth a word.
const WORTH_SAYING: f64 = 0.005;

/// Probability from which on an event is within the range of a further transfer, which ends at its 95 % quantile.
const WITHIN: f64 = 0.05;

/// Runs in which a transfer may meet the event.
const RUNS: u32 = 10;

/// Mean number of lost packets in each run: most runs with a loss then have one.
const LOSSES: f64 = 0.5;

/// The risk of a random packet loss; `None` if the capture shows losses, if it is too rare or within the range, or if no run met one.
///
/// # Errors
/// If the host refuses a run.
pub(super) fn random_loss(
    subject: &Subject<'_>,
    scheme: &Candidate,
    size: u64,
) -> Result<Option<Risk>, Halt> {
    let Some(explanation) = subject.explanation().filter(|_| subject.shows_no_loss()) else {
        return Ok(None);
    };
    let packets = size.div_ceil(subject.payload().into()) as f64;
    let probability = explanation.random_loss(packets);
    if !(WORTH_SAYING..WITHIN).contains(&probability) {
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
