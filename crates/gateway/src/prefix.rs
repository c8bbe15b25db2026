//! A prefix: what is known of it, and the plan that is in force for it.
//!
//! 1. **Half jump.** The first plan goes half of the doublings from the stack's window to the target.
//! 2. **Whole jump.** After [`CONFIRM`] planned connections without a loss in their first window, and while at most a
//!    third of the hosts lost such a segment last, the plan goes to the target, and follows it when it moves by an eighth.
//! 3. **Losses.** A first-window loss is evidence against the plan as far as the path's own losses, seen without a plan,
//!    do not explain it ([`Entry::tried`]). The first evidence halves the window; further evidence counts only while more
//!    than a third of the hosts lost such a segment last. The window is not raised during the hold-down. The third
//!    halving ends the plan for the time of a freeze.
//! 4. **Harm.** The trial ends the plan for the time of a freeze.
//! 5. **Orders.** An order of the operator sets the window, whatever is known and lost; only harm ends it, too.

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use serde::{Deserialize, Serialize};

use crate::connection::{Arm, Connection, Stage};
use crate::decision::{Decision, Target, Why, WhyNot};
use crate::estimate::{Bound, Estimate, Hosts, RTT_UNIT, Sample, Scope, Unfounded, founded};
use crate::plan::Plan;
use crate::settings::{Override, STOCK, Settings};
use crate::share::Remote;
use crate::stamp::Stamp;
use crate::trial::{Group, Trial, Verdict};

/// Planned connections without a first-window loss before the whole jump.
pub(crate) const CONFIRM: u8 = 4;
/// Planned connections without a first-window loss after which earlier losses no longer count.
const FORGIVE: u8 = 32;
/// Halvings that end a plan.
const STRIKES: u8 = 3;

/// A prefix.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub prefix: Prefix,
    hosts: Hosts,
    /// Made at the first result of a planned or held-out connection.
    trial: Option<Box<Trial>>,
    /// Time of the newest report.
    pub seen: Stamp,
    /// End of the hold-down or freeze.
    until: Stamp,
    /// End of the plan in force.
    expires: Stamp,
    /// Window of the plan in force, segments; zero without a plan.
    window: u16,
    /// Threshold of the plan in force, segments; zero for none.
    ssthresh: u16,
    /// Round-trip times of the plan in force, units of 64 us.
    gate: (u16, u16),
    /// Share of retransmitted segments without a plan, of 65536.
    loss: u16,
    /// Evidence against the window, thousandths of a loss.
    surplus: u16,
    strikes: u8,
    /// Planned connections without a first-window loss since the window changed.
    clean: u8,
    step: Step,
    rest: Rest,
    /// Whether connections are also counted for the parts of the prefix.
    pub split: bool,
}

/// Progress of the jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    Half,
    Whole,
}

/// Reason for which the window is not raised until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Rest {
    No,
    /// After a halving.
    HoldDown,
    /// No plan at all.
    Freeze,
}

/// Window and threshold that a policy wants, segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub window: u32,
    pub ssthresh: Option<u32>,
}

/// State of the gateway around a prefix.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub settings: &'a Settings,
    pub now: Stamp,
    /// Time until which no plan is made on this host.
    pub reverted: Option<Stamp>,
    /// Order of the operator for the prefix.
    pub order: Option<Override>,
    /// The policy, if it is not the estimate itself.
    pub wanted: Option<Wanted>,
    /// Whether the hosts of the prefix may be split if they disagree.
    pub may_split: bool,
}

impl Entry {
    pub(crate) fn new(prefix: Prefix, now: Stamp) -> Self {
        Self {
            prefix,
            hosts: Hosts::default(),
            trial: None,
            seen: now,
            until: now,
            expires: now,
            window: 0,
            ssthresh: 0,
            gate: (0, 0),
            loss: 0,
            surplus: 0,
            strikes: 0,
            clean: 0,
            step: Step::Half,
            rest: Rest::No,
            split: false,
        }
    }

