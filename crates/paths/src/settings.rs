//! Settings of a cluster: the data that it keeps, and its averages. The constants are those of the papers
//! unless a policy sets others.

use firstflight_contract::Nanos;
use firstflight_schemes::startup::miss::Bursts;
use firstflight_schemes::startup::spand::Estimate;
use firstflight_schemes::startup::{averaged, miss, spand};

use crate::averages::{MOST_PARTS, PARTS};
use crate::policy::PolicyError;

/// Data that a cluster keeps; by default only its live connections. Each policy asks for the data that it
/// reads ([`Policy::settings`](crate::Policy::settings)).
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
    /// Maximum number of destinations of closed connections to remember.
    pub destinations: u32,
}

/// Moving averages of the intervals between drops: Yu and Newman, equations (3) and (4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drops {
    /// Weight of an interval between drops of any connections of the cluster.
    pub lambda: f64,
    /// Weight of an interval between drops of one connection.
    pub theta: f64,
    /// Rule by which several drops are one event.
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
    /// Time for which samples count; a whole number of `refresh`.
    pub window: Nanos,
    /// Time between computations of the average.
    pub refresh: Nanos,
}

impl From<&averaged::Parameters> for Sampling {
    fn from(parameters: &averaged::Parameters) -> Self {
        let averaged::Parameters { sample, window, refresh } = *parameters;
        Self { every: sample, window, refresh }
    }
}

/// Reports that SPAND's performance gateway collects (Zhang, Qiu, Keshav, section "System architecture").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reporting {
    /// Time for which a report counts.
    pub window: Nanos,
    /// Method that derives an estimate from the reports.
    pub estimate: Estimate,
}

impl From<&spand::Parameters> for Reporting {
    fn from(parameters: &spand::Parameters) -> Self {
        let spand::Parameters { window, estimate, .. } = *parameters;
        Self { window, estimate }
    }
}

/// Two policies cannot share a cluster: they require different settings for the same data.
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
    /// Checks that a cluster can keep this data.
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

    /// Whether a cluster keeps data after its last connection is closed.
    pub(crate) fn outlive_connections(&self) -> bool {
        let Self { alpha: _, drops, sampling, reporting, destinations } = *self;
        drops.is_some() || sampling.is_some() || reporting.is_some() || destinations > 0
    }

    /// Settings that serve both.
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
