//! Kinds of path: the parameters of each by name, with their prior ranges, and the network that they describe.
//!
//! A kind is one file and its line in `kinds!`.

mod draft;

use std::marker::PhantomData;

use firstflight_capture::FirstRoundTrip;
use firstflight_contract::Nanos;
use firstflight_scenario::Scenario;

use crate::anchors::Anchors;
use crate::range::Range;
use crate::reordering;
use crate::rules::{Judged, Queued};
use draft::{Base, Draft};

/// Declares the parameters of a kind in the order of their places, and those that results show. The first is the rate of the
/// bottleneck's line.
macro_rules! parameters {
    (@shown $self:ident) => { None };
    (@shown $self:ident $field:ident) => { Some(&mut $self.$field) };
    (
        $(#[$doc:meta])*
        $kind:ident { $(#[$of_line:meta])* $line:ident, $($(#[$of_field:meta])* $field:ident),+ $(,)? }
        shows { rate: $rate:ident, rtt: $rtt:ident $(, buffer: $buffer:ident)? $(, loss: $loss:ident)? }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $kind<T> {
            $(#[$of_line])*
            $line: T,
            $($(#[$of_field])* $field: T),+
        }

        impl<T: Copy> $crate::kinds::Parameters<T> for $kind<T> {
            const COUNT: usize = [stringify!($line), $(stringify!($field)),+].len();

            fn of(values: &[T]) -> Self {
                let [$line, $($field,)+ ..] = *values else { unreachable!("a path has the values of its kind") };
                Self { $line, $($field),+ }
            }

            fn list(&self) -> Vec<T> {
                vec![self.$line, $(self.$field),+]
            }

            fn line(&self) -> T {
                self.$line
            }

            fn shown(&mut self) -> $crate::kinds::Shown<'_, T> {
                $crate::kinds::Shown {
                    rate: &mut self.$rate,
                    rtt: &mut self.$rtt,
                    buffer: parameters!(@shown self $($buffer)?),
                    loss: parameters!(@shown self $($loss)?),
                }
            }
        }
    };
}

/// Lists the kinds: the file of each, and its name. The names are parts of the names of random streams.
macro_rules! kinds {
    ($($file:ident::$kind:ident),+ $(,)?) => {
        $(mod $file;)+

        /// A kind of path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum PathKind {
            $(#[doc = concat!("See `", stringify!($file), ".rs`.")] $kind),+
        }

        impl PathKind {
            /// All kinds.
            pub(crate) const ALL: [Self; [$(stringify!($kind)),+].len()] = [$(Self::$kind),+];

            /// Answers of the kind.
            pub(crate) fn model(self) -> &'static dyn Model {
                match self {
                    $(Self::$kind => &Of::<$file::$kind<f64>>(PhantomData)),+
                }
            }
        }

        /// Number of parameters of each kind.
        const COUNTS: [usize; PathKind::ALL.len()] = [$(<$file::$kind<f64> as Parameters<f64>>::COUNT),+];
    };
}

kinds! {
    drop_tail::DropTail,
    random_loss::RandomLoss,
    red::Red,
    codel::Codel,
    policer::Policer,
    token_bucket::TokenBucket,
    varying_rate::VaryingRate,
    aggregating::Aggregating,
    other_traffic::OtherTraffic,
    limited_return::LimitedReturn,
    thinned_return::ThinnedReturn,
}

/// A value of a path that results show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Rate that a long transfer can have, bit/s.
    Rate,
    /// Two-way propagation, seconds.
    Rtt,
    /// Packets that can wait.
    Buffer,
    /// Probability of random loss.
    Loss,
}

/// Largest number of parameters of a kind.
pub(crate) const MOST: usize = {
    let (mut most, mut kind) = (0, 0);
    while kind < COUNTS.len() {
        if COUNTS[kind] > most {
            most = COUNTS[kind];
        }
        kind += 1;
    }
    most
};

/// Place of each parameter in its range, from 0 to 1, those of reordering last; those that a path does not have are one half.
pub(crate) type Place = [f64; PLACES];

/// Largest number of parameters of a path.
pub(crate) const PLACES: usize = MOST + reordering::PARAMETERS;

/// Packets of two flights: the initial window and the one after it. Fewer packets show no kind that changes the times.
const FEW: f64 = 30.0;

/// The parameters that results show.
struct Shown<'a, T> {
    /// Rate that a long transfer can have, bit/s.
    rate: &'a mut T,
    /// Two-way propagation, seconds.
    rtt: &'a mut T,
    /// Packets that can wait; `None` if the kind has no such number.
    buffer: Option<&'a mut T>,
    /// Probability of random loss; `None` if the kind has none.
    loss: Option<&'a mut T>,
}

/// Parameters of a kind by name: values of a path, or their ranges.
trait Parameters<T> {
    /// Number of parameters.
    const COUNT: usize;

    /// From the first values of a path, in the order of the places.
    fn of(values: &[T]) -> Self;

    /// In the order of the places.
    fn list(&self) -> Vec<T>;

    /// Rate of the bottleneck's line.
    fn line(&self) -> T;

    fn shown(&mut self) -> Shown<'_, T>;
}

/// A path of one kind.
trait Path: Parameters<f64> + 'static {
    /// Ranges of the parameters.
    type Ranges: Parameters<Range>;

    /// Labels in results, which share the weight of the kind.
    const LABELS: &'static [&'static str];

    /// Whether runs on the same path differ.
    const IS_RANDOM: bool = false;

    /// Whether the capture shows a difference from a plain queue. A kind that differs by its losses shows none if nothing was lost.
    /// A handful of packets shows no kind. Such a kind is a risk, and no explanation.
    fn shows(anchors: &Anchors) -> bool;

    /// Ranges before the capture is seen.
    fn ranges(anchors: &Anchors) -> Self::Ranges;

    /// Whether these values are a path of the kind.
    fn is_valid(&self) -> bool {
        true
    }

    /// The path between the two ends of a transfer.
    fn draft(&self, base: &Base<'_>) -> Draft;

    /// Mean and standard deviation, seconds, of the time by which the first round trip of data is longer than that of the
    /// handshake.
    fn first_round_trip(&self, opening: &Opening<'_>) -> (f64, f64) {
        (opening.forward(self.line()) + opening.back(self.line()), 0.0)
    }

    /// Evidence of the losses for the kind; `None` unless the kind has a constant rate, and differs from others of this sort only by
    /// the rule that drops packets.
    fn judged(_ranges: &Self::Ranges, _queued: &Queued, _seed: u64) -> Option<Judged> {
        None
    }

    /// Takes the values of the rule that drops packets, in the order of [`Judged::rules`].
    fn take_rule(&mut self, _rule: &[f64]) {}
}

/// Sizes of the first packets of a connection.
pub(crate) struct Opening<'a> {
    pub(crate) seen: &'a FirstRoundTrip,
    pub(crate) anchors: &'a Anchors,
}

