//! A memory that is saved and restored.

use crate::common::{MSS, policy, sample, transfer};
use firstflight_paths::{
    Destination, Group, Grouping, Handle, Limits, Memory, Policy, Saved, Settings, Transfer, Unfit,
};

const LIMITS: Limits = Limits { clusters: 40, connections: 60 };

fn every_policy() -> (Vec<Policy>, Settings) {
    let all: Vec<_> = Policy::LABELS.iter().map(|label| policy(label, &[])).collect();
    let settings = Policy::settings_for(&all).expect("the defaults agree");
    (all, settings)
}

/// Two hours of connections to 60 groups; returns the live ones.
fn filled(memory: &mut Memory) -> Vec<Handle> {
    let mut live = vec![];
    for second in 0..7200u32 {
        let now = f64::from(second);
        let group = Group::Named(second.wrapping_mul(2_654_435_761) % 60);
        let destination = Destination(u128::from(second % 7));
        live.extend(memory.open(group, &Transfer { destination, ..transfer(now) }, &sample(now, 10, false)));
        for (i, handle) in live.iter().enumerate() {
            memory.observe(*handle, &sample(now + 0.1, 10 + i as u64, i % 2 == 0));
        }
        if let Some(handle) = live.get(second as usize % 11) {
            memory.lost(*handle, sample(now, 0, false).now, 30 * MSS);
        }
        while live.len() > 25 {
            memory.close(live.remove(second as usize % 20), sample(now + 0.3, 0, false).now);
        }
    }
    live
}

fn restored(settings: Settings, saved: &[u8]) -> Result<Memory, Unfit> {
    let mut memory = Memory::new(settings, Grouping::default(), LIMITS);
    memory.restore(postcard::from_bytes::<Saved>(saved).expect("the same type"))?;
    Ok(memory)
}

#[test]
fn a_restored_memory_gives_the_same_plans_and_knows_its_live_connections() {
    let (all, settings) = every_policy();
    let mut before = Memory::new(settings, Grouping::default(), LIMITS);
    let mut live = filled(&mut before);
    let bytes = postcard::to_allocvec(&before.saved()).expect("memory suffices");
    let mut after = restored(settings, &bytes).expect("it fits");
    let mut planned = 0;
    // Another hour for both; every plan of every policy is equal at each step.
    for step in 0..360u32 {
        let now = 7200.0 + 10.0 * f64::from(step);
        for policy in &all {
            for group in (0..60).map(Group::Named) {
                let transfer = Transfer { bytes: 50 * MSS, ..transfer(now) };
                let plan = before.plan(policy, group, &transfer);
                assert_eq!(plan, after.plan(policy, group, &transfer), "{} at {now} s", policy.label());
                planned += u32::from(plan != Default::default());
            }
        }
        let group = Group::Named(step * 7 % 60);
        for memory in [&mut before, &mut after] {
            memory.observe(live[step as usize % live.len()], &sample(now, u64::from(step), step % 3 == 0));
        }
        let opened = before.open(group, &transfer(now), &sample(now, 10, false));
        assert_eq!(opened, after.open(group, &transfer(now), &sample(now, 10, false)));
        live.extend(opened);
        let handle = live.remove(0);
        for memory in [&mut before, &mut after] {
            memory.close(handle, sample(now, 0, false).now);
        }
    }
    assert!(planned > 10_000, "only {planned} plans were not empty");
}

#[test]
fn contents_of_other_settings_or_above_the_limits_are_refused() {
    let (_, settings) = every_policy();
    let mut memory = Memory::new(settings, Grouping::default(), LIMITS);
    filled(&mut memory);
    let bytes = postcard::to_allocvec(&memory.saved()).expect("memory suffices");
    assert_eq!(restored(Settings::default(), &bytes).err(), Some(Unfit::Settings));
    let saved = postcard::from_bytes::<Saved>(&bytes).expect("the same type");
    let mut small = Memory::new(settings, Grouping::default(), Limits { clusters: 3, ..LIMITS });
    assert_eq!(small.restore(saved), Err(Unfit::Limits));
    assert_eq!(small.clusters(), 0);
}

#[test]
fn damaged_contents_are_refused_or_harmless() {
    let (all, settings) = every_policy();
    let mut memory = Memory::new(settings, Grouping::default(), LIMITS);
    filled(&mut memory);
    let bytes = postcard::to_allocvec(&memory.saved()).expect("memory suffices");
    let mut refused = 0;
    // Every 17th byte is changed, one at a time.
    for at in (0..bytes.len()).step_by(17) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let mut memory = Memory::new(settings, Grouping::default(), LIMITS);
        let Ok(saved) = postcard::from_bytes::<Saved>(&damaged) else {
            refused += 1;
            continue;
        };
        if memory.restore(saved).is_err() {
            refused += 1;
            continue;
        }
        for policy in &all {
            for group in (0..60).map(Group::Named) {
                memory.plan(policy, group, &transfer(8000.0));
            }
        }
        filled(&mut memory);
    }
    assert!(refused > 0, "no damage was noticed");
}
