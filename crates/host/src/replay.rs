//! Replay: the events that one host reported to a chain are reported to another chain, and the registers are compared
//! after every event. Two hosts that run the same scheme agree on all of them.

use core::fmt;

use firstflight_contract::{
    Ack, Congestion, Control, Declared, Entry, Lost, Nanos, Phase, Sent, StartupExit,
};

use crate::chain::Chain;
use crate::phases::Phases;

/// One call of a host to a chain.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// [`Chain::start`].
    Start {
        /// The path as the host knows it.
        entry: Entry,
        /// Initial window, bytes.
        initial_window: u64,
        /// Slow-start threshold, bytes; `u64::MAX` is infinite.
        ssthresh: u64,
    },
    /// [`Chain::set_mss`], bytes.
    Mss(u32),
    /// [`Chain::on_sent`].
    Sent(Sent),
    /// [`Chain::on_lost`].
    Lost(Lost),
    /// [`Chain::on_ack`].
    Ack(Ack),
    /// [`Chain::on_congestion`].
    Congestion(Congestion),
    /// [`Chain::lose_window`], with the time.
    LoseWindow(Nanos),
    /// [`Chain::on_idle`].
    Idle(Entry),
    /// [`Chain::on_spurious`].
    Spurious,
}

/// State of a chain that a host obeys or reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Registers.
    pub control: Control,
    /// End of start-up; `None` before it.
    pub exit: Option<StartupExit>,
}

/// An event, and the answer that the reporting host's chain gave.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The event.
    pub event: Event,
    /// The chain's state after it.
    pub answer: Answer,
}

/// First record on which a chain answers otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Position of the record, from zero.
    pub at: usize,
    /// The record.
    pub record: Record,
    /// Answer of the replaying chain.
    pub replayed: Answer,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, record, replayed } = self;
        write!(f, "event {at}, {:?}: the host has {:?}, the replay {replayed:?}", record.event, record.answer)
    }
}

impl core::error::Error for Difference {}

impl<P: Phase + Declared, S: Phases<Phase = P>> Chain<P, S> {
    /// Reports `event` to the chain.
    pub fn take(&mut self, event: &Event) -> Answer {
        self.tell(event).0
    }

    /// The same; returns [`Told::rest`](crate::chain::Told::rest) as well.
    pub fn tell(&mut self, event: &Event) -> (Answer, u64) {
        let mut rest = 0;
        match event {
            Event::Start { entry, initial_window, ssthresh } => self.start(entry, *initial_window, *ssthresh),
            Event::Mss(mss) => self.set_mss(*mss),
            Event::Sent(sent) => self.on_sent(sent),
            Event::Lost(lost) => self.on_lost(lost),
            Event::Ack(ack) => rest = self.on_ack(ack),
            Event::Congestion(congestion) => self.on_congestion(congestion),
            Event::LoseWindow(now) => self.lose_window(*now),
            Event::Idle(entry) => self.on_idle(*entry),
            Event::Spurious => self.on_spurious(),
        }
        (Answer { control: self.control, exit: self.startup_exit() }, rest)
    }

    /// Reports the events of `records` to this chain, which is at rest. Returns their number.
    ///
    /// # Errors
    /// [`Difference`] at the first record on which this chain answers otherwise.
    #[expect(clippy::result_large_err, reason = "there is one result a replay")]
    pub fn replay<'a>(&mut self, records: impl IntoIterator<Item = &'a Record>) -> Result<usize, Difference> {
        let mut count = 0;
        for (at, record) in records.into_iter().enumerate() {
            let replayed = self.take(&record.event);
            if replayed != record.answer {
                return Err(Difference { at, record: *record, replayed });
            }
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use firstflight_contract::Trigger;
    use firstflight_schemes::catalogue::Schemes;
    use firstflight_schemes::registry::AnyPhase;

    use super::*;

    const MSS: u32 = 1000;

    fn chain(labels: &[&str]) -> Chain<AnyPhase> {
        Chain::new(Schemes::built_in().chain(labels).unwrap()).unwrap()
    }

    /// One ACK a segment in slow start, then a loss.
    fn events() -> Vec<Event> {
        let entry = Entry { rtt: Nanos::from_millis(10), mss: MSS, ..Entry::default() };
        let mut events = vec![Event::Start { entry, initial_window: 10_000, ssthresh: u64::MAX }];
        events.extend((1..=100).map(|n| {
            let (delivered, growth) = (n * 1000, 1000);
            Event::Ack(Ack {
                now: Nanos::from_millis(10 + n),
                rtt: Nanos::from_millis(10),
                min_rtt: Nanos::from_millis(10),
                srtt: Nanos::from_millis(10),
                acked: 1000,
                growth,
                delivered,
                in_flight: 10_000 + delivered,
                pipe: 9_000 + delivered,
                mss: MSS,
                ..Ack::default()
            })
        }));
        let now = Nanos::from_millis(120);
        events.push(Event::Congestion(Congestion {
            now,
            in_flight: 110_000,
            base: 110_000,
            lost: 1000,
            min_rtt: Nanos::from_millis(10),
            trigger: Trigger::Loss,
            mss: MSS,
        }));
        events
    }

    fn record(labels: &[&str]) -> Vec<Record> {
        let mut chain = chain(labels);
        events().into_iter().map(|event| Record { event, answer: chain.take(&event) }).collect()
    }

    #[test]
    fn the_same_scheme_replays_without_a_difference() {
        let records = record(&["slow-start", "reno"]);
        // RFC 5681: 10 segments, one more for each of 100 ACKs, then half of 110.
        assert_eq!(records[100].answer.control.cwnd, 110_000);
        assert_eq!(records[101].answer.control.ssthresh, 55_000);
        assert_eq!(chain(&["slow-start", "reno"]).replay(&records).unwrap(), 102);
    }

    #[test]
    fn another_scheme_differs_at_the_first_event_that_it_answers_otherwise() {
        // RFC 3742 section 2: above 100 segments an ACK adds less than one. ACK 91 finds 100 segments, ACK 92 finds 101.
        let records = record(&["slow-start", "reno"]);
        let difference = chain(&["limited-slow-start", "reno"]).replay(&records).unwrap_err();
        assert_eq!(difference.at, 92, "{difference}");
        // Avoidance differs at the loss only.
        assert_eq!(chain(&["slow-start", "cubic"]).replay(&records).unwrap_err().at, 101);
    }

    #[test]
    fn a_changed_register_is_found() {
        let mut records = record(&["slow-start", "reno"]);
        records[50].answer.control.cwnd += 1;
        assert_eq!(chain(&["slow-start", "reno"]).replay(&records).unwrap_err().at, 50);
    }
}
