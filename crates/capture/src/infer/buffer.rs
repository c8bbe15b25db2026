//! Buffer from the round trips around losses, and random loss as distinct from a full buffer.
//!
//! A drop-tail queue drops a packet when the buffer is full, so the packets accepted around it wait as long
//! as any packet can: their extra round trip times the rate is the buffer (the loss pair of Liu and Crovella
//! 2001, found in ordinary traffic). The neighbours of a packet lost for another reason have typical waits. A
//! count decides whether the losses at long waits are more than chance.

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::estimate::{Estimate, Inferred, Unknown};
use crate::infer::rate::Rate;
use crate::infer::stats::{Weighted, chance_of_at_least, quantile, robust_deviation, wilson};
use crate::packet_trace::{PacketTrace, Piece};

/// Buffer and random loss.
pub(super) struct Losses {
    pub(super) buffer: Inferred<Estimate>,
    pub(super) random: Inferred<Estimate>,
}

/// Waits, in full-sized packets, of arrived packets and around lost ones.
#[derive(Default)]
struct Waits {
    /// Resolution of the sender's times, in packets; on average waits appear shorter by half of it.
    resolution: f64,
    /// Jitter of acknowledgements, in packets. Of the waits around a loss the longer one counts, so these
    /// appear longer by at least half of it.
    jitter: f64,
    arrived: Vec<f64>,
    lost: Vec<f64>,
    /// Losses without a packet that arrived close by.
    lone: u64,
    /// Losses beside a packet whose round trip contains a step of the capture's clock: their waits are unknown.
    cut: u64,
    packets: u64,
}

/// A wait within this many packets, or this share, of the longest wait counts as one at a full buffer.
const SLACK_PACKETS: f64 = 2.0;
const SLACK_SHARE: f64 = 0.1;
/// Packets sent within this many packet times of each other find about the same queue.
const NEAR_PACKETS: f64 = 16.0;
/// Share of the waits that delays of hosts may have lengthened.
const RARE: f64 = 0.01;
/// Probability below which losses at the longest waits are not chance.
const ACCIDENT: f64 = 0.01;

/// Estimates buffer and random loss from `parts`: groups of connections that ran at the same time.
pub(super) fn losses(parts: &[Vec<&PacketTrace>], rate: &Rate, rtt: &Inferred<Estimate>) -> Losses {
    let traces = || parts.iter().flatten();
    let packets: u64 = traces().map(|trace| trace.pieces.len() as u64).sum();
    let lost: u64 =
        traces().map(|trace| trace.pieces.iter().filter(|piece| piece.lost()).count() as u64).sum();
    let (Some(bit_s), Some(rtt)) = (rate.bit_s.known(), rtt.known()) else {
        let why = "rate and round trip, which convert waiting times to packets, are unknown";
        let random = if lost == 0 {
            random_loss(0, packets, "no packet was lost")
        } else {
            let (_, high) = wilson(lost, packets);
            let why = "without rate and round trip, losses at a full buffer cannot be distinguished from random loss";
            Inferred::Unknown(Unknown { why: why.into(), low: Some(0.0), high: Some(high) })
        };
        return Losses { buffer: Inferred::not_inferred(why), random };
    };
    let full = f64::from(traces().map(|trace| trace.mss + trace.header).max().unwrap_or(0)) * 8.0;
    let mut waits = Waits { packets, jitter: rate.jitter * bit_s.value / full, ..Waits::default() };
    for part in parts {
        waits.add(part, bit_s.value, rtt.value);
    }
    waits.judge(bit_s, rtt, full)
}

