//! Profiles held to the rows of real stacks in `stacks/rows.jsonl`.

mod compared;
mod simulated;

use compared::{Difference, compared};
use firstflight_probe::Row;
use firstflight_scenario::Profile;
use simulated::simulated;

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
fn rows() -> Vec<(Profile, Row)> {
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

/// Differences that the test lists: profiles, the beginnings of what differs, and the cause, as far as it is known.
type Exception = (&'static [&'static str], &'static [&'static str], &'static str);

/// Causes follow from the packets of the rows (`first_flight.packets`), unless the text says otherwise.
const EXCEPTIONS: &[Exception] = &[
    (
        &["quinn"],
        &["round", "time of 9500", "time of 30000"],
        "the response is ready when the handshake ends, so that the tickets share their datagram with data: nine of 1200 bytes and a probe",
    ),
    (&["quinn"], &["after", "time with a loss", "repair", "a lost"], "not looked for"),
    (&["nginx-1.26"], &["round"], "datagrams of 1198, 1200 and 1038 bytes; the profile has 1200"),
    (
        &["nginx-1.26"],
        &["duration", "time with a loss", "repair", "a lost"],
        "a probe of 1472 bytes for the MTU leaves a round trip later; with a loss not looked for",
    ),
    (
        &["haproxy-3.0"],
        &["round", "first burst", "duration"],
        "three datagrams of 574, 111 and 222 bytes and one of 293 beside ten of 1252, in two bursts",
    ),
    (&["haproxy-3.0"], &["window", "end", "after", "time", "repair", "a lost"], "not looked for"),
    (
        &["ngtcp2"],
        &["first burst", "duration", "time of 9500"],
        "its server waits 5 to 18 ms behind its first two datagrams",
    ),
    (&["ngtcp2"], &["round", "after", "time", "window", "end", "repair", "a lost"], "not looked for"),
    (&["quic-go"], &["first burst", "duration"], "datagrams leave one by one, by timers of the host"),
    (
        &["quic-go"],
        &["round", "window", "end", "after", "time", "repair", "a lost"],
        "three small datagrams more leave in its first round. A window that grows by a full datagram for each of 36 packets has 68, as its second round; that this is the whole cause is a conjecture",
    ),
    (&["quiche"], &["end", "window", "after", "time", "repair", "a lost"], "not looked for"),
    (
        &["s2n-quic"],
        &["first burst", "duration"],
        "its server sends a probe and a datagram of 143 bytes, and the response 5 ms or more later",
    ),
    (&["s2n-quic"], &["round", "window", "end", "after", "time", "repair", "a lost"], "not looked for"),
    (&["linux"], &["after", "time with", "repair", "a lost"], "5.3 %; not looked for"),
];

#[test]
fn profiles_send_as_the_stacks_did() {
    let (mut errors, mut unknown, mut used) = (vec![], vec![], vec![false; EXCEPTIONS.len()]);
    for (profile, real) in rows() {
        let (differences, of_times) = compared(&real, &simulated(profile, &real));
        errors.extend(of_times);
        let path = &real.identity.path;
        for Difference { what, real, simulated } in differences {
            let line = format!(
                "{} {} {}: {what}: {real}, simulated {simulated}",
                profile.word(),
                path.rate,
                path.rtt
            );
            let known = EXCEPTIONS.iter().position(|(profiles, which, _)| {
                profiles.contains(&profile.word()) && which.iter().any(|which| what.starts_with(which))
            });
            match known {
                Some(known) => {
                    used[known] = true;
                    println!("{line}: {}", EXCEPTIONS[known].2);
                }
                None => unknown.push(line),
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    println!("{} times: median {:.2} %, worst {:.2} %", errors.len(), median * 100.0, worst * 100.0);
    assert!(
        unknown.is_empty(),
        "{} differences without a known cause:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    let idle: Vec<_> = EXCEPTIONS.iter().zip(&used).filter(|(_, used)| !**used).collect();
    assert!(idle.is_empty(), "exceptions that no row needs: {idle:?}");
    assert!(median < 0.05, "{median}");
}
