//! The audit log: a line of JSON for each order, also for those that are refused.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;

use firstflight_gateway::By;
use rustix::net::sockopt::socket_peercred;
use serde_json::json;

use crate::journal::Journal;

/// Name of the log in the state folder.
pub(crate) const FILE: &str = "audit.jsonl";
/// Size at which it starts anew, bytes, and the full files that are kept.
const BYTES: u64 = 4 << 20;
const KEPT: u32 = 9;
/// Refusals for want of a right that one user's orders get in a minute.
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
    /// What it concerns: before and after.
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
    /// Reason of a refusal.
    pub(crate) refused: Option<&'a str>,
}

/// The log.
#[derive(Debug)]
pub(crate) struct Audit(Journal);

impl Audit {
    /// Opens the log in a folder.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Journal::open(&folder.join(FILE), BYTES, KEPT).map(Self)
    }

    /// Appends an order; it is on the disk afterwards.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn note(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        let Entry { via, by, what, before, after, refused } = entry;
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
        });
        // A file that was taken away is found before the line, so that the line is in the file of this name.
        self.0.flush()?;
        self.0.line(&line.to_string())?;
        self.0.sync()
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
