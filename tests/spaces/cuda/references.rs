//! Operations of the GPU against plain loops that are written here: no code of the library computes an expected value.
//!
//! Values are whole numbers, so that sums have the same bits in every order; what must not be read is NaN.

use super::gpu;
use minifenl::blas::{Blas, Reductions};
use minifenl::fill::{CudaFill, Dirichlet, ElementMatrices, Strategy as FillStrategy};
use minifenl::graph::{self, Positions, Strategy};
use minifenl::mesh::ElemNode;
use minifenl::solve::{CgDirection, CgSlot, CgStep, CgSteps};
use minifenl::space::{Cuda, CudaArray, ExecutionSpace};
use minifenl::sparse::{CrsGraph, CrsMatrix, Format, Lanes, RowProduct, Spmv};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whole numbers from -8 to 8 without a short period.
fn whole(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * k + i / 4096) % 17) as f64 - 8.0).collect()
}

/// Graphs and fills of a table of elements with `NN` nodes, against a map of all pairs.
fn check<const NN: usize>(space: &Cuda, name: &str, nodes: Vec<u32>, rows: usize) {
    let count = nodes.iter().max().map_or(0, |&node| node as usize + 1).max(rows);
    let elem_node = ElemNode::new(nodes, NN, count).unwrap();
    let elems = elem_node.elem_count();
    let term = |elem: usize, i: usize, j: usize| ((elem * 31 + i * 7 + j * 3) % 17) as f64 - 8.0;
    let (mut pairs, mut expected_residual) = (BTreeMap::new(), vec![0.0; rows]);
    for (elem, nodes) in elem_node.iter().enumerate() {
        for (i, &row) in nodes.iter().enumerate().filter(|(_, row)| (**row as usize) < rows) {
            expected_residual[row as usize] += term(elem, i, NN);
            for (j, &column) in nodes.iter().enumerate() {
                *pairs.entry((row, column)).or_insert(0.0) += term(elem, i, j);
            }
        }
    }
    let mut row_map = vec![0u64; rows + 1];
    pairs.keys().for_each(|&(row, _)| row_map[row as usize + 1] += 1);
    let longest = row_map.iter().copied().max().unwrap_or(0);
    (0..rows).for_each(|row| row_map[row + 1] += row_map[row]);
    let columns: Vec<u32> = pairs.keys().map(|&(_, column)| column).collect();
    let expected: Vec<f64> = pairs.into_values().collect();

    let (mut matrices, mut residuals) = (vec![], vec![]);
    for i in 0..NN {
        residuals.extend((0..elems).map(|e| term(e, i, NN)));
        (0..NN).for_each(|j| matrices.extend((0..elems).map(|e| term(e, i, j))));
    }
    let (matrices, residuals) = (space.upload(&matrices).unwrap(), space.upload(&residuals).unwrap());
    let table = elem_node.upload(space).unwrap();
    for strategy in [Strategy::Gather, Strategy::Map, Strategy::Sort] {
        let found = graph::build(space, &table, rows, strategy).unwrap();
        assert!(space.download(found.crs.row_map()).unwrap() == row_map, "{name}, {strategy:?}: other row_map");
        assert!(space.download(found.crs.entries()).unwrap() == columns, "{name}, {strategy:?}: other entries");
        let bytes = match found.elem.positions() {
            Positions::U8(_) => 1,
            Positions::U16(_) => 2,
            Positions::U32(_) => 4,
        };
        let needed = if longest < 256 { 1 } else { 4 - 2 * usize::from(longest < 65_536) };
        assert_eq!(bytes, needed, "{name}, {strategy:?}: rows of up to {longest} entries");
        for (fill_strategy, fill_name) in FillStrategy::on_gpu() {
            let mut fill = CudaFill::new(space, fill_strategy, &found).unwrap();
            let mut matrix = CrsMatrix::zeros_on(space, found.crs.clone()).unwrap();
            *matrix.parts_mut().1 = space.upload(&vec![f64::NAN; expected.len()]).unwrap();
            let mut residual = space.upload(&vec![f64::NAN; rows]).unwrap();
            let elements = ElementMatrices { matrices: &matrices, residuals: &residuals, symmetric: false };
            fill.assemble_matrices(space, elements, &mut matrix, &mut residual).unwrap();
            let same = space.download(matrix.values()).unwrap() == expected
                && space.download(&residual).unwrap() == expected_residual;
            assert!(same, "{name}, {strategy:?}, {fill_name}: other sums");
        }
    }
}

fn fan(triangles: u32) -> impl Iterator<Item = u32> {
    (0..triangles).flat_map(|e| [0, 2 * e + 1, 2 * e + 2])
}

#[test]
fn rows_of_every_width_equal_their_definition() {
    let Some(space) = gpu("rows_of_every_width_equal_their_definition") else { return };
    for entries in [255, 256, 257, 65_535, 65_536, 65_537u32] {
        let star = (1..entries).flat_map(|ray| [ray, 0]).collect();
        check::<2>(&space, &format!("row of {entries}"), star, entries as usize);
        if entries % 2 == 1 {
            check::<3>(&space, &format!("fan, row of {entries}"), fan(entries / 2).collect(), entries as usize);
        }
    }
}

