//! Conversion of an inferred path to the form used in results.

use firstflight_capture::{Estimate, Inferred, PathEstimate as InferredPath};
use firstflight_scenario::Limit;

use super::Known;
use firstflight_results::{PathEstimate, PathResult};

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
