//! Work on several threads that live only as long as the work.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

/// The results of `work` for each item, in the order of the items, by at most `threads` threads, of which this one is the first. Threads
/// take single items, the first ones first.
pub(crate) fn map<T: Send, R: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().map(work).collect();
    }
    let items = Mutex::new(items.into_iter().enumerate());
    let take = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || {
        let mut results = vec![];
        while let Some((number, item)) = take() {
            results.push((number, work(item)));
        }
        results
    };
    let mut results = scope(|scope| {
        // A system that gives no more threads leaves the work to those that it gave.
        let others = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, some).ok());
        let others: Vec<_> = others.collect();
        let mut results = some();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|&(number, _)| number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_for_any_number_of_threads() {
        for threads in [0, 1, 2, 7, 100] {
            let items: Vec<u64> = (0..50).collect();
            let squares: Vec<u64> = (0..50).map(|n| n * n).collect();
            assert_eq!(map(threads, items, |n| n * n), squares);
        }
        assert_eq!(map(4, Vec::<u64>::new(), |n| n), []);
    }

    #[test]
    #[should_panic(expected = "item 30")]
    fn a_panic_of_another_thread_is_that_of_the_caller() {
        map(4, (0..50).collect(), |n: u32| assert!(n != 30, "item {n}"));
    }
}
