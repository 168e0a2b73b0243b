//! Products of sparse matrices on hosts.
//!
//! A thread marks the columns of its current row in a table with an item per column of B; the same table finds the places of sums.

use super::MatrixAlgebra;
use super::transpose::transpose;
use crate::space::{Threads, even_bounds, offsets, split_at, try_push, try_reserve, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;

/// Tasks per thread: rows differ in cost.
const TASKS: usize = 8;

/// Rows of one task.
#[derive(Default)]
struct Rows {
    lengths: Vec<u32>,
    groups: Vec<LocalOrdinal>,
}

impl MatrixAlgebra for Threads {
    fn product_graph(&self, a: &CrsGraph, b: &CrsGraph, width: usize) -> Result<CrsGraph> {
        let space = self;
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
                // Rows of one node have the same columns.
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
        let mut lengths = try_with_capacity("lengths of rows", a.rows())?;
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
        Ok(CrsGraph::trusted(row_map, entries, b.columns()))
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
