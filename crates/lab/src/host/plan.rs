//! The settings of the kernel that a scenario asks for, and the refusal of what the kernel cannot do.

use firstflight_contract::{Nanos, Rate};
use firstflight_document::quantity::show_rate;
use firstflight_hosts::host::Refusal;
use firstflight_hosts::network::{Built, place};
use firstflight_scenario::{
    DataInSyn, Direction, Endpoints, FlowGroup, Growth, IdleRestart, Network, Packet, PartialAcks, Path,
    Profile, Queue, Reads, Receiver, Recovery, Scenario,
};

use crate::congestion_control::CongestionControl;
use crate::tun::MTU;

/// Longest run in real time.
pub const LONGEST: Nanos = Nanos::from_secs(600);
/// Connections of one run; each has two threads.
const CONNECTIONS: usize = 64;
/// Entries `[[flow]]`; each has a subnet of its own.
const GROUPS: usize = 200;
/// Smallest packet, bytes: the headers, and a payload of which the kernel still makes full segments.
const SMALLEST: u32 = 300;

/// The range in which the emulator keeps its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range;

impl Range {
    /// Highest rate at which results are exact.
    pub const EXACT: Rate = Rate(200_000_000);
    /// Highest rate: runs between the two count only if they kept their times.
    pub const MOST: Rate = Rate(400_000_000);
    /// Shortest round trip without queueing.
    pub const RTT: Nanos = Nanos::from_millis(5);
}

/// Receive buffer that Linux gives by default, bytes (`tcp_rmem`).
const DEFAULT_BUFFER: u64 = 131_072;

/// Largest first window, bytes: that of a SYN-ACK is not scaled (RFC 7323 section 2.2).
const FIRST_WINDOW: u64 = 64 << 10;

/// Settings for a run.
pub(super) struct Plan<'a> {
    /// One for each `[[flow]]`.
    pub(super) groups: Vec<Group<'a>>,
    /// Bytes of the largest packet.
    pub(super) mtu: usize,
    sack: bool,
    ecn: bool,
    keeps_window: bool,
    /// First and largest buffer of the receivers in each namespace, bytes.
    buffers: [Option<(u64, u64)>; 2],
}

/// Settings for the flows of one `[[flow]]`.
pub(super) struct Group<'a> {
    pub(super) control: &'a CongestionControl,
    /// Namespace of the senders: 0 near, 1 far.
    pub(super) sender: usize,
    pub(super) reads: Reads,
    pub(super) paced: bool,
    /// Initial window, segments.
    initial_window: u64,
    /// First window that the receivers offer, segments; `None` is that of the buffer.
    first_window: Option<u64>,
    acks_every_packet: bool,
}

impl Group<'_> {
    /// Attributes of the route from the namespace `side`.
    pub(super) fn route(&self, side: usize) -> Vec<String> {
        let attribute = |name: &str, value: u64| [name.into(), value.to_string()];
        if side == self.sender {
            // TCP_INIT_CWND of Linux.
            let own = (self.initial_window != 10).then_some(self.initial_window);
            return own.into_iter().flat_map(|segments| attribute("initcwnd", segments)).collect();
        }
        let first = self.first_window.map(|segments| attribute("initrwnd", segments));
        let quick = self.acks_every_packet.then(|| attribute("quickack", 1));
        first.into_iter().chain(quick).flatten().collect()
    }
}

fn refuse<T>(key: impl Into<String>, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { key: key.into(), why: why.into() })
}