    /// Takes a connection of the host with this tag, and reviews the plan.
    pub(crate) fn note(
        &mut self,
        connection: &Connection,
        tag: u32,
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        self.seen = around.now;
        if let Some(sample) = Sample::of(connection) {
            self.hosts.note(around.now, tag, sample, around.settings.half_life);
        }
        if connection.stage == Stage::Ended {
            self.ended(connection, tag, around, out);
        }
        self.review(around, out);
    }

    /// Takes an observation of another gateway with this tag, and reviews the plan.
    pub(crate) fn note_remote(
        &mut self,
        remote: &Remote,
        tag: u32,
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        let Remote { observation, age, weight } = remote;
        let rtt = u16::try_from(observation.rtt.div_ceil(RTT_UNIT)).unwrap_or(u16::MAX);
        let sample = Sample { parts: observation.window, bound: Bound::Lower, rtt };
        self.hosts.note_remote(around.now.before(*age), tag, sample, observation.samples, *weight);
        self.review(around, out);
    }

    /// The estimate of this gateway's own measurements, if it is founded.
    pub(crate) fn own_estimate(&self, settings: &Settings, now: Stamp) -> Option<Estimate> {
        let estimate = self.hosts.estimate(now, settings.half_life, Scope::Own)?;
        founded(&estimate, settings).ok().map(|()| estimate)
    }

    fn ended(&mut self, connection: &Connection, tag: u32, around: &Around<'_>, out: &mut Vec<Decision>) {
        let unit = Nanos::from_micros(1);
        let group = match connection.arm {
            Arm::Planned(window) => {
                if connection.arm.is_larger() {
                    self.tried(connection, window, tag, around, out);
                }
                // A window that the kernel divided down to the stack's own counts, too: its like are among those held out.
                Group::Planned
            }
            arm => {
                self.unplanned_loss(connection);
                if arm == Arm::Stock {
                    return;
                }
                Group::Holdout
            }
        };
        if self.window == 0 {
            return;
        }
        let trial = self.trial.get_or_insert_default();
        if let Some(harm) = trial.note(group, connection, unit, around.settings.false_alarm.0) {
            let until = around.now.after(around.settings.freeze);
            self.stop(WhyNot::Harm { harm, until: until.time() }, out);
            self.rest(Rest::Freeze, until);
            self.trial = None;
        }
    }

    /// Average of the retransmitted share of unplanned connections, of the weight 1/8.
    fn unplanned_loss(&mut self, connection: &Connection) {
        if connection.sent > 0 {
            let share = u64::from(connection.retransmits) * 65_535 / u64::from(connection.sent);
            let loss = i64::from(self.loss);
            self.loss = (loss + (share.min(65_535) as i64 - loss) / 8) as u16;
        }
    }

    /// Counts the first window of a planned connection. A window of `w` segments loses one of them by chance with a
    /// probability of about `q = w x loss`. A loss counts for 1, each connection against it for `1.5 q + 0.05`; the
    /// evidence is enough at `0.8 + 4 (q - 0.05)`, and not below 0.8: one loss where `q` is at most 5 %.
    fn tried(
        &mut self,
        connection: &Connection,
        window: u32,
        tag: u32,
        around: &Around<'_>,
        out: &mut Vec<Decision>,
    ) {
        let lost = connection.first_window_lost;
        self.hosts.tried(tag, lost);
        let chance = (u64::from(window) * u64::from(self.loss) * 1000 / 65_536).min(600) as u32;
        let gained = if lost { 1000 } else { 0 };
        let surplus = (u32::from(self.surplus) + gained).saturating_sub(chance * 3 / 2 + 50);
        self.surplus = surplus.min(10_000) as u16;
        if !lost {
            self.clean = self.clean.saturating_add(1);
            if self.clean >= FORGIVE && self.step == Step::Whole && self.rest == Rest::No {
                self.strikes = 0;
            }
            return;
        }
        let enough = surplus >= 800 + 4 * chance.saturating_sub(50);
        let free = around.order.is_none();
        if free && self.window > 0 && enough && (self.strikes == 0 || self.many_lost()) {
            self.strike(connection, around, out);
        }
    }

