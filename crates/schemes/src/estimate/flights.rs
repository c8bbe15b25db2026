//! Detection of flights: segments that left within one round trip, so that their ACKs arrive within one.
//!
//! A flight consists of the segments that the ACKs of the flight before released. Flights are counted by delivered
//! bytes, the host's rounds (`Ack::ROUND_START`) by the cumulative ACK. The two differ while a hole holds the
//! cumulative ACK back and later segments arrive.

use firstflight_contract::Ack;

/// Detects the beginnings of flights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flights {
    /// Total of delivered bytes once everything outstanding at the flight's first ACK is delivered.
    end: u64,
}

impl Flights {
    /// Whether this ACK, the next of the connection, is the first of a flight.
    #[inline]
    pub(crate) fn begins(&mut self, ack: &Ack) -> bool {
        if ack.delivered <= self.end {
            return false;
        }
        self.end = ack.delivered + ack.pipe;
        true
    }

    /// Total of delivered bytes at the end of the present flight.
    pub(crate) const fn end(self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_consists_of_the_segments_released_by_the_acks_of_the_flight_before() {
        // Slow start with an ACK for each segment: from an initial window of 3 the flights are 3, 6, 12 segments, of 1 they
        // are 1, 2, 4, 8. ACK n finds n delivered and, of the window of initial + n - 1, what is left outstanding.
        for (initial, firsts) in [(3, &[1, 4, 10][..]), (1, &[1, 2, 4, 8, 16])] {
            let mut flights = Flights::default();
            let begun: Vec<u64> = (1..=20)
                .filter(|&n| {
                    let outstanding = initial + n - 2;
                    flights.begins(&Ack { delivered: n, pipe: outstanding, ..Ack::default() })
                })
                .collect();
            assert_eq!(begun, firsts, "initial window {initial}");
        }
    }
}
