//! Random parts of a scenario: each says so, and comparisons repeat it.

use firstflight_compare::{Input, Limits, Request, compare};
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{CompareReport, RunResult};
use firstflight_scenario::{Candidate, Draws, Loaded, Profile, parse};

const PATH: &str = "[path]\nrate = \"2 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"20 packets\"\n";
const FLOW: &str = "[[flow]]\nprofile = \"linux\"\nsize = \"100 KB\"\nstart = \"1 s\"\n";

fn read(text: &str) -> Loaded {
    parse(text, "test.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn on_path(path: &str, traffic: &str) -> String {
    format!("duration = \"20 s\"\n{PATH}{path}{FLOW}{traffic}")
}

/// One way to a near receiver, and one to a far one.
fn in_graph(traffic: &str) -> String {
    let ends = ["s", "near", "far"].map(|name| format!("[[node]]\nname = \"{name}\"\n")).concat();
    let link = |to: &str, delay: u32| {
        format!(
            "[[link]]\nfrom = \"s\"\nto = \"{to}\"\nboth = true\nrate = \"2 Mbit/s\"\ndelay = \"{delay} ms\"\nbuffer = \"20 packets\"\n"
        )
    };
    format!("duration = \"20 s\"\n{ends}{}{}{traffic}", link("near", 5), link("far", 100))
}

/// A run under this seed, as text without the seed and the cost.
fn result(loaded: &Loaded, seed: u64) -> String {
    let run = Simulator.run(&loaded.scenario, seed, &Observe::default()).expect("the simulator runs it");
    let result = RunResult { seed: 0, ..run.result };
    serde_json::to_string(&result).expect("serialisable")
}

fn differ(loaded: &Loaded) -> bool {
    let first = result(loaded, 1);
    (2..6).any(|seed| result(loaded, seed) != first)
}

#[test]
fn each_random_part_says_that_it_draws_and_gives_other_results_under_another_seed() {
    let other = "[[flow]]\nname = \"other\"\nprofile = \"linux\"\nsize = \"50 KB\"\n";
    let udp = "[[udp]]\nrate = \"1 Mbit/s\"\n";
    let far = "[[flow]]\nfrom = \"s\"\nto = \"far\"\nsize = \"50 KB\"\n";
    let several = "[\"near\", \"far\"]";
    let web = "[[web]]\npages = 2\nsize = \"5 KB\"\n";
    // Reno has timeouts where a burst loses several packets.
    let timeouts = |more: &str| {
        let flow = "[[flow]]\nprofile = \"ns2\"\nsize = \"500 KB\"\ninitial_window = \"20 packets\"\nrecovery = \"reno\"\n";
        format!("duration = \"20 s\"\n{PATH}{flow}{more}").replace("20 packets\"\n[[", "4 packets\"\n[[")
    };
    let cases = [
        on_path("loss = 0.05\n", ""),
        on_path("loss = { mean = 0.05, burst = 3 }\n", ""),
        on_path("reorder = { share = 0.2, delay = \"20 ms\" }\n", ""),
        on_path("queue = { kind = \"red\", min = \"2 packets\", max = \"8 packets\", weight = 0.1 }\n", ""),
        on_path(
            "queue = { kind = \"choke\", min = \"2 packets\", max = \"8 packets\", weight = 0.1 }\n",
            other,
        ),
        // Five flows in two queues.
        on_path("queue = { kind = \"fq-codel\", flows = 2 }\n", &format!("{other}count = 4\n")),
        on_path("", &format!("{other}start = {{ exponential = \"1 s\" }}\n")),
        on_path("", &format!("{other}start = {{ uniform = [\"0 s\", \"3 s\"] }}\n")),
        on_path("", &other.replace("\"50 KB\"", "{ exponential = \"50 KB\" }")),
        on_path("", &format!("{other}lifetime = {{ uniform = [\"10 ms\", \"400 ms\"] }}\n")),
        on_path("", &format!("{other}extra_rtt = {{ uniform = [\"0 ms\", \"90 ms\"] }}\n")),
        on_path("", &format!("{other}rounds = {{ count = 3, idle = \"0.2 s\", jitter = \"1 s\" }}\n")),
        // Ticks of ns-2's clock, and of a coarse clock of another profile, where timeouts occur.
        timeouts(""),
        timeouts("rto_granularity = \"50 ms\"\nmin_rto = \"10 ms\"\n").replace("ns2", "rfc"),
        on_path("", "[[telnet]]\ncount = 3\n"),
        on_path("", "[[telnet]]\ninterval = { exponential = \"0.3 s\" }\n"),
        on_path(
            "",
            &format!("{web}page_gap = \"1 s\"\nobjects = 3\nobject_gap = {{ exponential = \"100 ms\" }}\n"),
        ),
        on_path(
            "",
            &format!("{web}page_gap = {{ exponential = \"1 s\" }}\nobjects = 3\nobject_gap = \"1 ms\"\n"),
        ),
        on_path(
            "",
            &format!("{web}page_gap = \"1 s\"\nobjects = {{ exponential = 5.0 }}\nobject_gap = \"1 ms\"\n"),
        ),
        on_path("", &format!("{udp}on_off = {{ on = {{ exponential = \"100 ms\" }}, off = \"100 ms\" }}\n")),
        on_path("", &format!("{udp}on_off = {{ on = \"100 ms\", off = {{ exponential = \"100 ms\" }} }}\n")),
        in_graph(&far.replace("\"far\"", several)),
        in_graph(&format!(
            "{far}[[web]]\nfrom = \"s\"\nto = {several}\npages = 2\npage_gap = \"1 s\"\nobjects = 2\nobject_gap = \"1 ms\"\nsize = \"5 KB\"\n"
        )),
        in_graph(far).replace("buffer = \"20 packets\"\n", "buffer = \"20 packets\"\nloss = 0.05\n"),
    ];
    for text in cases {
        let loaded = read(&text);
        assert!(loaded.scenario.draws(), "{text}");
        assert!(differ(&loaded), "{text}");
    }
}

#[test]
fn parts_without_a_choice_draw_nothing() {
    let other = "[[flow]]\nname = \"other\"\nprofile = \"linux\"\nsize = \"50 KB\"\n";
    let cases = [
        on_path("", ""),
        on_path("loss = 0\nqueue = \"codel\"\n", ""),
        on_path("queue = { kind = \"fq-codel\", flows = 1 }\n", other),
        on_path("reorder = { share = 0, delay = \"20 ms\" }\n", ""),
        on_path("", &format!("{other}count = 3\nstart = {{ every = \"1 s\" }}\n")),
        on_path(
            "",
            &format!(
                "{other}start = {{ uniform = [\"2 s\", \"2 s\"] }}\nextra_rtt = {{ uniform = [\"9 ms\", \"9 ms\"] }}\n"
            ),
        ),
        on_path("", &format!("{other}rounds = {{ count = 3, idle = \"0.2 s\" }}\n")),
        on_path("", &format!("{other}rounds = {{ count = 1, idle = \"0.2 s\", jitter = \"1 s\" }}\n")),
        on_path("", &format!("{}rto_granularity = \"1 ms\"\n", other.replace("linux", "ns2"))),
        on_path("", &format!("{other}rto_granularity = \"300 ms\"\n")),
        on_path(
            "",
            "[[web]]\npages = 2\npage_gap = \"1 s\"\nobjects = 3\nobject_gap = \"1 ms\"\nsize = \"5 KB\"\n",
        ),
        on_path("", "[[udp]]\nrate = \"1 Mbit/s\"\non_off = { on = \"100 ms\", off = \"100 ms\" }\n"),
        in_graph("[[flow]]\nfrom = \"s\"\nto = \"far\"\nsize = \"50 KB\"\n"),
        in_graph("[[flow]]\nfrom = \"s\"\nto = [\"far\", \"far\"]\nsize = \"50 KB\"\n"),
    ];
    for text in cases {
        let loaded = read(&text);
        assert!(!loaded.scenario.draws(), "{text}");
        assert!(!differ(&loaded), "{text}");
    }
}

fn compared(text: &str, runs: u32) -> CompareReport {
    let request = Request {
        input: Input::Scenario(Box::new(read(text))),
        schemes: vec![Candidate::parse("slow-start+cubic").expect("a chain")],
        sizes: vec![300_000],
        profile: Profile::Linux,
        runs,
        seed: 1,
        candidates: 1,
        together: firstflight_compare::Explanation::TOGETHER,
        breadth: firstflight_compare::Breadth::All,
        search_seed: None,
        deployable: false,
        harm: false,
        limits: Limits::default(),
        by: firstflight_compare::Statistic::default(),
        weighs_by_capture: true,
        memory: firstflight_hosts::memory::DEFAULT,
        command: String::new(),
        revision: String::new(),
    };
    compare(&Simulator, &request, &Silent).expect("compared")
}

#[test]
fn a_comparison_repeats_what_is_random_and_says_what_is_not() {
    let certain = "nothing on this path is random";
    let pairs = in_graph("[[flow]]\nfrom = \"s\"\nto = [\"near\", \"far\"]\nsize = \"300 KB\"\n");
    let telnet = on_path("", "[[telnet]]\ncount = 30\n");
    let jitter = on_path(
        "",
        "[[flow]]\nname = \"other\"\nsize = \"100 KB\"\nrounds = { count = 10, idle = \"0.2 s\", jitter = \"1 s\" }\n",
    );
    for text in [&pairs, &telnet, &jitter] {
        let CompareReport { comparison, samples, .. } = compared(text, 10);
        assert_eq!(samples[0].samples.len(), 10, "{text}");
        let [low, high] = comparison.results[0].completion_s.expect("finished").ci95;
        assert!(low < high, "{low} {high}\n{text}");
        assert!(!comparison.warnings.iter().any(|one| one.contains(certain)), "{:?}", comparison.warnings);
    }
    // The far receiver is 190 ms farther away, and each of the two is drawn.
    let times: Vec<f64> =
        compared(&pairs, 10).samples[0].samples.iter().filter_map(|it| it.completion_s).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    assert!(times.iter().any(|time| longest > time + 0.19), "{times:?}");
    // One replication of a random path is not certain either.
    let once = compared(&telnet, 1).comparison.warnings;
    assert_eq!(
        once,
        [
            "replications differ, and only one was asked for: the intervals have no width, and another seed gives other times"
        ]
    );
    // The size of the first flow and its lifetime are replaced by those of the comparison.
    let sized = on_path("", "").replace("\"100 KB\"", "{ exponential = \"100 KB\" }");
    let CompareReport { comparison, samples, .. } = compared(&sized, 10);
    assert_eq!(samples[0].samples.len(), 1);
    assert!(comparison.warnings.iter().any(|one| one.contains(certain)), "{:?}", comparison.warnings);
}
