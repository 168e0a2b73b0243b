//! Products of block matrices on a GPU, with whole numbers, for which every order of summation gives the same bits.

use super::gpu;
use minifenl::blas::Reductions;
use minifenl::comm::Solo;
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::{Cuda, ExecutionSpace, Serial};
use minifenl::sparse::{BlockCrsMatrix, CrsGraph, Product};
use std::sync::Arc;

/// Rows of 0 to 40 blocks, more columns than rows.
fn matrix<const B: usize>(rows: usize, columns: usize) -> BlockCrsMatrix<B> {
    let (mut row_map, mut entries) = (vec![0], vec![]);
    for row in 0..rows {
        entries.extend((0..row % 41).map(|k| (row % 100 + k * (columns / 50)) as u32));
        row_map.push(entries.len() as u64);
    }
    let values = (0..B * B * entries.len()).map(|i| (i * 7 % 23) as f64 - 11.0).collect();
    BlockCrsMatrix::new(Arc::new(CrsGraph::new(row_map, entries, columns).unwrap()), values).unwrap()
}

fn check<const B: usize>(space: &Cuda) {
    for (rows, columns) in [(0, 200), (1, 200), (5000, 5200)] {
        let host = matrix::<B>(rows, columns);
        let device = host.upload(space).unwrap();
        let x: Vec<f64> = (0..B * columns).map(|i| (i * 31 % 101) as f64 - 50.0).collect();
        let mut expected = vec![f64::NAN; B * rows];
        (&host).multiply(&Serial, &x, &mut expected).unwrap();
        let dot: f64 = expected.iter().zip(&x).map(|(y, x)| y * x).sum();
        let on_device = space.upload(&x).unwrap();
        let mut y = space.upload(&vec![f64::NAN; B * rows]).unwrap();
        (&device).multiply(space, &on_device, &mut y).unwrap();
        assert!(space.download(&y).unwrap() == expected, "{B} dofs, {rows} rows");
        assert_eq!(Product::<Cuda>::bytes(&&device), Product::<Serial>::bytes(&&host));
        for bounds in [vec![0, rows], vec![0, rows / 3, rows / 2, rows]] {
            let mut y = space.upload(&vec![f64::NAN; B * rows]).unwrap();
            let mut sums = Reductions::new(space, B * rows, 2).unwrap();
            for ends in bounds.windows(2) {
                (&device).multiply_dot(space, B * ends[0]..B * ends[1], &on_device, &mut y, &mut sums, 1).unwrap();
            }
            assert!(space.download(&y).unwrap() == expected, "{B} dofs, {bounds:?}");
            assert_eq!(space.download(&sums.scalars).unwrap(), [0.0, dot], "{B} dofs, {bounds:?}");
        }
    }
}

#[test]
fn products_of_blocks_equal_those_of_the_host() {
    let Some(space) = gpu("products_of_blocks_equal_those_of_the_host") else { return };
    check::<1>(&space);
    check::<2>(&space);
    check::<3>(&space);
    check::<4>(&space);
    check::<5>(&space);
    check::<6>(&space);
    check::<7>(&space);
    check::<8>(&space);
}

#[test]
fn wrong_blocks_and_ranges_are_refused() {
    let Some(space) = gpu("wrong_blocks_and_ranges_are_refused") else { return };
    let (nine, two) = (matrix::<9>(50, 200).upload(&space).unwrap(), matrix::<2>(50, 200).upload(&space).unwrap());
    let (x, mut y) = (space.zeros(1800).unwrap(), space.zeros(450).unwrap());
    let refused = (&nine).multiply(&space, &x, &mut y).unwrap_err().to_string();
    assert_eq!(refused, "blocks of 9 dofs per node on a GPU: expected 1 to 8");
    let mut sums = Reductions::new(&space, 100, 1).unwrap();
    let mut dot = |rows| (&two).multiply_dot(&space, rows, &x, &mut y, &mut sums, 0).unwrap_err().to_string();
    assert!(dot(1..100).contains("its start"));
    assert!(dot(0..99).contains("end within a node of 2 dofs"));
    assert!(dot(0..101).contains("of a matrix of 100 rows"));
    let short = (&two).multiply(&space, &space.zeros(399).unwrap(), &mut y);
    assert!(short.unwrap_err().to_string().contains("`x`"));
}

/// A chain of springs between nodes of two dofs, held at one end: CG on blocks takes the host's number of iterations.
#[test]
fn cg_on_blocks_takes_the_steps_of_the_host() {
    let Some(space) = gpu("cg_on_blocks_takes_the_steps_of_the_host") else { return };
    const NODES: usize = 300;
    let (mut row_map, mut entries, mut values) = (vec![0], vec![], vec![]);
    for node in 0..NODES {
        for (column, sign) in [(node.wrapping_sub(1), -1.0), (node, 2.5), (node + 1, -1.0)] {
            if column < NODES {
                entries.push(column as u32);
                values.extend([2.0 * sign, 0.5 * sign, 0.5 * sign, sign]);
            }
        }
        row_map.push(entries.len() as u64);
    }
    let graph = Arc::new(CrsGraph::new(row_map, entries, NODES).unwrap());
    let host = BlockCrsMatrix::<2>::new(graph, values).unwrap();
    let device = host.upload(&space).unwrap();
    let rhs: Vec<f64> = (0..2 * NODES).map(|i| ((i * 13) % 7) as f64 - 3.0).collect();
    let params = CgParams { tolerance: 1e-10, max_iterations: 500 };
    let n = 2 * NODES;
    let (mut x, mut work) = (vec![0.0; n], CgWorkspace::new(&Serial, n, n).unwrap());
    let mut system = LinearSystem { operator: &host, preconditioner: Identity, comm: &Solo, rhs: &rhs };
    let expected = cg(&Serial, &mut system, &mut x, params, &mut work, &mut |_, _| {}).unwrap();
    let (mut device_x, mut work) = (space.zeros(n).unwrap(), CgWorkspace::new(&space, n, n).unwrap());
    let rhs = space.upload(&rhs).unwrap();
    let mut system = LinearSystem { operator: &device, preconditioner: Identity, comm: &Solo, rhs: &rhs };
    let found = cg(&space, &mut system, &mut device_x, params, &mut work, &mut |_, _| {}).unwrap();
    assert_eq!((found.iterations, found.reason), (expected.iterations, expected.reason));
    assert!(super::difference(&space.download(&device_x).unwrap(), &x) < 1e-9);
}
