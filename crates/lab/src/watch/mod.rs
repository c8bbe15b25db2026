//! TCP flows on the wire: what they sent, lost and finished, and the registers of their senders.
//!
//! The emulator sees every packet at both ends of its way, so times and counts are those of the packets and not those of
//! threads that wait for the kernel. The kernel has processed an ACK when the write to the device returns; the registers of
//! the sender are read then, once for each ACK.

mod flow;

mod registers;

use std::sync::Arc;

use firstflight_sim::config::Network;
use firstflight_sim::outcome::FlowOutcome;

use crate::congestion_control::CongestionControl;
use crate::emulator::realtime::{Observer, Way};
use crate::header::Header;
use crate::need::Need;
use crate::traffic::Tap;
use flow::{Flow, Segment};

pub(crate) use registers::Hystart;
use registers::Registers;

/// Port at which the receiver of the first flow listens; those of the others follow.
pub(crate) const FIRST_PORT: u16 = 10_000;

/// Every flow of a run.
pub(crate) struct Watch {
    flows: Vec<(Flow, Registers, Arc<Tap>)>,
    /// Finite flows that are not finished, if the run ends with the last of them.
    unfinished: Option<usize>,
    finished_at: u64,
}

/// A packet of a flow on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    /// From the sender.
    Data(u32, Segment),
    /// From the receiver; SYN-ACKs too.
    Ack(u32, Header),
}

impl Watch {
    /// Flows that have sent nothing. Each has its congestion control, its tap, and the counters of HyStart of its sender's
    /// namespace.
    pub(crate) fn new(network: &Network, of: Vec<(&CongestionControl, Arc<Tap>, Arc<Hystart>)>) -> Self {
        let flows = network.flows.iter().zip(of).map(|(config, (control, tap, hystart))| {
            (Flow::new(config, network.grid.0), Registers::new(control.exit.clone(), hystart), tap)
        });
        let flows: Vec<_> = flows.collect();
        let finite = flows.iter().filter(|(flow, ..)| flow.is_finite()).count();
        Self { unfinished: (network.until_finished && finite > 0).then_some(finite), flows, finished_at: 0 }
    }

    /// Results at `end`, nanoseconds, of flows whose full segments carry `mss` bytes.
    ///
    /// # Errors
    /// If the kernel does not report the registers of a sender.
    pub(crate) fn outcomes(&mut self, end: u64) -> Result<Vec<FlowOutcome>, Need> {
        let outcomes = self.flows.iter_mut().map(|(flow, registers, tap)| {
            if let Some(sender) = tap.sender() {
                registers.read(sender, end, flow.sent_to())?;
            }
            Ok(flow.outcome(end, registers))
        });
        outcomes.collect()
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
                let (flow, registers, tap) = &mut self.flows[number];
                let segment = flow.sent(at, &header);
                // After a timeout the first packet is a retransmission, and no ACK has shown the timeout.
                if let (true, Some(sender)) = (segment.is_retransmission(), tap.sender()) {
                    // A failure shows at the end of the run, when the registers are read again.
                    let _ = registers.read(sender, at, flow.sent_to());
                }
                (number, Note::Data(number as u32, segment))
            }
            None => {
                let number = flow(header.from)?;
                (number, Note::Ack(number as u32, header))
            }
        };
        let path = 2 * number as u32 + u32::from(matches!(note, Note::Ack(..)));
        Some((Way { path, ecn_capable: header.ecn_capable }, note))
    }

    fn went(&mut self, at: u64, note: Note) {
        let Note::Ack(number, header) = note else { return };
        let (flow, registers, tap) = &mut self.flows[number as usize];
        let was_finished = flow.is_finished();
        flow.acknowledged(at, &header);
        tap.acknowledge(flow.acked(), at);
        if let Some(sender) = tap.sender() {
            let _ = registers.read(sender, at, flow.sent_to());
        }
        if let (false, true, Some(left)) = (was_finished, flow.is_finished(), &mut self.unfinished) {
            *left -= 1;
            self.finished_at = at;
        }
    }

    fn lost(&mut self, note: Note) {
        if let Note::Data(number, segment) = note {
            self.flows[number as usize].0.lost(segment);
        }
    }

    fn over(&self) -> Option<u64> {
        (self.unfinished == Some(0)).then_some(self.finished_at)
    }
}
