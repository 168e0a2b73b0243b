//! Solves tell the residual of x itself, and refuse systems that no x solves.

use crate::misuse::{build, line};
use minifenl::element::equations::Poisson;
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{EquationKernel, Fill, Strategy};
use minifenl::graph;
use minifenl::mesh::Mesh;
use minifenl::solve::{NullSpace, Options, solve};
use minifenl::space::Serial;
use minifenl::sparse::{CrsMatrix, Operator};
use minifenl::{Error, Result};

/// Poisson problems with a load and no Dirichlet condition, which no x solves: CG's recurrence reaches any tolerance while x grows.
#[test]
fn a_problem_without_dirichlet_conditions_is_not_solved() {
    fn system<const NN: usize>(element: ElementType, nodes: usize) -> Result<(CrsMatrix, Vec<f64>)> {
        let mesh = Mesh::of_box(element, [nodes; 3], [1.0; 3])?;
        let graph = build(&mesh.elem_node);
        let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; graph.crs.rows()]);
        let (tables, zero) = (BasisTables::of(element), vec![[0.0]; graph.crs.rows()]);
        let load = Poisson { load: -1.0 };
        let kernel = EquationKernel::<1, NN, NN>::new(&load, &tables, &mesh.elem_node, &mesh.node_coord, &zero)?;
        Fill::<NN>::new(&Serial, Strategy::Gather, &graph)?.assemble(&Serial, &kernel, &mut matrix, &mut rhs)?;
        Ok((matrix, rhs))
    }
    let mut lost = 0;
    for nodes in 3..8 {
        for (a, b) in [system::<8>(ElementType::Hex8, nodes), system::<4>(ElementType::Tet4, nodes)].map(Result::unwrap)
        {
            let mut x = vec![0.0; b.len()];
            match solve(&Serial, &a, &b, &mut x, Options::default()).unwrap_err() {
                Error::Singular { residual } => {
                    assert!(residual > 1e-3, "{residual}");
                    lost += 1;
                }
                Error::Breakdown { .. } | Error::NotConverged { .. } => {}
                error => panic!("{error}"),
            }
            // Up to a constant, and for the load that the boundary would balance.
            let options = Options { null_space: NullSpace::Constants, rtol: 1e-10, ..Options::default() };
            let mean = b.iter().sum::<f64>() / b.len() as f64;
            let balanced: Vec<f64> = b.iter().map(|b| b - mean).collect();
            x.fill(0.0);
            let info = solve(&Serial, &a, &b, &mut x, options).unwrap();
            let mut y = vec![0.0; b.len()];
            Operator::apply(&a, &Serial, &mut x, &mut y).unwrap();
            let residual = y.iter().zip(&balanced).map(|(y, b)| (y - b).powi(2)).sum::<f64>().sqrt();
            let found = info.recomputed.unwrap();
            assert!((found.residual - residual).abs() < 1e-9 * info.rhs && residual < 1e-9 * info.rhs, "{found:?}");
        }
    }
    assert!(lost > 0, "no recurrence left x behind");
}

/// A graph of 60 of 64 nodes, whose rows have columns that no equation determines.
#[test]
fn a_matrix_of_fewer_rows_than_columns_is_refused_on_one_rank() {
    let mesh = Mesh::of_box(ElementType::Hex8, [3; 3], [1.0; 3]).unwrap();
    let graph = graph::build(&Serial, &mesh.elem_node, 60, graph::Strategy::default()).unwrap();
    let a = CrsMatrix::new(graph.crs.clone(), vec![1.0; graph.crs.nnz()]).unwrap();
    let error = solve(&Serial, &a, &[1.0; 60], &mut [0.0; 64], Options::default()).unwrap_err().to_string();
    let said = "solve: A has 60 rows and 64 columns; expected a square matrix on one rank";
    assert!(error.starts_with(said), "{error}");
}

/// The recurrence of CG reaches tolerances that rounding denies to x.
#[test]
fn a_solve_tells_the_residual_of_x_itself() {
    let (a, b) = (line(3000), support::wave(3000, 0.77));
    let (mut x, mut y) = (vec![0.0; 3000], vec![0.0; 3000]);
    let info = solve(&Serial, &a, &b, &mut x, Options { rtol: 1e-13, ..Options::default() }).unwrap();
    Operator::apply(&a, &Serial, &mut x, &mut y).unwrap();
    let residual = y.iter().zip(&b).map(|(y, b)| (y - b).powi(2)).sum::<f64>().sqrt();
    let found = info.recomputed.unwrap();
    assert!(
        (found.residual / residual - 1.0).abs() < 1e-6 && residual > 10.0 * info.residual,
        "{info:?}: {residual:e}"
    );
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((found.solution / norm - 1.0).abs() < 1e-12, "{found:?}");
}
