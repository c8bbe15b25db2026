//! Kinds of the paths of a collection, by the names of the paths.

/// Kind of a path, and the kinds under which a capture of it is rightly explained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Words for the tables.
    pub(crate) what: &'static str,
    /// Right answers in `path.kind`.
    pub(crate) right: &'static [&'static str],
    /// Aim for the median error of the forecasts.
    pub(crate) aim: f64,
}

/// Aim for the median error on all kinds of path but one.
pub(crate) const AIM: f64 = 0.10;

/// Kinds of the paths whose names begin so: `v1b` is a further path of random loss. A limited return path is also rightly taken
/// for its effect, a slower
/// constant rate. Random loss is a property of a drop-tail path.
const KNOWN: [(&str, Known); 8] = [
    ("v1", Known { what: "random loss", right: &["drop-tail"], aim: AIM }),
    ("v2", Known { what: "CoDel", right: &["codel", "fq-codel"], aim: AIM }),
    ("v3", Known { what: "policer", right: &["policer"], aim: AIM }),
    ("v4", Known { what: "LTE trace", right: &["varying-rate"], aim: 0.15 }),
    ("v5", Known { what: "aggregates", right: &["aggregating"], aim: AIM }),
    ("v6", Known { what: "other traffic", right: &["other-traffic"], aim: AIM }),
    ("v7", Known { what: "limited return path", right: &["limited-return-path", "drop-tail"], aim: AIM }),
    ("v8", Known { what: "RED", right: &["red"], aim: AIM }),
];

/// Any other path: a constant rate with a drop-tail queue.
const PLAIN: Known = Known { what: "drop-tail", right: &["drop-tail"], aim: AIM };

/// Kind of the path of this name.
pub(crate) fn known(path: &str) -> Known {
    KNOWN.iter().find(|(name, _)| path.starts_with(name)).map_or(PLAIN, |(_, known)| *known)
}

/// Whether the path of this name is a constant rate with a drop-tail queue and nothing else.
pub(crate) fn is_plain(path: &str) -> bool {
    KNOWN.iter().all(|(name, _)| !path.starts_with(name))
}
