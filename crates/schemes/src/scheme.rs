//! What a scheme says of itself: label, source, parameters, needs.

use firstflight_contract::{Beginning, Declaration, Nanos, Phase, Rate, Role, Signals};

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

/// Everything the registry lists about a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Stable label.
    pub label: &'static str,
    /// Place in a connection's life.
    pub role: Role,
    /// Paper and section, or RFC.
    pub source: &'static str,
    /// One sentence for listings.
    pub summary: &'static str,
    /// Signals that the scheme needs from its host.
    pub needs: Signals,
    /// Parameters.
    pub params: &'static [Param],
}

/// A registered phase.
pub trait Scheme: Phase + Default {
    /// The entry in listings.
    const INFO: Info;

    /// How a connection begins under the scheme, if it never ends.
    const BEGINNING: Beginning = Beginning::Startup;
    /// See [`Declaration::below_threshold`].
    const BELOW_THRESHOLD: bool = false;
    /// See [`Declaration::watches`].
    const WATCHES: bool = false;
    /// See [`Declaration::resumes`].
    const RESUMES: bool = false;

    /// The declaration that hosts read.
    const DECLARATION: Declaration = Declaration {
        needs: Self::INFO.needs,
        beginning: Self::BEGINNING,
        below_threshold: Self::BELOW_THRESHOLD,
        watches: Self::WATCHES,
        resumes: Self::RESUMES,
        ..Declaration::new(Self::INFO.label, Self::INFO.role)
    };

    /// Sets the parameter `name`, one of `INFO.params`; `value` has the parameter's kind.
    fn set(&mut self, name: &str, value: Value) {
        let _ = value;
        unreachable!("{} has no parameter {name}", Self::INFO.label)
    }
}
