//! Link counters recorded at given times during a run. They cannot be reconstructed later from the link's
//! state.

use firstflight_contract::Sum;

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted.
    pub bytes: u64,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets lost on the wire.
    pub wire_losses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Sum of all waiting times, nanoseconds; zero on an unlimited link without readings. Divided by the length of the run
    /// it is the mean queue (Little's law).
    pub waiting_ns: Sum,
    /// End of the last transmission counted, nanoseconds.
    pub busy_until: u64,
    /// Most packets that waited at once; zero on an unlimited link without readings.
    pub max_queue: u32,
    /// Packets waiting when the count ends; zero on an unlimited link without readings.
    pub waiting: u32,
}

/// Recording times and the counters recorded so far.
#[derive(Clone, Debug)]
pub struct Readings {
    /// Recording times, nanoseconds, ascending.
    times: Vec<u64>,
    taken: Vec<LinkStats>,
    /// Next recording time; `u64::MAX` if none is left.
    due: u64,
}

impl Default for Readings {
    fn default() -> Self {
        Self::at(vec![])
    }
}

impl Readings {
    /// Readings at these ascending times, nanoseconds.
    pub fn at(times: Vec<u64>) -> Self {
        debug_assert!(times.is_sorted());
        let due = times.first().copied().unwrap_or(u64::MAX);
        Self { times, taken: vec![], due }
    }

    /// Time of the next reading, nanoseconds. It is taken before any packet that arrives at this time.
    #[inline]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Records the counters as they were at [`Readings::due`].
    pub fn note(&mut self, stats: LinkStats) {
        self.taken.push(stats);
        self.due = self.times.get(self.taken.len()).copied().unwrap_or(u64::MAX);
    }

    /// Counters for each time; `stats_until` computes the readings that no later packet has triggered.
    pub fn all(&self, stats_until: impl Fn(u64) -> LinkStats) -> Vec<LinkStats> {
        let open = self.times[self.taken.len()..].iter().map(|&at| stats_until(at));
        self.taken.iter().copied().chain(open).collect()
    }
}
