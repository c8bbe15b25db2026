//! Conversion of a capture taken elsewhere to the sender's times.
//!
//! Every estimator needs the time at which data left the sender and the time at which its acknowledgement
//! came back. A capture away from the sender shows neither, but its times can be moved there. Packets of the
//! receiver reach the sender one near half of the round trip later: the shortest time from an acknowledgement
//! to the first packet that echoes its time stamp, as in passive ping (Nichols' `pping`; Strowes 2013). Data
//! left the sender at the time of its own time stamp. The two clocks have different origins, but the fastest
//! packet is known to have met no queue, and the excess delay of every other packet is queueing ahead of the
//! capture (Moon, Skelly and Towsley 1999). A stamp has the resolution of a tick: packets are placed at the
//! end of theirs, so that a wait is never overestimated.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;

use crate::flows::{Epoch, Flow, Packet};
use crate::side::Side;
use crate::stamps::{since, tick_like, ticks};

/// Origin of the sender's times in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// As captured.
    #[default]
    AtSender,
    /// Moved by the sender's time stamps, with this resolution.
    Stamped(Nanos),
    /// Moved by a constant: queueing ahead of the capture is invisible.
    Shifted,
}

impl View {
    /// Uncertainty of a transmission time: a packet may have been sent earlier by this, but not later.
    pub(crate) fn resolution(self) -> Nanos {
        match self {
            Self::Stamped(tick) => tick,
            Self::AtSender | Self::Shifted => Nanos::ZERO,
        }
    }
}

/// Moves the times of `flow` to the `sender` of the data. `near` is the near half of the handshake's round
/// trip, `full` the payload of a full segment; smaller ones pass the bottleneck faster and are no measure for
/// others. Returns `None` and moves nothing if neither `near` nor time stamps give the distance to the
/// sender.
pub(crate) fn move_to_sender(flow: &mut Flow, sender: Side, near: Option<Nanos>, full: u32) -> Option<View> {
    let is_full = |packet: &Packet| packet.side == sender && packet.payload >= full;
    let clock = Clock::of(flow, is_full, flow.clock_step());
    if let Some(clock) = &clock {
        for packet in flow.packets.iter_mut().filter(|packet| packet.side == sender) {
            packet.at = packet.at.saturating_sub(clock.excess(packet));
        }
    }
    // a packet that was moved forward was not released any later than its new time
    let near = shortest_echo(flow, sender, |_| true, is_full).or(near)?;
    for packet in flow.packets.iter_mut().filter(|packet| packet.side != sender) {
        packet.at = packet.at.saturating_add(near);
    }
    flow.packets.sort_by_key(|packet| packet.at);
    Some(clock.map_or(View::Shifted, |clock| View::Stamped(clock.blur)))
}

/// Maximum number of time stamps in transit; the echo of an older one is no sample.
const MAX_STAMPS: usize = 4096;

/// Shortest time from a packet of the receiver that satisfies `echoed` to a packet of the sender that echoes its
/// time stamp and satisfies `echo`.
///
/// Packets with equal stamps count from the first of them, so the result never underestimates the time. A time
/// that contains a step of the capture's clock does not count.
pub(crate) fn shortest_echo(
    flow: &Flow,
    sender: Side,
    echoed: impl Fn(&Packet) -> bool,
    echo: impl Fn(&Packet) -> bool,
) -> Option<Nanos> {
    let mut stamped: BTreeMap<u32, &Packet> = BTreeMap::new();
    let mut order = std::collections::VecDeque::new();
    let mut shortest: Option<Nanos> = None;
    let mut packets: Vec<&Packet> =
        flow.packets.iter().filter(|packet| packet.timestamps.is_some()).collect();
    packets.sort_by_key(|packet| packet.at);
    for packet in packets {
        let Some((value, of)) = packet.timestamps else { continue };
        if packet.side != sender {
            stamped.entry(value).or_insert_with(|| {
                order.push_back(value);
                packet
            });
            if order.len() > MAX_STAMPS {
                order.pop_front().map(|oldest| stamped.remove(&oldest));
            }
            continue;
        }
        let fits = |first: &&&Packet| first.epoch == packet.epoch && echoed(first) && echo(packet);
        if let Some(first) = stamped.get(&of).filter(fits) {
            let took = packet.at.saturating_sub(first.at);
            shortest = Some(shortest.map_or(took, |least| least.min(took)));
        }
    }
    shortest
}

/// Clock of the sender's time stamps, aligned with the capture's clock by the fastest data packet.
struct Clock {
    tick: Nanos,
    /// Uncertainty of a delay: one tick plus the step of the capture's clock.
    blur: Nanos,
    /// First stamp.
    first: u32,
    /// For each epoch, the capture's time minus the fastest delay at the first stamp.
    zeros: BTreeMap<Epoch, i128>,
}

impl Clock {
    fn of(flow: &Flow, is_full: impl Fn(&Packet) -> bool, step: Nanos) -> Option<Self> {
        let data = || {
            let full = flow.packets.iter().filter(|packet| is_full(packet));
            full.filter_map(|packet| Some((packet.at, packet.timestamps?.0, packet.epoch)))
        };
        let times = || data().map(|(at, stamp, _)| (at, stamp));
        let tick = tick(times().min()?, times().max()?)?;
        let (_, first, _) = data().next()?;
        let mut zeros = BTreeMap::new();
        for (at, stamp, epoch) in data() {
            let zero = i128::from(at.0) - since(first, stamp, tick);
            zeros.entry(epoch).and_modify(|least: &mut i128| *least = zero.min(*least)).or_insert(zero);
        }
        // a step was measured to about a tick: an epoch whose fastest packet is later than that had a standing queue
        let least = *zeros.values().min()?;
        for zero in zeros.values_mut().filter(|zero| **zero > least + i128::from(tick.0)) {
            *zero = least;
        }
        Some(Self { tick, blur: tick.saturating_add(step), first, zeros })
    }

    /// Minimum excess of this packet's delay, from the sender to the point of capture, over that of the
    /// fastest packet.
    fn excess(&self, packet: &Packet) -> Nanos {
        let (Some((stamp, _)), Some(zero)) = (packet.timestamps, self.zeros.get(&packet.epoch)) else {
            return Nanos::ZERO;
        };
        let sent = zero + since(self.first, stamp, self.tick) + i128::from(self.blur.0);
        Nanos(u64::try_from(i128::from(packet.at.0) - sent).unwrap_or(0))
    }
}

/// Tick of the clock behind two stamps: a nominal one, since queueing between the two packets distorts the
/// measured tick.
fn tick(first: (Nanos, u32), last: (Nanos, u32)) -> Option<Nanos> {
    /// Number of ticks needed to distinguish the rates.
    const FEW: i32 = 8;
    let ticks = ticks(first.1, last.1);
    if ticks < FEW {
        return None;
    }
    tick_like(last.0.saturating_sub(first.0).0 as f64 / f64::from(ticks))
}
