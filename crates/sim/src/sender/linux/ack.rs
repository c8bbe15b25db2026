//! One ACK, step by step in the kernel's order.

use super::marks::Delivery;
use super::{Armed, Linux};
use crate::packet::{self, Blocks};
use crate::sender::common::AckSample;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stamps::{RETRANSMITTED, sent};
use crate::sender::{AckIn, Port};
use firstflight_contract::{Ack, Moment, Nanos};
use firstflight_host::rate_sampler::RateSample;

/// The segments to send in response to an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// Nothing beyond new data.
    Nothing,
    /// Lost segments.
    Lost,
    /// New data first: F-RTO waits for its ACK.
    NewFirst,
}

/// An ACK as the state machine sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenAck {
    pub(super) done: Delivery,
    /// The first unacknowledged segment before.
    pub(super) una_before: u32,
    /// It equals the ACK before it and brings nothing new.
    pub(super) is_duplicate: bool,
    /// It echoes a congestion mark.
    pub(super) mark: bool,
    /// It answers a segment sent before the first retransmission of the episode (RFC 3522's test, by timestamps).
    pub(super) answers_original: bool,
    /// The timer is to be armed anew.
    pub(super) rearm: bool,
    /// A retransmission was found lost.
    pub(super) lost_retransmission: bool,
    /// It came during recovery from reneging.
    pub(super) reneged: bool,
}

impl Connection<Linux> {
    /// The short path: an ACK of the next segments while nothing is out of order.
    #[inline(always)]
    pub(crate) fn acknowledge_in_order(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        let in_flight = self.nxt - self.una;
        let newly = ack - self.una;
        let first = self.stamps.get(self.una);
        let last = self.stamps.get(ack - 1);
        let lone = newly == 1 && self.una == self.own.lone && self.app.ends_short_with(ack, self.mss);
        self.una = ack;
        self.own.timeouts = 0;
        self.own.detector.advance(now, ack - 1, last, self.min_rtt);
        let rtt = now - sent(last);
        self.min_rtt = self.min_rtt.min(rtt);
        self.common.rto.sample_linux(now - sent(first), ack, self.common.nxt);
        let limits = self.is_window_limited();
        self.own.usage.limited_at = Moment::at(Nanos(now));
        let flags = if lone { Ack::MAYBE_DELAYED } else { 0 } | if limits { 0 } else { Ack::APP_LIMITED };
        let growth = if limits { newly } else { 0 };
        let pipe = self.nxt - ack;
        self.notify_in_full(
            now,
            AckSample { delivered: newly, growth, in_flight, pipe, rtt, flags, ..AckSample::default() },
        );
        self.update_pacing();
        let sent = self.send_in_order(now, port);
        if self.una == self.nxt {
            self.rto_at = u64::MAX;
        } else {
            self.arm_probe(now, !sent);
        }
        if self.una >= self.write_end {
            self.on_written_acked(now);
        }
    }

    /// Any other ACK. A `window_update` changed the peer's window, so it is no duplicate (RFC 5681 section 2).
    pub(crate) fn acknowledge(&mut self, now: u64, ack: &AckIn, window_update: bool, port: &mut impl Port) {
        if self.own.delivery.is_some() {
            self.note_application_limit();
        }
        let in_flight = self.own.in_flight(self.nxt - self.una);
        let lost_before = self.lost;
        let (una_before, fack_before) = (self.una, self.own.highest(self.una));
        let had_data = self.nxt > self.una;
        let mut done = Delivery { reordered: u32::MAX, ..Delivery::default() };
        let blocks = self.split_duplicate(ack, &mut done);
        if ack.seq > self.una {
            self.own.timeouts = 0;
        }
        if self.stack.recovery.is_selective() && (blocks[0].1 > 0 || done.duplicate) {
            self.take_reported(now, &blocks, &mut done);
        }
        let edge = if had_data { self.stamps.get(self.una) } else { 0 };
        self.take_acked(now, ack.seq, &mut done);
        let lone =
            done.advanced == 1 && una_before == self.own.lone && self.app.ends_short_with(ack.seq, self.mss);
        if self.stack.recovery.is_selective() {
            if done.reordered < fack_before {
                self.note_reordering(done.reordered);
            }
        } else if done.advanced > 0 {
            done.delivered += self.take_acked_without_sack(done.advanced);
            done.original &= !done.retransmission_acked;
        }
        let head_left = if self.una < self.nxt { sent(self.stamps.get(self.una)) } else { 0 };
        let rtt = self.take_rtt_samples(now, ack, (una_before, edge), &done, lone);
        self.own.detector.widen(self.una, self.nxt);
        let mut seen = SeenAck {
            done,
            una_before,
            is_duplicate: ack.seq == una_before && had_data && !done.duplicate && !window_update,
            mark: ack.echoes_mark(),
            answers_original: self.stack.rules.timestamps
                && done.advanced > 0
                && self.answers_before_retransmission(ack, edge),
            rearm: done.advanced > 0 || done.newly_sacked.is_some_and(|(_, last)| last > head_left),
            lost_retransmission: false,
            reneged: self.own.reneged,
        };
        if self.own.probe_end > 0 {
            self.judge_probe(now, ack.seq, window_update, &seen);
        }
        let mut response = Response::Nothing;
        let brings_only_progress = done.advanced > 0 || window_update;
        let dubious = !brings_only_progress
            || done.sacked > 0
            || done.duplicate
            || seen.mark
            || self.own.state != CaState::Open;
        if dubious {
            response = self.change_state(now, &mut seen);
        }
        if seen.rearm && self.una < self.nxt {
            self.set_timer_after_ack(now);
        } else if self.una == self.nxt {
            self.rto_at = u64::MAX;
        }
        self.account(now, &seen, in_flight, rtt, lone, self.lost - lost_before);
        self.update_pacing();
        self.send_for(now, response, port);
        self.push_new(now, port);
        if self.una >= self.write_end && una_before < self.una {
            self.on_written_acked(now);
        }
    }

