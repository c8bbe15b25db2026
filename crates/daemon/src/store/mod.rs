//! Files that outlive the process, in the state folder: the orders of the socket (`orders.journal`), everything learned
//! (`learned.state`), and a lock. An order is a line of text, which `firstflight_gateway::Record` writes and reads.
//!
//! The two files know nothing of each other's contents, so that the loss of one costs nothing of the other. Each is replaced as
//! a whole by way of a file beside it. No file is interpreted before its checksum is right, and one that is not usable is kept
//! under another name.

mod bytes;
mod disk;
mod ledger;
mod lock;
mod saving;
mod scribe;
mod snapshot;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firstflight_contract::Nanos;
use firstflight_gateway::{Act, Book, Gateway, Origin, Record, Restore};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub use self::bytes::{parse_orders, read_snapshot, whole_orders, whole_snapshot};
use self::disk::{Added as _, Disk, Machine};
use self::ledger::Ledger;
pub use self::lock::Lock;
use self::saving::Saver;
use self::scribe::Scribe;
use crate::api::Answer;
use crate::requests::Waiting;
use crate::service::Trouble;
use crate::{clock, files};

/// News of the orders that wait.
pub(crate) enum News {
    /// The order is durable, and to be applied.
    Durable(Record, Waiting),
    /// The order is in force: whether it is durable, or the reason why it is not.
    Answered(Waiting, Result<(), String>),
    /// The order changed nothing.
    Refused(Waiting, String),
    /// Something failed.
    Trouble(String),
}

/// An open state folder, held by a lock.
pub(crate) struct Store {
    scribe: Scribe,
    saver: Saver,
    /// Orders that were lost, for `status`.
    lost: Option<String>,
    _lock: Lock,
}

/// Contents of a state folder.
pub(crate) struct Found {
    pub(crate) store: Store,
    pub(crate) gateway: Gateway,
    /// Lines for the operator.
    pub(crate) complaints: Vec<String>,
}

/// Locks the folder, which is made if it is missing.
///
/// # Errors
/// Another gateway has it, or it cannot be written.
pub(crate) fn claim(folder: &Path) -> Result<Lock, Trouble> {
    files::folder(folder)?;
    Lock::take(folder).map_err(|error| Trouble::of("the state folder", folder, &error))
}

/// Finds out whether a gateway has the state folder, before anything is loaded into the kernel. Nothing is made.
///
/// # Errors
/// [`Trouble`] if one has.
pub fn is_free(folder: &Path) -> Result<(), Trouble> {
    Lock::is_free(folder).map_err(|error| Trouble::of("the state folder", folder, &error))
}

/// Holds a cgroup, whose connections the kernel's programs of this gateway start, as long as the lock lives.
///
/// # Errors
/// [`Trouble`] if another gateway has it, or if there is no such folder.
pub fn claim_cgroup(folder: &Path) -> Result<Lock, Trouble> {
    Lock::take_cgroup(folder).map_err(|error| Trouble::of("the cgroup", folder, &error))
}

impl Store {
    /// Reads a folder that is locked: the knowledge into a gateway of the same settings as `fresh`, and the orders into the book.
    ///
    /// # Errors
    /// [`Trouble`] if a file cannot be read, or one that is not usable cannot be kept.
    pub(crate) fn open(
        folder: &Path,
        lock: Lock,
        every: Nanos,
        fresh: Gateway,
        book: &mut Book,
    ) -> Result<Found, Trouble> {
        Self::on(Arc::new(Machine), folder, lock, every, (fresh, book))
    }

