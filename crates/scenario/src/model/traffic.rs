//! Traffic: flows, telnet, web pages, UDP.

use firstflight_contract::{Nanos, Rate};
use firstflight_host::stack::Rules;

use crate::choices::{DataInSyn, Receiver, Recovery, words};
use crate::profile::InitialWindow;
use crate::stack::FlowGroup;
use firstflight_random::Dist;

impl FlowGroup {
    /// Rules of the group's stack.
    pub fn rules(&self) -> &'static Rules {
        &self.profile.stack().rules
    }

    /// Gives the group the receiver of this word, or the nearest one that its stack has: of a stack without a buffer that grows, the one with
    /// the same ACKs at first. Another word changes nothing.
    pub fn receive_as(&mut self, word: &str) {
        let receiver = Receiver::from_word(word).unwrap_or(self.receiver);
        let tuned = receiver == Receiver::Tuned && !self.profile.stack().tuned_buffer;
        self.receiver = if tuned { Receiver::QuickAckThenDelayed } else { receiver };
    }

    /// Whether [`FlowGroup::partial_acks`] has a choice: only NewReno has partial ACKs, and Linux has its own response.
    pub(crate) fn has_partial_acks(&self) -> bool {
        self.recovery == Recovery::NewReno && !self.rules().detects_by_time()
    }

    /// Whether the sender counts time in ticks of a coarse clock. A clock of a millisecond or finer is treated as exact, since every
    /// timeout is much longer.
    pub(crate) fn has_coarse_clock(&self) -> bool {
        self.rto_granularity > Nanos::from_millis(1) && !self.rules().detects_by_time()
    }

    /// Time from the run's start to the first tick of a sender's clock.
    pub fn clock_phase(&self) -> Dist<Nanos> {
        match self.has_coarse_clock() {
            true => Dist::Uniform(Nanos::ZERO, Nanos(self.rto_granularity.0 - 1)),
            false => Dist::Fixed(Nanos::ZERO),
        }
    }

    /// Whether [`FlowGroup::processor`] has a choice: it is the cost of the scoreboard of RFC 6675.
    pub fn has_processor(&self) -> bool {
        self.recovery == Recovery::Sack && self.profile.stack().has_scoreboard()
    }

    /// Reason why the stack cannot keep [`FlowGroup::initial_pace`], and the expected setting; `None` if it can, or if there is no
    /// pace. Packets carry `payload` bytes.
    pub fn initial_pace_conflict(&self, payload: u32) -> Option<(String, String)> {
        let (pace, window) = (self.initial_pace?, self.initial_window);
        let packets = |bytes: u64| bytes / u64::from(payload);
        let unpaced = InitialWindow::Rfc6928.bytes(payload);
        if !self.paced {
            return Some(("only a flow that is paced has it".into(), "paced = true".into()));
        }
        if !self.handshake || self.data_in_syn != DataInSyn::Never {
            let expected = "handshake = true, and data_in_syn = \"never\"";
            return Some((
                "it needs the round-trip time of a handshake before the data".into(),
                expected.into(),
            ));
        }
        if window <= unpaced {
            let unpaced = packets(unpaced);
            let why = format!(
                "profile linux never paces the first {unpaced} packets, and initial_window is {}",
                packets(window)
            );
            return Some((why, format!("a larger initial_window than {unpaced} packets")));
        }
        if (window..2 * window).contains(&pace) {
            return None;
        }
        let why = format!("the initial window is {} packets", packets(window));
        let most = packets(2 * window - 1);
        let expected = format!(
            "{} to {most} packets: profile linux paces at twice the window by itself",
            packets(window)
        );
        Some((why, expected))
    }

    /// Mean number of connections in a run of this duration.
    pub fn expected(&self, duration: Option<Nanos>) -> f64 {
        let run = duration.unwrap_or(Nanos::ZERO).0 as f64;
        let begin = match (self.count, self.start) {
            (Some(count), _) => count.into(),
            (None, Start::Every(gap) | Start::Exponential(gap)) => run / gap.0.max(1) as f64,
            (None, Start::At(_) | Start::Uniform(..)) => 1.0,
        };
        match self.source {
            Source::Web(Pages { persistent: false, pages, objects, .. }) => {
                // Rounding up adds one half or so.
                begin * f64::from(pages) * (objects.mean() + 0.5)
            }
            Source::Flow | Source::Telnet(_) | Source::Web(Pages { persistent: true, .. }) => {
                begin * f64::from(self.parallel)
            }
        }
    }

    /// The name of the group's flow `index` in results: `bulk.0`.
    pub fn flow_name(&self, index: u32) -> String {
        format!("{}.{index}", self.name)
    }
}

