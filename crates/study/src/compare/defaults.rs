//! The comparison that is made unless something else is asked for.

use firstflight_contract::{Role, Signals};
use firstflight_scenario::{Profile, SchemeSpec};
use firstflight_schemes::registry::AnyPhase;

use super::Input;
use crate::host::Host;

/// Start-up schemes, and a standalone scheme.
pub const DEFAULT_STARTUPS: [&str; 8] = [
    "slow-start",
    "limited-slow-start",
    "hystart++",
    "hystart-linux",
    "hybrid-slow-start",
    "adaptive-start",
    "jump-start",
    "bbr",
];
/// The avoidance scheme that follows a start-up scheme.
pub const DEFAULT_AVOIDANCE: &str = "cubic";
/// Transfer sizes, bytes.
pub const DEFAULT_SIZES: [u64; 3] = [30_000, 300_000, 3_000_000];
/// Replications, where the path is random or not known exactly.
pub const DEFAULT_REPLICATIONS: u32 = 30;

/// Labels of the default start-up schemes that can run on `input`: a scheme that needs a signal that the flow or the host
/// lacks is left out.
pub fn default_startups(input: &Input, profile: Profile, host: &dyn Host) -> Vec<&'static str> {
    let flow = match input {
        Input::Scenario(loaded) => loaded.scenario.flows.first(),
        _ => None,
    };
    let without = |set: Signals, signal: Signals| Signals(set.0 & !signal.0);
    let mut offered = host.offers();
    if !flow.map_or(profile.stack().handshake, |flow| flow.handshake) {
        offered = without(offered, Signals::HANDSHAKE);
    }
    if flow.map_or(profile, |flow| flow.profile) != Profile::Linux {
        offered = without(offered, Signals::RATE);
    }
    let runs = |label: &str| AnyPhase::by_label(label).is_some_and(|phase| offered.has(phase.info().needs));
    DEFAULT_STARTUPS.into_iter().filter(|label| runs(label)).collect()
}

/// The [default start-up schemes](default_startups), each followed by [`DEFAULT_AVOIDANCE`] unless it rules the whole
/// connection.
pub fn default_schemes(input: &Input, profile: Profile, host: &dyn Host) -> Vec<SchemeSpec> {
    let chain = |label: &str| {
        let standalone = AnyPhase::by_label(label).is_some_and(|phase| phase.info().role == Role::Standalone);
        let chain = if standalone { label.to_owned() } else { format!("{label}+{DEFAULT_AVOIDANCE}") };
        SchemeSpec::parse(&chain).expect("default schemes make chains")
    };
    default_startups(input, profile, host).into_iter().map(chain).collect()
}
