//! The state that every kind of sender has, and the report of an ACK to the schemes.

use super::app::{App, AppConfig};
use super::processor::Processor;
use super::routers::{Carries, Routers};
use super::rto::Rto;
use super::stack::{IdleRestart, ReceiveWindow, Stack};
use super::stamps::Ring;
use crate::ahead::touch;
use crate::alike::Alike;
use firstflight_contract::{Ack, DescribeAck, Moment, Nanos, Plan, Rate, Signals};
use firstflight_host::chain::Chain;
use firstflight_host::pacer::Pacer;
use firstflight_host::round::RoundCounter;
use firstflight_schemes::registry::AnyPhase;

/// What was lost and in flight when a segment left, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flight {
    /// Declared lost until then.
    pub(crate) lost: u64,
    /// In flight just after.
    pub(crate) in_flight: u64,
}

/// Measurements of one ACK for the schemes, nanoseconds and the [unit](Common::unit) of the kind of sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckSample {
    /// Newly delivered.
    pub(crate) delivered: u32,
    /// Newly delivered segments by which the window may grow.
    pub(crate) growth: u32,
    /// Bytes by which the newly delivered segments, and those of `growth`, are short of full ones, where short segments count as
    /// bytes.
    pub(crate) short: (u64, u64),
    /// In flight before the ACK.
    pub(crate) in_flight: u32,
    /// In flight after the ACK.
    pub(crate) pipe: u32,
    /// The newest RTT sample.
    pub(crate) rtt: u64,
    /// [`Ack::flags`] without the start of a round.
    pub(crate) flags: u32,
    /// The delivery-rate sample.
    pub(crate) rate: Rate,
    /// Bytes that had been delivered when the segment of that sample left.
    pub(crate) prior_delivered: u64,
    /// What was lost and in flight then, where a scheme asks for it.
    pub(crate) flight: Flight,
    /// Newly delivered, by an ACK that echoes a mark.
    pub(crate) marked: u32,
}

/// An ACK as the schemes see it. Amounts are converted to bytes only where a scheme reads them.
struct Report<'a> {
    now: u64,
    sample: &'a AckSample,
    flags: u32,
    mss: u64,
    unit: u64,
    min_rtt: u64,
    delivered: u64,
    lost: u64,
    stats: &'a SenderStats,
    sent_bytes: u64,
    repeated_bytes: u64,
    rto: &'a Rto,
    rounds: &'a RoundCounter,
    routers: &'a Routers,
}

impl DescribeAck for Report<'_> {
    #[inline(always)]
    fn describe(&self) -> Ack {
        let (sample, mss, unit) = (self.sample, self.mss, self.unit);
        Ack {
            now: Nanos(self.now),
            rtt: Nanos(sample.rtt),
            min_rtt: Nanos(if self.min_rtt == u64::MAX { 0 } else { self.min_rtt }),
            srtt: Nanos(self.rto.srtt()),
            acked: u64::from(sample.delivered) * unit - sample.short.0,
            growth: u64::from(sample.growth) * unit - sample.short.1,
            delivered: self.delivered * unit,
            sent: self.sent_bytes.max(self.stats.sent * unit),
            lost: self.lost * unit,
            retransmitted: self.repeated_bytes.max(self.stats.retransmits * unit),
            in_flight: u64::from(sample.in_flight) * unit,
            pipe: u64::from(sample.pipe) * unit,
            ce: u64::from(sample.marked) * unit,
            rate: sample.rate,
            prior_delivered: sample.prior_delivered,
            prior_lost: sample.flight.lost,
            prior_in_flight: sample.flight.in_flight,
            round: self.rounds.count(),
            flags: self.flags,
            feedback: self.routers.feedback,
            load: self.routers.load,
            mss: mss as u32,
            ..Ack::default()
        }
    }
}

/// Counters of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderStats {
    /// Segments sent, retransmissions included.
    pub sent: u64,
    /// Largest window after any event, bytes.
    pub max_cwnd: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Times the retransmission timer fired.
    pub timeouts: u64,
    /// Congestion episodes reported to the schemes: losses, marks and timeouts.
    pub episodes: u64,
    /// Segments sent before the first ACK.
    pub first_flight: u32,
}

