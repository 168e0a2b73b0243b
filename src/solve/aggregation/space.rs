//! What smoothed aggregation needs from a space, and hosts' part of it.

use super::aggregates::aggregates;
use super::nodes::Nodes;
use super::rows::{Extension, extended, picked};
use super::tentative::{Tentative, tentative};
use super::{NearNull, STRONG};
use crate::comm::Staging;
use crate::error::check_length;
use crate::space::{Array, Slice, Threads};
use crate::sparse::{CrsGraph, CrsMatrix, GraphOf, MatrixAlgebra, MatrixOf, Spmv, inverse_of_diagonal};
use crate::{GlobalOrdinal, LocalOrdinal, Result, RowOffset};

/// A space that cuts the unknowns of a matrix into aggregates.
pub trait Aggregate: Staging + Spmv + MatrixAlgebra {
    /// Cuts near-null vectors into aggregates of the strongly connected nodes of a matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) and a device's failure, here and below.
    fn tentative(&self, a: &MatrixOf<Self>, near_null: &NearNull<Self::Memory>) -> Result<Tentative<Self::Memory>>;

    /// P = P0 + factor D^-1 P, where P has the graph of A P0, whose rows are groups of `width` columns.
    ///
    /// # Errors
    /// As [`tentative`](Self::tentative).
    fn smooth(
        &self,
        p: &mut MatrixOf<Self>,
        p0: &MatrixOf<Self>,
        inverse: &Array<Self, f64>,
        factor: f64,
        width: usize,
    ) -> Result<()>;

    /// Overwrites `inverse` with the reciprocals of the diagonal.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for the first row whose reciprocal is not positive and finite; as
    /// [`tentative`](Self::tentative).
    fn invert_diagonal(&self, a: &MatrixOf<Self>, inverse: &mut Slice<Self, f64>) -> Result<()>;

    /// Fills x with reproducible pseudo-random numbers in (-1, 1) from the global ids of rows, `first` that of the first.
    ///
    /// # Errors
    /// As [`tentative`](Self::tentative).
    fn random_start(&self, first: GlobalOrdinal, x: &mut Slice<Self, f64>) -> Result<()>;

    /// A[row, row] = 1 for these rows, where the graph has such an entry.
    ///
    /// # Errors
    /// A device's failure.
    fn set_diagonal(&self, rows: &Array<Self, LocalOrdinal>, a: &mut MatrixOf<Self>) -> Result<()>;

    /// Copies rows of a graph to the host. Returns the place of the first entry of each in the graph, and the rows.
    ///
    /// # Errors
    /// As [`tentative`](Self::tentative).
    fn picked(&self, graph: &GraphOf<Self>, list: &[LocalOrdinal]) -> Result<(Vec<RowOffset>, CrsGraph)>;

    /// Makes the graph of a plan from an old one.
    ///
    /// # Errors
    /// As [`tentative`](Self::tentative).
    fn extended(&self, graph: &GraphOf<Self>, extension: &Extension) -> Result<GraphOf<Self>>;
}

impl Aggregate for Threads {
    fn tentative(&self, a: &CrsMatrix, near_null: &NearNull) -> Result<Tentative> {
        let nodes = Nodes::new(self, a, near_null.dofs, STRONG)?;
        let (of_node, count) = aggregates(&nodes, a.graph(), near_null.dofs)?;
        tentative(near_null, &of_node, count, &nodes.is_fixed)
    }

    fn smooth(&self, p: &mut CrsMatrix, p0: &CrsMatrix, inverse: &Vec<f64>, factor: f64, width: usize) -> Result<()> {
        let (graph, values) = p.parts_mut();
        self.for_rows(8 * self.concurrency(), graph.row_map(), values, |row, values| {
            values.iter_mut().for_each(|value| *value *= factor * inverse[row]);
            let Some(first) = p0.graph().row(row).first() else { return };
            // The diagonal of A has brought the columns of P0 to the row.
            if let Ok(at) = graph.row(row).binary_search(first) {
                let given = &p0.values()[p0.graph().row_range(row)];
                values[at..][..width].iter_mut().zip(given).for_each(|(value, given)| *value += given);
            }
        });
        Ok(())
    }

    fn invert_diagonal(&self, a: &CrsMatrix, inverse: &mut [f64]) -> Result<()> {
        check_length("invert_diagonal", "inverse", inverse.len(), a.graph().rows())?;
        // NaN is no reciprocal of a positive number: the slow way then names the row.
        let reciprocal = |row| a.get(row, row as LocalOrdinal).map_or(f64::NAN, f64::recip);
        inverse.copy_from_slice(&self.map(a.graph().rows(), reciprocal)?);
        if !inverse.iter().all(|&value| value > 0.0 && value.is_finite()) {
            inverse_of_diagonal(&a.diagonal()?)?;
        }
        Ok(())
    }

    fn random_start(&self, first: GlobalOrdinal, x: &mut [f64]) -> Result<()> {
        x.copy_from_slice(&self.map(x.len(), |row| scattered(first + row as GlobalOrdinal))?);
        Ok(())
    }

    fn set_diagonal(&self, rows: &Vec<LocalOrdinal>, a: &mut CrsMatrix) -> Result<()> {
        let (graph, values) = a.parts_mut();
        for &row in rows {
            let at = graph.row(row as usize).binary_search(&row);
            at.into_iter().for_each(|at| values[graph.row_range(row as usize).start + at] = 1.0);
        }
        Ok(())
    }

    fn picked(&self, graph: &CrsGraph, list: &[LocalOrdinal]) -> Result<(Vec<RowOffset>, CrsGraph)> {
        picked(graph, list)
    }

    fn extended(&self, graph: &CrsGraph, extension: &Extension) -> Result<CrsGraph> {
        extended(self, graph, extension)
    }
}

/// A number in (-1, 1) from an id, by the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn scattered(id: GlobalOrdinal) -> f64 {
    let mixed = id.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
