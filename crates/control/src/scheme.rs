//! What a scheme says of itself: label, source, parameters, needs.

use crate::contract::{Phase, Signals};
use crate::units::{Nanos, Rate};

/// Where in a connection's life a scheme belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Begins a connection, and ends.
    Startup,
    /// Follows a start-up phase, and never ends.
    Avoidance,
    /// Both in one (BBR); it rules the window while losses are repaired, too.
    Whole,
}

impl Role {
    /// Every role, in the order of listings.
    pub const ALL: [Self; 3] = [Self::Startup, Self::Avoidance, Self::Whole];
    /// What all phases of a chain but its last are.
    pub const LEADING: &[Self] = &[Self::Startup];
    /// What the last phase of a chain may be.
    pub const LAST: &[Self] = &[Self::Avoidance, Self::Whole];

    /// The word used in results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Avoidance => "avoidance",
            Self::Whole => "whole",
        }
    }
}

/// How a connection begins under a scheme that never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// With a start-up scheme, and below `ssthresh` it is in slow start (RFC 5681 section 3.1).
    Startup,
    /// By the scheme's own rule, which also holds below `ssthresh`; a start-up scheme may go before it.
    Own,
    /// By the scheme's own rule, and nothing can go before it.
    Alone,
}

/// The type of a parameter, with what it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number without unit between two bounds, both allowed.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// A time, written with its unit.
    Time,
    /// A number of packets.
    Packets,
    /// A rate, written with its unit.
    Rate,
    /// On or off.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One parameter of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its key in a scenario.
    pub name: &'static str,
    /// Its type and range.
    pub kind: ParamKind,
    /// Its default, as one would write it.
    pub default: &'static str,
    /// What it does, in one line, with its source.
    pub doc: &'static str,
}

/// A value given for a parameter, already checked against its [`ParamKind`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// For [`ParamKind::Number`].
    Number(f64),
    /// For [`ParamKind::Time`].
    Time(Nanos),
    /// For [`ParamKind::Packets`].
    Packets(u64),
    /// For [`ParamKind::Rate`].
    Rate(Rate),
    /// For [`ParamKind::Flag`].
    Flag(bool),
    /// For [`ParamKind::Choice`]: the index of the word.
    Choice(usize),
}

/// What the registry knows of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its stable label.
    pub label: &'static str,
    /// Where it belongs.
    pub role: Role,
    /// Paper and section, or RFC.
    pub source: &'static str,
    /// One sentence for listings.
    pub summary: &'static str,
    /// What it needs of a host.
    pub needs: Signals,
    /// What may be set.
    pub params: &'static [Param],
}

/// A registered phase.
pub trait Scheme: Phase + Default {
    /// What the registry lists.
    const INFO: Info;

    /// How a connection begins under it, if it never ends.
    const BEGINNING: Beginning = Beginning::Startup;

    /// Sets the parameter `name`, one of `INFO.params`; `value` has the parameter's kind.
    fn set(&mut self, name: &str, value: Value) {
        let _ = value;
        unreachable!("{} has no parameter {name}", Self::INFO.label)
    }
}

impl<S: Scheme> Scheme for Box<S> {
    const INFO: Info = S::INFO;
    const BEGINNING: Beginning = S::BEGINNING;

    fn set(&mut self, name: &str, value: Value) {
        (**self).set(name, value);
    }
}
