//! The walk over a connection's packets that fills its [`Trace`].

use firstflight_contract::Nanos;

use crate::flows::{Flow, Packet, Side};
use crate::packet::Flags;
use crate::trace::{Ack, Piece, Sending, Trace, receive_scale};

/// A hole larger than this many segments is no loss in the capture but a number that means nothing.
const MAX_MISSED: u64 = 1 << 16;

/// Retransmitted pieces looked at in one connection: only damage and malice reach it.
const MAX_WORK: u64 = 1 << 26;

/// Walks the packets of `flow` whose data, from number `origin` on, `sender` sent. `budget` is what is left of
/// [`crate::trace::MAX_PIECES`].
pub(crate) fn walk(flow: &Flow, sender: Side, trace: Trace, origin: u64, budget: &mut usize) -> Trace {
    let mut walk = Walk {
        trace,
        origin,
        undelivered: Undelivered::default(),
        cumulative: 0,
        outstanding: 0,
        last_sign: Nanos::ZERO,
        latest_rtt: None,
        work: 0,
    };
    let scale = receive_scale(flow, sender);
    for packet in &flow.packets {
        if walk.time_leaps(packet, sender) {
            walk.trace.cut = true;
            break;
        }
        if packet.side != sender {
            walk.on_ack(flow, packet, scale);
        } else if packet.payload > 0 {
            let before = walk.trace.pieces.len();
            walk.on_data(packet, *budget);
            *budget -= walk.trace.pieces.len() - before;
            if walk.trace.cut {
                break;
            }
        }
    }
    walk.trace
}

struct Walk {
    trace: Trace,
    /// Number of the first data byte.
    origin: u64,
    undelivered: Undelivered,
    /// Acknowledged so far, from the first data byte.
    cumulative: u64,
    /// Bytes sent and not known to have arrived.
    outstanding: u64,
    /// When the sender last sent or heard anything.
    last_sign: Nanos,
    latest_rtt: Option<Nanos>,
    /// Pieces marked as sent again so far.
    work: u64,
}

impl Walk {
    /// Whether far more time has passed than any sender waits for acknowledgements before it sends again: the clock was
    /// set, or the machine slept.
    fn time_leaps(&self, packet: &Packet, sender: Side) -> bool {
        const LONG: Nanos = Nanos::from_secs(3);
        // Linux's TCP_RTO_MAX
        const LONGEST_RTO: Nanos = Nanos::from_secs(120);
        let silent = packet.at.saturating_sub(self.last_sign);
        let patience = self.latest_rtt.map_or(Nanos::NEVER, |rtt| LONG.max(Nanos(rtt.0.saturating_mul(8))));
        let again = packet.side == sender && packet.data_start() < self.origin + self.trace.end();
        self.outstanding > 0 && silent > if again { LONGEST_RTO } else { patience }
    }

    fn on_data(&mut self, packet: &Packet, budget: usize) {
        let Some(start) = packet.data_start().checked_sub(self.origin) else { return };
        let end = start + u64::from(packet.payload);
        let known = self.trace.end();
        // a keep-alive or window probe repeats a byte
        if packet.payload == 1 && end <= known {
            return;
        }
        if !self.make_room(packet, start, end, budget) {
            self.trace.cut = true;
            return;
        }
        if start < known {
            self.send_again(packet, start, end.min(known));
        }
        if end > known {
            self.add_pieces(start.max(known), end, packet.at);
        }
        self.trace.sends.push(Sending {
            at: packet.at,
            len: packet.payload,
            flight: self.outstanding,
            end: self.trace.end(),
            new: end > known,
            acks_before: self.trace.acks.len() as u32,
        });
        self.last_sign = packet.at;
    }

    /// Adds what the capture missed before `start`; `false` where the budget does not allow the packet.
    fn make_room(&mut self, packet: &Packet, start: u64, end: u64, budget: usize) -> bool {
        let known = self.trace.end();
        let mss = u64::from(self.trace.mss);
        let missed = start.saturating_sub(known).div_ceil(mss);
        let pieces = missed + (end - start).div_ceil(mss);
        if missed > MAX_MISSED || pieces > budget as u64 {
            return false;
        }
        if missed > 0 {
            self.trace.missed += missed;
            let first = self.trace.pieces.len();
            self.add_pieces(known, start, Nanos::NEVER);
            for piece in &mut self.trace.pieces[first..] {
                (piece.resent_at, piece.resent_stamp) =
                    (packet.at, packet.timestamps.map(|(value, _)| value));
            }
        }
        true
    }

