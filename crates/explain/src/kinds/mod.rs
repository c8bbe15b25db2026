//! Kinds of path: the parameters of each by name, with their prior ranges, and the network that they describe.
//!
//! A kind is one file and its line in `kinds!`.

mod draft;

use std::marker::PhantomData;

use firstflight_capture::FirstRoundTrip;
use firstflight_contract::Nanos;
use firstflight_scenario::Scenario;

use crate::anchors::{Anchors, Given};
use crate::range::Range;
use crate::reordering;
use crate::rules::Rule;
use crate::scale::{RATE, RTT, Scale};
use draft::{Base, Draft};

/// Declares the parameters of a kind in the order of their places, and those that results show. The first is the rate of the
/// bottleneck's line.
macro_rules! parameters {
    (@shown $self:ident) => { None };
    (@shown $self:ident $field:ident) => { Some(&mut $self.$field) };
    (
        $(#[$doc:meta])*
        $kind:ident { $(#[$of_line:meta])* $line:ident, $($(#[$of_field:meta])* $field:ident),+ $(,)? }
        shows { rate: $rate:ident, rtt: $rtt:ident $(, buffer: $buffer:ident)? }
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

        /// Number of parameters that the times show, of each kind.
        const COUNTS: [usize; PathKind::ALL.len()] = [$(timed::<$file::$kind<f64>>()),+];
    };
}

kinds! {
    drop_tail::DropTail,
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

/// Number of parameters that the times of a kind show: all but those of its rule, which are the last ones.
const fn timed<P: Path>() -> usize {
    P::COUNT - P::RULE.count()
}

/// Largest number of parameters that the times of a kind show.
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

/// Least ratio of the rate of a line to that of the bucket before it, and the largest one.
const FASTER: f64 = 1.2;
const LINE: f64 = 100.0;

/// Depths of buckets, bytes: from two packets to what a second of a fast line has.
const DEPTH: (f64, f64) = (3000.0, 4e6);

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

    /// Rule by which packets are dropped. Its values are the last ones.
    const RULE: Rule = Rule::Buffer;

    /// Whether runs on the same path, with the same packets lost, differ.
    const IS_RANDOM: bool = false;

    /// Whether the values of its rule have bounds that depend on the others.
    const IS_TIED: bool = false;

    /// Whether the capture can show a difference from a plain queue. A handful of packets shows no kind: such a kind is a risk, and no explanation.
    fn shows(anchors: &Anchors) -> bool {
        anchors.packets >= FEW
    }

    /// Ranges before the capture is seen, on a path of this scale.
    fn prior(scale: &Scale) -> Self::Ranges;

    /// Ranges that the search tries for the parameters that the times show, around what the capture shows. Those of the rule do not count.
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

/// Range of a parameter that no time shows: the rule of the kind has it.
fn ruled() -> Range {
    Range::new(OPEN, OPEN)
}

/// Makes each value that the user knows the whole of its range.
fn know(ranges: &mut impl Parameters<Range>, given: &Given) {
    let shown = ranges.shown();
    let pairs = [(Some(shown.rate), given.rate), (Some(shown.rtt), given.rtt), (shown.buffer, given.buffer)];
    for (range, value) in pairs {
        if let (Some(range), Some(value)) = (range, value) {
            *range = Range::new(value, value);
        }
    }
}

/// Value of a parameter of a rule where the fates of all packets are given.
const OPEN: f64 = 1.0;

/// Answers of a kind whose parameters are in the order of their places.
pub(crate) trait Model: Sync {
    /// Labels in results, which share the weight of the kind.
    fn labels(&self) -> &'static [&'static str];

    /// Whether runs on the same path differ.
    fn is_random(&self) -> bool;

    /// Whether the values of its rule have bounds that depend on the others.
    fn is_tied(&self) -> bool;

    /// Whether the capture can show a difference from a plain queue.
    fn shows(&self, anchors: &Anchors) -> bool;

    /// Rule by which packets are dropped.
    fn rule(&self) -> Rule;

    /// Parameters with their ranges before the capture is seen, on a path of this scale.
    fn prior(&self, scale: &Scale) -> Vec<Range>;

    /// Parameters that the times show with the ranges that the search tries; a value that the user knows is the whole of its range.
    fn ranges(&self, anchors: &Anchors) -> Vec<Range>;

    /// Logarithm of the share of the prior that these ranges have: a kind is as likely beforehand whatever ranges are tried.
    fn volume(&self, anchors: &Anchors) -> f64;

    /// All values of a path whose rule is open, from those that the times show.
    fn open(&self, timed: &[f64]) -> Vec<f64>;

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

    fn is_tied(&self) -> bool {
        P::IS_TIED
    }

    fn shows(&self, anchors: &Anchors) -> bool {
        P::shows(anchors)
    }

    fn rule(&self) -> Rule {
        P::RULE
    }

    fn prior(&self, scale: &Scale) -> Vec<Range> {
        P::prior(scale).list()
    }

    fn ranges(&self, anchors: &Anchors) -> Vec<Range> {
        let mut ranges = P::ranges(anchors);
        know(&mut ranges, &anchors.given);
        let mut ranges = ranges.list();
        ranges.truncate(timed::<P>());
        ranges
    }

    fn volume(&self, anchors: &Anchors) -> f64 {
        let mut prior = P::prior(&anchors.scale());
        let shown = prior.shown();
        // A scale is a point of the ranges that paths have.
        (*shown.rate, *shown.rtt) = (Range::new(RATE.0, RATE.1), Range::new(RTT.0, RTT.1));
        know(&mut prior, &anchors.given);
        let share = |(tried, all): (&Range, &Range)| libm::log(tried.span() / all.span());
        self.ranges(anchors).iter().zip(&prior.list()).map(share).sum()
    }

    fn open(&self, values: &[f64]) -> Vec<f64> {
        [&values[..timed::<P>()], &vec![OPEN; P::RULE.count()]].concat()
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
            Value::Loss => None,
        }
    }

    fn scenario(&self, values: &[f64], base: &Scenario, late: Option<Nanos>, seed: u64) -> Scenario {
        P::of(values).draft(&Base { scenario: base, late, seed }).scenario(base)
    }

    fn first_round_trip(&self, values: &[f64], opening: &Opening<'_>) -> (f64, f64) {
        P::of(values).first_round_trip(opening)
    }
}

impl PathKind {
    /// Number of kinds of which paths are tried: the first of each family.
    pub(crate) const SEARCHED: usize = {
        let (mut count, mut place) = (0, 0);
        while place < Self::ALL.len() {
            count += Self::ALL[place].leads() as usize;
            place += 1;
        }
        count
    };

    /// Each kind as a family of its own.
    const ALONE: [[Self; 1]; Self::ALL.len()] = {
        let (mut alone, mut place) = ([[Self::ALL[0]]; Self::ALL.len()], 0);
        while place < alone.len() {
            alone[place] = [Self::ALL[place]];
            place += 1;
        }
        alone
    };

    /// Kinds that have the same times as this one, if the same packets are lost: they differ by their rules alone.
    pub(crate) const fn family(self) -> &'static [Self] {
        match self {
            Self::DropTail | Self::Red | Self::Codel => &[Self::DropTail, Self::Red, Self::Codel],
            _ => &Self::ALONE[self as usize],
        }
    }

    /// Whether paths of this kind are tried for its family.
    const fn leads(self) -> bool {
        self.family()[0] as usize == self as usize
    }

    /// Kinds of which paths are tried.
    pub(crate) fn searched() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| kind.leads())
    }

    /// Probability before the capture is seen: one half for the plain queue, the rest shared by the others.
    pub(crate) const fn prior(self) -> f64 {
        match self {
            Self::DropTail => 0.5,
            _ => 0.5 / (Self::ALL.len() - 1) as f64,
        }
    }
}
