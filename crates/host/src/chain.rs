//! The phases of a connection, run in order, and the record of how its start-up ended.

#[cfg(feature = "alloc")]
use alloc::{string::String, vec::Vec};
use core::fmt;

use firstflight_contract::{
    Ack, Beginning, Congestion, Control, Declaration, Declared, DescribeAck, Entry, Exit, Lost, Nanos, Phase,
    Plan, Rate, Role, Sent, Signals, StartupExit, Step, Trigger, Why, slow_start,
};

use crate::phases::Phases;
#[cfg(feature = "alloc")]
use crate::phases::Sequence;

/// Outcome of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Whether start-up ended with it.
    pub ended: bool,
    /// Bytes of [`Ack::growth`] that did not enlarge the window, because it stopped at the threshold, or because the phase ended
    /// before it counted the ACK. They are for the phase that is in force now: a host whose ACKs may add more than a segment
    /// reports them to it by another ACK, with `acked` and `rtt` zero.
    pub rest: u64,
}

/// Reason why phases do not make a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainError {
    /// There is no phase.
    Empty,
    /// This phase never ends, but another phase follows it.
    Endless(&'static str),
    /// The last phase ends, and no phase follows it.
    Unfinished(&'static str),
    /// The last scheme has its own rule for the beginning, and another scheme precedes it.
    Alone {
        /// The preceding scheme.
        first: &'static str,
        /// The last scheme.
        last: &'static str,
    },
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no scheme is named"),
            Self::Endless(label) => write!(f, "{label} never ends, so nothing can follow it"),
            Self::Alone { first, last } => {
                write!(f, "{last} begins the connection itself, so {first} cannot precede it")
            }
            Self::Unfinished(label) => write!(f, "{label} ends, and no avoidance scheme follows it"),
        }
    }
}

impl core::error::Error for ChainError {}

/// The phases of a connection: start-up schemes, each of which ends, then one scheme that does not.
///
/// `P` is the type of a phase: an enum of schemes, or any type of an out-of-tree scheme. `S` stores the phases:
/// [`Sequence`](crate::phases::Sequence) (the default, with the feature `alloc`) any number of them,
/// [`Inline`](crate::phases::Inline) a fixed number without allocation.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Chain<P, #[cfg(feature = "alloc")] S = Sequence<P>, #[cfg(not(feature = "alloc"))] S> {
    // The fields that every ACK touches come first, side by side.
    /// The registers that the phases write and the host obeys.
    pub control: Control,
    mss: u32,
    in_avoidance: bool,
    standalone: bool,
    /// Whether the last phase also rules below the threshold, where RFC 5681 has slow start.
    own_start: bool,
    /// Whether the last phase sees the ACKs that other phases answer.
    watched: bool,
    phases: S,
    /// Position of the phase with which a connection begins, and begins again after a timeout: the second if the first is
    /// for idle times only.
    begin: usize,
    /// Whether the first phase rules after an idle time.
    resumes: bool,
    /// Whether the first phase was entered after an idle time and has not ended since.
    resuming: bool,
    exit: Option<StartupExit>,
    /// Registers before the last reduction, and the position of the phase in force then, to undo a spurious reduction.
    before: Option<(Control, usize)>,
    phase: core::marker::PhantomData<P>,
}

#[cfg(feature = "alloc")]
impl<P: Phase + Declared + Clone> Chain<P> {
    /// A chain at rest; [`Chain::start`] begins it.
    ///
    /// # Errors
    /// [`ChainError`] if the phases are not start-up schemes followed by one scheme that never ends.
    pub fn new(phases: Vec<P>) -> Result<Self, ChainError> {
        Self::with(Sequence::new(phases).ok_or(ChainError::Empty)?)
    }

    /// The same chain with `phase` in front for idle times only: a connection begins, and begins again after a timeout,
    /// with the phase behind it.
    ///
    /// # Panics
    /// If `phase` does not [resume](Declaration::resumes), another phase already resumes, or one scheme rules the whole
    /// connection.
    #[must_use]
    pub fn resuming_with(mut self, phase: P) -> Self {
        assert!(
            phase.declaration().resumes && !self.standalone && !self.resumes,
            "one phase resumes, and another follows it"
        );
        self.phases.insert_first(phase);
        self.begin = 1;
        self.resumes = true;
        self
    }
}

