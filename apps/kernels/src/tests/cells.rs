//! Additions to shared cells.

use super::{gpu, hosts, reported};
use crate::functions::{Add, AddByExchange, AddUnshared};
use crate::kernels::atomics;
use crate::space::Space;
use minifenl::space::{IndexFn, Loops, MemorySpace};

/// The cells after one call, by the layer.
fn cells<S: Space + Loops<F>, F: IndexFn<0, 1, 1>>(space: &S, n: usize, f: &F) -> Vec<f64> {
    let list = space.upload(&atomics::cells(n)).unwrap();
    let mut cells = space.zeros::<f64>(n).unwrap();
    space.for_indices(n, f, [], [S::Memory::slice(&list)], [S::Memory::slice_mut(&mut cells)]).unwrap();
    space.download(&cells).unwrap()
}

fn check<S: Space>(space: &S) {
    for n in [0, 1, 27, 999, 30_001] {
        let mut expected = vec![0.0; n];
        atomics::cells(n).into_iter().for_each(|cell| expected[cell as usize] += 1.0);
        assert_eq!(expected.iter().sum::<f64>(), 8.0 * n as f64);
        assert_eq!(cells(space, n, &Add {}), expected);
        assert_eq!(cells(space, n, &AddByExchange {}), expected);
        // Races lose additions, and make none.
        let racy = cells(space, n, &AddUnshared {});
        assert!(racy.iter().zip(&expected).all(|(found, all)| found <= all));
        if space.threads() == 1 && S::SYNCHRONOUS {
            assert_eq!(racy, expected);
        }
    }
    let report = reported(space, |run| atomics::measure(run, 1000));
    assert_eq!(report.rows.iter().map(|row| row.variant.as_str()).collect::<Vec<_>>(), ["racy", "atomic", "exchange"]);
}

#[test]
fn additions_are_complete_unless_they_race() {
    hosts().iter().for_each(check);
}

#[test]
fn additions_are_complete_on_a_gpu_unless_they_race() {
    let Some(space) = gpu("additions_are_complete_on_a_gpu_unless_they_race") else { return };
    check(&space);
}
