//! The cases of Startup and Drain.

use super::watched::{MSS, What, file, line, messages, payload, rates, seconds, watch, within};
use crate::cases::held::{Held, hold, hold_eq};
use firstflight_contract::Rate;
use firstflight_schemes::standalone::bbr3::State;

pub(super) fn bbr_01_startup_ends_on_a_bandwidth_plateau() -> Held {
    let paths = [
        (20.0, "50 ms", 4),
        (5.0, "20 ms", 8),
        (100.0, "4 ms", 4),
        (10.0, "300 ms", 4),
        (2500.0, "10 ms", 4),
    ];
    for (mbit, rtt, buffer) in paths {
        let path = format!("rate = \"{mbit} Mbit/s\"\nrtt = \"{rtt}\"\nbuffer = \"{buffer} BDP\"");
        let run = watch(&line(&path, if rtt == "300 ms" { "8 s" } else { "2 s" }, ""))?;
        let (state, at) = run.next(0)?;
        let view = run.rows[at].view;
        hold_eq!(state, State::Drain, "{path}");
        hold!(within(2.0, view.max_bw.0 as f64, payload(mbit * 1e6)), "{path}: {:?}", view.max_bw);
        hold!(view.full_bw_count == 3 && view.full_bw_now && view.full_bw_reached, "{path}: {view:?}");
        hold_eq!(run.drops(), 0, "{path}");
    }
    Ok(format!("so on {} paths", paths.len()))
}

pub(super) fn bbr_02_startup_ends_on_losses_while_the_application_limits() -> Held {
    // 12 of 20 Mbit/s: 104 packets a round trip. From the 1500th on, when the window has outgrown them, one in ten is lost.
    let drop: Vec<u32> = (1500..2500).step_by(10).collect();
    let path = format!("rate = \"20 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"4 BDP\"\ndrop = {drop:?}");
    let run = watch(&messages(&path, "4 s", "15 KB", "10 ms"))?;
    let (state, at) = run.next(0)?;
    // The flight is below the target already, so that the ACK that ends Startup ends Drain.
    hold!(matches!(state, State::Drain | State::Down | State::Cruise), "{state:?}");
    let view = run.rows[at].view;
    hold!(view.full_bw_now && view.full_bw_reached && view.full_bw_count < 3, "{view:?}");
    // Every sample since the first rounds shows the application's limit.
    let unlimited = run.rows[..=at]
        .iter()
        .rposition(|row| row.what == What::Ack && row.rate != Rate::NONE && !row.limited);
    let rounds = unlimited.map_or(0, |last| run.rows[last].view.rounds);
    hold!(rounds + 3 <= view.rounds, "{rounds} of {}", view.rounds);
    hold!(view.inflight_longterm != u64::MAX);
    Ok(run.told())
}

pub(super) fn bbr_03_drain_ends_on_the_flight() -> Held {
    let run = watch(&line("rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"4 BDP\"", "2 s", ""))?;
    let drain = run.enters(State::Drain, 0)?;
    hold_eq!(run.rows[drain].view.pacing_gain, 500);
    let (state, end) = run.next(drain)?;
    hold!(matches!(state, State::Down | State::Cruise), "{state:?}");
    let row = run.rows[end];
    hold!(row.pipe <= row.view.target, "{row:?}");
    for row in &run.rows[drain..end] {
        hold!(row.pipe > row.view.target, "{row:?}");
    }
    Ok(run.told())
}

