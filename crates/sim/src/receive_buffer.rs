//! Receive buffer that Linux enlarges while its application reads: Dynamic Right-Sizing, `tcp_rcv_space_adjust` and
//! `tcp_rcvbuf_grow` of Linux 6.18.
//!
//! Once in a round trip, the kernel compares the amount that was read in it with the largest such amount so far. If more was
//! read, the buffer grows to hold twice that amount and, because DRS is a round trip late and the sender may double its window
//! in slow start, twice the growth. Each segment that arrives then opens the window by two, up to what the buffer holds, and is
//! acknowledged at once.

use crate::sender::stack::ReceiveWindow;
use firstflight_contract::{Moment, Nanos};

/// Amount that counts as read before the first measurement, segments (`TCP_INIT_CWND`).
const AT_FIRST: u32 = 10;

/// The buffer of one receiver, and its windows over time.
#[derive(Clone, Debug)]
pub(crate) struct Tuning {
    /// Arrival of the SYN, from which the round trip is measured.
    opened: Moment,
    /// Round-trip time, nanoseconds: from the answer to the SYN to the first data; zero before.
    rtt: u64,
    /// Beginning of the measurement, nanoseconds, and the segments that were read before it.
    since: u64,
    read: u32,
    /// Most segments that were read in one round trip.
    space: u32,
    /// Windows, each from one cumulative ACK on, in their order.
    windows: Vec<ReceiveWindow>,
}

impl Tuning {
    pub(crate) fn new(window: ReceiveWindow) -> Self {
        Self { opened: Moment::NEVER, rtt: 0, since: 0, read: 0, space: AT_FIRST, windows: vec![window] }
    }

    /// A SYN arrives.
    pub(crate) fn open(&mut self, now: u64) {
        self.opened = Moment::at(Nanos(now));
    }

    fn newest(&self) -> ReceiveWindow {
        self.windows[self.windows.len() - 1]
    }

    /// Whether the segment after the first `next` ones opens the window.
    pub(crate) fn opens_with(&self, next: u32) -> bool {
        let window = self.newest();
        window.at(next) < window.limit
    }

    /// The window that an ACK up to `next` offers.
    pub(crate) fn at(&self, next: u32) -> ReceiveWindow {
        let after = self.windows.partition_point(|window| window.from <= next);
        self.windows[after.max(1) - 1]
    }

    /// The application has read `next` segments; `beyond` are the segments between the first hole and the last that arrived.
    pub(crate) fn read(&mut self, now: u64, next: u32, beyond: u32) {
        if self.rtt == 0
            && let Some(rtt) = self.opened.elapsed(Nanos(now))
        {
            (self.rtt, self.since) = (rtt.0.max(1), now);
        }
        if beyond > 0 {
            // `tcp_data_queue_ofo`
            self.grow(self.space, next, beyond);
        }
        if self.rtt == 0 || now - self.since < self.rtt {
            return;
        }
        let read = next - self.read;
        if read > self.space {
            self.grow(read, next, beyond);
        }
        (self.since, self.read) = (now, next);
    }

    fn grow(&mut self, read: u32, next: u32, beyond: u32) {
        let (before, twice) = (self.space, 2 * u64::from(read));
        self.space = read;
        let growth = 2 * (twice * u64::from(read - before) / u64::from(before));
        // The packet that is being read is still in the buffer.
        let room = (twice + growth + u64::from(beyond)).saturating_sub(1);
        let window = self.newest();
        let limit = u32::try_from(room).unwrap_or(u32::MAX).min(window.largest());
        if limit > window.limit {
            self.windows.push(window.widened(next, limit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Times and amounts that Linux 6.18 showed (its tracepoints `tcp_probe` and `tcp_rcvbuf_grow`) for 300 KB with the default
    /// buffer, 8 Mbit/s, 50 ms: a segment each 1.5 ms, and a round trip of 52 ms.
    #[test]
    fn the_window_opens_as_the_kernels() {
        let mut tuning = Tuning::new(ReceiveWindow::tuned(44, 1000));
        tuning.open(0);
        let mut opened = vec![];
        let mut arrive = |tuning: &mut Tuning, at: u64, segment: u32| {
            if tuning.opens_with(segment) {
                opened.push(segment);
            }
            tuning.read(at, segment + 1, 0);
        };
        for (start, segments) in [(52, 0..10), (104, 10..30), (156, 30..70), (216, 70..110)] {
            for (nth, segment) in segments.enumerate() {
                arrive(&mut tuning, start * MS + nth as u64 * 3 * MS / 2, segment);
            }
        }
        // The first round reads 11 segments of 10: no room beyond the buffer. The second reads 20: 40 and 2 * 40 * 9 / 11, 105
        // segments, one of which the packet takes; the kernel went from 80480 to 151257 bytes, 55.6 to 104.5 segments.
        assert_eq!(tuning.at(30).limit, 55);
        assert_eq!((tuning.at(31).limit, tuning.at(31).at(31)), (103, 55));
        // 44 to 55 segments take six packets, in the kernel as well; the next opens with packets 31 to 54, there to 55.
        let expected: Vec<u32> = (0..6).chain(31..55).collect();
        assert_eq!(opened[..expected.len()], expected);
    }

    #[test]
    fn segments_beyond_a_hole_have_room_of_their_own() {
        let mut tuning = Tuning::new(ReceiveWindow::tuned(44, 1000));
        tuning.read(MS, 1, 60);
        // Twice the ten of the start, and the 60, less one.
        assert_eq!(tuning.at(1).limit, 79);
    }

    #[test]
    fn no_window_is_larger_than_the_largest() {
        let mut tuning = Tuning::new(ReceiveWindow::tuned(44, 70));
        tuning.read(MS, 1, 500);
        assert_eq!(tuning.at(1).limit, 70);
        assert_eq!(Tuning::new(ReceiveWindow::tuned(44, 50)).at(0).limit, 50);
    }
}
