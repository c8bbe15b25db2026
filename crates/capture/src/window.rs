//! Congestion windows of a sender, rebuilt from its packets: the two of which TCP SPAND's performance gateway keeps account
//! (Y. Zhang, L. Qiu, S. Keshav, "Speeding Up Short Data Transfers: Theory, Architectural Support, and Simulation Results",
//! NOSSDAV 2000, section "Collecting performance information").
//!
//! A sender that has data fills its window, so that the window is the largest flight of its latest round trip. In slow start
//! the window also grows by the last acknowledgements, after which there may be no data to fill it: there the rule of Linux is
//! followed, by which an acknowledged segment adds one while the window is less than twice the largest flight, until
//! HyStart's rules end slow start. After a loss that no new data followed, half of the window before it
//! is left, the least that RFC 5681 allows a sender to keep and less than Cubic's 0.7. A sender without data, or with a full
//! receive window, shows less than its window: the results are lower bounds.

use firstflight_contract::Nanos;

use crate::packet_trace::{PacketTrace, SentPacket};
use crate::startup::{ExitReason, ObservedExit};

/// Congestion windows of a connection, full-sized packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    /// When the sender detected its latest loss in congestion avoidance; `None` without one. A loss that ends slow start is
    /// none: the window then exceeds what the path holds.
    pub avoidance_loss: Option<f64>,
    /// At the end of the connection, or of its captured part.
    pub close: f64,
}

impl Windows {
    /// The congestion windows of a sender whose start-up ended so; `None` if no acknowledgement of data was captured.
    pub(crate) fn of(trace: &PacketTrace, exit: Option<&ObservedExit>) -> Option<Self> {
        let rtt = trace.min_rtt()?;
        let losses = episodes(trace);
        let flight_at = |loss: &Episode| largest_flight(trace, 0, loss.begin, rtt);
        let slow_start = slow_start(trace, rtt);
        // The window at which HyStart ended slow start before the first loss. A flight that went on doubling shows a sender without
        // HyStart.
        let hystart = losses.first().and_then(|loss| {
            let (at, window) = slow_start.end?;
            (at < trace.sends[loss.begin].at && flight_at(loss) <= MOST_GROWTH * window).then_some(window)
        });
        let ended_before = exit.is_some_and(|exit| exit.reason != ExitReason::Loss) || hystart.is_some();
        let at_loss = |loss: &Episode| match hystart {
            // There may have been no data to fill it.
            Some(window) if loss.begin == losses[0].begin => flight_at(loss).max(window),
            _ => flight_at(loss),
        };
        let in_avoidance = losses.get(usize::from(!ended_before)..).unwrap_or_default();
        let last_new = trace.sends.iter().rposition(|send| send.new)?;
        let close = match losses.last() {
            None if exit.is_none() => slow_start.window,
            None => largest_flight(trace, 0, last_new, rtt),
            Some(Episode { over: Some(over), .. }) if *over <= last_new => {
                largest_flight(trace, *over, last_new, rtt)
            }
            Some(loss) => at_loss(loss) / 2.0,
        };
        Some(Self { avoidance_loss: in_avoidance.last().map(at_loss), close })
    }
}

/// Growth of the flight, from the end of slow start to the loss, beyond which slow start has not ended: HyStart ends it, and the
/// loss is detected within two round trips, in which congestion avoidance adds some segments and slow start doubles the flight.
const MOST_GROWTH: f64 = 1.25;

/// A recovery from a loss, by places in [`PacketTrace::sends`].
struct Episode {
    /// The first retransmission.
    begin: usize,
    /// The first transmission after all data was acknowledged that had been sent before the recovery began (RFC 6675).
    over: Option<usize>,
}

fn episodes(trace: &PacketTrace) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = vec![];
    let mut recovery_point = None;
    let acknowledged =
        |send: &SentPacket| trace.acks[..send.acks_before as usize].last().map_or(0, |ack| ack.ack);
    for (at, send) in trace.sends.iter().enumerate() {
        if recovery_point.is_some_and(|point| acknowledged(send) >= point) {
            recovery_point = None;
            episodes.last_mut().expect("it has begun").over = Some(at);
        }
        if !send.new && recovery_point.is_none() {
            recovery_point = Some(send.end);
            episodes.push(Episode { begin: at, over: None });
        }
    }
    episodes
}

