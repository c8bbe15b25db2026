//! A sender over time: its registers after its ACKs, and its packets as the emulator saw them.

use firstflight_contract::Nanos;
use firstflight_document::seconds::Seconds;
use firstflight_hosts::trace::record::{AckArrival, Data, Event, FlowRecording, METRICS_EVERY, Metrics};
use firstflight_results::SampleRow;
use firstflight_sim::config::FlowConfig;
use firstflight_sim::packet::Blocks;

use super::flow::{Flow, Segment};
use super::registers::{CWR, DISORDER, Exit, LOSS, OPEN, RECOVERY};
use crate::header::Header;
use crate::tcp_info::TcpInfo;

/// Choice of what is kept of a run beside its totals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keep {
    /// The registers of every sender.
    pub(crate) samples: bool,
    /// Every packet of every flow, too.
    pub(crate) packets: bool,
}

/// Registers after an event at a sender.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Time, nanoseconds.
    at: u64,
    info: TcpInfo,
    /// Bytes acknowledged, cumulatively or selectively.
    delivered: u64,
}

/// One sender over time.
pub(crate) struct Trace {
    rows: Option<Vec<Row>>,
    packets: Option<Packets>,
}

impl Trace {
    pub(crate) fn new(keep: Keep, config: &FlowConfig, scheme: &str) -> Self {
        let rows = keep.samples.then(Vec::new);
        Self { rows, packets: keep.packets.then(|| Packets::new(config, scheme)) }
    }

    /// The sender sent a segment.
    pub(crate) fn sent(&mut self, at: u64, header: &Header, segment: Segment) {
        if let Some(packets) = &mut self.packets {
            packets.sent(at, header, segment);
        }
    }

    /// A segment of the receiver, which left it at `left`, reached the sender.
    pub(crate) fn acknowledged(&mut self, at: u64, left: u64, header: &Header, flow: &Flow) {
        if let Some(packets) = &mut self.packets {
            packets.acknowledged(at, left, header, flow);
        }
    }

    /// The registers of the sender after an event at `at`, and the end of its start-up if that has come.
    pub(crate) fn registers(&mut self, at: u64, info: &TcpInfo, flow: &Flow, exit: Option<Exit>) {
        if let Some(rows) = &mut self.rows {
            let delivered = flow.acked() + u64::from(info.sacked) * u64::from(info.mss);
            note(rows, Row { at, info: *info, delivered });
        }
        if let Some(packets) = &mut self.packets {
            packets.registers(at, info, exit);
        }
    }

    /// The registers of the flow `name` since it began, as rows of run number 0.
    pub(crate) fn samples(&self, name: &str, flow: &Flow) -> Vec<SampleRow> {
        let (Some(rows), Some(began)) = (&self.rows, flow.opened()) else { return vec![] };
        let row = |row: &Row| {
            let Row { at, info, delivered } = row;
            // The kernel has registers before the connection is open; the flow begins then.
            let since = at.checked_sub(began)?;
            Some(SampleRow {
                run: 0,
                flow: name.into(),
                time_s: Nanos(since).as_secs_f64(),
                cwnd_packets: Some(info.cwnd.into()),
                ssthresh_packets: info.ssthresh.map(f64::from),
                in_flight_packets: Some(info.in_flight().into()),
                queue_packets: None,
                delivered_bytes: Some(*delivered as f64),
            })
        };
        rows.iter().filter_map(row).collect()
    }

    /// The packets, if they were kept.
    pub(crate) fn recording(self) -> Option<FlowRecording> {
        self.packets.map(Packets::finish)
    }
}

/// Keeps a row, if a millisecond has passed since the last that was kept, or the threshold or the state of congestion changed.
/// A row that was not kept is replaced by the next.
fn note(rows: &mut Vec<Row>, row: Row) {
    let changed = |a: &Row, b: &Row| (a.info.ssthresh, a.info.ca_state) != (b.info.ssthresh, b.info.ca_state);
    if let [.., before, last] = &rows[..]
        && last.at < before.at + METRICS_EVERY
        && !changed(before, last)
        && !changed(last, &row)
    {
        rows.pop();
    }
    rows.push(row);
}

/// The packets of a flow. The kernel counts bytes, a recording segments: segment n is the n-th that was sent first.
struct Packets {
    recording: FlowRecording,
    /// Offset of the first byte of each segment.
    starts: Vec<u64>,
    /// Scale of the receiver's windows.
    scale: u8,
    state: u8,
    shown: Metrics,
    exited: bool,
}

impl Packets {
    fn new(config: &FlowConfig, scheme: &str) -> Self {
        let recording = FlowRecording::new(config, scheme);
        Self { recording, starts: vec![], scale: 0, state: 0, shown: Metrics::default(), exited: false }
    }

