//! The canary of a running gateway: its orders, its file in the state folder, and its effect on plans.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use firstflight_contract::Nanos;
use firstflight_gateway::canary::{Change, Compared, Phase, SIZES};
use firstflight_gateway::{By, Canary, Connection, Mode, Record, Rules, configuration};
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::Order;
use crate::audit::Entry;
use crate::clock;
use crate::engine::Engine;
use crate::files;
use crate::requests::{Effect, Waiting};
use crate::store;

/// Version of the file.
const VERSION: u32 = 1;
/// Largest file, bytes: 16 steps of two groups of 2000 places each have 1 MB.
const LARGEST: u64 = 8 << 20;
/// Time between two saves of what the canary has seen, and before another attempt.
const EVERY: Nanos = Nanos::from_secs(60);
const RETRY: Nanos = Nanos::from_secs(1);
/// Longest wait of an answer for the disk.
const PATIENCE: Nanos = Nanos::from_millis(500);

/// An order about the canary.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Act {
    /// Begins one with these lines of a `[canary]`.
    Begin(String),
    /// Ends it: no network has a plan.
    Stop,
    /// Forgets it: plans are for every connection, or as the configuration has it.
    Release,
}

impl Act {
    /// The order in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Begin(rules) => {
                let rules: Vec<_> = rules.lines().map(str::trim).collect();
                format!("canary begin {}", rules.join("; ").chars().take(400).collect::<String>())
            }
            Self::Stop => "canary stop".to_owned(),
            Self::Release => "canary release".to_owned(),
        }
    }
}

/// A canary with its origin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    version: u32,
    /// The process that gave the order, as the orders have it; [`None`] if the configuration has the rules.
    by: Option<String>,
    /// Place in the configuration.
    place: Option<String>,
    /// Whether the rules are those of the configuration.
    of_file: bool,
    canary: Canary,
}

/// Keeps the canary.
pub(crate) struct Keeper {
    /// Key of the hash by which a canary chooses its networks.
    secret: u64,
    saved: Option<Saved>,
    jobs: Sender<(u64, Option<Vec<u8>>)>,
    done: Receiver<(u64, Result<(), String>)>,
    /// Number of the newest job, and of the newest one that is durable.
    numbers: (u64, u64),
    /// Time of the next save.
    next: Nanos,
    /// Orders in force that wait for the disk, each with the number of its job, and the time at which it is answered.
    waiting: Vec<(u64, Nanos, Waiting)>,
}

impl Keeper {
    /// Reads the canary of a state folder, and answers with a line for the operator if it cannot be used. `rules` are those of the
    /// configuration, with their place.
    pub(crate) fn open(
        state: &Path,
        rules: Option<(Rules, String)>,
        secret: u64,
    ) -> io::Result<(Self, Option<String>)> {
        let path = state.join(files::CANARY);
        let (saved, complaint) = match read(&path) {
            Ok(found) => (found, None),
            Err(why) => {
                let kept = store::aside(&path, clock::wall());
                let renamed = fs::rename(&path, &kept);
                let place = if renamed.is_ok() { &kept } else { &path };
                let line = format!(
                    "the canary {}: {why}; kept as {}; no plan is used until `firstflight gateway canary release` or `canary begin`",
                    path.display(),
                    place.display()
                );
                let mut canary = Canary::begin(whole(), 0, clock::wall());
                canary.stop(clock::wall(), line.clone());
                let saved = Saved { version: VERSION, by: None, place: None, of_file: false, canary };
                (Some(saved), Some(line))
            }
        };
        let (jobs, inbox) = mpsc::channel::<(u64, Option<Vec<u8>>)>();
        let (outbox, done) = mpsc::channel();
        let file = path.clone();
        // It ends with its channel. Nobody waits for it: the disk may never answer.
        thread::Builder::new().name("canary".to_owned()).spawn(move || {
            while let Ok(mut job) = inbox.recv() {
                // Only the newest one counts.
                while let Ok(newer) = inbox.try_recv() {
                    job = newer;
                }
                let (number, bytes) = job;
                let written =
                    write(&file, bytes.as_deref()).map_err(|error| format!("{}: {error}", file.display()));
                let _ = outbox.send((number, written));
            }
        })?;
        let mut keeper =
            Self { secret, saved, jobs, done, numbers: (0, 0), next: Nanos::ZERO, waiting: vec![] };
        keeper.take_rules(rules);
        if complaint.is_some() {
            keeper.save();
        }
        Ok((keeper, complaint))
    }

