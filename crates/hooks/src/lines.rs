//! Plans of prefixes in the kernel's memory, laid out so that a program finds one with one wait for memory. This process writes them
//! through a mapping. The plan of a prefix whose line is full is in a hash map of the kernel.

use core::ptr::{self, NonNull};
use core::slice;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use crate::layout::{PLAN, Stored};
use crate::map::Map;

/// Flags of `state`: a writing is under way; there are plans in the hash map. The bits above count the writings.
const WRITING: u32 = 1;
const FURTHER: u32 = 2;
const FLAGS: u32 = WRITING | FURTHER;

/// `struct hooks_line`: two plans, and what the program keeps of their prefixes.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Line {
    key: [AtomicU64; 2],
    /// `struct hooks_start`, zero without a plan.
    start: [AtomicU64; 2],
    expires: [AtomicU32; 2],
    least: [AtomicU32; 2],
    most: [AtomicU32; 2],
    /// Live connections, which only the programs count.
    live: AtomicU32,
    state: AtomicU32,
}

impl Line {
    /// The place with the plan of this key.
    fn place_of(&self, key: u64) -> Option<usize> {
        [0, 1].into_iter().find(|&at| self.is_used(at) && self.key[at].load(Ordering::Relaxed) == key)
    }

    fn is_used(&self, at: usize) -> bool {
        self.start[at].load(Ordering::Relaxed) != 0
    }

    fn has_further(&self) -> bool {
        self.state.load(Ordering::Relaxed) & FURTHER != 0
    }

    /// Writes a plan, or removes one. A program that reads meanwhile finds no plan.
    fn write(&self, at: usize, key: u64, plan: Option<Stored>) {
        let next = self.begin();
        let Stored { start, expires, least, most } = plan.unwrap_or_default();
        self.key[at].store(key, Ordering::Relaxed);
        self.start[at].store(start, Ordering::Relaxed);
        for (word, value) in [(&self.expires[at], expires), (&self.least[at], least), (&self.most[at], most)]
        {
            word.store(value, Ordering::Relaxed);
        }
        self.state.store(next, Ordering::Release);
    }

    fn mark_further(&self) {
        let next = self.begin();
        self.state.store(next | FURTHER, Ordering::Release);
    }

    /// Begins a writing; answers with the state after it.
    fn begin(&self) -> u32 {
        let state = self.state.load(Ordering::Relaxed);
        let next = (state & !FLAGS).wrapping_add(FLAGS + 1) | state & FURTHER;
        self.state.store(next | WRITING, Ordering::Relaxed);
        fence(Ordering::Release);
        next
    }
}

/// The plans of prefixes.
#[derive(Debug)]
pub(crate) struct Lines {
    // First: the mapping ends before its descriptor is closed.
    mapping: Mapping,
    fd: OwnedFd,
    /// Plans whose lines are full.
    further: Map<8>,
    seed: u64,
    /// Greatest number of plans.
    most: u32,
    /// Number of plans. Its lock is that of all writing.
    used: Mutex<u32>,
}

