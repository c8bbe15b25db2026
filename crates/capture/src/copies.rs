//! Packets that were captured more than once.
//!
//! A packet is captured again on another interface (`-i any` on a bridge or a router, a mirror of both directions of a port), in
//! another file (two captures that overlap, a file and its compressed copy), or at the other end of its connection. Each copy would count as
//! a retransmission, and a retransmission must never count as a copy. The following signs distinguish them, in this order:
//!
//! 1. **Places** ([`crate::tap`]): two places on one path see the same data and acknowledgements. All that was seen at one of them is left
//!    out, except data that was seen nowhere else.
//! 2. **IP identification**: a retransmission has another one, unless the sender gives all packets the same.
//! 3. **Time stamps**: a retransmission has one that is at least as high as any that its sender sent before.
//! 4. **Both sides**: most packets of both sides come again, data and acknowledgements. No losses repeat the acknowledgements.
//! 5. **Time**: identical bytes within half the shortest round trip. No sender knows of a loss before a round trip has passed.
//! 6. **Regularity**: most packets come again after nearly the same time, as no losses do. The copies of retransmissions, and of pure
//!    acknowledgements, are then those that come after this time.
//!
//! Of the copies those nearest to the sender of the data are kept: its packets when they passed first, the other side's when they passed
//! last. Copies that follow within 0.1 ms say nothing about the path; of them the first is kept.

use std::collections::{BTreeMap, VecDeque};

use firstflight_contract::Nanos;

use crate::copy_place::CopyPlace;
use crate::facts::{Facts, MOST_COPIES};
use crate::flows::{Flow, Packet};
use crate::packet::Flags;
use crate::passes::{Common, Pass, compare, is_steady};
use crate::side::Side;

use self::regular::{Again, LATEST_REGULAR, Regular, comes_again};

mod regular;

