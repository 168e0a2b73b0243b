//! The last level: its dense inverse, applied as a product of rows that read all unknowns.
//!
//! The matrix is read off products with unit vectors, so that it may be any operator, and inverted on the host of each rank by
//! Cholesky's factorisation: n products and n^3 flops for n unknowns. Each rank keeps its rows.

use super::DistributedMatrix;
use crate::comm::{Links, Staging, agree, agree_on_method};
use crate::solve::numbering::Numbering;
use crate::space::{Array, MemorySpace, try_collect, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix, Operator, Spmv};
use crate::{Error, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

/// Most unknowns of a level that is inverted.
pub const MOST_INVERTED: usize = 2048;

/// The inverse of a level's operator.
#[derive(Debug)]
pub(super) struct Bottom<S: Staging> {
    pub inverse: DistributedMatrix<S>,
    /// Rows of each rank.
    numbering: Numbering,
}

impl<S: Staging + Spmv> Bottom<S> {
    /// Returns the bytes of the inverse of `all` unknowns, `rows` of them on this rank, and those of [`invert`](Self::invert): the columns that
    /// it computes, those of all ranks, and the whole matrix.
    pub fn bytes([rows, all]: [u64; 2], ranks: u64) -> u64 {
        12 * rows * all + 8 * (rows + 1) + 8 * all * (rows + ranks * rows + all)
    }

    /// Allocates for `rows` unknowns of this rank. Collective.
    pub fn new(space: &S, links: &Links<'_, S>, rows: usize) -> Result<Self> {
        let (comm, numbering) = (links.comm(), Numbering::new(links.comm(), rows)?);
        let all = numbering.total() as usize;
        if all > MOST_INVERTED {
            let advice = "choose another preconditioner or, of many, fewer ranks";
            return Err(Error::Invalid(format!(
                "multigrid: coarsening stopped at {all} unknowns, at most {MOST_INVERTED} can be inverted: {advice}"
            )));
        }
        let dense = || {
            let row_map = try_collect("rows of the last level", (0..rows + 1).map(|row| (row * all) as RowOffset))?;
            let columns = (0..rows * all).map(|at| (at % all) as LocalOrdinal);
            let entries = try_collect("columns of the last level", columns)?;
            let graph = CrsGraph::new(row_map, entries, all)?.upload(space)?;
            let everyone = try_collect("unknowns of the last level", (0..all).map(|id| id as u64))?;
            Ok((CrsMatrix::zeros_on(space, Arc::new(graph))?, everyone))
        };
        let (dense, everyone) = agree(comm, dense())?;
        let columns = numbering.columns(comm, everyone)?;
        let inverse = DistributedMatrix::new(space, links, (dense, &columns.map))?;
        Ok(Bottom { inverse, numbering })
    }

    /// Computes the inverse of an operator. Collective.
    pub fn invert(&mut self, space: &S, links: &Links<'_, S>, operator: &dyn Operator<S>) -> Result<()> {
        let (all, first) = (self.columns(), self.numbering.first() as usize);
        let (rows, widest) = (self.inverse.matrix().graph().rows(), self.numbering.counts().max().unwrap_or(0));
        let vectors = || -> Result<[Array<S, f64>; 2]> { Ok([space.zeros(operator.columns())?, space.zeros(rows)?]) };
        let arrays = || {
            let of_ranks = [widest * all, rows, all * all];
            let [mine, unit, matrix] = of_ranks.map(|length| try_zeroed::<f64>("last level", length));
            Ok(([mine?, unit?, matrix?], vectors()?))
        };
        // Column by column; ranks give equally many numbers.
        let ([mut mine, mut unit, mut matrix], [mut x, mut y]) = agree(links.comm(), arrays())?;
        for column in 0..all {
            unit.fill(0.0);
            if let Some(at) = column.checked_sub(first).filter(|&at| at < rows) {
                unit[at] = 1.0;
            }
            space.overwrite(&unit, &mut x)?;
            operator.apply(space, S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut y))?;
            space.read(&y, &mut mine[widest * column..][..rows])?;
        }
        let gathered = links.comm().all_gather(&mine)?;
        let mut row = 0;
        for (rank, count) in self.numbering.counts().enumerate() {
            for at in 0..count {
                for column in 0..all {
                    matrix[(row + at) * all + column] = gathered[(rank * all + column) * widest + at];
                }
            }
            row += count;
        }
        drop((mine, gathered));
        // Columns in local order: own rows, then those of the other ranks.
        let order = (first..first + rows).chain(0..first).chain(first + rows..all);
        let mut ordered = || {
            inverted(&mut matrix, all)?;
            let mut values = try_with_capacity("last level", rows * all)?;
            for row in matrix[first * all..][..rows * all].chunks_exact(all.max(1)) {
                values.extend(order.clone().map(|column| row[column]));
            }
            Ok(values)
        };
        let values = agree_on_method(links.comm(), ordered())?;
        space.overwrite(&values, self.inverse.matrix_mut().values_mut())
    }

    /// Items of b, with those of the other ranks.
    pub fn columns(&self) -> usize {
        self.numbering.total() as usize
    }
}

