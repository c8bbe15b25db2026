//! The cases of ProbeBW and ProbeRTT.

use super::watched::{
    MSS, Watch, What, file, is_probe_bw, line, messages, payload, rates, seconds, watch, within,
};
use crate::cases::held::{Held, hold, hold_eq};
use firstflight_contract::Rate;
use firstflight_schemes::standalone::bbr3::State;

const DEEP: &str = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"4 BDP\"";
const SHALLOW: &str = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"0.3 BDP\"";

pub(super) fn bbr_05_up_ends_on_a_bandwidth_plateau() -> Held {
    let run = watch(&line(DEEP, "6 s", ""))?;
    let up = run.enters(State::Up, 0)?;
    let (state, end) = run.next(up)?;
    let view = run.rows[end].view;
    hold_eq!(state, State::Down);
    hold!(view.full_bw_now && view.full_bw_count == 3, "{view:?}");
    hold!(view.rounds >= run.rows[up].view.rounds + 3);
    hold!(run.rows[up..=end].iter().all(|row| row.what == What::Ack) && run.drops() == 0);
    Ok(run.told())
}

/// Messages of 12 Mbit/s over a link of 10, which has 100 Mbit/s once the first probe begins: the application then limits the sender
/// within the probe. The packets of these numbers are lost.
fn limited_probe(name: &str, drop: &[u64]) -> Result<(Watch, usize), String> {
    let rest = format!("rtt = \"50 ms\"\nbuffer = \"4000 packets\"\ndrop = {drop:?}");
    let traffic = |path: &str| messages(path, "9 s", "30 KB", "20 ms");
    let first = watch(&traffic(&format!("rate = \"10 Mbit/s\"\n{rest}").replace("\ndrop = []", "")))?;
    let at = seconds(first.rows[first.enters(State::Up, 0)?].at);
    rates(name, &[(0.0, 10.0), (at, 100.0)])?;
    let run = watch(&traffic(&format!("trace = \"{name}\"\n{rest}").replace("\ndrop = []", "")))?;
    let up = run.enters(State::Up, 0)?;
    // Once all that waited is sent, every sample shows the application's limit.
    let limited = run.find(up, |row| row.what == What::Ack && row.limited)?;
    hold_eq!(run.rows[limited].view.state, State::Up, "{:?}", run.states());
    Ok((run, limited))
}

pub(super) fn bbr_06_up_ends_on_losses_while_the_application_limits() -> Held {
    let (lossless, limited) = limited_probe("probe-06.csv", &[])?;
    // Five round trips after the application began to limit the sender, three packets of the 52 of a round trip are lost.
    let later = lossless.find(limited, |row| row.view.rounds == lossless.rows[limited].view.rounds + 5)?;
    let number = lossless.rows[later].sent / MSS + 10;
    let (run, limited) = limited_probe("probe-06.csv", &[number, number + 4, number + 8])?;
    let (state, end) = run.next(limited)?;
    hold_eq!((state, run.rows[end].what), (State::Down, What::Lost), "{:?}", run.states());
    hold!(!run.rows[end].view.full_bw_now);
    // The draft's pseudocode leaves the bound of an application-limited sender as it is.
    hold_eq!(run.rows[end].view.inflight_longterm, run.rows[end - 1].view.inflight_longterm);
    Ok(run.told())
}

pub(super) fn bbr_07_up_stays_while_the_application_limits() -> Held {
    let (run, limited) = limited_probe("probe-07.csv", &[])?;
    let left = run.rows[limited..].iter().position(|row| row.view.state != State::Up);
    let end = left.map_or(run.rows.len(), |left| limited + left);
    // ProbeRTT ends it, five seconds after the last minimum.
    if let Some(row) = run.rows.get(end) {
        hold_eq!(row.view.state, State::ProbeRtt, "{:?}", run.states());
    }
    hold!(run.rows[end - 1].view.rounds >= run.rows[limited].view.rounds + 20, "{:?}", run.states());
    hold_eq!(run.drops(), 0);
    Ok(run.told())
}

pub(super) fn bbr_08_down_ends_on_the_flight() -> Held {
    for path in [DEEP, SHALLOW] {
        let run = watch(&line(path, "6 s", ""))?;
        let up = run.enters(State::Up, 0)?;
        let down = run.enters(State::Down, up)?;
        hold_eq!(run.rows[down].view.pacing_gain, 900);
        let (state, end) = run.next(down)?;
        hold_eq!(state, State::Cruise, "{path}");
        let bound = |at: usize| run.rows[at].view.with_headroom.min(run.rows[at].view.target);
        hold!(run.rows[end].pipe <= bound(end), "{path}");
        for at in down + 1..end {
            hold!(
                run.rows[at].what != What::Ack || run.rows[at].pipe > bound(at),
                "{path}: {:?}",
                run.rows[at]
            );
        }
    }
    Ok("in a deep buffer and in a shallow one".to_owned())
}

