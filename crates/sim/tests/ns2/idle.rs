//! Transmissions after an idle time, packet by packet: `tests/ns2/scripts/idle.tcl` against the same sender
//! in this simulator, on a line with a fixed delay. ns-2's packets take 10 us each, packets on this line no
//! time, so times are compared as whole milliseconds.

use crate::common::MS;
use crate::common::line::Line;
use crate::common::stacks;
use crate::reference;
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::rto::RtoConfig;
use firstflight_sim::sender::stack::{IdleRestart, Recovery, Stack};

/// Packets of each write. From a window of one, without a threshold, they take rounds of 1, 2, 4, ..., 64 and
/// 1: the last leaves at 700 ms and is acknowledged at 800, with a window of 129.
const WRITE: u32 = 128;

/// A packet of the second write: whole milliseconds since its start, number, droppable flag.
type Left = (u64, u32, bool);

/// One connection, run in both simulators.
struct Case {
    /// Name in the printed table.
    name: &'static str,
    /// Options of `idle.tcl`.
    ns2: &'static [&'static str],
    recovery: Recovery,
    idle_restart: IdleRestart,
    startup: &'static str,
    ssthresh: Option<u32>,
    /// Start of the second write and length of the comparison, milliseconds.
    idle: u64,
    until: u64,
}

const CASES: [Case; 8] = [
    Case {
        name: "slow-start restart",
        ns2: &["agent", "TCP/Newreno"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Restart,
        startup: "slow-start",
        ssthresh: None,
        idle: 5000,
        until: 450,
    },
    Case {
        name: "no slow-start restart",
        ns2: &["agent", "TCP/Newreno", "restart", "0"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Keep,
        startup: "slow-start",
        ssthresh: None,
        idle: 5000,
        until: 150,
    },
    Case {
        name: "validation, 550 ms after the last packet",
        ns2: &["agent", "TCP/Newreno", "restart", "0", "validate", "1"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Validate,
        startup: "slow-start",
        ssthresh: None,
        idle: 1250,
        until: 350,
    },
    Case {
        name: "validation, 850 ms after the last packet",
        ns2: &["agent", "TCP/Newreno", "restart", "0", "validate", "1"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Validate,
        startup: "slow-start",
        ssthresh: None,
        idle: 1550,
        until: 350,
    },
    Case {
        name: "rate-based pacing",
        ns2: &["agent", "TCP/Reno/RBP"],
        recovery: Recovery::Reno,
        idle_restart: IdleRestart::Restart,
        startup: "rate-based-pacing",
        ssthresh: None,
        idle: 5000,
        until: 250,
    },
    Case {
        name: "Fast Start from slow start",
        ns2: &["agent", "TCP/Newreno/FS", "restart", "0"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Restart,
        startup: "fast-start",
        ssthresh: None,
        idle: 5000,
        until: 250,
    },
    Case {
        name: "Fast Start from avoidance",
        ns2: &["agent", "TCP/Newreno/FS", "restart", "0", "ssthresh", "20"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Restart,
        startup: "fast-start",
        ssthresh: Some(20),
        // Later ns-2's window grows linearly, and this one stays constant until all of it is acknowledged.
        idle: 5000,
        until: 100,
    },
    Case {
        name: "Fast Start with two losses",
        ns2: &["agent", "TCP/Newreno/FS", "restart", "0", "drop", "3 5"],
        recovery: Recovery::NewReno,
        idle_restart: IdleRestart::Restart,
        startup: "fast-start",
        ssthresh: None,
        // The partial ACK arrives at 200.1 ms and makes both senders restart.
        idle: 5000,
        until: 300,
    },
];

impl Case {
    fn in_ns2(&self) -> Vec<Left> {
        let idle = (self.idle as f64 / 1e3).to_string();
        let until = (self.until as f64 / 1e3).to_string();
        let answer =
            reference::answer("idle.tcl", self.ns2.iter().copied().chain(["idle", &idle, "until", &until]));
        let mut left: Vec<Left> = answer
            .lines()
            .map(|line| {
                let fields: Vec<f64> =
                    line.split(' ').map(|field| field.parse().expect("a number")).collect();
                (fields[0] as u64, fields[1] as u32, fields[2] == 1.0)
            })
            .collect();
        left.retain(|left| left.0 < self.until);
        left
    }

    /// Packets of the second write whose first copies are lost.
    fn lost(&self) -> Vec<u32> {
        let list = self.ns2.iter().skip_while(|word| **word != "drop").nth(1);
        list.map_or(vec![], |list| list.split(' ').map(|n| n.parse().expect("a number")).collect())
    }

    fn here(&self) -> Vec<Left> {
        let mut startup = AnyPhase::by_label(self.startup).expect("registered");
        let mut reno = AnyPhase::by_label("reno").expect("registered");
        reno.set("growth", Value::Choice(1)).expect("ns-2 grows by 1/cwnd for every ACK");
        if self.startup == "fast-start" {
            startup.set("max_burst", Value::Packets(1000)).expect("ns-2's burst timer does nothing");
        }
        let mut line = Line::with(self.recovery, 1, self.ssthresh);
        line.chain = Chain::new(vec![startup, reno]).expect("a chain");
        line.stack = Stack {
            rules: stacks::NS2,
            idle_restart: self.idle_restart,
            rto: RtoConfig {
                granularity: 10 * MS,
                // ns-2's validation counts in timeouts without their minimum (`t_rtxcur_`).
                min: if self.idle_restart == IdleRestart::Validate { 0 } else { 200 * MS },
                ..line.stack.rto
            },
            ..line.stack
        };
        let pauses = vec![(self.idle - 800) * MS];
        line.app =
            AppConfig { start: 0, bytes: Some(u64::from(WRITE) * 1000), pauses, ..AppConfig::default() };
        line.lost = self.lost().into_iter().map(|number| (WRITE + number, 0)).collect();
        let sends = line.sends_marked(2 * self.idle).into_iter();
        let second: Vec<_> = sends.filter(|left| left.1 >= WRITE).collect();
        let began = second[0].0;
        let left = second.into_iter().map(|(at, segment, marked)| (at - began, segment - WRITE, marked));
        left.filter(|left| left.0 < self.until).collect()
    }
}

#[test]
fn transmissions_after_an_idle_time_equal_those_of_ns_2() {
    if !reference::installed() {
        return;
    }
    println!("| rule | idle.tcl | packets | compared for |");
    println!("|---|---|---|---|");
    for case in CASES {
        let (ns2, here) = (case.in_ns2(), case.here());
        let options = case.ns2.join(" ");
        println!("| {} | `{options}` | {} | {} ms |", case.name, here.len(), case.until);
        assert_eq!(here, ns2, "{}: left this simulator, right ns-2", case.name);
        assert!(!here.is_empty(), "{}", case.name);
    }
}
