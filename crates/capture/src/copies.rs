//! Packets that were captured more than once.
//!
//! A packet is captured again on another interface (`-i any` on a bridge or a router, a mirror of both directions of a port), in
//! another file (two captures that overlap, a file and its compressed copy), or at the other end of its connection. Each copy would count as
//! a retransmission, and a retransmission must never count as a copy. The following signs distinguish them, in this order:
//!
//! 1. **Places** ([`crate::tap`]): two places on one path see the same data and acknowledgements. All that was seen at one of them is left
//!    out, except data that was seen nowhere else.
//! 2. **IP identification**: a retransmission has another one, unless the sender gives all packets the same.
//! 3. **Time**: identical bytes within half the shortest round trip. No sender knows of a loss before a round trip has passed.
//! 4. **Regularity**: most packets come again after nearly the same time, as no losses do. The copies of retransmissions, and of pure
//!    acknowledgements, are then those that come after this time.
//!
//! Of the copies those nearest to the sender of the data are kept: its packets when they passed first, the other side's when they passed
//! last. Copies that follow within 0.1 ms say nothing about the path; of them the first is kept.

use std::collections::{BTreeMap, VecDeque};

use firstflight_contract::Nanos;
use serde::Serialize;

use crate::facts::Facts;
use crate::flows::{Flow, Packet, Side};
use crate::packet::Flags;
use crate::passes::{Pass, compare};

/// Numbers of packets that are left out because the capture contains them another time, by the place of the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Copies {
    /// At the same interface.
    pub same_interface: u64,
    /// At another interface, or with other link addresses.
    pub other_interface: u64,
    /// On another side of a router: the TTL or hop limit differs.
    pub other_side_of_router: u64,
    /// In another file of the same place: the captures overlap, or one is a copy of the other.
    pub other_file: u64,
    /// In a file from the other end of the connection, or from another place on its path.
    pub other_end: u64,
}

impl Copies {
    /// All of them.
    pub fn all(&self) -> u64 {
        let Self { same_interface, other_interface, other_side_of_router, other_file, other_end } = *self;
        same_interface + other_interface + other_side_of_router + other_file + other_end
    }

    pub(crate) fn count(&mut self, kind: Kind) {
        *match kind {
            Kind::SameInterface => &mut self.same_interface,
            Kind::OtherInterface => &mut self.other_interface,
            Kind::OtherSideOfRouter => &mut self.other_side_of_router,
            Kind::OtherFile => &mut self.other_file,
            Kind::OtherEnd => &mut self.other_end,
        } += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.same_interface += other.same_interface;
        self.other_interface += other.other_interface;
        self.other_side_of_router += other.other_side_of_router;
        self.other_file += other.other_file;
        self.other_end += other.other_end;
    }

    /// Numbers and places, as part of a sentence.
    pub(crate) fn places(&self) -> String {
        let kinds = [
            (self.same_interface, "at the same interface"),
            (self.other_interface, "at another interface"),
            (self.other_side_of_router, "on another side of a router"),
            (self.other_file, "in another file"),
            (
                self.other_end,
                "in a file from another point of their path; the one nearest to the sender of the data is used",
            ),
        ];
        let some = kinds.into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, place)| format!("{count} {place}")).collect::<Vec<_>>().join(", ")
    }
}

/// Place of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    SameInterface,
    OtherInterface,
    OtherSideOfRouter,
    OtherFile,
    OtherEnd,
}

impl Kind {
    /// Place of `copy`, of a packet of the same file.
    pub(crate) fn of(packet: &Packet, copy: &Packet) -> Self {
        if packet.tap.hops != copy.tap.hops {
            Self::OtherSideOfRouter
        } else if packet.tap.link != copy.tap.link {
            Self::OtherInterface
        } else {
            Self::SameInterface
        }
    }
}

/// Accuracy of time stamps: several processors stamp packets of one direction less exactly than this.
const STAMPED: Nanos = Nanos::from_micros(100);
/// Latest copy that is recognised by its time alone.
const PROMPT: Nanos = Nanos::from_millis(10);
/// Latest copy that is recognised by its identification, or by its regular delay.
const LATEST: Nanos = Nanos::from_secs(2);
const LATEST_REGULAR: Nanos = Nanos::from_millis(50);
/// Packets, or reports of missing data, that are looked at behind a packet.
pub(crate) const MOST_COPIES: usize = 256;

