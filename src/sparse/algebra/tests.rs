//! Products against plain loops and against sprs, and refusals.

use super::*;
use crate::space::{Serial, Threads};
use crate::sparse::CrsMatrix;
use std::collections::{BTreeMap, BTreeSet};

/// A matrix with at most `per_row` groups of columns per row, some rows empty or alike, by a small generator.
fn matrix(rows: usize, columns: usize, per_row: usize, width: usize, seed: u64) -> CrsMatrix {
    let mut state = seed;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut row_map, mut entries, mut values) = (vec![0], Vec::new(), Vec::new());
    while row_map.len() <= rows {
        // Some rows have the columns of the row before.
        if row_map.len() > 1 && next(4) == 0 {
            entries.extend_from_within(row_map[row_map.len() - 2] as usize..);
        } else {
            let groups: BTreeSet<usize> = (0..next(per_row + 1)).map(|_| next(columns / width)).collect();
            entries.extend(groups.iter().flat_map(|group| (group * width) as u32..((group + 1) * width) as u32));
        }
        row_map.push(entries.len() as u64);
    }
    values.extend(entries.iter().map(|_| next(2001) as f64 / 1000.0 - 1.0));
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns).unwrap()), values).unwrap()
}

/// Entries of the product by plain loops.
fn product(a: &CrsMatrix, b: &CrsMatrix) -> BTreeMap<(usize, u32), f64> {
    let mut sums = BTreeMap::new();
    for row in 0..a.graph().rows() {
        for at in a.graph().row_range(row) {
            let k = a.graph().entries()[at] as usize;
            for of_b in b.graph().row_range(k) {
                *sums.entry((row, b.graph().entries()[of_b])).or_insert(0.0) += a.values()[at] * b.values()[of_b];
            }
        }
    }
    sums
}

#[test]
fn products_are_those_of_plain_loops_for_all_widths_and_threads() {
    for (width, [rows, between, columns]) in
        [(1, [200, 70, 90]), (2, [40, 30, 20]), (3, [90, 50, 33]), (6, [31, 80, 60]), (1, [0, 5, 7]), (1, [9, 1, 1])]
    {
        let a = matrix(rows, between, 9, 1, 7);
        let b = matrix(between, columns, 5, width, 11);
        let expected = product(&a, &b);
        let keys: Vec<(usize, u32)> = expected.keys().copied().collect();
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let plan = Spgemm::new(&space, a.graph(), b.graph(), width).unwrap();
            let graph = plan.graph();
            assert_eq!((graph.rows(), graph.columns()), (rows, columns));
            let found: Vec<(usize, u32)> =
                (0..rows).flat_map(|row| graph.row(row).iter().map(move |&column| (row, column))).collect();
            assert_eq!(found, keys, "width {width}");
            // Twice: values of before are overwritten.
            let mut c = vec![f64::NAN; graph.nnz()];
            for _ in 0..2 {
                plan.values(&space, &a, &b, &mut c).unwrap();
                assert!(c.iter().eq(expected.values()), "width {width}, {threads} threads");
            }
        }
    }
}

#[test]
fn factors_that_do_not_fit_are_refused() {
    let (a, b) = (matrix(8, 9, 4, 1, 1), matrix(9, 12, 3, 3, 2));
    let refused = |result: Result<Spgemm>| result.unwrap_err().to_string();
    assert!(refused(Spgemm::new(&Serial, b.graph(), a.graph(), 1)).contains("rows of b"));
    assert!(refused(Spgemm::new(&Serial, a.graph(), b.graph(), 2)).contains("whole groups of 2 columns"));
    assert!(refused(Spgemm::new(&Serial, a.graph(), b.graph(), 0)).contains("width is 0"));
    let plan = Spgemm::new(&Serial, a.graph(), b.graph(), 3).unwrap();
    let mut c = vec![0.0; plan.graph().nnz()];
    let other = matrix(8, 9, 4, 1, 1);
    let error = plan.values(&Serial, &other, &b, &mut c).unwrap_err().to_string();
    assert!(error.contains("graphs of the plan"), "{error}");
    assert!(plan.values(&Serial, &a, &b, &mut c[1..]).unwrap_err().to_string().contains("Spgemm::values"));
}

#[cfg(feature = "sprs")]
#[test]
fn products_are_those_of_sprs() {
    let (a, b) = (matrix(300, 120, 12, 1, 5), matrix(120, 77, 8, 1, 6));
    let plan = Spgemm::new(&Serial, a.graph(), b.graph(), 1).unwrap();
    let mut c = vec![0.0; plan.graph().nnz()];
    plan.values(&Serial, &a, &b, &mut c).unwrap();
    let expected = &a.as_sprs() * &b.as_sprs();
    assert_eq!(plan.graph().row_map()[..], expected.proper_indptr()[..]);
    assert_eq!(plan.graph().entries()[..], *expected.indices());
    assert!(c.iter().zip(expected.data()).all(|(found, value)| (found - value).abs() < 1e-13));
}
