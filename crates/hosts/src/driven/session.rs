//! One connection: events of the script turned into those of the simulator's sender.

use firstflight_scenario::limits;
use firstflight_script::{Ack, Answer, Echo, Error, Event, Line, Opening, Sent};
use firstflight_sim::config::FlowConfig;
use firstflight_sim::packet::{CWR_ECE, ECHO_REPEAT, MAX_BLOCKS, pack_blocks};
use firstflight_sim::sender::app::App;
use firstflight_sim::sender::stack::{Recovery, RecoveryRule};
use firstflight_sim::sender::stream::Stream;
use firstflight_sim::sender::{AckIn, Port, Segment, Sender};

use super::answer::{Output, registers};

/// The script's time zero on the sender's clock: the handshake began before it. A whole number of every profile's
/// clock ticks, so that ticks fall where they would without it.
const ZERO: u64 = limits::DELAY.0;

/// Segments in flight that a SACK block can describe.
const FLIGHT: u64 = 1 << 20;

/// An open connection.
pub(super) struct Session {
    sender: Sender,
    /// The line before was of this time.
    at_us: u64,
    /// The last ACK: the next byte expected, and the window from there.
    ack: u64,
    window: u64,
    sack: Sacks,
    closed: bool,
    wire: Wire,
}

/// A segment that left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: u64,
    segment: u32,
    bytes: u32,
    retransmit: bool,
}

/// Treatment of an ACK's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sacks {
    /// There is no SACK on this connection.
    Ignored,
    /// The first blocks count, as many as a header has room for.
    OneHeader,
    /// All count.
    All,
}

/// The segments that left since the line before.
#[derive(Debug, Default)]
struct Wire {
    sent: Vec<Departure>,
}

impl Port for Wire {
    fn transmit(&mut self, at: u64, segment: Segment, _words: (u64, u64), retransmit: bool) {
        self.sent.push(Departure { at, segment: segment.number, bytes: segment.bytes, retransmit });
    }

    fn split(&mut self, segment: u32, _bytes: u32) {
        for sent in self.sent.iter_mut().filter(|sent| sent.segment > segment) {
            sent.segment += 1;
        }
    }

    fn transmit_syn(&mut self, _now: u64, _words: (u64, u64)) {
        unreachable!("the connection is opened from outside, after its handshake");
    }
}

impl Session {
    /// The connection of this flow is open at `at_us`, in segments of `mss` payload bytes.
    pub(super) fn open(flow: FlowConfig, mss: u32, at_us: u64, opening: &Opening) -> (Self, Output) {
        let (mut stack, chain) = (*flow.stack, (*flow.chain).clone());
        // Ticks of a coarse clock fall on multiples of it, and a connection can always be marked.
        stack.rto.phase = 0;
        stack.ecn = true;
        stack.rules.timestamps = opening.timestamps.unwrap_or(stack.rules.timestamps);
        if stack.recovery.is_selective() && !opening.sack {
            // RFC 2018 section 2: without SACK-Permitted from both ends there are no blocks.
            stack.recovery = match stack.recovery {
                Recovery::Rack { .. } => Recovery::Rack { sack: false },
                _ => Recovery::NewReno,
            };
        }
        let sack = match stack.recovery {
            Recovery::Sack if stack.rules.recovery == RecoveryRule::Ns2 => Sacks::OneHeader,
            Recovery::Sack | Recovery::Rack { sack: true } => Sacks::All,
            _ => Sacks::Ignored,
        };
        let mut session = Self {
            sender: Sender::new(stack, chain, App::driven(mss, !stack.rules.whole_packets)),
            at_us,
            ack: 1,
            window: opening.window,
            sack,
            closed: false,
            wire: Wire::default(),
        };
        session.apply_window();
        session.sender.open(clock(at_us), opening.rtt_us * 1000);
        let answer = session.answer();
        (session, answer)
    }

    /// An event at `at_us`; timers due until then fire first.
    pub(super) fn handle(&mut self, line: &Line<'_>, at_us: u64, event: &Event) -> Result<Output, Error> {
        if at_us < self.at_us {
            let why = format!("time goes back: the line before was at {}", self.at_us);
            return Err(line.impossible("at_us", why));
        }
        let now = clock(at_us);
        self.at_us = at_us;
        self.sender.advance(now, &mut self.wire);
        match event {
            Event::Write(_) if self.closed => {
                return Err(line.impossible("do", "nothing is written after \"close\""));
            }
            Event::Write(bytes) => {
                if !self.sender.queue(*bytes) {
                    return Err(line.impossible("bytes", "more segments than can be numbered"));
                }
                // After a short last segment the window may end elsewhere.
                self.apply_window();
                self.sender.write(now, &mut self.wire);
            }
            Event::Ack(ack) => self.on_ack(now, ack),
            Event::Close => self.closed = true,
            Event::Advance => {}
            Event::Established(_) => unreachable!("refused before"),
        }
        // Nothing is due any more; this also makes the time of the next timer exact.
        self.sender.advance(now, &mut self.wire);
        Ok(self.answer())
    }