    fn on(
        disk: Arc<dyn Disk>,
        folder: &Path,
        lock: Lock,
        every: Nanos,
        (fresh, book): (Gateway, &mut Book),
    ) -> Result<Found, Trouble> {
        let (now, wall) = (clock::since_boot(), clock::wall());
        let mut complaints = vec![];
        let path = folder.join(files::LEARNED);
        let mut taken = None;
        let (mut gateway, facts) = match snapshot::read(&*disk, &path, &fresh, (now, wall)) {
            Ok(Some((gateway, facts))) => {
                taken = Some(facts.taken);
                (gateway, facts)
            }
            Ok(None) => (fresh, snapshot::Facts::default()),
            Err((why, facts)) => {
                let kept = aside(&path, wall);
                disk.rename(&path, &kept)
                    .map_err(|error| Trouble::kept("the learned state", &path, &why, &error))?;
                complaints.push(format!(
                    "the learned state {}: {why}; kept as {}, and a new one begun; the orders are not affected",
                    path.display(),
                    kept.display()
                ));
                (fresh, facts)
            }
        };
        let mut read = read_orders(&disk, folder, (facts.orders, wall), book)?;
        // The orders count whether or not the knowledge can be read.
        for prefix in book.prefixes() {
            gateway.order(prefix, book.in_force(&prefix), &mut vec![]);
        }
        // From here on the file has no record that is torn or damaged, and it is short.
        let written = read.ledger.rewrite(&lines(book));
        let behind = written.is_err();
        match written {
            Ok(()) => {
                if let Some((old, kept)) = &read.old {
                    let renamed = disk.rename(old, kept);
                    renamed.map_err(|error| Trouble::of("the store of an earlier version", old, &error))?;
                }
            }
            Err(error) => complaints.push(format!("the orders cannot be saved: {error}")),
        }
        complaints.append(&mut read.complaints);
        let scribe = Scribe::start(read.ledger, behind)
            .map_err(|error| Trouble::of("the thread of the orders", folder, &error))?;
        let saver = Saver::new(disk, path, every, now, taken);
        let store = Self { scribe, saver, lost: read.lost, _lock: lock };
        Ok(Found { store, gateway, complaints })
    }

    /// Has an order applied when it is durable: [`News::Durable`].
    pub(crate) fn first(&mut self, record: Record, waiting: Waiting, book: &Book) {
        self.scribe.first(record, waiting, book, clock::since_boot());
    }

    /// Makes an order durable that is in force and in the book: [`News::Answered`].
    pub(crate) fn in_force(&mut self, record: Record, waiting: Waiting, book: &Book) {
        self.scribe.in_force(record, waiting, book, clock::since_boot());
    }

    /// An order of [`News::Durable`] could not be applied: those of the book are in force.
    pub(crate) fn take_back(&mut self, book: &Book) {
        self.scribe.take_back(book, clock::since_boot());
    }

    /// Whether an order waits.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.scribe.is_idle() || !self.saver.ready.is_empty()
    }

    /// News of the orders that wait. Each is to be followed before the next call.
    pub(crate) fn news(&mut self, book: &Book) -> Option<News> {
        self.scribe.news(book, clock::since_boot()).or_else(|| self.saver.ready.pop_front())
    }

    /// Reads a state for a client: [`Store::imported`].
    pub(crate) fn import(&mut self, state: Vec<u8>, into: Restore, waiting: Waiting) {
        self.saver.import(state, into, waiting);
    }

    /// A state that was read for a client, who takes the answer.
    pub(crate) fn imported(&mut self) -> Option<(Gateway, Waiting)> {
        self.saver.imported()
    }

    /// The knowledge is another: [`News::Answered`] when it is saved.
    pub(crate) fn replaced(&mut self, waiting: Waiting) {
        self.saver.replaced(waiting);
    }

    /// Gives the state to this client.
    pub(crate) fn export(&mut self, reply: oneshot::Sender<Answer>) {
        self.saver.export(reply);
    }

    /// Saves a part of what was learned, if it is time for it.
    ///
    /// # Errors
    /// A snapshot failed; it is tried again when the next one is due.
    pub(crate) fn save_some(&mut self, gateway: &mut Gateway, book: &Book) -> Result<(), String> {
        let result = self.saver.turn(gateway, clock::since_boot(), self.scribe.number);
        if let Some(Ok(_)) = &result {
            self.scribe.shorten(book, clock::since_boot());
        }
        result.map_or(Ok(()), |result| result.map(drop))
    }

    /// Saves what was learned, at the end of the process.
    ///
    /// # Errors
    /// It is not saved.
    pub(crate) fn finish(&mut self, gateway: &mut Gateway, book: &Book, until: Nanos) -> Result<(), String> {
        let saved = self.saver.finish(gateway, self.scribe.number, until);
        self.scribe.shorten(book, clock::since_boot());
        saved
    }

    /// Whether all orders in force are on disk.
    pub(crate) fn is_durable(&self) -> bool {
        self.scribe.is_durable()
    }

    /// Bytes of the newest snapshot, failures of the disk, and the age of the snapshot in seconds, if there is one.
    pub(crate) fn counts(&self) -> (u64, u64, Option<f64>) {
        (self.saver.bytes, self.saver.failures + self.scribe.failures, self.saver.age())
    }

    /// Its state for `status`.
    pub(crate) fn view(&self) -> Value {
        let (bytes, failures, age) = self.counts();
        json!({
            "failures": failures,
            "why_failing": self.saver.failing,
            "snapshot_age_s": age,
            "snapshot_bytes": bytes,
            "orders_durable": self.scribe.is_durable(),
            "orders_lost": self.lost,
        })
    }
}

