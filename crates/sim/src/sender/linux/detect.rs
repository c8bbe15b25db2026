//! RACK: a segment is lost when one sent later has arrived, and a reordering window beyond the round trip has passed.
//! Y. Cheng, N. Cardwell, N. Dukkipati, P. Jha, "The RACK-TLP Loss Detection Algorithm for TCP", RFC 8985 section 6.

use super::{Armed, DUP_THRESH, Linux};
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stamps::{LOST, RETRANS, RETRANSMITTED, SACKED, sent};
use std::collections::VecDeque;

/// RFC 8985 section 3.2: "RACK.min_RTT / 4", and one more quarter for each round with duplicates.
const WINDOW_DIVISOR: u64 = 4;
/// Most quarters.
const MAX_QUARTERS: u64 = 255;
/// Section 6.2 step 4: recoveries for which a widened window is kept.
const PERSISTENCE: u32 = 16;
/// Least time added to timers that wait for an ACK, nanoseconds (`TCP_TIMEOUT_MIN`).
pub(super) const TIMEOUT_MIN: u64 = 2_000_000;
/// Most segments by which disorder may widen the threshold (`net.ipv4.tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

/// The newest delivered segment, and the reordering on the path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detector {
    /// Time at which it left, and one past its number: RACK.xmit_ts and RACK.end_seq.
    newest: u64,
    newest_end: u32,
    /// Whether a segment was delivered since the last check.
    pub(super) advanced: bool,
    reordering_seen: bool,
    duplicate_seen: bool,
    /// RACK.rtt.
    rtt: u64,
    /// Segments below this, sent once, have been judged.
    judged: u32,
    /// RACK.reo_wnd_mult, and the number of further recoveries for which it holds.
    quarters: u64,
    persist: u32,
    /// One past the highest segment sent when the window was last widened: once a round is enough.
    widened_at: u32,
}

impl Detector {
    /// A segment with this word was delivered at `now`.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: u64, segment: u32, word: u64, min_rtt: u64) {
        let left = sent(word);
        let rtt = now - left;
        // Section 6.2 step 2: an ACK sooner than any round trip after a retransmission answers the original.
        if rtt < min_rtt && word & RETRANSMITTED != 0 {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (left, segment + 1) > (self.newest, self.newest_end) {
            (self.newest, self.newest_end) = (left, segment + 1);
        }
    }

    pub(super) fn has_seen_reordering(&self) -> bool {
        self.reordering_seen
    }

    pub(super) fn note_duplicate(&mut self) {
        self.duplicate_seen = true;
    }

    /// Whether something sent after `segment` of this word has arrived.
    fn has_overtaken(&self, segment: u32, word: u64) -> bool {
        (self.newest, self.newest_end) > (sent(word), segment + 1)
    }

    /// Remaining time in which the segment of this word may arrive.
    pub(super) fn time_left(&self, now: u64, word: u64, window: u64) -> i64 {
        (self.rtt + window) as i64 - (now - sent(word)) as i64
    }

    /// A segment was split.
    pub(super) fn renumber(&mut self, beyond: impl Fn(&mut u32)) {
        [&mut self.newest_end, &mut self.judged, &mut self.widened_at].into_iter().for_each(beyond);
    }

    /// A recovery ended without being undone.
    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Section 6.2 step 4: a round with duplicates widens the window by a quarter of the minimum RTT.
    pub(super) fn widen(&mut self, una: u32, nxt: u32) {
        if una < self.widened_at {
            self.duplicate_seen = false;
        }
        if std::mem::take(&mut self.duplicate_seen) {
            self.quarters = (self.quarters.max(1) + 1).min(MAX_QUARTERS);
            self.widened_at = nxt;
            self.persist = PERSISTENCE;
        } else if self.persist == 0 {
            self.quarters = 1;
        }
    }
}

/// RACK's judgement of a segment.
enum Judgement {
    /// Nothing sent later has arrived.
    NotOvertaken,
    /// It is lost.
    Lost,
    /// It has this much time left to arrive, nanoseconds.
    Waits(u64),
}

impl Connection<Linux> {
    /// Section 6.2 step 4, `RACK_update_reo_wnd`.
    fn reordering_window(&self) -> u64 {
        let rack = &self.own;
        if !rack.detector.reordering_seen {
            // "If reordering has not been observed, RACK.reo_wnd is set to zero during loss recovery or when the number
            // of sacked segments reaches DupThresh."
            if rack.state >= CaState::Recovery || rack.sacked >= rack.reordering {
                return 0;
            }
        }
        (self.min_rtt / WINDOW_DIVISOR * rack.detector.quarters.max(1)).min(self.rto.srtt())
    }

