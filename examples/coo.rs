//! Assembles from index pairs: a program with its own mesh, element loop and dofs needs no element type of this library.
//!
//! ```text
//! cargo run --release --example coo
//! cargo build --features mpi --example coo && mpirun -n 4 target/debug/examples/coo
//! ```
//! ```text
//! -u'' + u^3 = f on a ring of length 1,   u(0) = u(1), u'(0) = u'(1),   u = cos(2 pi x),   f = 4 pi^2 u + u^3
//!
//! 1  plan            pairs of the elements' nodes; the last node is the first one (periodic)
//! 2  Newton          J = K + 3 M(u^2), r = K u + M u^3 - M f: the values change, the plan stays
//! 3  CG              J du = r
//!
//! -u'' + u = f on the same ring, cut among the ranks: each has some elements, by global ids, and sends what belongs to others
//! ```

use minifenl::Result;
use minifenl::comm::{Communicator, Halo, world};
use minifenl::contraction::Sum;
use minifenl::fill::{Combinations, Coo, DistributedCoo, ElementIndices};
use minifenl::solve::{DistributedOperator, Options, solve};
use minifenl::space::{Serial, Threads, allowed_cores};
use std::f64::consts::PI;

fn main() -> Result<()> {
    let (space, comm) = (Threads::new(allowed_cores())?, world()?);
    let cases = [
        ("one rank", on_one_rank(&space, 64)?, on_one_rank(&space, 128)?),
        ("all ranks", on_ranks(&*comm, 64)?, on_ranks(&*comm, 128)?),
    ];
    for (name, coarse, fine) in cases {
        if comm.rank() == 0 {
            println!("{name}: largest error {coarse:.2e} with 64 elements, {fine:.2e} with 128");
        }
        // Linear elements: half the spacing, a quarter of the error.
        assert!((3.5..4.5).contains(&(coarse / fine)), "the error falls by {:.2}, expected 4", coarse / fine);
    }
    Ok(())
}

/// Returns the largest error at a node.
fn on_one_rank(space: &Threads, elems: u32) -> Result<f64> {
    // 1. Nodes 0..=elems; the last one is a combination of the first one alone.
    let (h, nodes) = (1.0 / f64::from(elems), elems as usize + 1);
    let periodic = Combinations::new(nodes, &[(elems, vec![(0, 1.0)])])?;
    let free = periodic.free_count();
    let (i, j): (Vec<u32>, Vec<u32>) =
        (0..elems).flat_map(|e| [(e, e), (e, e + 1), (e + 1, e), (e + 1, e + 1)]).unzip();
    let pairs = periodic.pairs(&i, &j)?;
    let plan = Coo::new(space, free, free, pairs.rows(), pairs.columns())?;
    let mut matrix = plan.matrix()?;

    let exact: Vec<f64> = (0..nodes).map(|node| (2.0 * PI * node as f64 * h).cos()).collect();
    let load: Vec<f64> = exact.iter().map(|u| 4.0 * PI * PI * u + u.powi(3)).collect();
    let (mut u, mut free_u) = (vec![0.5_f64; nodes], vec![0.5; free]);
    for _ in 0..30 {
        // 2. Values of all pairs, lumped mass; the residual of each node, then of each free node.
        let mut values = Vec::new();
        let mut residual = vec![0.0; nodes];
        for (&i, &j) in i.iter().zip(&j) {
            let (i, j) = (i as usize, j as usize);
            let (k, m) = if i == j { (1.0 / h, h / 2.0) } else { (-1.0 / h, 0.0) };
            values.push(k + 3.0 * m * u[i].powi(2));
            residual[i] += k * u[j] + m * (u[i].powi(3) - load[i]);
        }
        plan.set_values(space, &pairs.values(&values)?, Sum::Overwrite, &mut matrix)?;
        let (mut rhs, mut step) = (vec![0.0; free], vec![0.0; free]);
        periodic.restrict(&residual, &mut rhs)?;
        if rhs.iter().all(|r| r.abs() < 1e-10) {
            break;
        }
        // 3. CG without a preconditioner, from 0.
        solve(space, &matrix, &rhs, &mut step, Options { rtol: 1e-12, ..Options::default() })?;
        free_u.iter_mut().zip(&step).for_each(|(u, du)| *u -= du);
        periodic.expand(&free_u, &mut u)?;
    }
    assert_eq!(u[0], u[nodes - 1]);
    Ok(u.iter().zip(&exact).map(|(u, exact)| (u - exact).abs()).fold(0.0, f64::max))
}

/// Returns the largest error at a node of the linear equation, whose elements are those of all ranks.
fn on_ranks(comm: &dyn Communicator, elems: u64) -> Result<f64> {
    let (rank, ranks, h) = (comm.rank() as u64, comm.size() as u64, 1.0 / elems as f64);
    let owned: Vec<u64> = (elems * rank / ranks..elems * (rank + 1) / ranks).collect();
    let table: Vec<u64> = owned.iter().flat_map(|&elem| [elem, (elem + 1) % elems]).collect();
    let elements = ElementIndices { indices: &table[..], per_elem: 2 };
    let mut plan = DistributedCoo::from_elements(&Serial, comm, &owned, elements, elements)?;
    let (mut matrix, mut rhs) = (plan.matrix()?, vec![0.0; owned.len()]);
    let exact = |node: u64| (2.0 * PI * node as f64 * h).cos();
    let load = |node: u64| h / 2.0 * (4.0 * PI * PI + 1.0) * exact(node);
    let stiffness = [1.0 / h + h / 2.0, -1.0 / h, -1.0 / h, 1.0 / h + h / 2.0];
    plan.set_values(&Serial, &stiffness.repeat(owned.len()), Sum::Overwrite, &mut matrix)?;
    let loads: Vec<f64> = table.iter().map(|&node| load(node)).collect();
    plan.sum_rows(&Serial, &loads, Sum::Overwrite, &mut rhs)?;

    let map = plan.columns().map();
    let mut halo = Halo::new(&Serial, comm, map)?;
    let operator = DistributedOperator::new(&matrix, &mut halo, 0)?;
    let mut u = vec![0.0; owned.len()];
    solve(&Serial, &operator, &rhs, &mut u, Options { rtol: 1e-12, ranks: &comm, ..Options::default() })?;
    let mut error = [u.iter().zip(&owned).map(|(u, &node)| (u - exact(node)).abs()).fold(0.0, f64::max)];
    comm.all_max(&mut error);
    Ok(error[0])
}