    fn add_pieces(&mut self, start: u64, end: u64, sent: Nanos) {
        let mut at = start;
        while at < end {
            let len = (end - at).min(u64::from(self.trace.mss)) as u32;
            self.trace.pieces.push(Piece {
                sent,
                sent_by: sent,
                start: at,
                len,
                wire: len + self.trace.header,
                resent: 0,
                resent_at: Nanos::ZERO,
                resent_stamp: None,
                delivered: Nanos::NEVER,
                spurious: false,
                prompt: false,
            });
            self.undelivered.push();
            at += u64::from(len);
        }
        self.outstanding += end - start;
    }

    fn send_again(&mut self, packet: &Packet, start: u64, end: u64) {
        let first = self.trace.pieces.partition_point(|piece| piece.end() <= start);
        let mut again = 0;
        let stamp = packet.timestamps.map(|(value, _)| value);
        let mut ahead = first.checked_sub(1).map_or(Nanos::NEVER, |ahead| self.trace.pieces[ahead].sent);
        let mut hole_before = first > 0 && ahead == Nanos::NEVER && self.trace.pieces[first - 1].resent > 0;
        for piece in self.trace.pieces[first..].iter_mut().take_while(|piece| piece.start < end) {
            if piece.sent == Nanos::NEVER && piece.resent == 0 {
                self.trace.missed = self.trace.missed.saturating_sub(1);
                if !piece.fills_a_hole(packet) {
                    (piece.sent, piece.sent_by) = (packet.at, packet.at);
                    (piece.resent_at, piece.resent_stamp) = (Nanos::ZERO, None);
                    (ahead, hole_before) = (packet.at, false);
                    continue;
                }
                // It went out between the packets around the hole. But no sender knows of a loss before a round trip: a
                // hole that begins to fill sooner was left by the end of a flight, and what lies behind it was sent
                // out of sequence. Nothing tells when then.
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
            piece.resent += 1;
            piece.resent_at = packet.at;
            piece.resent_stamp = piece.resent_stamp.or(stamp);
            again += 1;
        }
        self.trace.resent_packets += again;
        self.trace.resent_times.extend((0..again).map(|_| packet.at));
        self.work += again;
        self.trace.cut |= self.work > MAX_WORK;
        // RFC 6298: no timer fires sooner than a round trip after the last acknowledgement
        let silent = packet.at.saturating_sub(self.last_sign);
        if again > 0 && self.latest_rtt.is_some_and(|rtt| silent > rtt) {
            self.trace.timeouts += 1;
        }
    }

    fn on_ack(&mut self, flow: &Flow, packet: &Packet, scale: Option<u8>) {
        if !packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            return;
        }
        let ack = packet.ack.saturating_sub(self.origin).min(self.trace.end());
        let blocks = flow.sacks(packet);
        let duplicate = self.duplicate_block(blocks, packet.ack);
        if let Some((start, end)) = duplicate {
            self.mark_spurious(start, end);
        }
        let mut news = News::default();
        let edge = self.undelivered.next(0);
        self.deliver_up_to(ack, packet.at, &mut news);
        for &(start, end) in &blocks[usize::from(duplicate.is_some())..] {
            self.deliver_block(start, end, packet.at, &mut news);
        }
        if news.pieces.is_some_and(|(first, _)| first as usize == edge) {
            self.detect_spurious(edge, packet);
        }
        self.outstanding -= news.bytes;
        if let Some((_, newest)) = news.pieces {
            let piece = &mut self.trace.pieces[newest as usize];
            piece.prompt = true;
            self.latest_rtt = piece.rtt().or(self.latest_rtt);
        }
        let repeats = ack == self.cumulative && packet.payload == 0 && self.outstanding > 0;
        self.cumulative = self.cumulative.max(ack);
        self.last_sign = packet.at;
        let all_here = self.cumulative == self.trace.end() && self.cumulative > 0;
        if all_here && packet.payload > 0 && self.trace.answered.is_none() {
            self.trace.answered = Some(packet.at);
        } else if !all_here {
            self.trace.answered = None;
        }
        self.trace.acks.push(Ack {
            at: packet.at,
            ack,
            bytes: news.bytes,
            wire: news.wire,
            pieces: news.pieces,
            flight: self.outstanding,
            window: scale.map(|scale| u64::from(packet.window) << scale),
            ip_len: packet.ip_len,
            pure: packet.payload == 0 && !packet.flags.has(Flags::FIN),
            disordered: !blocks.is_empty() || repeats,
            marked: packet.flags.has(Flags::ECE),
        });
    }

