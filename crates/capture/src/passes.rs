//! Packets of one side of a connection as one place saw them, and whether another place on the path saw the same.

use firstflight_contract::Nanos;

use crate::flows::Packet;
use crate::packet::Flags;

/// Packets of one side at one place.
pub(crate) struct Pass {
    /// Numbers that were sent: ranges in order, without gaps or overlaps between two.
    sent: Vec<(u64, u64)>,
    /// Packets with numbers of their own.
    packets: usize,
    /// Acknowledgements, each once, in order.
    acks: Vec<u64>,
    /// End of the numbers sent, and the acknowledgement, each time that it rose.
    sent_at: Vec<(u64, Nanos)>,
    acked_at: Vec<(u64, Nanos)>,
    /// Times of the first packet and of the last one.
    times: Option<(Nanos, Nanos)>,
}

impl Pass {
    /// `packets` in the order of their times.
    pub(crate) fn new<'a>(packets: impl Iterator<Item = &'a Packet>) -> Self {
        let mut pass =
            Self { sent: vec![], packets: 0, acks: vec![], sent_at: vec![], acked_at: vec![], times: None };
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
            }
            if packet.flags.has(Flags::ACK) {
                pass.acks.push(packet.ack);
                rise(&mut pass.acked_at, packet.ack, packet.at);
            }
        }
        pass.acks.sort_unstable();
        pass.acks.dedup();
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

    /// Time during which both places saw packets, by their clocks.
    pub(crate) fn overlap(&self, other: &Self) -> Option<Nanos> {
        let (begin, end) = (self.times?.0.max(other.times?.0), self.times?.1.min(other.times?.1));
        (begin < end).then(|| end.saturating_sub(begin))
    }

    /// Whether any of the packet's numbers was seen here, or the acknowledgement if it has none.
    pub(crate) fn saw(&self, packet: &Packet) -> bool {
        if packet.is_pure() {
            return self.acks.binary_search(&packet.ack).is_ok();
        }
        self.within(packet.seq, packet.end()) > 0
    }

    /// How many of these numbers were sent.
    fn within(&self, start: u64, end: u64) -> u64 {
        let first = self.sent.partition_point(|range| range.1 <= start);
        let ranges = self.sent[first..].iter().take_while(|range| range.0 < end);
        ranges.map(|range| range.1.min(end) - range.0.max(start)).sum()
    }
}

/// Packets, or acknowledgements, that are the least to compare.
const FEW: usize = 3;

/// Time by which the second place saw the packets later than the first, nanoseconds: the median. `None` if they did not see the same: less
/// than half of what the one with less saw, where both saw something.
pub(crate) fn compare(one: &Pass, other: &Pass) -> Option<i128> {
    let same = if one.packets >= FEW && other.packets >= FEW {
        same_data(one, other)
    } else {
        same_acks(&one.acks, &other.acks)
    };
    if !same {
        return None;
    }
    let mut delays = delays(&one.sent_at, &other.sent_at);
    if delays.len() < FEW {
        delays.extend(self::delays(&one.acked_at, &other.acked_at));
    }
    delays.sort_unstable();
    delays.get(delays.len() / 2).copied()
}

fn same_data(one: &Pass, other: &Pass) -> bool {
    let span = |pass: &Pass| Some((pass.sent.first()?.0, pass.sent.last()?.1));
    let (Some(a), Some(b)) = (span(one), span(other)) else { return false };
    let (start, end) = (a.0.max(b.0), a.1.min(b.1));
    if start >= end {
        return false;
    }
    let less = one.within(start, end).min(other.within(start, end));
    let common = one.common(other);
    // Retransmissions on another path are a small part of the data of both, and packets are no longer than this.
    less > 0 && 2 * common >= less && common as usize * one.packets.max(other.packets) >= FEW * less as usize
}

fn same_acks(one: &[u64], other: &[u64]) -> bool {
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
    less >= FEW && 2 * common >= less
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
