//! A host small enough to be obviously legal: it turns arbitrary operations into events a real host could
//! report.

use std::collections::VecDeque;

use firstflight_contract::{
    Ack, Congestion, Control, Entry, Load, Lost, Nanos, Plan, Rate, StartupExit, Trigger,
};
use firstflight_host::chain::Chain;
use firstflight_host::round::RoundCounter;
use firstflight_schemes::registry::AnyPhase;
use proptest::prelude::*;

/// The next operation. Amounts are packets unless a field states another unit; the model reduces them to legal amounts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// The application writes and the window lets this much out.
    Send(u64),
    /// An ACK for this much after this gap, its RTT this far above the path's.
    Ack {
        packets: u64,
        gap: Nanos,
        queued: Nanos,
        growth: Growth,
        app_limited: bool,
        timed: bool,
        feedback: i64,
        load: Load,
    },
    /// This much was lost.
    Loss { packets: u64, base: Base },
    /// The path marked a packet.
    Mark,
    /// The retransmission timer fired.
    Timeout { base: Base },
    /// Nothing happens for this long; the window falls back to the initial one, or stays.
    Idle { gap: Nanos, restart: bool },
    /// The last episode turns out to have been spurious.
    Spurious,
}

/// The host's growth rule: [`Ack::growth`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Growth {
    None,
    OneSegment,
    TwoSegments,
    All,
}

/// The host's choice of [`Congestion::base`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    Flight,
    Window,
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let base = || prop_oneof![Just(Base::Flight), Just(Base::Window)];
    let growth = prop_oneof![
        1 => Just(Growth::None),
        4 => Just(Growth::OneSegment),
        1 => Just(Growth::TwoSegments),
        4 => Just(Growth::All),
    ];
    // ACKs come back to back, at a bottleneck's pace or after most of a round trip.
    let gap = prop_oneof![Just(0), 1..2_000_000u64, 1_000_000..300_000_000u64].prop_map(Nanos);
    let queued = prop_oneof![Just(0), 0..200_000_000u64].prop_map(Nanos);
    let packets = prop_oneof![Just(1), 1..4u64, 1..200u64];
    // Sixteen megabytes either way, in 2^-16 bytes.
    let feedback = prop_oneof![Just(0), -(1_i64 << 24)..1_i64 << 24, -(1_i64 << 40)..1_i64 << 40];
    let load = prop_oneof![Just(Load::Unknown), Just(Load::Low), Just(Load::High), Just(Load::Over)];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.95));
    prop_oneof![
        8 => (1..400u64).prop_map(Op::Send),
        40 => (packets, gap, queued, growth, flags, feedback, load).prop_map(
            |(packets, gap, queued, growth, (app_limited, timed), feedback, load)| {
                Op::Ack { packets, gap, queued, growth, app_limited, timed, feedback, load }
            }
        ),
        2 => (1..100u64, base()).prop_map(|(packets, base)| Op::Loss { packets, base }),
        1 => Just(Op::Mark),
        1 => base().prop_map(|base| Op::Timeout { base }),
        1 => (1..60u64, any::<bool>())
            .prop_map(|(s, restart)| Op::Idle { gap: Nanos::from_secs(s), restart }),
        1 => Just(Op::Spurious),
    ]
}

/// Beginning of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub(crate) mss: u32,
    pub(crate) initial_window: u64,
    pub(crate) ssthresh: Option<u64>,
    pub(crate) flow_size: u64,
    pub(crate) receive_window: u64,
    pub(crate) rtt: Nanos,
    pub(crate) plan: Plan,
}

/// A plan of a memory of the path: none, or any combination of window, threshold and RTT.
fn plan() -> impl Strategy<Value = Plan> {
    let amount = || prop_oneof![Just(0), 1..3_000_000u64, Just(u64::MAX)];
    let rtt = prop_oneof![Just(0), 100_000..600_000_000u64].prop_map(Nanos);
    let some = (amount(), amount(), rtt).prop_map(|(cwnd, ssthresh, rtt)| Plan {
        cwnd,
        ssthresh,
        rtt,
        samples: 1,
        ..Plan::default()
    });
    prop_oneof![Just(Plan::default()), some]
}

pub(crate) fn begin() -> impl Strategy<Value = Begin> {
    let amount = || prop_oneof![Just(0), 1..2_000_000u64, Just(u64::MAX)];
    (
        prop_oneof![Just(536), Just(1000), Just(1448), Just(8960)],
        1..20u64,
        prop::option::of(1..2000u64),
        amount(),
        amount(),
        prop_oneof![Just(0), 100_000..600_000_000u64].prop_map(Nanos),
        plan(),
    )
        .prop_map(|(mss, initial_window, ssthresh, flow_size, receive_window, rtt, plan)| Begin {
            mss,
            initial_window,
            ssthresh,
            flow_size,
            receive_window,
            rtt,
            plan,
        })
}