/// Replaces a symmetric positive definite matrix `[i, j]` by its inverse.
fn inverted(matrix: &mut [f64], n: usize) -> Result<()> {
    // L L^T = A in the lower triangle.
    for j in 0..n {
        for i in j..n {
            let dot: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
            let rest = matrix[i * n + j] - dot;
            if i == j && !(rest > 0.0 && rest.is_finite()) {
                return Err(Error::Indefinite { pivot: j, value: rest });
            }
            matrix[i * n + j] = if i == j { rest.sqrt() } else { rest / matrix[j * n + j] };
        }
    }
    // M = L^-1 in place, column by column from the last; then A^-1 = M^T M.
    for j in (0..n).rev() {
        let pivot = matrix[j * n + j].recip();
        for i in (j + 1..n).rev() {
            let sum: f64 = (j + 1..=i).map(|k| matrix[i * n + k] * matrix[k * n + j]).sum();
            matrix[i * n + j] = -sum * pivot;
        }
        matrix[j * n + j] = pivot;
    }
    for i in 0..n {
        for j in i..n {
            matrix[i * n + j] = (j..n).map(|k| matrix[k * n + i] * matrix[k * n + j]).sum();
        }
    }
    for i in 0..n {
        for j in 0..i {
            matrix[i * n + j] = matrix[j * n + i];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blas::Reductions;
    use crate::comm::ranks::on_ranks;
    use crate::comm::{Communicator, Solo};
    use crate::space::{Serial, Threads};

    #[test]
    fn too_many_unknowns_are_refused() {
        let links = Links::<Threads>::staged(&Solo);
        let error = Bottom::new(&Serial, &links, MOST_INVERTED + 1).unwrap_err().to_string();
        assert!(error.contains("2049 unknowns, at most 2048"), "{error}");
        // Together, whatever each has.
        let errors = on_ranks(3, |comm| {
            let links = Links::<Threads>::staged(comm);
            Bottom::new(&Serial, &links, [1000, 0, 1049][comm.rank()]).unwrap_err().to_string()
        });
        assert!(errors.iter().all(|error| error.contains("2049 unknowns, at most 2048")), "{errors:?}");
    }

    /// y = s (D + C) x on ranks, with D[i, i] = 3 + i and C[i, j] = 1 / (1 + i + j).
    #[derive(Debug)]
    struct Dense<'a> {
        comm: &'a dyn Communicator,
        first: usize,
        rows: usize,
        scale: f64,
    }

    impl Operator<Threads> for Dense<'_> {
        fn rows(&self) -> usize {
            self.rows
        }
        fn columns(&self) -> usize {
            self.rows
        }
        fn bytes(&self) -> usize {
            0
        }
        fn apply(&self, _: &Threads, x: &mut [f64], y: &mut [f64]) -> Result<()> {
            let mut all = [0.0; 9];
            all[self.first..][..self.rows].copy_from_slice(x);
            self.comm.all_sum(&mut all);
            for (i, y) in (self.first..).zip(y) {
                let sum: f64 = all.iter().enumerate().map(|(j, x)| x / (1 + i + j) as f64).sum();
                *y = self.scale * ((3 + i) as f64 * all[i] + sum);
            }
            Ok(())
        }
        fn apply_dot(
            &self,
            _: &Threads,
            _: &mut [f64],
            _: &mut [f64],
            _: &mut Reductions<Threads>,
            _: usize,
        ) -> Result<()> {
            unreachable!()
        }
    }

    #[test]
    fn ranks_of_different_sizes_solve_with_the_inverse() {
        let sizes = [[9, 0, 0], [2, 4, 3], [4, 1, 4], [0, 5, 4]];
        for rows in sizes {
            let errors = on_ranks(3, |comm| {
                let (links, own) = (Links::<Threads>::staged(comm), rows[comm.rank()]);
                let operator = Dense { comm, first: rows[..comm.rank()].iter().sum(), rows: own, scale: 1.0 };
                let mut bottom = Bottom::new(&Serial, &links, own).unwrap();
                bottom.invert(&Serial, &links, &operator).unwrap();
                let mut b = vec![f64::NAN; bottom.columns()];
                (0..own).for_each(|at| b[at] = (operator.first + at) as f64 - 3.5);
                let (mut x, mut image) = (vec![f64::NAN; own], vec![0.0; own]);
                bottom.inverse.apply(&Serial, &mut b, &mut x).unwrap();
                operator.apply(&Serial, &mut x, &mut image).unwrap();
                image.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            });
            assert!(errors.iter().all(|&error| error < 1e-13), "{rows:?}: {errors:?}");
        }
    }

    #[test]
    fn all_ranks_learn_of_a_matrix_that_is_not_definite() {
        let ends = on_ranks(3, |comm| {
            let links = Links::<Threads>::staged(comm);
            let operator = Dense { comm, first: 3 * comm.rank(), rows: 3, scale: -1.0 };
            Bottom::new(&Serial, &links, 3).unwrap().invert(&Serial, &links, &operator).unwrap_err()
        });
        assert!(ends.iter().all(|end| matches!(end, Error::Indefinite { .. })), "{ends:?}");
    }

    #[test]
    fn the_inverse_times_the_matrix_is_the_identity() {
        let n = 9;
        let a = |i: usize, j: usize| if i == j { 4.0 + i as f64 } else { 1.0 / (1.0 + (i as f64 - j as f64).abs()) };
        let mut inverse: Vec<f64> = (0..n * n).map(|at| a(at / n, at % n)).collect();
        inverted(&mut inverse, n).unwrap();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let sum: f64 = (0..n).map(|k| a(i, k) * inverse[k * n + j]).sum();
            assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-13, "{i}, {j}: {sum}");
        }
        let refused = inverted(&mut [1.0, 2.0, 2.0, 1.0], 2).unwrap_err().to_string();
        assert!(refused.contains("pivot 1 of the last level is -3e0"), "{refused}");
    }
}