    fn on_ack(&mut self, now: u64, ack: &Ack) {
        // RFC 9293 section 3.10.7.4: an ACK for bytes that were never sent is dropped.
        if ack.ack > self.stream().start(self.sent_segments()) {
            return;
        }
        if ack.ack < self.ack {
            return self.on_old_ack(now, ack);
        }
        let window = ack.window.unwrap_or(self.window);
        let update = self.sender.is_window_update(self.window, window);
        let repeated = ack.ack == self.ack && !update;
        if !repeated {
            (self.ack, self.window) = (ack.ack, window);
        }
        let seq = self.stream().ended_by(ack.ack);
        let repeat = self.sender.first_was_retransmitted() && ack.echo == Echo::Last;
        let mark = if ack.ece { CWR_ECE } else { 0 } | if repeat { ECHO_REPEAT } else { 0 };
        let blocks = self.blocks(ack, seq);
        let advanced = seq > self.sender.acked();
        // The window counts from the cumulative ACK: this is the window after the ACK.
        self.apply_window();
        let mut headers = blocks.chunks(MAX_BLOCKS);
        if let Some(first) = headers.next() {
            let (low, high) = pack_blocks(seq, first);
            self.sender.on_ack(now, AckIn { seq, low: low | mark, high }, &mut self.wire);
            for rest in headers {
                let (low, high) = pack_blocks(seq, rest);
                self.sender.on_ack(now, AckIn { seq, low, high }, &mut self.wire);
            }
        } else if advanced || repeated || ack.ece {
            self.sender.on_ack(now, AckIn { seq, low: mark, high: 0 }, &mut self.wire);
        } else {
            self.sender.on_window_update(now, &mut self.wire);
        }
    }

    /// An ACK below the left edge, late by reordering: only its blocks can still bring news.
    fn on_old_ack(&mut self, now: u64, ack: &Ack) {
        let seq = self.stream().ended_by(ack.ack);
        for blocks in self.blocks(ack, seq).chunks(MAX_BLOCKS) {
            let (low, high) = pack_blocks(seq, blocks);
            self.sender.on_ack(now, AckIn { seq, low, high }, &mut self.wire);
        }
    }

    /// The whole segments in the blocks of `ack` beyond `seq`.
    fn blocks(&self, ack: &Ack, seq: u32) -> Vec<(u32, u32)> {
        let most = match self.sack {
            Sacks::Ignored => 0,
            Sacks::OneHeader => MAX_BLOCKS,
            Sacks::All => usize::MAX,
        };
        let sent = self.sent_segments();
        let whole = ack.blocks.iter().enumerate().map(|(place, &(from, to))| {
            // RFC 2883 section 4: only the first block may report a duplicate below the cumulative ACK.
            let lowest = if place == 0 && to <= ack.ack { 0 } else { seq + 1 };
            (self.stream().first_from(from).max(lowest), self.stream().ended_by(to).min(sent))
        });
        whole.filter(|(from, to)| from < to).take(most).collect()
    }

    /// Sets the peer's window of the sender: the segments, and the part of one more, beyond the last ACK.
    fn apply_window(&mut self) {
        let stream = self.stream();
        let edge = self.ack + self.window;
        let first = u64::from(stream.ended_by(self.ack));
        let room = stream.room_by(edge).saturating_sub(first);
        let part = if edge < stream.end() { edge - stream.start(stream.ended_by(edge)) } else { 0 };
        self.sender.set_receive_window(room.min(FLIGHT - 1) as u32, part as u32);
    }

    /// The bytes written so far, in segments.
    fn stream(&self) -> &Stream {
        self.sender.app().segmentation().as_stream().expect("the segments of a driven sender are a stream's")
    }

    /// Segments sent at least once.
    fn sent_segments(&self) -> u32 {
        self.sender.acked() + self.sender.info().unacked
    }

    fn answer(&mut self) -> Output {
        let next = self.sender.next_check();
        let departures = std::mem::take(&mut self.wire.sent);
        let stream = self.stream();
        let sent = departures.iter().map(|&Departure { at, segment, bytes, retransmit }| {
            let (at_us, seq) = (micros(at), stream.start(segment));
            Sent { at_us, seq, len: bytes.into(), retransmit }
        });
        let sent = sent.collect();
        Output {
            answer: Answer { sent, info: registers(&self.sender.info()) },
            next_timer_us: (next != u64::MAX).then(|| micros(next)),
        }
    }
}

/// A moment of the script on the sender's clock.
fn clock(at_us: u64) -> u64 {
    ZERO + at_us * 1000
}

/// The same back, rounded up.
fn micros(at: u64) -> u64 {
    (at - ZERO).div_ceil(1000)
}
