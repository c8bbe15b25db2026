//! Links whose rate follows a trace file, run by the program.

use crate::common::Scratch;
use serde_json::Value;

/// Scenario with the bottleneck rate `supply`, which is a rate or a trace.
fn scenario(supply: &str, flow: &str) -> String {
    format!(
        "[path]\n{supply}\nrtt = \"100 ms\"\nbuffer = \"30 packets\"\n[[flow]]\nprofile = \"rfc\"\n{flow}\n"
    )
}

fn run(scratch: &Scratch, scenario: &str) -> Value {
    scratch.write("run.toml", scenario);
    scratch.run(&["run", "run.toml", "--json"]).json()
}

#[test]
fn a_transfer_of_one_packet_with_an_opportunity_every_10_ms_takes_the_calculated_time() {
    let scratch = Scratch::new();
    scratch.write("every10.trace", "10\n");
    let result = run(&scratch, &scenario("trace = \"every10.trace\"", "size = \"1460 B\""));
    // The trace allows at most one packet per millisecond, so access links have 10 x 12 Mbit/s: 40 bytes take 2.667 us
    // and 1500 bytes 100 us. Propagation: 12.5 ms to the bottleneck, 25 ms over it, 12.5 ms from it.
    //
    // SYN: at the bottleneck at 12.502667 ms, leaves it at 20, arrives at 20 + 25 + 12.502667 = 57.502667 ms.
    // SYN-ACK: at the bottleneck at 70.005334 ms, leaves it at 80, arrives at 117.502667 ms.
    assert_eq!(result["flows"][0]["start_s"], 0.117_502_667);
    // Data: at the bottleneck at 130.102667 ms, leaves it at 140, arrives at 140 + 25 + 12.6 = 177.6 ms. ACK: at the
    // bottleneck at 190.102667 ms, leaves it at 200, arrives at 237.502667 ms, 120 ms after the handshake.
    assert_eq!(result["flows"][0]["completion_s"], 0.12);
    assert_eq!(result["flows"][0]["startup_exit"], Value::Null);
}

#[test]
fn a_trace_with_a_constant_rate_gives_the_results_of_that_rate() {
    let scratch = Scratch::new();
    scratch.write("flat.csv", "time,Mbit/s\n0,8\n0.3,8.0\n2,8\n");
    let flow = "size = \"1 MB\"";
    let (steady, traced) = (
        run(&scratch, &scenario("rate = \"8 Mbit/s\"", flow)),
        run(&scratch, &scenario("trace = \"flat.csv\"", flow)),
    );
    // A byte takes exactly one microsecond, so both round alike.
    assert!(steady["flows"][0]["lost_packets"].as_u64() > Some(0));
    assert_eq!(steady["flows"], traced["flows"]);
    for link in 0..2 {
        let key = |result: &Value, key: &str| result["links"][link][key].clone();
        for count in ["drops", "max_queue_packets", "mean_queue_packets"] {
            assert_eq!(key(&steady, count), key(&traced, count));
        }
        let used = |result| key(result, "utilization").as_f64().expect("a share");
        assert!((used(&steady) / used(&traced) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn an_outage_delays_a_transfer_by_its_duration() {
    let scratch = Scratch::new();
    scratch.write("outage.csv", "0,8\n0.45,0\n2.45,8\n");
    let flow = "size = \"1 MB\"\nrecovery = \"newreno\"";
    let without = run(&scratch, &scenario("rate = \"8 Mbit/s\"", flow));
    let with = run(&scratch, &scenario("trace = \"outage.csv\"", flow));
    let completion = |result: &Value| result["flows"][0]["completion_s"].as_f64().expect("it finishes");
    assert!(with["flows"][0]["timeouts"].as_u64() > Some(0));
    assert!(completion(&with) > completion(&without) + 1.9, "{} {}", completion(&with), completion(&without));
}

#[test]
fn a_comparison_runs_on_a_trace() {
    let scratch = Scratch::new();
    let mut times: Vec<u32> = (1..=1000).map(|ms| ms + ms % 3).collect();
    times.sort_unstable();
    scratch.write("lte.trace", times.iter().map(|ms| format!("{ms}\n")).collect::<String>());
    scratch.write("run.toml", scenario("trace = \"lte.trace\"", "size = \"1 MB\""));
    let arguments = ["compare", "run.toml", "--startup", "slow-start,hystart++", "--size", "300KB", "--json"];
    let run = scratch.run(&arguments);
    let comparison: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err));
    // A thousand packets of 12 000 bits, the last of them at 1000 + 1 ms.
    assert_eq!(comparison["path"]["rate_bit_s"].as_f64().map(f64::round), Some(11_988_011.0));
    let results = comparison["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    // At 12 Mbit/s, 300 KB take at least 0.2 s; handshake and start-up add to that.
    assert!(
        results.iter().all(|result| result["completion_s"]["median"].as_f64() > Some(0.3)),
        "{results:?}"
    );
}

#[test]
fn trace_errors_state_file_and_line_and_nothing_is_written() {
    let scratch = Scratch::new();
    scratch.write("run.toml", scenario("trace = \"bad.trace\"", "size = \"1 MB\""));
    for (trace, message) in [
        (
            "1\n2\nthree\n",
            "bad.trace:3:1: this line is not numbers, so it is not such a time; expected the time of a delivery opportunity",
        ),
        (
            "0,5\n1,fast\n",
            "bad.trace:2:1: this line is not numbers, so it is not such a pair; expected seconds and Mbit/s, such as 0.5,12.5",
        ),
        ("", "bad.trace:1:1: the trace is empty"),
    ] {
        scratch.write("bad.trace", trace);
        let before = scratch.snapshot();
        for arguments in [&["run", "run.toml", "--trace"][..], &["compare", "run.toml"]] {
            let run = scratch.run(arguments);
            assert_eq!((run.code, &*run.out), (2, ""), "{arguments:?}");
            assert!(run.err.contains(message) && run.err.lines().count() == 1, "{}", run.err);
            assert_eq!(scratch.snapshot(), before, "{arguments:?} left something behind");
        }
    }
}
