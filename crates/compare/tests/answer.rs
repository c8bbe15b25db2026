//! The one setting that a server should have, of whole comparisons.

use firstflight_compare::{Input, Known, Limits, Request, compare};
use firstflight_contract::{Nanos, Rate};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_results::{Answer, Comparison};
use firstflight_scenario::{Limit, Profile};

/// 20 Mbit/s, 40 ms: 66 packets are in flight without a queue. The buffer has room for `buffer` more.
fn path(buffer: u64) -> Input {
    Input::Given(Known {
        rate: Some(Rate(20_000_000)),
        rtt: Some(Nanos::from_millis(40)),
        buffer: Some(Limit::Packets(buffer)),
        loss: None,
    })
}

fn run(request: &Request) -> (Comparison, Answer) {
    let comparison = compare(&Simulator, request, &Silent).expect("the comparison is made").comparison;
    let answer = comparison.answer.clone().expect("an answer");
    assert!(answer.sentence.split_whitespace().count() <= 20, "{}", answer.sentence);
    (comparison, answer)
}

/// A comparison whose limit of harm is a quarter: on this path an initial window of 20 lies at the usual limit.
fn request(input: Input, schemes: &[&str], sizes: &[u64]) -> Request {
    let limits = Limits { harm: Some(1.25), ..Limits::default() };
    Request { harm: true, limits, memory: 1 << 30, ..crate::compare::request(input, schemes, sizes) }
}

#[test]
fn a_start_that_no_stack_has_is_research_and_never_the_answer() {
    let schemes = ["hystart-linux+cubic", "jump-start+cubic", "hystart-linux+cubic@iw20"];
    let (comparison, answer) = run(&request(path(200), &schemes, &[30_000]));
    assert_eq!(answer.setting.as_deref(), Some("hystart-linux+cubic@iw20"), "{answer:?}");
    assert!(answer.sentence.starts_with("Set the initial window to 20: transfers end "), "{answer:?}");
    assert_eq!(answer.commands.len(), 1, "the stack has cubic already: {answer:?}");
    assert!(
        answer.commands[0].starts_with("ip route change ") && answer.commands[0].ends_with(" initcwnd 20")
    );
    let [at] = answer.sizes[..] else { panic!("one size") };
    let result = |scheme: &str| comparison.results.iter().find(|it| it.scheme == scheme).expect(scheme);
    let median = |scheme: &str| result(scheme).completion_s.expect("it ends").median;
    assert_eq!((at.now_s, at.then_s), (Some(median(schemes[0])), Some(median(schemes[2]))));
    assert_eq!(at.gain, Some(1.0 - median(schemes[2]) / median(schemes[0])));
    // 30 KB are 21 packets: one more than 20, so that jump-start alone needs a single round trip.
    let research: Vec<&str> = answer.research.iter().map(|it| it.scheme.as_str()).collect();
    assert_eq!(research, ["jump-start+cubic"]);
    assert_eq!((answer.trust.as_str(), answer.decided_by.as_str()), ("likely", "gain"));
}

#[test]
fn a_queue_that_holds_no_larger_window_leaves_the_server_as_it_is_for_the_rule_that_decided() {
    // Of sixty packets at once one is sent and nine wait; the link sends a packet each 0.6 ms, and the server is faster than that.
    let schemes = ["hystart-linux+cubic", "hystart-linux+cubic@iw60"];
    let (comparison, answer) = run(&request(path(9), &schemes, &[100_000]));
    let drops =
        |scheme: &str| comparison.results.iter().find(|it| it.scheme == scheme).expect(scheme).drops.mean;
    // The limit is a tenth more than now, and a tenth of a packet.
    assert!(drops(schemes[1]) > 1.1 * drops(schemes[0]) + 0.1 && drops(schemes[1]) >= 30.0);
    assert_eq!((answer.verdict.as_str(), &answer.setting, &answer.commands[..]), ("keep", &None, &[][..]));
    assert_eq!(answer.decided_by, "drops", "{answer:?}");
    assert_eq!(answer.sentence, "Leave it as it is: every faster setting loses too many packets.");
    assert!(answer.sizes[0].now_s.is_some() && answer.sizes[0].then_s.is_none());
    // The fastest without limits is what `--fastest` asks for; a loss of 60 packets is no limit then.
    let limits = Limits { fastest: true, ..Limits::default() };
    let (_, fastest) = run(&Request { limits, ..request(path(9), &schemes, &[100_000]) });
    assert_eq!(fastest.max_harm, None);
}

