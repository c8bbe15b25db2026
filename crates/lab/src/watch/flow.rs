//! One flow on the wire.

use std::collections::VecDeque;

use firstflight_contract::{Nanos, StartupExit};
use firstflight_sim::config::FlowConfig;
use firstflight_sim::outcome::FlowOutcome;

use super::registers::Registers;
use crate::header::Header;

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
    /// Beginning of each write, and duration of each that is acknowledged.
    began: Vec<u64>,
    completions: Vec<u64>,
    lost: u64,
    /// End of each segment whose first transmission was lost.
    first_lost: Vec<u64>,
    grid: u64,
    delivered_at: Vec<u32>,
}

/// A segment that the sender sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
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
            began: vec![],
            completions: vec![],
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
        self.completions.len() == self.ends.len()
    }

    /// One past the last byte sent.
    pub(crate) fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// Time at which the connection was open, nanoseconds.
    pub(crate) fn opened(&self) -> Option<u64> {
        self.opened
    }

    /// Offset of the first byte of a segment; `None` before the SYN and of segments without data.
    pub(crate) fn offset(&self, segment: Segment, header: &Header) -> Option<u64> {
        (segment.kind != Kind::Empty).then(|| segment.end - u64::from(header.length))
    }

    /// Offset of the sequence number that an ACK has, near what is acknowledged.
    pub(crate) fn offset_of(&self, seq: u32) -> Option<u64> {
        let isn = self.isn?;
        Some(near(self.acked, seq.wrapping_sub(isn).wrapping_sub(1)))
    }

    /// Bytes acknowledged.
    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// The sender sent a segment.
    pub(crate) fn sent(&mut self, at: u64, header: &Header) -> Segment {
        if header.syn {
            self.isn = Some(header.seq);
        }
        let Some(isn) = self.isn.filter(|_| header.length > 0) else {
            return Segment { end: 0, kind: Kind::Empty };
        };
        let from = near(self.sent_to, header.seq.wrapping_sub(isn).wrapping_sub(1));
        let end = from + u64::from(header.length);
        self.segments += 1;
        if self.acked == 0 {
            self.first_flight += 1;
        }
        if end <= self.sent_to {
            self.retransmissions += 1;
            return Segment { end, kind: Kind::Retransmission };
        }
        let writes = self.began.len();
        if (1..self.ends.len()).contains(&writes) && from >= self.ends[writes - 1] {
            self.began.push(at);
        }
        self.sent_to = end;
        self.outstanding.push_back(end);
        Segment { end, kind: Kind::First }
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
        let (Some(ack), Some(isn)) = (header.ack, self.isn) else { return };
        if header.syn && self.opened.is_none() {
            self.opened = Some(at);
            self.began.push(at);
        }
        let ack = near(self.acked, ack.wrapping_sub(isn).wrapping_sub(1));
        if header.syn || ack <= self.acked || ack > self.sent_to {
            return;
        }
        self.keep_grid(at);
        self.acked = ack;
        while self.outstanding.front().is_some_and(|&end| end <= ack) {
            self.outstanding.pop_front();
            self.delivered += 1;
        }
        while let (Some(&end), Some(&began)) =
            (self.ends.get(self.completions.len()), self.began.get(self.completions.len()))
            && end <= ack
        {
            self.completions.push(at - began);
        }
    }

    /// Records the deliveries of every time of the grid up to `now`, before what happens then.
    fn keep_grid(&mut self, now: u64) {
        let Some(opened) = self.opened else { return };
        while opened + self.grid * (self.delivered_at.len() as u64 + 1) <= now {
            self.delivered_at.push(self.delivered);
        }
    }

    /// Results at `end`.
    pub(crate) fn outcome(&mut self, end: u64, registers: &Registers) -> FlowOutcome {
        self.keep_grid(end);
        let window = |segments: u32| u64::from(segments) * self.mss;
        let exit = registers.exit();
        let before = exit.map_or(u64::MAX, |exit| exit.sent_to);
        FlowOutcome {
            start: self.opened,
            completions: self.completions.clone(),
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
        }
    }
}

