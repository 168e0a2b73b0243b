//! Steps the reaction and diffusion of Gray and Scott in time, fully implicitly: the old solution is a given field of the equation, the
//! Jacobian is not symmetric, and GMRES solves with it.
//!
//! ```text
//! cargo run --release --example gray_scott
//! ```
//! ```text
//! u_t = div(d_u grad u) - u v^2 + f (1 - u),   v_t = div(d_v grad v) + u v^2 - (f + k) v,   no flux through the boundary
//!
//! (u - u_old) / dt = ...              implicit Euler; the reaction cancels in the balance of u + v
//!
//! once        graph, plan of the fill
//! each step   Newton: fill with u_old and v_old as given fields;  GMRES with the inverse of each node's 2 x 2 block
//! ```

use minifenl::element::equations::{EquationAt, Field, Point, Poisson, Weak};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{EquationKernel, Fill, Given, Strategy, WithGiven};
use minifenl::solve::{Jacobi, Method, NewtonInfo, NewtonParams, NonlinearProblem, Options, SolveInfo, newton, solve};
use minifenl::space::{Threads, lanes::Number};
use minifenl::{Result, comm::Solo, graph, mesh::Mesh, sparse::CrsMatrix};

const CELLS: usize = 24;
const STEPS: usize = 20;

struct GrayScott {
    dt: f64,
    diffusion: [f64; 2],
    feed: f64,
    kill: f64,
}

impl EquationAt<2, 2> for GrayScott {
    fn weak<N: Number>(&self, at: Point<N, 2>, [u, v]: [Field<N>; 2]) -> [Weak<N>; 2] {
        let [du, dv] = self.diffusion.map(N::from);
        let (rate, feed, kill) = (N::from(1.0 / self.dt), N::from(self.feed), N::from(self.kill));
        let [of_u, of_v] = [[u, at.given[0]], [v, at.given[1]]].map(|[new, old]| rate * (new.value - old.value));
        let reaction = u.value * v.value * v.value;
        [
            Weak { flux: u.grad.map(|g| du * g), source: of_u + reaction - feed * (N::from(1.0) - u.value) },
            Weak { flux: v.grad.map(|g| dv * g), source: of_v - reaction + (feed + kill) * v.value },
        ]
    }
}

/// A step from `old`.
struct Step<'a> {
    space: &'a Threads,
    mesh: &'a Mesh,
    tables: &'a BasisTables,
    equation: &'a GrayScott,
    old: Vec<[f64; 2]>,
    fill: Fill<16>,
    matrix: CrsMatrix,
}

impl NonlinearProblem<Threads> for Step<'_> {
    fn rows(&self) -> usize {
        2 * self.old.len()
    }

    fn assemble(&mut self, u: &mut [f64], residual: &mut [f64]) -> Result<()> {
        let given = [0, 1].map(|c| Given::component(&self.old, c));
        let (step, Mesh { elem_node, node_coord, .. }) = (WithGiven { equation: self.equation, given }, self.mesh);
        let kernel =
            EquationKernel::<2, 8, 16>::with_given(&step, self.tables, elem_node, node_coord, u.as_chunks().0)?;
        self.fill.assemble(self.space, &kernel, &mut self.matrix, residual)
    }

    fn solve(&mut self, _: &[f64], rhs: &[f64], delta: &mut [f64], _: Option<f64>) -> Result<SolveInfo> {
        delta.fill(0.0);
        let (mut jacobi, method) = (Jacobi::of_blocks(self.space, &self.matrix, 2)?, Method::Gmres { restart: 30 });
        let options = Options { rtol: 1e-6, method, preconditioner: Some(&mut jacobi), ..Options::default() };
        solve(self.space, &self.matrix, rhs, delta, options)
    }
}

fn main() -> Result<()> {
    let (space, tables) = (Threads::new(2)?, BasisTables::of(ElementType::Hex8));
    let mesh = Mesh::of_box(ElementType::Hex8, [CELLS, CELLS, 1], [1.0, 1.0, 1.0 / CELLS as f64])?;
    let (elem_node, coord) = (&mesh.elem_node, &mesh.node_coord);
    let equation = GrayScott { dt: 5.0, diffusion: [2e-4, 1e-4], feed: 0.04, kill: 0.06 };

    // Integrals of the basis functions: minus the load of Poisson's equation.
    let nodes = graph::build(&space, elem_node, coord.len(), graph::Strategy::default())?;
    let (mut matrix, mut weight) = (CrsMatrix::zero(nodes.crs.clone()), vec![0.0; coord.len()]);
    let (zero, poisson) = (vec![[0.0]; coord.len()], Poisson { load: -1.0 });
    let kernel = EquationKernel::<1, 8, 8>::new(&poisson, &tables, elem_node, coord, &zero)?;
    Fill::<8>::new(&space, Strategy::default(), &nodes)?.assemble(&space, &kernel, &mut matrix, &mut weight)?;
    let total = |c: usize, of: &[[f64; 2]]| of.iter().zip(&weight).map(|(u, w)| u[c] * w).sum::<f64>();

    // A spot in the middle.
    let graph = nodes.with_dofs(&space, 2)?;
    let is_spot = |x: &[f64; 3]| x[..2].iter().all(|x| (x - 0.5).abs() < 0.15);
    let old: Vec<[f64; 2]> = coord.iter().map(|x| if is_spot(x) { [0.5, 0.25] } else { [1.0, 0.0] }).collect();
    let (fill, matrix) = (Fill::new(&space, Strategy::default(), &graph)?, CrsMatrix::zero(graph.crs.clone()));
    let mut problem = Step { space: &space, mesh: &mesh, tables: &tables, equation: &equation, old, fill, matrix };
    // The absolute tolerance ends steps that change little.
    let params = NewtonParams { absolute: 1e-13, ..NewtonParams::new(1e-9, 10) };
    for step in 1..=STEPS {
        let (mut u, mut info) = (problem.old.as_flattened().to_vec(), NewtonInfo::default());
        newton(&space, &Solo, &mut problem, &mut u, params, &mut |_, _| Ok(()), &mut info)?;
        let (old, new) = (std::mem::take(&mut problem.old), u.as_chunks().0.to_vec());
        // The change of u + v is what is fed less what is drained.
        let (area, GrayScott { dt, feed, kill, .. }) = (weight.iter().sum::<f64>(), &equation);
        let [[u_old, v_old], [u, v]] = [&old, &new].map(|of| [0, 1].map(|c| total(c, of)));
        let lost = (u + v - u_old - v_old) / dt - (feed * (area - u) - (feed + kill) * v);
        assert!(lost.abs() < 1e-9 * area, "step {step}: the balance is violated by {lost:.1e}");
        if step % 5 == 0 {
            let iterations: usize = info.steps.iter().map(|step| step.linear.iterations).sum();
            let largest = new.iter().fold(0.0, |max: f64, [_, v]| max.max(*v));
            println!(
                "t = {:>3}: v up to {largest:.3}, {} Newton steps, {iterations} GMRES iterations",
                dt * step as f64,
                info.steps.len()
            );
        }
        problem.old = new;
    }
    Ok(())
}
