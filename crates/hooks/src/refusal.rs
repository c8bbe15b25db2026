//! Reasons for which the kernel does not take the hooks or a plan.

use std::io;
use std::path::PathBuf;

/// Reason, place and remedy of a refusal.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// This machine is not Linux, or not little-endian.
    #[error("the hooks run on little-endian Linux, and this machine is another")]
    Machine,
    /// The kernel lacks something.
    #[error("this kernel has no {0}; Linux 6.12 or later has it")]
    Kernel(&'static str),
    /// The process may not load eBPF.
    #[error(
        "this process may not load eBPF programs; run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"
    )]
    Privileges,
    /// The folder is no cgroup.
    #[error("{}: {error}; expected a folder of the cgroup2 hierarchy", .folder.display())]
    Cgroup {
        /// The folder.
        folder: PathBuf,
        /// The error.
        error: String,
    },
    /// No cgroup2 hierarchy is mounted.
    #[error("no cgroup2 hierarchy is mounted; `mount -t cgroup2 none /sys/fs/cgroup/unified` mounts one")]
    NoCgroup,
    /// Another program holds the cgroup for itself.
    #[error(
        "{}: {program} was attached without BPF_F_ALLOW_MULTI and lets no other sock_ops program in; \
         detach it, or have it attached with that flag", .cgroup.display()
    )]
    Foreign {
        /// The cgroup that it is attached to.
        cgroup: PathBuf,
        /// Its name and number.
        program: String,
    },
    /// A setting is out of range.
    #[error("{key} = {value}: expected {expected}")]
    Setting {
        /// Name of the setting.
        key: &'static str,
        /// Its value.
        value: u64,
        /// The range.
        expected: &'static str,
    },
    /// The prefix of a plan has another length than the hooks look up.
    #[error(
        "{prefix}: plans are for prefixes of {bits} bits, as the hooks were loaded; the nearest is {nearest}"
    )]
    Length {
        /// The prefix.
        prefix: String,
        /// Expected lengths.
        bits: String,
        /// Prefix of that length.
        nearest: String,
    },
    /// The hooks were loaded without thresholds.
    #[error(
        "the hooks were loaded without slow-start thresholds; set plan.ssthresh = true, or plan without one"
    )]
    Ssthresh,
    /// The hooks were loaded without plans for transfers.
    #[error("the hooks were loaded without plans for transfers; set transfers.apply = true")]
    NoTransfers,
    /// A table of the kernel is full.
    #[error("the kernel's table of {what} is full: {most} entries; remove some, or load with more")]
    Full {
        /// Content of the table.
        what: &'static str,
        /// Number of its entries.
        most: u32,
    },
    /// The peer of a handover sent something else.
    #[error("the hooks were not handed over: {0}")]
    Handover(String),
    /// The kernel's verifier refused a program.
    #[error("this kernel's verifier refuses the hooks: {reason}")]
    Verifier {
        /// Its reason.
        reason: String,
        /// All that it wrote.
        log: String,
    },
    /// A call failed.
    #[error("{what}: {error}")]
    Failed {
        /// The call.
        what: &'static str,
        /// Its error.
        error: String,
    },
}

impl Refusal {
    pub(crate) fn failed(what: &'static str, error: impl ToString) -> Self {
        Self::Failed { what, error: error.to_string() }
    }

    /// The same for the call that just failed.
    pub(crate) fn last(what: &'static str) -> Self {
        Self::failed(what, io::Error::last_os_error())
    }
}
