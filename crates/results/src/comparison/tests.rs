use serde_json::{Value, json};

use super::*;

#[test]
fn a_compared_result_has_every_field_of_the_contract_at_its_place() {
    let exit = TypicalExit {
        time_s: 0.5,
        cwnd_packets: 160.0,
        reason: Exit::Loss,
        bdp_packets: 100.0,
        overshoot_packets: 60.0,
        lost_before_exit_packets: 58.0,
        exited: 1.0,
        agreed: 1.0,
    };
    let result = SchemeResult {
        scheme: "slow-start+reno".into(),
        size_bytes: 300_000,
        completion_s: Some(Completion {
            median: 0.7,
            p95: 0.8,
            ci95: [0.6, 0.75],
            p95_ci95: [0.7, 0.9],
            quantiles: [0.6, 0.65, 0.7, 0.75, 0.8],
            mean: 0.7,
            mean_ci95: [0.6, 0.8],
        }),
        retransmits_mean: 60.0,
        startup_exit: Some(exit),
        rank: 1,
        same_as: None,
        ties_with_best: true,
        replications: 30,
        unfinished: 0,
        against_baseline: None,
        drops: Mean { mean: 60.0, ci95: Some([60.0, 60.0]) },
        others_drops_mean: 0.0,
        timeouts_mean: 0.0,
        widened_by: vec![],
        risks: vec![],
        against_present: None,
        initial_window_packets: Some(30),
        harm: Some(Harm {
            bulk: 1.05,
            bulk_ci95: [1.0, 1.1],
            request_response: 1.0,
            request_response_ci95: [0.9, 1.1],
            replications: 16,
        }),
        how: vec!["Linux: sysctl".into()],
    };
    let value = serde_json::to_value(&result).expect("serialisable");
    let contract = json!({ "scheme": "slow-start+reno", "size_bytes": 300_000,
        "completion_s": { "median": 0.7, "p95": 0.8, "ci95": [0.6, 0.75],
            "quantiles": [0.6, 0.65, 0.7, 0.75, 0.8] },
        "risks": [], "initial_window_packets": 30, "harm": { "bulk": 1.05, "request_response": 1.0 },
        "how": ["Linux: sysctl"], "retransmits_mean": 60.0,
        "startup_exit": { "time_s": 0.5, "cwnd_packets": 160.0, "reason": "loss" } });
    assert!(covers(&value, &contract), "{value:#}");
}

#[test]
fn harm_is_within_a_limit_above_it_or_cannot_be_told_from_it() {
    let of = |bulk_ci95, request_response_ci95| Harm {
        bulk: 1.05,
        bulk_ci95,
        request_response: 1.0,
        request_response_ci95,
        replications: 16,
    };
    assert_eq!(of([1.0, 1.1], [0.9, 1.05]).within(1.1), Some(true));
    // Two hundredths of 1.1 above it are 1.122.
    assert_eq!(of([1.0, 1.12], [0.9, 1.05]).within(1.1), Some(true));
    assert_eq!(of([1.0, 1.125], [0.9, 1.05]).within(1.1), None);
    assert_eq!(of([1.03, 1.06], [0.9, 1.05]).within(1.04), None, "the value is above");
    assert_eq!(of([1.0, 1.05], [1.11, 1.2]).within(1.1), Some(false));
    // One bystander that is certainly harmed decides.
    assert_eq!(of([1.0, 1.2], [1.11, 1.2]).within(1.1), Some(false));
    // The one that is shown is the one that decides: of values of 1.05 and 1.0 the first, but for its interval.
    assert_eq!(of([1.0, 1.1], [0.9, 1.05]).deciding(Some(1.1)), (1.05, [1.0, 1.1]));
    assert_eq!(of([1.0, 1.2], [0.9, 1.3]).deciding(Some(1.1)), (1.0, [0.9, 1.3]));
    assert_eq!(of([1.0, 1.2], [0.9, 1.3]).deciding(None), (1.05, [1.0, 1.2]));
    assert_eq!(of([1.0, 1.2], [1.11, 1.15]).deciding(Some(1.1)), (1.0, [1.11, 1.15]));
}

