//! Every strategy on host memory against a dense sum, on any mesh.

use super::{ElementKernel, Evaluate, Fill, element_fn};
use crate::Result;
use crate::contraction::Sum;
use crate::fill::{Additions, Parts, Strategy, Wanted};
use crate::graph;
use crate::mesh::ElemNode;
use crate::space::{Serial, Threads};
use crate::sparse::CrsMatrix;
use proptest::prelude::{ProptestConfig, any, proptest};
use std::ops::Range;

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
            let mut fill = Fill::new(&space, strategy, &graph).unwrap();
            let poisoned = vec![f64::NAN; graph.crs.nnz()];
            let mut matrix = CrsMatrix::new(graph.crs.clone(), poisoned).unwrap();
            let mut residual = vec![f64::NAN; rows];
            for _ in 0..2 {
                fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
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
            let mut fill = Fill::new(&space, strategy, &graph).unwrap();
            let mut matrix = CrsMatrix::new(graph.crs.clone(), vec![f64::NAN; graph.crs.nnz()]).unwrap();
            let mut residual = vec![f64::NAN; rows];
            for _ in 0..2 {
                fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
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
    // Triangles in a plan for other elements.
    for refused in [
        Fill::<4>::new(&Serial, Strategy::Scatter, &graph).unwrap_err(),
        Fill::<2>::new(&Serial, Strategy::Scatter, &graph).unwrap_err(),
    ] {
        assert!(
            refused.to_string().contains("elem_node (nodes per element; dofs of one after Graph::with_dofs)"),
            "{refused}"
        );
    }
    let kernel = element_fn(|_| ([[0.0; 3]; 3], [0.0; 3]));
    for (strategy, name) in Strategy::ALL {
        let mut fill = Fill::<3>::new(&Serial, strategy, &graph).unwrap();
        for len in [2, 4] {
            let mut matrix = CrsMatrix::zero(graph.crs.clone());
            let refused = fill.assemble(&Serial, &kernel, &mut matrix, &mut vec![0.0; len]).unwrap_err().to_string();
            assert!(refused.contains("`residual`") && refused.contains("expected [3]"), "{name}: {refused}");
            let parts = Parts::Residual(&mut [0.0; 4][..len]);
            assert!(fill.assemble_parts(&Serial, &kernel, Sum::Into, parts).is_err(), "{name}");
        }
    }
}

/// A wedge as a hexahedron, a quadrilateral that is a segment, elements around a periodic line.
#[test]
fn repeated_nodes_are_summed() {
    let hexes = vec![0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 3, 2, 6, 8, 8, 7, 9, 9, 9, 9, 9, 9, 9, 9];
    let hexes = ElemNode::with_repeats(hexes, 8, 10).unwrap();
    check::<8>(&hexes, 10);
    check::<8>(&hexes, 3);
    check::<3>(&ElemNode::with_repeats(vec![0, 1, 2, 0, 1, 0], 3, 3).unwrap(), 3);
    let periodic = (0..900).flat_map(|e| [e, (e + 1) % 900, e, e / 2]).collect();
    check_sparse::<4>("periodic", &ElemNode::with_repeats(periodic, 4, 900).unwrap(), 900, &[1, 3]);
}

/// The numbers of a matrix that a plan has refused stay as they are.
#[test]
fn a_matrix_on_another_graph_is_refused_and_an_equal_graph_is_taken() {
    let strip = |nodes: [u32; 6]| ElemNode::new(nodes.to_vec(), 2, 4).unwrap();
    let graph_of = |nodes, rows| graph::build(&Serial, &strip(nodes), rows, graph::Strategy::Sort).unwrap();
    let graph = graph_of([0, 1, 1, 2, 2, 3], 4);
    // As many rows, columns and entries, but other columns; fewer rows.
    let others = [
        (graph_of([0, 2, 2, 1, 1, 3], 4), "its row 0 has columns [0, 2], the plan's [0, 1]"),
        (graph_of([0, 1, 1, 2, 2, 3], 3), "extents [3, 4, 8], expected [4, 4, 10]"),
        (graph_of([0, 1, 1, 2, 2, 1], 4), "extents [4, 4, 7], expected [4, 4, 10]"),
    ];
    let kernel = element_fn(|_| ([[1.0, -1.0], [-1.0, 1.0]], [0.5; 2]));
    for (strategy, name) in Strategy::ALL {
        let mut fill = Fill::<2>::new(&Serial, strategy, &graph).unwrap();
        for (other, message) in &others {
            let mut matrix = CrsMatrix::new(other.crs.clone(), vec![7.0; other.crs.nnz()]).unwrap();
            let mut residual = vec![7.0; other.crs.rows()];
            let refused = fill.assemble(&Serial, &kernel, &mut matrix, &mut residual).unwrap_err().to_string();
            assert!(refused.contains(message), "{name}: {refused}");
            let refused = fill.assemble_parts(&Serial, &kernel, Sum::Into, Parts::Matrix(&mut matrix));
            assert!(refused.unwrap_err().to_string().contains(message), "{name}");
            assert!(matrix.values().iter().chain(&residual).all(|&value| value == 7.0), "{name}");
        }
        let equal = graph_of([2, 3, 0, 1, 1, 2], 4);
        let (mut matrix, mut residual) = (CrsMatrix::zero(equal.crs.clone()), vec![0.0; 4]);
        fill.assemble(&Serial, &kernel, &mut matrix, &mut residual).unwrap();
        assert_eq!(matrix.values(), &[1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 1.0], "{name}");
        assert_eq!(residual, [0.5, 1.0, 1.0, 0.5], "{name}");
    }
}

/// Positions of equal lengths in another pattern, of the same sizes or not.
#[test]
fn a_graph_of_two_graphs_is_refused() {
    let graph_of = |nodes: [u32; 6]| {
        graph::build(&Serial, &ElemNode::new(nodes.to_vec(), 2, 4).unwrap(), 4, graph::Strategy::Sort).unwrap()
    };
    let (first, second) = (graph_of([0, 1, 1, 2, 2, 3]), graph_of([0, 2, 2, 1, 1, 3]));
    let mut mixed = first.clone();
    mixed.elem = second.elem.clone();
    for (strategy, name) in Strategy::ALL {
        let refused = Fill::<2>::new(&Serial, strategy, &mixed).unwrap_err().to_string();
        assert!(refused.contains("in another pattern: expected `crs` and `elem` of one graph"), "{name}: {refused}");
    }
    assert!(first.elem.is_in(&first.crs) && !second.elem.is_in(&first.crs));
    let copy = first.upload(&Serial).unwrap();
    assert!(copy.elem.is_in(&copy.crs) && copy.elem.is_in(&first.crs));
}

/// The table that a plan was made for stays, whatever becomes of the caller's graph.
#[test]
fn a_plan_keeps_its_table() {
    let kernel = element_fn(|_| ([[1.0; 2]; 2], [1.0; 2]));
    for (strategy, name) in Strategy::ALL {
        let (mut fill, mut matrix) = {
            let elem_node = ElemNode::new(vec![0, 1, 1, 2], 2, 3).unwrap();
            let graph = graph::build(&Serial, &elem_node, 3, graph::Strategy::Map).unwrap();
            (Fill::<2>::new(&Serial, strategy, &graph).unwrap(), CrsMatrix::zero(graph.crs.clone()))
        };
        let mut residual = [0.0; 3];
        fill.assemble(&Serial, &kernel, &mut matrix, &mut residual).unwrap();
        assert_eq!(
            (&matrix.values()[..], residual),
            (&[1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0][..], [1.0, 2.0, 1.0]),
            "{name}"
        );
        assert_eq!(fill.elem_node().as_slice(), [0, 1, 1, 2]);
    }
}

/// Writes its matrices in place, so that the stack holds none of them, and leaves out what is not wanted.
struct InPlace<const NN: usize>;

impl<const NN: usize> ElementKernel<NN> for InPlace<NN> {
    fn evaluator(&self, wanted: Wanted, _: Range<usize>) -> Result<Evaluate<'_, NN>> {
        Ok(Box::new(move |elems, out| {
            for (lane, elem) in elems.enumerate() {
                for i in 0..NN {
                    if wanted.matrix {
                        (0..NN).for_each(|j| out.matrix[i][j][lane] = term(elem, i, j));
                    }
                    if wanted.residual {
                        out.residual[i][lane] = term(elem, i, NN);
                    }
                }
            }
            Ok(())
        }))
    }
}

