//! The diagonal of a matrix, and diagonal matrices.

use super::{CrsGraph, CrsMatrix};
use crate::space::{Item, try_collect, try_with_capacity};
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
            return Err(Error::Invalid(format!(
                "row {row} has no entry on the diagonal, expected one in each row; a node in no element has none"
            )));
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

/// Returns the block diagonal matrix with the inverses of the diagonal blocks of `dofs` rows each, `dofs` entries per row. Entries that the
/// graph lacks are 0.
pub(crate) fn inverse_of_blocks(matrix: &CrsMatrix, dofs: usize) -> Result<CrsMatrix> {
    let rows = matrix.graph().rows();
    if dofs == 0 || rows % dofs != 0 {
        return Err(Error::Invalid(format!("blocks of {dofs} rows: expected a divisor of the {rows} rows")));
    }
    let mut values = try_with_capacity("inverse blocks of the diagonal", rows * dofs)?;
    let mut block = vec![0.0; dofs * dofs];
    for first in (0..rows).step_by(dofs) {
        for (k, item) in block.iter_mut().enumerate() {
            let column = (first + k % dofs) as LocalOrdinal;
            *item = matrix.get(first + k / dofs, column).unwrap_or(0.0);
        }
        if !invert(&mut block, dofs) {
            let rows = format!("{first}..{}", first + dofs);
            return Err(Error::Invalid(format!("the diagonal block of rows {rows} is singular or not finite")));
        }
        values.extend_from_slice(&block);
    }
    let row_map = try_collect("row offsets of the blocks", (0..rows + 1).map(|row| (dofs * row) as RowOffset))?;
    let column = |k: usize| (k / dofs / dofs * dofs + k % dofs) as LocalOrdinal;
    let entries = try_collect("columns of the blocks", (0..rows * dofs).map(column))?;
    CrsMatrix::new(Arc::new(CrsGraph::trusted(row_map, entries, rows)), values)
}

/// Inverts a matrix `[n][n]` in place by Gauss and Jordan with row pivots. Returns false where it is singular or the inverse is not finite.
fn invert(a: &mut [f64], n: usize) -> bool {
    let mut order: Vec<usize> = (0..n).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        order.swap(k, pivot);
        (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        let inverse = a[k * n + k].recip();
        a[k * n + k] = 1.0;
        (0..n).for_each(|j| a[k * n + j] *= inverse);
        for i in (0..n).filter(|&i| i != k) {
            let factor = std::mem::replace(&mut a[i * n + k], 0.0);
            (0..n).for_each(|j| a[i * n + j] -= factor * a[k * n + j]);
        }
    }
    // Columns are those of the permuted rows.
    for i in 0..n {
        let row = a[i * n..(i + 1) * n].to_vec();
        order.iter().zip(row).for_each(|(&j, value)| a[i * n + j] = value);
    }
    a.iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_times_their_inverses_are_the_unit_matrix() {
        // Full rows of 6 columns; the first pivot of the first block is 0, so that rows are exchanged.
        let values: Vec<f64> = (0..36).map(|k| if k == 0 { 0.0 } else { (1.7 * (k * k) as f64).sin() }).collect();
        let graph = CrsGraph::new((0..=6).map(|row| 6 * row).collect(), (0..36).map(|k| k % 6).collect(), 6).unwrap();
        let matrix = CrsMatrix::new(Arc::new(graph), values).unwrap();
        for dofs in [1, 2, 3, 6] {
            let singular = dofs == 1;
            let inverse = inverse_of_blocks(&matrix, dofs);
            assert_eq!(inverse.is_err(), singular);
            let Ok(inverse) = inverse else { continue };
            for (i, j) in (0..6).flat_map(|i| (0..6u32).map(move |j| (i, j))) {
                let own = i / dofs * dofs;
                let of = |k: usize| matrix.get(i, k as u32).unwrap() * inverse.get(k, j).unwrap_or(0.0);
                let product: f64 = (own..own + dofs).map(of).sum();
                let unit = f64::from(u8::from(i == j as usize));
                let expected = if own <= j as usize && (j as usize) < own + dofs { unit } else { 0.0 };
                assert!((product - expected).abs() < 1e-12, "{dofs}: ({i}, {j}) is {product}");
            }
        }
        let error = |dofs| inverse_of_blocks(&matrix, dofs).unwrap_err().to_string();
        assert_eq!(error(1), "the diagonal block of rows 0..1 is singular or not finite");
        assert_eq!(error(4), "blocks of 4 rows: expected a divisor of the 6 rows");
    }

    #[test]
    fn the_diagonal_is_found_and_a_missing_or_useless_one_named() {
        // [1 2 .; . . 3; 4 . 5] and a ghost column.
        let graph = |entries: [u32; 6]| Arc::new(CrsGraph::new(vec![0, 2, 4, 6], entries.to_vec(), 4).unwrap());
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let matrix = CrsMatrix::new(graph([0, 1, 1, 3, 0, 2]), values.clone()).unwrap();
        assert_eq!(matrix.diagonal().unwrap(), [1.0, 3.0, 6.0]);
        let matrix = CrsMatrix::new(graph([0, 1, 2, 3, 0, 2]), values).unwrap();
        let error = matrix.diagonal().unwrap_err().to_string();
        assert_eq!(
            error,
            "row 1 has no entry on the diagonal, expected one in each row; a node in no element has none"
        );
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
