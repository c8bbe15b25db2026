//! Receive windows that end inside a segment in flight, because the receiver has shrunk its window. The kernel retransmits
//! the part that fits and splits the segment for that. So does this sender; the segments behind it get new numbers.

use super::{Linux, State};
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::stamps::{LOST, RETRANS};

impl Connection<Linux> {
    /// Whether the receiver has closed its window.
    pub(super) fn is_window_closed(&self) -> bool {
        self.window_end() == self.una && self.own.window_part == 0
    }

    /// Whether `segment`, sent before, may leave again. Where the window ends inside it, it is split and its first part
    /// may. Where it lies beyond, it may not, unless it is the first one in flight: that probes a closed window.
    #[inline]
    pub(super) fn fit_into_window(&mut self, segment: u32, port: &mut impl Port) -> bool {
        segment < self.window_end() || self.fit_at_edge(segment, port)
    }

    #[cold]
    #[inline(never)]
    fn fit_at_edge(&mut self, segment: u32, port: &mut impl Port) -> bool {
        let part = std::mem::take(&mut self.own.window_part);
        if part == 0 || segment > self.window_end() {
            self.own.window_part = part;
            return segment == self.una;
        }
        self.split(segment, part);
        // The first part is a segment that fits.
        self.receive_window = self.receive_window.one_more();
        port.split(segment, part);
        true
    }

    /// `segment` becomes two.
    fn split(&mut self, segment: u32, bytes: u32) {
        self.app.split(segment, bytes);
        for words in [&mut self.common.stamps, &mut self.own.first_left] {
            words.split(segment, self.common.una, self.common.nxt);
        }
        if let Some(delivery) = &mut self.own.delivery {
            delivery.split(segment, self.common.una, self.common.nxt);
        }
        let word = self.stamps.get(segment);
        self.own.lost += u32::from(word & LOST != 0);
        self.own.retrans += u32::from(word & RETRANS != 0);
        let beyond = |number: &mut u32| *number += u32::from(*number > segment);
        for number in [&mut self.common.nxt, &mut self.common.max, &mut self.common.available] {
            beyond(number);
        }
        self.rto.renumber(beyond);
        self.own.renumber(segment, beyond);
    }
}

impl State {
    /// Segments beyond `split`, which becomes two, get the next number.
    fn renumber(&mut self, split: u32, beyond: impl Fn(&mut u32)) {
        let numbers = [
            &mut self.lone,
            &mut self.highest,
            &mut self.high,
            &mut self.hint,
            &mut self.lost_end,
            &mut self.probe_end,
        ];
        numbers.into_iter().for_each(&beyond);
        for (start, end) in &mut self.last {
            beyond(start);
            beyond(end);
        }
        self.usage.renumber(&beyond);
        self.detector.renumber(&beyond);
        let retransmissions = std::mem::take(&mut self.retransmissions);
        for (mut segment, left_at) in retransmissions {
            let halves = segment == split;
            beyond(&mut segment);
            self.retransmissions.push_back((segment, left_at));
            if halves {
                self.retransmissions.push_back((segment + 1, left_at));
            }
        }
    }
}