#[test]
fn no_pair_is_lost_when_the_map_grows_on_a_gpu() {
    let Some(space) = gpu("no_pair_is_lost_when_the_map_grows_on_a_gpu") else { return };
    let strip = |count: u32| (1200..1200 + count).flat_map(|e| [e, e + 1, e + 2]);
    check::<3>(&space, "fan and strip", fan(600).chain(strip(2000)).collect(), 3202);
    check::<3>(&space, "fan and long strip", fan(600).chain(strip(100_000)).collect(), 101_202);
    let ring = (0..9000u32).flat_map(|e| [e, (e + 1) % 9000, (e + 4096) % 9000]).collect();
    check::<3>(&space, "ring", ring, 8999);
}

/// Rows of 0 to 9 entries, one of 700, more columns than rows: (row, column, value).
fn triples(rows: usize) -> Vec<(usize, usize, f64)> {
    let row = |row: usize| {
        let (count, first) = if row == 4095 { (700, 0) } else { (row % 10, row * 13 % 8000) };
        (0..count).map(move |k| (row, first + 11 * k, ((row * 7 + k * 5) % 19) as f64 - 9.0))
    };
    (0..rows).flat_map(row).collect()
}

fn matrix(rows: usize, columns: usize, triples: &[(usize, usize, f64)]) -> CrsMatrix {
    let mut row_map = vec![0u64; rows + 1];
    triples.iter().for_each(|&(row, ..)| row_map[row + 1] += 1);
    (0..rows).for_each(|row| row_map[row + 1] += row_map[row]);
    let graph = CrsGraph::new(row_map, triples.iter().map(|t| t.1 as u32).collect(), columns).unwrap();
    CrsMatrix::new(Arc::new(graph), triples.iter().map(|t| t.2).collect()).unwrap()
}

#[test]
fn products_equal_plain_sums() {
    const ROWS: usize = 9000;
    const COLUMNS: usize = ROWS + 33;
    let Some(space) = gpu("products_equal_plain_sums") else { return };
    let triples = triples(ROWS);
    let x: Vec<f64> = (0..COLUMNS).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
    let mut product = vec![0.0; ROWS];
    triples.iter().for_each(|&(row, column, value)| product[row] += value * x[column]);
    let dot: f64 = product.iter().zip(&x).map(|(y, x)| y * x).sum();
    let (there, x) = (matrix(ROWS, COLUMNS, &triples).upload(&space).unwrap(), space.upload(&x).unwrap());
    // Nothing of y is read, and nothing written behind the rows.
    let before: Vec<f64> = (0..ROWS).map(|_| f64::NAN).chain([7.5]).collect();
    let expected = [&product[..], &[7.5]].concat();
    for (lanes, lanes_name) in Lanes::ALL {
        let mut y = space.upload(&before).unwrap();
        space.spmv_lanes(lanes, &there, &x, &mut y).unwrap();
        assert!(space.download(&y).unwrap() == expected, "{lanes_name} lanes");
    }
    // The matrix is not symmetric.
    for (format, name) in Format::ALL.into_iter().filter(|&(format, _)| format != Format::Symmetric) {
        let mut y = space.upload(&before).unwrap();
        super::sparse::spmv(&space, format, &there, &x, &mut y);
        assert!(space.download(&y).unwrap() == expected, "{name}");
    }
    let mut sums = Reductions::new(&space, ROWS, 2).unwrap();
    let mut y = space.upload(&vec![f64::NAN; ROWS]).unwrap();
    space
        .spmv_dot(&there, RowProduct { rows: 0..ROWS, exchange: None, x: &x, y: &mut y, sums: &mut sums, slot: 1 })
        .unwrap();
    assert!(space.download(&y).unwrap() == product);
    assert_eq!(space.download(&sums.scalars).unwrap(), [0.0, dot]);
}

