//! One connection: the calls of quinn become events of the contract.

use firstflight_contract::{Ack, Congestion, Entry, Nanos, Plan, Signals, Trigger};
use firstflight_host::chain::Chain;
use firstflight_host::episode::Episodes;
use firstflight_host::rate_sampler::RateSampler;
use firstflight_host::replay::{Answer, Event, Record};
use firstflight_host::round::RoundCounter;
use firstflight_schemes::registry::AnyPhase;

use crate::log::Writer;
use crate::sent::{Batch, Sent};

/// Batches older than this many round-trip times before the newest acknowledged one are forgotten. quinn declares a packet
/// lost 9/8 of a round-trip time after it left (RFC 9002 section 6.1.2).
const REMEMBERED: u64 = 4;

/// RFC 9002 section 7.2: the smallest window, datagrams.
const LEAST_WINDOW: u64 = 2;

/// The start of a connection as the user of the scheme chose it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    /// Bytes.
    pub(crate) initial_window: u64,
    /// Bytes.
    pub(crate) ssthresh: u64,
    pub(crate) plan: Plan,
}

/// State of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    chain: Chain<AnyPhase>,
    beginning: Beginning,
    /// Whether the first ACK has come: it measures the round-trip time with which the scheme begins.
    begun: bool,
    reports_sent: bool,
    mss: u32,
    sent_bytes: u64,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    min_rtt: Nanos,
    rounds: RoundCounter,
    episodes: Episodes,
    sampler: RateSampler,
    sent: Sent,
    pending: Pending,
    log: Option<Writer>,
}

/// The ACK that quinn is reporting packet by packet.
#[derive(Clone, Debug, Default)]
struct Pending {
    bytes: u64,
    growth: u64,
    packets: u32,
    srtt: Nanos,
    newest: Option<Newest>,
}

/// The newest packet of an ACK.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Nanos,
    batch: Option<Batch>,
}

impl Connection {
    pub(crate) fn new(phases: Vec<AnyPhase>, beginning: Beginning, mss: u32, log: Option<Writer>) -> Self {
        let chain = Chain::new(phases).expect("the scheme was checked when it was named");
        Self {
            reports_sent: chain.needs().has(Signals::SENT),
            chain,
            beginning,
            begun: false,
            mss,
            sent_bytes: 0,
            delivered: 0,
            lost: 0,
            in_flight: 0,
            min_rtt: Nanos::NEVER,
            rounds: RoundCounter::default(),
            episodes: Episodes::default(),
            sampler: RateSampler::default(),
            sent: Sent::default(),
            pending: Pending::default(),
            log,
        }
    }

    /// Reports an event to the scheme.
    fn report(&mut self, event: Event) {
        let (answer, rest) = self.chain.tell(&event);
        if let Some(log) = &self.log {
            log.add(Record { event, answer });
        }
        if let Event::Ack(ack) = event
            && rest > 0
        {
            // The part of the ACK beyond the threshold is the next phase's.
            self.report(Event::Ack(Ack { acked: 0, rtt: Nanos::ZERO, growth: rest, ce: 0, ..ack }));
        }
    }

    /// Bytes that may be in flight.
    pub(crate) fn window(&self) -> u64 {
        let window = if self.begun { self.chain.control.cwnd } else { self.beginning.initial_window };
        window.max(LEAST_WINDOW * u64::from(self.mss))
    }

    pub(crate) fn initial_window(&self) -> u64 {
        self.beginning.initial_window
    }

    /// Registers, and the end of start-up.
    pub(crate) fn answer(&self) -> Answer {
        Answer { control: self.chain.control, exit: self.chain.startup_exit() }
    }

    pub(crate) fn on_sent(&mut self, now: Nanos, bytes: u64) {
        let stamp = self.sampler.on_sent(now, self.in_flight == 0);
        self.sent.add(now, self.sent_bytes, bytes, stamp);
        self.sent_bytes += bytes;
        self.in_flight += bytes;
        if self.reports_sent && self.begun {
            let mss = self.mss;
            self.report(Event::Sent(firstflight_contract::Sent { now, bytes, mss }));
        }
    }

