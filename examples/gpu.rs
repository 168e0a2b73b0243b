//! Assembles on the host, solves on a GPU. Without a GPU it says why and ends well.
//!
//! ```text
//! cargo run --release --example gpu
//! ```
//! ```text
//! -laplace(u) + u = 1 on a square of bilinear elements, u_n = 0 on its edges          u = 1
//!
//! 1  Cuda::new        loads driver and runtime compiler; an error says what is missing
//! 2  graph, fill      on the threads of the host
//! 3  upload           matrix and right-hand side
//! 4  SlicedEll        per-slice offset patterns; columns are not stored
//! 5  solve            the same call as on the host; the solution comes back by download
//! ```

use minifenl::fill::{self, Fill, element_fn};
use minifenl::solve::{Options, solve};
use minifenl::space::{Cuda, ExecutionSpace, Threads};
use minifenl::sparse::{CrsMatrix, SlicedEll};
use minifenl::{Error, Result, graph, mesh::ElemNode};

/// Nodes along an edge.
const EDGE: u32 = 201;

fn main() -> Result<()> {
    // 1. The first GPU.
    let gpu = match Cuda::new(0) {
        Ok(gpu) => gpu,
        Err(Error::Device(why)) => {
            println!("no GPU, nothing is solved: {why}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };

    // 2. Elements of stiffness, and 1/4 of the area h^2 on the diagonal (lumped mass).
    let host = Threads::new(2)?;
    let count = (EDGE * EDGE) as usize;
    let corners = (0..(EDGE - 1).pow(2)).map(|cell| cell % (EDGE - 1) + EDGE * (cell / (EDGE - 1)));
    let elem_node = ElemNode::new(corners.flat_map(|n| [n, n + 1, n + EDGE + 1, n + EDGE]).collect(), 4, count)?;
    let graph = graph::build(&host, &elem_node, count, graph::Strategy::default())?;
    let mass = 0.25 / f64::from(EDGE - 1).powi(2);
    let kernel = element_fn(|_| {
        let stiffness = |i: usize, j: usize| [4.0, -1.0, -2.0, -1.0][(4 + j - i) % 4] / 6.0;
        let entry = |i, j| stiffness(i, j) + if i == j { mass } else { 0.0 };
        (std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))), [mass; 4])
    });
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
    let mut fill = Fill::<4>::new(&host, fill::Strategy::Gather, &graph)?;
    fill.assemble(&host, &kernel, &mut matrix, &mut rhs)?;

    // 3. From here on everything is in the memory of the GPU.
    let (matrix, rhs, mut u) = (matrix.upload(&gpu)?, gpu.upload(&rhs)?, gpu.zeros::<f64>(count)?);

    // 4. Made once for a pattern, updated after each fill.
    let mut slices = SlicedEll::<f64>::new(&gpu, false, matrix.graph())?;
    slices.update(&gpu, &matrix)?;

    // 5. Iterations are enqueued ahead, and the host only looks for convergence.
    let info = solve(&gpu, &slices, &rhs, &mut u, Options { rtol: 1e-10, ..Options::default() })?;
    let error = gpu.download(&u)?.iter().map(|u| (u - 1.0).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    println!("{}: {count} nodes, {} CG iterations, largest error {error:.1e}", gpu.label(), info.iterations);
    assert!(error < 1e-6, "the largest error is {error:.1e}, expected at most 1e-6");
    Ok(())
}
