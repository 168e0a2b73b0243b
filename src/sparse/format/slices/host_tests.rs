//! Every storage on hosts against sums over the entries of the matrix.

use super::host_layout::irregular_rows;
use super::host_slices::HostSlices;
use crate::blas::Reductions;
use crate::space::{Serial, Threads};
use crate::sparse::{CrsGraph, CrsMatrix, Spmv};
use crate::sparse::{Format, FormatCopy, Formats, HostMatrix, MatrixStorage, Operator, Precision, RowProduct};
use std::collections::BTreeSet;
use std::sync::Arc;

const STORAGES: [(Format, Precision); 6] = {
    use Format::{Crs, Pattern, Symmetric};
    use Precision::{F32, F64};
    [(Crs, F64), (Pattern, F64), (Symmetric, F64), (Crs, F32), (Pattern, F32), (Symmetric, F32)]
};

/// A matrix with these columns of each row and values that are functions of the unordered pair.
pub(super) fn on(columns: Vec<BTreeSet<u32>>, width: usize, value: impl Fn(usize, usize) -> f64) -> CrsMatrix {
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for (row, columns) in columns.iter().enumerate() {
        entries.extend(columns);
        values.extend(columns.iter().map(|&column| value(row.min(column as usize), row.max(column as usize))));
        row_map.push(entries.len() as u64);
    }
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, width).unwrap()), values).unwrap()
}

/// Whole numbers, so that every order of summation gives the same bits.
pub(super) fn whole(low: usize, high: usize) -> f64 {
    ((low * 7 + high * 5) % 19) as f64 - 9.0
}

/// The nodes of a box and their neighbours, diagonal ones too; the last `ghosts` rows are columns only.
pub(super) fn box_columns([nx, ny, nz]: [usize; 3], ghosts: usize) -> Vec<BTreeSet<u32>> {
    let near = |i: usize, n: usize| i.saturating_sub(1)..(i + 2).min(n);
    let columns = |node: usize| {
        let (i, j, k) = (node % nx, node / nx % ny, node / nx / ny);
        let of_line = |k: usize, j: usize| near(i, nx).map(move |i| ((k * ny + j) * nx + i) as u32);
        near(k, nz).flat_map(|k| near(j, ny).flat_map(move |j| of_line(k, j))).collect()
    };
    (0..nx * ny * nz - ghosts).map(columns).collect()
}

/// Pairs of rows drawn by a linear congruence.
pub(super) fn random_columns(rows: usize, pairs: usize) -> Vec<BTreeSet<u32>> {
    let (mut columns, mut state) = (vec![BTreeSet::new(); rows], 12345u64);
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % rows
    };
    for _ in 0..pairs {
        let (row, column) = (draw(), draw());
        columns[row].insert(column as u32);
        columns[column].insert(row as u32);
    }
    columns
}

/// The same of nodes with `d` unknowns each.
pub(super) fn of_unknowns(columns: &[BTreeSet<u32>], d: u32) -> Vec<BTreeSet<u32>> {
    let of_node = |columns: &BTreeSet<u32>| columns.iter().flat_map(|m| d * m..d * (m + 1)).collect::<BTreeSet<_>>();
    columns.iter().flat_map(|columns| std::iter::repeat_n(of_node(columns), d as usize)).collect()
}

/// Patterns with symmetric owned parts: boxes with lines shorter and longer than a slice, ghosts, no pattern at all, empty rows, one row,
/// no rows, rows of thousands of entries, a band over several chunks, a regular part beside an irregular one.
pub(super) fn matrices(value: impl Fn(usize, usize) -> f64 + Copy) -> Vec<(&'static str, CrsMatrix)> {
    let arrow: Vec<BTreeSet<u32>> =
        (0..3000u32).map(|row| if row == 1500 { (0..3000).collect() } else { [row, 1500].into() }).collect();
    let band = |rows: u32| -> Vec<BTreeSet<u32>> {
        (0..rows).map(|row| (row.saturating_sub(1)..(row + 2).min(rows)).collect()).collect()
    };
    let mut mixed = box_columns([20, 9, 30], 0);
    for row in (1000..1300u32).step_by(3) {
        let other = row * 7 % 5000;
        mixed[row as usize].insert(other);
        mixed[other as usize].insert(row);
    }
    let mut gaps = band(500);
    for row in 100..200 {
        gaps[row].clear();
    }
    gaps[99].remove(&100);
    gaps[200].remove(&199);
    let box_of = |edges: [usize; 3], ghosts| on(box_columns(edges, ghosts), edges.iter().product(), value);
    let blocks_of =
        |columns: &[BTreeSet<u32>], nodes: usize, d: u32| on(of_unknowns(columns, d), nodes * d as usize, value);
    vec![
        ("box", box_of([13, 17, 7], 0)),
        ("long lines", box_of([70, 9, 8], 0)),
        ("ghosts", box_of([21, 19, 13], 21 * 19)),
        ("some ghosts", box_of([21, 19, 13], 57)),
        ("long ghosts", box_of([41, 19, 13], 41 * 19)),
        ("random", on(random_columns(777, 4000), 777, value)),
        ("empty rows", on(gaps, 500, value)),
        ("one row", on(vec![[0].into()], 1, value)),
        ("no row", on(vec![], 0, value)),
        ("arrow", on(arrow, 3000, value)),
        ("band", on(band(2 * 4096 + 77), 2 * 4096 + 77, value)),
        ("blocks of 3", blocks_of(&box_columns([13, 17, 7], 0), 13 * 17 * 7, 3)),
        ("blocks of 2", blocks_of(&box_columns([40, 9, 8], 0), 40 * 9 * 8, 2)),
        // Nodes 5460 to 5480, at the end of a plane, lack the offset 631, which leads to ghosts from 5460 on: row 16384 is of such a node.
        ("blocks and ghosts", blocks_of(&box_columns([21, 29, 11], 608), 21 * 29 * 11, 3)),
        ("mixed blocks", blocks_of(&mixed, 5400, 3)),
        ("random blocks", blocks_of(&random_columns(377, 900), 377, 2)),
        ("mixed", on(mixed, 5400, value)),
    ]
}

