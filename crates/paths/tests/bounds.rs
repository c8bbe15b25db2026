//! Memory use of a full memory, counted by the allocator. A single test, so that it is alone in its process.

#[path = "common/allocator.rs"]
mod allocator;
mod common;

use allocator::in_use;
use common::{MSS, policy, sample, transfer};
use firstflight_paths::{Destination, Group, Grouping, Limits, Memory, Policy, Transfer};

const CLUSTERS: u32 = 100;
const CONNECTIONS: u32 = 300;

/// Bytes of a cluster, as in the documentation of the memory: the cluster with its place in the index; seven
/// minutes of samples and ten parts of a window of reports, with their heads; eight destinations.
const CLUSTER: usize = 354 + (32 + 7 * 32) + (48 + 10 * 32) + 8 * 48;
/// Bytes of a connection. A cluster's room for connections doubles when full.
const CONNECTION: usize = 2 * 112;

#[test]
fn a_full_memory_does_not_grow_and_an_observation_allocates_at_most_once_a_minute() {
    let all: Vec<_> = Policy::LABELS.iter().map(|label| policy(label, &[])).collect();
    let settings = Policy::settings_for(&all).expect("the defaults agree");
    let limits = Limits { clusters: CLUSTERS, connections: CONNECTIONS };
    let mut live = Vec::with_capacity(CONNECTIONS as usize);
    let before = in_use();
    let mut memory = Memory::new(settings, Grouping::default(), limits);
    let mut refused = 0;
    // Eleven hours; each second a connection to one of 1000 groups of 50 destinations each, sometimes few at
    // once and sometimes many.
    for second in 0..40_000u32 {
        let now = f64::from(second);
        let group = Group::Named(second.wrapping_mul(2_654_435_761) % 1000);
        let destination = Destination(u128::from(second % 50));
        let opened = memory.open(group, &Transfer { destination, ..transfer(now) }, &sample(now, 10, false));
        refused += u32::from(opened.is_none());
        live.extend(opened);
        let mut observed = [0; 2];
        for (pass, bytes) in observed.iter_mut().enumerate() {
            // All connections change phase from one pass to the next.
            for (i, handle) in live.iter().enumerate() {
                memory.observe(
                    *handle,
                    &sample(now + 0.1 + 0.1 * pass as f64, 10 + i as u64, (i + pass) % 2 == 0),
                );
            }
            *bytes = in_use();
        }
        // The first observation of a minute may allocate room for its samples.
        assert_eq!(observed[0], observed[1], "observing allocated at {now} s");
        if let Some(handle) = live.get(second as usize % live.len().max(1)) {
            memory.lost(*handle, sample(now, 0, false).now, 30 * MSS);
        }
        // For an hour connections live long, for the next one they are short.
        let most = if second / 3600 % 2 == 0 { CONNECTIONS as usize } else { 3 };
        while live.len() >= most {
            memory.close(live.remove(0), sample(now + 0.3, 0, false).now);
        }
        let in_use = in_use() - before;
        let most = CLUSTER * CLUSTERS as usize + CONNECTION * CONNECTIONS as usize;
        assert!(in_use <= most, "{in_use} bytes at {now} s, more than {most}");
    }
    assert!(refused > 1000, "only {refused} refused: every cluster must be live at times");
    assert_eq!(memory.clusters(), CLUSTERS as usize);
}
