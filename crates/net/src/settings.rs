//! Settings of a discipline, as a scenario has them.

use firstflight_contract::{Nanos, Rate};

/// A key of a discipline in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name.
    pub name: &'static str,
    /// Valid values.
    pub domain: Domain,
    /// Whether the key must be given.
    pub needed: Needed,
    /// Value without the key, in words.
    pub absent: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

impl Key {
    /// A key with a default.
    pub const fn new(name: &'static str, domain: Domain, absent: &'static str, doc: &'static str) -> Self {
        Self { name, domain, needed: Needed::Never, absent, doc }
    }

    /// The same, but it must be given.
    pub const fn needed(self, needed: Needed) -> Self {
        Self { needed, ..self }
    }
}

/// Valid values of a key.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// `true` or `false`.
    Flag,
    /// A number above 0 and at most 1.
    Share,
    /// A time above zero.
    Time,
    /// A number of bytes above zero.
    Bytes,
    /// A rate above zero.
    Rate,
    /// A threshold on a queue, packets.
    Threshold,
    /// A whole number from 1 to this.
    Count(u64),
}

/// Cases in which a key must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// None.
    Never,
    /// Where the link has no bandwidth-delay product.
    WithoutBdp,
    /// All.
    Always,
}

/// The place of a value among the settings.
#[derive(Debug)]
pub enum Field<'a> {
    /// A flag.
    Flag(&'a mut bool),
    /// A share.
    Share(&'a mut f64),
    /// A time.
    Time(&'a mut Nanos),
    /// A number of bytes.
    Bytes(&'a mut u64),
    /// The size of a packet, bytes, which need not be set.
    Size(&'a mut Option<u32>),
    /// A rate.
    Rate(&'a mut Rate),
    /// A threshold, packets.
    Threshold(&'a mut f64),
    /// A whole number.
    Count(&'a mut u32),
}

/// Settings that contradict each other, or the link.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// Keys, of which the first that was given is at fault.
    pub keys: &'static [&'static str],
    /// Reason.
    pub why: String,
    /// Smallest valid number of bytes, if the value is too small.
    pub least: Option<u64>,
}

/// Settings of one discipline.
pub trait Settings: Copy {
    /// The defaults on a path with a bandwidth-delay product of `bdp` packets.
    fn usual(bdp: f64) -> Self;

    /// The values by their keys, in the order of the canonical text.
    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)>;

    /// Whether the queue draws random numbers.
    fn draws(&self) -> bool;

    /// Whether the queue marks packets, so that flows are ECN-capable.
    fn marks(&self) -> bool;

    /// Whether the settings fit each other, and full packets of `packet` bytes.
    ///
    /// # Errors
    /// The first conflict.
    fn check(&self, _packet: u32) -> Result<(), Conflict> {
        Ok(())
    }
}

/// No settings: a queue that neither draws nor marks.
impl Settings for () {
    fn usual(_bdp: f64) -> Self {}

    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
        vec![]
    }

    fn draws(&self) -> bool {
        false
    }

    fn marks(&self) -> bool {
        false
    }
}
