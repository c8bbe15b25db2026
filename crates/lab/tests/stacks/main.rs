//! Profiles held to the rows of real stacks in `stacks/rows.jsonl`.

mod compared;
mod exceptions;
mod simulated;

use std::collections::BTreeSet;

use compared::{Difference, compared};
use exceptions::{EXCEPTIONS, all, listed};
use firstflight_probe::Row;
use firstflight_scenario::Profile;
use simulated::{seconds, simulated};

/// Profiles of stacks: the stack, the beginning of its version, the profile.
const PROFILES: [(&str, &str, &str); 12] = [
    ("quinn", "quinn-proto 0.11", "quinn"),
    ("quiche", "quiche 0.30", "quiche"),
    ("quic-go", "quic-go v0.65", "quic-go"),
    ("s2n-quic", "s2n-quic 1.91", "s2n-quic"),
    ("ngtcp2", "ngtcp2-server 1.11", "ngtcp2"),
    ("nginx", "nginx/1.26", "nginx-1.26"),
    ("haproxy", "HAProxy 3.0", "haproxy-3.0"),
    ("quiche-pmtud", "quiche 0.30", "quiche-pmtud"),
    ("aioquic", "aioquic 1.7", "aioquic"),
    ("nginx-sid", "nginx/1.30", "nginx-1.30"),
    ("haproxy-3.4", "HAProxy 3.4", "haproxy-3.4"),
    ("linux", "6.", "linux"),
];

/// The rows of stacks that have a profile, with that profile.
fn rows_of_defaults() -> Vec<(Profile, Row)> {
    let rows = include_str!("../../stacks/rows.jsonl").lines();
    let rows = rows.map(|line| serde_json::from_str::<Row>(line).expect("a row"));
    let known = |row: Row| {
        let of = |(stack, version, _): &&(&str, &str, &str)| {
            *stack == row.identity.stack && row.identity.version.starts_with(version)
        };
        let (_, _, profile) = PROFILES.iter().find(of)?;
        Some((*Profile::ALL.iter().find(|known| known.word() == *profile).expect("a profile"), row))
    };
    rows.filter_map(known).collect()
}

#[test]
fn profiles_send_as_the_stacks_did() {
    let (mut errors, mut unknown, mut used) = (vec![], vec![], BTreeSet::new());
    for (profile, real) in rows_of_defaults() {
        let (differences, of_times) = compared(&real, &simulated(profile, &real));
        errors.extend(of_times);
        let path = format!("{} {}", real.identity.path.rate, real.identity.path.rtt);
        for Difference { what, real, simulated } in differences {
            let line = format!("{} {path}: {what}: {real}, simulated {simulated}", profile.word());
            match listed(profile.word(), &path, &what) {
                Some(known) => println!("{line}: {}", EXCEPTIONS[known].cause),
                None => unknown.push(line),
            }
            used.insert((profile.word(), path.clone(), what));
        }
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    println!("{} times: median {:.2} %, worst {:.2} %", errors.len(), median * 100.0, worst * 100.0);
    assert!(unknown.is_empty(), "{} differences that are not listed:\n{}", unknown.len(), unknown.join("\n"));
    let idle =
        all().filter(|(profile, path, field)| !used.contains(&(*profile, (*path).into(), (*field).into())));
    let idle: Vec<_> = idle.collect();
    assert!(idle.is_empty(), "exceptions that no row needs: {idle:?}");
    assert!(median < 0.02, "{median}");
}

/// Options of stacks with a row in `stacks/options.jsonl`: the stack, the option at the end of its version, the profile, and the scheme before
/// `+` and behind it.
const OPTIONS: [(&str, &str, &str, [&str; 2]); 2] = [
    ("haproxy", "quic-cc-algo newreno", "haproxy-3.0", ["slow-start", "reno"]),
    ("ngtcp2", "--cc=reno", "ngtcp2", ["slow-start", "reno"]),
];

#[test]
fn options_of_stacks_take_the_times_of_their_schemes() {
    let rows = include_str!("../../stacks/options.jsonl").lines();
    let rows: Vec<Row> = rows.map(|line| serde_json::from_str(line).expect("a row")).collect();
    assert_eq!(rows.len(), OPTIONS.len(), "a row for each option");
    for (stack, option, profile, [startup, avoidance]) in OPTIONS {
        let of = |row: &&Row| row.identity.stack == stack && row.identity.version.ends_with(option);
        let real = rows.iter().find(of).expect(option);
        let profile = *Profile::ALL.iter().find(|known| known.word() == profile).expect("a profile");
        let keys = format!("startup = \"{startup}\"\navoidance = \"{avoidance}\"\n");
        let simulated = seconds(profile, real, &keys);
        for (transfer, simulated) in real.transfers.iter().zip(&simulated) {
            let error = simulated / transfer.seconds - 1.0;
            println!("{stack} {option}, {}: {simulated:.4}, {:+.1} %", transfer.bytes, error * 100.0);
            assert!(error.abs() < 0.10, "{stack} {option}, {}: {simulated}", transfer.bytes);
        }
    }
}