    /// An ACK below the left edge, late by reordering (the kernel's `old_ack`). Its blocks count: they may let new data
    /// leave, find a loss or undo a reduction. It gives no RTT sample, sets no timer, and the segments that it reports do
    /// not move the window.
    pub(crate) fn on_old_ack(&mut self, now: u64, ack: &AckIn, port: &mut impl Port) {
        // RFC 5961 section 5.2: an ACK further back than the largest window is ignored.
        let widest = self.own.widest_window.max(self.receive_window.at(self.una));
        if !self.stack.recovery.is_selective() || self.una - ack.seq > widest {
            return;
        }
        let mut done = Delivery { reordered: u32::MAX, ..Delivery::default() };
        let blocks = self.split_duplicate(ack, &mut done);
        if blocks[0].1 == 0 && !done.duplicate {
            return;
        }
        self.take_reported(now, &blocks, &mut done);
        let mut seen = SeenAck {
            done,
            una_before: self.una,
            is_duplicate: false,
            mark: false,
            answers_original: false,
            rearm: false,
            lost_retransmission: false,
            reneged: self.own.reneged,
        };
        let response = self.change_state(now, &mut seen);
        self.delivered += u64::from(seen.done.sacked);
        self.report_losses(now, 0);
        self.send_for(now, response, port);
        self.push_new(now, port);
        self.orderly = self.is_orderly();
    }

    /// The blocks of an ACK, and the reordering that they show.
    fn take_reported(&mut self, now: u64, blocks: &Blocks, done: &mut Delivery) {
        self.take_blocks(now, blocks, done);
        if self.own.state != CaState::Loss || self.own.undo.marker.is_some() {
            self.note_reordering(done.reordered);
        }
        done.reordered = u32::MAX;
    }

    /// Takes the report of a duplicate off an ACK's blocks (RFC 2883: always the first).
    fn split_duplicate(&mut self, ack: &AckIn, done: &mut Delivery) -> Blocks {
        let mut blocks = ack.blocks();
        let [first, second, _] = blocks;
        let below = first.0 < ack.seq && first.0 < first.1;
        let inside = second.0 < second.1 && second.0 <= first.0 && first.1 <= second.1;
        if self.stack.recovery.is_selective() && (below || inside) {
            self.take_duplicate(first, done);
            blocks.rotate_left(1);
            blocks[2] = (0, 0);
        }
        blocks
    }

    /// RFC 3522: whether the echoed timestamp is older than the first retransmission of the episode.
    fn answers_before_retransmission(&self, ack: &AckIn, edge: u64) -> bool {
        let Some(first_retransmission) = self.own.undo.first_retransmission.time() else { return false };
        if edge & RETRANSMITTED != 0 {
            ack.low & packet::ECHO_REPEAT == 0
        } else {
            sent(edge) < first_retransmission.0
        }
    }