impl Lines {
    /// The plans behind these descriptors, of which there are `used` so far, `most` at most. `number` is that of the lines, a power of two.
    pub(crate) fn of(
        fd: OwnedFd,
        further: OwnedFd,
        (number, seed): (u32, u64),
        (used, most): (u32, u32),
    ) -> io::Result<Self> {
        if !number.is_power_of_two() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mapping = Mapping::of(&fd, number as usize)?;
        Ok(Self { mapping, fd, further: Map { fd: further }, seed, most, used: Mutex::new(used) })
    }

    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.fd.as_fd(), self.further.fd.as_fd()]
    }

    /// Number of plans.
    pub(crate) fn used(&self) -> u32 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a plan, in place of an earlier one. Refuses with ENOSPC where there is no room.
    pub(crate) fn set(&self, key: u64, plan: &[u8; PLAN]) -> io::Result<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let line = self.line(key);
        if let Some(at) = line.place_of(key) {
            line.write(at, key, Some(Stored::of(plan)));
            return Ok(());
        }
        let known = line.has_further() && self.further.has::<PLAN>(&key.to_ne_bytes())?;
        if !known && *used >= self.most {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        match [0, 1].into_iter().find(|&at| !line.is_used(at)) {
            Some(at) => {
                line.write(at, key, Some(Stored::of(plan)));
                if known {
                    self.further.remove(&key.to_ne_bytes())?;
                }
            }
            None => {
                self.further.set(&key.to_ne_bytes(), plan)?;
                line.mark_further();
            }
        }
        *used += u32::from(!known);
        Ok(())
    }

    /// Removes a plan; answers whether there was one.
    pub(crate) fn remove(&self, key: u64) -> io::Result<bool> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let line = self.line(key);
        let removed = match line.place_of(key) {
            Some(at) => {
                line.write(at, 0, None);
                true
            }
            None => line.has_further() && self.further.remove(&key.to_ne_bytes())?,
        };
        *used -= u32::from(removed);
        Ok(removed)
    }

    /// Number of the line of a prefix, and the number of its live connections.
    pub(crate) fn live(&self, key: u64) -> (u32, u32) {
        let number = number_of(key, self.seed) & (self.mapping.number - 1) as u32;
        (number, self.line(key).live.load(Ordering::Relaxed))
    }

    /// Live connections of at most `most` lines from this one on, and the line after them: the first one behind the last one.
    pub(crate) fn live_from(&self, from: usize, most: usize) -> (u64, usize) {
        let lines = self.mapping.lines();
        let to = (from + most).min(lines.len());
        let live = lines[from..to].iter().map(|line| u64::from(line.live.load(Ordering::Relaxed))).sum();
        (live, to % lines.len())
    }

    fn line(&self, key: u64) -> &Line {
        let lines = self.mapping.lines();
        &lines[number_of(key, self.seed) as usize & (lines.len() - 1)]
    }
}

/// Hash of a prefix, before it is reduced to the number of a line: `number_of` of the object.
fn number_of(key: u64, seed: u64) -> u32 {
    let mixed = (key ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 32) as u32
}

/// The lines in the memory of this process.
#[derive(Debug)]
struct Mapping {
    first: NonNull<Line>,
    number: usize,
}

// SAFETY: lines are atomic words, and the mapping belongs to no thread.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn of(fd: &OwnedFd, number: usize) -> io::Result<Self> {
        let length = number * size_of::<Line>();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let first = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, fd.as_raw_fd(), 0) };
        if first == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(first.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { first, number })
    }

    fn lines(&self) -> &[Line] {
        // SAFETY: the mapping has as many lines, begins with a page, and lasts as long as `self`; any bytes are a line.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.number) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping of `of`, to which no reference is left.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.number * size_of::<Line>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_of_the_cache_and_each_writing_changes_its_state() {
        assert_eq!(size_of::<Line>(), 64);
        let line = Line::default();
        let plan = Stored { start: 7, expires: 1, least: 2, most: 3 };
        let mut states = vec![line.state.load(Ordering::Relaxed)];
        line.write(0, 10, Some(plan));
        states.push(line.state.load(Ordering::Relaxed));
        line.mark_further();
        states.push(line.state.load(Ordering::Relaxed));
        line.write(1, 11, Some(plan));
        states.push(line.state.load(Ordering::Relaxed));
        assert_eq!([10, 11, 12].map(|key| line.place_of(key)), [Some(0), Some(1), None]);
        line.write(0, 0, None);
        states.push(line.state.load(Ordering::Relaxed));
        assert_eq!(line.place_of(10), None);
        assert!(line.has_further(), "a removal leaves the plans of the map");
        assert!(states.iter().all(|state| state & WRITING == 0), "{states:?}");
        assert!(states.is_sorted_by(|a, b| a < b), "{states:?}");
        // The number of writings begins anew before it reaches the flags.
        line.state.store(!WRITING, Ordering::Relaxed);
        line.write(0, 10, Some(plan));
        assert_eq!(line.state.load(Ordering::Relaxed), FURTHER);
    }
}
