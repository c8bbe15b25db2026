//! QUIC as a host of scenarios.

use firstflight_hosts::host::{Host, Observe, Refusal};
use firstflight_hosts::progress::Halt;
use firstflight_hosts::simulator::Simulator;
use firstflight_lab::Quic;
use firstflight_results::RunResult;

fn run(host: &dyn Host, text: &str) -> Result<RunResult, Refusal> {
    let scenario = firstflight_scenario::parse(text, "test.toml").expect("a valid scenario").scenario;
    match host.run(&scenario, scenario.seed, &Observe::default()) {
        Ok(run) => Ok(run.result),
        Err(Halt::Failed(refusal)) => Err(refusal),
        Err(Halt::Stopped) => panic!("the run was stopped"),
    }
}

/// A transfer over 20 Mbit/s and 60 ms behind 100 packets.
fn one(path: &str, flow: &str) -> String {
    format!(
        r#"
        [path]
        rate = "20 Mbit/s"
        rtt = "60 ms"
        buffer = "100 packets"
        {path}
        [[flow]]
        name = "transfer"
        profile = "linux"
        {flow}
        "#
    )
}

#[test]
fn long_transfers_take_the_time_that_the_simulator_says() {
    for scheme in ["slow-start+reno", "slow-start+cubic", "hystart+++cubic", "hystart-linux+cubic"] {
        let (startup, avoidance) = scheme.rsplit_once('+').expect("two labels");
        let flow = format!(
            "size = \"10 MB\"\nstartup = \"{startup}\"\navoidance = \"{avoidance}\"\nreceive_window = \"20 MB\""
        );
        let text = one("", &flow).replace("profile = \"linux\"", "profile = \"quinn\"");
        let [simulated, quic] =
            [&Simulator as &dyn Host, &Quic].map(|host| run(host, &text).expect("it runs"));
        let times = [&simulated, &quic].map(|run| run.flows[0].completion_s.expect("it ends"));
        println!("{scheme}: {:.3} s simulated, {:.3} s over QUIC", times[0], times[1]);
        let error = times[1] / times[0] - 1.0;
        assert!(error.abs() < 0.03, "{scheme}: {error}");
        assert_eq!((quic.host.as_deref(), quic.flows[0].delivered_bytes), (Some("quic"), 10_000_000));
    }
}

#[test]
fn profile_quinn_takes_the_times_of_quinn_where_slow_start_overshoots() {
    // Half a bandwidth-delay product of buffer: quinn reduces its window twice, a sender of profile linux once.
    for (scheme, size) in [("reno", "100 KB"), ("reno", "3 MB"), ("reno", "10 MB"), ("cubic", "10 MB")] {
        let text = |profile: &str| {
            format!(
                r#"
                [path]
                rate = "50 Mbit/s"
                rtt = "50 ms"
                buffer = "0.5 BDP"
                [[flow]]
                profile = "{profile}"
                size = "{size}"
                startup = "slow-start"
                avoidance = "{scheme}"
                receive_window = "20 MB"
                "#
            )
        };
        let time = |host: &dyn Host, profile: &str| {
            run(host, &text(profile)).expect("it runs").flows[0].completion_s.expect("it ends")
        };
        let (simulated, quic) = (time(&Simulator, "quinn"), time(&Quic, "quinn"));
        println!("{scheme}, {size}: {simulated:.3} s simulated, {quic:.3} s over QUIC");
        assert!((simulated / quic - 1.0).abs() < 0.03, "{scheme}, {size}: {simulated} and {quic} s");
        if (scheme, size) == ("reno", "10 MB") {
            let linux = time(&Simulator, "linux");
            assert!(linux < 0.9 * quic, "profile linux: {linux} s");
        }
    }
}

