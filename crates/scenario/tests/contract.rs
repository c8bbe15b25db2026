//! The example of the command-line contract, and the scenario that it gives.

use std::sync::Arc;

use firstflight_contract::{Nanos, Rate};
use firstflight_random::Dist;
use firstflight_scenario::*;

/// The contract's example.
const EXAMPLE: &str = r#"
title = "NewReno on a long fat path"
duration = "20 s"                 # default: until every finite flow has finished
seed = 1

[path]                            # shorthand for a dumbbell; general graphs use [[node]] and [[link]], or a generator
rate = "40 Mbit/s"                # bottleneck, each direction; or trace = "file" (mahimahi, or time,Mbit/s CSV)
rtt = "100 ms"                    # two-way propagation of the whole path, no queueing, no serialisation
buffer = "500 packets"            # packets waiting, the one in transmission not counted; also "1 BDP", "250 KB"
queue = "drop-tail"               # or a table: { kind = "red", min = "0.1 BDP", max = "0.3 BDP", weight = 0.002, max_p = 0.1, gentle = true, ecn = true }
loss = 0.0                        # independent per-packet loss, optional
access_rate = "1 Gbit/s"          # optional, default 10 x rate

[packet]
size = "1000 B"                   # on the wire, headers included
ack_size = "40 B"

[[flow]]
name = "bulk"
profile = "rfc"                   # rfc | ns2 | linux: sets the defaults of everything below as that stack has them
count = 10
start = "0 s"                     # or { every = "50 ms" }, or { exponential = "1 s" }, or { uniform = ["0 s", "10 s"] }
size = "unlimited"                # or "300 KB", "900 packets", or { pareto = { mean = "30 packets", shape = 1.35 } }
lifetime = "30 s"                 # optional, or a distribution, for flows that end by time
startup = "slow-start"            # a label, or { kind = "adaptive-start", filter = "tustin" } for parameters
avoidance = "reno"
recovery = "newreno"              # tahoe | reno | newreno | sack
initial_window = "1 packets"
initial_ssthresh = "32 packets"   # or "unlimited" (default)
receive_window = "100000 packets" # or "unlimited"
receiver = "ack-every-packet"     # ack-every-packet | delayed-ack | quickack-then-delayed | tuned-buffer
delayed_ack_timer = "100 ms"      # where ACKs are delayed
receiver_reads = "eager"          # eager | "256 KB" (an application that wakes only when that much has come)
byte_counting = false             # RFC 3465 growth
min_rto = "1 s"
rto_granularity = "10 ms"
idle_restart = "restart"          # restart | keep | validate | pace   (SSR, NSSR, congestion window validation, rate-based pacing)
rounds = { count = 10, idle = "5 s", jitter = "2 s" }   # optional: the same connection sends `size` again after an idle time
cluster = "site-a"                # optional: which flows share a bottleneck; default from the topology
direction = "forward"             # or "reverse"
extra_rtt = "0 ms"                # or { uniform = ["0 ms", "40 ms"] }

[[udp]]                           # cross traffic
name = "cbr"
rate = "20 Mbit/s"
start = "0.5 s"
on_off = { on = { pareto = { mean = "1 s", shape = 1.2 } }, off = { pareto = { mean = "1 s", shape = 1.2 } } }   # optional
"#;