/// The state that every kind of sender has.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Common {
    // The fields that every ACK touches come first, in few cache lines.
    /// First segment not acknowledged.
    pub(crate) una: u32,
    /// Next segment to send; after a timeout of the RFC sender it goes back.
    pub(crate) nxt: u32,
    /// One past the highest segment ever sent.
    pub(crate) max: u32,
    /// Segments the application has handed over.
    pub(crate) available: u32,
    /// Segments up to the end of the first write that is not acknowledged.
    pub(crate) write_end: u32,
    /// Nothing is out of order: ACKs take the short path.
    pub(crate) orderly: bool,
    /// ACKs may take the short path at all: no rate sample, no feedback of routers, no wait for the host.
    pub(crate) has_short_path: bool,
    /// Segments are noted as they leave: marked, sampled, or reported to the schemes.
    noted: bool,
    /// The time at which each segment left is kept.
    pub(crate) per_packet: bool,
    pub(crate) wants_sent: bool,
    pub(crate) established: bool,
    /// An ACK has come since the connection opened, whether or not it acknowledged data.
    pub(crate) answered: bool,
    /// Time at which the application was done; `u64::MAX` if it is not.
    pub(super) finished_at: u64,
    /// No timer is due before this.
    pub(crate) check_at: u64,
    pub(crate) rto_at: u64,
    pub(crate) mss: u64,
    /// Bytes in which the kind of sender counts what is delivered, lost and in flight: a segment, or one byte.
    pub(super) unit: u64,
    /// Departure of the newest segment.
    pub(crate) last_sent_at: Moment,
    /// Payload segments delivered.
    pub(crate) delivered: u64,
    pub(crate) rounds: RoundCounter,
    pub(crate) stats: SenderStats,
    pub(crate) rto: Rto,
    /// The peer's receive window, which may change.
    pub(crate) receive_window: ReceiveWindow,
    /// The rules, which all connections of a stack have alike.
    pub(crate) stack: Alike<Stack>,
    /// The schemes in force.
    pub chain: Chain<AnyPhase>,
    /// Time at which each segment in flight was last sent, and its marks.
    pub(crate) stamps: Ring<u64>,
    pub(crate) min_rtt: u64,
    /// Segments declared lost, in the unit.
    pub(crate) lost: u64,
    /// Bytes sent, of a kind that counts bytes; zero otherwise.
    pub(super) sent_bytes: u64,
    /// Bytes of them that were sent before, of such a kind.
    pub(super) repeated_bytes: u64,
    // The fields below are touched only out of order, or rarely.
    /// The window was reduced, and the receiver is to learn of it.
    pub(crate) reduced: bool,
    /// A SYN with data is out and not answered.
    pub(crate) opening: bool,
    /// Departure of the newest SYN.
    pub(crate) syn_left: Moment,
    pub(crate) pacer: Pacer,
    pub(crate) pace_at: u64,
    pub(crate) app_at: u64,
    pub(crate) app: App,
    /// First segment that was not sent when start-up ended; `None` while start-up lasts.
    pub(crate) exit_segment: Option<u32>,
    /// Plan for the next transfer, where a memory of the path proposes one.
    pub(crate) plan: Plan,
    pub(crate) routers: Routers,
    /// The host, where ACKs wait for it.
    pub(crate) processor: Option<Box<Processor>>,
}