    /// Whether more than a third of the hosts lost a segment of their last planned first window.
    fn many_lost(&self) -> bool {
        let (lost, tried) = self.hosts.losers();
        3 * lost > tried
    }

    fn strike(&mut self, connection: &Connection, around: &Around<'_>, out: &mut Vec<Decision>) {
        let Settings { hold_down, freeze, .. } = *around.settings;
        let (from, host) = (u32::from(self.window), connection.peer);
        self.strikes += 1;
        (self.surplus, self.clean) = (0, 0);
        if self.strikes >= STRIKES {
            let until = around.now.after(freeze);
            self.stop(WhyNot::Frozen { host, until: until.time() }, out);
            self.rest(Rest::Freeze, until);
            self.trial = None;
            return;
        }
        let until = around.now.after(hold_down);
        self.rest(Rest::HoldDown, until);
        self.step = Step::Half;
        if from / 2 <= STOCK {
            self.stop(WhyNot::Halved { from, host, until: until.time() }, out);
            return;
        }
        self.window = (from / 2) as u16;
        self.set(Why::Halved { from, host, strikes: self.strikes, hold_down }, around, out);
    }

    fn rest(&mut self, rest: Rest, until: Stamp) {
        (self.rest, self.until) = (rest, until);
    }

    /// Brings the plan in line with what is known.
    pub(crate) fn review(&mut self, around: &Around<'_>, out: &mut Vec<Decision>) {
        if let Err(why) = self.reviewed(around, out) {
            self.stop(why, out);
        }
    }

    fn reviewed(&mut self, around: &Around<'_>, out: &mut Vec<Decision>) -> Result<(), WhyNot> {
        let now = around.now;
        if around.order == Some(Override::Off) {
            return Err(WhyNot::Operator);
        }
        if let Some(until) = around.reverted {
            return Err(WhyNot::HostReverted { until: until.time() });
        }
        let frozen = self.rest == Rest::Freeze && now < self.until;
        match around.order {
            Some(Override::Window(_)) if frozen => return Err(WhyNot::Waiting { until: self.until.time() }),
            Some(Override::Window(window)) => {
                let changed = u32::from(self.window) != window || self.gate != (0, u16::MAX);
                if changed || self.expires_soon(around) {
                    (self.window, self.gate, self.ssthresh) = (window as u16, (0, u16::MAX), 0);
                    self.set(Why::Operator, around, out);
                }
                return Ok(());
            }
            Some(Override::Freeze) => {
                if self.window > 0 && self.expires_soon(around) {
                    self.set(Why::Operator, around, out);
                }
                return Ok(());
            }
            Some(Override::Off) | None => {}
        }
        if self.rest != Rest::No && now >= self.until {
            if self.rest == Rest::Freeze {
                (self.strikes, self.surplus) = (0, 0);
                self.hosts.forget_tries();
            }
            self.rest = Rest::No;
        }
        if self.rest == Rest::Freeze || self.rest == Rest::HoldDown && self.window == 0 {
            return Err(WhyNot::Waiting { until: self.until.time() });
        }
        let target = self.target(around)?;
        let window = u32::from(self.window);
        let Target { window: goal, estimate } = target;
        let (next, why) = if window == 0 {
            (self.step, self.clean) = (Step::Half, 0);
            (half_jump(STOCK, goal), Why::HalfJump(target))
        } else if goal < window && (window - goal) * 8 >= window {
            (goal, Why::Follow { target, from: window })
        } else if self.rest != Rest::No || goal <= window {
            (window, Why::Renewed(target))
        } else if self.step == Step::Half && self.clean >= CONFIRM && !self.many_lost() {
            self.step = Step::Whole;
            (goal, Why::WholeJump { target, clean: self.clean })
        } else if self.step == Step::Whole && (goal - window) * 8 >= window {
            (goal, Why::Follow { target, from: window })
        } else {
            (window, Why::Renewed(target))
        };
        let gate = gate(&estimate);
        let moved = |old: u16, new: u16| u32::from(old.abs_diff(new)) * 4 > u32::from(old);
        let other_gate = moved(self.gate.0, gate.0) || moved(self.gate.1, gate.1);
        if next == window && !other_gate && !self.expires_soon(around) {
            return Ok(());
        }
        if next != window {
            self.clean = 0;
        }
        (self.window, self.gate) = (next as u16, gate);
        self.ssthresh = self.threshold(around, &estimate);
        self.set(why, around, out);
        Ok(())
    }

