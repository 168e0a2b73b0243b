//! -laplace(u) = lambda e^u in a cube, u = 0 on its surface (Bratu's equation), by Newton's method on triquadratic hexahedra, with a value
//! of lambda per element. What stands under the integral is written once, in Rust; host and GPU assemble it. Run: `cargo run --release --example own_equation`.

use minifenl::element::{BasisTables, ElementType};
use minifenl::sparse::{CrsMatrix, Spmv};
use minifenl::{Result, comm::Solo, fill::*, graph, graph::Graph, mesh::Mesh, solve::*, space::*};

/// The attribute adds the same functions in CUDA C++. Derivatives follow by dual numbers.
#[minifenl::device]
mod bratu {
    use minifenl::element::equations::{EquationAt, Field, Point, Weak};
    use minifenl::space::lanes::Number;

    pub struct Bratu {}

    impl EquationAt<1, 1> for Bratu {
        fn weak<N: Number>(&self, at: Point<N, 1>, [u]: [Field<N>; 1]) -> [Weak<N>; 1] {
            let [lambda] = at.given;
            [Weak { flux: u.grad, source: -lambda.value * u.value.exp() }]
        }
    }
}

/// The system of equations on any space: `assemble` writes J and R at u.
struct System<'a, S: CgSteps + Boundary, F> {
    space: &'a S,
    conditions: Dirichlet<S::Memory>,
    matrix: CrsMatrix<f64, S::Memory>,
    assemble: F,
}

impl<S, F> NonlinearProblem<S> for System<'_, S, F>
where
    S: CgSteps + Boundary + Spmv<f64>,
    F: FnMut(&mut CrsMatrix<f64, S::Memory>, &Slice<S, f64>, &mut Slice<S, f64>) -> Result<()>,
{
    fn rows(&self) -> usize {
        self.matrix.graph().rows()
    }

    fn assemble(&mut self, u: &mut Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()> {
        (self.assemble)(&mut self.matrix, u, residual)?;
        self.conditions.apply(self.space, &mut self.matrix, residual)
    }

    fn solve(
        &mut self,
        _: &Slice<S, f64>,
        rhs: &Slice<S, f64>,
        delta: &mut Slice<S, f64>,
        _: Option<f64>,
    ) -> Result<SolveInfo> {
        self.space.fill(self.rows(), 0.0, delta)?;
        solve(self.space, &self.matrix, rhs, delta, Options { rtol: 1e-6, ..Options::default() })
    }
}

/// Newton's method from u = 0, with halved steps where the residual would rise.
fn run<S: CgSteps + Boundary + Spmv<f64>>(
    space: &S,
    graph: &Graph<S::Memory>,
    fixed: &[u8],
    assemble: impl FnMut(&mut CrsMatrix<f64, S::Memory>, &Slice<S, f64>, &mut Slice<S, f64>) -> Result<()>,
) -> Result<()> {
    let conditions = Dirichlet::new(space, &graph.crs, S::Memory::slice(&space.upload(fixed)?))?;
    let mut problem = System { space, conditions, matrix: CrsMatrix::zeros_on(space, graph.crs.clone())?, assemble };
    let params = NewtonParams { absolute: 1e-12, ..NewtonParams::new(0.0, 6) };
    let observe = &mut |step, norm| {
        println!("step {step}: residual {norm:.3e}");
        Ok(())
    };
    let mut u = space.zeros(problem.rows())?;
    newton(space, &Solo, &mut problem, S::Memory::slice_mut(&mut u), params, observe, &mut NewtonInfo::default())?;
    let largest = space.download(&u)?.into_iter().fold(0.0, f64::max);
    // Second differences on grids of 24^3 and 48^3 cells, extrapolated, give 0.36052.
    assert!((largest - 0.36052).abs() < 5e-5, "u is {largest} at its highest");
    println!("{}: u is {largest:.5} at its highest", space.label());
    Ok(())
}

fn main() -> Result<()> {
    let (host, equation, element) = (Threads::new(allowed_cores())?, bratu::Bratu {}, ElementType::Hex27);
    let (mesh, tables) = (Mesh::of_box(element, [8; 3], [1.0; 3])?, BasisTables::of(element));
    let (table, coord) = (&mesh.elem_node, &mesh.node_coord);
    let lambda = vec![5.0; table.elem_count()];
    let graph = graph::build(&host, table, coord.len(), graph::Strategy::default())?;
    let fixed: Vec<u8> = coord.iter().map(|x| x.iter().any(|&x| x == 0.0 || x == 1.0).into()).collect();
    let mut fill = Fill::<27>::new(&host, Strategy::default(), &graph)?;
    run(&host, &graph, &fixed, |matrix, u, residual| {
        let there = WithGiven { equation: &equation, given: [Given::elements(&lambda)] };
        let kernel = EquationKernel::<1, 27, 27>::with_given(&there, &tables, table, coord, u.as_chunks().0)?;
        fill.assemble(&host, &kernel, matrix, residual)
    })?;
    let Ok(gpu) = Cuda::new(0).inspect_err(|why| println!("no GPU: {why}")) else { return Ok(()) };
    let (graph, elem_node, node_coord) = (graph.upload(&gpu)?, &table.upload(&gpu)?, &gpu.upload(coord)?);
    let lambda = gpu.upload(&lambda)?;
    let mut kernel = CudaEquationKernel::new(&gpu, &EquationText::of_at(&equation), &tables)?;
    let mut fill = CudaFill::new(&gpu, Strategy::Gather, &graph)?;
    run(&gpu, &graph, &fixed, |matrix, solution, residual| {
        let input = EquationInput { elem_node, node_coord, solution, given: &[CudaGiven::elements(&lambda)] };
        fill.assemble_equation(&gpu, &mut kernel, input, matrix, residual)
    })
}
