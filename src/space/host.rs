//! The space of hosts. Any number of threads processes the same chunks.

use super::share::Share;
use super::{Array, ExecutionSpace, HostMemory, Item, SCALARS, choice::named_choice, memory, start};
use crate::error::check_at_least;
use crate::{Error, Result, RowOffset};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

named_choice! {
    "scan";
    /// Algorithm of a prefix sum.
    #[derive(Default)]
    pub enum Scan {
        /// Parallel on several threads from 2^18 rows on, serial otherwise.
        #[default]
        Auto = "auto",
        /// One pass of one thread, which reads and writes each item once.
        Serial = "serial",
        /// Two passes of all threads, which read each item twice.
        Parallel = "parallel",
    }
}

/// Cuts `slice` into the pieces between neighbouring `bounds`, which must start at 0 and increase.
pub fn split_at<T>(mut slice: &mut [T], bounds: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let mut bounds = bounds.into_iter();
    let mut last = bounds.next().unwrap_or(0);
    let mut pieces = Vec::new();
    for bound in bounds {
        let (piece, rest) = slice.split_at_mut(bound - last);
        pieces.push(piece);
        (slice, last) = (rest, bound);
    }
    pieces
}

/// Returns the bounds of `pieces` nearly equal ranges of `0..n`. Each length but the last is a multiple of `unit`, which is not 0.
pub fn even_bounds(n: usize, pieces: usize, unit: usize) -> Vec<usize> {
    let units = n.div_ceil(unit);
    let pieces = pieces.clamp(1, units.max(1));
    (0..=pieces).map(|piece| (units * piece / pieces * unit).min(n)).collect()
}

/// Threads of the host: a pool, or the calling thread alone ([`Serial`]).
///
/// Kernels pass [`for_each`](Self::for_each) an indexed iterator over disjoint pieces (zipped chunks of slices). The
/// pieces never depend on the number of threads. A reduction that stores one partial sum per piece and adds the partial
/// sums in order therefore gives the same bits on any number of threads.
#[derive(Clone, Debug)]
pub struct Threads {
    pool: Option<Arc<rayon::ThreadPool>>,
    pub(super) scan: Scan,
}

/// One thread: the calling one, with plain loops. All other spaces are tested against it.
#[allow(non_upper_case_globals)]
pub const Serial: Threads = Threads { pool: None, scan: Scan::Auto };

impl Threads {
    /// Items per piece of a vector kernel, and per partial sum: 32 KiB of `f64` per array.
    pub const CHUNK: usize = 4096;

    /// Most threads of a pool: more than hosts have cores, and few enough to start at once.
    const MOST: usize = 4096;

    /// Makes a pool of `threads` threads. The calling thread waits while they work.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 0 threads, for more than 4096, or when the system cannot start more.
    pub fn new(threads: usize) -> Result<Self> {
        Self::build(threads, rayon::ThreadPoolBuilder::new())
    }

    /// Makes a pool of `threads` threads that includes the calling one. Kernels then start without a hand-over, and
    /// work that must stay on the main thread (MPI) does. A thread can enter such a pool only once in its life.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 0 threads or more than 4096, when the thread is already in a pool, or when the system cannot start more.
    pub fn with_current(threads: usize) -> Result<Self> {
        Self::build(threads, rayon::ThreadPoolBuilder::new().use_current_thread())
    }

    fn build(threads: usize, builder: rayon::ThreadPoolBuilder) -> Result<Self> {
        if threads == 0 || threads > Self::MOST {
            let most = Self::MOST;
            return Err(Error::Invalid(format!("invalid number of threads {threads}: expected 1 to {most}")));
        }
        let builder = builder.num_threads(threads);
        let pool = match start::is_limited() {
            true => builder.spawn_handler(|thread| start::start(thread, threads)).build(),
            false => builder.build(),
        };
        let pool = pool.map_err(|e| Error::Invalid(format!("threads: cannot start a pool of {threads}: {e}")))?;
        Ok(Threads { pool: Some(Arc::new(pool)), ..Serial })
    }

