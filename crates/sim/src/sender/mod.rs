//! A TCP sender: sequence space, timers, window, in front of a chain of schemes.
//!
//! It counts segments; the schemes see bytes. It knows no network: what it sends goes to a [`Port`], and it may
//! run ahead of everybody else's clock, because nothing but its own ACKs and timers moves it. An ACK that finds
//! nothing out of order takes the short path, `Sender::on_next_ack`; everything else is in `recovery`.

pub mod app;
pub mod cut;
mod delivery;
mod driven;
pub mod info;
mod opening;
pub(crate) mod routers;
pub mod rto;
mod rto_linux;
pub mod scoreboard;
pub mod stack;
pub(crate) mod stamps;
mod timers;
mod validate;
mod window;

use crate::packet::{self, Blocks};
use crate::recovery::rack::Rack;
use app::App;
use delivery::Delivery;
use firstflight_contract::{Ack, DescribeAck, Nanos, Plan, Rate, Signals};
use firstflight_host::chain::Chain;
use firstflight_host::pacer::Pacer;
use firstflight_host::round::RoundCounter;
use firstflight_schemes::registry::AnyPhase;
use routers::{Carries, Routers};
use rto::Rto;
use scoreboard::Scoreboard;
use stack::{BYTE_COUNTING, IdleRestart, Stack};
use stamps::{REPEATED, Ring};
use validate::Validation;

/// Where a sender's packets go.
pub trait Port {
    /// `segment` leaves at `now`; `words` are the flags of a data packet and what it carries for routers.
    fn transmit(&mut self, now: u64, segment: u32, words: (u64, u64), retransmission: bool);
    /// The opening packet of a handshake leaves at `now`.
    fn transmit_syn(&mut self, now: u64, words: (u64, u64));
    /// `segment` becomes two, the first of `bytes` payload bytes, and the segments after it are numbered anew. Only a receive
    /// window that ends inside a segment asks for it, and none in the simulator does.
    fn split(&mut self, _segment: u32, _bytes: u32) {
        unreachable!("receive windows of this host end between segments");
    }
}

/// An ACK as it reaches the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckIn {
    /// The next segment the receiver expects.
    pub seq: u32,
    /// Packed SACK blocks and flags.
    pub low: u64,
    /// Packed SACK blocks.
    pub high: u64,
}

impl AckIn {
    pub(crate) fn blocks(&self) -> Blocks {
        packet::unpack_blocks(self.seq, self.low, self.high)
    }

    pub(crate) fn echoes_mark(&self) -> bool {
        self.low & packet::CWR_ECE != 0
    }
}

/// Where loss repair stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Nothing to repair.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until everything sent before it is acknowledged.
    Loss,
}

/// What the schemes are told of one ACK, segments and nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// Newly delivered.
    pub(crate) delivered: u32,
    /// By how many of them the window may grow.
    pub(crate) growth: u32,
    /// In flight before the ACK, and after it.
    pub(crate) in_flight: u32,
    pub(crate) pipe: u32,
    /// The newest RTT sample.
    pub(crate) rtt: u64,
    /// Of [`Ack::flags`], all but the start of a round.
    pub(crate) flags: u32,
    /// The delivery-rate sample, and the bytes delivered when its segment left.
    pub(crate) rate: Rate,
    pub(crate) prior_delivered: u64,
}

/// The same with what the sender counts, bytes only where somebody reads them.
struct Account<'a> {
    now: u64,
    told: &'a Told,
    flags: u32,
    mss: u64,
    min_rtt: u64,
    delivered: u64,
    lost: u64,
    stats: &'a SenderStats,
    rto: &'a Rto,
    rounds: &'a RoundCounter,
    routers: &'a Routers,
}

impl DescribeAck for Account<'_> {
    #[inline(always)]
    fn describe(&self) -> Ack {
        let (told, mss) = (self.told, self.mss);
        Ack {
            now: Nanos(self.now),
            rtt: Nanos(told.rtt),
            min_rtt: Nanos(if self.min_rtt == u64::MAX { 0 } else { self.min_rtt }),
            srtt: Nanos(self.rto.srtt()),
            acked: u64::from(told.delivered) * mss,
            growth: u64::from(told.growth) * mss,
            delivered: self.delivered * mss,
            sent: self.stats.sent * mss,
            lost: self.lost * mss,
            retransmitted: self.stats.retransmits * mss,
            in_flight: u64::from(told.in_flight) * mss,
            pipe: u64::from(told.pipe) * mss,
            rate: told.rate,
            prior_delivered: told.prior_delivered,
            round: self.rounds.count(),
            flags: self.flags,
            feedback: self.routers.feedback,
            load: self.routers.load,
            mss: mss as u32,
            ..Ack::default()
        }
    }
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderStats {
    /// Segments sent, repeats included.
    pub sent: u64,
    /// Largest window, bytes.
    pub max_cwnd: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Times the retransmission timer fired.
    pub timeouts: u64,
    /// Congestion episodes: losses, marks and timeouts that the schemes heard of.
    pub episodes: u64,
    /// Segments sent before the first ACK.
    pub first_flight: u32,
}

