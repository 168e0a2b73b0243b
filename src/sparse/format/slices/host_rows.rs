//! Products of a slice's rows on a host, with whole vectors of x per offset: no gather.
//!
//! ```text
//! y[r] = sum over the table's offsets o, ascending, of a(r, r + o) x[r + o]
//! ```
//! A product and a sum per term, each rounded, one after the other: the order does not depend on what is mirrored, nor on the processor.
//! Rows of a listed slice are summed as in CRS. Slices of nodes with several unknowns are in [`host_blocks`](super::host_blocks).

use super::host_layout::{HostLayout, Table};
use super::host_sweep_layout::SweepLayout;
use super::host_unions::{LISTED, SLICE};
use crate::space::{prefetch, prefetch_l2};
use crate::sparse::CrsGraph;
use crate::sparse::StoredValue;
use crate::sparse::value::row_sum;

/// Distances of the software prefetch into the first and the second level of the cache, in values. The first level alone has too few
/// outstanding lines for the rate of the memory.
const AHEAD: [usize; 2] = [512, 4096];

/// A matrix in slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a, V> {
    pub graph: &'a CrsGraph,
    pub layout: &'a HostLayout,
    pub sweep: &'a SweepLayout,
    pub values: &'a [V],
}

impl<V: StoredValue> Rows<'_, V> {
    /// The products of a slice's rows; rows behind the matrix are 0.
    #[inline(always)]
    pub fn slice(&self, slice: usize, x: &[f64]) -> [f64; SLICE] {
        match self.layout.slices[slice].table {
            LISTED => self.listed(slice, x).map(|[sum]| sum),
            _ => self.by_table::<true>(slice, x, [0.0; SLICE]),
        }
    }

    /// Adds the terms of the stored offsets of a slice with a table.
    #[inline(always)]
    pub fn stored(&self, slice: usize, x: &[f64], sums: [f64; SLICE]) -> [f64; SLICE] {
        self.by_table::<false>(slice, x, sums)
    }

    #[inline(always)]
    fn by_table<const MIRRORED: bool>(&self, slice: usize, x: &[f64], sums: [f64; SLICE]) -> [f64; SLICE] {
        let table = self.layout.tables[self.layout.slices[slice].table as usize];
        let offsets = self.layout.offsets(table);
        let (first, columns) = ((slice * SLICE) as i64, self.graph.columns() as i64);
        let [least, most] = [offsets.first(), offsets.last()].map(|offset| i64::from(offset.copied().unwrap_or(0)));
        if first + least >= 0 && first + most + SLICE as i64 <= columns {
            self.tabled::<false, MIRRORED>(slice, table, x, sums)
        } else {
            self.tabled::<true, MIRRORED>(slice, table, x, sums)
        }
    }

    /// Adds the terms of a slice with a table. `EDGE`: some x at its offsets are outside of the vector; they count as 0. `MIRRORED`: those
    /// of mirrored offsets, too.
    #[inline(always)]
    fn tabled<const EDGE: bool, const MIRRORED: bool>(
        &self,
        slice: usize,
        table: Table,
        x: &[f64],
        mut sums: [f64; SLICE],
    ) -> [f64; SLICE] {
        let place = self.layout.slices[slice];
        let (offsets, mut links) = (self.layout.offsets(table), self.layout.links[place.links as usize..].iter());
        let mut at = place.start;
        for (k, &offset) in offsets.iter().enumerate() {
            let is_mirrored = table.mirrored >> k & 1 == 1;
            if is_mirrored && !MIRRORED {
                continue;
            }
            let first = (slice * SLICE) as i64 + i64::from(offset);
            let mut edge = [0.0; SLICE];
            let x: &[f64; SLICE] = if EDGE {
                let end = self.graph.columns() as i64;
                for (i, edge) in edge.iter_mut().enumerate() {
                    let column = first + i as i64;
                    *edge = if (0..end).contains(&column) { x[column as usize] } else { 0.0 };
                }
                &edge
            } else {
                vector(x, first as usize)
            };
            if MIRRORED
                && is_mirrored
                && let Some(&link) = links.next()
            {
                let [one, two] = link.map(|link| place.start.wrapping_sub(link));
                // The first rows are the last ones of a slice, the others the first ones of the next slice.
                let turned = offset.rem_euclid(SLICE as i32) as usize;
                let split = SLICE - turned;
                let (one, two) = (vector(self.values, one + turned), vector(self.values, two - split));
                let values = V::joined(one, two, split);
                for i in 0..SLICE {
                    sums[i] += values[i].into() * x[i];
                }
            } else {
                let values = vector(self.values, at);
                if MIRRORED {
                    prefetch_vector(self.values, at);
                }
                for i in 0..SLICE {
                    sums[i] += values[i].into() * x[i];
                }
                at += SLICE;
            }
        }
        sums
    }

    /// The products of a slice without a table, whose nodes have D unknowns.
    #[inline(always)]
    pub fn listed<const D: usize>(&self, slice: usize, x: &[f64]) -> [[f64; D]; SLICE] {
        let (first, mut at) = (slice * SLICE * D, D * D * self.layout.slices[slice].start);
        let mut sums = [[0.0; D]; SLICE];
        for (row, sum) in (first..self.graph.rows()).zip(sums.as_flattened_mut()) {
            let columns = self.graph.row(row);
            *sum = row_sum(columns, &self.values[at..at + columns.len()], x);
            at += columns.len();
        }
        sums
    }
}

/// Prefetches the values that follow those at `at`.
#[inline(always)]
pub(super) fn prefetch_vector<V>(values: &[V], at: usize) {
    for first in (0..SLICE).step_by(64 / size_of::<V>()) {
        prefetch(values, at + AHEAD[0] + first);
        prefetch_l2(values, at + AHEAD[1] + first);
    }
}

/// 32 items of an array.
#[inline(always)]
pub(super) fn vector<T>(array: &[T], first: usize) -> &[T; SLICE] {
    const { assert!(SLICE == 32) };
    array[first..].first_chunk().expect("slices lie inside their arrays")
}
