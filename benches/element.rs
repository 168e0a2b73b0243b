//! Element kernels: nanoseconds per element, gather of coordinates included, against the plain loops of the reference.
//!
//! `cargo bench --bench element`

use minifenl::element::reference;
use minifenl::fill::{ContractionKernel, ElementBatch, ElementKernel, Elements, FusedKernel};
use minifenl::mesh::ElemNode;
use std::hint::black_box;
use std::time::Instant;

const NODES: usize = 8;
const LANES: usize = minifenl::space::lanes::LANES;

/// Best of several passes, in nanoseconds an item.
fn best(items: usize, mut pass: impl FnMut()) -> f64 {
    (0..9)
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

fn kernel(kernel: &impl ElementKernel<NODES>, elem_count: usize) {
    let (mut scratch, mut out) = (kernel.scratch(), ElementBatch::ZERO);
    let time = best(elem_count, || {
        for first in (0..elem_count).step_by(LANES) {
            kernel.evaluate(first..(first + LANES).min(elem_count), &mut scratch, &mut out);
            black_box(&out);
        }
    });
    println!("{:<12} {time:8.1} ns/element", kernel.name());
}

fn main() {
    let (elem_node, coords, solution) = wavy_box(40);
    let elements = Elements::new(&elem_node, &coords, &solution, 1.9).unwrap();
    kernel(&FusedKernel::new(elements), elem_node.elem_count());
    kernel(&ContractionKernel::new(elements), elem_node.elem_count());
    let time = best(elem_node.elem_count(), || {
        for nodes in elem_node.iter() {
            let nodes: [usize; NODES] = std::array::from_fn(|i| nodes[i] as usize);
            black_box(reference(nodes.map(|n| coords[n]), nodes.map(|n| solution[n]), 1.9));
        }
    });
    println!("{:<12} {time:8.1} ns/element", "reference");
}
