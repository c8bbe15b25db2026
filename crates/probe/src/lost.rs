//! The repair of a response that lost its third data packet.

use firstflight_contract::Nanos;
use serde::{Deserialize, Serialize};

use crate::flights::Flights;
use crate::rounded::rounded;
use crate::{Packet, Response};

/// Shares of a round trip: the time in which a repair answers an acknowledgement, and those between which it answers a timer of RFC 9002,
/// section 6.1.2, whose time is 9/8.
const AT_ONCE: (u64, u64) = (1, 8);
const TIMER: [(u64, u64); 2] = [(9, 8), (3, 2)];
/// Later packets whose acknowledgement shows a loss: the packet threshold of RFC 9002, section 6.1.1.
const THRESHOLD: usize = 3;

/// A response of which the path lost the third data packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThirdLost {
    /// Bytes of the body.
    pub bytes: u64,
    /// Time from the client's request until the client had the last byte, seconds.
    pub seconds: f64,
    /// Data packets that left, the lost one included.
    pub datagrams: u64,
    /// Data packets more than in the response of the same size without a loss.
    pub again: i64,
    /// The repair; `None` if the lost packet had no byte of the body.
    pub repair: Option<Repair>,
}

/// The packet that brought the bytes of the lost one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// Reason for which it left, by what had reached the server.
    pub by: By,
    /// Time from the departure of the lost packet to that of the repair, milliseconds.
    pub after_ms: f64,
}

/// Reason of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Three later packets were acknowledged, the third of them less than an eighth of a round trip before.
    PacketThreshold,
    /// A later packet was acknowledged, and the repair left 9/8 to 3/2 of a round trip after the lost packet.
    TimeThreshold,
    /// No later packet was acknowledged.
    ProbeTimeout,
    /// None of these.
    Other,
}

impl By {
    /// Its words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::PacketThreshold => "packet threshold",
            Self::TimeThreshold => "time threshold",
            Self::ProbeTimeout => "probe timeout",
            Self::Other => "another rule",
        }
    }
}

/// The repair of `response`, if the path lost one data packet, number [`LOST`](crate::LOST) of those that are numbered; `progress` has the bytes of the body that the client had in order, with their
/// times, and `whole` is the response of the same size without a loss.
pub fn third_lost(response: &Response, progress: &[(Nanos, u64)], whole: &Response) -> Option<ThirdLost> {
    let (flights, clean) = (Flights::of(response), Flights::of(whole));
    let place = flights.data.iter().position(|packet| packet.arrived.is_none())?;
    let others = flights.data[place + 1..].iter().filter(|packet| packet.arrived.is_none()).count();
    (others == 0).then(|| ThirdLost {
        bytes: response.bytes,
        seconds: rounded(response.finished.saturating_sub(response.requested).0 as f64 / 1e9, 4),
        datagrams: flights.data.len() as u64,
        again: flights.data.len() as i64 - clean.data.len() as i64,
        repair: repair(response, &flights, place, progress),
    })
}

