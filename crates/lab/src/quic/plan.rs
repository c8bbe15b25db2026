//! Settings of a QUIC transfer from a scenario. A key that QUIC or quinn cannot honour is refused.

use firstflight_quic::Scheme;
use firstflight_scenario::{
    DataInSyn, FlowGroup, Growth, IdleRestart, Network, Profile, Queue, Reads, Recovery, Scenario, Source,
};
use firstflight_study::host::Refusal;
use firstflight_study::network::place;

use super::HEADERS;
use crate::congestion_control::needs_plan;

/// Bytes of the smallest full datagram of QUIC (RFC 9000 section 14).
const SMALLEST: u32 = 1200;
/// Without a limit in the scenario: more than any transfer of a run.
const UNLIMITED: u64 = 1 << 40;

/// Settings for the flows of one `[[flow]]`.
pub(super) struct Group {
    pub(super) scheme: Scheme,
    /// Payload of a full datagram, bytes.
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
    if let Network::Dumbbell(path) = &scenario.network
        && let Queue::Router(router) = &path.queue
    {
        return refuse("path.queue", format!("QUIC takes no part in what a {} router does", router.label()));
    }
    let size = scenario.packet.size;
    let Some(datagram) = size.checked_sub(HEADERS).filter(|bytes| *bytes >= SMALLEST) else {
        let why =
            format!("QUIC needs datagrams of {SMALLEST} bytes; expected at least {} B", SMALLEST + HEADERS);
        return refuse("packet.size", why);
    };
    let Ok(datagram) = u16::try_from(datagram) else {
        return refuse("packet.size", format!("a datagram has at most {} bytes", u16::MAX));
    };
    let groups = scenario.flows.iter().enumerate();
    groups.map(|(index, group)| of(scenario, group, &place(scenario, index), datagram)).collect()
}

fn of(scenario: &Scenario, group: &FlowGroup, place: &str, datagram: u16) -> Result<Group, Refusal> {
    let key = |name: &str| format!("{place}.{name}");
    check(group, &key)?;
    let phases = group.scheme.build_in(group.profile.stack());
    if let Some(why) = needs_plan(&group.scheme) {
        return refuse(key("startup"), why);
    }
    let scheme = Scheme::of(phases).or_else(|unable| refuse(key("startup"), unable.to_string()))?;
    // The window of the scenario in full segments is one in full datagrams.
    let segment = u64::from(scenario.packet.payload(group.profile));
    let in_datagrams = |bytes: u64| bytes.div_ceil(segment) * u64::from(datagram);
    let scheme = scheme.initial_window(in_datagrams(group.initial_window));
    let scheme = match group.initial_ssthresh {
        Some(bytes) => scheme.initial_ssthresh(in_datagrams(bytes)),
        None => scheme,
    };
    Ok(Group { scheme, datagram, receive_window: group.receive_window.unwrap_or(UNLIMITED) })
}

/// Keys that belong to TCP are refused where they differ both from the profile's defaults and from QUIC's own rule.
fn check(group: &FlowGroup, key: &dyn Fn(&str) -> String) -> Result<(), Refusal> {
    if group.profile == Profile::Ns2 {
        return refuse(key("profile"), "ns-2's agents count packets; expected \"rfc\" or \"linux\"");
    }
    let stack = group.profile.stack();
    let keeps = group.idle_restart == stack.idle_restart || group.idle_restart == IdleRestart::Keep;
    let all = [
        ("rounds", group.rounds.is_none(), "a connection carries one transfer over QUIC here"),
        (
            "lifetime",
            group.lifetime.is_none(),
            "a transfer over QUIC has a size or lasts to the end of the run",
        ),
        ("parallel", group.parallel == 1, "connections over QUIC are not grouped; expected count"),
        ("interval", group.source == Source::Flow, "only [[flow]] runs over QUIC"),
        (
            "receiver_reads",
            group.receiver_reads == Reads::Eager,
            "the client reads as data comes; expected \"eager\"",
        ),
        (
            "recovery",
            group.recovery == stack.recovery || group.recovery == Recovery::Sack,
            "losses are found by RFC 9002",
        ),
        ("sack_walk", group.processor.is_none(), "the time that ACKs take is that of quinn itself"),
        ("receiver", group.receiver == stack.receiver, "quinn acknowledges every second packet (RFC 9000)"),
        (
            "delayed_ack_timer",
            group.delayed_ack_timer == stack.delayed_ack_timer,
            "quinn delays ACKs by 25 ms",
        ),
        (
            "byte_counting",
            group.growth == stack.growth || group.growth == Growth::AllAcked,
            "QUIC counts every byte acknowledged (RFC 9002)",
        ),
        ("min_rto", group.min_rto == stack.min_rto, "QUIC has a probe timeout (RFC 9002)"),
        (
            "rto_granularity",
            group.rto_granularity == stack.rto_granularity,
            "QUIC has a probe timeout (RFC 9002)",
        ),
        ("idle_restart", keeps, "quinn keeps its window; expected \"keep\""),
        (
            "limited_transmit",
            group.limited_transmit == stack.limited_transmit,
            "QUIC has no limited transmit",
        ),
        ("handshake", group.handshake == stack.handshake, "a QUIC connection has a handshake"),
        ("data_in_syn", group.data_in_syn == DataInSyn::Never, "a first connection has no ticket for 0-RTT"),
        ("paced", !group.paced, "quinn always paces, at 1.25 windows a round trip"),
        ("initial_pace", group.initial_pace.is_none(), "quinn always paces, at 1.25 windows a round trip"),
        ("cluster", group.cluster.is_none(), "connections of a run share no memory of the path"),
    ];
    match all.into_iter().find(|(_, fits, _)| !fits) {
        Some((name, _, why)) => refuse(key(name), why),
        None => Ok(()),
    }
}
