//! The comparison that is made unless something else is asked for.

use firstflight_contract::{Role, Signals};
use firstflight_scenario::{Candidate, Network, Profile, SchemeSpec, Settings, Threshold};
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Info;

use crate::how::deployable;
use crate::input::Input;
use firstflight_hosts::host::Host;

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
/// Initial windows that are tried beside the stack's own, packets: from what content networks are known to use to what a
/// route can have today.
pub const DEFAULT_WINDOWS: [u64; 4] = [16, 20, 30, 60];
/// Send buffers that are tried where the stack's limits what is in flight, bytes.
pub(crate) const DEFAULT_BUFFERS: [u64; 2] = [256_000, 1_000_000];
/// Transfer sizes, bytes.
pub const DEFAULT_SIZES: [u64; 3] = [30_000, 300_000, 3_000_000];
/// Replications, where the path is random or not known exactly.
pub const DEFAULT_REPLICATIONS: u32 = 30;

/// Candidate paths of each kind with which the search for the paths that explain a capture begins.
pub const DEFAULT_CANDIDATES: u32 = 160;

/// Labels of the default start-up schemes that can run on `input`: a scheme that needs a signal that the flow or the host
/// lacks is left out.
pub fn default_startups(input: &Input, profile: Profile, host: &dyn Host) -> Vec<&'static str> {
    let (flow, profile) = (input.transfer(), input.profile(profile));
    let without = |set: Signals, signal: Signals| Signals(set.0 & !signal.0);
    let mut offered = host.offers();
    if !flow.map_or(profile.stack().handshake, |flow| flow.handshake) {
        offered = without(offered, Signals::HANDSHAKE);
    }
    let rules = &profile.stack().rules;
    if !rules.detects_by_time() {
        offered = without(offered, Signals::RATE);
    }
    if rules.datagrams.is_some() {
        offered = without(offered, Signals::PACING);
    }
    let runs = |label: &str| AnyPhase::by_label(label).is_some_and(|phase| offered.has(phase.info().needs));
    DEFAULT_STARTUPS.into_iter().filter(|label| runs(label)).collect()
}

/// The [default start-up schemes](default_startups), each followed by [`DEFAULT_AVOIDANCE`] unless it rules the whole
/// connection; then the stack's own scheme with settings that an operator can change. Those that the stack does not have are left
/// out if `only_deployable`.
pub fn default_candidates(
    input: &Input,
    profile: Profile,
    host: &dyn Host,
    only_deployable: bool,
) -> Vec<Candidate> {
    let profile = input.profile(profile);
    let chain = |label: &str| {
        let standalone = AnyPhase::by_label(label).is_some_and(|phase| phase.info().role == Role::Standalone);
        let chain = if standalone { label.to_owned() } else { format!("{label}+{DEFAULT_AVOIDANCE}") };
        SchemeSpec::parse(&chain).expect("default schemes make chains")
    };
    let schemes = default_startups(input, profile, host).into_iter().map(|label| chain(label).into());
    let schemes: Vec<Candidate> = schemes.collect();
    // That of a captured sender may be none of the others.
    let own = Candidate::from(input.present(profile));
    let own = (profile.stack().operated && !schemes.contains(&own)).then_some(own);
    let all = schemes.into_iter().chain(own).chain(settings_of_the_stack(input, profile));
    all.filter(|candidate| !only_deployable || deployable(candidate, profile)).collect()
}

/// The stack's own scheme with settings that an operator can change, and that act on this scheme.
fn settings_of_the_stack(input: &Input, profile: Profile) -> Vec<Candidate> {
    let scenario = match input {
        Input::Scenario(loaded) => Some(&loaded.scenario),
        _ => None,
    };
    let flow = input.transfer();
    let profile = input.profile(profile);
    if !profile.stack().operated {
        return vec![];
    }
    let scheme = input.present(profile);
    let phases = scheme.build();
    let has = |test: fn(&Info) -> bool| phases.iter().any(|phase| test(phase.info()));
    let sets_rate = has(|info| info.needs.has(Signals::PACING));
    // Such a scheme reads no threshold of the stack, and keeps its window after an idle time (Linux: `tcp_slow_start_after_idle_check`).
    let is_standalone = has(|info| info.role == Role::Standalone);
    let own = Settings::default();
    let windows = DEFAULT_WINDOWS.map(|packets| Settings { initial_window: Some(packets), ..own });
    let mut all = windows.to_vec();
    if let Some(buffer) = profile.stack().send_buffer {
        let larger = DEFAULT_BUFFERS.into_iter().filter(|bytes| *bytes > buffer);
        all.extend(larger.map(|bytes| Settings { buffer: Some(bytes), ..own }));
    }
    if profile.stack().can_pace() && !sets_rate {
        all.push(Settings { paced: true, ..own });
        all.extend(windows.map(|window| Settings { paced: true, ..window }));
    }
    if !is_standalone && scenario.is_none_or(|scenario| matches!(scenario.network, Network::Dumbbell(_))) {
        all.push(Settings { ssthresh: Some(Threshold::Bdp), ..own });
    }
    // An idle time needs several transfers on one connection.
    if !is_standalone && flow.is_some_and(|flow| flow.rounds.is_some()) {
        all.push(Settings { keeps_window: true, ..own });
    }
    all.into_iter().map(|settings| Candidate { scheme: scheme.clone(), settings }).collect()
}
