//! The learned state on disk: one file, replaced as a whole by a thread of its own.
//!
//! The file begins with the bytes `FFSTATE1`, the version of the state, the length of the contents, the wall time and the
//! number of the newest record of the orders. The SHA-256 of all these and the contents follows. The contents are last: the
//! parts of a state, each with four bytes of length. The checksum is verified before a part is read, and no part is longer
//! than the file.

use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use firstflight_contract::Nanos;
use firstflight_gateway::{Gateway, STATE_VERSION, StateError};
use sha2::{Digest, Sha256};

use super::disk::{Disk, Stored, replace, sync_folder};

const MAGIC: &[u8; 8] = b"FFSTATE1";
/// Bytes before the checksum, and before the contents.
const FIELDS: usize = 8 + 4 + 8 + 8 + 8;
const HEAD: usize = FIELDS + 32;
/// Bytes that are handed to the thread at once.
pub(crate) const PIECE: usize = 64 << 10;
/// Pieces that wait for the thread.
const WAITING: usize = 8;
/// Bytes after which the thread waits for the disk: so much at most delays another file's durability.
pub(crate) const AT_ONCE: u64 = 4 << 20;

/// Facts of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Wall time at which it was begun, nanoseconds since 1970.
    pub(crate) taken: u64,
    /// Number of the newest record of the orders at that time.
    pub(crate) orders: u64,
}

/// Reason why a snapshot is not restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("it is no state of the gateway: expected the bytes FFSTATE1 at its beginning")]
    Foreign,
    #[error("it has {found} bytes after its head; expected {expected}: it was cut off or has grown")]
    Length { found: u64, expected: u64 },
    #[error("its contents do not have the SHA-256 of its head: it is damaged")]
    Checksum,
    #[error("{0}")]
    State(#[from] StateError),
}

