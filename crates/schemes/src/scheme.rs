//! Declaration of a scheme: label, source, needs and parameters, written once in the scheme's file.
//!
//! [`scheme!`](crate::scheme!) turns one declaration into the listing entry, the
//! [`Declaration`](firstflight_contract::Declaration) that hosts read, and the struct of parameters with its defaults.

use firstflight_contract::{Declared, Nanos, Phase, Rate, Role, Signals};

/// Type and range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number without unit, within two bounds, both allowed.
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

impl ParamKind {
    /// The value that a word names: one of the words, `true` or `false`, or a number; `None` if it names none, and for times and rates.
    pub fn named(self, word: &str) -> Option<Value> {
        let value = match self {
            Self::Choice(words) => words.iter().position(|known| *known == word).map(Value::Choice),
            Self::Flag => word.parse().ok().map(Value::Flag),
            Self::Number { .. } => word.parse().ok().map(Value::Number),
            Self::Packets => word.parse().ok().map(Value::Packets),
            Self::Time | Self::Rate => None,
        };
        value.filter(|value| self.accepts(*value))
    }

    /// Whether a value has this type and lies in this range.
    pub fn accepts(self, value: Value) -> bool {
        match (self, value) {
            (Self::Number { min, max }, Value::Number(x)) => (min..=max).contains(&x),
            (Self::Choice(words), Value::Choice(index)) => index < words.len(),
            (Self::Time, Value::Time(_))
            | (Self::Packets, Value::Packets(_))
            | (Self::Rate, Value::Rate(_))
            | (Self::Flag, Value::Flag(_)) => true,
            _ => false,
        }
    }
}

/// One parameter of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Key in a scenario.
    pub name: &'static str,
    /// Type and range.
    pub kind: ParamKind,
    /// Default, in the notation of a scenario.
    pub default: &'static str,
    /// Effect and source, in one line.
    pub doc: &'static str,
}

/// A value of a parameter.
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

/// Entry of a scheme in listings.
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

/// A phase with an entry in listings and with parameters. [`scheme!`](crate::scheme!) implements it.
pub trait Scheme: Phase + Declared {
    /// The entry in listings; the same for every value of the scheme.
    fn info(&self) -> &'static Info;

    /// Sets the parameter `name` of `info().params`; its kind [accepts](ParamKind::accepts) `value`.
    ///
    /// # Panics
    /// If the scheme has no such parameter.
    fn set(&mut self, name: &str, value: Value);
}

/// Type of a parameter's field.
pub trait Field: Sized {
    /// The field's value for a parameter's value; `None` if the parameter is of another kind.
    fn from_value(value: Value) -> Option<Self>;
}

/// Type of a parameter's field that needs no range.
#[diagnostic::on_unimplemented(message = "a parameter of type `{Self}` needs a range: `in MIN..=MAX`")]
pub trait Unbounded: Field {
    /// Kind of the parameter.
    const KIND: ParamKind;
}

macro_rules! fields {
    ($($type:ty: $pattern:pat => $value:expr, $kind:expr;)+) => { $(
        impl Field for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let $pattern = value { Some($value) } else { None }
            }
        }
        impl Unbounded for $type {
            const KIND: ParamKind = $kind;
        }
    )+ };
}

fields! {
    Nanos: Value::Time(time) => time, ParamKind::Time;
    Rate: Value::Rate(rate) => rate, ParamKind::Rate;
    bool: Value::Flag(on) => on, ParamKind::Flag;
}

/// A number of packets, or with a range a whole number.
impl Field for u64 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Packets(n) => Some(n),
            Value::Number(x) => Some(nearest(x)),
            _ => None,
        }
    }
}

impl Unbounded for u64 {
    const KIND: ParamKind = ParamKind::Packets;
}

impl Field for u32 {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Number(x) = value { u32::try_from(nearest(x)).ok() } else { None }
    }
}

impl Field for f64 {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Number(x) = value { Some(x) } else { None }
    }
}

/// A number without unit as a whole number of parts, of which `ONE` make one: the algorithms calculate with integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<const ONE: u64>(
    /// The number of parts.
    pub u64,
);

impl<const ONE: u64> Fixed<ONE> {
    /// The number of parts nearest to `x`, which is not negative.
    pub const fn new(x: f64) -> Self {
        Self(nearest(x * ONE as f64))
    }
}

impl<const ONE: u64> Field for Fixed<ONE> {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Number(x) = value { Some(Self::new(x)) } else { None }
    }
}

