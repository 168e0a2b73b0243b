//! Solves linear elasticity, 3 dofs per node, on tetrahedra: a cube that is pulled by the displacements of its surface.
//!
//! ```text
//! cargo run --release --example elasticity
//!
//! div sigma = 0, sigma = lambda tr(eps) I + 2 mu eps,   u = E x on the surface         u = E x inside, too: the patch test
//! K[i c, j d] = V (lambda g_ic g_jd + mu (g_id g_jc + delta_cd g_i . g_j))              g_i: gradient of function i, V: volume
//!
//! 1  graph         of the nodes of cubes, each cut into six tetrahedra; with_dofs makes that of the dofs
//! 2  Fill          12 x 12 values per element
//! 3  conditions    r = K u with u on the surface; rows and columns of fixed dofs
//! 4  CG            K delta = r; u - delta is the displacement
//! ```

use minifenl::fill::{Dirichlet, Fill, Strategy, element_fn};
use minifenl::solve::{Options, solve};
use minifenl::space::{Threads, allowed_cores};
use minifenl::sparse::{CrsMatrix, Spmv};
use minifenl::{Result, graph, mesh::ElemNode};

const EDGE: u32 = 11;
const E: [[f64; 3]; 3] = [[0.010, 0.002, 0.0], [-0.001, -0.003, 0.004], [0.003, 0.0, -0.002]];

fn main() -> Result<()> {
    let (space, count, lambda, mu) = (Threads::new(allowed_cores())?, EDGE.pow(3) as usize, 1.2, 0.8);
    let at = |node: u32| [node % EDGE, node / EDGE % EDGE, node / EDGE.pow(2)];
    let point: Vec<[f64; 3]> =
        (0..EDGE.pow(3)).map(|node| at(node).map(|i| f64::from(i) / f64::from(EDGE - 1))).collect();
    let mut table = Vec::new();
    for corner in (0..EDGE.pow(3)).filter(|&node| at(node).iter().all(|&i| i + 1 < EDGE)) {
        let step = [1, EDGE, EDGE * EDGE];
        for [a, b, c] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut nodes = [0, step[a], step[a] + step[b], step[a] + step[b] + step[c]].map(|up| corner + up);
            // Right-handed: the volume of every other path would be negative.
            if (b + 3 - a) % 3 == 2 {
                nodes.swap(2, 3);
            }
            table.extend(nodes);
        }
    }
    // 1. The graph of the nodes, and that of three dofs per node.
    let elem_node = ElemNode::new(table, 4, count)?;
    let graph = graph::build(&space, &elem_node, count, graph::Strategy::default())?.with_dofs(&space, 3)?;
    // 2. Dof 3 i + c of an element is displacement c at its node i.
    let kernel = element_fn(|elem| {
        let corners: [[f64; 3]; 4] = std::array::from_fn(|i| point[elem_node.elem(elem)[i] as usize]);
        let (volume, g) = gradients(corners);
        let entry = |r: usize, s: usize| {
            let ([i, c], [j, d]) = ([r / 3, r % 3], [s / 3, s % 3]);
            let dot: f64 = if c == d { (0..3).map(|k| g[i][k] * g[j][k]).sum() } else { 0.0 };
            volume * (lambda * g[i][c] * g[j][d] + mu * (g[i][d] * g[j][c] + dot))
        };
        (std::array::from_fn(|r| std::array::from_fn(|s| entry(r, s))), [0.0; 12])
    });
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; 3 * count]);
    Fill::<12>::new(&space, Strategy::default(), &graph)?.assemble(&space, &kernel, &mut matrix, &mut residual)?;
    // 3. All three displacements are given on the surface; single dofs could be.
    let exact: Vec<f64> =
        point.iter().flat_map(|x| E.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2])).collect();
    let fixed: Vec<u8> = point.iter().flat_map(|x| [x.iter().any(|&x| x == 0.0 || x == 1.0).into(); 3]).collect();
    let u: Vec<f64> = exact.iter().zip(&fixed).map(|(&exact, &fixed)| if fixed != 0 { exact } else { 0.0 }).collect();
    space.spmv(&matrix, &u, &mut residual)?;
    Dirichlet::new(&space, &graph.crs, &fixed)?.apply(&space, &mut matrix, &mut residual)?;
    // 4. CG without a preconditioner, from 0.
    let mut delta = vec![0.0; 3 * count];
    let info = solve(&space, &matrix, &residual, &mut delta, Options { rtol: 1e-12, ..Options::default() })?;
    let error =
        (0..3 * count).map(|dof| (u[dof] - delta[dof] - exact[dof]).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    println!("{count} nodes, {} dofs: {} CG iterations, largest error {error:.1e}", 3 * count, info.iterations);
    assert!(error < 1e-11, "the largest error is {error:.1e}, expected at most 1e-11");
    Ok(())
}

/// Volume and gradients of the four linear functions.
fn gradients(corner: [[f64; 3]; 4]) -> (f64, [[f64; 3]; 4]) {
    let [a, b, c] = [1, 2, 3].map(|i: usize| [0, 1, 2].map(|d| corner[i][d] - corner[0][d]));
    let cross = |p: [f64; 3], q: [f64; 3]| [[1, 2], [2, 0], [0, 1]].map(|[i, j]| p[i] * q[j] - p[j] * q[i]);
    let det: f64 = cross(b, c).iter().zip(a).map(|(n, a)| n * a).sum();
    let [b, c, d] = [cross(b, c), cross(c, a), cross(a, b)].map(|normal| normal.map(|x| x / det));
    (det / 6.0, [[0, 1, 2].map(|i| -b[i] - c[i] - d[i]), b, c, d])
}
