//! Links whose rate is in a file, through the whole program.

mod common;

use common::Scratch;
use serde_json::Value;

/// A scenario whose bottleneck is as `supply` says.
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
fn a_transfer_of_one_packet_over_an_opportunity_every_10_ms_by_hand() {
    let scratch = Scratch::new();
    scratch.write("every10.trace", "10\n");
    let result = run(&scratch, &scenario("trace = \"every10.trace\"", "size = \"1460 B\""));
    // A packet a millisecond at most: access links of 10 x 12 Mbit/s, over which 40 bytes take 2.667 us and 1500 take
    // 100 us. Propagation: 12.5 ms to the bottleneck, 25 ms over it, 12.5 ms from it.
    //
    // SYN: at the bottleneck after 12.502667 ms, goes at 20, is there at 20 + 25 + 12.502667 = 57.502667 ms. Its answer: at
    // the bottleneck after 70.005334 ms, goes at 80, is there at 117.502667 ms.
    assert_eq!(result["flows"][0]["start_s"], 0.117_502_667);
    // The data: at the bottleneck after 130.102667 ms, goes at 140, is there at 140 + 25 + 12.6 = 177.6 ms. Its ACK: at
    // the bottleneck after 190.102667 ms, goes at 200, is there at 237.502667 ms, 120 ms after the opening.
    assert_eq!(result["flows"][0]["completion_s"], 0.12);
    assert_eq!(result["flows"][0]["startup_exit"], Value::Null);
}

#[test]
fn a_trace_of_one_rate_is_that_rate() {
    let scratch = Scratch::new();
    scratch.write("flat.csv", "time,Mbit/s\n0,8\n0.3,8.0\n2,8\n");
    let flow = "size = \"1 MB\"";
    let (steady, traced) = (
        run(&scratch, &scenario("rate = \"8 Mbit/s\"", flow)),
        run(&scratch, &scenario("trace = \"flat.csv\"", flow)),
    );
    // A byte takes a microsecond to the nanosecond, so that rounding is the same.
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
fn an_outage_holds_a_transfer_up_for_its_time() {
    let scratch = Scratch::new();
    scratch.write("outage.csv", "0,8\n0.45,0\n2.45,8\n");
    let flow = "size = \"1 MB\"\nrecovery = \"newreno\"";
    let without = run(&scratch, &scenario("rate = \"8 Mbit/s\"", flow));
    let with = run(&scratch, &scenario("trace = \"outage.csv\"", flow));
    let took = |result: &Value| result["flows"][0]["completion_s"].as_f64().expect("it finishes");
    assert!(with["flows"][0]["timeouts"].as_u64() > Some(0));
    assert!(took(&with) > took(&without) + 1.9, "{} {}", took(&with), took(&without));
}

#[test]
fn a_comparison_runs_on_a_trace() {
    let scratch = Scratch::new();
    let mut times: Vec<u32> = (1..=1000).map(|ms| ms + ms % 3).collect();
    times.sort_unstable();
    scratch.write("lte.trace", times.iter().map(|ms| format!("{ms}\n")).collect::<String>());
    scratch.write("run.toml", scenario("trace = \"lte.trace\"", "size = \"1 MB\""));
    let arguments = ["compare", "run.toml", "--startup", "slow-start,hystart++", "--size", "300KB", "--json"];
    let told = scratch.run(&arguments);
    let told: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{}", told.err));
    // A thousand packets of 12 000 bits, the last of them at 1000 + 1 ms.
    assert_eq!(told["path"]["rate_bit_s"].as_f64().map(f64::round), Some(11_988_011.0));
    let results = told["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    // At 12 Mbit/s 300 KB take 0.2 s and cannot take less.
    assert!(
        results.iter().all(|result| result["completion_s"]["median"].as_f64() > Some(0.3)),
        "{results:?}"
    );
}

#[test]
fn a_bad_trace_is_refused_with_its_file_and_line_and_nothing_is_written() {
    let scratch = Scratch::new();
    scratch.write("run.toml", scenario("trace = \"bad.trace\"", "size = \"1 MB\""));
    for (trace, message) in [
        (
            "1\n2\nthree\n",
            "bad.trace:3:1: \"three\" is no such time; expected the time of a delivery opportunity",
        ),
        (
            "0,5\n1,fast\n",
            "bad.trace:2:1: \"1,fast\" is no such pair; expected seconds and Mbit/s, such as 0.5,12.5",
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
