//! Stacks that are known by name.

use super::server::Protocol;

/// A stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its name.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: Protocol,
    pub(super) start: Start,
}

/// How a stack is started.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// quinn within this program.
    Quinn,
    /// The kernel's TCP, with a server within this program.
    Linux,
    /// A shell script with the argument `version`, which prints the version or fails, or `serve`.
    Script { script: &'static str, remedy: &'static str },
}

const fn script(name: &'static str, protocol: Protocol, script: &'static str, remedy: &'static str) -> Stack {
    Stack { name, protocol, start: Start::Script { script, remedy } }
}

/// The stacks, in the order of the documentation.
pub const STACKS: &[Stack] = &[
    Stack { name: "quinn", protocol: Protocol::Quic, start: Start::Quinn },
    Stack { name: "linux", protocol: Protocol::Tcp, start: Start::Linux },
    script(
        "nginx",
        Protocol::Quic,
        include_str!("../../stacks/nginx.sh"),
        "apt-get install nginx (Debian 13 or later)",
    ),
    script("nginx-sid", Protocol::Quic, include_str!("../../stacks/nginx.sh"), "nginx of Debian unstable"),
    script(
        "haproxy",
        Protocol::Quic,
        include_str!("../../stacks/haproxy.sh"),
        "apt-get install haproxy python3",
    ),
    script("ngtcp2", Protocol::Quic, include_str!("../../stacks/ngtcp2.sh"), "apt-get install ngtcp2-server"),
    script("quic-go", Protocol::Quic, include_str!("../../stacks/quic-go.sh"), "Go 1.24 or later"),
    script("aioquic", Protocol::Quic, include_str!("../../stacks/aioquic.sh"), "pip install aioquic"),
    script(
        "quiche",
        Protocol::Quic,
        include_str!("../../stacks/quiche.sh"),
        "Rust, cmake and a C++ compiler",
    ),
    script(
        "quiche-pmtud",
        Protocol::Quic,
        include_str!("../../stacks/quiche.sh"),
        "Rust, cmake and a C++ compiler",
    ),
    script("s2n-quic", Protocol::Quic, include_str!("../../stacks/s2n-quic.sh"), "Rust and a C compiler"),
];
