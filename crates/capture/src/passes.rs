//! Packets of one side of a connection as one place saw them, and whether another place on the path saw the same.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use firstflight_contract::Nanos;

use crate::flows::{Flow, Packet};
use crate::packet::Flags;

/// Packets of one side at one place.
#[derive(Default)]
pub(crate) struct Pass {
    /// Numbers that were sent: ranges in order, without gaps or overlaps between two.
    sent: Vec<(u64, u64)>,
    /// Packets with numbers of their own.
    packets: usize,
    /// Acknowledgements, each once, in order.
    acks: Vec<u64>,
    /// Hashes of the pure acknowledgements' bytes, in order.
    pure: Vec<u64>,
    /// End of the numbers sent, and the acknowledgement, each time that it rose.
    sent_at: Vec<(u64, Nanos)>,
    acked_at: Vec<(u64, Nanos)>,
    /// Times of the first packet and of the last one.
    times: Option<(Nanos, Nanos)>,
}

impl Pass {
    /// `packets` in the order of their times.
    pub(crate) fn new<'a>(flow: &Flow, packets: impl Iterator<Item = &'a Packet>) -> Self {
        let mut pass = Self::default();
        let rise = |curve: &mut Vec<(u64, Nanos)>, to: u64, at: Nanos| {
            if curve.last().is_none_or(|(last, _)| *last < to) {
                curve.push((to, at));
            }
        };
        for packet in packets {
            pass.times = Some((pass.times.map_or(packet.at, |times| times.0), packet.at));
            if !packet.is_pure() {
                pass.sent.push((packet.seq, packet.end()));
                pass.packets += 1;
                rise(&mut pass.sent_at, packet.end(), packet.at);
            } else {
                pass.pure.push(hash(flow, packet));
            }
            if packet.flags.has(Flags::ACK) {
                pass.acks.push(packet.ack);
                rise(&mut pass.acked_at, packet.ack, packet.at);
            }
        }
        pass.acks.sort_unstable();
        pass.acks.dedup();
        pass.pure.sort_unstable();
        pass.sent.sort_unstable();
        let mut joined: Vec<(u64, u64)> = vec![];
        for (start, end) in pass.sent {
            match joined.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => joined.push((start, end)),
            }
        }
        pass.sent = joined;
        pass
    }

    /// Numbers that were sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.sent.iter().map(|(start, end)| end - start).sum()
    }

    /// Numbers that the other place saw, too.
    pub(crate) fn common(&self, other: &Self) -> u64 {
        self.sent.iter().map(|(start, end)| other.within(*start, *end)).sum()
    }

    /// Whether both saw half of what either of them saw, numbers or else acknowledgements.
    pub(crate) fn is_half_of(&self, other: &Self) -> bool {
        let acks = || self.acks.iter().filter(|ack| other.acks.binary_search(ack).is_ok()).count();
        if self.packets >= FEW && other.packets >= FEW {
            2 * self.common(other) >= self.bytes().min(other.bytes())
        } else {
            2 * acks() >= self.acks.len().min(other.acks.len())
        }
    }

    /// Whether the other place can have seen the packets this much later, nanoseconds: while both saw packets, or if most are the same.
    pub(crate) fn may_precede(&self, other: &Self, delay: i128) -> bool {
        let overlap = self.overlap(other).unwrap_or_default();
        delay.unsigned_abs() <= u128::from(overlap.0) || self.is_half_of(other)
    }

    /// Time during which both places saw packets, by their clocks.
    pub(crate) fn overlap(&self, other: &Self) -> Option<Nanos> {
        let (begin, end) = (self.times?.0.max(other.times?.0), self.times?.1.min(other.times?.1));
        (begin < end).then(|| end.saturating_sub(begin))
    }

    /// Whether any of the packet's numbers was seen here, or the same bytes if it has none.
    pub(crate) fn saw(&self, flow: &Flow, packet: &Packet) -> bool {
        if packet.is_pure() {
            return self.pure.binary_search(&hash(flow, packet)).is_ok();
        }
        self.within(packet.seq, packet.end()) > 0
    }

    /// Count of these numbers that were sent.
    fn within(&self, start: u64, end: u64) -> u64 {
        let first = self.sent.partition_point(|range| range.1 <= start);
        let ranges = self.sent[first..].iter().take_while(|range| range.0 < end);
        ranges.map(|range| range.1.min(end) - range.0.max(start)).sum()
    }
}

