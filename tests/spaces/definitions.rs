//! Mesh tables and the assembled heat equation against their definitions, above one chunk of nodes and elements.
//!
//! Node ids come from [`BoxPart`], which is tested node by node; element matrices from `element::reference`, which is tested
//! by automatic differentiation. Tables, chunks, batches, strategies and boundary conditions are what is tested here.

use minifenl::element::{BasisTables, ElementType, equations::Heat, reference};
use minifenl::fill::{Dirichlet, ElementKernel, Fill, FusedKernel, Strategy};
use minifenl::graph;
use minifenl::mesh::{BoxPart, BoxSpec, CoordinateMap, Face, Mesh, MeshSpace};
use minifenl::space::{Serial, Threads};
use minifenl::sparse::CrsMatrix;
use std::collections::BTreeMap;
use support::wave;

const CORNERS: [[u64; 3]; 8] = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
const NODES: [u64; 3] = [23, 22, 19];
const SIZE: [f64; 3] = [3.0, 1.0, 0.5];

fn part(map: CoordinateMap, rank: usize, ranks: usize) -> BoxPart {
    BoxPart::new(&BoxSpec::new(NODES, SIZE, map).unwrap(), rank, ranks).unwrap()
}

#[test]
fn mesh_tables_equal_their_definition() {
    for (rank, ranks) in [(0, 1), (0, 2), (1, 2)] {
        let part = part(CoordinateMap::None, rank, ranks);
        let nodes = part.used().count() as usize;
        let index = |node: usize| part.node_index(node as u32);
        let elem_node: Vec<u32> = (part.elements().iter())
            .flat_map(|low| CORNERS.map(|corner| part.local_node([0, 1, 2].map(|axis| low[axis] + corner[axis]))))
            .collect();
        assert!(nodes > 4096 && elem_node.len() > 8 * 4096 / ranks);
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let mesh = Mesh::new(&space, part.clone()).unwrap();
            assert!(*mesh.elem_node.nodes() == elem_node, "rank {rank} of {ranks}");
            assert_eq!((mesh.node_coord.len(), mesh.node_faces.len()), (nodes, nodes));
            let fixed = space.on_faces(&mesh, [Face::YMax, Face::ZMin]).unwrap();
            let mut vector = vec![0.0; nodes];
            let on_face = mesh.nodes_on(&[Face::XMax]);
            space.set_nodes(&on_face, &vec![7.0; on_face.len()], &mut vector).unwrap();
            for node in 0..nodes {
                let [i, j, k] = index(node);
                for (axis, at) in [i, j, k].into_iter().enumerate() {
                    let expected = SIZE[axis] * at as f64 / (NODES[axis] - 1) as f64;
                    assert!((mesh.node_coord[node][axis] - expected).abs() < 1e-15, "node {node}, axis {axis}");
                }
                let faces = [i == 0, i == 22, j == 0, j == 21, k == 0, k == 18];
                let bits = faces.iter().rev().fold(0, |bits, &on_face| 2 * bits + u8::from(on_face));
                assert_eq!(mesh.node_faces[node], bits, "node {node}");
                assert_eq!(fixed[node], u8::from(j == 21 || k == 0), "node {node}");
                assert_eq!(vector[node], if i == 22 { 7.0 } else { 0.0 }, "node {node}");
            }
        }
    }
}

/// Sums of reference elements by pairs of nodes, with the rows and columns of fixed nodes cleared.
fn expected(mesh: &Mesh, temperature: &[f64], heat: Heat, fixed: &[bool]) -> (Vec<f64>, Vec<f64>) {
    let rows = mesh.map.owned_count();
    let (mut pairs, mut residual) = (BTreeMap::new(), vec![0.0; rows]);
    let tables = BasisTables::of(ElementType::Hex8);
    for nodes in mesh.elem_node.iter() {
        let nodes: [usize; 8] = std::array::from_fn(|i| nodes[i] as usize);
        let (elem_residual, elem_matrix) =
            reference(&tables, nodes.map(|n| mesh.node_coord[n]), nodes.map(|n| temperature[n]), &heat).unwrap();
        for i in (0..8).filter(|&i| nodes[i] < rows) {
            residual[nodes[i]] += elem_residual[i];
            (0..8).for_each(|j| *pairs.entry((nodes[i], nodes[j])).or_insert(0.0) += elem_matrix[i][j]);
        }
    }
    let cleared = |row: usize, column: usize| row != column && (fixed[row] || fixed[column]);
    let values = pairs.into_iter().map(|((row, column), value)| if cleared(row, column) { 0.0 } else { value });
    let values = values.collect();
    residual.iter_mut().zip(fixed).filter(|(_, fixed)| **fixed).for_each(|(residual, _)| *residual = 0.0);
    (values, residual)
}

fn check(name: &str, mesh: &Mesh, kernel: &impl ElementKernel<8>, fixed: &[bool], expected: &(Vec<f64>, Vec<f64>)) {
    let scale = |values: &[f64]| values.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let close = |found: &[f64], expected: &[f64]| {
        let bound = 1e-13 * scale(expected);
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= bound)
    };
    let graph = graph::build(&Serial, &mesh.elem_node, mesh.map.owned_count(), graph::Strategy::Sort).unwrap();
    let fixed: Vec<u8> = fixed.iter().map(|&fixed| u8::from(fixed)).collect();
    for (strategy, strategy_name) in Strategy::ALL {
        for threads in [1, 3] {
            let space = Threads::new(threads).unwrap();
            let mut matrix = CrsMatrix::new(graph.crs.clone(), vec![f64::NAN; graph.crs.nnz()]).unwrap();
            let mut residual = vec![f64::NAN; graph.crs.rows()];
            let mut fill = Fill::new(&space, strategy, &graph).unwrap();
            fill.assemble(&space, kernel, &mut matrix, &mut residual).unwrap();
            let conditions = Dirichlet::new(&space, &graph.crs, &fixed).unwrap();
            conditions.apply(&space, &mut matrix, &mut residual).unwrap();
            let same = close(matrix.values(), &expected.0) && close(&residual, &expected.1);
            assert!(same, "{name}, {strategy_name}, {threads} threads");
        }
    }
}

#[test]
fn the_heat_equation_is_the_sum_of_its_elements() {
    for (rank, ranks) in [(0, 1), (1, 2)] {
        let mesh = Mesh::new(&Serial, part(CoordinateMap::TWIST, rank, ranks)).unwrap();
        let temperature = wave(mesh.map.local_count(), 0.7);
        let on_face = |node: usize| mesh.node_coord[node][2] == 0.0 || mesh.node_coord[node][2] == SIZE[2];
        let fixed: Vec<bool> = (0..mesh.map.local_count()).map(on_face).collect();
        let heat = Heat::new(2.5);
        let expected = expected(&mesh, &temperature, heat, &fixed);
        let fused = FusedKernel::new(&mesh.elem_node, &mesh.node_coord, &temperature, heat).unwrap();
        check("fused", &mesh, &fused, &fixed, &expected);
    }
}
