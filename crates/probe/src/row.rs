//! The row itself.

use firstflight_contract::Nanos;
use firstflight_quantile::type_7;
use serde::{Deserialize, Serialize};

use crate::Response;
use crate::flights::Flights;
use crate::lost::ThirdLost;
use crate::rounded::rounded;

/// Rounds that a row lists with datagrams.
const ROUNDS: usize = 5;
/// Growth of two rounds over one below which start-up has ended, a ratio. A window that grows in start-up doubles, or grows by half with one
/// acknowledgement for two packets.
const GROWTH: f64 = 1.25;

/// Name of a server, and the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name of the stack, or the command of the server.
    pub stack: String,
    /// Version that the stack states; empty if it states none.
    pub version: String,
    /// Protocol: `quic` or `tcp`.
    pub protocol: String,
    /// The path.
    pub path: PathTerms,
}

/// A path in the terms of scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathTerms {
    /// Bottleneck rate: `20 Mbit/s`.
    pub rate: String,
    /// Round-trip time of an empty path: `100 ms`.
    pub rtt: String,
    /// Buffer: `4 BDP`.
    pub buffer: String,
}

/// How a server sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The server and the path.
    #[serde(flatten)]
    pub identity: Identity,
    /// The first five rounds of the longest response.
    pub rounds: Vec<Round>,
    /// The first round of the longest response in detail.
    pub first_flight: FirstFlight,
    /// Bytes of each round of the longest response.
    pub windows: Vec<u64>,
    /// End of start-up in the longest response; `None` if the response ended before.
    pub startup_end: Option<End>,
    /// Most bytes in flight in the longest response.
    pub most_in_flight: u64,
    /// Data packets of the longest response that the path lost.
    pub lost: u64,
    /// Responses after silence.
    pub after_idle: Vec<AfterIdle>,
    /// Times of responses, each on a connection of its own.
    pub transfers: Vec<Transfer>,
    /// A response of which the path lost the third data packet; `None` if it was not measured.
    #[serde(default)]
    pub third_lost: Option<ThirdLost>,
}

/// A round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Time from the arrival of the request to the round's first packet, milliseconds.
    pub at_ms: f64,
    /// Data packets.
    pub datagrams: u64,
    /// Bytes of their payload.
    pub bytes: u64,
}

/// The first round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstFlight {
    /// Bursts in order.
    pub bursts: Vec<Burst>,
    /// Median time between the beginnings of consecutive bursts, milliseconds; `None` for a single burst.
    pub spacing_ms: Option<f64>,
    /// Each packet: time since the first one, milliseconds, and bytes of payload.
    pub packets: Vec<(f64, u32)>,
}

/// A burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Time since the first packet of the round, milliseconds.
    pub at_ms: f64,
    /// Data packets.
    pub datagrams: u64,
}

/// Sign by which start-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The path lost a packet.
    Loss,
    /// Two rounds were less than a quarter larger than the one before them.
    NoGrowth,
}

/// End of start-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Its sign.
    pub reason: Reason,
    /// Number of the round, from 1: that of the first lost packet, or the last one that was a quarter larger.
    pub round: u64,
    /// Time since the arrival of the request, milliseconds: departure of the lost packet, or of the round's last packet.
    pub at_ms: f64,
    /// Bytes in flight after the first lost packet had left, or the most until the end of the round.
    pub window: u64,
}

/// First round of a response after silence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AfterIdle {
    /// Time from the end of the response before to the request, seconds.
    pub idle_s: f64,
    /// Data packets of the first round.
    pub datagrams: u64,
    /// Bytes of the first round.
    pub bytes: u64,
    /// Data packets of its first burst.
    pub burst: u64,
}

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Bytes of the body.
    pub bytes: u64,
    /// Time from the client's request until the client had the last byte, seconds.
    pub seconds: f64,
}

/// The row of a server. `first` are responses that were the first one of their connections, one at least; `after_idle` are responses that followed
/// another one on their connection, each with the silence before its request. A response without data has no part in the row but its time.
pub fn row(identity: Identity, first: &[Response], after_idle: &[(Nanos, Response)]) -> Row {
    let transfers = first.iter().map(|response| Transfer {
        bytes: response.bytes,
        seconds: rounded(response.finished.saturating_sub(response.requested).0 as f64 / 1e9, 4),
    });
    let mut row = Row {
        identity,
        rounds: vec![],
        first_flight: FirstFlight { bursts: vec![], spacing_ms: None, packets: vec![] },
        windows: vec![],
        startup_end: None,
        most_in_flight: 0,
        lost: 0,
        after_idle: after_idle.iter().filter_map(|(idle, response)| silent(*idle, response)).collect(),
        transfers: transfers.collect(),
        third_lost: None,
    };
    if let Some(longest) = first.iter().max_by_key(|response| response.bytes) {
        describe(&mut row, longest);
    }
    row
}

