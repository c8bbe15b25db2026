//! Summary statistics of a connection: a short vector in which a simulated connection resembles a captured one if the
//! two took a path of the same kind.
//!
//! Approximate Bayesian computation compares data through such statistics (M. Beaumont, W. Zhang, D. Balding,
//! "Approximate Bayesian Computation in Population Genetics", Genetics 162(4), 2002). Times and rates are logarithms,
//! so that a difference is a relative error; counts are square roots, whose standard deviation is one half whatever
//! the mean, if the count is Poisson (M. Bartlett, 1936).

use firstflight_contract::Nanos;
use libm::log;

use crate::packet_trace::{PacketTrace, Piece};
use crate::reordering;
use crate::seconds::Seconds;

/// Number of statistics.
pub const STATISTICS: usize = NAMES.len();

/// Number of the statistics that every path has; the rest describe packets that were overtaken.
pub const IN_ORDER: usize = 43;

/// Statistics of one connection, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary(pub [f64; STATISTICS]);

/// Shares of the data at whose delivery the time is read.
const SHARES: [f64; 10] = [1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0];

/// A statistic: its name, and the difference that hosts alone cause, in its own unit.
#[derive(Clone, Copy, Debug)]
pub struct Statistic {
    /// Name, for reports and tests.
    pub name: &'static str,
    /// Difference between a real host and a simulator that makes the same decisions.
    pub floor: f64,
}

const fn named(name: &'static str, floor: f64) -> Statistic {
    Statistic { name, floor }
}

/// A kernel's times differ from the simulator's by 0.3 % on an exactly known path (`docs/predictions.md`).
const TIME: f64 = 0.005;

/// The statistics.
pub const NAMES: [Statistic; 48] = [
    named("time of 1/32 of the data", 2.0 * TIME),
    named("time of 1/16", 2.0 * TIME),
    named("time of 1/8", 2.0 * TIME),
    named("time of 2/8", TIME),
    named("time of 3/8", TIME),
    named("time of 4/8", TIME),
    named("time of 5/8", TIME),
    named("time of 6/8", TIME),
    named("time of 7/8", TIME),
    named("time of all", TIME),
    named("retransmissions", 0.3),
    named("loss episodes", 0.25),
    named("timeouts", 0.25),
    named("data before the first retransmission", 0.02),
    named("shortest round trip", 0.01),
    named("round trip, 10 %", 0.02),
    named("round trip, 50 %", 0.02),
    named("round trip, 90 %", 0.02),
    named("longest round trip", 0.03),
    named("round trip at losses, 10 %", 0.03),
    named("round trip at losses, 50 %", 0.03),
    named("round trip at losses, 90 %", 0.03),
    named("rank of the flight at losses", 0.02),
    named("rank of the round trip at losses", 0.02),
    named("losses in a row", 0.1),
    named("losses at a short queue", 0.3),
    named("gap between acknowledgements, 10 %", 0.15),
    named("gap between acknowledgements, 50 %", 0.1),
    named("gap between acknowledgements, 90 %", 0.1),
    named("gap between acknowledgements, 98 %", 0.1),
    named("share of the gaps below a tenth of their median", 0.05),
    named("gap at a moment, 25 %", 0.1),
    named("gap at a moment, 50 %", 0.05),
    named("gap at a moment, 75 %", 0.05),
    named("rate of a round trip, 25 %", 0.05),
    named("rate of a round trip, 50 %", 0.04),
    named("rate of a round trip, 90 %", 0.03),
    named("fastest 16 packets", 0.05),
    named("fastest 64 packets", 0.03),
    named("largest flight", 0.02),
    named("flight at the first retransmission", 0.03),
    named("longest silence", 0.1),
    named("share of packets released by acknowledgements", 0.05),
    named("overtaken packets", 0.3),
    named("overtaken by, packets", 0.2),
    named("overtaken by, time, 50 %", 0.1),
    named("overtaken by, time, 90 %", 0.1),
    named("retransmissions of packets on their way", 0.3),
];

/// Shortest gap that counts, seconds: below it hosts decide.
const SHORTEST: f64 = 50e-6;