/// Accuracy of time stamps: several processors stamp packets of one direction less exactly than this.
const STAMPED: Nanos = Nanos::from_micros(100);
/// Latest copy that is recognised by its time alone.
const PROMPT: Nanos = Nanos::from_millis(10);
/// Latest copy that is recognised by its identification, by its time stamp, or because all packets come again.
const LATEST: Nanos = Nanos::from_secs(2);
/// Leaves out the copies among the packets of a connection, which are in the order of the file.
/// `count` receives the file and the place of each.
pub(crate) fn leave_out(flow: &mut Flow, count: &mut impl FnMut(u16, CopyPlace)) {
    if flow.repeats == 0 {
        return;
    }
    let kinds = {
        let mut sift = Sift::new(flow);
        for file in sift.files() {
            sift.answers_last = sift.passes_last(file);
            let common = sift.common(file);
            for side in [Side::First, Side::Second] {
                sift.places(file, side, common[side as usize]);
            }
            sift.identical(file);
        }
        let shared = sift.shared();
        let overlapping = sift.overlapping(&shared);
        sift.leave_out(shared.iter().filter(|(_, files)| overlapping.contains(files)));
        sift.between_files(&overlapping);
        let shared = sift.shared();
        sift.leave_out(shared.iter());
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
    kinds: Vec<Option<CopyPlace>>,
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
        Pass::new(self.flow, indices.iter().map(|&index| self.packet(index)))
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

    /// Share of each side's packets that two places must have in common. It is smaller if both places saw the same packets
    /// of the other side.
    fn common(&self, file: u16) -> [Common; 2] {
        [Side::Second, Side::First].map(|other| {
            let passes: Vec<Pass> =
                self.by_place(file, other).iter().map(|indices| self.pass(indices)).collect();
            let same = |(place, one): (usize, &Pass)| {
                passes[place + 1..].iter().any(|other| delay_between(one, other, Common::Half).is_some())
            };
            if passes.iter().enumerate().any(same) { Common::Half } else { Common::NearlyAll }
        })
    }

    /// Packets of a side at each place: those with most packets.
    fn by_place(&self, file: u16, side: Side) -> Vec<Vec<u32>> {
        const MOST: usize = 8;
        let of_side = self.kept(|packet| packet.side == side && packet.tap.file == file);
        let mut by_place = BTreeMap::<_, Vec<u32>>::new();
        for index in of_side {
            by_place.entry(self.packet(index).tap).or_default().push(index);
        }
        let mut places: Vec<Vec<u32>> = by_place.into_values().collect();
        places.sort_by_key(|indices| std::cmp::Reverse(indices.len()));
        places.truncate(MOST);
        places
    }

    /// Leaves out what another place on the path saw too.
    fn places(&mut self, file: u16, side: Side, common: Common) {
        let places = self.by_place(file, side);
        if places.len() < 2 {
            return;
        }
        let mut kept: Vec<(Vec<u32>, Pass)> = vec![];
        for indices in places {
            let pass = self.pass(&indices);
            let other = kept
                .iter()
                .enumerate()
                .find_map(|(at, (_, other))| Some((at, delay_between(other, &pass, common)?)));
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
                    CopyPlace::of(sift.packet(first).tap, sift.packet(index).tap)
                });
            } else {
                let first = indices[0];
                let (place, _) = std::mem::replace(&mut kept[at], (indices, pass));
                self.drop_all(&place, &kept[at].1, |sift, index| {
                    CopyPlace::of(sift.packet(first).tap, sift.packet(index).tap)
                });
            }
        }
    }

    /// Leaves out packets of a place, except those of which the other place saw nothing.
    fn drop_all(&mut self, indices: &[u32], other: &Pass, kind: impl Fn(&Self, u32) -> CopyPlace) {
        for &index in indices {
            if other.saw(self.flow, self.packet(index)) {
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
        let copies = multiplicity(&groups, &facts);
        let everywhere = Comes::of(self, groups.iter(), &facts).is_everywhere(&facts).then(|| {
            // a retransmission comes again more often, and its delay is not that of the copies
            let usual = groups.iter().filter(|group| group.len() == copies + 1);
            Comes::of(self, usual, &facts).of.map(|side| Regular::of_all(&side.concat()))
        });
        let mut delays = Delays::default();
        for group in &groups {
            self.certain(group, &facts, &mut delays);
        }
        if let Some(regular) = everywhere {
            for group in &groups {
                let side = self.packet(group[0]).side;
                if let Some(regular) = &regular[side as usize] {
                    self.pair(group, regular, copies);
                }
            }
            return;
        }
        for group in &groups {
            self.by_time(group, &facts, &mut delays);
        }
        self.by_regularity(&groups, &facts, &delays, copies);
    }

    /// Leaves out packets that come again after the delay of others.
    fn by_regularity(&mut self, groups: &[Vec<u32>], facts: &Facts, delays: &Delays, copies: usize) {
        let again = Comes::of(self, groups.iter(), facts);
        let sides = [Side::First, Side::Second];
        let distinct = |side: Side, pure: bool| facts.distinct[side as usize][usize::from(pure)];
        let own = sides.map(|side| {
            let prompt = Regular::prompt(&delays.prompt[side as usize]);
            prompt
                .or_else(|| Regular::new(&again.of[side as usize][0], distinct(side, false)))
                .or_else(|| Regular::certain(&delays.certain[side as usize]))
        });
        let both = Regular::prompt(&delays.prompt.concat());
        let data = sides.map(|side| {
            let own = [side, side.other()].into_iter().find_map(|side| own[side as usize].clone());
            own.or_else(|| both.clone())
        });
        let acks = sides.map(|side| Regular::new(&again.of[side as usize][1], distinct(side, true)));
        let doubled = Doubled::of(self, groups, facts);
        for group in groups {
            let (side, at) = (self.packet(group[0]).side, self.packet(group[0]).at);
            let by_data = || {
                let doubled = [side.other(), side].into_iter().find(|&one| doubled.near(one, at));
                doubled.and_then(|one| data[one as usize].as_ref())
            };
            let regular = match self.is_pure(group[0]) {
                true => acks[side as usize].as_ref().or_else(by_data),
                false => data[side as usize].as_ref(),
            };
            if let Some(regular) = regular {
                self.pair(group, regular, copies);
            }
        }
    }

    fn is_pure(&self, index: u32) -> bool {
        self.packet(index).is_pure()
    }

    /// Marks `copy`, of the packet `index`.
    fn mark(&mut self, index: u32, copy: u32) {
        let (packet, again) = (self.packet(index), self.packet(copy));
        let kind = CopyPlace::of(packet.tap, again.tap);
        let last =
            packet.side != self.sender && self.answers_last && again.at.saturating_sub(packet.at) >= STAMPED;
        self.kinds[if last { index } else { copy } as usize] = Some(kind);
    }

    /// Copies by their identification or by their time stamp.
    fn certain(&mut self, group: &[u32], facts: &Facts, delays: &mut Delays) {
        self.mark_those(group, |sift, first, index| {
            let (packet, again) = (sift.packet(first), sift.packet(index));
            let delay = again.at.saturating_sub(packet.at);
            let identified = packet.ip_id.is_some() && sift.flow.end(packet.side).identifies();
            let certain = (identified || facts.stale[index as usize]) && delay < LATEST;
            if certain {
                delays.certain[packet.side as usize].push((packet.at, delay));
            }
            certain
        });
    }

    /// Copies because they come too soon for a retransmission.
    fn by_time(&mut self, group: &[u32], facts: &Facts, delays: &mut Delays) {
        self.mark_those(group, |sift, first, index| {
            let (packet, again) = (sift.packet(first), sift.packet(index));
            let delay = again.at.saturating_sub(packet.at);
            // no SYN is retransmitted before a second (RFC 6298), or some tens of milliseconds
            let opens = packet.flags.has(Flags::SYN);
            let half = Nanos(facts.round_trip[packet.side as usize].0 / 2);
            let bound = if opens { PROMPT } else { half.min(PROMPT) };
            let soon = facts.fresh[first as usize]
                && !packet.is_pure()
                && delay < bound
                && !facts.reported(packet, again);
            if soon {
                delays.prompt[packet.side as usize].push((packet.at, delay));
            }
            soon
        });
    }

    /// Marks the packets of a group that are copies of the last one before them that is kept.
    fn mark_those(&mut self, group: &[u32], mut is_copy: impl FnMut(&Self, u32, u32) -> bool) {
        let mut group =
            group.iter().copied().filter(|&index| self.is_kept(index)).collect::<Vec<_>>().into_iter();
        let Some(mut latest) = group.next() else { return };
        for index in group {
            if is_copy(self, latest, index) {
                self.mark(latest, index);
            } else {
                latest = index;
            }
            // the one that is kept stands for the group
            if !self.is_kept(latest) {
                latest = index;
            }
        }
    }

    /// Leaves out what comes again after the regular delay, up to this number of `copies` of a packet.
    fn pair(&mut self, group: &[u32], regular: &Regular, copies: usize) {
        let left: Vec<u32> = group.iter().copied().filter(|&index| self.is_kept(index)).collect();
        let mut paired = vec![false; left.len()];
        for first in 0..left.len() {
            if std::mem::replace(&mut paired[first], true) {
                continue;
            }
            let (mut before, expected) = (first, regular.near(self.packet(left[first]).at));
            for _ in 0..copies {
                let at = self.packet(left[before]).at;
                let delay = |place: usize| self.packet(left[place]).at.saturating_sub(at);
                let near = (before + 1..left.len())
                    .take(MOST_COPIES)
                    .take_while(|&place| delay(place) <= regular.longest);
                let free = near.filter(|&place| !paired[place]);
                let Some(copy) = free.min_by_key(|&place| delay(place).0.abs_diff(expected.0)) else { break };
                paired[copy] = true;
                self.mark(left[first], left[copy]);
                before = copy;
            }
        }
    }

    /// Those of `indices` that passed while `file` was written, `delay` nanoseconds earlier by its clock. Data that comes again before or
    /// after that time is no copy of a packet of the file, but a retransmission.
    fn during(&self, indices: &[u32], file: u16, delay: i128) -> Vec<u32> {
        let mut times = self.order.iter().map(|&index| self.packet(index));
        let first = times.find(|packet| packet.tap.file == file);
        let last = times.rfind(|packet| packet.tap.file == file).or(first);
        let (Some(first), Some(last)) = (first, last) else { return vec![] };
        let passed = |index: &&u32| {
            let at = i128::from(self.packet(**index).at.0) - delay;
            i128::from(first.at.0) < at && at < i128::from(last.at.0)
        };
        indices.iter().filter(passed).copied().collect()
    }

    /// Leaves out what another file saw too, but for two of one place and one clock, whose copies are found by their times.
    fn between_files(&mut self, overlapping: &[(u16, u16)]) {
        let files = self.files();
        for (place, &one) in files.iter().enumerate() {
            for &other in &files[place + 1..] {
                if !overlapping.contains(&(one, other)) {
                    self.between_two(one, other);
                }
            }
        }
    }

    /// Packets that another file has with the same bytes and the same time, each with the two files.
    fn shared(&self) -> Vec<(u32, (u16, u16))> {
        /// Two captures of an interface stamp a packet within this time.
        const AT_ONCE: Nanos = Nanos::from_micros(10);
        if self.files().len() < 2 {
            return vec![];
        }
        let mut indices = self.kept(|_| true);
        indices.sort_by(|&a, &b| self.identity(a).cmp(&self.identity(b)));
        let pairs = indices.windows(2).filter_map(|pair| {
            let (packet, again) = (self.packet(pair[0]), self.packet(pair[1]));
            let (one, other) = (packet.tap.file, again.tap.file);
            let same = self.identity(pair[0]) == self.identity(pair[1]) && one != other;
            let at_once = again.at.saturating_sub(packet.at) <= AT_ONCE;
            (same && at_once).then_some((pair[1], (one.min(other), one.max(other))))
        });
        pairs.collect()
    }

    /// Leaves out packets that another file has too.
    fn leave_out<'b>(&mut self, shared: impl Iterator<Item = &'b (u32, (u16, u16))>) {
        for (index, _) in shared {
            self.kinds[*index as usize] = Some(CopyPlace::OtherFile);
        }
    }

    /// Pairs of files that share nearly all packets of the time that both cover: captures of one place that overlap.
    fn overlapping(&self, shared: &[(u32, (u16, u16))]) -> Vec<(u16, u16)> {
        let mut counts = BTreeMap::<(u16, u16), usize>::new();
        for (_, files) in shared {
            *counts.entry(*files).or_default() += 1;
        }
        let times = |file: u16| {
            self.order.iter().map(|&index| self.packet(index)).filter(move |packet| packet.tap.file == file)
        };
        let of_one_place = |&((one, other), shared): &((u16, u16), usize)| {
            let span = |file| Some((times(file).next()?.at, times(file).next_back()?.at));
            let (Some(a), Some(b)) = (span(one), span(other)) else { return false };
            let both = a.0.max(b.0)..=a.1.min(b.1);
            let within = |file| times(file).filter(|packet| both.contains(&packet.at)).count();
            10 * shared >= 9 * within(one).min(within(other))
        };
        counts.into_iter().filter(of_one_place).map(|(files, _)| files).collect()
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
        let delay = delays[0].or(delays[1]).unwrap_or(0);
        if nearer.unsigned_abs() < u128::from(STAMPED.0) {
            for (indices, pass) in [(&of[0][1], &passes[0][0]), (&of[1][1], &passes[1][0])] {
                self.drop_all(&self.during(indices, one, delay), pass, |_, _| CopyPlace::OtherFile);
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
                indices[left]
                    .iter()
                    .for_each(|&index| self.kinds[index as usize] = Some(CopyPlace::OtherEnd));
            } else {
                let (file, delay) = if keep == 0 { (one, delay) } else { (other, -delay) };
                self.drop_all(&self.during(&indices[left], file, delay), &passes[keep], |_, _| {
                    CopyPlace::OtherEnd
                });
            }
        }
    }
}

