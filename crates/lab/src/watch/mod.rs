//! TCP flows on the wire: what they sent, lost and finished, and the registers of their senders.
//!
//! The emulator sees every packet at both ends of its way, so times and counts are those of the packets and not those of
//! threads that wait for the kernel. The kernel has processed an ACK when the write to the device returns; the registers of
//! the sender are read then, once for each ACK.

mod flow;
mod registers;
mod trace;

use std::sync::Arc;

use firstflight_hosts::network::Built;
use firstflight_hosts::trace::record::FlowRecording;
use firstflight_results::SampleRow;
use firstflight_sim::outcome::FlowOutcome;

use crate::congestion_control::CongestionControl;
use crate::emulator::realtime::{Observer, Way};
use crate::header::Header;
use crate::host::Failure;
use crate::need::Need;
use crate::traffic::Tap;
use flow::{Flow, Segment};

pub(crate) use registers::Hystart;
use registers::Registers;
pub(crate) use trace::Keep;
use trace::Trace;

/// Port at which the receiver of the first flow listens; those of the others follow.
pub(crate) const FIRST_PORT: u16 = 10_000;

/// Every flow of a run.
pub(crate) struct Watch {
    flows: Vec<Watched>,
    /// Finite flows that are not finished, if the run ends with the last of them.
    unfinished: Option<usize>,
    finished_at: u64,
}

/// A flow, the registers of its sender, and both over time.
struct Watched {
    flow: Flow,
    registers: Registers,
    trace: Trace,
    tap: Arc<Tap>,
}

impl Watched {
    /// Reads the registers after an event at `at`.
    fn read(&mut self, at: u64) -> Result<(), Need> {
        if let Some(sender) = self.tap.sender() {
            let info = self.registers.read(sender, at, self.flow.sent_to())?;
            self.trace.registers(at, &info, &self.flow, self.registers.exit());
        }
        Ok(())
    }
}

/// Flows over time.
#[derive(Debug, Default)]
pub(crate) struct OverTime {
    /// Registers of every sender.
    pub(crate) samples: Vec<SampleRow>,
    /// Packets of every flow.
    pub(crate) flows: Vec<FlowRecording>,
}

/// A packet of a flow on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// From the sender.
    Data(u32, Segment),
    /// From the receiver, with the time at which it left; SYN-ACKs too.
    Ack(u32, Header, u64),
}

impl Watch {
    /// Flows that have sent nothing. Each has its congestion control, its tap, and the counters of HyStart of its sender's
    /// namespace.
    pub(crate) fn new(
        built: &Built,
        keep: Keep,
        of: Vec<(&CongestionControl, Arc<Tap>, Arc<Hystart>)>,
    ) -> Self {
        let network = &built.network;
        let configs = network.flows.iter().zip(&built.scheme);
        let flows = configs.zip(of).map(|((config, scheme), (control, tap, hystart))| Watched {
            flow: Flow::new(config, network.grid.0),
            registers: Registers::new(control.exit.clone(), hystart),
            trace: Trace::new(keep, config, scheme),
            tap,
        });
        let flows: Vec<_> = flows.collect();
        let finite = flows.iter().filter(|watched| watched.flow.is_finite()).count();
        Self { unfinished: (network.until_finished && finite > 0).then_some(finite), flows, finished_at: 0 }
    }

    /// Results at `end`, nanoseconds.
    ///
    /// # Errors
    /// If the kernel does not report the registers of a sender, or a write ended before it began.
    pub(crate) fn outcomes(&mut self, end: u64) -> Result<Vec<FlowOutcome>, Failure> {
        let outcomes = self.flows.iter_mut().map(|watched| {
            watched.read(end)?;
            watched.flow.outcome(end, &watched.registers, watched.tap.writes()).map_err(Failure)
        });
        outcomes.collect()
    }

    /// Samples and recordings of the flows with these names.
    pub(crate) fn over_time<'a>(self, names: impl Iterator<Item = &'a str>) -> OverTime {
        let mut all = OverTime::default();
        for (watched, name) in self.flows.into_iter().zip(names) {
            all.samples.extend(watched.trace.samples(name, &watched.flow));
            all.flows.extend(watched.trace.recording());
        }
        all
    }
}

impl Observer for Watch {
    type Note = Note;

    fn came(&mut self, at: u64, packet: &[u8]) -> Option<(Way, Note)> {
        let header = Header::read(packet)?;
        let flow = |port: u16| {
            let number = usize::from(port.checked_sub(FIRST_PORT)?);
            (number < self.flows.len()).then_some(number)
        };
        let (number, note) = match flow(header.to) {
            Some(number) => {
                let watched = &mut self.flows[number];
                let segment = watched.flow.sent(&header);
                watched.trace.sent(at, &header, segment);
                // After a timeout the first packet is a retransmission, and no ACK has shown the timeout.
                if segment.is_retransmission() {
                    // A failure shows at the end of the run, when the registers are read again.
                    let _ = watched.read(at);
                }
                (number, Note::Data(number as u32, segment))
            }
            None => {
                let number = flow(header.from)?;
                (number, Note::Ack(number as u32, header, at))
            }
        };
        let path = 2 * number as u32 + u32::from(matches!(note, Note::Ack(..)));
        let is_data = matches!(note, Note::Data(..)) && header.length > 0;
        let data_of = is_data.then_some(number as u32);
        let ack = header.acknowledgement();
        Some((Way { path, ecn_capable: header.ecn_capable, data_of, ack }, note))
    }

    fn went(&mut self, at: u64, note: Note) {
        let Note::Ack(number, header, left_at) = note else { return };
        let watched = &mut self.flows[number as usize];
        let was_finished = watched.flow.is_finished();
        watched.flow.acknowledged(at, &header);
        watched.tap.acknowledge(watched.flow.acked(), at);
        watched.trace.acknowledged(at, left_at, &header, &watched.flow);
        let _ = watched.read(at);
        if let (false, true, Some(left)) = (was_finished, watched.flow.is_finished(), &mut self.unfinished) {
            *left -= 1;
            self.finished_at = at;
        }
    }

    fn lost(&mut self, note: Note) {
        if let Note::Data(number, segment) = note {
            self.flows[number as usize].flow.lost(segment);
        }
    }

    fn over(&self) -> Option<u64> {
        (self.unfinished == Some(0)).then_some(self.finished_at)
    }
}
