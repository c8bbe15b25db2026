//! The part of a connection that is compared: its curve of sent bytes, and the sizes of its datagrams.

use std::ops::Range;

use firstflight_capture::{Sending, Sent};
use firstflight_contract::Nanos;

/// Least payload of a packet with which a transfer begins, bytes. Tickets and the ends of handshakes are smaller.
pub(crate) const FULL: u32 = 1000;

/// Bytes behind which curves are compared: two packets of 1200 bytes.
const FIRST: f64 = 2400.0;

/// Places of the packets of each transfer, from its first full packet on; `payload` is that of a full packet, bytes.
pub(crate) fn transfers(sending: &Sending, payload: u32) -> Vec<Range<usize>> {
    /// Fewest full packets, so that no probe of an idle sender is a transfer.
    const FEW: usize = 4;
    let is_full = |packet: &Sent| packet.bytes >= payload.min(FULL);
    let ends = sending.begins.iter().skip(1).copied().chain([sending.packets.len()]);
    let transfer = |(begin, end): (usize, usize)| {
        let packets = &sending.packets[begin..end];
        let first = packets.iter().position(is_full)?;
        let full = packets.iter().filter(|packet| is_full(packet)).count();
        (full >= FEW).then_some(begin + first..end)
    };
    sending.begins.iter().copied().zip(ends).filter_map(transfer).collect()
}

/// The curve of one transfer: bytes that were sent until a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    /// Seconds since more than the first bytes were sent, and bytes that were sent from the first full packet to this one.
    points: Vec<(f64, u64)>,
    /// Time of the origin of the points.
    begin: f64,
    /// Times of the first full packet and of the last packet.
    span: (Nanos, Nanos),
    /// Time of the first retransmission in it, seconds like those of the points.
    lost: Option<f64>,
}

impl Curve {
    /// The curves of a sender's transfers that have several full packets; `payload` is that of a full packet, bytes.
    pub(crate) fn all(sending: &Sending, payload: u32) -> Vec<Self> {
        let mut curves: Vec<Self> =
            transfers(sending, payload).into_iter().map(|span| Self::of(&sending.packets[span])).collect();
        if let Some(lost) = sending.retransmitted {
            let within = curves.iter_mut().find(|curve| (curve.span.0..=curve.span.1).contains(&lost));
            within.into_iter().for_each(|curve| curve.lost = Some(lost.0 as f64 * 1e-9 - curve.begin));
        }
        curves
    }

    /// Whether a packet of it was retransmitted. The window of a later transfer then depends on what was lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// The curve of the packets of one transfer.
    fn of(packets: &[Sent]) -> Self {
        let mut bytes = 0;
        let points = packets.iter().map(|packet| {
            bytes += u64::from(packet.bytes);
            (packet.at.0 as f64 * 1e-9, bytes)
        });
        let mut points: Vec<(f64, u64)> = points.collect();
        // A server reads its file between a probe of the path MTU and its data.
        let begin = points[points.partition_point(|point| point.1 <= FIRST as u64).min(points.len() - 1)].0;
        points.iter_mut().for_each(|point| point.0 -= begin);
        Self { points, begin, span: (packets[0].at, packets[packets.len() - 1].at), lost: None }
    }

    /// Time for which nothing was sent between another transfer and this one, without the round trip in which the first was acknowledged.
    pub(crate) fn silence_after(&self, other: &Self, rtt: Nanos) -> Nanos {
        self.span.0.saturating_sub(other.span.1).saturating_sub(rtt)
    }

    /// Bytes of the whole transfer.
    pub(crate) fn bytes(&self) -> u64 {
        self.points.last().map_or(0, |point| point.1)
    }

    /// Whether the transfer has as much as most stacks send at first: less shows no window.
    pub(crate) fn shows_a_flight(&self) -> bool {
        const LEAST: u64 = 9_000;
        self.bytes() >= LEAST
    }

    /// Time at which more than `bytes` had been sent, seconds; `None` if the transfer has no more.
    fn time(&self, bytes: u64) -> Option<f64> {
        self.points.get(self.points.partition_point(|point| point.1 <= bytes)).map(|point| point.0)
    }

    /// Mean differences of time to another curve, seconds, each over a step of bytes by the root of two, with the time of this curve in the
    /// middle of the step. Steps end with the first retransmission of this curve, since other packets are lost in every run. The last twentieth is
    /// left out: transfers end with retransmissions.
    pub(crate) fn differences(&self, other: &Self) -> Vec<(f64, f64)> {
        /// Points of a step.
        const POINTS: i32 = 4;
        let most = 0.95 * self.bytes().min(other.bytes()) as f64;
        let at = |step: i32, point: i32| {
            FIRST * libm::exp2((f64::from(step) + f64::from(point) / f64::from(POINTS)) / 2.0)
        };
        let before_loss =
            |bytes: f64| self.lost.is_none_or(|lost| self.time(bytes as u64).is_some_and(|time| time < lost));
        let steps = (0..).take_while(|step| at(*step, POINTS) <= most && before_loss(at(*step, POINTS)));
        let of_step = |step: i32| {
            let times = (0..POINTS).filter_map(|point| {
                let bytes = at(step, point) as u64;
                Some((self.time(bytes)?, other.time(bytes)?))
            });
            let times: Vec<(f64, f64)> = times.collect();
            let sum: f64 = times.iter().map(|(own, other)| (own - other).abs()).sum();
            let middle = times.get(times.len() / 2).map_or(0.0, |times| times.0);
            (sum / times.len().max(1) as f64, middle)
        };
        steps.map(of_step).collect()
    }
}

/// Sizes of the datagrams of a connection of QUIC, bytes of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The most common size of the first flight.
    pub(crate) first: u32,
    /// The largest of the first flight, a probe of the path MTU if it is larger than `first`.
    pub(crate) probe: u32,
    /// The most common size of the second and third round trip; zero if the transfer has none.
    pub(crate) later: u32,
}

impl Sizes {
    /// Sizes of the first transfer that has a flight; `rtt` is the shortest round trip.
    pub(crate) fn of(sending: &Sending, rtt: Nanos) -> Option<Self> {
        let begin = sending.packets.iter().position(|packet| packet.bytes >= FULL)?;
        let at = |trips: f64| sending.packets[begin].at.saturating_add(Nanos((rtt.0 as f64 * trips) as u64));
        let within = |from: f64, to: f64| {
            let sizes = sending.packets.iter().filter(move |packet| (at(from)..at(to)).contains(&packet.at));
            sizes.map(|packet| packet.bytes).filter(|bytes| *bytes >= FULL).collect::<Vec<_>>()
        };
        let (first, later) = (within(0.0, 0.9), within(1.0, 2.9));
        Some(Self {
            first: common(&first)?,
            probe: first.iter().copied().max()?,
            later: common(&later).unwrap_or(0),
        })
    }
}

/// The most common of these sizes, the larger of two; sizes within a few bytes count as one.
fn common(sizes: &[u32]) -> Option<u32> {
    let count = |size: u32| sizes.iter().filter(|other| same(size, **other)).count();
    sizes.iter().copied().max_by_key(|size| (count(*size), *size))
}

/// Whether two sizes of datagrams are those of one stack: packet numbers and offsets have different lengths.
pub(crate) fn same(one: u32, other: u32) -> bool {
    const NEAR: u32 = 6;
    one.abs_diff(other) <= NEAR
}