#[test]
fn profile_quinn_takes_the_times_of_quinn_for_every_size() {
    // Rate, round trip and buffer. Half a bandwidth-delay product is in the test above.
    let paths = [
        ("20 Mbit/s", "60 ms", "1 BDP"),
        ("50 Mbit/s", "30 ms", "2 BDP"),
        ("10 Mbit/s", "100 ms", "4 BDP"),
        ("100 Mbit/s", "10 ms", "1 BDP"),
    ];
    // Two flights carry 30,066 bytes in the profile and less than 30,000 by quinn, whose tickets are larger: 30 KB is left out.
    let sizes = ["9500 B", "12 KB", "28 KB", "40 KB", "100 KB", "300 KB", "1 MB", "10 MB"];
    let mut errors = vec![];
    for (rate, rtt, buffer) in paths {
        for size in sizes {
            let text = format!(
                "[path]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer}\"\n[[flow]]\nprofile = \"quinn\"\nsize = \"{size}\"\n"
            );
            let [simulated, quic] = [&Simulator as &dyn Host, &Quic]
                .map(|host| run(host, &text).expect("it runs").flows[0].completion_s.expect("it ends"));
            let error = simulated / quic - 1.0;
            println!(
                "{rate}, {rtt}, {buffer}, {size}: {simulated:.4} s simulated, {quic:.4} s by quinn, {:+.1} %",
                error * 100.0
            );
            errors.push(error.abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(median < 0.01 && worst < 0.02, "{median}, {worst}");
}

#[test]
fn the_third_datagram_of_a_transfer_is_lost_once() {
    let text =
        |path: &str| one(path, "size = \"28 KB\"").replace("profile = \"linux\"", "profile = \"quinn\"");
    let mut took = vec![];
    for host in [&Simulator as &dyn Host, &Quic] {
        let [whole, repaired] = ["", "drop = [3]"].map(|path| run(host, &text(path)).expect("it runs"));
        assert_eq!(whole.flows[0].lost_packets, 0);
        assert_eq!((repaired.flows[0].lost_packets, repaired.flows[0].timeouts), (1, 0));
        assert_eq!(repaired.links.iter().map(|link| link.drops).sum::<u64>(), 1);
        let [whole, repaired] = [whole, repaired].map(|run| run.flows[0].completion_s.expect("it ends"));
        println!("{whole:.4} s without a loss, {repaired:.4} s with one");
        // The loss is known a round trip after the packet left, and the repair takes another; the window is smaller then.
        assert!(repaired > whole + 0.05, "{whole} {repaired}");
        took.push(repaired);
    }
    assert!((took[0] / took[1] - 1.0).abs() < 0.05, "{took:?}");
}

/// Profiles of the stacks in `stacks/rows.jsonl`: the stack, the beginning of its version, the profile.
const PROFILES: [(&str, &str, &str); 12] = [
    ("quinn", "quinn-proto 0.11", "quinn"),
    ("quiche", "quiche 0.30", "quiche"),
    ("quiche-pmtud", "quiche 0.30", "quiche-pmtud"),
    ("aioquic", "aioquic 1.7", "aioquic"),
    ("quic-go", "quic-go v0.65", "quic-go"),
    ("s2n-quic", "s2n-quic 1.91", "s2n-quic"),
    ("ngtcp2", "ngtcp2-server 1.11", "ngtcp2"),
    ("nginx", "nginx/1.26", "nginx-1.26"),
    ("nginx-sid", "nginx/1.30", "nginx-1.30"),
    ("haproxy", "HAProxy 3.0", "haproxy-3.0"),
    ("haproxy-3.4", "HAProxy 3.4", "haproxy-3.4"),
    ("linux", "6.", "linux"),
];

/// Transfers whose time follows from something that a profile does not have: the profile, the bytes, and the cause.
const OTHER_CAUSES: [(&str, u64, &str); 5] = [
    (
        "quinn",
        9500,
        "its server had the response ready when the handshake ended, so that 10,342 bytes left in the first flight",
    ),
    ("quinn", 30_000, "the same: the second flight held the rest"),
    ("haproxy-3.4", 9500, "the first datagram of its response left 6 to 8 ms after the request"),
    ("haproxy-3.4", 12_000, "the same"),
    ("haproxy-3.4", 30_000, "the same"),
];

#[test]
fn forecasts_of_stacks_hold_what_the_stacks_did() {
    let rows = include_str!("../stacks/rows.jsonl").lines();
    let rows = rows.map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a row"));
    let (mut errors, mut seen) = (vec![], 0);
    for row in rows {
        let text = |key: &str| row[key].as_str().expect(key);
        let known = PROFILES
            .iter()
            .find(|(stack, version, _)| *stack == text("stack") && text("version").starts_with(version));
        let Some((_, _, profile)) = known else { continue };
        // All four paths are those of the test `stacks`.
        if row["path"]["rate"] != "20 Mbit/s" {
            continue;
        }
        seen += 1;
        let path = ["rate", "rtt", "buffer"].map(|key| format!("{key} = {}\n", row["path"][key])).concat();
        let mut shown = format!("| `{profile}` | {} |", text("version"));
        for transfer in row["transfers"].as_array().expect("transfers") {
            let (bytes, real) =
                (transfer["bytes"].as_u64().expect("bytes"), transfer["seconds"].as_f64().expect("seconds"));
            let text = format!(
                "[path]\n{path}[[flow]]\nprofile = \"{profile}\"\nsize = \"{bytes} B\"\nreceive_window = \"16 MiB\"\n"
            );
            let simulated = run(&Simulator, &text).expect("it runs").flows[0].completion_s.expect("it ends");
            let error = simulated / real - 1.0;
            shown += &format!(" {simulated:.3} ({:+.1} %) |", error * 100.0);
            if OTHER_CAUSES.iter().all(|(stack, size, _)| (*stack, *size) != (*profile, bytes)) {
                errors.push(error.abs());
            }
        }
        println!("{shown}");
    }
    assert_eq!(seen, 2 * PROFILES.len(), "each stack on both paths");
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    println!("{} transfers: median {:.2} %, worst {:.2} %", errors.len(), median * 100.0, worst * 100.0);
    assert!(median < 0.02 && worst < 0.06, "{median}, {worst}");
}

#[test]
fn many_flows_cross_queues_of_every_kind_with_other_traffic() {
    let text = |path: &str| {
        format!(
            "duration = \"8 s\"\n{}\n{}",
            one(path, "size = \"unlimited\"\ncount = 2\nextra_rtt = \"10 ms\""),
            r#"
            [[flow]]
            name = "short"
            profile = "linux"
            size = "100 KB"
            start = { every = "2 s" }
            [[flow]]
            name = "back"
            profile = "linux"
            size = "3 MB"
            direction = "reverse"
            [[udp]]
            name = "cross"
            rate = "2 Mbit/s"
            "#
        )
    };
    for path in [
        "",
        "queue = \"codel\"",
        "queue = \"fq-codel\"",
        "queue = { kind = \"red\", ecn = true }",
        "loss = 0.001",
        "queue = { kind = \"policer\", rate = \"8 Mbit/s\", burst = \"30 KB\" }",
    ] {
        let text = text(path);
        let done = run(&Quic, &text).expect("it runs");
        let ended = |name: &str| {
            let flows = done.flows.iter().filter(|flow| flow.name.starts_with(name));
            flows.filter(|flow| flow.completion_s.is_some()).count()
        };
        assert!(ended("short") >= 3 && ended("back") == 1, "{path}: {:?}", done.flows);
        let delivered: u64 =
            done.flows.iter().filter(|flow| flow.name != "back.0").map(|flow| flow.delivered_bytes).sum();
        // 20 Mbit/s for 8 s are 20 MB.
        assert!((4_000_000..20_000_000).contains(&delivered), "{path}: {delivered}");
        assert!(done.links.iter().all(|link| link.utilization <= 1.0), "{path}: {:?}", done.links);
        assert_eq!(done, run(&Quic, &text).expect("it runs"), "{path}: the same seed");
    }
}

#[test]
fn marks_reduce_the_window_and_nothing_is_lost() {
    let path = "queue = { kind = \"codel\", ecn = true }";
    let done = run(&Quic, &one(path, "size = \"10 MB\"\nstartup = \"hystart++\"\navoidance = \"cubic\""))
        .expect("it runs");
    assert!(done.links[0].marks > 0, "{:?}", done.links);
    assert_eq!(done.flows[0].timeouts, 0);
}

#[test]
fn a_scenario_that_quic_cannot_run_is_refused_by_its_key() {
    for (path, flow, key, word) in [
        ("", "startup = \"jump-start\"\navoidance = \"reno\"", "flow[0].startup", "pacing"),
        ("", "startup = \"bbr\"", "flow[0].startup", "pacing"),
        ("", "startup = \"liss\"\navoidance = \"reno\"", "flow[0].startup", "memory"),
        ("", "min_rto = \"1 s\"", "flow[0].min_rto", "RFC 9002"),
        ("", "receiver_reads = \"256 KB\"", "flow[0].receiver_reads", "eager"),
        ("", "rounds = { count = 2, idle = \"1 s\" }", "flow[0].rounds", "one transfer"),
        ("", "cluster = \"one\"", "flow[0].cluster", "share no memory"),
        ("", "initial_receive_window = \"20 KB\"", "flow[0].initial_receive_window", "from the beginning"),
        ("[packet]\nsize = \"1000 B\"", "", "packet.size", "1228 B"),
        ("[packet]\nack_size = \"80 B\"", "", "packet.ack_size", "quinn's packet"),
    ] {
        let refusal = run(&Quic, &one(path, &format!("size = \"100 KB\"\n{flow}"))).expect_err(flow);
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(refusal.why.contains(word), "{refusal}");
    }
    let rfc = one("", "size = \"100 KB\"\nsack_walk = \"100 ns\"").replace("\"linux\"", "\"rfc\"");
    let refusal = run(&Quic, &rfc).expect_err("a host that needs time");
    assert_eq!(refusal.key, "flow[0].sack_walk", "{refusal}");
    assert!(refusal.why.contains("quinn"), "{refusal}");
}

#[test]
fn traffic_and_routers_that_quic_lacks_are_refused_by_their_keys() {
    let path = "[path]\nrate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"100 packets\"\n";
    let graph = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\n\
                 delay = \"10 ms\"\nbuffer = \"50 packets\"\nboth = true\n";
    let flow = "[[flow]]\nsize = \"100 KB\"\nfrom = \"a\"\nto = \"b\"\n";
    for (text, key, word) in [
        (format!("duration = \"1 s\"\n{path}[[telnet]]\n"), "telnet[0].interval", "only [[flow]]"),
        (format!("duration = \"1 s\"\n{path}[[web]]\n"), "web[0].pages", "only [[flow]]"),
        (format!("{path}queue = \"xcp\"\n[[flow]]\nsize = \"100 KB\"\n"), "path.queue", "a xcp router"),
        (format!("{graph}queue = \"xcp\"\n{flow}"), "queue", "a xcp router"),
    ] {
        let refusal = run(&Quic, &text).expect_err(&text);
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(refusal.why.contains(word), "{refusal}");
    }
    assert!(run(&Quic, &format!("{graph}{flow}")).is_ok());
}

#[test]
fn profile_quinn_grows_by_the_acks_for_which_quinn_has_more_to_send() {
    for packets in [5, 9, 10, 12, 20, 40, 80, 160] {
        let text = format!(
            r#"
            [path]
            rate = "100 Mbit/s"
            rtt = "100 ms"
            buffer = "1 BDP"
            [[flow]]
            profile = "quinn"
            size = "{packets} packets"
            startup = "slow-start"
            avoidance = "reno"
            "#
        );
        let window = |host: &dyn Host| run(host, &text).expect("it runs").flows[0].final_cwnd_packets;
        let (simulated, quic) = (window(&Simulator), window(&Quic));
        println!("{packets} packets: {simulated:.1} simulated, {quic:.1} over QUIC");
        // An ACK of two packets more or less, at which the pacer blocks quinn, is a difference of two. The largest that was measured
        // is 3.3, with 20 packets. The session tickets in quinn's first flight may cause it; this is a conjecture.
        assert!((simulated - quic).abs() < 3.5, "{packets} packets: {simulated} simulated, {quic} over QUIC");
    }
}
