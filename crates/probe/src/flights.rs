//! Rounds, bytes in flight and bursts of one response.

use core::ops::Range;

use firstflight_contract::Nanos;

use crate::{GAP, Packet, Response};

/// Times at which the acknowledgements of a response's data packets reached the server, ascending.
pub fn acknowledged(response: &Response) -> Vec<Nanos> {
    let mut acked: Vec<Nanos> = Flights::of(response).acked.into_iter().flatten().collect();
    acked.sort_unstable();
    acked
}

/// The data of a response in the order of departure, with what follows from the packets of the client.
pub(crate) struct Flights {
    /// Data packets.
    pub(crate) data: Vec<Packet>,
    /// Time at which the acknowledgement of each packet reached the server; `None` if there was none.
    pub(crate) acked: Vec<Option<Nanos>>,
}

impl Flights {
    pub(crate) fn of(response: &Response) -> Self {
        let in_order = |from_server: bool| {
            let mut packets: Vec<Packet> =
                response.packets.iter().filter(|packet| packet.from_server == from_server).copied().collect();
            packets.sort_by_key(|packet| packet.left);
            packets
        };
        let mut data = in_order(true);
        data.retain(|packet| packet.left >= response.asked && packet.is_data());
        let mut from_client = in_order(false);
        from_client.retain(|packet| packet.arrived.is_some());
        let acknowledgement = |arrived: Nanos| {
            let at = from_client.partition_point(|packet| packet.left < arrived);
            from_client.get(at)?.arrived
        };
        let mut acked = vec![None; data.len()];
        let mut later = None;
        for (place, packet) in acked.iter_mut().zip(&data).rev() {
            if let Some(arrived) = packet.arrived {
                later = acknowledgement(arrived);
            }
            *place = later;
        }
        Self { data, acked }
    }

    /// The rounds, as ranges of the data.
    pub(crate) fn rounds(&self) -> Vec<Range<usize>> {
        let mut rounds = vec![];
        let mut start = 0;
        while start < self.data.len() {
            // A lost packet has the acknowledgement of the next that arrived.
            let end = self.acked[start].map_or(self.data.len(), |acked| {
                self.data.partition_point(|packet| packet.left < acked).max(start + 1)
            });
            rounds.push(start..end);
            start = end;
        }
        rounds
    }

    /// Bytes in flight after each packet has left, its own included.
    pub(crate) fn in_flight(&self) -> Vec<u64> {
        let mut acks: Vec<(Nanos, u64)> = self
            .acked
            .iter()
            .zip(&self.data)
            .filter_map(|(acked, packet)| Some(((*acked)?, u64::from(packet.bytes))))
            .collect();
        acks.sort_unstable();
        let mut acks = acks.into_iter().peekable();
        let mut flight = 0;
        let after = self.data.iter().map(|packet| {
            flight += u64::from(packet.bytes);
            while let Some((_, bytes)) = acks.next_if(|(acked, _)| *acked <= packet.left) {
                flight -= bytes;
            }
            flight
        });
        after.collect()
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> u64 {
        self.data[range].iter().map(|packet| u64::from(packet.bytes)).sum()
    }

    /// The bursts of a range of the data.
    pub(crate) fn bursts(&self, range: Range<usize>) -> Vec<&[Packet]> {
        self.data[range].chunk_by(|one, next| next.left.saturating_sub(one.left) < GAP).collect()
    }
}
