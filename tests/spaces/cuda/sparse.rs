//! Products with sparse matrices, by every number of lanes, and CG on them.

use super::{difference, gpu, wave};
use minifenl::blas::Reductions;
use minifenl::space::cuda::CudaMemory;
use minifenl::space::{Cuda, CudaArray, ExecutionSpace, Serial};
use minifenl::sparse::{
    CrsGraph, CrsMatrix, DeviceCrs, Format, Lanes, Operator, RowProduct, SlicedEll, Spmv, StoredValue,
};
use std::ops::Range;
use std::sync::Arc;

/// A matrix on rows of given columns.
pub fn matrix(rows: impl Iterator<Item = Vec<u32>>, columns: usize) -> CrsMatrix {
    let (mut row_map, mut entries) = (vec![0], vec![]);
    for row in rows {
        entries.extend(row);
        row_map.push(entries.len() as u64);
    }
    let values = (0..entries.len()).map(|i| (i as f64 * 0.37).sin() - 0.2).collect();
    CrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns).unwrap()), values).unwrap()
}

/// Row `i` has `length(i)` entries, spread over the columns.
pub fn spread(rows: usize, columns: usize, length: impl Fn(usize) -> usize) -> CrsMatrix {
    let row = |i: usize| {
        let length = length(i).min(columns);
        let step = columns.checked_div(length).unwrap_or(1);
        (0..length).map(|k| (k * step + i * 7 % step.max(1)) as u32).collect()
    };
    matrix((0..rows).map(row), columns)
}

/// The 27 neighbours of each point of a box.
pub fn neighbours([nx, ny, nz]: [usize; 3]) -> CrsMatrix {
    let near = |i: usize, n: usize| i.saturating_sub(1)..n.min(i + 2);
    let row = |i: usize| {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let mut row = Vec::new();
        for c in near(z, nz) {
            for b in near(y, ny) {
                row.extend(near(x, nx).map(|a| (a + nx * (b + ny * c)) as u32));
            }
        }
        row
    };
    matrix((0..nx * ny * nz).map(row), nx * ny * nz)
}

/// Shapes that find faults: nothing, one row, empty rows, short and long ones, a ragged end, more columns than rows.
pub fn zoo() -> Vec<CrsMatrix> {
    vec![
        spread(0, 0, |_| 0),
        spread(0, 5, |_| 0),
        spread(1, 1, |_| 1),
        spread(37, 40, |_| 0),
        spread(1000, 1013, |i| i % 4),
        spread(777, 901, |i| 1 + i * 31 % 300),
        spread(65, 5000, |i| if i % 9 == 4 { 5000 } else { 3 }),
        spread(33, 33, |_| 33),
        neighbours([7, 5, 6]),
        neighbours([32, 9, 4]),
        neighbours([21, 17, 13]),
    ]
}

/// The pattern of a matrix and of its transpose, within the rows, with equal values on both sides of the diagonal.
pub fn symmetric(a: &CrsMatrix) -> CrsMatrix {
    let (graph, rows) = (a.graph(), a.graph().rows());
    let mut columns: Vec<Vec<u32>> = (0..rows).map(|row| graph.row(row).to_vec()).collect();
    for row in 0..rows {
        graph
            .row(row)
            .iter()
            .filter(|&&column| (column as usize) < rows)
            .for_each(|&c| columns[c as usize].push(row as u32));
    }
    columns.iter_mut().for_each(|row| {
        row.sort_unstable();
        row.dedup();
    });
    let mut made = matrix(columns.into_iter(), graph.columns());
    let graph = made.graph().clone();
    for row in 0..rows {
        for (entry, &column) in graph.row_range(row).zip(graph.row(row)) {
            let (low, high) = (row.min(column as usize), row.max(column as usize));
            made.parts_mut().1[entry] = ((low * 31 + high * 17) as f64 * 0.37).sin() - 0.2;
        }
    }
    made
}

pub fn single(a: &CrsMatrix) -> CrsMatrix<f32> {
    let mut single = CrsMatrix::zero(a.graph().clone());
    let (_, values) = single.parts_mut();
    values.iter_mut().zip(a.values()).for_each(|(single, &value)| *single = value as f32);
    single
}

