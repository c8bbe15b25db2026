//! Distributions.

use super::rows::*;
use super::{Floor, Kind, Range, Section};
use crate::limits;

/// A distribution of times above zero.
pub static TIMES: Section = Section {
    name: "distribution of times",
    doc: "One of these.",
    keys: &[
        optional("uniform", Kind::Pair(&TIME), "", "between the two"),
        optional("exponential", TIME, "", "with this mean"),
        optional("pareto", Kind::Table(&PARETO_TIME), "", "Pareto"),
    ],
};

/// A distribution of delays, zero allowed.
pub static DELAYS: Section = Section {
    name: "distribution of delays",
    doc: "One of these.",
    keys: &[
        optional("uniform", Kind::Pair(&DELAY), "", "between the two"),
        optional("exponential", Kind::Delay(Floor::AboveZero), "", "with this mean"),
        optional("pareto", Kind::Table(&PARETO_DELAY), "", "Pareto"),
    ],
};

/// A distribution of sizes.
pub static SIZES: Section = Section {
    name: "distribution of sizes",
    doc: "One of these.",
    keys: &[
        optional("uniform", Kind::Pair(&Kind::Amount), "", "between the two"),
        optional("exponential", Kind::Amount, "", "with this mean"),
        optional("pareto", Kind::Table(&PARETO_SIZE), "", "Pareto"),
        optional(
            "pareto_ii",
            Kind::Table(&PARETO_SIZE),
            "",
            "Pareto of the second kind: P(X > x) = (1 + x / s)^-shape, with s = mean (shape - 1)",
        ),
        optional(
            "lognormal",
            Kind::Table(&LOGNORMAL),
            "",
            "lognormal, with a Pareto tail if `tail` is given",
        ),
    ],
};

const PARETO: &str = "P(X > x) = (m / x)^shape, with m = mean (shape - 1) / shape.";

/// `pareto` of a time.
pub static PARETO_TIME: Section = Section {
    name: "pareto (times)",
    doc: PARETO,
    keys: &[required("mean", TIME, "mean"), required("shape", Kind::Number(SHAPE), "shape")],
};

/// `pareto` of a delay.
pub static PARETO_DELAY: Section = Section {
    name: "pareto (delays)",
    doc: PARETO,
    keys: &[
        required("mean", Kind::Delay(Floor::AboveZero), "mean"),
        required("shape", Kind::Number(SHAPE), "shape"),
    ],
};

/// `pareto` of a size.
pub static PARETO_SIZE: Section = Section {
    name: "pareto (sizes)",
    doc: PARETO,
    keys: &[required("mean", Kind::Amount, "mean"), required("shape", Kind::Number(SHAPE), "shape")],
};

/// `lognormal` of a size.
pub static LOGNORMAL: Section = Section {
    name: "lognormal",
    doc: "The logarithm is normal.",
    keys: &[
        required("median", Kind::Amount, "median: the exponential of the logarithm's mean"),
        required(
            "sigma",
            Kind::Number(Range { min: 0.0, min_taken: false, max: 10.0, max_taken: true }),
            "standard deviation of the logarithm",
        ),
        optional("tail", Kind::Table(&TAIL), "none", "a Pareto tail above a value"),
    ],
};

/// The tail of a `lognormal`.
pub static TAIL: Section = Section {
    name: "tail",
    doc: "P(X > x) = P(X > from) (from / x)^shape above `from`.",
    keys: &[
        required("from", Kind::Amount, "beginning of the tail"),
        required("shape", Kind::Number(SHAPE), "shape"),
    ],
};

const COUNT: Kind = Kind::Number(Range { min: 0.0, min_taken: false, max: limits::COUNT, max_taken: true });

/// A distribution of counts, each rounded up.
pub static COUNTS: Section = Section {
    name: "distribution of counts",
    doc: "One of these; each draw is rounded up.",
    keys: &[
        optional("uniform", Kind::Pair(&COUNT), "", "between the two"),
        optional("exponential", COUNT, "", "with this mean"),
        optional("pareto", Kind::Table(&PARETO_COUNT), "", "Pareto"),
        optional("pareto_ii", Kind::Table(&PARETO_COUNT), "", "Pareto of the second kind"),
    ],
};

/// `pareto` of a count.
pub static PARETO_COUNT: Section = Section {
    name: "pareto (counts)",
    doc: PARETO,
    keys: &[required("mean", COUNT, "mean"), required("shape", Kind::Number(SHAPE), "shape")],
};

/// A count or a distribution of counts.
pub(super) const COUNT_OR_LAW: Kind = Kind::Either(&COUNT, &COUNTS);
