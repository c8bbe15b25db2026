//! Analysis of one flow: from its packets to a [`Connection`].

use crate::seconds::Seconds;
use firstflight_contract::Nanos;

use crate::carried::first_flight;
use crate::clock;
use crate::flows::{Flow, Packet};
use crate::limits::Limits;
use crate::observed::{Connection, Observed};
use crate::packet::Flags;
use crate::packet_trace::{Cut, MAX_PIECES, MAX_RETRANSMITTED, PacketTrace, Piece};
use crate::registers::Registers;
use crate::reordering::Reordering;
use crate::series;
use crate::side::Side;
use crate::source::Source;
use crate::startup::startup;
use crate::vantage::Vantage;
use crate::view::{move_to_sender, shortest_echo};

impl Connection {
    /// Analyses a flow. `start` is the time of the capture's first packet. `None` if no data packet is
    /// usable.
    pub(crate) fn new(
        flow: &mut Flow,
        start: Nanos,
        budget: &mut usize,
        warnings: &mut Vec<String>,
    ) -> Option<Self> {
        let side = flow.sender();
        let clock_step = flow.clock_step();
        let mut trace = PacketTrace::new(flow, side, budget);
        let mut handshake = Handshake::find(flow, side);
        if let Some(handshake) =
            handshake.as_mut().filter(|handshake| handshake.is_falsified(flow, side, &trace))
        {
            handshake.halves = None;
            clock::set_apart(flow, Flags::SYN);
            warnings.push(format!(
                "{} - {}: the handshake's round trip is not used: during it the capture's clock lost {:.1} ms against \
                 the opener's time stamps, as a clock does that is set back",
                flow.ends[0],
                flow.ends[1],
                handshake.lost.as_secs_f64() * 1e3
            ));
        }
        let halves = handshake.and_then(|handshake| handshake.halves);
        let vantage = vantage(flow, side, halves, &trace);
        if matches!(vantage, Vantage::Middle | Vantage::Receiver)
            && let Some(view) = move_to_sender(flow, side, halves.map(|(near, _)| near), trace.mss)
        {
            *budget += std::mem::take(&mut trace).pieces.len();
            trace = PacketTrace { view, ..PacketTrace::new(flow, side, budget) };
            handshake = Handshake::find(flow, side);
        }
        trace.clock_step = clock_step;
        trace.datagrams = std::mem::take(&mut flow.datagrams[side as usize]);
        trace.sends.first()?;
        let (sender, receiver) = (flow.ends[side as usize], flow.ends[side.other() as usize]);
        let client = flow.ends[flow.client as usize].ip();
        let source = flow.source;
        // A log without frames shows no more than datagrams do.
        let form = if flow.counts_probes { Source::Datagrams } else { source };
        warnings
            .extend(left_out(&trace, start).into_iter().map(|why| format!("{sender} > {receiver}: {why}")));
        let one_sided = one_sided_handshake(flow);
        let bytes = handshake.map(|handshake| handshake.bytes);
        trace.handshake_bytes = bytes.or(one_sided.map(|(_, bytes)| bytes)).unwrap_or(0);
        let established = handshake.map_or(flow.packets[0].at, |handshake| handshake.established);
        let handshake_rtt = halves.map(|(near, far)| match vantage {
            Vantage::Sender => far,
            Vantage::Receiver => near,
            Vantage::Middle | Vantage::Unknown => near.saturating_add(far),
        });
        let handshake_rtt = handshake_rtt.or(one_sided.map(|(rtt, _)| rtt));
        let observed =
            observe(&trace, start, established, handshake.is_some(), handshake_rtt, flow.registers);
        let first = first_transfer(&trace).map(|trace| {
            let observed =
                observe(&trace, start, established, handshake.is_some(), handshake_rtt, flow.registers);
            Box::new(Self { sender, receiver, client, vantage, source, form, observed, trace, first: None })
        });
        Some(Self { sender, receiver, client, vantage, source, form, observed, trace, first })
    }
}

/// Idle time after which new data is another transfer: the window of most senders then begins anew (RFC 9293, section 3.8.6.2; RFC 5681, section
/// 4.1: after a retransmission timeout, which is a second at first).
const IDLE: Nanos = Nanos::from_secs(1);
/// Least share of the data that the first transfer has, so that it stands for the connection.
const LEAST_SHARE: u64 = 4;