/// Processor of a sending host that searches its retransmission queue for what an ACK reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Time for each packet of the queue that an ACK makes it visit.
    pub walk: Nanos,
    /// ACKs that may wait for it; further ones are lost. If `None`, without limit.
    pub backlog: Option<u32>,
}

/// Traffic of the connections of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// `[[flow]]`: each transfers `size`.
    Flow,
    /// `[[telnet]]`: each sends messages of `size` at these intervals.
    Telnet(Interval),
    /// `[[web]]`: sessions of pages with objects of `size`.
    Web(Pages),
}

/// Time from one message to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Measurements of telnet by P. Danzig and S. Jamin.
    Tcplib,
    /// A distribution.
    Law(Dist<Nanos>),
}

/// Pages of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pages {
    /// Number of pages.
    pub pages: u32,
    /// Time from the beginning of a page's last object to the next page.
    pub page_gap: Dist<Nanos>,
    /// Objects of a page; each draw is rounded up.
    pub objects: Dist<f64>,
    /// Time from the beginning of an object to the beginning of the next object of its page.
    pub object_gap: Dist<Nanos>,
    /// Whether all objects of a session share its parallel connections.
    pub persistent: bool,
}

/// Transfers of one connection, each after an idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Number of transfers, the first included.
    pub count: u32,
    /// Time from the end of a transfer to the beginning of the next.
    pub idle: Nanos,
    /// Each idle time is longer by up to this, uniformly.
    pub jitter: Nanos,
}

/// A source of datagrams at a constant rate, possibly on and off.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpSource {
    /// Name in results.
    pub name: String,
    /// Rate on the wire while it is on.
    pub rate: Rate,
    /// Size of its packets, bytes on the wire; at most a full packet.
    pub size: u32,
    /// Start time; an on period begins then.
    pub start: Nanos,
    /// Lengths of the periods; if `None`, always on.
    pub on_off: Option<OnOff>,
    /// Endpoints.
    pub endpoints: Endpoints,
}

/// Alternating periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Length of a period in which it sends.
    pub on: Dist<Nanos>,
    /// Length of a period in which it does not.
    pub off: Dist<Nanos>,
}

/// Endpoints of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoints {
    /// Across the dumbbell.
    Path(Direction),
    /// Between two nodes of the graph, by index; ACKs have a way back.
    Nodes {
        /// Node that sends the data.
        from: usize,
        /// Node that receives the data.
        to: usize,
    },
    /// Each flow runs between one of these pairs of nodes, drawn at random; at least two.
    Pairs(Vec<(usize, usize)>),
}

words! {
    /// Direction across a dumbbell.
    Direction {
        /// The data crosses the forward bottleneck.
        Forward = "forward",
        /// The data crosses the reverse bottleneck, its ACKs the forward one.
        Reverse = "reverse",
    }
}

/// Start times of the flows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All flows at this time.
    At(Nanos),
    /// Flow `i` at `i` times this.
    Every(Nanos),
    /// A Poisson process: gaps with this mean, the first gap before the first flow.
    Exponential(Nanos),
    /// Each flow on its own, uniformly between the two.
    Uniform(Nanos, Nanos),
}
