//! Matrices with D unknowns per node on a host: the D rows of a node have the same columns, and these form whole nodes.
//!
//! ```text
//! row D n + c, column D m + d    entry (n, m) of the graph of nodes, with D x D values
//! slice                          32 nodes; tables, links and places are made for the graph of nodes
//! values of stored entry k       D x D vectors [c][d] of 32 values
//! ```
//! A mirrored entry is read as the transposed block. Rows are summed in the order of their columns, as in slices of single rows. A
//! slice that two calls share is computed twice: for D = 3, where a call has 4096 rows, 2 % of a product.

use super::host_layout::Table;
use super::host_rows::{Rows, prefetch_vector, vector};
use super::host_unions::{LISTED, SLICE};
use crate::space::prefetch;
use crate::sparse::StoredValue;

/// y = A x over the rows from `first` on: one for each item of y.
#[inline(always)]
pub(super) fn multiply<V: StoredValue, const D: usize>(a: Rows<'_, V>, first: usize, x: &[f64], y: &mut [f64]) {
    // Rows may begin and end inside a slice.
    let (end, mut at) = (first + y.len(), first);
    while at < end {
        let slice = at / (D * SLICE);
        let sums = slice_of_nodes::<V, D>(a, slice, x);
        let behind = ((slice + 1) * D * SLICE).min(end);
        let [from, to] = [at, behind].map(|row| row - slice * D * SLICE);
        y[at - first..behind - first].copy_from_slice(&sums.as_flattened()[from..to]);
        at = behind;
    }
}

/// The products of a slice's rows by node; rows behind the matrix are 0.
#[inline(always)]
fn slice_of_nodes<V: StoredValue, const D: usize>(a: Rows<'_, V>, slice: usize, x: &[f64]) -> [[f64; D]; SLICE] {
    let place = a.layout.slices[slice];
    if place.table == LISTED {
        return a.listed(slice, x);
    }
    let table = a.layout.tables[place.table as usize];
    let offsets = a.layout.offsets(table);
    let (first, columns) = ((slice * SLICE) as i64, (a.graph.columns() / D) as i64);
    let [least, most] = [offsets.first(), offsets.last()].map(|offset| i64::from(offset.copied().unwrap_or(0)));
    let sums = if first + least >= 0 && first + most + SLICE as i64 <= columns {
        tabled::<V, D, false>(a, slice, table, x)
    } else {
        tabled::<V, D, true>(a, slice, table, x)
    };
    let mut rows = [[0.0; D]; SLICE];
    for i in 0..SLICE {
        for c in 0..D {
            rows[i][c] = sums[c][i];
        }
    }
    rows
}

/// The products of a slice with a table, by unknown. `EDGE`: some x at its offsets are outside of the vector; they count as 0.
#[inline(always)]
fn tabled<V: StoredValue, const D: usize, const EDGE: bool>(
    a: Rows<'_, V>,
    slice: usize,
    table: Table,
    x: &[f64],
) -> [[f64; SLICE]; D] {
    let place = a.layout.slices[slice];
    let places = |link: &[usize; 2]| link.map(|link| D * D * place.start.wrapping_sub(link));
    let mirrored = table.mirrored.count_ones() as usize;
    let mut links = a.layout.links[place.links as usize..].iter().take(mirrored).map(places).peekable();
    let line = 64 / size_of::<V>();
    let (mut sums, mut at) = ([[0.0; SLICE]; D], D * D * place.start);
    for (k, &offset) in a.layout.offsets(table).iter().enumerate() {
        let first = (slice * SLICE) as i64 + i64::from(offset);
        let mut by_unknown = [[0.0; SLICE]; D];
        if EDGE {
            for i in 0..SLICE {
                let node = first + i as i64;
                if (0..(a.graph.columns() / D) as i64).contains(&node) {
                    (0..D).for_each(|d| by_unknown[d][i] = x[D * node as usize + d]);
                }
            }
        } else {
            let x = &x[D * first as usize..][..D * SLICE];
            for i in 0..SLICE {
                for d in 0..D {
                    by_unknown[d][i] = x[D * i + d];
                }
            }
        }
        if table.mirrored >> k & 1 == 1
            && let Some([one, two]) = links.next()
        {
            // Values of the first slice were read for the slice before this one; those of the next offset's second slice are fetched.
            let next = links.peek().map_or(two, |next| next[1]);
            let turned = offset.rem_euclid(SLICE as i32) as usize;
            let split = SLICE - turned;
            for c in 0..D {
                // A copy, which stays in registers.
                let mut sum = sums[c];
                for d in 0..D {
                    let transposed = (D * d + c) * SLICE;
                    for part in 0..SLICE / line {
                        prefetch(a.values, next + transposed + part * line);
                    }
                    let (one, two) = (one + transposed + turned, two + transposed - split);
                    let values = V::joined(vector(a.values, one), vector(a.values, two), split);
                    for i in 0..SLICE {
                        sum[i] += values[i].into() * by_unknown[d][i];
                    }
                }
                sums[c] = sum;
            }
        } else {
            for c in 0..D {
                let mut sum = sums[c];
                for d in 0..D {
                    let values = vector(a.values, at);
                    prefetch_vector(a.values, at);
                    for i in 0..SLICE {
                        sum[i] += values[i].into() * by_unknown[d][i];
                    }
                    at += SLICE;
                }
                sums[c] = sum;
            }
        }
    }
    sums
}
