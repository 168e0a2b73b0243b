//! Blocks against the assembly of elements whose nodes are the dofs, on a graph of its own: another table, graph and width.

use super::*;
use crate::fill::{Dirichlet, Fill, element_fn};
use crate::graph;
use crate::mesh::ElemNode;
use crate::space::{Serial, Threads};
use crate::sparse::{CrsMatrix, DofMap, DofOrder};
use std::sync::Arc;

/// Triangles of a strip, the numbering scattered, the last nodes ghosts.
fn triangles(nodes: u32) -> ElemNode {
    let scattered = |node: u32| node * 7 % nodes;
    let table = (0..nodes - 2).flat_map(|e| [e, e + 1, e + 2].map(scattered)).collect();
    ElemNode::new(table, 3, nodes as usize).unwrap()
}

fn of_dofs(elem_node: &ElemNode, dofs: u32) -> ElemNode {
    let table = elem_node.as_slice().iter().flat_map(|node| (0..dofs).map(move |c| dofs * node + c)).collect();
    ElemNode::new(table, dofs as usize * elem_node.nodes_per_elem(), dofs as usize * elem_node.node_count()).unwrap()
}

/// Whole numbers, so that every order of summation gives the same bits; not symmetric.
fn kernel<const ND: usize>() -> impl ElementKernel<ND> {
    let number = |elem: usize, r: usize, s: usize| ((elem * 5 + r * 11 + s * 3) % 29) as f64 - 14.0;
    element_fn(move |elem| {
        (
            std::array::from_fn(|r| std::array::from_fn(|s| number(elem, r, s))),
            std::array::from_fn(|r| number(elem, r, 99)),
        )
    })
}

fn check<const ND: usize, const B: usize>(nodes: u32, rows: usize) {
    let elem_node = triangles(nodes);
    let graph = graph::build(&Serial, &elem_node, rows, graph::Strategy::Gather).unwrap();
    let dof_graph = graph::build(&Serial, &of_dofs(&elem_node, B as u32), B * rows, graph::Strategy::Sort).unwrap();
    let (mut expected, mut sums) = (CrsMatrix::zero(dof_graph.crs.clone()), vec![f64::NAN; B * rows]);
    let mut fill = Fill::<ND>::new(&Serial, Strategy::Colour, &dof_graph).unwrap();
    fill.assemble(&Serial, &kernel(), &mut expected, &mut sums).unwrap();
    let dofs = DofMap::new(B, rows, nodes as usize, DofOrder::Interleaved).unwrap();
    assert_eq!(dofs.expand(&Serial, &graph.crs).unwrap(), *dof_graph.crs);
    for threads in [1, 3] {
        let space = Threads::new(threads).unwrap();
        for (strategy, name) in Strategy::ALL {
            let what = format!("{name}, {B} dofs, {rows} rows, {threads} threads");
            let values = vec![f64::NAN; B * B * graph.crs.nnz()];
            let mut matrix = BlockCrsMatrix::<B>::new(graph.crs.clone(), values).unwrap();
            let mut residual = vec![f64::NAN; B * rows];
            let mut fill = BlockFill::<ND, B>::new(&space, strategy, &graph).unwrap();
            fill.assemble(&space, &kernel(), &mut matrix, &mut residual).unwrap();
            let single = matrix.expand(&space, &dofs, &dof_graph.crs).unwrap();
            assert!(single.values() == expected.values() && residual == sums, "{what}");
            // A second time on top, the parts one by one.
            fill.assemble_parts(&space, &kernel(), Sum::Into, Parts::Matrix(&mut matrix)).unwrap();
            fill.assemble_parts(&space, &kernel(), Sum::Into, Parts::Residual(&mut residual)).unwrap();
            let twice = matrix.expand(&space, &dofs, &dof_graph.crs).unwrap();
            assert!(twice.values().iter().zip(expected.values()).all(|(two, one)| *two == 2.0 * one), "{what}");
            assert!(residual.iter().zip(&sums).all(|(two, one)| *two == 2.0 * one), "{what}");
        }
    }
}

#[test]
fn blocks_equal_the_assembly_of_single_dofs() {
    check::<6, 2>(5003, 4400);
    check::<9, 3>(10_001, 10_001);
}