impl Common {
    /// The state before the connection begins. `stamped` keeps the time at which each segment leaves.
    pub(super) fn new(
        stack: Alike<Stack>,
        chain: Chain<AnyPhase>,
        app: App,
        rto: Rto,
        stamped: bool,
    ) -> Self {
        let needs = chain.needs();
        let wants_rate = needs.has(Signals::RATE);
        let wants_sent = needs.has(Signals::SENT);
        let carries = Carries::of(needs);
        let app_at = app.start();
        let processor = Processor::of(&stack);
        let has_short_path = !wants_rate && carries == Carries::Nothing && processor.is_none();
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            available: 0,
            write_end: u32::MAX,
            orderly: has_short_path,
            has_short_path,
            noted: wants_sent
                || wants_rate
                || stack.ecn
                || stack.idle_restart == IdleRestart::Validate
                || carries != Carries::Nothing,
            per_packet: stamped,
            wants_sent,
            finished_at: if app.finished() { 0 } else { u64::MAX },
            established: false,
            answered: false,
            check_at: app_at,
            rto_at: u64::MAX,
            mss: stack.mss.into(),
            unit: stack.mss.into(),
            last_sent_at: Moment::NEVER,
            delivered: 0,
            rounds: RoundCounter::default(),
            stats: SenderStats::default(),
            rto,
            receive_window: stack.receive_window,
            stack,
            chain,
            stamps: Ring::new(stamped),
            min_rtt: u64::MAX,
            lost: 0,
            sent_bytes: 0,
            repeated_bytes: 0,
            reduced: false,
            opening: false,
            syn_left: Moment::NEVER,
            pacer: Pacer::default(),
            pace_at: u64::MAX,
            app_at,
            app,
            exit_segment: None,
            plan: Plan::default(),
            routers: Routers { carries, ..Routers::default() },
            processor,
        }
    }

    /// Asks for the memory that an ACK in order touches.
    #[inline(always)]
    pub(super) fn expect_ack(&self) {
        touch(&self.una);
        touch(&self.last_sent_at);
        touch(&self.stamps);
        touch(&self.rto);
        touch(&self.chain.control);
        touch(&self.receive_window);
        // The state of the kind of sender follows.
        touch(&self.processor);
    }

    /// A new segment leaves: before the first ACK it counts as one of the first flight.
    #[inline(always)]
    pub(super) fn count_first_flight(&mut self) {
        if self.una == 0 && !self.answered {
            self.stats.first_flight += 1;
        }
    }

    /// Whether a segment that leaves needs more than its flags: a pacer, a sample, a report, a mark.
    #[inline(always)]
    pub(super) fn notes_departures(&self) -> bool {
        let control = &self.chain.control;
        self.noted | control.droppable || control.pacing != Rate::NONE
    }

    /// Reports an ACK to the schemes, and counts the segments that it delivered. Returns the bytes of its growth that are left for
    /// the next phase (`Told::rest`).
    #[inline(always)]
    pub(crate) fn notify(&mut self, now: u64, sample: &AckSample) -> u64 {
        self.delivered += u64::from(sample.delivered);
        let started = self.rounds.on_ack(self.una.into(), self.nxt.into());
        let flags = sample.flags | if started { Ack::ROUND_START } else { 0 };
        let told = self.chain.on_described_ack(&Report {
            now,
            sample,
            flags,
            mss: self.mss,
            unit: self.unit,
            min_rtt: self.min_rtt,
            delivered: self.delivered,
            lost: self.lost,
            stats: &self.stats,
            sent_bytes: self.sent_bytes,
            repeated_bytes: self.repeated_bytes,
            rto: &self.rto,
            rounds: &self.rounds,
            routers: &self.routers,
        });
        if told.ended {
            self.note_startup_exit();
        }
        self.note_window();
        told.rest
    }

    /// Notes the window. Called after every event that may have enlarged it.
    #[inline(always)]
    pub(crate) fn note_window(&mut self) {
        self.stats.max_cwnd = self.stats.max_cwnd.max(self.chain.control.cwnd);
    }

    /// Reports to the schemes that `rest` bytes of the growth of an ACK are left for the phase that is in force now.
    #[cold]
    #[inline(never)]
    pub(crate) fn notify_rest(&mut self, now: u64, sample: AckSample, rest: u64) {
        let growth = rest.div_ceil(self.unit) as u32;
        let short = (0, u64::from(growth) * self.unit - rest);
        self.notify(now, &AckSample { delivered: 0, growth, short, rtt: 0, marked: 0, ..sample });
    }

    /// Notes the first segment that was not sent when start-up ended, if it has ended. Called after every event that may end it.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_startup_exit(&mut self) {
        if self.exit_segment.is_none() && self.chain.startup_exit().is_some() {
            self.exit_segment = Some(self.max);
        }
    }

    /// First segment that was not sent when start-up ended; `None` while start-up lasts.
    pub(crate) fn exit_segment(&self) -> Option<u32> {
        self.exit_segment
    }

    /// The application has begun a write, unless it stopped before.
    pub(crate) fn hand_over(&mut self) {
        self.available = if self.app.finished() { self.max } else { self.app.written() };
        self.write_end = self.app.open_end();
    }

    /// The application writes as much as `config` says; what was sent must be part of it.
    pub(crate) fn write_in_all(&mut self, config: &AppConfig) {
        if self.app.write_bytes() != config.bytes.unwrap_or(u64::MAX) {
            self.app.write_in_all(config, self.stack.mss);
            self.hand_over();
        }
    }

    /// The application has written; the time of its next write may be known.
    pub(crate) fn on_written(&mut self, now: u64) {
        self.hand_over();
        self.app_at = self.app.after_write(now);
        self.check_at = self.check_at.min(self.app_at);
    }

    /// One write at least is acknowledged to its end.
    #[cold]
    pub(crate) fn on_written_acked(&mut self, now: u64) {
        let next = self.app.on_acked(now, self.una);
        self.write_end = self.app.open_end();
        if self.app.finished() {
            self.finished_at = self.finished_at.min(now);
        }
        self.app_at = self.app_at.min(next);
        self.check_at = self.check_at.min(next);
    }

    /// One past the last segment that the receiver has room for.
    #[inline(always)]
    pub(crate) fn window_end(&self) -> u32 {
        self.una.saturating_add(self.receive_window.at(self.una))
    }

    /// Whether the peer's buffer grows, so that each ACK may offer a window of its own.
    #[inline(always)]
    pub(crate) fn is_offered_a_tuned_window(&self) -> bool {
        self.receive_window.is_tuned()
    }

    /// An ACK offers this window.
    pub(crate) fn offer(&mut self, window: ReceiveWindow) {
        self.receive_window = window;
    }

    /// Room of the receiver beyond the last ACK, bytes.
    pub(super) fn offered(&self) -> u64 {
        u64::from(self.receive_window.at(self.una)).saturating_mul(self.stack.mss.into())
    }

    /// Time from the newest SYN to `now`, nanoseconds; zero if none has left.
    pub(crate) fn since_syn(&self, now: u64) -> u64 {
        self.syn_left.elapsed(Nanos(now)).unwrap_or_default().0
    }

    /// The smallest RTT; zero before the first sample.
    pub(crate) fn known_min_rtt(&self) -> u64 {
        if self.min_rtt == u64::MAX { 0 } else { self.min_rtt }
    }

    /// Restarts the retransmission timer, or stops it where nothing is outstanding (RFC 6298 section 5).
    #[inline(always)]
    pub(crate) fn restart_rto(&mut self, now: u64) {
        if self.una == self.max {
            self.rto_at = u64::MAX;
            return;
        }
        self.rto_at = now + self.rto.timeout();
        self.check_at = self.check_at.min(self.rto_at);
    }

    /// Asks the pacer. If the next segment must wait, arms the timer of the pacer.
    pub(crate) fn must_wait(&mut self, now: u64) -> bool {
        let control = &self.chain.control;
        let release = self.pacer.release(control.pacing, control.burst.max(self.mss), self.mss).0;
        if release <= now {
            return false;
        }
        self.pace_at = release;
        self.check_at = self.check_at.min(release);
        true
    }

    /// Whether `segment` is the last of a write of the application.
    #[inline(always)]
    pub(super) fn ends_write(&self, segment: u32) -> bool {
        segment + 1 == self.available
            || self.write_end < self.available && self.app.segmentation().ends_with(segment)
    }

    /// Time at which this sender next acts without an ACK; `u64::MAX` if never.
    #[inline]
    pub fn next_check(&self) -> u64 {
        self.check_at
    }

    /// Whether the application is done.
    #[inline]
    pub fn finished(&self) -> bool {
        self.finished_at != u64::MAX
    }

    /// Time at which the application was done, nanoseconds; `u64::MAX` if it is not.
    #[inline]
    pub fn finished_at(&self) -> u64 {
        self.finished_at
    }

    /// The counters.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The application.
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
