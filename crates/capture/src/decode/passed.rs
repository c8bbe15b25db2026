//! Packets that are passed over, counted by the reason.

use std::collections::BTreeMap;

use serde::Serialize;

/// Reason why a packet is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Passed {
    /// It is known to contain no TCP.
    NotTcp,
    /// The file does not describe the interface of the packet, and so neither link type nor clock.
    NoInterface,
    /// The link type, by its number in the registry of the tcpdump group, is not supported.
    Link(u32),
    /// The capture ends within the headers.
    Cut,
    /// Fragments of the datagram are missing in the capture.
    Incomplete,
    /// As `Incomplete`, and none but first fragments were captured.
    FirstOnly,
    /// It is encrypted or compressed by this.
    Hidden(&'static str),
    /// An encapsulation that is not read.
    Tunnel(&'static str),
    /// An EtherType that is not read.
    EtherType(u16),
    /// An IP protocol that is not read.
    Protocol(u8),
    /// A protocol of PPP that is not read.
    Ppp(u16),
    /// More encapsulations within each other than are followed.
    TooDeep,
    /// Headers that contradict themselves.
    Damaged,
}

impl Passed {
    /// The reason in a few words.
    fn what(self) -> String {
        match self {
            Self::NotTcp => "no TCP".into(),
            Self::NoInterface => "interface without a description".into(),
            Self::Link(link_type) => format!("link type {link_type}"),
            Self::Cut => "headers cut off by the capture".into(),
            Self::Incomplete => "IP fragments without the others of their packet".into(),
            Self::FirstOnly => "first IP fragments alone".into(),
            Self::Hidden(by) => by.into(),
            Self::Tunnel(kind) => kind.into(),
            Self::EtherType(number) => format!("EtherType 0x{number:04x}"),
            Self::Protocol(number) => format!("IP protocol {number}"),
            Self::Ppp(number) => format!("PPP protocol 0x{number:04x}"),
            Self::TooDeep => format!("more than {} encapsulations", super::MOST_LAYERS),
            Self::Damaged => "damaged headers".into(),
        }
    }
}

/// Packets of a file that may have carried TCP and were passed over for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// Name of the file.
    pub file: String,
    /// Kind of content that could not be read, a few words.
    pub what: String,
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

/// Packets for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Fewest and most captured bytes.
    captured: (usize, usize),
}

impl Count {
    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.captured = (self.captured.0.min(other.captured.0), self.captured.1.max(other.captured.1));
    }
}

/// Packets of a file, or of several, that were passed over, by the reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    counts: BTreeMap<Passed, Count>,
    /// TCP packets whose options were cut off.
    options: Option<Count>,
}

impl Tally {
    /// Counts a frame of `wire_len` bytes, of which `captured` are in the file.
    pub(crate) fn add(&mut self, why: Passed, captured: usize, wire_len: u32) {
        if why != Passed::NotTcp {
            let count = Count { packets: 1, bytes: wire_len.into(), captured: (captured, captured) };
            self.counts.entry(why).and_modify(|counted| counted.add(count)).or_insert(count);
        }
    }

    /// Counts a TCP packet whose options were cut off.
    pub(crate) fn add_cut_options(&mut self, captured: usize, wire_len: u32) {
        let count = Count { packets: 1, bytes: wire_len.into(), captured: (captured, captured) };
        match &mut self.options {
            Some(counted) => counted.add(count),
            none => *none = Some(count),
        }
    }

    pub(crate) fn add_incomplete(&mut self, incomplete: super::fragments::Incomplete) {
        if incomplete.packets > 0 {
            let alone = incomplete.alone == incomplete.packets;
            let why = if alone { Passed::FirstOnly } else { Passed::Incomplete };
            let count = Count { packets: incomplete.packets, bytes: incomplete.bytes, captured: (0, 0) };
            self.counts.entry(why).and_modify(|counted| counted.add(count)).or_insert(count);
        }
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        for (why, count) in &other.counts {
            self.counts.entry(*why).and_modify(|counted| counted.add(*count)).or_insert(*count);
        }
        match (&mut self.options, other.options) {
            (Some(counted), Some(count)) => counted.add(count),
            (none, count) => *none = none.or(count),
        }
    }

