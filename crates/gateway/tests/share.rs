//! Observations of other hosts.

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{
    Acceptance, Connection, Gateway, Keys, Known, MOST, Observation, PLACES, Refused, Settings, Signer,
};

const NOW: u64 = 1_700_000_000;

/// The secret of a host: its name, filled up.
fn signer(host: &str) -> Signer {
    let mut seed = [0; 32];
    seed.iter_mut().zip(host.bytes()).for_each(|(to, byte)| *to = byte);
    Signer::from_seed(host, &seed)
}

fn keys() -> Keys {
    let mut keys = Keys::new();
    for host in ["here", "there", "elsewhere", "a", "b", "c", "d", "e"] {
        keys.add(host, signer(host).public()).expect("keys of their own");
    }
    keys
}

fn rules(keys: &Keys) -> Acceptance<'_> {
    Acceptance {
        keys,
        host: "here",
        bits: (24, 48),
        window: MOST,
        now: NOW,
        max_age: Nanos::from_secs(1800),
        weight: 500,
    }
}

/// The record of the host that the observation names.
fn signed(observation: &Observation) -> String {
    observation.sign(&signer(&observation.host))
}

fn observation(host: &str, window: u32) -> Observation {
    let prefix = "192.0.2.0/24".parse().expect("a prefix");
    Observation::new(host, prefix, (window * 16) as u16, RTT, 40, NOW - 10)
}

fn take(gateway: &mut Gateway, host: &str, window: u32) {
    let remote = Observation::accept(&signed(&observation(host, window)), &rules(&keys())).expect("accepted");
    gateway.remote(&remote, &mut vec![]);
}

#[test]
fn a_poisoned_unsigned_or_old_record_is_refused_by_name() {
    let keys = keys();
    let record = signed(&observation("there", 40));
    assert!(Observation::accept(&record, &rules(&keys)).is_ok());
    let refused = |record: &str| Observation::accept(record, &rules(&keys)).expect_err("it is refused");
    assert_eq!(refused("{\"version\":1}"), Refused::Unsigned);
    assert_eq!(refused(&record[..record.len() - 1]), Refused::Unsigned);
    assert_eq!(refused(&"x".repeat(5000)), Refused::Unsigned);
    assert_eq!(refused(&record.replacen("\"window\":640", "\"window\":720", 1)), Refused::Signature);
    // A key that nobody has, and one of another host: a host speaks for itself alone.
    let unknown = observation("there", 40).sign(&Signer::from_seed("there", &[8; 32]));
    assert!(refused(&unknown).to_string().ends_with(", which no known host has"), "{}", refused(&unknown));
    let foreign = observation("there", 40).sign(&signer("elsewhere"));
    assert_eq!(refused(&foreign).to_string(), "the record of there is signed by the key of elsewhere");
    // The signature of one record under the text of another.
    let parts = |record: &str| {
        record.rsplit_once(' ').map(|(text, signature)| (text.to_owned(), signature.to_owned()))
    };
    let (text, _) = parts(&record).expect("a record");
    let (_, signature) = parts(&signed(&observation("there", 41))).expect("a record");
    assert_eq!(refused(&format!("{text} {signature}")), Refused::Signature);
    assert_eq!(refused(&signed(&observation("here", 40))), Refused::Own("here".into()));
    let old = Observation { at: NOW - 1801, ..observation("there", 40) };
    assert_eq!(refused(&signed(&old)).to_string(), "the record of there is 1801 s old; expected 0 to 1800 s");
    let early = Observation { at: NOW + 61, ..observation("there", 40) };
    assert_eq!(
        refused(&signed(&early)).to_string(),
        "the record of there is -61 s old; expected 0 to 1800 s"
    );
    let wide = Observation { prefix: "10.0.0.0/8".parse().expect("a prefix"), ..observation("there", 40) };
    let why = "the record of there is for 10.0.0.0/8; expected prefixes of 24 or 48 bits";
    assert_eq!(refused(&signed(&wide)).to_string(), why);
    let version = Observation { version: 1, ..observation("there", 40) };
    assert_eq!(refused(&signed(&version)), Refused::Version { found: 1 });
    assert_eq!(Signer::from_pkcs8("here", &[7; 32]).expect_err("no key"), Refused::NoKey);
    let mut keys = keys;
    let shared = keys.add("thief", signer("there").public()).expect_err("refused").to_string();
    assert!(shared.starts_with("there and thief have the same key "), "{shared}");
}

