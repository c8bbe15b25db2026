//! Loops that the Linux kernel's verifier can follow.

/// The same value. A loop passes what it carries from one turn to the next through here, where the value depends on a
/// condition: the kernel's verifier then forgets what it knows of the value, and need not follow every path through the
/// loop. In every other host it is nothing.
#[inline(always)]
pub fn forget(value: u64) -> u64 {
    #[cfg(not(feature = "ebpf"))]
    {
        value
    }
    #[cfg(feature = "ebpf")]
    {
        unsafe extern "C" {
            static ff_zero: u64;
        }
        // SAFETY: a word of the eBPF object that is never written, which the verifier does not know.
        value.wrapping_add(unsafe { (&raw const ff_zero).read_volatile() })
    }
}
