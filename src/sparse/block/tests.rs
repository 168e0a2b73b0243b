//! Block matrices against the plain sum over blocks, and against the same matrix in single values.

use super::*;
use crate::blas::Reductions;
use crate::space::{Serial, Threads};
use crate::sparse::{DofOrder, Product, Spmv};

/// Whole numbers, so that every order of summation gives the same bits: rows of 0 to 6 blocks, more columns than rows.
fn graph(rows: usize, columns: usize) -> Arc<CrsGraph> {
    let (mut row_map, mut entries) = (vec![0], vec![]);
    for row in 0..rows {
        entries.extend((0..row % 7).map(|k| ((row * 3 % 100) + k * (columns / 9)) as u32));
        row_map.push(entries.len() as u64);
    }
    Arc::new(CrsGraph::new(row_map, entries, columns).unwrap())
}

fn matrix<const B: usize>(rows: usize, columns: usize) -> BlockCrsMatrix<B> {
    let graph = graph(rows, columns);
    let values = (0..B * B * graph.nnz()).map(|i| (i * 7 % 23) as f64 - 11.0).collect();
    BlockCrsMatrix::new(graph, values).unwrap()
}

fn check<const B: usize>() {
    const ROWS: usize = 5000;
    const COLUMNS: usize = ROWS + 40;
    let matrix = matrix::<B>(ROWS, COLUMNS);
    let x: Vec<f64> = (0..B * COLUMNS).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
    let mut expected = vec![0.0; B * ROWS];
    for row in 0..ROWS {
        for &column in matrix.graph().row(row) {
            let block = matrix.block(row, column).unwrap();
            for (c, d) in (0..B).flat_map(|c| (0..B).map(move |d| (c, d))) {
                expected[B * row + c] += block[c][d] * x[B * column as usize + d];
            }
        }
    }
    let dot: f64 = expected.iter().zip(&x).map(|(y, x)| y * x).sum();
    for threads in [1, 3] {
        let space = Threads::new(threads).unwrap();
        let mut y = vec![f64::NAN; B * ROWS];
        (&matrix).multiply(&space, &x, &mut y).unwrap();
        assert!(y == expected, "{B} dofs, {threads} threads");
        let (all, block) = (B * ROWS, <&BlockCrsMatrix<B> as Product<Threads>>::ROW_BLOCK);
        assert!(block >= 4096 && block % B == 0);
        for bounds in [vec![0, all], vec![0, block, all], vec![0, 0, block, all]] {
            let (mut y, mut sums) = (vec![f64::NAN; all], Reductions::new(&space, all, 2).unwrap());
            sums.partials.fill(f64::NAN);
            for ends in bounds.windows(2) {
                (&matrix).multiply_dot(&space, ends[0]..ends[1], &x, &mut y, &mut sums, 1).unwrap();
            }
            assert!(y == expected && sums.scalars == [0.0, dot], "{B} dofs, {bounds:?}, {threads} threads");
        }
        for order in [DofOrder::Interleaved, DofOrder::ByField] {
            let dofs = DofMap::new(B, ROWS, COLUMNS, order).unwrap();
            let graph = Arc::new(dofs.expand(&space, matrix.graph()).unwrap());
            let single = matrix.expand(&space, &dofs, &graph).unwrap();
            let (mut px, mut py) = (vec![0.0; x.len()], vec![f64::NAN; all]);
            (0..COLUMNS).for_each(|node| (0..B).for_each(|c| px[dofs.dof(node, c)] = x[B * node + c]));
            space.spmv(1.0, &single, &px, 0.0, &mut py).unwrap();
            let same = (0..ROWS).all(|node| (0..B).all(|c| py[dofs.dof(node, c)] == expected[B * node + c]));
            assert!(same, "{B} dofs, {order:?}, {threads} threads");
        }
    }
}

#[test]
fn products_equal_plain_sums_and_those_in_single_values() {
    check::<1>();
    check::<2>();
    check::<3>();
    check::<6>();
}

#[test]
fn bytes_are_those_of_the_arrays() {
    let matrix = matrix::<3>(4, 300);
    let blocks = matrix.graph().nnz();
    assert_eq!(Product::<Serial>::bytes(&&matrix), 76 * blocks + 8 * 5 + 8 * 3 * (4 + 300));
}

#[test]
fn wrong_sizes_and_ranges_are_refused() {
    let matrix = matrix::<2>(4000, 4000);
    let mut sums = Reductions::new(&Serial, 8000, 1).unwrap();
    let (x, mut y) = (vec![0.0; 8000], vec![0.0; 8000]);
    let mut dot = |rows| (&matrix).multiply_dot(&Serial, rows, &x, &mut y, &mut sums, 0).unwrap_err().to_string();
    assert!(dot(0..8001).contains("of a matrix of 8000 rows"));
    assert!(dot(0..100).contains("blocks of 4096"));
    assert!(dot(2..8000).contains("their start in a block"));
    assert!(
        (&matrix).multiply(&Serial, &vec![0.0; 7999], &mut vec![0.0; 8000]).unwrap_err().to_string().contains("`x`")
    );
    let graph = matrix.graph().clone();
    assert!(BlockCrsMatrix::<2>::new(graph.clone(), vec![0.0; 5]).unwrap_err().to_string().contains("values"));
    let dofs = DofMap::new(3, 4000, 4000, DofOrder::Interleaved).unwrap();
    assert!(matrix.expand(&Serial, &dofs, &graph).unwrap_err().to_string().contains("per node"));
    // The other order of the same dofs: rows and entries are as many.
    let [interleaved, by_field] =
        [DofOrder::Interleaved, DofOrder::ByField].map(|order| DofMap::new(2, 4000, 4000, order).unwrap());
    for (dofs, other) in [(&interleaved, &by_field), (&by_field, &interleaved)] {
        let graph = Arc::new(other.expand(&Serial, &graph).unwrap());
        let refused = matrix.expand(&Serial, dofs, &graph).unwrap_err().to_string();
        assert!(refused.contains("of `graph` is not that of `dofs`"), "{refused}");
    }
    assert_eq!(matrix.block(0, 0), None);
}