#[test]
fn values_that_no_gateway_measures_are_refused() {
    let keys = keys();
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
            "the record of there has window = 0; expected 1 to 720 sixteenths of a segment",
        ),
        // No plan has more than 45 segments.
        (
            Observation { window: 721, ..usual.clone() },
            "the record of there has window = 721; expected 1 to 720 sixteenths of a segment",
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
        let refused =
            Observation::accept(&record.sign(&signer("there")), &rules(&keys)).expect_err("refused");
        assert!(refused.to_string().starts_with(why), "{refused}");
        assert_eq!(refused.label(), "value");
    }
    for record in [
        Observation { rtt: 4_194_240_000, samples: 2805, window: 720, ..usual.clone() },
        Observation { rtt: 1, samples: 1, window: 1, ..usual },
    ] {
        assert!(Observation::accept(&record.sign(&signer("there")), &rules(&keys)).is_ok());
    }
}

#[test]
fn a_repeated_record_brings_nothing_and_an_older_or_misplaced_one_is_refused() {
    let keys = keys();
    let mut known = Known::new();
    let place = "192.0.2.0/24".parse().expect("a prefix");
    let mut admit = |host: &str, at: u64, place| {
        let record = signed(&Observation { at, ..observation(host, 40) });
        known.admit(&place, &Observation::accept(&record, &rules(&keys)).expect("accepted"))
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
    let keys = keys();
    let mut known = Known::new();
    let bits = (32, 64);
    // 200 000 prefixes; the last 65536 are remembered for certain.
    let prefix = |number: u32| firstflight_paths::Prefix::around(std::net::Ipv4Addr::from(number).into(), 32);
    let mut admit = |number: u32, at: u64| {
        let record = Observation::new("there", prefix(number), 640, RTT, 40, at);
        let rules = Acceptance { bits, ..rules(&keys) };
        known.admit(&prefix(number), &Observation::accept(&signed(&record), &rules).expect("accepted"))
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
    assert_eq!((places.len(), places[15].as_str()), (PLACES, "firstflight:2:2001:db8::/48:15"));
    // `printf %s 'there 192.0.2.0/24' | sha256sum` begins with the byte 0x7f, 15 modulo 16.
    assert_eq!(observation("there", 40).place(), "firstflight:2:192.0.2.0/24:15");
    let host = |number: u32| Observation { host: format!("host-{number}"), prefix, ..observation("", 40) };
    let used: std::collections::BTreeSet<_> = (0..200).map(|number| host(number).place()).collect();
    assert_eq!(used, places.into_iter().collect());
}

#[test]
fn observations_of_other_hosts_move_no_window_beyond_those_of_its_own() {
    // Own hosts measure 18 to 22 segments. Three other gateways claim 45 segments, or one.
    for claim in [1, 45] {
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
    let keys = keys();
    let old = Observation { at: NOW - 600, ..observation("a", 12) };
    gateway.remote(&Observation::accept(&signed(&old), &rules(&keys)).expect("accepted"), &mut vec![]);
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

#[test]
fn a_partner_that_lies_within_its_bounds_founds_no_plan_alone_and_counts_as_one_host() {
    // It holds one key, and claims for an hour what it likes: the most, the least, under any name, at any time.
    let keys = keys();
    for hosts in 2..=4_u32 {
        let mut gateway = Gateway::new(Settings { hosts, ..enforcing() });
        let mut taken = 0;
        for turn in 0..600_u32 {
            let name = ["a", "b", "c", "d", "e", "there", "elsewhere", "x"][turn as usize % 8];
            let window = if turn % 3 == 0 { 16 } else { 720 };
            let claim = Observation {
                host: name.into(),
                window,
                samples: 2805,
                at: NOW - 1800 + u64::from(turn),
                ..observation("a", 40)
            };
            if let Ok(remote) = Observation::accept(&claim.sign(&signer("a")), &rules(&keys)) {
                assert_eq!(remote.observation.host, "a");
                gateway.remote(&remote, &mut vec![]);
                taken += 1;
            }
            tick(&mut gateway, f64::from(turn));
        }
        assert_eq!(taken, 75);
        let found = gateway.explain(host(1));
        assert_eq!((found.hosts, found.plan), (1, None), "{found:?}");
        let heard = gateway.heard(host(1), "a").expect("heard");
        assert_eq!((heard.weight, gateway.heard(host(1), "b")), (500, None));
    }
    // Two own hosts of 20 segments found a plan with it, and the plan is theirs.
    let mut gateway = Gateway::new(Settings { hosts: 3, ..enforcing() });
    take(&mut gateway, "a", 45);
    for turn in 0..8 {
        report(&mut gateway, &exact(f64::from(turn), host(1), 20));
        report(&mut gateway, &exact(f64::from(turn), host(2), 20));
    }
    let estimate = gateway.explain(host(1)).estimate.expect("an estimate");
    assert_eq!((estimate.hosts, estimate.segments()), (3, 20));
}

/// A day of connections, one a second, of own hosts in turn to a path of 12 segments, beside partners that claim windows for it each
/// minute; own evidence begins with the first connection that ends. One in twenty is held out. Returns the planned connections whose
/// first window was larger than the path, and the segments that they lost.
fn lied_to(claims: &[(&str, u32)], own: u32, short: bool) -> (u32, u32) {
    let mut gateway = Gateway::new(Settings { hosts: 2, ..enforcing() });
    let (mut hurt, mut segments) = (0, 0);
    let keys = keys();
    for second in 0..86_400 {
        let now = NOW + u64::from(second);
        if second % 60 == 0 {
            for (name, window) in claims {
                let claim = Observation { samples: 2805, at: now, ..observation(name, *window) };
                let accepted = Observation::accept(&signed(&claim), &Acceptance { now, ..rules(&keys) });
                gateway.remote(&accepted.expect("every value is legal"), &mut vec![]);
            }
        }
        tick(&mut gateway, f64::from(second));
        let peer = host(1 + (second % own) as u8);
        // A transfer of 30 segments fills no path of 12; a long one does.
        let connection = match short {
            true => Connection { bytes: 30 * 1448, sent: 30, ..bound(f64::from(second), peer, 10) },
            false => exact(f64::from(second), peer, 12),
        };
        let plan = window(&gateway).filter(|_| second % 20 != 1);
        let more = plan.map_or(0, |plan| plan.saturating_sub(12));
        hurt += u32::from(more > 0);
        segments += more;
        report(&mut gateway, &plan.map_or(connection, |plan| lost(planned(connection, plan), more)));
    }
    (hurt, segments)
}

#[test]
fn a_partner_that_lies_within_its_bounds_does_bounded_harm() {
    // Two liars found the first plan of a network of which this host knows nothing: the half jump from 10 towards 45 is to
    // 10 * sqrt(45 / 10) = 21.2 segments, 9 more than the path holds. The first own measurement ends that plan, for the whole day.
    let fresh = (1, 9);
    for (claims, expected) in [
        (&[("a", 45)][..], (0, 0)),
        (&[("a", 45), ("b", 12)], (0, 0)),
        (&[("a", 45), ("b", 45)], fresh),
        (&[("a", 45), ("b", 45), ("c", 12)], fresh),
    ] {
        for own in 1..=4 {
            for short in [false, true] {
                assert_eq!(
                    lied_to(claims, own, short),
                    expected,
                    "{claims:?}, {own} own hosts, short: {short}"
                );
            }
        }
    }
}

#[test]
fn a_record_counts_as_no_more_than_the_configured_window_could_use() {
    let keys = keys();
    let record = signed(&observation("there", 45));
    let of = |window| {
        let rules = Acceptance { window, ..rules(&keys) };
        Observation::accept(&record, &rules).expect("accepted").observation.window
    };
    assert_eq!([of(45), of(20), of(11)], [45 * 16, 20 * 16, 11 * 16]);
    // A measurement above the widest plan is published as the widest plan.
    assert_eq!(
        Observation::new("there", "192.0.2.0/24".parse().expect("a prefix"), u16::MAX, RTT, 8, NOW).window,
        720
    );
}

#[test]
fn an_old_and_a_new_key_of_a_host_are_accepted_until_one_is_removed() {
    let (old, new) = (signer("there"), Signer::from_seed("there", &[9; 32]));
    let mut both = Keys::new();
    both.add("there", old.public()).expect("a key");
    both.add("there", new.public()).expect("another");
    let accepted = |keys: &Keys, signer: &Signer| {
        Observation::accept(&observation("there", 40).sign(signer), &rules(keys)).map_err(|why| why.label())
    };
    assert!(accepted(&both, &old).is_ok() && accepted(&both, &new).is_ok());
    assert_eq!(accepted(&Keys::of(&new), &old).expect_err("refused"), "unknown_key");
    assert!(accepted(&Keys::of(&new), &new).is_ok());
}
