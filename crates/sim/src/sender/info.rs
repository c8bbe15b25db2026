//! A sender's state as tools ask for it, in the words of Linux's TCP_INFO.

use super::{Repair, Sender};
use crate::recovery::DUP_THRESH;
use firstflight_contract::Rate;

/// Congestion state, in Linux's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing out of order.
    Open,
    /// Duplicate or selective ACKs, too few to count as a loss.
    Disorder,
    /// Reducing after an ECN mark.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A sender's registers. Windows are in segments, times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Congestion window, with what duplicate ACKs add to it.
    pub cwnd: f64,
    /// Slow-start threshold; `None` is infinite.
    pub ssthresh: Option<f64>,
    /// Congestion state.
    pub state: CaState,
    /// Sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Selectively acknowledged.
    pub sacked: u32,
    /// Presumed lost.
    pub lost: u32,
    /// Retransmitted and not acknowledged.
    pub retrans: u32,
    /// Duplicate ACKs that count as a loss.
    pub reordering: u32,
    /// RFC 6675's pipe.
    pub in_flight: u32,
    /// Smoothed RTT, zero before the first sample.
    pub srtt: u64,
    /// Retransmission timeout.
    pub rto: u64,
    /// Smallest RTT, zero before the first sample.
    pub min_rtt: u64,
    /// Pacing rate.
    pub pacing: Rate,
}

impl Sender {
    /// The registers now.
    pub fn info(&self) -> Info {
        let control = &self.chain.control;
        let segments = |bytes: u64| bytes as f64 / self.mss as f64;
        let unacked = self.max - self.una;
        let (sacked, lost, retrans) = self.tallies();
        Info {
            cwnd: segments(control.cwnd) + f64::from(self.inflation),
            ssthresh: (control.ssthresh != u64::MAX).then(|| segments(control.ssthresh)),
            state: self.state(),
            unacked,
            sacked,
            lost,
            retrans,
            reordering: if self.linux { self.rack.reordering } else { DUP_THRESH },
            // After a timeout what was reported to have arrived may be among what is presumed lost.
            in_flight: (unacked + retrans).saturating_sub(sacked + lost),
            srtt: self.rto.srtt(),
            rto: if self.linux { self.rto.timeout_in_ticks() } else { self.rto.timeout() },
            min_rtt: if self.min_rtt == u64::MAX { 0 } else { self.min_rtt },
            pacing: control.pacing,
        }
    }

    /// Segments SACKed, presumed lost, and sent again.
    fn tallies(&self) -> (u32, u32, u32) {
        if self.linux {
            return (self.rack.sacked, self.rack.lost, self.rack.retrans);
        }
        let lost = match self.repair {
            Repair::Loss => self.max - self.nxt,
            _ => self.board.lost_below(self.una, DUP_THRESH).1,
        };
        (self.board.sacked(), lost, self.board.retransmitted())
    }

    fn state(&self) -> CaState {
        if self.linux {
            return self.rack.state;
        }
        match self.repair {
            Repair::Recovery => CaState::Recovery,
            Repair::Loss => CaState::Loss,
            Repair::Open if self.una < self.mark_until => CaState::Cwr,
            Repair::Open if self.dup_acks > 0 || self.board.sacked() > 0 => CaState::Disorder,
            Repair::Open => CaState::Open,
        }
    }
}
