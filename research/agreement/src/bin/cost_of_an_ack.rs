//! Time of one ACK through the callbacks of an object: `cargo run -p research-agreement --bin cost_of_an_ack -- FILE.o`, by default
//! the object of the tests. The same ACKs also go to slow start and Reno of the registry.

use std::process::ExitCode;
use std::time::Instant;

use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Rate, Sent, Trigger};
use firstflight_schemes::registry::AnyPhase;

/// ACKs, each of two segments.
const ACKS: u64 = 1_000_000;
const MSS: u64 = 1448;

fn main() -> ExitCode {
    let file = std::env::args().nth(1);
    let object = match &file {
        Some(file) => std::fs::read(file).map_err(|error| format!("{file}: cannot be read: {error}")),
        None => Ok(include_bytes!("../../../../crates/bpf/tests/objects/reno.bpf.o").to_vec()),
    };
    let read = object.and_then(|bytes| {
        let place = |error| format!("{}: {error}", file.as_deref().unwrap_or("the object of the tests"));
        firstflight_bpf::read(&bytes).map_err(place)
    });
    let schemes = match read {
        Ok(schemes) => schemes,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    for scheme in schemes {
        let mut copy = scheme.clone();
        let each = measure(&mut copy);
        println!(
            "{:20} {each:7.1} ns an ACK, {} instructions in the program",
            scheme.label(),
            scheme.instructions()
        );
        if let Some(stopped) = scheme.stopped() {
            eprintln!("error: {stopped}");
            return ExitCode::from(2);
        }
    }
    let mut reno = AnyPhase::chain(&["slow-start", "reno"]).expect("both are registered").remove(1);
    println!("{:20} {:7.1} ns an ACK", "reno", measure(&mut reno));
    ExitCode::SUCCESS
}

/// Nanoseconds of an ACK and of the two segments that it lets leave.
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn measure(scheme: &mut impl Phase) -> f64 {
    let rtt = Nanos::from_millis(40);
    let mut control = Control { cwnd: 10 * MSS, ssthresh: u64::MAX, ..Control::default() };
    scheme.enter(&Entry { rtt, mss: MSS as u32, ..Entry::default() }, &mut control);
    let began = Instant::now();
    for number in 1..=ACKS {
        let now = Nanos(rtt.0 + number * 100_000);
        let (delivered, in_flight) = (2 * number * MSS, 200 * MSS);
        let ack = Ack {
            now,
            rtt,
            min_rtt: rtt,
            srtt: rtt,
            acked: 2 * MSS,
            growth: 2 * MSS,
            delivered,
            sent: delivered + in_flight,
            in_flight,
            pipe: in_flight - 2 * MSS,
            rate: Rate(100_000_000),
            prior_delivered: delivered.saturating_sub(in_flight),
            mss: MSS as u32,
            ..Ack::default()
        };
        let _ = scheme.on_ack(&ack, &mut control);
        for _ in 0..2 {
            scheme.on_sent(&Sent { now, bytes: MSS, mss: MSS as u32 }, &mut control);
        }
        // A loss in every ten thousand ACKs, so that the window stays in the range of real paths.
        if number % 10_000 == 0 {
            let event = Congestion {
                now,
                in_flight,
                base: control.cwnd,
                trigger: Trigger::Loss,
                mss: MSS as u32,
                ..Congestion::default()
            };
            let _ = scheme.on_congestion(&event, &mut control);
        }
    }
    began.elapsed().as_nanos() as f64 / ACKS as f64
}
