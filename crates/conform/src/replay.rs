//! A chain of this program as a controller: it is told of calls by the rules of a stack.

use firstflight_contract::{Ack, Congestion, Entry, Nanos, Trigger};
use firstflight_host::chain::{Chain, ChainError};
use firstflight_host::replay::Event as Told;
use firstflight_host::round::RoundCounter;
use firstflight_schemes::registry::AnyPhase;

use crate::controller::{Answer, Broken, Call, Controller, Packet};
use crate::rules::{Rules, Underused};

/// Datagrams of the initial window (RFC 9002 section 7.2).
const INITIAL_WINDOW: u64 = 10;
/// Datagrams of the least window (RFC 9002 section 7.2).
const LEAST_WINDOW: u64 = 2;

/// A chain that is told calls.
#[derive(Clone, Debug)]
pub(crate) struct Replay<'a> {
    rules: &'a Rules,
    chain: Chain<AnyPhase>,
    rounds: RoundCounter,
    begun: bool,
    delivered: u64,
    lost: u64,
    /// Beginning of the last recovery: number of the next packet, and time.
    recovery: Option<(u64, Nanos)>,
    /// No packet that was sent after the beginning of the last recovery was delivered yet.
    recovering: bool,
    /// neqo: number of the first packet that left with an unused window; `None` before any packet left.
    first_underused: Option<u64>,
    /// s2n-quic: most bytes in flight since the last loss.
    most_in_flight: u64,
    /// s2n-quic: the last packet left with an unused window.
    last_underused: bool,
    in_flight: u64,
    /// Round trip of the last row that had one.
    last_rtt: Nanos,
    /// Smoothed round trip of the last row.
    last_srtt: Nanos,
}

impl<'a> Replay<'a> {
    /// A chain at rest.
    ///
    /// # Errors
    /// [`ChainError`] if the phases make no chain.
    pub(crate) fn new(phases: Vec<AnyPhase>, rules: &'a Rules) -> Result<Self, ChainError> {
        Ok(Self {
            rules,
            chain: Chain::new(phases)?,
            rounds: RoundCounter::default(),
            begun: false,
            delivered: 0,
            lost: 0,
            recovery: None,
            recovering: false,
            first_underused: None,
            most_in_flight: 0,
            last_underused: true,
            in_flight: 0,
            last_rtt: Nanos::ZERO,
            last_srtt: Nanos::ZERO,
        })
    }

    fn begin(&mut self, call: &Call) {
        self.begun = true;
        if self.rules.begins_recovering && !call.shares_path {
            (self.recovery, self.recovering) = (Some((0, Nanos::ZERO)), true);
        }
        // The flow begins at time 0.
        let entry = Entry {
            rtt: call.rtt.unwrap_or(call.srtt),
            in_flight: call.before,
            flow_size: u64::MAX,
            receive_window: u64::MAX,
            mss: call.mss as u32,
            ..Entry::default()
        };
        self.chain.start(&entry, self.initial_window(call.mss), u64::MAX);
    }

    /// Packets that left since the last row.
    fn send(&mut self, event: &Call) {
        for packet in &event.sent {
            let window = self.window(event.mss);
            if self.rules.underused == Underused::Neqo && !self.neqo_underused(window, event.mss) {
                self.first_underused = Some(packet.number + 1);
            }
            self.in_flight += event.mss;
            self.last_underused = event.limited && self.s2n_underused(window, event.mss);
        }
    }

    fn initial_window(&self, mss: u64) -> u64 {
        match self.rules.initial_window {
            0 => INITIAL_WINDOW * mss,
            bytes => bytes,
        }
    }

    fn window(&self, mss: u64) -> u64 {
        let window = if self.begun { self.chain.control.cwnd } else { self.initial_window(mss) };
        window.max(LEAST_WINDOW * mss)
    }

    fn starting(&self) -> bool {
        !self.chain.in_avoidance()
    }

    /// `app_limited` of neqo, before a packet leaves.
    fn neqo_underused(&self, window: u64, mss: u64) -> bool {
        if self.in_flight >= window {
            false
        } else if self.starting() {
            self.in_flight < window / 2
        } else {
            self.in_flight + 2 * mss < window
        }
    }

    /// `is_congestion_window_under_utilized` of s2n-quic, after a packet has left.
    fn s2n_underused(&self, window: u64, mss: u64) -> bool {
        let room = window.saturating_sub(self.in_flight);
        room >= mss && !(self.starting() && self.in_flight >= window / 2) && room > 3 * mss
    }

    /// The packet left before the last recovery began, or with its beginning.
    fn is_before_recovery(&self, packet: &Packet) -> bool {
        self.recovery.is_some_and(|(next, time)| match self.rules.by_time {
            true => packet.sent_at <= time,
            false => packet.number < next,
        })
    }