/// The packets of a connection up to its first pause with everything acknowledged; `None` if it has no such pause, or less than a
/// quarter of its data comes before.
fn first_transfer(trace: &PacketTrace) -> Option<PacketTrace> {
    let pauses = |place: &usize| {
        let (before, next) = (&trace.sends[*place - 1], &trace.sends[*place]);
        let acked = next.acks_before.checked_sub(1).map(|ack| &trace.acks[ack as usize]);
        acked.is_some_and(|ack| {
            ack.flight == 0 && next.new && next.at.saturating_sub(ack.at.max(before.at)) >= IDLE
        })
    };
    let place = (1..trace.sends.len()).find(pauses)?;
    let (end, until) = (trace.sends[place - 1].end, trace.sends[place].at);
    let (acks, pieces) =
        (trace.sends[place].acks_before as usize, trace.pieces.partition_point(|piece| piece.start < end));
    if LEAST_SHARE * end < trace.end() {
        return None;
    }
    let resent: Vec<Nanos> = trace.resent_times.iter().copied().filter(|at| *at < until).collect();
    Some(PacketTrace {
        pieces: trace.pieces[..pieces].to_vec(),
        acks: trace.acks[..acks].to_vec(),
        sends: trace.sends[..place].to_vec(),
        answered: None,
        resent_packets: resent.len() as u64,
        timeouts: trace.timeouts.min(resent.len() as u64),
        resent_times: resent,
        ..trace.clone()
    })
}

/// Sentences about what is left out of a connection, or assumed.
fn left_out(trace: &PacketTrace, start: Nanos) -> Vec<String> {
    let mut sentences = vec![];
    let since = |at: Nanos| at.saturating_sub(start).as_secs_f64();
    let packets = |count: u64, what: &str| match count {
        1 => format!("one {what}"),
        count => format!("{count} {what}s"),
    };
    if let Some(cut) = trace.cut {
        let from = since(trace.sends.last().map_or(start, |send| send.at));
        let why = match cut {
            Cut::Pieces => {
                format!("the capture has more than {MAX_PIECES} pieces of data from {from:.3} s on")
            }
            Cut::Retransmitted => {
                format!("more than {MAX_RETRANSMITTED} pieces are retransmitted from {from:.3} s on")
            }
        };
        sentences.push(format!("{why}; later packets are ignored"));
    }
    let seen = &trace.left_out;
    if seen.data > 0 {
        let what = packets(seen.data, "data packet");
        sentences.push(format!("{what} with an implausible sequence number left out"));
    }
    if seen.acks > 0 {
        let what = packets(seen.acks, "acknowledgement");
        sentences.push(format!("{what} of data that was never sent left out"));
    }
    if let Some((from, to)) = seen.pauses.first() {
        let more = match seen.pauses.len() - 1 {
            0 => String::new(),
            1 => " and another pause".into(),
            more => format!(" and {more} more pauses"),
        };
        sentences.push(format!(
            "a pause of {:.3} s at {:.3} s{more}, with data that was neither acknowledged nor retransmitted: an acknowledgement was \
             not captured, or the clock was set; the pause counts for no round trip and no limit",
            to.saturating_sub(*from).as_secs_f64(),
            since(*from)
        ));
    }
    if seen.missed_bytes > 0 {
        sentences.push(format!(
            "the capture misses {} bytes of data in a row; the parts before and after follow each other",
            seen.missed_bytes
        ));
    }
    if trace.missed > 0 {
        sentences.push(format!("the capture misses about {} data packets", trace.missed));
    }
    sentences
}

/// Handshake of a connection, from its three packets.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    established: Nanos,
    /// Round trips from the point of capture to the sender and to the receiver of the data; `None` if a SYN
    /// was retransmitted (Karn's rule applies to SYNs too) or the capture's clock stepped.
    halves: Option<(Nanos, Nanos)>,
    /// Time that the capture's clock lost against the opener's time stamps.
    lost: Nanos,
    /// Size of the IP packets of SYN and SYN-ACK, bytes.
    bytes: u32,
}

impl Handshake {
    fn find(flow: &Flow, sender: Side) -> Option<Self> {
        // those with the connection's numbers
        let own = |packet: &&Packet| flow.end(packet.side).syn().is_none_or(|syn| syn == packet.seq);
        let syns = || flow.packets.iter().filter(|packet| packet.flags.has(Flags::SYN)).filter(own);
        let syn = syns().find(|packet| !packet.flags.has(Flags::ACK))?;
        let answer = syns()
            .find(|packet| packet.flags.has(Flags::ACK) && packet.side != syn.side && packet.at >= syn.at)?;
        let follows =
            |packet: &&Packet| packet.side == syn.side && packet.at >= answer.at && packet.ack > answer.seq;
        let third = flow.packets.iter().filter(|packet| !packet.flags.has(Flags::SYN)).find(follows)?;
        let once = syns().count() == 2 && syn.epoch == third.epoch;
        let (to_answerer, to_opener) = (answer.at.saturating_sub(syn.at), third.at.saturating_sub(answer.at));
        let (established, near, far) = if syn.side == sender {
            (answer.at, to_opener, to_answerer)
        } else {
            (third.at, to_answerer, to_opener)
        };
        Some(Self {
            established,
            halves: once.then_some((near, far)),
            lost: clock::lost_between(flow, syn, third),
            bytes: syn.ip_len + answer.ip_len,
        })
    }