    /// Window to which the plan leads, from [`STOCK`] to the largest that is allowed.
    fn target(&mut self, around: &Around<'_>) -> Result<Target, WhyNot> {
        let estimate = self.estimate(around.settings, around.now)?;
        if estimate.disagree() {
            if around.may_split {
                self.split = true;
                return Err(WhyNot::Split(estimate));
            }
            return Err(WhyNot::Disagree(estimate));
        }
        if self.split {
            return Err(WhyNot::Split(estimate));
        }
        let wanted = around.wanted.map_or(estimate.segments(), |wanted| wanted.window);
        let target = Target { window: wanted.clamp(STOCK, around.settings.window), estimate };
        if target.window == STOCK && around.wanted.is_none_or(|wanted| wanted.ssthresh.is_none()) {
            return Err(WhyNot::NoGain(target));
        }
        Ok(target)
    }

    /// The estimate, if it is founded.
    fn estimate(&mut self, settings: &Settings, now: Stamp) -> Result<Estimate, WhyNot> {
        let found = self.hosts.estimate(now, settings.half_life, Scope::All);
        let none = Unfounded::Hosts { have: 0, need: settings.hosts };
        let estimate = found.ok_or(WhyNot::Unfounded(none))?;
        founded(&estimate, settings).map_err(|lack| {
            // Whether the hosts agree is asked anew when there are enough of them.
            self.split = false;
            WhyNot::Unfounded(lack)
        })?;
        Ok(estimate)
    }

    /// Threshold of the plan: that of the policy; for the estimate itself its median, if most hosts are measured to the
    /// limit. Zero for none.
    fn threshold(&self, around: &Around<'_>, estimate: &Estimate) -> u16 {
        if !around.settings.ssthresh {
            return 0;
        }
        let measured = || (2 * estimate.exact > estimate.hosts).then(|| estimate.segments());
        let threshold = around.wanted.map_or_else(measured, |wanted| wanted.ssthresh);
        threshold.map_or(0, |segments| segments.clamp(self.window.into(), u16::MAX.into()) as u16)
    }

    fn expires_soon(&self, around: &Around<'_>) -> bool {
        around.now.after(Nanos(around.settings.lifetime.0 / 2)) >= self.expires
    }

    fn set(&mut self, why: Why, around: &Around<'_>, out: &mut Vec<Decision>) {
        self.expires = around.now.after(around.settings.lifetime);
        out.extend(self.plan(around.settings).map(|plan| Decision::Set { plan, why }));
    }

    fn stop(&mut self, why: WhyNot, out: &mut Vec<Decision>) {
        if self.window > 0 {
            (self.window, self.ssthresh, self.clean, self.step) = (0, 0, 0, Step::Half);
            out.push(Decision::Remove { prefix: self.prefix, why });
        }
    }

    /// Ends the plan without a decision: the host reverts, or the space is needed.
    pub(crate) fn forget_plan(&mut self) {
        self.stop(WhyNot::Forgotten, &mut vec![]);
        self.trial = None;
    }

