//! TCP receiver: reassembly, selective ACKs (RFC 2018) and delayed ACKs (RFC 1122, RFC 5681 section 4.2).

use crate::ahead::touch;
use crate::header;
use crate::packet::{self, MAX_BLOCKS};
use crate::receive_buffer::Tuning;
use crate::sender::stack::{ReceiveWindow, Recovery};
use firstflight_contract::{Moment, Nanos};

/// Rules for acknowledging in-order data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Segments per ACK after the quick ACKs: 1 or 2.
    pub every: u32,
    /// Number of segments at the start that are acknowledged at once (Linux's quick ACKs). With [`Reports::Duplicates`], segments
    /// beyond a hole and those that fill one count too.
    pub quick: u32,
    /// Maximum delay of an ACK, nanoseconds.
    pub timer: u64,
}

/// SACK information in the ACKs of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// No SACK.
    Nothing,
    /// Blocks beyond the cumulative ACK (RFC 2018).
    Blocks,
    /// Those blocks and duplicate arrivals (RFC 2883).
    Duplicates,
    /// Ranges of packet numbers (QUIC). Only the first packet beyond a hole is acknowledged at once, and one that arrives late (RFC 9000
    /// section 13.2.1). A retransmission has a number of its own, and is not late.
    Packets,
}

impl Reports {
    /// The reports to a sender that recovers so.
    pub fn to(recovery: Recovery) -> Self {
        match recovery {
            Recovery::Sack => Self::Blocks,
            Recovery::Packets => Self::Packets,
            Recovery::Rack { sack: true } => Self::Duplicates,
            _ => Self::Nothing,
        }
    }
}

/// An ACK that the receiver sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckOut {
    /// Next expected segment.
    pub seq: u32,
    /// Packed SACK blocks and flags.
    pub low: u64,
    /// Packed SACK blocks.
    pub high: u64,
}

/// Nanoseconds of inactivity after which a host sleeps: one tick of a kernel clock at HZ = 250, after which
/// an idle kernel stops the clock.
pub(crate) const SLEEPS_AFTER: u64 = 4_000_000;

/// Receiving end of one connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    // The fields that every segment touches come first, in one cache line.
    next: u32,
    /// In-order segments not yet acknowledged.
    unacked: u32,
    /// Expiry of the delayed ACK timer; `u64::MAX` if it is not set.
    due: u64,
    /// Arrival of the last packet, and time from which the host is awake.
    last_arrival: Moment,
    awake_at: u64,
    /// Wake-up time of the host, nanoseconds; zero if it never sleeps.
    wakes_in: u64,
    policy: AckPolicy,
    quick_left: u32,
    /// Flags of every ACK: ECE, and whether the echoed timestamp is that of a retransmission.
    echo: u64,
    /// Router feedback for the high word of the next ACK.
    router_echo: u64,
    reports: Reports,
    /// Segments beyond a hole, as sorted disjoint ranges; ranges before `first` are consumed.
    beyond: Vec<(u32, u32)>,
    first: usize,
    /// Buffer that grows, if it does.
    tuning: Option<Box<Tuning>>,
    /// Most recently changed ranges, newest first (RFC 2018 section 4).
    recent: [(u32, u32); MAX_BLOCKS],
    recent_len: usize,
    /// Receive window, including the effect of an application that reads late.
    window: ReceiveWindow,
    /// Whether the SYN carries data: segments before the first are then ignored.
    opens_with_data: bool,
    /// Segment behind the last one of a write that arrived beyond a hole. The ACK of the whole write is not delayed.
    ends_behind: u32,
    /// Whether some segments are acknowledged at once regardless of the policy.
    attentive: bool,
    /// Number of duplicate segments.
    pub duplicates: u64,
}

impl Receiver {
    /// Creates a receiver before the first segment.
    pub fn new(policy: AckPolicy, reports: Reports) -> Self {
        Self {
            next: 0,
            unacked: 0,
            due: u64::MAX,
            last_arrival: Moment::NEVER,
            awake_at: 0,
            wakes_in: 0,
            policy,
            quick_left: policy.quick,
            echo: 0,
            router_echo: 0,
            reports,
            beyond: Vec::new(),
            first: 0,
            tuning: None,
            recent: [(0, 0); MAX_BLOCKS],
            recent_len: 0,
            window: ReceiveWindow::fixed(u32::MAX),
            opens_with_data: false,
            ends_behind: 0,
            attentive: false,
            duplicates: 0,
        }
    }