/// Leaves out the copies among the packets of a connection, which are in the order of the file.
/// `count` receives the file and the place of each.
pub(crate) fn leave_out(flow: &mut Flow, count: &mut impl FnMut(u16, Kind)) {
    if flow.repeats == 0 {
        return;
    }
    let kinds = {
        let mut sift = Sift::new(flow);
        for file in sift.files() {
            sift.answers_last = sift.passes_last(file);
            for side in [Side::First, Side::Second] {
                sift.places(file, side);
            }
            sift.identical(file);
        }
        sift.between_files();
        sift.overlapping();
        sift.kinds
    };
    if kinds.iter().any(Option::is_some) {
        let mut kinds = kinds.into_iter();
        flow.packets.retain(|packet| {
            let kind = kinds.next().flatten();
            kind.into_iter().for_each(|kind| count(packet.tap.file, kind));
            kind.is_none()
        });
        flow.count_payload();
    }
}

struct Sift<'a> {
    flow: &'a Flow,
    sender: Side,
    /// Whether the last copies of the other side's packets are those nearest to the sender of the data.
    answers_last: bool,
    /// Packets in the order of their times.
    order: Vec<u32>,
    /// For each packet that is left out, the place of the copy.
    kinds: Vec<Option<Kind>>,
}

impl<'a> Sift<'a> {
    fn new(flow: &'a Flow) -> Self {
        let mut order: Vec<u32> = (0..flow.packets.len() as u32).collect();
        order.sort_by_key(|&index| flow.packets[index as usize].at);
        Self {
            flow,
            sender: flow.sender(),
            answers_last: false,
            order,
            kinds: vec![None; flow.packets.len()],
        }
    }

