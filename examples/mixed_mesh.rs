//! Solves Poisson's equation on squares and triangles, with a Robin condition on boundary edges: three element types, one matrix.
//!
//! ```text
//! cargo run --release --example mixed_mesh
//!
//! -laplace(u) = 0 in the unit square          left half: squares, right half: triangles
//! u = g at x = 0,  u_n + u = r elsewhere      g, r from u = x + 2 y, which all these elements represent
//!
//! 1  tables          one per element type; all number the same nodes
//! 2  build_groups    one sparsity pattern, and the positions of each group in it
//! 3  fill            the first group overwrites, the others add
//! 4  apply_with, cg  u = g, with its columns moved to the right-hand side; K u = b
//! ```

use minifenl::contraction::Sum;
use minifenl::element::equations::{EquationAt, Field, Point, Poisson, Weak};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{Dirichlet, EquationKernel, Fill, Parts, Strategy, WithGiven};
use minifenl::solve::{Options, solve};
use minifenl::space::{Threads, lanes::Number};
use minifenl::{Result, graph, mesh::ElemNode, sparse::CrsMatrix};

const N: u32 = 16; // cells along an edge of the square

/// u - r at the boundary, with r = n . (1, 2) + x + 2 y.
struct Robin;

impl EquationAt<1, 0> for Robin {
    fn weak<N: Number>(&self, at: Point<N, 0>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
        let along = |of: [N; 3]| of[0] + N::from(2.0) * of[1];
        [Weak { flux: [N::from(0.0); 3], source: u.value - along(at.normal) - along(at.x) }]
    }
}

fn main() -> Result<()> {
    let (space, count) = (Threads::new(2)?, ((N + 1) * (N + 1)) as usize);
    let point = |node: u32| [node % (N + 1), node / (N + 1)].map(|i| f64::from(i) / f64::from(N));
    let coord: Vec<[f64; 3]> = (0..count as u32).map(|node| [point(node)[0], point(node)[1], 0.0]).collect();

    // 1. Counter-clockwise, so that normals of the edges point outwards.
    let node = |i: u32, j: u32| i + (N + 1) * j;
    let (mut squares, mut triangles, mut edges) = (vec![], vec![], vec![]);
    for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
        let [a, b, c, d] = [node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)];
        if i < N / 2 { squares.extend([a, b, c, d]) } else { triangles.extend([a, b, c, a, c, d]) }
    }
    for i in 0..N {
        edges.extend([node(i, 0), node(i + 1, 0), node(i + 1, N), node(i, N), node(N, i), node(N, i + 1)]);
    }
    let table = |nodes, nodes_per_elem| ElemNode::new(nodes, nodes_per_elem, count);
    let (squares, triangles, edges) = (table(squares, 4)?, table(triangles, 3)?, table(edges, 2)?);

    // 2. The rows of nodes at the interface have columns of both sides.
    let graphs = graph::build_groups(&space, &[&squares, &triangles, &edges], count, graph::Strategy::default())?;

    // 3. Matrix and residual at u = 0.
    let (poisson, robin, u) = (Poisson { load: 0.0 }, WithGiven { equation: &Robin, given: [] }, vec![[0.0]; count]);
    let [quad4, tri3, line2] = [ElementType::Quad4, ElementType::Tri3, ElementType::Line2].map(BasisTables::of);
    let square = EquationKernel::<1, 4, 4>::new(&poisson, &quad4, &squares, &coord, &u)?;
    let triangle = EquationKernel::<1, 3, 3>::new(&poisson, &tri3, &triangles, &coord, &u)?;
    let edge = EquationKernel::<1, 2, 2>::on_boundary(&robin, &line2, &edges, &coord, &u)?;
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graphs[0].crs.clone()), vec![0.0; count]);
    Fill::<4>::new(&space, Strategy::default(), &graphs[0])?.assemble(&space, &square, &mut matrix, &mut rhs)?;
    let both = Parts::Both(&mut matrix, &mut rhs);
    Fill::<3>::new(&space, Strategy::default(), &graphs[1])?.assemble_parts(&space, &triangle, Sum::Into, both)?;
    let both = Parts::Both(&mut matrix, &mut rhs);
    Fill::<2>::new(&space, Strategy::default(), &graphs[2])?.assemble_parts(&space, &edge, Sum::Into, both)?;
    rhs.iter_mut().for_each(|rhs| *rhs = -*rhs);

    // 4. u at x = 0.
    let fixed: Vec<u8> = coord.iter().map(|x| u8::from(x[0] == 0.0)).collect();
    let expected: Vec<f64> = coord.iter().map(|x| x[0] + 2.0 * x[1]).collect();
    Dirichlet::new(&space, &graphs[0].crs, &fixed)?.apply_with(&space, &mut matrix, &mut rhs, &expected)?;
    let mut u = vec![0.0; count];
    let info = solve(&space, &matrix, &rhs, &mut u, Options { rtol: 1e-13, ..Options::default() })?;
    let error =
        u.iter().zip(&expected).map(|(u, expected)| (u - expected).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    println!("{count} nodes: {} CG iterations, largest error {error:.1e}", info.iterations);
    assert!(error < 1e-10, "the error is {error:.1e}, expected rounding");
    Ok(())
}
