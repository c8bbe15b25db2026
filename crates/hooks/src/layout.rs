//! The layouts that the object shares with this program: `bpf/layout.h`.

use std::net::{IpAddr, Ipv6Addr};

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Connection, Limits, Plan, Stage};
use firstflight_paths::Prefix;

/// TCP_INFINITE_SSTHRESH.
const INFINITE: u32 = 0x7fff_ffff;
/// The kernel's greatest window, threshold and path of a plan.
const WIDEST: u32 = u16::MAX as u32;
/// `HOOKS_PACED`.
const PACED: u16 = 0x8000;
/// `HOOKS_LIMITED`, `HOOKS_SHARED`.
const LIMITED: u32 = 1;
const SHARED: u32 = 4;

/// `struct hooks_limits`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    pub(crate) limits: Limits,
    pub(crate) seed: u64,
    /// Number of the cgroup; zero is the root.
    pub(crate) cgroup: u64,
    pub(crate) bits: (u8, u8),
    pub(crate) parts: Option<(u8, u8)>,
    /// Number of lines of prefixes, a power of two.
    pub(crate) lines: u32,
    pub(crate) wake: u32,
    /// Whether plans for transfers may set the slow-start threshold.
    pub(crate) ssthresh: bool,
    /// Number of places of connections, a power of two.
    pub(crate) places: u32,
    pub(crate) idle: bool,
    pub(crate) retreat: bool,
}

impl Fixed {
    /// Name of the congestion control by which transfers start: no two loaders share one.
    pub(crate) fn starter(&self) -> [u8; 16] {
        let mut name = [0; 16];
        name[..11].copy_from_slice(format!("ff_{:08x}", self.seed as u32).as_bytes());
        name
    }

    pub(crate) fn to_bytes(self) -> [u8; 96] {
        let words = [self.limits.lease.0, self.seed, self.cgroup].map(u64::to_ne_bytes);
        let ((v4, v6), (v4_part, v6_part)) = (self.bits, self.parts.unwrap_or((0, 0)));
        let halves = [
            self.limits.window,
            self.limits.holdout.into(),
            v4.into(),
            v6.into(),
            v4_part.into(),
            v6_part.into(),
            self.lines - 1,
            self.wake,
            self.ssthresh.into(),
            self.places - 1,
            self.limits.ssthresh.into(),
            self.idle.into(),
            self.retreat.into(),
        ];
        let mut bytes = [0; 96];
        bytes[..24].copy_from_slice(words.as_flattened());
        bytes[24..76].copy_from_slice(halves.map(u32::to_ne_bytes).as_flattened());
        bytes[76..92].copy_from_slice(&self.starter());
        bytes
    }
}

/// The key of a plan: `key_of` of the object.
pub(crate) fn key(prefix: &Prefix) -> u64 {
    match prefix.first() {
        IpAddr::V4(address) => 0xffff << 32 | u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// Bytes of `struct hooks_plan`.
pub(crate) const PLAN: usize = 24;

/// `struct hooks_plan`.
pub(crate) fn plan(plan: &Plan) -> [u8; PLAN] {
    let mut bytes = [0; PLAN];
    bytes[..8].copy_from_slice(&plan.expires.0.to_ne_bytes());
    bytes[8..].copy_from_slice(&start(plan));
    bytes
}

/// A plan as it is kept in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    /// `struct hooks_start`.
    pub(crate) start: u64,
    /// Units of 2^[`TICK`] nanoseconds, rounded down.
    pub(crate) expires: u32,
    /// Least and greatest round-trip time, microseconds.
    pub(crate) least: u32,
    pub(crate) most: u32,
}

/// `HOOKS_TICK`.
const TICK: u32 = 26;

impl Stored {
    /// The same plan as this `struct hooks_plan`.
    pub(crate) fn of(plan: &[u8; PLAN]) -> Self {
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| plan[at + i]));
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| plan[at + i]));
        let expires = u32::try_from(long(0) >> TICK).unwrap_or(u32::MAX);
        Self { start: long(16), expires, least: word(8), most: word(12) }
    }
}

