//! Undo of a reduction whose cause was spurious: every retransmission was reported as a duplicate (RFC 3708), or the echoed
//! timestamp shows that the original arrived (RFC 3522, RFC 4015), or data that was never retransmitted was acknowledged
//! after a timeout (RFC 5682).

use super::ack::SeenAck;
use super::{Linux, Undo};
use crate::sender::connection::Connection;
use crate::sender::info::CaState;
use crate::sender::stamps::LOST;
use firstflight_contract::Moment;

impl Connection<Linux> {
    /// A reduction begins that may be undone. Retransmissions in flight may still be reported as duplicates.
    pub(super) fn begin_undo(&mut self) {
        let rack = &mut self.own;
        let probe = i64::from(rack.probe_end > 0 && rack.probe_retransmits);
        let out = i64::from(rack.retrans) + probe;
        rack.undo = Undo {
            marker: Some(self.common.una),
            retransmissions: if out == 0 { -1 } else { out },
            ..rack.undo
        };
    }

    fn may_undo(&self, seen: &SeenAck) -> bool {
        self.own.undo.marker.is_some() && (self.own.undo.retransmissions == 0 || seen.answers_original)
    }

    /// Undoes the last reduction; with `found` also the marks of lost segments.
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
        // Outstanding segments are judged again.
        self.own.detector.advanced = true;
    }

    /// The recovery is over. Without SACK the state is held until something beyond is acknowledged (RFC 6582), and then
    /// this ACK is done with.
    pub(super) fn try_to_undo_recovery(&mut self, seen: &SeenAck) -> bool {
        if self.may_undo(seen) {
            self.undo_reduction(false);
        } else {
            self.own.detector.end_recovery();
        }
        if self.una == self.own.high && !self.stack.recovery.is_selective() {
            if !self.any_retransmission_out() {
                self.own.undo.first_retransmission = Moment::NEVER;
            }
            return true;
        }
        self.own.state = CaState::Open;
        self.own.reneged = false;
        false
    }

    /// Undoes the reduction if every retransmission was reported as a duplicate.
    pub(super) fn try_to_undo_duplicates(&mut self) -> bool {
        let undo = self.own.undo.marker.is_some() && self.own.undo.retransmissions == 0;
        if undo {
            self.undo_reduction(false);
        }
        undo
    }

    /// A late original filled a hole: the recovery has been spurious so far. Returns whether this ACK needs nothing more.
    pub(super) fn try_to_undo_partly(&mut self, seen: &SeenAck) -> bool {
        if self.own.undo.marker.is_none() || !seen.answers_original {
            return false;
        }
        self.note_reordering(seen.una_before);
        if self.own.retrans > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.own.undo.first_retransmission = Moment::NEVER;
        }
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// After a timeout. With `frto`, data that was never retransmitted was acknowledged.
    pub(super) fn try_to_undo_timeout(&mut self, seen: &SeenAck, frto: bool) -> bool {
        if !frto && !self.may_undo(seen) {
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