    /// Takes the rules of the configuration; answers whether the canary is another one then. One that an order began goes on, and so
    /// does one with the same rules.
    fn take_rules(&mut self, rules: Option<(Rules, String)>) -> bool {
        match (&self.saved, rules) {
            (Some(saved), _) if !saved.of_file => false,
            (Some(saved), Some((rules, _))) if *saved.canary.rules() == rules => false,
            (None, None) => false,
            (_, None) => {
                self.saved = None;
                self.save();
                true
            }
            (_, Some((rules, place))) => {
                self.begin(rules, None, Some(place));
                true
            }
        }
    }

    fn begin(&mut self, rules: Rules, by: Option<&By>, place: Option<String>) {
        let canary = Canary::begin(rules, self.secret, clock::wall());
        let (by, of_file) = (by.map(By::to_string), by.is_none());
        self.saved = Some(Saved { version: VERSION, by, place, of_file, canary });
        self.save();
    }

    /// Has the thread write the present state; answers with the number of the job.
    fn save(&mut self) -> u64 {
        let bytes =
            self.saved.as_ref().map(|saved| serde_json::to_vec(saved).expect("numbers and texts are JSON"));
        self.numbers.0 += 1;
        self.next = clock::since_boot() + EVERY;
        // The thread lives as long as this.
        let _ = self.jobs.send((self.numbers.0, bytes));
        self.numbers.0
    }

    pub(crate) fn canary(&self) -> Option<&Canary> {
        self.saved.as_ref().map(|saved| &saved.canary)
    }

    pub(crate) fn canary_mut(&mut self) -> Option<&mut Canary> {
        self.saved.as_mut().map(|saved| &mut saved.canary)
    }

    /// Takes a connection.
    pub(crate) fn report(&mut self, connection: &Connection) {
        if let Some(canary) = self.canary_mut() {
            canary.report(connection);
        }
    }

    /// Why a network has no plan; [`None`] if it may have one.
    pub(crate) fn keeps_from(&self, network: &Prefix) -> Option<String> {
        let canary = self.canary()?;
        if canary.has(network) {
            return None;
        }
        Some(format!("not among the {} % of the networks in the canary", percent(canary.share())))
    }

    /// Reason for which it has stopped.
    pub(crate) fn stopped(&self) -> Option<&str> {
        match self.canary()?.phase() {
            Phase::Stopped(_, why) => Some(why),
            _ => None,
        }
    }

    /// The state in a line.
    pub(crate) fn line(&self) -> String {
        match self.canary() {
            None => "no canary".to_owned(),
            Some(canary) => {
                let number = canary.steps().count();
                format!(
                    "canary {}, step {number}, {} % of the networks",
                    state(canary),
                    percent(canary.share())
                )
            }
        }
    }
}

/// Rules without limits, for a file that is not usable.
fn whole() -> Rules {
    configuration::canary_rules("ramp = \"100 %\"").expect("rules")
}

fn percent(share: u16) -> f64 {
    f64::from(share) / 10.0
}

fn state(canary: &Canary) -> &'static str {
    match canary.phase() {
        Phase::Running => "running",
        Phase::Finished(_) => "finished",
        Phase::Stopped(..) => "stopped",
    }
}