/// `struct hooks_transfer`, of a connection to an address of `prefix`; `rate` in bytes per second. The program ignores whether it is paced.
pub(crate) fn transfer(plan: &Plan, prefix: &Prefix, rate: u64) -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes[..8].copy_from_slice(&plan.expires.0.to_ne_bytes());
    bytes[8..16].copy_from_slice(&key(prefix).to_ne_bytes());
    bytes[16..24].copy_from_slice(&rate.to_ne_bytes());
    bytes[24..].copy_from_slice(&start(plan));
    bytes
}

/// The fields that both structs end with.
fn start(plan: &Plan) -> [u8; 16] {
    let microseconds = |time: u64| u32::try_from(time).unwrap_or(u32::MAX);
    let (least, most) = plan.rtt;
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&microseconds(least.0.div_ceil(1000)).to_ne_bytes());
    bytes[4..8].copy_from_slice(&microseconds(most.0 / 1000).to_ne_bytes());
    let segments = |number: u32| (number.min(WIDEST) as u16).to_ne_bytes();
    bytes[8..10].copy_from_slice(&segments(plan.ssthresh.unwrap_or(0)));
    bytes[10..12].copy_from_slice(&segments(plan.path));
    bytes[12..14].copy_from_slice(&segments(plan.window));
    let holdout = plan.holdout.min(1000) | if plan.paced { PACED } else { 0 };
    bytes[14..].copy_from_slice(&holdout.to_ne_bytes());
    bytes
}

/// [`prefix`] of all IPv4 addresses. Its entry is always there, without an order if nobody gave one.
pub(crate) const ALL_V4: [u8; 20] = {
    let [a, b, c, d] = 96_u32.to_ne_bytes();
    [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]
};

/// `struct hooks_prefix`.
pub(crate) fn prefix(prefix: &Prefix) -> [u8; 20] {
    let (address, bits) = match prefix.first() {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), 96 + u32::from(prefix.length())),
        IpAddr::V6(address) => (address, prefix.length().into()),
    };
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&bits.to_ne_bytes());
    bytes[4..].copy_from_slice(&address.octets());
    bytes
}

/// Bytes of `struct hooks_report`.
pub(crate) const REPORT: usize = 112;

/// Reads a `struct hooks_report`; `tick` is the length of a tick of the kernel. `None` if it is none.
pub(crate) fn report(bytes: &[u8], tick: Nanos) -> Option<Connection> {
    let bytes: &[u8; REPORT] = bytes.get(..REPORT)?.try_into().ok()?;
    let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let half = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]).into();
    let microseconds = |at: usize| Nanos(u64::from(word(at)) * 1000);
    let peer: [u8; 16] = std::array::from_fn(|i| bytes[32 + i]);
    let arm = match word(52) {
        0 => Arm::Stock,
        1 => Arm::Holdout(half(56)),
        2 => Arm::Planned(half(56)),
        _ => return None,
    };
    let stage = match word(48) {
        0 => Stage::Live,
        1 => Stage::Ended,
        _ => return None,
    };
    let (flags, mss, interval) = (word(60), word(64), u64::from(word(84)));
    let delivered = u64::from(word(80)) * u64::from(mss) * 1_000_000;
    Some(Connection {
        at: Nanos(long(0)),
        peer: IpAddr::V6(Ipv6Addr::from(peer)).to_canonical(),
        arm,
        stage,
        age: Nanos(long(8)),
        busy: Nanos(long(24).saturating_mul(tick.0)),
        mss,
        bytes: long(16),
        handshake_rtt: microseconds(68),
        // The kernel's unknown is the greatest number.
        min_rtt: if word(72) == u32::MAX { Nanos::ZERO } else { microseconds(72) },
        srtt: microseconds(76),
        rate: delivered.checked_div(interval).unwrap_or(0),
        limited: flags & LIMITED != 0,
        shared: flags & SHARED != 0,
        cwnd: word(88),
        ssthresh: Some(word(92)).filter(|ssthresh| *ssthresh < INFINITE),
        receive_window: word(96).into(),
        sent: word(100),
        retransmits: word(104),
        timeouts: word(108),
        first_window_lost: half(58),
    })
}
