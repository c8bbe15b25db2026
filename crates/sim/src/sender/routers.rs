//! What passes between a sender and the routers on its path.

use super::Sender;
use crate::header;
use firstflight_control::contract::Entry;
use firstflight_control::units::{Nanos, Rate};
use firstflight_net::router::Header;
use firstflight_net::router::quick_start::Request;

/// What a sender asked the routers, and what they said.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Routers {
    /// Routers on the path: those a request must have passed all of.
    hops: u8,
    /// What they granted to the opening packet.
    pub(super) granted: Rate,
}

impl Sender {
    /// The same on a path over so many routers that can hold a packet up or refuse it.
    #[must_use]
    pub(crate) fn over(mut self, hops: u8) -> Self {
        self.routers.hops = hops;
        self
    }

    /// The words with which the opening packet asks for a rate.
    pub(super) fn request(&mut self, now: u64) -> (u64, u64) {
        let entry = Entry {
            now: Nanos(now),
            flow_size: self.app.queued(),
            receive_window: u64::from(self.stack.receive_window.limit).saturating_mul(self.mss),
            mss: self.stack.mss,
            ..Entry::default()
        };
        match Request::of(self.chain.open(&entry)) {
            Request { n: 0, .. } => (0, 0),
            request => header::words(Header::QuickStart(request)),
        }
    }

    /// The answer to the opening packet, in the high word of its ACK.
    pub(crate) fn hear_answer(&mut self, high: u64) {
        let Some(answer) = header::answer(high) else { return };
        // RFC 4782 section 4: unless the TTL difference is what it was at the sender, some router did not take part, and
        // nothing is granted.
        if answer.hops == self.routers.hops {
            self.routers.granted = answer.rate();
        }
    }
}
