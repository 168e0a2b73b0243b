//! The product with a matrix between the grid points of two meshes: as an operator of any space, and on the host.
//!
//! Rows are taken in runs along x. A run adds the lines of columns that it reads with their weights along y and z, then each row adds sums
//! with its weights along x: for linear interpolation 2 additions to each column and 2 for each row.

use super::MeshSpace;
use super::grid_columns::NONE;
use super::grid_matrix::{AxisEntries, GridMatrix, Points, SUMS};
use crate::Result;
use crate::blas::Blas;
use crate::error::check_at_least;
use crate::space::{HostMemory, MemorySpace, Slice, Threads};
use crate::sparse::Operator;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a task.
const ROWS: usize = 4096;

impl<S: MeshSpace + Blas> Operator<S> for GridMatrix<S::Memory> {
    fn rows(&self) -> usize {
        self.dofs * self.nodes[0]
    }

    fn columns(&self) -> usize {
        self.dofs * self.nodes[1]
    }

    fn bytes(&self) -> usize {
        let tables =
            |points: &Points<S::Memory>| points.numbers.as_ref().map_or(0, |of| S::Memory::len(S::Memory::slice(of)));
        8 * self.dofs * (self.nodes[0] + self.nodes[1]) + 4 * (tables(&self.rows) + tables(&self.columns))
    }

    fn apply(&self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        check_at_least("grid_product", "x", S::Memory::len(x), Operator::<S>::columns(self))?;
        check_at_least("grid_product", "y", S::Memory::len(y), Operator::<S>::rows(self))?;
        space.grid_product(self, x, y)
    }
}

impl AxisEntries<HostMemory> {
    fn range(&self, rows: Range<usize>) -> Range<usize> {
        self.offsets[rows.start] as usize..self.offsets[rows.end] as usize
    }

    /// The columns and weights of a row.
    fn of(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.range(row..row + 1);
        let columns = self.columns[range.clone()].iter().map(|&column| column as usize);
        columns.zip(self.weights[range].iter().copied())
    }
}

/// Computes y = A x; vectors are long enough.
pub(super) fn product(space: &Threads, matrix: &GridMatrix<HostMemory>, x: &[f64], y: &mut [f64]) {
    let dofs = matrix.dofs;
    space.for_each(y.par_chunks_mut(dofs * ROWS).enumerate(), |(task, mut y)| {
        let mut sums = [0.0; SUMS];
        let mut node = task * ROWS;
        while !y.is_empty() {
            let (first, run) = run(matrix, node, y.len() / dofs);
            let of_run;
            (of_run, y) = y.split_at_mut(dofs * run);
            of_line(matrix, first, x, &mut sums, of_run);
            node += run;
        }
    });
}

/// The position of a node, and how many that follow are its neighbours along x.
fn run(matrix: &GridMatrix<HostMemory>, node: usize, most: usize) -> (usize, usize) {
    let position = |node: usize| matrix.rows.numbers.as_ref().map_or(node, |of| of[node] as usize);
    let (first, line) = (position(node), matrix.rows.counts[0] as usize);
    let most = most.min(line - first % line);
    (first, (1..most).find(|&more| position(node + more) != first + more).unwrap_or(most))
}

/// The rows of a run from a position on.
fn of_line(matrix: &GridMatrix<HostMemory>, first: usize, x: &[f64], sums: &mut [f64; SUMS], y: &mut [f64]) {
    let (dofs, [along_x, along_y, along_z]) = (matrix.dofs, &matrix.stencils);
    let ([rows_x, rows_y, _], [columns_x, columns_y, _]) =
        (matrix.rows.counts.map(|count| count as usize), matrix.columns.counts.map(|count| count as usize));
    let (i, j, k) = (first % rows_x, first / rows_x % rows_y, first / rows_x / rows_y);
    let rows = i..i + y.len() / dofs;
    y.fill(0.0);
    let read = &along_x.columns[along_x.range(rows.clone())];
    let (Some(&low), Some(&last)) = (read.first(), read.last()) else { return };
    for low in (low as usize..=last as usize).step_by(SUMS / dofs) {
        let end = (low + SUMS / dofs).min(last as usize + 1);
        let sums = &mut sums[..dofs * (end - low)];
        sums.fill(0.0);
        for (z, c) in along_z.of(k) {
            for (y, b) in along_y.of(j) {
                let (line, weight) = ((z * columns_y + y) * columns_x + low, b * c);
                match &matrix.columns.numbers {
                    None => add(sums, weight, &x[dofs * line..]),
                    Some(numbers) => {
                        for (sums, &node) in sums.chunks_exact_mut(dofs).zip(&numbers[line..]) {
                            if node != NONE {
                                add(sums, weight, &x[dofs * node as usize..]);
                            }
                        }
                    }
                }
            }
        }
        for (row, y) in rows.clone().zip(y.chunks_exact_mut(dofs)) {
            for (column, a) in along_x.of(row).filter(|(column, _)| (low..end).contains(column)) {
                let sums = &sums[dofs * (column - low)..];
                // One unknown stays in a register.
                if let [y] = y { *y += a * sums[0] } else { add(y, a, sums) }
            }
        }
    }
}

/// y += a x.
fn add(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}
