//! Steps the heat equation in time: the sparsity pattern is found once, and its matrix is filled anew in every step.
//!
//! ```text
//! cargo run --release --example time_steps
//! ```
//! ```text
//! u_t = (k(u) u_x)_x on 0 < x < 1,  u_x = 0 at both ends,  k(u) = 1 + u           the integral of u does not change
//!
//! (M / dt + K(u_old)) u = M / dt u_old                                            implicit Euler, k of the old step
//!
//! once        graph; the plan of the fill; working memory of CG
//! each step   fill: matrix and right-hand side;  CG from the old u
//! ```

use minifenl::comm::Solo;
use minifenl::fill::{self, Fill, element_fn};
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::{Result, graph, mesh::ElemNode, space::Threads, sparse::CrsMatrix};
use std::f64::consts::PI;

const NODES: usize = 201;
const STEPS: usize = 100;
const DT: f64 = 2e-3;

fn main() -> Result<()> {
    let space = Threads::new(2)?;

    // Once: segments on a line, their graph, the plan of the fill, the memory of CG.
    let segments = (0..NODES as u32 - 1).flat_map(|node| [node, node + 1]).collect();
    let elem_node = ElemNode::new(segments, 2, NODES)?;
    let graph = graph::build(&space, &elem_node, NODES, graph::Strategy::default())?;
    let mut fill = Fill::<2>::new(&space, fill::Strategy::default(), &graph)?;
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; NODES]);
    let mut work = CgWorkspace::new(&space, NODES, NODES)?;
    let params = CgParams::new(1e-12, 1000);

    let h = 1.0 / (NODES - 1) as f64;
    let mut u: Vec<f64> = (0..NODES).map(|node| 1.0 + (PI * node as f64 * h).cos() / 2.0).collect();
    let integral = |u: &[f64]| h * (u.iter().sum::<f64>() - (u[0] + u[NODES - 1]) / 2.0);
    let spread = |u: &[f64]| u.iter().fold(f64::MIN, |a, &b| a.max(b)) - u.iter().fold(f64::MAX, |a, &b| a.min(b));
    let (heat, first) = (integral(&u), spread(&u));

    for step in 1..=STEPS {
        // New values in the old pattern.
        let kernel = element_fn(|elem| {
            let [a, b] = [0, 1].map(|i| u[elem_node.elem(elem)[i] as usize]);
            let (mass, stiffness) = (h / (6.0 * DT), (1.0 + (a + b) / 2.0) / h);
            let [own, other] = [2.0 * mass + stiffness, mass - stiffness];
            ([[own, other], [other, own]], [mass * (2.0 * a + b), mass * (a + 2.0 * b)])
        });
        fill.assemble(&space, &kernel, &mut matrix, &mut rhs)?;
        let mut new = u.clone();
        let mut system = LinearSystem { operator: &matrix, preconditioner: &mut Identity, comm: &Solo, rhs: &rhs[..] };
        let info = cg(&space, &mut system, &mut new, params, &mut work, &mut |_, _| Ok(()))?;
        u = new;
        if step % 20 == 0 {
            println!("t = {:.2}: spread {:.4}, {:>3} CG iterations", DT * step as f64, spread(&u), info.iterations);
        }
    }

    // Nothing leaves, and differences decay: with k = 2 in the mean, as exp(-2 pi^2 t), as long as they are small.
    let (lost, decay) = ((integral(&u) - heat).abs() / heat, (spread(&u) / first).ln() / (-DT * STEPS as f64));
    println!("heat lost {lost:.1e}, rate of decay {decay:.2}, 2 pi^2 = {:.2}", 2.0 * PI * PI);
    assert!(lost < 1e-9, "heat is lost: {lost:.1e}");
    assert!((decay / (2.0 * PI * PI) - 1.0).abs() < 0.05, "rate of decay {decay:.2}, expected 2 pi^2 within 5 %");
    Ok(())
}
