//! Rules by which queues drop packets, judged packet by packet.

use firstflight_capture::Offered;
use firstflight_net::queue::Arrival;
use firstflight_net::queue::codel::{CodelConfig, Law};
use firstflight_net::queue::red::{Red, RedConfig};
use firstflight_net::two_state::is_bursty;
use firstflight_random::Stream;

use crate::range::{Range, normal, reflected, reflected_density};
use crate::weights::{ENOUGH, drawn, flattened, log_sum, normalised};
use firstflight_hosts::parallel::map;

/// Probability that a packet is lost for another reason than the rule's. Small enough that one such loss costs more than a random
/// one, whose share is at least one packet in some ten thousand.
const OTHER_CAUSE: f64 = 1e-6;

/// Probability that a packet passes although the rule drops it.
const SPARED: f64 = 0.02;

/// Least error of the queue's length, packets: a packet that is leaving is a part of one.
const LEAST_ERROR: f64 = 0.1;

/// Whole units of time of the disciplines, nanoseconds to them, in the time of a full packet.
const TICKS: f64 = 1e6;

/// Most packets of a connection that are judged: the first ones.
const MOST: usize = 4000;

/// A packet at the queue. Times and lengths are in full packets at the bottleneck's rate.
#[derive(Clone, Copy, Debug)]
struct Packet {
    at: f64,
    /// Length of the queue that it found.
    found: f64,
    /// Difference of its own time from the length that the packet before left; `None` if one of them is not known.
    apart: Option<f64>,
    lost: bool,
}

/// Packets of a connection at a bottleneck with a constant rate, and the time of a full packet there, seconds.
#[derive(Debug)]
pub(super) struct Queued {
    packets: Vec<Packet>,
    packet: f64,
    /// Error of the lengths of the queue, packets.
    error: f64,
}

/// Evidence of the losses for a rule, and the values of its parameters with their weights.
#[derive(Debug)]
pub(super) struct Judged {
    /// Logarithm of the evidence.
    pub(super) evidence: f64,
    /// Values of the rule's parameters with their weights, which add up to one. None if too few are known: re-runs then find them.
    pub(super) rules: Vec<(Vec<f64>, f64)>,
}

impl Judged {
    /// From values with the logarithms of likelihood and prior.
    fn of(rules: Vec<(Vec<f64>, f64)>) -> Self {
        /// Weight that counts.
        const SOME: f64 = 1e-6;
        let logs: Vec<f64> = rules.iter().map(|one| one.1).collect();
        let weights = normalised(&logs);
        let counting = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        if counting < ENOUGH {
            return Self { evidence: log_sum(logs), rules: vec![] };
        }
        let rules = rules.into_iter().zip(weights).filter(|one| one.1 > SOME);
        Self { evidence: log_sum(logs), rules: rules.map(|((values, _), weight)| (values, weight)).collect() }
    }
}

/// A time in packets as one of the disciplines.
fn ticks(packets: f64) -> u64 {
    (packets * TICKS) as u64
}

/// Lengths of the queue that the packets of a connection found: the time that they waited or, where that is not known, the queue
/// that the packet before left, less what has been sent since (D. Lindley, "The theory of queues with a single server",
/// Mathematical Proceedings of the Cambridge Philosophical Society 48(2), 1952).
fn at_queue(offered: &[Offered], packet: f64) -> Vec<Packet> {
    let mut queued: Vec<Packet> = vec![];
    let mut known = false;
    for one in offered.iter().take(MOST) {
        let at = one.at / packet;
        let left = queued.last().map_or(0.0, |before| {
            let added = if before.lost { 0.0 } else { 1.0 };
            (before.found + added - (at - before.at)).max(0.0)
        });
        let own = one.waited.map(|waited| waited / packet);
        // An empty queue stays empty: only where packets wait do two times differ by the errors of hosts alone.
        let apart = own.filter(|_| known && left > 0.0).map(|own| own - left);
        known = own.is_some();
        queued.push(Packet { at, found: own.unwrap_or(left), apart, lost: !one.passed });
    }
    queued
}

