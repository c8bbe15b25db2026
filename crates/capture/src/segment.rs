//! Payload of a full segment.
//!
//! The SYNs announce it (RFC 9293, section 3.7.1: the smaller value less the options of every segment). A path with a smaller MTU makes
//! it smaller. Without SYNs, and behind an offload that joins segments, the lengths of the data and the steps of the acknowledgements show
//! it: most are multiples of it.

use std::collections::BTreeMap;

use crate::flows::{Flow, Packet};
use crate::packet::Flags;
use crate::side::Side;

/// Full segment of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Payload, bytes.
    pub(crate) payload: u32,
    /// Length of the IP and TCP headers in front of it, bytes.
    pub(crate) header: u32,
    /// Whether nothing in the capture shows the payload, so that it is that of an Ethernet packet.
    pub(crate) assumed: bool,
}

/// Minimum payload of a full packet on any path (IPv4 requires 68-byte packets).
const MIN_MSS: u32 = 28;
/// Segment that every host accepts (RFC 9293, section 3.7.1). Smaller ones are announced, or the application's.
const DEFAULT: u32 = 536;
/// Number of equal packets or steps that are no chance.
const SEVERAL: usize = 3;

impl Segment {
    /// The full segment of `sender`.
    pub(crate) fn of(flow: &Flow, sender: Side) -> Self {
        let data = || flow.packets.iter().filter(|packet| packet.side == sender && packet.payload > 0);
        let header = data().map(|packet| packet.ip_len - packet.payload).min().unwrap_or(0);
        let stamps = if data().any(|packet| packet.timestamps.is_some()) { 12 } else { 0 };
        let announced =
            [sender, sender.other()].map(|side| flow.end(side).syns.own().and_then(|syn| syn.mss));
        let announced = announced.into_iter().flatten().min();
        let lengths = Lengths { flow, sender };
        let (payload, assumed) = match announced {
            Some(mss) => (lengths.announced(u32::from(mss).saturating_sub(stamps).max(1), header), false),
            None => lengths.unannounced(header),
        };
        Self { payload: payload.max(MIN_MSS), header, assumed }
    }
}

/// Lengths of the data packets of one side.
struct Lengths<'a> {
    flow: &'a Flow,
    sender: Side,
}

