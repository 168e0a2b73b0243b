//! Products of sparse matrices on hosts.
//!
//! A thread marks the columns of its current row in a table with an item per column of B; the same table finds the places of sums.

use super::MatrixAlgebra;
use super::by_rows::{TASKS, graph_by_rows};
use super::transpose::transpose;
use crate::space::{Threads, even_bounds, split_at, try_push, try_reserve, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;

impl MatrixAlgebra for Threads {
    fn product_graph(&self, a: &CrsGraph, b: &CrsGraph, width: usize) -> Result<CrsGraph> {
        check_groups(b, width)?;
        // Marks of groups with the number of the row that was found last, and where its groups begin.
        let state = || Ok((try_zeroed::<u32>("marks of columns", b.columns().div_ceil(width))?, 0, 0));
        graph_by_rows(self, [a.rows(), b.columns()], width, state, |(seen, stamp, last), row, found| {
            let first = found.len();
            // Rows of one node have the same columns.
            if *stamp > 0 && a.row(row) == a.row(row - 1) {
                try_reserve("columns of a product", found, first - *last)?;
                found.extend_from_within(*last..);
            } else {
                *stamp += 1;
                for &column in a.row(row) {
                    for group in b.row(column as usize).iter().step_by(width).map(|&column| column as usize / width) {
                        if seen[group] != *stamp {
                            seen[group] = *stamp;
                            try_push("columns of a product", found, group as LocalOrdinal)?;
                        }
                    }
                }
                found[first..].sort_unstable();
            }
            *last = first;
            Ok(())
        })
    }

    fn product_values(&self, graph: &CrsGraph, [a, b]: [&CrsMatrix; 2], width: usize, c: &mut [f64]) -> Result<()> {
        let c = &mut c[..graph.nnz()];
        match width {
            1 => sums::<1>(self, graph, [a, b], width, c),
            3 => sums::<3>(self, graph, [a, b], width, c),
            6 => sums::<6>(self, graph, [a, b], width, c),
            _ => sums::<0>(self, graph, [a, b], width, c),
        }
    }

    fn transpose(&self, a: &CrsMatrix) -> Result<CrsMatrix> {
        transpose(self, a)
    }
}

/// The values for a width that is known here, 0 for one that is not.
fn sums<const WIDTH: usize>(
    space: &Threads,
    graph: &CrsGraph,
    [a, b]: [&CrsMatrix; 2],
    width: usize,
    c: &mut [f64],
) -> Result<()> {
    let width = if WIDTH > 0 { WIDTH } else { width };
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

/// Refuses rows that are not whole groups of columns.
fn check_groups(b: &CrsGraph, width: usize) -> Result<()> {
    let is_whole = |group: &[LocalOrdinal]| {
        group.len() == width
            && (group[0] as usize).is_multiple_of(width)
            && (group[width - 1] - group[0]) as usize == width - 1
    };
    let broken = (0..b.rows()).filter(|_| width > 1).find(|&row| !b.row(row).chunks(width).all(is_whole));
    match broken {
        None => Ok(()),
        Some(row) => {
            let expected = format!("expected whole groups of {width} columns from multiples of {width} on");
            Err(Error::Invalid(format!("Spgemm::new: row {row} of b has the columns {:?}: {expected}", b.row(row))))
        }
    }
}
