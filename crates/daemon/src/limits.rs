//! Limits on the peers of the socket: how many connections may be open, whose, and for how long.
//!
//! Places are of four kinds, so that no kind takes those of another. A peer that finds no place is refused at once. The
//! administrators' places are full only while the gateway is at work for all of them: else the oldest connection makes room that has
//! not asked yet, or does not read its answer.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// Largest body of a request, bytes, but for an import.
pub(crate) const BODY: usize = 4096;
/// Largest head of a request, bytes.
pub(crate) const HEAD: usize = 8192;
/// Most lines of a head.
pub(crate) const LINES: usize = 64;
/// Bytes of an import for each prefix that the configuration keeps; a prefix with all of its hosts has fewer.
const IMPORT_PREFIX: u64 = 512;
/// Bytes of an import besides.
const IMPORT_BASE: u64 = 1 << 20;
/// Time for the head of a request, from the connection on.
pub(crate) const HEAD_TIME: Duration = Duration::from_secs(5);
/// Time for the body of a request.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(5);
/// Time of a connection from its begin to the last byte of the answer.
pub(crate) const WHOLE_TIME: Duration = Duration::from_secs(10);
/// The same for an administrator, whose order may take longer, and for an export.
pub(crate) const LONG_TIME: Duration = Duration::from_secs(60);
/// Time for an answer to a request that could not be read, and for what its sender still sends.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);
/// Descriptors that the process may need: all places, and what the kernel's programs, the store and the logs have open.
const DESCRIPTORS: u64 = 1024;

/// Largest import, bytes, for a gateway that keeps this many prefixes.
pub(crate) fn import(prefixes: u32) -> usize {
    usize::try_from(IMPORT_BASE + IMPORT_PREFIX * u64::from(prefixes)).unwrap_or(usize::MAX)
}

/// Peer to which a place counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A process that may give orders.
    Administrator,
    /// A process of this user.
    User(u32),
    /// A host of the site.
    Host(IpAddr),
    /// Another host.
    Stranger(IpAddr),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Administrator => f.write_str("administrators"),
            Self::User(user) => write!(f, "user {user}"),
            Self::Host(address) | Self::Stranger(address) => write!(f, "host {address}"),
        }
    }
}

impl Owner {
    /// Most connections of this peer, and of all peers of its kind.
    fn most(self) -> (usize, usize) {
        match self {
            Self::Administrator => (64, 64),
            Self::User(_) => (32, 256),
            Self::Host(_) => (32, 256),
            Self::Stranger(_) => (4, 32),
        }
    }
}

/// Why there is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    /// The peer has as many as it may have.
    #[error("{owner} has {most} connections; expected at most as many at a time")]
    Of { owner: Owner, most: usize },
    /// All peers of the kind together have as many as they may have.
    #[error("all {most} places for such connections are taken; expected a request when one is free")]
    Kind { most: usize },
}

#[derive(Debug)]
struct Open {
    owner: Owner,
    /// Whether the gateway is at work for it: the whole request was read, and the answer is not made.
    busy: bool,
    leave: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// By number, so that the oldest come first.
    open: BTreeMap<u64, Open>,
}

/// The places of one socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Arc<Mutex<Taken>>);

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place.
    ///
    /// # Errors
    /// [`Full`], at once.
    pub(crate) fn enter(&self, owner: Owner) -> Result<Place, Full> {
        let mut taken = self.taken();
        let (of, kind) = owner.most();
        let same = |open: &Open| core::mem::discriminant(&open.owner) == core::mem::discriminant(&owner);
        if owner == Owner::Administrator {
            let alike = taken.open.iter().filter(|(_, open)| same(open));
            let (count, idle) = (alike.clone().count(), alike.clone().find(|(_, open)| !open.busy));
            match idle.map(|(number, _)| *number) {
                Some(oldest) if count >= kind => {
                    taken.open.remove(&oldest).inspect(|open| open.leave.notify_one());
                }
                _ if count >= kind => return Err(Full::Kind { most: kind }),
                _ => {}
            }
        } else {
            if taken.open.values().filter(|open| open.owner == owner).count() >= of {
                return Err(Full::Of { owner, most: of });
            }
            if taken.open.values().filter(|open| same(open)).count() >= kind {
                return Err(Full::Kind { most: kind });
            }
        }
        let (number, leave) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        taken.open.insert(number, Open { owner, busy: false, leave: Arc::clone(&leave) });
        Ok(Place { places: self.clone(), number, leave })
    }

    /// Number of connections.
    pub(crate) fn taken_now(&self) -> usize {
        self.taken().open.len()
    }
}

/// A place, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    number: u64,
    leave: Arc<Notify>,
}

impl Place {
    /// Whether the gateway is at work for this connection, which then makes no room for others.
    pub(crate) fn busy(&self, busy: bool) {
        if let Some(open) = self.places.taken().open.get_mut(&self.number) {
            open.busy = busy;
        }
    }

    /// Completes when the connection has to make room.
    pub(crate) async fn left(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken().open.remove(&self.number);
    }
}

/// Sees to it that the process may open as many descriptors as all places need.
///
/// # Errors
/// One line, if the system does not let it.
pub(crate) fn descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if limit.rlim_cur >= DESCRIPTORS {
        return Ok(());
    }
    if limit.rlim_max < DESCRIPTORS {
        let most = limit.rlim_max;
        let why =
            format!("the process may open {most} files; expected {DESCRIPTORS} (LimitNOFILE, `ulimit -n`)");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    limit.rlim_cur = DESCRIPTORS;
    // SAFETY: the place is readable.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_its_places_and_all_users_together_have_theirs() {
        let places = Places::default();
        let own: Vec<_> = (0..32).map(|_| places.enter(Owner::User(1)).expect("a place")).collect();
        let why = places.enter(Owner::User(1)).expect_err("refused").to_string();
        assert_eq!(why, "user 1 has 32 connections; expected at most as many at a time");
        let others: Vec<_> = (2..9)
            .flat_map(|user| (0..32).map(move |_| user))
            .map(|user| places.enter(Owner::User(user)))
            .collect();
        assert!(others.iter().all(Result::is_ok));
        assert_eq!(places.enter(Owner::User(9)).expect_err("refused"), Full::Kind { most: 256 });
        // The other kinds have places of their own.
        let address = IpAddr::from([192, 0, 2, 1]);
        for owner in [Owner::Administrator, Owner::Host(address), Owner::Stranger(address)] {
            places.enter(owner).expect("a place");
        }
        drop(own);
        places.enter(Owner::User(9)).expect("a place is free again");
    }

    #[test]
    fn an_idle_connection_of_an_administrator_makes_room_and_one_that_is_served_does_not() {
        let places = Places::default();
        let open: Vec<_> = (0..64).map(|_| places.enter(Owner::Administrator).expect("a place")).collect();
        open[0].busy(true);
        let more = places.enter(Owner::Administrator).expect("a place");
        let taken: Vec<u64> = places.taken().open.keys().copied().collect();
        // The second one was the oldest that had not asked.
        assert_eq!((taken.len(), taken[0], taken[1]), (64, 0, 2));
        open.iter().chain([&more]).for_each(|place| place.busy(true));
        assert_eq!(places.enter(Owner::Administrator).expect_err("refused"), Full::Kind { most: 64 });
        assert_eq!(places.taken_now(), 64);
    }

    #[test]
    fn an_import_may_have_512_bytes_for_each_prefix_that_is_kept() {
        assert_eq!(import(1_000_000), 512_000_000 + 1_048_576);
    }
}
