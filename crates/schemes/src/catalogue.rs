//! The schemes that a program can look up by label: the built-in ones and its own.
//!
//! Reading a scenario takes a [`Schemes`], so that a label may name a scheme that the registry does not list.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Debug};

use firstflight_contract::Role;

use crate::registry::{AnyPhase, SCHEMES};
use crate::scheme::{Info, Scheme};

/// A catalogue of schemes, in listing order: built-in schemes first.
#[derive(Clone, Debug)]
pub struct Schemes {
    own: Vec<AnyPhase>,
}

/// Reason why a catalogue cannot take a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelError {
    /// The catalogue has a scheme with this label in this role.
    Taken(&'static str, Role),
    /// The label is empty, begins with `+`, or contains another character than `a` to `z`, `0` to `9`, `-`, `+`.
    Invalid(String),
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(label, role) => write!(f, "there is already a {} scheme \"{label}\"", role.label()),
            Self::Invalid(label) => write!(
                f,
                "\"{label}\" is not a label: expected lower-case letters, digits, - and +, not beginning with +"
            ),
        }
    }
}

impl core::error::Error for LabelError {}

impl Default for Schemes {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Schemes {
    /// The registered schemes.
    pub const fn built_in() -> Self {
        Self { own: Vec::new() }
    }

    /// The same catalogue with `scheme`, whose present parameters are its defaults.
    ///
    /// # Errors
    /// [`LabelError`] if the label of the scheme is taken for its role, or is no label.
    pub fn with(
        mut self,
        scheme: impl Scheme + Clone + Debug + Send + Sync + 'static,
    ) -> Result<Self, LabelError> {
        let scheme = AnyPhase::custom(scheme);
        let Info { label, role, .. } = *scheme.info();
        let legal = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'+');
        if label.is_empty() || label.starts_with('+') || !label.bytes().all(legal) {
            return Err(LabelError::Invalid(label.into()));
        }
        if self.get(label, &[role]).is_some() {
            return Err(LabelError::Taken(label, role));
        }
        self.own.push(scheme);
        Ok(self)
    }

    /// The entry of every scheme.
    pub fn infos(&self) -> impl Iterator<Item = &'static Info> + Clone {
        SCHEMES.iter().chain(self.own.iter().map(AnyPhase::info))
    }

    /// Every label, once: a start-up scheme and an avoidance scheme may share one.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.infos().enumerate().filter_map(|(at, info)| {
            let first = self.infos().take(at).all(|before| before.label != info.label);
            first.then_some(info.label)
        })
    }

    /// The entry of the first scheme with this label and one of these roles.
    pub fn get(&self, label: &str, roles: &[Role]) -> Option<&'static Info> {
        self.infos().find(|info| info.label == label && roles.contains(&info.role))
    }

    /// The first scheme with this label and one of these roles, its parameters at their defaults. A label may stand for a
    /// start-up scheme and for an avoidance scheme (`vegas`): the place in a chain decides ([`Role::LEADING`],
    /// [`Role::LAST`]).
    pub fn by_label(&self, label: &str, roles: &[Role]) -> Option<AnyPhase> {
        let own = |phase: &&AnyPhase| phase.info().label == label && roles.contains(&phase.info().role);
        AnyPhase::with_role(label, roles).or_else(|| self.own.iter().find(own).cloned())
    }

    /// The phases with these labels, looked up by their places in a chain: the last never ends, the others do.
    pub fn chain(&self, labels: &[&str]) -> Option<Vec<AnyPhase>> {
        let roles = |at| if at + 1 == labels.len() { Role::LAST } else { Role::LEADING };
        labels.iter().enumerate().map(|(at, label)| self.by_label(label, roles(at))).collect()
    }
}