pub(super) fn bbr_09_down_ends_after_the_longest_wait() -> Held {
    // The rate falls by a tenth when Down begins: what is in flight falls by 0.2 Mbit/s. Of several paths, one where Down ends before
    // ProbeRTT is due, which depends on the waits that are drawn.
    let held = |rtt: u32| -> Result<(State, f64, f64), String> {
        let rest = format!("rtt = \"{rtt} ms\"\nbuffer = \"900 packets\"");
        let steady = watch(&line(&format!("rate = \"20 Mbit/s\"\n{rest}"), "20 s", ""))?;
        let probed = steady.enters(State::ProbeRtt, 0)?;
        let down = steady.enters(State::Down, steady.enters(State::Up, probed)?)?;
        let name = format!("down-{rtt}.csv");
        rates(&name, &[(0.0, 20.0), (seconds(steady.rows[down].at), 18.0)])?;
        let run = watch(&line(&format!("trace = \"{name}\"\n{rest}"), "20 s", ""))?;
        let (state, end) = run.next(down)?;
        let lasted = seconds(run.rows[end].at) - seconds(run.rows[down].at);
        Ok((state, lasted, seconds(run.rows[down].view.probe_wait)))
    };
    let tried: Vec<_> = (50..=70).step_by(2).map(held).collect::<Result<_, String>>()?;
    let by_time: Vec<_> = tried.iter().filter(|(state, ..)| *state != State::ProbeRtt).collect();
    hold!(!by_time.is_empty(), "{tried:?}");
    for &&(state, lasted, wait) in &by_time {
        hold!(state == State::Refill && lasted > wait && lasted < wait + 0.1, "{tried:?}");
    }
    Ok(format!("on {} of {} paths before ProbeRTT", by_time.len(), tried.len()))
}

pub(super) fn bbr_10_probe_rtt_is_entered_and_left() -> Held {
    let run = watch(&line(DEEP, "8 s", ""))?;
    let probe = run.enters(State::ProbeRtt, 0)?;
    let before = run.rows[probe - 1];
    hold!(is_probe_bw(before.view.state));
    // The minimum is that of the handshake or of the first round trip.
    hold!((5.0..5.3).contains(&seconds(run.rows[probe].at)), "{}", seconds(run.rows[probe].at));
    hold_eq!(run.rows[probe].view.cwnd_gain, 500);
    let (state, end) = run.next(probe)?;
    hold!(is_probe_bw(state), "{state:?}");
    let lasted = seconds(run.rows[end].at) - seconds(run.rows[probe].at);
    // 200 ms and a round trip from when half of the BDP is in flight, which takes a round trip or two.
    hold!((0.2..0.2 + 3.0 * 0.06).contains(&lasted), "{lasted}");
    let least = run.rows[probe..end].iter().map(|row| row.pipe).min().unwrap_or_default();
    hold!(least <= run.rows[probe].view.target / 2);
    let bdp = run.rows[end].view.max_bw.bytes_in(run.rows[end].view.min_rtt.unwrap_or_default());
    hold!(run.rows[end..].iter().any(|row| row.pipe + MSS >= bdp));
    Ok(run.told())
}

pub(super) fn bbr_11_idleness_takes_the_place_of_probe_rtt() -> Held {
    let run = watch(&line(DEEP, "12 s", "size = \"4 MB\"\nrounds = { count = 2, idle = \"6 s\" }"))?;
    let idle = run.find(1, |row| row.what == What::Idle)?;
    hold!(is_probe_bw(run.rows[idle - 1].view.state), "{:?}", run.states());
    hold!(run.rows[idle].view.idle_restart);
    hold!(seconds(run.rows[idle].at) - seconds(run.rows[idle - 1].at) > 5.0);
    hold!(run.rows.iter().all(|row| row.view.state != State::ProbeRtt), "{:?}", run.states());
    hold!(run.rows.len() > idle + 100);
    Ok(run.told())
}

