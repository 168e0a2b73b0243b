//! Dirichlet conditions on host memory.

use crate::error::{check_at_least, check_length};
use crate::fill::{Boundary, Dirichlet};
use crate::mesh::Sizes;
use crate::space::atomic::atomic_view;
use crate::space::{Threads, try_collect, try_push, try_with_capacity};
use crate::sparse::{CrsGraph, CrsMatrix, HostRows};
use crate::{Error, LocalOrdinal, Result, RowOffset};
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;

impl Dirichlet {
    /// Imposes values on the fixed nodes of K u = b: moves their columns to the right-hand side, then clears the listed entries.
    ///
    /// ```text
    /// free i    b_i = b_i - sum over fixed j of K_ij g_j
    /// fixed i   b_i = K_ii g_i                              K_ij = K_ji = 0 for j != i
    /// ```
    /// so that u_i = g_i at fixed nodes, and a symmetric K stays symmetric. `values` holds g of every column, owned and ghost; those
    /// of free nodes are not read. Reads 28 bytes per listed entry beside the 16 that [`apply`](Self::apply) moves. The sums of a
    /// row are in the order of its columns, on any number of threads.
    ///
    /// # Errors
    /// [`Error::Shape`] when `rhs` has fewer items than rows or `values` another number of items than columns. [`Error::Invalid`]
    /// when the matrix is on another graph, or the diagonal entry of a fixed row is missing, 0 or NaN; nothing is changed then.
    pub fn apply_with(&self, space: &Threads, matrix: &mut CrsMatrix, rhs: &mut [f64], values: &[f64]) -> Result<()> {
        let graph = matrix.graph().clone();
        self.apply_to_values(space, &graph, (matrix.values_mut(), rhs), values)
    }

    /// Turns indices of entries in CRS into those of their values in a matrix: of the mirrored entry, where it stands for both.
    pub(super) fn move_to(&mut self, space: &Threads, rows: HostRows<'_>) {
        let HostRows::Slices(_) = rows else { return };
        let row_map = rows.graph().row_map();
        space.for_each(self.entries.par_chunks_mut(Threads::CHUNK), |entries| {
            for entry in entries {
                let row = row_map.partition_point(|start| start <= entry) - 1;
                *entry = rows.value(row, (*entry - row_map[row]) as usize) as RowOffset;
            }
        });
        self.values = rows.values();
    }

    /// As [`apply_with`](Self::apply_with), for a matrix whose values another owner holds, in the order of the graph's entries.
    ///
    /// # Errors
    /// Those of [`apply_with`](Self::apply_with); [`Error::Shape`] unless the matrix has a value per entry.
    pub fn apply_to_values(
        &self,
        space: &Threads,
        graph: &CrsGraph,
        (stored, rhs): (&mut [f64], &mut [f64]),
        values: &[f64],
    ) -> Result<()> {
        const NAME: &str = "Dirichlet::apply_with";
        self.check(NAME, graph)?;
        check_length(NAME, "matrix", stored.len(), graph.nnz())?;
        check_length(NAME, "matrix (values of the conditions)", stored.len(), self.values)?;
        check_at_least(NAME, "rhs", rhs.len(), self.row_count)?;
        check_length(NAME, "values", values.len(), graph.columns())?;
        let mut imposed = try_with_capacity("values of fixed rows", self.rows.len())?;
        for &row in &self.rows {
            let found = graph.row(row as usize).binary_search(&row).map_err(|_| {
                Error::Invalid(format!("{NAME}: row {row} is fixed and has no diagonal entry; expected one"))
            })?;
            let diagonal = stored[graph.row_range(row as usize).start + found];
            if diagonal.is_nan() || diagonal == 0.0 {
                return Err(Error::Invalid(format!(
                    "{NAME}: row {row} is fixed and its diagonal entry is {diagonal}; expected another number, which multiplies the \
                     imposed value"
                )));
            }
            imposed.push(diagonal * values[row as usize]);
        }
        // Entries are listed in the order of their rows.
        space.for_each(rhs[..self.row_count].par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, rhs)| {
            let first = chunk * Threads::CHUNK;
            let start = self.entries.partition_point(|&entry| entry < graph.row_map()[first]);
            let mut listed = self.entries[start..].iter().peekable();
            for (row, item) in (first..).zip(rhs) {
                while let Some(&entry) = listed.next_if(|&&entry| entry < graph.row_map()[row + 1]) {
                    let entry = entry as usize;
                    *item -= stored[entry] * values[graph.entries()[entry] as usize];
                }
            }
        });
        space.apply_dirichlet(self, stored, rhs)?;
        self.rows.iter().zip(imposed).for_each(|(&row, imposed)| rhs[row as usize] = imposed);
        Ok(())
    }
}

impl Boundary for Threads {
    /// Lists grow.
    fn listing_bytes(sizes: &Sizes) -> u64 {
        let fixed = if sizes.dofs == 1 { sizes.columns() } else { 2 * sizes.columns() };
        fixed + 4 * sizes.dofs * sizes.fixed + 24 * sizes.cleared_entries()
    }

    fn dirichlet(&self, graph: &CrsGraph, fixed: &[u8]) -> Result<Dirichlet> {
        const NAME: &str = "Dirichlet::new";
        check_length(NAME, "fixed", fixed.len(), graph.columns())?;
        check_at_least(NAME, "graph (columns)", graph.columns(), graph.rows())?;
        let is_fixed = |&row: &usize| fixed[row] != 0;
        let mut rows = try_with_capacity("fixed rows", (0..graph.rows()).filter(is_fixed).count())?;
        rows.extend((0..graph.rows()).filter(is_fixed).map(|row| row as LocalOrdinal));
        let mut lists =
            try_collect("lists of entries", (0..graph.rows().div_ceil(Threads::CHUNK)).map(|_| Vec::new()))?;
        self.try_for_each(lists.par_iter_mut().enumerate(), |(chunk, list)| {
            for row in chunk * Threads::CHUNK..graph.rows().min((chunk + 1) * Threads::CHUNK) {
                for entry in graph.row_range(row) {
                    let column = graph.entries()[entry] as usize;
                    if column != row && (fixed[row] | fixed[column]) != 0 {
                        try_push("entries to clear", list, entry as RowOffset)?;
                    }
                }
            }
            Ok(())
        })?;
        let mut entries = try_with_capacity("entries to clear", lists.iter().map(Vec::len).sum())?;
        lists.iter().for_each(|list| entries.extend_from_slice(list));
        let lengths = (rows.len(), entries.len());
        Ok(Dirichlet { rows, entries, lengths, row_count: graph.rows(), values: graph.nnz(), graph: graph.number() })
    }

    fn apply_dirichlet(&self, conditions: &Dirichlet, values: &mut [f64], residual: &mut [f64]) -> Result<()> {
        check_length("Dirichlet::apply", "matrix", values.len(), conditions.values)?;
        self.clear_fixed(conditions, residual)?;
        let values = atomic_view(values);
        self.for_each(conditions.entries.par_chunks(Threads::CHUNK), |entries| {
            entries.iter().for_each(|&entry| values[entry as usize].store(0.0, Relaxed));
        });
        Ok(())
    }

    fn clear_fixed(&self, conditions: &Dirichlet, vector: &mut [f64]) -> Result<()> {
        check_at_least("Dirichlet::apply", "residual", vector.len(), conditions.row_count)?;
        conditions.rows.iter().for_each(|&row| vector[row as usize] = 0.0);
        Ok(())
    }
}
