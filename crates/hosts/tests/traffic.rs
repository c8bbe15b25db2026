//! Traffic sources: arrivals, telnet, web, parallel connections.

use firstflight_document::seconds::Seconds;
use std::path::Path;

use firstflight_contract::Nanos;
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::network::{Built, build};
use firstflight_hosts::progress::Silent;
use firstflight_hosts::run::{RunOptions, run};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::RunResult;
use firstflight_scenario::{Loaded, load, parse};
use firstflight_sim::config::FlowConfig;
use firstflight_sim::sender::app::Clock;

const GRID: Nanos = Nanos::from_secs(1);

fn read(duration: &str, traffic: &str) -> Loaded {
    let text = format!(
        "duration = \"{duration}\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"250 packets\"\n\
         [packet]\nsize = \"1000 B\"\n{traffic}"
    );
    parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn built(duration: &str, traffic: &str, seed: u64) -> Built {
    build(&read(duration, traffic).scenario, seed, GRID).unwrap_or_else(|refusal| panic!("{}", refusal.why))
}

fn result(loaded: &Loaded) -> RunResult {
    run(&Simulator, loaded, &RunOptions { grid: GRID, ..RunOptions::default() }, &Silent)
        .unwrap_or_else(|error| panic!("{error}"))
        .result
}

fn seconds(ns: u64) -> f64 {
    Nanos(ns).as_secs_f64()
}

#[test]
fn flows_without_a_count_arrive_until_the_run_ends() {
    let traffic = "[[flow]]\nstart = { exponential = \"1 s\" }\nlifetime = { pareto = { mean = \"100 s\", shape = 1.35 } }";
    let flows = built("3000 s", traffic, 1).network.flows;
    // A Poisson process: mean 3000, standard deviation sqrt(3000) = 55; five of them.
    assert!(flows.len().abs_diff(3000) < 274, "{}", flows.len());
    assert!(flows.iter().all(|flow| flow.app.start < 3_000_000_000_000));
    assert!(flows.iter().map(|flow| flow.app.start).is_sorted());
    // Half of all lifetimes are below the median, 100 s x 0.35 / 1.35 x 2^(1 / 1.35) = 43.32 s.
    let short = flows.iter().filter(|flow| flow.app.lifetime.is_some_and(|ns| seconds(ns) < 43.32)).count();
    assert!(short.abs_diff(flows.len() / 2) < 137, "{short}");
    // Another seed gives other arrivals and another number of them.
    assert_ne!(flows.len(), built("3000 s", traffic, 2).network.flows.len());
    assert_eq!(built("10 s", "[[flow]]\nstart = { every = \"3 s\" }", 1).network.flows.len(), 4);
}

#[test]
fn a_telnet_connection_sends_packets_at_the_intervals_of_tcplib() {
    let built = built("3000 s", "[[telnet]]\ncount = 20", 1);
    let gaps: Vec<u64> = built.network.flows.iter().flat_map(|flow| flow.app.pauses.clone()).collect();
    let below = |ms: u64| gaps.iter().filter(|gap| **gap < ms * 1_000_000).count() as f64 / gaps.len() as f64;
    // ns-2's table: a quarter below 136.0 ms, half below 236.4, nine tenths below 1565.5.
    assert!(gaps.len() > 50_000, "{}", gaps.len());
    for (ms, share) in [(136, 0.25), (236, 0.5), (1565, 0.9)] {
        assert!((below(ms) - share).abs() < 0.011, "{ms} ms: {}", below(ms));
    }
    let app = &built.network.flows[0].app;
    assert_eq!((app.clock, app.bytes, app.sizes.len()), (Clock::Written, Some(960), 0));
    assert!(app.start + app.pauses.iter().sum::<u64>() < 3_000_000_000_000);
}

#[test]
fn messages_arrive_a_round_trip_after_they_were_sent() {
    let text = "[[telnet]]\ninterval = { exponential = \"200 ms\" }\nprofile = \"ns2\"\nlifetime = \"50 s\"";
    let flow = &result(&read("60 s", text)).flows[0];
    // Mean 250, standard deviation 16. Alone on the path each message takes 60 ms, 0.8 ms at 10 Mbit/s and a
    // little at the access links, unless it waits for the window, which few small messages open only to 1 or
    // 2 packets.
    assert!((170..330).contains(&flow.delivered_packets), "{}", flow.delivered_packets);
    assert_eq!(flow.rounds_s.len() as u64, flow.delivered_packets);
    let prompt = flow.rounds_s.iter().filter(|t| (0.0608..0.0613).contains(*t)).count();
    assert!(
        prompt * 2 > flow.rounds_s.len() && flow.rounds_s.iter().all(|t| *t > 0.0608),
        "{:?}",
        flow.rounds_s
    );
}

const WEB: &str =
    "[[web]]\nname = \"w\"\nprofile = \"ns2\"\nsessions = 50\npages = 5\nstart = { every = \"5 ms\" }\n";

#[test]
fn a_web_page_is_a_burst_of_objects_on_separate_connections() {
    let mut objects = vec![];
    for seed in 1..=40 {
        objects.extend(built("600 s", WEB, seed).network.flows.into_iter().map(|flow| (seed, flow)));
    }
    let name = |flow: &FlowConfig| -> [u32; 3] {
        let mut parts = flow.name.trim_start_matches("w.").split('.').map(|part| part.parse().unwrap());
        [(); 3].map(|()| parts.next().unwrap())
    };
    // 40 runs of 50 sessions of 5 pages. Rounded up, Pareto-II with mean 4 and shape 1.5, s = 2, is 1 with
    // probability 1 - 1.5^-1.5 = 0.45567 and above 10 with 6^-1.5 = 0.06804; the mean is sum (1 + k/2)^-1.5,
    // k from 0: about 4.5.
    let pages = 40 * 50 * 5;
    let of_page =
        |least: u32| objects.iter().filter(|(_, flow)| name(flow)[2] == least).count() as f64 / pages as f64;
    assert_eq!(of_page(0), 1.0);
    assert!((of_page(1) - (1.0 - 0.455_67)).abs() < 5.0 * 0.498 / 100.0, "{}", of_page(1));
    assert!((of_page(10) - 0.068_04).abs() < 5.0 * 0.252 / 100.0, "{}", of_page(10));
    // Bytes of an object: s = 4 x 960 x 0.2 = 768, P(X > 960) = (1 + 1.25)^-1.2 = 0.37790; P(X > 9600) =
    // 13.5^-1.2 = 0.04402.
    let above = |bytes: u64| {
        objects.iter().filter(|(_, f)| f.app.bytes > Some(bytes)).count() as f64 / objects.len() as f64
    };
    assert!((above(960) - 0.377_90).abs() < 5.0 * 0.485 / (objects.len() as f64).sqrt(), "{}", above(960));
    assert!((above(9600) - 0.044_02).abs() < 5.0 * 0.205 / (objects.len() as f64).sqrt(), "{}", above(9600));
    // Gaps: mean 50 ms between objects, 500 ms from the last object of a page to the next page; sessions 5 ms
    // apart.
    let mut gaps = [vec![], vec![]];
    for pair in objects.windows(2) {
        let ([a, b], run) = ([name(&pair[0].1), name(&pair[1].1)], pair[0].0 == pair[1].0);
        if run && a[0] == b[0] {
            gaps[usize::from(a[1] != b[1])].push(seconds(pair[1].1.app.start - pair[0].1.app.start));
        }
    }
    for (gaps, mean) in gaps.iter().zip([0.05, 0.5]) {
        let measured = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((measured / mean - 1.0).abs() < 5.0 / (gaps.len() as f64).sqrt(), "{measured} {mean}");
    }
    let first =
        |session: u32| objects.iter().find(|(_, flow)| name(flow) == [session, 0, 0]).unwrap().1.app.start;
    assert_eq!((first(0), first(7)), (0, 35_000_000));
}

#[test]
fn persistent_connections_carry_the_same_objects_at_the_same_times() {
    let alone = built("60 s", WEB, 3).network.flows;
    let shared =
        built("60 s", &format!("{WEB}connections = \"persistent\"\nparallel = 2\n"), 3).network.flows;
    assert!(shared.len() <= 100 && shared.iter().all(|flow| flow.name.split('.').count() == 3));
    let writes = |flow: &FlowConfig| {
        let gaps = flow.app.pauses.iter().scan(flow.app.start, |at, gap| {
            *at += gap;
            Some(*at)
        });
        let times = std::iter::once(flow.app.start).chain(gaps);
        times.zip(flow.app.bytes.into_iter().chain(flow.app.sizes.clone())).collect::<Vec<_>>()
    };
    let sorted = |flows: &[FlowConfig]| {
        let mut all: Vec<_> = flows.iter().flat_map(writes).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&alone), sorted(&shared));
    // In turn: of a session's objects the second connection has as many as the first, or one less.
    for pair in
        shared.chunk_by(|a, b| a.name.rsplit_once('.').unwrap().0 == b.name.rsplit_once('.').unwrap().0)
    {
        let count = |i: usize| pair.get(i).map_or(0, |flow| 1 + flow.app.pauses.len());
        assert!(pair.len() <= 2 && count(0) - count(1) <= 1, "{}", pair[0].name);
    }
    // The connections deliver every byte of them.
    let loaded = read("600 s", &format!("{WEB}connections = \"persistent\"\n"));
    let bytes: u64 =
        build(&loaded.scenario, 1, GRID).unwrap().network.flows.iter().flat_map(writes).map(|w| w.1).sum();
    assert_eq!(result(&loaded).flows.iter().map(|flow| flow.delivered_bytes).sum::<u64>(), bytes);
}