/// `BBR.extra_acked` by its definition, from a list of the last rounds.
fn extra_acked(run: &Watch, until: usize) -> u64 {
    let (mut start, mut delivered, mut bw) = (run.rows[0].at, 0, Rate::NONE);
    let mut samples: Vec<(u32, u64)> = vec![];
    for (at, row) in run.rows[..=until].iter().enumerate() {
        if row.what != What::Ack {
            continue;
        }
        let mut expected = bw.bytes_in(row.at - start);
        if delivered <= expected {
            (delivered, start, expected) = (0, row.at, 0);
        }
        delivered += row.newly_acked;
        samples.push((row.view.rounds, (delivered - expected).min(run.rows[at - 1].control.cwnd)));
        bw = row.view.max_bw.min(row.view.bw_shortterm);
    }
    let now = run.rows[until].view.rounds;
    samples.iter().filter(|(round, _)| round + 10 >= now).map(|(_, extra)| *extra).max().unwrap_or_default()
}

pub(super) fn bbr_13_cruise_keeps_a_link_full_that_aggregates() -> Held {
    let burst = |at: u32| format!("{at}\n").repeat(17);
    file("bursts-13", &[burst(10), burst(20), burst(30), burst(40)].concat())?;
    let run = watch(&line("trace = \"bursts-13\"\nrtt = \"50 ms\"\nbuffer = \"900 packets\"", "4 s", ""))?;
    let (first, last) = {
        let cruise = run.enters(State::Cruise, 0)?;
        (cruise, run.next(cruise)?.1 - 1)
    };
    let row = run.rows[last];
    // The filter of three samples keeps the largest of ten rounds, or of part of them.
    let exact = extra_acked(&run, last);
    hold!(
        row.view.extra_acked <= exact && row.view.extra_acked >= 15 * MSS,
        "{} {exact}",
        row.view.extra_acked
    );
    let bw = row.view.max_bw.min(row.view.bw_shortterm);
    let two = 2 * bw.bytes_in(row.view.min_rtt.unwrap_or_default());
    hold!(row.control.cwnd.abs_diff(two + row.view.extra_acked) <= MSS, "{row:?}");
    // Every opportunity of the link carries a packet.
    let delivered = (row.delivered - run.rows[first].delivered) as f64 * 8.0;
    let rate = delivered / (seconds(row.at) - seconds(run.rows[first].at));
    hold!(rate >= 0.98 * 20.4e6 * MSS as f64 / 1500.0, "{rate}");
    Ok(run.told())
}

pub(super) fn bbr_14_a_bdp_below_one_packet_is_managed() -> Held {
    let run = watch(&line("rate = \"64 kbit/s\"\nrtt = \"10 ms\"\nbuffer = \"40 packets\"", "60 s", ""))?;
    let begin = run.find(0, |row| is_probe_bw(row.view.state))?;
    for row in &run.rows[begin..] {
        hold!(row.control.cwnd >= 4 * MSS, "{row:?}");
    }
    let cruise = run.rows[begin..].iter().filter(|row| row.view.state == State::Cruise);
    let mut count = 0;
    for row in cruise {
        // The draft paces 1 % below the rate.
        hold!(within(2.0, row.control.pacing.0 as f64, 0.99 * payload(64e3)), "{row:?}");
        count += 1;
    }
    hold!(count > 20, "{count}");
    let (first, last) = (run.rows[begin], &run.last());
    let rate = (last.delivered - first.delivered) as f64 * 8.0 / (seconds(last.at) - seconds(first.at));
    hold!(rate >= 0.95 * payload(64e3), "{rate}");
    Ok(run.told())
}

pub(super) fn bbr_22_an_application_that_pauses_in_refill_does_not_lower_the_estimate() -> Held {
    // The first response ends with the data that is sent until Refill begins; the second begins a round trip later.
    let steady = watch(&line(DEEP, "6 s", ""))?;
    let refill = steady.enters(State::Refill, 0)?;
    let size = steady.rows[refill].sent;
    let flow = format!("size = \"{size} B\"\nrounds = {{ count = 4, idle = \"60 ms\" }}");
    let run = watch(&line(DEEP, "12 s", &flow))?;
    let refill = run.enters(State::Refill, 0)?;
    let before = run.rows[refill].view.max_bw;
    let (state, up) = run.next(refill)?;
    hold_eq!(state, State::Up, "{:?}", run.states());
    let limited = run.rows[refill..=up].iter().filter(|row| row.what == What::Ack && row.limited).count();
    hold!(limited > 0);
    for row in &run.rows[refill..=up] {
        hold!(row.view.max_bw >= before, "{row:?}");
        hold!(!row.limited || row.rate <= row.view.max_bw, "{row:?}");
    }
    // It probes again, and the estimate stays that of the link.
    let again = run.enters(State::Refill, run.enters(State::Cruise, up)?)?;
    hold!(within(3.0, run.rows[again].view.max_bw.0 as f64, payload(20e6)), "{:?}", run.rows[again].view);
    Ok(run.told())
}
