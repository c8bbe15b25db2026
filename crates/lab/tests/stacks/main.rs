//! Profiles held to the rows of real stacks in `stacks/rows.jsonl`.

mod simulated;

use firstflight_probe::Row;
use firstflight_scenario::Profile;
use simulated::simulated;

/// Profiles of stacks: the stack, the beginning of its version, the profile.
const PROFILES: [(&str, &str, &str); 8] = [
    ("quinn", "quinn-proto 0.11", "quinn"),
    ("quiche", "quiche 0.30", "quiche"),
    ("quic-go", "quic-go v0.65", "quic-go"),
    ("s2n-quic", "s2n-quic 1.91", "s2n-quic"),
    ("ngtcp2", "ngtcp2-server 1.11", "ngtcp2"),
    ("nginx", "nginx/1.26", "nginx-1.26"),
    ("haproxy", "HAProxy 3.0", "haproxy-3.0"),
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

#[test]
fn profiles_send_as_the_stacks_did() {
    for (profile, real) in rows() {
        let simulated = simulated(profile, &real);
        let path = &real.identity.path;
        println!("{} {} {} {}", profile.word(), path.rate, path.rtt, path.buffer);
        for (name, row) in [("real", &real), ("sim ", &simulated)] {
            let rounds: Vec<_> =
                row.rounds.iter().map(|round| (round.datagrams, round.bytes)).take(4).collect();
            let bursts: Vec<_> = row.first_flight.bursts.iter().map(|burst| burst.datagrams).take(6).collect();
            let last = row.first_flight.packets.last().map(|packet| packet.0);
            let idle: Vec<_> =
                row.after_idle.iter().map(|after| (after.datagrams, after.bytes, after.burst)).collect();
            let times: Vec<_> = row.transfers.iter().map(|one| one.seconds).collect();
            println!("  {name} {rounds:?} bursts {bursts:?} {:?} {last:?}", row.first_flight.spacing_ms);
            println!("  {name} {:?} most {}", row.startup_end, row.most_in_flight);
            println!("  {name} {idle:?} {:?}", row.third_lost);
            println!("  {name} {times:?}");
        }
    }
}
