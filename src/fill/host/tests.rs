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

/// The sum over all elements by a map of pairs, for tables that are too large for a dense matrix.
fn check_sparse<const NN: usize>(name: &str, elem_node: &ElemNode, rows: usize, threads: &[usize]) {
    let (mut pairs, mut expected_residual) = (std::collections::BTreeMap::new(), vec![0.0; rows]);
    for (elem, nodes) in elem_node.iter().enumerate() {
        for (i, &row) in nodes.iter().enumerate().filter(|(_, row)| (**row as usize) < rows) {
            expected_residual[row as usize] += term(elem, i, NN);
            for (j, &column) in nodes.iter().enumerate() {
                *pairs.entry((row, column)).or_insert(0.0) += term(elem, i, j);
            }
        }
    }
    let expected: Vec<f64> = pairs.into_values().collect();
    let kernel = element_fn(|elem| {
        let matrix = std::array::from_fn(|i| std::array::from_fn(|j| term(elem, i, j)));
        (matrix, std::array::from_fn::<_, NN, _>(|i| term(elem, i, NN)))
    });
    let graph = graph::build(&Serial, elem_node, rows, graph::Strategy::Sort).unwrap();
    for (strategy, strategy_name) in Strategy::ALL {
        for &threads in threads {
            let space = Threads::new(threads).unwrap();
            let mut fill = Fill::new(&space, strategy, elem_node, &graph).unwrap();
            let mut matrix = CrsMatrix::new(graph.crs.clone(), vec![f64::NAN; graph.crs.nnz()]).unwrap();
            let mut residual = vec![f64::NAN; rows];
            for _ in 0..2 {
                fill.assemble(&space, &kernel, elem_node, &graph, &mut matrix, &mut residual).unwrap();
                let same = *matrix.values() == expected && residual == expected_residual;
                assert!(same, "{name}, {strategy_name}, {threads} threads");
            }
        }
    }
}

/// Box of `n`^3 nodes, numbered by `number`.
fn hexes(n: usize, number: impl Fn(usize) -> u32) -> ElemNode {
    let mut nodes = Vec::new();
    for (k, j, i) in (0..n - 1).flat_map(|k| (0..n - 1).flat_map(move |j| (0..n - 1).map(move |i| (k, j, i)))) {
        for (c, b, a) in [(0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1), (1, 1, 0)] {
            nodes.push(number(((k + c) * n + j + b) * n + i + a));
        }
    }
    ElemNode::new(nodes, 8, n * n * n).unwrap()
}

/// Above one chunk of rows, entries and elements; windows that move (local numberings) and stored matrices (scattered).
#[test]
fn every_strategy_fills_boxes_above_one_chunk() {
    check_sparse::<8>("box", &hexes(21, |node| node as u32), 9261, &[1, 2, 5]);
    check_sparse::<8>("part of a box", &hexes(18, |node| node as u32), 4100, &[1, 3]);
    check_sparse::<8>("scattered", &hexes(18, |node| (node * 1201 % 5832) as u32), 5832, &[1, 3]);
    // The last row reads the first element again: a window as long as the mesh.
    let ring = (0..9000u32).flat_map(|e| [e, (e + 1) % 9000]).collect();
    check_sparse::<2>("ring", &ElemNode::new(ring, 2, 9000).unwrap(), 9000, &[1, 2, 3]);
}

/// Rows whose positions take 1, 2 and 4 bytes, at the ends of each width.
#[test]
fn every_strategy_fills_rows_of_every_width() {
    for entries in [255, 256, 257, 65_535, 65_536, 65_537u32] {
        let star = ElemNode::new((1..entries).flat_map(|ray| [ray, 0]).collect(), 2, entries as usize).unwrap();
        check_sparse::<2>(&format!("row of {entries}"), &star, entries as usize, &[1, 2]);
    }
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

    // Tables and graphs of other meshes: fewer or more elements, nodes and rows.
    let triangles = |nodes: Vec<u32>, count| ElemNode::new(nodes, 3, count).unwrap();
    for other in [triangles(vec![0, 1, 2, 2, 1, 3], 4), triangles(vec![], 3), triangles(vec![0, 1, 2], 4)] {
        let other_graph = graph::build(&Serial, &other, 3, graph::Strategy::Sort).unwrap();
        for (strategy, name) in Strategy::ALL {
            assert!(Fill::<3>::new(&Serial, strategy, &elem_node, &other_graph).is_err(), "{name}");
            let mut fill = Fill::<3>::new(&Serial, strategy, &elem_node, &graph).unwrap();
            let mut matrix = CrsMatrix::zero(other_graph.crs.clone());
            for (table, graph) in [(&elem_node, &other_graph), (&other, &graph)] {
                let refused = fill.assemble(&Serial, &kernel, table, graph, &mut matrix, &mut [0.0; 4]);
                assert!(refused.is_err(), "{name}");
            }
            if other.elem_count() != elem_node.elem_count() {
                let refused = fill.assemble(&Serial, &kernel, &other, &other_graph, &mut matrix, &mut [0.0; 4]);
                assert!(refused.unwrap_err().to_string().contains("elem_node (elements)"), "{name}");
            }
        }
    }
    let fewer_rows = graph::build(&Serial, &elem_node, 2, graph::Strategy::Sort).unwrap();
    for (strategy, name) in Strategy::ALL {
        let mut fill = Fill::<3>::new(&Serial, strategy, &elem_node, &graph).unwrap();
        let mut matrix = CrsMatrix::zero(fewer_rows.crs.clone());
        let refused = fill.assemble(&Serial, &kernel, &elem_node, &fewer_rows, &mut matrix, &mut [0.0; 3]);
        assert!(refused.unwrap_err().to_string().contains("graph (rows)"), "{name}");
    }
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