/// Delay of the second place behind the first, if they saw the same packets at times that overlap. Where one side alone shows it, the
/// delay is steady: a place may have seen little but retransmissions of what passed the other.
fn delay_between(one: &Pass, other: &Pass, least: Common) -> Option<i128> {
    let delay = compare(one, other, least).filter(|delay| one.may_precede(other, *delay))?;
    (least == Common::Half || is_steady(one, other)).then_some(delay)
}

/// Delays of the second file behind the first, of the data and of the answers, if both saw the same packets of a connection. The files of a
/// ring follow each other: a retransmission in a later one is none of them.
fn same_packets(passes: &[[Pass; 2]; 2]) -> Option<[Option<i128>; 2]> {
    let by = |least| passes.each_ref().map(|[one, other]| compare(one, other, least));
    let half = by(Common::Half);
    let delays = if half.iter().all(Option::is_some) { half } else { by(Common::NearlyAll) };
    let overlap = passes.iter().filter_map(|[one, other]| one.overlap(other)).max().unwrap_or_default();
    let within = |delay: &i128| delay.unsigned_abs() <= u128::from(overlap.0);
    let whole = || {
        let both = delays.iter().all(Option::is_some);
        both && passes.iter().all(|[one, other]| one.is_half_of(other))
    };
    let any = delays.iter().any(Option::is_some);
    (any && (delays.iter().flatten().all(within) || whole())).then_some(delays)
}

