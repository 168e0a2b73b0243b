//! Products with sparse matrices, by every number of lanes, and CG on them.

use super::{difference, gpu, wave};
use minifenl::blas::{Blas, cg_slot};
use minifenl::space::{Cuda, ExecutionSpace, Serial};
use minifenl::sparse::{CrsGraph, CrsMatrix, DeviceValue, Format, Lanes, ProductDot, SlicedEll, Spmv, Storage};
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
fn spread(rows: usize, columns: usize, length: impl Fn(usize) -> usize) -> CrsMatrix {
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
fn zoo() -> Vec<CrsMatrix> {
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

pub fn single(a: &CrsMatrix) -> CrsMatrix<f32> {
    let mut single = CrsMatrix::zero(a.graph().clone());
    let (_, values) = single.parts_mut();
    values.iter_mut().zip(a.values()).for_each(|(single, &value)| *single = value as f32);
    single
}

const CASES: [(f64, f64); 6] = [(1.0, 0.0), (0.0, 0.0), (-2.5, 0.0), (1.0, 1.0), (1.0, -0.5), (0.7, 1.3)];

/// What y holds before: nothing that may be read where beta is 0.
fn before(rows: usize, beta: f64) -> Vec<f64> {
    if beta == 0.0 { vec![f64::NAN; rows] } else { wave(rows, 0.9) }
}

fn by_lanes<V: DeviceValue>(space: &Cuda, a: &CrsMatrix<V>) {
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let (x, there) = (wave(columns.max(rows), 0.31), a.upload(space).unwrap());
    let x_there = space.upload(&x).unwrap();
    for (alpha, beta) in CASES {
        let mut expected = before(rows, beta);
        Serial.spmv(alpha, a, &x, beta, &mut expected).unwrap();
        let product = |lanes| {
            let mut y = space.upload(&before(rows, beta)).unwrap();
            match lanes {
                Some(lanes) => space.spmv_lanes(lanes, alpha, &there, &x_there, beta, &mut y).unwrap(),
                None => space.spmv(alpha, &there, &x_there, beta, &mut y).unwrap(),
            }
            space.download(&y).unwrap()
        };
        for lanes in Lanes::ALL.into_iter().map(|(lanes, _)| Some(lanes)).chain([None]) {
            let found = product(lanes);
            let difference = difference(&found, &expected);
            assert!(difference < 1e-13, "{rows} rows, {lanes:?}, {alpha}, {beta}: {difference}");
            assert_eq!(found, product(lanes), "{lanes:?}: not the same bits twice");
        }
    }
}

#[test]
fn products_by_every_number_of_lanes() {
    let Some(space) = gpu("products_by_every_number_of_lanes") else { return };
    for a in zoo() {
        by_lanes(&space, &a);
        by_lanes(&space, &single(&a));
    }
}

/// y and x.y of a product in parts, and what a set state leaves.
fn dots(space: &Cuda, a: &CrsMatrix, block: usize, mut product: impl FnMut(ProductDot<'_>)) {
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let x = wave(columns.max(rows), 0.31);
    let (mut y, mut partials, mut scalars) = (vec![0.0; rows], vec![0.0; rows + 1], vec![0.0; cg_slot::LEN]);
    Serial.spmv_dot(a, 0..rows, &x, &mut y, &mut partials, cg_slot::PQ, &mut scalars).unwrap();
    let fresh = |state: f64| {
        let mut scalars = vec![f64::NAN; cg_slot::LEN];
        scalars[cg_slot::STATE] = state;
        Vectors {
            x: space.upload(&x).unwrap(),
            y: space.upload(&vec![f64::NAN; rows]).unwrap(),
            partials: space.zeros(Cuda::partials_len(rows)).unwrap(),
            scalars: space.upload(&scalars).unwrap(),
        }
    };
    let scale = y.iter().zip(&x).map(|(y, x)| (y * x).abs()).sum::<f64>().max(f64::MIN_POSITIVE);
    let mut once = fresh(0.0);
    product(once.over(0..rows));
    let mut again = fresh(0.0);
    product(again.over(0..rows));
    let mut parts = fresh(0.0);
    let split = (rows / 2).next_multiple_of(block).min(rows);
    product(parts.over(0..split));
    product(parts.over(split..rows));
    for found in [&once, &again, &parts] {
        let difference = difference(&space.download(&found.y).unwrap(), &y);
        assert!(difference < 1e-13, "{rows} rows: {difference}");
        let dot = space.download(&found.scalars).unwrap()[cg_slot::PQ];
        assert!((dot - scalars[cg_slot::PQ]).abs() <= 1e-13 * scale, "{rows} rows: {dot}, {}", scalars[cg_slot::PQ]);
    }
    let bits = |vectors: &Vectors| space.download(&vectors.scalars).unwrap()[cg_slot::PQ].to_bits();
    assert_eq!(bits(&once), bits(&again), "{rows} rows: not the same bits twice");
    let mut stopped = fresh(1.0);
    product(stopped.over(0..rows));
    assert!(space.download(&stopped.y).unwrap().iter().all(|y| y.is_nan()));
    assert!(space.download(&stopped.scalars).unwrap()[cg_slot::PQ].is_nan());
}

struct Vectors {
    x: minifenl::space::CudaArray<f64>,
    y: minifenl::space::CudaArray<f64>,
    partials: minifenl::space::CudaArray<f64>,
    scalars: minifenl::space::CudaArray<f64>,
}

impl Vectors {
    fn over(&mut self, rows: std::ops::Range<usize>) -> ProductDot<'_> {
        let Self { x, y, partials, scalars } = self;
        ProductDot { rows, x, y, partials, slot: cg_slot::PQ, scalars }
    }
}

#[test]
fn products_with_dots() {
    let Some(space) = gpu("products_with_dots") else { return };
    for a in zoo() {
        let there = a.upload(&space).unwrap();
        for (lanes, _) in Lanes::ALL {
            dots(&space, &a, 1, |dot| space.spmv_dot_lanes(lanes, &there, dot).unwrap());
        }
    }
}

fn by_formats<V: DeviceValue>(space: &Cuda, a: &CrsMatrix<V>) {
    let (rows, columns) = (a.graph().rows(), a.graph().columns());
    let (x, there) = (wave(columns.max(rows), 0.31), a.upload(space).unwrap());
    let x_there = space.upload(&x).unwrap();
    for (format, name) in Format::ALL {
        let mut storage = Storage::new(space, format, there.graph()).unwrap();
        storage.update(space, &there).unwrap();
        let stored = storage.view(&there);
        assert!(stored.bytes() >= 8 * (rows + columns) + size_of::<V>() * a.graph().nnz());
        for (alpha, beta) in CASES {
            let mut expected = before(rows, beta);
            Serial.spmv(alpha, a, &x, beta, &mut expected).unwrap();
            let product = || {
                let mut y = space.upload(&before(rows, beta)).unwrap();
                stored.spmv(space, alpha, &x_there, beta, &mut y).unwrap();
                space.download(&y).unwrap()
            };
            let found = product();
            let difference = difference(&found, &expected);
            assert!(difference < 1e-13, "{rows} rows, {name}, {alpha}, {beta}: {difference}");
            assert_eq!(found, product(), "{name}: not the same bits twice");
        }
    }
}

#[test]
fn products_by_every_format() {
    let Some(space) = gpu("products_by_every_format") else { return };
    for a in zoo() {
        by_formats(&space, &a);
        by_formats(&space, &single(&a));
        let there = a.upload(&space).unwrap();
        for (format, _) in Format::ALL {
            let mut storage = Storage::new(&space, format, there.graph()).unwrap();
            storage.update(&space, &there).unwrap();
            dots(&space, &a, 32, |dot| storage.view(&there).spmv_dot(&space, dot).unwrap());
        }
        let rounded = space.single(&there).unwrap();
        assert_eq!(&space.download(rounded.values()).unwrap(), single(&a).values());
    }
}

#[test]
fn patterns_are_found_and_shared() {
    let Some(space) = gpu("patterns_are_found_and_shared") else { return };
    let slices = |a: &CrsMatrix, format| {
        let there = a.upload(&space).unwrap();
        SlicedEll::<f64>::new(&space, format, there.graph()).unwrap()
    };
    let a = neighbours([64, 9, 8]);
    let (pattern, sell) = (slices(&a, Format::Pattern), slices(&a, Format::Sell));
    assert_eq!((pattern.entries().1, sell.entries().1), (0, sell.entries().0), "all in tables, all listed");
    assert!(pattern.bytes() < 8 * pattern.entries().0 + 64 * 9 * 8 + 2 * 27 * 27 * 4, "tables are shared");
    let spread = spread(777, 901, |i| 1 + i * 31 % 300);
    assert_eq!(slices(&spread, Format::Pattern).entries(), slices(&spread, Format::Sell).entries());
    let (one, other) = (a.upload(&space).unwrap(), a.upload(&space).unwrap());
    let mut storage = Storage::new(&space, Format::Pattern, one.graph()).unwrap();
    assert!(storage.update(&space, &other).unwrap_err().to_string().contains("another graph"));
}

#[test]
fn lanes_are_chosen() {
    assert_eq!(Lanes::of(27.0), Lanes::Eight);
    assert_eq!(Lanes::of(0.0), Lanes::One);
    assert_eq!(Lanes::of(300.0), Lanes::Warp);
    assert_eq!("16".parse::<Lanes>().unwrap().count(), 16);
    let Some(space) = gpu("lanes_are_chosen") else { return };
    let a = neighbours([21, 17, 13]).upload(&space).unwrap();
    let (x, mut y) = (space.zeros(a.graph().columns()).unwrap(), space.zeros(a.graph().rows()).unwrap());
    assert!(space.fastest_lanes(&a, &x, &mut y).unwrap().count() <= 32);
    assert!(space.spmv(1.0, &a, &x, 0.0, &mut space.zeros(3).unwrap()).unwrap_err().to_string().contains("`y`"));
}