#[test]
fn a_flow_can_be_split_over_parallel_connections() {
    let text = |parallel: u32| {
        format!("[[flow]]\nname = \"bulk\"\nprofile = \"ns2\"\nsize = \"96001 B\"\nparallel = {parallel}")
    };
    let four = result(&read("60 s", &text(4))).flows;
    let names: Vec<_> = four.iter().map(|flow| &flow.name[..]).collect();
    assert_eq!(names, ["bulk.0.0", "bulk.0.1", "bulk.0.2", "bulk.0.3"]);
    assert_eq!(
        four.iter().map(|flow| flow.delivered_bytes).collect::<Vec<_>>(),
        [24_001, 24_000, 24_000, 24_000]
    );
    // One connection from a window of 1: 101 packets in rounds of 1, 2, 4 to 64, seven round trips. Four: 26
    // or 25 each, in rounds of 1 to 16, five round trips.
    let last = four.iter().filter_map(|flow| flow.completion_s).fold(0.0, f64::max);
    let alone = result(&read("60 s", &text(1))).flows[0].completion_s.expect("the transfer finishes");
    assert!((0.3..0.36).contains(&last) && (0.42..0.5).contains(&alone), "{last} {alone}");
    // A transfer is split over at most as many connections as it has bytes.
    let tiny = read("60 s", "[[flow]]\nsize = \"3 B\"\nparallel = 5");
    assert_eq!(result(&tiny).flows.len(), 3);
}