    /// A packet of `bytes` that left at `sent_at` is acknowledged. `limited`: the application had nothing to send.
    pub(crate) fn on_packet_acked(&mut self, sent_at: Nanos, bytes: u64, limited: bool, srtt: Nanos) {
        let batch = self.sent.find(sent_at);
        // RFC 9002 section 7.3.2: no growth by packets that were sent before the recovery period began. Section 7.8: none
        // while the window is underutilized.
        let recovered = batch.is_some_and(|batch| {
            self.episodes.on_ack(batch.start);
            !self.episodes.is_recovering()
        });
        let pending = &mut self.pending;
        pending.bytes += bytes;
        pending.packets += 1;
        pending.srtt = srtt;
        if recovered && !limited {
            pending.growth += bytes;
        }
        if pending.newest.is_none_or(|newest| newest.sent_at <= sent_at) {
            pending.newest = Some(Newest { sent_at, batch });
        }
        if let Some(batch) = batch {
            self.sampler.on_delivered(&batch.stamp, batch.at, batch.start);
        }
    }

    /// All packets of an ACK were reported; `in_flight` bytes are left.
    pub(crate) fn on_ack_done(&mut self, now: Nanos, in_flight: u64, limited: bool) {
        let pending = std::mem::take(&mut self.pending);
        let Some(newest) = pending.newest else { return };
        self.in_flight = in_flight;
        let rtt = now.saturating_sub(newest.sent_at);
        self.min_rtt = self.min_rtt.min(rtt);
        self.delivered += pending.bytes;
        let sample = self.sampler.sample(now, pending.bytes, self.min_rtt);
        if limited {
            self.sampler.set_app_limited(in_flight);
        }
        // quinn updates its smoothed time after this call; before the first sample it holds a default.
        let srtt = if self.begun { pending.srtt } else { rtt };
        if !self.begun {
            self.begun = true;
            let Beginning { initial_window, ssthresh, plan } = self.beginning;
            let (flow_size, receive_window) = (u64::MAX, u64::MAX);
            let entry = Entry {
                now,
                rtt,
                in_flight,
                flow_size,
                receive_window,
                plan,
                mss: self.mss,
                ..Entry::default()
            };
            self.report(Event::Start { entry, initial_window, ssthresh });
        }
        let round_starts = newest.batch.is_some_and(|batch| self.rounds.on_ack(batch.end, self.sent_bytes));
        let flags = [
            (round_starts, Ack::ROUND_START),
            (limited, Ack::APP_LIMITED),
            (self.episodes.is_recovering(), Ack::RECOVERY),
            (sample.limited, Ack::RATE_LIMITED),
            (pending.packets == 1, Ack::MAYBE_DELAYED),
        ];
        self.report(Event::Ack(Ack {
            now,
            rtt,
            min_rtt: self.min_rtt,
            srtt,
            acked: pending.bytes,
            growth: pending.growth,
            delivered: self.delivered,
            sent: self.sent_bytes,
            lost: self.lost,
            retransmitted: 0,
            in_flight: in_flight + pending.bytes,
            pipe: in_flight,
            rate: sample.rate(),
            prior_delivered: sample.prior_delivered,
            round: self.rounds.count(),
            flags: flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag),
            mss: self.mss,
            ..Ack::default()
        }));
        let remembered = Nanos(REMEMBERED.saturating_mul(rtt.max(srtt).0));
        self.sent.forget_before(newest.sent_at.saturating_sub(remembered));
    }

    /// Packets were lost, the newest of which left at `sent_at`, or were marked (`lost` is zero). `persistent`: all packets of
    /// a persistent congestion period were lost.
    pub(crate) fn on_congestion(&mut self, now: Nanos, sent_at: Nanos, persistent: bool, lost: u64) {
        self.lost += lost;
        let in_flight = self.in_flight.max(lost);
        self.in_flight = in_flight - lost;
        if !self.begun {
            // Nothing was acknowledged yet: the scheme has not begun.
            return;
        }
        let position = self.sent.find(sent_at).map_or(0, |batch| batch.start);
        let trigger = match (persistent, lost) {
            (true, _) => Trigger::Timeout,
            (false, 0) => Trigger::Mark,
            (false, _) => Trigger::Loss,
        };
        let begins = match trigger {
            Trigger::Timeout => self.episodes.on_timeout(self.delivered, self.sent_bytes),
            Trigger::Mark => self.episodes.on_mark(position, self.sent_bytes),
            Trigger::Loss => self.episodes.on_loss(position, self.sent_bytes),
        };
        if begins {
            self.report(Event::Congestion(Congestion {
                now,
                in_flight: in_flight.max(1),
                base: self.chain.control.cwnd.max(1),
                lost,
                min_rtt: self.min_rtt,
                trigger,
                mss: self.mss,
            }));
        }
    }

    /// The largest datagram has `mtu` bytes now.
    pub(crate) fn on_mtu(&mut self, mtu: u32) {
        self.mss = mtu;
        if self.begun {
            self.report(Event::Mss(mtu));
        }
    }
}
