//! Work on several threads that live only as long as the work.

use crate::timings::{Spent, Watch};
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

/// The results of `work` for each item, in the order of the items, by at most `threads` threads, of which this one is the first. Threads
/// take single items, the first ones first. The times of the threads by `watch` follow.
pub(crate) fn map<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    watch: Watch,
    work: impl Fn(T) -> R + Sync,
) -> (Vec<R>, Vec<Spent>) {
    let began = watch.now();
    let threads = threads.min(items.len());
    if threads <= 1 {
        let results = items.into_iter().map(work).collect();
        let working = watch.since(began);
        return (results, vec![Spent { working, ..Spent::default() }]);
    }
    let items = Mutex::new(items.into_iter().enumerate());
    let take = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || {
        let since = watch.now();
        let mut results = vec![];
        while let Some((number, item)) = take() {
            results.push((number, work(item)));
        }
        (results, watch.since(since))
    };
    let (mut results, working) = scope(|scope| {
        // A system that gives no more threads leaves the work to those that it gave.
        let others = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, some).ok());
        let others: Vec<_> = others.collect();
        let (mut results, time) = some();
        let mut working = vec![time];
        for other in others {
            let (more, time) = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            results.extend(more);
            working.push(time);
        }
        (results, working)
    });
    results.sort_by_key(|&(number, _)| number);
    let whole = watch.since(began);
    let spent = working.into_iter().map(|working| Spent::of(whole, working)).collect();
    (results.into_iter().map(|(_, result)| result).collect(), spent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[test]
    fn results_are_in_the_order_of_the_items_for_any_number_of_threads() {
        for threads in [0, 1, 2, 7, 100] {
            let items: Vec<u64> = (0..50).collect();
            let squares: Vec<u64> = (0..50).map(|n| n * n).collect();
            assert_eq!(map(threads, items, Watch(None), |n| n * n).0, squares);
        }
        assert_eq!(map(4, Vec::<u64>::new(), Watch(None), |n| n).0, []);
    }

    #[test]
    #[should_panic(expected = "item 30")]
    fn a_panic_of_another_thread_is_that_of_the_caller() {
        map(4, (0..50).collect(), Watch(None), |n: u32| assert!(n != 30, "item {n}"));
    }

    #[test]
    fn the_time_of_a_thread_is_that_of_its_work_and_of_its_wait() {
        // A clock that goes on by a second with each look: a thread looks before and after its work, this one also around all.
        let looks = AtomicU64::new(0);
        let clock = || Duration::from_secs(looks.fetch_add(1, Ordering::SeqCst));
        let (_, alone) = map(1, vec![(), ()], Watch(Some(&clock)), |()| ());
        assert_eq!(alone, [Spent { working: Duration::from_secs(1), waiting: Duration::ZERO }]);
        let (_, both) = map(2, vec![(), ()], Watch(Some(&clock)), |()| ());
        // Six looks: five seconds from the first to the last.
        let whole = both.iter().map(|spent| spent.working + spent.waiting);
        assert!(
            whole.clone().count() == 2 && whole.clone().all(|whole| whole == Duration::from_secs(5)),
            "{both:?}"
        );
    }
}
