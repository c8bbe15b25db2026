//! Encrypted connections of QUIC in a capture: a model of their acknowledgements from the sizes and times of datagrams.
//!
//! The acknowledging side's datagrams answer data in the order in which it was sent, so the model is cumulative: with each of them, a number of
//! datagrams is acknowledged. None can be that was sent less than the shortest round trip before. A receiver that waits for a second packet
//! waits for 25 ms at most, and mostly for less than the time of a few packets; where it is silent for longer, everything that had arrived is
//! acknowledged. Between two such silences the packets of a bottleneck arrive at its rate, so they are divided by time. An acknowledgement of a
//! receiver that misses packets has more ranges (RFC 9000 section 19.3.1) and therefore is longer, and stays so: each three bytes are one
//! packet that is taken as lost.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use firstflight_contract::Nanos;

use super::behaviour::Candidates;
use super::offload::split;
use super::spin::shortest_spin;
use super::{Event, Recorded, Source, is_full};
use crate::opening::{Datagram, Id, Opening};
use crate::packet::UdpPacket;
use crate::side::{Side, key};

/// Maximum number of UDP flows that are counted apart.
const MAX_FLOWS: usize = 1 << 16;
/// Maximum number of datagrams kept.
const MAX_DATAGRAMS: usize = 1 << 20;
/// Port of HTTP/3, the only one that QUIC has in common use.
const HTTPS: u16 = 443;

/// UDP packets of a capture, of which those of QUIC are kept.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    /// Connections between two ends, lower address first.
    flows: BTreeMap<(SocketAddr, SocketAddr), Vec<Seen>>,
    packets: u64,
    kept: usize,
    left_out: u64,
    copies: u64,
    /// Flows that neither a long header nor a port shows as QUIC.
    candidates: Candidates,
    /// Packets without a time.
    timeless: u64,
}

/// A connection of QUIC, as far as it was captured.
#[derive(Debug)]
struct Seen {
    client: SocketAddr,
    server: SocketAddr,
    datagrams: Vec<Datagram>,
    opening: Stage,
    /// Connection IDs of the client and of the server.
    ids: [Option<Id>; 2],
    /// Connection ID to which the client sent its first packet.
    original: Id,
    first: u32,
}

/// Packets of the handshake seen so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Nothing,
    Opened(Nanos),
    Answered(Opening),
    Confirmed(Opening),
}

impl Datagrams {
    /// Counts a packet, the one with this `number` in the order of the files, and keeps it if it belongs to a connection of QUIC.
    pub(crate) fn add(&mut self, at: Option<Nanos>, packet: &UdpPacket, number: u32) {
        self.packets += 1;
        let ends = key(packet.from, packet.to);
        let known = self.flows.contains_key(&ends);
        let https = packet.to.port() == HTTPS || packet.from.port() == HTTPS;
        if !known && self.flows.len() >= MAX_FLOWS {
            return;
        }
        if known || packet.header.long || https {
            self.keep(at, packet, number);
            return;
        }
        for (at, packet, number) in self.candidates.add(ends, at, packet, number) {
            self.keep(at, &packet, number);
        }
    }

    /// Keeps a packet of QUIC.
    fn keep(&mut self, at: Option<Nanos>, packet: &UdpPacket, number: u32) {
        /// Datagrams looked back at for a copy.
        const LOOK_BACK: usize = 8;
        let ends = key(packet.from, packet.to);
        let Some(at) = at else {
            self.timeless += 1;
            return;
        };
        let seen = self.flows.entry(ends).or_default();
        if seen.last().is_none_or(|last| last.is_followed_by(packet)) {
            seen.push(Seen::new(packet, number));
        }
        let Some(seen) = seen.last_mut() else { return };
        if self.kept >= MAX_DATAGRAMS {
            self.left_out += 1;
            return;
        }
        let from_client = packet.from == seen.client;
        let datagram = Datagram {
            at,
            size: packet.payload,
            hash: packet.header.hash,
            from_client,
            long: packet.header.long,
            spin: packet.header.spin(),
        };
        let same = |one: &Datagram| {
            (one.size, one.hash, one.from_client) == (datagram.size, datagram.hash, from_client)
        };
        if seen.datagrams.iter().rev().take(LOOK_BACK).any(same) {
            self.copies += 1;
            return;
        }
        seen.open(at, packet, from_client);
        seen.datagrams.push(datagram);
        self.kept += 1;
    }

