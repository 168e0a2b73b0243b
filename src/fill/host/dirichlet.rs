//! Dirichlet conditions on host memory.

use crate::error::{check_at_least, check_length};
use crate::fill::{Boundary, Dirichlet};
use crate::space::HostSpace;
use crate::space::atomic::atomic_view;
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

impl<S: HostSpace> Boundary for S {
    fn dirichlet(&self, graph: &CrsGraph, fixed: &Vec<u8>) -> Result<Dirichlet> {
        check_length("Dirichlet::new", "fixed", fixed.len(), graph.columns())?;
        check_at_least("Dirichlet::new", "graph (columns)", graph.columns(), graph.rows())?;
        let rows: Vec<_> = (0..graph.rows()).filter(|&row| fixed[row] != 0).map(|row| row as LocalOrdinal).collect();
        let mut lists = vec![Vec::new(); graph.rows().div_ceil(S::CHUNK)];
        self.for_each(lists.par_iter_mut().enumerate(), |(chunk, list)| {
            for row in chunk * S::CHUNK..graph.rows().min((chunk + 1) * S::CHUNK) {
                for entry in graph.row_range(row) {
                    let column = graph.entries()[entry] as usize;
                    if column != row && (fixed[row] | fixed[column]) != 0 {
                        list.push(entry as RowOffset);
                    }
                }
            }
        });
        let entries = lists.concat();
        let lengths = (rows.len(), entries.len());
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), nnz: graph.nnz() })
    }

    fn apply_dirichlet(&self, conditions: &Dirichlet, matrix: &mut CrsMatrix, residual: &mut Vec<f64>) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", matrix.graph().nnz(), conditions.nnz)?;
        check_at_least("Dirichlet::apply", "residual", residual.len(), conditions.row_count)?;
        let values = atomic_view(matrix.parts_mut().1);
        self.for_each(conditions.entries.par_chunks(S::CHUNK), |entries| {
            entries.iter().for_each(|&entry| values[entry as usize].store(0.0, Relaxed));
        });
        conditions.rows.iter().for_each(|&row| residual[row as usize] = 0.0);
        Ok(())
    }
}
