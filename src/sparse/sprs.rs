//! Conversion of matrices from and to sprs.
//!
//! The sprs view borrows the arrays of the matrix, and a sprs matrix in rows hands over its own: neither direction
//! copies.

use super::{CrsGraph, CrsMatrix};
use crate::space::Item;
use crate::{LocalOrdinal, Result, RowOffset};
use ::sprs::{CsMatI, CsMatViewI};
use std::sync::Arc;

impl<V: Item> CrsMatrix<V> {
    /// Borrows the matrix as a sprs view.
    pub fn as_sprs(&self) -> CsMatViewI<'_, V, LocalOrdinal, RowOffset> {
        let graph = self.graph();
        CsMatViewI::new((graph.rows(), graph.columns()), graph.row_map(), graph.entries(), self.values())
    }

    /// Takes over the arrays of a sprs matrix. A matrix in compressed columns is converted to rows first.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when the arrays violate the rules of [`CrsGraph::new`].
    pub fn from_sprs(matrix: CsMatI<V, LocalOrdinal, RowOffset>) -> Result<Self> {
        let matrix = if matrix.is_csr() { matrix } else { matrix.into_csr() };
        let columns = matrix.cols();
        let (mut row_map, entries, values) = matrix.into_raw_storage();
        // Those of some rows of a matrix begin above 0.
        let first = row_map.first().copied().unwrap_or(0);
        row_map.iter_mut().for_each(|offset| *offset -= first);
        CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns)?), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sprs_borrows_and_returns_the_same_arrays() {
        let graph = CrsGraph::new(vec![0, 2, 3], vec![0, 2, 1], 3).unwrap();
        let matrix = CrsMatrix::new(Arc::new(graph), vec![1.5, -2.0, 1e-300]).unwrap();
        let view = matrix.as_sprs();
        assert_eq!(view.data().as_ptr(), matrix.values().as_ptr());
        assert_eq!(view.get(0, 2), Some(&-2.0));
        let back = CrsMatrix::from_sprs(view.to_owned()).unwrap();
        assert_eq!((back.graph(), back.values()), (matrix.graph(), matrix.values()));
        let turned = CrsMatrix::from_sprs(view.to_other_storage()).unwrap();
        assert_eq!((turned.graph(), turned.values()), (matrix.graph(), matrix.values()));
        let rows = CrsMatrix::from_sprs(view.slice_outer(1..2).to_owned()).unwrap();
        assert_eq!(
            (rows.graph().row_map(), rows.graph().entries(), rows.values()),
            (&vec![0, 1], &vec![1], &vec![1e-300])
        );
    }
}