    fn push(&mut self, at: u64, event: Event) {
        self.recording.events.push((at, event));
    }

    /// Number of segments that begin before an offset.
    fn before(&self, offset: u64) -> u32 {
        self.starts.partition_point(|&start| start < offset) as u32
    }

    fn sent(&mut self, at: u64, header: &Header, segment: Segment) {
        if header.syn {
            return self.push(at, Event::Syn);
        }
        let Some(from) = segment.offset() else { return };
        let payload = header.length;
        let number = match segment.is_retransmission() {
            // The last segment that begins there or before.
            true => self.before(from + 1).saturating_sub(1),
            false => {
                let number = self.starts.len() as u32;
                self.starts.push(from);
                self.recording.note_size(number, payload);
                number
            }
        };
        let data = Data {
            segment: number,
            payload,
            carried: payload,
            retransmission: segment.is_retransmission(),
            push: header.push,
            ecn_capable: header.ecn_capable,
            reduced: header.reduced,
            // The kernel's timestamps are not related to the clock of the run.
            echo: 0,
        };
        self.push(at, Event::Data(data));
    }

    fn acknowledged(&mut self, at: u64, left: u64, header: &Header, flow: &Flow) {
        if header.syn {
            self.scale = header.scale.unwrap_or(0);
            // RFC 7323 section 2.2: the window of a SYN is not scaled.
            return self.push(at, Event::SynAck { sent: left, echo: 0, window: header.window.into() });
        }
        let mut blocks = Blocks::default();
        for (place, &(start, end)) in blocks.iter_mut().zip(&header.sack) {
            let (Some(start), Some(end)) = (flow.offset_of(start), flow.offset_of(end)) else { continue };
            *place = (self.before(start), self.before(end));
        }
        let ack = AckArrival {
            next: self.before(flow.acked()),
            blocks,
            echoes_mark: header.echoes_mark,
            sent: left,
            echo: 0,
            window: u64::from(header.window) << self.scale.min(14),
        };
        self.push(at, Event::Ack(ack));
    }

    fn registers(&mut self, at: u64, info: &TcpInfo, exit: Option<Exit>) {
        if info.ca_state != self.state {
            self.push(at, Event::State { old: word(self.state), new: word(info.ca_state) });
            self.state = info.ca_state;
        }
        if let Some(exit) = exit.filter(|_| !self.exited) {
            self.exited = true;
            let cwnd = u64::from(exit.cwnd) * u64::from(info.mss);
            self.push(at, Event::StartupExit { cwnd, reason: exit.reason.label() });
        }
        let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
        // The kernel reports the rate at which it would pace even where it does not.
        let metrics = Metrics {
            cwnd: bytes(info.cwnd),
            in_flight: bytes(info.in_flight()),
            ssthresh: info.ssthresh.map(bytes),
            srtt: u64::from(info.rtt) * 1000,
            min_rtt: if info.min_rtt == u32::MAX { 0 } else { u64::from(info.min_rtt) * 1000 },
            pacing: None,
        };
        if metrics != self.shown {
            self.shown = metrics;
            self.push(at, Event::Metrics(metrics));
        }
    }

    /// An ACK has the time at which it was due, a segment that at which it was read: the order of times is the order of causes.
    fn finish(mut self) -> FlowRecording {
        self.recording.events.sort_by_key(|(at, _)| *at);
        self.recording
    }
}

/// Linux's name of a state of congestion.
fn word(state: u8) -> &'static str {
    match state {
        DISORDER => "disorder",
        CWR => "cwr",
        RECOVERY => "recovery",
        LOSS => "loss",
        OPEN => "open",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn row(at: u64, cwnd: u32, ssthresh: Option<u32>) -> Row {
        Row { at, info: TcpInfo { cwnd, ssthresh, mss: 1000, ..TcpInfo::default() }, delivered: 0 }
    }

    #[test]
    fn rows_are_a_millisecond_apart_unless_the_threshold_changes() {
        let mut rows = vec![];
        for (at, cwnd, ssthresh) in [
            (0, 10, None),
            (MS / 4, 11, None),
            (MS / 2, 12, None),
            (3 * MS / 2, 13, None),
            (7 * MS / 4, 14, Some(7)),
            (2 * MS, 7, Some(7)),
        ] {
            note(&mut rows, row(at, cwnd, ssthresh));
        }
        // 11 came within a millisecond of 10; 12 too, and was the last when 13 came a millisecond later.
        let kept: Vec<u32> = rows.iter().map(|row| row.info.cwnd).collect();
        assert_eq!(kept, [10, 13, 14, 7]);
    }
}
