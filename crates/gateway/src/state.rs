//! The saved state: what a gateway knows, over restarts of its process and of the machine.
//!
//! A state is four bytes `FFGW`, the version and the length of the contents, their SHA-256, and the contents. The contents
//! are parts, each four bytes of length and that many bytes: one that begins, prefixes by some hundreds, and one that ends.
//! It is restored as a whole or not at all.
//!
//! A gateway with many prefixes is saved part by part while it works ([`Gateway::save_part`]). Each prefix is saved as it is
//! when its part is made; one that moves within the table is saved before it can be missed, and of a prefix that is forgotten
//! and learned anew meanwhile the later part counts.

use firstflight_contract::Nanos;
use firstflight_paths::Unfit;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::gateway::Gateway;
use crate::host::Host;
use crate::memory::SavedPaths;
use crate::prefix::Entry;
use crate::serial;
use crate::settings::Settings;
use crate::stamp::Stamp;
use crate::table::Table;

/// Version of the format. It changes with every change of a saved type.
pub const STATE_VERSION: u32 = 5;

const MAGIC: &[u8; 4] = b"FFGW";
/// Bytes before the contents.
const HEAD: usize = 4 + 4 + 8 + 32;
/// Bytes before a part.
const LENGTH: usize = 4;
/// Prefixes of a part: 30 to 100 us of work.
const PART: usize = 256;

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

/// A part, as it is written.
#[derive(Serialize)]
enum Part<'a> {
    Begin(Begin),
    Entries(&'a [Entry]),
    End(End<&'a Host>),
}

/// A part, as it is read.
#[derive(Deserialize)]
enum Restored {
    Begin(Begin),
    Entries(Vec<Entry>),
    End(Box<End<Host>>),
}

#[derive(Serialize, Deserialize)]
struct Begin {
    #[serde(with = "serial::nanos")]
    clock: Nanos,
    secret: u64,
    bits: (u8, u8),
    split: Option<(u8, u8)>,
    policy: String,
}

#[derive(Serialize, Deserialize)]
struct End<H> {
    cursor: u64,
    host: H,
    paths: Option<SavedPaths>,
}

impl Part<'_> {
    /// Appends it with its length.
    fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([0; LENGTH]);
        *out = postcard::to_extend(self, std::mem::take(out)).expect("every part can be written to memory");
        let length = (out.len() - begin - LENGTH) as u32;
        out[begin..begin + LENGTH].copy_from_slice(&length.to_le_bytes());
    }
}

/// Step of a state that is being saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Step {
    /// None is.
    #[default]
    Idle,
    /// The part that begins is next.
    Begin,
    /// Prefixes are next.
    Prefixes,
}

impl Gateway {
    /// Its state. It holds the addresses of prefixes and the secret, and should be readable by the gateway alone.
    pub fn save(&self) -> Vec<u8> {
        let mut out = unsealed();
        self.begin_part().write(&mut out);
        self.table.parts(PART).for_each(|entries| Part::Entries(entries).write(&mut out));
        self.end_part().write(&mut out);
        seal(&mut out);
        out
    }

    /// Begins to save the contents of a state part by part. One that was begun before is given up.
    pub fn begin_save(&mut self) {
        self.saving = Step::Begin;
        self.table.begin_save();
    }

    /// Appends the next parts of the contents, of at most 256 prefixes; answers whether they were the last ones. Without
    /// [`Gateway::begin_save`], nothing is appended and they were.
    pub fn save_part(&mut self, out: &mut Vec<u8>) -> bool {
        match self.saving {
            Step::Idle => return true,
            Step::Begin => {
                self.begin_part().write(out);
                self.saving = Step::Prefixes;
            }
            Step::Prefixes => {
                let (moved, next) = self.table.next_to_save(PART);
                let moved = moved.chunks(PART).chain((!next.is_empty()).then_some(next));
                let mut some = false;
                for entries in moved {
                    Part::Entries(entries).write(out);
                    some = true;
                }
                if !some {
                    self.end_part().write(out);
                    self.saving = Step::Idle;
                    self.table.end_save();
                }
            }
        }
        self.saving == Step::Idle
    }

    fn begin_part(&self) -> Part<'_> {
        let knowledge = &self.knowledge;
        let settings = &knowledge.settings;
        Part::Begin(Begin {
            clock: knowledge.clock,
            secret: settings.secret,
            bits: settings.bits,
            split: settings.split,
            policy: settings.policy.label().into(),
        })
    }

    fn end_part(&self) -> Part<'_> {
        let knowledge = &self.knowledge;
        Part::End(End {
            cursor: self.cursor as u64,
            host: &knowledge.host,
            paths: knowledge.paths.as_ref().map(|paths| paths.saved(knowledge.clock)),
        })
    }

    /// Puts a saved state in place of its own. `now` is the time on `CLOCK_BOOTTIME`, and `elapsed` the time since the
    /// state was saved, by the wall clock; zero if that runs backwards. Everything ages by `elapsed`, once. The settings stay
    /// those of this gateway; only the secret is the saved one.
    /// A memory of paths is restored if the policy is the same.
    ///
    /// # Errors
    /// [`StateError`]; the gateway is then as before.
    pub fn load(&mut self, bytes: &[u8], now: Nanos, elapsed: Nanos) -> Result<(), StateError> {
        *self = self.restore(now, elapsed).whole(bytes)?;
        Ok(())
    }

    /// A gateway of the same settings that takes a saved state part by part: see [`Gateway::load`].
    pub fn restore(&self, now: Nanos, elapsed: Nanos) -> Restore {
        Restore::new(&self.knowledge.settings, Moment { now: Some(now), elapsed })
    }

    /// Puts a saved state in place of its own at the moment when it was saved: nothing ages.
    pub(crate) fn resume(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let moment = Moment { now: None, elapsed: Nanos::ZERO };
        *self = Restore::new(&self.knowledge.settings, moment).whole(bytes)?;
        Ok(())
    }
}

