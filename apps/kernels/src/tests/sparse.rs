//! Products with a matrix: the library's, by hand, and by other libraries.

use super::{gpu, hosts, reported};
use crate::kernels::sparse;
use crate::native::Native;
use crate::peers::Peers;
use crate::rows::Rows;
use crate::space::Space;
use minifenl::space::{MemorySpace, Serial};

fn check<S: Space>(space: &S) {
    let (native, peers) = (S::Native::new(space).unwrap(), S::Peers::new(space).0);
    for edge in [2, 5, 17] {
        let (matrix, rows) = (sparse::matrix(&Serial, edge).unwrap(), edge * edge * edge);
        let x: Vec<f64> = (0..rows).map(|row| (row % 7) as f64).collect();
        // Whole numbers: sums have no rounding.
        let of_row = |row: usize| -> f64 {
            let columns = matrix.graph().row(row).iter().map(|&column| column as usize);
            columns.map(|column| if row == column { 27.0 * x[column] } else { -x[column] }).sum()
        };
        let expected: Vec<f64> = (0..rows).map(of_row).collect();
        let (there, mut y) = (space.upload(&x).unwrap(), space.upload(&vec![f64::NAN; rows]).unwrap());
        let x = S::Memory::slice(&there);
        let rows_there = Rows::new(space, &matrix).unwrap();
        native.spmv(rows, &rows_there, x, S::Memory::slice_mut(&mut y)).unwrap();
        assert_eq!(space.download(&y).unwrap(), expected);
        if peers.of_products().is_some() {
            let product = peers.product(&matrix).unwrap();
            let mut y = space.upload(&vec![f64::NAN; rows]).unwrap();
            peers.apply(&product, x, S::Memory::slice_mut(&mut y)).unwrap();
            assert_eq!(space.download(&y).unwrap(), expected);
        }
    }
    let report = reported(space, |run| sparse::measure(run, &Serial, 5));
    let mut variants: Vec<&str> = report.rows.iter().map(|row| row.variant.as_str()).collect();
    assert_eq!((variants.remove(0), variants.pop()), ("5^3 nodes", Some("5^3 nodes")));
    let teams = ["teams of 4", "teams of 8", "teams of 16", "teams of 32"];
    assert_eq!(variants, if S::SYNCHRONOUS { &["by rows"][..] } else { &teams });
    assert!(report.rows.iter().all(|row| row.ratio.is_some() != (row.kernel == "cg")));
    let beside = report.rows[0].beside.as_ref().map(|beside| beside.peer);
    assert_eq!(beside, peers.of_products());
}

#[test]
fn products_equal_plain_loops() {
    assert_eq!(
        hosts().map(|space| <minifenl::space::Threads as Space>::Peers::new(&space).0.of_products()),
        [Some("sprs"), Some("sprs"), None]
    );
    hosts().iter().for_each(check);
}

#[test]
fn products_equal_plain_loops_on_a_gpu() {
    let Some(space) = gpu("products_equal_plain_loops_on_a_gpu") else { return };
    check(&space);
}

#[test]
fn the_matrix_of_a_box_has_its_neighbours() {
    let matrix = sparse::matrix(&Serial, 4).unwrap();
    assert_eq!((matrix.graph().rows(), matrix.graph().longest_row()), (64, 27));
    // (3 m - 2)^3 pairs of neighbours on m^3 nodes.
    assert_eq!(matrix.graph().nnz(), 1000);
    assert_eq!((matrix.get(0, 0), matrix.get(0, 1), matrix.get(0, 2)), (Some(27.0), Some(-1.0), None));
}