/// The whole number nearest to `x`, a half rounded up; zero for a negative `x`. (`f64::round` is not in `core`.)
pub const fn nearest(x: f64) -> u64 {
    let whole = x as u64;
    if x - whole as f64 >= 0.5 { whole.saturating_add(1) } else { whole }
}

/// Declares a scheme: its listing entry, the facts that hosts read, and its parameters.
///
/// ```
/// use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Role, Signals, Step, slow_start};
/// use firstflight_schemes::scheme;
///
/// /// Slow start that stops when the RTT exceeds a limit.
/// #[derive(Clone, Debug, Default)]
/// pub struct Cautious {
///     parameters: Parameters,
/// }
///
/// scheme! {
///     impl Scheme for Cautious {
///         label: "cautious",
///         role: Role::Startup,
///         source: "an example",
///         summary: "slow start that grows only while the RTT is small",
///         needs: Signals::RTT,
///     }
///
///     pub struct Parameters {
///         /// largest RTT with which the window grows
///         limit: Nanos = 100 ms,
///         /// largest window
///         cap: u64 = 64 packets,
///         /// growth of slow start over growth of this scheme
///         divisor: u32 in 1..=16 = 2,
///     }
/// }
///
/// impl Phase for Cautious {
///     fn enter(&mut self, _: &Entry, _: &mut Control) {}
///
///     fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
///         let Parameters { limit, cap, divisor } = self.parameters;
///         if ack.rtt > limit || control.cwnd >= cap * u64::from(ack.mss) {
///             return Step::Stay;
///         }
///         slow_start(&Ack { growth: ack.growth / u64::from(divisor), ..*ack }, control)
///     }
///
///     fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
///         Step::Exit(event.trigger.into())
///     }
/// }
///
/// let schemes = firstflight_schemes::catalogue::Schemes::built_in().with(Cautious::default()).unwrap();
/// assert!(schemes.chain(&["cautious", "reno"]).is_some());
/// assert_eq!(Cautious::INFO.params[1].default, "64 packets");
/// ```
///
/// After `summary` come fields of [`Declaration`](firstflight_contract::Declaration) that differ from
/// [`Declaration::new`](firstflight_contract::Declaration::new). The scheme keeps its parameters in the field
/// `parameters`. [`parameters!`](crate::parameters!) describes their notation; `type Parameters = T;` takes a struct that
/// was declared elsewhere, and a scheme without parameters omits this part. A scheme whose state depends on parameters
/// adds `on set: METHOD;`, which runs after each change.
#[macro_export]
macro_rules! scheme {
    (
        impl Scheme for $scheme:ty {
            label: $label:literal,
            role: $role:expr,
            source: $source:expr,
            summary: $summary:expr
            $(, $fact:ident: $value:expr)* $(,)?
        }
        $(on set: $configure:ident;)?
        $(#[$meta:meta])* pub struct $parameters:ident { $($fields:tt)+ }
    ) => {
        $crate::parameters! {
            $(#[$meta])*
            #[doc = concat!("Parameters of `", $label, "`.")]
            pub struct $parameters { $($fields)+ }
        }

        $crate::scheme! {
            impl Scheme for $scheme {
                label: $label, role: $role, source: $source, summary: $summary $(, $fact: $value)*
            }
            $(on set: $configure;)?
            type Parameters = $parameters;
        }
    };
    (
        impl Scheme for $scheme:ty {
            label: $label:literal,
            role: $role:expr,
            source: $source:expr,
            summary: $summary:expr
            $(, $fact:ident: $value:expr)* $(,)?
        }
        $(on set: $configure:ident;)?
        $(type Parameters = $parameters:ty;)?
    ) => {
        impl $scheme {
            /// Entry in listings.
            pub const INFO: $crate::scheme::Info = $crate::scheme::Info {
                label: $label,
                role: $role,
                source: $source,
                summary: $summary,
                needs: Self::DECLARATION.needs,
                params: {
                    const NONE: &[$crate::scheme::Param] = &[];
                    let params = NONE;
                    $(let _ = params; let params = <$parameters>::PARAMS;)?
                    params
                },
            };
            /// Facts for hosts.
            pub const DECLARATION: $crate::firstflight_contract::Declaration =
                $crate::firstflight_contract::Declaration {
                    $($fact: $value,)*
                    ..$crate::firstflight_contract::Declaration::new($label, $role)
                };
        }

        impl $crate::firstflight_contract::Declared for $scheme {
            fn declaration(&self) -> &'static $crate::firstflight_contract::Declaration {
                &Self::DECLARATION
            }
        }

        impl $crate::scheme::Scheme for $scheme {
            fn info(&self) -> &'static $crate::scheme::Info {
                &Self::INFO
            }

            fn set(&mut self, name: &str, value: $crate::scheme::Value) {
                let set = false;
                $(let set = set || <$parameters>::set(&mut self.parameters, name, value);)?
                assert!(set, "{} has no parameter {name} that takes {value:?}", $label);
                $(self.$configure();)?
            }
        }
    };
}

