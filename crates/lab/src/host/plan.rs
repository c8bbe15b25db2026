//! The settings of the kernel that a scenario asks for, and the refusal of values that do not fit together.

use firstflight_contract::{Nanos, Rate};
use firstflight_hosts::host::Refusal;
use firstflight_hosts::network::{Built, place};
use firstflight_scenario::{
    Direction, Endpoints, FlowGroup, IdleRestart, Network, Profile, Reads, Receiver, Recovery, Scenario,
};

use crate::answers::{RealStack, check};
use crate::congestion_control::CongestionControl;

/// Longest run in real time.
pub const LONGEST: Nanos = Nanos::from_secs(600);
/// Connections of one run; each has two threads.
const CONNECTIONS: usize = 64;
/// Entries `[[flow]]`; each has a subnet of its own.
pub(crate) const GROUPS: usize = 200;
/// Smallest packet, bytes: the headers, and a payload of which the kernel still makes full segments.
pub(crate) const SMALLEST: u32 = 300;

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
pub(crate) const FIRST_WINDOW: u64 = 64 << 10;

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
        check(RealStack::Kernel, scenario)?;
        let Network::Dumbbell(path) = &scenario.network else { unreachable!("graphs are refused before") };
        let packet = scenario.packet;
        let ecn = path.queue.marks();
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
