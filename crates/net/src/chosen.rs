//! Losses that a scenario states by number: a wire loses the first, the third or any other packets with data of each flow.
//!
//! Numbers count, for each flow, the packets with data that the link transmits, from 1, first transmissions and retransmissions
//! alike. A packet that the queue drops has no number.

use std::sync::Arc;

/// The losses of one link.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Numbers of the packets that are lost, ascending.
    numbers: Arc<[u32]>,
    /// For each flow, the packets so far, and how many of `numbers` they have reached.
    flows: Vec<(u32, usize)>,
}

impl Chosen {
    /// Losses of the packets with these ascending numbers, of each flow.
    pub fn new(numbers: Arc<[u32]>) -> Self {
        Self { numbers, flows: vec![] }
    }

    /// Whether the next packet of `flow` is lost.
    pub(crate) fn takes_next(&mut self, flow: u32) -> bool {
        let flow = flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, (0, 0));
        }
        let (sent, reached) = &mut self.flows[flow];
        *sent = sent.saturating_add(1);
        let taken = self.numbers.get(*reached) == Some(sent);
        *reached += usize::from(taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Link, Passage};
    use crate::queue::Queue;
    use crate::queue::drop_tail::DropTailPackets;
    use crate::router::Header;
    use firstflight_contract::{Nanos, Rate};

    const MS: u64 = 1_000_000;

    /// 1000 bytes take 1 ms, and 10 ms to the far end.
    fn link(limit: u32, numbers: &[u32]) -> Link {
        let queue = Queue::Packets(DropTailPackets { limit });
        Link::new(Rate(8_000_000), Nanos::from_millis(10), queue).with_chosen(Chosen::new(numbers.into()))
    }

    #[test]
    fn each_flow_loses_the_packets_of_these_numbers_and_others_are_not_counted() {
        let mut link = link(100, &[1, 3]);
        // Flow 0, flow 1 or no data, in turn; each one millisecond after the one before.
        let of = [Some(0), Some(1), None, Some(0), Some(1), None, Some(0), Some(1), None, Some(0), Some(1)];
        let lost: Vec<bool> = (0..)
            .zip(of)
            .map(|(number, of)| match link.examine(number * MS, 1000, false, &mut Header::None, of) {
                Passage::LostOnWire => true,
                passage => {
                    assert_eq!(passage, Passage::Arrives((number + 11) * MS));
                    false
                }
            })
            .collect();
        assert_eq!(lost, [true, true, false, false, false, false, true, true, false, false, false]);
        let stats = link.stats_until(u64::MAX);
        assert_eq!((stats.packets, stats.wire_losses, stats.drops), (11, 4, 0));
    }

    #[test]
    fn a_packet_that_the_queue_drops_has_no_number() {
        let mut link = link(1, &[3]);
        let mut offer = |at| link.examine(at, 1000, false, &mut Header::None, Some(0));
        // The first is in transmission, the second waits, the third finds no room; the fourth is number 3.
        assert_eq!([offer(0), offer(0)], [Passage::Arrives(11 * MS), Passage::Arrives(12 * MS)]);
        assert_eq!(offer(0), Passage::Dropped);
        assert_eq!(offer(5 * MS), Passage::LostOnWire);
        // It took its time on the line.
        assert_eq!(offer(5 * MS), Passage::Arrives(17 * MS));
    }
}