/// Subject of the suite: a chain of phases, possibly with an injected fault.
pub(crate) trait Subject {
    fn start(&mut self, entry: &Entry, initial_window: u64, ssthresh: u64);
    fn on_ack(&mut self, ack: &Ack);
    fn on_congestion(&mut self, event: &Congestion);
    fn on_idle(&mut self, entry: Entry);
    fn on_spurious(&mut self);
    fn on_lost(&mut self, lost: &Lost);
    fn control(&mut self) -> &mut Control;
    fn exit(&self) -> Option<StartupExit>;
    fn in_avoidance(&self) -> bool;
}

impl Subject for Chain<AnyPhase> {
    fn start(&mut self, entry: &Entry, initial_window: u64, ssthresh: u64) {
        Chain::start(self, entry, initial_window, ssthresh);
    }
    fn on_ack(&mut self, ack: &Ack) {
        Chain::on_ack(self, ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        Chain::on_congestion(self, event);
    }
    fn on_idle(&mut self, entry: Entry) {
        Chain::on_idle(self, entry);
    }
    fn on_spurious(&mut self) {
        Chain::on_spurious(self);
    }
    fn on_lost(&mut self, lost: &Lost) {
        Chain::on_lost(self, lost);
    }
    fn control(&mut self) -> &mut Control {
        &mut self.control
    }
    fn exit(&self) -> Option<StartupExit> {
        self.startup_exit()
    }
    fn in_avoidance(&self) -> bool {
        Chain::in_avoidance(self)
    }
}

/// Everything up to `sent` bytes had left by then.
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    sent: u64,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    at: Nanos,
}

/// The model's own state, always consistent: what was sent is delivered, lost or in flight.
pub(crate) struct Host {
    mss: u64,
    initial_window: u64,
    base_rtt: Nanos,
    now: Nanos,
    sent: u64,
    delivered: u64,
    lost: u64,
    retransmitted: u64,
    in_flight: u64,
    /// Totals of sent and delivered bytes at the last departures of each window.
    departures: VecDeque<Departure>,
    min_rtt: Nanos,
    srtt: Nanos,
    rounds: RoundCounter,
    /// Bytes still to be delivered until the end of recovery.
    recovery: u64,
    /// Whether an episode may still prove spurious.
    undoable: bool,
}

/// Result of one operation.
#[derive(Debug)]
pub(crate) enum Event {
    Nothing,
    Ack(Ack),
    Congestion(Congestion),
    Idle,
    Spurious,
}

impl Host {
    pub(crate) fn begin(begin: Begin, subject: &mut impl Subject) -> Self {
        let mss = u64::from(begin.mss);
        let host = Self {
            mss,
            initial_window: begin.initial_window * mss,
            base_rtt: Nanos(begin.rtt.0.max(1_000_000)),
            now: Nanos::from_millis(7),
            sent: 0,
            delivered: 0,
            lost: 0,
            retransmitted: 0,
            in_flight: 0,
            departures: VecDeque::new(),
            min_rtt: Nanos::ZERO,
            srtt: begin.rtt,
            rounds: RoundCounter::default(),
            recovery: 0,
            undoable: false,
        };
        let entry = Entry {
            now: host.now,
            rtt: begin.rtt,
            flow_size: begin.flow_size,
            receive_window: begin.receive_window,
            plan: begin.plan,
            mss: begin.mss,
            ..Entry::default()
        };
        let ssthresh = begin.ssthresh.map_or(u64::MAX, |packets| packets * mss);
        subject.start(&entry, host.initial_window, ssthresh);
        host
    }

    fn send(&mut self, packets: u64, window: u64) {
        let room = window.saturating_sub(self.in_flight) / self.mss;
        let bytes = packets.min(room) * self.mss;
        self.sent += bytes;
        self.in_flight += bytes;
        self.note_departure();
    }

    fn note_departure(&mut self) {
        let Self { sent, delivered, lost, in_flight, now: at, .. } = *self;
        self.departures.push_back(Departure { sent, delivered, lost, in_flight, at });
    }

    /// When the newest of what is no longer in flight had left.
    fn departure(&mut self) -> Departure {
        let gone = self.sent - self.in_flight;
        while self.departures.len() > 1 && self.departures[0].sent < gone {
            self.departures.pop_front();
        }
        self.departures[0]
    }

    fn base(&self, base: Base, window: u64) -> u64 {
        match base {
            Base::Flight => self.in_flight.max(self.mss),
            Base::Window => window,
        }
    }

