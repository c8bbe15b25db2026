//! Any bytes as the snapshot of a gateway: refused as a whole, or a gateway that works.

use firstflight_contract::Nanos;
use firstflight_daemon::{read_snapshot, whole_snapshot};
use firstflight_gateway::Gateway;

use crate::gateways::{enforcing, exercised, held};
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "gateway_snapshot",
    about: "bytes as a gateway's snapshot, as they are and as contents with their checksum: refused as a whole, or a gateway that works",
    run,
    longest: 8 << 10,
    form: Form::Binary,
};

const WALL: u64 = 1_764_281_381_000_000_000;

fn run(bytes: &[u8]) {
    judged(bytes);
    judged(&whole_snapshot(bytes, WALL - 60_000_000_000));
}

fn judged(bytes: &[u8]) {
    let (like, now) = (Gateway::new(enforcing()), Nanos::from_secs(100));
    match read_snapshot(bytes, &like, now, WALL) {
        Err(why) => refused(why),
        Ok(mut gateway) => {
            held(&gateway, &[]);
            exercised(&mut gateway, now);
            let saved = whole_snapshot(&parts(&mut gateway), WALL);
            let again = read_snapshot(&saved, &like, now, WALL)
                .unwrap_or_else(|why| panic!("a saved state is refused: {why}"));
            assert_eq!(again.prefixes(), gateway.prefixes());
        }
    }
}

/// The parts of a state.
fn parts(gateway: &mut Gateway) -> Vec<u8> {
    let mut parts = vec![];
    gateway.begin_save();
    while !gateway.save_part(&mut parts) {}
    parts
}

/// The contents of a snapshot with two prefixes, without its head.
pub(crate) fn contents() -> Vec<u8> {
    let mut gateway = Gateway::new(enforcing());
    exercised(&mut gateway, Nanos::from_secs(5));
    parts(&mut gateway)
}

/// A whole snapshot without a prefix.
pub(crate) fn whole() -> Vec<u8> {
    whole_snapshot(&parts(&mut Gateway::new(enforcing())), WALL)
}