    /// The plan in force.
    pub(crate) fn plan(&self, settings: &Settings) -> Option<Plan> {
        let time = |units: u16| Nanos(u64::from(units) * RTT_UNIT);
        (self.window > 0).then(|| Plan {
            prefix: self.prefix,
            window: self.window.into(),
            ssthresh: (self.ssthresh > 0).then_some(self.ssthresh.into()),
            rtt: (time(self.gate.0), if self.gate.1 == u16::MAX { Nanos::NEVER } else { time(self.gate.1) }),
            expires: self.expires.time(),
            holdout: settings.holdout,
        })
    }

    /// Reason why there is no plan; [`None`] if there is one.
    pub(crate) fn why_not(&self, around: &Around<'_>) -> Option<WhyNot> {
        if self.window > 0 {
            return None;
        }
        // The review of a copy, so that an explanation changes nothing.
        self.clone().reviewed(around, &mut vec![]).err()
    }

    /// The estimate, founded or not.
    pub(crate) fn estimated(&self, settings: &Settings, now: Stamp) -> Option<Estimate> {
        self.hosts.estimate(now, settings.half_life, Scope::All)
    }

    /// Hosts, strikes and the share of retransmitted segments without a plan, of 65536.
    pub(crate) fn counters(&self) -> (usize, u8, u16) {
        (self.hosts.len(), self.strikes, self.loss)
    }

    /// Results of the trial.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.trial.as_deref().map(Trial::verdict)
    }

    /// Whether nothing of it would be missed: no plan, no hold-down, and no sample with weight.
    pub(crate) fn is_worthless(&self, settings: &Settings, now: Stamp) -> bool {
        self.window == 0
            && (self.rest == Rest::No || now >= self.until)
            && self.hosts.estimate(now, settings.half_life, Scope::All).is_none()
    }

    /// Whether a plan is in force.
    pub(crate) fn is_planned(&self) -> bool {
        self.window > 0
    }

    /// Moves every time; see [`Stamp::moved`].
    pub(crate) fn moved(&mut self, from: Stamp, to: Stamp) {
        self.hosts.moved(from, to);
        for time in [&mut self.seen, &mut self.until, &mut self.expires] {
            *time = time.moved(from, to);
        }
    }

    /// Moves the times of the samples by this much into the past.
    pub(crate) fn aged(&mut self, now: Stamp, by: Nanos) {
        self.hosts.moved(now, now.before(by));
    }

    /// Whether its values are in their ranges, after a restore.
    pub(crate) fn is_sound(&self) -> bool {
        let window = self.window == 0 || u32::from(self.window) >= STOCK;
        let threshold = self.ssthresh == 0 || self.ssthresh >= self.window;
        window
            && threshold
            && self.gate.0 <= self.gate.1
            && self.strikes <= STRIKES
            && self.hosts.is_sound()
            && self.trial.as_ref().is_none_or(|trial| trial.is_sound())
    }

    /// Holds a restored plan to the present settings.
    pub(crate) fn bound(&mut self, settings: &Settings) {
        self.window = self.window.min(settings.window as u16);
        if !settings.ssthresh {
            self.ssthresh = 0;
        }
    }

    /// Reads all that a report needs; the result has no meaning.
    pub(crate) fn touch(&self) -> u32 {
        self.hosts.touch().wrapping_add(self.trial.as_ref().map_or(0, |trial| trial.touch()))
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.hosts.bytes() + self.trial.as_ref().map_or(0, |_| size_of::<Trial>())
    }
}

/// Half of the doublings from `from` to `to` segments.
fn half_jump(from: u32, to: u32) -> u32 {
    if to <= from { to } else { (from * to).isqrt().max(from + 1) }
}

/// Round-trip times of handshakes for which an estimate holds: half of the low end to twice the high end.
fn gate(estimate: &Estimate) -> (u16, u16) {
    let units = |time: u64| u16::try_from(time / RTT_UNIT).unwrap_or(u16::MAX);
    (units(estimate.rtt.0.0 / 2), units(estimate.rtt.1.0.saturating_mul(2)))
}
