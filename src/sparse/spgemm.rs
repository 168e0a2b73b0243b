//! Product of two sparse matrices, C = A B, on hosts.
//!
//! ```text
//! plan     per row i of A: columns of the rows A[i, :] of B, each once, sorted; count, scan, allocate, fill
//! values   C[i, :] = sum over k of A[i, k] B[k, :]                                                          2 flops per pair
//! ```
//! (Gustavson 1978.) A thread marks the columns of its current row in a table with an item per column of B; the same table finds the
//! places of sums. A plan serves all values on its graphs. Rows do not depend on one another, and each is summed in the order of A's
//! entries, so the bits do not depend on the number of threads.
//!
//! Columns of B may come in groups of `width`, as those of a prolongator with several coarse unknowns per aggregate: the plan then marks
//! groups, and sums add whole groups.

use super::{CrsGraph, CrsMatrix};
use crate::error::check_length;
use crate::space::{Threads, even_bounds, offsets, split_at, try_push, try_reserve, try_zeroed};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// Tasks per thread: rows differ in cost.
const TASKS: usize = 8;

/// The graph of a product, for values on the graphs that it was planned for.
#[derive(Clone, Debug)]
pub struct Spgemm {
    graph: Arc<CrsGraph>,
    factors: [u64; 2],
    width: usize,
}

/// Rows of one task.
#[derive(Default)]
struct Rows {
    lengths: Vec<u32>,
    groups: Vec<LocalOrdinal>,
}

impl Spgemm {
    /// Plans A B. The entries of each row of B are whole groups of `width` columns from multiples of `width` on; 1 for any B.
    ///
    /// # Errors
    /// [`Error::Shape`] unless B has a row per column of A, [`Error::Invalid`] for a row of B that is not whole groups,
    /// [`Error::OutOfMemory`].
    pub fn new(space: &Threads, a: &CrsGraph, b: &CrsGraph, width: usize) -> Result<Self> {
        check_length("Spgemm::new", "rows of b", b.rows(), a.columns())?;
        check_groups(b, width)?;
        let groups = b.columns().div_ceil(width);
        let bounds = even_bounds(a.rows(), TASKS * space.concurrency(), 1);
        let mut tasks: Vec<Rows> = (1..bounds.len()).map(|_| Rows::default()).collect();
        space.try_for_each(tasks.par_iter_mut().zip(bounds.par_windows(2)), |(task, ends)| {
            let mut seen = try_zeroed::<u32>("marks of columns", groups)?;
            try_reserve("lengths of rows", &mut task.lengths, ends[1] - ends[0])?;
            let mut before = 0..0;
            for row in ends[0]..ends[1] {
                let (first, stamp) = (task.groups.len(), (row - ends[0] + 1) as u32);
                // As the rows of a node with several unknowns.
                if row > ends[0] && a.row(row) == a.row(row - 1) {
                    try_reserve("columns of a product", &mut task.groups, before.len())?;
                    task.groups.extend_from_within(before.clone());
                    before = first..task.groups.len();
                    task.lengths.push((before.len() * width) as u32);
                    continue;
                }
                for &column in a.row(row) {
                    for group in b.row(column as usize).iter().step_by(width).map(|&column| column as usize / width) {
                        if seen[group] != stamp {
                            seen[group] = stamp;
                            try_push("columns of a product", &mut task.groups, group as LocalOrdinal)?;
                        }
                    }
                }
                let found = &mut task.groups[first..];
                found.sort_unstable();
                task.lengths.push((found.len() * width) as u32);
                before = first..task.groups.len();
            }
            Ok(())
        })?;
        let mut lengths = Vec::new();
        try_reserve("lengths of rows", &mut lengths, a.rows())?;
        tasks.iter().for_each(|task| lengths.extend_from_slice(&task.lengths));
        let row_map = offsets(space, &lengths)?;
        let mut entries = try_zeroed::<LocalOrdinal>("columns of a product", row_map[a.rows()] as usize)?;
        let pieces = split_at(&mut entries, bounds.iter().map(|&row| row_map[row] as usize));
        space.for_each(pieces.into_par_iter().zip(&tasks), |(piece, task)| {
            for (out, &group) in piece.chunks_exact_mut(width).zip(&task.groups) {
                let first = group * width as LocalOrdinal;
                out.iter_mut().zip(first..).for_each(|(out, column)| *out = column);
            }
        });
        let graph = Arc::new(CrsGraph::trusted(row_map, entries, b.columns()));
        Ok(Spgemm { graph, factors: [a.number(), b.number()], width })
    }

