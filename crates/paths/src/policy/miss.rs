//! More Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 4, equation (5), and its refinements of section 6.

use firstflight_contract::{Nanos, Plan};
use firstflight_schemes::startup::miss::{Growth, Parameters};

use super::Rule;
use super::fair::Fair;
use crate::settings::Settings;
use crate::{Cluster, Transfer};

/// The threshold is that of LISS; the first window is the amount that may be added before the next drop is due.
impl Rule for Parameters {
    fn settings(&self) -> Settings {
        Settings { drops: Some(self.into()), ..Settings::default() }
    }

    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let Some(fair) = Fair::of(cluster, |oldest| oldest.cwnd) else { return Plan::default() };
        let plan = fair.plan(transfer);
        first_window(self, cluster, transfer, &fair, plan).unwrap_or(plan)
    }
}

/// [`None`] where equation (5) has no value: fewer than two drops, no RTT, or the next drop overdue.
fn first_window(
    parameters: &Parameters,
    cluster: &Cluster,
    transfer: &Transfer,
    fair: &Fair<'_>,
    plan: Plan,
) -> Option<Plan> {
    let r = plan.rtt.0 as f64;
    let tau = cluster.drops().mean()?;
    let gamma = || fair.oldest.drops.mean();
    // tau_l - (t_c - t_l): until the next drop is due.
    let left = tau - transfer.now.saturating_sub(cluster.drops().last()?).0 as f64;
    if left <= 0.0 || r <= 0.0 {
        return None;
    }
    let connections = match parameters.growth {
        Growth::Intervals => gamma()? / tau,
        Growth::Windows => fair.connections(),
    };
    // (5): gamma_m (tau_l - (t_c - t_l)) / (tau_l R), in packets.
    let mut cwnd = connections * left / r * f64::from(transfer.mss);
    let mut over = plan.rtt;
    if parameters.short_burst && left < r {
        // Section 6: "(tau_l - (t_c - t_l))/R cwnd packets in tau_l - (t_c - t_l)".
        cwnd *= left / r;
        over = Nanos(left as u64);
    }
    let cwnd = (cwnd as u64).max(transfer.mss.into());
    // "to be conservative when cwnd > ssthresh, we set the ssthresh value to cwnd"
    Some(Plan { cwnd, ssthresh: plan.ssthresh.max(cwnd), rtt: over, ..plan })
}
