//! The state that outlives the process.

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::{Decision, Gateway, Override, Policy, STATE_VERSION, Settings, StateError, WhyNot};
use sha2::{Digest, Sha256};

/// Bytes before the contents.
const HEAD: usize = 48;

/// Four plans, of which one is held down, and one prefix whose hosts disagree.
fn known(settings: Settings) -> Gateway {
    let mut gateway = Gateway::new(settings);
    for turn in 0..12u32 {
        for third in 0..4u8 {
            for number in 1..=6u8 {
                let connection =
                    exact(f64::from(turn), [198, 51, third, number].into(), 30 + u32::from(third));
                report(&mut gateway, &if turn > 6 { planned(connection, 20) } else { connection });
            }
        }
        for number in 1..=8 {
            report(
                &mut gateway,
                &exact(f64::from(turn), host(number), if number % 2 == 0 { 12 } else { 90 }),
            );
        }
    }
    report(&mut gateway, &overflown(planned(exact(12.0, [198, 51, 0, 1].into(), 30), 30)));
    gateway
}

fn plans(gateway: &Gateway) -> Vec<(String, u32)> {
    let mut plans: Vec<_> = gateway.plans().map(|plan| (plan.prefix.to_string(), plan.window)).collect();
    plans.sort();
    plans
}

#[test]
fn a_restored_gateway_has_the_same_plans() {
    let before = known(enforcing());
    let bytes = before.save();
    let mut after = Gateway::new(enforcing());
    // The machine was started anew: its clock shows 5 s. A minute has passed.
    after.load(&bytes, at(5.0), Nanos::from_secs(60)).expect("it fits");
    assert_eq!(plans(&after), plans(&before));
    assert_eq!(plans(&after)[0], ("198.51.0.0/24".into(), 15));
    // The hold-down of 600 s began 60 s ago.
    let plan = after.explain([198, 51, 1, 1].into()).plan.expect("a plan");
    assert!(plan.expires > at(5.0) && plan.expires < at(5.0 + 1800.0 - 60.0), "{plan:?}");
}

/// Weight of 72 samples, twelve of each of six hosts, `seconds` after the newest one: `72 * 2^(-age / 600 s)`, linear between halvings
/// (rule 4 of `estimate.rs`), in thousandths.
fn weight_of_72(seconds: u64) -> u64 {
    let (halvings, rest) = (seconds / 600, seconds % 600);
    (72_000 * (1200 - rest) / 1200) >> halvings
}

#[test]
fn samples_age_by_time_once_however_often_the_gateway_restarts() {
    let gateway = known(enforcing());
    let samples = |gateway: &Gateway| {
        let estimate = gateway.explain([198, 51, 1, 1].into()).estimate;
        estimate.map_or(0, |estimate| u64::from(estimate.samples))
    };
    // The newest samples are of 11 s, and it is 12 s.
    assert_eq!(samples(&gateway), 72);
    let mut restored = Gateway::new(enforcing());
    // By hand: 72 * (1200 - 61) / 1200 = 68.3; 72 * (1200 - 1) / 1200 / 2 = 35.97.
    assert_eq!((weight_of_72(61), weight_of_72(601)), (68_340, 35_970));
    for elapsed in [0, 60, 600, 1200] {
        restored.load(&gateway.save(), at(12.0), Nanos::from_secs(elapsed)).expect("it fits");
        let expected = weight_of_72(1 + elapsed);
        // The estimator states whole samples.
        assert!(expected.abs_diff(1000 * samples(&restored)) < 1000, "{elapsed}");
    }
    restored.load(&gateway.save(), at(12.0), Nanos::ZERO).expect("it fits");
    assert_eq!(samples(&restored), 72);
    // Ten restarts in a minute, of a machine that is started anew each time, age them by that minute.
    let mut often = gateway.clone();
    for _ in 0..10 {
        let mut next = Gateway::new(enforcing());
        next.load(&often.save(), at(5.0), Nanos::from_secs(6)).expect("it fits");
        often = next;
    }
    let mut once = Gateway::new(enforcing());
    once.load(&gateway.save(), at(5.0), Nanos::from_secs(60)).expect("it fits");
    assert_eq!((samples(&often), samples(&once)), (68, 68));
    // A day later nothing counts, and the plans end.
    restored.load(&gateway.save(), at(12.0), Nanos::from_secs(86_400)).expect("it fits");
    let decisions = tick(&mut restored, 13.0);
    let gone = |decision: &Decision| matches!(decision, Decision::Remove { why: WhyNot::Unfounded(_), .. });
    assert!(decisions.iter().any(gone), "{decisions:?}");
    assert_eq!(plans(&restored), []);
}

