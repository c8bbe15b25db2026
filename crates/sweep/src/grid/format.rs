//! The keys of a grid. The reader looks them up here, and the reference is made of the same rows.

use firstflight_document::format::{Absent, Key, Kind, Range, Section, Type};
use firstflight_scenario::Profile;

use super::super::sample::DIMENSIONS;
use super::{CELLS, MEASURES, REPLICATIONS};

pub(super) const KINDS: &[&str] = &["latin-hypercube", "sobol", "saltelli"];
pub(super) const SCALES: &[&str] = &["linear", "log"];
pub(super) const SEEDS: &[&str] = &["common", "own"];

/// A value as a scenario has it.
const ANY: Kind = Kind::Any(&[Type::Text, Type::Number, Type::Flag, Type::Array, Type::Table]);
/// A quantity, or a number without unit.
const NUMBER: Kind = Kind::Any(&[Type::Text, Type::Number]);

/// Every section, in the order of the reference; the root comes first.
pub(super) const SECTIONS: &[&Section] = &[&ROOT, &UNTIL, &FACTOR, &SAMPLE, &RANGE];

const fn key(name: &'static str, kind: Kind, absent: &'static str, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Means(absent), doc }
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, absent: Absent::Refused, doc }
}

/// The keys outside any table.
pub(super) const ROOT: Section = Section {
    name: "The grid",
    doc: "Keys outside any table.",
    keys: &[
        key("title", Kind::Text, "empty", "Title of the sweep."),
        required(
            "base",
            Kind::Any(&[Type::Text, Type::Table]),
            "The base scenario: the name of a path preset, the name of a scenario file relative to the grid's folder, or a table \
             `[base]` with a whole scenario. It may not name other files.",
        ),
        key(
            "profile",
            Kind::Word(Profile::WORDS),
            "`linux`",
            "Stack of the transfer that is added to a base without `[[flow]]`. The transfer has the name `transfer`.",
        ),
        key(
            "flow",
            Kind::Text,
            "the first `[[flow]]`",
            "Name of the `[[flow]]` that has the schemes and the sizes, and that is measured: its first connection.",
        ),
        key(
            "schemes",
            Kind::List(&Kind::Text),
            "the scheme of the scenario",
            "Schemes with their settings, as `compare --scheme` takes them: `\"hystart-linux+cubic@iw30\"`. All schemes of a \
             cell have the same seeds.",
        ),
        key(
            "sizes",
            Kind::List(&Kind::Bytes),
            "the size in the scenario; `[\"300 KB\"]` for a base without `[[flow]]`",
            "Transfer sizes, crossed with the schemes.",
        ),
        key(
            "seed",
            Kind::Integer { min: 0, max: i64::MAX as u64 },
            "the seed of the base",
            "Seed of the first replication; each further one has the next number.",
        ),
        key(
            "seeds",
            Kind::Word(SEEDS),
            "`common`",
            "`common`: every cell has the same seeds. `own`: every cell has seeds of its own, for means over the cells.",
        ),
        key(
            "replications",
            Kind::Either(&Kind::Integer { min: 1, max: REPLICATIONS }, &UNTIL),
            "1",
            "Runs of each cell, scheme and size.",
        ),
        key(
            "rows_per_part",
            Kind::Integer { min: 1, max: super::ROWS },
            "about a second of work, at most 20000",
            "Largest number of rows in a part of the dataset. A killed process loses at most the parts in work.",
        ),
        key(
            "factor",
            Kind::Tables(&FACTOR),
            "none",
            "Factors, crossed: every value of each with every value of the others.",
        ),
        key("sample", Kind::Table(&SAMPLE), "none", "Sampled factors, crossed with the others."),
    ],
};

/// `replications = { … }`.
pub(super) const UNTIL: Section = Section {
    name: "`replications`",
    doc: "Replications of a cell until the 95 % confidence interval of a mean is narrow for all its schemes and sizes. The interval is \
          computed after `least` replications, and again after each further half, up to `most`.",
    keys: &[
        key("least", Kind::Integer { min: 2, max: REPLICATIONS }, "10", "Least number of replications."),
        required("most", Kind::Integer { min: 2, max: REPLICATIONS }, "Largest number of replications."),
        key("measure", Kind::Word(MEASURES), "`completion_s`", "Column whose mean is meant."),
        key(
            "within",
            Kind::Number(Range { min: 0.0, min_taken: false, max: 1.0, max_taken: false }),
            "0.05",
            "Largest half-width of the interval, as a share of the mean.",
        ),
    ],
};

/// `[[factor]]`.
pub(super) const FACTOR: Section = Section {
    name: "`[[factor]]`",
    doc: "A factor: a key with its values, or several keys that vary together.",
    keys: &[
        key(
            "key",
            Kind::Text,
            "`zip` is given",
            "A key of the scenario: `path.rate`, `flow.<name>.min_rto`.",
        ),
        key("values", Kind::List(&ANY), "`zip` is given", "Values as a scenario has them."),
        key(
            "zip",
            Kind::Map(&Kind::List(&ANY)),
            "`key` is given",
            "Keys, each with as many values as the others: `{ \"path.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"], \"path.rtt\" = \
             [\"80 ms\", \"40 ms\"] }`. The first values make one point, the second values the next.",
        ),
    ],
};

/// `[sample]`.
pub(super) const SAMPLE: Section = Section {
    name: "`[sample]`",
    doc: "Points drawn from the ranges of several keys.",
    keys: &[
        required(
            "kind",
            Kind::Word(KINDS),
            "`latin-hypercube`: one point in each of `points` equal slices of every range (M. McKay, R. Beckman, W. Conover, \
             Technometrics 21(2), 1979). `sobol`: the low-discrepancy sequence with the direction numbers of S. Joe and F. Kuo (SIAM J. \
             Sci. Comput. 30(5), 2008), shifted by a random number. `saltelli`: the points from which Sobol indices are computed \
             (A. Saltelli et al., Comput. Phys. Commun. 181(2), 2010): `points` times (ranges + 2).",
        ),
        required(
            "points",
            Kind::Integer { min: 1, max: CELLS },
            "Number of points; for `sobol` and `saltelli` best a power of two.",
        ),
        key("seed", Kind::Integer { min: 0, max: i64::MAX as u64 }, "1", "Seed of the points."),
        required("range", Kind::Tables(&RANGE), "Ranges: at most 21, for `saltelli` 10."),
    ],
};

/// `[[sample.range]]`.
pub(super) const RANGE: Section = Section {
    name: "`[[sample.range]]`",
    doc: "The range of a key, in which its values are spread evenly.",
    keys: &[
        required("key", Kind::Text, "A key of the scenario: `path.rtt`."),
        required("low", NUMBER, "Lower end: a quantity such as `\"10 ms\"`, or a number."),
        required("high", NUMBER, "Upper end, above the lower one and of the same kind."),
        key(
            "scale",
            Kind::Word(SCALES),
            "`linear`",
            "`log`: the logarithms of the values are spread evenly; the lower end is above zero.",
        ),
    ],
};

const _: () = assert!(DIMENSIONS == 21, "the text of `range` names the number");
