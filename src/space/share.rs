//! Shares the items of a parallel iterator among the threads of a pool.
//!
//! The items are halved until there are some per thread, and again where an idle thread steals a half, as in rayon's own loops. All
//! loops of the library call one instance of rayon's `join` through `dyn`, since an instance per loop takes 10 kB of code; so do loops
//! over iterators of one type, each with its function behind `dyn`. The calls cost nothing measurable: an item is a chunk of thousands
//! of numbers.

use rayon::ThreadPool;
use rayon::iter::plumbing::{Producer, ProducerCallback};

/// Calls a function once per item of an iterator.
pub(super) struct Share<'a, T> {
    /// The threads; `None` stands for the calling thread, which takes the items in order.
    pub pool: Option<&'a ThreadPool>,
    /// Number of items.
    pub len: usize,
    pub f: &'a (dyn Fn(T) + Sync),
}

impl<T> ProducerCallback<T> for Share<'_, T> {
    type Output = ();

    fn callback<P: Producer<Item = T>>(self, items: P) {
        let Share { pool, len, f } = self;
        let mut items = Some(items);
        let mut work = |halvings| items.take().into_iter().for_each(|items| share(items, len, halvings, f));
        match pool {
            None => work(None),
            Some(pool) => enter(pool, &mut work),
        }
    }
}

/// Calls `f` for `len` items; without halvings in order.
fn share<P: Producer>(items: P, len: usize, halvings: Option<usize>, f: &(dyn Fn(P::Item) + Sync)) {
    let Some(halvings) = halvings.filter(|_| len > 1) else { return items.into_iter().for_each(f) };
    let (left, right) = items.split_at(len / 2);
    let (mut left, mut right) = (Some(left), Some(right));
    join(
        halvings,
        &mut |halvings| left.take().into_iter().for_each(|items| share(items, len / 2, halvings, f)),
        &mut |halvings| right.take().into_iter().for_each(|items| share(items, len - len / 2, halvings, f)),
    );
}

/// Work on some items, given how often to halve them after this time; `None` for not at all.
type Work<'a> = dyn FnMut(Option<usize>) + Send + 'a;

fn enter(pool: &ThreadPool, work: &mut Work<'_>) {
    pool.install(|| work(Some(pool.current_num_threads() / 2)));
}

/// Does both halves; an idle thread may take the right one.
fn join(halvings: usize, left: &mut Work<'_>, right: &mut Work<'_>) {
    let next = |is_stolen: bool| match halvings {
        // A thread was idle, so others may be.
        _ if is_stolen => Some((halvings / 2).max(rayon::current_num_threads())),
        0 => None,
        _ => Some(halvings / 2),
    };
    rayon::join_context(|context| left(next(context.migrated())), |context| right(next(context.migrated())));
}

#[cfg(test)]
mod tests {
    use crate::space::{Serial, Threads};
    use rayon::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// Counts an item, then waits for `count` of them.
    fn meet(seen: &AtomicUsize, count: usize) {
        seen.fetch_add(1, Ordering::SeqCst);
        let start = Instant::now();
        while seen.load(Ordering::SeqCst) < count && start.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        assert!(seen.load(Ordering::SeqCst) >= count, "{count} items do not run at the same time");
    }

    #[test]
    fn each_thread_gets_an_item() {
        let seen = AtomicUsize::new(0);
        Threads::new(5).unwrap().for_each((0..5).into_par_iter(), |_| meet(&seen, 5));
    }

    #[test]
    fn idle_threads_take_what_a_slow_one_has_not_begun() {
        let (items, seen) = (64, AtomicUsize::new(0));
        Threads::new(2).unwrap().for_each((0..items).into_par_iter(), |item| match item {
            // The thread of the first quarter waits for the other three.
            0 => meet(&seen, 3 * items / 4),
            _ => meet(&seen, 1),
        });
        assert_eq!(seen.into_inner(), items);
    }

    #[test]
    fn pieces_of_zipped_arrays_stay_together() {
        fn products(space: &Threads, n: usize) -> Vec<usize> {
            let (x, mut y) = ((0..n).collect::<Vec<_>>(), vec![0; n]);
            space.for_each(y.par_chunks_mut(3).zip(x.par_chunks(3)).enumerate(), |(chunk, (y, x))| {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = chunk * x);
            });
            y
        }
        for n in [0, 1, 3, 4, 100, 1001] {
            let expected: Vec<_> = (0..n).map(|i| i / 3 * i).collect();
            assert_eq!(products(&Serial, n), expected);
            for threads in [1, 2, 3, 8] {
                assert_eq!(products(&Threads::new(threads).unwrap(), n), expected, "{n} on {threads} threads");
            }
        }
    }
}
