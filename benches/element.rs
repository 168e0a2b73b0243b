//! Element kernels: nanoseconds per element, gather of coordinates included, against the plain loops of the reference; derivatives by
//! hand and by dual numbers.
//!
//! `cargo bench --bench element`

use minifenl::element::equations::{Elasticity, Heat, Jacobian, WithJacobian};
use minifenl::element::{BasisTables, ElementType, reference};
use minifenl::fill::{ElementBatch, ElementKernel, EquationKernel, FusedKernel, Wanted};
use minifenl::fill::{IntrepidKernel, Workset, Worksets};
use minifenl::mesh::{ElemNode, Mesh};
use minifenl::space::Layout;
use std::hint::black_box;
use std::time::Instant;

const NODES: usize = 8;
const LANES: usize = minifenl::space::lanes::LANES;

/// Number of passes: many short ones, since other programs disturb some of them.
const PASSES: usize = 31;

/// Best of several passes, in nanoseconds an item.
fn best(items: usize, mut pass: impl FnMut()) -> f64 {
    (0..PASSES)
        .map(|_| {
            let start = Instant::now();
            pass();
            start.elapsed().as_secs_f64() * 1e9 / items as f64
        })
        .fold(f64::INFINITY, f64::min)
}

/// A box of n^3 wavy hexahedra.
fn wavy_box(n: usize) -> (ElemNode, Vec<[f64; 3]>, Vec<f64>) {
    let id = |i: usize, j: usize, k: usize| (i + (n + 1) * (j + (n + 1) * k)) as u32;
    let mut elem_node = Vec::new();
    for e in 0..n * n * n {
        let (i, j, k) = (e % n, e / n % n, e / (n * n));
        for z in [k, k + 1] {
            elem_node.extend([id(i, j, z), id(i + 1, j, z), id(i + 1, j + 1, z), id(i, j + 1, z)]);
        }
    }
    let node_count = (n + 1).pow(3);
    let h = 1.0 / n as f64;
    let grid = |node: usize| [node % (n + 1), node / (n + 1) % (n + 1), node / (n + 1).pow(2)].map(|i| i as f64);
    let coord = |node| {
        let [x, y, z] = grid(node);
        [h * (x + 0.2 * (y * z).sin()), h * (y + 0.2 * (x + z).cos()), h * (z + 0.2 * (x * y).sin())]
    };
    let coords = (0..node_count).map(coord).collect();
    let solution = (0..node_count).map(|node| 1.0 + h * grid(node)[2]).collect();
    (ElemNode::new(elem_node, NODES, node_count).unwrap(), coords, solution)
}

fn kernel<const ND: usize>(name: &str, kernel: &impl ElementKernel<ND>, elem_count: usize) {
    let mut evaluate = kernel.evaluator(Wanted { matrix: true, residual: true }, 0..elem_count).unwrap();
    let mut batch = ElementBatch::ZERO;
    let out = &mut batch;
    let time = best(elem_count, || {
        for first in (0..elem_count).step_by(LANES) {
            evaluate(first..(first + LANES).min(elem_count), out).unwrap();
            black_box(&*out);
        }
    });
    println!("{name:<32} {time:8.1} ns/element");
}

/// A table of a basis by the type of its elements.
fn tables(element: ElementType) -> BasisTables {
    BasisTables::of(element)
}

/// The heat equation and elasticity on boxes of `cells`^3 cells.
fn equations<const NN: usize, const N3: usize>(element: ElementType, cells: usize) {
    let mesh = Mesh::of_box(element, [cells; 3], [1.0; 3]).unwrap();
    let (table, coords, elems) = (&mesh.elem_node, &mesh.node_coord, mesh.elem_node.elem_count());
    let (basis, u, v) = (tables(element), vec![[1.5]; coords.len()], vec![[1.0; 3]; coords.len()]);
    let (heat, solid) = (Heat::new(1.9), Elasticity { lambda: 1.2, mu: 0.8, force: [0.0; 3] });
    for (jacobian, name) in Jacobian::ALL {
        let (heat, solid) = (WithJacobian { equation: heat, jacobian }, WithJacobian { equation: solid, jacobian });
        let of_heat = EquationKernel::<1, NN, NN>::new(&heat, &basis, table, coords, &u).unwrap();
        kernel(&format!("heat on {element}, {name}"), &of_heat, elems);
        let of_solid = EquationKernel::<3, NN, N3>::new(&solid, &basis, table, coords, &v).unwrap();
        kernel(&format!("elasticity on {element}, {name}"), &of_solid, elems);
    }
}

fn main() {
    let (elem_node, coords, solution) = wavy_box(24);
    let heat = Heat::new(1.9);
    let fused = FusedKernel::new(&elem_node, &coords, &solution, heat).unwrap();
    kernel("fused", &fused, elem_node.elem_count());
    let (hex8, nodal) = (tables(ElementType::Hex8), solution.iter().map(|&t| [t]).collect::<Vec<_>>());
    let by_hand = EquationKernel::<1, NODES, NODES>::new(&heat, &hex8, &elem_node, &coords, &nodal).unwrap();
    kernel("equation", &by_hand, elem_node.elem_count());
    for (layout, name) in Layout::ALL {
        for cells in [8, 16, 32, 64, 128, 256] {
            let workset = Workset { cells: Some(cells), layout: Some(layout), ..Workset::default() };
            let worksets = Worksets::new(&hex8, elem_node.elem_count(), workset, 1).unwrap();
            let composed =
                IntrepidKernel::<1, NODES, NODES>::new(&heat, &hex8, &elem_node, &coords, &nodal, &worksets).unwrap();
            kernel(&format!("intrepid, {name}, {cells} cells"), &composed, elem_node.elem_count());
        }
    }
    for (jacobian, name) in Jacobian::ALL {
        let heat = WithJacobian { equation: heat, jacobian };
        let chosen = EquationKernel::<1, NODES, NODES>::new(&heat, &hex8, &elem_node, &coords, &nodal).unwrap();
        kernel(&format!("equation, --jacobian {name}"), &chosen, elem_node.elem_count());
    }
    let time = best(elem_node.elem_count(), || {
        for nodes in elem_node.iter() {
            let nodes: [usize; NODES] = std::array::from_fn(|i| nodes[i] as usize);
            let _ = black_box(reference(&hex8, nodes.map(|n| coords[n]), nodes.map(|n| solution[n]), &heat));
        }
    });
    println!("{:<32} {time:8.1} ns/element", "reference");
    equations::<8, 24>(ElementType::Hex8, 24);
    equations::<4, 12>(ElementType::Tet4, 24);
    equations::<6, 18>(ElementType::Wedge6, 24);
    equations::<10, 30>(ElementType::Tet10, 12);
    equations::<20, 60>(ElementType::Hex20, 12);
    equations::<27, 81>(ElementType::Hex27, 12);
}
