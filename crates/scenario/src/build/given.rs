//! Values for the builder: typed quantities, their text, distributions, schemes.

use core::marker::PhantomData;
use core::time::Duration;

use firstflight_contract::{Nanos, Rate};
use firstflight_schemes::registry::AnyPhase;

use super::{Loss, OnOff, Phase, Queue, Reorder, Rounds, Shaper};
use crate::canonical;
use crate::model::{self, DataInSyn, IdleRestart, Interval, Limit, PartialAcks, Reads, Receiver, Recovery};
use crate::profile::Profile;
use crate::scheme::PhaseSpec;
use crate::trace::LinkTrace;
use firstflight_document::quantity::{Amount, Depth, show_bytes};
use firstflight_document::{Tree, Value};
use firstflight_random::Dist;

/// A type that gives a value of kind `K`, one of [`kind`].
///
/// Text is read as in a file: `"40 Mbit/s"`. [`Builder::build`](super::Builder::build) checks all values.
pub trait ValueOf<K> {
    /// The value.
    #[doc(hidden)]
    fn given(self) -> Given;
}

/// A value of the format.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Given(pub(crate) Value);

impl<K> ValueOf<K> for Given {
    fn given(self) -> Given {
        self
    }
}

/// Kinds of values.
pub mod kind {
    use core::marker::PhantomData;

    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
            $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub enum $name {})+
        };
    }

    kinds! {
        /// Name of a group, a node or a link: `&str`.
        Name,
        /// Names of nodes or subnets: `&str`, an array or a `Vec`.
        Names,
        /// A file: its name, relative to the builder's folder.
        File,
        /// A trace of a link: the name of its file, or a [`LinkTrace`](crate::LinkTrace).
        Trace,
        /// `bool`.
        Flag,
        /// A whole number.
        Whole,
        /// Whole numbers: an array or a `Vec`.
        Numbers,
        /// A whole number or `"unlimited"`.
        Count,
        /// A number without unit.
        Number,
        /// A [`Shaper`](super::super::Shaper) or a [`crate::Shaper`].
        Shaper,
        /// A number, or a [`Loss`](super::super::Loss) in bursts.
        Loss,
        /// A [`Reorder`](super::super::Reorder) or a [`crate::Reorder`].
        Reorder,
        /// A number or a distribution.
        Counts,
        /// A [`Rate`](firstflight_contract::Rate) or `"40 Mbit/s"`.
        Rate,
        /// A [`Nanos`](firstflight_contract::Nanos), a [`Duration`](core::time::Duration) or `"100 ms"`.
        Time,
        /// A time or a distribution of times.
        Times,
        /// A time, [`every`](super::super::every) or a distribution.
        Start,
        /// `"tcplib"` or a distribution of times.
        Interval,
        /// Bytes: an [`Amount`](firstflight_document::quantity::Amount) or `"1000 B"`.
        Size,
        /// Bytes or packets: an [`Amount`](firstflight_document::quantity::Amount) or `"10 packets"`.
        Amount,
        /// An amount or `"unlimited"`.
        Window,
        /// An amount, or a rule such as `"rfc6928"`.
        InitialWindow,
        /// An amount or a distribution of amounts, or `"unlimited"` for a transfer.
        Sizes,
        /// A [`Limit`](crate::Limit), an amount, a [`Depth`](firstflight_document::quantity::Depth), or `"1 BDP"`.
        Buffer,
        /// A [`Depth`](firstflight_document::quantity::Depth), an amount, or `"0.1 BDP"`.
        Threshold,
        /// `"eager"`, an amount of bytes, or a [`Reads`](crate::Reads).
        Reads,
        /// A queueing discipline: a label, a [`Queue`](super::super::Queue) or a [`crate::Queue`].
        Discipline,
        /// Start-up schemes: labels, [`Phase`](super::super::Phase), [`PhaseSpec`](crate::PhaseSpec),
        /// [`AnyPhase`](firstflight_schemes::registry::AnyPhase), or several in an array or a `Vec`.
        Startup,
        /// An avoidance scheme: as [`Startup`], but one.
        Avoidance,
        /// A parameter of a scheme: a number, a flag, a typed quantity, or text.
        Parameter,
    }

    /// A word of the format: the enum, or its word as text.
    #[derive(Clone, Copy, Debug)]
    pub struct Word<T>(PhantomData<T>);
}

