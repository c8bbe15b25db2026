//! Rights of the peers of the socket, from the credentials that the kernel states.

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use rustix::net::sockopt::socket_peercred;

/// Groups whose members may use the socket, besides root and the user of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Members may read.
    pub read: Option<u32>,
    /// Members may read and change.
    pub admin: Option<u32>,
    /// Members may ask for plans of transfers.
    pub plan: Option<u32>,
}

/// The system has no such group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} \"{name}\": this system has no such group; `groupadd --system {name}` makes it")]
pub struct NoGroup {
    key: &'static str,
    name: String,
}

impl Groups {
    /// The groups of these names.
    ///
    /// # Errors
    /// [`NoGroup`] for the first name that is none.
    pub fn by_name(read: Option<&str>, admin: Option<&str>, plan: Option<&str>) -> Result<Self, NoGroup> {
        let find = |key, name: Option<&str>| {
            name.map(|name| group(name).ok_or_else(|| NoGroup { key, name: name.to_owned() })).transpose()
        };
        Ok(Self {
            read: find("read_group", read)?,
            admin: find("admin_group", admin)?,
            plan: find("plan_group", plan)?,
        })
    }
}

/// Number of a group of the system's databases.
fn group(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    let mut text = vec![0; 1 << 16];
    let mut found = core::ptr::null_mut();
    // SAFETY: all zeroes are a value of this plain struct.
    let mut entry: libc::group = unsafe { core::mem::zeroed() };
    // SAFETY: the name ends in a zero; the other places are writable, `text` as long as stated.
    let result = unsafe {
        libc::getgrnam_r(name.as_ptr(), &raw mut entry, text.as_mut_ptr(), text.len(), &raw mut found)
    };
    (result == 0 && !found.is_null()).then_some(entry.gr_gid)
}

/// A right to use the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// To read status, estimates and metrics.
    Read,
    /// To ask for plans of transfers.
    Plan,
    /// To bring an observation. The signature of the observation is checked for every peer.
    Observe,
    /// To change plans and modes.
    Change,
}

impl Right {
    /// Keys of the groups that have it.
    pub(crate) fn keys(self) -> &'static str {
        match self {
            Self::Read => "read_group or admin_group",
            Self::Plan => "plan_group or admin_group",
            Self::Observe | Self::Change => "admin_group",
        }
    }
}

/// A process that is connected to the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its user.
    pub(crate) user: u32,
    /// Whether it is this process.
    pub(crate) own: bool,
    /// Its groups, with the supplementary ones.
    pub(crate) groups: Vec<u32>,
}

impl Peer {
    /// Reads the credentials of the process that connected; they are those of the moment of `connect`.
    pub(crate) fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = socket_peercred(stream)?;
        let mut groups = supplementary(stream)?;
        groups.push(credentials.gid.as_raw());
        let own = credentials.pid.as_raw_nonzero().get().cast_unsigned() == std::process::id();
        Ok(Self { user: credentials.uid.as_raw(), own, groups })
    }

    /// Whether this peer has a right: root, the user that started the gateway and the admin group have every one. The user that
    /// the gateway became has none, because other services may have the same; this process itself may read.
    pub(crate) fn may(&self, right: Right, starter: u32, groups: &Groups) -> bool {
        let member = |group: Option<u32>| group.is_some_and(|group| self.groups.contains(&group));
        let own = match right {
            Right::Read => groups.read,
            Right::Plan => groups.plan,
            Right::Observe => return true,
            Right::Change => None,
        };
        let own_question = self.own && right == Right::Read;
        self.user == 0 || self.user == starter || own_question || member(groups.admin) || member(own)
    }
}

/// Most supplementary groups of a process (`NGROUPS_MAX`).
const MOST_GROUPS: usize = 65_536;

/// Supplementary groups of the peer (`SO_PEERGROUPS`).
fn supplementary(stream: &UnixStream) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 64];
    loop {
        let mut bytes = size_of_val(groups.as_slice()) as libc::socklen_t;
        // SAFETY: the descriptor is open while `stream` lives; `groups` has `bytes` writable bytes.
        let result = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        let count = bytes as usize / size_of::<u32>();
        if result == 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        // The kernel then states the size that is needed.
        if error.raw_os_error() != Some(libc::ERANGE) || count <= groups.len() || count > MOST_GROUPS {
            return Err(error);
        }
        groups.resize(count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_the_user_that_started_it_and_the_admin_group_may_do_all_the_other_groups_one_thing_each() {
        let groups = Groups { read: Some(50), admin: Some(60), plan: Some(70) };
        let rights = |user, groups_of: &[u32], groups| {
            let peer = Peer { user, own: false, groups: groups_of.to_vec() };
            [Right::Read, Right::Plan, Right::Change].map(|right| peer.may(right, 990, &groups))
        };
        assert_eq!(rights(0, &[0], groups), [true; 3]);
        assert_eq!(rights(990, &[990], groups), [true; 3]);
        assert_eq!(rights(1000, &[1000, 60], groups), [true; 3]);
        assert_eq!(rights(1000, &[50, 1000], groups), [true, false, false]);
        assert_eq!(rights(1000, &[70], groups), [false, true, false]);
        assert_eq!(rights(1000, &[1000], groups), [false; 3]);
        assert_eq!(rights(1000, &[0], Groups::default()), [false; 3]);
    }

    #[test]
    fn a_group_is_found_by_its_name_and_a_missing_one_is_named() {
        assert_eq!(
            Groups::by_name(Some("root"), None, None),
            Ok(Groups { read: Some(0), ..Groups::default() })
        );
        let error = Groups::by_name(None, Some("no-such-group-here"), None).expect_err("no group");
        assert!(
            error
                .to_string()
                .starts_with("admin_group \"no-such-group-here\": this system has no such group")
        );
    }

    #[test]
    fn the_kernel_states_user_and_groups_of_the_peer() {
        let (here, _there) = UnixStream::pair().expect("a pair of sockets");
        let peer = Peer::of(&here).expect("credentials");
        // SAFETY: getuid and getgid have no conditions.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        assert_eq!((peer.user, peer.own), (user, true));
        assert!(peer.groups.contains(&group));
    }
}