impl Waits {
    /// Adds connections that shared the bottleneck; losses of one are compared with arrivals of all.
    fn add(&mut self, traces: &[&PacketTrace], rate: f64, rtt: f64) {
        let (mut arrived, mut lost) = (Vec::new(), Vec::new());
        for trace in traces {
            let full = f64::from(trace.mss + trace.header) * 8.0 / rate;
            self.resolution = self.resolution.max(trace.view.resolution().as_secs_f64() / full);
            let ack = trace.acks.first().map_or(0, |ack| ack.ip_len);
            let wait = |piece: &Piece| {
                let own = f64::from(piece.wire + ack) * 8.0 / rate;
                let taken = piece.rtt().filter(|_| piece.prompt)?;
                Some(((taken.as_secs_f64() - rtt - own) / full).max(0.0))
            };
            let order = |piece: &Piece| (piece.sent, piece.start);
            arrived.extend(trace.pieces.iter().filter_map(|piece| match wait(piece) {
                None if !piece.is_cut() => None,
                wait => Some((order(piece), wait)),
            }));
            let near = (NEAR_PACKETS * full * 1e9) as u64;
            for piece in trace.pieces.iter().filter(|piece| piece.lost()) {
                match piece.sent {
                    Nanos::NEVER => self.lone += 1,
                    _ => lost.push((order(piece), piece.sent_by, near)),
                }
            }
        }
        arrived.sort_unstable_by_key(|(order, _)| *order);
        let mut last = None;
        for (order, by, near) in lost {
            let from = arrived.partition_point(|(other, _)| *other < order);
            let to = arrived.partition_point(|(other, _)| *other <= (by, order.1)).max(from);
            // all pieces of a hole have the same surroundings
            let known = last.filter(|(span, _)| *span == (from, to)).map(|(_, wait)| wait);
            let wait = known.unwrap_or_else(|| longest_wait(&arrived, from..to, (order.0, by), near));
            last = Some(((from, to), wait));
            match wait {
                NearbyWait::Longest(wait) => self.lost.push(wait),
                NearbyWait::Unknown => self.cut += 1,
                NearbyWait::Nothing => self.lone += 1,
            }
        }
        self.arrived.extend(arrived.into_iter().filter_map(|(_, wait)| wait));
    }

    /// Decides between the explanations. `packet`: bits of a full packet.
    fn judge(mut self, rate: &Estimate, rtt: &Estimate, packet: f64) -> Losses {
        // hosts lengthen a few round trips: waits rarer than one in a hundred are no evidence of buffer space
        let mut arrived: Vec<Weighted> = self.arrived.iter().map(|wait| (*wait, 1.0)).collect();
        let longest = quantile(&mut arrived, 1.0 - RARE).unwrap_or(0.0);
        let lone = self.lone + self.cut;
        if self.lost.is_empty() && lone == 0 {
            let why =
                format!("no packet was lost, so the buffer is at least the {longest:.0} packets that waited");
            let random = random_loss(0, self.packets, "no packet was lost");
            return Losses { buffer: at_least(longest, why), random };
        }
        if self.lost.is_empty() {
            let why = "no packet that arrived was sent close to a lost one";
            let (_, high) = wilson(lone, self.packets);
            let random = Unknown { why: why.into(), low: Some(0.0), high: Some(high) };
            return Losses { buffer: at_least(longest, why.into()), random: Inferred::Unknown(random) };
        }
        self.lost.sort_by(f64::total_cmp);
        let top = self.lost.last().copied().unwrap_or(0.0);
        let slack = SLACK_PACKETS.max(SLACK_SHARE * top) + self.resolution;
        let at_top = |wait: &&f64| **wait >= top - slack;
        let full = self.lost.iter().filter(at_top).count() as u64;
        let share = self.arrived.iter().filter(at_top).count() as f64 / self.arrived.len().max(1) as f64;
        let beyond = self.arrived.iter().filter(|wait| **wait > top + slack).count();
        let chance = chance_of_at_least(full, self.lost.len() as u64, share);
        let room = beyond as f64 > RARE * self.arrived.len() as f64;
        let lost = self.lost.len() as u64;
        if room {
            let why = format!(
                "packets were lost while at most {top:.0} waited, and others arrived after waiting behind {longest:.0}, so no loss shows a full buffer"
            );
            return Losses {
                buffer: at_least(longest, why),
                random: self.or_cut(random_loss(
                    lost,
                    self.packets,
                    "packets lost while the queue was short",
                )),
            };
        }
        if chance > ACCIDENT {
            return Losses {
                buffer: at_least(top.min(longest), "the losses may be chance or a full buffer".into()),
                random: self.or_cut(self.undecided(lost, lost - full)),
            };
        }
        // random loss at a full buffer is indistinguishable from drops: only packets that found room are
        // trials
        let random = lost - full;
        let trials = ((self.packets - full) as f64 * (1.0 - share)).round() as u64;
        Losses {
            buffer: Inferred::Known(self.full_buffer(top - slack, rate, rtt, packet)),
            random: self.or_cut(random_loss(
                random,
                trials.max(random),
                "packets lost while the buffer had room",
            )),
        }
    }

    /// The random loss, if the losses whose waits are unknown may be random too.
    fn or_cut(&self, random: Inferred<Estimate>) -> Inferred<Estimate> {
        let most = wilson(self.cut, self.packets).1;
        match random {
            Inferred::Known(known) if self.cut > 0 => {
                Inferred::Known(Estimate { high: (known.high + most).min(1.0), ..known })
            }
            other => other,
        }
    }