/// Declares a struct of parameters, each once: documentation, name, type, range and default.
///
/// - `name: Nanos = 4 ms` (`ns`, `us`, `ms`, `s`), `name: Rate = 10 Mbit/s`, `name: u64 = 8 packets`, `name: bool = true`;
/// - `name: u32 in 1..=64 = 8`, a whole number; `name: Fixed<1000> in 0.0..=1.0 = 0.5`, a fraction in thousandths;
/// - `name: Rules = Linux`, a word of an enum that [`choice!`](crate::choice!) declares.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ident $(<$one:tt>)? $(in $min:tt..=$max:tt)?
                    = $default:tt $($unit:ident $(/$per:ident)?)?
            ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility struct $name {
            $($(#[doc = $doc])+ pub $field: $type $(<$one>)?,)+
        }

        impl $name {
            /// The parameters, in listing order.
            pub const PARAMS: &'static [$crate::scheme::Param] = &[$($crate::scheme::Param {
                name: stringify!($field),
                kind: $crate::parameters!(@kind [$type $(<$one>)?] $($min $max)?),
                default: $crate::parameters!(@text [$type] $default $($unit $(/$per)?)?),
                doc: concat!($($doc),+).trim_ascii_start(),
            }),+];

            /// Sets the parameter `name`; whether there is one that takes `value`.
            pub fn set(&mut self, name: &str, value: $crate::scheme::Value) -> bool {
                $(
                    if name == stringify!($field) {
                        let value = <$type $(<$one>)? as $crate::scheme::Field>::from_value(value);
                        return value.map(|value| self.$field = value).is_some();
                    }
                )+
                false
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: const { $crate::parameters!(@default [$type $(<$one>)?] $default $($unit $(/$per)?)?) },)+
                }
            }
        }
    };
    (@kind [$type:ty]) => { <$type as $crate::scheme::Unbounded>::KIND };
    (@kind [$type:ty] $min:tt $max:tt) => {
        $crate::scheme::ParamKind::Number { min: $min as f64, max: $max as f64 }
    };
    (@text [$type:ident] $value:literal) => { concat!($value) };
    (@text [$type:ident] $value:literal $unit:ident) => { concat!($value, " ", stringify!($unit)) };
    (@text [$type:ident] $value:literal $unit:ident/$per:ident) => {
        concat!($value, " ", stringify!($unit), "/", stringify!($per))
    };
    (@text [$type:ident] $word:ident) => { $type::$word.word() };
    (@default [$type:ty] $value:literal ns) => { $crate::firstflight_contract::Nanos($value) };
    (@default [$type:ty] $value:literal us) => { $crate::firstflight_contract::Nanos::from_micros($value) };
    (@default [$type:ty] $value:literal ms) => { $crate::firstflight_contract::Nanos::from_millis($value) };
    (@default [$type:ty] $value:literal s) => { $crate::firstflight_contract::Nanos::from_secs($value) };
    (@default [$type:ty] $value:literal packets) => { $value };
    (@default [$type:ty] $value:literal Mbit/s) => {
        $crate::firstflight_contract::Rate($crate::scheme::nearest($value as f64 * 1e6))
    };
    (@default [$type:ident<$one:tt>] $value:literal) => { <$type<$one>>::new($value as f64) };
    (@default [$type:ty] $value:literal) => { $value };
    (@default [$type:ty] $word:ident) => { <$type>::$word };
}

/// Declares an enum whose variants are the words of a parameter.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant),+
        }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word in a scenario.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl $crate::scheme::Field for $name {
            fn from_value(value: $crate::scheme::Value) -> Option<Self> {
                let $crate::scheme::Value::Choice(index) = value else { return None };
                [$(Self::$variant),+].get(index).copied()
            }
        }

        impl $crate::scheme::Unbounded for $name {
            const KIND: $crate::scheme::ParamKind = $crate::scheme::ParamKind::Choice(Self::WORDS);
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_whole_number_is_that_of_round() {
        for x in [
            0.0,
            0.25,
            0.499_999_999_999_999_94,
            0.5,
            1.5,
            2.499,
            0.7 * 4_294_967_296.0,
            1e15 + 0.5,
            1e19,
            1e30,
        ] {
            assert_eq!(nearest(x), x.round() as u64, "{x}");
        }
        assert_eq!(nearest(-3.0), 0);
    }
}
