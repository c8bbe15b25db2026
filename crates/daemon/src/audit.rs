//! The audit log: a line of JSON for each order, also for those that are refused.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use firstflight_gateway::By;
use rustix::net::sockopt::socket_peercred;
use serde_json::json;

use crate::journal::Journal;

/// Name of the log in the state folder.
pub(crate) const FILE: &str = "audit.jsonl";
/// Size at which it starts anew, bytes, and the full files that are kept.
const BYTES: u64 = 4 << 20;
const KEPT: u32 = 9;
/// Refusals of one user's orders in a minute, because the user has no right to them.
const SAID: u32 = 10;
/// Users of whom such refusals are counted in a minute.
const USERS: usize = 1024;

tokio::task_local! {
    /// The process whose request this task answers.
    pub(crate) static CALLER: By;
}

/// The process at the other end of a socket, as far as it is known.
pub(crate) fn caller(stream: &UnixStream) -> By {
    let Ok(peer) = socket_peercred(stream) else { return By::default() };
    let pid = u32::try_from(peer.pid.as_raw_nonzero().get()).ok();
    let comm = pid.and_then(|pid| fs::read(format!("/proc/{pid}/comm")).ok());
    let comm = comm.and_then(|comm| By::name(comm.trim_ascii_end()));
    By { uid: Some(peer.uid.as_raw()), pid, comm, ..By::default() }
}

/// An order and its result.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    /// Way by which it came.
    pub(crate) via: &'static str,
    /// The process that gave it, and the time.
    pub(crate) by: &'a By,
    /// The order.
    pub(crate) what: String,
    /// The orders that it concerns, before and after.
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
    /// Reason of a refusal.
    pub(crate) refused: Option<&'a str>,
    /// Whether an order is durable that changed something, or the reason why it is not.
    pub(crate) durable: Option<Result<(), String>>,
}

/// The log. A thread of its own waits for the disk.
#[derive(Debug)]
pub(crate) struct Audit {
    journal: Journal,
    /// Files that are to be durable.
    files: SyncSender<File>,
    /// Failures of the disk.
    failures: Receiver<io::Error>,
}

impl Audit {
    /// Opens the log in a folder.
    ///
    /// # Errors
    /// The file cannot be opened, or the system has no further thread.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let journal = Journal::open(&folder.join(FILE), BYTES, KEPT)?;
        let (files, inbox) = mpsc::sync_channel::<File>(1);
        let (outbox, failures) = mpsc::channel();
        // It ends with its channel. Nobody waits for it: the disk may never answer.
        thread::Builder::new().name("audit".to_owned()).spawn(move || {
            for file in inbox {
                if let Err(error) = file.sync_data() {
                    let _ = outbox.send(error);
                }
            }
        })?;
        Ok(Self { journal, files, failures })
    }

    /// Appends an order. The system has it afterwards, and the disk soon.
    ///
    /// # Errors
    /// The file cannot be written, or lines before this one could not be made durable.
    pub(crate) fn note(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let Entry { via, by, what, before, after, refused, durable } = entry;
        let line = json!({
            "at": by.time(),
            "via": via,
            "uid": by.uid,
            "pid": by.pid,
            "comm": by.comm,
            "what": what,
            "before": before,
            "after": after,
            "result": if refused.is_some() { "refused" } else { "done" },
            "why": refused,
            "durable": durable.as_ref().map(Result::is_ok),
            "why_not_durable": durable.as_ref().and_then(|durable| durable.as_ref().err()),
        });
        // A file that was taken away is found before the line, so that the line is in the file of this name.
        self.journal.flush()?;
        self.journal.line(&line.to_string())?;
        // A file that waits already has this line, too, when its turn comes.
        let _ = self.files.try_send(self.journal.flushed()?);
        self.failures.try_recv().map_or(Ok(()), Err)
    }
}

/// Bound of the refusals for want of a right, so that no user can fill the log with them.
#[derive(Debug, Default)]
pub(crate) struct Denials(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    number: u64,
    by_user: BTreeMap<Option<u32>, u32>,
}

impl Denials {
    /// Whether one more refusal of this user is logged, at this time since 1970, nanoseconds.
    pub(crate) fn takes(&self, user: Option<u32>, wall: u64) -> bool {
        let mut minute = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let number = wall / 60_000_000_000;
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        if minute.by_user.len() >= USERS && !minute.by_user.contains_key(&user) {
            return false;
        }
        let count = minute.by_user.entry(user).or_default();
        *count += 1;
        *count <= SAID
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_rights_fills_no_log() {
        let denials = Denials::default();
        let minute = 60_000_000_000;
        let taken = |user, wall| (0..1000).filter(|_| denials.takes(user, wall)).count();
        assert_eq!((taken(Some(1000), minute), taken(Some(1000), minute + 1)), (10, 0));
        assert_eq!((taken(Some(1001), minute), taken(None, minute)), (10, 10));
        assert_eq!(taken(Some(1000), 2 * minute), 10);
        let users = (0..5000).filter(|user| denials.takes(Some(2000 + user), 2 * minute)).count();
        assert_eq!(users, USERS - 1);
    }
}
