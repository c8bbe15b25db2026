//! Steps of a log's clock: they are recognised, and the times after them go on from those before.
//!
//! Events are written in the order in which they happened, or a little later. A clock that was set back shows itself in packets that this end sent,
//! whose numbers ascend while their times fall, and in times that are long before earlier ones. A clock that was set forward shows itself in a
//! silence in which any sender would have sent a probe (RFC 9002 section 6.2), or by a step of the same size in the other direction. The time that
//! passed at a step is not known, so that no sample spans it.

use firstflight_contract::Nanos;

use super::clock::{Clock, Line, Mark};
use crate::clock::{MAX_STEPS, Step};

/// Events are written up to this much later than their times, nanoseconds; also the shortest silence that shows a step.
const LATE: i64 = 1_000_000_000;
/// Smallest step between two packets that this end sent.
const LEAST: i64 = 1_000_000;
/// Events behind a step after which the clock is set right again, whatever the size of the step.
const NEAR: usize = 2;

/// Times of a log without steps.
#[derive(Debug, Default)]
pub(super) struct Mended {
    /// Times of the lines, nanoseconds.
    times: Vec<i64>,
    /// Lines at which another epoch begins: no sample spans it.
    epochs: Vec<usize>,
    pub(super) steps: Vec<Step>,
}

impl Mended {
    /// The earliest time.
    pub(super) fn least(&self) -> Option<i64> {
        self.times.iter().copied().min()
    }

    /// Time of a line, where the log's time `origin` is zero; `None` if the line is left out.
    pub(super) fn time(&self, line: Line, origin: i64) -> Option<Nanos> {
        let at = self.times.get(line.0 as usize)?;
        Some(Nanos(at.saturating_sub(origin).max(0).cast_unsigned()))
    }

    /// Times at which another epoch begins.
    pub(super) fn epochs(&self, origin: i64) -> Vec<Nanos> {
        self.epochs.iter().filter_map(|line| self.time(Line(*line as u32), origin)).collect()
    }
}

impl Clock {
    /// The times without steps.
    pub(super) fn mend(&self) -> Mended {
        let back = self.steps_back();
        let paired = back.iter().enumerate().filter_map(|(place, &line)| {
            let begin = place.checked_sub(1).map_or(0, |before| back[before]);
            let end = back.get(place + 1).copied().unwrap_or(self.times.len());
            self.rise_like(line, begin, end)
        });
        let mut known: Vec<usize> = paired.collect();
        known.extend(&back);
        known.sort_unstable();
        let mut mended = Mended::default();
        let mut flight = Flight::default();
        let mut marks = self.marks.iter().peekable();
        let (mut shift, mut latest) = (0_i64, i64::MIN);
        let mut set_apart = false;
        for (line, &at) in self.times.iter().enumerate() {
            let before = line.checked_sub(1).map(|before| self.times[before]);
            let silence = at.saturating_add(shift).saturating_sub(latest);
            let unusable = self.unusable.binary_search(&Line(line as u32)).is_ok();
            let is_step = known.binary_search(&line).is_ok() || flight.is_too_long(silence);
            if let Some(before) = before.filter(|_| is_step && !unusable) {
                mended.steps.push(Step::between(line as u32, (before, at), (latest, mended.times[0])));
                shift = latest.saturating_add(1).saturating_sub(at);
                if mended.steps.len() > MAX_STEPS {
                    break;
                }
            }
            if line > 0 && (is_step || unusable || set_apart) {
                mended.epochs.push(line);
            }
            set_apart = unusable;
            let at = if unusable { latest.max(at.saturating_add(shift)) } else { at.saturating_add(shift) };
            flight.wait(at.saturating_sub(latest));
            latest = latest.max(at);
            mended.times.push(at);
            while let Some((_, mark)) = marks.next_if(|(of, _)| of.0 as usize <= line) {
                flight.take(*mark, at);
            }
        }
        mended
    }

    /// Lines before which the clock was set back, in their order.
    fn steps_back(&self) -> Vec<usize> {
        let drop = |line: usize| self.times[line - 1].saturating_sub(self.times[line]);
        let mut steps = vec![];
        let mut marks = self.marks.iter().peekable();
        let (mut latest, mut sent) = (i64::MIN, None::<(usize, u64)>);
        for (line, &at) in self.times.iter().enumerate() {
            let mark = marks.next_if(|(of, _)| of.0 as usize == line).map(|(_, mark)| *mark);
            let number = match mark {
                Some(Mark::Sent { number, .. }) => Some(number),
                _ => None,
            };
            let mut step = (latest.saturating_sub(at) > LATE).then_some(line);
            if let (None, Some(number), Some((from, before))) = (step, number, sent)
                && number > before
                && self.times[from].saturating_sub(at) > LEAST
            {
                step = (from + 1..=line).max_by_key(|line| (drop(*line), *line));
            }
            if let Some(first) = step {
                steps.push(first);
                latest = self.times[first..=line].iter().copied().max().unwrap_or(at);
                sent = None;
            }
            latest = latest.max(at);
            if let Some(number) = number
                && sent.is_none_or(|(_, before)| number > before)
            {
                sent = Some((line, number));
            }
        }
        steps
    }

    /// The line within `begin..end` before which the time rises by about as much as it falls before `step`: the clock was wrong between.
    fn rise_like(&self, step: usize, begin: usize, end: usize) -> Option<usize> {
        let rise = |line: usize| self.times[line].saturating_sub(self.times[line - 1]);
        let fall = rise(step).saturating_neg();
        let fits = |line: &usize| {
            let near = line.abs_diff(step) <= NEAR || rise(*line) >= LATE;
            near && rise(*line).saturating_sub(fall).saturating_abs() <= fall / 10
        };
        let before = (begin.max(1)..step).rev().find(fits);
        before.or_else(|| (step + 1..end).find(fits))
    }
}

