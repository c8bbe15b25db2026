//! One connected network on several threads: groups of stages run in windows, and meet between them.

use crate::config::Network;
use crate::ended::{LinkOutcome, Outcome, flow_outcome, outcome_of};
use crate::engine::{Engine, Mode, Plan};
use crate::groups::{Groups, MOST};
use crate::observe::NoObserver;
use crate::parts;
use crate::timings::{Division, Spent, Timings, Watch};
use crate::wire::Away;
use std::hint::spin_loop;
use std::mem::take;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, panicking, scope};

/// Looks at the others before a thread that waits sleeps: some 20 us, which is how long it takes to wake one.
const LOOKS: u32 = 1000;

/// A run of a network in groups of stages.
pub(crate) struct Windows {
    whole: Plan,
    groups: Arc<Groups>,
}

impl Windows {
    /// The run of `network` by at most `threads` threads; `None` if groups would gain less than `worth`.
    pub(crate) fn of(network: &Network, threads: usize, worth: f64) -> Option<Self> {
        if parts::has_own_schemes(network) {
            return None;
        }
        let whole = Plan::new(network, Mode::Fused);
        let groups = Arc::new(Groups::of(network, whole.compiled(), threads, worth)?);
        Some(Self { whole, groups })
    }

    /// Number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.groups.count
    }

    /// Simulates `network`, of which this is the run, and times its threads; `None` if it was stopped, or the system has not given the
    /// threads.
    pub(crate) fn simulate(&self, network: &Network, watch: Watch) -> Option<(Outcome, Timings)> {
        let began = watch.now();
        let of = |group| self.whole.of_group(network, &self.groups, group as u8);
        let plans: Vec<Plan> = (0..self.groups.count).map(of).collect();
        let (engines, times): (Vec<_>, Vec<Times>) = run(network, &plans, watch)?.into_iter().unzip();
        let timed = |outcome| {
            let mut threads: Vec<Spent> = times.iter().map(|times| times.spent).collect();
            // The thread of the caller prepares, and puts the outcomes together.
            threads[0].working = watch.since(began).saturating_sub(threads[0].waiting);
            (outcome, Timings { division: Division::Groups(times[0].windows), threads })
        };
        let finished = engines.iter().all(Engine::has_finished);
        let end = engines.iter().map(Engine::ended_at).max()?;
        if finished && engines.iter().any(|engine| engine.has_run_past(end)) {
            drop(engines);
            let mut engine = Engine::new(network, &self.whole, Some(end), NoObserver);
            engine.run();
            return Some(timed(outcome_of(engine, end, network.grid.0, &network.links).0));
        }
        Some(timed(together(network, &self.groups, engines, end)))
    }
}

/// Simulates `network` in groups for `threads` threads, whatever they gain, one after the other on this thread, and calls `after`
/// behind each window of each group with its number: for measurements of what threads could gain. `None` if there are no groups.
pub(crate) fn in_turns(network: &Network, threads: usize, mut after: impl FnMut(usize)) -> Option<Outcome> {
    let Windows { whole, groups } = Windows::of(network, threads, 0.0)?;
    let plans: Vec<Plan> =
        (0..groups.count).map(|group| whole.of_group(network, &groups, group as u8)).collect();
    let mut engines: Vec<_> = plans.iter().map(|plan| Engine::new(network, plan, None, NoObserver)).collect();
    loop {
        let until = engines.iter().map(Engine::reaches_others_at).min()?;
        let mail: Vec<_> =
            engines.iter_mut().flat_map(|engine| engine.sent_away().collect::<Vec<_>>()).collect();
        mail.iter().for_each(|(group, away)| engines[*group].arrive(away));
        let mut goes_on = false;
        for (group, engine) in engines.iter_mut().enumerate() {
            goes_on = engine.run_until(until);
            after(group);
        }
        if !goes_on {
            let end = engines.iter().map(Engine::ended_at).max()?;
            return Some(together(network, &groups, engines, end));
        }
    }
}

/// Times of the thread of a group, and the number of its windows.
#[derive(Default)]
struct Times {
    spent: Spent,
    windows: u64,
}

