//! The estimator: the window that recent connections to a prefix justify.
//!
//! 1. **Sample.** A connection's sample is its greatest delivery rate, or the mean one if that is greater, times its
//!    least round-trip time, in segments; it is at most the number of segments acknowledged. The mean counts if the
//!    connection was busy for a round trip. A connection whose data all fit its planned first window has no second flight,
//!    and its rate is that of its data in the time from the first ACK to the last: what it was busy for less a round trip.
//!    That a planned window was acknowledged without a loss measures nothing: a deep queue holds it, whatever the rate.
//! 2. **Lower bounds.** The sample is a lower bound if the application limited the rate, if other connections of the prefix had
//!    data in flight meanwhile, so that it is a share of the path, if the number of segments
//!    acknowledged capped it, if the peer's receive window was smaller than the congestion window, or if the connection
//!    never left slow start: it had no retransmission and its threshold is infinite. A lower bound raises what is known
//!    of a host and does not lower it; one below what is known does not make it newer, and replaces it after a half-life.
//!    A lower bound below the stack's own first window brings no information and is dropped.
//! 3. **Hosts.** Each host has one value: half its old value and half the new sample. A host that reports often has
//!    therefore no more weight than another. At most [`HOSTS`] hosts are kept; a new host replaces one whose weight has
//!    fallen to a half, or else the one with the greatest keyed hash, if its own is smaller. The hosts kept are thus a
//!    uniform choice of the recent hosts, however often one of them reports.
//! 4. **Age.** A host's weight is `2^(-age / half-life)`, linear between halvings.
//! 5. **Estimate.** The estimate is the weighted median of the hosts' values, the lower one of two. It needs a least
//!    number of hosts, and a least weight of samples.
//! 6. **Agreement.** The low end is the value that more than three eighths of the weight do not exceed, the high end the
//!    one that more than three eighths reach; between them no host counts that only a lower bound is known of and that
//!    lies below the median. Hosts disagree if the high end is above twice the low one, and their distance above four
//!    times the median deviation within a host. Hosts of a third of the weight, whatever their values, therefore neither
//!    move the median beyond the other hosts' values nor make hosts disagree that lie within an octave; an eighth of
//!    their share is left for their samples being newer.
//! 7. **Other gateways.** An accepted observation of another gateway counts as one host, of which only a lower bound is
//!    known, with the weight that the configuration gives it; at most [`REMOTE`] are kept. Where there are own hosts, all
//!    observations together weigh at most half as much.

use firstflight_contract::{Nanos, mul_div};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::serial;
use crate::settings::{STOCK, Settings};
use crate::stamp::Stamp;

/// Most hosts that a prefix keeps.
pub(crate) const HOSTS: usize = 11;
/// Most observations of other gateways that a prefix keeps.
pub(crate) const REMOTE: usize = 3;
/// Parts of a segment that samples are counted in.
pub(crate) const PARTS: u32 = 16;
/// Unit of a host's round-trip time, nanoseconds.
pub(crate) const RTT_UNIT: u64 = 64_000;
/// Share of a longer round-trip time that a host takes over: half of the difference after 44 connections.
const RISE: u16 = 64;
/// Weight of a host with a new sample.
const FULL: u32 = 1024;

/// Window that one connection measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Sixteenths of a segment.
    pub parts: u16,
    /// Whether the path may carry more.
    pub bound: Bound,
    /// Least round-trip time, units of 64 us.
    pub rtt: u16,
}

/// Meaning of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Bound {
    /// The path carried this much and no more.
    Exact,
    /// The path carried at least this much.
    Lower,
}

impl Sample {
    /// The sample of a connection; [`None`] if it lacks a rate, a round-trip time, or acknowledged data.
    pub(crate) fn of(connection: &Connection) -> Option<Self> {
        let Connection { busy, mss, bytes, min_rtt, rate, retransmits, ssthresh, .. } = *connection;
        if mss == 0 || bytes == 0 || min_rtt == Nanos::ZERO {
            return None;
        }
        let mean = if busy < min_rtt { 0 } else { mul_div(bytes, 1_000_000_000, busy.0) };
        let parts_of = |bytes: u64| mul_div(bytes, PARTS.into(), mss.into());
        let acknowledged = parts_of(bytes);
        let window = u64::from(connection.arm.window()) * u64::from(PARTS);
        let one_flight = connection.arm.is_larger() && acknowledged <= window && busy > min_rtt;
        let train = if one_flight { mul_div(bytes, 1_000_000_000, busy.0 - min_rtt.0) } else { 0 };
        let measured = parts_of(mul_div(rate.max(mean).max(train), min_rtt.0, 1_000_000_000));
        let cwnd = u64::from(connection.cwnd) * u64::from(mss);
        let lower = connection.limited
            || connection.shared
            || measured >= acknowledged
            || connection.receive_window < cwnd
            || (retransmits == 0 && ssthresh.is_none());
        let clipped = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        (measured > 0).then(|| Self {
            parts: clipped(measured.min(acknowledged)),
            bound: if lower { Bound::Lower } else { Bound::Exact },
            rtt: clipped(min_rtt.0.div_ceil(RTT_UNIT)),
        })
    }
}