/// The offset nearest to `known` whose low 32 bits are `low`.
fn near(known: u64, low: u32) -> u64 {
    let ahead = low.wrapping_sub(known as u32) as i32;
    known.saturating_add_signed(ahead.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn flow(app: &str) -> Flow {
        let text = format!(
            "[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[packet]\nsize = \"1052 B\"\n\
             [[flow]]\nprofile = \"linux\"\n{app}\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect("a valid scenario").scenario;
        let built =
            firstflight_study::network::build(&scenario, 1, Nanos(100 * MS)).expect("it can be built");
        Flow::new(&built.network.flows[0], 100 * MS)
    }

    fn header(seq: u32, ack: Option<u32>, length: u32) -> Header {
        Header { from: 1, to: 2, seq, ack, length, ..Header::default() }
    }

    /// A connection that is open at 100 ms, its initial sequence number near the end of the number space.
    const ISN: u32 = u32::MAX - 1500;

    fn open(flow: &mut Flow) {
        flow.sent(0, &Header { syn: true, ..header(ISN, None, 0) });
        let syn_ack = Header { syn: true, ..header(5, Some(ISN.wrapping_add(1)), 0) };
        flow.acknowledged(100 * MS, &syn_ack);
    }

    fn data(flow: &mut Flow, at: u64, offset: u32, length: u32) -> Segment {
        flow.sent(at, &header(ISN.wrapping_add(1 + offset), Some(6), length))
    }

    fn ack(flow: &mut Flow, at: u64, offset: u32) {
        flow.acknowledged(at, &header(6, Some(ISN.wrapping_add(1 + offset)), 0));
    }

    #[test]
    fn a_transfer_is_counted_from_its_packets() {
        let mut flow = flow("size = \"2500 B\"");
        open(&mut flow);
        let segments =
            [(0, 1000), (1000, 1000), (2000, 500)].map(|(from, size)| data(&mut flow, 100 * MS, from, size));
        flow.lost(segments[1]);
        ack(&mut flow, 201 * MS, 1000);
        let again = data(&mut flow, 210 * MS, 1000, 1000);
        assert!(again.is_retransmission() && !segments[1].is_retransmission());
        flow.lost(again);
        data(&mut flow, 400 * MS, 1000, 1000);
        assert!(!flow.is_finished());
        ack(&mut flow, 500 * MS, 2500);
        assert!(flow.is_finished() && flow.is_finite());
        let outcome = flow.outcome(500 * MS, &Registers::none());
        assert_eq!((outcome.start, &outcome.completions[..]), (Some(100 * MS), &[400 * MS][..]));
        assert_eq!((outcome.delivered, outcome.delivered_bytes), (3, 2500));
        assert_eq!((outcome.sent, outcome.retransmits, outcome.lost), (5, 2, 2));
        assert_eq!((outcome.lost_before_exit, outcome.first_flight), (1, 3));
        // Each 100 ms since 100 ms: the ACK of 201 ms comes after the first, that of 500 ms at the fourth, which is recorded
        // before it.
        assert_eq!(outcome.delivered_at, [0, 1, 1, 1]);
    }

    #[test]
    fn each_write_is_timed_from_its_first_packet() {
        let mut flow = flow("size = \"1000 B\"\nrounds = { count = 2, idle = \"50 ms\" }");
        open(&mut flow);
        data(&mut flow, 100 * MS, 0, 1000);
        ack(&mut flow, 200 * MS, 1000);
        assert!(!flow.is_finished());
        data(&mut flow, 251 * MS, 1000, 1000);
        ack(&mut flow, 350 * MS, 2000);
        assert!(flow.is_finished());
        assert_eq!(flow.outcome(350 * MS, &Registers::none()).completions, [100 * MS, 99 * MS]);
    }

    #[test]
    fn offsets_go_on_beyond_four_gigabytes() {
        assert_eq!(near(0xffff_fff0, 0x10), 0x1_0000_0010);
        assert_eq!(near(0x1_0000_0010, 0xffff_fff0), 0xffff_fff0);
        assert_eq!(near(5, 3), 3);
    }
}