/// A batch of elements of 192 nodes has 2.3 MiB, more than the 2 MiB of a thread.
#[test]
fn large_elements_fit_on_threads_of_two_mebibytes() {
    const NN: usize = 192;
    // Twenty elements, neighbours share a quarter of their nodes.
    let nodes: Vec<u32> = (0..20).flat_map(|e| e * 144..e * 144 + NN as u32).collect();
    let count = 19 * 144 + NN;
    let elem_node = ElemNode::new(nodes, NN, count).unwrap();
    let graph = graph::build(&Serial, &elem_node, count, graph::Strategy::Sort).unwrap();
    let (mut expected, mut expected_residual) = (vec![0.0; graph.crs.nnz()], vec![0.0; count]);
    for (elem, nodes) in elem_node.iter().enumerate() {
        for (i, &row) in nodes.iter().enumerate() {
            expected_residual[row as usize] += term(elem, i, NN);
            for j in 0..NN {
                expected[graph.elem.entry(&graph.crs, elem, i, j).unwrap()] += term(elem, i, j);
            }
        }
    }
    let work = move || {
        for (strategy, name) in Strategy::ALL {
            // The plan's threads, and more threads than the plan has batches.
            let spaces = [2, 4].map(|threads| Threads::new(threads).unwrap());
            let mut fill = Fill::<NN>::new(&spaces[0], strategy, &graph).unwrap();
            for space in &spaces {
                let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
                fill.assemble(space, &InPlace, &mut matrix, &mut residual).unwrap();
                assert!(*matrix.values() == expected && residual == expected_residual, "{name}");
            }
        }
    };
    // The calling thread is as small as those of the spaces.
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

/// Each part alone, overwritten and added, has the numbers that both together have.
#[test]
fn parts_are_assembled_alone_and_into_what_stands() {
    let elem_node = hexes(9, |node| node as u32);
    for (table, rows) in [(elem_node.clone(), 729), (elem_node, 400), (hexes(8, |n| (n * 197 % 512) as u32), 512)] {
        let graph = graph::build(&Serial, &table, rows, graph::Strategy::Sort).unwrap();
        for (strategy, name) in Strategy::ALL {
            for threads in [1, 3] {
                let space = Threads::new(threads).unwrap();
                let mut fill = Fill::<8>::new(&space, strategy, &graph).unwrap();
                let (mut both, mut both_residual) = (CrsMatrix::zero(graph.crs.clone()), vec![f64::NAN; rows]);
                fill.assemble(&space, &InPlace, &mut both, &mut both_residual).unwrap();
                assert!(both.values().iter().any(|&value| value != 0.0));
                let (mut matrix, mut residual) = (both.clone(), both_residual.clone());
                for (sum, factor) in [(Sum::Overwrite, 1.0), (Sum::Into, 2.0), (Sum::Into, 3.0)] {
                    fill.assemble_parts(&space, &InPlace, sum, Parts::Matrix(&mut matrix)).unwrap();
                    fill.assemble_parts(&space, &InPlace, sum, Parts::Residual(&mut residual)).unwrap();
                    let is = |found: &[f64], of: &[f64]| found.iter().zip(of).all(|(a, b)| *a == factor * b);
                    assert!(is(matrix.values(), both.values()), "{name}, {threads} threads, {sum:?}");
                    assert!(is(&residual, &both_residual), "{name}, {threads} threads, {sum:?}");
                }
                fill.assemble_parts(&space, &InPlace, Sum::Into, Parts::Both(&mut matrix, &mut residual)).unwrap();
                let four = |found: &[f64], of: &[f64]| found.iter().zip(of).all(|(a, b)| *a == 4.0 * b);
                assert!(four(matrix.values(), both.values()) && four(&residual, &both_residual), "{name}");
            }
        }
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

/// Matrices and residuals of ones: the sums count the additions that were executed.
#[test]
fn a_plan_counts_the_additions_of_its_assembly() {
    const NN: usize = 8;
    let table = hexes(12, |node| node as u32);
    let (all, rows) = (12 * 12 * 12, 1000);
    let ones = element_fn(|_| ([[1.0; NN]; NN], [1.0; NN]));
    for (rows, threads) in [(all, 1), (all, 3), (rows, 1), (rows, 3)] {
        let space = Threads::new(threads).unwrap();
        let graph = graph::build(&Serial, &table, rows, graph::Strategy::Sort).unwrap();
        for (strategy, name) in Strategy::ALL {
            let mut fill = Fill::<NN>::new(&space, strategy, &graph).unwrap();
            let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; rows]);
            fill.assemble(&space, &ones, &mut matrix, &mut residual).unwrap();
            let executed = matrix.values().iter().chain(&residual).sum::<f64>() as u64;
            if rows == all {
                assert_eq!(executed, 72 * table.elem_count() as u64, "{name}");
            }
            let Some(Additions { atomic, plain }) = fill.additions(&space) else {
                assert_eq!(strategy, Strategy::Gather);
                continue;
            };
            assert_eq!(atomic + plain, executed, "{name}, {rows} rows, {threads} threads");
            match strategy {
                Strategy::Scatter => assert_eq!(plain, 0),
                _ => assert_eq!(atomic, 0, "{name}"),
            }
        }
    }
}
