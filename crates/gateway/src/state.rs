//! The saved state: what a gateway knows, over restarts of its process and of the machine.
//!
//! A state is four bytes `FFGW`, the version and the length of the contents, their SHA-256, and the contents. It is
//! restored as a whole or not at all.

use firstflight_contract::Nanos;
use firstflight_paths::Unfit;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::gateway::Gateway;
use crate::host::Host;
use crate::memory::SavedPaths;
use crate::prefix::Entry;
use crate::serial;
use crate::stamp::Stamp;
use crate::table::Table;

/// Version of the format. It changes with every change of a saved type.
pub const STATE_VERSION: u32 = 3;

const MAGIC: &[u8; 4] = b"FFGW";
/// Bytes before the contents.
const HEAD: usize = 4 + 4 + 8 + 32;

/// Reason why a state is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes are no state.
    #[error("not a state of the gateway: expected the bytes FFGW at its beginning")]
    Foreign,
    /// The state is of another version of this program.
    #[error("the state has version {found}; expected {STATE_VERSION}")]
    Version {
        /// Version found.
        found: u32,
    },
    /// The end is missing, or something follows it.
    #[error("the state has {found} bytes after its head; expected {expected}: it was written by halves")]
    Length {
        /// Bytes found.
        found: u64,
        /// Bytes announced.
        expected: u64,
    },
    /// The contents have changed since they were written.
    #[error("the contents of the state do not have the SHA-256 of its head: it is damaged")]
    Checksum,
    /// The contents have the right checksum and make no sense.
    #[error("the contents of the state are invalid: {0}")]
    Contents(&'static str),
    /// The gateway groups addresses in another way.
    #[error(
        "the state is of prefixes of {} and {} bits; expected {} and {}, as in the configuration",
        found.0, found.1, expected.0, expected.1
    )]
    Prefixes {
        /// Leading bits in the state.
        found: (u8, u8),
        /// Leading bits of the gateway.
        expected: (u8, u8),
    },
    /// The memory of paths does not fit.
    #[error("{0}")]
    Paths(Unfit),
}

#[derive(Serialize)]
struct Contents<'a> {
    head: Head,
    host: &'a Host,
    paths: Option<SavedPaths>,
    entries: Vec<&'a Entry>,
}

#[derive(Deserialize)]
struct Restored {
    head: Head,
    host: Host,
    paths: Option<SavedPaths>,
    entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(with = "serial::nanos")]
    clock: Nanos,
    secret: u64,
    bits: (u8, u8),
    split: Option<(u8, u8)>,
    cursor: u64,
    policy: String,
}

impl Gateway {
    /// Its state. It holds the addresses of prefixes and the secret, and should be readable by the gateway alone.
    pub fn save(&self) -> Vec<u8> {
        let knowledge = &self.knowledge;
        let settings = &knowledge.settings;
        let contents = Contents {
            head: Head {
                clock: knowledge.clock,
                secret: settings.secret,
                bits: settings.bits,
                split: settings.split,
                cursor: self.cursor as u64,
                policy: settings.policy.label().into(),
            },
            host: &knowledge.host,
            paths: knowledge.paths.as_ref().map(|paths| paths.saved(knowledge.clock)),
            entries: self.table.iter().collect(),
        };
        let contents = postcard::to_allocvec(&contents).expect("every part can be written to memory");
        let mut out = Vec::with_capacity(HEAD + contents.len());
        out.extend(MAGIC);
        out.extend(STATE_VERSION.to_le_bytes());
        out.extend((contents.len() as u64).to_le_bytes());
        out.extend(Sha256::digest(&contents));
        out.extend(contents);
        out
    }

