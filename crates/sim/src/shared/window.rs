//! Connections that share a window: RFC 3124's macroflows. They have one set of registers, and a round-robin scheduler
//! distributes the room of the window, a segment at a time.

use crate::config::{FlowConfig, Network};
use crate::flow::Flow;
use crate::sender::connection::Connection;
use crate::sender::rfc::{LossState, Rfc};
use firstflight_contract::{Nanos, Signals};
use firstflight_paths::macroflow::Macroflow;
use std::collections::BTreeMap;

/// More than any window: a flow that finds this much in use elsewhere sends nothing.
const ALL: u64 = u64::MAX / 4;

/// The connections of one macroflow.
#[derive(Debug, Default)]
struct Group {
    flows: Vec<usize>,
    window: Option<Macroflow>,
    /// Flow that may send next: an index into `flows`.
    turn: usize,
}

/// State of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    group: Option<usize>,
    /// Whether it has begun, and with that has the group's registers.
    joined: bool,
    /// Its timeouts, which distinguish a lost window from a reduced one.
    timeouts: u64,
}

/// All macroflows of a run.
#[derive(Debug)]
pub(super) struct SharedWindows {
    groups: Vec<Group>,
    /// One for each flow.
    members: Vec<Member>,
}

impl SharedWindows {
    /// Whether a scheme of `network` asks for one.
    pub(super) fn are_needed(network: &Network) -> bool {
        network.flows.iter().any(shares)
    }

    /// The macroflows of `network`.
    pub(super) fn of(network: &Network) -> Self {
        let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
        for (flow, config) in network.flows.iter().enumerate().filter(|(_, config)| shares(config)) {
            groups.entry(config.sharing.cluster).or_default().flows.push(flow);
        }
        let mut members = vec![Member::default(); network.flows.len()];
        for (index, group) in groups.values().enumerate() {
            group.flows.iter().for_each(|&flow| members[flow].group = Some(index));
        }
        Self { groups: groups.into_values().collect(), members }
    }

    /// A flow is about to act at `at`: it gets the registers, and sends no new data by itself. It may retransmit:
    /// that part of the window was in use already.
    pub(super) fn lend(&mut self, at: u64, flow: usize, flows: &mut [Flow]) {
        let Some(group) = self.members[flow].group.map(|group| &mut self.groups[group]) else { return };
        let total = group.in_network(flows);
        let sender = flows[flow].sender.sharing();
        sender.own.elsewhere = if sender.in_fast_recovery() { total - sender.in_network() } else { ALL };
        if let Some(window) = &mut group.window {
            sender.take_registers(window.lend(Nanos(at), total == 0));
        }
    }

    /// A flow has acted at `at`: the group gets its registers back. The group begins with those of its first flow.
    pub(super) fn take_back(&mut self, at: u64, flow: usize, flows: &mut [Flow]) {
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

    /// The flow whose turn it is to send one segment at `at`, among those that share a window with `of`; it gets the
    /// registers. `None` if the window is full or no flow has anything to send. Every flow of the group then records whether
    /// the window limits it.
    pub(super) fn grant(&mut self, at: u64, of: usize, flows: &mut [Flow]) -> Option<usize> {
        let group = &mut self.groups[self.members[of].group?];
        let total = group.in_network(flows);
        let registers = group.window.as_mut()?.lend(Nanos(at), total == 0);
        let full = total + flows[of].sender.mss() > registers.0;
        for &flow in &group.flows {
            // A window that did not limit its senders does not grow.
            flows[flow].sender.sharing().own.limited = full;
        }
        if full {
            return None;
        }
        let mut turns = (0..group.flows.len()).map(|i| (group.turn + i) % group.flows.len());
        let turn = turns.find(|&turn| flows[group.flows[turn]].sender.sharing().has_more())?;
        group.turn = (turn + 1) % group.flows.len();
        let flow = group.flows[turn];
        let sender = flows[flow].sender.sharing();
        sender.own.elsewhere = total - sender.in_network();
        sender.take_registers(registers);
        Some(flow)
    }
}

/// Whether a connection's window is not its own.
fn shares(config: &FlowConfig) -> bool {
    config.chain.needs().has(Signals::SHARED_WINDOW)
}

impl Group {
    fn in_network(&self, flows: &[Flow]) -> u64 {
        self.flows.iter().map(|&flow| flows[flow].sender.shared().in_network()).sum()
    }
}

impl Connection<Rfc> {
    /// Bytes in the network, by the sender's own count.
    fn in_network(&self) -> u64 {
        u64::from(self.nxt - self.una).saturating_sub(self.left_network()) * self.mss
    }

    /// Whether it is in fast recovery: then it sends by its own ACKs.
    fn in_fast_recovery(&self) -> bool {
        self.own.loss_state == LossState::Recovery
    }

    fn take_registers(&mut self, (cwnd, ssthresh): (u64, u64)) {
        (self.chain.control.cwnd, self.chain.control.ssthresh) = (cwnd, ssthresh);
    }

    /// Whether it would send, if the window allowed it.
    fn has_more(&self) -> bool {
        let end = self.available.min(self.window_end());
        self.established && !self.in_fast_recovery() && self.nxt < end
    }
}
