//! Senders that the simulator made on other paths than those that are tried, with the delays of hosts, are identified; those whose stack is left
//! out are unknown.

use firstflight_capture::{Estimate, Inferred, PathEstimate, Sending, Source, Unknown};
use firstflight_contract::{Nanos, Rate};
use firstflight_hosts::simulator::Simulator;
use firstflight_random::Stream;

use crate::Identified;
use crate::candidates::{Sender, senders};
use crate::draws::{Path, paths};
use crate::likeness::{Captured, weigh};
use crate::rerun::{Transfers, rerun};

const BYTES: u64 = 300_000;
/// Paths of the transfers: rate in Mbit/s, round trip in milliseconds, buffer in packets, share of the packets that are lost at random.
const MADE: [(u64, u64, u64, f64); 4] =
    [(35, 45, 120, 0.0), (12, 110, 400, 0.0), (80, 25, 90, 0.0), (20, 60, 100, 0.005)];

/// Estimates that a capture may show: the rate and the round trip within 3 %, the buffer as a lower bound.
fn estimates(path: &Path) -> PathEstimate {
    fn near(value: f64) -> Inferred<Estimate> {
        Inferred::Known(Estimate {
            value: value * 1.01,
            low: value * 0.98,
            high: value * 1.04,
            how: String::new(),
        })
    }
    fn open<T>() -> Inferred<T> {
        Inferred::Unknown(Unknown { why: String::new(), low: None, high: None })
    }
    let low = Some(path.buffer as f64 * 0.8);
    PathEstimate {
        rate: near(path.rate.0 as f64),
        rtt: near(path.rtt.0 as f64 * 1e-9),
        buffer: Inferred::Unknown(Unknown { why: String::new(), low, high: None }),
        loss: open(),
        mss: open(),
        packet: open(),
        ack: open(),
        initial_window: open(),
        receive_window: open(),
        opening: None,
        receiver: open(),
        notes: vec![],
    }
}

/// The transfer of a sender, whose host is late with each packet by up to 0.3 ms.
fn made(sender: &Sender, path: &Path, transfers: &Transfers) -> Sending {
    let mut sending = rerun(&Simulator, sender, path, transfers, &estimates(path), 7).expect("it runs");
    let mut stream = Stream::named(7, "delays of a host");
    let mut before = Nanos::ZERO;
    for packet in &mut sending.packets {
        packet.at = before.max(packet.at.saturating_add(Nanos((stream.unit() * 3e5) as u64)));
        before = packet.at;
    }
    sending
}

fn path((rate, rtt, buffer, loss): (u64, u64, u64, f64)) -> Path {
    Path { rate: Rate(rate * 1_000_000), rtt: Nanos::from_millis(rtt), buffer, loss }
}

/// The stacks that are found among `tried` for a transfer of `sender`.
fn found(sender: &Sender, path: &Path, tried: &[Sender], silence: Option<Nanos>) -> Identified {
    let quic = sender.profile.stack().is_quic();
    let (source, payload) = if quic { (Source::Datagrams, 1200) } else { (Source::Segments, 1448) };
    let transfers = Transfers { bytes: BYTES, acked: u64::MAX, source, silence };
    let sending = made(sender, path, &transfers);
    let captured = Captured::sent(&sending, path.rtt, payload, source).expect("a transfer");
    let estimates = estimates(path);
    weigh(&Simulator, &captured, &estimates, tried, &paths(&estimates, path.rtt, 12, 1), 1)
}

#[test]
fn every_stack_is_identified_by_300_kb_and_unknown_if_it_is_left_out() {
    let (mut cases, mut right, mut unknown, mut left_out) = (0, 0, 0, 0);
    for quic in [true, false] {
        let all = senders(quic, None);
        for sender in &all {
            for made_on in MADE.map(path) {
                for silence in [None, Some(Nanos::from_secs(3))] {
                    let identified = found(sender, &made_on, &all, silence);
                    let own = |it: &&crate::Probable| {
                        it.profile == sender.profile && it.candidate == sender.candidate
                    };
                    let is_right = identified.alike().iter().any(own);
                    (cases, right) = (cases + 1, right + usize::from(is_right));
                    if !is_right {
                        println!(
                            "{} {} on {made_on:?}: {:?}",
                            sender.profile.word(),
                            sender.candidate.label(),
                            identified.starts_as()
                        );
                    }
                    // Stacks that start alike stay known.
                    let alike = identified.alike();
                    let others = all.iter().filter(|other| {
                        !alike.iter().any(|it| it.profile == other.profile && it.candidate == other.candidate)
                    });
                    let others: Vec<Sender> = others.cloned().collect();
                    let without = found(sender, &made_on, &others, silence);
                    left_out += 1;
                    unknown += usize::from(without.likeliest().is_none());
                    if let Some(one) = without.likeliest() {
                        println!(
                            "{} left out on {made_on:?}: {} {}",
                            sender.profile.word(),
                            one.profile.word(),
                            one.candidate.label()
                        );
                    }
                }
            }
        }
    }
    println!("{right} of {cases} right, {unknown} of {left_out} unknown if left out");
    // Nine in ten, and four in five.
    assert!(10 * right >= 9 * cases && 5 * unknown >= 4 * left_out);
}

#[test]
fn another_initial_window_is_found_where_the_stack_has_an_option_for_it() {
    let made_on = path(MADE[0]);
    let of = |quic: bool, profile: &str, window: u64| {
        let all = senders(quic, Some(window));
        let label = format!("@iw{window}");
        let own =
            all.iter().find(|it| it.profile.word() == profile && it.candidate.label().ends_with(&label));
        own.map(|own| found(own, &made_on, &all, None).starts_as())
    };
    let linux = of(false, "linux", 30).flatten();
    assert_eq!(linux.as_deref(), Some("Linux with hystart-linux+cubic@iw30 or slow-start+reno@iw30"));
    let quiche = of(true, "quiche", 40).flatten();
    assert_eq!(quiche.as_deref(), Some("quiche 0.30 with hystart+++cubic@iw40"));
    // nginx 1.26 has no option for its window.
    assert_eq!(of(true, "nginx-1.26", 40), None);
}

#[test]
fn several_connections_of_one_sender_multiply_their_likelihoods() {
    let made_on = path(MADE[1]);
    let all = senders(true, None);
    let one = found(&all[0], &made_on, &all, None);
    let both = Identified::together([&one, &one].into_iter());
    let of = |identified: &Identified| {
        let own = identified.stacks.iter().find(|it| it.profile == all[0].profile).map(|it| it.likelihood);
        own.expect("it was tried")
    };
    assert!((of(&both) - 2.0 * of(&one)).abs() < 1e-9);
    let sum = both.none + both.stacks.iter().map(|it| it.probability).sum::<f64>();
    assert!((sum - 1.0).abs() < 1e-9);
}

#[test]
fn a_long_transfer_is_run_again_up_to_the_bytes_that_are_compared() {
    let made_on = path(MADE[0]);
    let sender = &senders(false, None)[0];
    let transfers =
        Transfers { bytes: 60_000_000, acked: 2_000_000, source: Source::Segments, silence: None };
    let sent: u64 =
        made(sender, &made_on, &transfers).packets.iter().map(|packet| u64::from(packet.bytes)).sum();
    // The path holds 35 Mbit/s x 45 ms and a buffer of 120 packets, 0.4 MB in all.
    assert!((2_000_000..2_500_000).contains(&sent), "{sent}");
}
