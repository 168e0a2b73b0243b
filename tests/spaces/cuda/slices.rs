//! Layout of sparsity patterns in slices, against its definition on the host.

use super::sparse::{matrix, neighbours, single, spread, symmetric, zoo};
use super::{gpu, wave};
use minifenl::space::ExecutionSpace;
use minifenl::sparse::{CrsGraph, CrsMatrix, Format, SliceArrays, SlicedEll};
use std::collections::HashMap;

/// The numbers of a slice's table: its stored offsets, then offset and two distances of each mirrored one; `None`: a list.
fn halves(unions: &[(usize, Option<Vec<i32>>)]) -> Vec<(usize, usize, Option<Vec<i32>>)> {
    let stores = |slice: i64, offset: i32| {
        usize::try_from(slice)
            .ok()
            .and_then(|slice| unions[slice].1.as_ref())
            .is_some_and(|union| union.contains(&offset))
    };
    // The slices in which the partners of a slice's first and last row lie.
    let partners = |slice: usize, offset: i32| {
        let first = 32 * slice as i64 + i64::from(offset);
        [first.div_euclid(32), (first + 31).div_euclid(32)]
    };
    let is_mirrored =
        |slice: usize, offset: i32| offset < 0 && partners(slice, offset).iter().all(|&other| stores(other, -offset));
    let kept: Vec<_> = unions
        .iter()
        .enumerate()
        .map(|(slice, (longest, union))| {
            let kept = |union: &Vec<i32>| union.iter().copied().filter(|&o| !is_mirrored(slice, o)).collect::<Vec<_>>();
            (*longest, union.as_ref().map(kept))
        })
        .collect();
    let widths = kept.iter().map(|(longest, kept)| kept.as_ref().map_or(*longest, Vec::len));
    let starts: Vec<usize> = widths
        .scan(0, |start, width| {
            *start += width;
            Some(*start - width)
        })
        .collect();
    let place = |slice: i64, offset: i32| {
        let slice = slice as usize;
        starts[slice] + kept[slice].1.as_ref().unwrap().iter().position(|&o| o == offset).unwrap()
    };
    let table = |(slice, (longest, stored)): (usize, &(usize, Option<Vec<i32>>))| {
        let Some(stored) = stored else { return (*longest, 0, None) };
        let mut table = stored.clone();
        let union = unions[slice].1.as_ref().unwrap();
        for &offset in union.iter().filter(|&&offset| is_mirrored(slice, offset)) {
            table.push(offset);
            table.extend(partners(slice, offset).map(|other| place(other, -offset) as i32 - starts[slice] as i32));
        }
        (stored.len(), union.len() - stored.len(), Some(table))
    };
    kept.iter().enumerate().map(table).collect()
}

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
        let listed = union.len() > 40 || 2 * union.len() > 3 * longest;
        unions.push((longest, (!listed).then_some(union)));
    }
    // Of each slice: entries stored per row, mirrored entries, table.
    let unions: Vec<(usize, usize, Option<Vec<i32>>)> = if format == Format::Symmetric {
        halves(&unions)
    } else {
        let width = |longest: usize, union: &Option<Vec<i32>>| union.as_ref().map_or(longest, Vec::len);
        unions.into_iter().map(|(longest, union)| (width(longest, &union), 0, union)).collect()
    };
    let mut by_length = HashMap::new();
    let tables = || unions.iter().filter_map(|(_, _, union)| union.as_ref());
    let is_shared = !coarse || tables().all(|union| by_length.entry(union.len()).or_insert(union) == &union);
    let mut made = SliceArrays { slice_offsets: vec![0], words: vec![], offsets: vec![], columns: vec![] };
    let mut known: HashMap<&[i32], u64> = HashMap::new();
    for (slice, &(width, mirrored, ref union)) in unions.iter().enumerate() {
        let table = match union {
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
        made.words.push(table | (mirrored as u64) << 40);
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
        for format in [Format::Pattern, Format::Symmetric] {
            for mask in [u64::MAX, 0] {
                let slices =
                    SlicedEll::<f64>::with_hash_mask(&space, format == Format::Symmetric, there.graph(), mask).unwrap();
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
    for (a, format) in patterns().into_iter().flat_map(|a| [(symmetric(&a), Format::Symmetric), (a, Format::Pattern)]) {
        let there = a.upload(&space).unwrap();
        let x = space.upload(&wave(a.graph().columns(), 0.31)).unwrap();
        let product = |mask| {
            let mut slices =
                SlicedEll::<f64>::with_hash_mask(&space, format == Format::Symmetric, there.graph(), mask).unwrap();
            slices.update(&space, &there).unwrap();
            let mut y = space.upload(&vec![f64::NAN; a.graph().rows()]).unwrap();
            slices.spmv(&space, &x, &mut y).unwrap();
            (space.download(&y).unwrap(), slices.arrays(&space).unwrap().offsets.len())
        };
        let (shared, own) = (product(u64::MAX), product(0));
        // Rows of the table that most slices have are summed in another order in `symmetric`.
        let limit = if format == Format::Symmetric { 1e-13 } else { 0.0 };
        let scale = own.0.iter().fold(0.0, |scale: f64, y| scale.max(y.abs()));
        let equal = shared.0.iter().zip(&own.0).all(|(shared, own)| (shared - own).abs() <= limit * scale);
        assert!(equal && shared.1 <= own.1, "{} rows, {format}", a.graph().rows());
    }
}

/// Nearly all entries below the diagonal of a box are read where they lie above it.
#[test]
fn halves_of_a_box_are_stored_once() {
    let Some(space) = gpu("halves_of_a_box_are_stored_once") else { return };
    for size in [[64, 40, 40], [100, 30, 20]] {
        let a = symmetric(&neighbours(size)).upload(&space).unwrap();
        let whole = SlicedEll::<f64>::new(&space, false, a.graph()).unwrap();
        let half = SlicedEll::<f64>::new(&space, true, a.graph()).unwrap();
        let (whole, half) = (whole.entries().0 as f64, half.entries().0 as f64);
        assert!(half < 0.56 * whole, "{size:?}: {half} of {whole} values");
    }
}

/// A matrix is refused for one entry that differs, is missing, or is a partner too many, wherever its partner is stored.
#[test]
fn symmetric_slices_refuse_other_matrices() {
    let Some(space) = gpu("symmetric_slices_refuse_other_matrices") else { return };
    let update = |a: &CrsMatrix| {
        let there = a.upload(&space).unwrap();
        let of_double = SlicedEll::<f64>::new(&space, true, there.graph()).unwrap().update(&space, &there);
        let of_single = SlicedEll::<f32>::new(&space, true, there.graph()).unwrap().update(&space, &there);
        assert_eq!(of_double.is_ok(), of_single.is_ok());
        of_double.map_err(|error| error.to_string())
    };
    for a in
        [neighbours([64, 9, 8]), neighbours([7, 5, 6]), spread(777, 901, |i| 1 + i * 31 % 300)].map(|a| symmetric(&a))
    {
        update(&a).unwrap();
        let (graph, rows) = (a.graph(), a.graph().rows());
        for row in [0, rows / 3, rows - 1] {
            let outside = |entry: &usize| graph.entries()[*entry] as usize != row;
            let inside = |entry: &usize| (graph.entries()[*entry] as usize) < rows;
            for entry in graph.row_range(row).filter(outside).filter(inside) {
                let mut other = a.clone();
                other.parts_mut().1[entry] += 1e-3;
                let error = update(&other).unwrap_err();
                assert!(error.contains("not") || error.contains("differ"), "{error}");
                // Within rounding.
                other.parts_mut().1[entry] = a.values()[entry] * (1.0 + 1e-15);
                update(&other).unwrap();
            }
        }
    }
    let one_sided = |above: bool| {
        let entry =
            |row: u32| if above { row < 60 && row.is_multiple_of(7) } else { row >= 40 && row.is_multiple_of(7) };
        let columns = |row: u32| {
            if !entry(row) {
                vec![row]
            } else if above {
                vec![row, row + 40]
            } else {
                vec![row - 40, row]
            }
        };
        matrix((0..100).map(columns), 100)
    };
    for above in [true, false] {
        assert!(update(&one_sided(above)).is_err(), "entries above: {above}");
    }
    // Entries beyond the rows have no partners.
    update(&matrix((0..100u32).map(|row| vec![row, 100 + row]), 200)).unwrap();
}

#[test]
fn values_are_rounded_and_refused_if_too_large() {
    let Some(space) = gpu("values_are_rounded_and_refused_if_too_large") else { return };
    let a = symmetric(&neighbours([21, 17, 13]));
    let (there, rounded) = (a.upload(&space).unwrap(), single(&a).upload(&space).unwrap());
    for format in [Format::Pattern, Format::Symmetric] {
        let mut slices = SlicedEll::<f32>::new(&space, format == Format::Symmetric, there.graph()).unwrap();
        slices.update(&space, &there).unwrap();
        let mut expected = SlicedEll::<f32>::new(&space, format == Format::Symmetric, rounded.graph()).unwrap();
        expected.update(&space, &rounded).unwrap();
        assert!(space.download(slices.values()).unwrap() == space.download(expected.values()).unwrap(), "{format}");
        let mut large = a.clone();
        large.parts_mut().1[0] = 3.5e38;
        let large_values = space.upload(large.values()).unwrap();
        let mut large = CrsMatrix::zeros_on(&space, there.graph().clone()).unwrap();
        *large.parts_mut().1 = large_values;
        let error = slices.update(&space, &large).unwrap_err().to_string();
        assert!(error.contains("1 values are too large"), "{format}: {error}");
        *large.parts_mut().1 = space.upload(&vec![f64::INFINITY; a.values().len()]).unwrap();
        slices.update(&space, &large).unwrap();
    }
}
