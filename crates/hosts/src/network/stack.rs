//! Configuration of the simulator's sender and receiver for a group.

use firstflight_contract::Nanos;
use firstflight_host::chain::Chain;
use firstflight_scenario as scenario;
use firstflight_scenario::{FlowGroup, Packet, limits};
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::startup::rate_based_pacing::RateBasedPacing;
use firstflight_sim::receiver::AckPolicy;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{
    BYTE_COUNTING, DataInSyn, IdleRestart, PartialAcks, ReceiveWindow, Recovery, Stack, Timers,
};

/// Linux acknowledges this many segments at once at the start, beside those that open the window: 16 (`TCP_MAX_QUICKACKS`).
const LINUX_QUICK_ACKS: u32 = 16;

/// Chain of a group's schemes.
pub(super) fn schemes(group: &FlowGroup) -> Chain<AnyPhase> {
    let phases = group.scheme.build_in(group.profile.stack());
    Chain::new(phases).expect("a scheme read from a scenario makes a chain")
}

/// Chain of a group, with its idle rule if the group requests one.
pub(super) fn chain(group: &FlowGroup) -> Chain<AnyPhase> {
    let chain = schemes(group);
    if group.idle_restart == scenario::IdleRestart::Pace && !chain.resumes() {
        return chain.resuming_with(AnyPhase::RateBasedPacing(RateBasedPacing::default()));
    }
    chain
}

/// Reason why `idle_restart` conflicts with the schemes.
pub(super) fn idle_conflict(group: &FlowGroup) -> Option<String> {
    use scenario::IdleRestart::{Keep, Pace, Restart, Validate};
    let chain = schemes(group);
    let (label, word) = (chain.label(), group.idle_restart.word());
    let conflict = match group.idle_restart {
        Restart => false,
        Keep => chain.resumes(),
        Validate => chain.resumes() || chain.is_standalone(),
        // Requesting pacing twice is no conflict.
        Pace => chain.is_standalone() || chain.resumes() && !label.starts_with(RateBasedPacing::INFO.label),
    };
    conflict.then(|| format!("{label} has its own rule for idle times, which excludes \"{word}\""))
}

/// The first key whose value the sender of the profile would not heed, with its rule; `None` if it heeds all.
pub(super) fn ignored(group: &FlowGroup) -> Option<(&'static str, String)> {
    // Every key is named, so that none is passed over. Senders and receivers of all profiles heed those without a check, or
    // the check of the network refuses them.
    let FlowGroup {
        profile,
        growth,
        limited_transmit,
        name: _,
        count: _,
        start: _,
        size: _,
        lifetime: _,
        parallel: _,
        source: _,
        rounds: _,
        scheme: _,
        recovery: _,
        partial_acks: _,
        processor: _,
        initial_window: _,
        initial_ssthresh: _,
        receive_window: _,
        initial_receive_window: _,
        send_buffer: _,
        receiver: _,
        delayed_ack_timer: _,
        receiver_reads: _,
        min_rto: _,
        rto_granularity: _,
        idle_restart: _,
        paced: _,
        initial_pace: _,
        handshake: _,
        data_in_syn: _,
        cluster: _,
        endpoints: _,
        extra_rtt: _,
    } = group;
    if !group.rules().detects_by_time() {
        return None;
    }
    let rule = |rule: &str| format!("senders of profile {} {rule}", profile.word());
    match (growth, limited_transmit) {
        (scenario::Growth::PerAck | scenario::Growth::ByteCounting, _) => {
            Some(("byte_counting", rule("count every byte acknowledged; expected no byte_counting")))
        }
        (scenario::Growth::AllAcked, false) => {
            Some(("limited_transmit", rule("always have limited transmit; expected true")))
        }
        (scenario::Growth::AllAcked, true) => None,
    }
}

pub(super) fn stack(group: &FlowGroup, packet: Packet, phase: u64, ecn: bool) -> Stack {
    let declared = group.profile.stack();
    let rack = declared.rules.detects_by_time();
    let mss = packet.payload(group.profile);
    let exact = declared.rules.timers == Timers::Due && group.rto_granularity <= Nanos::from_millis(1);
    Stack {
        mss,
        largest_datagram: packet.largest(group.profile),
        recovery: match group.recovery {
            _ if declared.is_quic() => Recovery::Packets,
            scenario::Recovery::Tahoe => Recovery::Tahoe,
            scenario::Recovery::Reno => Recovery::Reno,
            scenario::Recovery::Sack if rack => Recovery::Rack { sack: true },
            scenario::Recovery::NewReno if rack => Recovery::Rack { sack: false },
            scenario::Recovery::NewReno => Recovery::NewReno,
            scenario::Recovery::Sack => Recovery::Sack,
        },
        partial_acks: match group.partial_acks {
            scenario::PartialAcks::Impatient => PartialAcks::Impatient,
            scenario::PartialAcks::SlowButSteady => PartialAcks::SlowButSteady,
            scenario::PartialAcks::Ns2Of2002 => PartialAcks::Ns2Of2002,
        },
        sack_walk: group.processor.map_or(0, |processor| processor.walk.0),
        ack_backlog: group.processor.and_then(|processor| processor.backlog).unwrap_or(u32::MAX),
        rules: declared.rules_with(schemes(group).label().rsplit('+').next().unwrap_or_default()),
        initial_window: segments(group.initial_window, mss),
        initial_ssthresh: group.initial_ssthresh.map(|bytes| segments(bytes, mss)),
        receive_window: receive_window(group, mss),
        send_buffer: group.send_buffer,
        growth_per_ack: match group.growth {
            scenario::Growth::PerAck => 1,
            scenario::Growth::ByteCounting => BYTE_COUNTING,
            scenario::Growth::AllAcked => u32::MAX,
        },
        paced: group.paced,
        initial_pace: group.initial_pace.map(|bytes| segments(bytes, mss)),
        limited_transmit: group.limited_transmit,
        rto: RtoConfig {
            initial: declared.initial_rto.0,
            min: group.min_rto.0,
            max: declared.max_rto.0,
            granularity: if exact { 1 } else { group.rto_granularity.0 },
            phase,
        },
        idle_restart: match group.idle_restart {
            // Pacing is a phase of its own, with the restart window as fallback.
            scenario::IdleRestart::Restart | scenario::IdleRestart::Pace => IdleRestart::Restart,
            scenario::IdleRestart::Keep => IdleRestart::Keep,
            scenario::IdleRestart::Validate => IdleRestart::Validate,
        },
        ecn,
        handshake: group.handshake,
        data_in_syn: match group.data_in_syn {
            scenario::DataInSyn::Never => DataInSyn::Never,
            scenario::DataInSyn::Tfo => DataInSyn::FastOpen,
            scenario::DataInSyn::Ttcp => DataInSyn::Transaction,
        },
    }
}