    /// Returns the same threads, with prefix sums computed by the given algorithm.
    #[must_use]
    pub fn with_scan(self, scan: Scan) -> Self {
        Threads { scan, ..self }
    }

    /// Calls `f` once per item, in any order and on any thread of the space, and returns when all calls have returned.
    pub fn for_each<I: IndexedParallelIterator>(&self, items: I, f: impl Fn(I::Item) + Send + Sync) {
        let len = items.len();
        // One thread or one item leaves nothing to share: the calling thread takes the items in order.
        let pool = self.pool.as_deref().filter(|pool| pool.current_num_threads() > 1 && len > 1);
        items.with_producer(Share { pool, len, f: &f });
    }

    /// Calls `work(row, items)` for each row of an array, row i being its items `starts[i]..starts[i + 1]`; at most so many tasks take
    /// runs of rows.
    pub(crate) fn for_rows<T: Send>(
        &self,
        tasks: usize,
        starts: &[RowOffset],
        items: &mut [T],
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let bounds = even_bounds(starts.len() - 1, tasks, 1);
        let pieces = split_at(items, bounds.iter().map(|&row| starts[row] as usize)).into_par_iter();
        self.for_each(pieces.zip(bounds.par_windows(2)), |(mut rest, ends)| {
            for row in ends[0]..ends[1] {
                let items;
                (items, rest) = rest.split_at_mut((starts[row + 1] - starts[row]) as usize);
                work(row, items);
            }
        });
    }

    /// Calls `f` once per item as [`for_each`](Self::for_each) and returns one of the errors, if there are any.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn try_for_each<I: IndexedParallelIterator>(
        &self,
        items: I,
        f: impl Fn(I::Item) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let failure = OnceLock::new();
        self.for_each(items, |item| {
            if let Err(error) = f(item) {
                let _ = failure.set(error);
            }
        });
        failure.into_inner().map_or(Ok(()), Err)
    }

    /// Returns the number of threads that `for_each` may use at once.
    pub fn concurrency(&self) -> usize {
        self.pool.as_deref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Sorts keys in ascending order.
    pub fn sort(&self, keys: &mut [u64]) {
        match self.pool.as_deref() {
            None => keys.sort_unstable(),
            Some(pool) => pool.install(|| keys.par_sort_unstable()),
        }
    }

    /// Calls both functions; an idle thread may take the second one.
    pub(crate) fn join(&self, left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
        match &self.pool {
            None => (left(), right()),
            Some(pool) => pool.join(left, right),
        };
    }

    /// Returns the number of partial sums that a reduction over `len` items stores.
    pub fn partials(len: usize) -> usize {
        len.div_ceil(Self::CHUNK)
    }

    /// Returns `f(i)` for each `i` in `0..n`, in order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when the memory is not available.
    pub fn map<T: Item>(&self, n: usize, f: impl Fn(usize) -> T + Send + Sync) -> Result<Vec<T>> {
        let mut out = memory::try_zeroed::<T>("values of a function", n)?;
        self.for_each(out.par_chunks_mut(Self::CHUNK).enumerate(), |(chunk, out)| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(chunk * Self::CHUNK + i);
            }
        });
        Ok(out)
    }
}

