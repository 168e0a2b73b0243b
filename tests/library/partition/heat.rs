//! The heat equation on the parts of a twisted box that a stranger has numbered and cut: every kernel and strategy assembles the
//! rows of the whole box.

use crate::thread_ranks::on_ranks;
use minifenl::comm::Communicator;
use minifenl::element::ElementType;
use minifenl::element::equations::{Heat, Jacobian, Model, ModelEquation, Scalar};
use minifenl::fill::{Assemble, Dirichlet, FieldOn, Kernel, Strategy};
use minifenl::graph;
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, ElemNode, Mesh, MeshPart};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::{CrsMatrix, Format, Formats};
use std::collections::HashMap;
use support::Random;

/// Jacobian and residual of the first `rows` nodes.
fn assembled(
    space: &Threads,
    (strategy, kernel): (Strategy, Kernel),
    elem_node: &ElemNode,
    rows: usize,
    node_coord: &[[f64; 3]],
    temperature: &[f64],
) -> (CrsMatrix, Vec<f64>) {
    let graph = graph::build(space, elem_node, rows, graph::Strategy::default()).unwrap();
    let free = Dirichlet::new(space, &graph.crs, &vec![0; elem_node.node_count()]).unwrap();
    let mut system = space.stored_system(strategy, Format::Crs.into(), graph, free).unwrap();
    let equation = ModelEquation::Scalar(Scalar::Heat(Heat::new(0.7)));
    let model = Model { equation, jacobian: Jacobian::Analytic };
    let on = FieldOn { element: ElementType::Hex8, elem_node, node_coord };
    let mut assembly = space.assembly((strategy, kernel).into(), &model, on, &system).unwrap();
    let mut residual = vec![f64::NAN; rows];
    space.assemble(&mut assembly, node_coord, temperature, &mut system, &mut residual).unwrap();
    (Threads::crs(&system.matrix).unwrap().clone(), residual)
}

#[test]
fn the_heat_equation_is_assembled_on_any_partition() {
    let spec = BoxSpec::unit([6, 5, 7], CoordinateMap::TWIST).unwrap();
    let whole = Mesh::new(&Serial, BoxPart::new(&spec, 0, 1).unwrap()).unwrap();
    let nodes = whole.node_coord.len();
    let mut random = Random::new(12);
    let temperature: Vec<f64> = (0..nodes).map(|_| 1.0 + random.below(1000) as f64 / 1000.0).collect();
    let reference =
        assembled(&Serial, (Strategy::Gather, Kernel::Fused), &whole.elem_node, nodes, &whole.node_coord, &temperature);
    // Ids of the stranger, and the place of each in the box.
    let id = |node: usize| (node as u64 * 89 + 17) % 10_007;
    let node_of: HashMap<u64, usize> = (0..nodes).map(|node| (id(node), node)).collect();
    let ranks = 5;
    let owner: Vec<usize> = (0..nodes).map(|node| (node / 20 + random.below(2)) % ranks).collect();
    for (strategy, _) in Strategy::ALL {
        for (kernel, _) in Kernel::ALL {
            on_ranks(ranks, |comm| {
                let is_mine = |&node: &u32| owner[node as usize] == comm.rank();
                let owned: Vec<u64> = (0..nodes).filter(|&node| is_mine(&(node as u32))).map(id).collect();
                let elems = whole.elem_node.iter().filter(|elem| elem.iter().any(is_mine));
                let table: Vec<u64> = elems.flatten().map(|&node| id(node as usize)).collect();
                let part = MeshPart::new(comm, &owned, &table, 8).unwrap();
                let nodes: Vec<usize> = part.nodes.ids().iter().map(|id| node_of[id]).collect();
                let coord: Vec<[f64; 3]> = nodes.iter().map(|&node| whole.node_coord[node]).collect();
                let local: Vec<f64> = nodes.iter().map(|&node| temperature[node]).collect();
                let space = Threads::new(2).unwrap();
                let (matrix, residual) =
                    assembled(&space, (strategy, kernel), &part.elem_node, owned.len(), &coord, &local);
                for row in 0..owned.len() {
                    let columns = matrix.graph().row(row);
                    assert_eq!(columns.len(), reference.0.graph().row(nodes[row]).len());
                    for &column in columns {
                        let expected = reference.0.get(nodes[row], nodes[column as usize] as u32).expect("an entry");
                        let value = matrix.get(row, column).expect("an entry");
                        assert!((value - expected).abs() < 1e-14, "{strategy}, {kernel}: {value} {expected}");
                    }
                    assert!((residual[row] - reference.1[nodes[row]]).abs() < 1e-14, "{strategy}, {kernel}, row {row}");
                }
            });
        }
    }
}