    /// Puts the receiver on a host that sleeps when idle and takes `wakes_in` nanoseconds to wake.
    pub(crate) fn waking_in(self, wakes_in: u64) -> Self {
        Self { wakes_in, ..self }
    }

    /// Sets the receive window.
    pub fn reading(self, window: ReceiveWindow) -> Self {
        let tuning = window.is_tuned().then(|| Box::new(Tuning::new(window)));
        Self { window, tuning, attentive: self.attentive || window.is_read_late(), ..self }
    }

    /// Asks for the memory that a segment in order touches.
    #[inline(always)]
    pub(crate) fn expect_data(&self) {
        touch(&self.next);
        touch(&self.echo);
    }

    /// Processes the opening packet of a handshake, which is answered at once. The host is awake from then on.
    pub(crate) fn on_syn(&mut self, now: u64) {
        self.last_arrival = Moment::at(Nanos(now));
        if let Some(tuning) = &mut self.tuning {
            tuning.open(now);
        }
    }

    /// The window that an ACK up to `next` offers.
    pub(crate) fn offered(&self, next: u32) -> ReceiveWindow {
        self.tuning.as_ref().map_or(self.window, |tuning| tuning.at(next))
    }

    /// Sets whether the first data segment opens the connection.
    pub fn opened_by_data(self, opens_with_data: bool) -> Self {
        Self { opens_with_data, attentive: self.attentive || opens_with_data, ..self }
    }

    /// Time at which a segment that arrives at `at` is answered, nanoseconds.
    #[inline(always)]
    pub(crate) fn answers_at(&mut self, at: u64) -> u64 {
        if self.last_arrival.elapsed(Nanos(at)).is_none_or(|idle| idle.0 > SLEEPS_AFTER) {
            self.awake_at = at + self.wakes_in;
        }
        self.last_arrival = Moment::at(Nanos(at));
        at.max(self.awake_at)
    }

    /// Time from which the host is awake, nanoseconds: that of an answer, if it lies ahead of the clock.
    pub(crate) fn awake_at(&self) -> u64 {
        self.awake_at
    }

    /// Expiry of the delayed ACK timer, nanoseconds; `u64::MAX` if it is not set.
    #[inline]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Sends the delayed ACK.
    pub fn on_timer(&mut self) -> AckOut {
        self.unacked = 0;
        self.due = u64::MAX;
        let (low, high) = self.pack(&self.recent[..self.recent_len]);
        self.ack(low, high)
    }

