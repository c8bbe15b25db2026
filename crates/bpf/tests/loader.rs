//! Objects that are read, and objects that are refused by name.

use crate::common::{FAULTS, RENO, clang, compile, only};
use firstflight_bpf::{ObjectError, read};
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Rate, Sent, Trigger};
use firstflight_schemes::scheme::Scheme;
use std::path::Path;

/// The object with `old` replaced by `new` wherever it stands.
fn changed(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = RENO.to_vec();
    let places: Vec<_> =
        (0..bytes.len() - old.len()).filter(|&at| bytes[at..].starts_with(old.as_bytes())).collect();
    assert!(!places.is_empty(), "no {old}");
    for at in places {
        bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    }
    bytes
}

fn refusal(object: &[u8]) -> String {
    read(object).expect_err("refused").to_string()
}

#[test]
fn an_object_has_the_name_and_the_role_of_its_congestion_control() {
    let scheme = only(RENO);
    assert_eq!((scheme.label(), scheme.name()), ("bpf-test-reno", "test_reno"));
}

#[test]
fn an_object_that_is_read_again_takes_no_memory_for_its_listing() {
    let [first, second] = [(); 2].map(|()| only(RENO));
    assert!(std::ptr::eq(first.info(), second.info()));
}

#[test]
fn the_object_in_the_repository_is_that_of_its_source() {
    if let Err(why) = clang() {
        return firstflight_skip::skip(why);
    }
    for (source, object) in [("reno.bpf.c", RENO), ("faults.bpf.c", FAULTS)] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(source);
        let fresh = compile(&source, &[]).expect("the source compiles");
        // Debug prints every instruction, relocated.
        let [fresh, kept] = [&fresh, object].map(|bytes| format!("{:?}", read(bytes)));
        assert_eq!(fresh, kept, "stale: run make bpf-test-objects");
    }
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_name() {
    let why = refusal(&changed("snd_ssthresh", "snd_sstresh_"));
    assert_eq!(
        why,
        "reno_cong_avoid uses tcp_sock.snd_sstresh_, which the sender here does not have; did you mean \
         tcp_sock.snd_ssthresh?"
    );
    let why = refusal(&changed("icsk_ca_priv", "quite_differ"));
    assert!(
        why.ends_with("uses inet_connection_sock.quite_differ, which the sender here does not have"),
        "{why}"
    );
}

#[test]
fn an_unknown_function_is_refused_with_those_that_may_be_called() {
    let why = refusal(&changed("tcp_slow_start", "tcp_fast_start"));
    assert_eq!(
        why,
        "reno_cong_avoid calls tcp_fast_start, which does not exist here; expected one of: tcp_slow_start, \
         tcp_cong_avoid_ai, tcp_reno_ssthresh, tcp_reno_cong_avoid, tcp_reno_undo_cwnd"
    );
}

#[test]
fn what_is_no_object_or_has_no_congestion_control_is_refused() {
    assert!(matches!(read(b"#!/bin/sh"), Err(ObjectError::NotAnObject(_))));
    assert_eq!(read(&changed(".struct_ops", ".other_data")).err(), Some(ObjectError::NoControl));
    assert!(refusal(&changed(".BTF\0", ".bbb\0")).contains("compiled without -g"));
    // A name of the callback that nobody knows: the kernel would refuse the congestion control too.
    assert!(refusal(&changed("undo_cwnd\0", "redo_cwnd\0")).contains("\"test_reno\" has no undo_cwnd"));
}

#[test]
fn a_program_that_leaves_its_bounds_stops_with_the_reason_and_an_incomplete_congestion_control_is_left_out() {
    let schemes = read(FAULTS).expect("two are complete");
    let labels: Vec<_> = schemes.iter().map(|scheme| scheme.label()).collect();
    assert_eq!(labels, ["bpf-test-writes", "bpf-test-endless"]);
    let reasons = schemes.iter().map(|scheme| {
        // The copy runs, as in a simulation; the original reports.
        drive(&mut scheme.clone());
        scheme.stopped().expect("it stops").to_string()
    });
    let [writes, endless] = &reasons.collect::<Vec<_>>()[..] else { panic!("two schemes") };
    let begins = "bpf-test-writes stopped after 0.04 s of the run, in writes: it writes 4 bytes at 0x3";
    assert!(writes.starts_with(begins), "{writes}");
    assert!(writes.ends_with("where it may not write (tcp_sock.snd_una)"), "{writes}");
    assert_eq!(
        endless,
        "bpf-test-endless stopped after 0.04 s of the run, in never_ends: it runs for more than 1000000 instructions"
    );
}

/// Gives a scheme one event of every kind.
fn drive(scheme: &mut impl Phase) {
    let mut control = Control { cwnd: 14_480, ..Control::default() };
    let entry = Entry { mss: 1448, ..Entry::default() };
    scheme.enter(&entry, &mut control);
    scheme.on_sent(&Sent { now: Nanos(1), bytes: 1448, mss: 1448 }, &mut control);
    let ack = Ack {
        now: Nanos::from_millis(40),
        rtt: Nanos::from_millis(40),
        srtt: Nanos::from_millis(40),
        acked: 2896,
        growth: 2896,
        delivered: 2896,
        sent: 14_480,
        in_flight: 14_480,
        pipe: 11_584,
        rate: Rate(1_000_000),
        mss: 1448,
        ..Ack::default()
    };
    let _ = scheme.on_ack(&ack, &mut control);
    for trigger in [Trigger::Loss, Trigger::Mark, Trigger::Timeout] {
        let event = Congestion {
            now: Nanos::from_millis(50),
            base: 14_480,
            trigger,
            mss: 1448,
            ..Congestion::default()
        };
        let _ = scheme.on_congestion(&event, &mut control);
    }
    scheme.on_spurious();
    let _ = scheme.on_ack(&Ack { now: Nanos::from_millis(60), ..ack }, &mut control);
}

#[test]
fn a_damaged_object_is_refused_or_runs_within_its_memory() {
    let (mut refused, mut stopped, mut ran) = (0, 0, 0);
    for at in 0..RENO.len() {
        for flip in [0x01, 0x80] {
            let mut bytes = RENO.to_vec();
            bytes[at] ^= flip;
            let Ok(all) = read(&bytes) else {
                refused += 1;
                continue;
            };
            for scheme in all {
                drive(&mut scheme.clone());
                match scheme.stopped() {
                    Some(_) => stopped += 1,
                    None => ran += 1,
                }
            }
        }
    }
    for end in (0..RENO.len()).step_by(7) {
        refused += u32::from(read(&RENO[..end]).is_err());
    }
    println!("{refused} refused, {stopped} stopped, {ran} ran");
    assert!(refused > 100 && stopped > 10 && ran > 100, "each outcome occurs");
}
