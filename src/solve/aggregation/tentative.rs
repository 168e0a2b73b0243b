//! The tentative prolongator: near-null vectors cut into aggregates, each made orthonormal.
//!
//! ```text
//! B restricted to aggregate g = Q_g R_g                                  by modified Gram-Schmidt, twice
//! P0[row, (g, p)] = Q_g[row, p],    B of the coarse level [(g, p), q] = R_g[p, q]
//! ```
//! so that P0 times the coarse vectors are the fine ones. Fixed rows are zero. A vector that depends on those before it, as some do in
//! small aggregates, gives a column of zeros: a coarse unknown without a fine one.

use super::NearNull;
use super::aggregates::NONE;
use crate::space::{HostMemory, MemorySpace, try_with_capacity, try_zeroed};
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{LocalOrdinal, Result};
use std::sync::Arc;

/// Norm, relative to that before, below which a vector depends on those before it.
pub(super) const DEPENDENT: f64 = 1e-10;

/// The prolongator, with the near-null vectors of the coarse level and the coarse rows without a fine one.
#[derive(Debug)]
pub struct Tentative<M: MemorySpace = HostMemory> {
    pub(super) prolongator: CrsMatrix<f64, M>,
    pub(super) near_null: NearNull<M>,
    pub(super) empty: Vec<LocalOrdinal>,
}

/// Cuts near-null vectors into `count` aggregates of nodes.
pub(super) fn tentative(near_null: &NearNull, of_node: &[u32], count: usize, is_fixed: &[u8]) -> Result<Tentative> {
    let (dofs, width, rows) = (near_null.dofs, near_null.count, near_null.rows);
    let takes_part = |row: usize| of_node[row / dofs] != NONE && is_fixed[row] == 0;
    // Rows of P0, each with the columns of its aggregate.
    let all = (0..rows).filter(|&row| takes_part(row)).count() * width;
    let mut row_map = try_with_capacity("tentative prolongator", rows + 1)?;
    let mut entries = try_with_capacity("tentative prolongator", all)?;
    let mut values = try_with_capacity("tentative prolongator", all)?;
    row_map.push(0);
    for row in 0..rows {
        if takes_part(row) {
            let first = of_node[row / dofs] * width as LocalOrdinal;
            entries.extend(first..first + width as LocalOrdinal);
            values.extend_from_slice(near_null.row(row));
        }
        row_map.push(entries.len() as u64);
    }
    // Rows by aggregate: places in `values`.
    let mut starts = try_zeroed::<u32>("rows of aggregates", count + 1)?;
    entries.iter().step_by(width).for_each(|&column| starts[column as usize / width + 1] += 1);
    (0..count).for_each(|g| starts[g + 1] += starts[g]);
    let (mut places, mut next) = (try_zeroed::<u32>("rows of aggregates", all / width)?, starts.clone());
    for (at, &column) in entries.iter().step_by(width).enumerate() {
        let next = &mut next[column as usize / width];
        places[*next as usize] = at as u32;
        *next += 1;
    }
    let (mut coarse, mut empty) = (try_zeroed("near-null vectors", count * width * width)?, Vec::new());
    for g in 0..count {
        let rows = &places[starts[g] as usize..starts[g + 1] as usize];
        let r = &mut coarse[g * width * width..][..width * width];
        orthonormalise(&mut values, rows, width, r, |p| empty.push((g * width + p) as LocalOrdinal));
    }
    let graph = CrsGraph::trusted(row_map, entries, count * width);
    let prolongator = CrsMatrix::new(Arc::new(graph), values)?;
    Ok(Tentative { prolongator, near_null: NearNull::new(width, width, coarse)?, empty })
}

/// Replaces the columns of some rows by orthonormal ones; writes R and calls `depends` for columns of zeros.
fn orthonormalise(values: &mut [f64], rows: &[u32], width: usize, r: &mut [f64], mut depends: impl FnMut(usize)) {
    let dot = |values: &[f64], p: usize, q: usize| -> f64 {
        rows.iter().map(|&row| values[row as usize * width + p] * values[row as usize * width + q]).sum()
    };
    for q in 0..width {
        let before = dot(values, q, q).sqrt();
        for _ in 0..2 {
            for p in 0..q {
                let along = dot(values, p, q);
                r[p * width + q] += along;
                rows.iter().map(|&row| row as usize * width).for_each(|at| values[at + q] -= along * values[at + p]);
            }
        }
        let norm = dot(values, q, q).sqrt();
        let is_empty = norm <= DEPENDENT * before;
        let scale = if is_empty { 0.0 } else { norm.recip() };
        r[q * width + q] = if is_empty { 0.0 } else { norm };
        rows.iter().for_each(|&row| values[row as usize * width + q] *= scale);
        if is_empty {
            depends(q);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven nodes in aggregates of 1, 2 and 3; node 6 is in none, and an unknown of node 3 is fixed.
    #[test]
    fn coarse_vectors_interpolate_to_the_fine_ones() {
        let point = |i: usize| [0.3 * i as f64, ((i * i) % 5) as f64, ((3 * i) % 7) as f64 - 1.0];
        let points: Vec<[f64; 3]> = (0..7).map(point).collect();
        let modes = NearNull::rigid_body_modes(&points).unwrap();
        let of_node = [1, 0, 2, 1, 2, 2, NONE];
        // Dependence has no units: points of a box of 1e-13 have as many coarse unknowns.
        let small: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| 1e-13 * x)).collect();
        let small = NearNull::rigid_body_modes(&small).unwrap();
        assert_eq!(tentative(&small, &of_node, 3, &[0; 21]).unwrap().empty.len(), 3 + 1);
        let mut is_fixed = vec![0; 21];
        is_fixed[10] = 1;
        let Tentative { prolongator, near_null, empty } = tentative(&modes, &of_node, 3, &is_fixed).unwrap();
        let graph = prolongator.graph();
        // The aggregate of one node leaves 3 of 6 coarse vectors empty; that of nodes 0 and 3, with 5 free unknowns, leaves one.
        assert_eq!((graph.rows(), graph.columns(), empty.len()), (21, 18, 3 + 1));
        for row in 0..21 {
            let is_in = row < 18 && is_fixed[row] == 0;
            assert_eq!(graph.row(row).len(), if is_in { 6 } else { 0 }, "row {row}");
            for mode in 0..if is_in { 6 } else { 0 } {
                let entries = graph.row(row).iter().zip(&prolongator.values()[graph.row_range(row)]);
                let image: f64 = entries.map(|(&column, p)| p * near_null.row(column as usize)[mode]).sum();
                assert!((image - modes.row(row)[mode]).abs() < 1e-13, "row {row}, mode {mode}: {image}");
            }
        }
        // Columns are orthonormal or zero.
        for (i, j) in (0..18u32).flat_map(|i| (0..18u32).map(move |j| (i, j))) {
            let value = |row, column| prolongator.get(row, column).unwrap_or(0.0);
            let dot: f64 = (0..21).map(|row| value(row, i) * value(row, j)).sum();
            let expected = f64::from(u8::from(i == j && !empty.contains(&i)));
            assert!((dot - expected).abs() < 1e-13, "{i}, {j}: {dot}");
        }
    }
}
