//! The page `docs/deploy.md`: what can be had today, and how.

use std::fmt::Write;

use firstflight_scenario::{Candidate, Profile};

use crate::defaults::{DEFAULT_AVOIDANCE, DEFAULT_STARTUPS, DEFAULT_WINDOWS};
use crate::how::{deployed, how};
use crate::present::present;

const HEAD: &str = "\
# What can be had today, and how

`firstflight compare` states for every candidate how it is had: in `results[].how` of `--json`, in the table and on the page.
`--deployable` leaves out the candidates that the stack of `--profile` cannot have. This page is written from the same declarations
(`crates/compare/src/how.rs` for Linux, `crates/scenario/src/profile/` for stacks of QUIC) by `make regenerate`.

Write your own values for `DEVICE` (the network interface) and `:443`. `ip route change $(ip route show default|…) …` changes
the first default route of IPv4; use `ip -6 route` for IPv6, and name the route where there are several. `sed` takes a word away that
`ip route` prints and does not read. All commands need root, and hold until the machine restarts.

";

const FACTS: &str = "
## What each setting of Linux does

**Initial window** (`initcwnd`, packets). Holds for connections that open after the command. The receiver's first window limits it:
a Linux receiver with default settings first offers 64,256 bytes, which hold 44 packets of 1448 bytes, and 55 packets in the next flight.
A client that opens the connection and sends is limited to 65,535 bytes, because the window of a SYN-ACK has no scale. Without pacing the
whole window leaves as one burst, and a short queue at the bottleneck drops the end of it.

**Pacing** (`fq`). The queueing discipline fq spreads what TCP sends at twice the window a round trip, from half the threshold on at
1.2 times (`net.ipv4.tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`). The first ten packets of a connection leave at once; everything
after them is paced, in the first flight and in the later ones. A server that accepts a
connection knows the round trip from the handshake. A client that opens one does not have a pacing rate before its first ACK.
A program can have the same for its own sockets with `SO_MAX_PACING_RATE`, without fq.

**Slow-start threshold** (`ssthresh lock`, packets). Measured on Linux 6.18 with reno: the route's threshold holds only with
`net.ipv4.tcp_no_ssthresh_metrics_save=0` (the default is 1), only with `lock`, and only from the second connection to a
destination on, because the kernel copies it into its memory of destinations when the first one closes. Without `lock` the second
connection begins with a threshold that the first one left (59 packets there). BBR sets its own, infinite, threshold.

**Idle restart** (`tcp_slow_start_after_idle`). Matters for connections that send again after an idle time longer than the
retransmission timeout.

**HyStart** is part of Linux's cubic, and on. `hystart` of module `tcp_cubic` turns it off, for all connections of the machine.

**BBR** is version 1, as Linux has it. The stacks of QUIC have other versions under the same name (quiche: version 2, HAProxy:
version 3, MsQuic: a preview), which are not simulated; they are not listed.

The names come from Linux 6.18: `ip route`, `sysctl`, `/sys/module/tcp_cubic/parameters`; `initcwnd` and `ssthresh` were measured with
`TCP_INFO`. The TCP connections of nginx, Caddy and lighttpd are the kernel's, and follow its settings.

## Stacks of QUIC

`firstflight compare --profile STACK` forecasts a server of this stack, and its answer names these options alone. [stacks.md](stacks.md)
has what each stack does on the wire. MsQuic has no profile.

These options were run on the server, once each: those of HAProxy 3.0, `--cc=reno` of ngtcp2's `gtlsserver` ([stacks.md](stacks.md)), the initial window of s2n-quic (30 packets left at first), and
the defaults of all. The others were read in the sources that are named.

";

/// The page.
pub fn page() -> String {
    let stock = present(Profile::Linux).label();
    let mut labels: Vec<String> = deployed().into_iter().map(String::from).collect();
    labels.extend(DEFAULT_WINDOWS.iter().map(|packets| format!("{stock}@iw{packets}")));
    let others = ["paced", "iw30+paced", "ssthresh=50", "idle=keep"];
    labels.extend(others.map(|settings| format!("{stock}@{settings}")));
    let mut out = String::from(HEAD);
    out.push_str("## Candidates\n\n| candidate | how |\n|---|---|\n");
    for label in labels {
        let candidate = Candidate::parse(&label).expect("the page names candidates");
        let ways = how(&candidate, 1, Profile::Linux);
        let ways: Vec<String> = ways.iter().map(|way| row(way)).collect();
        let _ = writeln!(out, "| `{label}` | {} |", ways.join("<br>"));
    }
    let none = DEFAULT_STARTUPS.iter().map(|label| format!("{label}+{DEFAULT_AVOIDANCE}"));
    let none = none.filter(|label| {
        Candidate::parse(label).is_ok_and(|candidate| how(&candidate, 1, Profile::Linux).is_empty())
    });
    let none: Vec<String> = none.map(|label| format!("`{label}`")).collect();
    let _ = writeln!(
        out,
        "\nLinux has no other scheme. Of those that `compare` tries without options these are {}.",
        none.join(", ")
    );
    out.push_str(FACTS);
    for profile in Profile::ALL.iter().filter(|profile| profile.stack().is_quic()) {
        stack(&mut out, *profile);
    }
    out
}

/// The section of a stack of QUIC.
fn stack(out: &mut String, profile: Profile) {
    let declared = profile.stack();
    let options = &declared.options;
    let _ = writeln!(out, "### {}\n\nProfile `{}`. {}\n", options.stack, profile.word(), options.notes);
    out.push_str("| to have | option |\n|---|---|\n");
    let own = present(profile).label();
    for (label, option) in options.chains {
        let default = if *label == own { ", the default" } else { "" };
        let option = if option.is_empty() { "no option".into() } else { format!("`{option}`") };
        let _ = writeln!(out, "| `{label}`{default} | {option} |");
    }
    let option = options.initial_window.map_or("no option".into(), |option| format!("`{}`", option(30)));
    let _ = writeln!(out, "| an initial window of 30 packets | {option} |");
    if declared.send_buffer.is_some() {
        let option =
            options.send_buffer.map_or("no option".into(), |option| format!("`{}`", option(1_000_000)));
        let _ = writeln!(out, "| a send buffer of 1 MB | {option} |");
    }
    let _ = writeln!(out, "\nSource: {}.\n", options.source);
}

/// A way as it stands in a table: its stack, and its commands as code.
fn row(way: &str) -> String {
    let (stack, commands) = way.split_once(": ").expect("a way names its stack");
    format!("{stack}: `{commands}`")
}
