//! Settings of a QUIC transfer from a scenario. A key that QUIC or quinn cannot honour is refused.

use firstflight_hosts::host::Refusal;
use firstflight_hosts::network::place;
use firstflight_quic::Scheme;
use firstflight_scenario::{
    DataInSyn, FlowGroup, Growth, IdleRestart, Network, Packet, PartialAcks, Profile, Queue, Reads, Recovery,
    Scenario, Source,
};

use super::HEADERS;
use crate::congestion_control::needs_plan;

/// The stack that carries the transfers. Of profiles of TCP, the values of keys are heeded.
const HOST: Profile = Profile::Quinn;
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
    // Every key is named, here and below, so that none is passed over. The build has those without a check.
    let Scenario { title: _, duration: _, seed: _, network, packet, flows, udp: _ } = scenario;
    match network {
        Network::Dumbbell(path) => check_queue("path.queue", &path.queue)?,
        Network::Graph(graph) => graph.links.iter().try_for_each(|link| check_queue("queue", &link.queue))?,
    }
    let Packet { size, ack_size } = *packet;
    if ack_size.is_some() {
        return refuse("packet.ack_size", "the size of an ACK is that of quinn's packet");
    }
    let Some(datagram) = size.checked_sub(HEADERS).filter(|bytes| *bytes >= SMALLEST) else {
        let why =
            format!("QUIC needs datagrams of {SMALLEST} bytes; expected at least {} B", SMALLEST + HEADERS);
        return refuse("packet.size", why);
    };
    let Ok(datagram) = u16::try_from(datagram) else {
        return refuse("packet.size", format!("a datagram has at most {} bytes", u16::MAX));
    };
    let groups = flows.iter().enumerate();
    groups.map(|(index, group)| of(scenario, group, &place(scenario, index), datagram)).collect()
}

fn check_queue(key: &str, queue: &Queue) -> Result<(), Refusal> {
    match queue {
        Queue::Router(router) => {
            refuse(key, format!("QUIC takes no part in what a {} router does", router.label()))
        }
        _ => Ok(()),
    }
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
    // Of the keys without a check the settings or the build take care.
    let FlowGroup {
        name: _,
        profile,
        count: _,
        start: _,
        size: _,
        ref lifetime,
        parallel,
        source,
        ref rounds,
        scheme: _,
        recovery,
        partial_acks,
        ref processor,
        initial_window: _,
        initial_ssthresh: _,
        receive_window,
        initial_receive_window,
        receiver,
        delayed_ack_timer,
        receiver_reads,
        growth,
        min_rto,
        rto_granularity,
        idle_restart,
        paced,
        initial_pace,
        limited_transmit,
        handshake,
        data_in_syn,
        ref cluster,
        endpoints: _,
        extra_rtt: _,
    } = *group;
    let stack = profile.stack();
    if stack.rules.whole_packets || stack.is_quic() && profile != HOST {
        let why = format!("the host is {}, which counts bytes", HOST.word());
        return refuse(key("profile"), format!("{why}; expected \"{}\", \"rfc\" or \"linux\"", HOST.word()));
    }
    let keeps = idle_restart == stack.idle_restart || idle_restart == IdleRestart::Keep;
    let usual = stack.initial_receive_window.filter(|first| receive_window.is_none_or(|most| *first < most));
    let all = [
        ("rounds", rounds.is_none(), "a connection carries one transfer over QUIC here"),
        ("lifetime", lifetime.is_none(), "a transfer over QUIC has a size or lasts to the end of the run"),
        ("parallel", parallel == 1, "connections over QUIC are not grouped; expected count"),
        (
            match source {
                Source::Web(_) => "pages",
                Source::Flow | Source::Telnet(_) => "interval",
            },
            source == Source::Flow,
            "only [[flow]] runs over QUIC",
        ),
        (
            "receiver_reads",
            receiver_reads == Reads::Eager,
            "the client reads as data comes; expected \"eager\"",
        ),
        (
            "recovery",
            recovery == stack.recovery || recovery == Recovery::Sack,
            "losses are found by RFC 9002",
        ),
        ("partial_acks", partial_acks == PartialAcks::Impatient, "an ACK of QUIC reports every packet"),
        (
            "initial_receive_window",
            initial_receive_window.is_none() || initial_receive_window == usual,
            "the window that quinn offers is receive_window from the beginning",
        ),
        ("sack_walk", processor.is_none(), "the time that ACKs take is that of quinn itself"),
        ("receiver", receiver == stack.receiver, "quinn acknowledges every second packet (RFC 9000)"),
        ("delayed_ack_timer", delayed_ack_timer == stack.delayed_ack_timer, "quinn delays ACKs by 25 ms"),
        (
            "byte_counting",
            growth == stack.growth || growth == Growth::AllAcked,
            "QUIC counts every byte acknowledged (RFC 9002)",
        ),
        ("min_rto", min_rto == stack.min_rto, "QUIC has a probe timeout (RFC 9002)"),
        ("rto_granularity", rto_granularity == stack.rto_granularity, "QUIC has a probe timeout (RFC 9002)"),
        ("idle_restart", keeps, "quinn keeps its window; expected \"keep\""),
        ("limited_transmit", limited_transmit == stack.limited_transmit, "QUIC has no limited transmit"),
        ("handshake", handshake == stack.handshake, "a QUIC connection has a handshake"),
        ("data_in_syn", data_in_syn == DataInSyn::Never, "a first connection has no ticket for 0-RTT"),
        ("paced", !paced, "quinn always paces, at 1.25 windows a round trip"),
        ("initial_pace", initial_pace.is_none(), "quinn always paces, at 1.25 windows a round trip"),
        ("cluster", cluster.is_none(), "connections of a run share no memory of the path"),
    ];
    match all.into_iter().find(|(_, fits, _)| !fits) {
        Some((name, _, why)) => refuse(key(name), why),
        None => Ok(()),
    }
}
