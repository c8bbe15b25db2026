//! Properties of a whole capture that limit what it shows, one sentence each.

use firstflight_contract::Nanos;

use crate::flows::Flow;
use crate::observed::Connection;
use crate::packet::Flags;

/// Packets that stand in the file after later ones of their connection. The times of steps of the clock are corrected.
pub(crate) fn disorder(flows: &[Flow]) -> Option<String> {
    let of = |flow: &Flow| {
        let mut latest = Nanos::ZERO;
        let late = flow.packets.iter().filter(|packet| {
            latest = latest.max(packet.at);
            packet.at < latest
        });
        late.count()
    };
    let late: usize = flows.iter().map(of).sum();
    match late {
        0 => None,
        1 => Some("one packet stands in the file behind later ones; it is sorted by its time".into()),
        late => Some(format!(
            "{late} packets stand in the file behind later ones; they are sorted by their times"
        )),
    }
}

/// Connections of which one direction was captured only.
pub(crate) fn one_way(flows: &[Flow]) -> Vec<String> {
    let alone = |flow: &&Flow| {
        let first = flow.packets.first();
        first.is_some_and(|first| {
            flow.packets.len() > 2 && flow.packets.iter().all(|packet| packet.side == first.side)
        })
    };
    // Data bytes that the missing direction carried, as far as acknowledgements show.
    let acknowledged = |flow: &Flow| {
        let with_ack = || flow.packets.iter().filter(|packet| packet.flags.has(Flags::ACK));
        let acks = || with_ack().map(|packet| packet.ack);
        acks().max().unwrap_or(0) - acks().min().unwrap_or(0)
    };
    // A request and the acknowledgements of its answer lack the answer.
    let has_data = |flow: &&Flow| {
        let carried: u64 = flow.packets.iter().map(|packet| u64::from(packet.payload)).sum();
        carried > 0 && carried >= acknowledged(flow)
    };
    let name = |flow: &Flow| {
        let side = flow.packets[0].side as usize;
        format!("{} > {}", flow.ends[side], flow.ends[1 - side])
    };
    let sentence = |which: Vec<&Flow>, captured: &str, missing: &str| {
        let first = which.first()?;
        let more = match which.len() {
            1 => String::new(),
            count => format!(" and {} more connections", count - 1),
        };
        Some(format!(
            "{}{more}: only this direction was captured, with {captured}; {missing} of the other direction; expected a \
             capture of both directions",
            name(first)
        ))
    };
    let (data, others): (Vec<&Flow>, Vec<&Flow>) = flows.iter().filter(alone).partition(has_data);
    let acks = others.into_iter().filter(|flow| acknowledged(flow) > 0).collect();
    [
        sentence(data, "the data", "it lacks the acknowledgements"),
        sentence(acks, "the acknowledgements", "it lacks the data"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Connections whose full segments are assumed.
pub(crate) fn segments(connections: &[Connection]) -> Option<String> {
    // The size of a single packet does not matter.
    let assumed = |one: &&Connection| one.trace.mss_assumed && one.trace.end() > u64::from(one.trace.mss);
    let first = connections.iter().find(assumed)?;
    let more = match connections.iter().filter(assumed).count() {
        1 => String::new(),
        count => format!(" and {} more connections", count - 1),
    };
    Some(format!(
        "{} > {}{more}: the capture lacks the handshake, and no packet shows the size of a full segment; {} bytes are assumed, as \
         on Ethernet",
        first.sender, first.receiver, first.trace.mss
    ))
}

/// Connections that carried several transfers with pauses between, of which the first one stands for the connection.
pub(crate) fn pauses(connections: &[Connection]) -> Option<String> {
    let paused = || connections.iter().filter_map(|one| Some((one, one.first.as_deref()?)));
    let (one, first) = paused().next()?;
    let more = match paused().count() {
        1 => String::new(),
        count => format!(" and {} more connections", count - 1),
    };
    Some(format!(
        "{} > {}{more}: the connection paused for a second or more with everything acknowledged; its first transfer, {} of {} bytes, is \
         compared with simulations",
        one.sender, one.receiver, first.observed.bytes, one.observed.bytes
    ))
}

/// Data packets longer than a segment: the capturing host joins or splits segments.
pub(crate) fn offload(connections: &[Connection]) -> Option<String> {
    let sends =
        || connections.iter().flat_map(|one| one.trace.sends.iter().map(|send| (send.len, one.trace.mss)));
    let long = sends().filter(|(len, mss)| len > mss).count();
    let all = sends().count();
    (long > 0).then(|| {
        format!(
            "{long} of {all} data packets are longer than a segment, as the capturing host splits or joins segments (TSO, \
             GRO): each counts as its segments, whose own times are unknown"
        )
    })
}

/// Packets that arrived after packets sent later, and not by a retransmission: the path reorders. A few show too little to be
/// simulated.
pub(crate) fn reordering(connections: &[Connection]) -> Option<String> {
    let seen = || connections.iter().filter_map(|one| one.observed.reordering.as_ref());
    let overtaken: u64 = seen().map(|one| one.packets).sum();
    let all: u64 = connections.iter().map(|one| one.observed.packets).sum();
    let late = seen().map(|one| one.late_s.1).max_by(f64::total_cmp)? * 1e3;
    let simulated = if connections.iter().any(Connection::shows_reordering) {
        "simulated paths do so too"
    } else {
        "these are too few to be simulated: simulated paths keep the order, and forecasts leave out the cost of reordering"
    };
    Some(format!(
        "{overtaken} of {all} data packets arrived after packets that were sent later, by up to {late:.1} ms, so the path \
         changes the order of packets; {simulated}"
    ))
}

/// Congestion marks that accurate ECN reports, unless there is certainly none.
pub(crate) fn marks(connections: &[Connection]) -> Option<String> {
    let seen = || connections.iter().filter_map(|one| one.observed.congestion_marks);
    let (count, marked) = (seen().count(), seen().map(|marks| marks.packets).sum::<u64>());
    let open = seen().any(|marks| !marks.exact);
    let (connections, reports) = match count {
        1 => ("one connection counts".into(), "it reports"),
        count => (format!("{count} connections count"), "they report"),
    };
    let more = if open {
        ", and maybe more: the number is not known without the handshake, or if acknowledgements report eight packets or more"
    } else {
        ""
    };
    (marked > 0 || open).then(|| {
        format!(
            "{connections} congestion marks (accurate ECN, RFC 9768): {reports} {marked} marked packets{more}"
        )
    })
}

/// Whether no connection shows the path, because the application of each had nothing to send for most of its time.
pub(crate) fn idle(connections: &[Connection]) -> Option<String> {
    let share = |connection: &Connection| {
        let seen = &connection.observed;
        let total = seen.application_limited.0 + seen.window_limited.0 + seen.congestion_limited.0;
        (total > 0).then(|| seen.application_limited.0 as f64 / total as f64)
    };
    let shares: Option<Vec<f64>> = connections.iter().map(share).collect();
    let least = shares?.into_iter().min_by(f64::total_cmp).filter(|least| *least > 0.5)?;
    let which = match connections.len() {
        1 => "the connection was".into(),
        count => format!("each of the {count} connections was"),
    };
    Some(format!(
        "{which} limited by its application for at least {:.0} % of its time, so the capture hardly shows what the path can \
         carry; expected a bulk transfer, of 1 MB or more",
        (least * 100.0).floor()
    ))
}
