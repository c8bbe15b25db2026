//! One flow on the wire.

use std::collections::VecDeque;

use firstflight_contract::{Nanos, StartupExit};
use firstflight_sim::config::FlowConfig;
use firstflight_sim::outcome::FlowOutcome;

use super::registers::Registers;
use crate::header::Header;
use crate::traffic::Writes;

/// Byte offsets are since the first data byte, times nanoseconds since the start of the run.
pub(crate) struct Flow {
    mss: u64,
    /// End of each write, bytes; the last is `u64::MAX` of a flow without end.
    ends: Vec<u64>,
    /// The sender's initial sequence number.
    isn: Option<u32>,
    opened: Option<u64>,
    /// One past the last byte sent.
    sent_to: u64,
    acked: u64,
    /// End of each segment that is not acknowledged.
    outstanding: VecDeque<u64>,
    delivered: u32,
    segments: u64,
    retransmissions: u64,
    first_flight: u32,
    /// A segment of the receiver has come since the connection opened.
    answered: bool,
    /// Time at which the last byte of each write was acknowledged.
    finished_at: Vec<u64>,
    lost: u64,
    /// End of each segment whose first transmission was lost.
    first_lost: Vec<u64>,
    grid: u64,
    delivered_at: Vec<u32>,
}

/// A segment that the sender sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    from: u64,
    end: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Without data.
    Empty,
    First,
    Retransmission,
}

impl Segment {
    const EMPTY: Self = Self { from: 0, end: 0, kind: Kind::Empty };

    /// Offset of the first byte; `None` without data.
    pub(crate) fn offset(self) -> Option<u64> {
        (self.kind != Kind::Empty).then_some(self.from)
    }

    pub(crate) fn is_retransmission(self) -> bool {
        self.kind == Kind::Retransmission
    }
}

impl Flow {
    pub(crate) fn new(config: &FlowConfig, grid: u64) -> Self {
        let app = &config.app;
        let first = app.bytes.unwrap_or(u64::MAX);
        let later = (0..app.pauses.len()).map(|number| app.sizes.get(number).copied().unwrap_or(first));
        let mut end = 0_u64;
        let ends = core::iter::once(first).chain(later).map(|bytes| {
            end = end.saturating_add(bytes);
            end
        });
        Self {
            mss: config.stack.mss.into(),
            ends: ends.collect(),
            isn: None,
            opened: None,
            sent_to: 0,
            acked: 0,
            outstanding: VecDeque::new(),
            delivered: 0,
            segments: 0,
            retransmissions: 0,
            first_flight: 0,
            answered: false,
            finished_at: vec![],
            lost: 0,
            first_lost: vec![],
            grid,
            delivered_at: vec![],
        }
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.ends.last() != Some(&u64::MAX)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished_at.len() == self.ends.len()
    }

    /// One past the last byte sent.
    pub(crate) fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// Time at which the connection was open, nanoseconds.
    pub(crate) fn opened(&self) -> Option<u64> {
        self.opened
    }

    /// Offset of the sequence number that an ACK has, near what is acknowledged; `None` of one before the first byte.
    pub(crate) fn offset_of(&self, seq: u32) -> Option<u64> {
        self.offset_near(self.acked, seq)
    }

    fn offset_near(&self, known: u64, seq: u32) -> Option<u64> {
        near(known, seq.wrapping_sub(self.isn?).wrapping_sub(1))
    }

    /// Bytes acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// The sender sent a segment.
    pub(crate) fn sent(&mut self, header: &Header) -> Segment {
        if header.syn {
            self.isn = Some(header.seq);
        }
        let from = self.offset_near(self.sent_to, header.seq).filter(|_| header.length > 0);
        let Some(from) = from else { return Segment::EMPTY };
        let end = from + u64::from(header.length);
        self.segments += 1;
        if !self.answered && end > self.sent_to {
            self.first_flight += 1;
        }
        if end <= self.sent_to {
            self.retransmissions += 1;
            return Segment { from, end, kind: Kind::Retransmission };
        }
        self.sent_to = end;
        self.outstanding.push_back(end);
        Segment { from, end, kind: Kind::First }
    }

    /// The network lost a segment of the sender.
    pub(crate) fn lost(&mut self, segment: Segment) {
        match segment.kind {
            Kind::Empty => return,
            Kind::First => self.first_lost.push(segment.end),
            Kind::Retransmission => {}
        }
        self.lost += 1;
    }

    /// A segment of the receiver reached the sender.
    pub(crate) fn acknowledged(&mut self, at: u64, header: &Header) {
        let Some(ack) = header.ack.and_then(|ack| self.offset_of(ack)) else { return };
        if header.syn && self.opened.is_none() {
            self.opened = Some(at);
        }
        self.answered |= !header.syn;
        if header.syn || ack <= self.acked || ack > self.sent_to {
            return;
        }
        self.keep_grid(at);
        self.acked = ack;
        while self.outstanding.front().is_some_and(|&end| end <= ack) {
            self.outstanding.pop_front();
            self.delivered += 1;
        }
        // A segment may carry several writes, and an ACK may end them together.
        while self.ends.get(self.finished_at.len()).is_some_and(|&end| end <= ack) {
            self.finished_at.push(at);
        }
    }