impl Summary {
    /// Value of the statistic of this name.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn get(&self, name: &str) -> f64 {
        let index = NAMES.iter().position(|statistic| statistic.name == name);
        self.0[index.expect("a statistic of the list")]
    }

    /// Summarises a connection; `None` if nothing was delivered.
    pub(crate) fn of(trace: &PacketTrace) -> Option<Self> {
        let begin = trace.sends.first()?.at;
        let since = |at: Nanos| at.saturating_sub(begin).as_secs_f64().max(SHORTEST);
        let total = trace.acks.iter().map(|ack| ack.ack).max().filter(|total| *total > 0)?;
        let mut values = Vec::with_capacity(STATISTICS);
        let mut index = 0;
        for share in SHARES {
            let wanted = ((total as f64 * share) as u64).max(1);
            while trace.acks[index].ack < wanted {
                index += 1;
            }
            values.push(log(since(trace.acks[index].at)));
        }
        let end = trace.acks[index].at;
        let shortest = trace.min_rtt();
        values.extend(losses(trace, total, shortest));
        values.extend(round_trips(trace)?);
        values.extend(ranks(trace));
        values.extend(gaps(trace, begin, end)?);
        values.extend(rates(trace, begin, end, shortest));
        values.extend([16, 64].map(|packets| log(fastest(trace, packets))));
        values.extend(flights(trace));
        values.push(silence(trace, begin, end, shortest));
        values.push(released(trace));
        values.extend(reordering::statistics(trace, SHORTEST));
        values.try_into().ok().map(Self)
    }
}

/// Retransmissions, loss episodes, timeouts, and data sent before the first retransmission; `shortest` is the shortest round trip.
fn losses(trace: &PacketTrace, total: u64, shortest: Option<Nanos>) -> [f64; 4] {
    let lost = trace.pieces.iter().filter(|piece| piece.lost()).count();
    let apart = Nanos(shortest.map_or(0, |rtt| rtt.0 + rtt.0 / 2));
    let episode = |pair: &[Nanos]| pair[1].saturating_sub(pair[0]) > apart;
    let any = usize::from(!trace.resent_times.is_empty());
    let episodes = any + trace.resent_times.windows(2).filter(|pair| episode(pair)).count();
    let first = trace.sends.iter().find(|send| !send.new).map_or(total, |send| send.end.min(total));
    [
        (lost as f64).sqrt(),
        (episodes as f64).sqrt(),
        (trace.timeouts as f64).sqrt(),
        log(first.max(1) as f64 / total as f64),
    ]
}

/// Quantiles of the round trips, and of those of the packets sent just before lost ones.
fn round_trips(trace: &PacketTrace) -> Option<[f64; 8]> {
    /// Packets looked back at for a round trip.
    const NEAR: usize = 32;
    let prompt = |piece: &Piece| piece.prompt.then(|| piece.rtt()).flatten();
    let mut rtts: Vec<Nanos> = trace.pieces.iter().filter_map(prompt).collect();
    rtts.sort_unstable();
    let shortest = *rtts.first()?;
    let longer = |rtt: Nanos| log(rtt.as_secs_f64().max(SHORTEST) / shortest.as_secs_f64().max(SHORTEST));
    let at =
        |sorted: &[Nanos], share: f64| longer(sorted[((sorted.len() - 1) as f64 * share).round() as usize]);
    let lost = trace.pieces.iter().enumerate().filter(|(_, piece)| piece.lost());
    let before = lost.filter_map(|(index, _)| {
        let near = &trace.pieces[index.saturating_sub(NEAR)..index];
        near.iter().rev().find_map(Piece::rtt)
    });
    let mut before: Vec<Nanos> = before.collect();
    before.sort_unstable();
    let at_losses = |share| if before.is_empty() { 0.0 } else { at(&before, share) };
    Some([
        log(shortest.as_secs_f64().max(SHORTEST)),
        at(&rtts, 0.1),
        at(&rtts, 0.5),
        at(&rtts, 0.9),
        at(&rtts, 1.0),
        at_losses(0.1),
        at_losses(0.5),
        at_losses(0.9),
    ])
}

