//! Captures of real Linux connections against the true values of their paths.

use firstflight_capture::seconds::Seconds;
use std::path::{Path, PathBuf};

use firstflight_capture::{
    AckPolicy, Capture, Error, Estimate, Inferred, Opening, PathEstimate, Problem, Vantage, infer, read,
};
use firstflight_contract::Nanos;

/// A captured transfer in `truth.csv`.
#[derive(Debug)]
struct Truth {
    name: String,
    rate_bit_s: f64,
    rtt_s: f64,
    buffer_packets: f64,
    bytes: u64,
    transfer_s: f64,
}

fn truths(folder: &Path) -> Vec<Truth> {
    let text = std::fs::read_to_string(folder.join("truth.csv")).unwrap();
    let fields = |line: &str| line.split(',').map(String::from).collect::<Vec<_>>();
    let captured = text.lines().skip(1).map(fields).filter(|fields| fields[6] == "0");
    captured
        .map(|f| Truth {
            name: format!("{}-{}-{}KB", f[0], f[4], f[5].parse::<u64>().unwrap() / 1000),
            rate_bit_s: f[1].parse::<f64>().unwrap() * 1e6,
            rtt_s: f[2].parse::<f64>().unwrap() * 1e-3,
            buffer_packets: f[3].parse().unwrap(),
            bytes: f[5].parse().unwrap(),
            transfer_s: f[8].parse::<f64>().unwrap() * 1e-3,
        })
        .collect()
}

fn holds(estimate: &Estimate, truth: f64) -> bool {
    estimate.low <= truth && truth <= estimate.high
}

/// Asserts the aims: rate within 2 %, round trip within 1 ms plus 1 %, buffer within 10 % if the connection
/// filled it.
fn check_path(truth: &Truth, path: &PathEstimate) {
    let name = &truth.name;
    let rate = path.rate.known().unwrap_or_else(|| panic!("{name}: {:?}", path.rate));
    assert!((rate.value / truth.rate_bit_s - 1.0).abs() <= 0.02, "{name}: {rate:?}");
    let rtt = path.rtt.known().unwrap_or_else(|| panic!("{name}: {:?}", path.rtt));
    assert!((rtt.value - truth.rtt_s).abs() <= 0.001 + 0.01 * truth.rtt_s, "{name}: {rtt:?}");
    assert!(holds(rtt, truth.rtt_s), "{name}: {rtt:?}");
    match &path.buffer {
        Inferred::Known(buffer) => {
            assert!((buffer.value / truth.buffer_packets - 1.0).abs() <= 0.1, "{name}: {buffer:?}");
            assert!(holds(buffer, truth.buffer_packets), "{name}: {buffer:?}");
        }
        Inferred::Unknown(unknown) => {
            assert!(unknown.low.is_some_and(|low| low <= truth.buffer_packets), "{name}: {unknown:?}");
        }
    }
    assert_eq!(path.mss.known().map(|mss| mss.value), Some(1448.0), "{name}");
    assert_eq!(path.initial_window.known().map(|window| window.value), Some(10.0), "{name}");
}

fn check(truth: &Truth, path: &PathEstimate) {
    check_path(truth, path);
    // no packet was lost at random
    let loss = path.loss.known().unwrap_or_else(|| panic!("{}: {:?}", truth.name, path.loss));
    assert_eq!(loss.value, 0.0, "{}", truth.name);
}

