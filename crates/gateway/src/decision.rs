//! Decisions of a gateway, each with its reason.

use core::fmt;
use core::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, PARTS, Unfounded};
use crate::plan::Plan;
use crate::serial;
use crate::trial::{Harm, HarmKind};

/// A change of what is in force. `Display` is one line of the decision log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Connections to a prefix start by this plan from now on.
    Set {
        /// The plan.
        plan: Plan,
        /// Its reason.
        why: Why,
    },
    /// Connections to a prefix start as the stack starts them from now on.
    Remove {
        /// The prefix.
        prefix: Prefix,
        /// The reason.
        why: WhyNot,
    },
    /// No plan is in force from now on.
    RevertHost {
        /// Time at which plans are made again.
        #[serde(with = "serial::nanos")]
        until: Nanos,
        /// The evidence.
        harm: Harm,
    },
    /// Plans are made again after [`Decision::RevertHost`].
    ResumeHost,
}

/// Reason of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The first plan: half of the doublings from the stack's window to the estimate.
    HalfJump(Target),
    /// The whole estimate, after planned connections whose first window did not overflow.
    WholeJump {
        /// The estimate.
        target: Target,
        /// Planned connections without an overflow.
        clean: u8,
    },
    /// The estimate has changed.
    Follow {
        /// The estimate.
        target: Target,
        /// Window before, segments.
        from: u32,
    },
    /// Half the window, because first windows overflowed.
    Halved {
        /// Window before, segments.
        from: u32,
        /// Host whose first window was the last to overflow.
        host: IpAddr,
        /// Its measurement.
        misfit: Misfit,
        /// Halvings so far.
        strikes: u8,
        /// Time without a larger window.
        #[serde(with = "serial::nanos")]
        hold_down: Nanos,
    },
    /// The plan is as before and its time is extended, or its range of round-trip times is renewed.
    Renewed(Target),
    /// The operator ordered it.
    Operator,
}

/// Measurement that a first window is too large for its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfit {
    /// Segments of the window were lost.
    Lost {
        /// Segments lost.
        lost: u32,
        /// Segments of the window that were sent.
        sent: u32,
    },
    /// The path delivered a small part of the window in a round trip.
    Slow {
        /// Delivered in a round trip, sixteenths of a segment.
        delivered: u16,
        /// The window, or the transfer if that is shorter, segments.
        of: u32,
    },
}

/// Reason for no plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyNot {
    /// No measurement is kept: none was reported, all were too old or brought no information, or others needed the space.
    Unknown,
    /// There is no plan that the operator could have frozen.
    NothingFrozen,
    /// A plan is made at the next review.
    Due,
    /// There are too few hosts or samples.
    Unfounded(Unfounded),
    /// The target is no larger than the stack's own window.
    NoGain(Target),
    /// The hosts disagree; their prefix is split.
    Split(Estimate),
    /// The hosts disagree and the prefix is not split further.
    Disagree(Estimate),
    /// The third halving.
    Frozen {
        /// Host whose first window was the last to overflow.
        host: IpAddr,
        /// End of the freeze.
        #[serde(with = "serial::nanos")]
        until: Nanos,
    },
    /// The window was halved to the stack's own.
    Halved {
        /// Window before, segments.
        from: u32,
        /// Host whose first window was the last to overflow.
        host: IpAddr,
        /// End of the hold-down.
        #[serde(with = "serial::nanos")]
        until: Nanos,
    },
    /// The trial showed harm.
    Harm {
        /// The evidence.
        harm: Harm,
        /// Time at which a plan is made again.
        #[serde(with = "serial::nanos")]
        until: Nanos,
    },
    /// The overflow of a first window, a harm or a freeze was a short time ago.
    Waiting {
        /// Time at which a plan is made again.
        #[serde(with = "serial::nanos")]
        until: Nanos,
    },
    /// No plan is made on this host at present.
    HostReverted {
        /// Time at which plans are made again.
        #[serde(with = "serial::nanos")]
        until: Nanos,
    },
    /// The gateway only observes.
    Observing,
    /// The operator ordered it.
    Operator,
    /// Other prefixes needed the space.
    Forgotten,
}