#[test]
fn a_harm_at_the_limit_leaves_the_server_as_it_is_and_names_the_candidate() {
    // The harm of 1.11 has an interval from 1.09 to 1.12 after 512 replications, the most.
    let schemes = ["hystart-linux+cubic", "hystart-linux+cubic@iw20"];
    let (comparison, answer) =
        run(&Request { limits: Limits::default(), ..request(path(200), &schemes, &[30_000]) });
    let harm =
        comparison.results.iter().find_map(|it| it.harm.filter(|_| it.scheme == schemes[1])).expect("harm");
    assert_eq!((harm.within(1.1), harm.replications), (None, 512), "{harm:?}");
    assert_eq!((answer.verdict.as_str(), answer.decided_by.as_str()), ("keep", "harm-open"), "{answer:?}");
    assert!(
        answer.trust_why.starts_with("hystart-linux+cubic@iw20 ends sooner, but its harm may exceed"),
        "{answer:?}"
    );
}

#[test]
fn without_the_scheme_that_the_server_has_the_answer_asks_for_it() {
    let (_, answer) = run(&request(path(200), &["jump-start+cubic", "bbr"], &[30_000]));
    assert_eq!((answer.verdict.as_str(), answer.decided_by.as_str()), ("cannot-tell", "no-reference"));
    assert_eq!(answer.sentence, "Cannot tell: compare the scheme that the server has now, too.");
    assert_eq!((answer.trust.as_str(), answer.capture_more), ("cannot tell", None));
}

#[test]
fn transfers_that_do_not_end_are_named_and_not_taken_for_a_missing_scheme() {
    let slow = Input::Given(Known {
        rate: Some(Rate(1000)),
        rtt: Some(Nanos::from_millis(100)),
        buffer: Some(Limit::Packets(3)),
        loss: None,
    });
    // 3 MB at 1 kbit/s take more than six hours.
    let (_, answer) = run(&request(slow, &["hystart-linux+cubic", "hystart-linux+cubic@iw20"], &[3_000_000]));
    assert_eq!((answer.verdict.as_str(), answer.decided_by.as_str()), ("cannot-tell", "no-end"));
    assert_eq!(
        answer.sentence,
        "Cannot tell: transfers do not end in the time allowed; compare smaller ones (--size)."
    );
    assert_eq!(answer.sizes[0].now_s, None);
}

#[test]
fn a_quic_server_gets_the_option_of_its_own_stack() {
    let schemes = ["slow-start+cubic", "slow-start+reno", "slow-start+cubic@iw20"];
    let (comparison, answer) =
        run(&Request { profile: Profile::Quinn, ..request(path(200), &schemes, &[30_000]) });
    assert_eq!(comparison.present.as_deref(), Some("slow-start+cubic"), "quinn's own");
    assert_eq!(answer.setting.as_deref(), Some("slow-start+cubic@iw20"), "{answer:?}");
    // quinn counts its window in bytes of 1200 a datagram.
    assert_eq!(answer.commands, ["CubicConfig::default().initial_window(24000)"]);
}

#[test]
fn given_sizes_count_alike_and_their_weights_add_up_to_one() {
    let schemes = ["hystart-linux+cubic", "hystart-linux+cubic@iw20"];
    let (_, answer) = run(&request(path(200), &schemes, &[300_000, 30_000]));
    let weights: Vec<(u64, f64)> = answer.sizes.iter().map(|it| (it.size_bytes, it.weight)).collect();
    assert_eq!((weights, answer.uncounted), (vec![(30_000, 0.5), (300_000, 0.5)], None));
    // One replication of each scheme: the gain is that of the geometric mean of the two ratios.
    let ratio =
        |at: usize| answer.sizes[at].then_s.expect("it ends") / answer.sizes[at].now_s.expect("it ends");
    let expected = 1.0 - (ratio(0) * ratio(1)).sqrt();
    assert!((answer.gain.expect("a gain") - expected).abs() < 1e-9, "{answer:?}");
}
