//! Any bytes as a BPF object: refused with a reason, or congestion controls that run within their memory and their bound.

use firstflight_bpf::read;
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Rate, Sent, Trigger};

use crate::{Form, Target};

pub(crate) const TARGET: Target = Target {
    name: "bpf_object",
    about: "bytes as a BPF object: refused with a reason, or congestion controls that take an event of every kind without \
            leaving their memory",
    run,
    longest: 16_384,
    form: Form::Binary,
};

const MSS: u64 = 1448;

fn run(bytes: &[u8]) {
    match read(bytes) {
        Ok(schemes) => schemes.into_iter().for_each(drive),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Gives the scheme an event of every kind. A program that stops says where and why.
fn drive(mut scheme: firstflight_bpf::KernelScheme) {
    let mut control = Control { cwnd: 10 * MSS, ..Control::default() };
    let rtt = Nanos::from_millis(40);
    scheme.enter(&Entry { rtt, mss: MSS as u32, ..Entry::default() }, &mut control);
    for number in 1..=4 {
        let now = Nanos(number * rtt.0);
        scheme.on_sent(&Sent { now, bytes: 2 * MSS, mss: MSS as u32 }, &mut control);
        let ack = Ack {
            now,
            rtt,
            srtt: rtt,
            acked: 2 * MSS,
            growth: 2 * MSS,
            delivered: 2 * number * MSS,
            sent: (2 * number + 10) * MSS,
            in_flight: 12 * MSS,
            pipe: 10 * MSS,
            rate: Rate(1_000_000),
            mss: MSS as u32,
            ..Ack::default()
        };
        let _ = scheme.on_ack(&ack, &mut control);
        let trigger = [Trigger::Mark, Trigger::Loss, Trigger::Timeout][number as usize % 3];
        let event = Congestion { now, base: 10 * MSS, trigger, mss: MSS as u32, ..Congestion::default() };
        let _ = scheme.on_congestion(&event, &mut control);
        scheme.on_spurious();
    }
    if let Some(stopped) = scheme.stopped() {
        assert!(stopped.to_string().starts_with(scheme.label()), "{stopped}");
    }
}