    /// Returns the graph of C.
    pub fn graph(&self) -> &Arc<CrsGraph> {
        &self.graph
    }

    /// Overwrites `c`, one value per entry of the graph, with the values of A B.
    ///
    /// # Errors
    /// [`Error::Invalid`] for matrices on other graphs than those of the plan, [`Error::Shape`] for another number of values,
    /// [`Error::OutOfMemory`].
    pub fn values(&self, space: &Threads, a: &CrsMatrix, b: &CrsMatrix, c: &mut [f64]) -> Result<()> {
        if [a.graph().number(), b.graph().number()] != self.factors {
            return Err(Error::Invalid("Spgemm::values: expected matrices on the graphs of the plan".into()));
        }
        check_length("Spgemm::values", "c", c.len(), self.graph.nnz())?;
        match self.width {
            1 => self.sums::<1>(space, a, b, c),
            3 => self.sums::<3>(space, a, b, c),
            6 => self.sums::<6>(space, a, b, c),
            _ => self.sums::<0>(space, a, b, c),
        }
    }

    /// The values for a width that is known here, 0 for one that is not.
    fn sums<const WIDTH: usize>(&self, space: &Threads, a: &CrsMatrix, b: &CrsMatrix, c: &mut [f64]) -> Result<()> {
        let (width, graph) = (if WIDTH > 0 { WIDTH } else { self.width }, &*self.graph);
        let bounds = even_bounds(graph.rows(), TASKS * space.concurrency(), 1);
        let pieces = split_at(c, bounds.iter().map(|&row| graph.row_map()[row] as usize));
        space.try_for_each(pieces.into_par_iter().zip(bounds.par_windows(2)), |(mut piece, ends)| {
            let mut place = try_zeroed::<u32>("places of columns", graph.columns().div_ceil(width))?;
            for row in ends[0]..ends[1] {
                let sums;
                (sums, piece) = piece.split_at_mut(graph.row_range(row).len());
                sums.fill(0.0);
                for (at, &column) in graph.row(row).iter().enumerate().step_by(width) {
                    place[column as usize / width] = at as u32;
                }
                let entries = a.graph().row_range(row);
                for (&k, &factor) in a.graph().row(row).iter().zip(&a.values()[entries]) {
                    let of_b = b.graph().row_range(k as usize);
                    let groups = b.graph().entries()[of_b.clone()].chunks_exact(width);
                    for (group, values) in groups.zip(b.values()[of_b].chunks_exact(width)) {
                        let at = place[group[0] as usize / width] as usize;
                        sums[at..][..width].iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Refuses rows that are not whole groups of columns.
fn check_groups(b: &CrsGraph, width: usize) -> Result<()> {
    let is_whole = |group: &[LocalOrdinal]| {
        group.len() == width
            && (group[0] as usize).is_multiple_of(width)
            && (group[width - 1] - group[0]) as usize == width - 1
    };
    let broken = (0..b.rows()).filter(|_| width > 1).find(|&row| !b.row(row).chunks(width).all(is_whole));
    match broken {
        None if width > 0 => Ok(()),
        None => Err(Error::Invalid("Spgemm::new: width is 0, expected at least 1".into())),
        Some(row) => {
            let expected = format!("expected whole groups of {width} columns from multiples of {width} on");
            Err(Error::Invalid(format!("Spgemm::new: row {row} of b has the columns {:?}: {expected}", b.row(row))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};
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
        for (width, [rows, between, columns]) in [
            (1, [200, 70, 90]),
            (2, [40, 30, 20]),
            (3, [90, 50, 33]),
            (6, [31, 80, 60]),
            (1, [0, 5, 7]),
            (1, [9, 1, 1]),
        ] {
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
}