    /// Takes the RTT samples of an ACK; returns the newest, zero if there is none. `edge` is the segment at the window's left
    /// edge before the ACK, and its word; the ACK echoes the timestamp of that segment.
    fn take_rtt_samples(
        &mut self,
        now: u64,
        ack: &AckIn,
        (edge, word): (u32, u64),
        done: &Delivery,
        lone: bool,
    ) -> u64 {
        let mut sample = None;
        if let Some((first, last)) = done.acked
            && !done.retransmission_acked
        {
            sample = Some((now - first, now - last));
        }
        if let Some((first, last)) = done.newly_sacked {
            sample = Some((sample.map_or(now - first, |(oldest, _)| oldest), now - last));
        }
        if sample.is_none() && self.stack.rules.timestamps && done.advanced > 0 {
            // RFC 7323 section 4.1: the echoed timestamp identifies the transmission that was answered.
            let first = word & RETRANSMITTED != 0 && ack.low & packet::ECHO_REPEAT == 0;
            let left = if first { self.own.first_left.get(edge) } else { sent(word) };
            sample = Some((now - left, now - left));
        }
        let Some((oldest, newest)) = sample else { return 0 };
        if !(lone && newest > self.min_rtt) {
            self.min_rtt = self.min_rtt.min(newest);
        }
        self.common.rto.sample_linux(oldest, self.common.una, self.common.nxt);
        newest
    }

    /// Reports the delivered segments to the schemes; while the window is being reduced, the host rules it.
    fn account(&mut self, now: u64, seen: &SeenAck, in_flight: u32, rtt: u64, lone: bool, lost: u64) {
        let delivered = seen.done.delivered;
        let sample = self.end_sample(now, delivered);
        let rate = if seen.reneged { RateSample::default() } else { sample };
        let reducing = matches!(self.own.state, CaState::Cwr | CaState::Recovery);
        let whole = self.chain.is_standalone();
        // Growth needs progress of the cumulative ACK; where reordering is common, any delivery will do.
        let progress =
            seen.done.advanced > 0 || self.own.reordering > super::DUP_THRESH && seen.done.sacked > 0;
        let limits = self.is_window_limited();
        let growth = if limits && progress && !reducing { delivered } else { 0 };
        let repairing = matches!(self.own.state, CaState::Recovery | CaState::Loss);
        let flags = if reducing || whole && repairing { Ack::RECOVERY } else { 0 }
            | if lone { Ack::MAYBE_DELAYED } else { 0 }
            | if limits { 0 } else { Ack::APP_LIMITED }
            | if rate.limited { Ack::RATE_LIMITED } else { 0 };
        if delivered > 0 && !reducing {
            // The kernel counts the window as used whenever the schemes are asked whether it may grow.
            self.own.usage.limited_at = Moment::at(Nanos(now));
        }
        self.report_losses(now, delivered);
        if delivered > 0 || whole {
            let sample = AckSample {
                delivered,
                growth,
                short: (0, 0),
                in_flight,
                pipe: self.own.in_flight(self.nxt - self.una),
                rtt,
                flags,
                rate: rate.rate(),
                prior_delivered: rate.prior_delivered,
                flight: self.take_flight(),
                marked: if seen.mark { delivered } else { 0 },
            };
            self.notify_in_full(now, sample);
        }
        if reducing && !whole {
            let safe = seen.done.advanced > 0 && lost == 0;
            self.reduce_window(delivered, lost, safe);
        }
    }

    /// Reports to the schemes. Slow start ends exactly at the threshold; the rest of the ACK grows the window by the rules of
    /// avoidance, as all of it does where start-up ends before it has grown the window (HyStart).
    #[inline(always)]
    fn notify_in_full(&mut self, now: u64, sample: AckSample) {
        let rest = self.notify(now, &sample);
        if rest > 0 {
            self.notify_rest(now, sample, rest);
        }
    }

    /// Whether the next ACK may take the short path.
    pub(crate) fn is_orderly(&self) -> bool {
        let rack = &self.own;
        rack.state == CaState::Open
            && rack.sacked + rack.lost + rack.retrans + rack.probe_end == 0
            && !self.any_retransmission_out()
            && self.has_short_path
    }

    /// The timer after progress: a probe where one is due, else the timeout.
    pub(super) fn set_timer_after_ack(&mut self, now: u64) {
        if self.may_probe() {
            self.arm_probe(now, true);
        } else {
            self.rearm_timeout(now);
        }
    }

    /// Arms the timer for the purpose `what`, `after` nanoseconds from now.
    #[inline(always)]
    pub(super) fn arm(&mut self, now: u64, what: Armed, after: u64) {
        self.own.armed = what;
        self.own.wait = after;
        self.rto_at = now + after;
        self.check_at = self.check_at.min(self.rto_at);
    }
}
