//! The functions that the shim calls, one for each event.

use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, StartupExit};
use firstflight_host::chain::Chain;
use firstflight_host::round::RoundCounter;

use crate::place::{Place, Places};

pub use crate::schemes::functions;

/// A connection.
#[repr(C)]
pub struct State {
    /// Its registers come first: the shim reads and writes them.
    chain: Chain<Place, Places>,
    rounds: RoundCounter,
    /// The segment size that the chain knows.
    mss: u32,
}

/// Bytes that the shim reserves, in `shim/firstflight.h`.
const RESERVED: usize = 3072;
const _: () = assert!(size_of::<State>() <= RESERVED && align_of::<State>() <= 8);
const _: () =
    assert!(core::mem::offset_of!(Chain<Place, Places>, control) == 0 && size_of::<Control>() == 48);

/// The connection begins, as `Chain::start`.
///
/// # Safety
/// `state` is aligned memory of `RESERVED` bytes, `entry` a valid event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_start(state: *mut State, entry: *const Entry, window: u64, ssthresh: u64) {
    let Ok(chain) = Chain::with(Places::new()) else { return };
    // SAFETY: by contract.
    let (state, entry) = unsafe {
        state.write(State { chain, rounds: RoundCounter::default(), mss: 0 });
        (&mut *state, &*entry)
    };
    state.mss = entry.mss;
    state.chain.phases_mut().begin();
    state.chain.start(entry, window, ssthresh);
}

impl State {
    #[inline(always)]
    fn follow_mss(&mut self, mss: u32) {
        if self.mss != mss {
            self.mss = mss;
            self.chain.set_mss(mss);
        }
    }
}

/// An ACK, as `Chain::on_ack`, with the count of rounds added. The cumulative ACK is at `acked`, the next new data at
/// `next`. Returns the bytes of its growth that are left for the next phase.
///
/// # Safety
/// `state` has been through [`ff_start`], `ack` is a valid event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_ack(state: *mut State, ack: *mut Ack, acked: u64, next: u64) -> u64 {
    // SAFETY: by contract.
    let (state, ack) = unsafe { (&mut *state, &mut *ack) };
    if state.rounds.on_ack(acked, next) {
        ack.flags |= Ack::ROUND_START;
    } else {
        ack.flags &= !Ack::ROUND_START;
    }
    ack.round = state.rounds.count();
    state.follow_mss(ack.mss);
    state.chain.on_ack(ack)
}

/// An episode of congestion, as `Chain::on_congestion`.
///
/// # Safety
/// As [`ff_on_ack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_congestion(state: *mut State, event: *const Congestion) {
    // SAFETY: by contract.
    let (state, event) = unsafe { (&mut *state, &*event) };
    state.follow_mss(event.mss);
    state.chain.on_congestion(event);
}

/// A further timeout of the same episode, as `Chain::lose_window`.
///
/// # Safety
/// As [`ff_on_ack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_lose_window(state: *mut State, now: u64) {
    // SAFETY: by contract.
    unsafe { (*state).chain.lose_window(Nanos(now)) }
}

/// The last episode was spurious, as `Chain::on_spurious`.
///
/// # Safety
/// As [`ff_on_ack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_spurious(state: *mut State) {
    // SAFETY: by contract.
    unsafe { (*state).chain.on_spurious() }
}

/// Sending resumes after an idle time, as `Chain::on_idle`.
///
/// # Safety
/// As [`ff_on_ack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_on_idle(state: *mut State, entry: *const Entry) {
    // SAFETY: by contract.
    unsafe { (*state).chain.on_idle(*entry) }
}

/// Whether one scheme rules the whole connection.
///
/// # Safety
/// As [`ff_on_ack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_is_standalone(state: *const State) -> bool {
    // SAFETY: by contract.
    unsafe { (*state).chain.is_standalone() }
}

/// Whether the first scheme rules idle times.
///
/// # Safety
/// As [`ff_on_ack`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_resumes(state: *const State) -> bool {
    // SAFETY: by contract.
    unsafe { (*state).chain.resumes() }
}

/// Copies the end of start-up to `exit`; returns whether start-up has ended.
///
/// # Safety
/// As [`ff_on_ack`]; `exit` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff_startup_exit(state: *const State, exit: *mut StartupExit) -> bool {
    // SAFETY: by contract.
    unsafe {
        let ended = (*state).chain.startup_exit();
        if let Some(ended) = ended {
            exit.write(ended);
        }
        ended.is_some()
    }
}
