//! Quantities and whole scenarios that are written and read back are unchanged.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_document::QuantityProblem;
use firstflight_document::quantity::*;
use firstflight_random::Dist;
use firstflight_scenario::*;
use proptest::prelude::*;

/// Numbers of every magnitude up to `most`, round ones among them.
fn magnitudes(most: u64) -> impl Strategy<Value = u64> + Clone {
    let digits = most.ilog10();
    prop_oneof![
        (0..=digits, 1..10_u64).prop_map(|(power, digit)| digit * 10_u64.pow(power)),
        (0..=digits).prop_flat_map(|power| 0..=10_u64.pow(power)),
        0..=most,
    ]
    .prop_map(move |n| n.min(most))
}

fn time(most: Nanos) -> impl Strategy<Value = Nanos> + Clone {
    magnitudes(most.0).prop_map(|n| Nanos(n.max(1)))
}

fn dist<T: Copy + PartialOrd + core::fmt::Debug>(
    values: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Dist<T>> {
    prop_oneof![
        values.clone().prop_map(Dist::Fixed),
        (values.clone(), values.clone()).prop_map(|(a, b)| if a <= b {
            Dist::Uniform(a, b)
        } else {
            Dist::Uniform(b, a)
        }),
        values.clone().prop_map(Dist::Exponential),
        (values, 1.0001..100.0).prop_map(|(mean, shape)| Dist::Pareto { mean, shape }),
    ]
}

/// Distributions of sizes, which have more laws.
fn sizes() -> impl Strategy<Value = Dist<u64>> {
    let values = || magnitudes(limits::BYTES).prop_map(|n| n.max(1));
    let shape = || 1.0001..100.0;
    prop_oneof![
        dist(values()),
        (values(), shape()).prop_map(|(mean, shape)| Dist::ParetoII { mean, shape }),
        (values(), 1e-3..10.0, prop::option::of((values(), shape())))
            .prop_map(|(median, sigma, tail)| Dist::Lognormal { median, sigma, tail }),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    let times = || dist(time(limits::DELAY));
    let law = times().prop_filter("a plain time is none", |law| !matches!(law, Dist::Fixed(_)));
    let web = (1..9_u32, times(), 1.0001..9.0, times(), any::<bool>());
    prop_oneof![
        3 => Just(Source::Flow),
        1 => Just(Source::Telnet(Interval::Tcplib)),
        1 => law.prop_map(|law| Source::Telnet(Interval::Law(law))),
        1 => web.prop_map(|(pages, page_gap, x, object_gap, persistent)| {
            let objects = Dist::ParetoII { mean: x, shape: x };
            Source::Web(Pages { pages, page_gap, objects, object_gap, persistent })
        }),
    ]
}

fn start() -> impl Strategy<Value = Start> {
    let time = || time(limits::TIME);
    prop_oneof![
        time().prop_map(Start::At),
        time().prop_map(Start::Every),
        time().prop_map(Start::Exponential),
        (time(), time()).prop_map(|(a, b)| Start::Uniform(a.min(b), a.max(b))),
    ]
}

fn queue() -> impl Strategy<Value = Queue> {
    let red = (0.0..1e6, 1e-9..1e6, 1e-9..1.0, 1e-9..1.0, any::<bool>(), any::<bool>(), 0..65_536_u32);
    prop_oneof![
        Just(Queue::DropTail),
        Just(Queue::Priority(())),
        Just(Queue::AckFilter(())),
        (1_u64..1 << 40, 1_u64..1 << 40, any::<bool>(), 1_u64..100_000, 1_u32..65_536).prop_map(
            |(target, interval, ecn, quantum, flows)| {
                let codel = Codel { target: Nanos(target), interval: Nanos(interval), ecn };
                if flows % 2 == 0 {
                    Queue::Codel(codel)
                } else {
                    Queue::FqCodel(FqCodel { codel, quantum, flows })
                }
            }
        ),
        (0.0..1.0, 0.0..1.0)
            .prop_map(|(threshold, share)| Queue::Router(Router::QuickStart { threshold, share })),
        (0.0..1.0, 0.0..1.0, 0.0..1.0).prop_map(|(alpha, beta, gamma)| Queue::Router(Router::Xcp {
            alpha,
            beta,
            gamma
        })),
        (0.0..1.0).prop_map(|target| Queue::Router(Router::Vcp { target })),
        (magnitudes(limits::RATE.0), magnitudes(limits::BYTES)).prop_map(|(rate, burst)| {
            Queue::Policer(Policer { rate: Rate(rate.max(1)), burst: burst.max(65_535) })
        }),
        red.prop_map(|(min, above, weight, max_p, gentle, ecn, mean)| {
            let max = f64::max(min + above, f64::next_up(min));
            let red = Red { min, max, weight, max_p, gentle, ecn, mean_packet: None };
            let mean_packet = (mean > 0).then_some(mean);
            if gentle { Queue::Red(Red { mean_packet, ..red }) } else { Queue::Choke(red) }
        }),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        magnitudes(limits::QUEUE).prop_map(|n| Limit::Packets(n.max(1))),
        magnitudes(limits::BYTES).prop_map(|n| Limit::Bytes(n.max(65_535))),
    ]
}

prop_compose! {
    fn path()(
        rate in magnitudes(limits::RATE.0), rtt in time(limits::DELAY), buffer in limit(), queue in queue(),
        loss in 0.0..0.999, runs in 1.0..100.0, access in magnitudes(limits::RATE.0),
    ) -> Path {
        let on_arrival = matches!(queue, Queue::DropTail | Queue::Red(_) | Queue::Policer(_));
        // Longer than the runs of independent loss, or independent.
        let longer = runs / (1.0 - loss);
        Path {
            rate: Rate(rate.max(1)),
            trace: None,
            rtt,
            buffer,
            queue,
            shaper: (on_arrival && runs > 50.0).then_some(Shaper { rate: Rate(1 + rate / 2), burst: 65_535 + rate }),
            loss,
            loss_burst: if longer * (1.0 - loss) > 1.0 { longer } else { 1.0 },
            drop: if runs > 20.0 { Arc::default() } else { [1 + runs as u32, 200 + (rate % 1000) as u32].into() },
            reorder: (runs < 30.0).then_some(Reorder { share: loss / 2.0, delay: Nanos(1 + rtt.0 / 2), burst: 1.0 + runs }),
            access_rate: Rate(access.max(1)),
        }
    }
}

prop_compose! {
    fn graph()(links in prop::collection::vec((path(), time(limits::DELAY)), 1..5)) -> Graph {
        let name = |i: usize| format!("n{i}");
        let nodes = (0..=links.len()).map(|i| Node {
            name: name(i), access_rate: Rate(1 + i as u64), subnet: (i > 1).then(|| format!("s{}", i / 2)),
        }).collect();
        // A chain of two-way links.
        let links = links.into_iter().enumerate().flat_map(|(i, (path, delay))| {
            let there = Link {
                name: format!("l{i}"), from: i, to: i + 1, rate: path.rate, trace: None, delay, cost: 1 + delay.0 % 9,
                buffer: path.buffer, queue: path.queue, shaper: path.shaper, loss: path.loss, loss_burst: path.loss_burst,
                drop: path.drop, reorder: path.reorder,
            };
            let back = Link { name: format!("b{i}"), from: i + 1, to: i, ..there.clone() };
            [there, back]
        });
        Graph { nodes, links: links.collect() }
    }
}

fn scheme() -> impl Strategy<Value = SchemeSpec> {
    prop::sample::select(
        &["slow-start+reno", "hystart+++reno", "limited-slow-start+slow-start+reno", "reno"][..],
    )
    // Without a start-up of its own a flow has its profile's: "reno" alone cannot be written.
    .prop_filter_map("a file cannot say it", |text| {
        SchemeSpec::parse(text).ok().filter(|s| s.phases().len() > 1)
    })
}

prop_compose! {
    fn flow()(
        profile in prop::sample::select(Profile::ALL), count in 1..1000_u32, start in start(),
        size in prop::option::of(sizes()), source in source(), parallel in 1..9_u32,
        lifetime in prop::option::of(dist(time(limits::TIME))),
        rounds in prop::option::of((1..=limits::ROUNDS, time(limits::TIME), time(limits::TIME))),
        scheme in scheme(),
    )(
        profile in Just(profile), count in Just(count), start in Just(start), size in Just(size),
        lifetime in Just(lifetime), rounds in Just(rounds), scheme in Just(scheme),
        source in Just(source), parallel in Just(parallel),
        recovery in prop::sample::select(Recovery::ALL), partial_acks in prop::sample::select(PartialAcks::ALL), data_in_syn in prop::sample::select(DataInSyn::ALL), receiver in prop::sample::select(Receiver::ALL),
        idle_restart in prop::sample::select(IdleRestart::ALL),
        windows in (65_535..limits::BYTES, prop::option::of(65_535..limits::BYTES), prop::option::of(65_535..limits::BYTES)),
        timers in (time(limits::TIME), time(limits::TIME), time(limits::TIME)),
        reads in prop::option::of(1..limits::BYTES),
        processor in prop::option::of((time(limits::TIME), prop::option::of(1..=limits::BACKLOG as u32))),
        flags in any::<(bool, bool, bool, bool)>(),
        cluster in prop::option::of("[a-zA-Z0-9_-]{1,64}"),
        extra_rtt in dist(time(limits::DELAY)),
    ) -> FlowGroup {
        // Settings that each kind of source can have.
        let (is_flow, is_web) = (source == Source::Flow, matches!(source, Source::Web(_)));
        let shares = is_flow || matches!(source, Source::Web(Pages { persistent: true, .. }));
        let arrive = matches!(start, Start::Every(_) | Start::Exponential(_));
        FlowGroup {
            name: String::new(), profile, scheme, recovery, source, start,
            partial_acks: match (recovery, profile) {
                (Recovery::NewReno, Profile::Rfc | Profile::Ns2) => partial_acks,
                _ => PartialAcks::Impatient,
            },
            processor: processor.filter(|_| (recovery, profile) == (Recovery::Sack, Profile::Rfc)).map(
                |(walk, backlog)| Processor { walk: Nanos(walk.0.max(1)), backlog },
            ),
            count: Some(count).filter(|count| !(is_flow && arrive && count % 3 == 0)),
            size: size.or((!is_flow).then_some(Dist::Fixed(7))),
            lifetime: lifetime.filter(|_| !is_web),
            parallel: if shares { parallel } else { 1 },
            rounds: rounds.filter(|_| is_flow).map(|(count, idle, jitter)| Rounds { count: count as u32, idle, jitter }),
            initial_window: windows.0, initial_ssthresh: windows.1, receive_window: windows.2,
            initial_receive_window: windows.2.filter(|_| flags.3),
            send_buffer: windows.1.filter(|_| profile.stack().is_quic()),
            receiver, delayed_ack_timer: timers.0,
            receiver_reads: reads.map_or(Reads::Eager, Reads::Every),
            growth: match (flags.0, profile.stack().growth) {
                (true, growth) => growth,
                (false, Growth::PerAck) => Growth::ByteCounting,
                (false, _) => Growth::PerAck,
            },
            min_rto: timers.1, rto_granularity: timers.2, idle_restart,
            paced: flags.1 && profile == Profile::Linux,
            initial_pace: Some(windows.0 + windows.0 / 2).filter(|_| flags.0),
            limited_transmit: flags.1, handshake: flags.2, data_in_syn, cluster,
            endpoints: Endpoints::Path(if flags.3 { Direction::Forward } else { Direction::Reverse }),
            extra_rtt,
        }
    }
}

prop_compose! {
    fn udp()(
        rate in magnitudes(limits::RATE.0), size in 1..=65_535_u32, start in time(limits::TIME),
        on_off in prop::option::of((
            dist(time(limits::TIME)),
            dist(time(limits::TIME)),
        )),
    ) -> UdpSource {
        UdpSource {
            name: String::new(), rate: Rate(rate.max(1)), size, start,
            on_off: on_off.map(|(on, off)| OnOff { on, off }),
            endpoints: Endpoints::Path(Direction::Forward),
        }
    }
}

/// Any text, and texts of characters that need an escape somewhere.
fn title() -> impl Strategy<Value = String> {
    let hard = [
        '"',
        '\\',
        '\'',
        '\n',
        '\r',
        '\t',
        '\0',
        '\u{7}',
        '\u{1b}',
        '\u{7f}',
        '\u{80}',
        '\u{9b}',
        '\u{a0}',
        '\u{301}',
        '\u{200b}',
        '\u{2028}',
        '\u{202e}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffff}',
        '\u{10ffff}',
        'é',
        '❤',
        'ह',
        '#',
    ];
    prop_oneof![
        "(?s).{0,20}",
        prop::collection::vec(prop::sample::select(hard.to_vec()), 0..12).prop_map(String::from_iter),
    ]
}

/// The size with each of its values at most `most`.
fn at_most(size: Dist<u64>, most: u64) -> Dist<u64> {
    let fit = |n: u64| n.min(most);
    match size {
        Dist::Fixed(n) => Dist::Fixed(fit(n)),
        Dist::Uniform(low, high) => Dist::Uniform(fit(low), fit(high)),
        Dist::Exponential(mean) => Dist::Exponential(fit(mean)),
        Dist::Pareto { mean, shape } => Dist::Pareto { mean: fit(mean), shape },
        Dist::ParetoII { mean, shape } => Dist::ParetoII { mean: fit(mean), shape },
        Dist::Lognormal { median, sigma, tail } => {
            Dist::Lognormal { median: fit(median), sigma, tail: tail.map(|(from, shape)| (fit(from), shape)) }
        }
    }
}

/// The flow with every setting within the limits for packets of this payload.
fn within_limits(flow: FlowGroup, payload: u64) -> FlowGroup {
    let window = |n: u64| n.min(limits::WINDOW * payload);
    let timeout = |time: Nanos| time.min(flow.profile.stack().max_rto);
    let transfers = flow.rounds.map_or(1, |rounds| u64::from(rounds.count));
    FlowGroup {
        initial_window: window(flow.initial_window),
        initial_ssthresh: flow.initial_ssthresh.map(window),
        initial_pace: flow.initial_pace.map(window),
        receive_window: flow.receive_window.map(window),
        send_buffer: flow.send_buffer.map(window),
        initial_receive_window: flow.initial_receive_window.map(|first| window(first / 2).max(payload)),
        receiver_reads: match flow.receiver_reads {
            Reads::Every(n) => Reads::Every(window(n)),
            Reads::Eager => Reads::Eager,
        },
        size: flow.size.map(|size| at_most(size, limits::SEGMENTS / transfers * payload)),
        min_rto: timeout(flow.min_rto),
        rto_granularity: timeout(flow.rto_granularity),
        ..flow
    }
}

prop_compose! {
    fn scenario()(
        title in title(), duration in time(limits::TIME), seed in 0..=i64::MAX as u64,
        network in prop_oneof![path().prop_map(Network::Dumbbell), graph().prop_map(Network::Graph)],
        size in 53..=65_535_u32, ack_size in prop::option::of(1..=65_535_u32),
        flows in prop::collection::vec(flow(), 0..4), udp in prop::collection::vec(udp(), 0..3),
    ) -> Scenario {
        let mut scenario =
            Scenario { title, duration: Some(duration), seed, network, packet: Packet { size, ack_size }, flows, udp };
        let crosses = match &scenario.network {
            Network::Dumbbell(_) => None,
            Network::Graph(graph) => Some(Endpoints::Nodes { from: graph.nodes.len() - 1, to: 0 }),
        };
        let pairs = Endpoints::Pairs(vec![(0, 1), (1, 0)]);
        scenario.flows.sort_by_key(|flow| match flow.source {
            Source::Flow => 0,
            Source::Telnet(_) => 1,
            Source::Web(_) => 2,
        });
        for (i, flow) in scenario.flows.iter_mut().enumerate() {
            // Smaller packets than QUIC has are refused.
            if flow.profile.stack().is_quic() && scenario.packet.size < 1308 {
                (flow.profile, flow.send_buffer) = (Profile::Linux, None);
            }
            let payload = scenario.packet.payload(flow.profile);
            *flow = within_limits(flow.clone(), payload.into());
            if flow.initial_pace_conflict(payload).is_some() {
                flow.initial_pace = None;
            }
            flow.name = format!("f{i}");
            if flow.expected(scenario.duration) > 10_000.0 {
                flow.count = Some(1);
            }
            let graph = crosses.as_ref().map(|ends| if i == 0 { &pairs } else { ends });
            flow.endpoints = graph.unwrap_or(&flow.endpoints).clone();
        }
        for (i, udp) in scenario.udp.iter_mut().enumerate() {
            udp.name = format!("u{i}");
            udp.size = udp.size.min(size);
            // At most a packet each nanosecond.
            udp.rate.0 = udp.rate.0.min(u64::from(udp.size) * 8_000_000_000);
            udp.endpoints = crosses.as_ref().unwrap_or(&udp.endpoints).clone();
        }
        scenario
    }
}

proptest! {
    #[test]
    fn a_rate_is_read_back_as_it_was_written(n in magnitudes(limits::RATE.0)) {
        prop_assert_eq!(parse_rate(&show_rate(Rate(n))), Ok(Rate(n)));
    }

    #[test]
    fn a_time_is_read_back_as_it_was_written(n in magnitudes(limits::TIME.0)) {
        prop_assert_eq!(parse_time(&show_time(Nanos(n))), Ok(Nanos(n)));
    }

    #[test]
    fn a_size_is_read_back_as_it_was_written(n in magnitudes(limits::BYTES)) {
        prop_assert_eq!(parse_bytes(&show_bytes(n)), Ok(n));
    }

    #[test]
    fn a_number_in_any_unit_is_that_many_of_it(n in 0..100_000_u64, spaces in " {0,3}") {
        for &(unit, bits) in &RATE_UNITS[..4] {
            prop_assert_eq!(parse_rate(&format!("{n}{spaces}{unit}")), Ok(Rate(n * bits)));
        }
        for &(unit, ns) in TIME_UNITS {
            prop_assert_eq!(parse_time(&format!("{n}{spaces}{unit}")), Ok(Nanos(n * ns)));
        }
        for &(unit, bytes) in BYTE_UNITS {
            prop_assert_eq!(parse_bytes(&format!("{n}{spaces}{unit}")), Ok(n * bytes));
        }
        prop_assert_eq!(parse_amount(&format!("{n}{spaces}packets")), Ok(Amount::Packets(n)));
    }

    #[test]
    fn no_text_makes_the_quantity_readers_panic(text in ".{0,40}", number in "[0-9.]{0,45}", unit in "[A-Za-z/]{0,6}") {
        for text in [text, format!("{number} {unit}")] {
            let _ = (parse_rate(&text), parse_time(&text), parse_bytes(&text), parse_amount(&text));
            let _ = (parse_depth(&text), parse_packets_f64(&text));
        }
    }

    #[test]
    fn a_scenario_is_read_back_as_it_was_written(scenario in scenario()) {
        let text = scenario.to_toml();
        match parse(&text, "written.toml") {
            Ok(loaded) => prop_assert_eq!(&loaded.scenario, &scenario, "{}", text),
            Err(error) => prop_assert!(false, "{error}\n{text}"),
        }
    }

    #[test]
    fn scenarios_that_differ_have_different_hashes(a in scenario(), b in scenario()) {
        prop_assert_eq!(a == b, a.hash() == b.hash());
        let other_seed = Scenario { seed: a.seed ^ 1, ..a.clone() };
        prop_assert_ne!(a.hash(), other_seed.hash());
    }
}

#[test]
fn decimals_are_exact_and_never_rounded() {
    assert_eq!(parse_rate("1.5 Gbit/s"), Ok(Rate(1_500_000_000)));
    assert_eq!(parse_rate("0.000000001 Gbit/s"), Ok(Rate(1)));
    assert_eq!(parse_rate("0.0000000001 Gbit/s"), Err(Error::from(QuantityProblem::NotWhole("bit/s"))));
    assert_eq!(parse_time("0.1 us"), Ok(Nanos(100)));
    assert_eq!(parse_time("0.05 ns"), Err(Error::from(QuantityProblem::NotWhole("nanoseconds"))));
    // 1.1 KiB = 1126.4 bytes; 1.5 KiB = 1536.
    assert_eq!(parse_bytes("1.1 KiB"), Err(Error::from(QuantityProblem::NotWhole("bytes"))));
    assert_eq!(parse_bytes("1.5 KiB"), Ok(1536));
    assert_eq!((parse_bytes("64 KiB"), parse_bytes("64 KB")), (Ok(65_536), Ok(64_000)));
    assert_eq!(parse_depth("0.5 BDP"), Ok(Depth::Bdp(500_000)));
    assert_eq!(
        parse_time("000000000000000000000000001.000000000000000000000000000000 s"),
        Ok(Nanos::from_secs(1))
    );
}

#[test]
fn quantities_are_written_in_the_largest_unit_that_fits() {
    let rates = [0, 999, 1_000, 1_234_567, 40_000_000, 1_500_000_000, 100_000_000_000_000];
    let shown =
        ["0 bit/s", "999 bit/s", "1 kbit/s", "1.234567 Mbit/s", "40 Mbit/s", "1.5 Gbit/s", "100 Tbit/s"];
    assert_eq!(rates.map(|n| show_rate(Rate(n))), shown);
    assert_eq!(
        [0, 100, 100_000, 1_000_000_001].map(|n| show_time(Nanos(n))),
        ["0 s", "100 ns", "100 us", "1.000000001 s"]
    );
    assert_eq!([0, 65_536, 300_000, 5_000_000_000].map(show_bytes), ["0 B", "65.536 KB", "300 KB", "5 GB"]);
}