fn read(path: &Path) -> Result<Option<Saved>, String> {
    let bytes = match files::bounded(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    parse(&bytes).map(Some)
}

/// Reads a saved canary.
fn parse(bytes: &[u8]) -> Result<Saved, String> {
    let saved: Saved = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if saved.version != VERSION {
        return Err(format!("version {}; expected {VERSION}", saved.version));
    }
    if !saved.canary.is_sound() {
        return Err("a value is out of range".to_owned());
    }
    Ok(saved)
}

/// Reads the bytes of a saved canary, and answers with those that are saved of it again, and with the canary: for the fuzz targets.
///
/// # Errors
/// The reason for which they are none.
pub fn reread_canary(bytes: &[u8]) -> Result<(Vec<u8>, Canary), String> {
    let saved = parse(bytes)?;
    Ok((serde_json::to_vec(&saved).expect("numbers and texts are JSON"), saved.canary))
}

/// The bytes that are saved of a canary of the configuration: for the fuzz targets.
pub fn save_canary(canary: Canary) -> Vec<u8> {
    let saved = Saved { version: VERSION, by: None, place: None, of_file: true, canary };
    serde_json::to_vec(&saved).expect("numbers and texts are JSON")
}

/// Replaces the file as a whole, or removes it.
fn write(path: &Path, bytes: Option<&[u8]>) -> io::Result<()> {
    match bytes {
        Some(bytes) => store::replace_file(path, |file| file.write_all(bytes)),
        None => store::remove_file(path),
    }
}

impl Engine<'_> {
    /// Why a network has no plan in force by the canary.
    pub(crate) fn kept_out(&self, prefix: &Prefix) -> Option<String> {
        self.canary.keeps_from(&self.gateway.prefix(prefix.first()))
    }

    /// Limits the kernel's plans to ports and cgroups of the canary. One that cannot be limited has no plan.
    pub(crate) fn limit_plans(&mut self) {
        let (ports, cgroups) = self
            .canary
            .canary()
            .map_or((&[][..], &[][..]), |canary| (&canary.rules().ports[..], &canary.rules().cgroups[..]));
        if let Err(why) = self.kernel.limit_to(ports, cgroups) {
            let why = format!("its ports and cgroups: {why}");
            if let Some(canary) = self.canary.canary_mut().filter(|canary| *canary.phase() == Phase::Running)
            {
                canary.stop(clock::wall(), why.clone());
                self.canary.save();
            }
            self.note(Err(format!("the canary has stopped: {why}")));
        }
    }

    /// Has the kernel use the plans that the canary allows, and no others.
    pub(crate) fn refresh_plans(&mut self) {
        if !self.enforces() {
            return;
        }
        // A canary that has stopped leaves the kernel no plan and no order.
        let halted = self.halt();
        self.note(halted);
        let mut failed = None;
        let plans: Vec<_> = self.gateway.plans().collect();
        for plan in plans {
            let done = match self.kept_out(&plan.prefix) {
                None => self.kernel.set(&plan),
                Some(_) => self.kernel.remove(&plan.prefix),
            };
            failed = done.err().or(failed);
        }
        self.note(failed.map_or(Ok(()), Err));
    }

    /// Takes the rules of a configuration that was read again; answers whether the canary has changed.
    pub(crate) fn take_canary(&mut self, rules: Option<(Rules, u32)>) -> bool {
        let rules = rules.map(|(rules, line)| (rules, self.orders.source.place(line)));
        let changed = self.canary.take_rules(rules);
        if changed {
            self.limit_plans();
            self.refresh_plans();
        }
        changed
    }

    /// Takes an order about the canary. It is in force at once, and answered when it is durable.
    pub(crate) fn order_canary(&mut self, mut waiting: Waiting) {
        let Order::SetCanary(act) = waiting.order.clone() else { return };
        let before = vec![self.canary.line()];
        match self.carry_out_canary(act, &waiting.by) {
            Err(why) => self.refuse(waiting, why),
            Ok(number) => {
                let answer = self.canary_view();
                waiting.effect = Some(Effect { before, after: vec![self.canary.line()], answer });
                self.canary.waiting.push((number, clock::since_boot() + PATIENCE, waiting));
            }
        }
    }

    fn carry_out_canary(&mut self, act: Act, by: &By) -> Result<u64, String> {
        match act {
            Act::Begin(lines) => {
                let rules = configuration::canary_rules(&lines).map_err(|error| error.to_string())?;
                if self.gateway.settings().mode != Mode::Enforce {
                    return Err("no plan is in force in this mode; expected mode = \"enforce\"".to_owned());
                }
                if let Err(why) = self.kernel.limit_to(&rules.ports, &rules.cgroups) {
                    self.limit_plans();
                    return Err(why);
                }
                self.canary.begin(rules, Some(by), None);
            }
            Act::Stop => {
                let user = by.uid.map_or(String::new(), |uid| format!(", user {uid}"));
                let canary = self.canary.canary_mut().ok_or("there is no canary; expected one that runs")?;
                if let Phase::Stopped(..) = canary.phase() {
                    return Err("the canary is stopped already".to_owned());
                }
                canary.stop(clock::wall(), format!("an order{user}, {}", by.time()));
            }
            Act::Release => {
                if self.canary.canary().is_none() {
                    return Err("there is no canary".to_owned());
                }
                let rules = self.orders.source.canary.clone();
                self.canary.saved = None;
                self.canary.take_rules(rules.map(|(rules, line)| (rules, self.orders.source.place(line))));
            }
        }
        self.limit_plans();
        self.refresh_plans();
        Ok(self.canary.save())
    }

    /// Lets a second of the canary pass, and saves what it has seen when that is due.
    pub(crate) fn tick_canary(&mut self, now: Nanos) {
        let in_force = self.enforces() && self.stopped().is_none();
        let change = self.canary.canary_mut().and_then(|canary| canary.tick(now, clock::wall(), in_force));
        if let Some(change) = change {
            self.canary.save();
            self.refresh_plans();
            let text = match &change {
                Change::Next => format!("the next step of the canary began: {}", self.canary.line()),
                Change::Finished => format!("the canary has ended without harm: {}", self.canary.line()),
                Change::Stopped(why) => format!("the canary has stopped, and no plan is used: {why}"),
            };
            let line = json!({ "at_ns": now.0, "canary": self.canary.canary().map(state), "text": text })
                .to_string();
            let written = self.logs.line(&line);
            self.note(written);
            let by = By { at: Nanos(clock::wall()), ..By::default() };
            let (what, after) = (text.clone(), vec![self.canary.line()]);
            self.audit(&Entry {
                via: "canary",
                by: &by,
                what,
                before: vec![],
                after,
                refused: None,
                durable: None,
            });
            (self.troubles.say)(&text);
        } else if (self.canary.saved.is_some() || self.canary.numbers.1 < self.canary.numbers.0)
            && (now >= self.canary.next || self.canary.next.0 - now.0 > EVERY.0)
        {
            self.canary.save();
        }
    }

    /// Takes what the disk has answered, and answers the orders that waited for it.
    pub(crate) fn take_canary_saved(&mut self) {
        while let Ok((number, written)) = self.canary.done.try_recv() {
            match written {
                Ok(()) => self.canary.numbers.1 = self.canary.numbers.1.max(number),
                Err(why) => {
                    self.canary.next = clock::since_boot() + RETRY;
                    let why = format!("the canary cannot be saved: {why}");
                    self.note(Err(why.clone()));
                    let late =
                        self.canary.waiting.extract_if(.., |(job, ..)| *job <= number).collect::<Vec<_>>();
                    late.into_iter().for_each(|(_, _, waiting)| self.settle(waiting, Some(Err(why.clone()))));
                }
            }
        }
        let (durable, now) = (self.canary.numbers.1, clock::since_boot());
        let saved = self.canary.waiting.extract_if(.., |(job, ..)| *job <= durable).collect::<Vec<_>>();
        saved.into_iter().for_each(|(_, _, waiting)| self.settle(waiting, Some(Ok(()))));
        let late = self.canary.waiting.extract_if(.., |(_, until, _)| now >= *until).collect::<Vec<_>>();
        for (_, _, waiting) in late {
            self.settle(
                waiting,
                Some(Err("the disk of the state folder has not answered for 0.5 s".to_owned())),
            );
        }
    }

    /// Saves the canary at the end of the process, and waits for the disk until then.
    pub(crate) fn end_canary(&mut self, until: Nanos) {
        if self.canary.saved.is_some() {
            self.canary.save();
        }
        while self.canary.numbers.1 < self.canary.numbers.0 && clock::since_boot() < until {
            let before = self.canary.next;
            self.take_canary_saved();
            // A disk that fails once is not asked again.
            if self.canary.next < before {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(1));
        }
        self.take_canary_saved();
    }

    /// The part of `status` for the canary.
    pub(crate) fn canary_status(&self) -> Value {
        let Some(canary) = self.canary.canary() else { return Value::Null };
        let why = if let Phase::Stopped(_, why) = canary.phase() { Some(why) } else { None };
        json!({
            "state": state(canary),
            "share_percent": percent(canary.share()),
            "step": canary.steps().count(),
            "steps": canary.rules().ramp.len(),
            "why": why,
            "waits_for": canary.waits_for(),
            "durable": self.canary.numbers.0 == self.canary.numbers.1,
        })
    }

    /// Report of the canary.
    pub(crate) fn canary_view(&self) -> Value {
        let Some(saved) = &self.canary.saved else { return json!({ "state": "none" }) };
        let canary = &saved.canary;
        let rules = canary.rules();
        let time = |nanos: u64| By { at: Nanos(nanos), ..By::default() }.time();
        let (ended, why): (Option<String>, Option<&String>) = match canary.phase() {
            Phase::Running => (None, None),
            Phase::Finished(at) => (Some(time(*at)), None),
            Phase::Stopped(at, why) => (Some(time(*at)), Some(why)),
        };
        let by = saved
            .by
            .as_ref()
            .and_then(|by| Record::parse(&format!("stop {by}")))
            .and_then(|record| record.by);
        let mut view = self.canary_status();
        view["begun"] = json!(time(canary.begun()));
        view["ended"] = json!(ended);
        view["why"] = json!(why);
        view["ordered_by"] = json!({
            "origin": if saved.of_file { "file" } else { "socket" },
            "place": saved.place,
            "at": by.as_ref().map(By::time),
            "uid": by.as_ref().and_then(|by| by.uid),
            "pid": by.as_ref().and_then(|by| by.pid),
            "comm": by.as_ref().and_then(|by| by.comm.clone()),
        });
        view["networks"] =
            json!({ "with_a_plan": self.used(), "planned_without_canary": self.gateway.planned() });
        view["rules"] = json!({
            "ports": rules.ports,
            "cgroups": rules.cgroups,
            "ramp": rules.ramp.iter().map(|step| json!({
                "share_percent": percent(step.share),
                "time_s": step.time.map(|time| time.0.0 as f64 / 1e9),
            })).collect::<Vec<_>>(),
            "retransmissions_points": rules.retransmissions,
            "p95_percent": rules.p95,
            "evidence": rules.evidence,
        });
        let steps = canary.steps().enumerate().map(|(at, (step, course))| {
            let found = canary.compare(at);
            let connections = found.as_ref().map_or((0, 0), |found| found.connections);
            let p95 = found.iter().flat_map(|found| SIZES.iter().zip(found.p95)).filter_map(|(size, found)| {
                let mut row = compared(&found?, rules.p95);
                row["size"] = json!(size);
                Some(row)
            });
            json!({
                "share_percent": percent(step.share),
                "begun": time(course.begun),
                "ran_s": course.ran.0.0 as f64 / 1e9,
                "planned": connections.0,
                "holdout": connections.1,
                "retransmissions": found.as_ref().and_then(|found| found.retransmissions).map(|found| compared(&found, rules.retransmissions)),
                "p95": p95.collect::<Vec<_>>(),
            })
        });
        view["steps_begun"] = steps.collect();
        view
    }
}

/// A comparison; an end of an interval that is not known is null.
fn compared(found: &Compared, bound: f64) -> Value {
    let end = |end: f64| end.is_finite().then_some(end);
    json!({
        "planned": found.planned,
        "holdout": found.holdout,
        "interval": [end(found.interval.0), end(found.interval.1)],
        "bound": bound,
        "worse": found.worse,
    })
}
