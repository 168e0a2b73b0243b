//! Which columns the rows of a slice have in common, relative to their rows: the union of column - row.
//!
//! A slice whose rows have the same union as those of the slice before costs one comparison per entry.

use crate::sparse::CrsGraph;
pub(super) use crate::sparse::value::SLICE;
use std::collections::HashMap;
use std::ops::Range;

/// Sentinel: the slice has no offset table.
pub(super) const LISTED: u32 = u32::MAX;
/// Slices that are laid out by one task.
pub(super) const BLOCK: usize = 128;
/// Most offsets of a table.
pub(super) const WIDEST: usize = 40;

/// What one task finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub unions: Vec<Vec<i32>>,
    /// Union of each slice, or [`LISTED`].
    pub slices: Vec<u32>,
    /// Numbers of entries of owned columns below and above the diagonal.
    pub sides: [u64; 2],
}

/// The unions of the slices of a block.
pub(super) fn unions(graph: &CrsGraph, block: usize) -> Found {
    let mut found = Found::default();
    let (mut ids, mut last): (HashMap<Vec<i32>, u32>, u32) = (HashMap::new(), LISTED);
    let (mut union, mut merged) = (Vec::new(), Vec::new());
    for first in (block * BLOCK * SLICE..graph.rows()).step_by(SLICE).take(BLOCK) {
        let rows = first..graph.rows().min(first + SLICE);
        if last != LISTED && covers_exactly(&found.unions[last as usize], graph, rows.clone()) {
            found.slices.push(last);
            count_sides(graph, rows, &found.unions[last as usize], &mut found.sides);
            continue;
        }
        let longest = rows.clone().map(|row| graph.row_range(row).len()).max().unwrap_or(0);
        union.clear();
        for row in rows.clone() {
            merge(&union, graph.row(row), row, &mut merged);
            std::mem::swap(&mut union, &mut merged);
            // Wider unions stay wide.
            if union.len() > WIDEST {
                break;
            }
        }
        last = LISTED;
        if union.len() <= WIDEST && 2 * union.len() <= 3 * longest {
            last = *ids.entry(union.clone()).or_insert_with(|| {
                found.unions.push(union.clone());
                found.unions.len() as u32 - 1
            });
        }
        found.slices.push(last);
        count_sides(graph, rows, if last == LISTED { &[] } else { &union }, &mut found.sides);
    }
    found
}

/// Counts entries of owned columns below and above the diagonal, by a table's offsets.
pub(super) fn count_sides(graph: &CrsGraph, rows: Range<usize>, table: &[i32], sides: &mut [u64; 2]) {
    let before = table.partition_point(|&offset| offset < 0);
    let behind = table.len() - table.partition_point(|&offset| offset <= 0);
    for row in rows {
        let columns = graph.row(row);
        let is_owned = columns.last().is_some_and(|&column| (column as usize) < graph.rows());
        let [below, above] = if columns.len() == table.len() && is_owned {
            [before, behind]
        } else {
            let end = |column: usize| columns.partition_point(|&other| (other as usize) < column);
            [end(row), end(graph.rows()) - end(row + 1)]
        };
        *sides = [sides[0] + below as u64, sides[1] + above as u64];
    }
}

/// Whether a table is the union of these rows.
fn covers_exactly(table: &[i32], graph: &CrsGraph, rows: Range<usize>) -> bool {
    let all = if table.is_empty() { 0 } else { u64::MAX >> (64 - table.len()) };
    let mut used = 0u64;
    for row in rows {
        let columns = graph.row(row);
        let offset = |column: u32| (column as i32).wrapping_sub(row as i32);
        if columns.len() == table.len() {
            let different = columns.iter().zip(table).fold(0, |bits, (&column, &o)| bits | (offset(column) ^ o));
            if different != 0 {
                return false;
            }
            used = all;
            continue;
        }
        let mut at = 0;
        for &column in columns {
            while at < table.len() && table[at] < offset(column) {
                at += 1;
            }
            if at == table.len() || table[at] != offset(column) {
                return false;
            }
            used |= 1 << at;
        }
    }
    used == all
}

/// The union of ascending offsets and those of a row's columns.
fn merge(union: &[i32], columns: &[u32], row: usize, out: &mut Vec<i32>) {
    out.clear();
    let mut rest = union;
    for offset in columns.iter().map(|&column| (i64::from(column) - row as i64) as i32) {
        let before = rest.partition_point(|&other| other < offset);
        out.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        rest = rest.strip_prefix(&[offset]).unwrap_or(rest);
        out.push(offset);
        if out.len() > WIDEST {
            return;
        }
    }
    out.extend_from_slice(rest);
}
