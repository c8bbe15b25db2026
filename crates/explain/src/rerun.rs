//! Re-run of a captured connection on a candidate path, and its summary.

use firstflight_capture::simulated::Simulated;
use firstflight_capture::summary::Summary;
use firstflight_capture::{SlowStartEnd, Source};
use firstflight_contract::Nanos;
use firstflight_random::Dist;
use firstflight_scenario::{Candidate, Scenario, Start, limits};

use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::trace::capture::Wanted;

/// A transfer to run again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Size, bytes.
    pub(super) bytes: u64,
    /// Bytes that the capture shows acknowledged.
    pub(super) acked: u64,
    /// Source of the captured packets.
    pub(super) source: Source,
    /// Time after which the run ends. A transfer that takes much longer than the captured one does not resemble it, and
    /// beside other traffic it might last for hours.
    pub(super) longest: Nanos,
}

/// Summary and end of slow start of a transfer of `sender`, the first flow of `scenario`, until as much of it is acknowledged as the capture
/// shows; `None` if the host refuses the path, or the transfer does not come so far in its time.
pub(super) fn rerun(
    host: &dyn Host,
    scenario: Scenario,
    sender: &Candidate,
    transfer: &Transfer,
    seed: u64,
) -> Option<(Summary, Option<SlowStartEnd>)> {
    let seen = run(host, scenario, sender, transfer, seed)?;
    Some((seen.summary()?, seen.slow_start_end()))
}

/// The same transfer in the form of a captured one.
pub(super) fn run(
    host: &dyn Host,
    mut scenario: Scenario,
    sender: &Candidate,
    transfer: &Transfer,
    seed: u64,
) -> Option<Simulated> {
    let flow = &mut scenario.flows[0];
    sender.apply(flow, scenario.packet.payload(flow.profile), 1);
    flow.size = Some(Dist::Fixed(transfer.bytes.max(1)));
    let Start::At(begin) = flow.start else { unreachable!("a path sets the time of the transfer") };
    scenario.duration = Some(begin.saturating_add(transfer.longest).min(limits::RUN));
    let (grid, memory) = (limits::TIME, u64::MAX);
    let wanted = Wanted { acked: transfer.acked, source: transfer.source };
    let observe = Observe { capture: Some(wanted), grid, memory, ..Observe::default() };
    let run = host.run(&scenario, seed, &observe).ok()?;
    let finished = run.result.flows[0].completion_s.is_some();
    let capture = run.capture?;
    (capture.whole || finished).then(|| capture.into_simulated())
}

#[cfg(test)]
mod tests {
    use firstflight_contract::Rate;
    use firstflight_document::quantity::Amount;
    use firstflight_scenario::build::{Flow, Path};
    use firstflight_scenario::{FlowGroup, Limit, Profile, Receiver, SchemeSpec};

    use super::super::kinds::PathKind;
    use super::super::loss::RandomLoss;
    use super::super::recognised::base;
    use super::super::senders::Schemes;
    use super::super::weighed::Weighed;
    use super::*;
    use firstflight_hosts::simulator::Simulator;
    use firstflight_hosts::trace::capture::Capture;

    #[test]
    fn a_re_run_ends_with_its_transfer_or_after_its_longest_time() {
        // 300 KB in packets of 1448 bytes: 208 packets of 1500 bytes take 0.25 s at 10 Mbit/s, and the rounds of slow start more.
        let path = Path::new(Rate(10_000_000), Nanos::from_millis(40), Limit::Packets(100));
        let transfer = Flow::new().profile(Profile::Linux).name("transfer").size(Amount::Bytes(1));
        let mut scenario = Scenario::builder().path(path).flow(transfer).build().expect("a scenario");
        let transfer = scenario.flows[0].clone();
        scenario.flows.push(FlowGroup { name: "other".into(), size: None, ..transfer });
        let scheme = Candidate::parse("slow-start+reno").expect("a scheme");
        let run = |acked, longest| {
            let transfer = Transfer { bytes: 300_000, acked, source: Source::Segments, longest };
            rerun(&Simulator, scenario.clone(), &scheme, &transfer, 1)
        };
        let hour = run(300_000, Nanos::from_secs(3600)).expect("it ends within an hour");
        let took = libm::exp(hour.0.get("time of all"));
        assert!((0.3..5.0).contains(&took), "{took} s");
        assert_eq!(run(300_000, Nanos::from_secs(60)), Some(hour), "the longest time changes nothing else");
        assert_eq!(run(300_000, Nanos::from_millis(200)), None);
        // The front of the transfer is seen in time.
        assert!(run(10_000, Nanos::from_millis(200)).is_some());
    }