fn by_lanes<V: StoredValue>(space: &Cuda, a: &CrsMatrix<V>) {
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let (x, there) = (wave(columns.max(rows), 0.31), a.upload(space).unwrap());
    let x_there = space.upload(&x).unwrap();
    let mut expected = vec![f64::NAN; rows];
    Serial.spmv(a, &x, &mut expected).unwrap();
    let product = |lanes| {
        // Nothing of y is read.
        let mut y = space.upload(&vec![f64::NAN; rows]).unwrap();
        match lanes {
            Some(lanes) => space.spmv_lanes(lanes, &there, &x_there, &mut y).unwrap(),
            None => space.spmv(&there, &x_there, &mut y).unwrap(),
        }
        space.download(&y).unwrap()
    };
    for lanes in Lanes::ALL.into_iter().map(|(lanes, _)| Some(lanes)).chain([None]) {
        let found = product(lanes);
        let difference = difference(&found, &expected);
        assert!(difference < 1e-13, "{rows} rows, {lanes:?}: {difference}");
        assert_eq!(found, product(lanes), "{lanes:?}: not the same bits twice");
    }
}

#[test]
fn products_agree_with_serial_for_every_number_of_lanes() {
    let Some(space) = gpu("products_agree_with_serial_for_every_number_of_lanes") else { return };
    for a in zoo() {
        by_lanes(&space, &a);
        by_lanes(&space, &single(&a));
    }
}

/// A product with its dot over a range of rows.
type Dot<'a> = &'a mut dyn FnMut(Range<usize>, &CudaArray<f64>, &mut CudaArray<f64>, &mut Reductions<Cuda>);

/// Compares y and x.y with the host's, whole and in two parts, and a stopped product with none.
fn dots(space: &Cuda, a: &CrsMatrix, block: usize, product: Dot<'_>) {
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let x = wave(columns.max(rows), 0.31);
    let (mut y, mut sums) = (vec![0.0; rows], Reductions::new(&Serial, rows, SLOT + 1).unwrap());
    Serial
        .spmv_dot(a, RowProduct { rows: 0..rows, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: SLOT })
        .unwrap();
    let (dot, x_there) = (sums.scalars[SLOT], space.upload(&x).unwrap());
    let mut run = |stop: f64, bounds: &[usize]| {
        let mut y = space.upload(&vec![f64::NAN; rows]).unwrap();
        let mut sums = Reductions::new(space, rows, SLOT + 1).unwrap();
        sums.scalars = space.upload(&[stop, f64::NAN, f64::NAN]).unwrap();
        sums.stop = Some(0);
        bounds.windows(2).for_each(|ends| product(ends[0]..ends[1], &x_there, &mut y, &mut sums));
        (space.download(&y).unwrap(), space.download(&sums.scalars).unwrap()[SLOT])
    };
    let scale = y.iter().zip(&x).map(|(y, x)| (y * x).abs()).sum::<f64>().max(f64::MIN_POSITIVE);
    let split = (rows / 2).next_multiple_of(block).min(rows);
    let (once, again) = (run(0.0, &[0, rows]), run(0.0, &[0, rows]));
    let parts = run(0.0, &[0, split, rows]);
    for (found, found_dot) in [&once, &again, &parts] {
        let difference = difference(found, &y);
        assert!(difference < 1e-13, "{rows} rows: {difference}");
        assert!((found_dot - dot).abs() <= 1e-13 * scale, "{rows} rows: {found_dot}, {dot}");
    }
    assert_eq!(once.1.to_bits(), again.1.to_bits(), "{rows} rows: not the same bits twice");
    let stopped = run(1.0, &[0, rows]);
    assert!(stopped.0.iter().all(|y| y.is_nan()) && stopped.1.is_nan());
}

/// Formats of any matrix.
const WHOLE: [Format; 2] = [Format::Crs, Format::Pattern];
/// Slot of the dot.
const SLOT: usize = 2;

#[test]
fn products_with_dots_agree_with_serial() {
    let Some(space) = gpu("products_with_dots_agree_with_serial") else { return };
    for a in zoo() {
        let there = a.upload(&space).unwrap();
        for (lanes, _) in Lanes::ALL {
            dots(&space, &a, 1, &mut |rows, x, y, sums| {
                space
                    .spmv_dot_lanes(lanes, &there, RowProduct { rows, exchange: None, x, y, sums, slot: SLOT })
                    .unwrap();
            });
        }
    }
}

/// A copy of a matrix in a format.
pub fn stored<V: StoredValue>(space: &Cuda, format: Format, a: &CrsMatrix<V, CudaMemory>) -> Box<dyn Operator<Cuda>> {
    if format == Format::Crs {
        return Box::new(DeviceCrs::from(a.try_clone().unwrap()));
    }
    let mut slices = SlicedEll::<V>::new(space, format == Format::Symmetric, a.graph()).unwrap();
    slices.update(space, a).unwrap();
    Box::new(slices)
}

