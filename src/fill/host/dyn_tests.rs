//! Elements with a number of nodes that is known at run time, and elements with a node several times, against a map of pairs.

use super::{DynFill, Fill, element_fn};
use crate::contraction::Sum;
use crate::fill::{Parts, Strategy};
use crate::graph;
use crate::mesh::ElemNode;
use crate::space::{Serial, Threads};
use crate::sparse::CrsMatrix;
use std::collections::BTreeMap;

/// Whole numbers in floating point: every order of summation gives the same bits.
fn term(elem: usize, i: usize, j: usize) -> f64 {
    ((elem * 31 + i * 7 + j * 3) % 17) as f64 - 8.0
}

/// Values and residual by definition.
fn expected(elem_node: &ElemNode, rows: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut pairs, mut residual) = (BTreeMap::new(), vec![0.0; rows]);
    for (elem, nodes) in elem_node.iter().enumerate() {
        for (i, &row) in nodes.iter().enumerate().filter(|(_, row)| (**row as usize) < rows) {
            residual[row as usize] += term(elem, i, nodes.len());
            for (j, &column) in nodes.iter().enumerate() {
                *pairs.entry((row, column)).or_insert(0.0) += term(elem, i, j);
            }
        }
    }
    (pairs.into_values().collect(), residual)
}

fn check(name: &str, elem_node: &ElemNode, rows: usize) {
    let (nn, (values, loads)) = (elem_node.nodes_per_elem(), expected(elem_node, rows));
    // Zeros are there already; what is not zero is written.
    let kernel = |elem: usize, matrix: &mut [f64], residual: &mut [f64]| {
        assert!(matrix.iter().chain(&*residual).all(|&number| number == 0.0), "numbers of an earlier element");
        for i in 0..nn {
            residual[i] = term(elem, i, nn);
            (0..nn).for_each(|j| matrix[i * nn + j] = term(elem, i, j));
        }
    };
    let graph = graph::build(&Serial, elem_node, rows, graph::Strategy::Sort).unwrap();
    for (strategy, strategy_name) in Strategy::ALL {
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let mut fill = DynFill::new(&space, strategy, &graph).unwrap();
            assert!(fill.elem_node() == elem_node);
            let mut matrix = CrsMatrix::new(graph.crs.clone(), vec![f64::NAN; graph.crs.nnz()]).unwrap();
            let mut residual = vec![f64::NAN; rows];
            for _ in 0..2 {
                fill.assemble(&space, kernel, &mut matrix, &mut residual).unwrap();
                let same = *matrix.values() == values && residual == loads;
                assert!(same, "{name}, {strategy_name}, {threads} threads");
            }
            fill.assemble_parts(&space, kernel, Sum::Into, Parts::Matrix(&mut matrix)).unwrap();
            assert!(matrix.values().iter().zip(&values).all(|(a, b)| *a == 2.0 * b) && residual == loads, "{name}");
            fill.assemble_parts(&space, kernel, Sum::Into, Parts::Residual(&mut residual)).unwrap();
            assert!(residual.iter().zip(&loads).all(|(a, b)| *a == 2.0 * b), "{name}, {strategy_name}");
            fill.assemble_parts(&space, kernel, Sum::Overwrite, Parts::Residual(&mut residual)).unwrap();
            assert!(residual == loads && matrix.values().iter().zip(&values).all(|(a, b)| *a == 2.0 * b), "{name}");
        }
    }
}

#[test]
fn elements_of_any_number_of_nodes_are_summed() {
    for (nn, elems) in [(1usize, 700u32), (3, 700), (8, 400), (27, 90)] {
        let nodes = (0..elems).flat_map(|e| (0..nn as u32).map(move |i| (e * 3 + i * 11) % 2100)).collect();
        let table = ElemNode::new(nodes, nn, 2100).unwrap();
        check(&format!("{nn} nodes"), &table, 2100);
        check(&format!("{nn} nodes, ghosts"), &table, 111);
    }
    check("nothing", &ElemNode::new(vec![], 4, 3).unwrap(), 3);
}

#[test]
fn other_graphs_and_lengths_are_refused() {
    let graph_of =
        |nodes| graph::build(&Serial, &ElemNode::new(nodes, 2, 3).unwrap(), 3, graph::Strategy::Sort).unwrap();
    let (graph, other) = (graph_of(vec![0, 1, 1, 2]), graph_of(vec![0, 2, 2, 1]));
    let mut fill = DynFill::new(&Serial, Strategy::Gather, &graph).unwrap();
    let zero = |_: usize, _: &mut [f64], _: &mut [f64]| ();
    let (mut matrix, mut on_other) = (CrsMatrix::zero(graph.crs.clone()), CrsMatrix::zero(other.crs.clone()));
    let refused = fill.assemble(&Serial, zero, &mut matrix, &mut [0.0; 4]).unwrap_err().to_string();
    assert!(refused.contains("DynFill::assemble: `residual`"), "{refused}");
    let refused = fill.assemble(&Serial, zero, &mut on_other, &mut [0.0; 3]).unwrap_err().to_string();
    assert!(refused.contains("DynFill::assemble: the matrix is on another graph"), "{refused}");
}

/// A wedge as a hexahedron, a quadrilateral that is a segment, an element around a periodic line of 3 nodes: by all strategies of
/// the graph, whose positions tests of the graph check.
#[test]
fn repeated_nodes_are_summed() {
    let hexes = vec![0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 3, 2, 6, 8, 8, 7, 9, 9, 9, 9, 9, 9, 9, 9];
    let hexes = ElemNode::with_repeats(hexes, 8, 10).unwrap();
    let periodic =
        ElemNode::with_repeats((0..900).flat_map(|e| [e, (e + 1) % 900, e, e / 2]).collect(), 4, 900).unwrap();
    let around = ElemNode::with_repeats(vec![0, 1, 2, 0, 1, 0], 3, 3).unwrap();
    for (name, table, rows) in [("hexahedra", &hexes, 10), ("hexahedra", &hexes, 3), ("around", &around, 3)] {
        check(name, table, rows);
    }
    check("periodic", &periodic, 900);
    // The fill for a fixed number of nodes, in batches.
    let kernel = element_fn(|elem| {
        let matrix = std::array::from_fn(|i| std::array::from_fn(|j| term(elem, i, j)));
        (matrix, std::array::from_fn::<_, 4, _>(|i| term(elem, i, 4)))
    });
    let (values, loads) = expected(&periodic, 900);
    let graph = graph::build(&Serial, &periodic, 900, graph::Strategy::default()).unwrap();
    for (strategy, name) in Strategy::ALL {
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 900]);
            let mut fill = Fill::<4>::new(&space, strategy, &graph).unwrap();
            fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
            assert!(*matrix.values() == values && residual == loads, "{name}, {threads} threads");
        }
    }
}
