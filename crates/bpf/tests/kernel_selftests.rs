//! The congestion controls of the kernel's own tests, `bpf_cubic.c` and `bpf_dctcp.c`, compiled from Debian's package
//! linux-source-6.1. Nothing of it is in this repository; `make packages-kernel-source` installs it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::{self, clang, compile, run};
use firstflight_bpf::KernelScheme;

const ARCHIVE: &str = "/usr/src/linux-source-6.1.tar.xz";
const TESTS: &str = "linux-source-6.1/tools/testing/selftests/bpf";
const SOURCES: [&str; 3] = ["bpf_tcp_helpers.h", "progs/bpf_cubic.c", "progs/bpf_dctcp.c"];

/// The folder of the kernel's tests, unpacked once; the reason if there is none.
fn sources() -> Result<PathBuf, String> {
    static UNPACKED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let unpack = || {
        clang()?;
        if !Path::new("/usr/include/bpf/bpf_helpers.h").exists() {
            return Err("the package libbpf-dev is missing".into());
        }
        if !Path::new(ARCHIVE).exists() {
            return Err(format!("{ARCHIVE} is missing"));
        }
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let found = folder.join(TESTS);
        if SOURCES.iter().all(|source| found.join(source).exists()) {
            return Ok(found);
        }
        let unpacked = Command::new("tar")
            .arg("-xJf")
            .arg(ARCHIVE)
            .arg("-C")
            .arg(&folder)
            .arg("--occurrence=1")
            .args(SOURCES.map(|source| format!("{TESTS}/{source}")))
            .output()
            .map_err(|error| format!("tar: {error}"))?;
        let errors = String::from_utf8_lossy(&unpacked.stderr).into_owned();
        if unpacked.status.success() { Ok(found) } else { Err(format!("tar: {errors}")) }
    };
    UNPACKED.get_or_init(unpack).clone()
}

/// The congestion controls of a file of the kernel's tests.
fn kernel(source: &str) -> Result<KernelScheme, String> {
    let folder = sources()?;
    let machine = Command::new("uname").arg("-m").output().map_err(|error| format!("uname: {error}"))?;
    let machine = String::from_utf8_lossy(&machine.stdout).trim().to_owned();
    // The C library's headers ask for the machine.
    let (own, system) = (format!("-I{}", folder.display()), format!("-I/usr/include/{machine}-linux-gnu"));
    let macros = ["-D__TARGET_ARCH_x86", &format!("-D__{machine}__"), &own, &system];
    let object = compile(&folder.join("progs").join(source), &macros)?;
    Ok(common::only(&object))
}

macro_rules! or_say {
    ($scheme:expr) => {
        match $scheme {
            Ok(scheme) => scheme,
            Err(why) => return firstflight_skip::skip(why),
        }
    };
}

#[test]
fn cubic_of_the_kernels_tests_agrees_with_hystart_linux_and_cubic_of_the_registry() {
    let scheme = or_say!(kernel("bpf_cubic.c"));
    assert_eq!(scheme.label(), "bpf-cubic");
    for (path, size) in [
        ("rate = \"10 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"1 BDP\"", "10 MB"),
        ("rate = \"40 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"", "10 MB"),
        ("rate = \"100 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"0.5 BDP\"", "30 MB"),
        ("rate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"2 BDP\"", "30 MB"),
        ("rate = \"200 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"", "30 MB"),
        ("rate = \"20 Mbit/s\"\nrtt = \"300 ms\"\nbuffer = \"0.25 BDP\"", "10 MB"),
    ] {
        let flow = format!("size = \"{size}\"");
        let own = run(&[&scheme], path, &flow, "avoidance = \"bpf-cubic\"");
        let known = run(&[], path, &flow, "startup = \"hystart-linux\"\navoidance = \"cubic\"");
        let [own, known] = [&own.flows[0], &known.flows[0]];
        let [one, other] = [own, known].map(|flow| flow.completion_s.expect("it ends"));
        // The kernel's file computes the time on the curve in microseconds, the kernel and the registry in jiffies.
        assert!((one / other - 1.0).abs() < 0.001, "{path}: {one} s, {other} s");
        assert_eq!(own.lost_packets, known.lost_packets, "{path}");
        let exits =
            [own, known].map(|flow| flow.startup_exit.as_ref().expect("slow start ends").cwnd_packets);
        assert!((exits[0] / exits[1] - 1.0).abs() < 0.02, "{path}: {exits:?}");
    }
    assert_eq!(scheme.stopped(), None);
}

#[test]
fn dctcp_of_the_kernels_tests_reduces_by_the_share_of_marked_segments() {
    let scheme = or_say!(kernel("bpf_dctcp.c"));
    assert_eq!(scheme.label(), "bpf-dctcp", "the incomplete congestion control of the file is left out");
    // Marks by the length of the queue now, not by its average.
    let path = "rate = \"50 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"300 packets\"\n\
                queue = { kind = \"red\", min = \"10 packets\", max = \"200 packets\", weight = 1.0, max_p = 1.0, ecn = true }";
    let [dctcp, reno] = ["avoidance = \"bpf-dctcp\"", "startup = \"slow-start\"\navoidance = \"reno\""]
        .map(|chain| run(&[&scheme], path, "size = \"30 MB\"", chain));
    assert_eq!(scheme.stopped(), None);
    assert!(dctcp.links[0].marks > 0 && reno.links[0].marks > 0);
    println!(
        "dctcp {:?} s, {} marks; reno {:?} s, {} marks",
        dctcp.flows[0].completion_s, dctcp.links[0].marks, reno.flows[0].completion_s, reno.links[0].marks
    );
    // One mark a window halves Reno's; DCTCP gives way by a share of it, so it is not slower.
    assert!(dctcp.flows[0].completion_s <= reno.flows[0].completion_s);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let scheme = or_say!(kernel("bpf_cubic.c"));
    let path = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 BDP\"\nloss = 0.01";
    let [one, other] = [(); 2].map(|()| {
        let result = run(&[&scheme], path, "size = \"3 MB\"", "avoidance = \"bpf-cubic\"");
        serde_json::to_string(&result).expect("a result is JSON")
    });
    assert_eq!(one, other);
}
