//! What a cluster is to keep, and how it averages: the constants of the papers unless a policy sets others.

use firstflight_contract::Nanos;
use firstflight_schemes::startup::miss::Bursts;
use firstflight_schemes::startup::spand::Estimate;
use firstflight_schemes::startup::{averaged, miss, spand};

use crate::averages::{MOST_PARTS, PARTS};
use crate::policy::PolicyError;

/// What a cluster keeps: nothing but its live connections by default. Each policy asks for what it reads
/// ([`Policy::settings`](crate::Policy::settings)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The moving average of every live window: alpha of ns-2's `awnd`, the weight of one ACK.
    pub alpha: Option<f64>,
    /// Intervals between drops.
    pub drops: Option<Drops>,
    /// Regular samples of every live window.
    pub sampling: Option<Sampling>,
    /// Reports of windows that met a loss or the end of their transfer.
    pub reporting: Option<Reporting>,
    /// How many destinations of closed connections to remember at most.
    pub destinations: u32,
}

/// Moving averages of the intervals between drops: Yu and Newman, equations (3) and (4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drops {
    /// Weight of an interval between drops of any connections of the cluster.
    pub lambda: f64,
    /// Weight of an interval between drops of one connection.
    pub theta: f64,
    /// Which drops are one event.
    pub bursts: Bursts,
}

impl From<&miss::Parameters> for Drops {
    fn from(parameters: &miss::Parameters) -> Self {
        let miss::Parameters { lambda, theta, bursts, .. } = *parameters;
        Self { lambda, theta, bursts }
    }
}

/// Every live connection's window, taken at regular times: Yu and Newman's model of a network monitor (section 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Time between samples.
    pub every: Nanos,
    /// How long samples count; a whole number of `refresh`.
    pub window: Nanos,
    /// How often the average is made anew.
    pub refresh: Nanos,
}

impl From<&averaged::Parameters> for Sampling {
    fn from(parameters: &averaged::Parameters) -> Self {
        let averaged::Parameters { sample, window, refresh } = *parameters;
        Self { every: sample, window, refresh }
    }
}

/// What SPAND's performance gateway collects (Zhang, Qiu, Keshav, section "System architecture").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// How long a report counts.
    pub window: Nanos,
    /// How reports become an estimate.
    pub estimate: Estimate,
}

impl From<&spand::Parameters> for Reporting {
    fn from(parameters: &spand::Parameters) -> Self {
        let spand::Parameters { window, estimate, .. } = *parameters;
        Self { window, estimate }
    }
}

/// Two policies cannot share a cluster: they want this kept in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The parameters in which they differ.
    pub parameter: &'static str,
}

impl core::fmt::Display for Conflict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "schemes that share a cluster must agree on {}", self.parameter)
    }
}

impl core::error::Error for Conflict {}

impl Settings {
    /// Whether what is asked for can be kept.
    pub(crate) fn check(&self) -> Result<(), PolicyError> {
        let refuse = |parameter, expected| Err(PolicyError::Value { parameter, expected });
        if let Some(Sampling { every, window, refresh }) = self.sampling {
            if every == Nanos::ZERO || refresh == Nanos::ZERO {
                return refuse("sample and refresh", "longer than no time");
            }
            if !window.0.is_multiple_of(refresh.0) || !(1..=MOST_PARTS).contains(&(window.0 / refresh.0)) {
                return refuse("window", "a whole number of times refresh, from 1 to 60");
            }
        }
        if self.reporting.is_some_and(|reporting| reporting.window.0 < PARTS) {
            return refuse("window", "longer than no time");
        }
        Ok(())
    }

    /// Whether a cluster knows anything once its last connection is closed.
    pub(crate) fn outlive_connections(&self) -> bool {
        let Self { alpha: _, drops, sampling, reporting, destinations } = *self;
        drops.is_some() || sampling.is_some() || reporting.is_some() || destinations > 0
    }

    /// What serves both.
    pub(crate) fn and(self, other: Self) -> Result<Self, Conflict> {
        Ok(Self {
            alpha: either(self.alpha, other.alpha, "alpha")?,
            drops: either(self.drops, other.drops, "lambda, theta and bursts")?,
            sampling: either(self.sampling, other.sampling, "sample, window and refresh")?,
            reporting: either(self.reporting, other.reporting, "window and estimate")?,
            destinations: self.destinations.max(other.destinations),
        })
    }
}

fn either<T: PartialEq>(a: Option<T>, b: Option<T>, parameter: &'static str) -> Result<Option<T>, Conflict> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => Err(Conflict { parameter }),
        (a, b) => Ok(a.or(b)),
    }
}
