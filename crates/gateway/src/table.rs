//! Prefixes by address, in a hash table of their positions: ten bytes of index for each.

use std::hash::Hasher;

use firstflight_paths::Prefix;
use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

use crate::prefix::Entry;

/// Prefixes whose memory is read together: what a level-2 cache holds.
pub(crate) const WARM: usize = 64;

/// Entries by prefix. Nothing iterates in the order of the hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Key of the hash, so that no peer can choose addresses that collide.
    secret: u64,
    index: HashTable<u32>,
    entries: Vec<Entry>,
}

/// Keyed hash of an address or a prefix.
pub(crate) fn hash(secret: u64, bits: u128, length: u8) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(secret, 0);
    hasher.write(&bits.to_le_bytes());
    hasher.write_u8(length);
    hasher.finish()
}

/// Keyed hash of a name.
pub(crate) fn hash_name(secret: u64, name: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(secret, 1);
    hasher.write(name.as_bytes());
    hasher.finish()
}

fn hash_of(secret: u64, prefix: &Prefix) -> u64 {
    hash(secret, firstflight_paths::Destination::from(prefix.first()).0, prefix.length())
}

impl Table {
    pub(crate) fn new(secret: u64) -> Self {
        Self { secret, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn find(&self, prefix: &Prefix) -> Option<usize> {
        let same = |at: &u32| self.entries[*at as usize].prefix == *prefix;
        self.index.find(hash_of(self.secret, prefix), same).map(|at| *at as usize)
    }

    /// Reads what the table keeps of the prefixes, several at a time, so that the processor waits for the memory of all of them
    /// together. Each step takes its addresses from the step before, and no prefix waits for another.
    pub(crate) fn warm(&self, prefixes: impl Iterator<Item = Prefix>) {
        let mut hashes = [0; WARM];
        let mut count = 0;
        for (to, prefix) in hashes.iter_mut().zip(prefixes) {
            *to = hash_of(self.secret, &prefix);
            count += 1;
        }
        let mut found = [0_u32; WARM];
        for (to, hash) in found.iter_mut().zip(&hashes[..count]) {
            // The first candidate is nearly always the prefix; another one costs nothing but time.
            *to = self.index.find(*hash, |_| true).copied().unwrap_or(0);
        }
        let entries = || found[..count].iter().filter_map(|at| self.entries.get(*at as usize));
        core::hint::black_box(entries().map(|entry| entry.seen.age(entry.seen).0).sum::<u64>());
        core::hint::black_box(entries().map(Entry::touch).fold(0, u32::wrapping_add));
    }

    /// Adds an entry whose prefix is not in the table.
    pub(crate) fn insert(&mut self, entry: Entry) -> usize {
        let Self { secret, index, entries } = self;
        let at = entries.len() as u32;
        if entries.len() == entries.capacity() {
            // An eighth more, where doubling would leave up to half of the memory unused.
            entries.reserve_exact(entries.len() / 8 + 16);
        }
        let hash = hash_of(*secret, &entry.prefix);
        entries.push(entry);
        index.insert_unique(hash, at, |at| hash_of(*secret, &entries[*at as usize].prefix));
        at as usize
    }

    /// Removes an entry; the last one takes its position.
    pub(crate) fn remove(&mut self, at: usize) -> Entry {
        let last = self.entries.len() - 1;
        let (secret, moved) = (self.secret, self.entries[last].prefix);
        let removed = self.entries.swap_remove(at);
        let found = self.index.find_entry(hash_of(secret, &removed.prefix), |found| *found as usize == at);
        found.expect("every entry is in the index").remove();
        if at != last {
            let found = self.index.find_mut(hash_of(secret, &moved), |found| *found as usize == last);
            *found.expect("every entry is in the index") = at as u32;
        }
        removed
    }

    pub(crate) fn at(&self, at: usize) -> &Entry {
        &self.entries[at]
    }

    pub(crate) fn at_mut(&mut self, at: usize) -> &mut Entry {
        &mut self.entries[at]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let own: usize = self.entries.iter().map(Entry::bytes).sum();
        own + self.entries.capacity() * size_of::<Entry>() + self.index.allocation_size()
    }
}