fn head(Facts { taken, orders }: Facts, length: u64) -> [u8; FIELDS] {
    let mut head = [0; FIELDS];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&STATE_VERSION.to_le_bytes());
    for (at, value) in [(12, length), (20, taken), (28, orders)] {
        head[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    head
}

/// The checksum is of the contents and the fields, in this order: the length is known last.
fn sum(contents: Sha256, fields: &[u8; FIELDS]) -> [u8; 32] {
    contents.chain_update(fields).finalize().into()
}

/// The whole head of contents with this checksum and length.
pub(crate) fn whole_head(contents: Sha256, length: u64, taken: u64) -> [u8; HEAD] {
    let fields = head(Facts { taken, orders: 0 }, length);
    let mut whole = [0; HEAD];
    whole[..FIELDS].copy_from_slice(&fields);
    whole[FIELDS..].copy_from_slice(&sum(contents, &fields));
    whole
}

/// Reads the file at `path` into a gateway of the same settings as `like`; [`None`] without a file. Learned values age by the
/// wall time since it was taken.
///
/// # Errors
/// [`Unusable`], with the facts if the file is whole.
pub(crate) fn read(
    disk: &dyn Disk,
    path: &Path,
    like: &Gateway,
    (now, wall): (Nanos, u64),
) -> Result<Option<(Gateway, Facts)>, (Unusable, Facts)> {
    let file = disk.open(path).map_err(|error| (error.into(), Facts::default()))?;
    file.map(|file| restored(file, like, (now, wall))).transpose()
}

/// The same for an open file.
pub(crate) fn restored(
    mut file: Box<dyn Stored>,
    like: &Gateway,
    (now, wall): (Nanos, u64),
) -> Result<(Gateway, Facts), (Unusable, Facts)> {
    let (facts, version) = verify(&mut *file).map_err(|error| (error, Facts::default()))?;
    let restored = || {
        if version != STATE_VERSION {
            return Err(StateError::Version { found: version }.into());
        }
        let age = Nanos(wall.saturating_sub(facts.taken));
        let mut restore = like.restore(now, age);
        file.seek(SeekFrom::Start(HEAD as u64))?;
        let mut input = io::BufReader::with_capacity(PIECE, file);
        let mut part = vec![];
        while let Some(length) = next_length(&mut input)? {
            part.clear();
            // The file may have changed since it was verified: what it states decides no allocation.
            let found = (&mut input).take(length).read_to_end(&mut part)?;
            if found as u64 != length {
                return Err(Unusable::Length { found: found as u64, expected: length });
            }
            restore.part(&part)?;
        }
        Ok(restore.finish()?)
    };
    restored().map(|gateway| (gateway, facts)).map_err(|error| (error, facts))
}

/// Reads a whole file and compares it with its head; answers with its facts and the version of the state.
fn verify(file: &mut dyn Stored) -> Result<(Facts, u32), Unusable> {
    let mut head = [0; HEAD];
    let mut length = 0;
    while length < HEAD {
        match file.read(&mut head[length..])? {
            0 => break,
            more => length += more,
        }
    }
    if !head[..length].starts_with(MAGIC) {
        return Err(Unusable::Foreign);
    }
    let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let fields: &[u8; FIELDS] = head.first_chunk().expect("a head");
    let expected = number(12);
    let mut contents = Sha256::new();
    let mut found = 0;
    let mut piece = vec![0; PIECE];
    loop {
        let more = file.read(&mut piece)?;
        if more == 0 {
            break;
        }
        contents.update(&piece[..more]);
        found += more as u64;
    }
    if length < HEAD || found != expected {
        return Err(Unusable::Length { found, expected });
    }
    if sum(contents, fields) != head[FIELDS..] {
        return Err(Unusable::Checksum);
    }
    let version = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
    Ok((Facts { taken: number(20), orders: number(28) }, version))
}

fn next_length(input: &mut impl Read) -> io::Result<Option<u64>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Ok(()) => Ok(Some(u32::from_le_bytes(length).into())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file that a thread writes. One that is dropped before its end leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Writer {
    /// A piece of the contents, or [`None`] for their end.
    pieces: Option<SyncSender<Option<Vec<u8>>>>,
    thread: JoinHandle<io::Result<u64>>,
}

impl Writer {
    /// Begins a file; the thread waits for the disk whenever it has written `at_once` bytes.
    ///
    /// # Errors
    /// The system has no further thread.
    pub(crate) fn begin(disk: Arc<dyn Disk>, path: PathBuf, facts: Facts, at_once: u64) -> io::Result<Self> {
        let (pieces, inbox) = sync_channel(WAITING);
        let work = move || write(&*disk, &path, (facts, at_once), &inbox);
        let thread = thread::Builder::new().name("snapshot".to_owned()).spawn(work)?;
        Ok(Self { pieces: Some(pieces), thread })
    }

    /// Hands over a piece, or the end; gives it back if there is no room yet.
    pub(crate) fn give(&self, piece: Option<Vec<u8>>) -> Result<(), Option<Vec<u8>>> {
        use std::sync::mpsc::TrySendError;
        match self.pieces.as_ref().map(|pieces| pieces.try_send(piece)) {
            Some(Err(TrySendError::Full(piece))) => Err(piece),
            // A thread that has ended takes everything: its result says why.
            _ => Ok(()),
        }
    }

    /// Has the thread leave the old file and end.
    pub(crate) fn give_up(self) -> Self {
        Self { pieces: None, ..self }
    }

    /// Whether the thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Bytes of the file, when it is durable.
    ///
    /// # Errors
    /// A step failed; the old file is there, or after the last step perhaps the new one.
    pub(crate) fn end(self) -> io::Result<u64> {
        drop(self.pieces);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn write(
    disk: &dyn Disk,
    path: &Path,
    (facts, at_once): (Facts, u64),
    pieces: &Receiver<Option<Vec<u8>>>,
) -> io::Result<u64> {
    let mut length = 0;
    replace(disk, path, |file| {
        file.write_all(&[0; HEAD])?;
        let mut contents = Sha256::new();
        let mut unsynced = 0;
        loop {
            match pieces.recv() {
                Ok(Some(piece)) => {
                    file.write_all(&piece)?;
                    contents.update(&piece);
                    length += piece.len() as u64;
                    unsynced += piece.len() as u64;
                }
                Ok(None) => break,
                Err(_) => return Err(io::Error::new(io::ErrorKind::Interrupted, "it was given up")),
            }
            if unsynced >= at_once {
                file.sync()?;
                unsynced = 0;
            }
        }
        let fields = head(facts, length);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&fields)?;
        file.write_all(&sum(contents, &fields))
    })?;
    sync_folder(disk, path)?;
    Ok(length + HEAD as u64)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
