//! Allocations that fail on one rank while a partition is numbered, or a distributed sum is planned: all ranks end with one error, and
//! nothing hangs.
//!
//! Needs the feature `faults`. Ranks are threads of this process, so the plan of faults is common to them: the nth allocation of
//! all of them fails.

use crate::thread_ranks::{Ranks, on_ranks};
use minifenl::comm::Communicator;
use minifenl::faults::{Kind, Plan, set};
use minifenl::fill::{DistributedCoo, ElementIndices};
use minifenl::mesh::MeshPart;
use minifenl::space::Serial;
use minifenl::{Error, Result};

#[test]
fn each_allocation_that_fails_ends_all_ranks_with_one_error() {
    let _alone = crate::alone();
    // Three parts of a row of bars; each bar on one rank.
    let given: [(&[u64], &[u64]); 3] = [(&[0, 1], &[0, 1]), (&[3], &[1, 2, 2, 3]), (&[2, 4], &[3, 4])];
    let arrays = arrays_that_fail(|comm| {
        let (owned, table) = given[comm.rank()];
        MeshPart::from_elements(comm, owned, table, 2).map(drop)
    });
    assert!(arrays.len() >= 14, "{arrays:?}");
    // One after the other, since the plan of faults is common to both.
    let arrays = arrays_that_fail(|comm| {
        let (owned, indices) = given[comm.rank()];
        let table = ElementIndices { indices, per_elem: 2 };
        DistributedCoo::from_elements(&Serial, comm, owned, table, table).map(drop)
    });
    assert!(arrays.len() >= 20, "{arrays:?}");
}

/// Lets the first, second, ... allocation of `work` fail on three ranks; returns the names of the arrays.
fn arrays_that_fail(work: impl Fn(&Ranks) -> Result<()> + Sync) -> Vec<String> {
    let mut arrays = Vec::new();
    for call in 1.. {
        set(Some(Plan { kind: Kind::Alloc, call, lasts: false }));
        let results = on_ranks(3, &work);
        if set(None) == 0 {
            assert!(results.into_iter().all(|result| result.is_ok()));
            break;
        }
        let errors: Vec<Error> = results.into_iter().map(Result::unwrap_err).collect();
        let (told, elsewhere): (Vec<_>, Vec<_>) =
            errors.iter().partition(|error| !matches!(error, Error::Elsewhere { .. }));
        let [Error::OutOfMemory { what, .. }] = told[..] else { panic!("call {call}: {errors:?}") };
        assert_eq!(elsewhere.len(), 2, "call {call}");
        arrays.push(what.clone());
    }
    arrays.sort();
    arrays.dedup();
    println!("faults in {arrays:?}");
    // What follows a failure is not disturbed by it.
    assert!(on_ranks(3, &work).into_iter().all(|result| result.is_ok()));
    arrays
}
