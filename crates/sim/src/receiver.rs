//! A TCP receiver: reassembly, selective ACKs (RFC 2018), and when to acknowledge (RFC 1122, RFC 5681 section 4.2).

use crate::header;
use crate::packet::{self, MAX_BLOCKS};
use crate::sender::stack::ReceiveWindow;

/// When in-order data is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Segments per ACK once quick ACKs are used up: 1 or 2.
    pub every: u32,
    /// This many segments at the start are acknowledged at once (Linux's quick ACKs).
    pub quick: u32,
    /// Longest wait for a second segment, nanoseconds.
    pub timer: u64,
}

/// What a receiver says of data beyond the cumulative ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// Nothing.
    Nothing,
    /// The blocks it holds (RFC 2018).
    Blocks,
    /// These, and what arrived a second time (RFC 2883).
    Duplicates,
}

/// An ACK, as the engine sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOut {
    /// The next segment expected.
    pub seq: u32,
    /// Packed SACK blocks and flags.
    pub low: u64,
    /// Packed SACK blocks.
    pub high: u64,
}

/// A host without work for longer than this has fallen asleep, nanoseconds: a tick of a kernel's clock at HZ = 250, after
/// which it stops the clock.
const SLEEPS_AFTER: u64 = 4_000_000;

/// One connection's receiving end.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    // What every segment touches comes first, in one cache line.
    next: u32,
    /// In-order segments not acknowledged yet.
    held: u32,
    /// When the delayed ACK is due; `u64::MAX` if none is.
    due: u64,
    /// When the last segment arrived, and from when on the host is awake.
    heard_at: u64,
    awake_at: u64,
    /// How long it takes to wake; zero if it never sleeps.
    wakes_in: u64,
    policy: AckPolicy,
    quick_left: u32,
    /// Flags of every ACK: an echoed mark, and whose timestamp is echoed.
    echo: u64,
    /// What routers said, for the high word of the next ACK.
    said: u64,
    reports: Reports,
    /// Segments beyond a hole, as sorted disjoint ranges; those before `first` are consumed.
    beyond: Vec<(u32, u32)>,
    first: usize,
    /// The ranges that changed last, newest first (RFC 2018 section 4).
    recent: [(u32, u32); MAX_BLOCKS],
    recent_len: usize,
    /// The room it offers, as far as an application that reads late has a part in it.
    window: ReceiveWindow,
    /// The SYN carries data: before it nothing is taken.
    opens_with_data: bool,
    /// Some segments are acknowledged whatever the policy.
    attentive: bool,
    /// Segments that arrived a second time.
    pub duplicates: u64,
}

impl Receiver {
    /// A receiver that has seen nothing.
    pub fn new(policy: AckPolicy, reports: Reports) -> Self {
        Self {
            next: 0,
            held: 0,
            due: u64::MAX,
            heard_at: 0,
            awake_at: 0,
            wakes_in: 0,
            policy,
            quick_left: policy.quick,
            echo: 0,
            said: 0,
            reports,
            beyond: Vec::new(),
            first: 0,
            recent: [(0, 0); MAX_BLOCKS],
            recent_len: 0,
            window: ReceiveWindow::fixed(u32::MAX),
            opens_with_data: false,
            attentive: false,
            duplicates: 0,
        }
    }

    /// The same on a host that falls asleep and takes `wakes_in` nanoseconds to wake.
    pub fn waking_in(self, wakes_in: u64) -> Self {
        Self { wakes_in, ..self }
    }

    /// The same in front of an application that reads as `window` says.
    pub fn reading(self, window: ReceiveWindow) -> Self {
        Self { window, attentive: self.attentive || window.is_read_late(), ..self }
    }

    /// The same where the first segment opens the connection.
    pub fn opened_by_data(self, opens_with_data: bool) -> Self {
        Self { opens_with_data, attentive: self.attentive || opens_with_data, ..self }
    }

    /// When what arrives at `at` is answered.
    #[inline(always)]
    pub(crate) fn answers_at(&mut self, at: u64) -> u64 {
        if at > self.heard_at + SLEEPS_AFTER {
            self.awake_at = at + self.wakes_in;
        }
        self.heard_at = at;
        at.max(self.awake_at)
    }