/// Stack of a flow that writes `bytes` at a time: data that the application has not read uses up the receive
/// window.
pub(super) fn stack_of(
    group: &FlowGroup,
    packet: Packet,
    phase: u64,
    ecn: bool,
    bytes: Option<u64>,
) -> Stack {
    let stack = stack(group, packet, phase, ecn);
    let mss = stack.mss;
    let scenario::Reads::Every(wakes) = group.receiver_reads else { return stack };
    let whole = |bytes: u64| bytes.div_ceil(mss.into()).clamp(1, u32::MAX.into()) as u32;
    let (window, write) = (stack.receive_window, bytes.map_or(u32::MAX, whole));
    Stack { receive_window: window.read_every(whole(wakes).min(window.limit), write), ..stack }
}

/// Receive window, in segments of `mss` bytes.
fn receive_window(group: &FlowGroup, mss: u32) -> ReceiveWindow {
    let limit = segments(group.receive_window.unwrap_or(u64::MAX), mss);
    if group.receiver == scenario::Receiver::Tuned {
        let first = group.initial_receive_window.map_or(limit, |first| segments(first, mss));
        return ReceiveWindow::tuned(first, limit);
    }
    ReceiveWindow::opening_to(group.initial_receive_window.map_or(limit, |first| segments(first, mss)), limit)
}

/// Number of whole segments in a window; one without a limit has the largest of the format.
fn segments(bytes: u64, mss: u32) -> u32 {
    (bytes / u64::from(mss)).clamp(1, limits::WINDOW) as u32
}

pub(super) fn ack_policy(group: &FlowGroup, mss: u32) -> AckPolicy {
    let timer = group.delayed_ack_timer.0;
    match group.receiver {
        scenario::Receiver::AckEveryPacket => AckPolicy { every: 1, quick: 0, timer },
        scenario::Receiver::Delayed => AckPolicy { every: 2, quick: group.profile.stack().quick_acks, timer },
        scenario::Receiver::QuickAckThenDelayed => {
            // Every segment that opens the window is acknowledged at once: `tcp_grow_window` sets the lowest bit of `quick`, and
            // its ACK takes it back.
            let quick = receive_window(group, mss).opening().saturating_add(LINUX_QUICK_ACKS);
            AckPolicy { every: 2, quick, timer }
        }
        scenario::Receiver::EveryTenth => AckPolicy { every: 10, quick: 0, timer },
        // Segments that open the window are acknowledged at once when they do.
        scenario::Receiver::Tuned => AckPolicy { every: 2, quick: LINUX_QUICK_ACKS, timer },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linux_receiver_acknowledges_1080_segments_at_once() {
        // 3 MiB are 2172 segments of 1448 B, of which 45 are offered at first. 1064 segments open the window, and 16 more are
        // acknowledged at once. So does Linux 6.18 across losses (docs/agreement.md).
        let text = "[path]\nrate = \"1 Mbit/s\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n[[flow]]\n\
                    profile = \"linux\"\nsize = \"1 MB\"\n";
        let group = scenario::parse(text, "").expect("a scenario").scenario.flows.remove(0);
        assert_eq!(ack_policy(&group, 1448), AckPolicy { every: 2, quick: 1080, timer: 40_000_000 });
        let fixed = FlowGroup { initial_receive_window: None, ..group };
        assert_eq!(ack_policy(&fixed, 1448).quick, 16);
    }

    #[test]
    fn each_word_for_partial_acks_selects_its_rule() {
        let choices = [PartialAcks::Impatient, PartialAcks::SlowButSteady, PartialAcks::Ns2Of2002];
        for (word, choice) in ["impatient", "slow-but-steady", "ns2-2002"].into_iter().zip(choices) {
            let text = format!(
                "duration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n\
                 [[flow]]\nprofile = \"ns2\"\npartial_acks = \"{word}\"\n"
            );
            let mut scenario = scenario::parse(&text, "").expect("a scenario").scenario;
            let (group, packet) = (scenario.flows.remove(0), scenario.packet);
            assert_eq!(stack(&group, packet, 0, false).partial_acks, choice);
        }
    }
}
