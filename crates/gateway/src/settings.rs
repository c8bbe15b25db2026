//! The rules by which a gateway learns and plans.

use core::fmt;
use core::ops::RangeInclusive;

use firstflight_contract::Nanos;
use firstflight_document::quantity::show_time;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::serial;

/// Segments of the first window of a stack without a plan (RFC 6928).
pub const STOCK: u32 = 10;
/// Largest first window: a Linux 6.18 peer first offers 64,240 bytes over IPv4, 44 segments of 1460, and 64,800 bytes over IPv6,
/// 45 segments of 1440.
pub const MOST: u32 = 45;

/// Rules of a gateway. [`Default`] has the values of `docs/gateway-configuration.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Use of the plans.
    pub mode: Mode,
    /// Source of the windows.
    #[serde(with = "serial::policy")]
    pub policy: Policy,
    /// Leading bits of the IPv4 and IPv6 addresses that share a plan.
    pub bits: (u8, u8),
    /// Leading bits of the parts into which a prefix is split whose hosts disagree; [`None`] refuses it.
    pub split: Option<(u8, u8)>,
    /// Largest first window, segments: from [`STOCK`] to [`MOST`].
    pub window: u32,
    /// Whether plans set the slow-start threshold.
    pub ssthresh: bool,
    /// Time after which a sample has half its weight.
    #[serde(with = "serial::nanos")]
    pub half_life: Nanos,
    /// Least weight of samples for a plan, in samples of this moment.
    pub samples: u32,
    /// Least number of distinct hosts for a plan.
    pub hosts: u32,
    /// Time for which a plan is used without a renewal.
    #[serde(with = "serial::nanos")]
    pub lifetime: Nanos,
    /// Time without a larger window after an overflow of first windows.
    #[serde(with = "serial::nanos")]
    pub hold_down: Nanos,
    /// Time without a plan after three overflows, or after harm.
    #[serde(with = "serial::nanos")]
    pub freeze: Nanos,
    /// Connections of a thousand that start without the plan.
    pub holdout: u16,
    /// Most prefixes that are kept.
    pub prefixes: u32,
    /// Probability of a revert without harm: of one trial of a prefix, and of one trial of the host.
    pub false_alarm: (f64, f64),
    /// Orders of the operator; of several that cover an address the longest prefix counts.
    pub overrides: Vec<(Prefix, Override)>,
    /// Secret by which a prefix with many hosts chooses the ones it keeps.
    pub secret: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Observe,
            policy: Policy::Measured,
            bits: (24, 48),
            split: Some((28, 56)),
            window: MOST,
            ssthresh: false,
            half_life: Nanos::from_secs(600),
            samples: 8,
            hosts: 3,
            lifetime: Nanos::from_secs(1800),
            hold_down: Nanos::from_secs(600),
            freeze: Nanos::from_secs(3600),
            holdout: 50,
            prefixes: 1_000_000,
            false_alarm: (0.01, 0.001),
            overrides: vec![],
            secret: 0,
        }
    }
}

/// Use of the plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// No plan is made; an explanation still states the one that would be.
    Observe,
    /// Plans are made and shown.
    Advise,
    /// Plans are made and put in force.
    Enforce,
}

/// Source of the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The estimator of measured delivery rates.
    Measured,
    /// A policy of the simulator's shared memory of paths.
    Shared(firstflight_paths::Policy),
}

/// An order of the operator for a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// This first window, segments.
    Window(u32),
    /// The plan in force stays as it is.
    Freeze,
    /// No plan.
    Off,
}

