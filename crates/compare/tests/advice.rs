//! Cost and recommendation of whole comparisons.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use firstflight_compare::{Input, Known, Limits, Request, compare};
use firstflight_contract::{Nanos, Rate, Signals};
use firstflight_hosts::host::{Begun, Ended, Host, Observe, Refusal, Run};
use firstflight_hosts::memory::Estimate;
use firstflight_hosts::progress::{Halt, Silent};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{Comparison, Harm, SchemeResult};
use firstflight_scenario::{Limit, Scenario, parse};

/// A comparison that measures harm.
fn request(input: Input, schemes: &[&str], sizes: &[u64]) -> Request {
    Request { harm: true, memory: 1 << 30, ..crate::compare::request(input, schemes, sizes) }
}

/// 20 Mbit/s, 40 ms and one bandwidth-delay product of buffer.
fn path() -> Input {
    Input::Given(Known {
        rate: Some(Rate(20_000_000)),
        rtt: Some(Nanos::from_millis(40)),
        buffer: Some(Limit::Packets(66)),
        loss: None,
    })
}

fn run(request: &Request) -> Comparison {
    compare(&Simulator, request, &Silent).expect("the comparison is made").comparison
}

fn harm(comparison: &Comparison, scheme: &str) -> Harm {
    let result = comparison.results.iter().find(|it| it.scheme == scheme).expect(scheme);
    result.harm.expect("the bystanders end")
}

#[test]
fn the_scheme_that_the_stack_has_does_no_harm_and_a_full_window_does() {
    let schemes = ["hystart-linux+cubic", "jump-start+cubic", "hystart-linux+cubic@iw16"];
    let comparison = run(&request(path(), &schemes, &[3_000_000]));
    assert_eq!(comparison.present.as_deref(), Some("hystart-linux+cubic"));
    let present = harm(&comparison, "hystart-linux+cubic");
    assert_eq!(present.each(), [(1.0, [1.0; 2]); 2], "beside itself");
    // Linux's receivers first offer 64 KB: the first flight is 45 packets, which the queue of 66 holds.
    let jump = harm(&comparison, "jump-start+cubic");
    assert!(jump.bulk < 1.1, "{jump:?}");
    // To a receiver that offers 3 MB at once, 2000 packets fill the queue and keep it full: the bulk flow loses its packets
    // too.
    let text = "[path]\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"66 packets\"\n[[flow]]\nprofile = \"linux\"\n\
        size = \"300 KB\"\ninitial_receive_window = \"3 MB\"\n";
    let open: Input = parse(text, "open.toml").expect("a scenario").into();
    let jump = harm(&run(&request(open, &schemes[..2], &[3_000_000])), "jump-start+cubic");
    assert!(jump.bulk > 1.3 && jump.request_response > 1.1, "{jump:?}");
    let sixteen = harm(&comparison, "hystart-linux+cubic@iw16");
    assert!((sixteen.bulk - 1.0).abs() < 0.1, "{sixteen:?}");
}

#[test]
fn a_queue_for_each_flow_protects_the_bystanders() {
    let text =
        "[path]\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"1000 packets\"\nqueue = \"fq-codel\"\n";
    let input: Input = parse(text, "fair.toml").expect("a scenario").into();
    // The same scheme doubles the time of the bulk flow behind one queue for all: the test above.
    let comparison = run(&request(input, &["hystart-linux+cubic", "jump-start+cubic"], &[3_000_000]));
    let jump = harm(&comparison, "jump-start+cubic");
    assert!(jump.bulk < 1.1 && jump.request_response < 1.1, "{jump:?}");
}

#[test]
fn one_packet_does_no_harm() {
    let comparison = run(&request(path(), &["hystart-linux+cubic", "bbr", "jump-start+cubic"], &[1_000]));
    for scheme in ["bbr", "jump-start+cubic"] {
        let harm = harm(&comparison, scheme);
        assert!((harm.bulk - 1.0).abs() < 0.01, "{scheme}: {harm:?}");
    }
}