/// Name under which a file is kept that cannot be used.
pub(crate) fn aside(path: &Path, wall: u64) -> PathBuf {
    path.with_added(&format!("unreadable-{}", wall / 1_000_000_000))
}

/// Puts a complete and durable file in place of the one at `path`.
///
/// # Errors
/// A step failed; the old file may be there.
pub(crate) fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    disk::replace(&Machine, path, |file| write(file))?;
    disk::sync_folder(&Machine, path)
}

/// Removes a file, if there is one, for good.
///
/// # Errors
/// It may be there.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    Machine.remove(path)?;
    disk::sync_folder(&Machine, path)
}

/// The lines of the orders of the socket.
fn lines(book: &Book) -> Vec<String> {
    book.text().lines().map(str::to_owned).collect()
}

/// Result of reading the orders of a folder.
struct Read {
    ledger: Ledger,
    complaints: Vec<String>,
    /// Loss of orders, one line.
    lost: Option<String>,
    /// Store of an earlier version, and the name under which it is kept.
    old: Option<(PathBuf, PathBuf)>,
}

/// Reads the orders into the book. If one was lost that had been acknowledged, no plan is used until the operator has seen it: it
/// may have ended plans. `known` is the number of a record that was there before.
fn read_orders(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    (known, wall): (u64, u64),
    book: &mut Book,
) -> Result<Read, Trouble> {
    let path = folder.join(files::ORDERS);
    let trouble = |error: &dyn ToString| Trouble::of("the orders", &path, error);
    let (ledger, contents) = Ledger::open(Arc::clone(disk), &path).map_err(|error| trouble(&error))?;
    let mut read = Read { ledger, complaints: vec![], lost: None, old: None };
    let file = contents.is_some();
    let contents = contents.unwrap_or_default();
    let text: String = contents.changes.iter().map(|line| format!("{line}\n")).collect();
    for line in book.read(&text) {
        read.complaints
            .push(format!("the saved order {line:?} cannot be read; it is kept, and does not count"));
    }
    if contents.torn > 0 {
        read.complaints.push(format!(
            "the orders {}: the last {} bytes are of an order that was being written when the machine stopped and was never \
             acknowledged; they are left out",
            path.display(),
            contents.torn
        ));
    }
    let mut damage = contents.damage;
    if contents.number < known {
        damage.push(format!("its newest record is {}; the learned state knows of {known}", contents.number));
    }
    read.ledger.go_on_from(known);
    if !damage.is_empty() {
        let damage = damage.join(", ");
        let saved = match lines(book) {
            lines if lines.is_empty() => "none".to_owned(),
            lines => lines.join(", "),
        };
        let kept = aside(&path, wall);
        if file {
            disk.link(&path, &kept).map_err(|error| Trouble::kept("the orders", &path, &damage, &error))?;
        }
        let kept = if file { format!("kept as {}; ", kept.display()) } else { String::new() };
        read.lost = Some(format!(
            "the orders {}: {damage}; {kept}orders that are saved: {saved}; no plan is used until `firstflight gateway release`",
            path.display()
        ));
    }
    let old = folder.join(files::OLD_STORE);
    if disk
        .open(&old)
        .map_err(|error| Trouble::of("the store of an earlier version", &old, &error))?
        .is_some()
    {
        let kept = aside(&old, wall);
        let why = format!(
            "{} is of an earlier version, and its orders cannot be read; kept as {}; give them again; no plan is used until \
             `firstflight gateway release`",
            old.display(),
            kept.display()
        );
        read.lost = Some(read.lost.map_or(why.clone(), |lost| format!("{lost}; {why}")));
        read.old = Some((old, kept));
    }
    if read.lost.is_some() && !book.is_stopped() {
        book.apply(Record { act: Act::Stop, by: None });
    }
    read.complaints.extend(read.lost.clone());
    for kept in book.kept() {
        if let (Origin::Socket(_), Some(why)) = (&kept.origin, &kept.why_not) {
            let said = format!("the saved order {} {} does not count: {why}", kept.prefix, kept.order);
            read.complaints.push(said);
        }
    }
    Ok(read)
}

#[cfg(test)]
mod played;
#[cfg(test)]
mod tests;