impl Opening<'_> {
    fn syn(&self) -> f64 {
        8.0 * self.seen.syn_bytes
    }

    /// Time by which the data takes longer than the SYN at this rate.
    fn forward(&self, rate: f64) -> f64 {
        (f64::from(self.seen.packets) * self.anchors.packet - self.syn()) / rate
    }

    /// Time by which the acknowledgement of the data takes longer than that of the SYN at this rate.
    fn back(&self, rate: f64) -> f64 {
        (self.anchors.ack - self.syn()) / rate
    }
}

/// Standard deviation of the difference of two times that are uniform in a span: the span over the root of six.
fn uniform(span: f64) -> f64 {
    span / libm::sqrt(6.0)
}

/// Prior range of the rate of a bottleneck that the transfer used up.
fn used_up(anchors: &Anchors) -> Range {
    let (low, high) = anchors.rate_range();
    Range::new(low, high).around(anchors.rate_guess())
}

/// Prior range of the two-way propagation where packets found no queue at times.
fn near(anchors: &Anchors) -> Range {
    Range::new(0.8 * anchors.rtt, 1.01 * anchors.rtt).around(anchors.rtt_guess())
}

/// Prior range of the packets that can wait.
fn buffer(anchors: &Anchors) -> Range {
    Range::new(2.0, anchors.most_buffer()).around(anchors.buffer_guess())
}

