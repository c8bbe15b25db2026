//! Receive windows that end inside a segment in flight, because the receiver has taken back what it had offered. The
//! kernel sends again the part that fits and splits the segment for that; so does this sender, whose segments are
//! numbered: those behind get new numbers.

use super::Rack;
use crate::sender::stamps::{LOST, RETRANS};
use crate::sender::{Port, Sender};

impl Sender {
    /// Whether the receiver has closed its window.
    pub(super) fn is_window_closed(&self) -> bool {
        self.window_end() == self.una && self.rack.window_part == 0
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
        let part = std::mem::take(&mut self.rack.window_part);
        if part == 0 || segment > self.window_end() {
            self.rack.window_part = part;
            return segment == self.una;
        }
        self.split(segment);
        // The first part is a segment that fits.
        self.stack.receive_window = self.stack.receive_window.one_more();
        port.split(segment, part);
        true
    }

    /// `segment` becomes two.
    fn split(&mut self, segment: u32) {
        for words in [&mut self.stamps, &mut self.rack.first_left] {
            words.split(segment, self.una, self.nxt);
        }
        if let Some(delivery) = &mut self.delivery {
            delivery.split(segment, self.una, self.nxt);
        }
        let word = self.stamps.get(segment);
        self.rack.lost += u32::from(word & LOST != 0);
        self.rack.retrans += u32::from(word & RETRANS != 0);
        let beyond = |number: &mut u32| *number += u32::from(*number > segment);
        for number in [&mut self.nxt, &mut self.max, &mut self.available] {
            beyond(number);
        }
        self.rto.renumber(beyond);
        self.rack.renumber(segment, beyond);
    }
}

impl Rack {
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
        let repeats = std::mem::take(&mut self.repeats);
        for (mut segment, left_at) in repeats {
            let halves = segment == split;
            beyond(&mut segment);
            self.repeats.push_back((segment, left_at));
            if halves {
                self.repeats.push_back((segment + 1, left_at));
            }
        }
    }
}
