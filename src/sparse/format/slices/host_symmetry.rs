//! Symmetry of a matrix whose values are stored once per pair: entries below the diagonal against what is stored for their mirror images.
//!
//! Pairs that are not exactly equal are looked at one by one: by rounding of the assembly, or by more.

use super::host_layout::Table;
use super::host_rows::vector;
use super::host_unions::SLICE;
use super::host_update::{Found, Pair, Turned, Update};
use crate::sparse::StoredValue;
use std::ops::Range;

/// Relative difference of two mirrored entries that counts as rounding of an assembly, in units of the row's largest value.
const ROUNDING: f64 = 1e-13;

impl Update<'_> {
    /// Records a pair that is not equal.
    #[inline(always)]
    pub(super) fn judge<V: StoredValue>(&self, row: usize, column: usize, lower: f64, upper: V, found: &mut Found) {
        if V::rounded(lower).into() != upper.into() {
            let values = &self.a.values()[self.a.graph().row_range(row)];
            let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            let limit = ROUNDING * largest + V::EPSILON * lower.abs();
            if (lower - upper.into()).abs() > limit {
                found.unequal = found.unequal.min(row * self.a.graph().columns() + column);
            }
        }
    }

    /// The mirrored offsets of a slice, by index, and where their places begin in the first and in the second slice that each leads to.
    #[inline(always)]
    fn partners(&self, slice: usize, table: Table) -> impl Iterator<Item = (usize, [usize; 2])> {
        let place = self.layout.slices[slice];
        let offsets = 0..self.layout.offsets(table).len();
        let mirrored = offsets.filter(move |k| table.mirrored >> k & 1 == 1);
        let links = &self.layout.links[place.links as usize..];
        mirrored.zip(links).map(move |(k, link)| (k, link.map(|link| place.start.wrapping_sub(link))))
    }

    /// Whether vectors of all values that a slice mirrors lie in a range.
    #[inline(always)]
    pub(super) fn is_inside(&self, slice: usize, table: Table, range: &Range<usize>) -> bool {
        let unit = self.layout.unit();
        self.partners(slice, table).all(|(_, [one, two])| {
            let [one, two] = [unit * one, unit * two];
            one >= range.start && two >= range.start + SLICE && one.max(two) + (unit + 1) * SLICE <= range.end
        })
    }

    /// Compares a slice's entries below the diagonal with their partners among `values`: those of one pair of
    /// unknowns.
    #[inline(always)]
    pub(super) fn compare<V: StoredValue>(
        &self,
        slice: usize,
        table: Table,
        [c, d]: Pair,
        turned: &Turned,
        base: usize,
        values: &[V],
        found: &mut Found,
    ) {
        let (offsets, nodes, dofs) = (self.layout.offsets(table), self.nodes(slice), self.layout.dofs);
        let (unit, transposed) = (self.layout.unit(), (dofs * d + c) * SLICE);
        let partners = || {
            let values_at = move |place: usize| unit * place + transposed;
            self.partners(slice, table).map(move |(k, places)| (k, places.map(values_at)))
        };
        let mut differs = [0u64; SLICE];
        for (k, partners) in partners() {
            let upper = mirrored(values, base, partners, offsets[k]);
            for lane in 0..SLICE {
                differs[lane] |= u64::from(V::rounded(turned[k][lane]).into() != upper[lane].into());
            }
        }
        // Rows behind the matrix may lead to values of ghost columns.
        if differs[..nodes.len()].iter().any(|&differs| differs != 0) {
            for (k, partners) in partners() {
                let upper = mirrored(values, base, partners, offsets[k]);
                for (lane, node) in nodes.clone().enumerate() {
                    let other = (node as i64 + i64::from(offsets[k])).max(0) as usize;
                    self.judge(dofs * node + c, dofs * other + d, turned[k][lane], upper[lane], found);
                }
            }
        }
        // Blocks on the diagonal are stored whole.
        if let Some(k) = offsets.binary_search(&0).ok().filter(|_| d < c) {
            let first = unit * (self.layout.slices[slice].start + SLICE * table.stored_before(k)) + transposed;
            let upper = vector(values, first - base);
            for (lane, node) in nodes.clone().enumerate() {
                self.judge(dofs * node + c, dofs * node + d, turned[k][lane], upper[lane], found);
            }
        }
        // Entries that lead to slices without a table.
        let lower = offsets.partition_point(|&offset| offset < 0);
        for k in (0..lower).filter(|k| table.mirrored >> k & 1 == 0) {
            for (lane, node) in nodes.clone().enumerate() {
                if let Ok(other) = usize::try_from(node as i64 + i64::from(offsets[k])) {
                    let (row, column) = (dofs * node + c, dofs * other + d);
                    let upper = V::rounded(self.a.get(column, row as u32).unwrap_or(0.0));
                    self.judge(row, column, turned[k][lane], upper, found);
                }
            }
        }
    }
}

/// The values that an offset below the diagonal mirrors: the first rows' are the last ones of a slice, the others' the first ones of the
/// next slice.
#[inline(always)]
fn mirrored<V: StoredValue>(values: &[V], base: usize, [one, two]: [usize; 2], offset: i32) -> [V; SLICE] {
    let turned = offset.rem_euclid(SLICE as i32) as usize;
    let split = SLICE - turned;
    let (one, two) = (vector(values, one + turned - base), vector(values, two - split - base));
    V::joined(one, two, split)
}