/// Error of the lengths of a queue: that of a logistic distribution whose differences of two have this median.
fn error(packets: &[Packet]) -> f64 {
    let mut apart: Vec<f64> = packets.iter().filter_map(|packet| packet.apart).map(f64::abs).collect();
    apart.sort_by(f64::total_cmp);
    let median = apart.get(apart.len() / 2).copied().unwrap_or(0.0);
    // Half of a logistic distribution is within ln 3 of its middle, and a difference varies by the root of two more.
    (median / (libm::log(3.0) * core::f64::consts::SQRT_2)).max(LEAST_ERROR)
}

impl Queued {
    /// Packets of a connection; a full one takes `packet` seconds.
    pub(super) fn new(offered: &[Offered], packet: f64) -> Self {
        let packets = at_queue(offered, packet);
        let error = error(&packets);
        Self { packets, packet, error }
    }

    /// Whether a packet was lost.
    pub(super) fn lost(&self) -> bool {
        self.packets.iter().any(|packet| packet.lost)
    }

    /// Probability that a buffer is full which the queue exceeds by this many packets. Most lengths have the usual error, and some
    /// have ten times as much, because a host was late.
    fn full(&self, beyond: f64) -> f64 {
        const LATE: f64 = 0.05;
        (1.0 - LATE) * logistic(beyond / self.error) + LATE * logistic(beyond / (10.0 * self.error))
    }

    /// A full buffer drops every packet, any other none.
    pub(super) fn drop_tail(&self, buffer: &Range) -> Judged {
        let evidence = log_sum(self.buffers(buffer).into_iter().map(|(length, weight)| {
            let fates = self.packets.iter().map(|packet| {
                let full = self.full(packet.found - length);
                fate(other_cause(full), packet.lost)
            });
            weight + fates.sum::<f64>()
        }));
        Judged { evidence, rules: vec![] }
    }

    /// A packet that finds room is lost with a probability, after a lost one with that of a run that goes on.
    pub(super) fn random(&self, buffer: &Range, loss: &Range, burst: &Range) -> Judged {
        /// Difference in the logarithm beyond which a buffer adds nothing.
        const HOPELESS: f64 = 12.0;
        let losses = trapezoid(loss, 32);
        let bursts = trapezoid(burst, 5);
        let lost = self.packets.iter().filter(|packet| packet.lost).count() as f64;
        let middle = (lost.min(10.0) / self.packets.len() as f64).clamp(loss.at(0.0), loss.at(1.0));
        let buffers = self.buffers(buffer);
        let tried: Vec<f64> =
            buffers.iter().map(|(length, _)| self.random_at(*length, (middle, 1.0))).collect();
        let most = tried.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut rules = vec![];
        // By the loss first, so that evenly spread shares of the weight have evenly spread losses.
        for (loss, of_loss) in &losses {
            for (burst, of_burst) in &bursts {
                let near = || buffers.iter().zip(&tried).filter(|one| *one.1 >= most - HOPELESS);
                for ((length, weight), _) in near() {
                    let log = self.random_at(*length, (*loss, *burst));
                    rules.push((vec![*length, *loss, *burst], log + weight + of_loss + of_burst));
                }
            }
        }
        Judged::of(rules)
    }

    fn random_at(&self, length: f64, (loss, burst): (f64, f64)) -> f64 {
        let loss = loss.min(0.99);
        let (begins, goes_on) = if is_bursty(loss, burst) {
            (loss / (burst * (1.0 - loss)), 1.0 - 1.0 / burst)
        } else {
            (loss, loss)
        };
        let logs = [begins, goes_on].map(|p| [fate(p, false), fate(p, true)]);
        let mut sum = 0.0;
        let mut before = 0;
        for packet in &self.packets {
            let full = (1.0 - SPARED) * self.full(packet.found - length);
            if full < 1e-6 {
                sum += logs[before][usize::from(packet.lost)];
                before = usize::from(packet.lost);
            } else {
                let p = [begins, goes_on][before];
                sum += fate(full + (1.0 - full) * p, packet.lost);
                // The wire cannot lose a packet that a full buffer dropped.
                if full < 0.5 {
                    before = usize::from(packet.lost);
                }
            }
        }
        sum
    }