/// Data in flight, as far as it shows that a silence is too long.
#[derive(Debug, Default)]
struct Flight {
    /// Packets with data that this end sent: number and time.
    sent: Vec<(u64, i64)>,
    acked: Option<u64>,
    longest_rtt: Option<i64>,
    /// Longest silence since the last acknowledgement.
    waited: i64,
}

impl Flight {
    fn outstanding(&self) -> bool {
        self.sent.last().is_some_and(|(last, _)| self.acked.is_none_or(|acked| *last > acked))
    }

    /// Whether a sender with this data in flight would have sent a probe in this silence. Timeouts double.
    fn is_too_long(&self, silence: i64) -> bool {
        const TRIPS: i64 = 8;
        const MORE_THAN_BEFORE: i64 = 4;
        let Some(rtt) = self.longest_rtt.filter(|_| self.outstanding()) else { return false };
        silence > LATE.max(rtt.saturating_mul(TRIPS))
            && silence > self.waited.saturating_mul(MORE_THAN_BEFORE)
    }

    fn wait(&mut self, silence: i64) {
        if self.outstanding() {
            self.waited = self.waited.max(silence);
        }
    }

    fn take(&mut self, mark: Mark, at: i64) {
        match mark {
            Mark::Sent { number, has_data: true } => {
                if self.sent.last().is_none_or(|(last, _)| *last < number) {
                    self.sent.push((number, at));
                }
            }
            Mark::Sent { .. } => {}
            Mark::Acked(number) if self.acked.is_none_or(|acked| number > acked) => {
                if let Ok(place) = self.sent.binary_search_by_key(&number, |(number, _)| *number) {
                    let rtt = at.saturating_sub(self.sent[place].1);
                    self.longest_rtt = self.longest_rtt.max(Some(rtt));
                }
                (self.acked, self.waited) = (Some(number), 0);
            }
            Mark::Acked(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Format;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Packets of a transfer at these milliseconds: the number of one that is sent, or below zero that of one that is acknowledged.
    fn mended(events: &[(i64, i64)]) -> (Vec<i64>, Mended) {
        let mut clock = Clock::default();
        for &(ms, number) in events {
            clock.add(ms as f64 * 1e6, 0.0, Format::Relative).unwrap();
            clock.mark(match number {
                0.. => Mark::Sent { number: number.unsigned_abs(), has_data: true },
                _ => Mark::Acked(number.unsigned_abs()),
            });
        }
        let mended = clock.mend();
        (mended.times.clone(), mended)
    }

    #[test]
    fn a_clock_that_is_set_goes_on_from_the_time_before() {
        // Back by 30 ms: packet 4 has an earlier time than packet 3.
        let (times, mended) = mended(&[(0, 1), (50, -1), (50, 2), (60, 3), (30, 4), (70, -2), (80, 5)]);
        let after = 60 * MS + 1;
        assert_eq!(times, [0, 50 * MS, 50 * MS, 60 * MS, after, after + 40 * MS, after + 50 * MS]);
        assert_eq!((mended.steps.len(), &mended.epochs[..]), (1, &[4][..]));
        // Forward by 40 s with packet 3 in flight.
        let (times, mended) = mended_forward();
        assert_eq!(times, [0, 50 * MS, 50 * MS, 60 * MS, after, after + 10 * MS]);
        assert_eq!(mended.steps.len(), 1);
    }

    fn mended_forward() -> (Vec<i64>, Mended) {
        mended(&[(0, 1), (50, -1), (50, 2), (60, 3), (40_060, -2), (40_070, 4)])
    }

    #[test]
    fn one_event_with_a_wrong_time_moves_no_others() {
        let (times, mended) = mended(&[(0, 1), (50, -1), (9000, 2), (51, 3), (101, -3)]);
        // The times go on from each other, so that what passed at the steps is lost.
        let wrong = 50 * MS + 1;
        assert_eq!(times, [0, 50 * MS, wrong, wrong + 1, wrong + 1 + 50 * MS]);
        assert_eq!((mended.steps.len(), &mended.epochs[..]), (2, &[2, 3][..]));
    }

    #[test]
    fn what_is_written_late_and_what_waits_is_no_step() {
        // An acknowledgement that is written behind later packets.
        let late = [(0, 1), (50, 2), (51, 3), (49, -1), (100, -2)];
        // Nothing in flight; and timeouts that double.
        let idle = [(0, 1), (50, -1), (60_000, 2), (60_050, -2)];
        let outage =
            [(0, 1), (50, -1), (50, 2), (250, 3), (650, 4), (1450, 5), (3050, 6), (6250, 7), (6300, -7)];
        for events in [&late[..], &idle, &outage] {
            let (times, mended) = mended(events);
            let expected: Vec<i64> = events.iter().map(|(ms, _)| ms * MS).collect();
            assert_eq!((times, mended.steps.len(), mended.epochs.len()), (expected, 0, 0));
        }
    }

    #[test]
    fn times_beyond_any_clock_are_not_used() {
        let mut clock = Clock::default();
        for time in [0.0, 1e300, 2e6] {
            clock.add(time, 1e6, Format::Relative).unwrap();
        }
        let mended = clock.mend();
        assert_eq!((mended.times, mended.epochs), (vec![1_000_000, 1_000_000, 3_000_000], vec![1, 2]));
        assert_eq!(clock.unusable, [Line(1)]);
    }
}