/// Checks every capture of a folder; returns their number, the number with a known buffer, and the number
/// whose rate interval contains the truth.
fn check_all(folder: &Path) -> (usize, usize, usize) {
    let (mut captures, mut buffers, mut covered) = (0, 0, 0);
    for truth in truths(folder) {
        let capture = match read(folder.join(format!("{}.pcap", truth.name))) {
            // tcpdump was stopped before it wrote any packet
            Err(Error { problem: Problem::Empty { truncated: false }, .. }) => continue,
            capture => capture.unwrap(),
        };
        assert_eq!(capture.connections.len(), 1, "{}", truth.name);
        let connection = &capture.connections[0];
        assert_eq!(connection.vantage, Vantage::Sender, "{}", truth.name);
        let observed = &connection.observed;
        assert_eq!((observed.timeouts, observed.mss), (0, 1448), "{}", truth.name);
        if let Some(completion) = observed.completion {
            assert_eq!(observed.bytes, truth.bytes, "{}", truth.name);
            // the answer of one byte follows the last ACK by its own transmission time
            let answered = observed.answered.unwrap_or(completion).as_secs_f64();
            assert!(
                (answered / truth.transfer_s - 1.0).abs() < 0.001,
                "{}: {answered} {truth:?}",
                truth.name
            );
        }
        let path = infer(&capture.connections);
        check(&truth, &path);
        captures += 1;
        buffers += usize::from(path.buffer.known().is_some());
        covered += usize::from(holds(path.rate.known().unwrap(), truth.rate_bit_s));
    }
    (captures, buffers, covered)
}

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

#[test]
fn the_shipped_captures_show_their_path() {
    let (captures, buffers, _) = check_all(&shipped());
    // reno overflows the buffer; cubic leaves start-up before it is full; 30 KB do not come near
    assert_eq!((captures, buffers), (3, 1));
}

#[test]
fn reno_loses_149_packets_in_the_overshoot_of_start_up() {
    let capture = read(shipped().join("p1-reno-1000KB.pcap")).unwrap();
    let observed = &capture.connections[0].observed;
    // counted by a short script: of 840 data packets, those that begin below the highest byte sent before
    assert_eq!((observed.retransmits, observed.lost_packets, observed.packets), (149, 149, 840));
    let path = infer(&capture.connections);
    assert_eq!(path.unknown_fields(), ["receiver"]);
}

#[test]
fn a_receiver_whose_window_still_opens_has_not_shown_its_later_policy() {
    // By a short script: the first acknowledgement offers 16,781,312 bytes and the last one 18,778,112, more than all before.
    // In captures of 3 MB of the same host, ACKs of two segments begin at 2.1 MB, where the window reaches 20,971,520.
    let capture = read(shipped().join("p1-reno-1000KB.pcap")).unwrap();
    let path = infer(&capture.connections);
    let window = path.receive_window.known().map(|window| window.value);
    assert_eq!(window, Some(18_778_112.0));
    assert_eq!(path.opening, Some(Opening { first: 16_781_312, goes_on: true }));
    let why = path.receiver.unknown().map_or("", |unknown| &unknown.why);
    assert!(why.contains("while its window opened"), "{:?}", path.receiver);
}

#[test]
fn a_receiver_with_the_default_buffer_of_linux_shows_it_by_a_window_that_stands_still() {
    // Read from `tcpdump -n -r`: the window opens from 64,256 bytes to 80,512 (55 segments), stays for 22 ACKs, and opens on.
    let named = |name: &str| infer(&read(shipped().join("more").join(name)).unwrap().connections);
    let path = named("k4-cubic-1000KB.pcap");
    assert_eq!(path.receiver, Inferred::Known(AckPolicy::TunedBuffer));
    assert_eq!(path.opening, Some(Opening { first: 64_256, goes_on: true }));
    // SO_RCVBUF fixes this one's buffer.
    assert_ne!(named("q8rwnd-reno-1000KB.pcap").receiver, Inferred::Known(AckPolicy::TunedBuffer));
}

#[test]
fn thirty_kilobytes_leave_buffer_and_ack_policy_unknown() {
    let capture = read(shipped().join("p2-reno-30KB.pcap")).unwrap();
    assert_eq!(infer(&capture.connections).unknown_fields(), ["buffer_packets", "receiver"]);
}

