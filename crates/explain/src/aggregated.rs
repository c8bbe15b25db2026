//! Forecasts from transfers that the simulator made beside aggregates.

use firstflight_contract::Nanos;

use firstflight_scenario::{Network, Schedule};

use super::kinds::PathKind;
use super::recognised::{Made, SEED, base, found};
use super::weighed::Weighed;
use super::weights::drawn;
use firstflight_quantile::type_7;

/// A transfer over aggregates.
fn made<'a>(values: &'a [f64], scheme: &'a str, bytes: u64, late: Nanos, seed: u64) -> Made<'a> {
    Made { kind: PathKind::Aggregating, values, beside: (None, None), scheme, bytes, late, seed }
}

/// Seconds that a transfer takes on a path of aggregates.
fn takes(values: &[f64], scheme: &str, bytes: u64, seed: u64) -> f64 {
    let (seen, _) = made(values, scheme, bytes, Nanos::ZERO, seed).seen(None);
    libm::exp(seen.summary.get("time of all"))
}

/// Checks forecasts from two transfers over aggregates of 16 packets every 5 ms, whose data followed the handshake by these times.
fn the_period_is_found(late: [Nanos; 2]) {
    const DRAWS: u32 = 20;
    let values = [38.4e6, 0.03, 5e-3, 300.0];
    let captures = [("hystart-linux+cubic", 1_000_000), ("slow-start+reno", 3_000_000)];
    let (mut held, mut all) = (0, 0);
    for ((scheme, bytes), late) in captures.into_iter().zip(late) {
        let (paths, _) = found(&made(&values, scheme, bytes, late, SEED), (None, None));
        let away = |path: &Weighed| {
            path.kind != PathKind::Aggregating || (path.values[2] / 5e-3 - 1.0).abs() > 0.005
        };
        let wrong: f64 = paths.iter().filter(|path| away(path)).map(|path| path.weight).sum();
        assert!(wrong < 0.01, "{late:?}: {wrong} of the weight is on other paths");
        // The path at each of these shares of the weight.
        let weights: Vec<f64> = paths.iter().map(|path| path.weight).collect();
        let at = |draw: u32| &paths[drawn(&weights, (f64::from(draw) + 0.5) / f64::from(DRAWS))].values;
        for scheme in ["hystart-linux+cubic", "slow-start+reno", "bbr"] {
            for bytes in [100_000, 300_000, 1_000_000, 3_000_000] {
                let truth = takes(&values, scheme, bytes, 1);
                let mut times: Vec<f64> =
                    (0..DRAWS).map(|draw| takes(at(draw), scheme, bytes, draw.into())).collect();
                times.sort_by(f64::total_cmp);
                // Forecasts are widened by the least departure of a kernel, one per cent.
                let range = type_7(&times, 0.05) / 1.01..type_7(&times, 0.95) * 1.01;
                held += u32::from(range.contains(&truth));
                all += 1;
                println!("{late:?} {scheme} {bytes}: {truth:.4} s, {range:.4?}");
            }
        }
    }
    println!("{late:?}: {held} of {all} true times are in the range");
    // Nine in ten, less a standard deviation of a binomial: 21.6 - 1.5.
    assert!(held > 20, "{held}");
}

#[test]
fn the_period_of_aggregates_is_found_if_data_follows_the_handshake_late() {
    the_period_is_found([Nanos::from_micros(1277), Nanos::from_micros(2983)]);
}

#[test]
fn the_period_of_aggregates_is_found_if_data_follows_the_handshake_at_once() {
    the_period_is_found([Nanos::ZERO; 2]);
}

#[test]
fn aggregates_have_the_rate_and_the_period_asked_for() {
    // 37.2 Mbit/s are 15.5 packets of 1500 bytes in 5 ms: 15 and 16 by turns.
    let times = |late| {
        let scenario =
            PathKind::Aggregating.model().scenario(&[37.2e6, 0.03, 5e-3, 300.0], &base(1), Some(late), 1);
        let Network::Graph(graph) = scenario.network else { panic!("a path is a graph") };
        let trace = graph.links[0].trace.clone().expect("a trace");
        let Schedule::Opportunities(times) = trace.schedule.as_ref() else { panic!("a trace of packets") };
        times.clone()
    };
    let aggregates = |times: &[Nanos]| -> Vec<(u64, usize)> {
        times.chunk_by(|a, b| a == b).map(|one| (one[0].0 / 1000, one.len())).take(4).collect()
    };
    assert_eq!(aggregates(&times(Nanos::ZERO)), [(5000, 15), (10_000, 16), (15_000, 15), (20_000, 16)]);
    // All but the first are earlier by the time that data is late.
    let late = times(Nanos::from_micros(1277));
    assert_eq!(aggregates(&late), [(5000, 15), (8723, 16), (13_723, 15), (18_723, 16)]);
}