    /// Losses without a clear pattern: those below the longest waits are random whatever the buffer is.
    fn undecided(&self, lost: u64, surely_random: u64) -> Inferred<Estimate> {
        let (low, high) = (wilson(surely_random, self.packets).0, wilson(lost, self.packets).1);
        if 2 * surely_random < lost {
            let why = format!("only {lost} packets were lost, possibly by chance while the queue was long");
            return Inferred::Unknown(Unknown { why, low: Some(low), high: Some(high) });
        }
        let how = format!("packets lost at long and short queues alike: {lost} of {}", self.packets);
        Inferred::Known(Estimate { value: lost as f64 / self.packets as f64, low, high, how })
    }

    /// Buffer from the waits around losses at its top.
    ///
    /// An accepted packet waits for up to the whole buffer, plus the rest of the packet in transmission: the
    /// waits spread over one packet below the buffer size, and noise spreads them further to both sides.
    fn full_buffer(&self, from: f64, rate: &Estimate, rtt: &Estimate, packet: f64) -> Estimate {
        let mut top: Vec<Weighted> =
            self.lost.iter().filter(|wait| **wait >= from).map(|wait| (*wait, 1.0)).collect();
        let median = quantile(&mut top, 0.5).unwrap_or(from);
        let value = (median + 0.5 + (self.resolution - self.jitter) / 2.0).round().max(0.0);
        let relative = (rate.high - rate.low) / (2.0 * rate.value);
        let rtt_packets = (rtt.high - rtt.low) / 2.0 * rate.value / packet;
        let half = 1.0
            + 2.0 * robust_deviation(&top, median)
            + value * relative
            + rtt_packets
            + (self.resolution + self.jitter) / 2.0;
        Estimate {
            value,
            low: (value - half).max(0.0),
            high: value + half,
            how: format!("waiting time of the packets accepted around {} losses", top.len()),
        }
    }
}

/// Longest wait of the packets next to a lost one.
#[derive(Clone, Copy)]
enum NearbyWait {
    Longest(f64),
    /// Unknown for one of them.
    Unknown,
    /// No packet is close.
    Nothing,
}

/// Longest wait of the packets that arrived in `span`, and of the two around it if they were sent within
/// `near` of its ends.
fn longest_wait(
    arrived: &[((Nanos, u64), Option<f64>)],
    span: std::ops::Range<usize>,
    (from, to): (Nanos, Nanos),
    near: u64,
) -> NearbyWait {
    let close = |index: usize, end: Nanos| {
        let ((sent, _), wait) = *arrived.get(index)?;
        (sent.0.abs_diff(end.0) <= near).then_some(wait)
    };
    let around = [span.start.checked_sub(1).and_then(|index| close(index, from)), close(span.end, to)];
    let within = arrived[span].iter().map(|(_, wait)| *wait);
    let mut waits = around.into_iter().flatten().chain(within);
    let longest = waits.try_fold(None, |longest: Option<f64>, wait| {
        let wait = wait?;
        Some(Some(longest.map_or(wait, |longest| longest.max(wait))))
    });
    match longest {
        Some(Some(wait)) => NearbyWait::Longest(wait),
        Some(None) => NearbyWait::Nothing,
        None => NearbyWait::Unknown,
    }
}

fn at_least(packets: f64, why: String) -> Inferred<Estimate> {
    Inferred::Unknown(Unknown { why, low: Some(packets.floor()), high: None })
}

fn random_loss(lost: u64, packets: u64, how: &str) -> Inferred<Estimate> {
    let (low, high) = wilson(lost, packets);
    let how = format!("{how}: {lost} of {packets}");
    Inferred::Known(Estimate { value: lost as f64 / packets.max(1) as f64, low, high, how })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_within_a_tenth_of_the_longest_wait_show_the_buffer() {
        let exact = |value: f64| Estimate { value, low: value, high: value, how: String::new() };
        let rtt = Estimate { low: 0.099, high: 0.101, ..exact(0.1) };
        let lost = [[46.0; 5], [50.0; 5]].concat();
        let waits = Waits { packets: 1000, arrived: vec![0.0; 990], lost, ..Waits::default() };
        // A tenth of 50 packets is 5, so all ten losses are at the top. Their median is 46, and 46 + 0.5 rounds to 47. Half of the
        // interval is 1 packet, and 1 ms at 1000 packets/s, which is 1 packet.
        let Losses { buffer, random } = waits.judge(&exact(12e6), &rtt, 12_000.0);
        let buffer = buffer.known().expect("a full buffer");
        assert_eq!(buffer.value, 47.0);
        assert!((buffer.low - 45.0).abs() < 1e-9 && (buffer.high - 49.0).abs() < 1e-9, "{buffer:?}");
        assert_eq!(random.known().expect("a probability").value, 0.0);
    }
}