    /// Reasons, in order. `None` stands for cut options.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = Option<Passed>> {
        self.counts.keys().copied().map(Some).chain(self.options.map(|_| None))
    }

    fn count(&self, why: Option<Passed>) -> Option<&Count> {
        match why {
            Some(why) => self.counts.get(&why),
            None => self.options.as_ref(),
        }
    }

    /// Packets that could not be read.
    pub(crate) fn packets(&self) -> u64 {
        self.counts.values().map(|count| count.packets).sum()
    }

    /// TCP packets whose options were cut off.
    pub(crate) fn cut_options(&self) -> u64 {
        self.options.map_or(0, |count| count.packets)
    }

    /// The unsupported link type of most packets.
    pub(crate) fn link_type(&self) -> Option<u32> {
        let links = self.counts.iter().filter_map(|(why, count)| match why {
            Passed::Link(link_type) => Some((count.packets, *link_type)),
            _ => None,
        });
        links.max().map(|(_, link_type)| link_type)
    }

    /// The counts as plain values.
    pub(crate) fn listed(&self, file: &str) -> impl Iterator<Item = PassedOver> {
        let list = |why: Option<Passed>| {
            let what = why.map_or_else(|| "TCP options cut off by the capture".into(), Passed::what);
            let count = self.count(why)?;
            Some(PassedOver { file: file.into(), what, packets: count.packets, bytes: count.bytes })
        };
        self.reasons().filter_map(list)
    }

    /// Sentence about the packets of this reason, without the name of the file.
    pub(crate) fn sentence(&self, why: Option<Passed>) -> Option<String> {
        let count = self.count(why)?;
        let packets = match count.packets {
            1 => "1 packet".into(),
            packets => format!("{packets} packets"),
        };
        let (is, have, they) = match count.packets {
            1 => ("is", "has", "it is"),
            _ => ("are", "have", "they are"),
        };
        let out = format!("and {is} left out");
        let Count { bytes, .. } = *count;
        Some(match why {
            None => format!(
                "{packets} {is} cut off at {}, within the TCP options, so that window scale, SACK and time stamps behind \
                 that are unknown; capture with -s {}",
                count.at(),
                count.snap_length()
            ),
            Some(Passed::Cut) => format!(
                "{packets} {is} cut off at {}, within the headers, {out}; capture with -s {}",
                count.at(),
                count.snap_length()
            ),
            Some(Passed::Link(link_type)) => {
                format!("{packets} {have} link type {link_type}, which is not supported, {out}")
            }
            Some(Passed::NoInterface) => {
                let belong = if count.packets == 1 { "belongs" } else { "belong" };
                format!("{packets} {belong} to an interface that the file does not describe, {out}")
            }
            Some(Passed::Incomplete) => format!(
                "{packets} of {bytes} bytes {is} IP fragments, of whose datagrams others are missing, {out}"
            ),
            Some(Passed::FirstOnly) => format!(
                "{packets} of {bytes} bytes {is} first IP fragments, whose later ones were not captured, {out}: a filter on \
                 ports passes first fragments only; capture with a filter such as 'tcp port 443 or ip[6:2] & 0x1fff != 0'"
            ),
            Some(Passed::Hidden(by)) => {
                format!(
                    "{packets} of {bytes} bytes {is} encrypted or compressed ({by}), so that TCP within is not read"
                )
            }
            Some(Passed::Damaged) => format!("{packets} {have} damaged headers, {out}"),
            Some(why @ (Passed::Tunnel(_) | Passed::TooDeep)) => {
                format!(
                    "{packets} of {bytes} bytes {have} an encapsulation that is not read ({}), {out}",
                    why.what()
                )
            }
            Some(why) => format!(
                "{packets} of {bytes} bytes {have} {}, which is not read: {they} left out",
                why.what()
            ),
        })
    }

    /// Number of the packets whose headers were cut off, their captured length and the snap length that they need.
    pub(crate) fn cut(&self) -> Option<(u64, String, u32)> {
        let count = self.counts.get(&Passed::Cut)?;
        Some((count.packets, count.at(), count.snap_length()))
    }
}

impl Count {
    fn at(&self) -> String {
        match self.captured {
            (least, most) if least == most => format!("{most} bytes"),
            (least, most) => format!("{least} to {most} bytes"),
        }
    }

    /// The snap length that would have kept the headers: that of `firstflight capture`, or more for tunnels.
    fn snap_length(&self) -> u32 {
        match self.captured.1 {
            ..128 => 128,
            128..256 => 256,
            _ => 65_535,
        }
    }
}