fn describe(row: &mut Row, longest: &Response) {
    let flights = Flights::of(longest);
    let rounds = flights.rounds();
    let in_flight = flights.in_flight();
    let since = |origin: Nanos, at: Nanos| rounded(at.saturating_sub(origin).0 as f64 / 1e6, 3);
    row.windows = rounds.iter().map(|round| flights.bytes(round.clone())).collect();
    row.rounds = rounds
        .iter()
        .zip(&row.windows)
        .take(ROUNDS)
        .map(|(round, &bytes)| Round {
            at_ms: since(longest.asked, flights.data[round.start].left),
            datagrams: round.len() as u64,
            bytes,
        })
        .collect();
    row.most_in_flight = in_flight.iter().copied().max().unwrap_or(0);
    row.lost = flights.data.iter().filter(|packet| packet.arrived.is_none()).count() as u64;
    if let Some(first) = rounds.first() {
        let origin = flights.data[first.start].left;
        let packets = &flights.data[first.clone()];
        row.first_flight.packets =
            packets.iter().map(|packet| (since(origin, packet.left), packet.bytes)).collect();
        let bursts = flights.bursts(first.clone());
        let bursts = bursts
            .iter()
            .map(|burst| Burst { at_ms: since(origin, burst[0].left), datagrams: burst.len() as u64 });
        row.first_flight.bursts = bursts.collect();
        let mut gaps: Vec<f64> =
            row.first_flight.bursts.windows(2).map(|pair| pair[1].at_ms - pair[0].at_ms).collect();
        gaps.sort_by(f64::total_cmp);
        row.first_flight.spacing_ms = (!gaps.is_empty()).then(|| rounded(type_7(&gaps, 0.5), 3));
    }
    // The last round is as large as what was left to send.
    let whole = row.windows.len().saturating_sub(1);
    let stalled = row.windows[..whole]
        .windows(3)
        .position(|three| three[1].max(three[2]) as f64 <= GROWTH * three[0] as f64);
    let lost = flights.data.iter().position(|packet| packet.arrived.is_none());
    let round_of = |packet: usize| rounds.partition_point(|round| round.end <= packet);
    row.startup_end = match (lost, stalled) {
        (Some(packet), stalled) if stalled.is_none_or(|round| round_of(packet) <= round) => Some(End {
            reason: Reason::Loss,
            round: round_of(packet) as u64 + 1,
            at_ms: since(longest.asked, flights.data[packet].left),
            window: in_flight[packet],
        }),
        (_, Some(round)) => {
            let end = rounds[round].end;
            Some(End {
                reason: Reason::NoGrowth,
                round: round as u64 + 1,
                at_ms: since(longest.asked, flights.data[end - 1].left),
                window: in_flight[..end].iter().copied().max().unwrap_or(0),
            })
        }
        (_, None) => None,
    };
}

