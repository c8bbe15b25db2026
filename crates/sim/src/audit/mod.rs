//! Replays the event log of a run and checks what must hold of any network, from the log and the configuration
//! alone: nothing here asks the engine how it came to its results.
//!
//! - links: packets leave in the order they came, no faster than the rate and no later than they could; no more
//!   wait than the buffer holds, and none is refused while there is room;
//! - links that hold their packets: the same, except that the discipline says who leaves next;
//! - journeys: what leaves one hop reaches the next, the same packet at the same time, and nothing else does, so
//!   that sent = delivered + dropped + in flight;
//! - receivers: every ACK says exactly what had arrived, and none comes later than the receiver may hold it;
//! - senders: new data leaves only where window and receive window have room, and a repeat is called one;
//! - the outcome counts what the log shows.

mod held;
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

/// One line of the log. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet left an endpoint.
    Sent {
        /// When.
        at: u64,
        /// What.
        packet: Seen,
        /// Whether its sender calls it a repeat.
        retransmission: bool,
    },
    /// A packet was offered to a link.
    Offered {
        /// When.
        at: u64,
        /// The link's number.
        link: u32,
        /// What.
        packet: Seen,
        /// What the link said.
        passage: Passage,
    },
    /// A packet joined the queue of a link that holds its packets.
    Queued {
        /// When.
        at: u64,
        /// The link's number.
        link: u32,
        /// What.
        packet: Seen,
    },
    /// A packet left such a queue.
    Left {
        /// When.
        at: u64,
        /// The link's number.
        link: u32,
        /// What.
        packet: Seen,
        /// When it had joined.
        since: u64,
        /// What became of it.
        passage: Passage,
    },
    /// A packet reached an endpoint.
    Arrived {
        /// When.
        at: u64,
        /// What.
        packet: Seen,
    },
    /// A sender had acted.
    Acted {
        /// When.
        at: u64,
        /// The sender's flow.
        flow: u32,
        /// Its window then, segments, with what duplicate ACKs add to it.
        window: f64,
        /// Its congestion state then.
        state: CaState,
    },
}

impl Event {
    /// When it happened, nanoseconds.
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

/// Writes the log.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// What happened, in the order in which the engine said so.
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

/// What a log may violate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Packets neither vanish nor appear.
    Conservation,
    /// A link serves first in, first out.
    Order,
    /// A link transmits at its rate.
    Capacity,
    /// A buffer holds what it holds, and uses it.
    Buffer,
    /// Nothing arrives before it was sent and has crossed its path.
    Causality,
    /// An ACK says what has arrived, in time.
    Acknowledgement,
    /// A sender sends what its window allows.
    Window,
    /// Results count what happened.
    Results,
}

/// A line of the log that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// When, nanoseconds.
    pub at: u64,
    /// What is wrong.
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

/// Replays `log`, which a [`Recorder`] wrote while `network` ran to `outcome`. Returns every violation: none, if the
/// simulator is right.
pub fn audit(network: &Network, outcome: &Outcome, log: &[Event]) -> Vec<Violation> {
    let mut findings = Findings::default();
    let mut links = links::replay(network, outcome.end, log, &mut findings);
    held::replay(network, outcome.end, log, &mut links, &mut findings);
    journeys::replay(network, outcome.end, log, &mut findings);
    receivers::replay(network, log, &mut findings);
    senders::replay(network, log, &mut findings);
    outcome::compare(outcome, &links, log, &mut findings);
    findings.0
}