#[test]
fn the_recommendation_costs_no_more_than_its_limits() {
    let schemes = ["hystart-linux+cubic", "jump-start+cubic", "hystart-linux+cubic@iw30", "slow-start+cubic"];
    let mut asked = request(path(), &schemes, &[30_000, 300_000, 3_000_000]);
    // Thirty packets at once delay short requests over this path by a fifth.
    asked.limits.harm = Some(1.25);
    let comparison = run(&asked);
    for recommended in &comparison.recommended {
        let Some(scheme) = &recommended.scheme else { continue };
        let of = |it: &&firstflight_results::SchemeResult| {
            it.scheme == *scheme && it.size_bytes == recommended.size_bytes
        };
        let result = comparison.results.iter().find(of).expect("a result");
        assert!(result.drops.mean <= recommended.max_drops.expect("a limit"), "{recommended:?}");
        let within = result.harm.expect("measured").within(recommended.max_harm.expect("a limit"));
        assert_eq!(within, Some(true), "{recommended:?}");
    }
    // 30 KB are 21 packets: an initial window of 30 sends them in one round trip, one of 10 in two.
    let first = &comparison.recommended[0];
    assert_eq!(
        (first.scheme.as_deref(), first.initial_window_packets),
        (Some("hystart-linux+cubic@iw30"), Some(30))
    );
    asked.limits = Limits::default();
    let why = &run(&asked).recommended[0].why;
    assert!(
        why.contains(
            "hystart-linux+cubic@iw30 ends sooner, but does too much harm: short requests beside it take 1.1"
        ),
        "{why}"
    );
    asked.limits.fastest = true;
    let fastest = run(&asked);
    assert!(fastest.recommended.iter().all(|it| it.max_harm.is_none() && it.max_drops.is_none()));
    let but_harm = |comparison: Comparison| {
        let results = comparison.results.into_iter();
        results.map(|it| SchemeResult { harm: None, ..it }).collect::<Vec<_>>()
    };
    assert_eq!(
        but_harm(fastest),
        but_harm(comparison),
        "limits change no result but the replications with bystanders"
    );
}

#[test]
fn a_harm_near_the_limit_has_more_replications_and_is_decided_or_named() {
    let schemes = ["hystart-linux+cubic", "hystart-linux+cubic@iw30"];
    // Thirty packets at once: short requests take 1.14 to 1.21 times as long in the intervals of five seeds with 512 replications.
    let asked = |limit: f64| {
        let mut asked = request(path(), &schemes, &[30_000]);
        asked.limits.harm = Some(limit);
        run(&asked)
    };
    let first = harm(&asked(3.0), schemes[1]);
    assert!(first.replications == 64 && first.within(3.0) == Some(true), "{first:?}");
    let near = asked(first.request_response);
    let settled = harm(&near, schemes[1]);
    assert!(settled.replications > 64, "{settled:?}");
    let recommended = &near.recommended[0];
    match settled.within(first.request_response) {
        Some(within) => assert_eq!((recommended.scheme.is_some(), recommended.undecided.len()), (within, 0)),
        None => assert_eq!(
            (&recommended.scheme, &recommended.undecided[..]),
            (&None, &[schemes[1].to_owned()][..])
        ),
    }
}

#[test]
fn only_what_a_deployed_stack_has_is_compared_if_that_is_asked_for() {
    let asked = Request { deployable: true, ..request(path(), &["bbr", "jump-start+cubic"], &[30_000]) };
    let error = compare(&Simulator, &asked, &Silent).expect_err("refused").to_string();
    assert_eq!(
        error,
        "jump-start+cubic: this stack does not have it; expected a candidate that docs/deploy.md lists, or no --deployable"
    );
    let asked = Request { deployable: true, ..request(path(), &["bbr", "slow-start+reno@iw20"], &[30_000]) };
    assert!(run(&asked).results.iter().all(|result| !result.how.is_empty()));
}

#[test]
fn the_same_seed_gives_the_same_harm() {
    let asked = request(path(), &["hystart-linux+cubic", "bbr"], &[300_000]);
    assert_eq!(run(&asked).results, run(&asked).results);
    let other = Request { seed: 2, ..asked.clone() };
    assert_ne!(harm(&run(&other), "bbr"), harm(&run(&asked), "bbr"), "another age of the bulk flow");
}

