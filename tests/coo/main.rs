//! The COO front as a caller sees it: SciPy's sums, sums without allocation, and sums over ranks that are threads.
//!
//! `cases.txt` holds random matrices as SciPy converts them; `make_cases.py` wrote it. The test mpi runs the same sums on real ranks.

#![allow(missing_docs)]

#[path = "../common/coo.rs"]
mod coo;
#[allow(dead_code)]
#[path = "../common/random.rs"]
mod random;
#[path = "../partition/ranks.rs"]
mod ranks;

use minifenl::Error;
use minifenl::comm::{Communicator, Solo};
use minifenl::contraction::Sum;
use minifenl::fill::{Coo, DistributedCoo, ElementIndices, Packed};
use minifenl::space::{Serial, Threads};
use num_traits::Zero;
use random::Random;
use ranks::on_ranks;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: hands every call to the system's allocator and only counts.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations of this thread during `work`.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

/// Several pieces of rows, so that threads share them.
#[test]
fn sums_allocate_nothing() {
    assert!(allocations(|| drop(vec![1u8])) > 0);
    let mut random = Random::new(5);
    let (i, j): (Vec<u32>, Vec<u32>) =
        (0..300_000).map(|_| (random.below(900) as u32, random.below(900) as u32)).unzip();
    let values: Vec<f64> = (0..300_000).map(f64::from).collect();
    let plan = Coo::new(&Serial, 900, 900, &i, &j).unwrap();
    let mut matrix = plan.matrix().unwrap();
    for sum in [Sum::Overwrite, Sum::Into] {
        assert_eq!(allocations(|| plan.set_values(&Serial, &values, sum, &mut matrix).unwrap()), 0);
    }
    let once: f64 = matrix.values().iter().sum();
    // The calling thread belongs to the pool, so it takes part.
    let threads = Threads::with_current(2).unwrap();
    plan.set_values(&threads, &values, Sum::Overwrite, &mut matrix).unwrap();
    let refill = || plan.set_values(&threads, &values, Sum::Overwrite, &mut matrix).unwrap();
    assert_eq!(allocations(refill), 0);
    // Whole numbers: sums are exact.
    assert_eq!((once, matrix.values().iter().sum::<f64>()), (2.0 * 44_999_850_000.0, 44_999_850_000.0));
}

#[test]
fn scipy_has_the_same_rows_columns_and_sums() {
    fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(line: Option<&str>) -> Vec<T> {
        line.expect("a line").split_whitespace().map(|word| word.parse().unwrap()).collect()
    }
    let mut lines = include_str!("cases.txt").lines();
    let mut cases = 0;
    while let Some(title) = lines.next() {
        let shape: Vec<usize> = numbers(lines.next());
        let (i, j): (Vec<i32>, Vec<i32>) = (numbers(lines.next()), numbers(lines.next()));
        let values: Vec<f64> = numbers(lines.next());
        let (row_map, entries): (Vec<u64>, Vec<u32>) = (numbers(lines.next()), numbers(lines.next()));
        let sums: Vec<f64> = numbers(lines.next());
        let plan = Coo::new(&Threads::new(2).unwrap(), shape[0], shape[1], &i, &j).unwrap();
        let mut matrix = plan.matrix().unwrap();
        plan.set_values(&Serial, &values, Sum::Overwrite, &mut matrix).unwrap();
        assert_eq!((plan.graph().row_map(), plan.graph().entries()), (&row_map, &entries), "{title}");
        assert_eq!(matrix.values(), &sums, "{title}");
        cases += 1;
    }
    assert!(cases >= 6, "{cases}");
}

#[test]
fn ranks_sum_in_the_order_of_ranks_and_input() {
    coo::sums_on_ranks(&Solo).unwrap();
    for size in [1, 2, 3, 5] {
        on_ranks(size, |comm| coo::sums_on_ranks(comm).unwrap());
    }
}

#[test]
fn a_rank_that_is_wrong_is_named_on_one_rank() {
    let message = |results: Vec<Result<(), Error>>| {
        let errors = results.into_iter().map(Result::unwrap_err);
        let (elsewhere, told): (Vec<_>, Vec<_>) = errors.partition(|error| matches!(error, Error::Elsewhere { .. }));
        assert_eq!((elsewhere.len(), told.len()), (2, 1), "{told:?}");
        told[0].to_string()
    };
    let pairs = |i: [i64; 2], j: &'static [i64]| {
        message(on_ranks(3, |comm| {
            let (own, me) = ([10 * comm.rank() as u64], comm.rank());
            let (i, j) = if me == 1 { (i, j) } else { ([0, 10], &[0, 10][..]) };
            DistributedCoo::new(&Serial, comm, &own, &i, j).map(drop)
        }))
    };
    assert!(pairs([0, 7], &[0, 0]).contains("global id 7 is used by rank 1 and owned by no rank"));
    assert!(pairs([10, 20], &[0, 9]).contains("global id 9 is used by rank"));
    assert!(pairs([10, 20], &[0]).contains("`j` has extents [1], expected [2]"));
    let widths = message(on_ranks(3, |comm| {
        let own = [comm.rank() as u64];
        let indices = ElementIndices { indices: &[0i32, 1], per_elem: if comm.rank() == 2 { 1 } else { 2 } };
        DistributedCoo::from_elements(&Serial, comm, &own, indices, indices).map(drop)
    }));
    assert!(widths.contains("rank 2 differs from rank 0 in columns per element"), "{widths}");
}

/// Two words per number, and a matrix of f32.
#[test]
fn numbers_of_any_type_travel() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Two(f64, f64);
    impl std::ops::Add for Two {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Two(self.0 + other.0, self.1 + other.1)
        }
    }
    impl Zero for Two {
        fn zero() -> Self {
            Two(0.0, 0.0)
        }
        fn is_zero(&self) -> bool {
            *self == Self::zero()
        }
    }
    impl Packed for Two {
        const WORDS: usize = 2;
        fn pack(self, words: &mut [f64]) {
            words.copy_from_slice(&[self.0, self.1]);
        }
        fn unpack(words: &[f64]) -> Self {
            Two(words[0], words[1])
        }
    }
    on_ranks(3, |comm| {
        // Every rank adds its number to all three diagonal entries, and to the entry right of rank 1's.
        let me = comm.rank() as u64;
        let plan = DistributedCoo::new(&Serial, comm, &[me], &[2i64, 1, 0, 1], &[2, 1, 0, 2]).unwrap();
        let (number, nnz) = (me as f64 + 1.0, plan.graph().nnz());
        assert_eq!(nnz, if me == 1 { 2 } else { 1 });
        let mut sums = vec![Two(f64::NAN, 0.0); nnz];
        let mut messages = plan.messages(comm).unwrap();
        plan.sum_entries(&Serial, &mut messages, &[Two(number, -number); 4], Sum::Overwrite, &mut sums).unwrap();
        assert_eq!(sums, vec![Two(6.0, -6.0); nnz]);
        let (mut messages, mut matrix) = (plan.messages(comm).unwrap(), plan.matrix::<f32>().unwrap());
        plan.set_values(&Serial, &mut messages, &[number as f32; 4], Sum::Into, &mut matrix).unwrap();
        assert_eq!(matrix.values(), &vec![6.0f32; nnz]);
    });
}
