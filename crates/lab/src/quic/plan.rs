//! Settings of a QUIC transfer from a scenario.

use firstflight_hosts::host::Refusal;
use firstflight_hosts::network::place;
use firstflight_quic::Scheme;
use firstflight_scenario::{FlowGroup, Profile, Scenario};

use super::HEADERS;
use crate::answers::{RealStack, check};
use crate::congestion_control::needs_plan;

/// The stack that carries the transfers. Of profiles of TCP, the values of keys are heeded.
const HOST: Profile = Profile::Quinn;
/// Bytes of the smallest full datagram of QUIC (RFC 9000 section 14), with which quinn begins.
pub(super) const SMALLEST: u16 = 1200;
/// Largest datagram for which quinn searches by default (`MtuDiscoveryConfig::upper_bound`).
const LARGEST: u32 = 1452;
/// Without a limit in the scenario: more than any transfer of a run.
const UNLIMITED: u64 = 1 << 40;

/// Settings for the flows of one `[[flow]]`.
pub(super) struct Group {
    pub(super) scheme: Scheme,
    /// Payload of the largest datagram, bytes.
    pub(super) datagram: u16,
    pub(super) receive_window: u64,
}

fn refuse<T>(key: impl Into<String>, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { key: key.into(), why: why.into() })
}

/// The settings of each `[[flow]]`.
///
/// # Errors
/// For the first key that asks for more than QUIC and quinn have.
pub(super) fn groups(scenario: &Scenario) -> Result<Vec<Group>, Refusal> {
    check(RealStack::Quic, scenario)?;
    let datagram = datagram(scenario.packet.size).or_else(|why| refuse("packet.size", why))?;
    let groups = scenario.flows.iter().enumerate();
    groups.map(|(index, group)| of(scenario, group, &place(scenario, index), datagram)).collect()
}

/// Payload of the largest datagram in packets of this size, or the reason why there is none.
pub(crate) fn datagram(size: u32) -> Result<u16, String> {
    let Some(datagram) = size.checked_sub(HEADERS).filter(|bytes| *bytes >= SMALLEST.into()) else {
        let least = u32::from(SMALLEST) + HEADERS;
        return Err(format!("QUIC needs datagrams of {SMALLEST} bytes; expected at least {least} B"));
    };
    Ok(datagram.min(LARGEST) as u16)
}

/// Reason why flows of this profile do not run on quinn.
pub(crate) fn profile(profile: Profile) -> Result<(), String> {
    let (stack, own) = (profile.stack(), HOST.word());
    if stack.rules.whole_packets || stack.is_quic() && profile != HOST {
        let why = format!("the host is {own}, which counts bytes; expected \"{own}\", \"rfc\" or \"linux\"");
        return Err(why);
    }
    Ok(())
}

fn of(scenario: &Scenario, group: &FlowGroup, place: &str, datagram: u16) -> Result<Group, Refusal> {
    let key = |name: &str| format!("{place}.{name}");
    let phases = group.scheme.build_in(group.profile.stack());
    if let Some(why) = needs_plan(&group.scheme) {
        return refuse(key("startup"), why);
    }
    let scheme = Scheme::of(phases).or_else(|unable| refuse(key("startup"), unable.to_string()))?;
    // The window of the scenario in full segments is one in the datagrams with which quinn begins.
    let segment = u64::from(scenario.packet.payload(group.profile));
    let in_datagrams = |bytes: u64| bytes.div_ceil(segment) * u64::from(SMALLEST);
    let scheme = scheme.initial_window(in_datagrams(group.initial_window));
    let scheme = match group.initial_ssthresh {
        Some(bytes) => scheme.initial_ssthresh(in_datagrams(bytes)),
        None => scheme,
    };
    Ok(Group { scheme, datagram, receive_window: group.receive_window.unwrap_or(UNLIMITED) })
}