impl<'a> Plan<'a> {
    /// The plan of `scenario` with the congestion controls `known`.
    ///
    /// # Errors
    /// For the first key that asks for more than the kernel and the emulator have.
    pub(super) fn of(scenario: &Scenario, known: &'a [CongestionControl]) -> Result<Self, Refusal> {
        // Every key is named, here and below, so that none is passed over. The build has those without a check.
        let Scenario { title: _, duration, seed: _, network, packet, flows, udp: _ } = scenario;
        let path = match network {
            Network::Dumbbell(path) => path,
            Network::Graph(_) => {
                return refuse("link", "the emulator has one bottleneck in each direction; expected [path]");
            }
        };
        check_path(path)?;
        let Packet { size, ack_size } = *packet;
        if !(SMALLEST..=MTU as u32).contains(&size) {
            let why = format!("the emulator's devices carry packets of {SMALLEST} to {MTU} bytes");
            return refuse("packet.size", why);
        }
        if ack_size.is_some_and(|size| size != Profile::Linux.stack().header) {
            return refuse("packet.ack_size", "an ACK of Linux has 52 bytes");
        }
        if duration.is_some_and(|duration| duration > LONGEST) {
            let why = format!("a run in real time lasts at most {} s", LONGEST.0 / 1_000_000_000);
            return refuse("duration", why);
        }
        if flows.len() > GROUPS {
            let why = format!("the emulator has {GROUPS} subnets; expected at most {GROUPS} tables [[flow]]");
            return refuse(place(scenario, GROUPS), why);
        }
        let ecn = path.queue.marks();
        let mut plan = Self {
            groups: vec![],
            mtu: size as usize,
            sack: true,
            ecn,
            keeps_window: false,
            buffers: [None; 2],
        };
        for (index, group) in flows.iter().enumerate() {
            plan.add(group, &place(scenario, index), packet.payload(Profile::Linux), known)?;
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        group: &FlowGroup,
        place: &str,
        mss: u32,
        known: &'a [CongestionControl],
    ) -> Result<(), Refusal> {
        let key = |name: &str| format!("{place}.{name}");
        check_group(group, &key)?;
        let control = CongestionControl::of(group, known).or_else(|why| {
            refuse(key(if group.scheme.phases().len() > 1 { "startup" } else { "avoidance" }), why)
        })?;
        let sender = match group.endpoints {
            Endpoints::Path(Direction::Forward) => 0,
            Endpoints::Path(Direction::Reverse) => 1,
            Endpoints::Nodes { .. } | Endpoints::Pairs(_) => {
                return refuse(key("from"), "the emulator has two ends and no nodes; expected direction");
            }
        };
        let (sack, keeps) = (group.recovery == Recovery::Sack, group.idle_restart == IdleRestart::Keep);
        let first = self.groups.is_empty();
        for (name, same) in [("recovery", self.sack == sack), ("idle_restart", self.keeps_window == keeps)] {
            if !first && !same {
                return refuse(
                    key(name),
                    "a namespace has one setting for all flows; expected that of the first flow",
                );
            }
        }
        (self.sack, self.keeps_window) = (sack, keeps);
        // Without a limit: 32 MB, which no path within the range fills.
        let largest = buffer_for(group.receive_window.unwrap_or(32 << 20), u64::from(mss), self.mtu as u64);
        // With room from the beginning, the window opens by two segments for each that arrives, from 64 KiB on.
        let buffer =
            if group.receiver == Receiver::Tuned { (DEFAULT_BUFFER, largest) } else { (largest, largest) };
        if *self.buffers[1 - sender].get_or_insert(buffer) != buffer {
            let why = "a namespace has one setting for all receivers of a direction; expected that of the first flow";
            return refuse(key("receive_window"), why);
        }
        let initial_window = group.initial_window / u64::from(mss);
        // Without a limit of the route, Linux 6.18 offers half of the buffer at first. The default buffer has the default window.
        let first = group.initial_receive_window.or(group.receive_window).unwrap_or(FIRST_WINDOW);
        let is_default = group.receiver == Receiver::Tuned && first == FIRST_WINDOW;
        let first_window = (!is_default).then_some((first / u64::from(mss)).max(1));
        let acks_every_packet = group.receiver == Receiver::AckEveryPacket;
        let (reads, paced) = (group.receiver_reads, group.paced);
        let group = Group { control, sender, reads, paced, initial_window, first_window, acks_every_packet };
        self.groups.push(group);
        Ok(())
    }

    /// Settings `net.ipv4` of the namespace `side`.
    pub(super) fn settings(&self, side: usize) -> Vec<(&'static str, String)> {
        let flag = |on: bool| u8::from(on).to_string();
        let mut settings = vec![
            ("tcp_no_metrics_save", flag(true)),
            ("tcp_autocorking", flag(false)),
            ("tcp_timestamps", flag(true)),
            ("tcp_sack", flag(self.sack)),
            // 1 asks for ECN and accepts it; the default only accepts.
            ("tcp_ecn", flag(self.ecn)),
            ("tcp_slow_start_after_idle", flag(!self.keeps_window)),
            ("tcp_wmem", "4096 16384 67108864".into()),
        ];
        if let Some((first, largest)) = self.buffers[side] {
            settings.push(("tcp_rmem", format!("4096 {first} {largest}")));
        }
        settings
    }
}

/// Receive buffer that offers a window of `window` bytes, for packets of `size` bytes with `mss` of payload.
///
/// The kernel offers the part of its buffer that would be payload if full segments filled it, in units of 1/256
/// (`tcp_measure_rcv_mss`). A packet of a TUN device takes 804 bytes of memory beyond its own, as measured on Linux 6.18: the
/// socket offered 160/256 of its buffer at 1500 bytes.
fn buffer_for(window: u64, mss: u64, size: u64) -> u64 {
    window * 256 / (mss * 256 / (size + 804)).max(1)
}

fn check_path(path: &Path) -> Result<(), Refusal> {
    // The emulator has the links of the simulator, with all their keys.
    let Path {
        rate,
        trace,
        rtt,
        buffer: _,
        queue,
        shaper: _,
        loss: _,
        loss_burst: _,
        reorder: _,
        access_rate: _,
    } = path;
    let fastest = trace.as_ref().map_or(*rate, |trace| trace.schedule.fastest());
    if fastest > Range::MOST {
        let key = if trace.is_some() { "path.trace" } else { "path.rate" };
        let why = format!(
            "the emulator carries {} in real time, exact up to {}",
            show_rate(Range::MOST),
            show_rate(Range::EXACT)
        );
        return refuse(key, why);
    }
    if *rtt < Range::RTT {
        let least = Range::RTT.0 / 1_000_000;
        return refuse("path.rtt", format!("the emulator's delays are exact from {least} ms"));
    }
    match queue {
        Queue::Router(router) => {
            refuse("path.queue", format!("Linux takes no part in what a {} router does", router.label()))
        }
        _ => Ok(()),
    }
}

fn check_group(group: &FlowGroup, key: &dyn Fn(&str) -> String) -> Result<(), Refusal> {
    // Of the keys without a check the plan, the build or the congestion control takes care.
    let FlowGroup {
        name: _,
        profile,
        count: _,
        start: _,
        size: _,
        ref lifetime,
        parallel: _,
        source: _,
        rounds: _,
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
        receiver_reads: _,
        growth,
        min_rto,
        rto_granularity,
        idle_restart,
        paced: _,
        initial_pace,
        limited_transmit,
        handshake,
        data_in_syn,
        ref cluster,
        endpoints: _,
        extra_rtt: _,
    } = *group;
    let linux = Profile::Linux.stack();
    if profile != Profile::Linux {
        let word = profile.word();
        return refuse(key("profile"), format!("the kernel is Linux, not {word}; expected \"linux\""));
    }
    let all = [
        ("recovery", matches!(recovery, Recovery::Sack | Recovery::NewReno), "Linux has sack and newreno"),
        (
            "receiver",
            receiver != Receiver::Delayed,
            "Linux receivers have quickack-then-delayed, tuned-buffer and ack-every-packet",
        ),
        ("delayed_ack_timer", delayed_ack_timer == linux.delayed_ack_timer, "Linux delays ACKs by 40 ms"),
        ("byte_counting", growth == Growth::AllAcked, "Linux counts every byte acknowledged"),
        ("min_rto", min_rto == linux.min_rto, "the smallest timeout of Linux is 200 ms"),
        (
            "rto_granularity",
            rto_granularity == linux.rto_granularity,
            "the clock of this kernel ticks each 4 ms",
        ),
        (
            "idle_restart",
            matches!(idle_restart, IdleRestart::Restart | IdleRestart::Keep),
            "Linux has restart and keep",
        ),
        (
            "partial_acks",
            partial_acks == PartialAcks::Impatient,
            "Linux has its own response to partial ACKs",
        ),
        ("sack_walk", processor.is_none(), "the time that ACKs take is that of this kernel"),
        ("limited_transmit", limited_transmit, "Linux has limited transmit always"),
        (
            "initial_pace",
            initial_pace.is_none(),
            "no socket option sets it; the gateway's program in the kernel does (firstflight gateway)",
        ),
        ("handshake", handshake, "a Linux connection has a handshake"),
        ("data_in_syn", data_in_syn == DataInSyn::Never, "the emulator's sockets send no data with the SYN"),
        (
            "initial_receive_window",
            initial_receive_window.or(receive_window).is_some_and(|first| first <= FIRST_WINDOW),
            "the first window is at most 64 KiB, because a SYN-ACK does not scale it",
        ),
        ("cluster", cluster.is_none(), "connections of a run share no memory of the path"),
        ("lifetime", lifetime.is_none(), "a socket cannot take back what was written; expected size"),
    ];
    match all.into_iter().find(|(_, fits, _)| !fits) {
        Some((name, _, why)) => refuse(key(name), why),
        None => Ok(()),
    }
}

/// Refuses a run with more connections than there may be threads for.
pub(super) fn check_built(scenario: &Scenario, built: &Built) -> Result<(), Refusal> {
    match built.group.get(CONNECTIONS) {
        None => Ok(()),
        Some(&group) => {
            let why = format!(
                "this run has {} connections; the emulator has threads for {CONNECTIONS}",
                built.group.len()
            );
            refuse(format!("{}.count", place(scenario, group)), why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_room_for_the_window_and_the_memory_around_its_segments() {
        // 1448 of 2304 bytes are 160/256.
        assert_eq!(buffer_for(160_000, 1448, 1500), 256_000);
    }
}
