//! A pipe: a path whose round trips and losses a case states, around a controller that always has data.
//!
//! Packets leave as soon as the window has room, and are acknowledged a round trip later. Round trips and losses depend on the flight
//! of a packet: the first flight is flight 0, and a packet that an acknowledgement of flight n releases is of flight n + 1.

use std::collections::VecDeque;

use firstflight_contract::Nanos;

use crate::controller::{Broken, Call, Controller, Packet};

/// Payload bytes of a packet.
pub(crate) const MSS: u64 = 1200;
/// Packets of the first flight.
pub(crate) const FIRST: u64 = 10;
/// Packets after which a case ends at the latest.
const MOST: u64 = 200_000;

/// The path of a case.
pub(crate) struct Path<'a> {
    /// Round trip of a packet of a flight.
    pub(crate) rtt: &'a dyn Fn(u32) -> Nanos,
    /// Packets an acknowledgement covers.
    pub(crate) each: usize,
    /// Number of the packet within its flight that is lost, if one is.
    pub(crate) lost: &'a dyn Fn(u32) -> Option<u64>,
    /// All packets of a flight are lost: a persistent congestion.
    pub(crate) silent: &'a dyn Fn(u32) -> bool,
}

/// Growth of the window while the packets of a flight were acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Flight {
    /// Window before the first acknowledgement of the flight, bytes.
    pub(crate) before: u64,
    /// Window after the last one, bytes.
    pub(crate) after: u64,
    /// Acknowledged bytes.
    pub(crate) acked: u64,
    /// Largest growth by one acknowledgement, bytes.
    pub(crate) most: u64,
    /// Growth by the acknowledgement of the eighth sample and the earlier ones, bytes, with the bytes that these acknowledge.
    pub(crate) early: (u64, u64),
    /// Growth by later acknowledgements, bytes, with the bytes that these acknowledge.
    pub(crate) late: (u64, u64),
    /// The controller said that its start-up is over.
    pub(crate) over: bool,
}

impl Flight {
    /// Growth in parts of the acknowledged bytes.
    pub(crate) fn share(&self) -> f64 {
        self.after.saturating_sub(self.before) as f64 / self.acked.max(1) as f64
    }

    /// Growth after the eighth sample, in parts of the bytes acknowledged there; `None` if nothing was.
    pub(crate) fn late_share(&self) -> Option<f64> {
        (self.late.1 > 0).then(|| self.late.0 as f64 / self.late.1 as f64)
    }
}

#[derive(Clone, Copy)]
struct Out {
    packet: Packet,
    flight: u32,
    back: Nanos,
    lost: bool,
}

/// Samples after which HyStart++ judges a round.
const SAMPLES: u64 = 8;

/// Runs a controller over the path for `flights` flights.
///
/// # Errors
/// [`Broken`] if the controller gives no answer.
pub(crate) fn run(
    controller: &mut dyn Controller,
    path: &Path<'_>,
    flights: u32,
) -> Result<Vec<Flight>, Broken> {
    let mut out: VecDeque<Out> = VecDeque::new();
    let mut results: Vec<Flight> = vec![];
    let mut indices: Vec<u64> = vec![];
    let (mut next, mut window, mut now) = (0_u64, FIRST * MSS, Nanos::ZERO);
    let (mut min_rtt, mut srtt) = (Nanos::NEVER, Nanos::ZERO);
    let mut samples = 0;
    let mut flight = 0;
    loop {
        // The window is filled.
        let mut sent = vec![];
        let mut in_flight: u64 = out.iter().map(|out| out.packet.bytes).sum();
        while in_flight + MSS <= window && next < MOST {
            indices.resize(flight as usize + 1, 0);
            let index = indices[flight as usize];
            indices[flight as usize] += 1;
            let packet = Packet { number: next, bytes: MSS, sent_at: now };
            let lost = (path.silent)(flight) || (path.lost)(flight) == Some(index);
            // An acknowledgement does not overtake another.
            let back = (now + (path.rtt)(flight)).max(out.back().map_or(Nanos::ZERO, |last| last.back));
            out.push_back(Out { packet, flight, back, lost });
            sent.push(packet);
            next += 1;
            in_flight += MSS;
        }
        // The next acknowledgement: up to `each` packets of a flight that arrived.
        let Some(first) = out.iter().position(|out| !out.lost) else {
            // Nothing that is out arrives: three probe timeouts later, all of it is a persistent congestion.
            let Some(last) = out.back().copied() else { return Ok(results) };
            let lost: Vec<Packet> = out.drain(..).map(|out| out.packet).collect();
            let before: u64 = lost.iter().map(|packet| packet.bytes).sum();
            now = last.back + Nanos(srtt.0 * 9);
            flight = last.flight + 1;
            let call = Call {
                at: now,
                mss: MSS,
                sent,
                lost,
                before,
                sent_total: next * MSS,
                min_rtt,
                srtt,
                persistent: true,
                next,
                last_sent_at: now,
                ..Call::default()
            };
            window = controller.answer(&call)?.cwnd;
            if flight >= flights || next >= MOST {
                return Ok(results);
            }
            continue;
        };
        let of = out[first].flight;
        if of >= flights || next >= MOST {
            return Ok(results);
        }
        let count =
            out.iter().skip(first).take_while(|out| !out.lost && out.flight == of).take(path.each).count();
        let acked: Vec<Out> = out.drain(first..first + count).collect();
        let newest = acked[count - 1];
        // RFC 9002 section 6.1.1: three later packets are acknowledged.
        let is_lost = |out: &Out| out.lost && out.packet.number + 3 <= newest.packet.number;
        let lost: Vec<Packet> = out.iter().filter(|out| is_lost(out)).map(|out| out.packet).collect();
        out.retain(|out| !is_lost(out));
        now = newest.back;
        let rtt = now.saturating_sub(newest.packet.sent_at);
        min_rtt = min_rtt.min(rtt);
        srtt = if srtt == Nanos::ZERO { rtt } else { Nanos((srtt.0 * 7 + rtt.0) / 8) };
        let after: u64 = out.iter().map(|out| out.packet.bytes).sum();
        let bytes: u64 = acked.iter().map(|out| out.packet.bytes).sum();
        let lost_bytes: u64 = lost.iter().map(|packet| packet.bytes).sum();
        if results.len() <= of as usize {
            results.resize(of as usize + 1, Flight { before: window, ..Flight::default() });
            samples = 0;
        }
        samples += 1;
        let last_sent_at = out.back().map_or(now, |out| out.packet.sent_at);
        let call = Call {
            at: now,
            mss: MSS,
            sent,
            acked: acked.iter().map(|out| out.packet).collect(),
            lost,
            before: after + bytes + lost_bytes,
            after,
            sent_total: next * MSS,
            rtt: Some(rtt),
            min_rtt,
            srtt,
            next,
            last_sent_at,
            ..Call::default()
        };
        let answer = controller.answer(&call)?;
        let grown = answer.cwnd.saturating_sub(window);
        let result = &mut results[of as usize];
        result.acked += bytes;
        result.most = result.most.max(grown);
        let part = if samples <= SAMPLES { &mut result.early } else { &mut result.late };
        *part = (part.0 + grown, part.1 + bytes);
        result.after = answer.cwnd;
        result.over |= answer.over == Some(true);
        window = answer.cwnd;
        flight = of + 1;
    }
}
