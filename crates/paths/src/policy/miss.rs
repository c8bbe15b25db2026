//! More Informed Slow Start: I. Yu, R. Newman, "TCP slow start with fair share of bandwidth", Computer Networks 55 (2011),
//! section 4, equation (5), and its refinements of section 6.

use firstflight_contract::{Nanos, Plan};
use firstflight_schemes::scheme::Value;

use super::fair::Fair;
use crate::settings::{Bursts, Drops, Settings};
use crate::{Cluster, Transfer};

/// The threshold is that of [`Liss`](super::Liss); the first window is what may be added before the next drop is due.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Miss {
    /// How drops are counted and averaged.
    pub drops: Drops,
    /// What stands for the number of connections that grow.
    pub growth: Growth,
    /// Section 6: where the next drop is due within an RTT, only what fits in that time, in that time.
    pub short_burst: bool,
}

/// What stands for the number of connections that share the bottleneck and grow at the same rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Growth {
    /// `gamma / tau`: how many times more often the cluster drops than its oldest connection.
    #[default]
    Intervals,
    /// `L + S/w_o` of equation (2) (section 6).
    Windows,
}

impl Miss {
    pub(super) fn set(&mut self, name: &str, value: Value) -> bool {
        match (name, value) {
            ("lambda", Value::Number(weight)) => self.drops.lambda = weight,
            ("theta", Value::Number(weight)) => self.drops.theta = weight,
            ("bursts", Value::Choice(0)) => self.drops.bursts = Bursts::Connection,
            ("bursts", Value::Choice(1)) => self.drops.bursts = Bursts::Cluster,
            ("growth", Value::Choice(0)) => self.growth = Growth::Intervals,
            ("growth", Value::Choice(1)) => self.growth = Growth::Windows,
            ("short_burst", Value::Flag(on)) => self.short_burst = on,
            _ => return false,
        }
        true
    }

    pub(super) fn settings(&self) -> Settings {
        Settings { drops: Some(self.drops), ..Settings::default() }
    }

    pub(super) fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
        let Some(fair) = Fair::of(cluster, |oldest| oldest.cwnd) else { return Plan::default() };
        let plan = fair.plan(transfer);
        self.first_window(cluster, transfer, &fair, plan).unwrap_or(plan)
    }

    /// [`None`] where equation (5) has no value: fewer than two drops, no RTT, or the next drop overdue.
    fn first_window(
        &self,
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
        let connections = match self.growth {
            Growth::Intervals => gamma()? / tau,
            Growth::Windows => fair.connections(),
        };
        // (5): gamma_m (tau_l - (t_c - t_l)) / (tau_l R), in packets.
        let mut cwnd = connections * left / r * f64::from(transfer.mss);
        let mut over = plan.rtt;
        if self.short_burst && left < r {
            // Section 6: "(tau_l - (t_c - t_l))/R cwnd packets in tau_l - (t_c - t_l)".
            cwnd *= left / r;
            over = Nanos(left as u64);
        }
        let cwnd = (cwnd as u64).max(transfer.mss.into());
        // "to be conservative when cwnd > ssthresh, we set the ssthresh value to cwnd"
        Some(Plan { cwnd, ssthresh: plan.ssthresh.max(cwnd), rtt: over, ..plan })
    }
}
