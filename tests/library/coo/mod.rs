//! The COO front as a caller sees it: SciPy's sums, sums without allocation, and sums over ranks that are threads.
//!
//! `cases.txt` holds random matrices as SciPy converts them; `make_cases.py` wrote it. The test mpi runs the same sums on real ranks.

pub mod on_ranks;

use crate::memory::{count_thread, requests};
use crate::thread_ranks::on_ranks;
use minifenl::Error;
use minifenl::comm::{Communicator, Solo};
use minifenl::contraction::Sum;
use minifenl::fill::{Coo, DistributedCoo, ElementIndices};
use minifenl::space::{Serial, Threads};
use rayon::prelude::*;
use std::sync::Barrier;
use support::Random;

/// Calls `work` on each of the threads of a space at the same time: none can take the item of another.
fn on_each(space: &Threads, threads: usize, work: impl Fn() + Sync) {
    let all_are_here = Barrier::new(threads);
    space.for_each((0..threads).into_par_iter(), |_| {
        all_are_here.wait();
        work();
    });
}

/// Several pieces of rows, so that threads share them. All threads of the space are counted.
#[test]
fn sums_allocate_nothing() {
    count_thread();
    assert!(requests(|| drop(vec![1u8])) > 0);
    let mut random = Random::new(5);
    let (i, j): (Vec<u32>, Vec<u32>) =
        (0..300_000).map(|_| (random.below(900) as u32, random.below(900) as u32)).unzip();
    let values: Vec<f64> = (0..300_000).map(f64::from).collect();
    let plan = Coo::new(&Serial, 900, 900, &i, &j).unwrap();
    let mut matrix = plan.matrix().unwrap();
    for sum in [Sum::Overwrite, Sum::Into] {
        assert_eq!(requests(|| plan.set_values(&Serial, &values, sum, &mut matrix).unwrap()), 0);
    }
    let once: f64 = matrix.values().iter().sum();
    // The calling thread belongs to the pool, so it takes part.
    let threads = Threads::with_current(2).unwrap();
    on_each(&threads, 2, count_thread);
    // An allocation of each thread is seen.
    assert!(requests(|| on_each(&threads, 2, || drop(std::hint::black_box(vec![1u8])))) >= 2);
    let mut rows = vec![0.0; 900];
    let mut refill = || {
        plan.set_values(&threads, &values, Sum::Overwrite, &mut matrix).unwrap();
        plan.sum_rows(&threads, &values, Sum::Overwrite, &mut rows).unwrap();
    };
    refill();
    // The queues of rayon grow at times, whatever work they hold; sums that allocated would do so each time.
    assert_eq!((0..10).map(|_| requests(&mut refill)).min(), Some(0));
    // Whole numbers: sums are exact.
    assert_eq!((once, matrix.values().iter().sum::<f64>()), (2.0 * 44_999_850_000.0, 44_999_850_000.0));
    assert_eq!(rows.iter().sum::<f64>(), 44_999_850_000.0);
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
    on_ranks::sums_on_ranks(&Solo).unwrap();
    for size in [1, 2, 3, 5] {
        on_ranks(size, |comm| on_ranks::sums_on_ranks(comm).unwrap());
    }
}

#[test]
fn plans_over_ranks_equal_those_of_one_rank() {
    on_ranks::plans_equal_those_of_one_rank(&Solo).unwrap();
    for size in [1, 2, 3] {
        on_ranks(size, |comm| on_ranks::plans_equal_those_of_one_rank(comm).unwrap());
    }
}

/// The error of the one rank of three that tells it.
fn message(results: Vec<Result<(), Error>>) -> String {
    let errors = results.into_iter().map(Result::unwrap_err);
    let (elsewhere, told): (Vec<_>, Vec<_>) = errors.partition(|error| matches!(error, Error::Elsewhere { .. }));
    assert_eq!((elsewhere.len(), told.len()), (2, 1), "{told:?}");
    told[0].to_string()
}

#[test]
fn a_rank_that_is_wrong_is_named_on_one_rank() {
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

/// No unsigned index is ignored; the one that marks ignored ids in messages is refused.
#[test]
fn the_largest_number_is_no_id() {
    let new = |owned: &[u64], i: &[u64], j: &[u64]| {
        DistributedCoo::new(&Serial, &Solo, owned, i, j).map(drop).unwrap_err().to_string()
    };
    let none = "is 18446744073709551615, which is no global id; expected a smaller one";
    assert!(new(&[5, u64::MAX], &[5], &[5]).starts_with(&format!("owned[1] {none}")));
    assert!(new(&[5], &[5, u64::MAX], &[5, 5]).starts_with(&format!("i[1] {none}")));
    assert!(new(&[5], &[5, 5, 5], &[5, 5, u64::MAX]).starts_with(&format!("j[2] {none}")));
    let table = |indices, per_elem| ElementIndices { indices, per_elem };
    let (one, wrong) = (table(&[5, 5, 5, 5], 2), table(&[5, 5, 5, u64::MAX], 2));
    let of = |rows, columns| DistributedCoo::from_elements::<u64>(&Serial, &Solo, &[5], rows, columns).unwrap_err();
    assert!(of(wrong, one).to_string().starts_with(&format!("rows_of[1, 1] {none}")));
    assert!(of(one, wrong).to_string().starts_with(&format!("columns_of[1, 1] {none}")));
    // The next smaller one is an id like any other.
    let plan = DistributedCoo::new(&Serial, &Solo, &[u64::MAX - 1], &[u64::MAX - 1], &[u64::MAX - 1]).unwrap();
    assert_eq!((plan.graph().nnz(), plan.columns().ids()), (1, &[u64::MAX - 1][..]));
}

#[test]
fn arrays_of_other_lengths_are_refused() {
    let indices = ElementIndices { indices: &[0u64, 1], per_elem: 2 };
    let mut plan = DistributedCoo::from_elements(&Serial, &Solo, &[0, 1], indices, indices).unwrap();
    let mut matrix = plan.matrix().unwrap();
    let refused = plan.set_values(&Serial, &[1.0; 3], Sum::Into, &mut matrix).unwrap_err().to_string();
    assert!(refused.contains("`values` has extents [3], expected [4]"), "{refused}");
    let other = DistributedCoo::from_elements(&Serial, &Solo, &[0], indices_of_one(), indices_of_one()).unwrap();
    assert!(plan.set_values(&Serial, &[1.0; 4], Sum::Into, &mut other.matrix().unwrap()).is_err());
    assert!(plan.sum_rows(&Serial, &[1.0; 3], Sum::Into, &mut [0.0; 2]).is_err());
    assert!(plan.sum_rows(&Serial, &[1.0; 2], Sum::Into, &mut [0.0; 3]).is_err());
}

fn indices_of_one() -> ElementIndices<'static, u64> {
    ElementIndices { indices: &[0], per_elem: 1 }
}
