//! The daemon's capabilities: none.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
};

/// Gives up every capability of this thread and of the threads that it starts, and the way to get one by running a program.
/// Call it before the first thread is started.
///
/// # Errors
/// If the kernel refuses.
pub fn give_up_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_the_capabilities_of_the_thread() {
        let left = std::thread::spawn(|| {
            give_up_capabilities().expect("given up");
            std::fs::read_to_string("/proc/thread-self/status").expect("the status of the thread")
        });
        let left = left.join().expect("no panic");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            let line = left.lines().find_map(|line| line.strip_prefix(set)).expect("a set");
            assert_eq!(line.trim().trim_start_matches('0'), "", "{set}");
        }
        assert!(left.contains("NoNewPrivs:\t1"));
    }
}
