//! Conversion of an inferred path to the form used in results.

use firstflight_capture::{Estimate, Inferred, PathEstimate as InferredPath};
use firstflight_scenario::Limit;

use super::Known;
use crate::explain::{Explanation, Value};
use firstflight_results::{KindWeight, PathEstimate, PathResult};

/// Inferred path, in the form used in results.
pub(super) fn inferred_path(inferred: &InferredPath, file: &str) -> PathResult {
    let value = |estimate: &Inferred<Estimate>| estimate.known().map(|e| e.value);
    let whole = |estimate: &Inferred<Estimate>| value(estimate).map(|v| v.round().max(0.0) as u64);
    let estimates = [
        ("rate_bit_s", &inferred.rate, 1.0),
        ("rtt_ms", &inferred.rtt, 1e3),
        ("buffer_packets", &inferred.buffer, 1.0),
        ("loss", &inferred.loss, 1.0),
        ("mss_bytes", &inferred.mss, 1.0),
        ("initial_window_packets", &inferred.initial_window, 1.0),
    ];
    let mut estimates: Vec<PathEstimate> = estimates
        .into_iter()
        .map(|(field, estimate, scale)| inferred_value(field, estimate, scale))
        .collect();
    estimates.push(PathEstimate {
        field: "receiver".into(),
        value: None,
        word: inferred.receiver.known().map(|policy| policy.label().into()),
        low: None,
        high: None,
        how: inferred
            .receiver
            .unknown()
            .map_or_else(|| "bytes covered by each acknowledgement".into(), |u| u.why.clone()),
    });
    PathResult {
        inferred_from: Some(file.into()),
        rate_bit_s: whole(&inferred.rate),
        rtt_ms: value(&inferred.rtt).map(|s| s * 1e3),
        buffer_packets: whole(&inferred.buffer),
        loss: value(&inferred.loss),
        mss_bytes: whole(&inferred.mss),
        initial_window_packets: whole(&inferred.initial_window),
        receiver: inferred.receiver.known().map(|policy| policy.label().into()),
        cannot_tell: inferred.unknown_fields().into_iter().map(Into::into).collect(),
        estimates,
        ..PathResult::default()
    }
}

fn inferred_value(field: &str, estimate: &Inferred<Estimate>, scale: f64) -> PathEstimate {
    let (value, low, high, how) = match estimate {
        Inferred::Known(e) => (Some(e.value * scale), Some(e.low * scale), Some(e.high * scale), &e.how),
        Inferred::Unknown(u) => (None, u.low.map(|x| x * scale), u.high.map(|x| x * scale), &u.why),
    };
    let how = how.trim_end_matches('.').into();
    PathEstimate { field: field.into(), value, word: None, low, high, how }
}

/// Values that an explanation gives, with the name of their field and the factor to its unit.
const VALUES: [(&str, Value, f64); 4] = [
    ("rate_bit_s", Value::Rate, 1.0),
    ("rtt_ms", Value::Rtt, 1e3),
    ("buffer_packets", Value::Buffer, 1.0),
    ("loss", Value::Loss, 1.0),
];

/// A value whose interval spans more than this factor cannot be told.
const TOLD: f64 = 2.0;

/// An interval wider than this share of its value is noticeable.
const NARROW: f64 = 0.02;

/// Fields of the path whose uncertainty is noticeable.
pub(super) fn uncertain_fields(explanation: &Explanation) -> Vec<String> {
    let wide = |value: Value| {
        explanation.value(value).is_some_and(|[low, middle, high]| high - low > NARROW * middle)
    };
    VALUES.into_iter().filter(|(_, value, _)| wide(*value)).map(|(field, ..)| field.to_owned()).collect()
}

/// Adds the kinds of path that explain the capture. If another kind than a constant rate with a plain queue is the
/// likeliest, its values replace the estimates, which presume the plain one. Rates count packets `longer` than the
/// captured ones.
pub(super) fn describe(path: &mut PathResult, explanation: &Explanation, longer: f64) {
    let kinds = explanation.kinds();
    path.kind = kinds.first().map(|(kind, _)| (*kind).to_owned());
    path.kinds = kinds.into_iter().map(|(kind, weight)| KindWeight { kind: kind.into(), weight }).collect();
    if explanation.is_plain() {
        return;
    }
    for (field, value, scale) in VALUES {
        // A value that the user has given is no estimate.
        let Some(own) = path.estimates.iter_mut().find(|estimate| estimate.field == field) else { continue };
        let scale = if value == Value::Rate { scale / longer } else { scale };
        let found = explanation.value(value).map(|quantiles| quantiles.map(|it| it * scale));
        let told = found.filter(|[low, _, high]| value == Value::Loss || *high <= TOLD * low);
        let middle = told.map(|[_, middle, _]| middle);
        own.value = middle;
        (own.low, own.high) = (found.map(|it| it[0]), found.map(|it| it[2]));
        own.how = match (found, told) {
            (Some(_), Some(_)) => "re-runs of the captured connections on paths of the likeliest kinds",
            (Some(_), None) => "paths that explain the capture have very different values",
            (None, _) => "the likeliest kinds of path have no such value",
        }
        .into();
        path.cannot_tell.retain(|it| it != field);
        if told.is_none() {
            path.cannot_tell.push(field.into());
        }
        let whole = |value: f64| value.round().max(0.0) as u64;
        match value {
            Value::Rate => path.rate_bit_s = middle.map(whole),
            Value::Rtt => path.rtt_ms = middle,
            Value::Buffer => path.buffer_packets = middle.map(whole),
            Value::Loss => path.loss = middle,
        }
    }
}

/// Replaces inferred values by those that the user knows.
pub(super) fn overrule(path: &mut PathResult, known: &Known) {
    let mut given = vec![];
    if let Some(rate) = known.rate {
        path.rate_bit_s = Some(rate.0);
        given.push("rate_bit_s");
    }
    if let Some(rtt) = known.rtt {
        path.rtt_ms = Some(rtt.0 as f64 * 1e-6);
        given.push("rtt_ms");
    }
    if let Some(loss) = known.loss {
        path.loss = Some(loss);
        given.push("loss");
    }
    if let Some(buffer) = known.buffer {
        let packet = path.mss_bytes.unwrap_or(1448) + 52;
        path.buffer_packets = Some(match buffer {
            Limit::Packets(n) => n,
            Limit::Bytes(n) => n / packet,
        });
        given.push("buffer_packets");
    }
    path.cannot_tell.retain(|field| !given.contains(&field.as_str()));
    path.estimates.retain(|estimate| !given.contains(&estimate.field.as_str()));
}