#[test]
fn an_on_off_source_is_on_for_its_share_of_the_time() {
    let text = "[[udp]]\nname = \"u\"\nrate = \"1 Mbit/s\"\n\
                on_off = { on = { pareto = { mean = \"1 s\", shape = 3 } }, off = { pareto = { mean = \"3 s\", shape = 3 } } }";
    let on = &built("40000 s", text, 1).network.udp[0].on;
    // Mean 10 000 periods; standard deviation of a Pareto of shape 3: mean / sqrt(3).
    assert!(on.len().abs_diff(10_000) < 300, "{}", on.len());
    let lengths: Vec<f64> = on.iter().map(|(from, until)| (*until - *from).as_secs_f64()).collect();
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    assert!((mean - 1.0).abs() < 5.0 * 0.577 / 100.0, "{mean}");
    // x_min = 2/3 s; P(X > 4/3 s) = 1/8.
    let long = lengths.iter().filter(|s| **s > 4.0 / 3.0).count() as f64 / lengths.len() as f64;
    assert!((long - 0.125).abs() < 5.0 * 0.331 / 100.0, "{long}");
    assert!(lengths[..lengths.len() - 1].iter().all(|s| *s >= 0.666_666));
}

#[test]
fn the_scenarios_of_web_and_mixed_traffic_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let run = |name: &str| result(&load(&folder.join(name)).unwrap_or_else(|error| panic!("{error}")));
    let web = run("web-pages.toml");
    let done = web.flows.iter().filter(|flow| flow.completion_s.is_some()).count();
    assert!(done * 10 > web.flows.len() * 9 && web.flows.len() > 500, "{done} of {}", web.flows.len());
    let mixed = run("background-traffic.toml");
    assert!(mixed.flows.iter().any(|flow| flow.name.starts_with("telnet") && flow.rounds_s.len() > 5));
    assert!(mixed.flows.iter().filter(|flow| flow.name.starts_with("surge")).count() > 100);
}