    /// Controlled delay drops the first packet that leaves after its time has come (RFC 8289, section 5).
    pub(super) fn codel(&self, target: &Range, buffer: &Range) -> Judged {
        /// Errors of the time at which a drop is due, packets.
        const LATE: [f64; 3] = [1.0, 4.0, 16.0];
        let longest =
            self.packets.iter().filter(|packet| !packet.lost).map(|packet| packet.found).fold(0.0, f64::max);
        // A buffer is never filled, or as long as the longest queue.
        let roomy = (libm::log(buffer.at(1.0) / (longest + 1.0).clamp(buffer.at(0.0), buffer.at(1.0)))
            / buffer.span())
        .max(1e-9);
        let near = (-4..=4)
            .map(|step| longest + 0.5 * f64::from(step))
            .filter(|length| (buffer.at(0.0)..=buffer.at(1.0)).contains(length));
        let buffers: Vec<(f64, f64)> = std::iter::once((f64::INFINITY, libm::log(roomy)))
            .chain(near.map(|length| (length, libm::log(0.5 / length / buffer.span()))))
            .collect();
        let mut logs = vec![];
        for (target, of_target) in trapezoid(target, 160) {
            for late in LATE {
                for (length, of_length) in &buffers {
                    let log = self.codel_at(target / self.packet, late, *length);
                    logs.push(log + of_target + of_length);
                }
            }
        }
        Judged { evidence: log_sum(logs) - libm::log(LATE.len() as f64), rules: vec![] }
    }

    fn codel_at(&self, target: f64, late: f64, length: f64) -> f64 {
        // RFC 8289, section 4.4: the target is 5 % of the interval.
        let config = CodelConfig { target: ticks(target), interval: ticks(20.0 * target), ecn: false };
        let mut law = Law::default();
        let fates = self.packets.iter().map(|packet| {
            let leaves = ticks(packet.at + packet.found);
            let due = law.due(&config, leaves, packet.found >= target.max(1.0));
            let ripe =
                due.map_or(0.0, |due| ((leaves as f64 - due as f64) / TICKS / late + 0.5).clamp(0.0, 1.0));
            let drop = ripe / (1.0 + late);
            if packet.lost && ripe > 0.0 {
                law.chose(&config, leaves);
            }
            let full = if length.is_finite() { self.full(packet.found - length) } else { 0.0 };
            fate(other_cause(full + (1.0 - full) * drop), packet.lost)
        });
        fates.sum()
    }

    /// Random early detection drops with the probability of its average (Floyd and Jacobson, 1993), integrated over its four
    /// parameters by importance sampling: draws from the prior, then around the best of them (O. Cappé et al., "Population Monte
    /// Carlo", Journal of Computational and Graphical Statistics 13(4), 2004).
    pub(super) fn red(&self, ranges: [Range; 4], seed: u64) -> Judged {
        const FIRST: usize = 800;
        const ROUNDS: usize = 3;
        const LATER: usize = 500;
        /// Share of the later draws that come from the prior.
        const DEFENSIVE: f64 = 0.2;
        /// Number of equally weighted draws around which the next ones lie.
        const CENTRES: f64 = 10.0;
        /// Least step, as a share of a range.
        const LEAST: f64 = 0.002;
        let mut stream = Stream::named(seed, "losses by RED");
        let values =
            |place: &[f64; 4]| -> [f64; 4] { std::array::from_fn(|index| ranges[index].at(place[index])) };
        let mut places: Vec<[f64; 4]> = (0..FIRST).map(|_| std::array::from_fn(|_| stream.unit())).collect();
        let mut logs = map(&places, |place| self.red_at(values(place)));
        for _ in 0..ROUNDS {
            let weights = flattened(&logs, CENTRES);
            let centres: Vec<([f64; 4], f64)> =
                places.iter().copied().zip(weights.iter().copied()).filter(|one| one.1 > 1e-6).collect();
            let steps: [f64; 4] = std::array::from_fn(|index| {
                let mean: f64 = centres.iter().map(|(place, weight)| weight * place[index]).sum();
                let apart = |place: &[f64; 4]| (place[index] - mean) * (place[index] - mean);
                libm::sqrt(centres.iter().map(|(place, weight)| weight * apart(place)).sum()).max(LEAST)
            });
            let mut draw = |_| -> [f64; 4] {
                if stream.unit() < DEFENSIVE {
                    return std::array::from_fn(|_| stream.unit());
                }
                let from = places[drawn(&weights, stream.unit())];
                std::array::from_fn(|index| reflected(from[index] + steps[index] * normal(&mut stream)))
            };
            let next: Vec<[f64; 4]> = (0..LATER).map(&mut draw).collect();
            let weighed = |place: &[f64; 4]| {
                let density = |from: &[f64; 4]| {
                    (0..4)
                        .map(|index| reflected_density(place[index], from[index], steps[index]))
                        .product::<f64>()
                };
                let around: f64 = centres.iter().map(|(from, weight)| weight * density(from)).sum();
                self.red_at(values(place)) - libm::log(DEFENSIVE + (1.0 - DEFENSIVE) * around)
            };
            logs = map(&next, weighed);
            places = next;
        }
        let each = libm::log(LATER as f64);
        Judged::of(places.iter().zip(logs).map(|(place, log)| (values(place).to_vec(), log - each)).collect())
    }

