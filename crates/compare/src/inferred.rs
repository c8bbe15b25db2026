//! Conversion of an inferred path to the form used in results.

use firstflight_capture::{Estimate, Inferred, PathEstimate as InferredPath};
use firstflight_contract::Rate;
use firstflight_document::quantity::show_rate;
use firstflight_scenario::Limit;

use crate::input::Known;
use firstflight_explain::{Explanation, Value};
use firstflight_results::{KindWeight, PathEstimate, PathResult, Reordering};

/// Inferred path, in the form used in results.
pub fn inferred_path(inferred: &InferredPath, file: &str) -> PathResult {
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
    path.reordering = explanation.reordering().map(|(share, delay_ms)| Reordering { share, delay_ms });
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

/// Sentence on the packets that overtake each other on the paths that explain a capture.
pub(super) fn reorders(Reordering { share, delay_ms }: Reordering) -> String {
    format!(
        "the simulated paths reorder as the capture does: {:.2} % of their packets take {delay_ms:.2} ms longer, in the median over \
         the paths",
        100.0 * share
    )
}

/// The path of a mix of networks with these paths and weights, from the capture `file`: each value on which all agree, and of the
/// others the range over the networks.
pub(super) fn mixed_path(networks: &[(PathResult, f64)], file: &str) -> PathResult {
    let mut path = PathResult { inferred_from: Some(file.into()), ..PathResult::default() };
    let rate = mixed_value(&mut path, "rate_bit_s", networks, |it| it.rate_bit_s.map(|rate| rate as f64));
    let rtt = mixed_value(&mut path, "rtt_ms", networks, |it| it.rtt_ms);
    let buffer = mixed_value(&mut path, "buffer_packets", networks, |it| {
        it.buffer_packets.map(|buffer| buffer as f64)
    });
    let loss = mixed_value(&mut path, "loss", networks, |it| it.loss);
    let mss = mixed_value(&mut path, "mss_bytes", networks, |it| it.mss_bytes.map(|mss| mss as f64));
    let window = mixed_value(&mut path, "initial_window_packets", networks, |it| {
        it.initial_window_packets.map(|window| window as f64)
    });
    let whole = |value: Option<f64>| value.map(|value| value.round() as u64);
    (path.rate_bit_s, path.rtt_ms, path.buffer_packets, path.loss) = (whole(rate), rtt, whole(buffer), loss);
    (path.mss_bytes, path.initial_window_packets) = (whole(mss), whole(window));
    let mut products = networks.iter().map(|(it, _)| it.bdp_packets);
    path.bdp_packets = products.next().flatten().filter(|first| products.all(|other| other == Some(*first)));
    let mut receivers = networks.iter().map(|(it, _)| it.receiver.as_ref());
    path.receiver = receivers.next().flatten().cloned();
    if receivers.any(|other| other != path.receiver.as_ref()) {
        path.receiver = None;
    }
    let word = path.receiver.clone();
    path.estimates.push(PathEstimate { word, ..differs("receiver", None, None) });
    if path.receiver.is_none() {
        path.cannot_tell.push("receiver".into());
    }
    let total: f64 = networks.iter().map(|(_, weight)| weight).sum();
    for (network, weight) in networks {
        for KindWeight { kind, weight: own } in &network.kinds {
            let part = own * weight / total;
            match path.kinds.iter_mut().find(|it| it.kind == *kind) {
                Some(sum) => sum.weight = (sum.weight + part).min(1.0),
                None => path.kinds.push(KindWeight { kind: kind.clone(), weight: part.min(1.0) }),
            }
        }
    }
    path.kinds.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    path.kind = path.kinds.first().map(|it| it.kind.clone());
    path
}

/// The value on which all networks agree. Adds the range over the networks to `path`, and names a value on which they differ.
fn mixed_value(
    path: &mut PathResult,
    field: &str,
    networks: &[(PathResult, f64)],
    of: impl Fn(&PathResult) -> Option<f64>,
) -> Option<f64> {
    let known: Vec<f64> = networks.iter().filter_map(|(it, _)| of(it)).collect();
    let low = known.iter().copied().reduce(f64::min);
    let high = known.iter().copied().reduce(f64::max);
    let agreed = low.filter(|_| low == high && known.len() == networks.len());
    path.estimates.push(PathEstimate { value: agreed, ..differs(field, low, high) });
    if agreed.is_none() {
        path.cannot_tell.push(field.into());
    }
    agreed
}

/// Range of a value over networks.
fn differs(field: &str, low: Option<f64>, high: Option<f64>) -> PathEstimate {
    let how = "each network has its own".into();
    PathEstimate { field: field.into(), value: None, word: None, low, high, how }
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

/// Warnings about given values that the capture contradicts: those beyond the interval of the estimate and a twentieth more.
pub(super) fn contradictions(inferred: &InferredPath, known: &Known) -> Vec<String> {
    const SLACK: f64 = 1.05;
    let rate = |value: f64| show_rate(Rate(value.round() as u64));
    let time = |value: f64| format!("{:.2} ms", value * 1e3);
    let packets = |value: f64| format!("{value:.0} packets");
    let buffer = known.buffer.and_then(|buffer| match buffer {
        Limit::Packets(n) => Some(n as f64),
        Limit::Bytes(n) => Some(n as f64 / inferred.packet.known()?.value),
    });
    let values: [(&str, _, _, &dyn Fn(f64) -> String); 3] = [
        ("rate", known.rate.map(|rate| rate.0 as f64), &inferred.rate, &rate),
        ("round-trip time", known.rtt.map(|rtt| rtt.0 as f64 * 1e-9), &inferred.rtt, &time),
        ("buffer", buffer, &inferred.buffer, &packets),
    ];
    let contradicted = values.iter().filter_map(|(name, given, inferred, show)| {
        let (given, seen) = ((*given)?, inferred.known()?);
        let fits = (seen.low / SLACK..=seen.high * SLACK).contains(&given);
        (!fits).then(|| {
            format!(
                "the given {name} is {}, and the capture shows {} to {}; the given value is taken, and the simulated paths \
                 may not resemble the capture",
                show(given),
                show(seen.low),
                show(seen.high)
            )
        })
    });
    contradicted.collect()
}

#[cfg(test)]
mod tests {
    use firstflight_contract::Nanos;

    use super::*;

    #[test]
    fn a_given_value_that_the_capture_contradicts_is_named() {
        let capture = firstflight_capture::read(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../capture/testdata/p1-reno-1000KB.pcap"
        ));
        // 20 Mbit/s and 60 ms, in the truth and by the estimates.
        let inferred = firstflight_capture::infer(&capture.expect("a capture").connections);
        let of = |known: Known| contradictions(&inferred, &known);
        let rate = |mbit_s: u64| Known { rate: Some(Rate(mbit_s * 1_000_000)), ..Known::default() };
        assert_eq!(of(rate(20)), Vec::<String>::new());
        let slow = of(rate(5));
        assert!(
            slow.len() == 1 && slow[0].starts_with("the given rate is 5 Mbit/s, and the capture shows "),
            "{slow:?}"
        );
        let far = of(Known { rtt: Some(Nanos::from_millis(90)), ..rate(50) });
        assert_eq!(far.len(), 2, "{far:?}");
    }

    #[test]
    fn the_path_of_a_mix_has_what_its_networks_agree_on_and_the_range_of_the_rest() {
        let kind = |kind: &str, weight| KindWeight { kind: kind.into(), weight };
        let network = |rate, rtt, kinds| PathResult {
            rate_bit_s: Some(rate),
            rtt_ms: rtt,
            mss_bytes: Some(1448),
            receiver: Some("delayed-ack".into()),
            kinds,
            ..PathResult::default()
        };
        let one = network(20_000_000, Some(60.0), vec![kind("policer", 1.0)]);
        let other = network(50_000_000, None, vec![kind("drop-tail", 0.75), kind("policer", 0.25)]);
        // weights of 1 and 3: the policer has 0.25 * 1 + 0.75 * 0.25, the plain queue 0.75 * 0.75
        let mix = mixed_path(&[(one, 100.0), (other, 300.0)], "day.pcap");
        assert_eq!((mix.rate_bit_s, mix.rtt_ms, mix.mss_bytes), (None, None, Some(1448)));
        assert_eq!(mix.receiver.as_deref(), Some("delayed-ack"));
        assert_eq!(mix.kinds, [kind("drop-tail", 0.5625), kind("policer", 0.4375)]);
        assert_eq!(mix.kind.as_deref(), Some("drop-tail"));
        assert_eq!(
            mix.cannot_tell,
            ["rate_bit_s", "rtt_ms", "buffer_packets", "loss", "initial_window_packets"]
        );
        let range = |field: &str| {
            let found = mix.estimates.iter().find(|it| it.field == field).expect("an estimate");
            (found.value, found.low, found.high)
        };
        assert_eq!(range("rate_bit_s"), (None, Some(20e6), Some(50e6)));
        // known of one network only
        assert_eq!(range("rtt_ms"), (None, Some(60.0), Some(60.0)));
        assert_eq!(range("mss_bytes"), (Some(1448.0), Some(1448.0), Some(1448.0)));
    }
}
