//! The cases of losses and of changes of the rate.

use super::watched::{What, line, payload, rates, seconds, watch, within};
use firstflight_contract::{Rate, Trigger};
use firstflight_schemes::standalone::bbr3::State;

const UNBOUNDED: Rate = Rate(u64::MAX);

fn is_probe_bw(state: State) -> bool {
    matches!(state, State::Down | State::Cruise | State::Refill | State::Up)
}

#[test]
fn bbr_15_ten_times_the_rate_is_found() {
    // The buffer of 30 packets makes Startup set the bound.
    let rest = "rtt = \"50 ms\"\nbuffer = \"30 packets\"";
    rates("up.csv", &[(0.0, 10.0), (2.0, 100.0)]);
    let run = watch(&line(&format!("trace = \"up.csv\"\n{rest}"), "20 s", ""));
    let change = run.find(0, |row| seconds(row.at) >= 2.0);
    assert!(is_probe_bw(run.rows[change].view.state), "{:?}", run.states());
    let found = run.find(change, |row| row.view.max_bw.0 as f64 >= 0.95 * payload(100e6));
    println!(
        "{} rounds, {} s",
        run.rows[found].view.rounds - run.rows[change].view.rounds,
        seconds(run.rows[found].at)
    );
    for (state, at) in run.states() {
        println!(
            "{:.3} {state:?} {:?} {:?}",
            seconds(run.rows[at].at),
            run.rows[at].view.max_bw,
            run.rows[at].view.inflight_longterm
        );
    }
}

#[test]
fn bbr_16_a_tenth_of_the_rate_is_found() {
    let rest = "rtt = \"50 ms\"\nbuffer = \"200 packets\"";
    rates("down.csv", &[(0.0, 100.0), (2.0, 10.0)]);
    let run = watch(&line(&format!("trace = \"down.csv\"\n{rest}"), "30 s", ""));
    let change = run.find(0, |row| seconds(row.at) >= 2.0);
    for (state, at) in run.states() {
        println!(
            "{:.3} {state:?} {:?} {:?}",
            seconds(run.rows[at].at),
            run.rows[at].view.max_bw,
            run.rows[at].view.bw_shortterm
        );
    }
    let short = run.find(change, |row| row.view.bw_shortterm != UNBOUNDED);
    assert!(seconds(run.rows[short].at) < 2.5, "{}", seconds(run.rows[short].at));
}

#[test]
fn bbr_17_a_policer_is_met_without_lasting_losses() {
    let path = "rate = \"50 Mbit/s\"\nrtt = \"50 ms\"\n\
                queue = { kind = \"policer\", rate = \"10 Mbit/s\", burst = \"100 KB\" }\nbuffer = \"1 BDP\"";
    let run = watch(&line(path, "30 s", ""));
    println!("{} drops of {:?}", run.drops(), run.rows.last().unwrap().sent / 1448);
    for (state, at) in run.states() {
        println!(
            "{:.3} {state:?} {:?} {:?} {}",
            seconds(run.rows[at].at),
            run.rows[at].view.max_bw,
            run.rows[at].view.bw_shortterm,
            run.rows[at].view.inflight_longterm
        );
    }
}

#[test]
fn bbr_18_a_spurious_fast_recovery_is_undone() {
    let path = "rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"4 BDP\"\nreorder = { share = 0.01, delay = \"30 ms\" }";
    let run = watch(&line(path, "10 s", ""));
    for (at, row) in run.rows.iter().enumerate() {
        if matches!(row.what, What::Congestion(_) | What::Spurious) {
            println!(
                "{at} {:.4} {:?} {:?} {:?} {}",
                seconds(row.at),
                row.what,
                row.view.state,
                row.view.bw_shortterm,
                row.view.inflight_longterm
            );
        }
    }
}

#[test]
fn bbr_19_a_spurious_timeout_is_undone() {
    let rest = "rtt = \"50 ms\"\nbuffer = \"900 packets\"";
    rates("stall.csv", &[(0.0, 20.0), (2.0, 0.0), (2.9, 20.0)]);
    let run = watch(&line(&format!("trace = \"stall.csv\"\n{rest}"), "6 s", ""));
    for (at, row) in run.rows.iter().enumerate() {
        if matches!(row.what, What::Congestion(_) | What::Spurious) {
            println!(
                "{at} {:.4} {:?} {:?} {:?} {}",
                seconds(row.at),
                row.what,
                row.view.state,
                row.view.bw_shortterm,
                row.view.inflight_longterm
            );
        }
    }
    assert!(run.rows.iter().any(|row| row.what == What::Congestion(Trigger::Timeout)));
}

#[test]
fn bbr_21_losses_in_up_lower_the_bound() {
    let run = watch(&line("rate = \"20 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"0.3 BDP\"", "20 s", ""));
    for (state, at) in run.states() {
        println!(
            "{:.3} {state:?} {:?} {:?} {}",
            seconds(run.rows[at].at),
            run.rows[at].what,
            run.rows[at].view.bw_shortterm,
            run.rows[at].view.inflight_longterm
        );
    }
    assert!(within(50.0, 1.0, 1.0));
}