#[test]
fn samples_of_a_state_whose_age_is_not_known_age_by_themselves() {
    let mut gateway = known(enforcing());
    let before = plans(&gateway);
    gateway.age_samples(Nanos::from_secs(600));
    let samples = gateway.explain([198, 51, 1, 1].into()).estimate.expect("an estimate").samples;
    // 72 * (1200 - 1) / 1200 / 2 = 35.97; the estimator counts an age of 1 s, a 1200th, in parts of 1024.
    assert_eq!((samples, plans(&gateway)), (36, before));
}

#[test]
fn a_state_with_a_window_that_no_connection_starts_with_is_read_without_it() {
    for window in 0..=46 {
        let mut gateway = known(enforcing());
        // An earlier version took any window of an order, and saved it.
        gateway.order(
            "198.51.1.0/24".parse().expect("a prefix"),
            Some(Override::Window(window)),
            &mut vec![],
        );
        let mut restored = Gateway::new(enforcing());
        restored.load(&gateway.save(), at(12.0), Nanos::ZERO).expect("it is read");
        let plan = restored.explain([198, 51, 1, 1].into()).plan.map(|plan| plan.window);
        let expected = (10..=46).contains(&window).then_some(window.min(45));
        assert_eq!(plan, expected, "{window}");
        assert_eq!(
            plans(&restored).len(),
            plans(&known(enforcing())).len() - usize::from(expected.is_none())
        );
    }
}

#[test]
fn a_damaged_state_is_refused_by_name_and_the_old_one_kept() {
    let bytes = known(enforcing()).save();
    let mut gateway = Gateway::new(enforcing());
    learn(&mut gateway, 1.0, 3, 40);
    let kept = gateway.save();
    let mut refused = |bytes: &[u8]| {
        let error = gateway.load(bytes, at(5.0), Nanos::ZERO).expect_err("it is refused");
        assert_eq!(gateway.save(), kept, "{error}");
        error
    };
    assert_eq!(refused(b"gateway"), StateError::Foreign);
    assert_eq!(refused(b""), StateError::Foreign);
    let mut other = bytes.clone();
    other[4] -= 1;
    let error = refused(&other);
    assert_eq!(error, StateError::Version { found: STATE_VERSION - 1 });
    let expected = format!("the state has version {}; expected {STATE_VERSION}", STATE_VERSION - 1);
    assert_eq!(error.to_string(), expected);
    for cut in [5, 20, 47, 48, bytes.len() / 2, bytes.len() - 1] {
        assert!(matches!(refused(&bytes[..cut]), StateError::Length { .. }), "cut at {cut}");
    }
    assert!(matches!(refused(&[&bytes[..], b"x"].concat()), StateError::Length { .. }));
    for at in (48..bytes.len()).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        assert_eq!(refused(&flipped), StateError::Checksum, "byte {at}");
    }
}