#[test]
fn a_network_has_every_field_of_the_contract_and_a_comparison_of_one_path_has_no_networks() {
    let network = NetworkResult {
        network: "203.0.113.0/24".into(),
        connections: 12,
        bytes: 3_000_000,
        path: PathResult::default(),
        recommended: vec![],
        results: vec![],
        mix: vec![MixShare { size_bytes: 30_000, transfers: 7, share: 0.25 }],
        no_answer: None,
        departure: None,
        warnings: vec![],
    };
    let value = serde_json::to_value(&network).expect("serialisable");
    let contract = json!({ "network": "203.0.113.0/24", "connections": 12, "bytes": 3_000_000,
        "path": { "rate_bit_s": null }, "recommended": [], "results": [] });
    assert!(covers(&value, &contract), "{value:#}");
    let mut comparison = Comparison {
        title: String::new(),
        path: PathResult::default(),
        connections: vec![],
        copies: None,
        results: vec![],
        answer: None,
        recommended: vec![],
        for_all_sizes: None,
        groups: vec![],
        no_answer: None,
        departure: None,
        schemes: vec![],
        baseline: None,
        present: None,
        same: vec![],
        provenance: Provenance::default(),
        warnings: vec![],
        passed_over: vec![],
    };
    let groups = |comparison: &Comparison| {
        serde_json::to_value(comparison).expect("serialisable").get("groups").cloned()
    };
    assert_eq!(groups(&comparison), None);
    comparison.groups = vec![network];
    assert_eq!(groups(&comparison).and_then(|it| it.as_array().map(Vec::len)), Some(1));
}

#[test]
fn the_networks_that_lose_by_a_scheme_are_counted_and_the_worst_is_named() {
    let network = |name: &str, relative: Option<f64>, no_answer: Option<&str>| {
        let difference = |relative| PairedDifference {
            seconds: relative,
            seconds_ci95: [relative; 2],
            relative,
            relative_ci95: [relative - 0.01, relative + 0.01],
        };
        let result = SchemeResult {
            scheme: "x".into(),
            size_bytes: 30_000,
            completion_s: None,
            retransmits_mean: 0.0,
            startup_exit: None,
            rank: 1,
            same_as: None,
            ties_with_best: false,
            replications: 30,
            unfinished: 0,
            against_baseline: None,
            against_present: relative.map(difference),
            drops: Mean { mean: 0.0, ci95: None },
            others_drops_mean: 0.0,
            timeouts_mean: 0.0,
            widened_by: vec![],
            initial_window_packets: None,
            harm: None,
            how: vec![],
            risks: vec![],
        };
        NetworkResult {
            network: name.into(),
            connections: 1,
            bytes: 1,
            path: PathResult::default(),
            recommended: vec![],
            results: vec![result],
            mix: vec![],
            no_answer: no_answer.map(str::to_owned),
            departure: None,
            warnings: vec![],
        }
    };
    let groups = [
        network("a", Some(-0.2), None),
        network("b", Some(0.05), None),
        network("c", Some(0.12), None),
        // 1 % is no loss, a network without an answer is none, nor is one without the present scheme
        network("d", Some(0.01), None),
        network("e", Some(0.5), Some("no")),
        network("f", None, None),
    ];
    let losers = Losers::of(&groups, "x", 30_000).expect("four networks can be compared");
    assert_eq!(losers, Losers { compared: 4, count: 2, most: Some(("c", 0.12)) });
    assert_eq!(losers.to_string(), "2 of 4 networks lose by it, most of all c, by 12 %");
    let none = Losers::of(&groups[..1], "x", 30_000).expect("one network");
    assert_eq!(none.to_string(), "none of 1 network loses by it");
    assert_eq!(Losers::of(&groups, "y", 30_000), None);
}

#[test]
fn a_path_value_that_cannot_be_told_is_null_and_named() {
    let path = PathResult { cannot_tell: vec!["buffer_packets".into()], ..PathResult::default() };
    let contract = json!({ "inferred_from": null, "rate_bit_s": null, "rtt_ms": null, "buffer_packets": null,
        "loss": null, "mss_bytes": null, "initial_window_packets": null, "receiver": null,
        "cannot_tell": ["buffer_packets"] });
    assert!(covers(&serde_json::to_value(&path).expect("serialisable"), &contract));
}

/// Whether every field of `expected` is in `value` with the same content; `value` may have more.
fn covers(value: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(fields) => {
            fields.iter().all(|(key, inner)| value.get(key).is_some_and(|v| covers(v, inner)))
        }
        other => value == other,
    }
}