/// Answers of a kind whose parameters are in the order of their places.
pub(crate) trait Model: Sync {
    /// Labels in results, which share the weight of the kind.
    fn labels(&self) -> &'static [&'static str];

    /// Whether runs on the same path differ.
    fn is_random(&self) -> bool;

    /// Whether the capture shows a difference from a plain queue.
    fn shows(&self, anchors: &Anchors) -> bool;

    /// Parameters with their prior ranges; a value that the user knows is the whole of its range.
    fn ranges(&self, anchors: &Anchors) -> Vec<Range>;

    /// Whether these values are a path of the kind.
    fn admits(&self, values: &[f64]) -> bool;

    /// A value of the path of these values; `None` if the kind does not have it.
    fn value(&self, value: Value, values: &[f64]) -> Option<f64>;

    /// The scenario `base`, whose first flow is the transfer, on the path of these values. `seed` draws what differs
    /// from one transfer to the next. `late` is the time from the handshake to the first data; of `None` it is drawn.
    fn scenario(&self, values: &[f64], base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario;

    /// Mean and standard deviation, seconds, of the time by which the first round trip of data is longer than that of the
    /// handshake.
    fn first_round_trip(&self, values: &[f64], opening: &Opening<'_>) -> (f64, f64);

    /// Evidence of the losses; `None` unless the kind differs from others of a constant rate only by the rule that drops packets.
    fn judged(&self, ranges: &[Range], queued: &Queued, seed: u64) -> Option<Judged>;

    /// Puts the values of the rule that drops packets into those of a path.
    fn take_rule(&self, values: &mut [f64], rule: &[f64]);
}

/// The kind of a path.
struct Of<P>(PhantomData<fn() -> P>);

impl<P: Path> Model for Of<P> {
    fn labels(&self) -> &'static [&'static str] {
        P::LABELS
    }

    fn is_random(&self) -> bool {
        P::IS_RANDOM
    }

    fn shows(&self, anchors: &Anchors) -> bool {
        P::shows(anchors)
    }

    fn ranges(&self, anchors: &Anchors) -> Vec<Range> {
        let mut ranges = P::ranges(anchors);
        let (shown, given) = (ranges.shown(), anchors.given);
        let pairs = [
            (Some(shown.rate), given.rate),
            (Some(shown.rtt), given.rtt),
            (shown.buffer, given.buffer),
            (shown.loss, given.loss),
        ];
        for (range, value) in pairs {
            if let (Some(range), Some(value)) = (range, value) {
                *range = Range::new(value, value);
            }
        }
        ranges.list()
    }

    fn admits(&self, values: &[f64]) -> bool {
        P::of(values).is_valid()
    }

    fn value(&self, value: Value, values: &[f64]) -> Option<f64> {
        let mut path = P::of(values);
        let shown = path.shown();
        match value {
            Value::Rate => Some(*shown.rate),
            Value::Rtt => Some(*shown.rtt),
            Value::Buffer => shown.buffer.map(|buffer| *buffer),
            Value::Loss => Some(shown.loss.map_or(0.0, |loss| *loss)),
        }
    }

    fn scenario(&self, values: &[f64], base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario {
        P::of(values).draft(&Base { scenario: base, late, seed }).scenario(base)
    }

    fn first_round_trip(&self, values: &[f64], opening: &Opening<'_>) -> (f64, f64) {
        P::of(values).first_round_trip(opening)
    }

    fn judged(&self, ranges: &[Range], queued: &Queued, seed: u64) -> Option<Judged> {
        P::judged(&P::Ranges::of(ranges), queued, seed)
    }

    fn take_rule(&self, values: &mut [f64], rule: &[f64]) {
        let mut path = P::of(values);
        path.take_rule(rule);
        values[..P::COUNT].copy_from_slice(&path.list());
    }
}

impl PathKind {
    /// Probability before the capture is seen: one half for the plain queue, the rest shared by the others.
    pub(crate) const fn prior(self) -> f64 {
        match self {
            Self::DropTail => 0.5,
            _ => 0.5 / (Self::ALL.len() - 1) as f64,
        }
    }
}
