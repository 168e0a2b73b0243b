//! Heat conduction through a wall that loses heat to its surroundings: an integral over the faces at one side, on host and GPU.
//!
//! ```text
//! cargo run --release --example exchange
//!
//! -laplace(T) = 0 in a cube     T = 1 at x = 0     -dT/dn = h (T - AMBIENT) at x = 1, 0 at the other sides
//! T = 1 - s x                   s = h (1 - s - AMBIENT), so s = h (1 - AMBIENT) / (1 + h)
//!
//! 1  boundary_faces   the faces at x = 1, with a coefficient h of each
//! 2  fill             the cells overwrite matrix and residual, the faces add; on a GPU by add_equation
//! 3  solved           T = 1 at x = 0, and one step of Newton's method, which ends at the solution of a linear problem
//! ```

use minifenl::contraction::Sum;
use minifenl::element::{BasisTables, ElementType, equations::Poisson};
use minifenl::fill::*;
use minifenl::graph::{self, Graph};
use minifenl::solve::{CgSteps, Options, solve};
use minifenl::space::{Cuda, ExecutionSpace, MemorySpace, Slice, Threads};
use minifenl::sparse::{CrsMatrix, Spmv};
use minifenl::{Result, mesh::Mesh, mesh::boundary_faces};

/// Temperature of the surroundings.
pub const AMBIENT: f64 = 0.2;
/// Coefficient of exchange.
const H: f64 = 3.0;

/// The attribute adds the same functions in CUDA C++.
#[minifenl::device]
pub mod surface {
    use minifenl::element::equations::{EquationAt, Field, Point, Weak};
    use minifenl::space::lanes::Number;

    /// Exchange with surroundings.
    #[derive(Debug)]
    pub struct Exchange {
        /// Their temperature.
        pub ambient: f64,
    }

    impl EquationAt<1, 1> for Exchange {
        fn weak<N: Number>(&self, at: Point<N, 1>, t: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [h] = at.given;
            let none = N::from(0.0);
            [Weak { flux: [none, none, none], source: h.value * (t[0].value - N::from(self.ambient)) }]
        }
    }
}

/// Returns T from the system at T = 1.
fn solved<S: CgSteps + Boundary + Spmv<f64>>(
    space: &S,
    graph: &Graph<S::Memory>,
    fixed: &[u8],
    matrix: &mut CrsMatrix<f64, S::Memory>,
    residual: &mut Slice<S, f64>,
) -> Result<Vec<f64>> {
    let conditions = Dirichlet::new(space, &graph.crs, S::Memory::slice(&space.upload(fixed)?))?;
    conditions.apply(space, matrix, residual)?;
    let mut step = space.zeros(fixed.len())?;
    let options = Options { rtol: 1e-13, ..Options::default() };
    solve(space, &*matrix, residual, S::Memory::slice_mut(&mut step), options)?;
    Ok(space.download(&step)?.into_iter().map(|step| 1.0 - step).collect())
}

/// Compares T with the line.
fn check(label: &str, coord: &[[f64; 3]], found: &[f64]) {
    let slope = H * (1.0 - AMBIENT) / (1.0 + H);
    let errors = coord.iter().zip(found).map(|(x, t)| (t - (1.0 - slope * x[0])).abs());
    let error = errors.max_by(f64::total_cmp).unwrap_or(f64::NAN);
    println!("{label}: T is {:.3} at x = 1, largest error {error:.1e}", 1.0 - slope);
    assert!(error < 1e-10, "the error is {error:.1e}, expected rounding");
}

fn main() -> Result<()> {
    let (host, element) = (Threads::new(2)?, ElementType::Tet10);
    let mesh = Mesh::of_box(element, [4; 3], [1.0; 3])?;
    let (cells, coord, count) = (&mesh.elem_node, &mesh.node_coord, mesh.node_coord.len());
    // 1. Six nodes of each face.
    let is_outside = |nodes: &[u32]| nodes.iter().all(|&node| coord[node as usize][0] == 1.0);
    let faces = &boundary_faces(element, cells, &is_outside)?[0];
    let h = vec![H; faces.elem_node.elem_count()];
    let fixed: Vec<u8> = coord.iter().map(|x| u8::from(x[0] == 0.0)).collect();
    let graphs = graph::build_groups(&host, &[cells, &faces.elem_node], count, graph::Strategy::default())?;
    let (inside, exchange) = (Poisson { load: 0.0 }, surface::Exchange { ambient: AMBIENT });
    let tables = [element, faces.element].map(BasisTables::of);
    // 2. On the host, at T = 1.
    let (mut matrix, mut residual) = (CrsMatrix::zero(graphs[0].crs.clone()), vec![0.0; count]);
    let t = vec![[1.0]; count];
    let kernel = EquationKernel::<1, 10, 10>::new(&inside, &tables[0], cells, coord, &t)?;
    Fill::<10>::new(&host, Strategy::default(), &graphs[0])?.assemble(&host, &kernel, &mut matrix, &mut residual)?;
    let there = WithGiven { equation: &exchange, given: [Given::elements(&h)] };
    let kernel = EquationKernel::<1, 6, 6>::on_boundary(&there, &tables[1], &faces.elem_node, coord, &t)?;
    let both = Parts::Both(&mut matrix, &mut residual);
    Fill::<6>::new(&host, Strategy::default(), &graphs[1])?.assemble_parts(&host, &kernel, Sum::Into, both)?;
    // 3.
    check("host", coord, &solved(&host, &graphs[0], &fixed, &mut matrix, &mut residual)?);

    let Ok(gpu) = Cuda::new(0).inspect_err(|why| println!("no GPU: {why}")) else { return Ok(()) };
    let (of_cells, of_faces) = (graphs[0].upload(&gpu)?, graphs[1].upload(&gpu)?);
    let tables_of = [cells.upload(&gpu)?, faces.elem_node.upload(&gpu)?];
    let (node_coord, solution, h) = (&gpu.upload(coord)?, &gpu.upload(&vec![1.0; count])?, gpu.upload(&h)?);
    let mut matrix = CrsMatrix::zeros_on(&gpu, of_cells.crs.clone())?;
    let mut residual = gpu.zeros(count)?;
    let mut kernel = CudaEquationKernel::new(&gpu, &EquationText::of(&inside), &tables[0])?;
    let input = EquationInput { elem_node: &tables_of[0], node_coord, solution, given: &[] };
    let mut fill = CudaFill::new(&gpu, Strategy::Gather, &of_cells)?;
    fill.assemble_equation(&gpu, &mut kernel, input, &mut matrix, &mut residual)?;
    let text = EquationText::of_at(&exchange).on_boundary();
    let mut kernel = CudaEquationKernel::new(&gpu, &text, &tables[1])?;
    let given = &[CudaGiven::elements(&h)];
    let input = EquationInput { elem_node: &tables_of[1], node_coord, solution, given };
    let mut fill = CudaFill::new(&gpu, Strategy::Scatter, &of_faces)?;
    fill.add_equation(&gpu, &mut kernel, input, &mut matrix, &mut residual)?;
    check(&gpu.label(), coord, &solved(&gpu, &of_cells, &fixed, &mut matrix, &mut residual)?);
    Ok(())
}
