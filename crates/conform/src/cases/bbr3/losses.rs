//! The cases of losses and of changes of the rate.

use super::watched::{MSS, Watch, What, is_probe_bw, line, payload, rates, seconds, watch, within};
use crate::cases::held::{Held, hold, hold_eq};
use firstflight_contract::{Rate, Trigger};
use firstflight_schemes::standalone::bbr3::State;

const UNBOUNDED: Rate = Rate(u64::MAX);

pub(super) fn bbr_15_ten_times_the_rate_is_found() -> Held {
    // The buffer of 30 packets makes Startup set the bound.
    rates("up.csv", &[(0.0, 10.0), (2.0, 100.0)])?;
    let run = watch(&line("trace = \"up.csv\"\nrtt = \"50 ms\"\nbuffer = \"30 packets\"", "6 s", ""))?;
    let change = run.find(0, |row| seconds(row.at) >= 2.0)?;
    hold!(is_probe_bw(run.rows[change].view.state) && run.rows[change].view.inflight_longterm != u64::MAX);
    let up = run.enters(State::Up, change)?;
    let (state, end) = run.next(up)?;
    let found = run.find(up, |row| within(2.0, row.view.max_bw.0 as f64, payload(100e6)))?;
    hold!(found < end && state == State::Down, "{:?}", run.states());
    // The bound grows by 1, 2, 4, ... packets a round, until the pacing rate limits the sender: it is 1.25 x 0.99 of a rate that was
    // measured while it rose, which is 1.15 a round at least. Ten times the rate are ln 10 / ln 1.15 = 16.5 rounds.
    let rounds = |at: usize| run.rows[at].view.rounds;
    hold!(rounds(found) - rounds(up) <= 17, "{}", rounds(found) - rounds(up));
    let bounds: Vec<_> = (rounds(up)..=rounds(found))
        .map(|round| -> Result<u64, String> {
            let at = run.find(up, |row| row.view.rounds == round)?;
            Ok(run.rows[at].view.inflight_longterm / MSS)
        })
        .collect::<Result<_, _>>()?;
    let steps: Vec<_> = bounds.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0).collect();
    hold!(steps.len() >= 5, "{bounds:?}");
    for pair in steps[..5].windows(2) {
        // A segment more or less by the ends of rounds.
        hold!(pair[1].abs_diff(2 * pair[0]) <= 1, "{bounds:?}");
    }
    Ok(run.told())
}

pub(super) fn bbr_16_a_tenth_of_the_rate_is_found() -> Held {
    rates("down.csv", &[(0.0, 100.0), (2.0, 10.0)])?;
    let run = watch(&line("trace = \"down.csv\"\nrtt = \"50 ms\"\nbuffer = \"200 packets\"", "20 s", ""))?;
    let change = run.find(0, |row| seconds(row.at) >= 2.0)?;
    hold!(is_probe_bw(run.rows[change].view.state));
    // A buffer of 240 ms fills within 30 ms; the losses are known when it has drained, and bound the rate a round later.
    let short = run.find(change, |row| row.view.bw_shortterm != UNBOUNDED)?;
    hold!(seconds(run.rows[short].at) < 2.0 + 2.0 * (0.05 + 0.24), "{}", seconds(run.rows[short].at));
    // Each round of losses takes three tenths of it, down to what is delivered; a round has up to 290 ms.
    let low = run.find(short, |row| row.view.bw_shortterm.0 as f64 <= 0.5 * payload(100e6))?;
    hold!(seconds(run.rows[low].at) < 2.0 + 4.0 * 0.29 + 2.0, "{}", seconds(run.rows[low].at));
    // Two cycles end after the change, each with the round behind a probe; then only the new rate counts.
    let first = run.enters(State::Down, run.enters(State::Up, change)?)?;
    let second = run.enters(State::Down, run.enters(State::Up, first)?)?;
    let settled = run.enters(State::Cruise, second)?;
    hold!(within(2.0, run.rows[settled].view.max_bw.0 as f64, payload(10e6)), "{:?}", run.rows[settled].view);
    Ok(run.told())
}