fn repair(response: &Response, flights: &Flights, place: usize, progress: &[(Nanos, u64)]) -> Option<Repair> {
    let lost = flights.data[place];
    let first = flights.data.iter().zip(&flights.acked).take(place);
    let rtt = first.filter_map(|(packet, acked)| Some(acked.as_ref()?.saturating_sub(packet.left))).min()?;
    let way = |packet: &Packet| Some(packet.arrived?.saturating_sub(packet.left));
    let one_way = flights.data[..place].iter().filter_map(way).min()?;
    // The server learns of the loss from an acknowledgement, and its repair takes a way: until then nothing follows the bytes before the
    // lost one.
    let earliest = lost.left.saturating_add(rtt).saturating_add(one_way);
    let had = progress.iter().rfind(|(at, _)| *at < earliest).map_or(0, |(_, bytes)| *bytes);
    if had > flights.bytes(0..place) {
        return None;
    }
    let filled = progress.iter().map(|(at, _)| *at).find(|at| *at >= earliest)?;
    let from_server = response.packets.iter().filter(|packet| packet.from_server);
    let last = |packet: &&Packet| packet.arrived.filter(|arrived| *arrived <= filled);
    let repair = from_server.filter(|packet| last(packet).is_some()).max_by_key(last)?;
    let of = |(over, under): (u64, u64)| Nanos(rtt.0 * over / under);
    let took = repair.left.saturating_sub(lost.left);
    let mut acks: Vec<Nanos> = flights.acked[place + 1..].iter().flatten().copied().collect();
    acks.retain(|acked| *acked <= repair.left);
    acks.sort_unstable();
    let answers = |acked: &Nanos| repair.left.saturating_sub(*acked) < of(AT_ONCE);
    let [least, most] = TIMER.map(of);
    let by = match acks.get(THRESHOLD - 1) {
        Some(third) if answers(third) => By::PacketThreshold,
        _ if acks.is_empty() => By::ProbeTimeout,
        _ if (least..most).contains(&took) => By::TimeThreshold,
        _ => By::Other,
    };
    Some(Repair { by, after_ms: rounded(took.0 as f64 / 1e6, 3) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten packets at once from 500 ms on, one each 0.1 ms, of which the third is lost, over 100 ms. The client acknowledges each at once, or only
    /// those before `until`; `repair` leaves at that time, in milliseconds.
    fn response(until: usize, repair: f64) -> Response {
        let mut packets = vec![];
        let mut add = |left: u64, arrives: bool, acknowledged: bool| {
            let arrived = arrives.then_some(Nanos(left + 50 * MS));
            packets.push(Packet { from_server: true, left: Nanos(left), arrived, bytes: 1_000 });
            if let Some(left) = arrived.filter(|_| acknowledged) {
                let arrived = Some(Nanos(left.0 + 50 * MS));
                packets.push(Packet { from_server: false, left, arrived, bytes: 40 });
            }
        };
        (0..10).for_each(|number| add(500 * MS + number as u64 * MS / 10, number != 2, number < until));
        let left = (repair * 1e6) as u64;
        add(left, true, true);
        let finished = Nanos(left + 50 * MS);
        Response { bytes: 10_000, requested: Nanos(450 * MS), asked: Nanos(500 * MS), finished, packets }
    }

    fn repaired(until: usize, at: f64) -> Option<ThirdLost> {
        let response = response(until, at);
        // In order the client has two packets, and all ten when the repair comes.
        let progress = [(Nanos(550 * MS + MS / 10), 2_000), (response.finished, 10_000)];
        let whole = Response {
            packets: response.packets[..16.min(response.packets.len())].to_vec(),
            ..response.clone()
        };
        third_lost(&response, &progress, &whole)
    }

    #[test]
    fn a_repair_has_the_reason_that_the_acknowledgements_give() {
        let of = |until, at| repaired(until, at).and_then(|lost| lost.repair).map(|repair| repair.by);
        // The acknowledgements of packets 4 to 6 are back at 600.3, 600.4 and 600.5 ms.
        assert_eq!(of(10, 600.5), Some(By::PacketThreshold));
        assert_eq!(of(10, 612.0), Some(By::PacketThreshold));
        assert_eq!(of(10, 613.1), Some(By::TimeThreshold));
        assert_eq!(of(10, 600.4), Some(By::Other));
        // Packet 4 alone is acknowledged; the lost one left at 500.2 ms, and 9/8 of 100 ms are 112.5.
        assert_eq!(of(4, 612.7), Some(By::TimeThreshold));
        assert_eq!(of(4, 650.3), Some(By::Other));
        assert_eq!(of(3, 700.0), Some(By::ProbeTimeout));
    }

    #[test]
    fn times_and_counts_are_those_counted_by_hand() {
        let lost = repaired(10, 600.5).expect("a loss");
        // From 450 ms to 650.5 ms; eleven packets, and nine in the first sixteen notes: seven with their acknowledgements, two without.
        assert_eq!((lost.seconds, lost.datagrams), (0.2005, 11));
        assert_eq!(lost.again, 11 - 9);
        assert_eq!(lost.repair.map(|repair| repair.after_ms), Some(100.3));
    }

    #[test]
    fn a_lost_packet_without_bytes_of_the_body_has_no_repair() {
        let response = response(10, 600.5);
        // Packet 4 arrives at 550.3 ms and is read at once; the lost packet had no byte of the body.
        let progress = [(Nanos(550 * MS), 1_000), (Nanos(550 * MS + 3 * MS / 10), 2_900)];
        assert_eq!(third_lost(&response, &progress, &response).map(|lost| lost.repair), Some(None));
        let mut whole = response.clone();
        whole.packets.iter_mut().for_each(|packet| packet.arrived = Some(Nanos(packet.left.0 + 50 * MS)));
        assert_eq!(third_lost(&whole, &progress, &whole), None);
    }
}
