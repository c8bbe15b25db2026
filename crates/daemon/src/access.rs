//! Rights of the peers of the socket, from the credentials that the kernel states.

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;

use tokio::net::UnixStream;

/// Groups whose members may use the socket, besides root and the user of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Members may read.
    pub read: Option<u32>,
    /// Members may read and change.
    pub admin: Option<u32>,
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
    pub fn by_name(read: Option<&str>, admin: Option<&str>) -> Result<Self, NoGroup> {
        let find = |key, name: Option<&str>| {
            name.map(|name| group(name).ok_or_else(|| NoGroup { key, name: name.to_owned() })).transpose()
        };
        Ok(Self { read: find("read_group", read)?, admin: find("admin_group", admin)? })
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Right {
    /// None.
    Nothing,
    /// To read status, estimates and metrics.
    Read,
    /// To change plans and modes, too.
    Admin,
}

/// A process that is connected to the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its user.
    pub(crate) user: u32,
    /// Its groups, with the supplementary ones.
    pub(crate) groups: Vec<u32>,
}

impl Peer {
    /// Reads the credentials of the process that connected; they are those of the moment of `connect`.
    pub(crate) fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        let mut groups = supplementary(stream)?;
        groups.push(credentials.gid());
        Ok(Self { user: credentials.uid(), groups })
    }

    /// The right of this peer: everything for root and the daemon's user, else by group.
    pub(crate) fn right(&self, daemon: u32, groups: &Groups) -> Right {
        let member = |group: Option<u32>| group.is_some_and(|group| self.groups.contains(&group));
        match () {
            () if self.user == 0 || self.user == daemon || member(groups.admin) => Right::Admin,
            () if member(groups.read) => Right::Read,
            () => Right::Nothing,
        }
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
    fn root_the_daemons_user_and_the_admin_group_change_the_read_group_reads_others_nothing() {
        let groups = Groups { read: Some(50), admin: Some(60) };
        let right = |user, groups_of: &[u32]| Peer { user, groups: groups_of.to_vec() }.right(990, &groups);
        assert_eq!(right(0, &[0]), Right::Admin);
        assert_eq!(right(990, &[990]), Right::Admin);
        assert_eq!(right(1000, &[1000, 60]), Right::Admin);
        assert_eq!(right(1000, &[50, 1000]), Right::Read);
        assert_eq!(right(1000, &[1000]), Right::Nothing);
        let none = Groups::default();
        assert_eq!(Peer { user: 1000, groups: vec![0] }.right(990, &none), Right::Nothing);
    }

    #[test]
    fn a_group_is_found_by_its_name_and_a_missing_one_is_named() {
        assert_eq!(Groups::by_name(Some("root"), None), Ok(Groups { read: Some(0), admin: None }));
        let error = Groups::by_name(None, Some("no-such-group-here")).expect_err("no group");
        assert!(
            error
                .to_string()
                .starts_with("admin_group \"no-such-group-here\": this system has no such group")
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_kernel_states_user_and_groups_of_the_peer() {
        let (here, _there) = UnixStream::pair().expect("a pair of sockets");
        let peer = Peer::of(&here).expect("credentials");
        // SAFETY: getuid and getgid have no conditions.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        assert_eq!(peer.user, user);
        assert!(peer.groups.contains(&group));
    }
}
