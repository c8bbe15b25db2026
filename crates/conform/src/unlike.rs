//! Schemes of other projects that no scheme here is held against, with the rule that differs.

/// A project's word, the beginning of a vector's scheme, and the rule that no scheme here has.
pub(crate) const UNLIKE: &[(&str, &str)] = &[
    (
        "quiche-bbr2",
        "quiche's BBRv2 adds no aggregate of ACKs to the window and paces at the bandwidth itself; bbr3 has the draft's window and paces 1 % below",
    ),
    (
        "tquic-bbr3",
        "tquic's BBRv3 keeps the aggregate of ten rounds in Startup and draws its waits at random; bbr3 keeps that of one round",
    ),
    (
        "quinn-bbr",
        "quinn's BBR begins in ProbeRTT, with 200 packets in flight, and draws the phase of its cycle at random; bbr begins in Startup",
    ),
    ("s2n-bbr2", "s2n-quic's BBR is version 2 of its drafts; no scheme here is"),
    (
        "quicly-jump100",
        "quicly jumps to a window that its caller states, for an idle round trip; jump-start here jumps to the receiver's window",
    ),
    ("tquic-copa", "no scheme here is Copa"),
];
