//! Observations of other hosts.

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{Acceptance, Gateway, Key, Known, Observation, PLACES, Refused, Settings};

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
fn values_that_no_gateway_measures_are_refused() {
    let key = key();
    let usual = observation("there", 40);
    let long = "x".repeat(65);
    // A gateway keeps round-trip times in 16 bits of 64 us, 255 samples a host, and eleven hosts.
    for (record, why) in [
        (
            Observation { host: "a b".into(), ..usual.clone() },
            "the record of a b has host = a b; expected 1 to 64 letters, digits, \"-\" and \"_\"",
        ),
        (
            Observation { host: String::new(), ..usual.clone() },
            "the record of  has host = ; expected 1 to 64",
        ),
        (Observation { host: long, ..usual.clone() }, "the record of xxxx"),
        (
            Observation { window: 0, ..usual.clone() },
            "the record of there has window = 0; expected 1 or more sixteenths of a segment",
        ),
        (
            Observation { rtt: 0, ..usual.clone() },
            "the record of there has rtt = 0; expected 1 to 4194240000 ns",
        ),
        (Observation { rtt: 4_194_240_001, ..usual.clone() }, "the record of there has rtt = 4194240001;"),
        (
            Observation { samples: 0, ..usual.clone() },
            "the record of there has samples = 0; expected 1 to 2805",
        ),
        (Observation { samples: 2806, ..usual.clone() }, "the record of there has samples = 2806;"),
    ] {
        let refused = Observation::accept(&record.sign(&key), &rules(&key)).expect_err("refused");
        assert!(refused.to_string().starts_with(why), "{refused}");
        assert_eq!(refused.label(), "value");
    }
    for record in [
        Observation { rtt: 4_194_240_000, samples: 2805, window: u16::MAX, ..usual.clone() },
        Observation { rtt: 1, samples: 1, window: 1, ..usual },
    ] {
        assert!(Observation::accept(&record.sign(&key), &rules(&key)).is_ok());
    }
}

#[test]
fn a_repeated_record_brings_nothing_and_an_older_or_misplaced_one_is_refused() {
    let key = key();
    let mut known = Known::new();
    let place = "192.0.2.0/24".parse().expect("a prefix");
    let mut admit = |host: &str, at: u64, place| {
        let record = Observation { at, ..observation(host, 40) }.sign(&key);
        known.admit(&place, &Observation::accept(&record, &rules(&key)).expect("accepted"))
    };
    assert_eq!(admit("there", NOW - 10, place), Ok(true));
    assert_eq!(admit("there", NOW - 10, place), Ok(false));
    assert_eq!(admit("elsewhere", NOW - 40, place), Ok(true));
    let refused = admit("there", NOW - 40, place).expect_err("older").to_string();
    assert_eq!(
        refused,
        "the record of there for 192.0.2.0/24 is 30 s older than one that was accepted before"
    );
    assert_eq!(admit("there", NOW - 5, place), Ok(true));
    let refused = admit("there", NOW, "198.51.100.0/24".parse().expect("a prefix")).expect_err("misplaced");
    assert_eq!(
        refused.to_string(),
        "the record of there for 192.0.2.0/24 was found in the place of 198.51.100.0/24"
    );
    assert_eq!(admit("there", NOW, place), Ok(true));
}

#[test]
fn the_memory_of_records_is_bounded_and_keeps_the_newest() {
    let key = key();
    let mut known = Known::new();
    let bits = (32, 64);
    // 200 000 prefixes; the last 65536 are remembered for certain.
    let prefix = |number: u32| firstflight_paths::Prefix::around(std::net::Ipv4Addr::from(number).into(), 32);
    let mut admit = |number: u32, at: u64| {
        let record = Observation::new("there", prefix(number), 640, RTT, 40, at);
        let rules = Acceptance { bits, ..rules(&key) };
        known.admit(&prefix(number), &Observation::accept(&record.sign(&key), &rules).expect("accepted"))
    };
    for number in 0..200_000 {
        assert_eq!(admit(number, NOW - 10), Ok(true));
    }
    assert_eq!(admit(199_999 - 65_000, NOW - 10), Ok(false));
    assert!(admit(199_999 - 65_000, NOW - 11).is_err());
    assert_eq!(admit(0, NOW - 11), Ok(true), "it was forgotten");
}

#[test]
fn the_places_of_a_prefix_are_few_and_each_host_has_one_of_them() {
    let prefix = "2001:db8::/48".parse().expect("a prefix");
    let places = Observation::places(&prefix);
    assert_eq!((places.len(), places[15].as_str()), (PLACES, "firstflight:1:2001:db8::/48:15"));
    // `printf %s 'there 192.0.2.0/24' | sha256sum` begins with the byte 0x7f, 15 modulo 16.
    assert_eq!(observation("there", 40).place(), "firstflight:1:192.0.2.0/24:15");
    let host = |number: u32| Observation { host: format!("host-{number}"), prefix, ..observation("", 40) };
    let used: std::collections::BTreeSet<_> = (0..200).map(|number| host(number).place()).collect();
    assert_eq!(used, places.into_iter().collect());
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
fn hosts_that_disagree_are_not_published() {
    let mut gateway = Gateway::new(enforcing());
    for turn in 0..8 {
        for number in 1..=6 {
            let segments = if number % 2 == 0 { 12 } else { 40 };
            report(&mut gateway, &exact(f64::from(turn), host(number), segments));
        }
    }
    let estimate = gateway.explain(host(1)).estimate.expect("an estimate");
    let prefix = "192.0.2.0/24".parse().expect("a prefix");
    assert!(estimate.disagree() || gateway.explain(host(1)).prefix != prefix, "{estimate}");
    assert_eq!(gateway.observation(&prefix, "here", NOW), None);
    assert_eq!(gateway.observations("here", NOW).count(), 0);
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
