//! The triangles of a matrix by groups of rows, on the host.

use super::row_groups::{Grouping, RowGroups};
use crate::error::check_length;
use crate::space::{Threads, even_bounds, offsets, split_at, try_reserve, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, LocalOrdinal, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Strict triangles and reciprocal diagonal of a matrix. Rows and columns are places in the order of the groups.
#[derive(Clone, Debug)]
pub struct Triangles {
    pub(super) groups: RowGroups,
    pub(super) lower: Triangle,
    pub(super) upper: Triangle,
    /// D^-1, `[place]`.
    pub(super) inverse: Vec<f64>,
}

/// A strict triangle.
#[derive(Clone, Debug)]
pub(super) struct Triangle {
    pub matrix: CrsMatrix,
    /// Entry of the original row from which each value comes.
    sources: Vec<u32>,
}

impl Triangles {
    /// Returns the bytes of the triangles of a matrix with the vector of the sweeps, and those of the set-up meanwhile.
    pub fn bytes(rows: u64, entries: u64) -> u64 {
        16 * entries.saturating_sub(rows) + (40 + 24) * rows
    }

    /// Plans the triangles of matrices on a graph with symmetric pattern, its rows in groups. Values are 0 before the first [`fill`](Self::fill).
    ///
    /// # Errors
    /// [`Error::Invalid`] where an entry joins two rows of a group, as in a pattern that is not symmetric; [`Error::OutOfMemory`].
    pub fn new(space: &Threads, graph: &CrsGraph, grouping: Grouping) -> Result<Self> {
        let groups = RowGroups::new(graph, grouping)?;
        if let Some((row, column)) = groups.joined(graph) {
            let expected = "expected groups of rows that no entry joins, and a symmetric pattern";
            return Err(Error::Invalid(format!("Triangles::new: entry ({row}, {column}): {expected}")));
        }
        let lower = Triangle::new(space, graph, &groups, |place| 0..place)?;
        let upper = Triangle::new(space, graph, &groups, |place| place + 1..graph.rows())?;
        let inverse = try_zeroed("reciprocals of the diagonal", graph.rows())?;
        Ok(Triangles { groups, lower, upper, inverse })
    }

    /// Takes the values of a matrix on the graph of the plan.
    ///
    /// # Errors
    /// [`Error::Shape`] for a graph of other sizes, [`Error::Invalid`] naming the first row whose entry on the diagonal is missing, 0 or not
    /// finite.
    pub fn fill(&mut self, space: &Threads, matrix: &CrsMatrix) -> Result<()> {
        let Triangles { groups, lower, upper, inverse } = self;
        check_length("Triangles::fill", "rows", matrix.graph().rows(), groups.rows.len())?;
        let diagonal = matrix.diagonal()?;
        let is_useful = |value: f64| value.recip().is_finite() && value.recip() != 0.0;
        if let Some(row) = diagonal.iter().position(|&value| !is_useful(value)) {
            let expected = "expected a number with a finite reciprocal, by which the sweeps multiply";
            return Err(Error::Invalid(format!("diagonal[{row}] is {:e}: {expected}", diagonal[row])));
        }
        inverse.iter_mut().zip(&groups.rows).for_each(|(out, &row)| *out = diagonal[row as usize].recip());
        lower.fill(space, groups, matrix);
        upper.fill(space, groups, matrix);
        Ok(())
    }

    /// Returns the bytes and flops of a sweep forward and one backward.
    pub fn work(&self) -> (u64, u64) {
        let entries = (self.lower.matrix.graph().nnz() + self.upper.matrix.graph().nnz()) as u64;
        let rows = self.inverse.len() as u64;
        (12 * entries + 88 * rows, 2 * entries + 4 * rows)
    }
}

impl Triangle {
    /// Plans the entries whose columns have places in `inside(place of the row)`.
    fn new(
        space: &Threads,
        graph: &CrsGraph,
        groups: &RowGroups,
        inside: impl Fn(usize) -> Range<usize> + Sync,
    ) -> Result<Self> {
        let RowGroups { rows, places, .. } = groups;
        // Place and index of each entry, in the order of the matrix. Ghosts have no place.
        let entries = |place: usize| {
            let (inside, row) = (inside(place), graph.row(rows[place] as usize).iter().enumerate());
            let found = row.filter_map(|(index, &column)| Some((*places.get(column as usize)?, index as u32)));
            found.filter(move |&(at, _)| inside.contains(&(at as usize)))
        };
        let mut counts = try_zeroed::<u32>("lengths of rows", rows.len())?;
        space.for_each(counts.par_chunks_mut(Threads::CHUNK).enumerate(), |(chunk, counts)| {
            let first = chunk * Threads::CHUNK;
            (first..).zip(counts).for_each(|(place, count)| *count = entries(place).count() as u32);
        });
        let row_map = offsets(space, &counts)?;
        let nnz = row_map[rows.len()] as usize;
        let mut columns = try_zeroed::<LocalOrdinal>("columns of a triangle", nnz)?;
        let mut sources = try_zeroed::<u32>("sources of a triangle", nnz)?;
        let bounds = even_bounds(rows.len(), rows.len().div_ceil(Threads::CHUNK), 1);
        let starts = || bounds.iter().map(|&place| row_map[place] as usize);
        let pieces = split_at(&mut columns, starts()).into_par_iter().zip(split_at(&mut sources, starts()));
        space.try_for_each(pieces.zip(bounds.par_windows(2)), |((columns, sources), ends)| {
            let (mut row, mut next) = (Vec::new(), columns.iter_mut().zip(sources));
            for place in ends[0]..ends[1] {
                row.clear();
                try_reserve("a row of a triangle", &mut row, counts[place] as usize)?;
                row.extend(entries(place));
                row.sort_unstable();
                next.by_ref().zip(&row).for_each(|((column, source), &(at, index))| (*column, *source) = (at, index));
            }
            Ok(())
        })?;
        let graph = CrsGraph::trusted(row_map, columns, rows.len());
        Ok(Triangle { matrix: CrsMatrix::new(Arc::new(graph), try_zeroed("values of a triangle", nnz)?)?, sources })
    }

    fn fill(&mut self, space: &Threads, groups: &RowGroups, from: &CrsMatrix) {
        let (graph, values) = (from.graph(), from.values());
        let Triangle { matrix, sources } = self;
        write(space, matrix, |place, at| {
            values[graph.row_range(groups.rows[place] as usize).start + sources[at] as usize]
        });
    }
}

/// Overwrites the values of a matrix by those of a function of row and entry.
pub(super) fn write(space: &Threads, matrix: &mut CrsMatrix, value: impl Fn(usize, usize) -> f64 + Sync) {
    let (graph, tasks) = (matrix.graph().clone(), matrix.graph().rows().div_ceil(Threads::CHUNK));
    space.for_rows(tasks, graph.row_map(), matrix.values_mut(), |row, values| {
        values.iter_mut().zip(graph.row_range(row)).for_each(|(out, at)| *out = value(row, at));
    });
}