    /// Whether a packet looks like one of QUIC.
    pub(crate) fn has_any(&self) -> bool {
        !self.flows.is_empty()
    }

    /// Number of UDP packets.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// The connections that show data and acknowledgements, and sentences about what is modelled or left out.
    pub(crate) fn finish(self, warnings: &mut Vec<String>) -> Vec<Recorded> {
        let mut recorded = vec![];
        let mut unusable = vec![];
        let mut offloaded = 0;
        for mut seen in self.flows.into_values().flatten() {
            let name = format!("{} - {}", seen.client, seen.server);
            offloaded += split(&mut seen.datagrams);
            match seen.record() {
                Ok(one) => recorded.push(one),
                Err(why) => unusable.push(format!("{name}: {why}")),
            }
        }
        let connections = |count: usize| match count {
            1 => "one connection".to_owned(),
            count => format!("{count} connections"),
        };
        if !recorded.is_empty() {
            warnings.push(format!(
                "{} of QUIC: the acknowledgements are encrypted and are modelled from sizes and times; which packets were lost or \
                 retransmitted is not known, so that ranges are wider; a qlog of the sender shows it",
                connections(recorded.len())
            ));
        }
        if let Some(first) = unusable.first() {
            let more = match unusable.len() - 1 {
                0 => String::new(),
                others => format!("; {} more of QUIC left out", connections(others)),
            };
            warnings.push(format!("{first}{more}"));
        }
        if offloaded > 0 {
            warnings.push(format!(
                "{offloaded} datagrams of QUIC hold several packets, as hosts send that leave the division to the hardware (UDP GSO); each counts \
                 as its packets"
            ));
        }
        if self.copies > 0 {
            warnings.push(format!("{} datagrams of QUIC were captured twice and are left out", self.copies));
        }
        if self.timeless > 0 {
            warnings.push(format!("{} datagrams of QUIC have no time stamp and are left out", self.timeless));
        }
        if self.left_out > 0 {
            warnings.push(format!(
                "at most {MAX_DATAGRAMS} datagrams of QUIC are kept; the {} later ones are left out",
                self.left_out
            ));
        }
        recorded.sort_by_key(|one| one.first);
        recorded
    }
}

impl Seen {
    fn new(packet: &UdpPacket, first: u32) -> Self {
        // The client sends the first Initial packet; otherwise its port is the higher one (RFC 6335).
        let opens = packet.header.initial || packet.from.port() > packet.to.port();
        let (client, server) = if opens { (packet.from, packet.to) } else { (packet.to, packet.from) };
        Self {
            client,
            server,
            datagrams: vec![],
            opening: Stage::Nothing,
            ids: [None; 2],
            original: packet.header.to,
            first,
        }
    }

    /// Whether `packet` opens another connection between the same ports.
    fn is_followed_by(&self, packet: &UdpPacket) -> bool {
        let other = self.ids[0].is_none_or(|id| id != packet.header.from);
        packet.header.initial
            && packet.from == self.client
            && other
            && self.datagrams.iter().any(|one| !one.long)
    }