/// Measurements of one host. 16 bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Host {
    /// Keyed hash of the address.
    tag: u32,
    seen: Stamp,
    /// Sixteenths of a segment.
    value: u16,
    /// Mean deviation of exact samples from `value`, sixteenths of a segment; of another gateway, its weight in
    /// thousandths.
    deviation: u16,
    /// Units of 64 us.
    rtt: u16,
    samples: u8,
    flags: u8,
}

/// An exact sample is part of `value`.
const EXACT: u8 = 1;
/// Two exact samples or more are part of `deviation`.
const DEVIATES: u8 = 2;
/// A planned connection of the host has ended.
const TRIED: u8 = 4;
/// The first window of the last planned connection of the host overflowed.
const OVERFLOW: u8 = 8;

/// The host is another gateway.
const GATEWAY: u8 = 16;

/// Hosts that an estimate takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All.
    All,
    /// Samples that this gateway measured.
    Own,
}

/// Hosts of a prefix.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hosts(Box<[Host]>);

/// An estimate with its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median window, sixteenths of a segment.
    pub median: u16,
    /// Low and high end of the range of agreement, sixteenths of a segment.
    pub range: (u16, u16),
    /// Median deviation within a host, sixteenths of a segment.
    pub deviation: u16,
    /// Hosts.
    pub hosts: u8,
    /// Hosts of which more than a lower bound is known.
    pub exact: u8,
    /// Samples, each weighted by the age of its host.
    pub samples: u32,
    /// Low and high end of the hosts' least round-trip times.
    #[serde(with = "serial::range")]
    pub rtt: (Nanos, Nanos),
}

impl Estimate {
    /// The median in whole segments.
    pub fn segments(&self) -> u32 {
        u32::from(self.median) / PARTS
    }

    /// Whether most hosts are measured to the limit of the path.
    pub(crate) fn is_measured(&self) -> bool {
        2 * self.exact > self.hosts
    }

    /// Whether the hosts disagree: rule 6.
    pub fn disagree(&self) -> bool {
        let (low, high) = self.range;
        u32::from(high) > 2 * u32::from(low) && u32::from(high - low) > 4 * u32::from(self.deviation)
    }
}

impl Hosts {
    /// Takes a sample of the host with this tag.
    pub(crate) fn note(&mut self, now: Stamp, tag: u32, sample: Sample, half_life: Nanos) {
        let Sample { parts, bound, rtt } = sample;
        let worthless = bound == Bound::Lower && u32::from(parts) < STOCK * PARTS;
        if worthless {
            return;
        }
        if let Some(host) = self.0.iter_mut().find(|host| host.tag == tag && host.flags & GATEWAY == 0) {
            host.samples = host.samples.saturating_add(1);
            // It rises slowly: a queue that others keep full for a while is not part of the path.
            host.rtt = if rtt < host.rtt { rtt } else { host.rtt + (rtt - host.rtt) / RISE };
            match bound {
                Bound::Exact if host.flags & EXACT != 0 => {
                    host.deviation = host.deviation.midpoint(host.value.abs_diff(parts));
                    host.value = host.value.midpoint(parts);
                    host.flags |= DEVIATES;
                }
                Bound::Exact => {
                    host.value = parts;
                    host.flags |= EXACT;
                }
                Bound::Lower if parts >= host.value => host.value = parts,
                Bound::Lower if host.seen.age(now) >= half_life => {
                    host.value = parts;
                    host.flags &= !(EXACT | DEVIATES);
                }
                Bound::Lower => return,
            }
            host.seen = now;
            return;
        }
        let flags = if bound == Bound::Exact { EXACT } else { 0 };
        let host = Host { tag, seen: now, value: parts, deviation: 0, rtt, samples: 1, flags };
        if self.0.len() < HOSTS {
            return self.push(host);
        }
        let oldest = (0..HOSTS).min_by_key(|&at| self.0[at].seen).expect("there are hosts");
        let greatest = (0..HOSTS).max_by_key(|&at| self.0[at].tag).expect("there are hosts");
        if self.0[oldest].seen.age(now) >= half_life {
            self.0[oldest] = host;
        } else if self.0[greatest].tag > tag {
            self.0[greatest] = host;
        }
    }

