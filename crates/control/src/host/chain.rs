//! Runs a connection's phases in order, and remembers how its start-up ended.

use crate::contract::{
    Ack, Congestion, Control, DescribeAck, Entry, Exit, Phase, Plan, Signals, Step, Trigger, Why,
};
use crate::registry::AnyPhase;
use crate::scheme::{Beginning, Role};
use crate::startup::slow_start;
use crate::units::{Nanos, Rate};

/// How a connection's start-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartupExit {
    /// When the first avoidance phase began.
    pub at: Nanos,
    /// The window at that moment, before any reduction, bytes.
    pub cwnd: u64,
    /// Why.
    pub reason: Exit,
}

/// Why phases do not make a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// There is no phase at all.
    Empty,
    /// This phase never ends, yet others follow it.
    Endless(&'static str),
    /// The last phase is a start-up scheme: nothing would follow it.
    Unfinished(&'static str),
    /// The last scheme rules the beginning too: this one cannot go before it.
    Alone {
        /// What goes before.
        first: &'static str,
        /// The last scheme.
        last: &'static str,
    },
}

/// A connection's phases: start-up schemes, each of which ends, then one that does not.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Chain {
    // What every ACK touches comes first, side by side.
    /// The registers the phases write and the host obeys.
    pub control: Control,
    mss: u32,
    in_avoidance: bool,
    whole: bool,
    /// Whether the last phase rules below the threshold too, where RFC 5681 has slow start.
    own_start: bool,
    /// Whether the last phase sees the ACKs that others answer.
    watched: bool,
    /// The phase in force. Its place in `phases` holds a stand-in meanwhile.
    current: AnyPhase,
    at: usize,
    phases: Vec<AnyPhase>,
    /// The phase a connection begins with, and goes back to after a timeout: the second where the first is only for idle
    /// times.
    begin: usize,
    /// Whether the first of `phases` rules what follows an idle time.
    resumes: bool,
    /// It was entered after one and has not ended since.
    resuming: bool,
    exit: Option<StartupExit>,
    /// Registers before the last reduction and the phase that ruled then, for undoing a spurious one.
    before: Option<(Control, usize)>,
}

impl Chain {
    /// A chain at rest; [`Chain::start`] begins it.
    ///
    /// # Errors
    /// [`ChainError`] if the phases are not start-up schemes followed by one that never ends.
    pub fn new(phases: Vec<AnyPhase>) -> Result<Self, ChainError> {
        let Some((last, leading)) = phases.split_last() else { return Err(ChainError::Empty) };
        if let Some(endless) = leading.iter().find(|p| p.info().role != Role::Startup) {
            return Err(ChainError::Endless(endless.info().label));
        }
        if last.info().role == Role::Startup {
            return Err(ChainError::Unfinished(last.info().label));
        }
        if let ([first, ..], Beginning::Alone) = (leading, last.beginning()) {
            return Err(ChainError::Alone { first: first.info().label, last: last.info().label });
        }
        let whole = last.info().role == Role::Whole && leading.is_empty();
        let own_start = whole || last.beginning() != Beginning::Startup;
        let watched = last.watches();
        let resumes = phases[0].resumes();
        let current = phases[0].clone();
        Ok(Self {
            control: Control::default(),
            mss: 0,
            in_avoidance: false,
            whole,
            own_start,
            watched,
            current,
            at: 0,
            phases,
            begin: 0,
            resumes,
            resuming: false,
            exit: None,
            before: None,
        })
    }

    /// The same chain with `phase` in front of it for idle times only: a connection begins, and a timeout begins again,
    /// with the phase behind it.
    ///
    /// # Panics
    /// If `phase` does not [resume](Phase::resumes), or one scheme rules the whole connection.
    #[must_use]
    pub fn resuming_with(mut self, phase: AnyPhase) -> Self {
        assert!(phase.resumes() && !self.whole && !self.resumes, "one phase resumes, and is followed");
        self.phases.insert(0, phase);
        self.begin = 1;
        self.at = 1;
        self.resumes = true;
        self
    }

    /// Whether its first phase rules what follows an idle time.
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    /// Everything the phases need of a host.
    pub fn needs(&self) -> Signals {
        self.phases.iter().fold(Signals::NONE, |all, p| all.and(p.info().needs))
    }