    fn red_at(&self, [min, ratio, max_p, weight]: [f64; 4]) -> f64 {
        /// Relative error of the average: that of the lengths, and of rules that treat an idle link in other ways.
        const AVERAGE: f64 = 0.03;
        let config = RedConfig {
            min,
            max: min * ratio,
            weight,
            max_p,
            gentle: false,
            ecn: false,
            wait: false,
            limit: u32::MAX,
            mean_bytes: None,
            typical_ns: ticks(1.0),
        };
        let mut red = Red::new(config, Stream::named(0, ""));
        let mut free_at = 0;
        let fates = self.packets.iter().map(|packet| {
            let now = ticks(packet.at);
            // Host jitter is no queue.
            let busy = packet.found >= self.error;
            let arrival = Arrival {
                now,
                free_at: if busy { now + ticks(packet.found) } else { free_at.min(now) },
                waiting_packets: packet.found as u32,
                waiting_bytes: 0,
                size: 1,
                ecn_capable: false,
            };
            let chance = red.chance(&arrival);
            // Near the upper threshold the average is not known well enough for certainty.
            let above = logistic((red.average() / config.max - 1.0) / AVERAGE);
            let chance = if chance < 1.0 { chance + (1.0 - chance) * above } else { above.max(max_p) };
            if packet.lost {
                red.chose();
            } else {
                free_at = now + ticks(packet.found + 1.0);
            }
            fate(other_cause(chance), packet.lost)
        });
        fates.sum()
    }

    /// Lengths of the buffer over which to integrate, and the logarithm of the prior of each: log-uniform, and finer where the
    /// likelihood has its peak.
    fn buffers(&self, range: &Range) -> Vec<(f64, f64)> {
        const COARSE: usize = 96;
        let at = |place: usize| range.at(place as f64 / COARSE as f64);
        let mut lengths: Vec<f64> = (0..=COARSE).map(at).collect();
        // The longest queue that was accepted, and the shortest that dropped most of what was dropped.
        let mut full: Vec<f64> =
            self.packets.iter().filter(|packet| packet.lost).map(|packet| packet.found).collect();
        full.sort_by(f64::total_cmp);
        let longest =
            self.packets.iter().filter(|packet| !packet.lost).map(|packet| packet.found).fold(0.0, f64::max);
        let peaks = [longest, full[full.len() / 10], full[full.len() / 2]];
        for peak in peaks {
            lengths.extend((-40..=40).map(|step| peak + 0.1 * f64::from(step)));
            lengths.extend((-10..=10).map(|step| peak + f64::from(step)));
        }
        lengths.retain(|length| (range.at(0.0)..=range.at(1.0)).contains(length));
        lengths.sort_by(f64::total_cmp);
        lengths.dedup_by(|a, b| *a - *b < 0.02);
        weighed(&lengths, range.span())
    }
}

fn logistic(x: f64) -> f64 {
    if x > 30.0 {
        1.0
    } else if x < -30.0 {
        0.0
    } else {
        1.0 / (1.0 + libm::exp(-x))
    }
}

/// Probability of a drop by a rule that is never certain.
fn other_cause(drop: f64) -> f64 {
    OTHER_CAUSE + (1.0 - OTHER_CAUSE - SPARED) * drop
}

