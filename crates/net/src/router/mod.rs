//! Routers that take part in congestion control: packets carry a header for them, and they answer in it.
//!
//! Each is a first-in, first-out queue of limited room that decides when a packet arrives, like the disciplines beside
//! it. Intervals that its paper ends with a timer are ended by the first packet that arrives after them, at their own
//! time; nothing can have read their result before.

pub mod quick_start;
pub mod vcp;
pub mod xcp;

use crate::queue::drop_tail::{DropTailBytes, DropTailPackets};
use crate::queue::{Arrival, Room, Verdict};
use firstflight_contract::{Load, Rate};
use quick_start::{QuickStart, QuickStartConfig, Request};
use vcp::{Vcp, VcpConfig};
use xcp::{Congestion, Xcp, XcpConfig};

/// What a packet carries for the routers on its path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Header {
    /// Nothing.
    #[default]
    None,
    /// A request for a rate (RFC 4782).
    QuickStart(Request),
    /// A congestion header (XCP).
    Xcp(Congestion),
    /// The load of the most loaded router so far (VCP).
    Vcp(Load),
}

/// What a router does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RouterConfig {
    /// It grants rates (RFC 4782).
    QuickStart(QuickStartConfig),
    /// It says by how much windows are to change (XCP).
    Xcp(XcpConfig),
    /// It says how loaded it is (VCP).
    Vcp(VcpConfig),
}

/// A router's queue.
#[derive(Clone, Debug)]
pub struct Router {
    room: Room,
    control: Control,
}

/// What it knows.
#[derive(Clone, Debug)]
enum Control {
    QuickStart(QuickStart),
    Xcp(Xcp),
    Vcp(Vcp),
}

impl Router {
    /// A router in front of an idle link of this rate.
    pub fn new(config: RouterConfig, room: Room, rate: Rate) -> Self {
        let control = match config {
            RouterConfig::QuickStart(config) => Control::QuickStart(QuickStart::new(config, rate)),
            RouterConfig::Xcp(config) => Control::Xcp(Xcp::new(config, rate)),
            RouterConfig::Vcp(config) => Control::Vcp(Vcp::new(config, rate)),
        };
        Self { room, control }
    }

    pub(crate) fn admit(&mut self, arrival: &Arrival, header: &mut Header) -> Verdict {
        let verdict = match self.room {
            Room::Packets(limit) => DropTailPackets { limit }.admit(arrival),
            Room::Bytes(limit) => DropTailBytes { limit }.admit(arrival),
        };
        match &mut self.control {
            Control::QuickStart(control) => {
                control.watch(arrival);
                if let (Header::QuickStart(request), Verdict::Accept) = (header, verdict) {
                    control.answer(arrival.now, request);
                }
            }
            Control::Xcp(control) => match header {
                Header::Xcp(congestion) => {
                    control.watch(arrival, Some(congestion));
                    if verdict == Verdict::Accept {
                        control.answer(arrival.size, congestion);
                    }
                }
                _ => control.watch(arrival, None),
            },
            Control::Vcp(control) => {
                control.watch(arrival);
                if let Header::Vcp(load) = header {
                    control.answer(load);
                }
            }
        }
        verdict
    }
}
