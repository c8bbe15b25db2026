//! Mechanisms of this machine that the gateway can use.

use core::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::btf::types::{Func, Struct};
use libbpf_rs::{Btf, ProgramType};

use crate::load::root;
use crate::refusal::Refusal;

/// Bits of the set of capabilities in `/proc/self/status`.
const NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const PERFMON: (u32, &str) = (38, "CAP_PERFMON");
const BPF: (u32, &str) = (39, "CAP_BPF");

/// Whether a mechanism is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tier {
    /// It is.
    Present,
    /// It is not: the missing piece, and the remedy.
    Missing(String),
}

impl Tier {
    /// Whether it is there.
    pub fn is_present(&self) -> bool {
        *self == Self::Present
    }

    fn of(missing: Option<String>) -> Self {
        missing.map_or(Self::Present, Self::Missing)
    }
}

/// The hierarchies of cgroups that are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cgroups {
    /// Version 2 alone, here.
    Unified(PathBuf),
    /// Version 2 here, and hierarchies of version 1 beside it.
    Hybrid(PathBuf),
    /// Version 1 alone.
    Old,
    /// None.
    None,
}

impl Cgroups {
    /// Those of the text of `/proc/self/mounts`.
    fn of(mounts: &str) -> Self {
        let places = |kind: &str| {
            let lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
            lines.filter(|line| line.get(2) == Some(&kind)).map(|line| PathBuf::from(line[1])).next()
        };
        match (places("cgroup2"), places("cgroup")) {
            (Some(place), None) => Self::Unified(place),
            (Some(place), Some(_)) => Self::Hybrid(place),
            (None, Some(_)) => Self::Old,
            (None, None) => Self::None,
        }
    }
}

impl fmt::Display for Cgroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unified(place) => write!(f, "version 2 at {}", place.display()),
            Self::Hybrid(place) => write!(f, "version 2 at {}, beside version 1", place.display()),
            Self::Old => f.write_str("version 1 alone"),
            Self::None => f.write_str("none"),
        }
    }
}

/// The mechanisms of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// Starts by plans, and reports: [`Hooks::load`](crate::Hooks::load).
    pub sock_ops: Tier,
    /// Reports of connections that are older: [`Hooks::adopt`](crate::Hooks::adopt).
    pub adoption: Tier,
    /// Congestion controls in eBPF.
    pub struct_ops: Tier,
    /// First windows of routes.
    pub routes: Tier,
    /// Hierarchies of cgroups; the programs for sockets need version 2.
    pub cgroups: Cgroups,
}

impl Tiers {
    /// Asks the kernel. Nothing is loaded.
    pub fn detect() -> Self {
        let capable = |needed: &[(u32, &str)]| {
            let missing = missing_of(&fs::read_to_string("/proc/self/status").unwrap_or_default(), needed);
            (!missing.is_empty())
                .then(|| format!("this process lacks {}; run as root or grant them", missing.join(", ")))
        };
        let types = Btf::from_vmlinux();
        let no_types = || "type information (CONFIG_DEBUG_INFO_BTF); use a kernel that has it".to_owned();
        let bpf = || {
            let no_types = (!Path::new("/sys/kernel/btf/vmlinux").exists()).then(no_types);
            no_types.or_else(|| capable(&[BPF, PERFMON, NET_ADMIN]))
        };
        let found = |found: bool, what: &str| {
            (!found).then(|| format!("this kernel has no {what}; Linux 6.12 or later has it"))
        };
        let sock_ops = || {
            let supported = ProgramType::SockOps.is_supported().unwrap_or(false);
            let cgroup = root().is_none().then(|| Refusal::NoCgroup.to_string());
            found(supported, "programs for sockets (sock_ops, CONFIG_CGROUP_BPF)").or(cgroup)
        };
        let function =
            |name: &str| types.as_ref().is_ok_and(|types| types.type_by_name::<Func<'_>>(name).is_some());
        let structure =
            |name: &str| types.as_ref().is_ok_and(|types| types.type_by_name::<Struct<'_>>(name).is_some());
        let iterator = || found(function("bpf_iter_tcp"), "iterator over connections (iter/tcp)");
        let operations = || {
            found(structure("bpf_struct_ops_tcp_congestion_ops"), "congestion control in eBPF (struct_ops)")
        };
        let program = || {
            let there = ["/sbin/ip", "/usr/sbin/ip", "/bin/ip", "/usr/bin/ip"];
            let missing = !there.iter().any(|path| Path::new(path).exists());
            missing.then(|| "the program `ip` is missing; install iproute2".to_owned())
        };
        Self {
            sock_ops: Tier::of(bpf().or_else(sock_ops)),
            adoption: Tier::of(bpf().or_else(sock_ops).or_else(iterator)),
            struct_ops: Tier::of(bpf().or_else(operations)),
            routes: Tier::of(capable(&[NET_ADMIN]).or_else(program)),
            cgroups: Cgroups::of(&fs::read_to_string("/proc/self/mounts").unwrap_or_default()),
        }
    }
}

impl fmt::Display for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sock_ops, adoption, struct_ops, routes, cgroups } = self;
        for (name, tier) in
            [("sock_ops", sock_ops), ("adoption", adoption), ("struct_ops", struct_ops), ("routes", routes)]
        {
            match tier {
                Tier::Present => writeln!(f, "{name}: present")?,
                Tier::Missing(why) => writeln!(f, "{name}: missing: {why}")?,
            }
        }
        writeln!(f, "cgroups: {cgroups}")
    }
}

/// Those of the capabilities that a process does not have, by the text of its `status`.
fn missing_of<'a>(status: &str, needed: &[(u32, &'a str)]) -> Vec<&'a str> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    needed.iter().filter(|(bit, _)| set >> bit & 1 == 0).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_of_cgroups_are_distinguished() {
        let old = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n";
        let new = "none /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let other = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n";
        for (mounts, said) in [
            (format!("{other}{old}{new}"), "version 2 at /sys/fs/cgroup/unified, beside version 1"),
            (format!("{other}{new}"), "version 2 at /sys/fs/cgroup/unified"),
            (format!("{other}{old}"), "version 1 alone"),
            (other.to_owned(), "none"),
        ] {
            assert_eq!(Cgroups::of(&mounts).to_string(), said);
        }
    }

    #[test]
    fn missing_capabilities_are_named() {
        // CAP_NET_ADMIN alone.
        let status = "Name:\tx\nCapEff:\t0000000000001000\n";
        assert_eq!(missing_of(status, &[BPF, PERFMON, NET_ADMIN]), ["CAP_BPF", "CAP_PERFMON"]);
        assert!(missing_of("CapEff:\t000001ffffffffff\n", &[BPF, PERFMON, NET_ADMIN]).is_empty());
    }
}
