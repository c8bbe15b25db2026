//! Why a scheme cannot run in this kernel.

use core::fmt;
use std::path::PathBuf;

/// Why a chain of schemes cannot be offered: what, where, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No scheme has this label in this place of a chain.
    Unknown {
        /// The label.
        label: String,
        /// The nearest label that exists.
        nearest: Option<&'static str>,
    },
    /// The schemes do not make a chain.
    Chain(String),
    /// The scheme needs a signal that this kernel does not give.
    Signals {
        /// The scheme.
        label: String,
        /// The signals.
        missing: Vec<&'static str>,
    },
    /// This machine is not Linux on a processor for which the object is compiled.
    Machine(&'static str),
    /// The kernel lacks something that the object needs.
    Kernel(&'static str),
    /// The process may not load eBPF.
    Privileges,
    /// Another process offers a congestion control of this name.
    Taken(String),
    /// This folder cannot select the schemes for its processes.
    Cgroup(PathBuf, String),
    /// The kernel refused the object.
    Verifier {
        /// Its reason.
        reason: String,
        /// All it said: the path that it followed through the program.
        log: String,
    },
    /// A call of libbpf failed.
    Failed {
        /// The call.
        what: &'static str,
        /// Its error.
        error: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { label, nearest } => {
                write!(f, "the kernel host has no scheme {label} in this place of a chain")?;
                nearest.map_or(Ok(()), |nearest| write!(f, "; the nearest is {nearest}"))
            }
            Self::Chain(why) => write!(f, "{why}; the kernel host runs START-UP+AVOIDANCE, or one standalone scheme"),
            Self::Signals { label, missing } => {
                write!(f, "{label} needs {}, which the Linux kernel does not offer; run it in the simulator", missing.join(", "))
            }
            Self::Machine(what) => write!(f, "the kernel host runs on {what}, and this machine is another"),
            Self::Kernel(what) => write!(f, "this kernel has no {what}; Linux 6.12 or later on x86-64 has it"),
            Self::Privileges => f.write_str(
                "this process may not load eBPF programs; run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
            ),
            Self::Taken(name) => write!(
                f,
                "a congestion control {name} exists already; stop the program that offers it (`bpftool struct_ops` lists them)"
            ),
            Self::Cgroup(folder, error) => write!(
                f,
                "{} is no cgroup whose sockets can be selected: {error}; expected a folder of the cgroup2 hierarchy",
                folder.display()
            ),
            Self::Verifier { reason, .. } => write!(f, "this kernel's verifier refuses the scheme: {reason}"),
            Self::Failed { what, error } => write!(f, "{what}: {error}"),
        }
    }
}

impl core::error::Error for Refusal {}
