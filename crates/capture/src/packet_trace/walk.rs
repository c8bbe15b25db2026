//! Pass over the packets of a connection that fills its [`PacketTrace`].

use firstflight_contract::Nanos;

use super::{CapturedAck, Cut, MAX_RETRANSMITTED, PacketTrace, Piece, SentPacket, receive_scale};
use crate::ecn::Feedback;
use crate::flows::{Epoch, Flow, Packet};
use crate::numbers::Numbers;
use crate::packet::Flags;
use crate::side::Side;
use crate::source::Source;

/// Packets after an odd one that show whether the numbers go on from it.
const LOOK_AHEAD: usize = 3;

/// Processes the packets of `flow` with `sender` as the sender of the data. `budget` is the rest of
/// [`MAX_PIECES`](super::MAX_PIECES).
pub(crate) fn walk(
    flow: &Flow,
    sender: Side,
    trace: PacketTrace,
    numbers: Numbers,
    budget: &mut usize,
) -> PacketTrace {
    let mut walk = Walk {
        trace,
        numbers,
        undelivered: Undelivered::default(),
        cumulative: 0,
        outstanding: 0,
        largest_flight: 0,
        edge: None,
        window_closed: false,
        probe: None,
        last_activity: Nanos::ZERO,
        latest_rtt: None,
        work: 0,
        feedback: Feedback::of(flow, sender),
    };
    walk.trace.left_out.missed_bytes = walk.numbers.missed();
    let scale = receive_scale(flow, sender);
    for (index, packet) in flow.packets.iter().enumerate() {
        let later = &flow.packets[index + 1..];
        if packet.side != sender {
            if !walk.is_odd_ack(packet, later) {
                walk.resynchronise(packet, sender);
                walk.on_ack(flow, packet, scale);
            }
        } else if packet.payload > 0 {
            let Some(start) = walk.numbers.of_data(packet.data_start()) else {
                walk.trace.left_out.data += 1;
                continue;
            };
            if walk.is_stray(packet, start, later) {
                walk.trace.left_out.data += 1;
                continue;
            }
            walk.resynchronise(packet, sender);
            let before = walk.trace.pieces.len();
            walk.on_data(packet, start, *budget);
            *budget -= walk.trace.pieces.len() - before;
            if walk.trace.cut.is_some() {
                break;
            }
        }
    }
    walk.trace.marks = walk.feedback.marks();
    walk.trace
}

struct Walk {
    trace: PacketTrace,
    numbers: Numbers,
    undelivered: Undelivered,
    /// Cumulatively acknowledged bytes.
    cumulative: u64,
    /// Bytes sent and not known to have arrived.
    outstanding: u64,
    /// Most of them at a time.
    largest_flight: u64,
    /// Right edge of the receive window, if its scale is known: the data sent so far lies before it.
    edge: Option<u64>,
    /// Whether the receiver has closed its window.
    window_closed: bool,
    /// A probe of the closed window with the next new byte: its packet, and its offset.
    probe: Option<(Packet, u64)>,
    /// Time of the last packet that the sender sent or received.
    last_activity: Nanos,
    latest_rtt: Option<Nanos>,
    /// Retransmitted pieces processed so far.
    work: u64,
    feedback: Feedback,
}

impl Walk {
    /// Continues after a time in which any sender would have received an acknowledgement, or retransmitted: an acknowledgement was not
    /// captured, the clock was set, or the machine slept. What was outstanding has no round trip, and the time counts for no limit.
    fn resynchronise(&mut self, packet: &Packet, sender: Side) {
        const LONG: Nanos = Nanos::from_secs(3);
        // Linux's TCP_RTO_MAX
        const LONGEST_RTO: Nanos = Nanos::from_secs(120);
        let silent = packet.at.saturating_sub(self.last_activity);
        let patience = self.latest_rtt.map_or(Nanos::NEVER, |rtt| LONG.max(Nanos(rtt.0.saturating_mul(8))));
        if self.outstanding == 0 || silent <= patience {
            return;
        }
        let offset = self.numbers.of_data(packet.data_start());
        let retransmitted = packet.side == sender && offset.is_some_and(|start| start < self.trace.end());
        if retransmitted && silent <= LONGEST_RTO {
            return;
        }
        self.trace.left_out.pauses.push((self.last_activity, packet.at));
        let mut index = self.undelivered.next(0);
        while index < self.trace.pieces.len() {
            self.trace.pieces[index].epoch = None;
            index = self.undelivered.next(index + 1);
        }
    }