impl<P: Phase + Declared, S: Phases<Phase = P>> Chain<P, S> {
    /// A chain at rest over stored phases; [`Chain::start`] begins it.
    ///
    /// # Errors
    /// [`ChainError`] if the phases are not start-up schemes followed by one scheme that never ends.
    pub fn with(phases: S) -> Result<Self, ChainError> {
        let last_position = phases.count() - 1;
        let declared = |position| phases.get(position).declaration();
        let last: &Declaration = declared(last_position);
        for position in 0..last_position {
            if declared(position).role != Role::Startup {
                return Err(ChainError::Endless(declared(position).label));
            }
        }
        if last.role == Role::Startup {
            return Err(ChainError::Unfinished(last.label));
        }
        if last_position > 0 && last.beginning == Beginning::Alone {
            return Err(ChainError::Alone { first: declared(0).label, last: last.label });
        }
        let standalone = last.role == Role::Standalone && last_position == 0;
        Ok(Self {
            control: Control::default(),
            mss: 0,
            in_avoidance: false,
            standalone,
            own_start: standalone || last.beginning != Beginning::Startup,
            watched: last.watches,
            begin: 0,
            resumes: declared(0).resumes,
            resuming: false,
            exit: None,
            before: None,
            phases,
            phase: core::marker::PhantomData,
        })
    }

    /// Storage of the phases, for a host that prepares them in place.
    pub fn phases_mut(&mut self) -> &mut S {
        &mut self.phases
    }

    /// Whether the first phase rules after an idle time.
    pub fn resumes(&self) -> bool {
        self.resumes
    }

