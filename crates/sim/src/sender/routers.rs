//! Communication between a sender and the routers on its path.

use super::{AckIn, Common};
use crate::{header, packet};
use firstflight_contract::{Entry, Load, Nanos, Rate, Signals};
use firstflight_net::router::Header;
use firstflight_net::router::quick_start::Request;
use firstflight_net::router::xcp::Congestion;

/// The header of every data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Carries {
    #[default]
    Nothing,
    /// XCP's congestion header.
    Congestion,
    /// VCP's load.
    Load,
}

impl Carries {
    /// The header for schemes with these needs.
    pub(super) fn of(needs: Signals) -> Self {
        match (needs.has(Signals::FEEDBACK), needs.has(Signals::LOAD)) {
            (true, _) => Self::Congestion,
            (_, true) => Self::Load,
            _ => Self::Nothing,
        }
    }
}

/// Requests of a sender to the routers, and their feedback.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Routers {
    pub(crate) carries: Carries,
    /// Bytes of a data packet beside its payload.
    pub(super) header: u32,
    /// Change of the window that has not been reported to the schemes yet, 2^-16 bytes.
    pub(super) feedback: i64,
    pub(super) load: Load,
    /// Routers on the path; a request must have passed all of them.
    pub(super) hops: u8,
    /// Rate granted to the opening packet.
    pub(super) granted: Rate,
}

impl Common {
    /// The path has this many routers that can delay or drop a packet, and packets have this many bytes of headers.
    pub(crate) fn run_over(&mut self, hops: u8, header: u32) {
        self.routers.hops = hops;
        self.routers.header = header;
    }

    /// Bytes on the wire for each of payload.
    fn on_wire(&self) -> f64 {
        (self.mss + u64::from(self.routers.header)) as f64 / self.mss as f64
    }

    /// The words that a data packet carries for routers.
    pub(super) fn header(&self) -> (u64, u64) {
        match self.routers.carries {
            Carries::Nothing => (0, 0),
            Carries::Load => header::words(Header::Vcp(Load::Unknown)),
            Carries::Congestion => {
                let cwnd = self.chain.control.cwnd as f64 * self.on_wire();
                let limit = f64::from(self.receive_window.limit) * self.mss as f64 * self.on_wire();
                // The paper's section 3.3: "H_feedback = (r rtt - cwnd) / (number of packets in the current cwnd)", r the
                // desired rate: as much as the receiver takes.
                let packets = (self.chain.control.cwnd as f64 / self.mss as f64).max(1.0);
                header::words(Header::Xcp(Congestion {
                    rtt: (self.rto.srtt() / 1000).min(u32::MAX.into()) as u32,
                    cwnd: cwnd as f32,
                    feedback: ((limit - cwnd).max(0.0) / packets) as f32,
                }))
            }
        }
    }

    /// Takes the feedback of routers from an ACK.
    pub(super) fn receive_feedback(&mut self, ack: &mut AckIn) {
        match self.routers.carries {
            Carries::Nothing => {}
            Carries::Congestion => {
                let change = f64::from(header::feedback(ack.high)) / self.on_wire() * 65_536.0;
                self.routers.feedback = self.routers.feedback.saturating_add(change as i64);
            }
            Carries::Load => {
                self.routers.load = header::echoed_load(ack.high);
                // Before the scheme that understands the load is in force, overload counts as an ECN mark.
                if self.routers.load == Load::Over && !self.chain.in_avoidance() {
                    ack.low |= packet::CWR_ECE;
                }
            }
        }
    }

    /// The words with which the opening packet asks for a rate.
    pub(super) fn request(&mut self, now: u64) -> (u64, u64) {
        let entry = Entry {
            now: Nanos(now),
            flow_size: self.app.write_bytes(),
            receive_window: u64::from(self.receive_window.limit).saturating_mul(self.mss),
            mss: self.stack.mss,
            ..Entry::default()
        };
        match Request::of(self.chain.open(&entry)) {
            Request { n: 0, .. } => (0, 0),
            request => header::words(Header::QuickStart(request)),
        }
    }

    /// The answer to the opening packet, in the high word of its ACK.
    pub(super) fn receive_grant(&mut self, high: u64) {
        let Some(answer) = header::answer(high) else { return };
        // RFC 4782 section 4: if the TTL difference is not the same as at the sender, some router did not take part, and
        // nothing is granted.
        if answer.hops == self.routers.hops {
            self.routers.granted = answer.rate();
        }
    }
}