/// Largest flight within the round trip that ends with the last new data between transmissions `from` and `at`, full-sized
/// packets.
fn largest_flight(trace: &PacketTrace, from: usize, at: usize, rtt: Nanos) -> f64 {
    let mut new = trace.sends[from..=at].iter().rev().filter(|send| send.new).peekable();
    let since = new.peek().map_or(Nanos::ZERO, |last| last.at.saturating_sub(rtt));
    let flight = new.take_while(|send| send.at >= since).map(|send| send.flight).max().unwrap_or(0);
    flight as f64 / f64::from(trace.mss)
}

/// Linux's HyStart (S. Ha, I. Rhee, 2011), as far as acknowledgements show what ends slow start.
struct Hystart {
    least: Nanos,
    /// Begin and newest acknowledgement of the train, and the data by whose acknowledgement the round ends.
    begin: Nanos,
    newest: Nanos,
    end: u64,
    /// Round-trip times of the round: their number, and the least.
    samples: u32,
    round: Nanos,
}

impl Hystart {
    /// Window from which the rules hold, segments.
    const LOW: f64 = 16.0;
    /// Round-trip times of a round that the delay rule takes.
    const SAMPLES: u32 = 8;
    /// Bounds of the rise over the least round-trip time, an eighth of it, by which the delay rule ends slow start.
    const RISE: [Nanos; 2] = [Nanos::from_millis(4), Nanos::from_millis(16)];
    /// Longest gap within a train of acknowledgements.
    const GAP: Nanos = Nanos::from_millis(2);

    fn new(least: Nanos) -> Self {
        let zero = Nanos::ZERO;
        Self { least, begin: zero, newest: zero, end: 0, samples: 0, round: Nanos::NEVER }
    }

    /// Whether an acknowledgement of all data before `acknowledged` ends slow start; `sent` is the end of the data sent.
    fn ends(&mut self, at: Nanos, acknowledged: u64, sent: u64, rtt: Option<Nanos>) -> bool {
        if acknowledged > self.end {
            (self.begin, self.newest, self.end) = (at, at, sent);
            (self.samples, self.round) = (0, Nanos::NEVER);
        }
        let mut found = false;
        if at.saturating_sub(self.newest) <= Self::GAP {
            self.newest = at;
            // A sender that is not paced; a paced one waits for the whole round trip.
            found |= at.saturating_sub(self.begin).0 > self.least.0 / 2;
        }
        if let Some(rtt) = rtt.filter(|_| self.samples < Self::SAMPLES) {
            (self.samples, self.round) = (self.samples + 1, self.round.min(rtt));
        } else {
            let rise = Nanos(self.least.0 / 8).clamp(Self::RISE[0], Self::RISE[1]);
            found |= rtt.is_some() && self.round > self.least.saturating_add(rise);
        }
        found
    }
}

/// Slow start by the rules of Linux.
pub(crate) struct SlowStart {
    /// Window after the last acknowledgement, full-sized packets.
    window: f64,
    /// Time and window at which HyStart ended it.
    pub(crate) end: Option<(Nanos, f64)>,
}

/// Slow start of a sender whose least round-trip time is `rtt`, as if it never lost a packet.
pub(crate) fn slow_start(trace: &PacketTrace, rtt: Nanos) -> SlowStart {
    let mss = f64::from(trace.mss);
    let mut hystart = Hystart::new(rtt);
    // Before the first acknowledgement the window is at least the first flight.
    let (mut window, mut end) = (0.0_f64, None);
    // Largest flight of this round, and the data by whose acknowledgement the round ends.
    let (mut largest, mut round) = (0.0_f64, 0);
    let (mut acknowledged, mut sent) = (0, 0);
    let mut sends = trace.sends.iter().peekable();
    for (number, ack) in trace.acks.iter().enumerate() {
        while let Some(send) = sends.next_if(|send| send.acks_before as usize <= number) {
            let flight = send.flight as f64 / mss;
            if acknowledged >= round || flight > largest {
                (largest, round) = (flight, send.end);
            }
            window = window.max(flight);
            sent = send.end;
        }
        acknowledged = acknowledged.max(ack.ack);
        if let Some((_, newest)) = ack.pieces {
            let ends = hystart.ends(ack.at, acknowledged, sent, trace.pieces[newest as usize].rtt());
            if ends && window >= Hystart::LOW && end.is_none() {
                end = Some((ack.at, window));
            }
        }
        if end.is_none() && window < 2.0 * largest {
            window += (ack.bytes as f64 / mss).ceil();
        }
    }
    SlowStart { window, end }
}
