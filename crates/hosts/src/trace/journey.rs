//! The ways of the first packets of a connection through its bottleneck, for pictures of a start-up.

use firstflight_net::link::Passage;
use firstflight_sim::config::Network;
use firstflight_sim::engine::Mode;
use firstflight_sim::observe::{Kind, Observer, Seen};
use firstflight_sim::outcome::simulate_observed;
use firstflight_sim::sender::Sender;

use super::record::SYN;
use super::transit::Transit;

/// Packets of the first connection of a run, and what its bottleneck carried beside them. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journeys {
    /// Packets of the connection, SYN and ACKs included, in the order in which they were sent.
    pub packets: Vec<Journey>,
    /// Packets of others that were accepted at the bottleneck: arrival, and end of the transmission.
    pub others: Vec<[u64; 2]>,
    /// Times at which the congestion window changed, with its new value, packets.
    pub windows: Vec<(u64, f64)>,
    /// End of start-up.
    pub startup_end: Option<u64>,
    /// Rate of the bottleneck, bits per second; its mean rate if it varies.
    pub rate: u64,
    /// Whether the record is of the whole run. Otherwise the connection sent more packets than were asked for.
    pub whole: bool,
}

/// A packet of the connection on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Journey {
    /// Segment number; of an ACK the next expected segment. `None` for a SYN.
    pub number: Option<u32>,
    /// Whether this is an ACK.
    pub ack: bool,
    /// Whether this is a retransmission.
    pub retransmission: bool,
    /// Time at which it left its endpoint.
    pub sent: u64,
    /// Arrival at the queue of the bottleneck; `None` for an ACK, and for a packet that was lost before it.
    pub queued: Option<u64>,
    /// End of its transmission at the bottleneck.
    pub served: Option<u64>,
    /// Arrival at the other endpoint.
    pub arrived: Option<u64>,
    /// Time at which it was dropped or lost.
    pub lost: Option<u64>,
}

/// Simulates `network` until its first connection has sent `most` packets, and records them. The bottleneck is the slowest
/// link from its sender to its receiver. `None` without a connection.
pub(crate) fn journeys(network: &Network, most: u64) -> Option<Journeys> {
    let flow = network.flows.first()?;
    let bottleneck = *flow.forward.iter().min_by_key(|&&link| network.links[link].rate.0)?;
    let link = &network.links[bottleneck];
    let recorder = Recorder {
        bottleneck: bottleneck as u32,
        delay: link.delay.0,
        data: Transit::new(&flow.forward),
        acks: Transit::new(&flow.reverse),
        sent: 0,
        most,
        record: Journeys { rate: link.rate.0, ..Journeys::default() },
    };
    let (_, recorder) = simulate_observed(network, Mode::PerHop, recorder);
    let whole = !recorder.is_full();
    Some(Journeys { whole, ..recorder.record })
}

#[derive(Clone)]
struct Recorder {
    bottleneck: u32,
    /// Propagation delay of the bottleneck.
    delay: u64,
    /// Packets in transit, by their index in the record.
    data: Transit<usize>,
    acks: Transit<usize>,
    /// Data packets sent, and how many are recorded.
    sent: u64,
    most: u64,
    record: Journeys,
}

impl Recorder {
    /// Packets of the direction of `packet`; `None` if the packet is of another connection.
    fn transit(&mut self, packet: Seen) -> Option<&mut Transit<usize>> {
        match (packet.kind, packet.flow) {
            (Kind::Data, 0) => Some(&mut self.data),
            (Kind::Ack, 0) => Some(&mut self.acks),
            _ => None,
        }
    }

    /// Notes the fate of a packet at a link, whose queue it reached at `since`; `index` is `None` for a packet of others.
    fn passed(&mut self, at: u64, link: u32, since: u64, index: Option<usize>, passage: Passage) {
        let here = link == self.bottleneck;
        let served = match passage {
            Passage::Arrives(arrival) | Passage::Marked(arrival) if here => Some(arrival - self.delay),
            _ => None,
        };
        let Some(index) = index else {
            self.record.others.extend(served.map(|served| [since, served]));
            return;
        };
        let journey = &mut self.record.packets[index];
        if here {
            (journey.queued, journey.served) = (Some(since), served);
        }
        if matches!(passage, Passage::Dropped | Passage::LostOnWire) {
            journey.lost = Some(at);
        }
    }
}

impl Observer for Recorder {
    const ON: bool = true;

    fn sent(&mut self, at: u64, packet: Seen, retransmission: bool) {
        let index = self.record.packets.len();
        let Some(transit) = self.transit(packet) else { return };
        transit.enter(index);
        let ack = packet.kind == Kind::Ack;
        self.sent += u64::from(!ack);
        let number = (packet.seq != SYN).then_some(packet.seq);
        self.record.packets.push(Journey { number, ack, retransmission, sent: at, ..Journey::default() });
    }

    fn offered(&mut self, at: u64, link: u32, packet: Seen, passage: Passage) {
        let index = self.transit(packet).map(|transit| transit.offered(link, passage));
        self.passed(at, link, at, index, passage);
    }

    fn queued(&mut self, at: u64, link: u32, packet: Seen) {
        if let Some(transit) = self.transit(packet) {
            transit.queued(at, link);
        }
    }