/// One connection's sending end.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    // What every ACK touches comes first, in few cache lines.
    /// First segment not acknowledged.
    pub(crate) una: u32,
    /// Next segment to send; after a timeout it goes back.
    pub(crate) nxt: u32,
    /// One past the highest segment ever sent.
    pub(crate) max: u32,
    /// Segments the application has handed over.
    pub(crate) available: u32,
    /// Segments up to the end of the first write that is not acknowledged.
    pub(crate) write_end: u32,
    /// The segment being timed, `u32::MAX` if none.
    pub(crate) timed: u32,
    /// Nothing but in-order ACKs has come: the short path applies.
    pub(crate) orderly: bool,
    /// The last attempt to send ended at the window, not at the application's end.
    pub(crate) limited: bool,
    /// Losses are found and repaired as Linux does it (`recovery/rack`).
    pub(crate) linux: bool,
    /// Segments are noted as they leave: marked, sampled, or told to the schemes.
    noted: bool,
    pub(crate) per_packet: bool,
    pub(crate) wants_sent: bool,
    finished: bool,
    pub(crate) established: bool,
    /// No timer is due before this.
    pub(crate) check_at: u64,
    pub(crate) rto_at: u64,
    pub(crate) mss: u64,
    /// Bytes of the window that other connections have in flight, where it is shared (`shared.rs`).
    pub(crate) elsewhere: u64,
    pub(crate) last_sent_at: u64,
    /// Payload segments delivered.
    pub(crate) delivered: u64,
    pub(crate) rounds: RoundCounter,
    pub(crate) stats: SenderStats,
    pub(crate) rto: Rto,
    pub(crate) stack: Stack,
    /// The schemes in force.
    pub chain: Chain<AnyPhase>,
    /// When each segment in flight was last sent, and what has become of it.
    pub(crate) stamps: Ring<u64>,
    pub(crate) rack: Rack,
    /// What the delivery rate is measured by, where a scheme asks for it.
    pub(crate) delivery: Option<Box<Delivery>>,
    pub(crate) timed_at: u64,
    pub(crate) min_rtt: u64,
    pub(crate) lost: u64,
    // What follows is touched only out of order, or rarely.
    pub(crate) board: Scoreboard,
    pub(crate) repair: Repair,
    pub(crate) dup_acks: u32,
    /// Segments outstanding when the first of them came.
    pub(crate) flight_at_dup: u32,
    /// Segments above `una` that duplicate ACKs without SACK stand for, and one past the highest that they can be.
    pub(crate) early: u32,
    pub(crate) early_end: u32,
    /// Segments by which duplicate ACKs inflate the window (RFC 5681 section 3.2).
    pub(crate) inflation: u32,
    /// ns-2's running pipe; RFC 6675's is computed.
    pub(crate) pipe: i64,
    /// One past the highest segment sent when the last episode began.
    pub(crate) recover: u32,
    pub(crate) partial_seen: bool,
    pub(crate) rescued: bool,
    pub(crate) after_timeout: bool,
    pub(crate) mark_until: u32,
    pub(crate) reduced_for_mark: bool,
    validation: Validation,
    /// The first segment not acknowledged when sending resumed after the last idle time.
    resumed: u32,
    /// A SYN with data is out, and nothing has answered it.
    pub(crate) opening: bool,
    /// Slow start that a timeout began has not ended.
    pub(crate) slow_after_timeout: bool,
    pub(crate) pacer: Pacer,
    pub(crate) pace_at: u64,
    pub(crate) app_at: u64,
    pub(crate) app: App,
    /// How to begin the next transfer, where others of its path know.
    pub(crate) plan: Plan,
    pub(crate) routers: Routers,
}