/// A capture of the folder `more`, and its inferred path.
fn more(name: &str) -> (Capture, PathEstimate) {
    let folder = shipped().join("more");
    let truth = truths(&folder).into_iter().find(|truth| truth.name == name).unwrap();
    let capture = read(folder.join(format!("{name}.pcap"))).unwrap();
    let path = infer(&capture.connections);
    check_path(&truth, &path);
    assert!(holds(path.rate.known().unwrap(), truth.rate_bit_s), "{name}: {:?}", path.rate);
    (capture, path)
}

#[test]
fn a_capture_at_the_receiver_shows_the_path_by_time_stamps() {
    let (capture, path) = more("q1r-reno-300KB");
    assert_eq!(capture.connections[0].vantage, Vantage::Receiver);
    // the emulated bottleneck counted 25 dropped packets of this connection
    assert_eq!(capture.connections[0].observed.lost_packets, 25);
    assert_eq!(path.unknown_fields(), ["receiver"]);
    assert_eq!(path.loss.known().map(|loss| loss.value), Some(0.0));
}

#[test]
fn concurrent_connections_show_the_whole_rate_and_not_their_share() {
    let (capture, path) = more("q1x3-reno-100KB");
    assert_eq!(capture.connections.len(), 3);
    assert!(path.buffer.known().is_some(), "{:?}", path.buffer);
    assert_eq!(path.loss.known().map(|loss| loss.value), Some(0.0));
}

#[test]
fn pacing_above_the_initial_window_does_not_pass_for_the_bottleneck() {
    let (_, path) = more("q6-bbr-300KB");
    assert!(path.buffer.known().is_none(), "{:?}", path.buffer);
}

#[test]
fn random_loss_of_one_percent_is_distinguished_from_a_full_buffer() {
    let (capture, path) = more("q7-cubic-1000KB");
    let observed = &capture.connections[0].observed;
    assert_eq!((observed.lost_packets, observed.series.retransmissions.len()), (6, 6));
    assert!(holds(path.loss.known().unwrap(), 0.01), "{:?}", path.loss);
    assert!(path.buffer.known().is_none(), "{:?}", path.buffer);
}

#[test]
fn limits_of_application_and_receive_window_do_not_pass_for_the_path() {
    let (capture, _) = more("q8app-reno-1000KB");
    let observed = &capture.connections[0].observed;
    // 158 packets are twelve writes, 50 ms apart; the rest of each write waits for a round trip of 60 ms, so
    // at least 30 ms of each period before the next write are idle
    assert!((0.2..0.6).contains(&observed.application_limited.as_secs_f64()), "{observed:?}");
    assert_eq!(observed.window_limited, Nanos::ZERO);
    assert_eq!(observed.startup.exit, None);

    let (capture, _) = more("q8rwnd-reno-1000KB");
    let observed = &capture.connections[0].observed;
    // doubling from 10 packets, the receive window limits after four rounds of 61 ms, of the 0.4 s that 400
    // packets take
    assert!((0.1..0.3).contains(&observed.window_limited.as_secs_f64()), "{observed:?}");
    assert_eq!(observed.application_limited, Nanos::ZERO);
    assert_eq!(observed.startup.exit, None);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "an environment variable gives a folder of captures outside the sources"
)]
fn every_capture_of_the_collection_shows_its_path() {
    let folder = std::env::var("FIRSTFLIGHT_CAPTURES").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures"),
        PathBuf::from,
    );
    if !folder.join("truth.csv").exists() {
        firstflight_skip::skip(format_args!(
            "no captures in {}; set FIRSTFLIGHT_CAPTURES to their folder",
            folder.display()
        ));
        return;
    }
    let (captures, buffers, covered) = check_all(&folder);
    println!("{captures} captures, {buffers} with a known buffer, {covered} intervals contain the true rate");
    assert!(captures > 0);
    // 95 % intervals: of 27 captures 1.4 miss on average, more than three in one collection of twenty
    assert!(covered + 3 >= captures, "{covered} of {captures}");
}