    /// Adds a host. A new host is rare, so that the list has no room to grow.
    fn push(&mut self, host: Host) {
        let mut all = core::mem::take(&mut self.0).into_vec();
        all.reserve_exact(1);
        all.push(host);
        self.0 = all.into_boxed_slice();
    }

    /// Takes a sample of another gateway with this tag and weight, in thousandths. An older one than the one known is
    /// ignored.
    pub(crate) fn note_remote(&mut self, at: Stamp, tag: u32, sample: Sample, samples: u32, weight: u16) {
        let Sample { parts: value, rtt, .. } = sample;
        let samples = samples.min(u8::MAX.into()) as u8;
        let host = Host { tag, seen: at, value, deviation: weight, rtt, samples, flags: GATEWAY };
        let remote = |host: &&mut Host| host.flags & GATEWAY != 0;
        let count = self.0.iter_mut().filter(remote).count();
        let same = self.0.iter().position(|host| host.flags & GATEWAY != 0 && host.tag == tag);
        let place = match same {
            Some(at) => Some(&mut self.0[at]),
            None if count < REMOTE && self.0.len() < HOSTS => {
                self.push(host);
                None
            }
            None => self.0.iter_mut().filter(remote).min_by_key(|host| host.seen),
        };
        if let Some(place) = place.filter(|place| place.seen < at) {
            *place = host;
        }
    }

    /// Value of the host with this tag, sixteenths of a segment; [`None`] if no more than a lower bound is known of it.
    pub(crate) fn measured(&self, tag: u32) -> Option<u16> {
        let own = |host: &&Host| host.tag == tag && host.flags & (GATEWAY | EXACT) == EXACT;
        self.0.iter().find(own).map(|host| host.value)
    }

    /// Measurement of another gateway with this tag: sixteenths of a segment, time, samples, and weight in thousandths.
    pub(crate) fn heard(&self, tag: u32) -> Option<(u16, Stamp, u8, u16)> {
        let found = self.0.iter().find(|host| host.flags & GATEWAY != 0 && host.tag == tag)?;
        Some((found.value, found.seen, found.samples, found.deviation))
    }

    /// Records whether the first window of a planned connection of this host overflowed.
    pub(crate) fn tried(&mut self, tag: u32, overflow: bool) {
        if let Some(host) = self.0.iter_mut().find(|host| host.tag == tag && host.flags & GATEWAY == 0) {
            host.flags = host.flags & !OVERFLOW | TRIED | if overflow { OVERFLOW } else { 0 };
        }
    }

    /// Hosts whose last planned first window overflowed, and hosts with a planned connection.
    pub(crate) fn losers(&self) -> (usize, usize) {
        let with = |flag| self.0.iter().filter(|host| host.flags & flag != 0).count();
        (with(OVERFLOW), with(TRIED))
    }

    /// Forgets the planned connections.
    pub(crate) fn forget_tries(&mut self) {
        self.0.iter_mut().for_each(|host| host.flags &= !(TRIED | OVERFLOW));
    }

