//! Re-run of a captured connection on a candidate path, and its summary.

use firstflight_capture::simulated::{Simulated, SimulatedPacket};
use firstflight_capture::summary::Summary;
use firstflight_contract::Nanos;
use firstflight_scenario::{Dist, Scenario, SchemeSpec, Start, limits};

use crate::host::{Host, Observe};
use crate::trace::record::{Event, FlowRecording};

/// A transfer to run again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Size, bytes.
    pub(super) bytes: u64,
    /// Bytes that the capture shows acknowledged.
    pub(super) acked: u64,
    /// Time after which the run ends. A transfer that takes much longer than the captured one does not resemble it, and
    /// beside other traffic it might last for hours.
    pub(super) longest: Nanos,
}

/// Summary of a transfer under `scheme`, the first flow of `scenario`, until as much of it is acknowledged as the capture
/// shows; `None` if the host refuses the path, or the transfer does not come so far in its time.
pub(super) fn rerun(
    host: &dyn Host,
    scenario: Scenario,
    scheme: &SchemeSpec,
    transfer: &Transfer,
    seed: u64,
) -> Option<Summary> {
    run(host, scenario, scheme, transfer, seed)?.summary()
}

/// The same transfer in the form of a captured one.
pub(super) fn run(
    host: &dyn Host,
    mut scenario: Scenario,
    scheme: &SchemeSpec,
    transfer: &Transfer,
    seed: u64,
) -> Option<Simulated> {
    let flow = &mut scenario.flows[0];
    let header = flow.profile.stack().header;
    flow.scheme = scheme.clone();
    flow.size = Some(Dist::Fixed(transfer.bytes.max(1)));
    let Start::At(begin) = flow.start else { unreachable!("a path sets the time of the transfer") };
    scenario.duration = Some(begin.saturating_add(transfer.longest).min(limits::RUN));
    let observe = Observe {
        packets: true,
        until_finished: true,
        grid: limits::TIME,
        memory: u64::MAX,
        ..Observe::default()
    };
    let run = host.run(&scenario, seed, &observe).ok()?;
    let finished = run.result.flows[0].completion_s.is_some();
    let recording = run.recording?.flows.into_iter().next()?;
    // What the last acknowledgement released belongs to the capture.
    let mut ended = false;
    let until = packets(&recording).take_while(|(_, packet)| {
        let SimulatedPacket::Ack { ack, .. } = packet else { return true };
        let goes_on = !ended;
        ended = *ack >= transfer.acked;
        goes_on
    });
    let simulated = Simulated::new(recording.mss, header, until);
    (ended || finished).then_some(simulated)
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

#[cfg(test)]
mod tests {
    use firstflight_contract::Rate;
    use firstflight_scenario::build::{Flow, Path};
    use firstflight_scenario::quantity::Amount;
    use firstflight_scenario::{FlowGroup, Limit, Profile};

    use super::*;
    use crate::simulator::Simulator;

    #[test]
    fn a_re_run_ends_with_its_transfer_or_after_its_longest_time() {
        // 300 KB in packets of 1448 bytes: 208 packets of 1500 bytes take 0.25 s at 10 Mbit/s, and the rounds of slow start more.
        let path = Path::new(Rate(10_000_000), Nanos::from_millis(40), Limit::Packets(100));
        let transfer = Flow::new().profile(Profile::Linux).name("transfer").size(Amount::Bytes(1));
        let mut scenario = Scenario::builder().path(path).flow(transfer).build().expect("a scenario");
        let transfer = scenario.flows[0].clone();
        scenario.flows.push(FlowGroup { name: "other".into(), size: None, ..transfer });
        let scheme = SchemeSpec::parse("slow-start+reno").expect("a scheme");
        let run = |acked, longest| {
            let transfer = Transfer { bytes: 300_000, acked, longest };
            rerun(&Simulator, scenario.clone(), &scheme, &transfer, 1)
        };
        let hour = run(300_000, Nanos::from_secs(3600)).expect("it ends within an hour");
        let took = libm::exp(hour.get("time of all"));
        assert!((0.3..5.0).contains(&took), "{took} s");
        assert_eq!(run(300_000, Nanos::from_secs(60)), Some(hour), "the longest time changes nothing else");
        assert_eq!(run(300_000, Nanos::from_millis(200)), None);
        // The front of the transfer is seen in time.
        assert!(run(10_000, Nanos::from_millis(200)).is_some());
    }
}