    fn open(&mut self, at: Nanos, packet: &UdpPacket, from_client: bool) {
        let header = packet.header;
        if header.long {
            self.ids[usize::from(!from_client)] = Some(header.from);
        }
        self.opening = match (self.opening, from_client) {
            (Stage::Nothing, true) if header.initial && self.datagrams.is_empty() => Stage::Opened(at),
            (Stage::Opened(opened), false) if header.long => {
                let answer_len = packet.payload + if packet.from.is_ipv6() { 48 } else { 28 };
                Stage::Answered(Opening { opened, answered: at, confirmed: at, answer_len })
            }
            // The client answers to a connection ID that the server chose (RFC 9000 section 7.2).
            (Stage::Answered(opening), true) if !header.to.begins_with(self.original) => {
                Stage::Confirmed(Opening { confirmed: at, ..opening })
            }
            (stage, _) => stage,
        };
    }

    /// The connection with modelled acknowledgements.
    ///
    /// # Errors
    /// A sentence, if there is too little for it.
    fn record(mut self) -> Result<Recorded, &'static str> {
        self.datagrams.sort_by_key(|one| one.at);
        let bytes = |client: bool| {
            self.datagrams
                .iter()
                .filter(|one| one.from_client == client)
                .map(|one| u64::from(one.size))
                .sum::<u64>()
        };
        let sender = if bytes(true) > bytes(false) { Side::First } else { Side::Second };
        if bytes(true) == 0 || bytes(false) == 0 {
            return Err(
                "only one direction of this connection of QUIC was captured; it is left out; expected both directions",
            );
        }
        let opening = match self.opening {
            Stage::Confirmed(opening) => Some(opening),
            _ => None,
        };
        let far = opening.map(|opening| match sender {
            Side::Second => opening.confirmed.saturating_sub(opening.answered),
            Side::First => opening.answered.saturating_sub(opening.opened),
        });
        let is_data = |one: &Datagram| one.from_client == (sender == Side::First);
        let far = far.or_else(|| shortest_spin(&self.datagrams, is_data));
        let far = far.or_else(|| shortest_answer(&self.datagrams, is_data)).ok_or(
            "the capture of this connection of QUIC lacks its handshake, no packet follows a pause, and the spin bit does not turn, so that no \
             round trip is known; it is left out",
        )?;
        let model = Model::of(&self.datagrams, is_data, far);
        if model.data.is_empty() || model.answers.is_empty() {
            return Err("this connection of QUIC carried no data behind its handshake; it is left out");
        }
        let opening = opening.map(|opening| match sender {
            Side::Second => self.without_keys(opening, &model),
            Side::First => opening,
        });
        let (events, ranges, lost) = model.events(sender);
        let ids = [1, 0].map(|of: usize| self.ids[of].map_or(8, Id::len));
        let Self { client, server, first, .. } = self;
        let open = LEAST_OPEN + LOST_OPEN * lost as f64 / model.data.len() as f64;
        Ok(Recorded {
            client,
            server,
            source: Source::Datagrams,
            opening,
            ids,
            events,
            ranges,
            first,
            open,
            arrives: None,
            registers: None,
        })
    }
}

impl Seen {
    /// The handshake, without the time that the server took for keys before its answer: it answers the end of the handshake, or a request, in the time
    /// from the point of capture to it and back.
    fn without_keys(&self, opening: Opening, model: &Model) -> Opening {
        let from_server = |one: &&Datagram| !one.from_client;
        let behind = |at: Nanos| {
            let place = self.datagrams.partition_point(|one| one.at <= at);
            Some(self.datagrams[place..].iter().find(from_server)?.at.saturating_sub(at))
        };
        let answers = model.requests.iter().filter_map(|request| {
            let place = model.data.partition_point(|one| one.at <= request.at);
            Some(model.data.get(place)?.at.saturating_sub(request.at))
        });
        let near = answers.chain(behind(opening.confirmed)).min().unwrap_or(Nanos::NEVER);
        Opening { opened: opening.opened.max(opening.answered.saturating_sub(near)), ..opening }
    }
}

