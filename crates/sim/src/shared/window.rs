//! Connections that share a window: RFC 3124's macroflows. They have one set of registers, and a round-robin scheduler
//! distributes the room of the window, a segment at a time.
//!
//! Only the connection that acts changes what it has in the network and what it could send. The group therefore counts it
//! after each action, and no action walks over all connections.

use crate::config::{FlowConfig, Network};
use crate::flow::Flow;
use crate::sender::connection::Connection;
use crate::sender::rfc::{LossState, Rfc};
use crate::sender::stamps;
use firstflight_contract::{Nanos, Signals};
use firstflight_paths::macroflow::Macroflow;
use std::collections::{BTreeMap, BTreeSet};

/// More than any window: a flow that finds this much in use elsewhere sends nothing.
const ALL: u64 = u64::MAX / 4;

/// The connections of one macroflow.
#[derive(Clone, Debug, Default)]
struct Group {
    window: Option<Macroflow>,
    /// Bytes that its connections have in the network, by their own counts.
    in_network: u64,
    /// Connections that would send if the window allowed it.
    waiting: BTreeSet<usize>,
    /// The flow whose turn is next, or the first after it that waits.
    turn: usize,
    /// Whether the window had room left after the last action. A window that does not limit its senders does not grow.
    has_room: bool,
    /// Time at which the window was last full: what was in flight then used it. `None` if it never was.
    full_at: Option<u64>,
    /// The connection of the last turn: it knows by itself whether the window limits it.
    granted: Option<usize>,
}

/// State of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    group: Option<usize>,
    /// Whether it has begun, and with that has the group's registers.
    joined: bool,
    /// Its timeouts, which distinguish a lost window from a reduced one.
    timeouts: u64,
    /// Its part of the group's bytes in the network, and whether it waits.
    in_network: u64,
    waits: bool,
}

/// All macroflows of a run.
#[derive(Clone, Debug)]
pub(super) struct SharedWindows {
    groups: Vec<Group>,
    /// One for each flow.
    members: Vec<Member>,
}

impl SharedWindows {
    /// The macroflows of `network`.
    pub(super) fn of(network: &Network) -> Self {
        let mut groups: BTreeMap<u32, usize> = BTreeMap::new();
        let members = network.flows.iter().map(|config| {
            let group = shares(config).then(|| {
                let next = groups.len();
                *groups.entry(config.sharing.cluster).or_insert(next)
            });
            Member { group, ..Member::default() }
        });
        let members = members.collect();
        Self { groups: groups.iter().map(|_| Group::default()).collect(), members }
    }

    /// A flow is about to act at `at`: it gets the registers, and sends no new data by itself. It may retransmit:
    /// that part of the window was in use already.
    pub(super) fn lend(&mut self, at: u64, flow: usize, flows: &mut [Flow]) {
        let Some(group) = self.members[flow].group.map(|group| &mut self.groups[group]) else { return };
        let sender = flows[flow].sender.sharing();
        if group.granted != Some(flow) {
            sender.own.limited = !group.has_room || group.full_at.is_some_and(|at| sender.sent_first_by(at));
        }
        let elsewhere = group.in_network - self.members[flow].in_network;
        sender.own.elsewhere = if sender.in_fast_recovery() { elsewhere } else { ALL };
        if let Some(window) = &mut group.window {
            sender.take_registers(window.lend(Nanos(at), group.in_network == 0));
        }
    }

    /// A flow has acted at `at`: the group gets its registers back. The group begins with those of its first flow.
    pub(super) fn take_back(&mut self, at: u64, flow: usize, flows: &mut [Flow]) {
        self.count(flow, flows);
        let member = &mut self.members[flow];
        let Some(group) = member.group else { return };
        let sender = flows[flow].sender.sharing();
        if !sender.established {
            return;
        }
        let joins = !std::mem::replace(&mut member.joined, true);
        let timeouts = std::mem::replace(&mut member.timeouts, sender.stats().timeouts);
        let registers = (sender.chain.control.cwnd, sender.chain.control.ssthresh);
        match &mut self.groups[group].window {
            None => {
                self.groups[group].window = Some(Macroflow::new(Nanos(at), registers.0, registers.1));
            }
            Some(window) if joins => sender.take_registers(window.lend(Nanos(at), false)),
            Some(window) => {
                let lost_window = timeouts < sender.stats().timeouts;
                window.take_back(Nanos(at), registers, Nanos(sender.rto.srtt()), lost_window);
            }
        }
    }

    /// Updates what the group knows of a flow that has acted or sent.
    pub(super) fn count(&mut self, flow: usize, flows: &[Flow]) {
        let member = &mut self.members[flow];
        let Some(group) = member.group.map(|group| &mut self.groups[group]) else { return };
        let sender = flows[flow].sender.shared();
        let (in_network, waits) = (sender.in_network(), sender.has_more());
        group.in_network = group.in_network + in_network - member.in_network;
        if waits && !member.waits {
            group.waiting.insert(flow);
        } else if member.waits && !waits {
            group.waiting.remove(&flow);
        }
        (member.in_network, member.waits) = (in_network, waits);
    }

    /// The flow whose turn it is to send one segment at `at`, among those that share a window with `of`; it gets the
    /// registers. `None` if the window is full or no flow has anything to send.
    pub(super) fn grant(&mut self, at: u64, of: usize, flows: &mut [Flow]) -> Option<usize> {
        let group = &mut self.groups[self.members[of].group?];
        let registers = group.window.as_mut()?.lend(Nanos(at), group.in_network == 0);
        group.has_room = group.in_network + flows[of].sender.mss() <= registers.0;
        group.granted = None;
        if !group.has_room {
            group.full_at = Some(at);
            return None;
        }
        let flow = *group.waiting.range(group.turn..).next().or_else(|| group.waiting.first())?;
        group.turn = flow + 1;
        group.granted = Some(flow);
        let sender = flows[flow].sender.sharing();
        sender.own.limited = false;
        sender.own.elsewhere = group.in_network - self.members[flow].in_network;
        sender.take_registers(registers);
        Some(flow)
    }
}

/// Whether a connection's window is not its own.
pub(super) fn shares(config: &FlowConfig) -> bool {
    config.chain.needs().has(Signals::SHARED_WINDOW)
}

impl Connection<Rfc> {
    /// Bytes in the network, by the sender's own count.
    fn in_network(&self) -> u64 {
        u64::from(self.nxt - self.una).saturating_sub(self.left_network()) * self.mss
    }

    /// Whether the first segment in flight left at `at` or before.
    fn sent_first_by(&self, at: u64) -> bool {
        self.per_packet && self.una < self.max && stamps::sent(self.stamps.get(self.una)) <= at
    }

    /// Whether it is in fast recovery: then it sends by its own ACKs.
    fn in_fast_recovery(&self) -> bool {
        self.own.loss_state == LossState::Recovery
    }

    fn take_registers(&mut self, (cwnd, ssthresh): (u64, u64)) {
        (self.chain.control.cwnd, self.chain.control.ssthresh) = (cwnd, ssthresh);
        self.note_window();
    }

    /// Whether it would send, if the window allowed it.
    fn has_more(&self) -> bool {
        let end = self.available.min(self.window_end());
        self.established && !self.in_fast_recovery() && self.nxt < end
    }
}