    /// Records the deliveries of every time of the grid up to `now`, before what happens then.
    fn keep_grid(&mut self, now: u64) {
        let Some(opened) = self.opened else { return };
        while opened + self.grid * (self.delivered_at.len() as u64 + 1) <= now {
            self.delivered_at.push(self.delivered);
        }
    }

    /// Duration of each finished write, nanoseconds: from its beginning to the ACK of its last byte. As in the simulator, the
    /// first write begins when the connection is open.
    ///
    /// # Errors
    /// If an ACK came before the write whose last byte it acknowledges: the clocks are wrong then.
    fn durations(&self, writes: &Writes) -> Result<Vec<u64>, String> {
        let each = self.finished_at.iter().enumerate().map(|(number, &at)| {
            let began = if number == 0 { self.opened } else { writes.began(number) };
            began.and_then(|began| at.checked_sub(began)).ok_or_else(|| {
                let began = began.map_or("not at all".into(), |began| format!("at {began} ns"));
                format!("write {number} began {began}, and an ACK at {at} ns ended it")
            })
        });
        each.collect()
    }

    /// Results at `end` of a flow whose application began its writes at the times of `writes`.
    ///
    /// # Errors
    /// If a write ended before it began.
    pub(crate) fn outcome(
        &mut self,
        end: u64,
        registers: &Registers,
        writes: &Writes,
    ) -> Result<FlowOutcome, String> {
        self.keep_grid(end);
        let window = |segments: u32| u64::from(segments) * self.mss;
        let exit = registers.exit();
        let before = exit.map_or(u64::MAX, |exit| exit.sent_to);
        Ok(FlowOutcome {
            start: self.opened,
            completions: self.durations(writes)?,
            delivered_bytes: self.acked,
            delivered: self.delivered,
            delivered_at: core::mem::take(&mut self.delivered_at),
            sent: self.segments,
            retransmits: self.retransmissions,
            timeouts: registers.timeouts(),
            lost: self.lost,
            lost_before_exit: self.first_lost.iter().filter(|&&end| end <= before).count() as u64,
            first_flight: self.first_flight,
            max_cwnd: window(registers.max_cwnd()),
            final_cwnd: window(registers.cwnd()),
            startup_exit: exit.map(|exit| StartupExit {
                at: Nanos(exit.at),
                cwnd: window(exit.cwnd),
                reason: exit.reason,
            }),
        })
    }
}

/// The offset nearest to `known` whose low 32 bits are `low`; `None` if that is below zero.
fn near(known: u64, low: u32) -> Option<u64> {
    let ahead = low.wrapping_sub(known as u32) as i32;
    known.checked_add_signed(ahead.into())
}

#[cfg(test)]
mod tests {
    use firstflight_sim::sender::app::AppConfig;

    use super::*;

    const MS: u64 = 1_000_000;