/// Delays of each side's copies.
#[derive(Default)]
struct Delays {
    /// Those of certain copies.
    certain: [Vec<Again>; 2],
    /// Those that are too short for retransmissions.
    prompt: [Vec<Again>; 2],
}

/// Packets that report something new and come again, of each side: those with numbers of their own, and pure acknowledgements.
struct Comes {
    of: [[Vec<Again>; 2]; 2],
}

impl Comes {
    fn of<'a>(sift: &Sift<'_>, groups: impl Iterator<Item = &'a Vec<u32>>, facts: &Facts) -> Self {
        let mut of: [[Vec<Again>; 2]; 2] = Default::default();
        for group in groups.filter(|group| facts.fresh[group[0] as usize]) {
            let mut kept = group.iter().filter(|&&index| sift.is_kept(index));
            let (Some(&first), Some(&second)) = (kept.next(), kept.next()) else { continue };
            let (first, second) = (sift.packet(first), sift.packet(second));
            of[first.side as usize][usize::from(first.is_pure())]
                .push((first.at, second.at.saturating_sub(first.at)));
        }
        Self { of }
    }

    /// Whether most packets of both sides come again, data of one and what the other answers.
    fn is_everywhere(&self, facts: &Facts) -> bool {
        let most = [0, 1]
            .map(|side| [0, 1].map(|pure| comes_again(&self.of[side][pure], facts.distinct[side][pure])));
        let [one, other] = most;
        one[0] && (other[0] || other[1]) || other[0] && one[1]
    }
}

