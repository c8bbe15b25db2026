//! Independent work on all cores; one item after the other without the feature `threads`.
//!
//! Results are in the order of the items, whatever the number of threads.

#[cfg(feature = "threads")]
use rayon::prelude::*;

/// Does `work` with at most `threads` threads.
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    #[cfg(feature = "threads")]
    if threads < rayon::current_num_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        return pool.expect("the system has given more threads than these").install(work);
    }
    #[cfg(not(feature = "threads"))]
    let _ = threads;
    work()
}

/// Threads that nothing uses: all, or this one alone within work on all of them.
pub(crate) fn idle() -> usize {
    #[cfg(feature = "threads")]
    if rayon::current_thread_index().is_none() {
        return rayon::current_num_threads();
    }
    1
}

/// The results of `work` for every item, or one of the errors: some of the work is then not done.
///
/// # Errors
/// Those of `work`.
pub fn try_map<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Send + Sync,
) -> Result<Vec<R>, E> {
    // Threads take single items: in longer pieces, items sorted by length would leave one thread with all the long ones.
    #[cfg(feature = "threads")]
    let items = items.par_iter().with_max_len(1);
    #[cfg(not(feature = "threads"))]
    let items = items.iter();
    items.map(work).collect()
}

/// The results of `work` for every item.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    let Ok(results) = try_map(items, |item| Ok::<R, std::convert::Infallible>(work(item)));
    results
}