    fn packet(&self, index: u32) -> &'a Packet {
        &self.flow.packets[index as usize]
    }

    fn identity(&self, index: u32) -> (impl Ord + use<'a>, &'a [(u64, u64)]) {
        let packet = self.packet(index);
        (packet.identity(), self.flow.sacks(packet))
    }

    fn is_kept(&self, index: u32) -> bool {
        self.kinds[index as usize].is_none()
    }

    fn files(&self) -> Vec<u16> {
        let mut files: Vec<u16> = self.flow.packets.iter().map(|packet| packet.tap.file).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Packets that are kept, in the order of their times.
    fn kept(&self, which: impl Fn(&Packet) -> bool) -> Vec<u32> {
        let all = self.order.iter().copied();
        all.filter(|&index| self.is_kept(index) && which(self.packet(index))).collect()
    }

    fn pass(&self, indices: &[u32]) -> Pass {
        Pass::new(indices.iter().map(|&index| self.packet(index)))
    }

    /// Whether the last copies of the other side's packets passed before the sender of the data answered them, as they do on their way to
    /// it. A mirror may deliver its copies later.
    fn passes_last(&self, file: u16) -> bool {
        let (mut before, mut after) = (0, 0);
        let mut waiting: VecDeque<(u64, Nanos)> = Default::default();
        let mut answered: VecDeque<(u64, Nanos)> = Default::default();
        let recent = |list: &VecDeque<(u64, Nanos)>, packet: &Packet| {
            let mut latest = list.iter().rev().take(MOST_COPIES);
            latest.any(|(end, at)| *end == packet.end() && packet.at.saturating_sub(*at) <= LATEST_REGULAR)
        };
        for packet in
            self.order.iter().map(|&index| self.packet(index)).filter(|packet| packet.tap.file == file)
        {
            if packet.side == self.sender {
                let reported = |one: &&(u64, Nanos)| packet.flags.has(Flags::ACK) && one.0 <= packet.ack;
                while let Some(&one) = waiting.front().filter(reported) {
                    answered.push_back(one);
                    waiting.pop_front();
                }
            } else if !packet.is_pure() {
                if recent(&answered, packet) {
                    after += 1;
                } else if recent(&waiting, packet) {
                    before += 1;
                } else {
                    waiting.push_back((packet.end(), packet.at));
                }
            }
        }
        before > after
    }

    /// Leaves out what another place on the path saw too.
    fn places(&mut self, file: u16, side: Side) {
        /// Places that are compared: those with most packets.
        const MOST: usize = 8;
        let of_side = self.kept(|packet| packet.side == side && packet.tap.file == file);
        let mut by_place = BTreeMap::<_, Vec<u32>>::new();
        for index in of_side {
            by_place.entry(self.packet(index).tap).or_default().push(index);
        }
        if by_place.len() < 2 {
            return;
        }
        let mut places: Vec<Vec<u32>> = by_place.into_values().collect();
        places.sort_by_key(|indices| std::cmp::Reverse(indices.len()));
        places.truncate(MOST);
        let mut kept: Vec<(Vec<u32>, Pass)> = vec![];
        for indices in places {
            let pass = self.pass(&indices);
            let other =
                kept.iter().enumerate().find_map(|(at, (_, other))| Some((at, compare(other, &pass)?)));
            let Some((at, delay)) = other else {
                kept.push((indices, pass));
                continue;
            };
            // positive: this place saw the packets later
            let late =
                delay.unsigned_abs() >= u128::from(STAMPED.0) && side != self.sender && self.answers_last;
            if (delay < 0) == late {
                let (place, pass_kept) = &kept[at];
                let first = place[0];
                self.drop_all(&indices, pass_kept, |sift, index| {
                    Kind::of(sift.packet(first), sift.packet(index))
                });
            } else {
                let first = indices[0];
                let (place, _) = std::mem::replace(&mut kept[at], (indices, pass));
                self.drop_all(&place, &kept[at].1, |sift, index| {
                    Kind::of(sift.packet(first), sift.packet(index))
                });
            }
        }
    }

    /// Leaves out packets of a place, except those of which the other place saw nothing.
    fn drop_all(&mut self, indices: &[u32], other: &Pass, kind: impl Fn(&Self, u32) -> Kind) {
        for &index in indices {
            if other.saw(self.packet(index)) {
                self.kinds[index as usize] = Some(kind(self, index));
            }
        }
    }

    /// Leaves out identical packets of a file, as far as they are no retransmissions.
    fn identical(&mut self, file: u16) {
        let mut indices = self.kept(|packet| packet.tap.file == file);
        let facts = Facts::of(self.flow, &indices);
        indices.sort_by(|&a, &b| self.identity(a).cmp(&self.identity(b)));
        let groups: Vec<Vec<u32>> = indices
            .chunk_by(|&a, &b| self.identity(a) == self.identity(b))
            .filter(|group| group.len() > 1)
            .map(<[u32]>::to_vec)
            .collect();
        if groups.is_empty() {
            return;
        }
        let mut delays: [Vec<Nanos>; 2] = [vec![], vec![]];
        for group in &groups {
            self.by_identification_or_time(group, &facts, &mut delays);
        }
        let sides = [Side::First, Side::Second];
        let own = sides.map(|side| {
            let prompt = Regular::prompt(&mut delays[side as usize]);
            prompt.or_else(|| self.regular(&groups, &facts, side, false))
        });
        let both = Regular::prompt(&mut delays.concat());
        let data = sides.map(|side| own[side as usize].or(own[side.other() as usize]).or(both));
        let acks = sides.map(|side| {
            let doubled = [side.other(), side].into_iter().find(|&one| facts.is_doubled(one));
            let by_data = doubled.and_then(|one| data[one as usize]);
            self.regular(&groups, &facts, side, true).or(by_data)
        });
        for group in &groups {
            let side = self.packet(group[0]).side;
            let regular = if self.is_pure(group[0]) { acks[side as usize] } else { data[side as usize] };
            if let Some(regular) = regular {
                self.pair(group, regular);
            }
        }
    }

    fn is_pure(&self, index: u32) -> bool {
        self.packet(index).is_pure()
    }

    /// Marks `copy`, of the packet `index`.
    fn mark(&mut self, index: u32, copy: u32) {
        let (packet, again) = (self.packet(index), self.packet(copy));
        let kind = Kind::of(packet, again);
        let last =
            packet.side != self.sender && self.answers_last && again.at.saturating_sub(packet.at) >= STAMPED;
        self.kinds[if last { index } else { copy } as usize] = Some(kind);
    }

    /// Copies by their identification, or because they come too soon for a retransmission.
    fn by_identification_or_time(&mut self, group: &[u32], facts: &Facts, delays: &mut [Vec<Nanos>; 2]) {
        let mut latest = group[0];
        for &index in &group[1..] {
            let (packet, again) = (self.packet(latest), self.packet(index));
            let delay = again.at.saturating_sub(packet.at);
            let side = packet.side as usize;
            let identified = packet.ip_id.is_some() && self.flow.sides[side].identifies() && delay < LATEST;
            let soon = || {
                // no SYN is retransmitted before a second (RFC 6298), or some tens of milliseconds
                let opens = packet.flags.has(Flags::SYN);
                let bound = if opens { PROMPT } else { Nanos(facts.round_trip[side].0 / 2).min(PROMPT) };
                facts.fresh[latest as usize]
                    && !packet.is_pure()
                    && delay < bound
                    && !facts.reported(packet, again)
            };
            if identified {
                self.mark(latest, index);
            } else if soon() {
                self.mark(latest, index);
                delays[side].push(delay);
            } else {
                latest = index;
            }
            // the one that is kept stands for the group
            if !self.is_kept(latest) {
                latest = index;
            }
        }
    }

    /// The delay after which most packets of a side come again: pure acknowledgements, or the others.
    fn regular(&self, groups: &[Vec<u32>], facts: &Facts, side: Side, pure: bool) -> Option<Regular> {
        let of_kind = |&index: &u32| self.packet(index).side == side && self.is_pure(index) == pure;
        let again = groups.iter().filter(|group| of_kind(&group[0]) && facts.fresh[group[0] as usize]);
        let mut delays: Vec<Nanos> = again
            .filter_map(|group| {
                let mut kept = group.iter().filter(|&&index| self.is_kept(index));
                let (first, second) = (self.packet(*kept.next()?), self.packet(*kept.next()?));
                Some(second.at.saturating_sub(first.at))
            })
            .collect();
        Regular::new(&mut delays, facts.distinct[side as usize][usize::from(pure)])
    }

    /// Leaves out what comes again after the regular delay.
    fn pair(&mut self, group: &[u32], regular: Regular) {
        let left: Vec<u32> = group.iter().copied().filter(|&index| self.is_kept(index)).collect();
        let mut paired = vec![false; left.len()];
        for first in 0..left.len() {
            if std::mem::replace(&mut paired[first], true) {
                continue;
            }
            let at = self.packet(left[first]).at;
            let delay = |place: usize| self.packet(left[place]).at.saturating_sub(at);
            let near = (first + 1..left.len())
                .take(MOST_COPIES)
                .take_while(|&place| delay(place) <= regular.longest);
            let free = near.filter(|&place| !paired[place]);
            if let Some(copy) = free.min_by_key(|&place| delay(place).0.abs_diff(regular.median.0)) {
                paired[copy] = true;
                self.mark(left[first], left[copy]);
            }
        }
    }

    /// Leaves out what another file saw too.
    fn between_files(&mut self) {
        let files = self.files();
        for (place, &one) in files.iter().enumerate() {
            for &other in &files[place + 1..] {
                self.between_two(one, other);
            }
        }
    }

    /// Leaves out identical packets with the same times in two files: two captures that overlap for a short time.
    fn overlapping(&mut self) {
        /// Two captures of an interface stamp a packet within this time.
        const AT_ONCE: Nanos = Nanos::from_micros(10);
        if self.files().len() < 2 {
            return;
        }
        let mut indices = self.kept(|_| true);
        indices.sort_by(|&a, &b| self.identity(a).cmp(&self.identity(b)));
        for pair in indices.windows(2) {
            let (packet, again) = (self.packet(pair[0]), self.packet(pair[1]));
            let same = self.identity(pair[0]) == self.identity(pair[1]) && packet.tap.file != again.tap.file;
            if same && again.at.saturating_sub(packet.at) <= AT_ONCE {
                self.kinds[pair[1] as usize] = Some(Kind::OtherFile);
            }
        }
    }

    fn between_two(&mut self, one: u16, other: u16) {
        let indices = |sift: &Self, file: u16, side: Side| {
            sift.kept(|packet| packet.tap.file == file && packet.side == side)
        };
        let (own, peer) = (self.sender, self.sender.other());
        let of = [own, peer].map(|side| [one, other].map(|file| indices(self, file, side)));
        let passes = of.each_ref().map(|both| both.each_ref().map(|indices| self.pass(indices)));
        let Some(delays) = same_packets(&passes) else { return };
        // Data passes the sender's end first, and the answers pass it last, whatever the clocks show.
        let nearer = match delays {
            [Some(data), Some(answers)] => data - answers,
            [Some(data), None] => data,
            [None, answers] => -answers.unwrap_or(0),
        };
        if nearer.unsigned_abs() < u128::from(STAMPED.0) {
            for (indices, pass) in [(&of[0][1], &passes[0][0]), (&of[1][1], &passes[1][0])] {
                self.drop_all(indices, pass, |_, _| Kind::OtherFile);
            }
            return;
        }
        // The sender's end counts, unless its file has less than half of the data.
        let bytes = [0, 1].map(|file| passes[0][file].bytes());
        let keep = usize::from(nearer < 0);
        let keep = if 2 * bytes[keep] < bytes[1 - keep] { 1 - keep } else { keep };
        let left = 1 - keep;
        let most = 2 * passes[0][0].common(&passes[0][1]) >= bytes[left];
        for (indices, passes) in of.iter().zip(&passes) {
            if most {
                indices[left].iter().for_each(|&index| self.kinds[index as usize] = Some(Kind::OtherEnd));
            } else {
                self.drop_all(&indices[left], &passes[keep], |_, _| Kind::OtherEnd);
            }
        }
    }
}