#[test]
fn the_example_of_the_contract_is_read_to_the_letter() {
    let Scenario { title, duration, seed, network, packet, flows, udp } =
        parse(EXAMPLE, "example.toml").unwrap().scenario;
    assert_eq!((&title[..], duration, seed), ("NewReno on a long fat path", Some(Nanos::from_secs(20)), 1));
    assert_eq!(
        network,
        Network::Dumbbell(Path {
            rate: Rate(40_000_000),
            trace: None,
            rtt: Nanos::from_millis(100),
            buffer: Limit::Packets(500),
            queue: Queue::DropTail,
            shaper: None,
            loss: 0.0,
            loss_burst: 1.0,
            drop: Arc::default(),
            reorder: None,
            access_rate: Rate(1_000_000_000),
        })
    );
    assert_eq!(packet, Packet { size: 1000, ack_size: Some(40) });
    let [bulk] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!(bulk.scheme.label(), "slow-start+reno");
    assert_eq!(
        *bulk,
        FlowGroup {
            name: "bulk".into(),
            profile: Profile::Rfc,
            count: Some(10),
            parallel: 1,
            source: Source::Flow,
            start: Start::At(Nanos::ZERO),
            size: None,
            lifetime: Some(Dist::Fixed(Nanos::from_secs(30))),
            rounds: Some(Rounds { count: 10, idle: Nanos::from_secs(5), jitter: Nanos::from_secs(2) }),
            scheme: SchemeSpec::parse("slow-start+reno").unwrap(),
            recovery: Recovery::NewReno,
            partial_acks: PartialAcks::Impatient,
            processor: None,
            // Windows are payload: 1000 bytes on the wire less 40 of headers.
            initial_window: 960,
            initial_ssthresh: Some(32 * 960),
            receive_window: Some(100_000 * 960),
            initial_receive_window: None,
            send_buffer: None,
            receiver: Receiver::AckEveryPacket,
            delayed_ack_timer: Nanos::from_millis(100),
            receiver_reads: Reads::Eager,
            growth: Growth::PerAck,
            min_rto: Nanos::from_secs(1),
            rto_granularity: Nanos::from_millis(10),
            idle_restart: IdleRestart::Restart,
            paced: false,
            initial_pace: None,
            limited_transmit: true,
            handshake: true,
            data_in_syn: DataInSyn::Never,
            cluster: Some("site-a".into()),
            endpoints: Endpoints::Path(Direction::Forward),
            extra_rtt: Dist::Fixed(Nanos::ZERO),
        }
    );
    assert_eq!((bulk.flow_name(0), bulk.flow_name(9)), ("bulk.0".into(), "bulk.9".into()));
    let second = Dist::Pareto { mean: Nanos::from_secs(1), shape: 1.2 };
    assert_eq!(
        udp,
        [UdpSource {
            name: "cbr".into(),
            rate: Rate(20_000_000),
            size: 1000,
            start: Nanos::from_millis(500),
            on_off: Some(OnOff { on: second, off: second }),
            endpoints: Endpoints::Path(Direction::Forward),
        }]
    );
}

