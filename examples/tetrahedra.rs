//! Solves the Poisson equation on a mesh of tetrahedra and shows that the error falls with the square of the spacing.
//!
//! ```text
//! cargo run --release --example tetrahedra
//! ```
//! ```text
//! -laplace(u) = f in the unit cube, u = 0 on its faces,   u = b(x) b(y) b(z), b(t) = t - t^4
//!                                                         f = 12 (x^2 b(y) b(z) + y^2 b(z) b(x) + z^2 b(x) b(y))
//!
//! 1  mesh            nodes, and elements as 4 nodes each: any table will do
//! 2  graph           sparsity pattern of the matrix, from the table
//! 3  fill            K [i, j] = V grad phi_i . grad phi_j,  b [i] = V / 4 f(x_i)         V: volume of an element
//! 4  conditions      rows and columns of fixed nodes
//! 5  CG              K u = b, with cycles over aggregates of K
//! ```

use minifenl::comm::{Links, Map, Solo};
use minifenl::fill::{self, Dirichlet, Fill, element_fn};
use minifenl::solve::{NearNull, Options, SmoothedAggregation, solve};
use minifenl::space::{Threads, allowed_cores};
use minifenl::{Result, graph, mesh::ElemNode, sparse::CrsMatrix};

fn main() -> Result<()> {
    let space = Threads::new(allowed_cores())?;
    let mut errors = Vec::new();
    for edge in [9, 17, 33] {
        let (error, iterations) = largest_error(&space, edge)?;
        println!("{edge:>3}^3 nodes: {iterations:>3} CG iterations, largest error {error:.2e}");
        errors.push(error);
        // Plain CG needs 23, 48 and 97.
        assert!(iterations <= 16, "{iterations} iterations, which should hardly grow with the mesh");
    }
    for pair in errors.windows(2) {
        let ratio = pair[0] / pair[1];
        // Linear elements: half the spacing, a quarter of the error.
        assert!((3.5..4.5).contains(&ratio), "the error falls by {ratio:.2}, expected 4");
    }
    Ok(())
}

/// Solves with `edge` nodes along each edge of the cube; returns the largest error at a node and the iterations of CG.
fn largest_error(space: &Threads, edge: u32) -> Result<(f64, usize)> {
    // 1. A grid of cubes, each cut into six tetrahedra: the paths along its edges from the lowest corner to the highest.
    let (count, step) = ((edge as usize).pow(3), 1.0 / f64::from(edge - 1));
    let point: Vec<[f64; 3]> = (0..edge.pow(3))
        .map(|node| [node % edge, node / edge % edge, node / edge.pow(2)].map(|i| f64::from(i) * step))
        .collect();
    let mut nodes = Vec::new();
    for cell in 0..(edge - 1).pow(3) {
        let corner = [cell % (edge - 1), cell / (edge - 1) % (edge - 1), cell / (edge - 1).pow(2)];
        for path in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut at = corner;
            nodes.push(at[0] + edge * (at[1] + edge * at[2]));
            for axis in path {
                at[axis] += 1;
                nodes.push(at[0] + edge * (at[1] + edge * at[2]));
            }
            // Right-handed: the volume of every other path would be negative.
            if (path[1] + 3 - path[0]) % 3 == 2 {
                let end = nodes.len();
                nodes.swap(end - 2, end - 1);
            }
        }
    }
    let elem_node = ElemNode::new(nodes, 4, count)?;

    // 2. Row i has column j if some element contains both nodes.
    let graph = graph::build(space, &elem_node, count, graph::Strategy::default())?;

    // 3. The kernel is called for several elements at once, from several threads.
    let bubble = |x: [f64; 3]| x.map(|t| t - t.powi(4));
    let exact = |x| bubble(x).iter().product::<f64>();
    let source = |x: [f64; 3]| {
        let [a, b, c] = bubble(x);
        12.0 * (x[0].powi(2) * b * c + x[1].powi(2) * c * a + x[2].powi(2) * a * b)
    };
    let kernel = element_fn(|elem| {
        let corner: [[f64; 3]; 4] = std::array::from_fn(|i| point[elem_node.elem(elem)[i] as usize]);
        let (volume, gradient) = gradients(corner);
        let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
        let matrix = gradient.map(|gi| gradient.map(|gj| volume * dot(gi, gj)));
        (matrix, corner.map(|x| volume / 4.0 * source(x)))
    });
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
    let mut fill = Fill::<4>::new(space, fill::Strategy::default(), &graph)?;
    fill.assemble(space, &kernel, &mut matrix, &mut rhs)?;

    // 4. The fixed values are 0, so nothing moves to the right-hand side.
    let is_face = |x: &[f64; 3]| x.iter().any(|&x| x == 0.0 || x == 1.0);
    let fixed: Vec<u8> = point.iter().map(|x| is_face(x).into()).collect();
    Dirichlet::new(space, &graph.crs, &fixed)?.apply(space, &mut matrix, &mut rhs)?;

    // 5. One rank (`Solo`), from 0. The levels are made from the matrix alone; constants are what K maps to 0 without step 4.
    let (links, map) = (Links::staged(&Solo), Map::new(count as u64, count, vec![])?);
    let mut levels = SmoothedAggregation::new(space, &links, (&matrix, &map), NearNull::constants(count, 1)?)?;
    let mut u = vec![0.0; count];
    let info = levels.with_cycle(&matrix, |cycle| {
        let options = Options { rtol: 1e-10, preconditioner: Some(cycle), ..Options::default() };
        solve(space, &matrix, &rhs, &mut u, options)
    })?;
    let error = point.iter().zip(&u).map(|(&x, u)| (u - exact(x)).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    Ok((error, info.iterations))
}

/// Volume of a tetrahedron and the gradients of its four linear functions.
fn gradients(corner: [[f64; 3]; 4]) -> (f64, [[f64; 3]; 4]) {
    let [a, b, c] = [1, 2, 3].map(|i: usize| [0, 1, 2].map(|d| corner[i][d] - corner[0][d]));
    let cross = |p: [f64; 3], q: [f64; 3]| [[1, 2], [2, 0], [0, 1]].map(|[i, j]| p[i] * q[j] - p[j] * q[i]);
    let det: f64 = cross(b, c).iter().zip(a).map(|(n, a)| n * a).sum();
    let [b, c, d] = [cross(b, c), cross(c, a), cross(a, b)].map(|normal| normal.map(|x| x / det));
    (det / 6.0, [[0, 1, 2].map(|i| -b[i] - c[i] - d[i]), b, c, d])
}