/// The engines of all groups after the run, and the times of their threads; `None` if the run was stopped, or the system has not given the
/// threads.
fn run<'r>(
    network: &Network,
    plans: &'r [Plan],
    watch: Watch,
) -> Option<Vec<(Engine<'r, NoObserver>, Times)>> {
    let meeting = Meeting::new(plans.len());
    let one = |group: usize| {
        let _guard = Guard(&meeting);
        let began = watch.now();
        let mut engine = Engine::new(network, &plans[group], None, NoObserver);
        let mut times = go(&mut engine, &meeting, group, watch)?;
        times.spent.working = watch.since(began).saturating_sub(times.spent.waiting);
        Some((engine, times))
    };
    let one = &one;
    scope(|scope| {
        let others: Vec<_> =
            (1..plans.len()).map(|group| Builder::new().spawn_scoped(scope, move || one(group))).collect();
        if others.iter().any(Result::is_err) {
            meeting.leave();
        }
        let mut engines = vec![one(0)];
        for other in others.into_iter().flatten() {
            engines.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        // Those that were not there are missing.
        let engines: Option<Vec<_>> = engines.into_iter().collect();
        engines.filter(|engines| engines.len() == plans.len())
    })
}

/// Runs the engine of a group to its end; returns how often it met the others, and how long it waited. `None` if the run is left.
fn go(engine: &mut Engine<NoObserver>, meeting: &Meeting, group: usize, watch: Watch) -> Option<Times> {
    let mut times = Times::default();
    for turn in 0.. {
        let soonest = engine.reaches_others_at();
        let mut mail: [Vec<Away>; MOST] = Default::default();
        engine.sent_away().for_each(|(group, away)| mail[group].push(away));
        mail.into_iter().enumerate().for_each(|(group, mail)| meeting.send(group, mail));
        if engine.is_stopped() {
            meeting.leave();
        }
        let since = watch.now();
        let until = meeting.meet(group, turn, soonest)?;
        times.spent.waiting += watch.since(since);
        times.windows += 1;
        meeting.mail(group).into_iter().for_each(|away| engine.arrive(&away));
        if !engine.run_until(until) {
            break;
        }
    }
    Some(times)
}

/// Place where threads meet between windows.
struct Meeting {
    members: usize,
    arrived: AtomicUsize,
    /// Number of meetings that are over.
    over: AtomicUsize,
    /// Earliest time at which each group may reach another, for even and for odd meetings: a thread may arrive at the next one before
    /// another has read this one.
    soonest: [[AtomicU64; MOST]; 2],
    mail: [Mutex<Vec<Away>>; MOST],
    /// Whether a thread has left for good.
    left: AtomicBool,
    /// Number of threads that sleep.
    asleep: AtomicUsize,
    /// Wakes them.
    told: Condvar,
    /// Lock of `told`.
    doze: Mutex<()>,
}

impl Meeting {
    fn new(members: usize) -> Self {
        Self {
            members,
            arrived: AtomicUsize::new(0),
            over: AtomicUsize::new(0),
            soonest: Default::default(),
            mail: Default::default(),
            left: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            doze: Mutex::new(()),
            told: Condvar::new(),
        }
    }

    /// A thread leaves for good: nobody waits for it.
    fn leave(&self) {
        self.left.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Wakes those that sleep. A thread counts itself as asleep before it looks for the last time.
    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.doze.lock().unwrap_or_else(PoisonError::into_inner));
            self.told.notify_all();
        }
    }

    /// Whether the meeting of this number is over, or a thread has left.
    fn is_settled(&self, turn: usize) -> bool {
        self.over.load(Ordering::SeqCst) > turn || self.left.load(Ordering::SeqCst)
    }

    fn wait(&self, turn: usize) {
        for _ in 0..LOOKS {
            if self.is_settled(turn) {
                return;
            }
            spin_loop();
        }
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let doze = self.doze.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.told.wait_while(doze, |()| !self.is_settled(turn)));
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Puts packets into the mail of a group. They may be taken a window early: they arrive after the window of their taker.
    fn send(&self, group: usize, mail: Vec<Away>) {
        if mail.is_empty() {
            return;
        }
        let mut others = self.mail[group].lock().unwrap_or_else(PoisonError::into_inner);
        if others.is_empty() { *others = mail } else { others.extend(mail) }
    }

    fn mail(&self, group: usize) -> Vec<Away> {
        take(&mut *self.mail[group].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for all; returns the earliest time at which a group may reach another. `None` if one has left.
    fn meet(&self, member: usize, turn: usize, soonest: u64) -> Option<u64> {
        let times = &self.soonest[turn % 2];
        times[member].store(soonest, Ordering::Release);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Release);
            self.over.store(turn + 1, Ordering::SeqCst);
            self.wake();
        }
        self.wait(turn);
        if self.over.load(Ordering::SeqCst) <= turn {
            return None;
        }
        times[..self.members].iter().map(|time| time.load(Ordering::Acquire)).min()
    }
}

/// Tells the others when this thread panics, so that they do not wait for it.
struct Guard<'a>(&'a Meeting);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.leave();
        }
    }
}

/// The outcome of the whole from the engines of its groups.
fn together(network: &Network, groups: &Groups, mut engines: Vec<Engine<NoObserver>>, end: u64) -> Outcome {
    engines.iter_mut().for_each(Engine::forget_packets);
    let mut stats: Vec<_> = engines.iter().map(|engine| engine.link_stats(end)).collect();
    let links = network.links.iter().zip(&groups.links).map(|(config, &group)| {
        let mut of_all = stats.iter_mut().map(Iterator::next).collect::<Vec<_>>();
        of_all[usize::from(group)].take().map(|stats| LinkOutcome::of(end, stats, config))
    });
    let links = links.flatten().collect();
    drop(stats);
    let mut ends: Vec<_> = engines.iter_mut().map(|engine| take(&mut engine.flows).into_iter()).collect();
    let flows = groups.senders.iter().enumerate().map(|(index, &group)| {
        let mut of_all = ends.iter_mut().map(Iterator::next).collect::<Vec<_>>();
        let flow = of_all[usize::from(group)].take()?;
        let lost = engines.iter().map(|engine| engine.lost(index)).sum();
        let before_exit = engines.iter().map(|engine| engine.lost_before_exit(index, &flow)).sum();
        Some(flow_outcome(flow, (lost, before_exit), end, network.grid.0))
    });
    let flows = flows.flatten().collect();
    Outcome { end, flows, links }
}
