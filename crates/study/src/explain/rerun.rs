//! Re-run of a captured connection on a candidate path, and its summary.

use firstflight_capture::simulated::{SimulatedPacket, summarise};
use firstflight_capture::summary::Summary;
use firstflight_contract::Nanos;
use firstflight_scenario::{Dist, Scenario, SchemeSpec, limits};

use crate::host::{Host, Observe};
use crate::trace::record::{Event, FlowRecording};

/// Summary of a transfer of `bytes` under `scheme`, the first flow of `scenario`, until `acked` of them are acknowledged;
/// `None` if the host refuses the path or delivers nothing on it.
pub(super) fn rerun(
    host: &dyn Host,
    mut scenario: Scenario,
    scheme: &SchemeSpec,
    bytes: u64,
    acked: u64,
    seed: u64,
) -> Option<Summary> {
    let header = scenario.flows[0].profile.stack().header;
    scenario.flows[0].scheme = scheme.clone();
    scenario.flows[0].size = Some(Dist::Fixed(bytes.max(1)));
    let observe = Observe { packets: true, grid: limits::TIME, memory: u64::MAX, ..Observe::default() };
    let run = host.run(&scenario, seed, &observe).ok()?;
    let recording = run.recording?.flows.into_iter().next()?;
    // What the last acknowledgement released belongs to the capture.
    let mut ended = false;
    let until = packets(&recording).take_while(|(_, packet)| {
        let SimulatedPacket::Ack { ack, .. } = packet else { return true };
        let goes_on = !ended;
        ended = *ack >= acked;
        goes_on
    });
    summarise(recording.mss, header, until)
}

fn packets(recording: &FlowRecording) -> impl Iterator<Item = (Nanos, SimulatedPacket)> + '_ {
    recording.events.iter().filter_map(|(at, event)| {
        let packet = match event {
            Event::Data(data) => {
                SimulatedPacket::Data { start: recording.offset(data.segment), len: data.payload }
            }
            Event::Ack(ack) => {
                let mut blocks = [(0, 0); 4];
                let given = ack.blocks.iter().take_while(|(start, end)| end > start);
                for (block, &(start, end)) in blocks.iter_mut().zip(given) {
                    *block = (recording.offset(start), recording.offset(end));
                }
                SimulatedPacket::Ack { ack: recording.offset(ack.next), blocks }
            }
            _ => return None,
        };
        Some((Nanos(*at), packet))
    })
}