    /// Whether a data packet begins where no sender may send, and the next ones do not go on from it.
    fn is_stray(&self, packet: &Packet, start: u64, later: &[Packet]) -> bool {
        /// Gaps that a capture leaves between two packets without any doubt, segments.
        const FEW: u64 = 64;
        const LEAST: u64 = 1 << 20;
        let known = self.trace.end();
        if start <= known + FEW * u64::from(self.trace.mss) {
            return false;
        }
        let allowed = self.edge.map_or(known + LEAST.max(8 * self.largest_flight), |edge| edge.max(known));
        if start <= allowed {
            return false;
        }
        let next = later.iter().filter(|other| other.side == packet.side && other.payload > 0);
        let next: Vec<_> = next.take(LOOK_AHEAD).collect();
        let back = |other: &&Packet| self.numbers.of_data(other.data_start()).is_none_or(|next| next < start);
        !next.is_empty() && next.iter().all(back)
    }

    /// Whether an acknowledgement reports data that was not sent, while the next ones do not.
    fn is_odd_ack(&mut self, packet: &Packet, later: &[Packet]) -> bool {
        if !packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            return false;
        }
        let Some(ack) = self.numbers.of_ack(packet.ack) else {
            self.trace.left_out.acks += 1;
            return true;
        };
        // A probe of a closed window, and a FIN, count as a byte.
        if ack <= self.trace.end() + 1 {
            return false;
        }
        let next = later.iter().filter(|other| other.side == packet.side && other.flags.has(Flags::ACK));
        let next: Vec<_> = next.take(LOOK_AHEAD).collect();
        let back = |other: &&Packet| other.ack < packet.ack;
        let odd = !next.is_empty() && next.iter().all(back);
        self.trace.left_out.acks += u64::from(odd);
        odd
    }

    /// Whether a packet probes a closed window with a byte of new data, which the receiver drops (RFC 9293, section 3.8.6.1). A probe that it
    /// took is sent data.
    fn is_probe(&mut self, packet: &Packet, start: u64, budget: usize) -> bool {
        let known = self.trace.end();
        if packet.payload == 1 && self.window_closed && start == known {
            self.probe.get_or_insert((*packet, start));
            self.last_activity = packet.at;
            return true;
        }
        if start > known {
            self.take_probe(start, budget);
        }
        false
    }

    /// The receiver has taken the probe, since the data or an acknowledgement goes on behind it.
    fn take_probe(&mut self, reached: u64, budget: usize) {
        if let Some((probe, start)) = self.probe.take()
            && start == self.trace.end()
            && reached > start
        {
            self.send(&probe, start, budget);
        }
    }

    fn on_data(&mut self, packet: &Packet, start: u64, budget: usize) {
        // a keep-alive or window probe repeats a byte
        if packet.payload == 1 && start < self.trace.end() || self.is_probe(packet, start, budget) {
            return;
        }
        self.probe = None;
        self.send(packet, start, budget);
    }

    fn send(&mut self, packet: &Packet, start: u64, budget: usize) {
        let end = start + u64::from(packet.payload);
        let known = self.trace.end();
        if let Err(cut) = self.make_room(packet, start, end, budget) {
            self.trace.cut = Some(cut);
            return;
        }
        if start < known {
            self.retransmit(packet, start, end.min(known));
        }
        if end > known {
            self.add_pieces(start.max(known), end, packet.at, packet.epoch);
        }
        self.trace.sends.push(SentPacket {
            at: packet.at,
            len: packet.payload,
            flight: self.outstanding,
            end: self.trace.end(),
            new: end > known,
            short: match self.trace.source {
                Source::Segments => !packet.payload.is_multiple_of(self.trace.mss),
                Source::Qlog | Source::Opened | Source::Datagrams => packet.flags.has(Flags::PUSH),
            },
            acks_before: self.trace.acks.len() as u32,
        });
        self.last_activity = packet.at;
    }

    /// Adds the pieces before `start` that the capture missed.
    ///
    /// # Errors
    /// If too many were missed, or the budget does not allow the packet.
    fn make_room(&mut self, packet: &Packet, start: u64, end: u64, budget: usize) -> Result<(), Cut> {
        let known = self.trace.end();
        let mss = u64::from(self.trace.mss);
        let missed = start.saturating_sub(known).div_ceil(mss);
        let pieces = missed + (end - start).div_ceil(mss);
        if pieces > budget as u64 {
            return Err(Cut::Pieces);
        }
        if missed > 0 {
            self.trace.missed += missed;
            let first = self.trace.pieces.len();
            self.add_pieces(known, start, Nanos::NEVER, packet.epoch);
            for piece in &mut self.trace.pieces[first..] {
                (piece.resent_at, piece.resent_stamp) =
                    (packet.at, packet.timestamps.map(|(value, _)| value));
            }
        }
        Ok(())
    }

    fn add_pieces(&mut self, start: u64, end: u64, sent: Nanos, epoch: Epoch) {
        let mut at = start;
        while at < end {
            self.trace.transmissions += 1;
            let len = (end - at).min(u64::from(self.trace.mss)) as u32;
            self.trace.pieces.push(Piece {
                sent,
                sent_by: sent,
                start: at,
                len,
                number: self.trace.transmissions,
                wire: len + self.trace.header,
                resent: 0,
                resent_at: Nanos::ZERO,
                resent_stamp: None,
                delivered: Nanos::NEVER,
                spurious: false,
                prompt: false,
                epoch: Some(epoch),
            });
            self.undelivered.push();
            at += u64::from(len);
        }
        self.outstanding += end - start;
        self.largest_flight = self.largest_flight.max(self.outstanding);
    }

    fn retransmit(&mut self, packet: &Packet, start: u64, end: u64) {
        let first = self.trace.pieces.partition_point(|piece| piece.end() <= start);
        let mut count = 0;
        let stamp = packet.timestamps.map(|(value, _)| value);
        let mut ahead = first.checked_sub(1).map_or(Nanos::NEVER, |ahead| self.trace.pieces[ahead].sent);
        let mut hole_before = first > 0 && ahead == Nanos::NEVER && self.trace.pieces[first - 1].resent > 0;
        let each = self.trace.pieces[first..].iter_mut().zip(first as u32..);
        for (piece, index) in each.take_while(|(piece, _)| piece.start < end) {
            piece.epoch = piece.epoch.and(Some(packet.epoch));
            if piece.sent == Nanos::NEVER && piece.resent == 0 {
                self.trace.missed = self.trace.missed.saturating_sub(1);
                if !piece.fills_a_hole(packet) {
                    (piece.sent, piece.sent_by) = (packet.at, packet.at);
                    (piece.resent_at, piece.resent_stamp) = (Nanos::ZERO, None);
                    (ahead, hole_before) = (packet.at, false);
                    continue;
                }
                // The piece was sent between the packets around the hole. But no sender detects a loss within
                // a round trip: a hole that begins to fill sooner is the end of a flight whose later data was
                // sent out of sequence. Its transmission time is then unknown.
                let soon = self
                    .latest_rtt
                    .is_some_and(|rtt| packet.at.saturating_sub(piece.resent_at) < Nanos(rtt.0 / 2));
                let out_of_sequence = soon || hole_before;
                (piece.sent, piece.sent_by) = if out_of_sequence {
                    (Nanos::NEVER, Nanos::NEVER)
                } else {
                    (ahead.min(piece.resent_at), piece.resent_at)
                };
                piece.resent_stamp = None;
            }
            hole_before = piece.sent == Nanos::NEVER;
            ahead = piece.sent;
            self.trace.superseded.push((piece.number, index));
            self.trace.transmissions += 1;
            piece.number = self.trace.transmissions;
            piece.resent += 1;
            piece.resent_at = packet.at;
            piece.resent_stamp = piece.resent_stamp.or(stamp);
            count += 1;
        }
        self.trace.resent_packets += count;
        self.trace.resent_times.extend((0..count).map(|_| packet.at));
        self.work += count;
        if self.work > MAX_RETRANSMITTED {
            self.trace.cut = Some(Cut::Retransmitted);
        }
        // RFC 6298: no timer fires within a round trip of the last acknowledgement
        let silent = packet.at.saturating_sub(self.last_activity);
        if count > 0 && self.latest_rtt.is_some_and(|rtt| silent > rtt) {
            self.trace.timeouts += 1;
        }
    }

    fn on_ack(&mut self, flow: &Flow, packet: &Packet, scale: Option<u8>) {
        if !packet.flags.has(Flags::ACK) {
            return;
        }
        let Some(ack) = self.numbers.of_ack(packet.ack) else { return };
        let opens = packet.flags.has(Flags::SYN);
        // A SYN-ACK acknowledges data of the SYN (RFC 7413), if any.
        if opens && (ack == 0 || ack > self.trace.end()) {
            return;
        }
        self.take_probe(ack, 1);
        let ack = ack.min(self.trace.end());
        // The window of a SYN is not scaled (RFC 7323, section 2.2).
        let window = scale.map(|scale| u64::from(packet.window) << if opens { 0 } else { scale });
        self.edge = self.edge.max(window.map(|window| ack + window));
        self.window_closed = packet.window == 0;
        let blocks = flow.sacks(packet);
        let duplicate = self.duplicate_block(blocks, packet.ack);
        if let Some((start, end)) = duplicate {
            self.mark_spurious(start, end);
        }
        let mut delivered = Delivered::default();
        let edge = self.undelivered.next(0);
        self.deliver_up_to(ack, packet, &mut delivered);
        for &(start, end) in &blocks[usize::from(duplicate.is_some())..] {
            self.deliver_block(start, end, packet, &mut delivered);
        }
        if delivered.pieces.is_some_and(|(first, _)| first as usize == edge) {
            self.detect_spurious(edge, packet);
        }
        self.outstanding -= delivered.bytes;
        if let Some((_, newest)) = delivered.pieces {
            let piece = &mut self.trace.pieces[newest as usize];
            piece.prompt = true;
            self.latest_rtt = piece.rtt().or(self.latest_rtt);
        }
        let packets = delivered.bytes.div_ceil(u64::from(self.trace.mss.max(1)));
        let marked = !opens && self.feedback.on_ack(packet.flags, ack >= self.cumulative, packets);
        let repeats = ack == self.cumulative && packet.payload == 0 && self.outstanding > 0;
        self.cumulative = self.cumulative.max(ack);
        self.last_activity = packet.at;
        let all_here = self.cumulative == self.trace.end() && self.cumulative > 0;
        if all_here && packet.payload > 0 && self.trace.answered.is_none() {
            self.trace.answered = Some(packet.at);
        } else if !all_here {
            self.trace.answered = None;
        }
        self.trace.acks.push(CapturedAck {
            at: packet.at,
            ack,
            bytes: delivered.bytes,
            wire: delivered.wire,
            pieces: delivered.pieces,
            flight: self.outstanding,
            window,
            ip_len: packet.ip_len,
            pure: packet.payload == 0 && !packet.flags.has(Flags::FIN),
            disordered: !blocks.is_empty() || repeats,
            marked,
            epoch: packet.epoch,
        });
    }

    /// First block, if it reports a duplicate (RFC 2883, section 4): it lies below the acknowledgement or
    /// inside the second block.
    fn duplicate_block(&self, blocks: &[(u64, u64)], ack: u64) -> Option<(u64, u64)> {
        let &(start, end) = blocks.first()?;
        let inside = |outer: &(u64, u64)| outer.0 <= start && end <= outer.1;
        (end <= ack || blocks.get(1).is_some_and(inside)).then_some((start, end))
    }

    fn range(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        let [start, end] = [start, end].map(|number| self.numbers.of_ack(number).unwrap_or(0));
        let first = self.trace.pieces.partition_point(|piece| piece.start < start);
        let last = self.trace.pieces.partition_point(|piece| piece.end() <= end);
        first..last.max(first)
    }

    fn mark_spurious(&mut self, start: u64, end: u64) {
        // a longer block is damage rather than a segment
        const MOST: usize = 64;
        let range = self.range(start, end);
        for piece in self.trace.pieces[range].iter_mut().take(MOST).filter(|piece| piece.resent == 1) {
            piece.spurious = true;
        }
    }

    /// Eifel test (RFC 3522): the acknowledgement that first covers a piece echoes a time stamp older than
    /// that of its retransmission, so it acknowledges the original. The test holds only for the piece at the
    /// left edge.
    fn detect_spurious(&mut self, edge: usize, packet: &Packet) {
        let piece = &mut self.trace.pieces[edge];
        if let (Some(stamp), Some((_, echo))) = (piece.resent_stamp, packet.timestamps) {
            let older = (echo.wrapping_sub(stamp) as i32) < 0;
            piece.spurious |= older && piece.resent == 1;
        }
    }

    fn deliver_up_to(&mut self, ack: u64, packet: &Packet, delivered: &mut Delivered) {
        let mut index = self.undelivered.next(0);
        while index < self.trace.pieces.len() && self.trace.pieces[index].end() <= ack {
            self.deliver(index, packet, delivered);
            index = self.undelivered.next(index);
        }
    }

    fn deliver_block(&mut self, start: u64, end: u64, packet: &Packet, delivered: &mut Delivered) {
        let range = self.range(start, end);
        let mut index = self.undelivered.next(range.start);
        while index < range.end {
            self.deliver(index, packet, delivered);
            index = self.undelivered.next(index);
        }
    }

    fn deliver(&mut self, index: usize, packet: &Packet, delivered: &mut Delivered) {
        self.undelivered.remove(index);
        let pieces = &mut self.trace.pieces;
        pieces[index].delivered = packet.at;
        pieces[index].epoch = pieces[index].epoch.filter(|epoch| *epoch == packet.epoch);
        let sent_last = |index: usize| match &pieces[index] {
            piece if piece.resent > 0 => piece.resent_at,
            piece => piece.sent,
        };
        delivered.bytes += u64::from(pieces[index].len);
        delivered.wire += u64::from(pieces[index].wire);
        delivered.pieces = Some(match delivered.pieces {
            None => (index as u32, index as u32),
            Some((first, newest)) => {
                let newer = sent_last(index) >= sent_last(newest as usize);
                (first.min(index as u32), if newer { index as u32 } else { newest })
            }
        });
    }
}

/// Data newly reported by one acknowledgement.
#[derive(Default)]
struct Delivered {
    bytes: u64,
    wire: u64,
    pieces: Option<(u32, u32)>,
}

/// Pieces that have not arrived, as a disjoint-set forest: finding the next one is cheap even if the same
/// SACK block is repeated a thousand times.
#[derive(Default)]
struct Undelivered {
    /// An arrived piece points to a later one; the last entry is past the end.
    next: Vec<u32>,
}

impl Undelivered {
    fn push(&mut self) {
        if self.next.is_empty() {
            self.next.push(0);
        }
        self.next.push(self.next.len() as u32);
    }

    /// First piece at or after `from` that has not arrived, or the number of pieces.
    fn next(&mut self, from: usize) -> usize {
        if self.next.is_empty() {
            return 0;
        }
        let mut at = from;
        while self.next[at] as usize != at {
            // path halving
            self.next[at] = self.next[self.next[at] as usize];
            at = self.next[at] as usize;
        }
        at
    }

    fn remove(&mut self, index: usize) {
        self.next[index] = index as u32 + 1;
    }
}
