//! Layout of sparsity patterns in slices, against its definition on the host.

use super::sparse::{matrix, neighbours, spread, zoo};
use super::{gpu, wave};
use minifenl::space::ExecutionSpace;
use minifenl::sparse::{CrsGraph, CrsMatrix, Format, SliceArrays, SlicedEll};
use std::collections::HashMap;

/// The layout by its definition. With `coarse`, unions are told apart by their lengths: no slices share a table if two unions of
/// one length differ.
fn layout(graph: &CrsGraph, format: Format, coarse: bool) -> SliceArrays {
    const LISTED: u64 = 1 << 63;
    let rows = graph.rows();
    let mut unions = Vec::new();
    for first in (0..rows).step_by(32) {
        let here = first..rows.min(first + 32);
        let longest = here.clone().map(|row| graph.row(row).len()).max().unwrap();
        let offsets = |row: usize| graph.row(row).iter().map(move |&column| column as i32 - row as i32);
        let mut union: Vec<i32> = here.flat_map(offsets).collect();
        union.sort_unstable();
        union.dedup();
        let listed = format == Format::Sell || union.len() > 40 || 2 * union.len() > 3 * longest;
        unions.push((longest, (!listed).then_some(union)));
    }
    let mut by_length = HashMap::new();
    let tables = || unions.iter().filter_map(|(_, union)| union.as_ref());
    let is_shared = !coarse || tables().all(|union| by_length.entry(union.len()).or_insert(union) == &union);
    let mut made = SliceArrays { slice_offsets: vec![0], words: vec![], offsets: vec![], columns: vec![] };
    let mut known: HashMap<&[i32], u64> = HashMap::new();
    for (slice, (longest, union)) in unions.iter().enumerate() {
        let width = union.as_ref().map_or(*longest, Vec::len);
        let word = match union {
            Some(union) if is_shared && known.contains_key(union.as_slice()) => known[union.as_slice()],
            Some(union) => {
                let word = made.offsets.len() as u64;
                made.offsets.extend(union);
                known.insert(union, word);
                word
            }
            None => {
                let word = LISTED | made.columns.len() as u64;
                let column = |k: usize, row: usize| (row < rows).then(|| graph.row(row).get(k).copied()).flatten();
                let entries = (0..width).flat_map(|k| (32 * slice..32 * slice + 32).map(move |row| (k, row)));
                made.columns.extend(entries.map(|(k, row)| column(k, row).unwrap_or(u32::MAX)));
                word
            }
        };
        made.words.push(word);
        made.slice_offsets.push(made.slice_offsets[slice] + 32 * width as u64);
    }
    made
}

/// Slices of one length with different patterns, patterns of 40 and 41 offsets, and slices that do not fit shared memory.
fn patterns() -> Vec<CrsMatrix> {
    let alternating = |i: usize| [0, 1, 2].map(|k| (i + k * (1 + i / 32 % 3)) as u32).to_vec();
    let wide = |width: u32| matrix((0..100u32).map(|row| (row..row + width).collect()), 150);
    vec![
        matrix((0..640).map(alternating), 650),
        wide(40),
        wide(41),
        spread(70, 3000, |i| if i < 40 { 27 } else { 900 }),
        neighbours([64, 9, 8]),
        // More than one block of slices and more than one tile of the scans.
        neighbours([70, 50, 40]),
    ]
}

#[test]
fn layouts_of_slices_equal_their_definition() {
    let Some(space) = gpu("layouts_of_slices_equal_their_definition") else { return };
    for a in zoo().into_iter().chain(patterns()) {
        let there = a.upload(&space).unwrap();
        for format in [Format::Sell, Format::Pattern] {
            for mask in [u64::MAX, 0] {
                let slices = SlicedEll::<f64>::with_hash_mask(&space, format, there.graph(), mask).unwrap();
                let expected = layout(a.graph(), format, mask == 0);
                let case = format!("{} rows, {format}, {mask:x}", a.graph().rows());
                assert!(slices.arrays(&space).unwrap() == expected, "{case}");
                assert_eq!(
                    slices.entries(),
                    (expected.slice_offsets.last().copied().unwrap() as usize, expected.columns.len())
                );
            }
        }
    }
}

/// Slices whose hashes are equal and whose patterns differ have tables of their own, and the products do not change.
#[test]
fn unions_of_one_hash_are_told_apart() {
    let Some(space) = gpu("unions_of_one_hash_are_told_apart") else { return };
    for a in patterns() {
        let there = a.upload(&space).unwrap();
        let x = space.upload(&wave(a.graph().columns(), 0.31)).unwrap();
        let product = |mask| {
            let mut slices = SlicedEll::with_hash_mask(&space, Format::Pattern, there.graph(), mask).unwrap();
            slices.update(&space, &there).unwrap();
            let mut y = space.upload(&vec![f64::NAN; a.graph().rows()]).unwrap();
            slices.spmv(&space, 1.0, &x, 0.0, &mut y).unwrap();
            (space.download(&y).unwrap(), slices.arrays(&space).unwrap().offsets.len())
        };
        let (shared, own) = (product(u64::MAX), product(0));
        assert!(shared.0 == own.0 && shared.1 <= own.1, "{} rows", a.graph().rows());
    }
}