    fn declared(&self, position: usize) -> &'static Declaration {
        self.phases.get(position).declaration()
    }

    fn last(&self) -> usize {
        self.phases.count() - 1
    }

    /// The phases, in their order.
    pub fn phases(&self) -> impl Iterator<Item = &P> {
        (0..self.phases.count()).map(|position| self.phases.get(position))
    }

    /// Signals that the phases need from a host.
    pub fn needs(&self) -> Signals {
        (0..self.phases.count()).fold(Signals::NONE, |all, position| all.union(self.declared(position).needs))
    }

    /// Labels of the phases, without that of a phase for idle times only.
    pub fn labels(&self) -> impl Iterator<Item = &'static str> {
        (self.begin..self.phases.count()).map(|position| self.declared(position).label)
    }

    /// The chain's label: `slow-start+reno`.
    #[cfg(feature = "alloc")]
    pub fn label(&self) -> String {
        self.labels().collect::<Vec<_>>().join("+")
    }

    /// The connection is about to be opened. Answers the rate to ask the routers for, [`Rate::NONE`] for none.
    pub fn open(&mut self, entry: &Entry) -> Rate {
        let mut control = Control::default();
        self.phases.current_mut().open(entry, &mut control);
        control.ask
    }

    /// The connection begins with `initial_window` and `ssthresh` bytes.
    pub fn start(&mut self, entry: &Entry, initial_window: u64, ssthresh: u64) {
        self.mss = entry.mss;
        self.control = Control { cwnd: initial_window, ssthresh, ..Control::default() };
        // A host may begin again while nothing has been sent.
        self.put(self.begin);
        self.exit = None;
        self.phases.current_mut().enter(entry, &mut self.control);
        self.clamp();
        // RFC 5681 section 3.1: slow start is for a window below the threshold. Other start-up schemes may have a
        // threshold of their own.
        if self.phases.current().declaration().below_threshold && self.control.cwnd >= self.control.ssthresh {
            self.hand_over(&mut entry.clone(), Exit::Threshold);
        }
    }

    /// The size of a full segment changed to `mss` bytes, as in QUIC after path MTU discovery. The host calls this before it
    /// reports the next event. The floor of the window, the loss window and the entry of the next phase follow at once; the
    /// phase in force learns of the change from `mss` of its events.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
        self.clamp();
    }

    /// New data was acknowledged. Returns [`Told::rest`].
    pub fn on_ack(&mut self, ack: &Ack) -> u64 {
        self.on_described_ack(ack).rest
    }

    /// [`Chain::on_ack`] with a description that is computed where it is read.
    #[inline(always)]
    pub fn on_described_ack(&mut self, ack: &impl DescribeAck) -> Told {
        if self.watched {
            ack.show(|ack| self.let_watch(ack));
        }
        // RFC 5681 section 3.1: below ssthresh a sender is in slow start, whichever avoidance rules above it, unless the
        // avoidance scheme has its own rule there.
        let before = self.control.cwnd;
        if self.in_avoidance && before < self.control.ssthresh && !self.own_start {
            return ack.show(|ack| match slow_start(ack, &mut self.control) {
                Step::Stay => Told::default(),
                _ => Told { ended: false, rest: ack.growth.saturating_sub(self.control.cwnd - before) },
            });
        }
        let step = self.phases.current_mut().on_described_ack(ack, &mut self.control);
        if step != Step::Stay {
            return ack.show(|ack| self.on_step(step, ack, before));
        }
        self.clamp();
        Told::default()
    }

    /// Shows the last phase an ACK that it will not answer.
    #[cold]
    #[inline(never)]
    fn let_watch(&mut self, ack: &Ack) {
        let cwnd = self.control.cwnd;
        if !self.in_avoidance {
            let last = self.last();
            self.phases.get_mut(last).on_watched(ack, cwnd);
        } else if cwnd < self.control.ssthresh {
            self.phases.current_mut().on_watched(ack, cwnd);
        }
    }

    /// Obeys the answer to an ACK that found a window of `before` bytes.
    #[cold]
    #[inline(never)]
    fn on_step(&mut self, step: Step, ack: &Ack, before: u64) -> Told {
        let ended_before = self.exit.is_some();
        let mut rest = 0;
        match step {
            Step::Stay => {}
            Step::Over(reason) => {
                self.note_exit(ack.now, self.control.cwnd, reason, self.phases.position() + 1)
            }
            // The last phase has nobody to hand over to.
            Step::Exit(_) if self.phases.position() == self.last() => {}
            Step::Exit(reason) => {
                // A phase that made the window smaller has judged the whole ACK.
                if let Some(grown) = self.control.cwnd.checked_sub(before) {
                    rest = ack.growth.saturating_sub(self.phases.current().spent(grown));
                }
                let mut entry =
                    Entry { now: ack.now, rtt: ack.srtt, in_flight: ack.in_flight, ..Entry::default() };
                if self.resuming {
                    self.go_on(&mut entry, reason);
                } else {
                    self.hand_over(&mut entry, reason);
                }
            }
        }
        self.clamp();
        Told { ended: self.exit.is_some() && !ended_before, rest }
    }

    /// The phase after an idle time is over: the window decides which phase follows.
    fn go_on(&mut self, entry: &mut Entry, reason: Exit) {
        entry.why = Why::Handover;
        if self.control.cwnd < self.control.ssthresh {
            return self.switch_to(self.begin, entry);
        }
        let last = self.last();
        self.note_exit(entry.now, self.control.cwnd, reason, last);
        self.switch_to(last, entry);
    }

    /// A loss, mark or timeout episode began.
    #[cold]
    pub fn on_congestion(&mut self, event: &Congestion) {
        let before = self.control;
        self.before = Some((before, self.phases.position()));
        let mut step = self.phases.current_mut().on_congestion(event, &mut self.control);
        let mut entry = Entry { now: event.now, in_flight: event.in_flight, ..Entry::default() };
        // At most one hand-over a phase: the bound is a constant where the number of phases is one.
        for _ in 0..self.phases.count() {
            let Step::Exit(reason) = step else { break };
            if !self.hand_over(&mut entry, reason) {
                break;
            }
            step = self.phases.current_mut().on_congestion(event, &mut self.control);
        }
        if let Step::Over(reason) = step {
            self.note_exit(event.now, before.cwnd, reason, self.phases.position() + 1);
        }
        // Congestion never raises the window above its floor, even if FlightSize is above it.
        self.control.cwnd = self.control.cwnd.min(before.cwnd.max(event.floor()));
        if event.trigger == Trigger::Timeout {
            entry = Entry { now: event.now, ..Entry::default() };
            self.start_over(&mut entry);
        }
        self.clamp();
    }

    /// The host starts over from one segment: after a timeout, and in Tahoe after every loss.
    pub fn lose_window(&mut self, now: Nanos) {
        self.start_over(&mut Entry { now, ..Entry::default() });
    }

    fn start_over(&mut self, entry: &mut Entry) {
        if !self.standalone {
            // RFC 5681 section 3.1, "loss window": one segment, and slow start again up to ssthresh.
            self.control.cwnd = self.mss.into();
            entry.why = Why::Timeout;
            self.restart(entry);
        }
    }

    /// Sending resumes after an idle time. The host has already set the window that its profile asks for; `entry.window` is
    /// the window before. The host reports to a standalone scheme, which rules its own window, every time that nothing is
    /// left in flight, however short. A first phase that follows plans begins again with a new plan, whatever the window.
    pub fn on_idle(&mut self, mut entry: Entry) {
        entry.why = Why::Idle;
        let planned = entry.plan != Plan::default() && self.declared(self.begin).needs.has(Signals::PLAN);
        if self.resumes {
            self.switch_to(0, &mut entry);
            self.resuming = true;
        } else if self.standalone || planned || self.control.cwnd < self.control.ssthresh {
            self.restart(&mut entry);
        }
        self.clamp();
    }

    /// Whether one scheme rules the whole connection, its window during recovery and after idle times included.
    pub fn is_standalone(&self) -> bool {
        self.standalone
    }

    /// The last reduction was spurious: no packet was lost.
    pub fn on_spurious(&mut self) {
        if let Some((before, at)) = self.before.take() {
            self.control.cwnd = self.control.cwnd.max(before.cwnd);
            self.control.ssthresh = self.control.ssthresh.max(before.ssthresh);
            // A timeout sent the connection back to its first phase: avoidance goes on where it was. A loss ended start-up:
            // below the threshold start-up goes on, as HyStart of Linux does.
            let starts_again = at != self.phases.position() && self.control.cwnd < self.control.ssthresh;
            if at == self.last() || starts_again {
                self.put(at);
            }
            self.phases.current_mut().on_spurious();
        }
    }

    /// Data left the host.
    #[inline]
    pub fn on_sent(&mut self, sent: &Sent) {
        self.phases.current_mut().on_sent(sent, &mut self.control);
    }

    /// A segment was declared lost.
    #[cold]
    pub fn on_lost(&mut self, lost: &Lost) {
        self.phases.current_mut().on_lost(lost, &mut self.control);
        self.clamp();
    }

    /// End of start-up; `None` before it.
    pub fn startup_exit(&self) -> Option<StartupExit> {
        self.exit
    }

    /// Whether the last phase is in force.
    pub fn in_avoidance(&self) -> bool {
        self.in_avoidance
    }

    fn restart(&mut self, entry: &mut Entry) {
        self.switch_to(self.begin, entry);
    }

    #[cold]
    fn hand_over(&mut self, entry: &mut Entry, reason: Exit) -> bool {
        if self.phases.position() == self.last() {
            return false;
        }
        self.note_exit(entry.now, self.control.cwnd, reason, self.phases.position() + 1);
        entry.why = Why::Handover;
        self.switch_to(self.phases.position() + 1, entry);
        true
    }

    /// Records the first end of start-up. Start-up ends when the phase at `next` is the last. It also ends when a scheme that
    /// begins the connection alone, by its own rule, ends its own start-up.
    #[cold]
    fn note_exit(&mut self, at: Nanos, cwnd: u64, reason: Exit, next: usize) {
        let over = next == self.last() && next > self.begin;
        let own = self.own_start && self.begin == self.last();
        if (over || own) && self.exit.is_none() {
            self.exit = Some(StartupExit { at, cwnd, reason });
        }
    }

    fn switch_to(&mut self, at: usize, entry: &mut Entry) {
        self.put(at);
        entry.mss = self.mss;
        self.phases.current_mut().enter(entry, &mut self.control);
    }

    /// Puts the phase at `position` in force, with the state that it was left with.
    fn put(&mut self, position: usize) {
        self.phases.switch(position);
        self.resuming = false;
        self.in_avoidance = position == self.last();
    }

    #[inline]
    fn clamp(&mut self) {
        self.control.cwnd = self.control.cwnd.max(self.mss.into());
    }
}