#[test]
fn boundary_conditions_equal_their_definition() {
    const ROWS: usize = 9000;
    const COLUMNS: usize = ROWS + 50;
    let Some(space) = gpu("boundary_conditions_equal_their_definition") else { return };
    let tall = CrsGraph::new(vec![0, 1, 1, 1], vec![0], 1).unwrap().upload(&space).unwrap();
    assert!(Dirichlet::new(&space, &tall, &space.upload(&[1]).unwrap()).is_err(), "rows without a column");
    let row = |row: usize| {
        let mut columns = vec![row, (row + 1) % ROWS, (row * 7 + 3) % ROWS, ROWS + row % 50];
        columns.sort_unstable();
        columns.dedup();
        columns.into_iter().map(move |column| (row, column, 1.0 + (row * 5 + column) as f64))
    };
    let triples: Vec<_> = (0..ROWS).flat_map(row).collect();
    let every_third = (0..COLUMNS).map(|node| u8::from(node % 3 == 0)).collect();
    let at_ends = (0..COLUMNS).map(|node| u8::from([4095, 4096, 8191, 8192, 8999].contains(&node))).collect();
    let ghosts = (0..COLUMNS).map(|node| u8::from(node >= ROWS)).collect();
    for fixed in [every_third, at_ends, ghosts, vec![1; COLUMNS], vec![0; COLUMNS]] {
        let cleared = |row: usize, column: usize| column != row && (fixed[row] != 0 || fixed[column] != 0);
        let expected: Vec<f64> = triples.iter().map(|&(r, c, value)| if cleared(r, c) { 0.0 } else { value }).collect();
        let mut found = matrix(ROWS, COLUMNS, &triples).upload(&space).unwrap();
        let mut residual = space.upload(&vec![3.0; ROWS]).unwrap();
        let conditions = Dirichlet::new(&space, found.graph(), &space.upload(&fixed).unwrap()).unwrap();
        conditions.apply(&space, &mut found, &mut residual).unwrap();
        assert!(space.download(found.values()).unwrap() == expected);
        let residual = space.download(&residual).unwrap();
        assert!((0..ROWS).all(|row| residual[row] == if fixed[row] != 0 { 0.0 } else { 3.0 }));
        let entries = triples.iter().filter(|&&(row, column, _)| cleared(row, column)).count();
        assert_eq!(conditions.len(), entries + fixed[..ROWS].iter().filter(|&&fixed| fixed != 0).count());
    }
}

#[test]
fn vector_operations_and_cg_steps_equal_plain_loops() {
    let Some(space) = gpu("vector_operations_and_cg_steps_equal_plain_loops") else { return };
    for n in [1, 4095, 4097, 9426, 1_000_003] {
        let [p, q, x, r, z] = [3, 5, 7, 11, 13].map(|k| whole(n, k));
        let there = |x: &[f64]| space.upload(&[x, &[f64::NAN; 3]].concat()).unwrap();
        let back = |x: &CudaArray<f64>| {
            let mut x = space.download(x).unwrap();
            assert!(x.split_off(n).iter().all(|x| x.is_nan()), "written behind the items");
            x
        };
        let (there_p, there_q, there_z) = (there(&p), there(&q), there(&z));
        let mut sums = Reductions::new(&space, n, CgSlot::LEN).unwrap();
        space.dot(n, &there_p, &there_q, &mut sums, CgSlot::PQ).unwrap();
        let dot: f64 = p.iter().zip(&q).map(|(p, q)| p * q).sum();
        assert_eq!(space.download(&sums.scalars).unwrap()[CgSlot::PQ], dot, "n = {n}");
        let mut w = there(&vec![f64::NAN; n]);
        space.axpby(n, 2.0, &there_p, -0.5, &there_q, &mut w).unwrap();
        space.axpy(n, -3.0, &there_z, &mut w).unwrap();
        assert!(back(&w).iter().enumerate().all(|(i, &w)| w == 2.0 * p[i] - 0.5 * q[i] - 3.0 * z[i]), "n = {n}");
        let largest = z.iter().fold(0.0f64, |max, z| max.max(z.abs()));
        assert_eq!(space.max_abs(n, &there_z, &mut sums.partials).unwrap(), largest, "n = {n}");

        // A solve in mid-iteration: r.z = 24, p.q = 8, then beta = 12 / 24.
        let mut scalars = vec![0.0; CgSlot::LEN];
        (scalars[CgSlot::RZ[0]], scalars[CgSlot::RZ[1]], scalars[CgSlot::RR[0]]) = (24.0, 12.0, 5.0);
        (scalars[CgSlot::PQ], scalars[CgSlot::LIMIT], scalars[CgSlot::RHS]) = (8.0, 9.0, 1.0);
        scalars[CgSlot::TARGET] = -1.0;
        sums.scalars = space.upload(&scalars).unwrap();
        let (mut there_x, mut there_r) = (there(&x), there(&r));
        let (rz, rr) = (CgSlot::RZ[0], CgSlot::RR[1]);
        let step = CgStep { rz, rr, p: &there_p, q: &there_q, x: &mut there_x, r: &mut there_r };
        space.cg_step(n, step, &mut sums).unwrap();
        let (found_x, found_r) = (back(&there_x), back(&there_r));
        assert!((0..n).all(|i| found_x[i] == x[i] + 3.0 * p[i] && found_r[i] == r[i] - 3.0 * q[i]), "n = {n}");
        let square = found_r.iter().map(|r| r * r).sum::<f64>();
        assert_eq!(space.download(&sums.scalars).unwrap()[rr], square, "n = {n}");
        let mut direction = there(&p);
        let turn = CgDirection { rr, top: CgSlot::RZ[1], bottom: rz, z: &there_z, p: &mut direction };
        space.cg_direction(n, turn, &mut sums).unwrap();
        assert!(back(&direction).iter().enumerate().all(|(i, &d)| d == z[i] + 0.5 * p[i]), "n = {n}");
    }
}