    fn flow(app: &str) -> Flow {
        let text = format!(
            "[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[packet]\nsize = \"1052 B\"\n\
             [[flow]]\nprofile = \"linux\"\n{app}\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect("a valid scenario").scenario;
        let built =
            firstflight_hosts::network::build(&scenario, 1, Nanos(100 * MS)).expect("it can be built");
        Flow::new(&built.network.flows[0], 100 * MS)
    }

    fn header(seq: u32, ack: Option<u32>, length: u32) -> Header {
        Header { from: 1, to: 2, seq, ack, length, ..Header::default() }
    }

    /// A connection that is open at 100 ms, its initial sequence number near the end of the number space.
    const ISN: u32 = u32::MAX - 1500;

    fn open(flow: &mut Flow) {
        flow.sent(&Header { syn: true, ..header(ISN, None, 0) });
        let syn_ack = Header { syn: true, ..header(5, Some(ISN.wrapping_add(1)), 0) };
        flow.acknowledged(100 * MS, &syn_ack);
    }

    fn data(flow: &mut Flow, offset: u32, length: u32) -> Segment {
        flow.sent(&header(ISN.wrapping_add(1 + offset), Some(6), length))
    }

    fn ack(flow: &mut Flow, at: u64, offset: u32) {
        flow.acknowledged(at, &header(6, Some(ISN.wrapping_add(1 + offset)), 0));
    }

    #[test]
    fn a_transfer_is_counted_from_its_packets() {
        let mut flow = flow("size = \"2500 B\"");
        open(&mut flow);
        let segments = [(0, 1000), (1000, 1000), (2000, 500)].map(|(from, size)| data(&mut flow, from, size));
        flow.lost(segments[1]);
        ack(&mut flow, 201 * MS, 1000);
        let again = data(&mut flow, 1000, 1000);
        assert!(again.is_retransmission() && !segments[1].is_retransmission());
        flow.lost(again);
        data(&mut flow, 1000, 1000);
        assert!(!flow.is_finished());
        ack(&mut flow, 500 * MS, 2500);
        assert!(flow.is_finished() && flow.is_finite());
        let outcome = flow.outcome(500 * MS, &Registers::none(), &writes(&[100])).expect("a write");
        assert_eq!((outcome.start, &outcome.completions[..]), (Some(100 * MS), &[400 * MS][..]));
        assert_eq!((outcome.delivered, outcome.delivered_bytes), (3, 2500));
        assert_eq!((outcome.sent, outcome.retransmits, outcome.lost), (5, 2, 2));
        assert_eq!((outcome.lost_before_exit, outcome.first_flight), (1, 3));
        // Each 100 ms since 100 ms: the ACK of 201 ms comes after the first, that of 500 ms at the fourth, which is recorded
        // before it.
        assert_eq!(outcome.delivered_at, [0, 1, 1, 1]);
    }

    #[test]
    fn the_first_flight_ends_with_the_first_ack_though_it_acknowledges_nothing() {
        let mut flow = flow("size = \"5000 B\"");
        open(&mut flow);
        data(&mut flow, 0, 1000);
        data(&mut flow, 1000, 1000);
        // The first segment was lost: the ACK of the second is a duplicate, which lets a third leave (RFC 3042).
        ack(&mut flow, 200 * MS, 0);
        data(&mut flow, 2000, 1000);
        let outcome = flow.outcome(300 * MS, &Registers::none(), &writes(&[100])).expect("a write");
        assert_eq!((outcome.first_flight, outcome.sent), (2, 3));
    }

    /// Writes that began at these times, ms.
    fn writes(at: &[u64]) -> Writes {
        let writes = Writes::of(&AppConfig { pauses: vec![0; at.len() - 1], ..AppConfig::default() });
        at.iter().for_each(|ms| writes.begin(ms * MS));
        writes
    }

    #[test]
    fn each_write_is_timed_from_its_beginning() {
        let mut flow = flow("size = \"1000 B\"\nrounds = { count = 2, idle = \"50 ms\" }");
        open(&mut flow);
        data(&mut flow, 0, 1000);
        ack(&mut flow, 200 * MS, 1000);
        assert!(!flow.is_finished());
        data(&mut flow, 1000, 1000);
        ack(&mut flow, 350 * MS, 2000);
        assert!(flow.is_finished());
        // The first write begins with the connection, at 100 ms; the second at 250 ms, whenever its packet leaves.
        let outcome = flow.outcome(350 * MS, &Registers::none(), &writes(&[101, 250])).expect("two writes");
        assert_eq!(outcome.completions, [100 * MS, 100 * MS]);
    }

    #[test]
    fn writes_that_share_a_segment_have_each_their_own_time() {
        // Six messages of 400 B: the first leaves alone, the next four in two segments of 1000 and 600 B while it is under way, and
        // the third segment has the sixth. The first ACK ends one message, the second one those that end at 800 and 1200 B, the last
        // the other three.
        let mut flow = flow("size = \"400 B\"\nrounds = { count = 6, idle = \"0 s\" }");
        open(&mut flow);
        for (from, size) in [(0, 400), (400, 1000), (1400, 600), (2000, 400)] {
            data(&mut flow, from, size);
        }
        ack(&mut flow, 201 * MS, 400);
        ack(&mut flow, 260 * MS, 1400);
        assert!(!flow.is_finished());
        ack(&mut flow, 290 * MS, 2400);
        assert!(flow.is_finished());
        let began = writes(&[100, 110, 120, 130, 140, 150]);
        let outcome = flow.outcome(300 * MS, &Registers::none(), &began).expect("six writes");
        assert_eq!(outcome.completions, [101, 150, 140, 160, 150, 140].map(|ms: u64| ms * MS));
    }

    #[test]
    fn a_write_that_ends_before_it_begins_is_no_result() {
        let result = |began: &[u64]| {
            let mut flow = flow("size = \"1000 B\"\nrounds = { count = 2, idle = \"0 s\" }");
            open(&mut flow);
            data(&mut flow, 0, 2000);
            ack(&mut flow, 200 * MS, 2000);
            flow.outcome(200 * MS, &Registers::none(), &writes(began)).map(|outcome| outcome.completions)
        };
        assert_eq!(result(&[100, 200]), Ok(vec![100 * MS, 0]));
        let late = result(&[100, 201]).expect_err("later than its ACK");
        assert_eq!(late, "write 1 began at 201000000 ns, and an ACK at 200000000 ns ended it");
        let never = result(&[100]).expect_err("no second write");
        assert_eq!(never, "write 1 began not at all, and an ACK at 200000000 ns ended it");
    }

    #[test]
    fn offsets_go_on_beyond_four_gigabytes() {
        assert_eq!(near(0xffff_fff0, 0x10), Some(0x1_0000_0010));
        assert_eq!(near(0x1_0000_0010, 0xffff_fff0), Some(0xffff_fff0));
        assert_eq!((near(5, 3), near(5, u32::MAX)), (Some(3), None));
    }
}