    /// Values of a path of each kind.
    const PATHS: [(PathKind, &[f64]); 12] = [
        (PathKind::DropTail, &[8e6, 0.05, 25.0]),
        (PathKind::DropTail, &[20e6, 0.03, 200.0]),
        (PathKind::Red, &[10e6, 0.04, 8.0, 3.0, 0.1, 0.005]),
        (PathKind::Codel, &[6e6, 0.04, 5e-3, 500.0]),
        (PathKind::Policer, &[40e6, 0.03, 5e6, 40e3]),
        (PathKind::TokenBucket, &[40e6, 0.03, 5e6, 30e3, 60.0]),
        (PathKind::VaryingRate, &[12e6, 0.05, 0.6, 0.2, 0.5, 5.0, 50.0]),
        (PathKind::Aggregating, &[30e6, 0.03, 8e-3, 300.0]),
        (PathKind::OtherTraffic, &[15e6, 0.05, 80.0, 2.0, 0.8, 0.3]),
        (PathKind::OtherTraffic, &[30e6, 0.01, 20.0, 4.0, 0.1, 0.3]),
        (PathKind::LimitedReturn, &[60e6, 0.03, 3e5, 300.0]),
        (PathKind::ThinnedReturn, &[12e6, 0.04, 4.0, 15.0]),
    ];

    fn segments(acked: u64) -> Wanted {
        Wanted { acked, source: Source::Segments }
    }

    /// The sender's packets by an event for each hop, in order of time, until every finite flow has ended.
    fn recorded(scenario: &Scenario, acked: u64, seed: u64) -> (Capture, bool) {
        let observe = Observe { packets: true, until_finished: true, memory: u64::MAX, ..Observe::default() };
        let run = Simulator.run(scenario, seed, &observe).expect("a run");
        let recording = run.recording.expect("a recording");
        (Capture::of(&recording.flows[0], 52, segments(acked)), run.result.flows[0].completion_s.is_some())
    }

    #[test]
    fn a_capture_has_the_packets_of_a_recording_on_every_kind_of_path() {
        let (mut whole, mut part, mut lost) = (0, 0, 0);
        for (number, (kind, values)) in PATHS.into_iter().enumerate() {
            for (reorders, scheme) in
                [(false, "hystart-linux+cubic"), (true, "slow-start+reno"), (false, "bbr")]
            {
                for (handshake, receiver) in
                    [(true, Receiver::QuickAckThenDelayed), (false, Receiver::Delayed)]
                {
                    let seed = number as u64;
                    let mut base = base(400_000);
                    (base.flows[0].handshake, base.flows[0].receiver) = (handshake, receiver);
                    // The second path loses packets at random.
                    let loss = (number == 1).then_some(RandomLoss { probability: 0.03, burst: 2.0 });
                    let (values, lanes) = (values.to_vec(), reorders.then_some([0.03, 4e-3]));
                    let schemes = Schemes::default();
                    let path = Weighed {
                        kind,
                        values,
                        idle: false,
                        lanes,
                        loss,
                        schemes,
                        weight: 1.0,
                        misfit: 0.0,
                        times: 0.0,
                    };
                    let mut scenario = path.scenario(&base, Some(Nanos::ZERO), seed);
                    scenario.flows[0].scheme = SchemeSpec::parse(scheme).expect("a scheme");
                    for (acked, longest) in [(400_000, 60_000), (250_000, 60_000), (400_000, 150)] {
                        let Start::At(begin) = scenario.flows[0].start else {
                            unreachable!("it begins at a time")
                        };
                        scenario.duration = Some(begin.saturating_add(Nanos::from_millis(longest)));
                        let (memory, capture) = (u64::MAX, Some(segments(acked)));
                        let observe = Observe { capture, memory, ..Observe::default() };
                        let run = Simulator.run(&scenario, seed, &observe).expect("a run");
                        let finished = run.result.flows[0].completion_s.is_some();
                        let own = run.capture.expect("a capture");
                        let (expected, expected_finished) = recorded(&scenario, acked, seed);
                        assert_eq!(own, expected, "{kind:?} {scheme} {acked}");
                        assert_eq!(own.whole || finished, expected.whole || expected_finished);
                        let summary = |of: &Capture| of.clone().into_simulated().summary();
                        assert_eq!(summary(&own), summary(&expected));
                        let retransmits = summary(&own).is_some_and(|own| own.get("retransmissions") > 0.0);
                        (whole, part) = (whole + u32::from(own.whole), part + u32::from(!own.whole));
                        lost += u32::from(retransmits);
                    }
                }
            }
        }
        // The cases are of every sort.
        assert!(whole > 60 && part > 60 && lost > 60, "{whole} {part} {lost}");
    }
}