    /// Section 6.2 step 5, `RACK_detect_loss`: declares segments lost, and returns the longest time that
    /// another segment still has.
    fn detect_losses(&mut self, now: u64) -> u64 {
        let window = self.reordering_window();
        let mut wait = 0;
        self.own.detector.judged = self.own.detector.judged.max(self.una);
        for segment in self.own.detector.judged..self.nxt {
            if self.stamps.get(segment) & (SACKED | RETRANSMITTED | LOST) == 0 {
                match self.judge(now, segment, window) {
                    Judgement::NotOvertaken => break,
                    Judgement::Lost => {}
                    Judgement::Waits(left) => wait = wait.max(left),
                }
            }
            if wait == 0 {
                self.own.detector.judged = segment + 1;
            }
        }
        wait.max(self.detect_lost_retransmissions(now, window))
    }

    /// Declares a segment lost if something sent later has arrived and its time has passed.
    fn judge(&mut self, now: u64, segment: u32, window: u64) -> Judgement {
        let word = self.stamps.get(segment);
        if !self.own.detector.has_overtaken(segment, word) {
            return Judgement::NotOvertaken;
        }
        let left = self.own.detector.time_left(now, word, window);
        if left > 0 {
            return Judgement::Waits(left as u64);
        }
        self.mark_lost(segment);
        Judgement::Lost
    }

    /// The same over the segments that left more than once, in the order in which they last did.
    fn detect_lost_retransmissions(&mut self, now: u64, window: u64) -> u64 {
        let mut wait = 0;
        let mut retransmissions = std::mem::take(&mut self.own.retransmissions);
        self.drop_settled(&mut retransmissions);
        for &(segment, left_at) in &retransmissions {
            if !self.is_in_question(segment, left_at) {
                continue;
            }
            match self.judge(now, segment, window) {
                Judgement::NotOvertaken => break,
                Judgement::Lost => {}
                Judgement::Waits(left) => wait = wait.max(left),
            }
        }
        self.drop_settled(&mut retransmissions);
        self.own.retransmissions = retransmissions;
        wait
    }

    fn drop_settled(&self, retransmissions: &mut VecDeque<(u32, u64)>) {
        while retransmissions
            .front()
            .is_some_and(|&(segment, left_at)| !self.is_in_question(segment, left_at))
        {
            retransmissions.pop_front();
        }
    }

    /// Whether the sending of `segment` at `left_at` was its last, and it is neither known to have arrived nor lost.
    fn is_in_question(&self, segment: u32, left_at: u64) -> bool {
        if segment < self.una {
            return false;
        }
        let word = self.stamps.get(segment);
        sent(word) == left_at && word & SACKED == 0 && word & (LOST | RETRANS) != LOST
    }

    /// After an ACK: declares losses, and waits for segments that may still arrive. Returns whether it armed the timer.
    pub(super) fn find_losses(&mut self, now: u64) -> bool {
        if !std::mem::take(&mut self.own.detector.advanced) {
            return false;
        }
        let wait = self.detect_losses(now);
        if wait > 0 {
            self.arm(now, Armed::Reordering, wait + TIMEOUT_MIN);
        }
        wait > 0
    }

    /// The reordering window ended without news.
    pub(super) fn on_reordering_timer(&mut self, now: u64, port: &mut impl Port) {
        let before = self.own.in_flight(self.nxt - self.una);
        let lost = self.lost;
        self.detect_losses(now);
        if before != self.own.in_flight(self.nxt - self.una) {
            if self.own.state != CaState::Recovery {
                self.enter_recovery(now, false);
                self.reduce_window(1, self.lost - lost, false);
            }
            self.report_losses(now, 0);
            self.retransmit_lost(now, port);
        }
        if self.own.armed != Armed::Timeout || self.rto_at == u64::MAX {
            self.rearm_timeout(now);
        }
    }

    /// Data between `low` and the highest segment that arrived came out of order: from now on a loss is declared at a larger
    /// distance.
    pub(super) fn note_reordering(&mut self, low: u32) {
        let highest = self.own.highest(self.una);
        if low >= highest {
            return;
        }
        self.own.reordering = self.own.reordering.max((highest - low).min(MAX_REORDERING));
        self.own.detector.reordering_seen = true;
    }

    /// Without SACK: more duplicates than the flight can cause.
    pub(super) fn note_reordering_by_duplicates(&mut self, reordering: u32) {
        self.own.reordering = reordering.min(MAX_REORDERING);
        self.own.detector.reordering_seen = true;
    }

    /// After a timeout in disorder: the threshold was too high.
    pub(super) fn doubt_reordering(&mut self) {
        if self.own.state <= CaState::Disorder && self.own.sacked >= DUP_THRESH {
            self.own.reordering = self.own.reordering.min(DUP_THRESH);
        }
    }
}
