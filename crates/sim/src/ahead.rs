//! Cache lines asked for before they are needed.

/// Asks for the cache line in which `place` begins. The request has no effect but on time.
#[inline(always)]
pub(crate) fn touch<T>(place: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction reads no memory that a program can see, and every address is allowed.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(core::ptr::from_ref(place).cast(), _MM_HINT_T0);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