    /// Puts a saved state in place of its own. `now` is the time on `CLOCK_BOOTTIME`, and `elapsed` the time since the
    /// state was saved, by the wall clock; zero if that runs backwards. Everything ages by `elapsed`, once. The settings stay
    /// those of this gateway; only the secret is the saved one.
    /// A memory of paths is restored if the policy is the same.
    ///
    /// # Errors
    /// [`StateError`]; the gateway is then as before.
    pub fn load(&mut self, bytes: &[u8], now: Nanos, elapsed: Nanos) -> Result<(), StateError> {
        let restored = contents(bytes)?;
        // The saved clock shows `head.clock + elapsed` at this moment.
        let from = Stamp::of(restored.head.clock).after(elapsed);
        *self = self.restored(restored, Moment { from, to: now, elapsed })?;
        Ok(())
    }

    /// Puts a saved state in place of its own at the moment when it was saved: nothing ages.
    pub(crate) fn resume(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let restored = contents(bytes)?;
        let to = restored.head.clock;
        let moment = Moment { from: Stamp::of(to), to, elapsed: Nanos::ZERO };
        *self = self.restored(restored, moment)?;
        Ok(())
    }

    fn restored(&self, restored: Restored, moment: Moment) -> Result<Self, StateError> {
        let Restored { head, mut host, paths, mut entries } = restored;
        let Moment { from, to: now, elapsed } = moment;
        let settings = &self.knowledge.settings;
        let expected = settings.bits;
        if head.bits != expected {
            return Err(StateError::Prefixes { found: head.bits, expected });
        }
        let mut fresh = Self::new(crate::Settings { secret: head.secret, ..settings.clone() });
        fresh.knowledge.clock = now;
        if let (Some(own), Some(saved)) = (&mut fresh.knowledge.paths, paths)
            && head.policy == settings.policy.label()
        {
            own.restore(saved, now, elapsed).map_err(StateError::Paths)?;
        }
        let to = Stamp::of(now);
        if !host.is_sound() {
            return Err(StateError::Contents("the trial of the host has values out of range"));
        }
        host.moved(from, to);
        fresh.knowledge.host = host;
        fresh.table = Table::new(head.secret);
        let parts = settings.split == head.split;
        entries.truncate(settings.prefixes as usize);
        for mut entry in entries {
            if !entry.is_sound() {
                return Err(StateError::Contents("a prefix has values out of range"));
            }
            let whole = crate::gateway::is_whole(&entry.prefix, expected);
            if !whole && !parts {
                continue;
            }
            if fresh.table.find(&entry.prefix).is_some() {
                return Err(StateError::Contents("a prefix is there twice"));
            }
            entry.moved(from, to);
            entry.bound(settings);
            fresh.table.insert(entry);
        }
        fresh.cursor = (head.cursor as usize).min(fresh.table.len());
        Ok(fresh)
    }
}

/// Moment at which a state is restored.
struct Moment {
    /// Time that the saved clock shows.
    from: Stamp,
    /// Time on `CLOCK_BOOTTIME`.
    to: Nanos,
    /// Time since the state was saved.
    elapsed: Nanos,
}

/// The contents of a state, checked.
fn contents(bytes: &[u8]) -> Result<Restored, StateError> {
    if !bytes.starts_with(MAGIC) {
        return Err(StateError::Foreign);
    }
    let number = |from: usize, len: usize| {
        let mut number = [0; 8];
        number[..len].copy_from_slice(bytes.get(from..from + len)?);
        Some(u64::from_le_bytes(number))
    };
    let halves = StateError::Length { found: 0, expected: 0 };
    let found = number(4, 4).ok_or(halves.clone())? as u32;
    if found != STATE_VERSION {
        return Err(StateError::Version { found });
    }
    let expected = number(8, 8).ok_or(halves.clone())?;
    let (sum, contents) = bytes.get(16..).and_then(|rest| rest.split_at_checked(32)).ok_or(halves)?;
    let found = contents.len() as u64;
    if found != expected {
        return Err(StateError::Length { found, expected });
    }
    if Sha256::digest(contents).as_slice() != sum {
        return Err(StateError::Checksum);
    }
    postcard::from_bytes(contents).map_err(|_| StateError::Contents("they end early or have another type"))
}