    /// When a delayed ACK is due; `u64::MAX` if none is.
    #[inline]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// The delayed ACK that is due.
    pub fn on_timer(&mut self) -> AckOut {
        self.held = 0;
        self.due = u64::MAX;
        self.ack(0, 0)
    }

    /// `segment` arrives with the `flags` of a data packet and what it carries for routers; the ACK it causes, if it
    /// causes one at once.
    #[inline(always)]
    pub fn on_data(&mut self, now: u64, segment: u32, (flags, carried): (u64, u64)) -> Option<AckOut> {
        if flags & (packet::CE | packet::CWR_ECE | header::KIND) != 0 {
            self.on_network(flags, carried);
        }
        if segment == self.next && self.beyond.is_empty() {
            self.next = segment + 1;
            return self.in_order(now, flags);
        }
        if self.opens_with_data && self.next == 0 && segment > 0 {
            // Nobody listens to a segment of a connection that is not open.
            return None;
        }
        // RFC 5681 section 4.2: out-of-order segments, and those that fill a gap, are acknowledged at once.
        let (low, high) = self.out_of_order(segment, flags);
        self.held = 0;
        self.due = u64::MAX;
        Some(self.ack(low, high))
    }

    #[inline(always)]
    fn in_order(&mut self, now: u64, flags: u64) -> Option<AckOut> {
        self.note_timestamp(flags);
        self.held += 1;
        if self.held < self.policy.every
            && flags & packet::PUSH_SYN == 0
            && self.quick_left == 0
            && !(self.attentive && self.answers_at_once())
        {
            self.due = now + self.policy.timer;
            return None;
        }
        self.quick_left = self.quick_left.saturating_sub(1);
        self.held = 0;
        self.due = u64::MAX;
        Some(self.ack(0, 0))
    }

    /// Whether the last segment is acknowledged whatever the policy: it opened the connection, or its arrival made the
    /// application read, and so the window open.
    #[cold]
    #[inline(never)]
    fn answers_at_once(&self) -> bool {
        self.opens_with_data && self.next == 1 || self.window.is_read_with(self.next)
    }

    /// RFC 7323 section 4.3: the timestamp of the first segment not acknowledged yet is echoed.
    #[inline(always)]
    fn note_timestamp(&mut self, flags: u64) {
        if self.held == 0 {
            self.echo = self.echo & !packet::ECHO_REPEAT | (flags & packet::REPEAT) << 2;
        }
    }

    /// The network has something to say to the sender.
    fn on_network(&mut self, flags: u64, carried: u64) {
        self.said = header::echo_of_data(flags, carried, self.said, self.held > 0);
        // RFC 3168 section 6.1.3: echo from the mark on until the sender says it has reduced its window.
        if flags & packet::CWR_ECE != 0 {
            self.echo &= !packet::CWR_ECE;
        }
        if flags & packet::CE != 0 {
            self.echo |= packet::CWR_ECE;
        }
    }

    #[inline(always)]
    fn ack(&self, low: u64, high: u64) -> AckOut {
        AckOut { seq: self.next, low: low | self.echo, high: high | self.said }
    }

    #[inline(never)]
    fn out_of_order(&mut self, segment: u32, flags: u64) -> (u64, u64) {
        let before = self.duplicates;
        if segment < self.next {
            self.duplicates += 1;
        } else if segment == self.next {
            self.note_timestamp(flags);
            self.fill(segment);
        } else {
            let range = self.store(segment);
            self.report(range);
        }
        if self.reports == Reports::Nothing {
            return (0, 0);
        }
        if self.reports == Reports::Duplicates && self.duplicates > before {
            return self.blocks_after_duplicate(segment);
        }
        self.pack(&self.recent[..self.recent_len])
    }

    /// The blocks as the words of an ACK, without the third where what routers said takes its place.
    fn pack(&self, blocks: &[(u32, u32)]) -> (u64, u64) {
        let (low, high) = packet::pack_blocks(self.next, blocks);
        (low, if self.said & header::ECHO == 0 { high } else { high & header::BLOCKS_LEFT })
    }

