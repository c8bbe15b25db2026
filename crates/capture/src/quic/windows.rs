//! Receive windows from the limits of flow control (RFC 9000 section 4), in the form of those of TCP.

use super::Board;
use crate::flows::Flow;
use crate::side::Side;

/// Largest shift of a window, bits (RFC 7323 section 2.3).
const MOST_SHIFT: u8 = 14;

/// Receive windows that the packets of a connection announce.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// End of the data that each side lets the other send, if it is known.
    edges: [Option<u64>; 2],
    /// Window of each packet so far.
    windows: Vec<u64>,
}

impl Windows {
    /// From here on `side` lets the other send up to `edge`; `None` if that is not known.
    pub(super) fn limit(&mut self, side: Side, edge: Option<u64>) {
        let own = &mut self.edges[side as usize];
        *own = edge.or(*own);
    }

    /// Adds the windows of the packets that were added to `flow`. `boards` have the data of each side.
    pub(super) fn add(&mut self, flow: &Flow, boards: &[Board; 2]) {
        for packet in flow.packets.iter().skip(self.windows.len()) {
            let acknowledged = boards[packet.side.other() as usize].cumulative();
            let edge = self.edges[packet.side as usize];
            self.windows.push(edge.map_or(u64::MAX, |edge| edge.saturating_sub(acknowledged)));
        }
    }

    /// Writes the windows into the packets, if any is known and the handshake was logged, which has their scale.
    pub(super) fn finish(self, flow: &mut Flow) {
        if self.edges == [None; 2] {
            return;
        }
        let shifts = [Side::First, Side::Second].map(|side| {
            let own = flow.packets.iter().zip(&self.windows).filter(|(packet, _)| packet.side == side);
            let largest = own.map(|(_, window)| *window).filter(|window| *window != u64::MAX).max();
            let bits = largest.map(|largest| (u64::BITS - largest.leading_zeros()).saturating_sub(u16::BITS));
            bits.and_then(|bits| u8::try_from(bits).ok()).map_or(MOST_SHIFT, |bits| bits.min(MOST_SHIFT))
        });
        for (end, shift) in flow.sides.iter_mut().zip(shifts) {
            end.syns.scale_windows(shift);
        }
        for (packet, window) in flow.packets.iter_mut().zip(self.windows) {
            packet.window = u16::try_from(window >> shifts[packet.side as usize]).unwrap_or(u16::MAX);
        }
    }
}
