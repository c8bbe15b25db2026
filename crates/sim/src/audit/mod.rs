//! Auditor: replays the event log of a run and checks rules that hold for every network. It uses only the log
//! and the configuration, never the state of the engine.
//!
//!
//! - links: packets leave in order of arrival, at the link rate and without idle time; the queue stays within its limit
//!   and refuses no packet while it has room; a policer passes exactly what its rate and burst allow;
//! - links with a dequeue-time queue: the same, except that the discipline chooses the next packet;
//! - journeys: every packet that leaves one hop arrives at the next at the right time, and no other packet does, so that
//!   sent = delivered + dropped + in flight;
//! - receivers: every ACK covers exactly the segments that have arrived, and none is later than the ACK policy allows;
//! - senders: new data stays within the congestion window and the receive window, and every retransmission is flagged;
//! - the outcome matches the counts of the log, packets lost before the end of start-up included.

mod dequeue;
mod journeys;
mod links;
mod outcome;
mod receivers;
mod senders;

use crate::config::Network;
use crate::observe::{Observer, Seen};
use crate::outcome::Outcome;
use crate::sender::Sender;
use crate::sender::info::CaState;
use firstflight_net::link::Passage;
use std::fmt;

/// One entry of the log. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet left an endpoint.
    Sent {
        /// Time.
        at: u64,
        /// Packet.
        packet: Seen,
        /// Whether the sender flags it as a retransmission.
        retransmission: bool,
    },
    /// A packet was offered to a link.
    Offered {
        /// Time.
        at: u64,
        /// Number of the link.
        link: u32,
        /// Packet.
        packet: Seen,
        /// Result of the offer.
        passage: Passage,
    },
    /// A packet joined a dequeue-time queue.
    Queued {
        /// Time.
        at: u64,
        /// Number of the link.
        link: u32,
        /// Packet.
        packet: Seen,
    },
    /// A packet left a dequeue-time queue.
    Left {
        /// Time.
        at: u64,
        /// Number of the link.
        link: u32,
        /// Packet.
        packet: Seen,
        /// Time at which it joined the queue.
        since: u64,
        /// Outcome of the packet.
        passage: Passage,
    },
    /// A packet reached an endpoint.
    Arrived {
        /// Time.
        at: u64,
        /// Packet.
        packet: Seen,
    },
    /// A sender finished processing an event.
    Acted {
        /// Time.
        at: u64,
        /// Flow of the sender.
        flow: u32,
        /// Window after it, segments, including inflation by duplicate ACKs.
        window: f64,
        /// Congestion state after it.
        state: CaState,
    },
}

impl Event {
    /// Time of the event, nanoseconds.
    pub fn at(&self) -> u64 {
        match *self {
            Self::Sent { at, .. }
            | Self::Offered { at, .. }
            | Self::Queued { at, .. }
            | Self::Left { at, .. }
            | Self::Arrived { at, .. }
            | Self::Acted { at, .. } => at,
        }
    }
}

/// Observer that writes the log.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Events in the order in which the engine reported them.
    pub log: Vec<Event>,
}

impl Observer for Recorder {
    const ON: bool = true;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        self.log.push(Event::Sent { at, packet, retransmission });
    }

    fn offered(&mut self, at: u64, link: u32, packet: Seen, passage: Passage) {
        self.log.push(Event::Offered { at, link, packet, passage });
    }

    fn queued(&mut self, at: u64, link: u32, packet: Seen) {
        self.log.push(Event::Queued { at, link, packet });
    }

    fn left(&mut self, at: u64, link: u32, packet: Seen, since: u64, passage: Passage) {
        self.log.push(Event::Left { at, link, packet, since, passage });
    }

    fn arrived(&mut self, at: u64, packet: Seen) {
        self.log.push(Event::Arrived { at, packet });
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        let info = sender.info();
        self.log.push(Event::Acted { at, flow, window: info.cwnd, state: info.state });
    }
}

/// Rules that the auditor checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Packets neither vanish nor appear.
    Conservation,
    /// A link serves packets in the order of its discipline.
    Order,
    /// A link transmits at its rate and does not idle while packets wait.
    Capacity,
    /// A queue stays within its limit and refuses packets only when full.
    Buffer,
    /// A policer passes exactly the packets for which its bucket has tokens.
    Policing,
    /// No packet arrives before it was sent and has crossed its path.
    Causality,
    /// An ACK covers exactly the segments that have arrived, and is sent in time.
    Acknowledgement,
    /// A sender stays within its windows.
    Window,
    /// A first window leaves no faster than its pace.
    Pace,
    /// Results match the log.
    Results,
}

/// A violated rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Rule.
    pub rule: Rule,
    /// Time, nanoseconds.
    pub at: u64,
    /// Description of the violation.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?} at {} ns: {}", self.rule, self.at, self.what)
    }
}

/// Collects violations.
#[derive(Debug, Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn expect(&mut self, holds: bool, rule: Rule, at: u64, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Violation { rule, at, what: what() });
        }
    }
}

/// Replays `log`, written by a [`Recorder`] while `network` ran to `outcome`. Returns every violation; an
/// empty list if the simulator is correct.
pub fn audit(network: &Network, outcome: &Outcome, log: &[Event]) -> Vec<Violation> {
    let mut findings = Findings::default();
    let mut links = links::replay(network, outcome.end, log, &mut findings);
    dequeue::replay(network, outcome.end, log, &mut links, &mut findings);
    journeys::replay(network, outcome, log, &mut findings);
    receivers::replay(network, log, &mut findings);
    senders::replay(network, log, &mut findings);
    outcome::compare(network, outcome, &links, log, &mut findings);
    findings.0
}