/// Four numbers on lost packets. The first two are their mean ranks among all packets, from 0 to 1: by the flight into which
/// they were sent, and by the round trip before them. The third is the logarithm of the mean number of packets lost in a
/// row. The fourth is the number of losses after round trips in the lower half of their range. A full queue drops what is
/// sent into large flights, random loss drops any packet: its mean rank is one half, as is that of no loss at all. A
/// start-up that overflows a buffer may lose more packets at once than chance does in the whole transfer, and only the
/// losses at a short queue count those of chance alone.
fn ranks(trace: &PacketTrace) -> [f64; 4] {
    let mut latest = Nanos::ZERO;
    let mut sends = trace.sends.iter().filter(|send| send.new).peekable();
    let mut flight = 0;
    let mut seen: Vec<(u64, Nanos, bool)> = vec![];
    let (mut runs, mut lost, mut before) = (0_u32, 0_u32, false);
    for piece in &trace.pieces {
        while let Some(send) = sends.next_if(|send| send.end <= piece.end() || send.at <= piece.sent) {
            flight = send.flight;
        }
        seen.push((flight, latest, piece.lost()));
        runs += u32::from(piece.lost() && !before);
        lost += u32::from(piece.lost());
        before = piece.lost();
        latest = piece.rtt().unwrap_or(latest);
    }
    if lost == 0 {
        return [0.5, 0.5, 0.0, 0.0];
    }
    let rtts = || trace.pieces.iter().filter_map(Piece::rtt);
    let longest = rtts().max().unwrap_or_default();
    let middle_rtt = Nanos(rtts().min().unwrap_or_default().0.midpoint(longest.0));
    let short = seen.iter().filter(|(_, rtt, lost)| *lost && *rtt < middle_rtt).count();
    let mean = |rank: &dyn Fn(usize) -> f64| {
        let lost = seen.iter().enumerate().filter(|(_, one)| one.2);
        lost.clone().map(|(index, _)| rank(index)).sum::<f64>() / lost.count() as f64
    };
    let mut flights: Vec<u64> = seen.iter().map(|one| one.0).collect();
    let mut rtts: Vec<Nanos> = seen.iter().map(|one| one.1).collect();
    flights.sort_unstable();
    rtts.sort_unstable();
    let all = seen.len() as f64;
    let middle = |low: usize, high: usize| (low + high) as f64 / 2.0 / all;
    let by_flight = mean(&|index| {
        let own = seen[index].0;
        middle(flights.partition_point(|one| *one < own), flights.partition_point(|one| *one <= own))
    });
    let by_rtt = mean(&|index| {
        let own = seen[index].1;
        middle(rtts.partition_point(|one| *one < own), rtts.partition_point(|one| *one <= own))
    });
    [by_flight, by_rtt, log(f64::from(lost) / f64::from(runs)), (short as f64).sqrt()]
}

/// Quantiles of the time between acknowledgements that report data, the share of very short ones, and the quantiles
/// weighted by time: the gap in which a moment lies. Aggregates that leave at regular times have equal gaps at all
/// moments, however many acknowledgements each causes; if the gaps between bursts are exponential, the quantile 75 % of
/// those at a moment, which have a gamma distribution, is 2.8 times the quantile 25 %.
fn gaps(trace: &PacketTrace, begin: Nanos, end: Nanos) -> Option<[f64; 8]> {
    let times = trace.acks.iter().filter(|ack| ack.bytes > 0 && ack.at >= begin && ack.at <= end);
    let times: Vec<Nanos> = times.map(|ack| ack.at).collect();
    let mut gaps: Vec<f64> =
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).as_secs_f64().max(SHORTEST)).collect();
    if gaps.is_empty() {
        gaps.push(end.saturating_sub(begin).as_secs_f64().max(SHORTEST));
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share).round() as usize];
    let short = gaps.partition_point(|gap| *gap < 0.1 * at(0.5)) as f64 / gaps.len() as f64;
    let all: f64 = gaps.iter().sum();
    let moment = |share: f64| {
        let mut until = 0.0;
        let found = gaps.iter().find(|gap| {
            until += **gap;
            until >= share * all
        });
        found.or(gaps.last()).map_or(0.0, |gap| log(*gap))
    };
    let moments = [0.25, 0.5, 0.75].map(moment);
    let [low, middle, high] = moments;
    Some([log(at(0.1)), log(at(0.5)), log(at(0.9)), log(at(0.98)), short, low, middle, high])
}