/// y = A x in a format.
pub fn spmv<V: StoredValue>(
    space: &Cuda,
    format: Format,
    a: &CrsMatrix<V, CudaMemory>,
    x: &CudaArray<f64>,
    y: &mut CudaArray<f64>,
) {
    if format == Format::Crs {
        return space.spmv(a, x, y).unwrap();
    }
    let mut slices = SlicedEll::<V>::new(space, format == Format::Symmetric, a.graph()).unwrap();
    slices.update(space, a).unwrap();
    slices.spmv(space, x, y).unwrap();
}

fn by_formats<V: StoredValue>(space: &Cuda, a: &CrsMatrix<V>, formats: &[Format]) {
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let (x, there) = (wave(columns.max(rows), 0.31), a.upload(space).unwrap());
    let x_there = space.upload(&x).unwrap();
    for &format in formats {
        let name = format!("{format}");
        let stored = stored(space, format, &there);
        let share = if format == Format::Symmetric { 2 } else { 1 };
        assert!(stored.bytes() >= 8 * (rows + columns) + size_of::<V>() * a.graph().nnz() / share);
        let mut expected = vec![f64::NAN; rows];
        Serial.spmv(a, &x, &mut expected).unwrap();
        let product = || {
            let mut y = space.upload(&vec![f64::NAN; rows]).unwrap();
            spmv(space, format, &there, &x_there, &mut y);
            space.download(&y).unwrap()
        };
        let found = product();
        let difference = difference(&found, &expected);
        assert!(difference < 1e-13, "{rows} rows, {name}: {difference}");
        assert_eq!(found, product(), "{name}: not the same bits twice");
    }
}

#[test]
fn products_agree_with_serial_in_every_format() {
    let Some(space) = gpu("products_agree_with_serial_in_every_format") else { return };
    for a in zoo() {
        let halves = symmetric(&a);
        by_formats(&space, &a, &WHOLE);
        by_formats(&space, &single(&a), &WHOLE);
        by_formats(&space, &halves, &[Format::Pattern, Format::Symmetric]);
        by_formats(&space, &single(&halves), &[Format::Symmetric]);
        for (format, a) in WHOLE.map(|format| (format, &a)).into_iter().chain([(Format::Symmetric, &halves)]) {
            let there = a.upload(&space).unwrap();
            let stored = stored(&space, format, &there);
            dots(&space, a, 32, &mut |rows, x, y, sums| {
                stored.apply_dot_rows(&space, RowProduct { rows, exchange: None, x, y, sums, slot: SLOT }).unwrap();
            });
        }
        let there = a.upload(&space).unwrap();
        let rounded = space.single(&there).unwrap();
        assert_eq!(&space.download(rounded.values()).unwrap(), single(&a).values());
    }
}

#[test]
fn offset_patterns_are_found_and_shared() {
    let Some(space) = gpu("offset_patterns_are_found_and_shared") else { return };
    let slices = |a: &CrsMatrix, format| {
        let there = a.upload(&space).unwrap();
        SlicedEll::<f64>::new(&space, format == Format::Symmetric, there.graph()).unwrap()
    };
    let a = neighbours([64, 9, 8]);
    let pattern = slices(&a, Format::Pattern);
    assert_eq!(pattern.entries().1, 0, "all in tables");
    let vectors = 2 * 8 * a.graph().rows();
    assert!(pattern.bytes() < vectors + 8 * pattern.entries().0 + 64 * 9 * 8 + 2 * 27 * 27 * 4, "tables are shared");
    let spread = spread(777, 901, |i| 1 + i * 31 % 300);
    let (entries, listed) = slices(&spread, Format::Pattern).entries();
    assert_eq!(entries, listed, "all listed");
    let (one, other) = (a.upload(&space).unwrap(), a.upload(&space).unwrap());
    let mut slices = SlicedEll::<f64>::new(&space, false, one.graph()).unwrap();
    assert!(slices.update(&space, &other).unwrap_err().to_string().contains("another graph"));
}

#[test]
fn lanes_are_chosen_by_the_matrix() {
    assert_eq!(Lanes::of(27.0), Lanes::Eight);
    assert_eq!(Lanes::of(0.0), Lanes::One);
    assert_eq!(Lanes::of(300.0), Lanes::Warp);
    assert_eq!("16".parse::<Lanes>().unwrap().count(), 16);
    let Some(space) = gpu("lanes_are_chosen_by_the_matrix") else { return };
    let a = neighbours([21, 17, 13]).upload(&space).unwrap();
    let x = space.zeros(a.graph().columns()).unwrap();
    assert!(space.spmv(&a, &x, &mut space.zeros(3).unwrap()).unwrap_err().to_string().contains("`y`"));
}