    /// The chain's label: `slow-start+reno`.
    pub fn label(&self) -> String {
        self.phases[self.begin..].iter().map(|p| p.info().label).collect::<Vec<_>>().join("+")
    }

    /// The connection is about to open: the rate to ask the routers for, [`Rate::NONE`] for nothing.
    pub fn open(&mut self, entry: &Entry) -> Rate {
        let mut control = Control::default();
        self.current.open(entry, &mut control);
        control.ask
    }

    /// The connection begins with `initial_window` and `ssthresh` bytes.
    pub fn start(&mut self, entry: &Entry, initial_window: u64, ssthresh: u64) {
        self.mss = entry.mss;
        self.control = Control { cwnd: initial_window, ssthresh, ..Control::default() };
        // A host may begin again while nothing has been sent.
        self.put(self.begin);
        self.exit = None;
        self.current.enter(entry, &mut self.control);
        self.clamp();
        // RFC 5681 section 3.1: slow start is for a window below the threshold. Other start-up schemes may have a
        // threshold of their own.
        if matches!(self.current, AnyPhase::SlowStart(_)) && self.control.cwnd >= self.control.ssthresh {
            self.hand_over(*entry, Exit::Threshold);
        }
    }

    /// New data was acknowledged.
    pub fn on_ack(&mut self, ack: &Ack) {
        self.on_ack_with(ack);
    }

    /// The same, the description made where it is used: a phase that reads two of its fields costs two.
    #[inline(always)]
    pub fn on_ack_with(&mut self, ack: &impl DescribeAck) {
        if self.watched {
            self.let_watch(&ack.describe());
        }
        // RFC 5681 section 3.1: below ssthresh a sender is in slow start, whichever avoidance rules above it, unless
        // that has a rule of its own there.
        if self.in_avoidance && self.control.cwnd < self.control.ssthresh && !self.own_start {
            let ack = ack.describe();
            if !ack.is(Ack::RECOVERY) {
                let _ = slow_start::grow(&ack, &mut self.control);
            }
            return;
        }
        let step = self.current.on_ack_with(ack, &mut self.control);
        if step != Step::Stay {
            self.on_step(step, &ack.describe());
        }
        self.clamp();
    }

    /// Shows the last phase an ACK that it will not answer.
    #[cold]
    #[inline(never)]
    fn let_watch(&mut self, ack: &Ack) {
        let cwnd = self.control.cwnd;
        if !self.in_avoidance {
            if let Some(last) = self.phases.last_mut() {
                last.on_watched(ack, cwnd);
            }
        } else if cwnd < self.control.ssthresh {
            self.current.on_watched(ack, cwnd);
        }
    }

    #[cold]
    #[inline(never)]
    fn on_step(&mut self, step: Step, ack: &Ack) {
        match step {
            Step::Stay => {}
            Step::Over(reason) => self.note_exit(ack.now, self.control.cwnd, reason, self.at + 1),
            Step::Exit(reason) => {
                let entry =
                    Entry { now: ack.now, rtt: ack.srtt, in_flight: ack.in_flight, ..Entry::default() };
                if self.resuming {
                    self.go_on(entry, reason);
                } else {
                    self.hand_over(entry, reason);
                }
            }
        }
    }

    /// What followed an idle time is over: the connection is where its window says.
    fn go_on(&mut self, entry: Entry, reason: Exit) {
        let entry = Entry { why: Why::Handover, ..entry };
        if self.control.cwnd < self.control.ssthresh {
            return self.switch_to(self.begin, entry);
        }
        let last = self.phases.len() - 1;
        self.note_exit(entry.now, self.control.cwnd, reason, last);
        self.switch_to(last, entry);
    }

    /// A loss, mark or timeout episode began.
    #[cold]
    pub fn on_congestion(&mut self, event: &Congestion) {
        let before = self.control;
        self.before = Some((before, self.at));
        let mut step = self.current.on_congestion(event, &mut self.control);
        while let Step::Exit(reason) = step {
            let entry = Entry { now: event.now, in_flight: event.in_flight, ..Entry::default() };
            if !self.hand_over(entry, reason) {
                break;
            }
            step = self.current.on_congestion(event, &mut self.control);
        }
        if let Step::Over(reason) = step {
            self.note_exit(event.now, before.cwnd, reason, self.at + 1);
        }
        // Congestion never raises the window, whatever a phase makes of a FlightSize above it; the two segments
        // are the floor that RFC 5681 equation (4) sets.
        self.control.cwnd = self.control.cwnd.min(before.cwnd.max(2 * u64::from(self.mss)));
        if event.trigger == Trigger::Timeout {
            self.lose_window(event.now);
        }
        self.clamp();
    }