fn silent(idle: Nanos, response: &Response) -> Option<AfterIdle> {
    let flights = Flights::of(response);
    let round = flights.rounds().into_iter().next()?;
    Some(AfterIdle {
        idle_s: rounded(idle.0 as f64 / 1e9, 3),
        datagrams: round.len() as u64,
        bytes: flights.bytes(round.clone()),
        burst: flights.bursts(round).first().map_or(0, |burst| burst.len() as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;

    const MS: u64 = 1_000_000;

    fn identity() -> Identity {
        let path = PathTerms { rate: "20 Mbit/s".into(), rtt: "100 ms".into(), buffer: "4 BDP".into() };
        Identity { stack: "hand".into(), version: String::new(), protocol: "quic".into(), path }
    }

    /// A path of 100 ms without a rate: each packet arrives 50 ms later, and each one of the server is acknowledged at once.
    fn response(sent_us: &[(u64, u32)], lost: &[usize]) -> Response {
        let mut packets = vec![];
        for (number, &(at, bytes)) in sent_us.iter().enumerate() {
            let left = Nanos(at * 1_000);
            let arrived = (!lost.contains(&number)).then(|| Nanos(left.0 + 50 * MS));
            packets.push(Packet { from_server: true, left, arrived, bytes });
            if let Some(left) = arrived {
                let arrived = Some(Nanos(left.0 + 50 * MS));
                packets.push(Packet { from_server: false, left, arrived, bytes: 40 });
            }
        }
        let finished =
            packets.iter().filter(|packet| packet.from_server).filter_map(|packet| packet.arrived).max();
        Response {
            bytes: sent_us.iter().map(|(_, bytes)| u64::from(*bytes)).sum(),
            requested: Nanos(450 * MS),
            asked: Nanos(500 * MS),
            finished: finished.expect("a packet arrives"),
            packets,
        }
    }

    /// `count` packets of 1000 bytes from `ms` on, one each 100 us.
    fn train(ms: u64, count: u64) -> impl Iterator<Item = (u64, u32)> {
        (0..count).map(move |number| (ms * 1_000 + number * 100, 1_000))
    }

    #[test]
    fn rounds_bursts_and_times_are_those_counted_by_hand() {
        // Before the request a packet of the handshake; 10 packets at once, then 2 singles 3 ms apart; a small packet is no data.
        let first = [(490_000, 1_200)].into_iter().chain(train(500, 10)).chain([
            (503_000, 1_000),
            (504_000, 60),
            (506_000, 1_000),
        ]);
        // The first acknowledgement is back at 600.0 ms.
        let all: Vec<_> = first.chain(train(600, 24)).chain(train(700, 5)).collect();
        let row = row(identity(), &[response(&all, &[])], &[]);
        let counts: Vec<_> =
            row.rounds.iter().map(|round| (round.at_ms, round.datagrams, round.bytes)).collect();
        assert_eq!(counts, [(0.0, 12, 12_000), (100.0, 24, 24_000), (200.0, 5, 5_000)]);
        assert_eq!(row.windows, [12_000, 24_000, 5_000]);
        let bursts: Vec<_> =
            row.first_flight.bursts.iter().map(|burst| (burst.at_ms, burst.datagrams)).collect();
        assert_eq!(bursts, [(0.0, 10), (3.0, 1), (6.0, 1)]);
        assert_eq!(row.first_flight.spacing_ms, Some(3.0));
        assert_eq!(row.first_flight.packets[1], (0.1, 1_000));
        // The last of five packets arrives at 750.4 ms, 300.4 ms after the request left.
        assert_eq!(row.transfers[0].seconds, 0.3004);
        assert_eq!(row.startup_end, None);
        // From 600.0 ms on each packet leaves when an acknowledgement arrives, up to the tenth: 12 in flight. 14 more leave until 602.3 ms.
        // The next acknowledgement would come at 603 ms.
        assert_eq!(row.most_in_flight, 26_000);
    }

    #[test]
    fn the_first_loss_ends_start_up() {
        // Packets are numbered from 0. The second round has packets 12 to 35.
        let all: Vec<_> = train(500, 12).chain(train(600, 24)).chain(train(700, 48)).collect();
        let row = row(identity(), &[response(&all, &[35])], &[]);
        let end = row.startup_end.expect("it ends");
        assert_eq!((end.reason, end.round, end.at_ms), (Reason::Loss, 2, 102.3));
        // All 12 of the first round are acknowledged by 601.1 ms.
        assert_eq!((end.window, row.lost), (24_000, 1));
    }

    #[test]
    fn rounds_that_do_not_grow_end_start_up_and_one_alone_does_not() {
        let grown = |counts: &[u64]| {
            let all: Vec<_> = counts
                .iter()
                .enumerate()
                .flat_map(|(at, &count)| train(500 + 100 * at as u64, count))
                .collect();
            row(identity(), &[response(&all, &[])], &[])
                .startup_end
                .map(|end| (end.reason, end.round, end.window))
        };
        // 12, 10, 20: one round without growth. 40, 44, 48: two. The last round does not count.
        assert_eq!(grown(&[12, 10, 20, 40, 44, 48, 7]), Some((Reason::NoGrowth, 4, 40_000)));
        assert_eq!(grown(&[12, 10, 20, 40, 44, 7]), None);
        // 1.25 of 40 is 50.
        assert_eq!(grown(&[20, 40, 50, 50, 7]), Some((Reason::NoGrowth, 2, 40_000)));
        assert_eq!(grown(&[20, 40, 50, 51, 7]), None);
    }

    #[test]
    fn a_lost_packet_leaves_the_flight_with_the_next_one_that_arrived() {
        // Three packets, of which the first is lost: the round ends with the acknowledgement of the second, at 600.1 ms.
        let all: Vec<_> = train(500, 3).chain([(600_050, 1_000), (600_100, 1_000)]).collect();
        let row = row(identity(), &[response(&all, &[0])], &[]);
        assert_eq!(row.windows, [4_000, 1_000]);
        // At 600.05 ms four packets are in flight; at 600.1 ms two of them have left the flight.
        assert_eq!(row.most_in_flight, 4_000);
    }

    #[test]
    fn a_response_after_silence_is_its_first_round_and_burst() {
        let all: Vec<_> = train(500, 20).chain(train(510, 4)).chain(train(600, 9)).collect();
        let row = row(identity(), &[response(&all, &[])], &[(Nanos(200 * MS), response(&all, &[]))]);
        let [after] = row.after_idle[..] else { panic!("{:?}", row.after_idle) };
        assert_eq!((after.idle_s, after.datagrams, after.bytes, after.burst), (0.2, 24, 24_000, 20));
    }

    #[test]
    fn a_row_is_one_line_of_json_and_back() {
        let row = row(identity(), &[response(&[(500_000, 9_500)], &[])], &[]);
        let line = serde_json::to_string(&row).expect("JSON");
        assert!(
            line.starts_with(r#"{"stack":"hand","version":"","protocol":"quic","path":{"rate":"20 Mbit/s""#),
            "{line}"
        );
        assert_eq!(serde_json::from_str::<Row>(&line).expect("a row"), row);
    }
}