/// Share of the packets whose acknowledgement may be another one than the model's, without any sign of loss.
const LEAST_OPEN: f64 = 0.05;
/// Share of the packets taken as lost of which it is open whether others were lost too. The receiver limits the ranges that it reports.
const LOST_OPEN: f64 = 0.5;

/// Shortest time from a datagram with data that follows a pause of both sides to the next one of the other side.
fn shortest_answer(datagrams: &[Datagram], is_data: impl Fn(&Datagram) -> bool) -> Option<Nanos> {
    const PAUSE: Nanos = Nanos::from_millis(500);
    let after_pause = (1..datagrams.len()).filter(|&index| {
        let (before, next) = (&datagrams[index - 1], &datagrams[index]);
        is_data(next) && next.at.saturating_sub(before.at) >= PAUSE
    });
    let answer = |index: usize| {
        let answer = datagrams[index..].iter().find(|one| !is_data(one))?;
        Some(answer.at.saturating_sub(datagrams[index].at))
    };
    after_pause.filter_map(answer).filter(|took| *took > Nanos::ZERO).min()
}

/// Datagrams with data, those that answer them, and what each answer acknowledges.
struct Model {
    data: Vec<Datagram>,
    answers: Vec<Datagram>,
    /// Datagrams that carry a request: the last one before each datagram with data that follows a pause.
    requests: Vec<Datagram>,
    /// Shortest time from data to its answer.
    shortest: Nanos,
}

impl Model {
    /// Datagrams that are shorter than this carry acknowledgements and control frames only.
    const LEAST_DATA: u32 = 80;
    /// Datagrams that are longer than this are requests or probes of the path's MTU.
    const MOST_ANSWER: u32 = 600;
    /// Shortest silence that shows that everything was acknowledged.
    const SILENCE: Nanos = Nanos::from_millis(5);

    fn of(datagrams: &[Datagram], is_data: impl Fn(&Datagram) -> bool, far: Nanos) -> Self {
        let short = || datagrams.iter().filter(|one| !one.long);
        let sized = || short().filter(|one| is_data(one) && one.size >= Self::LEAST_DATA);
        let full = sized().map(|one| one.size).max().unwrap_or(0);
        // Tickets and settings precede the first full datagram.
        let begin = sized().position(|one| is_full(one.size, full.min(1200))).unwrap_or(0);
        let data: Vec<Datagram> = sized().skip(begin).copied().collect();
        let is_answer = |one: &&Datagram| !is_data(one) && one.size <= Self::MOST_ANSWER;
        // The answer of a handshake takes longer than that of data, by the computation of keys.
        let least = Nanos(far.0 / 10 * 9);
        let first_answer = |at: Nanos| {
            let from = at.saturating_add(least);
            let answer =
                datagrams[datagrams.partition_point(|one| one.at < from)..].iter().find(is_answer)?;
            Some(answer.at.saturating_sub(at))
        };
        let far_of_data = first_answer(data.first().map_or(Nanos::NEVER, |first| first.at));
        let shortest = far_of_data.map_or(far, |took| took.min(far));
        let from = data.first().map_or(Nanos::NEVER, |first| first.at.saturating_add(shortest));
        let answers: Vec<Datagram> =
            short().filter(is_answer).filter(|one| one.at >= from).copied().collect();
        let pause = Nanos(far.0.saturating_mul(2)).max(Nanos::from_millis(50));
        let mut requests = vec![];
        for (index, first) in data.iter().enumerate() {
            let before = index.checked_sub(1).map(|index| data[index].at);
            if before.is_some_and(|before| first.at.saturating_sub(before) < pause) {
                continue;
            }
            let place = datagrams.partition_point(|one| one.at < first.at);
            let request = datagrams[..place].iter().rev().find(|one| !is_data(one) && !one.long);
            requests.extend(request.filter(|one| before.is_none_or(|before| one.at > before)).copied());
        }
        Self { data, answers, requests, shortest }
    }