macro_rules! text_is {
    ($($kind:ident),+ $(,)?) => { $(
        impl ValueOf<kind::$kind> for &str {
            fn given(self) -> Given { Given(Value::text(self)) }
        }
        impl ValueOf<kind::$kind> for &String {
            fn given(self) -> Given { Given(Value::text(self)) }
        }
        impl ValueOf<kind::$kind> for String {
            fn given(self) -> Given { Given(Value::Text(self)) }
        }
    )+ };
}

text_is! {
    Name, Names, File, Trace, Count, Rate, Time, Times, Start, Interval, Size, Amount, Window, InitialWindow, Sizes,
    Buffer, Threshold, Reads, Discipline, Startup, Avoidance, Parameter,
}

/// Declares `$type` as a value of these kinds.
macro_rules! gives {
    ($($type:ty => $($kind:ident),+: |$value:ident| $given:expr;)+) => { $( $(
        impl ValueOf<kind::$kind> for $type {
            fn given(self) -> Given { let $value = self; Given($given) }
        }
    )+ )+ };
}

gives! {
    bool => Flag, Parameter: |flag| Value::Flag(flag);
    i32 => Whole, Count, Number, Loss, Counts, Parameter: |n| Value::Integer(n.into());
    u32 => Whole, Count, Number, Loss, Counts, Parameter: |n| Value::Integer(n.into());
    u64 => Whole, Count: |n| Value::Integer(n.into());
    usize => Whole, Count: |n| Value::Integer(n as i128);
    f64 => Number, Loss, Counts, Parameter: |x| Value::Float(x);
    Rate => Rate, Parameter: |rate| canonical::rate(rate);
    Nanos => Time, Times, Start, Parameter: |time| canonical::time(time);
    Duration => Time, Times, Start, Parameter:
        |time| canonical::time(Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
    Amount => Size, Amount, Window, InitialWindow, Sizes, Buffer, Threshold, Reads, Parameter: |amount| written(amount);
    Depth => Buffer, Threshold: |depth| match depth {
        Depth::Amount(amount) => written(amount),
        Depth::Bdp(millionths) =>
            Value::Text(format!("{}.{:06} BDP", millionths / 1_000_000, millionths % 1_000_000)),
    };
    Limit => Buffer: |limit| canonical::limit(limit);
    Dist<Nanos> => Times: |law| canonical::dist(law, canonical::time);
    Dist<u64> => Sizes: |law| canonical::dist(law, canonical::bytes);
    Dist<f64> => Counts: |law| canonical::dist(law, Value::Float);
    model::Start => Start: |start| canonical::start(start);
    Interval => Interval: |interval| match interval {
        Interval::Tcplib => Value::text("tcplib"),
        Interval::Law(law) => canonical::dist(law, canonical::time),
    };
    Reads => Reads: |reads| canonical::reads(reads);
    LinkTrace => Trace: |trace| Value::own(trace);
    Shaper => Shaper: |shaper| Value::Table(shaper.0);
    model::Shaper => Shaper: |shaper| canonical::shaper(shaper);
    Loss => Loss: |loss| Value::Table(loss.0);
    Reorder => Reorder: |reorder| Value::Table(reorder.0);
    model::Reorder => Reorder: |reorder| canonical::reorder(reorder);
    Queue => Discipline: |queue| Value::Table(queue.0);
    model::Queue => Discipline: |queue| canonical::queue(&queue);
    Phase => Startup, Avoidance: |phase| Value::Table(phase.0);
    PhaseSpec => Startup, Avoidance: |phase| Value::own(phase);
    AnyPhase => Startup, Avoidance: |phase| Value::own(PhaseSpec::of(phase));
    Every => Start: |every| Value::table([("every", every.0)]);
    Law<kind::Time> => Times, Start, Interval: |law| law.value();
    Law<kind::Amount> => Sizes: |law| law.value();
    Law<kind::Number> => Counts: |law| law.value();
}

/// An amount as text.
fn written(amount: Amount) -> Value {
    Value::Text(match amount {
        Amount::Bytes(n) => show_bytes(n),
        Amount::Packets(n) => format!("{n} packets"),
    })
}

macro_rules! several {
    ($($kind:ident),+) => { $(
        impl<T: ValueOf<kind::$kind>, const N: usize> ValueOf<kind::$kind> for [T; N] {
            fn given(self) -> Given { Given(Value::array(self.map(|one| one.given().0))) }
        }
        impl<T: ValueOf<kind::$kind>> ValueOf<kind::$kind> for Vec<T> {
            fn given(self) -> Given { Given(Value::array(self.into_iter().map(|one| one.given().0))) }
        }
    )+ };
}

several!(Names, Startup);

impl<T: ValueOf<kind::Whole>, const N: usize> ValueOf<kind::Numbers> for [T; N] {
    fn given(self) -> Given {
        Given(Value::array(self.map(|one| one.given().0)))
    }
}

impl<T: ValueOf<kind::Whole>> ValueOf<kind::Numbers> for Vec<T> {
    fn given(self) -> Given {
        Given(Value::array(self.into_iter().map(|one| one.given().0)))
    }
}

impl<T> ValueOf<kind::Word<T>> for &str {
    fn given(self) -> Given {
        Given(Value::text(self))
    }
}

macro_rules! word_is {
    ($($type:ty),+) => { $(
        impl ValueOf<kind::Word<$type>> for $type {
            fn given(self) -> Given { Given(Value::text(self.word())) }
        }
    )+ };
}

word_is!(Profile, Recovery, PartialAcks, Receiver, IdleRestart, DataInSyn, model::Direction);

impl ValueOf<Rounds> for Rounds {
    fn given(self) -> Given {
        Given(Value::Table(self.0))
    }
}

impl ValueOf<Rounds> for model::Rounds {
    fn given(self) -> Given {
        Given(canonical::rounds(self))
    }
}

impl ValueOf<OnOff> for OnOff {
    fn given(self) -> Given {
        Given(Value::Table(self.0))
    }
}

/// Arrivals at equal gaps.
#[derive(Clone, Debug)]
pub struct Every(Value);

/// Flow `i` of a group starts at `i` times `gap`.
pub fn every(gap: impl ValueOf<kind::Time>) -> Every {
    Every(gap.given().0)
}

/// A distribution of values of kind `K`.
#[derive(Clone, Debug)]
pub struct Law<K> {
    name: &'static str,
    value: Value,
    of: PhantomData<K>,
}

impl<K> Law<K> {
    const fn new(name: &'static str, value: Value) -> Self {
        Self { name, value, of: PhantomData }
    }

    /// The uniform distribution between `low` and `high`.
    pub fn uniform(low: impl ValueOf<K>, high: impl ValueOf<K>) -> Self {
        Self::new("uniform", Value::array([low.given().0, high.given().0]))
    }

    /// The exponential distribution with this mean; of start times, a Poisson process with this mean gap.
    pub fn exponential(mean: impl ValueOf<K>) -> Self {
        Self::new("exponential", mean.given().0)
    }

    /// The Pareto distribution with this mean and shape.
    pub fn pareto(mean: impl ValueOf<K>, shape: f64) -> Self {
        Self::new("pareto", Value::table([("mean", mean.given().0), ("shape", Value::Float(shape))]))
    }

    /// The Pareto distribution of the second kind (Lomax) with this mean and shape.
    pub fn pareto_ii(mean: impl ValueOf<K>, shape: f64) -> Self {
        Self::new("pareto_ii", Value::table([("mean", mean.given().0), ("shape", Value::Float(shape))]))
    }

    /// The lognormal distribution with this median and deviation of the logarithm.
    pub fn lognormal(median: impl ValueOf<K>, sigma: f64) -> Self {
        let body = [("median", median.given().0), ("sigma", Value::Float(sigma))];
        Self::new("lognormal", Value::table(body))
    }

    /// The same lognormal distribution with a Pareto tail above `from`.
    #[must_use]
    pub fn tail(mut self, from: impl ValueOf<K>, shape: f64) -> Self {
        let tail = Value::table([("from", from.given().0), ("shape", Value::Float(shape))]);
        let mut law = match self.value {
            Value::Table(law) => law,
            plain => {
                let mut law = Tree::default();
                law.set(self.name, plain);
                law
            }
        };
        law.set("tail", tail);
        self.value = Value::Table(law);
        self
    }

    fn value(self) -> Value {
        Value::table([(self.name, self.value)])
    }
}
