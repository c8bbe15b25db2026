//! Limit of a sender, from one transmission of new data to the next: its congestion window, the receive window or
//! its application. Linux keeps the same account of its own connections (`tcpi_busy_time`, `tcpi_rwnd_limited`); Zhang,
//! Breslau, Paxson and Shenker (SIGCOMM 2002) infer the limits from packets.

use std::ops::Range;

use firstflight_contract::Nanos;

use crate::packet_trace::{PacketTrace, SentPacket};

/// Time for which each of three causes held back new data, from the first transmission of data to the last of new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The rest: with data to send and room in the receive window. Includes pacing and the recovery from losses.
    pub(crate) congestion_window: Nanos,
    /// The receive window had no room for a full segment.
    pub(crate) receive_window: Nanos,
    /// Nothing was in flight, or the last segment was not full, and the receive window had room.
    pub(crate) application: Nanos,
}

impl Limits {
    pub(crate) fn of(trace: &PacketTrace) -> Self {
        Self::between(trace, 0..trace.sends.len())
    }

    /// The same for some of the transmissions.
    pub(crate) fn between(trace: &PacketTrace, sends: Range<usize>) -> Self {
        let mut limits = Self::default();
        let sends = &trace.sends[sends];
        let Some(newest) = sends.iter().rposition(|send| send.new) else { return limits };
        let pauses = &trace.left_out.pauses;
        let earlier = pauses.partition_point(|(_, end)| *end <= sends[0].at);
        let mut pauses = pauses[earlier..].iter().peekable();
        // Time from one packet to a later one, without the pauses that are left out.
        let mut between = |from: Nanos, to: Nanos| {
            let mut time = to.saturating_sub(from);
            while let Some((begin, end)) = pauses.next_if(|(begin, _)| *begin < to) {
                let (begin, end) = ((*begin).max(from), (*end).min(to));
                time = time.saturating_sub(end.saturating_sub(begin));
            }
            time
        };
        for pair in sends[..=newest].windows(2) {
            let (send, next) = (&pair[0], &pair[1]);
            if !next.new {
                limits.congestion_window += between(send.at, next.at);
                continue;
            }
            let short = send.short;
            let mut since = send.at;
            let mut full = window_full(trace, send);
            let mut idle = short;
            for ack in &trace.acks[send.acks_before as usize..next.acks_before as usize] {
                *limits.part(full, idle) += between(since, ack.at);
                since = since.max(ack.at);
                full = no_room(trace, send, ack.ack, ack.window);
                idle = short || ack.flight == 0;
            }
            *limits.part(full, idle) += between(since, next.at);
        }
        limits
    }

    fn part(&mut self, window_full: bool, idle: bool) -> &mut Nanos {
        match (window_full, idle) {
            (true, _) => &mut self.receive_window,
            (false, true) => &mut self.application,
            (false, false) => &mut self.congestion_window,
        }
    }
}

/// Whether the receive window had no room for a full segment after `send`.
pub(crate) fn window_full(trace: &PacketTrace, send: &SentPacket) -> bool {
    let before = &trace.acks[..send.acks_before as usize];
    before.last().is_some_and(|ack| no_room(trace, send, ack.ack, ack.window))
}

/// Whether the window that begins at `ack` has no room for a full segment after `send`.
fn no_room(trace: &PacketTrace, send: &SentPacket, ack: u64, window: Option<u64>) -> bool {
    window.is_some_and(|window| send.end + u64::from(trace.mss) > ack + window)
}
