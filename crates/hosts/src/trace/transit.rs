//! Packets of one direction of a connection in transit, each with a note of its observer.

use std::collections::VecDeque;

use firstflight_net::link::Passage;

/// Packets on their way along one path. A packet is known by its place: links keep the order of a connection, and a
/// dequeue-time queue reports the time at which a packet joined it.
#[derive(Clone)]
pub(super) struct Transit<T> {
    path: Vec<usize>,
    /// Packets in transit to hop `i`, from hop `i - 1` or the sender.
    into: Vec<VecDeque<T>>,
    /// Packets waiting at hop `i`, if it has a dequeue-time queue, with their arrival times.
    waiting: Vec<VecDeque<(u64, T)>>,
}

impl<T: Copy> Transit<T> {
    /// No packets on a path of these links.
    pub(super) fn new(path: &[usize]) -> Self {
        let (into, waiting) = (
            (0..=path.len()).map(|_| VecDeque::new()).collect(),
            path.iter().map(|_| VecDeque::new()).collect(),
        );
        Self { path: path.to_vec(), into, waiting }
    }

    /// A packet leaves the sender.
    pub(super) fn enter(&mut self, note: T) {
        self.into[0].push_back(note);
    }

    fn hop(&self, link: u32) -> usize {
        self.path.iter().position(|&own| own == link as usize).expect("a link of its path")
    }

    /// A packet is offered to a link that decides on arrival.
    pub(super) fn offered(&mut self, link: u32, passage: Passage) -> T {
        let hop = self.hop(link);
        let note = self.into[hop].pop_front().expect("a packet in transit");
        self.pass(hop, note, passage)
    }

    /// A packet joins a dequeue-time queue.
    pub(super) fn queued(&mut self, at: u64, link: u32) {
        let hop = self.hop(link);
        let note = self.into[hop].pop_front().expect("a packet in transit");
        self.waiting[hop].push_back((at, note));
    }

    /// A packet that joined a dequeue-time queue at `since` leaves it.
    pub(super) fn left(&mut self, link: u32, since: u64, passage: Passage) -> T {
        let hop = self.hop(link);
        let place = self.waiting[hop]
            .iter()
            .position(|&(joined, _)| joined == since)
            .expect("the packet waits there");
        let (_, note) = self.waiting[hop].remove(place).expect("a place in the queue");
        self.pass(hop, note, passage)
    }

    fn pass(&mut self, hop: usize, note: T, passage: Passage) -> T {
        if matches!(passage, Passage::Arrives(_) | Passage::Marked(_)) {
            self.into[hop + 1].push_back(note);
        }
        note
    }

    /// A packet reaches the end of the path.
    pub(super) fn arrived(&mut self) -> T {
        let last = self.into.last_mut().expect("the end of a path");
        last.pop_front().expect("a packet in transit")
    }
}