/// Delays of the second file behind the first, of the data and of the answers, if both saw the same packets of a connection. The files of a
/// ring follow each other: a retransmission in a later one is none of them.
fn same_packets(passes: &[[Pass; 2]; 2]) -> Option<[Option<i128>; 2]> {
    let delays = passes.each_ref().map(|[one, other]| compare(one, other));
    let overlap = passes.iter().filter_map(|[one, other]| one.overlap(other)).max().unwrap_or_default();
    let within = |delay: &i128| delay.unsigned_abs() <= u128::from(overlap.0);
    let whole = || {
        let both = delays.iter().all(Option::is_some);
        both && passes.iter().all(|[one, other]| one.is_half_of(other))
    };
    let any = delays.iter().any(Option::is_some);
    (any && (delays.iter().flatten().all(within) || whole())).then_some(delays)
}

/// Delay after which packets come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Regular {
    median: Nanos,
    longest: Nanos,
}

impl Regular {
    /// From delays that are too short for retransmissions.
    fn prompt(delays: &mut [Nanos]) -> Option<Self> {
        const FEW: usize = 3;
        delays.sort_unstable();
        let longest = *delays.last().filter(|_| delays.len() >= FEW)?;
        Some(Self { median: delays[delays.len() / 2], longest })
    }

    /// From the delays of packets that come again, of `distinct` ones: most do, and nearly all after the same time.
    fn new(delays: &mut [Nanos], distinct: u32) -> Option<Self> {
        const FEW: u32 = 8;
        delays.sort_unstable();
        let most = 4 * delays.len() >= 3 * distinct as usize;
        let at = |tenth: usize| delays.get(delays.len() * tenth / 10).copied().unwrap_or_default();
        let (short, median, long) = (at(1), at(5), at(9));
        let regular = long.0 <= 3 * short.0 + 2 * STAMPED.0 && long <= LATEST_REGULAR;
        let longest = Nanos(2 * long.0 - short.0 + STAMPED.0 / 2);
        (distinct >= FEW && most && regular).then_some(Self { median, longest })
    }
}