/// Logarithm of the probability of a fate.
fn fate(drop: f64, lost: bool) -> f64 {
    if lost {
        libm::log(drop)
    } else if drop < 1e-4 {
        // To the second order.
        -drop - 0.5 * drop * drop
    } else {
        libm::log(1.0 - drop)
    }
}

/// Values of a log-uniform parameter at even distances, with the logarithm of the weight of each.
fn trapezoid(range: &Range, count: usize) -> Vec<(f64, f64)> {
    let values: Vec<f64> = (0..count).map(|index| range.at(index as f64 / (count - 1) as f64)).collect();
    weighed(&values, range.span())
}

/// Sorted values with the logarithms of their weights under a log-uniform density over this span.
fn weighed(values: &[f64], span: f64) -> Vec<(f64, f64)> {
    let log = |index: usize| libm::log(values[index]);
    let last = values.len() - 1;
    // A value that is given.
    if span < 0.01 {
        return vec![(values[0], 0.0)];
    }
    let weight = |index: usize| {
        let width = log((index + 1).min(last)) - log(index.saturating_sub(1));
        libm::log((width / 2.0 / span).max(1e-12))
    };
    (0..values.len()).map(|index| (values[index], weight(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(ms: f64, waited: Option<f64>, passed: bool) -> Offered {
        Offered { at: ms * 1e-3, bytes: 1448.0, passed, waited: waited.map(|ms| ms * 1e-3) }
    }

    #[test]
    fn a_packet_finds_what_the_one_before_left() {
        // A full packet takes 2 ms. The second comes 1 ms after the first, which found an empty queue: half a packet is left. The third
        // comes at once after it and is lost; the fourth finds the same queue, since a lost packet adds nothing.
        let seen = [
            offered(0.0, Some(0.0), true),
            offered(1.0, None, true),
            offered(1.0, None, false),
            offered(1.0, None, true),
            offered(9.0, Some(0.4), true),
        ];
        let found: Vec<f64> = at_queue(&seen, 2e-3).iter().map(|packet| packet.found).collect();
        let expected = [0.0, 0.5, 1.5, 1.5, 0.2];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn the_evidence_for_random_loss_is_the_beta_function_over_the_span() {
        // Two of 100 packets are lost from an empty queue: the mean of p^2 (1 - p)^98 over a log-uniform p is
        // B(2, 99) / ln(0.5 / 1e-4) = 1 / (99 * 100) / 8.517.
        let seen: Vec<Offered> = (0..100)
            .map(|index| offered(f64::from(index) * 10.0, Some(0.0), index != 30 && index != 70))
            .collect();
        let queued = Queued::new(&seen, 1e-3);
        let judged = queued.random(&Range::new(50.0, 100.0), &Range::new(1e-4, 0.5), &Range::new(1.0, 1.0));
        let expected = -libm::log(9900.0 * 8.517);
        assert!((judged.evidence - expected).abs() < 0.02, "{} {expected}", judged.evidence);
        // The density p (1 - p)^98 has the mean 2 / 101, up to the end of the range.
        let mean: f64 = judged.rules.iter().map(|(values, weight)| values[1] * weight).sum();
        assert!((mean / (2.0 / 101.0) - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn an_overflow_is_a_full_buffer_and_a_loss_from_a_short_queue_is_not() {
        // Every tenth packet finds 20 packets and is dropped, the others find up to 18.
        let seen = |lost_at: f64| -> Vec<Offered> {
            let one = |index: i32| match index % 10 {
                9 => offered(f64::from(index) * 50.0, Some(lost_at), false),
                rest => offered(f64::from(index) * 50.0, Some(2.0 * f64::from(rest) + 2.0), true),
            };
            (0..200).map(one).collect()
        };
        let evidence = |lost_at: f64| {
            let seen = seen(lost_at);
            let queued = Queued::new(&seen, 1e-3);
            let buffer = Range::new(2.0, 200.0);
            let random = queued.random(&buffer, &Range::new(1e-3, 0.4), &Range::new(1.0, 5.0)).evidence;
            (queued.drop_tail(&buffer).evidence, random)
        };
        let (full, random) = evidence(20.0);
        assert!(full > random, "{full} {random}");
        let (full, random) = evidence(3.0);
        assert!(random > full + 20.0, "{full} {random}");
    }
}
