//! Abilities of this machine for runs in real time, and remedies for those that are missing.

use std::borrow::Cow;
use std::fs;
use std::thread;

use firstflight_scenario::parse;
use serde::Serialize;

use crate::congestion_control::STOCK;
use crate::emulator::lateness::invalid;
use crate::host::{ATTEMPTS, Probe, probe};
use crate::need::Need;
use crate::netns::Netns;
use crate::realtime::be_on_time;
use crate::socket;
use crate::tun::Tun;

/// One finding about this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Subject: `devices`.
    pub what: Cow<'static, str>,
    /// Whether it is there.
    pub ok: bool,
    /// Whether `lab run` needs it.
    pub needed: bool,
    /// The finding in words, or the error.
    pub found: String,
    /// Remedy if it is not there.
    pub remedy: Option<&'static str>,
}

/// Capabilities of linux/capability.h with their numbers, and whether runs need them.
const CAPABILITIES: [(&str, u32, bool); 6] = [
    ("CAP_NET_ADMIN", 12, true),
    ("CAP_IPC_LOCK", 14, true),
    ("CAP_SYS_ADMIN", 21, true),
    ("CAP_SYS_NICE", 23, true),
    ("CAP_PERFMON", 38, false),
    ("CAP_BPF", 39, false),
];

/// The run that measures accuracy.
const PROBE: &str = r#"
    duration = "2 s"
    [path]
    rate = "50 Mbit/s"
    rtt = "40 ms"
    buffer = "1 BDP"
    [[flow]]
    profile = "linux"
    avoidance = "reno"
"#;
/// Shortest round trip of that run without any lateness, milliseconds: 40 of propagation; 1500 bytes at 50 Mbit/s once and at
/// 500 Mbit/s twice, 0.288; an ACK of 52 bytes, 0.010.
const PROBE_RTT_MS: f64 = 40.298;

/// Examines the machine, and measures the accuracy of a short run where runs can work; takes about three seconds.
pub fn check() -> Vec<Finding> {
    let mut findings = abilities();
    if can_run(&findings) {
        findings.push(accuracy());
    }
    findings
}

/// Examines the machine without a run.
pub fn abilities() -> Vec<Finding> {
    let mut findings = vec![privileges(true), privileges(false)];
    findings.push(finding(
        "namespaces",
        true,
        Netns::new().map(|_| "network namespaces can be made".into()),
        "run as root",
    ));
    findings.push(finding("devices", true, devices(), "run as root; load the module tun; install iproute2"));
    findings.push(finding(
        "real time",
        true,
        real_time(),
        "run as root, or raise RLIMIT_RTPRIO and RLIMIT_MEMLOCK",
    ));
    findings.extend(STOCK.iter().map(|control| {
        let offered = Netns::new().and_then(|netns| {
            netns.run(|| {
                socket::unconnected()
                    .and_then(|socket| socket::set_congestion_control(&socket, &control.name))
            })?
        });
        let found = offered.map(|()| format!("sockets take {}", control.name));
        finding(control.name.clone(), control.name != "bbr", found, "load the module tcp_<name>")
    }));
    findings.push(clock());
    findings.push(bpf());
    findings
}

/// Whether `lab run` can work with these findings.
pub fn can_run(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.ok || !finding.needed)
}

fn finding(
    what: impl Into<Cow<'static, str>>,
    needed: bool,
    found: Result<String, Need>,
    remedy: &'static str,
) -> Finding {
    let what = what.into();
    match found {
        Ok(found) => Finding { what, ok: true, needed, found, remedy: None },
        Err(need) => Finding { what, ok: false, needed, found: need.to_string(), remedy: Some(remedy) },
    }
}

fn privileges(needed: bool) -> Finding {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let of = CAPABILITIES.iter().filter(|(.., for_runs)| *for_runs == needed);
    let (have, lack): (Vec<_>, Vec<_>) = of.partition(|(_, bit, _)| effective >> bit & 1 == 1);
    let names =
        |all: &[&(&str, u32, bool)]| all.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    Finding {
        what: if needed { "privileges" } else { "privileges for eBPF" }.into(),
        ok: lack.is_empty(),
        needed,
        found: match lack.is_empty() {
            true => names(&have),
            false => format!("without {}", names(&lack)),
        },
        remedy: (!lack.is_empty()).then_some("run as root"),
    }
}

fn devices() -> Result<String, Need> {
    let netns = Netns::new()?;
    let _tun = Tun::open(&netns, [10, 85, 0, 1].into())?;
    Ok("TUN devices can be made and set up".into())
}

fn real_time() -> Result<String, Need> {
    // The priority ends with the thread.
    let granted =
        thread::spawn(|| be_on_time(20)).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    crate::realtime::release_memory();
    granted.map(|()| "SCHED_FIFO, locked memory and timers without slack".into())
}

fn clock() -> Finding {
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place outlives the call, which every Linux answers for this clock.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut resolution) };
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let ok = resolution.tv_sec == 0 && resolution.tv_nsec <= 1000;
    Finding {
        what: "clock".into(),
        ok,
        needed: true,
        found: format!(
            "timers of {} ns, clock source {}",
            resolution.tv_nsec,
            source.unwrap_or_default().trim()
        ),
        remedy: (!ok).then_some("boot with highres=on and a kernel with CONFIG_HIGH_RES_TIMERS"),
    }
}

/// Whether congestion controls can be loaded as programs.
fn bpf() -> Finding {
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let has = |name: &[u8]| types.windows(name.len()).any(|window| window == name);
    let (found, remedy) = match (types.is_empty(), has(b"bpf_struct_ops_tcp_congestion_ops")) {
        (true, _) => ("the kernel describes no types (BTF)", Some("use a kernel with CONFIG_DEBUG_INFO_BTF")),
        (_, false) => {
            ("no congestion controls as programs (struct_ops)", Some("use a kernel with CONFIG_BPF_JIT"))
        }
        (_, true) => ("BTF, and congestion controls as programs (struct_ops)", None),
    };
    Finding { what: "eBPF".into(), ok: remedy.is_none(), needed: false, found: found.into(), remedy }
}

/// Rate, delay and lateness of a short run: the first of three that kept its times, as for `lab run`.
fn accuracy() -> Finding {
    let scenario = parse(PROBE, "check").expect("the probe is a valid scenario").scenario;
    let attempt = || match probe(&scenario) {
        Ok(Probe { mbit_s, rtt_ms, validity }) => {
            let found = format!(
                "{mbit_s:.2} of 50 Mbit/s, shortest round trip {rtt_ms:.2} of {PROBE_RTT_MS:.2} ms, lateness {:.3} ms in \
                 the median, {:.3} ms at 99 %, {:.1} ms at most, {:.0} % of a core",
                validity.lateness_p50_ms,
                validity.lateness_p99_ms,
                validity.lateness_max_ms,
                validity.core_share * 100.0
            );
            match invalid(&validity) {
                None => Ok(found),
                Some(why) => Err(format!("{found}: {why}")),
            }
        }
        Err(failure) => Err(failure.to_string()),
    };
    let mut found = attempt();
    for _ in 1..ATTEMPTS {
        found = found.or_else(|_| attempt());
    }
    let ok = found.is_ok();
    let remedy = (!ok).then_some("stop other real-time work on this machine, and give it two cores");
    let found = found.unwrap_or_else(|why| why);
    Finding { what: "accuracy".into(), ok, needed: true, found, remedy }
}
