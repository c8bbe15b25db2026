//! The sender's view of a connection captured elsewhere.
//!
//! Every estimator wants to know when data left the sender and when its acknowledgement came back. Away from the
//! sender a capture shows neither, but it can be moved there. What the receiver sends reaches the sender a near half
//! of the round trip later: the shortest time from an acknowledgement to the first packet that echoes its time stamp,
//! as in passive ping (Nichols' `pping`; Strowes 2013). Data left the sender when its own time stamp says. The two
//! clocks share no zero, but the delay of the packet that was fastest is known to hold no queue, and every other
//! one's excess over it is queueing ahead of the capture (Moon, Skelly and Towsley 1999). A stamp tells the time to a
//! tick only: packets are put at the end of theirs, so that a wait is never taken for longer than it was.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;

use crate::flows::{Flow, Packet, Side};

/// How the sender's times in a trace were come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// As captured.
    #[default]
    AtSender,
    /// Moved by the sender's time stamps, which tell times to this.
    Stamped(Nanos),
    /// Moved by a constant: queueing ahead of the capture does not show.
    Shifted,
}

impl View {
    /// How much later than told a packet may not have been sent, but how much earlier it may.
    pub(crate) fn resolution(self) -> Nanos {
        match self {
            Self::Stamped(tick) => tick,
            Self::AtSender | Self::Shifted => Nanos::ZERO,
        }
    }
}

/// Moves the times of `flow` to where the data's `sender` is. `near` is the near half of the handshake's round trip,
/// `full` the payload of a full segment: smaller ones are faster through the bottleneck and no measure for others.
/// `None`, and nothing moved, where neither that nor time stamps tell how far away it is.
pub(crate) fn move_to_sender(flow: &mut Flow, sender: Side, near: Option<Nanos>, full: u32) -> Option<View> {
    let is_full = |packet: &Packet| packet.side == sender && packet.payload >= full;
    let clock = Clock::of(flow, is_full, flow.clock_step());
    if let Some(clock) = &clock {
        for packet in flow.packets.iter_mut().filter(|packet| packet.side == sender) {
            packet.at = packet.at.saturating_sub(clock.excess(packet));
        }
    }
    // a packet that was moved forward was not released any later than it says
    let near = shortest_echo(flow, sender, is_full).or(near)?;
    for packet in flow.packets.iter_mut().filter(|packet| packet.side != sender) {
        packet.at = packet.at.saturating_add(near);
    }
    flow.packets.sort_by_key(|packet| packet.at);
    Some(clock.map_or(View::Shifted, |clock| View::Stamped(clock.blur)))
}

/// Shortest time from a packet of the receiver to one of the sender that echoes its time stamp, of `kind`.
///
/// Packets that share a stamp count from the first of them, so that the true time is never longer.
pub(crate) fn shortest_echo(flow: &Flow, sender: Side, kind: impl Fn(&Packet) -> bool) -> Option<Nanos> {
    /// Stamps that may be under way at once.
    const KEPT: usize = 4096;
    let mut stamped: BTreeMap<u32, Nanos> = BTreeMap::new();
    let mut order = std::collections::VecDeque::new();
    let mut shortest: Option<Nanos> = None;
    let mut packets: Vec<&Packet> =
        flow.packets.iter().filter(|packet| packet.timestamps.is_some()).collect();
    packets.sort_by_key(|packet| packet.at);
    for packet in packets {
        let Some((value, echo)) = packet.timestamps else { continue };
        if packet.side != sender {
            stamped.entry(value).or_insert_with(|| {
                order.push_back(value);
                packet.at
            });
            if order.len() > KEPT {
                order.pop_front().map(|oldest| stamped.remove(&oldest));
            }
        } else if let Some(at) = stamped.get(&echo).filter(|_| kind(packet)) {
            let took = packet.at.saturating_sub(*at);
            shortest = Some(shortest.map_or(took, |least| least.min(took)));
        }
    }
    shortest
}

/// The clock of the sender's time stamps, set to the capture's by the data that was fastest.
struct Clock {
    tick: Nanos,
    /// What is not known of a packet's delay: the tick, and the step of the capture's clock.
    blur: Nanos,
    /// The first stamp, and the capture's time less the fastest delay then.
    zero: (u32, i128),
}

impl Clock {
    fn of(flow: &Flow, is_full: impl Fn(&Packet) -> bool, step: Nanos) -> Option<Self> {
        let data = || {
            let full = flow.packets.iter().filter(|packet| is_full(packet));
            full.filter_map(|packet| Some((packet.at, packet.timestamps?.0)))
        };
        let tick = tick(data().min()?, data().max()?)?;
        let (_, first) = data().next()?;
        let zero = data().map(|(at, stamp)| i128::from(at.0) - since(first, stamp, tick)).min()?;
        Some(Self { tick, blur: tick.saturating_add(step), zero: (first, zero) })
    }

    /// How much longer than the fastest packet this one took to the point of capture, at least.
    fn excess(&self, packet: &Packet) -> Nanos {
        let Some((stamp, _)) = packet.timestamps else { return Nanos::ZERO };
        let sent = self.zero.1 + since(self.zero.0, stamp, self.tick) + i128::from(self.blur.0);
        Nanos(u64::try_from(i128::from(packet.at.0) - sent).unwrap_or(0))
    }
}

fn since(first: u32, stamp: u32, tick: Nanos) -> i128 {
    i128::from(stamp.wrapping_sub(first) as i32) * i128::from(tick.0)
}

/// How often the clock behind two stamps ticks: one of the rates in use, as queueing between the two changes what the
/// stamps seem to say (RFC 7323, section 5.4: a tick between 1 ms and 1 s; Linux may count microseconds).
fn tick(first: (Nanos, u32), last: (Nanos, u32)) -> Option<Nanos> {
    const TICKS: [Nanos; 5] =
        [Nanos(1_000), Nanos(1_000_000), Nanos(4_000_000), Nanos(10_000_000), Nanos(100_000_000)];
    /// So many ticks tell one rate from another.
    const FEW: i32 = 8;
    const LIKE: f64 = 1.5;
    let ticks = last.1.wrapping_sub(first.1) as i32;
    if ticks < FEW {
        return None;
    }
    let seems = last.0.saturating_sub(first.0).0 as f64 / f64::from(ticks);
    TICKS.into_iter().find(|tick| (1.0 / LIKE..LIKE).contains(&(seems / tick.0 as f64)))
}
