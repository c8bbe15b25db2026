//! Routers that take part in congestion control: packets carry a header to them, and the router answers in
//! that header.
//!
//! Each router is a first-in, first-out queue of limited room that decides when a packet arrives, like the
//! other disciplines. An interval that the paper ends with a timer ends here with the first packet after it,
//! but is computed for the timer's own time; nothing can read the result earlier.

pub mod quick_start;
pub mod vcp;
pub mod xcp;

use crate::arrival::{Arrival, Room, Verdict};
use crate::catalogue::Discipline as Info;
use crate::settings::{Domain, Field, Key};
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

/// Descriptions.
pub const INFO: [Info; 3] = [
    Info::router(
        "quick-start",
        "RFC 4782; ns-2.35, algorithm 3",
        "grants the rates that packets request, up to the spare capacity of the link",
        &[
            Key::new(
                "threshold",
                Domain::Share,
                "0.85",
                "share of the link in use, at its peak of the last second, below which a rate is granted",
            ),
            Key::new("share", Domain::Share, "0.85", "share of the link up to which rates are granted"),
        ],
    ),
    Info::router(
        "xcp",
        "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5",
        "writes a window change for the sender into every packet",
        &[
            Key::new(
                "alpha",
                Domain::Share,
                "0.4",
                "share of the spare bandwidth that a round trip distributes",
            ),
            Key::new("beta", Domain::Share, "0.226", "share of the standing queue that a round trip removes"),
            Key::new("gamma", Domain::Share, "0.1", "share of the traffic that a round trip redistributes"),
        ],
    ),
    Info::router(
        "vcp",
        "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005, sections 3 and 4",
        "writes the load of its link into two bits of every packet",
        &[Key::new("utilization", Domain::Share, "0.98", "target share of the link in use")],
    ),
];

/// A router that takes part in congestion control, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Settings {
    /// The router grants the rates that SYN packets request (RFC 4782).
    QuickStart {
        /// Share of the link in use below which a rate is granted.
        threshold: f64,
        /// Share of the link up to which rates are granted.
        share: f64,
    },
    /// The router sends each flow the change of its window (XCP).
    Xcp {
        /// Share of the spare bandwidth that a round trip distributes.
        alpha: f64,
        /// Share of the standing queue that a round trip removes.
        beta: f64,
        /// Share of the traffic that a round trip redistributes.
        gamma: f64,
    },
    /// The router signals its load (VCP).
    Vcp {
        /// Share of the link that is to be used.
        target: f64,
    },
}

impl Settings {
    /// The router of this label, with the parameters of its source.
    pub fn by_label(label: &str) -> Option<Self> {
        match label {
            "quick-start" => Some(Self::QuickStart { threshold: 0.85, share: 0.85 }),
            "xcp" => Some(Self::Xcp { alpha: 0.4, beta: 0.226, gamma: 0.1 }),
            "vcp" => Some(Self::Vcp { target: 0.98 }),
            _ => None,
        }
    }

    /// Label.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::QuickStart { .. } => "quick-start",
            Self::Xcp { .. } => "xcp",
            Self::Vcp { .. } => "vcp",
        }
    }

    /// Parameters of the router of a link.
    pub(crate) fn config(self) -> RouterConfig {
        match self {
            Self::QuickStart { threshold, share } => {
                RouterConfig::QuickStart(QuickStartConfig { threshold, share, ..QuickStartConfig::default() })
            }
            Self::Xcp { alpha, beta, gamma } => RouterConfig::Xcp(XcpConfig { alpha, beta, gamma }),
            Self::Vcp { target } => RouterConfig::Vcp(VcpConfig { target }),
        }
    }

    /// The values by their keys.
    pub(crate) fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
        let share = |name, value| (name, Field::Share(value));
        match self {
            Self::QuickStart { threshold, share: most } => {
                vec![share("threshold", threshold), share("share", most)]
            }
            Self::Xcp { alpha, beta, gamma } => {
                vec![share("alpha", alpha), share("beta", beta), share("gamma", gamma)]
            }
            Self::Vcp { target } => vec![share("utilization", target)],
        }
    }
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