    /// The host starts over from one segment: after a timeout, and in Tahoe after every loss.
    pub fn lose_window(&mut self, now: Nanos) {
        if !self.whole {
            // RFC 5681 section 3.1, "loss window": one segment, and slow start again up to ssthresh.
            self.control.cwnd = self.mss.into();
            self.restart(Entry { now, why: Why::Timeout, ..Entry::default() });
        }
    }

    /// Sending resumes after an idle time; the host has already set the window its profile asks for, and says in `entry`
    /// what it was. A whole scheme, which rules its own window, is told whenever the application left nothing in flight,
    /// however short the time; and a first phase that follows a plan begins anew with one, whatever the window.
    pub fn on_idle(&mut self, entry: Entry) {
        let entry = Entry { why: Why::Idle, ..entry };
        let planned = entry.plan != Plan::default() && self.first().info().needs.has(Signals::PLAN);
        if self.resumes {
            self.switch_to(0, entry);
            self.resuming = true;
        } else if self.whole || planned || self.control.cwnd < self.control.ssthresh {
            self.restart(entry);
        }
        self.clamp();
    }

    /// Whether one scheme rules the whole connection, its window during loss repair and after idle times included.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The last reduction was spurious: nothing had been lost.
    pub fn on_spurious(&mut self) {
        if let Some((before, at)) = self.before.take() {
            self.control.cwnd = self.control.cwnd.max(before.cwnd);
            self.control.ssthresh = self.control.ssthresh.max(before.ssthresh);
            if at + 1 == self.phases.len() {
                // A timeout sent the connection back to its first phase; avoidance goes on where it was.
                self.put(at);
            }
            self.current.on_spurious();
        }
    }

    /// Bytes left the host.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, bytes: u64) {
        self.current.on_sent(now, bytes, &mut self.control);
    }

    /// How start-up ended, once it has.
    pub fn startup_exit(&self) -> Option<StartupExit> {
        self.exit
    }

    /// Whether the last phase rules.
    pub fn in_avoidance(&self) -> bool {
        self.in_avoidance
    }

    /// The phase the connection began with.
    fn first(&self) -> &AnyPhase {
        if self.at == self.begin { &self.current } else { &self.phases[self.begin] }
    }

    fn restart(&mut self, entry: Entry) {
        self.switch_to(self.begin, entry);
    }

    #[cold]
    fn hand_over(&mut self, entry: Entry, reason: Exit) -> bool {
        if self.at + 1 == self.phases.len() {
            return false;
        }
        self.note_exit(entry.now, self.control.cwnd, reason, self.at + 1);
        self.switch_to(self.at + 1, Entry { why: Why::Handover, ..entry });
        true
    }

    /// The last start-up phase is over, so that the phase `next` follows, or a whole scheme's own start-up: only the first
    /// time counts.
    #[cold]
    fn note_exit(&mut self, at: Nanos, cwnd: u64, reason: Exit, next: usize) {
        let over = next + 1 == self.phases.len() && next > self.begin;
        if (over || self.whole) && self.exit.is_none() {
            self.exit = Some(StartupExit { at, cwnd, reason });
        }
    }

    fn switch_to(&mut self, at: usize, entry: Entry) {
        self.put(at);
        self.current.enter(&Entry { mss: self.mss, ..entry }, &mut self.control);
    }

    /// Puts the phase at `at` in force, as it was left.
    fn put(&mut self, at: usize) {
        core::mem::swap(&mut self.current, &mut self.phases[self.at]);
        core::mem::swap(&mut self.current, &mut self.phases[at]);
        self.at = at;
        self.resuming = false;
        self.in_avoidance = at + 1 == self.phases.len();
    }

    #[inline]
    fn clamp(&mut self) {
        self.control.cwnd = self.control.cwnd.max(self.mss.into());
    }
}