    /// Processes `segment` with the flags and the router header of its packet. Returns an ACK if one is sent
    /// at once.
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
            // The connection is not open: ignore the segment.
            return None;
        }
        // RFC 5681 section 4.2: out-of-order segments, and those that fill a gap, are acknowledged at once.
        let before = self.duplicates;
        let next = self.next;
        let newest = self.beyond.last().map_or(self.next, |last| last.1);
        let (low, high) = self.out_of_order(segment, flags);
        if self.reports == Reports::Packets && (segment == newest || flags & packet::REPEAT != 0) {
            if flags & packet::PUSH_SYN != 0 {
                self.ends_behind = segment + 1;
            }
            self.unacked += 1;
            let ends = (next + 1..=self.next).contains(&self.ends_behind);
            if !ends && self.waits(now, flags) {
                return None;
            }
        }
        if self.reports == Reports::Duplicates && self.tuning.is_none() && self.duplicates == before {
            // Such a segment opens the window as well (`tcp_data_queue_ofo`), and its ACK is one of the quick ones.
            self.quick_left = self.quick_left.saturating_sub(1);
        }
        self.tune(now);
        self.unacked = 0;
        self.due = u64::MAX;
        Some(self.ack(low, high))
    }

    #[inline(always)]
    fn in_order(&mut self, now: u64, flags: u64) -> Option<AckOut> {
        self.note_timestamp(flags);
        self.tune(now);
        self.unacked += 1;
        if self.waits(now, flags) {
            return None;
        }
        self.quick_left = self.quick_left.saturating_sub(1);
        self.unacked = 0;
        self.due = u64::MAX;
        Some(self.ack(0, 0))
    }

    /// Whether the ACK of a segment waits for the next one. If so, the timer is set.
    #[inline(always)]
    fn waits(&mut self, now: u64, flags: u64) -> bool {
        let waits = self.unacked < self.policy.every
            && flags & packet::PUSH_SYN == 0
            && self.quick_left == 0
            && !(self.attentive && self.answers_at_once());
        // The timer runs from the first of several segments that wait.
        if waits && self.unacked <= 1 {
            self.due = self.awake_at.max(now + self.policy.timer);
        }
        waits
    }

    /// Lets a buffer that grows see that the application has read.
    #[inline(always)]
    fn tune(&mut self, now: u64) {
        if self.tuning.is_some() {
            self.tune_buffer(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn tune_buffer(&mut self, now: u64) {
        let (next, beyond) = (self.next, self.beyond.last().map_or(0, |last| last.1 - self.next));
        let Some(tuning) = &mut self.tuning else { return };
        if next > 0 && tuning.opens_with(next - 1) {
            // `tcp_grow_window` sets the lowest bit of the number of quick ACKs.
            self.quick_left |= 1;
        }
        tuning.read(now, next, beyond);
    }

    /// Whether the last segment is acknowledged at once regardless of the policy: it opened the connection,
    /// or the application read on its arrival and so opened the window.
    #[cold]
    #[inline(never)]
    fn answers_at_once(&self) -> bool {
        self.opens_with_data && self.next == 1 || self.window.is_read_with(self.next)
    }

    /// RFC 7323 section 4.3: echo the timestamp of the first unacknowledged segment.
    #[inline(always)]
    fn note_timestamp(&mut self, flags: u64) {
        if self.unacked == 0 {
            self.echo = self.echo & !packet::ECHO_REPEAT | (flags & packet::REPEAT) << 2;
        }
    }

    /// Updates the router feedback and ECE that the next ACK carries.
    fn on_network(&mut self, flags: u64, carried: u64) {
        self.router_echo = header::echo_of_data(flags, carried, self.router_echo, self.unacked > 0);
        // RFC 3168 section 6.1.3: set ECE from the mark until the sender reports a reduced window (CWR).
        if flags & packet::CWR_ECE != 0 {
            self.echo &= !packet::CWR_ECE;
        }
        if flags & packet::CE != 0 {
            self.echo |= packet::CWR_ECE;
        }
    }

    #[inline(always)]
    fn ack(&self, low: u64, high: u64) -> AckOut {
        AckOut { seq: self.next, low: low | self.echo, high: high | self.router_echo }
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

    /// Packs SACK blocks into the words of an ACK, without the third block if a router echo replaces it.
    fn pack(&self, blocks: &[(u32, u32)]) -> (u64, u64) {
        let (low, high) = packet::pack_blocks(self.next, blocks);
        (low, if self.router_echo & header::ECHO == 0 { high } else { high & header::BLOCKS_LEFT })
    }

    /// RFC 2883 section 4: the first block reports the duplicate, the second the block that contains it, if
    /// any.
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

    /// Stores a segment beyond the hole; returns the range that now contains it.
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
        // First range that starts beyond `segment`, and its lower neighbour.
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

    /// RFC 2018 section 4: the first block contains the segment that triggered the ACK; the others repeat the
    /// most recently reported blocks that it does not cover.
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
    fn every_second_segment_is_acknowledged_at_once_and_a_single_one_by_the_timer() {
        let mut receiver = Receiver::new(DELAYED, Reports::Blocks);
        assert_eq!(seqs(&mut receiver, &[0, 1, 2]), [None, Some(2), None]);
        assert_eq!(receiver.due(), 100 * MS);
        assert_eq!(receiver.on_timer().seq, 3);
        assert_eq!(receiver.due(), u64::MAX);
    }

    #[test]
    fn segments_around_a_hole_are_among_the_quick_acks_of_a_receiver_that_reports_duplicates() {
        // Four quick ACKs: of segment 0, of 2 beyond the hole and of 1 that fills it, and of 3. A copy of 2 changes nothing.
        let later = |reports| {
            let mut receiver = Receiver::new(AckPolicy { quick: 4, ..DELAYED }, reports);
            for segment in [0, 2, 2, 1, 3] {
                assert!(receiver.on_data(0, segment, (0, 0)).is_some(), "{segment}");
            }
            [4, 5, 6, 7].map(|segment| receiver.on_data(0, segment, (0, 0)).is_some())
        };
        assert_eq!(later(Reports::Duplicates), [false, true, false, true]);
        // Of other stacks only segments in order count: 0, 3, 4 and 5.
        assert_eq!(later(Reports::Blocks), [true, true, false, true]);
    }

    #[test]
    fn quick_acks_come_first() {
        let mut receiver = Receiver::new(AckPolicy { quick: 3, ..DELAYED }, Reports::Blocks);
        assert_eq!(seqs(&mut receiver, &[0, 1, 2, 3, 4]), [Some(1), Some(2), Some(3), None, Some(5)]);
    }

    #[test]
    fn the_ack_of_the_last_segment_is_not_delayed() {
        let mut receiver = Receiver::new(DELAYED, Reports::Blocks);
        assert_eq!(receiver.on_data(0, 0, (PUSH_SYN, 0)).map(|ack| ack.seq), Some(1));
    }

    #[test]
    fn out_of_order_segments_and_gap_fills_are_never_delayed() {
        let mut receiver = Receiver::new(DELAYED, Reports::Blocks);
        assert_eq!(seqs(&mut receiver, &[0, 2, 3, 1]), [None, Some(1), Some(1), Some(4)]);
    }

    #[test]
    fn of_packets_beyond_a_hole_only_the_first_is_acknowledged_at_once() {
        // 1 is lost: 2 opens a hole. 3 and 4 are two packets, and so are 5 and the retransmission. 7 and 6 are late, and no retransmissions.
        let mut receiver = Receiver::new(DELAYED, Reports::Packets);
        assert_eq!(seqs(&mut receiver, &[0, 2, 3, 4, 5]), [None, Some(1), None, Some(1), None]);
        assert_eq!(receiver.due(), 100 * MS);
        let ack = receiver.on_data(0, 1, (packet::REPEAT, 0)).expect("two packets wait");
        assert_eq!(ack.seq, 6);
        assert_eq!(seqs(&mut receiver, &[8, 7, 6, 9]), [Some(6), Some(6), Some(9), None]);
        // The timer reports the packets beyond the hole at 10.
        assert_eq!(seqs(&mut receiver, &[11, 12]), [Some(10), None]);
        let ack = receiver.on_timer();
        assert_eq!(unpack_blocks(ack.seq, ack.low, ack.high), [(11, 13), (0, 0), (0, 0)]);
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
    fn a_mark_is_echoed_until_the_sender_reports_cwr() {
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
    fn a_sleeping_host_answers_late_and_in_order() {
        let mut receiver = Receiver::new(EVERY, Reports::Blocks).waking_in(20_000);
        // The host sleeps until 10 ms and is awake at 10.02 ms. Segments that arrive in between wait too,
        // later ones do not.
        let answers: Vec<u64> = [10_000_000, 10_005_000, 10_030_000, 14_030_000, 18_030_001]
            .map(|at| receiver.answers_at(at))
            .to_vec();
        assert_eq!(answers, [10_020_000, 10_020_000, 10_030_000, 14_030_000, 18_050_001]);
        let mut other = Receiver::new(EVERY, Reports::Blocks);
        assert_eq!(other.answers_at(10_000_000), 10_000_000);
    }

    #[test]
    fn a_host_is_asleep_before_its_first_packet_at_any_time_and_awake_for_4_ms_after_a_syn() {
        for begun in [0, 655_360 * MS] {
            let receiver = Receiver::new(EVERY, Reports::Blocks).waking_in(20_000);
            assert_eq!(receiver.clone().answers_at(begun + MS), begun + MS + 20_000);
            let mut greeted = receiver;
            greeted.on_syn(begun + MS);
            assert_eq!(greeted.clone().answers_at(begun + 5 * MS), begun + 5 * MS);
            assert_eq!(greeted.answers_at(begun + 5 * MS + 1), begun + 5 * MS + 20_001);
        }
    }

    #[test]
    fn every_order_of_arrival_is_reassembled() {
        // A permutation by a step coprime to the length; each segment is delivered twice.
        let mut receiver = Receiver::new(EVERY, Reports::Blocks);
        for i in 0..2000_u32 {
            receiver.on_data(0, (i % 1000) * 387 % 1000, (0, 0));
        }
        assert_eq!((receiver.next, receiver.duplicates), (1000, 1000));
        assert!(receiver.beyond.is_empty());
    }
}
