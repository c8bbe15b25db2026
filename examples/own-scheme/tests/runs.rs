//! The scheme runs beside built-in ones, by its own rule.

use own_scheme::comparison;

#[test]
fn the_scheme_stops_by_delay_before_slow_start_overflows_the_queue() {
    let results = comparison("dsl", "1 MB").expect("a preset and a size").comparison.results;
    let of = |scheme: &str| results.iter().find(|row| row.scheme == scheme).expect("compared");
    let (own, slow_start) = (of("delay-bounded+cubic"), of("slow-start+cubic"));
    let exit = own.startup_exit.as_ref().expect("start-up ended");
    assert_eq!(exit.reason.label(), "delay");
    // A queue of a quarter of the propagation delay is reached before a queue of a whole BDP overflows.
    assert!(own.drops.mean < slow_start.drops.mean, "{} {}", own.drops.mean, slow_start.drops.mean);
    assert!(exit.cwnd_packets < slow_start.startup_exit.as_ref().expect("start-up ended").cwnd_packets);
}

#[test]
fn a_misspelt_preset_is_refused_with_the_nearest_name() {
    let error = comparison("cabel", "3 MB").expect_err("no such preset").to_string();
    assert!(error.contains("did you mean \"cable\"?"), "{error}");
}
