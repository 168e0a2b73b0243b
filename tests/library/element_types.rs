//! The nonlinear heat equation on every element type: Newton's method converges quadratically, errors fall with the order of the basis.

use minifenl::comm::Solo;
use minifenl::element::equations::{Elasticity, Equation};
use minifenl::element::{Analytic, BasisTables, ElementType};
use minifenl::fill::{Dirichlet, EquationKernel, Fill, Strategy};
use minifenl::mesh::Mesh;
use minifenl::solve::{CgParams, CgWorkspace, Identity, LinearSystem, cg};
use minifenl::space::Threads;
use minifenl::{graph, sparse::CrsMatrix};

/// Solves the equation on a twisted box with `exact` on its surface. Returns the largest error at a node and the Newton steps.
fn solve<E: Equation<D>, const D: usize, const NN: usize, const ND: usize>(
    equation: &E,
    element: ElementType,
    cells: usize,
    start: [f64; D],
    exact: impl Fn([f64; 3]) -> [f64; D],
) -> (f64, usize) {
    let space = Threads::new(2).unwrap();
    let mesh = Mesh::of_box(element, [cells; 3], [1.0; 3]).unwrap();
    let on_surface = |x: &[f64; 3]| x.iter().any(|&x| x == 0.0 || x == 1.0);
    let fixed: Vec<u8> = mesh.node_coord.iter().flat_map(|x| [u8::from(on_surface(x)); D]).collect();
    // Curved elements inside, the box outside.
    let bump = |x: f64| x * (1.0 - x);
    let coord: Vec<[f64; 3]> = mesh
        .node_coord
        .iter()
        .map(|&[x, y, z]| {
            let b = bump(x) * bump(y) * bump(z);
            [x + 1.5 * b, y - b, z + 2.0 * b]
        })
        .collect();
    let count = coord.len();
    let values: Vec<[f64; D]> = coord.iter().map(|&x| exact(x)).collect();
    let mut u: Vec<[f64; D]> = values.clone();
    u.iter_mut().zip(&mesh.node_coord).filter(|(_, x)| !on_surface(x)).for_each(|(u, _)| *u = start);
    let nodes = graph::build(&space, &mesh.elem_node, count, graph::Strategy::default()).unwrap();
    let graph = nodes.with_dofs(&space, D).unwrap();
    let mut fill = Fill::<ND>::new(&space, Strategy::Gather, &graph).unwrap();
    let conditions = Dirichlet::new(&space, &graph.crs, &fixed).unwrap();
    let tables = BasisTables::of(element);
    let (mut matrix, mut residual) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; D * count]);
    let mut work = CgWorkspace::new(&space, D * count, D * count).unwrap();
    let mut steps = 0;
    loop {
        let kernel = EquationKernel::<D, NN, ND>::new(equation, &tables, &mesh.elem_node, &coord, &u).unwrap();
        fill.assemble(&space, &kernel, &mut matrix, &mut residual).unwrap();
        conditions.apply(&space, &mut matrix, &mut residual).unwrap();
        let norm = residual.iter().map(|r| r * r).sum::<f64>().sqrt();
        if norm < 1e-11 {
            break;
        }
        assert!(steps < 8, "{element}: residual {norm:e} after {steps} steps");
        let mut delta = vec![0.0; D * count];
        let params = CgParams::new(1e-3 * norm.min(1e-6), 2000);
        let mut system =
            LinearSystem { operator: &matrix, preconditioner: &mut Identity, comm: &Solo, rhs: &residual[..] };
        cg(&space, &mut system, &mut delta, params, &mut work, &mut |_, _| Ok(())).unwrap();
        u.as_flattened_mut().iter_mut().zip(&delta).for_each(|(u, d)| *u -= d);
        steps += 1;
    }
    let errors = u.as_flattened().iter().zip(values.as_flattened()).map(|(u, exact)| (u - exact).abs());
    (errors.fold(0.0, f64::max), steps)
}

fn heat<const NN: usize>(element: ElementType, order: f64) {
    let analytic = Analytic::new(1.0, 2.0, 0.0, 1.0);
    let equation = analytic.heat();
    let error = |cells| solve::<_, 1, NN, NN>(&equation, element, cells, [1.5], |x| [analytic.at(x[2])]);
    let [(coarse, steps), (fine, _)] = [4, 8].map(error);
    let found = (coarse / fine).log2();
    println!("{element}: errors {coarse:.2e} {fine:.2e}, order {found:.2}, {steps} Newton steps");
    assert!(
        found > order - 0.35 && fine < 2e-3 && steps <= 5,
        "{element}: order {found}, errors {coarse:e} {fine:e}, {steps} steps"
    );
}

#[test]
fn errors_of_the_heat_equation_fall_with_the_order_of_the_elements() {
    heat::<8>(ElementType::Hex8, 2.0);
    heat::<4>(ElementType::Tet4, 2.0);
    heat::<6>(ElementType::Wedge6, 2.0);
    heat::<20>(ElementType::Hex20, 3.0);
    heat::<27>(ElementType::Hex27, 3.0);
    heat::<10>(ElementType::Tet10, 3.0);
    heat::<15>(ElementType::Wedge15, 3.0);
}

/// Displacements that are linear in x have constant stress: every element reproduces them, curved or not.
#[test]
fn elasticity_passes_the_patch_test_on_every_element() {
    let equation = Elasticity { lambda: 1.2, mu: 0.8, force: [0.0; 3] };
    let linear = |x: [f64; 3]| [0.1 * x[0] - 0.2 * x[1], 0.05 + 0.3 * x[2], 0.1 * x[1] + 0.2 * x[2] - 0.1 * x[0]];
    fn check<const NN: usize, const ND: usize>(
        equation: &Elasticity,
        element: ElementType,
        linear: impl Fn([f64; 3]) -> [f64; 3],
    ) {
        let (error, steps) = solve::<_, 3, NN, ND>(equation, element, 2, [0.0; 3], linear);
        assert!(error < 1e-11 && steps <= 2, "{element}: {error:e}, {steps} steps");
    }
    check::<8, 24>(&equation, ElementType::Hex8, linear);
    check::<4, 12>(&equation, ElementType::Tet4, linear);
    check::<6, 18>(&equation, ElementType::Wedge6, linear);
    check::<20, 60>(&equation, ElementType::Hex20, linear);
    check::<27, 81>(&equation, ElementType::Hex27, linear);
    check::<10, 30>(&equation, ElementType::Tet10, linear);
    check::<15, 45>(&equation, ElementType::Wedge15, linear);
}
