//! Which slices a sweep over symmetric halves suits, and in which order each slice adds to later rows.

use super::host_layout::{HostLayout, Slice, Table};
use super::host_unions::SLICE;

/// A stored offset above the diagonal: rows at this distance mirror the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mirrored {
    pub offset: usize,
    /// Place of the values, from the start of the slice.
    pub values: usize,
}

/// What a sweep does with the slices of a table.
#[derive(Clone, Debug)]
struct SweptTable {
    mirrored: Vec<Mirrored>,
    is_swept: bool,
}

/// Layout of [`sweep`](super::host_sweep::sweep) by the tables of the slices.
#[derive(Clone, Debug, Default)]
pub(super) struct SweepLayout {
    /// Greatest distance between a row in a swept slice and a row whose values it mirrors; 0: there is no sweep.
    pub reach: usize,
    tables: Vec<SweptTable>,
}

impl SweepLayout {
    /// A slice is swept if its entries below the diagonal are all mirrored, from rows at most as far away as those of seven eighths of the
    /// slices. There is no sweep if fewer slices suit.
    pub fn new(layout: &HostLayout) -> Self {
        let distance = |&table: &Table| {
            let offsets = layout.offsets(table);
            let below = offsets.partition_point(|&offset| offset < 0);
            let distance = offsets.first().map_or(0, |&offset| offset.min(0).unsigned_abs() as usize);
            if table.mirrored.count_ones() as usize == below { distance } else { usize::MAX }
        };
        let distances: Vec<usize> = layout.tables.iter().map(distance).collect();
        let of_slice = |slice: &Slice| distances.get(slice.table as usize).copied().unwrap_or(usize::MAX);
        let mut sorted: Vec<usize> = layout.slices.iter().map(of_slice).collect();
        sorted.sort_unstable();
        let reach = sorted.get(7 * sorted.len() / 8).copied().filter(|&reach| reach < usize::MAX).unwrap_or(0);
        let mut sweep = SweepLayout { reach, ..SweepLayout::default() };
        for (&table, distance) in layout.tables.iter().zip(distances) {
            let above = layout.offsets(table).iter().enumerate().filter_map(|(k, &offset)| {
                let offset = usize::try_from(offset).ok().filter(|offset| (1..=reach).contains(offset))?;
                Some(Mirrored { offset, values: SLICE * table.stored_before(k) })
            });
            sweep.tables.push(SweptTable { mirrored: spread(above.collect()), is_swept: distance <= reach });
        }
        sweep
    }

    /// The offsets of a table that later rows mirror, in the order of [`spread`].
    #[inline(always)]
    pub fn mirrored(&self, table: u32) -> &[Mirrored] {
        self.tables.get(table as usize).map_or(&[], |table| &table.mirrored)
    }

    /// Whether the rows of a slice with this table need nothing but what earlier slices add.
    #[inline(always)]
    pub fn is_swept(&self, table: u32) -> bool {
        self.tables.get(table as usize).is_some_and(|table| table.is_swept)
    }
}

/// Orders ascending offsets. Those less than a slice apart lead to common rows, which get the terms of farther rows first; between
/// them come others, since a load waits for the stores that it overlaps in part.
fn spread(offsets: Vec<Mirrored>) -> Vec<Mirrored> {
    let (mut rank, mut last) = (0, usize::MAX);
    let mut ranked: Vec<(usize, Mirrored)> = Vec::with_capacity(offsets.len());
    for mirrored in offsets.into_iter().rev() {
        rank = if last - mirrored.offset < SLICE { rank + 1 } else { 0 };
        last = mirrored.offset;
        ranked.push((rank, mirrored));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, mirrored)| mirrored).collect()
}

#[cfg(test)]
mod tests {
    use super::super::host_tests::{box_columns, on, random_columns, whole};
    use super::*;
    use crate::space::Serial;

    #[test]
    fn near_offsets_are_descending_and_spread() {
        let ordered = |offsets: &[usize]| {
            let mirrored = offsets.iter().map(|&offset| Mirrored { offset, values: 0 });
            spread(mirrored.collect()).into_iter().map(|mirrored| mirrored.offset).collect::<Vec<_>>()
        };
        assert_eq!(ordered(&[1, 99, 100, 101, 9999, 10000]), [10000, 101, 1, 9999, 100, 99]);
        // Lines shorter than a slice: any two of these offsets may lead to the same row.
        assert_eq!(ordered(&[1, 15, 16, 17, 48, 80]), [80, 48, 17, 16, 15, 1]);
        assert!(ordered(&[]).is_empty());
    }

    #[test]
    fn boxes_are_swept_and_irregular_matrices_are_not() {
        let layout = |columns, width| {
            let matrix = on(columns, width, whole);
            SweepLayout::new(&HostLayout::new(&Serial, matrix.graph(), true).unwrap())
        };
        let mut columns = box_columns([40, 9, 20], 0);
        let swept = layout(columns.clone(), 7200);
        assert_eq!(swept.reach, 40 * 9 + 40 + 1);
        assert!((0..swept.tables.len() as u32).all(|table| swept.is_swept(table)));
        // A pair of far rows does not lengthen the reach.
        columns[7000].insert(200);
        columns[200].insert(7000);
        let with_far_pair = layout(columns, 7200);
        assert_eq!(with_far_pair.reach, swept.reach);
        assert!((0..with_far_pair.tables.len() as u32).any(|table| !with_far_pair.is_swept(table)));
        assert_eq!(layout(random_columns(777, 4000), 777).reach, 0);
    }
}
