//! Contraction of numbers of cells, in vector lanes, with a table that all cells share; sizes are known at compile time.
//!
//! Shapes: data `[k]`, a lane per cell; table `[k, f]`; out `[f]`. Cost per cell: 2 F K operations. The caller chooses the number
//! of sums that stay in registers, `TILE`, by the registers of its target.

use crate::space::lanes::Number;

/// `out[f] = sum_k data[k] table[k][f]`, `TILE` fields at a time, which divides F.
#[inline(always)]
pub fn data_table<const TILE: usize, V: Number, const F: usize, const K: usize>(
    data: &[V; K],
    table: &[[f64; F]; K],
    out: &mut [V; F],
) {
    const { assert!(F.is_multiple_of(TILE), "whole tiles") };
    for first in (0..F).step_by(TILE) {
        let mut sums = [V::from(0.0); TILE];
        for (&number, row) in data.iter().zip(table) {
            for f in 0..TILE {
                sums[f] = number.times_plus(V::from(row[first + f]), sums[f]);
            }
        }
        out[first..first + TILE].copy_from_slice(&sums);
    }
}

#[cfg(test)]
mod tests {
    use super::data_table;
    use crate::space::lanes::Lanes;

    #[test]
    fn every_field_of_every_tile_is_a_sum_over_all_terms() {
        // Small integers: sums are exact.
        let table: [[f64; 6]; 3] = std::array::from_fn(|k| std::array::from_fn(|f| (7 * k + f * f) as f64));
        let data: [Lanes<false, f64, 4>; 3] =
            std::array::from_fn(|k| Lanes(std::array::from_fn(|lane| (k + 1) as f64 - 2.0 * lane as f64)));
        let mut out = [Lanes::splat(f64::NAN); 6];
        data_table::<2, _, _, _>(&data, &table, &mut out);
        for f in 0..6 {
            for lane in 0..4 {
                let expected: f64 = (0..3).map(|k| data[k].0[lane] * table[k][f]).sum();
                assert_eq!(out[f].0[lane], expected, "field {f}, lane {lane}");
            }
        }
    }
}