/// Where most packets of a side with numbers of their own have copies.
struct Doubled([Vec<(Nanos, bool)>; 2]);

impl Doubled {
    fn of(sift: &Sift<'_>, groups: &[Vec<u32>], facts: &Facts) -> Self {
        let mut again = vec![false; sift.flow.packets.len()];
        for group in groups {
            again[group[0] as usize] = group.iter().any(|&index| !sift.is_kept(index));
        }
        let mut sides: [Vec<(Nanos, bool)>; 2] = Default::default();
        for &index in &sift.order {
            let packet = sift.packet(index);
            if facts.fresh[index as usize] && !packet.is_pure() {
                sides[packet.side as usize].push((packet.at, again[index as usize]));
            }
        }
        Self(sides)
    }

    /// Whether most of the packets of `side` around this time have copies.
    fn near(&self, side: Side, at: Nanos) -> bool {
        const AROUND: usize = 8;
        let packets = &self.0[side as usize];
        let place = packets.partition_point(|(time, _)| *time < at);
        let around = &packets[place.saturating_sub(AROUND)..(place + AROUND).min(packets.len())];
        let doubled = around.iter().filter(|(_, again)| *again).count();
        doubled > 0 && 4 * doubled >= 3 * around.len()
    }
}

/// Number of copies of most packets that have any.
fn multiplicity(groups: &[Vec<u32>], facts: &Facts) -> usize {
    let fresh = groups.iter().filter(|group| facts.fresh[group[0] as usize]);
    let mut sizes: Vec<usize> = fresh.map(Vec::len).collect();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).map_or(1, |size| size - 1)
}
