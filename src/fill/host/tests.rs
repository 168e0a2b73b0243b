//! Every strategy on host memory against a dense sum, on any mesh.

use super::{Fill, element_fn};
use crate::fill::Strategy;
use crate::graph;
use crate::mesh::ElemNode;
use crate::space::{Serial, Threads};
use crate::sparse::CrsMatrix;
use proptest::prelude::{ProptestConfig, any, proptest};

/// Whole numbers in floating point: every order of summation gives the same bits, so all strategies must agree.
fn term(elem: usize, i: usize, j: usize) -> f64 {
    ((elem * 31 + i * 7 + j * 3) % 17) as f64 - 8.0
}

fn check<const NN: usize>(elem_node: &ElemNode, rows: usize) {
    let (mut dense, mut dense_residual) = (vec![vec![0.0; elem_node.node_count()]; rows], vec![0.0; rows]);
    for (elem, nodes) in elem_node.iter().enumerate() {
        for (i, &row) in nodes.iter().enumerate().filter(|(_, row)| (**row as usize) < rows) {
            dense_residual[row as usize] += term(elem, i, NN);
            nodes.iter().enumerate().for_each(|(j, &column)| dense[row as usize][column as usize] += term(elem, i, j));
        }
    }
    let kernel = element_fn(|elem| {
        let matrix = std::array::from_fn(|i| std::array::from_fn(|j| term(elem, i, j)));
        (matrix, std::array::from_fn::<_, NN, _>(|i| term(elem, i, NN)))
    });
    let graph = graph::build(&Serial, elem_node, rows, graph::Strategy::default()).unwrap();
    for (strategy, name) in Strategy::ALL {
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let mut fill = Fill::new(&space, strategy, elem_node, &graph).unwrap();
            let poisoned = vec![f64::NAN; graph.crs.nnz()];
            let mut matrix = CrsMatrix::new(graph.crs.clone(), poisoned).unwrap();
            let mut residual = vec![f64::NAN; rows];
            for _ in 0..2 {
                fill.assemble(&space, &kernel, elem_node, &graph, &mut matrix, &mut residual).unwrap();
                assert_eq!(residual, dense_residual, "{name}, {threads} threads");
                for (row, dense) in dense.iter().enumerate() {
                    for &column in graph.crs.row(row) {
                        let value = matrix.get(row, column);
                        assert_eq!(value, Some(dense[column as usize]), "{name}, {threads} threads, ({row}, {column})");
                    }
                }
            }
        }
    }
}

#[test]
fn every_strategy_fills_strips_fans_and_empty_tables() {
    check::<2>(&ElemNode::new((0..3000u32).flat_map(|e| [e, e + 1]).collect(), 2, 3001).unwrap(), 2500);
    check::<3>(&ElemNode::new((0..300u32).flat_map(|e| [0, 2 * e + 1, 2 * e + 2]).collect(), 3, 601).unwrap(), 601);
    check::<4>(&ElemNode::new(vec![], 4, 3).unwrap(), 3);
}

#[test]
fn other_shapes_are_refused() {
    let elem_node = ElemNode::new(vec![0, 1, 2], 3, 3).unwrap();
    let graph = graph::build(&Serial, &elem_node, 3, graph::Strategy::Sort).unwrap();
    assert!(Fill::<4>::new(&Serial, Strategy::Scatter, &elem_node, &graph).is_err());
    let mut fill = Fill::<3>::new(&Serial, Strategy::Scatter, &elem_node, &graph).unwrap();
    let mut matrix = CrsMatrix::zero(graph.crs.clone());
    let kernel = element_fn(|_| ([[0.0; 3]; 3], [0.0; 3]));
    let refused = fill.assemble(&Serial, &kernel, &elem_node, &graph, &mut matrix, &mut [0.0; 2]);
    assert!(refused.unwrap_err().to_string().contains("residual"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_strategy_fills_any_triangles(seeds in proptest::collection::vec(any::<u32>(), 0..400), owned in 3usize..60) {
        let distinct = |seed: u32| {
            let a = seed % 60;
            let b = (a + 1 + seed / 60 % 59) % 60;
            let c = (0..60).find(|c| *c != a && *c != b && (seed >> 20) % 7 <= *c).unwrap();
            [a, b, c]
        };
        check::<3>(&ElemNode::new(seeds.into_iter().flat_map(distinct).collect(), 3, 60).unwrap(), owned);
    }
}