/// Window to which a plan leads, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Window, segments.
    pub window: u32,
    /// The estimate behind it.
    pub estimate: Estimate,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { plan, why } => {
                write!(f, "{}: first window {} segments", plan.prefix, plan.window)?;
                if let Some(ssthresh) = plan.ssthresh {
                    write!(f, ", slow-start threshold {ssthresh} segments")?;
                }
                if let Some(pace) = plan.pace() {
                    write!(f, ", {pace} in a round-trip time")?;
                }
                write!(f, ", for {}: {why}", plan.round_trips())
            }
            Self::Remove { prefix, why } => write!(f, "{prefix}: no plan: {why}"),
            Self::RevertHost { until, harm } => {
                write!(f, "every prefix: no plan until {}: {harm}", seconds(*until))
            }
            Self::ResumeHost => write!(f, "every prefix: plans are made again"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HalfJump(target) => write!(f, "half of the jump to {target}"),
            Self::WholeJump { target, clean } => {
                write!(f, "{clean} planned connections whose first window did not overflow; {target}")
            }
            Self::Follow { target, from } => write!(f, "{from} segments before; {target}"),
            Self::Halved { from, host, misfit, strikes, hold_down } => write!(
                f,
                "half of {from}, because first windows overflow: the last one, to {host}, {misfit} (halving {strikes} of 3); \
                 no larger window for {}",
                seconds(*hold_down)
            ),
            Self::Renewed(target) => write!(f, "renewed; {target}"),
            Self::Operator => write!(f, "by order of the operator"),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { lost, sent } => write!(f, "lost {lost} of {sent} segments"),
            Self::Slow { delivered, of } => {
                let delivered = f64::from(*delivered) / f64::from(PARTS);
                write!(f, "delivered {delivered:.1} of {of} segments in a round trip")
            }
        }
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => write!(f, "no measurement of it is kept"),
            Self::NothingFrozen => write!(f, "the operator froze it while it had no plan"),
            Self::Due => write!(f, "a plan is made at the next review, within 16 s"),
            Self::Unfounded(lack) => write!(f, "{lack}"),
            Self::NoGain(target) => write!(f, "the stack's own window is enough; {target}"),
            Self::Split(estimate) => write!(f, "the prefix is split, because its hosts disagree: {estimate}"),
            Self::Disagree(estimate) => write!(f, "its hosts disagree: {estimate}"),
            Self::Frozen { host, until } => {
                write!(
                    f,
                    "first windows overflow for the third time, to {host} the last; frozen until {}",
                    seconds(*until)
                )
            }
            Self::Halved { from, host, until } => write!(
                f,
                "half of {from} segments is the stack's own window, after an overflow of the first window to {host}; no \
                 larger one until {}",
                seconds(*until)
            ),
            Self::Harm { harm, until } => write!(f, "{harm}; until {}", seconds(*until)),
            Self::Waiting { until } => {
                write!(f, "an overflow or a harm was found; until {}", seconds(*until))
            }
            Self::HostReverted { until } => {
                write!(f, "harm was found over all prefixes; until {}", seconds(*until))
            }
            Self::Observing => write!(f, "the mode is observe"),
            Self::Operator => write!(f, "by order of the operator"),
            Self::Forgotten => write!(f, "other prefixes needed the space"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "target {} segments: {}", self.window, self.estimate)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = |parts: u16| f64::from(parts) / f64::from(PARTS);
        write!(
            f,
            "median {:.1} segments, range {:.1} to {:.1}, deviation within a host {:.1}, {} hosts ({} measured to the \
             limit), {} samples",
            segments(self.median),
            segments(self.range.0),
            segments(self.range.1),
            segments(self.deviation),
            self.hosts,
            self.exact,
            self.samples
        )
    }
}

impl fmt::Display for Unfounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hosts { have, need } => write!(f, "{have} hosts with a sample; {need} are needed"),
            Self::Samples { have, need } => {
                write!(f, "samples of the weight of {have} new ones; {need} are needed")
            }
        }
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, bound) = match self.kind {
            HarmKind::Slower => ("complete later", self.verdict.slower),
            HarmKind::Lossier => ("lose more", self.verdict.lossier),
        };
        write!(
            f,
            "planned connections {what} than those held out ({} blocks, chance without harm at most {bound:.5})",
            self.verdict.blocks
        )?;
        match self.verdict.effect {
            Some([low, mean, high]) => write!(f, ", completion time x {mean:.2} ({low:.2} to {high:.2})"),
            None => Ok(()),
        }
    }
}

fn seconds(time: Nanos) -> String {
    format!("{:.0} s", time.0 as f64 / 1e9)
}
