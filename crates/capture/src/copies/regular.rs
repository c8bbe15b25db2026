//! Delays after which the packets of a connection are captured again, and whether they are those of copies.

use firstflight_contract::Nanos;

use super::{LATEST, STAMPED};

/// A packet that was captured at a time, and again after a delay.
pub(super) type Again = (Nanos, Nanos);

/// Delay after which packets come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Regular {
    pub(super) longest: Nanos,
    /// Times of packets, in order, and their delays.
    curve: Vec<Again>,
}

/// Latest copy that is recognised by its regular delay.
pub(super) const LATEST_REGULAR: Nanos = Nanos::from_millis(50);
/// Fewest packets that come again by a rule.
const FEW: usize = 3;
const SEVERAL: usize = 8;

impl Regular {
    fn of(mut curve: Vec<Again>, longest: Nanos) -> Self {
        curve.sort_unstable();
        Self { longest, curve }
    }

    /// From delays that are too short for retransmissions.
    pub(super) fn prompt(curve: &[Again]) -> Option<Self> {
        let longest = curve.iter().map(|(_, delay)| *delay).max().filter(|_| curve.len() >= FEW)?;
        Some(Self::of(curve.to_vec(), longest))
    }

    /// From the delays of packets that are copies for certain.
    pub(super) fn certain(curve: &[Again]) -> Option<Self> {
        let (short, long) = spread(curve).filter(|_| curve.len() >= FEW)?;
        Some(Self::of(curve.to_vec(), beyond(short, long)))
    }

    /// From the delays of packets that come again, of `distinct` ones: most do, and nearly all after the same time.
    pub(super) fn new(curve: &[Again], distinct: u32) -> Option<Self> {
        let (short, long) = spread(curve).filter(|_| comes_again(curve, distinct))?;
        let regular = long.0 <= 3 * short.0 + 2 * STAMPED.0 && long <= LATEST_REGULAR;
        regular.then(|| Self::of(curve.to_vec(), beyond(short, long)))
    }

    /// From the delays of packets of a side all of whose packets come again. A mirror that is busy at times delays some for long.
    pub(super) fn of_all(curve: &[Again]) -> Option<Self> {
        let (short, long) = spread(curve)?;
        let longest = if long.0 <= 2 * short.0 { beyond(short, long) } else { Nanos(4 * long.0 + STAMPED.0) };
        Some(Self::of(curve.to_vec(), longest.min(LATEST)))
    }

    /// Delay near this time: the median of those of the packets around it.
    pub(super) fn near(&self, at: Nanos) -> Nanos {
        const AROUND: usize = 4;
        let place = self.curve.partition_point(|(time, _)| *time < at);
        let around = &self.curve[place.saturating_sub(AROUND)..(place + AROUND).min(self.curve.len())];
        let mut delays: Vec<Nanos> = around.iter().map(|(_, delay)| *delay).collect();
        delays.sort_unstable();
        delays.get(delays.len() / 2).copied().unwrap_or_default()
    }
}

/// Whether most of `distinct` packets come again.
pub(super) fn comes_again(curve: &[Again], distinct: u32) -> bool {
    distinct as usize >= SEVERAL && 4 * curve.len() >= 3 * distinct as usize
}

/// The delays that a tenth and nine tenths do not exceed.
fn spread(curve: &[Again]) -> Option<(Nanos, Nanos)> {
    let mut delays: Vec<Nanos> = curve.iter().map(|(_, delay)| *delay).collect();
    delays.sort_unstable();
    let at = |tenth: usize| delays.get(delays.len() * tenth / 10).copied();
    Some((at(1)?, at(9)?))
}

/// Longest delay of a copy, from the spread of most.
fn beyond(short: Nanos, long: Nanos) -> Nanos {
    Nanos(2 * long.0 - short.0 + STAMPED.0 / 2)
}