#[test]
fn datagrams_have_their_own_size_and_count_as_packets_in_the_buffer() {
    // 17 Mbit/s into 10 Mbit/s and 250 packets for 1 s. Of 210 bytes one is sent every 98,823.5 ns, the last of
    // 10,119 at 999.90 ms; by then floor (999.90 / 0.168) = 5951 are served, one is in service, and 250 wait:
    // 6202. Of 1000 bytes one every 8/17 ms, so that the 2126th would come at 1 s, when the run is over; by 999.53 ms
    // floor (999.53 / 0.8) = 1249 are served: 1500.
    for (size, drops) in [("size = \"210 B\"", 10_119 - 6202), ("", 2125 - 1500)] {
        let link = &result(&read("1 s", &format!("[[udp]]\nrate = \"17 Mbit/s\"\n{size}"))).links[0];
        assert_eq!((link.drops, link.max_queue_packets), (drops, 250), "{size}");
    }
}

#[test]
fn packets_of_a_run_without_connections_are_recorded() {
    let text = "duration = \"1 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"20 packets\"\nqueue = \"codel\"\n\
                [[udp]]\nrate = \"1 Mbit/s\"\n";
    let scenario = parse(text, "test.toml").expect("a valid scenario").scenario;
    let observe = Observe { packets: true, ..Observe::default() };
    let run = Simulator.run(&scenario, 1, &observe).expect("it runs");
    assert_eq!(run.recording.map(|recording| recording.flows.len()), Some(0));
    assert!(run.result.links[0].utilization > 0.0);
}

#[test]
fn a_receive_buffer_that_grows_is_refused_where_its_host_cannot_know_a_round_trip() {
    let refused = |keys: &str| {
        let traffic = format!("[[flow]]\nsize = \"100 KB\"\nreceiver = \"tuned-buffer\"\n{keys}");
        let loaded = read("10 s", &traffic);
        build(&loaded.scenario, 1, GRID).err().map(|refusal| refusal.why)
    };
    assert_eq!(refused("profile = \"linux\""), None);
    for (keys, why) in [
        ("profile = \"rfc\"", "only profile linux"),
        ("profile = \"linux\"\nhandshake = false", "in a handshake without data"),
        ("profile = \"linux\"\ndata_in_syn = \"tfo\"", "in a handshake without data"),
        ("profile = \"linux\"\nreceiver_reads = \"20 KB\"", "expected receiver_reads = \"eager\""),
    ] {
        let found = refused(keys).expect(keys);
        assert!(found.contains(why), "{keys}: {found}");
    }
}

#[test]
fn small_messages_share_segments_as_a_kernel_sends_them() {
    // A message of 100 B each millisecond over 100 ms. A kernel (Linux 6.18, `firstflight lab run` with this scenario) had 207, 310, 335,
    // 477 and 599 messages acknowledged at these times after the first write.
    let loaded = parse(
        "duration = \"1 s\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1000 packets\"\n[[telnet]]\n\
         profile = \"linux\"\ncount = 1\nsize = \"100 B\"\ninterval = { uniform = [\"1 ms\", \"1 ms\"] }\n",
        "test.toml",
    );
    let flow = &result(&loaded.expect("a scenario")).flows[0];
    let written = (0..).map(|number| f64::from(number) * 0.001);
    let acknowledged: Vec<f64> = written.zip(&flow.rounds_s).map(|(at, took)| at + took).collect();
    for (at, kernel) in [(0.4, 207_usize), (0.41, 310), (0.5, 335), (0.6, 477), (0.699, 599)] {
        let messages = acknowledged.iter().filter(|time| **time <= at).count();
        assert!(messages.abs_diff(kernel) <= 1, "{at} s: {messages} messages, of the kernel {kernel}");
    }
}
