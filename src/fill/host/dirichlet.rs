//! Dirichlet conditions on host memory.

use crate::error::{check_at_least, check_length};
use crate::fill::{Boundary, Dirichlet};
use crate::space::atomic::atomic_view;
use crate::space::{HostSpace, try_collect, try_push, try_reserve};
use crate::sparse::CrsGraph;
use crate::{LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

impl<S: HostSpace> Boundary for S {
    fn dirichlet(&self, graph: &CrsGraph, fixed: &Vec<u8>) -> Result<Dirichlet> {
        check_length("Dirichlet::new", "fixed", fixed.len(), graph.columns())?;
        check_at_least("Dirichlet::new", "graph (columns)", graph.columns(), graph.rows())?;
        let is_fixed = |&row: &usize| fixed[row] != 0;
        let mut rows = Vec::new();
        try_reserve("fixed rows", &mut rows, (0..graph.rows()).filter(is_fixed).count())?;
        rows.extend((0..graph.rows()).filter(is_fixed).map(|row| row as LocalOrdinal));
        let mut lists = try_collect("lists of entries", (0..graph.rows().div_ceil(S::CHUNK)).map(|_| Vec::new()))?;
        self.try_for_each(lists.par_iter_mut().enumerate(), |(chunk, list)| {
            for row in chunk * S::CHUNK..graph.rows().min((chunk + 1) * S::CHUNK) {
                for entry in graph.row_range(row) {
                    let column = graph.entries()[entry] as usize;
                    if column != row && (fixed[row] | fixed[column]) != 0 {
                        try_push("entries to clear", list, entry as RowOffset)?;
                    }
                }
            }
            Ok(())
        })?;
        let mut entries = Vec::new();
        try_reserve("entries to clear", &mut entries, lists.iter().map(Vec::len).sum())?;
        lists.iter().for_each(|list| entries.extend_from_slice(list));
        let lengths = (rows.len(), entries.len());
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), values: graph.nnz() })
    }

    fn apply_dirichlet(&self, conditions: &Dirichlet, values: &mut Vec<f64>, residual: &mut Vec<f64>) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", values.len(), conditions.values)?;
        check_at_least("Dirichlet::apply", "residual", residual.len(), conditions.row_count)?;
        let values = atomic_view(values);
        self.for_each(conditions.entries.par_chunks(S::CHUNK), |entries| {
            entries.iter().for_each(|&entry| values[entry as usize].store(0.0, Relaxed));
        });
        conditions.rows.iter().for_each(|&row| residual[row as usize] = 0.0);
        Ok(())
    }
}
