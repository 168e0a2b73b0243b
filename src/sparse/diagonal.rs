//! The diagonal of a matrix, and diagonal matrices.

use super::{CrsGraph, CrsMatrix};
use crate::space::{Item, try_collect};
use crate::{Error, LocalOrdinal, Result, RowOffset};
use std::sync::Arc;

impl<V: Item> CrsMatrix<V> {
    /// Returns the entries (i, i) of all rows. Ignores columns beyond the rows, such as ghosts.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first row whose graph has no such entry, [`Error::OutOfMemory`].
    pub fn diagonal(&self) -> Result<Vec<V>> {
        let rows = self.graph().rows();
        let missing = (0..rows).find(|&row| self.get(row, row as LocalOrdinal).is_none());
        if let Some(row) = missing {
            return Err(Error::Invalid(format!("row {row} has no entry on the diagonal, expected one in each row")));
        }
        try_collect("diagonal", (0..rows).map(|row| self.get(row, row as LocalOrdinal).unwrap_or_default()))
    }
}

/// Returns the diagonal matrix with the reciprocals of a positive diagonal.
pub(crate) fn inverse_of_diagonal(diagonal: &[f64]) -> Result<CrsMatrix> {
    let rows = diagonal.len();
    for (row, &value) in diagonal.iter().enumerate() {
        // The reciprocal of a subnormal number may be infinite, that of infinity is 0.
        if !(value > 0.0 && value.is_finite() && value.recip().is_finite()) {
            let expected = "expected a positive number with a finite reciprocal, as in every positive definite matrix";
            return Err(Error::Invalid(format!("diagonal[{row}] is {value:e}: {expected}")));
        }
    }
    let row_map = try_collect("row offsets of the diagonal", (0..rows + 1).map(|row| row as RowOffset))?;
    let entries = try_collect("columns of the diagonal", (0..rows).map(|row| row as LocalOrdinal))?;
    let values = try_collect("reciprocals of the diagonal", diagonal.iter().map(|value| value.recip()))?;
    CrsMatrix::new(Arc::new(CrsGraph::trusted(row_map, entries, rows)), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diagonal_is_found_and_a_missing_or_useless_one_named() {
        // [1 2 .; . . 3; 4 . 5] and a ghost column.
        let graph = |entries: [u32; 6]| Arc::new(CrsGraph::new(vec![0, 2, 4, 6], entries.to_vec(), 4).unwrap());
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let matrix = CrsMatrix::new(graph([0, 1, 1, 3, 0, 2]), values.clone()).unwrap();
        assert_eq!(matrix.diagonal().unwrap(), [1.0, 3.0, 6.0]);
        let matrix = CrsMatrix::new(graph([0, 1, 2, 3, 0, 2]), values).unwrap();
        let error = matrix.diagonal().unwrap_err().to_string();
        assert_eq!(error, "row 1 has no entry on the diagonal, expected one in each row");
        let inverse = inverse_of_diagonal(&[2.0, 4.0]).unwrap();
        assert_eq!((inverse.values(), inverse.get(1, 1), inverse.get(1, 0)), (&vec![0.5, 0.25], Some(0.25), None));
        for (value, shown) in
            [(0.0, "0e0"), (-1.0, "-1e0"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (1e-310, "1e-310")]
        {
            let error = inverse_of_diagonal(&[1.0, value]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("diagonal[1] is {shown}: expected a positive")), "{error}");
        }
    }
}
