//! The rise of the RTT that ends slow start in picoquic (`picoquic_cc_hystart_test`, cc_common.c at d199d45b): a quarter, in seven samples
//! in a row.

/// `PICOQUIC_MIN_MAX_RTT_SCOPE`: samples of the filter, at most one a millisecond.
const SCOPE: usize = 7;
const SAMPLE_GAP: u64 = 1_000;

/// The filter. Times are microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RisingRtt {
    samples: [u64; SCOPE],
    place: usize,
    is_full: bool,
    /// The smallest of the largest samples of the filter: the RTT without a queue.
    pub(crate) filtered_min: u64,
    excess: u32,
    stamp: u64,
}

impl RisingRtt {
    /// Samples of the handshake come first.
    pub(crate) fn begin(&mut self, samples: [u64; 2]) {
        self.samples[..2].copy_from_slice(&samples);
        self.place = 2;
    }

    /// Whether the RTT rose; `packet_time` is the time of a packet at the pacing rate.
    pub(crate) fn rises(&mut self, rtt: u64, packet_time: u64, now: u64) -> bool {
        if now <= self.stamp + SAMPLE_GAP {
            return false;
        }
        self.samples[self.place] = rtt;
        self.place = (self.place + 1) % SCOPE;
        self.is_full |= self.place == 0;
        self.stamp = now;
        if !self.is_full {
            return false;
        }
        let max = self.samples.into_iter().fold(0, u64::max);
        let min = self.samples.into_iter().fold(u64::MAX, u64::min);
        if self.filtered_min == 0 || self.filtered_min > max {
            self.filtered_min = max;
        }
        if min <= self.filtered_min {
            self.excess = 0;
        } else if min > self.filtered_min + (self.filtered_min / 4).max(packet_time) {
            self.excess += 1;
            return self.excess >= SCOPE as u32;
        }
        false
    }
}