    fn lose(&mut self, event: &Call) {
        let Some(newest) = event.lost.last() else { return };
        let lost: u64 = event.lost.iter().map(|packet| packet.bytes).sum();
        self.lost += lost;
        self.most_in_flight = 0;
        if self.is_before_recovery(newest) {
            return;
        }
        self.recovery = Some((event.next, event.at));
        self.recovering = true;
        self.chain.on_congestion(&Congestion {
            now: event.at,
            in_flight: event.before.max(1),
            base: self.chain.control.cwnd.max(1),
            lost,
            min_rtt: event.min_rtt,
            trigger: if event.persistent { Trigger::Timeout } else { Trigger::Loss },
            mss: event.mss as u32,
        });
        let least = LEAST_WINDOW * event.mss;
        self.chain.control.cwnd = self.chain.control.cwnd.max(least);
    }

    /// Tells delivered packets; `last`: those of the acknowledgement are told with them.
    fn deliver(&mut self, event: &Call, packets: &[Packet], last: bool) {
        let acked: u64 = packets.iter().map(|packet| packet.bytes).sum();
        self.delivered += acked;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        let counted = packets.iter().filter(|packet| !self.is_before_recovery(packet));
        let counted: u64 = counted.map(|packet| packet.bytes).sum();
        if counted > 0 {
            self.recovering = false;
        }
        let underused = match self.rules.underused {
            Underused::Grows => false,
            Underused::NoData => event.limited,
            Underused::Neqo => {
                !packets.iter().any(|packet| self.first_underused.is_some_and(|first| packet.number < first))
            }
            Underused::S2n => self.last_underused,
        };
        // neqo tells nothing of such an acknowledgement, so that it begins no round.
        if underused && self.rules.underused == Underused::Neqo {
            return;
        }
        let mut growth = if underused { 0 } else { counted };
        if self.rules.underused == Underused::S2n {
            let most = match self.starting() {
                true => 2 * self.most_in_flight,
                false => self.most_in_flight + self.most_in_flight / 2,
            };
            growth = growth.min(most.saturating_sub(self.chain.control.cwnd));
        }
        let Some(newest) = packets.last() else { return };
        let starts = last
            && match self.rules.rounds_by_time {
                false => self.rounds.on_ack(newest.number + 1, event.next),
                true => self.rounds.on_ack(newest.sent_at.0 + 1, event.last_sent_at.0),
            };
        let flags = [
            (starts, Ack::ROUND_START),
            (underused, Ack::APP_LIMITED),
            (self.recovering, Ack::RECOVERY),
            (packets.len() == 1, Ack::MAYBE_DELAYED),
        ];
        let ack = Ack {
            now: event.at,
            rtt: match self.rules.last_rtt {
                true => self.last_rtt,
                false => event.rtt.unwrap_or_default(),
            },
            min_rtt: event.min_rtt,
            srtt: if self.rules.last_rtt && self.last_srtt > Nanos::ZERO {
                self.last_srtt
            } else {
                event.srtt
            },
            acked,
            growth,
            delivered: self.delivered,
            sent: event.sent_total,
            lost: self.lost,
            in_flight: event.before,
            pipe: event.after,
            round: self.rounds.count(),
            flags: flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag),
            mss: event.mss as u32,
            ..Ack::default()
        };
        self.tell(&ack);
    }

    /// Tells an acknowledgement; the part beyond the threshold is the next phase's.
    fn tell(&mut self, ack: &Ack) {
        let (_, rest) = self.chain.tell(&Told::Ack(*ack));
        if rest > 0 {
            let rest = Ack { acked: 0, rtt: Nanos::ZERO, growth: rest, ..*ack };
            self.chain.tell(&Told::Ack(rest));
        }
    }
}

impl Controller for Replay<'_> {
    fn answer(&mut self, call: &Call) -> Result<Answer, Broken> {
        self.send(call);
        if !self.begun {
            self.begin(call);
        }
        if self.rules.lost_first {
            self.lose(call);
        }
        match self.rules.each_packet {
            true => {
                for (at, packet) in call.acked.iter().enumerate() {
                    self.deliver(call, std::slice::from_ref(packet), at + 1 == call.acked.len());
                }
            }
            false => self.deliver(call, &call.acked, true),
        }
        if !self.rules.lost_first {
            self.lose(call);
        }
        self.in_flight = call.after;
        self.last_rtt = call.rtt.unwrap_or(self.last_rtt);
        self.last_srtt = call.srtt;
        Ok(Answer { cwnd: self.chain.control.cwnd, over: Some(self.chain.in_avoidance()) })
    }
}