    /// Number of hosts kept.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The estimate; [`None`] without a host that has weight.
    pub(crate) fn estimate(&self, now: Stamp, half_life: Nanos, scope: Scope) -> Option<Estimate> {
        let mut weighed = [(0u16, 0u32, &EMPTY); HOSTS];
        let mut count = 0;
        let full = |host: &Host| match host.flags & GATEWAY {
            0 => weight(host.seen.age(now), half_life),
            _ => weight(host.seen.age(now), half_life) * u32::from(host.deviation) / 1000,
        };
        let sum = |of: u8| self.0.iter().filter(|host| host.flags & GATEWAY == of).map(full).sum::<u32>();
        let (own, others) = (sum(0), sum(GATEWAY));
        for host in &*self.0 {
            let weight = match host.flags & GATEWAY {
                0 => full(host),
                _ if scope == Scope::Own => 0,
                _ if own > 0 && 2 * others > own => full(host) * own / (2 * others),
                _ => full(host),
            };
            if weight > 0 {
                weighed[count] = (host.value, weight, host);
                count += 1;
            }
        }
        let weighed = &mut weighed[..count];
        if weighed.is_empty() {
            return None;
        }
        weighed.sort_unstable_by_key(|&(value, weight, host)| (value, weight, host.tag));
        let hosts = weighed.iter();
        let median = middle(hosts.clone().map(|&(value, weight, _)| (value, weight)));
        let may_be_more = |host: &Host| host.flags & EXACT == 0;
        let mut raised = [(0u16, 0u32); HOSTS];
        for (to, &(value, weight, host)) in raised.iter_mut().zip(hosts.clone()) {
            *to = (if may_be_more(host) { value.max(median) } else { value }, weight);
        }
        let raised = &mut raised[..count];
        raised.sort_unstable();
        let mut rtts = [(0u16, 0u32); HOSTS];
        let mut deviations = [(0u16, 0u32); HOSTS];
        let mut deviating = 0;
        for (at, &(_, weight, host)) in hosts.clone().enumerate() {
            rtts[at] = (host.rtt, weight);
            if host.flags & DEVIATES != 0 {
                deviations[deviating] = (host.deviation, weight);
                deviating += 1;
            }
        }
        let (rtts, deviations) = (&mut rtts[..count], &mut deviations[..deviating]);
        rtts.sort_unstable();
        deviations.sort_unstable();
        let (low, high) = range(rtts);
        let samples: u32 = hosts.clone().map(|&(_, weight, host)| weight * u32::from(host.samples)).sum();
        Some(Estimate {
            median,
            range: range(raised),
            deviation: if deviating == 0 { 0 } else { middle(deviations.iter().copied()) },
            hosts: count as u8,
            exact: hosts.filter(|(_, _, host)| !may_be_more(host)).count() as u8,
            samples: samples / FULL,
            rtt: (Nanos(u64::from(low) * RTT_UNIT), Nanos(u64::from(high) * RTT_UNIT)),
        })
    }

    /// Moves every time; see [`Stamp::moved`].
    pub(crate) fn moved(&mut self, from: Stamp, to: Stamp) {
        self.0.iter_mut().for_each(|host| host.seen = host.seen.moved(from, to));
    }

    /// Whether there are no more hosts than the arrays of an estimate hold.
    pub(crate) fn is_sound(&self) -> bool {
        self.0.len() <= HOSTS
    }

    /// Reads all hosts; the result has no meaning.
    pub(crate) fn touch(&self) -> u32 {
        self.0.iter().fold(0, |sum, host| sum.wrapping_add(host.tag))
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

const EMPTY: Host = Host { tag: 0, seen: Stamp::BOOT, value: 0, deviation: 0, rtt: 0, samples: 0, flags: 0 };

/// `1024 * 2^(-age / half-life)`, linear between halvings.
fn weight(age: Nanos, half_life: Nanos) -> u32 {
    let halvings = age.0 / half_life.0.max(1);
    let rest = mul_div(age.0 % half_life.0.max(1), u64::from(FULL), half_life.0.max(1)) as u32;
    if halvings > 10 { 0 } else { (FULL - rest / 2) >> halvings }
}

/// The lower weighted median of values in rising order.
fn middle(values: impl Iterator<Item = (u16, u32)> + Clone) -> u16 {
    let total: u32 = values.clone().map(|(_, weight)| weight).sum();
    at_least(values, |below| 2 * below >= total)
}

/// The low and the high end of values in rising order: rule 6.
fn range(values: &[(u16, u32)]) -> (u16, u16) {
    let total: u32 = values.iter().map(|(_, weight)| weight).sum();
    let enough = |sum: u32| 8 * sum > 3 * total;
    let low = at_least(values.iter().copied(), enough);
    let high = at_least(values.iter().rev().copied(), enough);
    (low.min(high), low.max(high))
}

/// The first value at which the sum of weights is enough.
fn at_least(values: impl Iterator<Item = (u16, u32)>, enough: impl Fn(u32) -> bool) -> u16 {
    let mut sum = 0;
    let mut last = 0;
    for (value, weight) in values {
        sum += weight;
        last = value;
        if enough(sum) {
            break;
        }
    }
    last
}

/// Whether an estimate is founded: rule 5.
pub(crate) fn founded(estimate: &Estimate, settings: &Settings) -> Result<(), Unfounded> {
    if u32::from(estimate.hosts) < settings.hosts {
        return Err(Unfounded::Hosts { have: estimate.hosts.into(), need: settings.hosts });
    }
    if estimate.samples < settings.samples {
        return Err(Unfounded::Samples { have: estimate.samples, need: settings.samples });
    }
    Ok(())
}

/// Reason why there is no estimate to plan from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unfounded {
    /// Too few hosts.
    Hosts {
        /// Hosts known.
        have: u32,
        /// Hosts required.
        need: u32,
    },
    /// Too few samples, or samples that are too old.
    Samples {
        /// Weight of the samples.
        have: u32,
        /// Weight required.
        need: u32,
    },
}
