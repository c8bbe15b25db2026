//! A sender's state as tools ask for it, in the words of Linux's TCP_INFO.

use super::connection::{Connection, SenderKind};
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

/// A sender's registers. Windows are in segments, of QUIC in full datagrams of the beginning; times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Congestion window, with its inflation by duplicate ACKs.
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

/// The part of the registers that a kind of sender keeps in its own way.
pub(crate) struct Status {
    pub(crate) state: CaState,
    /// Segments by which duplicate ACKs inflate the window.
    pub(crate) inflation: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    pub(crate) reordering: u32,
    /// Retransmission timeout, nanoseconds.
    pub(crate) rto: u64,
}

impl<K> Connection<K>
where
    Self: SenderKind,
{
    /// The registers now.
    pub(super) fn info(&self) -> Info {
        let control = &self.chain.control;
        let segments = |bytes: u64| bytes as f64 / f64::from(self.stack.mss);
        let unacked = self.max - self.una;
        let Status { state, inflation, sacked, lost, retrans, reordering, rto } = self.status();
        Info {
            cwnd: segments(control.cwnd) + f64::from(inflation),
            ssthresh: (control.ssthresh != u64::MAX).then(|| segments(control.ssthresh)),
            state,
            unacked,
            sacked,
            lost,
            retrans,
            reordering,
            // After a timeout, segments that were reported to have arrived may be presumed lost too.
            in_flight: (unacked + retrans).saturating_sub(sacked + lost),
            srtt: self.rto.srtt(),
            rto,
            min_rtt: self.known_min_rtt(),
            pacing: control.pacing,
        }
    }
}