    /// Datagrams with data that can have been answered at `at`.
    fn answerable(&self, at: Nanos) -> usize {
        self.data.partition_point(|one| one.at.saturating_add(self.shortest) <= at)
    }

    /// Number of datagrams with data that are acknowledged or lost after each answer, and the lost ones among them. `missing` has the number
    /// of packets that each answer newly shows as missing, and `shows` whether it shows any.
    ///
    /// Within a run of answers without silence each has the same number of packets, as those of a receiver that acknowledges each second one.
    /// An answer that comes sooner after another than usual has as much less, such as those to single packets while others are missing. The
    /// packets that the answers of a run do not account for, by the number in runs without loss, were lost where answers show missing ones.
    fn cumulative(&self, missing: &[u32], shows: &[bool]) -> Vec<(usize, usize)> {
        /// Gaps, and datagrams, that show what is usual.
        const FEW: usize = 8;
        /// Packets that an acknowledgement has (RFC 9000 section 13.2.2).
        const EACH: f64 = 2.0;
        let gap = |pair: &[Datagram]| pair[1].at.saturating_sub(pair[0].at);
        let middle = |mut gaps: Vec<Nanos>| {
            gaps.sort_unstable();
            gaps.get(gaps.len() / 2).copied().unwrap_or_default()
        };
        let calm = self.answers.windows(2).zip(&shows[1..]).filter(|(_, shows)| !**shows);
        let calm: Vec<Nanos> = calm.map(|(pair, _)| gap(pair)).collect();
        let typical =
            middle(if calm.len() >= FEW { calm } else { self.answers.windows(2).map(gap).collect() });
        let silence = Self::SILENCE.max(Nanos(typical.0.saturating_mul(6)));
        let weight = |pair: &[Datagram]| (gap(pair).0 as f64 / typical.0.max(1) as f64).min(1.0);
        let (mut runs, mut before, mut begin) = (vec![], 0, 0);
        for run in self.answers.chunk_by(|one, next| next.at.saturating_sub(one.at) <= silence) {
            let weights: Vec<f64> = std::iter::once(1.0).chain(run.windows(2).map(weight)).collect();
            let target = self.answerable(run[run.len() - 1].at).max(before);
            let span = begin..begin + run.len();
            let shown: u32 = missing[span.clone()].iter().sum();
            let lossy = shows[span.clone()].iter().any(|shows| *shows);
            runs.push(Run { span, before, packets: target - before, weights, shown: shown as usize, lossy });
            (before, begin) = (target, begin + run.len());
        }
        let calm = || runs.iter().filter(|run| !run.lossy);
        let packets: usize = calm().map(|run| run.packets).sum();
        let all: f64 = calm().flat_map(|run| &run.weights).sum();
        let each = if packets >= FEW { packets as f64 / all } else { EACH };
        let mut cumulative = vec![];
        let mut before = 0;
        for run in &runs {
            let whole: f64 = run.weights.iter().sum();
            let unaccounted = (run.packets as f64 - each * whole).max(0.0) as usize;
            let lost = if run.shown > 0 { unaccounted.max(run.shown).min(run.packets / 2) } else { 0 };
            let arrived = (run.packets - lost) as f64;
            let (mut sum, mut shown, mut gone) = (0.0, 0, 0);
            for (index, weight) in run.span.clone().zip(&run.weights) {
                sum += weight;
                shown += missing[index] as usize;
                let lost_so_far = (lost * shown).checked_div(run.shown).unwrap_or(0);
                let share = (arrived * (sum / whole).min(1.0)).round() as usize;
                let until = (run.before + share + lost_so_far)
                    .min(self.answerable(self.answers[index].at))
                    .max(before);
                let new = (lost_so_far - gone).min(until - before);
                gone += new;
                before = until;
                cumulative.push((until, new));
            }
        }
        cumulative
    }

