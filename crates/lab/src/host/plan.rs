//! The settings of the kernel that a scenario asks for, and the refusal of what the kernel cannot do.

use firstflight_contract::{Nanos, Rate};
use firstflight_scenario::quantity::show_rate;
use firstflight_scenario::{
    DataInSyn, Direction, Endpoints, FlowGroup, Growth, IdleRestart, Network, Profile, Queue, Reads,
    Receiver, Recovery, Scenario,
};
use firstflight_study::host::Refusal;
use firstflight_study::network::{Built, place};

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
    acks_every_packet: bool,
}

impl Group<'_> {
    /// Attributes of the route from the namespace `side`.
    pub(super) fn route(&self, side: usize) -> Vec<String> {
        // TCP_INIT_CWND of Linux.
        match side == self.sender {
            true if self.initial_window != 10 => vec!["initcwnd".into(), self.initial_window.to_string()],
            false if self.acks_every_packet => vec!["quickack".into(), "1".into()],
            _ => vec![],
        }
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
        let path = match &scenario.network {
            Network::Dumbbell(path) => path,
            Network::Graph(_) => {
                return refuse("link", "the emulator has one bottleneck in each direction; expected [path]");
            }
        };
        check_path(path)?;
        let packet = scenario.packet;
        if !(SMALLEST..=MTU as u32).contains(&packet.size) {
            let why = format!("the emulator's devices carry packets of {SMALLEST} to {MTU} bytes");
            return refuse("packet.size", why);
        }
        if packet.ack_size.is_some_and(|size| size != Profile::Linux.stack().header) {
            return refuse("packet.ack_size", "an ACK of Linux has 52 bytes");
        }
        if scenario.duration.is_some_and(|duration| duration > LONGEST) {
            let why = format!("a run in real time lasts at most {} s", LONGEST.0 / 1_000_000_000);
            return refuse("duration", why);
        }
        if scenario.flows.len() > GROUPS {
            let why = format!("the emulator has {GROUPS} subnets; expected at most {GROUPS} tables [[flow]]");
            return refuse(place(scenario, GROUPS), why);
        }
        let ecn = match &path.queue {
            Queue::Red(red) | Queue::Choke(red) => red.ecn,
            Queue::Codel(codel) => codel.ecn,
            Queue::FqCodel(fq) => fq.codel.ecn,
            _ => false,
        };
        let mut plan = Self {
            groups: vec![],
            mtu: packet.size as usize,
            sack: true,
            ecn,
            keeps_window: false,
            buffers: [None; 2],
        };
        for (index, group) in scenario.flows.iter().enumerate() {
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
            Endpoints::Path(Direction::Reverse) => 1,
            _ => 0,
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
        let acks_every_packet = group.receiver == Receiver::AckEveryPacket;
        let (reads, paced) = (group.receiver_reads, group.paced);
        self.groups.push(Group { control, sender, reads, paced, initial_window, acks_every_packet });
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

fn check_path(path: &firstflight_scenario::Path) -> Result<(), Refusal> {
    let fastest = path.trace.as_ref().map_or(path.rate, |trace| trace.schedule.fastest());
    if fastest > Range::MOST {
        let key = if path.trace.is_some() { "path.trace" } else { "path.rate" };
        let why = format!(
            "the emulator carries {} in real time, exact up to {}",
            show_rate(Range::MOST),
            show_rate(Range::EXACT)
        );
        return refuse(key, why);
    }
    if path.rtt < Range::RTT {
        let least = Range::RTT.0 / 1_000_000;
        return refuse("path.rtt", format!("the emulator's delays are exact from {least} ms"));
    }
    if let Queue::Router(router) = &path.queue {
        let why = format!("Linux takes no part in what a {} router does", router.label());
        return refuse("path.queue", why);
    }
    Ok(())
}

fn check_group(group: &FlowGroup, key: &dyn Fn(&str) -> String) -> Result<(), Refusal> {
    let linux = Profile::Linux.stack();
    if group.profile != Profile::Linux {
        let word = group.profile.word();
        return refuse(key("profile"), format!("the kernel is Linux, not {word}; expected \"linux\""));
    }
    let all = [
        (
            "recovery",
            matches!(group.recovery, Recovery::Sack | Recovery::NewReno),
            "Linux has sack and newreno",
        ),
        (
            "receiver",
            group.receiver != Receiver::Delayed,
            "Linux receivers have quickack-then-delayed, tuned-buffer and ack-every-packet",
        ),
        (
            "delayed_ack_timer",
            group.delayed_ack_timer == linux.delayed_ack_timer,
            "Linux delays ACKs by 40 ms",
        ),
        ("byte_counting", group.growth == Growth::AllAcked, "Linux counts every byte acknowledged"),
        ("min_rto", group.min_rto == linux.min_rto, "the smallest timeout of Linux is 200 ms"),
        (
            "rto_granularity",
            group.rto_granularity == linux.rto_granularity,
            "the clock of this kernel ticks each 4 ms",
        ),
        (
            "idle_restart",
            matches!(group.idle_restart, IdleRestart::Restart | IdleRestart::Keep),
            "Linux has restart and keep",
        ),
        ("limited_transmit", group.limited_transmit, "Linux has limited transmit always"),
        (
            "initial_pace",
            group.initial_pace.is_none(),
            "no socket option sets it; the gateway's program in the kernel does (firstflight gateway)",
        ),
        ("handshake", group.handshake, "a Linux connection has a handshake"),
        (
            "data_in_syn",
            group.data_in_syn == DataInSyn::Never,
            "the emulator's sockets send no data with the SYN",
        ),
        (
            "initial_receive_window",
            group.initial_receive_window.or(group.receive_window).is_some_and(|first| first <= 64 << 10),
            "the first window that Linux offers is 64 KiB",
        ),
        ("lifetime", group.lifetime.is_none(), "a socket cannot take back what was written; expected size"),
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