pub(super) fn bbr_17_a_policer_is_met_without_lasting_losses() -> Held {
    let path = "rate = \"50 Mbit/s\"\nrtt = \"50 ms\"\n\
                queue = { kind = \"policer\", rate = \"10 Mbit/s\", burst = \"100 KB\" }\nbuffer = \"1 BDP\"";
    let run = watch(&line(path, "30 s", ""))?;
    let begin = run.find(0, |row| is_probe_bw(row.view.state))?;
    hold!(run.rows[begin..].iter().any(|row| row.view.bw_shortterm != UNBOUNDED));
    // From the fourth probe on, and over the states that do not probe, less is lost than the threshold of 2 %.
    let settled = run.find(0, |row| seconds(row.at) >= 10.0)?;
    let cruising = |row: &&super::watched::Row| row.view.state == State::Cruise;
    let lost =
        run.rows[settled..].iter().filter(cruising).filter(|row| row.what == What::Lost).count() as u64;
    let acked: u64 = run.rows[settled..].iter().filter(cruising).map(|row| row.newly_acked).sum();
    hold!(lost * MSS * 50 < acked, "{lost} of {}", acked / MSS);
    let (first, last) = (run.rows[settled], &run.last());
    let rate = (last.delivered - first.delivered) as f64 * 8.0 / (seconds(last.at) - seconds(first.at));
    hold!(rate > 0.85 * payload(10e6) && rate < 1.01 * payload(10e6), "{rate}");
    Ok(run.told())
}

/// Checks that each spurious episode leaves state and bounds as they were before it; their number.
fn undone(run: &Watch, trigger: Trigger) -> Result<usize, String> {
    let mut count = 0;
    for (at, row) in run.rows.iter().enumerate() {
        if row.what != What::Spurious {
            continue;
        }
        let began = run.rows[..at].iter().rposition(|row| matches!(row.what, What::Congestion(_)));
        let began = began.ok_or("a recovery that was spurious had not begun")?;
        if run.rows[began].what != What::Congestion(trigger) {
            continue;
        }
        let (before, after) = (run.rows[began - 1].view, row.view);
        hold_eq!(before.state, after.state);
        hold!(after.bw_shortterm >= before.bw_shortterm);
        hold!(after.inflight_shortterm >= before.inflight_shortterm);
        hold!(after.inflight_longterm >= before.inflight_longterm);
        // The window is back with the next ACK.
        let next = run.find(at, |row| row.what == What::Ack)?;
        hold!(run.rows[next].control.cwnd >= run.rows[began - 1].control.cwnd, "{:?}", run.rows[next]);
        count += 1;
    }
    Ok(count)
}

pub(super) fn bbr_18_a_spurious_fast_recovery_is_undone() -> Held {
    let path = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"4 BDP\"\nreorder = { share = 0.01, delay = \"30 ms\" }";
    let run = watch(&line(path, "2 s", ""))?;
    hold_eq!(run.drops(), 0);
    hold!(undone(&run, Trigger::Loss)? >= 3);
    Ok(run.told())
}

pub(super) fn bbr_19_a_spurious_timeout_is_undone() -> Held {
    rates("stall.csv", &[(0.0, 20.0), (2.0, 0.0), (2.9, 20.0)])?;
    let run = watch(&line("trace = \"stall.csv\"\nrtt = \"50 ms\"\nbuffer = \"900 packets\"", "4 s", ""))?;
    hold_eq!(run.drops(), 0);
    hold!(undone(&run, Trigger::Timeout)? >= 1);
    Ok(run.told())
}

pub(super) fn bbr_21_losses_in_up_lower_the_bound() -> Held {
    let run = watch(&line("rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"0.3 BDP\"", "20 s", ""))?;
    let mut count = 0;
    for (state, up) in run.states() {
        if state != State::Up || run.rows[up].view.inflight_longterm == u64::MAX {
            continue;
        }
        let left = run.rows[up..].iter().position(|row| row.view.state != State::Up);
        let Some(end) = left.map(|left| up + left) else { break };
        let (row, before) = (run.rows[end], run.rows[end - 1]);
        if row.what != What::Lost {
            continue;
        }
        // Down begins with the lost packet itself. The bound is the flight at which the losses were too many, at least 0.7 of the target.
        hold_eq!(row.view.state, State::Down);
        hold!(!row.view.full_bw_now, "{row:?}");
        let beta = row.view.target * 7 / 10;
        let bound = row.view.inflight_longterm;
        hold!(bound >= beta && bound <= before.view.inflight_longterm, "{row:?} {before:?}");
        count += 1;
    }
    hold!(count >= 2, "{:?}", run.states());
    Ok(run.told())
}