    fn left(&mut self, at: u64, link: u32, packet: Seen, since: u64, passage: Passage) {
        let index = self.transit(packet).map(|transit| transit.left(link, since, passage));
        self.passed(at, link, since, index, passage);
    }

    fn arrived(&mut self, at: u64, packet: Seen) {
        if let Some(index) = self.transit(packet).map(Transit::arrived) {
            self.record.packets[index].arrived = Some(at);
        }
    }

    fn acted(&mut self, at: u64, flow: u32, sender: &Sender) {
        if flow != 0 || sender.app().established_at().is_none() {
            return;
        }
        let window = sender.info().cwnd;
        if self.record.windows.last().is_none_or(|&(_, last)| last != window) {
            self.record.windows.push((at, window));
        }
        if self.record.startup_end.is_none() && sender.chain.startup_exit().is_some() {
            self.record.startup_end = Some(at);
        }
    }

    fn is_full(&self) -> bool {
        self.sent > self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::build;
    use firstflight_contract::Nanos;
    use firstflight_scenario::parse;

    fn recorded(more: &str, most: u64) -> Journeys {
        let text = format!(
            "[path]\nrate = \"8 Mbit/s\"\nrtt = \"100 ms\"\n{more}\n[packet]\nsize = \"1000 B\"\n\
             [[flow]]\nprofile = \"rfc\"\nsize = \"4800 B\"\n"
        );
        let loaded = parse(&text, "test.toml").expect("a valid scenario");
        let built = build(&loaded.scenario, 1, Nanos::from_secs(1)).expect("the simulator can run it");
        journeys(&built.network, most).expect("a connection")
    }

    /// 8 Mbit/s: 1000 bytes take 1 ms at the bottleneck and 0.1 ms on each of two access links of 80 Mbit/s; 40 bytes take 40
    /// and 4 us. A SYN and its answer: 100 ms + 2 (4 + 40 + 4) us = 100.096 ms. 4800 bytes are five segments of 960 bytes.
    const OPENED: u64 = 100_096_000;

    #[test]
    fn packets_pass_the_bottleneck_one_after_another_as_calculated_by_hand() {
        let found = recorded("buffer = \"100 packets\"", 100);
        assert!(found.whole && found.others.is_empty());
        assert_eq!(found.rate, 8_000_000);
        let data: Vec<&Journey> = found.packets.iter().filter(|it| !it.ack && it.number.is_some()).collect();
        assert_eq!(data.iter().map(|it| it.number).collect::<Vec<_>>(), (0..5).map(Some).collect::<Vec<_>>());
        let first = data[0].queued.expect("it reaches the bottleneck");
        for (i, packet) in (0..).zip(&data) {
            assert_eq!(packet.sent, OPENED);
            // The first access link passes one packet in 0.1 ms, the bottleneck one in 1 ms.
            assert_eq!(packet.queued, Some(first + i * 100_000));
            assert_eq!(packet.served, Some(first + (i + 1) * 1_000_000));
            // The same propagation and access link for all.
            assert_eq!(
                packet.arrived.zip(packet.served).map(|(a, b)| a - b),
                data[0].arrived.zip(data[0].served).map(|(a, b)| a - b)
            );
            assert_eq!((packet.lost, packet.retransmission), (None, false));
        }
        // One way: 50 ms, 0.1 ms, 1 ms and 0.1 ms.
        assert_eq!(data[0].arrived, Some(OPENED + 51_200_000));
        assert!(found.packets.iter().any(|it| it.ack && it.number == Some(5) && it.arrived.is_some()));
        assert_eq!(found.windows.first().map(|&(at, window)| (at, window)), Some((OPENED, 10.0)));
    }

    #[test]
    fn a_packet_that_finds_the_queue_full_ends_there_and_is_sent_again() {
        // One packet is transmitted and one waits; 0.1 ms apart, the other three are dropped.
        let found = recorded("buffer = \"1 packets\"", 100);
        let dropped: Vec<Option<u32>> =
            found.packets.iter().filter(|it| it.lost.is_some()).map(|it| it.number).take(3).collect();
        assert_eq!(dropped, [Some(2), Some(3), Some(4)]);
        for packet in found.packets.iter().filter(|it| it.lost.is_some()) {
            assert_eq!((packet.queued, packet.served, packet.arrived), (packet.lost, None, None));
        }
        let again = found.packets.iter().filter(|it| it.retransmission && it.number == Some(2));
        assert_eq!(again.filter(|it| it.arrived.is_some()).count(), 1);
    }

    #[test]
    fn a_random_queue_that_decides_later_gives_the_same_ways_where_it_drops_nothing() {
        let plain = recorded("buffer = \"100 packets\"", 100);
        let codel = recorded("buffer = \"100 packets\"\nqueue = \"codel\"", 100);
        assert_eq!(codel.packets, plain.packets);
    }

    #[test]
    fn the_record_ends_after_the_packets_that_were_asked_for() {
        let found = recorded("buffer = \"100 packets\"", 3);
        assert!(!found.whole);
        // The run stops as soon as too many packets have been sent. The first flight leaves at once, and never arrives.
        let data = found.packets.iter().filter(|it| !it.ack && it.number.is_some());
        assert!(data.clone().count() > 3 && data.clone().all(|it| it.arrived.is_none()), "{found:?}");
    }
}
