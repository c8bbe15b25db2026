//! Time-sequence graph of a connection (S. Ostermann's `tcptrace`; Wireshark draws the same).

use firstflight_contract::Nanos;

use crate::packet_trace::PacketTrace;
use crate::seconds::Seconds;
use crate::series::{round_trips, thin};

/// Data of a sender over time. Points are pairs of seconds since the first data packet and bytes; curves have at most
/// [`Series::POINTS`](crate::Series::POINTS).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeSequence {
    /// End of the data sent.
    pub sent: Vec<(f64, f64)>,
    /// Data acknowledged cumulatively.
    pub acked: Vec<(f64, f64)>,
    /// End of the data that the receive window allows; empty if its scale is unknown.
    pub allowed: Vec<(f64, f64)>,
    /// Last retransmission of each piece of data: its time and the offset of its first byte.
    pub resent: Vec<(f64, f64)>,
    /// Times of acknowledgements, and the round trip of the newest packet that each reports, seconds.
    pub rtt: Vec<(f64, f64)>,
}

impl TimeSequence {
    pub(crate) fn of(trace: &PacketTrace) -> Self {
        let Some(first) = trace.sends.first() else { return Self::default() };
        let since = |at: Nanos| at.saturating_sub(first.at).as_secs_f64();
        let sent: Vec<_> = trace.sends.iter().map(|send| (since(send.at), send.end as f64)).collect();
        let mut most = 0;
        let acked: Vec<_> = trace
            .acks
            .iter()
            .map(|ack| {
                most = most.max(ack.ack);
                (since(ack.at), most as f64)
            })
            .collect();
        let allowed =
            trace.acks.iter().filter_map(|ack| Some((since(ack.at), (ack.ack + ack.window?) as f64)));
        let allowed: Vec<_> = allowed.collect();
        let resent = trace.pieces.iter().filter(|piece| piece.resent > 0);
        let mut resent: Vec<_> = resent.map(|piece| (since(piece.resent_at), piece.start as f64)).collect();
        resent.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            sent: thin(&sent),
            acked: thin(&acked),
            allowed: thin(&allowed),
            resent: thin(&resent),
            rtt: thin(&round_trips(trace, since)),
        }
    }
}
