//! Assembles from index pairs: a program with its own mesh, element loop and dofs needs no element type of this library.
//!
//! ```text
//! cargo run --release --example coo
//! ```
//! ```text
//! -u'' + u^3 = f on a ring of length 1,   u(0) = u(1), u'(0) = u'(1),   u = cos(2 pi x),   f = 4 pi^2 u + u^3
//!
//! 1  plan            element tables [elem, 2]; the last node is the first one (periodic)
//! 2  Newton          J = K + 3 M(u^2), r = K u + M u^3 - M f: the values change, the plan stays
//! 3  CG              J du = r
//! ```

use minifenl::Result;
use minifenl::comm::Solo;
use minifenl::contraction::Sum;
use minifenl::fill::{Combinations, ConstrainedCoo, ElementIndices};
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::{Threads, allowed_cores};
use std::f64::consts::PI;

fn main() -> Result<()> {
    let space = Threads::new(allowed_cores())?;
    let (coarse, fine) = (solve(&space, 64)?, solve(&space, 128)?);
    println!("largest error {coarse:.2e} with 64 elements, {fine:.2e} with 128");
    // Linear elements: half the spacing, a quarter of the error.
    assert!((3.5..4.5).contains(&(coarse / fine)), "the error falls by {:.2}, expected 4", coarse / fine);
    Ok(())
}

/// Returns the largest error at a node.
fn solve(space: &Threads, elems: u32) -> Result<f64> {
    // 1. Nodes 0..=elems; the last one is a combination of the first one alone.
    let (h, nodes) = (1.0 / f64::from(elems), elems as usize + 1);
    let periodic = Combinations::new(nodes, &[(elems, vec![(0, 1.0)])])?;
    let table: Vec<u32> = (0..elems).flat_map(|elem| [elem, elem + 1]).collect();
    let elements = ElementIndices { indices: &table, per_elem: 2 };
    let plan = ConstrainedCoo::from_elements(space, &periodic, elements, elements)?;
    let (mut matrix, free) = (plan.matrix()?, periodic.free_count());

    let exact: Vec<f64> = (0..nodes).map(|node| (2.0 * PI * node as f64 * h).cos()).collect();
    let load: Vec<f64> = exact.iter().map(|u| 4.0 * PI * PI * u + u.powi(3)).collect();
    let (mut u, mut free_u) = (vec![0.5_f64; nodes], vec![0.5; free]);
    let mut work = CgWorkspace::new(space, free, free)?;
    for _ in 0..30 {
        // 2. Element matrices [elem, a, b], lumped mass; the residual of each node, then of each free node.
        let mut values = Vec::new();
        let mut residual = vec![0.0; nodes];
        for nodes in table.chunks(2).map(|pair| [pair[0] as usize, pair[1] as usize]) {
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let (i, j) = (nodes[a], nodes[b]);
                let (k, m) = if a == b { (1.0 / h, h / 2.0) } else { (-1.0 / h, 0.0) };
                values.push(k + 3.0 * m * u[i].powi(2));
                residual[i] += k * u[j] + m * (u[i].powi(3) - load[i]);
            }
        }
        plan.set_values(space, &values, Sum::Overwrite, &mut matrix)?;
        let (mut rhs, mut step) = (vec![0.0; free], vec![0.0; free]);
        periodic.restrict(&residual, &mut rhs)?;
        if rhs.iter().all(|r| r.abs() < 1e-10) {
            break;
        }
        // 3. One rank (`Solo`), no preconditioner.
        let params = CgParams { tolerance: 1e-12, max_iterations: 500 };
        let mut system = LinearSystem { operator: &matrix, preconditioner: Identity, comm: &Solo, rhs: &rhs };
        cg(space, &mut system, &mut step, params, &mut work, &mut |_, _| {})?;
        free_u.iter_mut().zip(&step).for_each(|(u, du)| *u -= du);
        periodic.expand(&free_u, &mut u)?;
    }
    assert_eq!(u[0], u[nodes - 1]);
    Ok(u.iter().zip(&exact).map(|(u, exact)| (u - exact).abs()).fold(0.0, f64::max))
}
