//! Queueing disciplines. Their keys are those of [`Queue`].

use firstflight_net::settings::{self, Domain};

use super::rows::*;
use super::{Key, Kind, Section};
use crate::model::Queue;

/// A queueing discipline: its label, or a table with parameters.
pub(crate) const QUEUE_KIND: Kind = Kind::Shared("type-queue", &Kind::Either(&words(Queue::WORDS), &QUEUE));

/// A `queue` with parameters.
pub static QUEUE: Section = Section {
    name: "queue",
    doc: "A discipline with its parameters. A discipline takes no parameter of another.",
    keys: {
        const ROWS: &[Key] = &KEYS.0;
        ROWS.split_at(KEYS.1).0
    },
};

/// The rows, each key once, and their number.
const KEYS: ([Key; 64], usize) = {
    let mut rows = [required("kind", words(Queue::WORDS), "the discipline"); 64];
    let (mut len, mut i) = (1, 0);
    while i < Queue::INFO.len() {
        let (keys, mut j) = (Queue::INFO[i].keys, 0);
        while j < keys.len() {
            let mut known = 1;
            while known < len && !same(rows[known].name, keys[j].name) {
                known += 1;
            }
            if known == len {
                rows[len] = row(keys[j]);
                len += 1;
            }
            j += 1;
        }
        i += 1;
    }
    (rows, len)
};

const fn row(key: settings::Key) -> Key {
    let kind = match key.domain {
        Domain::Flag => Kind::Flag,
        Domain::Share => Kind::Number(FRACTION),
        Domain::Time => TIME,
        Domain::Bytes => Kind::Bytes,
        Domain::Rate => Kind::Rate,
        Domain::Threshold => THRESHOLD,
        Domain::Count(max) => Kind::Integer { min: 1, max },
    };
    optional(key.name, kind, key.absent, key.doc)
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}
