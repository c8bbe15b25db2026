//! A place in the chain, whose scheme is chosen when the object is loaded.

use core::ffi::c_void;
use core::mem::MaybeUninit;

use firstflight_contract::{Ack, Congestion, Control, Declaration, Declared, Entry, Exit, Phase, Sent, Step};
use firstflight_host::phases::Phases;

use crate::schemes::{LAST_FACTS, STARTUP_FACTS, WORDS};

/// The constants that choose, in the shim.
#[repr(C)]
struct Choice {
    /// Number of the start-up scheme; the number of start-up schemes if there is none.
    startup: u64,
    /// Number of the scheme that follows.
    last: u64,
}

unsafe extern "C" {
    static ff_choice: Choice;
    /// Calls the chosen start-up scheme.
    fn ff_call_startup(call: u64, state: *mut u64, event: *const c_void, control: *mut Control) -> u64;
    /// Calls the chosen last scheme.
    fn ff_call_last(call: u64, state: *mut u64, event: *const c_void, control: *mut Control) -> u64;
}

/// A volatile read: only the verifier may take the constants for known.
fn chosen_startup() -> usize {
    // SAFETY: a constant of the shim.
    unsafe { (&raw const ff_choice.startup).read_volatile() as usize }
}

fn chosen_last() -> usize {
    // SAFETY: a constant of the shim.
    unsafe { (&raw const ff_choice.last).read_volatile() as usize }
}

/// Calls of a scheme, by number.
mod calls {
    pub(super) const BEGIN: u64 = 0;
    pub(super) const ENTER: u64 = 1;
    pub(super) const ACK: u64 = 2;
    pub(super) const WATCHED: u64 = 3;
    pub(super) const CONGESTION: u64 = 4;
    pub(super) const SPURIOUS: u64 = 5;
    pub(super) const SPENT: u64 = 6;
}

/// A step as a word: its kind, above the number of the reason.
fn to_word(step: Step) -> u64 {
    match step {
        Step::Stay => 0,
        Step::Over(reason) => 1 << 8 | reason as u64,
        Step::Exit(reason) => 2 << 8 | reason as u64,
    }
}

fn from_word(word: u64) -> Step {
    let reason = Exit::ALL[(word as usize & 0xff).min(Exit::ALL.len() - 1)];
    match word >> 8 {
        0 => Step::Stay,
        1 => Step::Over(reason),
        _ => Step::Exit(reason),
    }
}

/// Performs a call that begins: `calls::BEGIN` or `calls::ENTER`.
///
/// # Safety
/// As [`run`].
#[inline(always)]
pub(crate) unsafe fn begin<S: Phase + Default>(
    call: u64,
    state: *mut S,
    event: *const c_void,
    control: *mut Control,
) -> u64 {
    // SAFETY: by contract.
    unsafe {
        if call == calls::BEGIN {
            state.write(S::default());
        } else {
            (*state).enter(&*event.cast::<Entry>(), &mut *control);
        }
    }
    0
}

/// Performs any other call of scheme `S`.
///
/// # Safety
/// `state` is memory for an `S`, initialised by `calls::BEGIN`; `event` is the event of the call, `control` the registers.
#[inline(always)]
pub(crate) unsafe fn run<S: Phase>(
    call: u64,
    state: *mut S,
    event: *const c_void,
    control: *mut Control,
) -> u64 {
    // SAFETY: by contract.
    unsafe {
        match call {
            calls::ACK => return to_word((*state).on_ack(&*event.cast::<Ack>(), &mut *control)),
            calls::WATCHED => (*state).on_watched(&*event.cast::<Ack>(), (*control).cwnd),
            calls::CONGESTION => {
                return to_word((*state).on_congestion(&*event.cast::<Congestion>(), &mut *control));
            }
            calls::SPENT => return (*state).spent((*control).cwnd),
            _ => (*state).on_spurious(),
        }
    }
    0
}

/// A scheme in its place.
#[repr(C)]
pub(crate) struct Place {
    is_last: bool,
    state: MaybeUninit<[u64; WORDS]>,
}

