//! Mechanisms of this machine that the gateway can use.

use core::fmt;
use std::fs;
use std::path::Path;

use libbpf_rs::btf::types::{Func, Struct};
use libbpf_rs::{Btf, ProgramType};

use crate::load::root;

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
            let cgroup = root().is_none().then(|| {
                "no cgroup2 hierarchy is mounted; `mount -t cgroup2 none /sys/fs/cgroup/unified` mounts one"
                    .into()
            });
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
        }
    }
}

impl fmt::Display for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sock_ops, adoption, struct_ops, routes } = self;
        for (name, tier) in
            [("sock_ops", sock_ops), ("adoption", adoption), ("struct_ops", struct_ops), ("routes", routes)]
        {
            match tier {
                Tier::Present => writeln!(f, "{name}: present")?,
                Tier::Missing(why) => writeln!(f, "{name}: missing: {why}")?,
            }
        }
        Ok(())
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
    fn missing_capabilities_are_named() {
        // CAP_NET_ADMIN alone.
        let status = "Name:\tx\nCapEff:\t0000000000001000\n";
        assert_eq!(missing_of(status, &[BPF, PERFMON, NET_ADMIN]), ["CAP_BPF", "CAP_PERFMON"]);
        assert!(missing_of("CapEff:\t000001ffffffffff\n", &[BPF, PERFMON, NET_ADMIN]).is_empty());
    }
}
