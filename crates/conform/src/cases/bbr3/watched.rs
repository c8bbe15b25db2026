//! BBR v3 in the simulator, with its model noted after every event.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use firstflight_contract::{
    Ack, Congestion, Control, Entry, Lost, Nanos, Phase, Rate, Role, Signals, Step, Trigger,
};
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::simulator::Simulator;
use firstflight_results::RunResult;
use firstflight_scenario::parse_in;
use firstflight_schemes::catalogue::Schemes;
use firstflight_schemes::scheme;
use firstflight_schemes::standalone::bbr3::{Bbr3, State, View};

/// Payload of a full packet of 1500 bytes under profile `linux`.
pub(super) const MSS: u64 = 1448;

/// What was reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Ack,
    Lost,
    Congestion(Trigger),
    Spurious,
    Idle,
}

/// The model after an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) at: Nanos,
    pub(super) what: What,
    pub(super) view: View,
    pub(super) control: Control,
    /// Of an ACK: in flight after it, its sample, and whether the application limited that.
    pub(super) pipe: u64,
    pub(super) rate: Rate,
    pub(super) limited: bool,
    pub(super) delivered: u64,
    pub(super) sent: u64,
    pub(super) newly_acked: u64,
}

/// BBR v3 that is watched.
#[derive(Clone, Debug, Default)]
struct Watched {
    bbr: Bbr3,
    rows: Arc<Mutex<Vec<Row>>>,
    at: Nanos,
    control: Control,
}

scheme! {
    impl Scheme for Watched {
        label: "watched",
        role: Role::Standalone,
        source: "draft-ietf-ccwg-bbr-06",
        summary: "BBR v3, watched",
        needs: Signals::RTT.union(Signals::PACING).union(Signals::RATE).union(Signals::LOSSES),
    }
}

impl Watched {
    fn note(&mut self, at: Nanos, what: What, ack: &Ack, control: &Control) {
        (self.at, self.control) = (at, *control);
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(Row {
            at,
            what,
            view: self.bbr.view(),
            control: *control,
            pipe: ack.pipe,
            rate: ack.rate,
            limited: ack.is(Ack::RATE_LIMITED),
            delivered: ack.delivered,
            sent: ack.sent,
            newly_acked: ack.acked,
        });
    }
}

impl Phase for Watched {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.bbr.enter(entry, control);
        self.note(entry.now, What::Idle, &Ack::default(), control);
    }

    fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
        self.bbr.on_lost(lost, control);
        self.note(lost.now, What::Lost, &Ack::default(), control);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        let step = self.bbr.on_ack(ack, control);
        self.note(ack.now, What::Ack, ack, control);
        step
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        let step = self.bbr.on_congestion(event, control);
        self.note(event.now, What::Congestion(event.trigger), &Ack::default(), control);
        step
    }

    fn on_spurious(&mut self) {
        self.bbr.on_spurious();
        let (at, control) = (self.at, self.control);
        self.note(at, What::Spurious, &Ack::default(), &control);
    }
}

/// A run: the rows of its one flow under BBR v3, and its results.
pub(super) struct Watch {
    pub(super) rows: Vec<Row>,
    pub(super) result: RunResult,
}

/// Runs a scenario whose flow has `startup = "watched"`; files that it names are in the folder of the cases.
pub(super) fn watch(text: &str) -> Result<Watch, String> {
    let watched = Watched::default();
    let rows = Arc::clone(&watched.rows);
    let schemes = Schemes::built_in().with(watched).map_err(|error| format!("{error:?}"))?;
    let loaded = parse_in(Some(&folder()), text, "scenario", &schemes).map_err(|error| error.to_string())?;
    let run = Simulator.run(&loaded.scenario, 1, &Observe::default()).map_err(|error| error.to_string())?;
    let rows = std::mem::take(&mut *rows.lock().unwrap_or_else(PoisonError::into_inner));
    match rows.is_empty() {
        true => Err("the scheme was told nothing".to_owned()),
        false => Ok(Watch { rows, result: run.result }),
    }
}