/// Quantiles of the rate at which data arrived over one `shortest` round trip each, after the first; relative to the
/// mean rate.
fn rates(trace: &PacketTrace, begin: Nanos, end: Nanos, shortest: Option<Nanos>) -> [f64; 3] {
    const MOST: u64 = 4096;
    let length = end.saturating_sub(begin).0.max(1);
    let width = shortest.map_or(length, |rtt| rtt.0).max(length / MOST).max(1);
    let mut bytes = vec![0_u64; (length / width).max(1) as usize];
    for ack in &trace.acks {
        let window = (ack.at.saturating_sub(begin).0 / width) as usize;
        if let Some(sum) = bytes.get_mut(window) {
            *sum += ack.bytes;
        }
    }
    let total: u64 = bytes.iter().sum();
    let mean = (total as f64 / bytes.len() as f64).max(1.0);
    bytes.sort_unstable();
    // One segment more keeps an empty round trip finite.
    let at = |share: f64| {
        let sum = bytes[((bytes.len() - 1) as f64 * share).round() as usize] as f64;
        log((sum + f64::from(trace.mss)) / (mean + f64::from(trace.mss)))
    };
    [at(0.25), at(0.5), at(0.9)]
}

/// Highest rate at which this number of packets in a row arrived, bytes per second. The first of the acknowledgements
/// begins the time and counts no data, since it is not known when its packets left the bottleneck.
fn fastest(trace: &PacketTrace, packets: u64) -> f64 {
    /// Time within which hosts read packets together.
    const COALESCED: f64 = 250e-6;
    let wanted = packets * u64::from(trace.mss);
    let arrivals: Vec<(Nanos, u64)> =
        trace.acks.iter().filter(|ack| ack.bytes > 0).map(|ack| (ack.at, ack.bytes)).collect();
    let (mut sum, mut last, mut most) = (0, 0, 0.0_f64);
    for first in 0..arrivals.len() {
        while sum < wanted && last + 1 < arrivals.len() {
            last += 1;
            sum += arrivals[last].1;
        }
        let took = arrivals[last].0.saturating_sub(arrivals[first].0).as_secs_f64().max(COALESCED);
        if sum >= wanted || first == 0 {
            most = most.max(sum as f64 / took);
        }
        sum = sum.saturating_sub(arrivals.get(first + 1).map_or(0, |next| next.1));
        last = last.max(first + 1);
    }
    most.max(1.0)
}

/// Largest flight, and the largest one up to the first retransmission.
fn flights(trace: &PacketTrace) -> [f64; 2] {
    let packets = |bytes: u64| log(bytes.max(1) as f64 / f64::from(trace.mss));
    let largest = |most: u64, send: &crate::packet_trace::SentPacket| most.max(send.flight);
    let all = trace.sends.iter().fold(0, largest);
    let first = trace.sends.iter().take_while(|send| send.new).fold(0, largest);
    [packets(all), packets(first)]
}

/// Longest time without an acknowledgement of data, relative to the `shortest` round trip.
fn silence(trace: &PacketTrace, begin: Nanos, end: Nanos, shortest: Option<Nanos>) -> f64 {
    let arrivals = trace.acks.iter().filter(|ack| ack.bytes > 0 && ack.at > begin && ack.at <= end);
    let times: Vec<Nanos> = std::iter::once(begin).chain(arrivals.map(|ack| ack.at)).collect();
    let longest = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or_default();
    let shortest = shortest.unwrap_or(longest).as_secs_f64().max(SHORTEST);
    log(longest.as_secs_f64().max(SHORTEST) / shortest)
}

/// Share of the new data sent at once when an acknowledgement arrived, after the first flight: a window releases data
/// so, a pacing timer does not.
fn released(trace: &PacketTrace) -> f64 {
    /// Time that a host takes to answer an acknowledgement.
    const AT_ONCE: Nanos = Nanos::from_micros(100);
    let later = trace.sends.iter().filter(|send| send.new && send.acks_before > 0);
    let (mut at_once, mut all) = (0.0, 0.0);
    for send in later {
        let ack = &trace.acks[send.acks_before as usize - 1];
        if ack.ack > 0 {
            all += 1.0;
            at_once += f64::from(u8::from(send.at.saturating_sub(ack.at) <= AT_ONCE));
        }
    }
    if all > 0.0 { at_once / all } else { 1.0 }
}