impl Settings {
    /// Checks what the computations rely on, for settings that did not come through a configuration.
    ///
    /// # Errors
    /// The first setting out of its range, its value and the range.
    pub(crate) fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: u64, range: RangeInclusive<u64>| {
            let (least, most) = (range.start(), range.end());
            let why = || format!("{name} is {value}; expected {least} to {most}");
            if range.contains(&value) { Ok(()) } else { Err(why()) }
        };
        within("bits of IPv4", self.bits.0.into(), 0..=32)?;
        within("bits of IPv6", self.bits.1.into(), 0..=128)?;
        if let Some((v4, v6)) = self.split {
            within("split of IPv4", v4.into(), u64::from(self.bits.0) + 1..=32)?;
            within("split of IPv6", v6.into(), u64::from(self.bits.1) + 1..=128)?;
        }
        within("window", self.window.into(), STOCK.into()..=MOST.into())?;
        within("holdout", self.holdout.into(), 0..=1000)?;
        self.overrides.iter().try_for_each(|(_, order)| order.check(&self.windows()))
    }

    /// Takes the rules of `wanted` that may change while a gateway runs, and answers with those that differed. The others need
    /// other programs in the kernel, another state, or another memory of paths; orders come as events.
    pub fn adopt(&mut self, wanted: &Self) -> Vec<Changed> {
        let Self {
            mode,
            policy: _,
            bits: _,
            split: _,
            window: _,
            ssthresh: _,
            half_life,
            samples,
            hosts,
            lifetime,
            hold_down,
            freeze,
            holdout: _,
            prefixes: _,
            false_alarm: (prefix, host),
            overrides: _,
            secret: _,
        } = self;
        let mut changed = vec![];
        take(&mut changed, "mode", mode, wanted.mode, |mode| mode.label().to_owned());
        for (key, own, wanted) in [
            ("estimator.half_life", half_life, wanted.half_life),
            ("plan.lifetime", lifetime, wanted.lifetime),
            ("plan.hold_down", hold_down, wanted.hold_down),
            ("plan.freeze", freeze, wanted.freeze),
        ] {
            take(&mut changed, key, own, wanted, |time| show_time(*time));
        }
        take(&mut changed, "estimator.samples", samples, wanted.samples, u32::to_string);
        take(&mut changed, "estimator.hosts", hosts, wanted.hosts, u32::to_string);
        take(&mut changed, "trial.false_alarm_prefix", prefix, wanted.false_alarm.0, f64::to_string);
        take(&mut changed, "trial.false_alarm_host", host, wanted.false_alarm.1, f64::to_string);
        changed
    }

    /// First windows that an order may have, segments: the kernel starts no connection with fewer than the stack's own, and none with
    /// more than the limit of the configuration.
    pub fn windows(&self) -> RangeInclusive<u32> {
        STOCK..=self.window
    }
}

/// A setting that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Key of the configuration.
    pub key: &'static str,
    /// Value before.
    pub before: String,
    /// Value now.
    pub now: String,
}

/// Takes a value, and notes the change if it is one.
fn take<T: PartialEq>(
    changed: &mut Vec<Changed>,
    key: &'static str,
    own: &mut T,
    wanted: T,
    show: impl Fn(&T) -> String,
) {
    if *own != wanted {
        changed.push(Changed { key, before: show(own), now: show(&wanted) });
        *own = wanted;
    }
}

impl Mode {
    /// Its word in a configuration.
    pub fn label(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Advise => "advise",
            Self::Enforce => "enforce",
        }
    }
}

impl Override {
    /// Checks the window against those that an order may have.
    ///
    /// # Errors
    /// The window and its range.
    pub fn check(self, windows: &RangeInclusive<u32>) -> Result<(), String> {
        match self {
            Self::Window(window) if !windows.contains(&window) => {
                let (least, most) = (windows.start(), windows.end());
                Err(format!("a first window of {window} segments; expected {least} to {most}"))
            }
            _ => Ok(()),
        }
    }

    /// Reads `off`, `freeze` or a number of segments, as `Display` writes it.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "freeze" => Some(Self::Freeze),
            // A sign is no digit.
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().map(Self::Window)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window(window) => write!(f, "{window}"),
            Self::Freeze => write!(f, "freeze"),
            Self::Off => write!(f, "off"),
        }
    }
}

impl Policy {
    /// `measured`, or the label of the policy with its defaults.
    pub fn by_label(label: &str) -> Option<Self> {
        match label {
            "measured" => Some(Self::Measured),
            label => firstflight_paths::Policy::new(label, &[]).ok().map(Self::Shared),
        }
    }

    /// `measured`, or the label of the policy.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Shared(policy) => policy.label(),
        }
    }
}
