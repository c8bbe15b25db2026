//! Final states of closed connections, by destination: the cached values of TCP Fast Start and of RFC 9040's
//! temporal sharing.

use firstflight_contract::Nanos;

use crate::Destination;

/// Final state of the last connection to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Closed {
    /// Destination.
    pub destination: Destination,
    /// Time of its end.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub at: Nanos,
    /// Last window, bytes.
    pub cwnd: u64,
    /// Last slow-start threshold, bytes; `u64::MAX` is infinite.
    pub ssthresh: u64,
    /// Last smoothed RTT; zero if unknown.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub srtt: Nanos,
    /// Smallest RTT; zero if unknown.
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    pub min_rtt: Nanos,
    /// Whether a later connection to the destination had a loss in its slow start.
    pub overrun: bool,
}

/// The most recent destinations; the oldest one is replaced.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Recent {
    closed: Vec<Closed>,
}

impl Recent {
    pub(crate) fn note(&mut self, closed: Closed, limit: u32) {
        if limit == 0 {
            return;
        }
        let same = self.closed.iter().position(|c| c.destination == closed.destination);
        let full = self.closed.len() >= limit as usize;
        let oldest = || self.closed.iter().enumerate().min_by_key(|(_, c)| c.at).map(|(i, _)| i);
        match same.or_else(|| if full { oldest() } else { None }) {
            Some(i) => self.closed[i] = closed,
            None => {
                self.closed.reserve_exact(1);
                self.closed.push(closed);
            }
        }
    }

    /// A connection to the destination that was opened at this time had a loss in its slow start.
    pub(crate) fn overrun(&mut self, destination: Destination, opened: Nanos) {
        for closed in self.closed.iter_mut().filter(|closed| closed.destination == destination) {
            closed.overrun |= closed.at <= opened;
        }
    }

    pub(crate) fn forget(&mut self) {
        self.closed.clear();
    }

    /// The state that was noted last.
    pub(crate) fn newest(&self) -> Option<&Closed> {
        self.closed.iter().max_by_key(|closed| closed.at)
    }

    pub(crate) fn of(&self, destination: Destination) -> Option<&Closed> {
        self.closed.iter().find(|c| c.destination == destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(destination: u128, at: u64) -> Closed {
        let at = Nanos::from_secs(at);
        Closed {
            destination: Destination(destination),
            at,
            cwnd: 1,
            ssthresh: 2,
            srtt: Nanos(3),
            min_rtt: Nanos(2),
            overrun: false,
        }
    }

    #[test]
    fn the_newest_state_per_destination_is_kept_and_the_oldest_destination_replaced() {
        let mut recent = Recent::default();
        for (destination, at) in [(1, 10), (2, 20), (1, 30), (3, 40)] {
            recent.note(closed(destination, at), 2);
        }
        assert_eq!(recent.of(Destination(1)), Some(&closed(1, 30)));
        assert_eq!(recent.of(Destination(2)), None);
        assert_eq!(recent.of(Destination(3)), Some(&closed(3, 40)));
    }

    #[test]
    fn with_a_limit_of_zero_nothing_is_kept() {
        let mut recent = Recent::default();
        recent.note(closed(1, 10), 0);
        assert_eq!(recent.of(Destination(1)), None);
    }
}