pub(super) fn stored(space: &Threads, a: &CrsMatrix, (format, values): (Format, Precision)) -> HostMatrix {
    let mut stored = HostMatrix::new(space, MatrixStorage { values, ..format.into() }, a.graph().clone()).unwrap();
    Threads::values_mut(&mut stored).copy_from_slice(a.values());
    let is_copied = space.update(&mut stored).unwrap();
    assert_eq!(is_copied, (format, values) != (Format::Crs, Precision::F64));
    stored
}

pub(super) fn product(a: &CrsMatrix, x: &[f64]) -> Vec<f64> {
    let row = |row: usize| {
        let entries = a.graph().row_range(row);
        entries.map(|entry| a.values()[entry] * x[a.graph().entries()[entry] as usize]).sum()
    };
    (0..a.graph().rows()).map(row).collect()
}

#[test]
fn every_storage_multiplies_every_matrix_on_any_number_of_threads_and_in_ranges() {
    for (name, a) in matrices(whole) {
        let (rows, columns) = (a.graph().rows(), a.graph().columns());
        let x: Vec<f64> = (0..columns).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
        let expected = product(&a, &x);
        let dot: f64 = expected.iter().zip(&x).map(|(y, x)| y * x).sum();
        for storage in STORAGES {
            for threads in [1, 2, 3] {
                let space = Threads::new(threads).unwrap();
                let matrix = stored(&space, &a, storage);
                let view = matrix.operator();
                let mut y = vec![f64::NAN; rows];
                view.apply(&space, &mut x.clone(), &mut y).unwrap();
                assert!(y == expected, "{name} {storage:?}");
                for bounds in [&[0, rows][..], &[0, 4096, rows], &[0, 4096, 8192, rows], &[0, 0, rows]] {
                    if bounds.windows(2).any(|ends| ends[0] > ends[1]) {
                        continue;
                    }
                    let (mut y, mut sums) = (vec![f64::NAN; rows], Reductions::new(&space, rows, 2).unwrap());
                    for ends in bounds.windows(2) {
                        view.apply_dot_rows(
                            &space,
                            RowProduct {
                                rows: ends[0]..ends[1],
                                exchange: None,
                                x: &x,
                                y: &mut y,
                                sums: &mut sums,
                                slot: 1,
                            },
                        )
                        .unwrap();
                    }
                    assert!(y == expected && sums.scalars == [0.0, dot], "{name} {storage:?} {bounds:?}");
                }
            }
        }
    }
}

/// Rows that read no ghost are computed before the ghosts have come, whatever these hold.
#[test]
fn rows_before_a_block_with_ghosts_do_not_read_them() {
    for (name, a) in matrices(whole).into_iter().filter(|(name, _)| ["long ghosts", "blocks and ghosts"].contains(name))
    {
        let (rows, columns) = (a.graph().rows(), a.graph().columns());
        let mut x: Vec<f64> = (0..columns).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
        let expected = product(&a, &x);
        x[rows..].fill(f64::NAN);
        let reads_ghosts = |row: usize| a.graph().row(row).iter().any(|&column| column as usize >= rows);
        let interior = (0..rows).find(|&row| reads_ghosts(row)).unwrap();
        for storage in STORAGES {
            let matrix = stored(&Serial, &a, storage);
            let (mut y, mut sums) = (vec![f64::NAN; rows], Reductions::new(&Serial, rows, 1).unwrap());
            let block = matrix.operator().row_block().unwrap();
            let before = interior / block * block;
            assert!(before > 0, "{name} {storage:?}: {interior} rows are less than a block");
            matrix
                .operator()
                .apply_dot_rows(
                    &Serial,
                    RowProduct { rows: 0..before, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 0 },
                )
                .unwrap();
            assert!(y[..before] == expected[..before], "{name} {storage:?}");
        }
    }
}