/// Hash of the bytes of a packet, as far as they are kept.
fn hash(flow: &Flow, packet: &Packet) -> u64 {
    let mut hasher = DefaultHasher::new();
    (packet.identity(), flow.sacks(packet)).hash(&mut hasher);
    hasher.finish()
}

/// Packets, or acknowledgements, that are the least to compare.
const FEW: usize = 3;

/// Tenths of what the place with less saw that both must have seen to be on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Common {
    /// Half, if the packets of the other side show it, too: a place may miss many.
    Half = 5,
    /// Nearly all, by the packets of one side alone: as many as half may be retransmissions over another interface.
    NearlyAll = 9,
}

/// Time by which the second place saw the packets later than the first, nanoseconds: the median. `None` if they did not see the same: less
/// than `least` of what the one with less saw, where both saw something.
pub(crate) fn compare(one: &Pass, other: &Pass, least: Common) -> Option<i128> {
    same(one, other, least as usize).then(|| delay(one, other)).flatten()
}

/// Whether the second place saw the packets nearly the same time later than the first, as it does copies, and soon.
pub(crate) fn is_steady(one: &Pass, other: &Pass) -> bool {
    const SOON: i128 = 50_000_000;
    const STAMPED: i128 = 100_000;
    let delays = sorted_delays(one, other);
    let at = |tenth: usize| delays.get(delays.len() * tenth / 10).copied().unwrap_or_default();
    let (low, high) = (at(1), at(9));
    let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    most <= SOON && high - low <= 2 * least + 2 * STAMPED
}

fn same(one: &Pass, other: &Pass, tenths: usize) -> bool {
    if one.packets >= FEW && other.packets >= FEW {
        same_data(one, other, tenths as u64)
    } else {
        same_acks(&one.acks, &other.acks, tenths)
    }
}

fn delay(one: &Pass, other: &Pass) -> Option<i128> {
    let delays = sorted_delays(one, other);
    delays.get(delays.len() / 2).copied()
}

fn sorted_delays(one: &Pass, other: &Pass) -> Vec<i128> {
    let mut delays = delays(&one.sent_at, &other.sent_at);
    if delays.len() < FEW {
        delays.extend(self::delays(&one.acked_at, &other.acked_at));
    }
    delays.sort_unstable();
    delays
}

fn same_data(one: &Pass, other: &Pass, tenths: u64) -> bool {
    let span = |pass: &Pass| Some((pass.sent.first()?.0, pass.sent.last()?.1));
    let (Some(a), Some(b)) = (span(one), span(other)) else { return false };
    let (start, end) = (a.0.max(b.0), a.1.min(b.1));
    if start >= end {
        return false;
    }
    let less = one.within(start, end).min(other.within(start, end));
    let common = one.common(other);
    // Retransmissions on another path are a small part of the data of both, and packets are no longer than this.
    less > 0
        && 10 * common >= tenths * less
        && common as usize * one.packets.max(other.packets) >= FEW * less as usize
}

fn same_acks(one: &[u64], other: &[u64], tenths: usize) -> bool {
    let (Some(a), Some(b)) = (one.first().zip(one.last()), other.first().zip(other.last())) else {
        return false;
    };
    let (start, end) = (*a.0.max(b.0), *a.1.min(b.1));
    let within = |acks: &[u64]| {
        let (first, last) =
            (acks.partition_point(|ack| *ack < start), acks.partition_point(|ack| *ack <= end));
        first..last.max(first)
    };
    let (mine, theirs) = (within(one), within(other));
    let common = one[mine.clone()].iter().filter(|ack| other.binary_search(ack).is_ok()).count();
    let less = mine.len().min(theirs.len());
    less >= FEW && 10 * common >= tenths * less
}

/// Times by which the second curve reaches the values of the first later.
fn delays(one: &[(u64, Nanos)], other: &[(u64, Nanos)]) -> Vec<i128> {
    let begins = other.first().map(|(value, _)| *value);
    let delay = |&(value, at): &(u64, Nanos)| {
        if Some(value) < begins {
            return None;
        }
        let after = other.partition_point(|(reached, _)| *reached < value);
        let (_, later) = other.get(after)?;
        Some(i128::from(later.0) - i128::from(at.0))
    };
    one.iter().filter_map(delay).collect()
}
