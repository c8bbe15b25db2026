//! Drop events and the moving average of the intervals between them: Yu and Newman, equations (3) and (4).

use firstflight_contract::Nanos;

/// Drop events of one connection or of a whole cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Intervals {
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::nanos"))]
    last: Nanos,
    mean: f64,
    events: u32,
}

impl Intervals {
    /// Records a drop event at `now`; `weight` is lambda of equation (3) or theta of (4).
    pub fn note(&mut self, now: Nanos, weight: f64) {
        let interval = now.saturating_sub(self.last).0 as f64;
        self.mean = match self.events {
            0 => 0.0,
            // tau_1 = t_2 - t_1
            1 => interval,
            // (3): tau_i = (1 - lambda) tau_(i-1) + lambda (t_i - t_(i-1))
            _ => (1.0 - weight) * self.mean + weight * interval,
        };
        self.last = now.max(self.last);
        self.events = self.events.saturating_add(1);
    }

    /// Time of the last event; [`None`] before the first.
    pub fn last(&self) -> Option<Nanos> {
        (self.events > 0).then_some(self.last)
    }

    /// Average interval, nanoseconds; [`None`] before the second event.
    pub fn mean(&self) -> Option<f64> {
        (self.events > 1).then_some(self.mean)
    }

    /// Number of events.
    pub fn events(&self) -> u32 {
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHTH: f64 = 0.125;

    fn after(seconds: &[u64]) -> Intervals {
        let mut intervals = Intervals::default();
        for &s in seconds {
            intervals.note(Nanos::from_secs(s), EIGHTH);
        }
        intervals
    }

    #[test]
    fn the_first_interval_initialises_the_average_of_equation_3() {
        assert_eq!(after(&[]).mean(), None);
        assert_eq!(after(&[10]).mean(), None);
        // t = 10, 18: tau_1 = 8 s.
        assert_eq!(after(&[10, 18]).mean(), Some(8e9));
        // t = 10, 18, 34: tau_2 = 7/8 * 8 + 1/8 * 16 = 9 s.
        assert_eq!(after(&[10, 18, 34]).mean(), Some(9e9));
        // t = 10, 18, 34, 51: tau_3 = 7/8 * 9 + 1/8 * 17 = 10 s.
        assert_eq!(after(&[10, 18, 34, 51]).mean(), Some(10e9));
    }

    #[test]
    fn the_last_event_is_known_after_the_first() {
        assert_eq!(after(&[]).last(), None);
        assert_eq!(after(&[10]).last(), Some(Nanos::from_secs(10)));
        assert_eq!(after(&[10, 18]).events(), 2);
    }
}