/// Folder of the files that scenarios name.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("firstflight-conform-{}", std::process::id()))
}

/// Removes the files that scenarios named.
pub(in crate::cases) fn clear() {
    // A folder that was never made, or that others removed, is gone as well.
    let _ = fs::remove_dir_all(folder());
}

/// A line of `rate` and `rtt` with further keys, and one flow without end, or with the flow's further keys.
pub(super) fn line(path: &str, duration: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[path]\n{path}\n\
         [[flow]]\nprofile = \"linux\"\nstartup = \"watched\"\n{flow}\n"
    )
}

/// Writes a file that a scenario names.
pub(super) fn file(name: &str, text: &str) -> Result<(), String> {
    let folder = folder();
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name), text));
    written.map_err(|error| format!("{}: cannot be written: {error}", folder.join(name).display()))
}

/// A trace of the link's rate: seconds and Mbit/s.
pub(super) fn rates(name: &str, steps: &[(f64, f64)]) -> Result<(), String> {
    let lines: Vec<_> = steps.iter().map(|(at, rate)| format!("{at},{rate}\n")).collect();
    file(name, &format!("time,Mbit/s\n{}", lines.concat()))
}

impl Watch {
    /// The states in order, each with the position of its first row.
    pub(super) fn states(&self) -> Vec<(State, usize)> {
        let mut states: Vec<(State, usize)> = vec![];
        for (at, row) in self.rows.iter().enumerate() {
            if states.last().is_none_or(|(state, _)| *state != row.view.state) {
                states.push((row.view.state, at));
            }
        }
        states
    }

    /// The states in order, with the seconds at which each began.
    pub(super) fn told(&self) -> String {
        let states = self.states();
        let shown: Vec<String> = states
            .iter()
            .take(6)
            .map(|(state, at)| format!("{state:?} {:.2} s", seconds(self.rows[*at].at)))
            .collect();
        format!("{}{}", shown.join(", "), if states.len() > shown.len() { ", ..." } else { "" })
    }

    /// The last row.
    pub(super) fn last(&self) -> Row {
        self.rows[self.rows.len() - 1]
    }

    /// Position of the first row from `from` on that fits.
    pub(super) fn find(&self, from: usize, fits: impl Fn(&Row) -> bool) -> Result<usize, String> {
        let found = self.rows[from..].iter().position(fits);
        found.map(|found| from + found).ok_or_else(|| format!("never so: {}", self.told()))
    }

    /// Position of the first row in `state`, from `from` on.
    pub(super) fn enters(&self, state: State, from: usize) -> Result<usize, String> {
        self.find(from, |row| row.view.state == state)
    }

    /// State after the one that the row at `from` is in, with its position.
    pub(super) fn next(&self, from: usize) -> Result<(State, usize), String> {
        let state = self.rows[from].view.state;
        let at = self.find(from, |row| row.view.state != state)?;
        Ok((self.rows[at].view.state, at))
    }

    /// Packets that the links dropped.
    pub(super) fn drops(&self) -> u64 {
        self.result.links.iter().map(|link| link.drops).sum()
    }
}

/// The payload rate of a link.
pub(super) fn payload(rate: f64) -> f64 {
    rate * MSS as f64 / 1500.0
}

/// Whether the state is one of ProbeBW.
pub(super) fn is_probe_bw(state: State) -> bool {
    matches!(state, State::Down | State::Cruise | State::Refill | State::Up)
}

/// Whether `value` is within `percent` of `of`.
pub(super) fn within(percent: f64, value: f64, of: f64) -> bool {
    (value / of - 1.0).abs() * 100.0 <= percent
}

pub(super) fn seconds(at: Nanos) -> f64 {
    at.0 as f64 / 1e9
}

/// A line, and one sender of messages of `size` at every `interval`.
pub(super) fn messages(path: &str, duration: &str, size: &str, interval: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[path]\n{path}\n\
         [[telnet]]\nprofile = \"linux\"\nstartup = \"watched\"\nsize = \"{size}\"\n\
         interval = {{ uniform = [\"{interval}\", \"{interval}\"] }}\n"
    )
}