    /// RFC 2883 section 4: the first block reports the duplicate, the second the block it lies in, if any.
    #[cold]
    fn blocks_after_duplicate(&self, segment: u32) -> (u64, u64) {
        let mut blocks = [(segment, segment + 1); MAX_BLOCKS];
        let others = self.recent[..self.recent_len].iter().take(MAX_BLOCKS - 1);
        let count = 1 + others.clone().count();
        for (block, other) in blocks[1..].iter_mut().zip(others) {
            *block = *other;
        }
        self.pack(&blocks[..count])
    }

    fn fill(&mut self, segment: u32) {
        self.next = segment + 1;
        if self.beyond[self.first].0 == self.next {
            self.next = self.beyond[self.first].1;
            self.first += 1;
            if self.first == self.beyond.len() {
                self.beyond.clear();
                self.first = 0;
            } else if self.first > 64 && 2 * self.first > self.beyond.len() {
                self.beyond.drain(..self.first);
                self.first = 0;
            }
        }
        let next = self.next;
        self.keep_recent(|block| block.0 >= next);
    }

    /// Adds a segment beyond the hole; returns the range it now belongs to.
    fn store(&mut self, segment: u32) -> (u32, u32) {
        let ranges = &mut self.beyond;
        match ranges.last_mut() {
            Some(last) if segment == last.1 => {
                last.1 += 1;
                return *last;
            }
            Some(last) if segment < last.1 => {}
            _ => {
                ranges.push((segment, segment + 1));
                return (segment, segment + 1);
            }
        }
        // The first range that begins beyond `segment`, and its neighbour below.
        let above = self.first + ranges[self.first..].partition_point(|range| range.0 <= segment);
        let below = (above > self.first).then(|| above - 1);
        if let Some(below) = below
            && segment < ranges[below].1
        {
            self.duplicates += 1;
            return ranges[below];
        }
        let joins_below = below.is_some_and(|below| ranges[below].1 == segment);
        let joins_above = above < ranges.len() && ranges[above].0 == segment + 1;
        match (joins_below, joins_above) {
            (true, true) => {
                ranges[above - 1].1 = ranges[above].1;
                ranges.remove(above);
                ranges[above - 1]
            }
            (true, false) => {
                ranges[above - 1].1 += 1;
                ranges[above - 1]
            }
            (false, true) => {
                ranges[above].0 -= 1;
                ranges[above]
            }
            (false, false) => {
                ranges.insert(above, (segment, segment + 1));
                (segment, segment + 1)
            }
        }
    }

    /// RFC 2018 section 4: the first block holds the segment that caused the ACK, the others repeat the most
    /// recently reported ones that it does not cover.
    fn report(&mut self, range: (u32, u32)) {
        self.keep_recent(|block| block.0 < range.0 || block.1 > range.1);
        self.recent_len = (self.recent_len + 1).min(MAX_BLOCKS);
        self.recent.copy_within(..self.recent_len - 1, 1);
        self.recent[0] = range;
    }

