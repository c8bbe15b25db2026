//! Routers that take part in congestion control: packets carry a header to them, and the router answers in
//! that header.
//!
//! Each router is a first-in, first-out queue of limited room that decides when a packet arrives, like the
//! other disciplines. An interval that the paper ends with a timer ends here with the first packet after it,
//! but is computed for the timer's own time; nothing can read the result earlier.

pub mod quick_start;
pub mod vcp;
pub mod xcp;

use crate::queue::{Arrival, Room, Verdict};
use firstflight_contract::{Load, Rate};
use quick_start::{QuickStart, QuickStartConfig, Request};
use vcp::{Vcp, VcpConfig};
use xcp::{Congestion, Xcp, XcpConfig};

/// Congestion header of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Header {
    /// No header.
    #[default]
    None,
    /// A rate request (RFC 4782).
    QuickStart(Request),
    /// A congestion header (XCP).
    Xcp(Congestion),
    /// The highest load of the routers so far (VCP).
    Vcp(Load),
}

/// Kind and parameters of a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RouterConfig {
    /// Grants rates (RFC 4782).
    QuickStart(QuickStartConfig),
    /// Returns window changes (XCP).
    Xcp(XcpConfig),
    /// Reports its load (VCP).
    Vcp(VcpConfig),
}

/// Queue and controller of a router.
#[derive(Clone, Debug)]
pub struct Router {
    room: Room,
    control: Control,
}

/// State of the controller.
#[derive(Clone, Debug)]
enum Control {
    QuickStart(QuickStart),
    Xcp(Xcp),
    Vcp(Vcp),
}

impl Router {
    /// Creates a router in front of an idle link of this rate.
    pub fn new(config: RouterConfig, room: Room, rate: Rate) -> Self {
        let control = match config {
            RouterConfig::QuickStart(config) => Control::QuickStart(QuickStart::new(config, rate)),
            RouterConfig::Xcp(config) => Control::Xcp(Xcp::new(config, rate)),
            RouterConfig::Vcp(config) => Control::Vcp(Vcp::new(config, rate)),
        };
        Self { room, control }
    }

    pub(crate) fn admit(&mut self, arrival: &Arrival, header: &mut Header) -> Verdict {
        let verdict = self.room.admit(arrival);
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
                Header::None | Header::QuickStart(_) | Header::Vcp(_) => control.watch(arrival, None),
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