/// States of a run whose rate is multiplied when Drain begins, with the rounds that Drain lasts and its last flight over the target.
fn drain_with(factor: f64) -> Result<(u32, f64), String> {
    let rest = "rtt = \"50 ms\"\nbuffer = \"900 packets\"";
    let steady = watch(&line(&format!("rate = \"20 Mbit/s\"\n{rest}"), "2 s", ""))?;
    let at = seconds(steady.rows[steady.enters(State::Drain, 0)?].at);
    let name = format!("drain-{factor}.csv");
    rates(&name, &[(0.0, 20.0), (at, 20.0 * factor)])?;
    let run = watch(&line(&format!("trace = \"{name}\"\n{rest}"), "4 s", ""))?;
    let drain = run.enters(State::Drain, 0)?;
    hold!(within(1.0, seconds(run.rows[drain].at), at));
    let (state, end) = run.next(drain)?;
    hold!(matches!(state, State::Down | State::Cruise), "{state:?}");
    let row = run.rows[end];
    Ok((row.view.rounds - run.rows[drain].view.rounds, row.pipe as f64 / row.view.target as f64))
}

pub(super) fn bbr_04_drain_ends_on_time() -> Held {
    // At half the rate and a gain of 0.5 nothing drains: four round trips begin after the one in which Drain began.
    let (rounds, flight) = drain_with(0.4)?;
    hold!(rounds == 4 && flight > 1.0, "{rounds} {flight}");
    // The case names a tenth less. The queue of Startup, a BDP, then drains at 8 of 20 Mbit/s, within three round trips.
    let (rounds, flight) = drain_with(0.9)?;
    hold!(rounds <= 3 && flight <= 1.0, "{rounds} {flight}");
    Ok(format!("at nine tenths of the rate {rounds} rounds, then {flight:.2} of the target in flight"))
}

pub(super) fn bbr_07_startup_stays_while_the_application_limits() -> Held {
    let path = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"4 BDP\"";
    let run = watch(&messages(path, "4 s", "15 KB", "20 ms"))?;
    hold!(run.rows.iter().all(|row| row.view.state == State::Startup), "{:?}", run.states());
    hold!(run.last().view.rounds >= 60);
    Ok(run.told())
}

pub(super) fn bbr_12_startup_finds_the_rate_of_a_link_that_aggregates() -> Held {
    // 17 packets every 10 ms: 20.4 Mbit/s, and ACKs in bursts.
    let burst = |at: u32| format!("{at}\n").repeat(17);
    file("bursts", &[burst(10), burst(20), burst(30), burst(40)].concat())?;
    let run = watch(&line("trace = \"bursts\"\nrtt = \"50 ms\"\nbuffer = \"900 packets\"", "3 s", ""))?;
    let (state, at) = run.next(0)?;
    hold_eq!(state, State::Drain);
    let row = run.rows[at];
    let link = 20.4e6 * MSS as f64 / 1500.0;
    // A sample of a round trip may begin in one aggregate and end with another: it counts one too many, in 50 ms at least.
    let found = row.view.max_bw.0 as f64;
    hold!((link..link * 1.2).contains(&found), "{found} {link}");
    // The window holds the aggregate beside two BDP.
    let rtt = row.view.min_rtt.unwrap_or_default();
    hold!(row.view.extra_acked >= 8 * MSS, "{}", row.view.extra_acked);
    hold!(row.control.cwnd > 2 * row.view.max_bw.bytes_in(rtt), "{row:?}");
    // Ten packets a round trip are 2.3 Mbit/s: three doublings are 18, and a fourth is the rate. The first sample takes a round.
    let found = run.find(0, |row| row.view.max_bw.0 as f64 > 0.95 * link)?;
    hold!(run.rows[found].view.rounds <= 6, "{:?}", run.rows[found]);
    Ok(run.told())
}

pub(super) fn bbr_20_probe_rtt_leads_back_to_startup_that_is_not_over() -> Held {
    let path = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"4 BDP\"";
    let run = watch(&messages(path, "8 s", "15 KB", "20 ms"))?;
    let probe = run.enters(State::ProbeRtt, 0)?;
    hold!(seconds(run.rows[probe].at) > 5.0);
    hold!(!run.rows[probe].view.full_bw_reached);
    let (state, end) = run.next(probe)?;
    hold_eq!(state, State::Startup);
    hold!(seconds(run.rows[end].at) - seconds(run.rows[probe].at) >= 0.2);
    Ok(run.told())
}