    /// The first block where it reports data that came twice (RFC 2883, section 4): below the acknowledgement, or
    /// inside the second block.
    fn duplicate_block(&self, blocks: &[(u64, u64)], ack: u64) -> Option<(u64, u64)> {
        let &(start, end) = blocks.first()?;
        let inside = |outer: &(u64, u64)| outer.0 <= start && end <= outer.1;
        (end <= ack || blocks.get(1).is_some_and(inside)).then_some((start, end))
    }

    fn range(&self, start: u64, end: u64) -> std::ops::Range<usize> {
        let (start, end) = (start.saturating_sub(self.origin), end.saturating_sub(self.origin));
        let first = self.trace.pieces.partition_point(|piece| piece.start < start);
        let last = self.trace.pieces.partition_point(|piece| piece.end() <= end);
        first..last.max(first)
    }

    fn mark_spurious(&mut self, start: u64, end: u64) {
        // a block as long as this is no segment but damage
        const MOST: usize = 64;
        let range = self.range(start, end);
        for piece in self.trace.pieces[range].iter_mut().take(MOST).filter(|piece| piece.resent == 1) {
            piece.spurious = true;
        }
    }

    /// The Eifel test (RFC 3522): the acknowledgement that first covers a piece echoes a time stamp older than its
    /// retransmission's, so it answers the original. It holds for the piece at the left edge only.
    fn detect_spurious(&mut self, edge: usize, packet: &Packet) {
        let piece = &mut self.trace.pieces[edge];
        if let (Some(stamp), Some((_, echo))) = (piece.resent_stamp, packet.timestamps) {
            let older = (echo.wrapping_sub(stamp) as i32) < 0;
            piece.spurious |= older && piece.resent == 1;
        }
    }

    fn deliver_up_to(&mut self, ack: u64, at: Nanos, news: &mut News) {
        let mut index = self.undelivered.next(0);
        while index < self.trace.pieces.len() && self.trace.pieces[index].end() <= ack {
            self.deliver(index, at, news);
            index = self.undelivered.next(index);
        }
    }

    fn deliver_block(&mut self, start: u64, end: u64, at: Nanos, news: &mut News) {
        let range = self.range(start, end);
        let mut index = self.undelivered.next(range.start);
        while index < range.end {
            self.deliver(index, at, news);
            index = self.undelivered.next(index);
        }
    }

    fn deliver(&mut self, index: usize, at: Nanos, news: &mut News) {
        self.undelivered.remove(index);
        let pieces = &mut self.trace.pieces;
        pieces[index].delivered = at;
        let sent_last = |index: usize| match &pieces[index] {
            piece if piece.resent > 0 => piece.resent_at,
            piece => piece.sent,
        };
        news.bytes += u64::from(pieces[index].len);
        news.wire += u64::from(pieces[index].wire);
        news.pieces = Some(match news.pieces {
            None => (index as u32, index as u32),
            Some((first, newest)) => {
                let newer = sent_last(index) >= sent_last(newest as usize);
                (first.min(index as u32), if newer { index as u32 } else { newest })
            }
        });
    }
}

/// What one acknowledgement newly reports.
#[derive(Default)]
struct News {
    bytes: u64,
    wire: u64,
    pieces: Option<(u32, u32)>,
}

/// The pieces not yet arrived, as a disjoint-set forest: finding the next one costs next to nothing even where the
/// same SACK block comes a thousand times.
#[derive(Default)]
struct Undelivered {
    /// A piece that arrived points at a later one; the last entry is beyond the end.
    next: Vec<u32>,
}

impl Undelivered {
    fn push(&mut self) {
        if self.next.is_empty() {
            self.next.push(0);
        }
        self.next.push(self.next.len() as u32);
    }

    /// The first piece from `from` on that has not arrived, or the number of pieces.
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