/// Returns the cores this process may use, by affinity mask and control-group quota.
pub fn allowed_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl ExecutionSpace for Threads {
    type Memory = HostMemory;
    type Reading = [f64; SCALARS];
    type Recording = ();
    const SYNCHRONOUS: bool = true;

    fn label(&self) -> String {
        self.pool.as_ref().map_or("serial".into(), |_| format!("threads({})", self.concurrency()))
    }

    fn zeros<T: Item>(&self, len: usize) -> Result<Array<Self, T>> {
        memory::try_zeroed("vector", len)
    }

    fn upload<T: Item>(&self, data: &[T]) -> Result<Array<Self, T>> {
        memory::try_copy("copy", data)
    }

    fn download<T: Item>(&self, array: &Array<Self, T>) -> Result<Vec<T>> {
        memory::try_copy("copy", array)
    }

    fn read<T: Item>(&self, array: &Array<Self, T>, out: &mut [T]) -> Result<()> {
        check_at_least("read", "array", array.len(), out.len())?;
        out.copy_from_slice(&array[..out.len()]);
        Ok(())
    }

    fn overwrite<T: Item>(&self, data: &[T], array: &mut Array<Self, T>) -> Result<()> {
        check_at_least("overwrite", "array", array.len(), data.len())?;
        array[..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn begin_read(&self, scalars: &Array<Self, f64>) -> Result<Self::Reading> {
        let mut copy = [0.0; SCALARS];
        copy.iter_mut().zip(scalars).for_each(|(copy, scalar)| *copy = *scalar);
        Ok(copy)
    }

    fn finish_read(&self, reading: Self::Reading) -> Result<[f64; SCALARS]> {
        Ok(reading)
    }

    fn repeat(&self, (): &mut (), mut work: impl FnMut() -> Result<()>) -> Result<()> {
        work()
    }

    fn threads(&self) -> usize {
        self.concurrency()
    }

    fn fence(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_is_visited_once_in_its_place() {
        for threads in [1, 2, 5] {
            let space = Threads::new(threads).unwrap();
            let seen = AtomicUsize::new(0);
            let squares = space.map(10_000, |i| {
                seen.fetch_add(1, Ordering::Relaxed);
                (i * i) as u64
            });
            let squares = squares.unwrap();
            assert_eq!(seen.into_inner(), 10_000);
            assert!(squares.iter().enumerate().all(|(i, &s)| s == (i * i) as u64));
        }
    }

    #[test]
    fn serial_goes_in_order_on_the_calling_thread() {
        let here = std::thread::current().id();
        let order = std::sync::Mutex::new(Vec::new());
        Serial.for_each((0..100usize).into_par_iter(), |i| {
            assert_eq!(std::thread::current().id(), here);
            order.lock().unwrap().push(i);
        });
        assert_eq!(order.into_inner().unwrap(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn no_threads_and_too_many_are_errors() {
        assert!(Threads::new(0).unwrap_err().to_string().contains("invalid number of threads 0"));
        assert!(Threads::new(4097).unwrap_err().to_string().contains("expected 1 to 4096"));
    }

    /// Pieces cover 0..n in order, differ by at most one unit and are whole units but for the last.
    #[test]
    fn bounds_are_even_and_whole_units() {
        for (n, pieces, unit) in [0, 1, 7, 8, 9, 100, 4096, 9001]
            .into_iter()
            .flat_map(|n| [1, 2, 3, 8, 28].into_iter().flat_map(move |pieces| [1, 8, 16].map(|unit| (n, pieces, unit))))
        {
            let bounds = even_bounds(n, pieces, unit);
            let case = format!("{n} items, {pieces} pieces of units of {unit}: {bounds:?}");
            assert_eq!(
                (bounds[0], bounds[bounds.len() - 1], bounds.len()),
                (0, n, pieces.min(n.div_ceil(unit).max(1)) + 1)
            );
            let units: Vec<usize> = bounds.windows(2).map(|two| (two[1] - two[0]).div_ceil(unit)).collect();
            assert!(bounds[..bounds.len() - 1].iter().all(|bound| bound % unit == 0), "{case}");
            let (least, most) = (units.iter().min().unwrap(), units.iter().max().unwrap());
            assert!(most - least <= 1, "{case}");
            let mut items: Vec<usize> = (0..n).collect();
            let parts = split_at(&mut items, bounds.iter().copied()).into_iter().map(|part| part.to_vec());
            assert!(parts.flatten().eq(0..n), "{case}");
        }
    }
}
