//! Encrypted connections of QUIC in a capture: a model of their acknowledgements from the sizes and times of datagrams.
//!
//! The acknowledging side's datagrams answer data in the order in which it was sent, so the model is cumulative: with each of them, a number of
//! datagrams is acknowledged. None can be that was sent less than the shortest round trip before. A receiver that waits for a second packet
//! waits for 25 ms at most, and mostly for less than the time of a few packets; where it is silent for longer, everything that had arrived is
//! acknowledged. Between two such silences the packets of a bottleneck arrive at its rate, so they are divided by time. An acknowledgement of a
//! receiver that misses packets has more ranges (RFC 9000 section 19.3.1) and therefore is longer, and stays so: each two bytes are one
//! packet that is taken as lost.

use firstflight_contract::Nanos;

use super::{Data, Event, is_full};
use crate::opening::Datagram;
use crate::side::Side;
use crate::source::LEAST_DATA;

/// Datagrams with data, those that answer them, and what each answer acknowledges.
pub(super) struct Model {
    pub(super) data: Vec<Datagram>,
    pub(super) answers: Vec<Datagram>,
    /// Datagrams that carry a request: the last one before each datagram with data that follows a pause.
    pub(super) requests: Vec<Datagram>,
    /// Shortest time from data to its answer.
    shortest: Nanos,
}

impl Model {
    /// Datagrams that are longer than this are requests or probes of the path's MTU.
    const MOST_ANSWER: u32 = 600;
    /// Shortest silence that shows that everything was acknowledged.
    const SILENCE: Nanos = Nanos::from_millis(5);

    /// The model of these datagrams. `far` is a time from data to its answer; that of a handshake has the computation of keys in it.
    pub(super) fn of(
        datagrams: &[Datagram],
        is_data: impl Fn(&Datagram) -> bool,
        far: Nanos,
        of_handshake: bool,
    ) -> Self {
        let short = || datagrams.iter().filter(|one| !one.long);
        let sized = || short().filter(|one| is_data(one) && one.size >= LEAST_DATA);
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
        let begun = data.first().filter(|_| of_handshake);
        let far_of_data = first_answer(begun.map_or(Nanos::NEVER, |first| first.at));
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
    pub(super) fn events(&self, sender: Side) -> (Vec<(Nanos, Side, Event)>, Vec<(u64, u64)>, usize) {
        let (missing, shows) = self.missing();
        let cumulative = self.cumulative(&missing, &shows);
        let sent = self.data.iter().enumerate().map(|(index, one)| {
            (one.at, sender, Event::Sent { number: index as u64, size: one.size, data: Data::Unknown })
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
            (
                one.at,
                sender.other(),
                Event::Sent { number: number as u64, size: one.size, data: Data::Unknown },
            )
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
