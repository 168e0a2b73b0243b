//! Sparse matrices along one axis of a grid: linear interpolation and its transpose.

use std::ops::Range;

/// A stencil along an axis: columns and weights of each row, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Stencil {
    pub(super) rows: Vec<Vec<(u64, f64)>>,
    pub(super) columns: u64,
}

impl Stencil {
    /// Interpolates values at `columns` evenly spaced points linearly at `rows` points, both with the ends of one interval.
    pub fn linear(rows: u64, columns: u64) -> Self {
        let cells = (rows - 1).max(1);
        let of_row = |row: u64| {
            let place = u128::from(row) * u128::from(columns - 1);
            let (low, rest) = ((place / u128::from(cells)) as u64, (place % u128::from(cells)) as f64 / cells as f64);
            if rest == 0.0 { vec![(low, 1.0)] } else { vec![(low, 1.0 - rest), (low + 1, rest)] }
        };
        Stencil { rows: (0..rows).map(of_row).collect(), columns }
    }

    /// Keeps the values at every `step`-th of so many points, from `first` on, and clears the others.
    pub fn every(points: u64, step: u64, first: u64) -> Self {
        let of_row = |row: u64| if row % step == first { vec![(row, 1.0)] } else { Vec::new() };
        Stencil { rows: (0..points).map(of_row).collect(), columns: points }
    }

    /// Drops the entries of rows and of columns at those ends that are named: at the low and the high one.
    pub fn without_ends(mut self, ends: [bool; 2]) -> Self {
        let last = self.rows.len() - 1;
        let is_end = |at: u64, last: u64| ends[0] && at == 0 || ends[1] && at == last;
        for (row, entries) in self.rows.iter_mut().enumerate() {
            let drops = is_end(row as u64, last as u64);
            entries.retain(|&(column, _)| !drops && !is_end(column, self.columns - 1));
        }
        self
    }

    /// Returns the transpose.
    pub fn transposed(&self) -> Self {
        let mut rows = vec![Vec::new(); self.columns as usize];
        for (row, entries) in self.rows.iter().enumerate() {
            entries.iter().for_each(|&(column, weight)| rows[column as usize].push((row as u64, weight)));
        }
        Stencil { rows, columns: self.rows.len() as u64 }
    }

    /// Offsets of some rows, and the columns, from the first of a range on, and weights of their entries in the range.
    pub(super) fn lists(&self, rows: Range<u64>, columns: Range<u64>) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        let (mut offsets, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
        for row in &self.rows[rows.start as usize..rows.end as usize] {
            for &(column, weight) in row.iter().filter(|entry| columns.contains(&entry.0)) {
                indices.push((column - columns.start) as u32);
                weights.push(weight);
            }
            offsets.push(indices.len() as u32);
        }
        (offsets, indices, weights)
    }

    /// The columns of some rows, as a range; empty where they have none.
    pub(super) fn hull(&self, rows: Range<u64>) -> (u64, u64) {
        let entries = self.rows[rows.start as usize..rows.end as usize].iter().flatten();
        let hull = entries.fold((u64::MAX, 0), |(low, high), &(column, _)| (low.min(column), high.max(column + 1)));
        if hull.1 == 0 { (0, 0) } else { hull }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stencils_interpolate_linear_functions_and_their_transposes_are_their_transposes() {
        for (rows, columns) in [(9, 5), (8, 5), (7, 3), (2, 2), (5, 9), (4, 4), (3, 2)] {
            let stencil = Stencil::linear(rows, columns);
            let value = |at: u64, count: u64| 3.0 - 5.0 * at as f64 / (count - 1) as f64;
            for (row, entries) in stencil.rows.iter().enumerate() {
                let sum: f64 = entries.iter().map(|&(column, weight)| weight * value(column, columns)).sum();
                assert!((sum - value(row as u64, rows)).abs() < 1e-14, "{rows} of {columns}, row {row}");
                assert!(entries.iter().all(|&(column, weight)| column < columns && weight > 0.0));
            }
            let back = stencil.transposed();
            assert_eq!((back.transposed(), back.columns, back.rows.len()), (stencil.clone(), rows, columns as usize));
            let dense = |of: &Stencil, i: usize, j: usize| {
                of.rows[i].iter().find(|entry| entry.0 == j as u64).map_or(0.0, |entry| entry.1)
            };
            for (i, j) in (0..rows as usize).flat_map(|i| (0..columns as usize).map(move |j| (i, j))) {
                assert_eq!(dense(&stencil, i, j), dense(&back, j, i));
            }
        }
    }

    #[test]
    fn every_third_value_is_kept() {
        let rows = [vec![], vec![(1, 1.0)], vec![], vec![], vec![(4, 1.0)]];
        assert_eq!(Stencil::every(5, 3, 1), Stencil { rows: rows.to_vec(), columns: 5 });
    }

    #[test]
    fn fixed_ends_have_neither_rows_nor_columns() {
        let stencil = Stencil::linear(5, 3).without_ends([true, false]);
        let rows = [vec![], vec![(1, 0.5)], vec![(1, 1.0)], vec![(1, 0.5), (2, 0.5)], vec![(2, 1.0)]];
        assert_eq!(stencil.rows, rows);
        assert_eq!((stencil.hull(0..1), stencil.hull(0..5), stencil.hull(3..4)), ((0, 0), (1, 3), (1, 3)));
    }
}
