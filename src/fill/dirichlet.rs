//! Dirichlet conditions by symmetric elimination: rows and columns of fixed nodes vanish but for the diagonal.
//!
//! The diagonal keeps its assembled value, which has the size of its neighbours'. (A 1 beside entries of size h is an
//! outlier in the spectrum that makes CG histories depend on the order of summation.) The unknown of a fixed node is the
//! Newton correction, zero, so the residual needs no correction. The entries to clear are listed once; each application
//! writes 8 bytes for each of them and nothing else: O(surface), not O(volume).

use crate::error::check_length;
use crate::space::atomic::atomic_view;
use crate::space::{HostMemory, HostSpace, MemorySpace};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

/// The rows and entries that a set of fixed nodes clears.
#[derive(Clone, Debug)]
pub struct Dirichlet<M: MemorySpace = HostMemory> {
    pub(super) rows: M::Array<LocalOrdinal>,
    pub(super) entries: M::Array<RowOffset>,
    /// Of these two.
    pub(super) lengths: (usize, usize),
    pub(super) row_count: usize,
    pub(super) nnz: usize,
}

impl Dirichlet {
    /// Lists what to clear; `fixed[node]` for every column of the graph, owned and ghost.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless `fixed` has an item a column.
    pub fn new<S: HostSpace>(space: &S, graph: &CrsGraph, fixed: &[bool]) -> Result<Self> {
        check_length("Dirichlet::new", "fixed", fixed.len(), graph.columns())?;
        let rows: Vec<_> = (0..graph.rows()).filter(|&row| fixed[row]).map(|row| row as LocalOrdinal).collect();
        let mut lists = vec![Vec::new(); graph.rows().div_ceil(S::CHUNK)];
        space.for_each(lists.par_iter_mut().enumerate(), |(chunk, list)| {
            for row in chunk * S::CHUNK..graph.rows().min((chunk + 1) * S::CHUNK) {
                for entry in graph.row_range(row) {
                    let column = graph.entries()[entry] as usize;
                    if column != row && (fixed[row] || fixed[column]) {
                        list.push(entry as RowOffset);
                    }
                }
            }
        });
        let entries = lists.concat();
        let lengths = (rows.len(), entries.len());
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), nnz: graph.nnz() })
    }

    /// Clears the listed entries of the matrix and the residual of fixed rows.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when the matrix has another graph's size, or the residual not an item a row.
    pub fn apply<S: HostSpace>(&self, space: &S, matrix: &mut CrsMatrix, residual: &mut [f64]) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", matrix.graph().nnz(), self.nnz)?;
        check_length("Dirichlet::apply", "residual", residual.len(), self.row_count)?;
        let values = atomic_view(matrix.parts_mut().1);
        space.for_each(self.entries.par_chunks(S::CHUNK), |entries| {
            entries.iter().for_each(|&entry| values[entry as usize].store(0.0, Relaxed));
        });
        self.rows.iter().for_each(|&row| residual[row as usize] = 0.0);
        Ok(())
    }
}

impl<M: MemorySpace> Dirichlet<M> {
    /// Entries that an application writes.
    pub fn len(&self) -> usize {
        self.lengths.0 + self.lengths.1
    }

    /// Whether there is nothing to clear.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::{Serial, Threads};
    use std::sync::Arc;

    #[test]
    fn rows_and_columns_vanish_and_the_diagonal_stays() {
        let graph = Arc::new(CrsGraph::new(vec![0, 4, 8, 12], vec![0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], 4).unwrap());
        let mut matrix = CrsMatrix::new(graph.clone(), (1..=12).map(f64::from).collect()).unwrap();
        let mut residual = [1.0, 2.0, 3.0];
        let fixed = [false, true, false, true];
        let conditions = Dirichlet::new(&Threads::new(2).unwrap(), &graph, &fixed).unwrap();
        conditions.apply(&Serial, &mut matrix, &mut residual).unwrap();
        assert_eq!(matrix.values(), &[1.0, 0.0, 3.0, 0.0, 0.0, 6.0, 0.0, 0.0, 9.0, 0.0, 11.0, 0.0]);
        assert_eq!(residual, [1.0, 0.0, 3.0]);
        assert!(Dirichlet::new(&Serial, &graph, &fixed[1..]).is_err());
        let refused = conditions.apply(&Serial, &mut matrix, &mut residual[..2]).unwrap_err().to_string();
        assert!(refused.contains("`residual`"), "{refused}");
    }
}