/// Sums of values that are no whole numbers: the orders of pattern and symmetric are the same, as is every number of threads.
#[test]
fn halves_change_no_bit_and_stay_near_the_sums_of_crs() {
    for (name, a) in matrices(|low, high| ((low * 3 + high) as f64 * 0.37).sin()) {
        let (rows, columns) = (a.graph().rows(), a.graph().columns());
        let x: Vec<f64> = (0..columns).map(|i| (i as f64 * 0.11).cos()).collect();
        let expected = product(&a, &x);
        for values in [Precision::F64, Precision::F32] {
            let results = [Format::Pattern, Format::Symmetric].map(|format| {
                let mut all = [1, 3].map(|threads| {
                    let space = Threads::new(threads).unwrap();
                    let (mut y, mut sums) = (vec![f64::NAN; rows], Reductions::new(&space, rows, 1).unwrap());
                    let matrix = stored(&space, &a, (format, values));
                    matrix
                        .operator()
                        .apply_dot_rows(
                            &space,
                            RowProduct { rows: 0..rows, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 0 },
                        )
                        .unwrap();
                    (y, sums.scalars.clone(), sums.partials.clone())
                });
                assert_eq!(all[0], all[1], "{name} {format} {values}");
                std::mem::take(&mut all[0])
            });
            assert_eq!(results[0], results[1], "{name} {values}");
            let tolerance = values.epsilon() * 60.0;
            let longest = a.graph().longest_row() as f64;
            for (y, expected) in results[0].0.iter().zip(&expected) {
                assert!((y - expected).abs() <= tolerance * longest.sqrt(), "{name} {values}: {y} {expected}");
            }
        }
    }
}

#[test]
fn slices_multiply_without_reading_y_or_writing_behind_it() {
    for (name, a) in
        matrices(whole).into_iter().filter(|(name, _)| ["box", "mixed", "some ghosts", "mixed blocks"].contains(name))
    {
        let rows = a.graph().rows();
        let x: Vec<f64> = (0..a.graph().columns()).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
        for symmetric in [false, true] {
            let mut slices = HostSlices::<f64>::new(&Serial, a.graph(), symmetric).unwrap();
            slices.update(&Serial, &a).unwrap();
            let (mut y, mut expected) = (vec![f64::NAN; rows + 1], vec![f64::NAN; rows + 1]);
            Serial.spmv(&a, &x, &mut expected).unwrap();
            slices.apply(&Serial, &mut x.clone(), &mut y).unwrap();
            assert!(y[..rows] == expected[..rows] && y[rows].is_nan(), "{name}");
            let short = slices.apply(&Serial, &mut x.clone()[1..], &mut vec![0.0; rows]).unwrap_err().to_string();
            assert!(short.contains("spmv: `x`"), "{short}");
        }
    }
}

/// What the formats promise to save: 8 and 4 bytes per entry of a box, columns not stored; irregular slices are listed.
#[test]
fn boxes_have_tables_and_halves_and_random_graphs_have_none() {
    let a = on(box_columns([40, 40, 40], 0), 64000, whole);
    let bytes = |storage| {
        let matrix = stored(&Serial, &a, storage);
        let bytes = matrix.operator().bytes();
        (bytes as f64 / 64000.0).round() as usize
    };
    let found = STORAGES.map(bytes);
    let blocks = on(of_unknowns(&box_columns([20, 20, 20], 0), 3), 24000, whole);
    let of_blocks = STORAGES.map(|storage| stored(&Serial, &blocks, storage).operator().bytes() / 24000);
    // 27 and 14 blocks of 3 x 3 values; rows at the faces have fewer entries, but not the tables.
    assert!(
        of_blocks[0] > 890 && (640..670).contains(&of_blocks[1]) && (325..350).contains(&of_blocks[2]),
        "{of_blocks:?}"
    );
    assert!((320..335).contains(&of_blocks[4]) && (168..182).contains(&of_blocks[5]), "{of_blocks:?}");
    assert_eq!(found[0], 332);
    assert!((217..=235).contains(&found[1]) && (122..=132).contains(&found[2]), "{found:?}");
    assert!((115..=126).contains(&found[4]) && (68..=76).contains(&found[5]), "{found:?}");
    let listed = |a: &CrsMatrix| irregular_rows(&Serial, a.graph()).unwrap();
    assert_eq!(listed(&a), 0);
    assert_eq!(listed(&on(random_columns(777, 4000), 777, whole)), 777);
    let mixed = matrices(whole).pop().unwrap().1;
    assert!((100..2000).contains(&listed(&mixed)), "{}", listed(&mixed));
}
