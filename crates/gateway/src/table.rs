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
    /// Entries with a plan in force.
    planned: usize,
    /// Bytes that the entries have on the heap.
    heap: usize,
    saving: Option<Saving>,
}

/// Progress of a state that is being saved.
#[derive(Clone, Debug, Default)]
struct Saving {
    /// Entries before this position are saved.
    next: usize,
    /// Entries from this position on came later, and are not saved: a table that changes all the time would never be.
    end: usize,
    /// Entries that moved before `next` unsaved.
    moved: Vec<Entry>,
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
        let same = |at: &u32| self.entries[*at as usize].prefix() == *prefix;
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
        let Self { secret, index, entries, .. } = self;
        let at = entries.len() as u32;
        if entries.len() == entries.capacity() {
            // An eighth more, where doubling would leave up to half of the memory unused.
            entries.reserve_exact(entries.len() / 8 + 16);
        }
        let hash = hash_of(*secret, &entry.prefix());
        self.planned += usize::from(entry.is_planned());
        self.heap += entry.bytes();
        entries.push(entry);
        index.insert_unique(hash, at, |at| hash_of(*secret, &entries[*at as usize].prefix()));
        at as usize
    }

    /// Removes an entry; the last one takes its position.
    pub(crate) fn remove(&mut self, at: usize) -> Entry {
        let last = self.entries.len() - 1;
        if let Some(saving) = &mut self.saving
            && (at + 1..=last).contains(&saving.next)
            && last < saving.end
        {
            saving.moved.push(self.entries[last].clone());
        }
        let (secret, moved) = (self.secret, self.entries[last].prefix());
        let removed = self.entries.swap_remove(at);
        self.planned -= usize::from(removed.is_planned());
        self.heap -= removed.bytes();
        if let Some(saving) = &mut self.saving {
            (saving.next, saving.end) = (saving.next.min(last), saving.end.min(last));
        }
        let found = self.index.find_entry(hash_of(secret, &removed.prefix()), |found| *found as usize == at);
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

    /// Changes an entry.
    pub(crate) fn change<T>(&mut self, at: usize, change: impl FnOnce(&mut Entry) -> T) -> T {
        let entry = &mut self.entries[at];
        let (planned, bytes) = (entry.is_planned(), entry.bytes());
        let result = change(entry);
        self.planned = self.planned + usize::from(entry.is_planned()) - usize::from(planned);
        self.heap = self.heap + entry.bytes() - bytes;
        result
    }

    /// Entries with a plan in force.
    pub(crate) fn planned(&self) -> usize {
        self.planned
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The entries from one position to another.
    pub(crate) fn span(&self, from: usize, to: usize) -> &[Entry] {
        &self.entries[from..to]
    }

    /// All entries, at most `most` at a time.
    pub(crate) fn parts(&self, most: usize) -> impl Iterator<Item = &[Entry]> {
        self.entries.chunks(most)
    }

    /// From now on, [`Table::next_to_save`] gives every entry of this moment that stays.
    pub(crate) fn begin_save(&mut self) {
        self.saving = Some(Saving { end: self.entries.len(), ..Saving::default() });
    }

    /// Entries that moved, and at most `most` that are next; nothing when all were given.
    pub(crate) fn next_to_save(&mut self, most: usize) -> (Vec<Entry>, &[Entry]) {
        let Some(saving) = &mut self.saving else { return (vec![], &[]) };
        let end = (saving.next + most).min(saving.end);
        let next = &self.entries[saving.next..end];
        saving.next = end;
        (std::mem::take(&mut saving.moved), next)
    }

    /// No entry is to be saved any more.
    pub(crate) fn end_save(&mut self) {
        self.saving = None;
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.heap + self.entries.capacity() * size_of::<Entry>() + self.index.allocation_size()
    }
}
