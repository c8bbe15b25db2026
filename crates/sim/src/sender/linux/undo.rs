//! Taking back a reduction whose cause turns out to be spurious: every repeat was reported as a duplicate (RFC 3708), or
//! the echoed timestamp shows that the original arrived (RFC 3522, RFC 4015), or data never repeated was acknowledged
//! after a timeout (RFC 5682).

use super::Linux;
use super::Undo;
use super::ack::News;
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stamps::LOST;

impl Connection<Linux> {
    /// A reduction begins that may be undone. What is in flight again already may still be reported as a duplicate.
    pub(super) fn begin_undo(&mut self) {
        let rack = &mut self.own;
        let probe = i64::from(rack.probe_end > 0 && rack.probe_retransmits);
        let out = i64::from(rack.retrans) + probe;
        rack.undo =
            Undo { marker: Some(self.common.una), repeats: if out == 0 { -1 } else { out }, ..rack.undo };
    }

    fn may_undo(&self, news: &News) -> bool {
        self.own.undo.marker.is_some() && (self.own.undo.repeats == 0 || news.answers_original)
    }

    /// Takes the last reduction back; `found` also takes back what was declared lost.
    fn undo_reduction(&mut self, found: bool) {
        if found {
            for segment in self.una..self.own.lost_end.min(self.nxt) {
                *self.stamps.get_mut(segment) &= !LOST;
            }
            self.own.lost = 0;
        }
        if let Some(ssthresh) = self.own.undo.ssthresh {
            self.chain.on_spurious();
            let control = &mut self.chain.control;
            control.ssthresh = control.ssthresh.max(ssthresh);
        }
        self.own.undo.marker = None;
        // What is out is judged again.
        self.own.detector.advanced = true;
    }

    /// The recovery is over. Without SACK the state is held until something beyond is acknowledged (RFC 6582), and then
    /// this ACK is done with.
    pub(super) fn try_to_undo_recovery(&mut self, news: &News) -> bool {
        if self.may_undo(news) {
            self.undo_reduction(false);
        } else {
            self.own.detector.end_recovery();
        }
        if self.una == self.own.high && !self.stack.recovery.is_selective() {
            if !self.any_retransmission_out() {
                self.own.undo.first_retransmission = 0;
            }
            return true;
        }
        self.own.state = CaState::Open;
        self.own.reneged = false;
        false
    }

    /// Every repeat was a duplicate.
    pub(super) fn try_to_undo_duplicates(&mut self) -> bool {
        let undo = self.own.undo.marker.is_some() && self.own.undo.repeats == 0;
        if undo {
            self.undo_reduction(false);
        }
        undo
    }

    /// A hole was filled by a late original: the recovery was for nothing so far. Says whether this ACK is done with.
    pub(super) fn try_to_undo_partly(&mut self, news: &News) -> bool {
        if self.own.undo.marker.is_none() || !news.answers_original {
            return false;
        }
        self.note_reordering(news.una_before);
        if self.own.retrans > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.own.undo.first_retransmission = 0;
        }
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// After a timeout. `frto` says that data never repeated was acknowledged.
    pub(super) fn try_to_undo_timeout(&mut self, news: &News, frto: bool) -> bool {
        if !frto && !self.may_undo(news) {
            return false;
        }
        self.undo_reduction(true);
        self.own.timeouts = 0;
        if !frto && !self.stack.recovery.is_selective() && self.una >= self.own.high {
            return true;
        }
        if frto || self.stack.recovery.is_selective() {
            self.own.state = CaState::Open;
            self.own.reneged = false;
        }
        true
    }
}