impl Sender {
    /// A connection that will begin when its application says so.
    pub fn new(stack: Stack, chain: Chain<AnyPhase>, app: App) -> Self {
        let needs = chain.needs();
        let linux = stack.recovery.is_rack();
        let per_packet = stack.rtt_per_ack || needs.has(Signals::RTT) || linux;
        let app_at = app.start();
        let wants_sent = needs.has(Signals::SENT);
        let wants_rate = needs.has(Signals::RATE);
        let carries = Carries::of(needs);
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            available: 0,
            write_end: u32::MAX,
            timed: u32::MAX,
            // Every ACK of a rate sample takes the long way, and every one that says what routers said.
            orderly: !wants_rate && carries == Carries::Nothing,
            limited: true,
            linux,
            noted: wants_sent
                || wants_rate
                || stack.ecn
                || stack.idle_restart == IdleRestart::Validate
                || carries != Carries::Nothing,
            per_packet,
            wants_sent,
            finished: app.finished(),
            established: false,
            check_at: app_at,
            rto_at: u64::MAX,
            mss: stack.mss.into(),
            elsewhere: 0,
            last_sent_at: 0,
            delivered: 0,
            rounds: RoundCounter::default(),
            stats: SenderStats::default(),
            rto: if linux { Rto::linux(stack.rto) } else { Rto::new(stack.rto) },
            stack,
            chain,
            stamps: Ring::new(per_packet),
            rack: Rack::default(),
            delivery: wants_rate.then(Box::default),
            timed_at: 0,
            min_rtt: u64::MAX,
            lost: 0,
            board: Scoreboard::default(),
            repair: Repair::Open,
            dup_acks: 0,
            early: 0,
            early_end: 0,
            flight_at_dup: 0,
            inflation: 0,
            pipe: 0,
            recover: 0,
            partial_seen: false,
            rescued: false,
            after_timeout: false,
            mark_until: 0,
            reduced_for_mark: false,
            validation: Validation::default(),
            resumed: 0,
            opening: false,
            slow_after_timeout: false,
            pacer: Pacer::default(),
            pace_at: u64::MAX,
            app_at,
            app,
            plan: Plan::default(),
            routers: Routers { carries, ..Routers::default() },
        }
    }

    /// An ACK arrives at `now`. Timers due before it fire first, at their own times.
    pub fn on_ack(&mut self, now: u64, mut ack: AckIn, port: &mut impl Port) {
        if now >= self.check_at {
            self.advance(now, port);
        }
        if self.expects(now, &ack) {
            return self.on_next_ack(now, ack.seq, port);
        }
        self.hear(&mut ack);
        let delivered = self.delivered;
        self.on_ack_out_of_order(now, ack, port);
        if self.delivered > delivered {
            // The schemes were told.
            self.routers.feedback = 0;
        }
    }

    /// Whether the short path is for this ACK: it acknowledges the next segments, nothing is out of order and no
    /// timer is due before it.
    #[inline(always)]
    pub(crate) fn expects(&self, now: u64, ack: &AckIn) -> bool {
        now < self.check_at && self.orderly && ack.low == 0 && ack.seq > self.una && ack.seq <= self.max
    }

    /// The short path.
    #[inline(always)]
    pub(crate) fn on_next_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        debug_assert!(self.orderly && self.una < ack && ack <= self.max);
        if self.linux {
            return self.rack_next_ack(now, ack, port);
        }
        let in_flight = self.nxt - self.una;
        let newly = ack - self.una;
        self.una = ack;
        let rtt = self.measure_rtt(now, ack);
        self.tell(now, (newly, newly), in_flight, rtt, 0);
        self.restart_rto(now);
        if self.una >= self.write_end {
            self.on_written_acked(now);
        }
        self.send_in_order(now, port);
    }

    /// Tells the schemes of a cumulative ACK of `advanced` segments, and counts those that had not been delivered before.
    pub(crate) fn deliver(
        &mut self,
        now: u64,
        (newly, advanced): (u32, u32),
        in_flight: u32,
        rtt: u64,
        flags: u32,
    ) {
        // What duplicates stood for is no longer in flight: of what this ACK covers, and of what it does not.
        let early = advanced - newly + self.early;
        self.deliver_counting(now, (newly, advanced), in_flight.saturating_sub(early), rtt, flags);
    }

    /// Tells the schemes of `newly` delivered segments, of which `advanced` may enlarge the window, and counts them.
    #[inline(never)]
    pub(crate) fn deliver_counting(
        &mut self,
        now: u64,
        newly_and_advanced: (u32, u32),
        in_flight: u32,
        rtt: u64,
        flags: u32,
    ) {
        self.tell(now, newly_and_advanced, in_flight, rtt, flags);
    }

    #[inline(always)]
    fn tell(&mut self, now: u64, (newly, advanced): (u32, u32), in_flight: u32, rtt: u64, flags: u32) {
        let counts = self.limited || !self.stack.grow_only_when_limited;
        // One segment is within every stack's limit.
        let growth = match advanced {
            _ if !counts => 0,
            0 | 1 => advanced,
            _ => advanced.min(self.growth_limit()),
        };
        let flags = flags | if self.limited { 0 } else { Ack::APP_LIMITED };
        let pipe = in_flight.saturating_sub(newly);
        self.tell_of(now, &Told { delivered: newly, growth, in_flight, pipe, rtt, flags, ..Told::default() });
    }

    /// Most segments by which an ACK may enlarge the window.
    #[cold]
    #[inline(never)]
    fn growth_limit(&self) -> u32 {
        let control = &self.chain.control;
        match self.stack.growth_per_ack {
            // RFC 3465: `L` bounds slow start only (section 2.2), and is one segment in the slow start that follows a
            // retransmission timeout (section 2.3).
            BYTE_COUNTING if control.cwnd >= control.ssthresh => u32::MAX,
            BYTE_COUNTING if self.slow_after_timeout => 1,
            limit => limit,
        }
    }

    /// Tells the schemes of an ACK, and counts what it delivered.
    #[inline(always)]
    pub(crate) fn tell_of(&mut self, now: u64, told: &Told) {
        self.delivered += u64::from(told.delivered);
        let started = self.rounds.on_ack(self.una.into(), self.nxt.into());
        let flags = told.flags | if started { Ack::ROUND_START } else { 0 };
        self.chain.on_described_ack(&Account {
            now,
            told,
            flags,
            mss: self.mss,
            min_rtt: self.min_rtt,
            delivered: self.delivered,
            lost: self.lost,
            stats: &self.stats,
            rto: &self.rto,
            rounds: &self.rounds,
            routers: &self.routers,
        });
        self.stats.max_cwnd = self.stats.max_cwnd.max(self.chain.control.cwnd);
    }

    /// The RTT sample that an ACK up to `ack` gives, or zero; the timeout learns from it.
    #[inline(always)]
    pub(crate) fn measure_rtt(&mut self, now: u64, ack: u32) -> u64 {
        if self.per_packet {
            return self.stamped_rtt(now, ack);
        }
        if ack > self.timed {
            self.timed = u32::MAX;
            return self.take_sample(self.timed_at, now);
        }
        0
    }

    fn stamped_rtt(&mut self, now: u64, ack: u32) -> u64 {
        let stamp = self.stamps.get(ack - 1);
        // Karn's rule: a segment sent twice gives no sample, and the backing off goes on.
        if stamp & REPEATED != 0 {
            return 0;
        }
        self.take_sample(stamps::sent(stamp), now)
    }

    #[inline(never)]
    fn take_sample(&mut self, sent: u64, now: u64) -> u64 {
        if self.linux {
            self.rto.sample_linux(now - sent, self.una, self.nxt);
        } else {
            self.rto.sample(sent, now);
        }
        self.min_rtt = self.min_rtt.min(now - sent);
        now - sent
    }

    /// The application has begun a write.
    pub(crate) fn hand_over(&mut self) {
        self.available = self.app.written();
        self.write_end = self.app.open_end();
    }

    /// The application has written, and may know already when it will again.
    pub(crate) fn on_written(&mut self, now: u64) {
        self.hand_over();
        self.app_at = self.app.after_write(now);
        self.check_at = self.check_at.min(self.app_at);
    }

    /// What was written is acknowledged, to the end of a write at least.
    #[cold]
    pub(crate) fn on_written_acked(&mut self, now: u64) {
        let next = self.app.on_acked(now, self.una);
        self.write_end = self.app.open_end();
        self.finished = self.app.finished();
        self.app_at = self.app_at.min(next);
        self.check_at = self.check_at.min(next);
    }

    /// When this sender next wants to act without an ACK; `u64::MAX` if never.
    #[inline]
    pub fn next_check(&self) -> u64 {
        self.check_at
    }

    /// Whether the application is done.
    #[inline]
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// What was counted.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// What the application got done.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Segments acknowledged cumulatively.
    #[inline]
    pub fn acked(&self) -> u32 {
        self.una
    }

    /// Segments between the first unacknowledged and the next to send.
    #[inline]
    pub fn flight(&self) -> u32 {
        self.nxt - self.una
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u64 {
        self.mss
    }
}