/// Rate, bytes per second of data, and depth, bytes of data, of a policer's token bucket, if one dropped these packets:
/// between the first loss and the last the receiver gets what the bucket lets through, and up to the first loss the
/// sender has sent the whole bucket and what flowed in (T. Flach et al., "An Internet-Wide Analysis of Traffic Policing",
/// SIGCOMM 2016, section 3.1). `None` with fewer than two losses.
pub(crate) fn policing(trace: &PacketTrace) -> Option<(f64, f64)> {
    let known = || trace.pieces.iter().filter(|piece| piece.sent != Nanos::NEVER);
    // Data that was sent later may come earlier in the sequence.
    let order = |piece: &&Piece| (piece.sent, piece.start);
    let lost = || known().filter(|piece| piece.lost());
    let (one, other) = (lost().min_by_key(order)?, lost().max_by_key(order)?);
    let (first, last) = (order(&one), order(&other));
    let took = other.sent.saturating_sub(one.sent).as_secs_f64();
    let passed = known().filter(|piece| !piece.lost() && (first..last).contains(&order(piece)));
    // Retransmissions sent in between that were not lost again passed the bucket too.
    let resent = lost().filter(|piece| piece.resent_at > one.sent && piece.resent_at < other.sent);
    let bytes: u64 = passed.chain(resent).map(|piece| u64::from(piece.len)).sum();
    let rate = bytes as f64 / took;
    let begin = trace.sends.first()?.at;
    let before: u64 = known().filter(|piece| order(piece) < first).map(|piece| u64::from(piece.len)).sum();
    let depth = before as f64 - rate * one.sent.saturating_sub(begin).as_secs_f64();
    (rate.is_finite() && rate > 0.0).then_some((rate, depth.max(f64::from(trace.mss))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_trace::SentPacket;

    /// Pieces of 1000 bytes, in the order of the data: time of the first transmission, and of the retransmission of a lost
    /// one, milliseconds.
    fn trace(pieces: &[(u64, Option<u64>)]) -> PacketTrace {
        let at = Nanos::from_millis;
        let piece = |(index, &(sent, resent)): (usize, &(u64, Option<u64>))| Piece {
            sent: at(sent),
            sent_by: at(sent),
            start: 1000 * index as u64,
            len: 1000,
            number: 0,
            wire: 1040,
            resent: u32::from(resent.is_some()),
            resent_at: at(resent.unwrap_or(0)),
            resent_stamp: None,
            delivered: at(1000),
            spurious: false,
            prompt: true,
            epoch: None,
        };
        let begin = pieces.iter().map(|(sent, _)| at(*sent)).min().unwrap_or_default();
        let sent = SentPacket {
            at: begin,
            len: 1000,
            flight: 1000,
            end: 1000,
            new: true,
            short: false,
            acks_before: 0,
        };
        PacketTrace {
            pieces: pieces.iter().enumerate().map(piece).collect(),
            sends: vec![sent],
            mss: 1000,
            ..PacketTrace::default()
        }
    }

    #[test]
    fn a_policer_passes_its_rate_between_the_first_loss_and_the_last() {
        // Five packets pass at once, those at 20, 30 and 40 ms pass, those at 10 and 50 ms are lost.
        let mut pieces = vec![(0, None); 5];
        pieces.extend([(10, Some(200)), (20, None), (30, None), (40, None), (50, Some(200))]);
        // 3000 bytes in 40 ms are 75 000 bytes/s, of which 750 flowed in during the first 10 ms: 5000 - 750 bytes.
        assert_eq!(policing(&trace(&pieces)), Some((75_000.0, 4250.0)));
        // If the first is retransmitted at 35 ms, 4000 bytes pass in these 40 ms: 100 000 bytes/s.
        pieces[5].1 = Some(35);
        assert_eq!(policing(&trace(&pieces)), Some((100_000.0, 4000.0)));
    }

    #[test]
    fn the_first_and_the_last_loss_are_those_in_time() {
        // As above, but the two lost packets have changed their places in the data.
        let mut pieces = vec![(0, None); 5];
        pieces.extend([(50, Some(200)), (20, None), (30, None), (40, None), (10, Some(200))]);
        assert_eq!(policing(&trace(&pieces)), Some((75_000.0, 4250.0)));
    }

    #[test]
    fn one_loss_shows_no_policer() {
        assert_eq!(policing(&trace(&[(0, None), (10, Some(200)), (20, None)])), None);
    }
}
