//! Answers of the real stacks to each key of a scenario: a stack runs a value, or refuses it by its key.
//!
//! The rows name every field, and each row has the answers of all stacks. A key without one of them does not compile.

use firstflight_document::quantity::show_rate;
use firstflight_hosts::host::Refusal;
use firstflight_hosts::network::place;
use firstflight_scenario::{
    DataInSyn, FlowGroup, Graph, Growth, IdleRestart, Link, Network, Packet, PartialAcks, Path, Profile,
    Queue, Reads, Receiver, Recovery, Scenario, Source,
};

use crate::host::{FIRST_WINDOW, GROUPS, LONGEST, Range, SMALLEST};
use crate::quic;
use crate::tun::MTU;

/// A real stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RealStack {
    /// TCP of this machine's kernel.
    Kernel,
    /// quinn.
    Quic,
}

/// A key of a table and the reason why a stack refuses its value; `Ok` if it runs it.
type Answer = Result<(), (&'static str, String)>;

/// The stack runs every value.
const RUNS: Answer = Ok(());
/// The plan of the stack takes the value, and refuses what does not fit beside other values.
const PLANNED: Answer = Ok(());

/// Runs a value that `fits`; refuses another one of `key`.
fn if_fits(key: &'static str, fits: bool, why: impl Into<String>) -> Answer {
    if fits { Ok(()) } else { Err((key, why.into())) }
}

/// A table of answers for a type: for each field those of the kernel and of QUIC. The first refusal in the order of the rows counts.
macro_rules! answers {
    ($(#[$doc:meta])* $name:ident($group:ident: $type:ident) {
        $($field:ident: $kernel:expr, $quic:expr;)*
    }) => {
        $(#[$doc])*
        fn $name(stack: RealStack, $group: &$type) -> Answer {
            let $type { $($field),* } = $group;
            // Not every answer depends on the value.
            let _ = ($($field,)*);
            $(match stack {
                RealStack::Kernel => $kernel?,
                RealStack::Quic => $quic?,
            })*
            Ok(())
        }
    };
}

answers! {
    /// Keys of the top level.
    of_scenario(scenario: Scenario) {
        title: RUNS, RUNS;
        seed: RUNS, RUNS;
        duration:
            if_fits(
                "duration",
                duration.is_none_or(|duration| duration <= LONGEST),
                format!("a run in real time lasts at most {} s", LONGEST.0 / 1_000_000_000),
            ),
            RUNS;
        network:
            if_fits(
                "link",
                matches!(network, Network::Dumbbell(_)),
                "the emulator has one bottleneck in each direction; expected [path]",
            ),
            RUNS;
        packet: RUNS, RUNS;
        flows: PLANNED, RUNS;
        udp: RUNS, RUNS;
    }
}

answers! {
    /// Keys of `[path]`. The emulator has the links of the simulator, with all their keys; its times are exact within a range.
    of_path(path: Path) {
        rate:
            if_fits("path.rate", trace.is_some() || *rate <= Range::MOST, too_fast()),
            RUNS;
        trace:
            if_fits(
                "path.trace",
                trace.as_ref().is_none_or(|trace| trace.schedule.fastest() <= Range::MOST),
                too_fast(),
            ),
            RUNS;
        rtt:
            if_fits(
                "path.rtt",
                *rtt >= Range::RTT,
                format!("the emulator's delays are exact from {} ms", Range::RTT.0 / 1_000_000),
            ),
            RUNS;
        buffer: RUNS, RUNS;
        queue: no_router("path.queue", queue, "Linux"), no_router("path.queue", queue, "QUIC");
        shaper: RUNS, RUNS;
        loss: RUNS, RUNS;
        loss_burst: RUNS, RUNS;
        drop: RUNS, RUNS;
        reorder: RUNS, RUNS;
        access_rate: RUNS, RUNS;
    }
}

answers! {
    /// Keys of `[[link]]`.
    of_link(link: Link) {
        name: RUNS, RUNS;
        from: RUNS, RUNS;
        to: RUNS, RUNS;
        rate: RUNS, RUNS;
        trace: RUNS, RUNS;
        delay: RUNS, RUNS;
        cost: RUNS, RUNS;
        buffer: RUNS, RUNS;
        queue: no_router("queue", queue, "Linux"), no_router("queue", queue, "QUIC");
        shaper: RUNS, RUNS;
        loss: RUNS, RUNS;
        loss_burst: RUNS, RUNS;
        drop: RUNS, RUNS;
        reorder: RUNS, RUNS;
    }
}

answers! {
    /// Keys of `[packet]`.
    of_packet(packet: Packet) {
        size:
            if_fits(
                "packet.size",
                (SMALLEST..=MTU as u32).contains(size),
                format!("the emulator's devices carry packets of {SMALLEST} to {MTU} bytes"),
            ),
            quic::datagram(*size).map(drop).map_err(|why| ("packet.size", why));
        ack_size:
            if_fits(
                "packet.ack_size",
                ack_size.is_none_or(|size| size == Profile::Linux.stack().header),
                "an ACK of Linux has 52 bytes",
            ),
            if_fits("packet.ack_size", ack_size.is_none(), "the size of an ACK is that of quinn's packet");
    }
}

answers! {
    /// Keys of `[[flow]]`, `[[telnet]]` and `[[web]]`. The kernel is Linux. QUIC heeds the values of TCP's profiles, and refuses those
    /// that differ both from the profile's defaults and from its own rule.
    of_group(group: FlowGroup) {
        name: RUNS, RUNS;
        profile:
            if_fits(
                "profile",
                *profile == Profile::Linux,
                format!("the kernel is Linux, not {}; expected \"linux\"", profile.word()),
            ),
            quic::profile(*profile).map_err(|why| ("profile", why));
        count: RUNS, RUNS;
        start: RUNS, RUNS;
        size: RUNS, RUNS;
        lifetime:
            if_fits(
                "lifetime",
                lifetime.is_none(),
                "a socket cannot take back what was written; expected size",
            ),
            if_fits(
                "lifetime",
                lifetime.is_none(),
                "a transfer over QUIC has a size or lasts to the end of the run",
            );
        parallel:
            RUNS,
            if_fits("parallel", *parallel == 1, "connections over QUIC are not grouped; expected count");
        source:
            RUNS,
            if_fits(
                if matches!(source, Source::Web(_)) { "pages" } else { "interval" },
                *source == Source::Flow,
                "only [[flow]] runs over QUIC",
            );
        rounds:
            RUNS,
            if_fits("rounds", rounds.is_none(), "a connection carries one transfer over QUIC here");
        scheme: PLANNED, PLANNED;
        endpoints: PLANNED, RUNS;
        recovery:
            if_fits(
                "recovery",
                matches!(recovery, Recovery::Sack | Recovery::NewReno),
                "Linux has sack and newreno",
            ),
            if_fits(
                "recovery",
                *recovery == profile.stack().recovery || *recovery == Recovery::Sack,
                "losses are found by RFC 9002",
            );
        partial_acks:
            if_fits(
                "partial_acks",
                *partial_acks == PartialAcks::Impatient,
                "Linux has its own response to partial ACKs",
            ),
            if_fits(
                "partial_acks",
                *partial_acks == PartialAcks::Impatient,
                "an ACK of QUIC reports every packet",
            );
        processor:
            if_fits("sack_walk", processor.is_none(), "the time that ACKs take is that of this kernel"),
            if_fits("sack_walk", processor.is_none(), "the time that ACKs take is that of quinn itself");
        initial_window: PLANNED, PLANNED;
        initial_ssthresh: PLANNED, PLANNED;
        receive_window: PLANNED, PLANNED;
        initial_receive_window:
            if_fits(
                "initial_receive_window",
                initial_receive_window.or(*receive_window).is_some_and(|first| first <= FIRST_WINDOW),
                "the first window is at most 64 KiB, because a SYN-ACK does not scale it",
            ),
            {
                let usual = profile.stack().initial_receive_window;
                let usual = usual.filter(|first| receive_window.is_none_or(|most| *first < most));
                if_fits(
                    "initial_receive_window",
                    initial_receive_window.is_none() || *initial_receive_window == usual,
                    "the window that quinn offers is receive_window from the beginning",
                )
            };
        receiver:
            if_fits(
                "receiver",
                !matches!(receiver, Receiver::Delayed | Receiver::EveryTenth),
                "Linux receivers have quickack-then-delayed, tuned-buffer and ack-every-packet",
            ),
            if_fits(
                "receiver",
                *receiver == profile.stack().receiver,
                "quinn acknowledges every second packet (RFC 9000)",
            );
        delayed_ack_timer:
            if_fits(
                "delayed_ack_timer",
                *delayed_ack_timer == profile.stack().delayed_ack_timer,
                "Linux delays ACKs by 40 ms",
            ),
            if_fits(
                "delayed_ack_timer",
                *delayed_ack_timer == profile.stack().delayed_ack_timer,
                "quinn delays ACKs by 25 ms",
            );
        receiver_reads:
            RUNS,
            if_fits(
                "receiver_reads",
                *receiver_reads == Reads::Eager,
                "the client reads as data comes; expected \"eager\"",
            );
        growth:
            if_fits("byte_counting", *growth == Growth::AllAcked, "Linux counts every byte acknowledged"),
            if_fits(
                "byte_counting",
                *growth == profile.stack().growth || *growth == Growth::AllAcked,
                "QUIC counts every byte acknowledged (RFC 9002)",
            );
        min_rto:
            if_fits(
                "min_rto",
                *min_rto == profile.stack().min_rto,
                "the smallest timeout of Linux is 200 ms",
            ),
            if_fits("min_rto", *min_rto == profile.stack().min_rto, "QUIC has a probe timeout (RFC 9002)");
        rto_granularity:
            if_fits(
                "rto_granularity",
                *rto_granularity == profile.stack().rto_granularity,
                "the clock of this kernel ticks each 4 ms",
            ),
            if_fits(
                "rto_granularity",
                *rto_granularity == profile.stack().rto_granularity,
                "QUIC has a probe timeout (RFC 9002)",
            );
        idle_restart:
            if_fits(
                "idle_restart",
                matches!(idle_restart, IdleRestart::Restart | IdleRestart::Keep),
                "Linux has restart and keep",
            ),
            if_fits(
                "idle_restart",
                *idle_restart == profile.stack().idle_restart || *idle_restart == IdleRestart::Keep,
                "quinn keeps its window; expected \"keep\"",
            );
        send_buffer:
            RUNS,
            if_fits("send_buffer", *send_buffer == profile.stack().send_buffer, "quinn sends what the window holds");
        paced:
            RUNS,
            if_fits("paced", !paced, "quinn always paces, at 1.25 windows a round trip");
        initial_pace:
            if_fits(
                "initial_pace",
                initial_pace.is_none(),
                "no socket option sets it; the gateway's program in the kernel does (firstflight gateway)",
            ),
            if_fits("initial_pace", initial_pace.is_none(), "quinn always paces, at 1.25 windows a round trip");
        limited_transmit:
            if_fits("limited_transmit", *limited_transmit, "Linux has limited transmit always"),
            if_fits(
                "limited_transmit",
                *limited_transmit == profile.stack().limited_transmit,
                "QUIC has no limited transmit",
            );
        handshake:
            if_fits("handshake", *handshake, "a Linux connection has a handshake"),
            if_fits(
                "handshake",
                *handshake == profile.stack().handshake,
                "a QUIC connection has a handshake",
            );
        data_in_syn:
            if_fits(
                "data_in_syn",
                *data_in_syn == DataInSyn::Never,
                "the emulator's sockets send no data with the SYN",
            ),
            if_fits(
                "data_in_syn",
                *data_in_syn == DataInSyn::Never,
                "a first connection has no ticket for 0-RTT",
            );
        cluster: unshared(cluster.is_none()), unshared(cluster.is_none());
        extra_rtt: RUNS, RUNS;
    }
}

fn too_fast() -> String {
    let [most, exact] = [Range::MOST, Range::EXACT].map(show_rate);
    format!("the emulator carries {most} in real time, exact up to {exact}")
}

fn no_router(key: &'static str, queue: &Queue, stack: &str) -> Answer {
    match queue {
        Queue::Router(router) => {
            Err((key, format!("{stack} takes no part in what a {} router does", router.label())))
        }
        _ => Ok(()),
    }
}

fn unshared(unshared: bool) -> Answer {
    if_fits("cluster", unshared, "connections of a run share no memory of the path")
}

fn refused((key, why): (&'static str, String)) -> Refusal {
    Refusal { key: key.into(), why }
}

/// Refuses the first key of the top level and of the network whose value the stack does not run.
pub(crate) fn of_network(stack: RealStack, scenario: &Scenario) -> Result<(), Refusal> {
    of_scenario(stack, scenario).map_err(refused)?;
    match &scenario.network {
        Network::Dumbbell(path) => of_path(stack, path).map_err(refused)?,
        Network::Graph(Graph { nodes: _, links }) => {
            links.iter().try_for_each(|link| of_link(stack, link)).map_err(refused)?;
        }
    }
    Ok(())
}

/// Refuses the first key whose value the stack does not run.
pub(crate) fn check(stack: RealStack, scenario: &Scenario) -> Result<(), Refusal> {
    of_network(stack, scenario)?;
    of_packet(stack, &scenario.packet).map_err(refused)?;
    if stack == RealStack::Kernel && scenario.flows.len() > GROUPS {
        let why = format!("the emulator has {GROUPS} subnets; expected at most {GROUPS} tables [[flow]]");
        return Err(Refusal { key: place(scenario, GROUPS), why });
    }
    for (index, group) in scenario.flows.iter().enumerate() {
        of_group(stack, group)
            .map_err(|(key, why)| Refusal { key: format!("{}.{key}", place(scenario, index)), why })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key that a stack refuses in a transfer with these lines.
    fn refused(stack: RealStack, lines: &str) -> Option<String> {
        let text = format!(
            "[path]\nrate = \"10 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\nsize = \"100 KB\"\n{lines}\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect(lines).scenario;
        check(stack, &scenario).err().map(|refusal| refusal.key.replace("flow[0].", ""))
    }

    #[test]
    fn each_stack_runs_a_value_of_each_key_or_refuses_the_key() {
        const BOTH: [bool; 2] = [true, true];
        const QUIC: [bool; 2] = [false, true];
        const NONE: [bool; 2] = [false, false];
        // The key, another value than that of Linux, and whether the kernel and QUIC refuse it.
        let rows = [
            ("startup", "\"jump-start\"", NONE),
            ("avoidance", "\"reno\"", NONE),
            ("recovery", "\"tahoe\"", BOTH),
            ("initial_window", "\"20 packets\"", NONE),
            ("initial_ssthresh", "\"20 packets\"", NONE),
            ("receive_window", "\"60 KB\"", NONE),
            ("initial_receive_window", "\"20 KB\"", QUIC),
            ("receiver", "\"ack-every-packet\"", QUIC),
            ("delayed_ack_timer", "\"200 ms\"", BOTH),
            ("receiver_reads", "\"256 KB\"", QUIC),
            ("byte_counting", "true", BOTH),
            ("min_rto", "\"1 s\"", BOTH),
            ("rto_granularity", "\"10 ms\"", BOTH),
            ("idle_restart", "\"validate\"", BOTH),
            ("paced", "true", QUIC),
            ("limited_transmit", "false", BOTH),
            ("handshake", "false", BOTH),
            ("data_in_syn", "\"tfo\"", BOTH),
            ("cluster", "\"one\"", BOTH),
            ("direction", "\"reverse\"", NONE),
            ("extra_rtt", "\"5 ms\"", NONE),
            ("lifetime", "\"1 s\"", BOTH),
            ("parallel", "2", QUIC),
            ("rounds", "{ count = 2, idle = \"1 s\" }", QUIC),
        ];
        // Those of profile rfc alone, those with another key, and those of graphs.
        let others = [
            "profile",
            "partial_acks",
            "sack_walk",
            "ack_backlog",
            "initial_pace",
            "send_buffer",
            "from",
            "to",
        ];
        for key in firstflight_scenario::format::STACK {
            let known = others.contains(&key.name) || rows.iter().any(|(name, ..)| *name == key.name);
            assert!(known, "{} has no row", key.name);
        }
        for (key, value, refuses) in rows {
            let lines = format!("profile = \"linux\"\n{key} = {value}");
            for (stack, refuses) in [RealStack::Kernel, RealStack::Quic].into_iter().zip(refuses) {
                let expected = refuses.then(|| key.to_owned());
                assert_eq!(refused(stack, &lines), expected, "{stack:?} {lines}");
            }
        }
        assert_eq!(refused(RealStack::Kernel, "profile = \"rfc\"").as_deref(), Some("profile"));
        assert_eq!(refused(RealStack::Quic, "profile = \"rfc\""), None);
        assert_eq!(refused(RealStack::Quic, "profile = \"ns2\"").as_deref(), Some("profile"));
        assert_eq!(refused(RealStack::Quic, "sack_walk = \"100 ns\"").as_deref(), Some("sack_walk"));
        let buffer = "profile = \"quinn\"\nsend_buffer = \"1 MB\"";
        assert_eq!(refused(RealStack::Quic, buffer).as_deref(), Some("send_buffer"));
        let paced = "profile = \"linux\"\ninitial_window = \"20 packets\"\npaced = true\ninitial_pace = \"30 packets\"";
        assert_eq!(refused(RealStack::Kernel, paced).as_deref(), Some("initial_pace"));
        assert_eq!(refused(RealStack::Quic, paced).as_deref(), Some("paced"));
    }
}