#[test]
fn plans_of_other_elements_and_matrices_are_refused() {
    let elem_node = triangles(20);
    let graph = graph::build(&Serial, &elem_node, 20, graph::Strategy::Gather).unwrap();
    let refused = BlockFill::<8, 3>::new(&Serial, Strategy::Gather, &graph).unwrap_err().to_string();
    assert!(refused.contains("8 dofs per element of 3 dofs per node"), "{refused}");
    let refused = BlockFill::<12, 3>::new(&Serial, Strategy::Gather, &graph).unwrap_err().to_string();
    assert!(refused.contains("nodes per element"), "{refused}");
    let mut fill = BlockFill::<9, 3>::new(&Serial, Strategy::Gather, &graph).unwrap();
    let mut matrix = BlockCrsMatrix::<3>::zero(graph.crs.clone());
    let refused = fill.assemble(&Serial, &kernel(), &mut matrix, &mut [0.0; 20]).unwrap_err().to_string();
    assert!(refused.contains("`residual`") && refused.contains("[60]"), "{refused}");
    let other = graph::build(&Serial, &triangles(19), 19, graph::Strategy::Gather).unwrap();
    let mut matrix = BlockCrsMatrix::<3>::zero(other.crs.clone());
    assert!(fill.assemble(&Serial, &kernel(), &mut matrix, &mut [0.0; 60]).is_err());
}

/// Conditions on single dofs clear what conditions on the expanded matrix clear.
#[test]
fn conditions_on_dofs_equal_those_of_the_expanded_matrix() {
    let (rows, nodes) = (4400, 5003);
    let elem_node = triangles(nodes);
    let graph = graph::build(&Serial, &elem_node, rows, graph::Strategy::Gather).unwrap();
    let dofs = DofMap::new(3, rows, nodes as usize, DofOrder::Interleaved).unwrap();
    let single = Arc::new(dofs.expand(&Serial, &graph.crs).unwrap());
    let fixed: Vec<u8> = (0..dofs.columns()).map(|dof| u8::from(dof % 7 == 0 || dof % 3001 < 5)).collect();
    for threads in [1, 3] {
        let space = Threads::new(threads).unwrap();
        let mut blocks = BlockCrsMatrix::<3>::zero(graph.crs.clone());
        blocks.parts_mut().1.iter_mut().enumerate().for_each(|(i, value)| *value = 1.0 + i as f64);
        let mut expected = blocks.expand(&Serial, &dofs, &single).unwrap();
        let number = |dof: usize| dof as f64 + 0.5;
        let (mut sums, mut residual): (Vec<_>, Vec<_>) = (0..dofs.rows()).map(|dof| (number(dof), number(dof))).unzip();
        Dirichlet::new(&Serial, &single, &fixed).unwrap().apply(&Serial, &mut expected, &mut sums).unwrap();
        let conditions = Dirichlet::of_blocks::<3, _>(&space, &graph.crs, &fixed).unwrap();
        conditions.apply_to_blocks(&space, &mut blocks, &mut residual).unwrap();
        assert!(blocks.expand(&Serial, &dofs, &single).unwrap().values() == expected.values() && residual == sums);
        assert!(residual.contains(&0.0));
        let refused = Dirichlet::of_blocks::<3, _>(&space, &graph.crs, &fixed[1..]).unwrap_err().to_string();
        assert!(refused.contains("`fixed`"), "{refused}");
        let refused = |result: crate::Result<()>| result.unwrap_err().to_string();
        let mut other = BlockCrsMatrix::<2>::zero(graph.crs.clone());
        assert!(refused(conditions.apply_to_blocks(&space, &mut other, &mut residual)).contains("a matrix of 2"));
        // As many values and rows, in another order.
        assert!(refused(conditions.apply(&space, &mut expected, &mut residual)).contains("for 3 dofs per node"));
        let apart = graph::build(&Serial, &elem_node, rows, graph::Strategy::Gather).unwrap();
        let mut other = BlockCrsMatrix::<3>::zero(apart.crs);
        assert!(refused(conditions.apply_to_blocks(&space, &mut other, &mut residual)).contains("another graph"));
    }
}