/// Moment at which a state is restored.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// Time on `CLOCK_BOOTTIME`; [`None`] for that of the state.
    now: Option<Nanos>,
    /// Time since the state was saved.
    elapsed: Nanos,
}

/// A gateway that is being restored.
#[derive(Debug)]
pub struct Restore {
    moment: Moment,
    /// A fresh gateway, which takes the parts.
    gateway: Gateway,
    /// Stamps of the clock in the state and of this gateway's, at the same moment.
    shift: (Stamp, Stamp),
    /// Whether parts of prefixes are restored, and the memory of paths.
    same: (bool, bool),
    begun: bool,
    ended: bool,
}

impl Restore {
    fn new(settings: &Settings, moment: Moment) -> Self {
        let shift = (Stamp::BOOT, Stamp::BOOT);
        let gateway = Gateway::new(settings.clone());
        Self { moment, gateway, shift, same: (false, false), begun: false, ended: false }
    }

    /// Takes the next part, without its length.
    ///
    /// # Errors
    /// [`StateError`]; the state cannot be restored.
    pub fn part(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let part = postcard::from_bytes(bytes)
            .map_err(|_| StateError::Contents("a part ends early or has another type"))?;
        match part {
            _ if self.ended => Err(StateError::Contents("a part follows the last one")),
            Restored::Begin(begin) if !self.begun => self.begin(&begin),
            Restored::Entries(entries) if self.begun => {
                entries.into_iter().try_for_each(|one| self.entry(one))
            }
            Restored::End(end) if self.begun => self.end(*end),
            _ => Err(StateError::Contents("the parts are in another order")),
        }
    }

    /// The gateway, when all parts were taken.
    ///
    /// # Errors
    /// [`StateError`] if the last part is missing.
    pub fn finish(self) -> Result<Gateway, StateError> {
        if self.ended { Ok(self.gateway) } else { Err(StateError::Contents("the last part is missing")) }
    }

    /// Takes a whole state.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn whole(mut self, bytes: &[u8]) -> Result<Gateway, StateError> {
        let mut rest = contents(bytes)?;
        while !rest.is_empty() {
            let short = StateError::Contents("a part ends early or has another type");
            let (length, more) = rest.split_first_chunk().ok_or(short.clone())?;
            let (part, more) = more.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(short)?;
            self.part(part)?;
            rest = more;
        }
        self.finish()
    }

    fn begin(&mut self, begin: &Begin) -> Result<(), StateError> {
        let settings = &mut self.gateway.knowledge.settings;
        let expected = settings.bits;
        if begin.bits != expected {
            return Err(StateError::Prefixes { found: begin.bits, expected });
        }
        settings.secret = begin.secret;
        self.same = (settings.split == begin.split, settings.policy.label() == begin.policy);
        self.gateway.table = Table::new(begin.secret);
        let now = self.moment.now.unwrap_or(begin.clock);
        self.gateway.knowledge.clock = now;
        // The saved clock shows `begin.clock + elapsed` at this moment.
        self.shift = (Stamp::of(begin.clock).after(self.moment.elapsed), Stamp::of(now));
        self.begun = true;
        Ok(())
    }

    fn entry(&mut self, mut entry: Entry) -> Result<(), StateError> {
        if !entry.is_sound() {
            return Err(StateError::Contents("a prefix has values out of range"));
        }
        let Gateway { knowledge, table, .. } = &mut self.gateway;
        let settings = &knowledge.settings;
        let (parts, _) = self.same;
        if !crate::gateway::is_whole(&entry.prefix(), settings.bits) && !parts {
            return Ok(());
        }
        let (from, to) = self.shift;
        entry.moved(from, to);
        entry.bound(settings);
        match table.find(&entry.prefix()) {
            Some(at) => table.change(at, |known| *known = entry),
            None if table.len() < settings.prefixes as usize => {
                table.insert(entry);
            }
            None => {}
        }
        Ok(())
    }

    fn end(&mut self, end: End<Host>) -> Result<(), StateError> {
        let End { cursor, mut host, paths } = end;
        let knowledge = &mut self.gateway.knowledge;
        let (_, policy) = self.same;
        if let (Some(own), Some(saved), true) = (&mut knowledge.paths, paths, policy) {
            own.restore(saved, knowledge.clock, self.moment.elapsed).map_err(StateError::Paths)?;
        }
        if !host.is_sound() {
            return Err(StateError::Contents("the trial of the host has values out of range"));
        }
        host.moved(self.shift.0, self.shift.1);
        knowledge.host = host;
        self.gateway.cursor = (cursor as usize).min(self.gateway.table.len());
        self.ended = true;
        Ok(())
    }
}

/// Room for the head of a state, behind which its contents are written: see [`seal`].
pub fn unsealed() -> Vec<u8> {
    vec![0; HEAD]
}

/// Completes a state: [`unsealed`], and behind it the contents.
pub fn seal(state: &mut [u8]) {
    let (head, contents) = state.split_at_mut(HEAD);
    head[..4].copy_from_slice(MAGIC);
    head[4..8].copy_from_slice(&STATE_VERSION.to_le_bytes());
    head[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
    head[16..].copy_from_slice(&Sha256::digest(&*contents));
}

/// The contents of a state, checked.
fn contents(bytes: &[u8]) -> Result<&[u8], StateError> {
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
    Ok(contents)
}
