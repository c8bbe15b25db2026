//! Memory of a prefix, counted by the allocator. A single test, so that it is alone in its process.

#[path = "../../paths/tests/common/allocator.rs"]
mod allocator;
mod common;

use allocator::in_use;
use common::*;
use firstflight_gateway::{Arm, Connection, Gateway};

/// Prefixes. 1.15 million have an index of the same bytes each: the hash table's size is a power of two, full to 7/8.
const PREFIXES: u32 = 1 << 15;
/// Bytes in user space that a prefix may have, of 600 with the kernel's.
const MOST: usize = 360;

#[test]
fn a_prefix_with_a_plan_a_trial_and_all_of_its_hosts_has_at_most_360_bytes() {
    let before = in_use();
    let mut gateway = Gateway::new(enforcing());
    let mut out = Vec::with_capacity(16);
    for turn in 0..20u32 {
        for number in 0..PREFIXES {
            // Fifteen hosts, of which eleven are kept.
            let peer = [10, (number >> 8) as u8, number as u8, (turn % 15) as u8].into();
            let connection = exact(f64::from(turn), peer, 40);
            let connection = match turn {
                0..12 => connection,
                12 => Connection { arm: Arm::Holdout(20), ..connection },
                _ => planned(connection, 20),
            };
            gateway.report(&connection, &mut out);
            out.clear();
        }
    }
    assert_eq!(gateway.planned(), PREFIXES as usize);
    let counted = (in_use() - before) / PREFIXES as usize;
    println!("{counted} bytes a prefix, {} by its own account", gateway.bytes() / PREFIXES as usize);
    assert!(counted <= MOST, "{counted} bytes a prefix");
    assert!(gateway.bytes().abs_diff(counted * PREFIXES as usize) < 10 * PREFIXES as usize);
}