    /// Performs `op` on `subject`.
    pub(crate) fn perform(&mut self, op: Op, subject: &mut impl Subject) -> Event {
        let window = subject.control().cwnd;
        if self.in_flight == 0 {
            self.send(1, window);
        }
        match op {
            Op::Send(packets) => {
                self.send(packets, window);
                Event::Nothing
            }
            Op::Ack { packets, gap, queued, growth, app_limited, timed, feedback, load } => {
                let ack = self.ack(packets * self.mss, gap, queued, growth, app_limited, timed);
                let ack = Ack { feedback, load, ..ack };
                subject.on_ack(&ack);
                Event::Ack(ack)
            }
            Op::Loss { packets, base } if self.recovery == 0 => {
                let lost = (packets * self.mss).min(self.in_flight);
                self.lost += lost;
                let event = self.episode(Trigger::Loss, lost, self.base(base, window));
                subject.on_congestion(&event);
                self.report_losses(lost, subject);
                self.retransmit(lost);
                self.recovery = self.in_flight;
                Event::Congestion(event)
            }
            Op::Mark if self.recovery == 0 => {
                let event = self.episode(Trigger::Mark, 0, window);
                subject.on_congestion(&event);
                self.recovery = self.in_flight;
                Event::Congestion(event)
            }
            Op::Timeout { base } => {
                self.now += Nanos::from_secs(1);
                let lost = self.in_flight;
                self.lost += lost;
                let event = self.episode(Trigger::Timeout, lost, self.base(base, window));
                subject.on_congestion(&event);
                self.report_losses(lost, subject);
                self.in_flight = 0;
                self.retransmit(self.mss);
                self.recovery = 0;
                Event::Congestion(event)
            }
            Op::Idle { gap, restart } => {
                self.delivered += self.in_flight;
                (self.in_flight, self.recovery) = (0, 0);
                self.now += gap;
                if restart {
                    subject.control().cwnd = window.min(self.initial_window);
                }
                subject.on_idle(Entry { now: self.now, rtt: self.srtt, window, ..Entry::default() });
                Event::Idle
            }
            Op::Spurious if self.undoable => {
                self.undoable = false;
                self.recovery = 0;
                subject.on_spurious();
                Event::Spurious
            }
            Op::Loss { .. } | Op::Mark | Op::Spurious => Event::Nothing,
        }
    }

    fn ack(
        &mut self,
        bytes: u64,
        gap: Nanos,
        queued: Nanos,
        growth: Growth,
        app_limited: bool,
        timed: bool,
    ) -> Ack {
        self.now += gap;
        let before = self.in_flight;
        let acked = bytes.min(before);
        self.in_flight -= acked;
        self.delivered += acked;
        let left = self.departure();
        let rtt = self.base_rtt + queued;
        self.min_rtt = if self.min_rtt == Nanos::ZERO { rtt } else { self.min_rtt.min(rtt) };
        self.srtt =
            if self.srtt == Nanos::ZERO { rtt } else { Nanos(self.srtt.0 - self.srtt.0 / 8 + rtt.0 / 8) };
        let growth = match growth {
            Growth::None => 0,
            Growth::OneSegment => acked.min(self.mss),
            Growth::TwoSegments => acked.min(2 * self.mss),
            Growth::All => acked,
        };
        let mut flags = if self.rounds.on_ack(self.delivered, self.sent) { Ack::ROUND_START } else { 0 };
        if self.recovery > 0 {
            self.recovery = self.recovery.saturating_sub(acked);
            flags |= if self.recovery > 0 { Ack::RECOVERY } else { 0 };
        }
        if app_limited {
            flags |= Ack::APP_LIMITED | Ack::RATE_LIMITED;
        }
        Ack {
            now: self.now,
            rtt: if timed { rtt } else { Nanos::ZERO },
            min_rtt: self.min_rtt,
            srtt: self.srtt,
            acked,
            growth,
            delivered: self.delivered,
            sent: self.sent,
            lost: self.lost,
            retransmitted: self.retransmitted,
            in_flight: before,
            pipe: self.in_flight,
            ce: 0,
            rate: Rate::of(self.delivered - left.delivered, self.now - left.at),
            prior_delivered: left.delivered,
            prior_lost: left.lost,
            prior_in_flight: left.in_flight,
            granted: Rate::NONE,
            feedback: 0,
            load: Load::Unknown,
            round: self.rounds.count(),
            flags,
            mss: self.mss as u32,
        }
    }

    /// Reports the last `bytes` of `self.lost`, a packet at a time.
    fn report_losses(&mut self, bytes: u64, subject: &mut impl Subject) {
        let left = self.departure();
        let before = self.lost - bytes;
        for packet in 1..=bytes / self.mss {
            let lost = before + packet * self.mss;
            subject.on_lost(&Lost {
                now: self.now,
                bytes: self.mss,
                number: lost / self.mss,
                delivered: self.delivered,
                lost,
                prior_delivered: left.delivered,
                prior_lost: left.lost.min(before),
                prior_in_flight: left.in_flight.max(self.mss),
                flags: 0,
                mss: self.mss as u32,
            });
        }
    }

    fn episode(&mut self, trigger: Trigger, lost: u64, base: u64) -> Congestion {
        self.undoable = true;
        Congestion {
            now: self.now,
            in_flight: self.in_flight,
            base,
            lost,
            min_rtt: self.min_rtt,
            trigger,
            mss: self.mss as u32,
        }
    }

    fn retransmit(&mut self, bytes: u64) {
        self.sent += bytes;
        self.retransmitted += bytes;
        self.in_flight = self.in_flight.max(bytes);
        self.note_departure();
    }
}