    fn keep_recent(&mut self, keep: impl Fn(&(u32, u32)) -> bool) {
        let mut kept = 0;
        for i in 0..self.recent_len {
            if keep(&self.recent[i]) {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recent_len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{PUSH_SYN, unpack_blocks};

    const MS: u64 = 1_000_000;
    const EVERY: AckPolicy = AckPolicy { every: 1, quick: 0, timer: 0 };
    const DELAYED: AckPolicy = AckPolicy { every: 2, quick: 0, timer: 100 * MS };

    fn seqs(receiver: &mut Receiver, segments: &[u32]) -> Vec<Option<u32>> {
        segments.iter().map(|&s| receiver.on_data(0, s, (0, 0)).map(|ack| ack.seq)).collect()
    }

    #[test]
    fn the_second_segment_is_acknowledged_at_once_and_the_timer_covers_the_odd_one() {
        let mut receiver = Receiver::new(DELAYED, Reports::Blocks);
        assert_eq!(seqs(&mut receiver, &[0, 1, 2]), [None, Some(2), None]);
        assert_eq!(receiver.due(), 100 * MS);
        assert_eq!(receiver.on_timer().seq, 3);
        assert_eq!(receiver.due(), u64::MAX);
    }

    #[test]
    fn quick_acks_come_first() {
        let mut receiver = Receiver::new(AckPolicy { quick: 3, ..DELAYED }, Reports::Blocks);
        assert_eq!(seqs(&mut receiver, &[0, 1, 2, 3, 4]), [Some(1), Some(2), Some(3), None, Some(5)]);
    }

    #[test]
    fn the_last_segment_is_not_held() {
        let mut receiver = Receiver::new(DELAYED, Reports::Blocks);
        assert_eq!(receiver.on_data(0, 0, (PUSH_SYN, 0)).map(|ack| ack.seq), Some(1));
    }

    #[test]
    fn holes_and_their_repair_are_acknowledged_at_once_even_by_a_delaying_receiver() {
        let mut receiver = Receiver::new(DELAYED, Reports::Blocks);
        assert_eq!(seqs(&mut receiver, &[0, 2, 3, 1]), [None, Some(1), Some(1), Some(4)]);
    }

    #[test]
    fn blocks_are_reported_newest_first_as_in_rfc_2018() {
        // RFC 2018 section 6, case 3: of eight segments the 2nd, 4th, 6th and 8th (here 1, 3, 5, 7) are lost.
        let mut receiver = Receiver::new(EVERY, Reports::Blocks);
        let mut blocks = |segment| {
            let ack = receiver.on_data(0, segment, (0, 0)).unwrap();
            (ack.seq, unpack_blocks(ack.seq, ack.low, ack.high))
        };
        assert_eq!(blocks(0), (1, [(0, 0); 3]));
        assert_eq!(blocks(2), (1, [(2, 3), (0, 0), (0, 0)]));
        assert_eq!(blocks(4), (1, [(4, 5), (2, 3), (0, 0)]));
        assert_eq!(blocks(6), (1, [(6, 7), (4, 5), (2, 3)]));
        // "the 4th segment is received": 2, 3 and 4 become one block, reported first.
        assert_eq!(blocks(3), (1, [(2, 5), (6, 7), (0, 0)]));
        // "the 2nd segment is received": the cumulative ACK jumps over the block.
        assert_eq!(blocks(1), (5, [(6, 7), (0, 0), (0, 0)]));
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_reduced() {
        use crate::packet::{CE, CWR_ECE};
        let mut receiver = Receiver::new(EVERY, Reports::Blocks);
        let echoes: Vec<bool> = [0, CE, 0, CWR_ECE, 0]
            .iter()
            .enumerate()
            .map(|(i, &flags)| receiver.on_data(0, i as u32, (flags, 0)).unwrap().low & CWR_ECE != 0)
            .collect();
        assert_eq!(echoes, [false, true, true, false, false]);
    }

    #[test]
    fn a_host_that_slept_answers_late_and_nothing_overtakes_its_first_answer() {
        let mut receiver = Receiver::new(EVERY, Reports::Blocks).waking_in(20_000);
        // Awake at 10.02 ms after sleeping until 10 ms; what came meanwhile waits as well, what comes later does not.
        let answers: Vec<u64> = [10_000_000, 10_005_000, 10_030_000, 14_030_000, 18_030_001]
            .map(|at| receiver.answers_at(at))
            .to_vec();
        assert_eq!(answers, [10_020_000, 10_020_000, 10_030_000, 14_030_000, 18_050_001]);
        let mut other = Receiver::new(EVERY, Reports::Blocks);
        assert_eq!(other.answers_at(10_000_000), 10_000_000);
    }

    #[test]
    fn any_order_of_arrival_ends_with_everything_acknowledged_once() {
        // A permutation by a multiplicative step coprime to the length, each segment delivered twice.
        let mut receiver = Receiver::new(EVERY, Reports::Blocks);
        for i in 0..2000_u32 {
            receiver.on_data(0, (i % 1000) * 387 % 1000, (0, 0));
        }
        assert_eq!((receiver.next, receiver.duplicates), (1000, 1000));
        assert!(receiver.beyond.is_empty());
    }
}