    /// Whether its round trip is shorter than all later ones because the capture's clock lost time during it. Before
    /// the answerer's second packet, its time stamps cannot confirm a step.
    fn is_falsified(&self, flow: &Flow, sender: Side, trace: &PacketTrace) -> bool {
        let later =
            || Some(shortest_echo(flow, sender, is_no_syn, is_no_syn)?.saturating_add(trace.min_rtt()?));
        let shorter = |(near, far): (Nanos, Nanos)| Some(later()?.saturating_sub(near.saturating_add(far)));
        self.lost > Nanos::ZERO && self.halves.and_then(shorter).is_some_and(|by| by.0 > self.lost.0 / 2)
    }
}

fn is_no_syn(packet: &Packet) -> bool {
    !packet.flags.has(Flags::SYN)
}

/// Round trip and handshake bytes if only the opener's packets were captured: one round trip lies between its
/// SYN and its next packet, wherever the capture was taken. The SYN-ACK is taken to be as long as the SYN.
fn one_sided_handshake(flow: &Flow) -> Option<(Nanos, u32)> {
    let [syn, third, ..] = &flow.packets[..] else { return None };
    let one_side = flow.packets.iter().all(|packet| packet.side == syn.side);
    let opens = syn.flags.has(Flags::SYN) && !syn.flags.has(Flags::ACK) && !third.flags.has(Flags::SYN);
    (one_side && opens && syn.epoch == third.epoch).then(|| (third.at.saturating_sub(syn.at), 2 * syn.ip_len))
}

/// Time within which a host answers a packet. A half of the round trip that is shorter is the host's own delay, however
/// short the other half is.
const HOST_DELAY: Nanos = Nanos::from_micros(100);

/// Point of capture, from the two halves of the round trip.
fn vantage(flow: &Flow, sender: Side, handshake: Option<(Nanos, Nanos)>, trace: &PacketTrace) -> Vantage {
    if let Some(vantage) = flow.vantage {
        return vantage;
    }
    let from_data = || Some((shortest_echo(flow, sender, |_| true, |_| true)?, trace.min_rtt()?));
    let Some((near, far)) = handshake.or_else(from_data) else { return Vantage::Unknown };
    let tenth = Nanos((near.0 + far.0) / 10);
    if near <= tenth {
        Vantage::Sender
    } else if far <= tenth {
        Vantage::Receiver
    } else if near <= HOST_DELAY {
        Vantage::Sender
    } else {
        Vantage::Middle
    }
}

fn observe(
    trace: &PacketTrace,
    start: Nanos,
    established: Nanos,
    handshake: bool,
    handshake_rtt: Option<Nanos>,
    registers: Option<Registers>,
) -> Observed {
    let since = |at: Nanos| at.saturating_sub(established);
    let first = trace.sends.first().map_or(established, |send| send.at);
    let end = trace.end();
    let completed = trace.acks.iter().find(|ack| ack.ack == end).map(|ack| since(ack.at));
    let rtts = || trace.pieces.iter().filter_map(Piece::rtt);
    let lost = trace.pieces.iter().filter(|piece| piece.lost()).count() as u64;
    let limits = Limits::of(trace);
    let spurious = trace.pieces.iter().filter(|piece| piece.resent > 0 && piece.spurious).count() as u64;
    Observed {
        established: established.saturating_sub(start),
        handshake,
        bytes: end,
        delivered_bytes: trace.acks.iter().map(|ack| ack.bytes).sum(),
        first_data: since(first),
        completion: completed,
        answered: trace.answered.map(since),
        handshake_rtt,
        rtt_span: rtts().min().zip(rtts().max()),
        packets: trace.pieces.len() as u64 + trace.resent_packets,
        retransmits: trace.resent_packets,
        spurious_retransmits: spurious,
        lost_packets: lost,
        reordering: Reordering::of(trace),
        timeouts: trace.timeouts,
        congestion_marks: trace.marks,
        mss: trace.mss,
        first_flight_packets: first_flight(trace),
        max_flight_bytes: trace.sends.iter().map(|send| send.flight).max().unwrap_or(0),
        application_limited: limits.application,
        window_limited: limits.receive_window,
        congestion_limited: limits.congestion_window,
        startup: startup(trace, established),
        registers,
        series: series::of(trace, established),
    }
}