    /// Number of packets that each answer newly shows as missing, from the lengths of answers, and whether it shows any.
    fn missing(&self) -> (Vec<u32>, Vec<bool>) {
        /// Answers of which the shortest has no other frames.
        const NEAR: usize = 4;
        /// Latest answers that do not yet show the usual length, since it grows slowly where numbers do and fast where ranges do.
        const RECENT: usize = 8;
        /// Bytes by which an answer differs from others without loss: numbers and delays of other lengths.
        const NOISE: u32 = 5;
        /// Bytes of a range: its gap and its length (RFC 9000 section 19.3.1).
        const RANGE: u32 = 2;
        let sizes: Vec<u32> = self.answers.iter().map(|one| one.size).collect();
        let level =
            |index: usize| sizes[index..sizes.len().min(index + NEAR)].iter().copied().min().unwrap_or(0);
        let mut usual = (0..sizes.len().min(RECENT)).map(level).max().unwrap_or(0);
        let mut recent = std::collections::VecDeque::new();
        let mut counted = 0;
        let missing = (0..sizes.len()).map(|index| {
            let level = level(index);
            let over = level.saturating_sub(usual);
            let now = if over > NOISE { over / RANGE } else { 0 };
            let new = now.saturating_sub(counted);
            if now == 0 {
                recent.push_back(level);
                if recent.len() > RECENT {
                    usual = recent.pop_front().unwrap_or(0).max(usual);
                }
                // All missing packets have arrived, or are forgotten.
                counted = 0;
            } else {
                recent.clear();
                counted = counted.max(now);
            }
            (new, now > 0)
        });
        missing.unzip()
    }

    /// Events of the connection, their ranges, and the number of packets taken as lost.
    #[expect(clippy::type_complexity, reason = "the parts of `Recorded`")]
    fn events(&self, sender: Side) -> (Vec<(Nanos, Side, Event)>, Vec<(u64, u64)>, usize) {
        let (missing, shows) = self.missing();
        let cumulative = self.cumulative(&missing, &shows);
        let sent = self.data.iter().enumerate().map(|(index, one)| {
            (one.at, sender, Event::Sent { number: index as u64, size: one.size, data: None })
        });
        let mut events: Vec<(Nanos, Side, Event)> = sent.collect();
        let (mut ranges, mut before, mut lost) = (vec![], 0, 0);
        for (answer, &(until, gone)) in self.answers.iter().zip(&cumulative) {
            let first = ranges.len();
            let span = until - before;
            // Packets are lost one by one between others that arrive.
            let is_lost = |index: usize| (index + 1) * gone / span > index * gone / span;
            let number = |index: usize| (before + index) as u64;
            ranges.extend(
                (0..span).filter(|index| !is_lost(*index)).map(|index| (number(index), number(index))),
            );
            let count = ranges.len() - first;
            if count > 0 {
                events.push((
                    answer.at,
                    sender.other(),
                    Event::Acked { first: first as u32, count: count as u32, room: None },
                ));
            }
            let all_lost = (0..span).filter(|index| is_lost(*index));
            events.extend(all_lost.map(|index| (answer.at, sender.other(), Event::Lost(number(index)))));
            (before, lost) = (until, lost + gone);
        }
        // A request acknowledges what its datagram does.
        events.extend(self.requests.iter().enumerate().map(|(number, one)| {
            (one.at, sender.other(), Event::Sent { number: number as u64, size: one.size, data: None })
        }));
        events.sort_by_key(|(at, ..)| *at);
        (events, ranges, lost)
    }
}

/// Answers without a silence between them.
struct Run {
    /// Their indices.
    span: std::ops::Range<usize>,
    /// Datagrams with data that earlier runs account for.
    before: usize,
    /// Datagrams that this one accounts for.
    packets: usize,
    /// Share of each answer.
    weights: Vec<f64>,
    /// Packets that the answers newly show as missing.
    shown: usize,
    /// Whether an answer shows missing packets.
    lossy: bool,
}
