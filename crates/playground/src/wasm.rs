//! The module's face: memory for what goes in, one call that leaves its answer in a buffer.
#![expect(unreachable_pub, reason = "the exports of the module")]

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Engine, Progress};

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// `done` of `total` steps are over.
    safe fn progress(done: f64, total: f64);
    /// The module is about to trap; the message is in its memory.
    safe fn panicked(message: *const u8, len: usize);
}

#[derive(Default)]
struct State {
    engine: Engine,
    order: Vec<u8>,
    attached: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    STATE.with_borrow_mut(act)
}

/// Lets the host hear of panics. Called once, first.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|info| {
        let message = info.to_string();
        panicked(message.as_ptr(), message.len());
    }));
}

/// Room for an order of `len` bytes, to be written before [`answer`].
#[unsafe(no_mangle)]
pub extern "C" fn order(len: usize) -> *mut u8 {
    with(|state| {
        state.order = vec![0; len];
        state.order.as_mut_ptr()
    })
}

/// Room for a file of `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn attach(len: usize) -> *mut u8 {
    with(|state| {
        state.attached = vec![0; len];
        state.attached.as_mut_ptr()
    })
}

/// Carries out the order. 0: its answer is in the buffer. 1: the buffer has what is wrong.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> u32 {
    with(|state| {
        let result = state.engine.answer(&state.order, &state.attached, &Steps::default());
        state.attached = vec![];
        let failed = result.is_err();
        state.answer = result.unwrap_or_else(String::into_bytes);
        u32::from(failed)
    })
}

/// Address of the buffer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    with(|state| state.answer.as_ptr())
}

/// Length of the buffer, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    with(|state| state.answer.len())
}

/// Steps of the work at hand.
#[derive(Default)]
struct Steps {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress for Steps {
    fn begin(&self, _: &str, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    fn advance(&self, by: u64) {
        let done = self.done.fetch_add(by, Ordering::Relaxed) + by;
        progress(done as f64, self.total.load(Ordering::Relaxed) as f64);
    }

    fn finish(&self) {}
}