impl Place {
    #[inline(always)]
    fn call(&mut self, call: u64, event: *const c_void, control: *mut Control) -> u64 {
        let state = self.state.as_mut_ptr().cast();
        // SAFETY: the state has room for every scheme, and `event` is that of the call.
        unsafe {
            if self.is_last {
                ff_call_last(call, state, event, control)
            } else {
                ff_call_startup(call, state, event, control)
            }
        }
    }
}

impl Declared for Place {
    #[inline(always)]
    fn declaration(&self) -> &'static Declaration {
        if self.is_last {
            &LAST_FACTS[chosen_last().min(LAST_FACTS.len() - 1)]
        } else {
            &STARTUP_FACTS[chosen_startup().min(STARTUP_FACTS.len() - 1)]
        }
    }
}

impl Phase for Place {
    #[inline(always)]
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        self.call(calls::ENTER, (&raw const *entry).cast(), control);
    }

    #[inline(always)]
    fn on_sent(&mut self, _: &Sent, _: &mut Control) {}

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        from_word(self.call(calls::ACK, (&raw const *ack).cast(), control))
    }

    #[inline(always)]
    fn spent(&self, grown: u64) -> u64 {
        let mut control = Control { cwnd: grown, ..Control::default() };
        let state = self.state.as_ptr().cast_mut().cast();
        // SAFETY: the state has room for every scheme, and this call only reads it.
        unsafe {
            if self.is_last {
                ff_call_last(calls::SPENT, state, core::ptr::null(), &raw mut control)
            } else {
                ff_call_startup(calls::SPENT, state, core::ptr::null(), &raw mut control)
            }
        }
    }

    #[inline(always)]
    fn on_watched(&mut self, ack: &Ack, cwnd: u64) {
        let mut control = Control { cwnd, ..Control::default() };
        self.call(calls::WATCHED, (&raw const *ack).cast(), &raw mut control);
    }

    #[inline(always)]
    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        from_word(self.call(calls::CONGESTION, (&raw const *event).cast(), control))
    }

    #[inline(always)]
    fn on_spurious(&mut self) {
        self.call(calls::SPURIOUS, core::ptr::null(), core::ptr::null_mut());
    }
}

/// The two places of a chain; the first is empty where one scheme rules alone.
#[repr(C)]
pub(crate) struct Places {
    position: usize,
    startup: Place,
    last: Place,
}

impl Places {
    /// Both places, their states still to be [begun](Places::begin).
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self {
            position: 0,
            startup: Place { is_last: false, state: MaybeUninit::uninit() },
            last: Place { is_last: true, state: MaybeUninit::uninit() },
        }
    }

    /// Prepares the states of both schemes, which are too large to be moved: the kernel gives a program 512 bytes of stack.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        if self.count() > 1 {
            self.startup.call(calls::BEGIN, core::ptr::null(), core::ptr::null_mut());
        }
        self.last.call(calls::BEGIN, core::ptr::null(), core::ptr::null_mut());
    }
}

impl Phases for Places {
    type Phase = Place;

    #[inline(always)]
    fn count(&self) -> usize {
        1 + usize::from(chosen_startup() < STARTUP_FACTS.len())
    }
    #[inline(always)]
    fn position(&self) -> usize {
        // The verifier knows the first condition.
        if self.count() > 1 { self.position } else { 0 }
    }
    #[inline(always)]
    fn current(&self) -> &Place {
        self.get(self.position())
    }
    #[inline(always)]
    fn current_mut(&mut self) -> &mut Place {
        self.get_mut(self.position())
    }
    #[inline(always)]
    fn get(&self, position: usize) -> &Place {
        if position + 1 < self.count() { &self.startup } else { &self.last }
    }
    #[inline(always)]
    fn get_mut(&mut self, position: usize) -> &mut Place {
        if position + 1 < self.count() { &mut self.startup } else { &mut self.last }
    }
    #[inline(always)]
    fn switch(&mut self, position: usize) {
        self.position = position;
    }
}
