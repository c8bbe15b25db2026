//! The outcome of a flow from the packets between a server and its client. Packets are encrypted: windows are bytes in flight, and the
//! retransmissions are those of the datagrams that the network lost.

use firstflight_contract::{Exit, Nanos, StartupExit};
use firstflight_probe::{End, Identity, PathTerms, Reason, Response, acknowledged, row};
use firstflight_sim::outcome::FlowOutcome;

use super::bench::Fetching;
use crate::cable::Passed;

/// The outcome of a flow in a run that ended at `end`.
pub(super) fn outcome(fetching: &Fetching, passed: &[Passed], end: u64, grid: Nanos) -> FlowOutcome {
    let of = passed.iter().filter(|passed| Some(passed.far_port) == fetching.port);
    let packets: Vec<_> = of.map(|passed| passed.packet).collect();
    let nothing = FlowOutcome {
        start: None,
        completions: vec![],
        delivered_bytes: 0,
        delivered: 0,
        delivered_at: vec![],
        sent: 0,
        retransmits: 0,
        timeouts: 0,
        lost: 0,
        lost_before_exit: 0,
        first_flight: 0,
        max_cwnd: 0,
        final_cwnd: 0,
        startup_exit: None,
    };
    let from_client = packets.iter().filter(|packet| !packet.from_server);
    let arrival = |since: Nanos| {
        let mut from = from_client.clone().filter(|packet| packet.left >= since);
        from.find_map(|packet| packet.arrived)
    };
    let Some(asked) = fetching.requested.and_then(arrival) else { return nothing };
    // The client acknowledges the last byte when or after it has that byte.
    let completed = fetching.finished.and_then(arrival).filter(|at| at.0 <= end);
    let until = completed.unwrap_or(Nanos(end));
    let response = Response {
        bytes: fetching.bytes,
        requested: fetching.requested.unwrap_or(asked),
        asked,
        finished: until,
        packets: packets.iter().filter(|packet| packet.left <= until).copied().collect(),
    };
    let path = PathTerms { rate: String::new(), rtt: String::new(), buffer: String::new() };
    let identity = Identity { stack: String::new(), version: String::new(), protocol: String::new(), path };
    let row = row(identity, std::slice::from_ref(&response), &[]);
    let acks = acknowledged(&response);
    let by = |at: u64| acks.partition_point(|acked| acked.0 <= at) as u32;
    let exit =
        row.startup_end.filter(|end| end.reason == Reason::Loss).map(|End { at_ms, window, .. }| {
            StartupExit { at: Nanos(asked.0 + (at_ms * 1e6) as u64), cwnd: window, reason: Exit::Loss }
        });
    let data = packets.iter().filter(|packet| packet.is_data() && (asked..=until).contains(&packet.left));
    let had = fetching.progress.iter().rfind(|(at, _)| *at <= until).map_or(0, |(_, bytes)| *bytes);
    let (asked, until) = (asked.0, until.0);
    FlowOutcome {
        start: Some(asked),
        completions: completed.map(|at| at.0 - asked).into_iter().collect(),
        delivered_bytes: if completed.is_some() { fetching.bytes } else { had },
        delivered: by(until),
        delivered_at: (1..=end.saturating_sub(asked) / grid.0)
            .map(|step| by(asked + step * grid.0))
            .collect(),
        sent: data.count() as u64,
        retransmits: row.lost,
        timeouts: 0,
        lost: row.lost,
        lost_before_exit: u64::from(exit.is_some()),
        first_flight: row.rounds.first().map_or(0, |round| round.datagrams as u32),
        max_cwnd: row.most_in_flight,
        final_cwnd: row.windows.iter().rev().nth(1).or(row.windows.last()).copied().unwrap_or(0),
        startup_exit: exit,
    }
}

#[cfg(test)]
mod tests {
    use firstflight_probe::Packet;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_transfer_is_counted_from_the_request_to_the_last_acknowledgement() {
        // The client asks at 100 ms; two datagrams at once, the second of which is lost, and leaves again at 251 ms. 50 ms each way.
        let packet = |from_server, left: u64, arrives: bool, bytes| Passed {
            far_port: 7,
            packet: Packet {
                from_server,
                left: Nanos(left * MS),
                arrived: arrives.then_some(Nanos((left + 50) * MS)),
                bytes,
            },
        };
        let passed = [
            packet(false, 0, true, 1_200),
            packet(true, 50, true, 1_200),
            packet(false, 100, true, 60),
            packet(true, 150, true, 1_200),
            packet(true, 150, false, 1_200),
            packet(false, 200, true, 40),
            packet(true, 251, true, 1_200),
            packet(false, 301, true, 40),
        ];
        let at = |ms: u64| Nanos(ms * MS);
        let fetching = Fetching {
            port: Some(7),
            bytes: 2_000,
            requested: Some(at(100)),
            finished: Some(at(301)),
            progress: vec![(at(200), 1_000), (at(301), 2_000)],
        };
        let all = outcome(&fetching, &passed, 1_000 * MS, at(100));
        assert_eq!((all.start, &all.completions[..]), (Some(150 * MS), &[201 * MS][..]));
        assert_eq!((all.sent, all.lost, all.retransmits, all.first_flight), (3, 1, 1, 2));
        assert_eq!((all.delivered_bytes, all.delivered), (2_000, 3));
        // At 250 ms the first is acknowledged; the lost one has the acknowledgement of the third, at 351 ms.
        assert_eq!(all.delivered_at[..3], [1, 1, 3]);
        let exit = all.startup_exit.expect("a loss");
        assert_eq!((exit.at, exit.cwnd, exit.reason), (at(150), 2_400, Exit::Loss));
        // The run ends before the repair has arrived, or before the client has asked.
        let part = outcome(&fetching, &passed, 300 * MS, at(100));
        assert_eq!((part.completions.len(), part.delivered_bytes, part.start), (0, 1_000, Some(150 * MS)));
        let never = Fetching { requested: None, ..fetching };
        assert_eq!(outcome(&never, &passed, 300 * MS, at(100)).start, None);
    }
}
