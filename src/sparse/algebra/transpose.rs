//! The transpose of a matrix, on hosts.
//!
//! Each thread owns a range of columns, finds its entries in each row by bisection and writes them behind one another, so that rows of the
//! transpose are sorted. Reads each entry once, and the row offsets once per thread.

use crate::space::{Threads, even_bounds, offsets, split_at, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
use rayon::prelude::*;
use std::sync::Arc;

/// A^T.
pub(super) fn transpose(space: &Threads, a: &CrsMatrix) -> Result<CrsMatrix> {
    let (graph, columns) = (&**a.graph(), a.graph().columns());
    let bounds = even_bounds(columns, space.concurrency(), 1);
    let of_range = |row: usize, ends: &[usize]| {
        let (entries, first) = (graph.row(row), graph.row_range(row).start);
        let [low, high] = [0, 1].map(|end| entries.partition_point(|&column| (column as usize) < ends[end]));
        first + low..first + high
    };
    let mut counts = try_zeroed::<u32>("lengths of rows", columns)?;
    let pieces = split_at(&mut counts, bounds.iter().copied());
    space.for_each(pieces.into_par_iter().zip(bounds.par_windows(2)), |(counts, ends)| {
        for row in 0..graph.rows() {
            let columns = &graph.entries()[of_range(row, ends)];
            columns.iter().for_each(|&column| counts[column as usize - ends[0]] += 1);
        }
    });
    let row_map = offsets(space, &counts)?;
    let mut entries = try_zeroed::<LocalOrdinal>("columns of a transpose", graph.nnz())?;
    let mut values = try_zeroed::<f64>("values of a transpose", graph.nnz())?;
    let starts = || bounds.iter().map(|&column| row_map[column] as usize);
    let pieces = split_at(&mut entries, starts()).into_par_iter().zip(split_at(&mut values, starts()));
    space.try_for_each(pieces.zip(bounds.par_windows(2)), |((entries, values), ends)| {
        let mut next = try_zeroed::<u64>("places in rows", ends[1] - ends[0])?;
        let first = row_map[ends[0]];
        next.iter_mut().zip(&row_map[ends[0]..]).for_each(|(next, start)| *next = start - first);
        for row in 0..graph.rows() {
            for at in of_range(row, ends) {
                let next = &mut next[graph.entries()[at] as usize - ends[0]];
                entries[*next as usize] = row as LocalOrdinal;
                values[*next as usize] = a.values()[at];
                *next += 1;
            }
        }
        Ok(())
    })?;
    CrsMatrix::new(Arc::new(CrsGraph::trusted(row_map, entries, graph.rows())), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Threads;

    #[test]
    fn entries_change_row_and_column() {
        // [1 . 2 .; . . . .; 3 4 5 .], whose last column is empty.
        let graph = CrsGraph::new(vec![0, 2, 2, 5], vec![0, 2, 0, 1, 2], 4).unwrap();
        let matrix = CrsMatrix::new(Arc::new(graph), vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        for threads in [1, 2, 7] {
            let space = Threads::new(threads).unwrap();
            let turned = transpose(&space, &matrix).unwrap();
            let expected = CrsGraph::new(vec![0, 2, 3, 5, 5], vec![0, 2, 2, 0, 2], 3).unwrap();
            assert!(**turned.graph() == expected, "{threads} threads: {turned:?}");
            assert_eq!(*turned.values(), [1.0, 3.0, 4.0, 2.0, 5.0]);
            assert_eq!(transpose(&space, &turned).unwrap().values(), matrix.values());
        }
    }
}
