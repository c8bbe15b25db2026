//! Acting on time on a busy machine.

use crate::need::Need;

/// Makes the calling thread act on time: it runs before every thread that is not real-time, is woken without slack, and
/// its memory stays in place. `nice` is not enough for that.
///
/// # Errors
/// If the kernel refuses one of these.
pub fn be_on_time(priority: i32) -> Result<(), Need> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: takes no pointer.
    if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } != 0 {
        return Err(Need::last("memory that stays in place (mlockall)"));
    }
    // SAFETY: takes no pointer; the slack is in nanoseconds.
    if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) } != 0 {
        return Err(Need::last("timers without slack (PR_SET_TIMERSLACK)"));
    }
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } != 0 {
        return Err(Need::last("real-time scheduling (SCHED_FIFO)"));
    }
    Ok(())
}

/// Lets the memory of this process be moved again, when none of its threads has to act on time any more.
pub(crate) fn release_memory() {
    // SAFETY: takes no pointer.
    unsafe { libc::munlockall() };
}
