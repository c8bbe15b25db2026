//! The rights of the daemon: a user of its own, and no capability but those that its mechanism needs.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities, set_keep_capabilities, set_no_new_privs,
};

/// User that the daemon becomes where root starts it and the configuration names none.
const OWN: &str = "firstflight";
/// User in its place where the system has no such user, and its number where the system has no users at all.
const NOBODY: (&str, u32) = ("nobody", 65_534);

/// A user without root's rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    name: String,
    pub(crate) id: u32,
    pub(crate) group: u32,
    /// Whether it was taken because there is no better one.
    makeshift: bool,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Why there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoUser {
    /// The system has none of this name.
    #[error("user \"{0}\": this system has no such user; `useradd --system {0}` makes it")]
    Unknown(String),
    /// It has root's rights.
    #[error("user \"{0}\": it is root; expected a user without root's rights")]
    Root(String),
}

impl User {
    /// The user that the daemon is to become: [`None`] unless root runs this process. `name` is that of the configuration, a name or
    /// a number; without one it is `firstflight`, or else `nobody`.
    ///
    /// # Errors
    /// [`NoUser`].
    pub fn to_become(name: Option<&str>) -> Result<Option<Self>, NoUser> {
        // SAFETY: geteuid has no conditions.
        let found = match name {
            Some(name) => Self::of(name).ok_or_else(|| NoUser::Unknown(name.to_owned()))?,
            None => Self::of(OWN).unwrap_or_else(|| {
                let (name, id) = NOBODY;
                let numbered = Self { name: id.to_string(), id, group: id, makeshift: true };
                Self::of(name).map_or(numbered, |found| Self { makeshift: true, ..found })
            }),
        };
        if found.id == 0 || found.group == 0 {
            return Err(NoUser::Root(found.name));
        }
        // SAFETY: geteuid has no conditions.
        let root = unsafe { libc::geteuid() } == 0;
        Ok(root.then_some(found))
    }

    /// Advice to the operator, if this user is a makeshift.
    pub fn advice(&self) -> Option<String> {
        self.makeshift.then(|| {
            format!(
                "the gateway runs as {self}, which other services may share, because this system has no user {OWN}: \
                 `useradd --system {OWN}` makes it, or name one with the key user"
            )
        })
    }

    /// Whether the system has a name for this number.
    pub(crate) fn has_name(id: u32) -> bool {
        Self::found(|entry, text, found| {
            // SAFETY: as in `found`.
            unsafe { libc::getpwuid_r(id, entry, text.as_mut_ptr(), text.len(), found) }
        })
        .is_some()
    }

    fn of(name: &str) -> Option<Self> {
        if let Ok(id) = name.parse() {
            return Some(Self { name: name.to_owned(), id, group: id, makeshift: false });
        }
        let text = CString::new(name).ok()?;
        Self::found(|entry, room, found| {
            // SAFETY: the name ends in a zero; the rest is as in `found`.
            unsafe { libc::getpwnam_r(text.as_ptr(), entry, room.as_mut_ptr(), room.len(), found) }
        })
    }

    /// The user that a look into the system's database finds.
    fn found(
        look: impl FnOnce(&mut libc::passwd, &mut [libc::c_char], &mut *mut libc::passwd) -> libc::c_int,
    ) -> Option<Self> {
        let mut room = vec![0; 1 << 16];
        let mut found = core::ptr::null_mut();
        // SAFETY: all zeroes are a value of this plain struct.
        let mut entry: libc::passwd = unsafe { core::mem::zeroed() };
        if look(&mut entry, &mut room, &mut found) != 0 || found.is_null() {
            return None;
        }
        // SAFETY: the database gives a name that ends in a zero, within `room`.
        let name = unsafe { CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned();
        Some(Self { name, id: entry.pw_uid, group: entry.pw_gid, makeshift: false })
    }
}

/// Capabilities that a mechanism needs for as long as it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None: the kernel's programs are used by their descriptors, packets by a socket that is open.
    Nothing,
    /// To change routes, also in the program `ip`.
    Routes,
}

/// Becomes `user`, if there is one, without any of root's groups, and gives up every capability but those to keep, and the way to
/// get one by running a program. Call it before the first thread is started, and with threads only as root.
///
/// # Errors
/// If the kernel refuses, or something of root is left.
pub fn leave(user: Option<&User>, keep: Keep) -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let wanted = match keep {
        Keep::Nothing => CapabilitySet::empty(),
        Keep::Routes => CapabilitySet::NET_ADMIN & capabilities(None)?.permitted,
    };
    if let Some(User { id, group, .. }) = user {
        set_keep_capabilities(true)?;
        // The three act on all threads of the process.
        // SAFETY: no group is read; the others take no pointer.
        let done = unsafe {
            libc::setgroups(0, core::ptr::null()) == 0
                && libc::setresgid(*group, *group, *group) == 0
                && libc::setresuid(*id, *id, *id) == 0
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
        set_keep_capabilities(false)?;
    }
    // Files that the daemon makes are for itself.
    // SAFETY: the call has no conditions.
    unsafe { libc::umask(0o077) };
    set_capabilities(None, CapabilitySets { effective: wanted, permitted: wanted, inheritable: wanted })?;
    if !wanted.is_empty() {
        configure_capability_in_ambient_set(CapabilitySet::NET_ADMIN, true)?;
    }
    // SAFETY: the call has no conditions.
    if user.is_some() && unsafe { libc::setresuid(0, 0, 0) } == 0 {
        return Err(io::Error::other("the user can become root again"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_the_capabilities_of_the_thread() {
        let left = std::thread::spawn(|| {
            leave(None, Keep::Nothing).expect("given up");
            std::fs::read_to_string("/proc/thread-self/status").expect("the status of the thread")
        });
        let left = left.join().expect("no panic");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            let line = left.lines().find_map(|line| line.strip_prefix(set)).expect("a set");
            assert_eq!(line.trim().trim_start_matches('0'), "", "{set}");
        }
        assert!(left.contains("NoNewPrivs:\t1"));
    }

    #[test]
    fn a_user_is_found_by_name_or_number_and_root_and_a_missing_one_are_refused_by_name() {
        let refused = |name| User::to_become(Some(name)).expect_err("refused").to_string();
        assert_eq!(refused("root"), "user \"root\": it is root; expected a user without root's rights");
        assert_eq!(refused("0"), "user \"0\": it is root; expected a user without root's rights");
        let missing = "user \"no-such-user-here\": this system has no such user; `useradd --system no-such-user-here` makes it";
        assert_eq!(refused("no-such-user-here"), missing);
        assert_eq!(User::of("4711").map(|user| (user.id, user.group)), Some((4711, 4711)));
        assert!(User::has_name(0) && !User::has_name(4_294_000_000));
    }
}
