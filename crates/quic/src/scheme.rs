//! A scheme that quinn can run.

use std::sync::Arc;
use std::time::Instant;

use firstflight_contract::{Plan, Signals};
use firstflight_host::chain::Chain;
use firstflight_scenario::scheme::BUILT_IN;
use firstflight_scenario::{Profile, SchemeSpec};
use firstflight_schemes::registry::AnyPhase;
use quinn_proto::congestion::{Controller, ControllerFactory};
use thiserror::Error;

use crate::connection::{Beginning, Connection};
use crate::controller::Controlled;
use crate::log::Log;

/// RFC 9002 section 7.2: an initial window of ten datagrams.
const INITIAL_WINDOW: u64 = 10;

/// Signals that quinn offers to a scheme.
pub const OFFERED: Signals =
    Signals::RTT.union(Signals::RATE).union(Signals::SENT).union(Signals::HANDSHAKE).union(Signals::PLAN);

/// Reason why quinn cannot run a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The text names no scheme.
    #[error("{0}")]
    NoScheme(String),
    /// The scheme needs a signal that quinn does not offer.
    #[error("{scheme} cannot run over quinn: it needs {}; {}", .needs.join(" and "), .why)]
    Needs {
        /// Label of the scheme.
        scheme: String,
        /// Names of the signals.
        needs: Vec<&'static str>,
        /// The limit of quinn.
        why: &'static str,
    },
}

/// A chain of schemes for quinn's `TransportConfig::congestion_controller_factory`.
#[derive(Clone, Debug)]
pub struct Scheme {
    label: String,
    phases: Vec<AnyPhase>,
    initial_window: Option<u64>,
    ssthresh: u64,
    plan: Plan,
    log: Option<Log>,
}

impl Scheme {
    /// The scheme with this label: start-up schemes and an avoidance scheme, joined by `+`, such as `hystart+++cubic`. An avoidance
    /// scheme alone is quinn's own of this name: `cubic` is `slow-start+cubic`.
    ///
    /// # Errors
    /// [`Refusal`] if the text names no scheme, or quinn lacks a signal that the scheme needs.
    pub fn named(label: &str) -> Result<Self, Refusal> {
        let spec = SchemeSpec::parse_on(label, BUILT_IN, Profile::Quinn)
            .map_err(|error| Refusal::NoScheme(error.to_string()))?;
        Self::of(spec.build())
    }

    /// A chain of these phases, which may be schemes of your own.
    ///
    /// # Errors
    /// [`Refusal`] if the phases do not make a chain, or quinn lacks a signal that one needs.
    pub fn of(phases: Vec<AnyPhase>) -> Result<Self, Refusal> {
        let chain = Chain::new(phases.clone()).map_err(|error| Refusal::NoScheme(error.to_string()))?;
        let label = chain.label();
        let missing = chain.needs().without(OFFERED);
        if missing != Signals::NONE {
            let why = if missing.has(Signals::PACING) {
                "quinn paces at 1.25 windows a round trip and takes no rate"
            } else if missing.has(Signals::START_OVER) {
                "quinn does not retransmit before its own loss detection does"
            } else if missing.has(Signals::LOSSES) {
                "quinn reports the losses of an ACK together"
            } else if missing.has(Signals::SHARED_WINDOW) {
                "quinn gives each connection its own window"
            } else {
                "routers do not write into QUIC packets"
            };
            return Err(Refusal::Needs { scheme: label, needs: missing.names().collect(), why });
        }
        let (initial_window, plan, log) = (None, Plan::default(), None);
        Ok(Self { label, phases, initial_window, ssthresh: u64::MAX, plan, log })
    }

    /// The label: `hystart+++cubic`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The phases, as [`Log::replay`] takes them.
    pub fn phases(&self) -> &[AnyPhase] {
        &self.phases
    }

    /// Connections begin with `bytes` in flight; without this call, with ten datagrams.
    #[must_use]
    pub fn initial_window(mut self, bytes: u64) -> Self {
        self.initial_window = Some(bytes);
        self
    }

    /// Connections begin with a slow-start threshold of `bytes`; without this call, with none.
    #[must_use]
    pub fn initial_ssthresh(mut self, bytes: u64) -> Self {
        self.ssthresh = bytes;
        self
    }

    /// Connections begin with this plan, made from earlier connections to the same destination. Schemes that follow no plan
    /// ignore it.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// Every event of every connection is recorded in `log`.
    #[must_use]
    pub fn recording(mut self, log: &Log) -> Self {
        self.log = Some(log.clone());
        self
    }
}

impl ControllerFactory for Scheme {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mss = u32::from(current_mtu);
        let initial_window = self.initial_window.unwrap_or(INITIAL_WINDOW * u64::from(mss));
        let beginning = Beginning { initial_window, ssthresh: self.ssthresh, plan: self.plan };
        let log = self.log.as_ref().map(|log| log.open(now));
        let connection = Connection::new(self.phases.clone(), beginning, mss, log);
        Box::new(Controlled { connection, opened: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_that_paces_is_refused_by_name() {
        let refusal = Scheme::named("jump-start+reno").unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "jump-start+reno cannot run over quinn: it needs pacing; quinn paces at 1.25 windows a round trip and takes \
             no rate"
        );
        for label in
            ["bbr", "bbr3", "c4", "quick-start+reno", "fast-start+reno", "congestion-manager+reno", "xcp"]
        {
            assert!(matches!(Scheme::named(label), Err(Refusal::Needs { .. })), "{label}");
        }
    }

    #[test]
    fn a_text_that_names_no_scheme_is_refused_with_the_nearest_name() {
        let refusal = Scheme::named("hystart++cubic").unwrap_err();
        assert!(matches!(refusal, Refusal::NoScheme(_)), "{refusal}");
        assert!(refusal.to_string().contains("hystart"), "{refusal}");
    }

    #[test]
    fn schemes_that_need_no_rate_are_taken() {
        for startup in
            ["slow-start", "hystart++", "hybrid-slow-start", "adaptive-start", "hoe", "liss", "averaged"]
        {
            for avoidance in ["reno", "cubic", "westwood", "vegas"] {
                let label = format!("{startup}+{avoidance}");
                assert_eq!(Scheme::named(&label).unwrap().label(), label);
            }
        }
    }
}