/// A place in the trial of the host was not checked: the next planned connection was written beyond the end of a block.
#[test]
fn a_state_with_a_changed_byte_and_a_new_checksum_is_refused_or_of_use() {
    let whole = known(enforcing()).save();
    let mut refused = 0;
    for place in HEAD..whole.len() {
        for value in [0, 1, 100, 255] {
            let mut changed = whole.clone();
            changed[place] = value;
            let sum = Sha256::digest(&changed[HEAD..]);
            changed[HEAD - 32..HEAD].copy_from_slice(&sum);
            let mut gateway = Gateway::new(enforcing());
            if gateway.load(&changed, at(20.0), Nanos::ZERO).is_err() {
                refused += 1;
                continue;
            }
            for number in 1..=8_u8 {
                report(&mut gateway, &planned(exact(20.0, [198, 51, 0, number].into(), 30), 20));
            }
            for plan in gateway.plans() {
                assert!((10..=45).contains(&plan.window), "{plan:?}");
                assert!(plan.ssthresh.is_none_or(|threshold| threshold >= plan.window), "{plan:?}");
            }
        }
    }
    assert!(refused > whole.len(), "{refused} of {} were refused", 4 * (whole.len() - HEAD));
}

#[test]
fn a_state_of_other_prefixes_is_refused() {
    let bytes = known(enforcing()).save();
    let mut gateway = Gateway::new(Settings { bits: (22, 48), ..enforcing() });
    let error = gateway.load(&bytes, at(5.0), Nanos::ZERO).expect_err("it is refused");
    let why = "the state is of prefixes of 24 and 48 bits; expected 22 and 48, as in the configuration";
    assert_eq!(error.to_string(), why);
}

#[test]
fn a_lower_bound_on_windows_holds_for_restored_plans() {
    let bytes = known(enforcing()).save();
    let mut gateway = Gateway::new(Settings { window: 12, ..enforcing() });
    gateway.load(&bytes, at(20.0), Nanos::ZERO).expect("it fits");
    assert!(gateway.plans().all(|plan| plan.window <= 12), "{:?}", plans(&gateway));
}

#[test]
fn the_policies_of_the_shared_memory_go_on_after_a_restart() {
    for label in firstflight_paths::Policy::LABELS {
        let settings = Settings { policy: Policy::by_label(label).expect("a policy"), ..enforcing() };
        let mut before = known(settings.clone());
        let mut after = Gateway::new(settings);
        // The same process would have been at 12 s, too.
        after.load(&before.save(), at(12.0), Nanos::ZERO).expect("it fits");
        for gateway in [&mut before, &mut after] {
            for number in 1..=6 {
                report(gateway, &exact(13.0, [198, 51, 1, number].into(), 31));
            }
        }
        assert_eq!(plans(&after), plans(&before), "{label}");
    }
}

/// The contents of a state that is saved part by part, with this work between two parts.
fn in_parts(gateway: &mut Gateway, mut between: impl FnMut(&mut Gateway)) -> Vec<u8> {
    let mut contents = vec![];
    gateway.begin_save();
    while !gateway.save_part(&mut contents) {
        between(gateway);
    }
    assert!(gateway.save_part(&mut contents), "nothing follows");
    contents
}

/// The gateway of these contents.
fn of_parts(contents: &[u8], settings: Settings, now: f64) -> Result<Gateway, StateError> {
    let mut restore = Gateway::new(settings).restore(at(now), Nanos::ZERO);
    let mut rest = contents;
    while let Some((length, more)) = rest.split_first_chunk() {
        let (part, more) = more.split_at(u32::from_le_bytes(*length) as usize);
        restore.part(part)?;
        rest = more;
    }
    restore.finish()
}

/// Host 1 of the prefix with this number, a /24 of 10.0.0.0/8.
fn of(prefix: u32) -> std::net::IpAddr {
    std::net::Ipv4Addr::from_bits(10 << 24 | prefix << 8 | 1).into()
}