#[test]
fn the_alternatives_that_the_example_names_in_comments_are_read_too() {
    let with = |from: &str, to: &str| {
        assert!(EXAMPLE.contains(from), "{from}");
        parse(&EXAMPLE.replace(from, to), "example.toml").unwrap().scenario
    };
    let flow = |from: &str, to: &str| with(from, to).flows.remove(0);

    let start = |to: &str| flow("start = \"0 s\"", &format!("start = {to}")).start;
    assert_eq!(start("{ every = \"50 ms\" }"), Start::Every(Nanos::from_millis(50)));
    assert_eq!(start("{ exponential = \"1 s\" }"), Start::Exponential(Nanos::from_secs(1)));
    assert_eq!(start("{ uniform = [\"0 s\", \"10 s\"] }"), Start::Uniform(Nanos::ZERO, Nanos::from_secs(10)));

    let size = |to: &str| flow("size = \"unlimited\"", &format!("size = {to}")).size;
    assert_eq!(size("\"300 KB\""), Some(Dist::Fixed(300_000)));
    assert_eq!(size("\"900 packets\""), Some(Dist::Fixed(900 * 960)));
    let pareto = size("{ pareto = { mean = \"30 packets\", shape = 1.35 } }");
    assert_eq!(pareto, Some(Dist::Pareto { mean: 30 * 960, shape: 1.35 }));

    let unlimited = flow("receive_window = \"100000 packets\"", "receive_window = \"unlimited\"");
    assert_eq!(unlimited.receive_window, None);
    let reads = flow("receiver_reads = \"eager\"", "receiver_reads = \"256 KB\"").receiver_reads;
    assert_eq!(reads, Reads::Every(256_000));
    // Rules for the initial window, where a packet carries 960 bytes: 4 packets = 3840 B, less than 4380; 10 = 9600.
    for (word, bytes) in [("rfc3390", 4 * 960), ("rfc6928", 10 * 960), ("rfc9002", 10 * 960)] {
        let to = format!("initial_window = \"{word}\"");
        assert_eq!(flow("initial_window = \"1 packets\"", &to).initial_window, bytes, "{word}");
    }
    let opening = |word| flow("byte_counting = false", &format!("data_in_syn = \"{word}\"")).data_in_syn;
    assert_eq!((opening("tfo"), opening("t/tcp")), (DataInSyn::Tfo, DataInSyn::Ttcp));
    assert_eq!(flow("byte_counting = false", "byte_counting = true").growth, Growth::ByteCounting);
    assert_eq!(
        flow("direction = \"forward\"", "direction = \"reverse\"").endpoints,
        Endpoints::Path(Direction::Reverse)
    );
    let extra = flow("extra_rtt = \"0 ms\"", "extra_rtt = { uniform = [\"0 ms\", \"40 ms\"] }").extra_rtt;
    assert_eq!(extra, Dist::Uniform(Nanos::ZERO, Nanos::from_millis(40)));

    let buffer = |to: &str| match with("buffer = \"500 packets\"", to).network {
        Network::Dumbbell(path) => path.buffer,
        other => panic!("{other:?}"),
    };
    // 40 Mbit/s x 100 ms = 500 000 bytes = 500 packets of 1000 bytes
    assert_eq!(buffer("buffer = \"1 BDP\""), Limit::Packets(500));
    assert_eq!(buffer("buffer = \"250 KB\""), Limit::Bytes(250_000));

    let red = with(
        "queue = \"drop-tail\"",
        "queue = { kind = \"red\", min = \"0.1 BDP\", max = \"0.3 BDP\", weight = 0.002, max_p = 0.1, gentle = true, ecn = true }",
    );
    let Network::Dumbbell(Path { queue: Queue::Red(red), .. }) = red.network else { panic!("no RED") };
    assert_eq!(
        red,
        Red { min: 50.0, max: 150.0, weight: 0.002, max_p: 0.1, gentle: true, ecn: true, mean_packet: None }
    );

    let policer = "queue = { kind = \"policer\", rate = \"8 Mbit/s\", burst = \"60 KB\" }";
    let Network::Dumbbell(path) = with("queue = \"drop-tail\"", policer).network else { panic!("no path") };
    assert_eq!(path.queue, Queue::Policer(Policer { rate: Rate(8_000_000), burst: 60_000 }));

    let shaper = "queue = \"drop-tail\"\nshaper = { rate = \"20 Mbit/s\", burst = \"1 MB\" }";
    let Network::Dumbbell(path) = with("queue = \"drop-tail\"", shaper).network else { panic!("no path") };
    assert_eq!(path.shaper, Some(Shaper { rate: Rate(20_000_000), burst: 1_000_000 }));

    let reorder = "reorder = { share = 0.25, delay = \"3 ms\" }\nloss = 0.0";
    let Network::Dumbbell(path) = with("loss = 0.0", reorder).network else { panic!("no path") };
    assert_eq!(path.reorder, Some(Reorder { share: 0.25, delay: Nanos::from_millis(3), burst: 1.0 }));

    let bursts = with("loss = 0.0", "loss = { mean = 0.01, burst = 4 }").network;
    let Network::Dumbbell(Path { loss, loss_burst, .. }) = bursts else { panic!("no path") };
    assert_eq!((loss, loss_burst), (0.01, 4.0));
    let independent = with("loss = 0.0", "loss = { mean = 0.01, burst = 1 }");
    assert_eq!(independent.to_toml(), with("loss = 0.0", "loss = 0.01").to_toml());
}