impl Lengths<'_> {
    fn data(&self) -> impl Iterator<Item = u32> {
        let own = self.flow.packets.iter().filter(|packet| packet.side == self.sender);
        own.map(|packet| packet.payload).filter(|len| *len > 0)
    }

    fn largest(&self) -> u32 {
        self.data().max().unwrap_or(1)
    }

    fn count(&self, len: u32) -> usize {
        self.data().filter(|one| *one == len).count()
    }

    /// The segment whose largest size the SYNs announce as `limit`.
    fn announced(&self, limit: u32, header: u32) -> u32 {
        let largest = self.largest();
        if largest > limit && self.share(limit) < 0.5 {
            return self.divisor(limit).unwrap_or(limit);
        }
        // A largest payload below the limit that occurs several times is the path's own (path MTU discovery), or several segments of it.
        if largest < limit && self.count(largest) >= SEVERAL {
            let joined = largest > ethernet(header);
            return self.divisor(largest).filter(|_| joined).unwrap_or(largest);
        }
        limit
    }

    /// The segment without SYNs, and whether it is assumed.
    fn unannounced(&self, header: u32) -> (u32, bool) {
        let ethernet = ethernet(header);
        let largest = self.largest();
        if largest <= ethernet {
            let seen = largest >= DEFAULT || self.fills(largest);
            return if seen { (largest, false) } else { (ethernet, true) };
        }
        let offloaded = || self.data().filter(|&len| len > ethernet);
        if self.steps_fit(ethernet)
            || 2 * offloaded().filter(|len| len % ethernet == 0).count() > offloaded().count()
        {
            return (ethernet, false);
        }
        if let Some(divisor) = self.divisor(ethernet) {
            return (divisor, false);
        }
        let jumbo = full(JUMBO, header);
        if 2 * offloaded().filter(|len| len % jumbo == 0).count() > offloaded().count() {
            return (jumbo, false);
        }
        match self.data().filter(|&len| len <= ethernet).max() {
            Some(single) if single >= DEFAULT && self.count(single) >= SEVERAL => (single, false),
            _ => (ethernet, true),
        }
    }

    /// Whether packets of this length follow each other without waiting for an acknowledgement, as those of a bulk transfer do.
    fn fills(&self, len: u32) -> bool {
        let is_full = |packet: &Packet| packet.side == self.sender && packet.payload == len;
        let pairs = self.flow.packets.windows(2).filter(|pair| pair.iter().all(is_full));
        pairs.count() >= SEVERAL
    }

    /// Share of the bytes of data in packets of a whole number of segments.
    fn share(&self, segment: u32) -> f64 {
        let bytes = |whole: bool| {
            let lengths = self.data().filter(|len| !whole || len % segment == 0);
            lengths.map(f64::from).sum::<f64>()
        };
        bytes(true) / bytes(false).max(1.0)
    }

    /// The largest segment up to `most` of which most packets, or else most steps of the acknowledgements, are multiples, and not
    /// all the same one.
    fn divisor(&self, most: u32) -> Option<u32> {
        /// Share of the bytes, and of the steps.
        const MOST: f64 = 0.9;
        const HALF: f64 = 0.5;
        let mut lengths: BTreeMap<u32, f64> = BTreeMap::new();
        self.data().for_each(|len| *lengths.entry(len).or_default() += f64::from(len));
        let steps = self.steps();
        let largest = |of: &BTreeMap<u32, f64>, share: f64| {
            let mut all = (DEFAULT.min(most)..=most).rev();
            all.find(|&segment| fits(of, segment) >= share && several_quotients(of, segment))
        };
        largest(&lengths, MOST).or_else(|| largest(&steps, HALF).filter(|_| is_enough(&steps)))
    }

    /// Whether most steps of the acknowledgements are multiples of `segment`.
    fn steps_fit(&self, segment: u32) -> bool {
        let steps = self.steps();
        is_enough(&steps) && fits(&steps, segment) > 0.5
    }

    /// Data that acknowledgements of the other side report, and the number of those that do.
    fn steps(&self) -> BTreeMap<u32, f64> {
        let mut steps = BTreeMap::new();
        let mut latest: Option<u64> = None;
        let acks = self.flow.packets.iter().filter(|packet| {
            packet.side != self.sender && packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN)
        });
        for packet in acks {
            let before = latest.replace(latest.map_or(packet.ack, |latest| latest.max(packet.ack)));
            let step = before.and_then(|before| u32::try_from(packet.ack.saturating_sub(before)).ok());
            if let Some(step) = step.filter(|step| *step > 0) {
                *steps.entry(step).or_default() += 1.0;
            }
        }
        steps
    }
}

/// Payload of a full Ethernet packet.
fn ethernet(header: u32) -> u32 {
    const ETHERNET: u32 = 1500;
    full(ETHERNET, header)
}

/// Usual size of Ethernet's jumbo packets, bytes.
const JUMBO: u32 = 9000;

/// Payload of a packet of this size.
fn full(packet: u32, header: u32) -> u32 {
    packet.saturating_sub(header).max(1)
}

/// Whether these steps are enough to show a segment.
fn is_enough(steps: &BTreeMap<u32, f64>) -> bool {
    steps.values().sum::<f64>() >= 8.0
}

/// Share of the weight of the lengths that are multiples of `segment`.
fn fits(lengths: &BTreeMap<u32, f64>, segment: u32) -> f64 {
    let whole = lengths.iter().filter(|(len, _)| *len % segment == 0);
    whole.map(|(_, weight)| weight).sum::<f64>() / lengths.values().sum::<f64>().max(1.0)
}

fn several_quotients(lengths: &BTreeMap<u32, f64>, segment: u32) -> bool {
    lengths.keys().filter(|len| *len % segment == 0).count() >= 2
}