#[test]
fn a_state_in_parts_is_the_whole_state() {
    let mut gateway = known(enforcing());
    for prefix in 0..1000 {
        report(&mut gateway, &exact(13.0, of(prefix), 40));
    }
    let whole = gateway.save();
    assert_eq!(in_parts(&mut gateway, |_| ()), whole[HEAD..]);
    // One that was given up leaves nothing behind.
    gateway.begin_save();
    gateway.save_part(&mut vec![]);
    assert_eq!(in_parts(&mut gateway, |_| ()), whole[HEAD..]);
    assert_eq!(of_parts(&whole[HEAD..], enforcing(), 13.0).expect("it fits").prefixes(), gateway.prefixes());
}

/// A full table forgets a prefix for each new one, and moves its last prefix into the gap: between two parts here 40 times.
#[test]
fn a_state_in_parts_has_every_prefix_that_stayed_however_the_table_changed_meanwhile() {
    let settings = Settings { prefixes: 4000, ..enforcing() };
    let mut gateway = Gateway::new(settings.clone());
    for prefix in 0..4000 {
        report(&mut gateway, &exact(f64::from(prefix) / 1000.0, of(prefix), 40));
    }
    let known = |gateway: &Gateway, prefix: u32| gateway.explain(of(prefix)).seen.is_some();
    let mut stayed: Vec<_> = (0..4000).filter(|prefix| known(&gateway, *prefix)).collect();
    assert_eq!(stayed.len(), 4000);
    let mut next = 4000;
    let contents = in_parts(&mut gateway, |gateway| {
        for _ in 0..40 {
            report(gateway, &exact(5.0, of(next), 40));
            next += 1;
        }
        stayed.retain(|prefix| known(gateway, *prefix));
        // Prefixes that were forgotten come back, too.
        report(gateway, &exact(5.0, of(next % 500), 40));
    });
    stayed.retain(|prefix| known(&gateway, *prefix));
    // Sixteen parts of prefixes, and the one that ends.
    assert!((4000 - 17 * 41..=4000 - 15 * 40).contains(&stayed.len()), "{} stayed", stayed.len());
    let restored = of_parts(&contents, settings, 5.0).expect("it fits");
    let missing: Vec<_> = stayed.into_iter().filter(|prefix| !known(&restored, *prefix)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn parts_that_are_missing_repeated_or_in_another_order_are_refused() {
    let whole = known(enforcing()).save();
    let contents = &whole[HEAD..];
    let length = |from: usize| {
        4 + u32::from_le_bytes(contents[from..from + 4].try_into().expect("four bytes")) as usize
    };
    let first = length(0);
    let last = first + length(first);
    let (begin, entries, end) = (&contents[..first], &contents[first..last], &contents[last..]);
    for parts in [
        vec![],
        vec![begin],
        vec![begin, entries],
        vec![entries, begin, end],
        vec![begin, begin, end],
        vec![begin, end, entries],
    ] {
        let refused = of_parts(&parts.concat(), enforcing(), 5.0);
        assert!(matches!(refused, Err(StateError::Contents(_))), "{} parts", parts.len());
    }
}

#[test]
fn plans_and_bytes_are_counted_as_they_change() {
    let mut gateway = known(enforcing());
    let counted = |gateway: &Gateway| (gateway.planned(), gateway.plans().count());
    assert_eq!(counted(&gateway), (4, 4));
    let bytes = gateway.bytes();
    learn(&mut gateway, 13.0, 1, 40);
    gateway.order("198.51.0.0/16".parse().expect("a prefix"), Some(Override::Off), &mut vec![]);
    assert_eq!(counted(&gateway), (0, 0));
    gateway.order("198.51.0.0/16".parse().expect("a prefix"), None, &mut vec![]);
    assert_eq!(counted(&gateway), (3, 3));
    assert_eq!(gateway.bytes(), bytes);
    // Half a day later nothing is known any more.
    for turn in 0..32 {
        tick(&mut gateway, 50_000.0 + f64::from(turn));
    }
    assert_eq!((counted(&gateway), gateway.prefixes()), ((0, 0), 0));
}
