//! Start plans from the data of a cluster and a transfer about to start: one file for each scheme, each a pure function.

mod averaged;
mod cached;
mod careful_resume;
mod fair;
mod iss;
mod js;
mod liss;
mod miss;
mod optimum;
mod spand;

pub use optimum::Epoch;

use firstflight_contract::Plan;
use firstflight_schemes::scheme::Value;
use firstflight_schemes::startup;

use crate::settings::{Conflict, Settings};
use crate::{Cluster, Transfer};

/// The rule by which a policy plans, implemented by the parameters of the start-up scheme that follows its plans.
trait Rule {
    /// The data that a cluster has to keep for the policy.
    fn settings(&self) -> Settings;

    /// The plan for a transfer; all zero if the cluster has no data for one.
    fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan;
}

macro_rules! policies {
    ($($name:ident $module:ident),+ $(,)?) => {
        /// The start of a transfer as a function of its cluster. Labels and parameters are those of the start-up scheme
        /// that follows the plan.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented by the parameters of its scheme")]
        pub enum Policy { $($name(startup::$module::Parameters)),+ }

        impl Policy {
            /// Every label.
            pub const LABELS: &[&str] = &[$(startup::$module::$name::INFO.label),+];

            /// The label of the scheme that follows its plans.
            pub fn label(&self) -> &'static str {
                match self { $(Self::$name(_) => startup::$module::$name::INFO.label),+ }
            }

            /// The data that a cluster has to keep for the policy.
            pub fn settings(&self) -> Settings {
                match self { $(Self::$name(rule) => rule.settings()),+ }
            }

            /// The plan for this transfer; all zero if the cluster has no data for one.
            pub fn plan(&self, cluster: &Cluster, transfer: &Transfer) -> Plan {
                match self { $(Self::$name(rule) => rule.plan(cluster, transfer)),+ }
            }

            fn by_label(label: &str) -> Option<Self> {
                $(if label == startup::$module::$name::INFO.label {
                    return Some(Self::$name(Default::default()));
                })+
                None
            }

            /// Sets one parameter; whether the policy has one of this name that takes `value`.
            fn set(&mut self, name: &str, value: Value) -> bool {
                match self { $(Self::$name(parameters) => parameters.set(name, value)),+ }
            }
        }
    };
}

policies! {
    Liss liss,
    Iss iss,
    Miss miss,
    Js js,
    Cached cached,
    CarefulResume careful_resume,
    Averaged averaged,
    Spand spand,
}

/// Reason why a policy cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// No start-up scheme of this label follows a plan.
    Label(String),
    /// The scheme has no such parameter, or none of this kind.
    Parameter(String),
    /// The values of these parameters are invalid, alone or together.
    Value {
        /// The parameters.
        parameter: &'static str,
        /// The valid values.
        expected: &'static str,
    },
}

impl core::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Label(label) => {
                let known = Policy::LABELS.join(", ");
                write!(f, "{label} does not start from what other connections know; these do: {known}")
            }
            Self::Parameter(name) => write!(f, "there is no parameter {name} of this kind"),
            Self::Value { parameter, expected } => write!(f, "{parameter} must be {expected}"),
        }
    }
}

impl core::error::Error for PolicyError {}

impl Policy {
    /// The policy of the scheme `label` with these parameters, those of the registry's
    /// [`Info`](firstflight_schemes::scheme::Info), already checked against it; the others have their defaults.
    ///
    /// # Errors
    /// [`PolicyError`] if no scheme of this label follows plans, if it has no such parameter, or if the values are invalid.
    pub fn new(label: &str, params: &[(&str, Value)]) -> Result<Self, PolicyError> {
        let mut policy = Self::by_label(label).ok_or_else(|| PolicyError::Label(label.to_owned()))?;
        for &(name, value) in params {
            if !policy.set(name, value) {
                return Err(PolicyError::Parameter(name.to_owned()));
            }
        }
        policy.settings().check()?;
        Ok(policy)
    }

    /// Whether its plans are for transfers after an idle time, too, not only for the first of a connection.
    pub fn after_idle(&self) -> bool {
        matches!(self, Self::Spand(_))
    }

    /// Settings of a cluster that keeps the data for all of these policies.
    ///
    /// # Errors
    /// [`Conflict`] if two of them require different settings for the same data.
    pub fn settings_for<'a>(policies: impl IntoIterator<Item = &'a Self>) -> Result<Settings, Conflict> {
        policies.into_iter().try_fold(Settings::default(), |all, policy| all.and(policy.settings()))
    }
}
