//! Rows that the tables of the format are made of, and kinds of values that only scenarios have.

use firstflight_contract::Role;
use firstflight_document::format::{Custom, Key, Kind, Range, named};
pub(super) use firstflight_document::format::{DELAY, TIME, TIME_OR_ZERO, joined, optional, required, words};
use firstflight_document::quantity::{BDP_UNITS, BYTE_UNITS, PACKET_UNITS};
use firstflight_document::schema::{any, kind, pattern, quantity};
use serde_json::json;

use crate::limits;
use crate::profile::InitialWindow;
use crate::schema::scheme;

/// The row of a key whose default is the profile's.
pub(crate) const fn habit(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    optional(name, kind, "that of the profile", doc)
}

pub(super) const PROBABILITY: Range = Range { min: 0.0, min_taken: true, max: 1.0, max_taken: false };
pub(super) const FRACTION: Range = Range { min: 0.0, min_taken: false, max: 1.0, max_taken: true };
// A Pareto variable has no finite mean at a shape of 1 or below, and is constant to four digits at 10 000.
pub(super) const SHAPE: Range = Range { min: 1.0, min_taken: false, max: 10_000.0, max_taken: true };

/// Immediate reads, in place of an amount.
pub(crate) const EAGER: &str = "eager";

/// Kinds of values, each with its description, the word in place of a quantity, and its schema.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $label:literal $(as $shared:literal)?, $describe:expr, $word:expr, $schema:expr;)*) => { $(
        $(#[$doc])*
        pub const $name: Kind = {
            const OWN: Kind = Kind::Custom(&Custom {
                name: $label,
                describe: || String::from($describe),
                word: $word,
                schema: || $schema,
            });
            kinds!(@ OWN $($shared)?)
        };
    )* };
    (@ $own:ident) => { $own };
    (@ $own:ident $shared:literal) => { Kind::Shared($shared, &$own) };
}

kinds! {
    /// The name of a file.
    FILE = "file", "the name of a file, relative to the scenario's folder", None, json!({ "type": "string" });
    /// The name of a link.
    LINK_NAME = "link name", named(limits::LINK_NAME), None, pattern(limits::LINK_NAME);
    /// An amount, or the name of a rule.
    INITIAL_WINDOW = "initial window",
        "an amount above zero such as \"10 packets\" or \"300 KB\", or one of: rfc3390, rfc6928, rfc9002",
        None,
        {
            let rules: Vec<_> = InitialWindow::RULES.iter().map(|(word, _)| word).collect();
            any([json!({ "enum": rules }), kind(&Kind::Amount)])
        };
    /// A buffer, also as a multiple of the BDP.
    BUFFER = "buffer" as "type-buffer", "a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"", None,
        quantity(&[BYTE_UNITS, PACKET_UNITS, BDP_UNITS]);
    /// A buffer of a link, which has no BDP.
    LINK_BUFFER = "link buffer" as "type-amount", "a buffer such as \"500 packets\" or \"250 KB\"", None,
        quantity(&[BYTE_UNITS, PACKET_UNITS]);
    /// A threshold on an average queue.
    THRESHOLD = "threshold" as "type-buffer", "a threshold such as \"5 packets\", \"10 KB\" or \"0.1 BDP\"", None,
        quantity(&[BYTE_UNITS, PACKET_UNITS, BDP_UNITS]);
    /// `eager`, or the number of bytes that wakes the application.
    READS = "reads", "\"eager\", or a size such as \"256 KB\"", Some(EAGER),
        any([json!({ "const": EAGER }), kind(&Kind::Bytes)]);
    /// A chain of start-up schemes.
    STARTUP = "startup" as "type-startup",
        "a start-up scheme, or several joined by \"+\", or a table with kind and parameters", None,
        scheme(&[Role::Startup, Role::Standalone]);
    /// An avoidance scheme.
    AVOIDANCE = "avoidance" as "type-avoidance", "an avoidance scheme, or a table with kind and parameters", None,
        scheme(&[Role::Avoidance]);
}
