//! Network namespaces beside that of this process, such as those of containers: their connections are listed by an iterator that only a
//! thread within the namespace can open.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::thread;

use libbpf_rs::libbpf_sys;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::map::checked;
use crate::refusal::Refusal;

/// Most namespaces whose connections are adopted. Linux takes at most 253 descriptors in one message of a handover.
pub(crate) const MOST: usize = 250;

/// Network namespaces beside that of this process.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    /// An iterator over the connections of each namespace that was entered.
    pub(crate) lists: Vec<OwnedFd>,
    pub(crate) count: Count,
}

/// Namespaces beside the gateway's own whose connections are adopted, and those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Namespaces whose connections are adopted.
    pub entered: u32,
    /// Namespaces whose connections are not adopted, or processes whose namespace could not be looked at.
    pub missed: u32,
    /// Reason of the newest miss.
    pub why: Option<String>,
}

impl Count {
    fn miss(&mut self, why: impl ToString) {
        self.missed += 1;
        self.why = Some(why.to_string());
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} beside the gateway's own", self.entered)?;
        match &self.why {
            Some(why) => write!(f, "; {} missed: {why}", self.missed),
            None => Ok(()),
        }
    }
}

impl Elsewhere {
    /// Opens an iterator of the link `adoption` in each network namespace in which a process of `/proc` is.
    pub(crate) fn open(adoption: BorrowedFd<'_>) -> Self {
        let mut elsewhere = Self::default();
        for namespace in namespaces(&mut elsewhere.count) {
            if elsewhere.lists.len() == MOST {
                elsewhere.count.miss(format_args!("at most {MOST} namespaces are adopted"));
                continue;
            }
            match list_in(&namespace, adoption) {
                Ok(list) => {
                    elsewhere.lists.push(list);
                    elsewhere.count.entered += 1;
                }
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                    elsewhere.count.miss("to enter a network namespace needs CAP_SYS_ADMIN");
                }
                Err(error) => elsewhere.count.miss(format_args!("to enter a network namespace: {error}")),
            }
        }
        elsewhere
    }
}

/// The network namespaces of other processes, each once, but for that of this thread.
fn namespaces(count: &mut Count) -> Vec<File> {
    let own = fs::metadata("/proc/thread-self/ns/net").map(|own| (own.dev(), own.ino())).ok();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let mut found = BTreeMap::new();
    let mut hidden = 0;
    for process in processes {
        let opened = File::open(process.path().join("ns/net"));
        match opened.and_then(|file| file.metadata().map(|data| ((data.dev(), data.ino()), file))) {
            Ok((name, file)) if Some(name) != own => {
                found.entry(name).or_insert(file);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => hidden += 1,
            // The process has ended, or is of this namespace.
            _ => {}
        }
    }
    if hidden > 0 {
        count.missed += hidden;
        count.why =
            Some(format!("those of {hidden} processes could not be looked at, which needs CAP_SYS_PTRACE"));
    }
    found.into_values().collect()
}

/// An iterator over the connections of a namespace: the kernel takes that of the thread that opens it.
fn list_in(namespace: &File, adoption: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            list(adoption)
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// An iterator over the connections of this thread's namespace.
fn list(adoption: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    let list = unsafe { libbpf_sys::bpf_iter_create(adoption.as_raw_fd()) };
    checked(list)?;
    // SAFETY: a descriptor that this call has opened.
    Ok(unsafe { OwnedFd::from_raw_fd(list) })
}

/// The same for the adoption, with the refusal of the kernel.
pub(crate) fn own_list(adoption: BorrowedFd<'_>) -> Result<OwnedFd, Refusal> {
    list(adoption).map_err(|error| Refusal::failed("the list of connections", error))
}
