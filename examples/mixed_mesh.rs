//! Assembles quadrilaterals, triangles and boundary edges into one matrix: three element groups with one sparsity pattern.
//!
//! ```text
//! cargo run --release --example mixed_mesh
//! ```
//! ```text
//! -laplace(u) = 0 in the unit square          left half: squares, right half: triangles
//! u = g at x = 0,  u_n + u = r elsewhere      g, r from u = x + 2 y, which all these elements represent
//!
//! 1  tables          one per element type; all number the same nodes
//! 2  build_groups    one sparsity pattern, and the positions of each group in it
//! 3  fill            the first group overwrites, the others add
//! 4  apply_with, cg  u = g, with its columns moved to the right-hand side; K u = b
//! ```

use minifenl::contraction::Sum;
use minifenl::fill::{Dirichlet, Fill, Parts, Strategy, element_fn};
use minifenl::solve::{Options, solve};
use minifenl::{Result, graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
use std::array::from_fn;

const N: u32 = 16; // cells along an edge of the square

fn main() -> Result<()> {
    let space = Threads::new(2)?;
    let (count, h) = (((N + 1) * (N + 1)) as usize, 1.0 / f64::from(N));
    let point = |node: u32| [f64::from(node % (N + 1)) * h, f64::from(node / (N + 1)) * h];
    let exact = |[x, y]: [f64; 2]| x + 2.0 * y;

    // 1. Corners counter-clockwise; edges at the bottom, at the top and on the right in turn.
    let node = |i: u32, j: u32| i + (N + 1) * j;
    let (mut squares, mut triangles, mut edges) = (vec![], vec![], vec![]);
    for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
        let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
        if i < N / 2 { squares.extend([a, b, c, d]) } else { triangles.extend([a, b, c, a, c, d]) }
    }
    for i in 0..N {
        edges.extend([node(i, 0), node(i + 1, 0), node(i, N), node(i + 1, N), node(N, i), node(N, i + 1)]);
    }
    let table = |nodes, nodes_per_elem| ElemNode::new(nodes, nodes_per_elem, count);
    let (squares, triangles, edges) = (table(squares, 4)?, table(triangles, 3)?, table(edges, 2)?);

    // 2. The rows of nodes at the interface have columns of both sides.
    let graphs = graph::build_groups(&space, &[&squares, &triangles, &edges], count, graph::Strategy::default())?;

    // 3. Stiffness of squares and triangles; mass of edges, which is also the weight of r.
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graphs[0].crs.clone()), vec![0.0; count]);
    let square = element_fn(|_| (from_fn(|i| from_fn(|j| [4.0, -1.0, -2.0, -1.0][(4 + j - i) % 4] / 6.0)), [0.0; 4]));
    let triangle = element_fn(|elem| {
        let x: [[f64; 2]; 3] = from_fn(|i| point(triangles.elem(elem)[i]));
        // Edge opposite to corner i; the gradient of its function is this vector, turned, over h^2.
        let edge = |i: usize| [0, 1].map(|d| x[(i + 2) % 3][d] - x[(i + 1) % 3][d]);
        let dot = |[a, b]: [f64; 2], [c, d]: [f64; 2]| (a * c + b * d) / (2.0 * h * h);
        (from_fn(|i| from_fn(|j| dot(edge(i), edge(j)))), [0.0; 3])
    });
    let edge = element_fn(|elem| {
        let mass = [[h / 3.0, h / 6.0], [h / 6.0, h / 3.0]];
        let r: [f64; 2] = from_fn(|i| [-2.0, 2.0, 1.0][elem % 3] + exact(point(edges.elem(elem)[i])));
        (mass, mass.map(|row| row[0] * r[0] + row[1] * r[1]))
    });
    Fill::<4>::new(&space, Strategy::Gather, &graphs[0])?.assemble(&space, &square, &mut matrix, &mut rhs)?;
    let both = Parts::Both(&mut matrix, &mut rhs);
    Fill::<3>::new(&space, Strategy::Gather, &graphs[1])?.assemble_parts(&space, &triangle, Sum::Into, both)?;
    let both = Parts::Both(&mut matrix, &mut rhs);
    Fill::<2>::new(&space, Strategy::Gather, &graphs[2])?.assemble_parts(&space, &edge, Sum::Into, both)?;

    let fixed: Vec<u8> = (0..count as u32).map(|node| u8::from(point(node)[0] == 0.0)).collect();
    let expected: Vec<f64> = (0..count as u32).map(|node| exact(point(node))).collect();
    Dirichlet::new(&space, &graphs[0].crs, &fixed)?.apply_with(&space, &mut matrix, &mut rhs, &expected)?;
    let mut u = vec![0.0; count];
    let info = solve(&space, &matrix, &rhs, &mut u, Options { rtol: 1e-13, ..Options::default() })?;
    let error =
        u.iter().zip(&expected).map(|(u, expected)| (u - expected).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    println!("{count} nodes: {} CG iterations, largest error {error:.1e}", info.iterations);
    assert!(error < 1e-10, "the error is {error:.1e}, expected rounding");
    Ok(())
}
