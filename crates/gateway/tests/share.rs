//! Observations of other hosts.

mod common;

use common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{Acceptance, Gateway, Key, Observation, Refused, Settings};

const NOW: u64 = 1_700_000_000;

fn key() -> Key {
    Key::new(&[7; 32]).expect("long enough")
}

fn rules(key: &Key) -> Acceptance<'_> {
    Acceptance { key, host: "here", bits: (24, 48), now: NOW, max_age: Nanos::from_secs(1800), weight: 500 }
}

fn observation(host: &str, window: u32) -> Observation {
    let prefix = "192.0.2.0/24".parse().expect("a prefix");
    Observation::new(host, prefix, (window * 16) as u16, RTT, 40, NOW - 10)
}

fn take(gateway: &mut Gateway, host: &str, window: u32) {
    let key = key();
    let remote = Observation::accept(&observation(host, window).sign(&key), &rules(&key)).expect("accepted");
    gateway.remote(&remote, &mut vec![]);
}

#[test]
fn a_poisoned_unsigned_or_old_record_is_refused_by_name() {
    let key = key();
    let record = observation("there", 40).sign(&key);
    assert!(Observation::accept(&record, &rules(&key)).is_ok());
    let refused = |record: &str| Observation::accept(record, &rules(&key)).expect_err("it is refused");
    assert_eq!(refused("{\"version\":1}"), Refused::Unsigned);
    assert_eq!(refused(&record[..record.len() - 1]), Refused::Unsigned);
    assert_eq!(refused(&"x".repeat(5000)), Refused::Unsigned);
    assert_eq!(refused(&record.replacen("\"window\":640", "\"window\":720", 1)), Refused::Signature);
    let other = Key::new(&[8; 32]).expect("long enough");
    assert_eq!(refused(&observation("there", 40).sign(&other)), Refused::Signature);
    assert_eq!(refused(&observation("here", 40).sign(&key)), Refused::Own("here".into()));
    let old = Observation { at: NOW - 1801, ..observation("there", 40) };
    assert_eq!(
        refused(&old.sign(&key)).to_string(),
        "the record of there is 1801 s old; expected 0 to 1800 s"
    );
    let early = Observation { at: NOW + 61, ..observation("there", 40) };
    assert_eq!(
        refused(&early.sign(&key)).to_string(),
        "the record of there is -61 s old; expected 0 to 1800 s"
    );
    let wide = Observation { prefix: "10.0.0.0/8".parse().expect("a prefix"), ..observation("there", 40) };
    let why = "the record of there is for 10.0.0.0/8; expected prefixes of 24 or 48 bits";
    assert_eq!(refused(&wide.sign(&key)).to_string(), why);
    let version = Observation { version: 2, ..observation("there", 40) };
    assert_eq!(refused(&version.sign(&key)), Refused::Version { found: 2 });
    assert_eq!(Key::new(&[7; 31]).expect_err("too short"), Refused::ShortKey { found: 31 });
}

#[test]
fn observations_of_other_hosts_move_no_window_beyond_those_of_its_own() {
    // Own hosts measure 18 to 22 segments. Three other gateways claim 4000 segments, or one.
    for claim in [1, 4000] {
        let mut gateway = Gateway::new(enforcing());
        for turn in 0..4 {
            for (number, segments) in [(1, 18), (2, 20), (3, 22), (4, 20)] {
                report(&mut gateway, &exact(f64::from(turn), host(number), segments));
            }
        }
        for name in ["a", "b", "c", "d", "e"] {
            take(&mut gateway, name, claim);
        }
        let estimate = gateway.explain(host(1)).estimate.expect("an estimate");
        assert_eq!(estimate.hosts, 7);
        assert!((18..=22).contains(&estimate.segments()) && !estimate.disagree(), "{estimate}");
        assert!(window(&gateway).is_some());
    }
}

#[test]
fn a_prefix_without_own_samples_can_be_planned_from_those_of_other_hosts() {
    let mut gateway = Gateway::new(Settings { hosts: 2, ..enforcing() });
    take(&mut gateway, "a", 40);
    assert_eq!(window(&gateway), None);
    // Each claims 40 samples at half of the weight.
    take(&mut gateway, "b", 40);
    assert_eq!(window(&gateway), Some(20));
}

#[test]
fn an_older_record_does_not_replace_a_newer_one() {
    let mut gateway = Gateway::new(enforcing());
    tick(&mut gateway, 5000.0);
    take(&mut gateway, "a", 40);
    let key = key();
    let old = Observation { at: NOW - 600, ..observation("a", 12) };
    gateway.remote(&Observation::accept(&old.sign(&key), &rules(&key)).expect("accepted"), &mut vec![]);
    assert_eq!(gateway.explain(host(1)).estimate.expect("an estimate").segments(), 40);
}

#[test]
fn a_gateway_publishes_its_own_measurements_only() {
    let mut gateway = Gateway::new(enforcing());
    for _ in 0..3 {
        learn(&mut gateway, 1.0, 3, 20);
    }
    tick(&mut gateway, 61.0);
    for name in ["a", "b", "c"] {
        take(&mut gateway, name, 45);
    }
    let published: Vec<_> = gateway.observations("here", NOW).collect();
    let [own] = &published[..] else { panic!("{published:?}") };
    assert_eq!((own.window, own.at, own.host.as_str()), (20 * 16, NOW - 60, "here"));
    let mut empty = Gateway::new(Settings { hosts: 1, ..enforcing() });
    for name in ["a", "b", "c"] {
        take(&mut empty, name, 45);
    }
    assert_eq!(empty.observations("here", NOW).count(), 0);
}