#[test]
fn bystanders_share_the_ends_of_a_transfer_through_a_graph() {
    let text = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[node]]\nname = \"c\"\n\
        [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"66 packets\"\nboth = true\n\
        [[link]]\nfrom = \"b\"\nto = \"c\"\nrate = \"1 Gbit/s\"\ndelay = \"10 ms\"\nbuffer = \"500 packets\"\nboth = true\n\
        [[flow]]\nname = \"one\"\nprofile = \"linux\"\nsize = \"300 KB\"\n\
        initial_receive_window = \"3 MB\"\nfrom = \"a\"\nto = \"c\"\n";
    let input: Input = parse(text, "graph.toml").expect("a scenario").into();
    let comparison = run(&request(input, &["hystart-linux+cubic", "jump-start+cubic"], &[3_000_000]));
    assert!(harm(&comparison, "jump-start+cubic").bulk > 1.3);
    let asked = request(
        parse(text, "graph.toml").expect("a scenario").into(),
        &["hystart-linux+cubic@ssthresh=bdp"],
        &[30_000],
    );
    let error = compare(&Simulator, &asked, &Silent).expect_err("refused").to_string();
    assert!(error.contains("ssthresh=50"), "{error}");
}

/// The simulator, which counts the runs that went on from a common beginning; or makes each run from its own, if `whole`.
struct Counting {
    whole: bool,
    went_on: Arc<AtomicU32>,
}

struct Counted(Box<dyn Begun>, Arc<AtomicU32>);

impl Begun for Counted {
    fn go_on(&self, scenario: &Scenario) -> Result<Option<Vec<Ended>>, Halt<Refusal>> {
        let ended = self.0.go_on(scenario)?;
        self.1.fetch_add(u32::from(ended.is_some()), Ordering::Relaxed);
        Ok(ended)
    }
}

impl Host for Counting {
    fn name(&self) -> &'static str {
        Simulator.name()
    }

    fn offers(&self) -> Signals {
        Simulator.offers()
    }

    fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
        Simulator.check(scenario, observe)
    }

    fn draws(&self, scenario: &Scenario) -> bool {
        Simulator.draws(scenario)
    }

    fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
        Simulator.run(scenario, seed, observe)
    }

    fn begin(
        &self,
        scenario: &Scenario,
        seed: u64,
        memory: u64,
    ) -> Result<Option<Box<dyn Begun>>, Halt<Refusal>> {
        if self.whole {
            return Ok(None);
        }
        let begun = Simulator.begin(scenario, seed, memory)?;
        Ok(begun.map(|begun| Box::new(Counted(begun, Arc::clone(&self.went_on))) as Box<dyn Begun>))
    }
}

#[test]
fn harm_is_the_same_whether_runs_share_their_beginning_or_not() {
    let path = "rate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"100 packets\"\n";
    let flow = "[[flow]]\nprofile = \"linux\"\nsize = \"30 KB\"\n";
    let beside = "[[flow]]\nname = \"other\"\nprofile = \"linux\"\nstart = \"1 s\"\n";
    let cases = [
        format!("[path]\n{path}{flow}"),
        format!("[path]\n{path}loss = 0.01\nreorder = {{ share = 0.1, delay = \"3 ms\" }}\n{flow}"),
        format!("[path]\n{path}queue = \"codel\"\n{flow}"),
        // Another flow without end, and one that begins beside the bulk flow.
        format!("duration = \"60 s\"\n[path]\n{path}{flow}{beside}"),
    ];
    let schemes = ["hystart-linux+cubic", "hystart-linux+cubic@iw60", "jump-start+cubic", "bbr"];
    for text in cases {
        let input: Input = parse(&text, "case.toml").expect("a scenario").into();
        let request = request(input, &schemes, &[30_000, 1_000_000]);
        let compared = |whole| {
            let host = Counting { whole, went_on: Arc::default() };
            let comparison = compare(&host, &request, &Silent).expect("the comparison is made").comparison;
            (serde_json::to_value(&comparison).expect("serialisable"), host.went_on.load(Ordering::Relaxed))
        };
        let ((shared, went_on), (whole, none)) = (compared(false), compared(true));
        assert_eq!((shared, none), (whole, 0), "{text}");
        // Three candidates and the present scheme, at two sizes, in eight replications or more.
        assert!(went_on >= 4 * 2 * 8, "{went_on} for {text}");
    }
}
