//! Solves the Stokes equations on Taylor-Hood elements: velocities on `tet10`, pressures on the `tet4` of its corners, one matrix.
//!
//! ```text
//! cargo run --release --example stokes
//!
//! -laplace(u) + grad p = f,  div u = 0 in the unit cube,  u given on its faces
//! u = (sin pi z, sin pi x, sin pi y),  p = cos pi x,  f = -laplace(u) + grad p
//!
//! [ A  B^T ] [u]   [F]     A [(i, c), (j, c)] = integral of grad phi_i . grad phi_j       i, j: nodes of tet10, c: axis
//! [ B   0  ] [p] = [0]     B [k, (j, c)] = - integral of psi_k dphi_j / dx_c              k: corners
//!
//! 1  tables      34 dofs per element, 3 at each of 10 nodes and 1 at each of 4 corners; the first 30 of them
//! 2  fill        B and B^T; A and F add to the same matrix, by an equation
//! 3  apply_with  u at the faces
//! 4  MINRES      for symmetric systems that are not definite; p is known up to a constant
//! ```

use minifenl::contraction::Sum;
use minifenl::element::equations::{Equation, Field, Weak};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{Dirichlet, EquationKernel, Fill, Parts, Strategy, element_fn};
use minifenl::mesh::{ElemNode, Mesh};
use minifenl::solve::{Jacobi, Method, Options, solve};
use minifenl::space::{Threads, allowed_cores, lanes::Number};
use minifenl::{Result, graph, graph::Graph, sparse::CrsMatrix};
use std::{array::from_fn, f64::consts::PI};

/// -laplace(u) - f; the term of the pressure is assembled below.
struct Viscous;

impl Equation<3> for Viscous {
    fn weak<N: Number>(&self, x: [N; 3], u: [Field<N>; 3]) -> [Weak<N>; 3] {
        let [a, b, c] = x.map(|x| (N::from(PI) * x).sin());
        let f = [N::from(PI * PI) * c - N::from(PI) * a, N::from(PI * PI) * a, N::from(PI * PI) * b];
        from_fn(|axis| Weak { flux: u[axis].grad, source: -f[axis] })
    }
}

fn main() -> Result<()> {
    let space = Threads::new(allowed_cores())?;
    let (coarse, fine) = (errors(&space, 3)?, errors(&space, 6)?);
    // Half the spacing: an eighth of the error of quadratic velocities, a quarter of that of linear pressures.
    for (at, (name, least)) in [("velocity", 6.0), ("pressure", 3.0)].into_iter().enumerate() {
        let ratio = coarse[at] / fine[at];
        println!("{name}: largest error {:.2e} with 3 cells per edge, {:.2e} with 6", coarse[at], fine[at]);
        assert!(ratio > least, "{name}: the error falls by {ratio:.2}, expected more than {least}");
    }
    Ok(())
}

/// Returns the largest errors of velocity and pressure at the nodes, with `cells` cells along each edge.
fn errors(space: &Threads, cells: usize) -> Result<[f64; 2]> {
    // 1. Dof 3 i + c is component c of node i; a number for the pressure of each corner follows.
    let Mesh { elem_node, node_coord, .. } = Mesh::of_box(ElementType::Tet10, [cells; 3], [1.0; 3])?;
    let (velocities, mut pressure_of) = (3 * node_coord.len(), vec![None; node_coord.len()]);
    let mut exact: Vec<f64> = node_coord.iter().flat_map(|x| [x[2], x[0], x[1]].map(|x| (PI * x).sin())).collect();
    let (mut dofs, mut first) = (vec![], vec![]);
    for nodes in elem_node.iter() {
        let of_nodes: Vec<u32> = nodes.iter().flat_map(|&node| [0, 1, 2].map(|c| 3 * node + c)).collect();
        first.extend(&of_nodes);
        dofs.extend(of_nodes);
        for &corner in &nodes[..4] {
            dofs.push(*pressure_of[corner as usize].get_or_insert_with(|| {
                exact.push((PI * node_coord[corner as usize][0]).cos());
                exact.len() as u32 - 1
            }));
        }
    }
    let (count, is_face) = (exact.len(), |x: &[f64; 3]| x.iter().any(|&x| x == 0.0 || x == 1.0));
    let graph = graph::build(space, &ElemNode::new(dofs, 34, count)?, count, graph::Strategy::default())?;
    let of_a = Graph::on_pattern(space, &ElemNode::new(first, 30, count)?, graph.crs.clone())?;

    // 2. Both bases at the points of one rule. Edges are straight, so that one sum over the points serves all elements.
    let (of_u, rule) = (BasisTables::of(ElementType::Tet10), ElementType::Tet10.rule());
    let of_p = BasisTables::with_rule(ElementType::Tet4, &rule)?;
    let term =
        |p: usize, k: usize, j: usize| of_u.gradients[10 * p + j].map(|d| d * rule.weights[p] * of_p.values[4 * p + k]);
    let points = 0..rule.weights.len();
    let sum = |k, j| points.clone().map(|p| term(p, k, j)).fold([0.0; 3], |sum, term| from_fn(|a| sum[a] + term[a]));
    let reference: [[[f64; 3]; 10]; 4] = from_fn(|k| from_fn(|j| sum(k, j)));
    let divergence = element_fn(|elem| {
        let at = |i: usize| node_coord[elem_node.elem(elem)[i] as usize];
        let edge: [[f64; 3]; 3] = from_fn(|a| from_fn(|d| at(a + 1)[d] - at(0)[d]));
        // det J times the inverse of J, row by row.
        let cofactor: [[f64; 3]; 3] = from_fn(|a| cross(edge[(a + 1) % 3], edge[(a + 2) % 3]));
        let mut matrix = [[0.0; 34]; 34];
        for (k, j, c) in (0..4).flat_map(|k| (0..30).map(move |dof| (k, dof / 3, dof % 3))) {
            let b = -(0..3).map(|a| cofactor[a][c] * reference[k][j][a]).sum::<f64>();
            (matrix[30 + k][3 * j + c], matrix[3 * j + c][30 + k]) = (b, b);
        }
        (matrix, [0.0; 34])
    });
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graph.crs.clone()), vec![0.0; count]);
    Fill::<34>::new(space, Strategy::Colour, &graph)?.assemble(space, &divergence, &mut matrix, &mut rhs)?;
    let zero = vec![[0.0; 3]; node_coord.len()];
    let viscous = EquationKernel::<3, 10, 30>::new(&Viscous, &of_u, &elem_node, &node_coord, &zero)?;
    let both = Parts::Both(&mut matrix, &mut rhs);
    Fill::<30>::new(space, Strategy::Colour, &of_a)?.assemble_parts(space, &viscous, Sum::Into, both)?;
    rhs.iter_mut().for_each(|rhs| *rhs = -*rhs);

    // 3. Pressures are free.
    let mut fixed: Vec<u8> = node_coord.iter().flat_map(|x| [u8::from(is_face(x)); 3]).collect();
    fixed.resize(count, 0);
    Dirichlet::new(space, &graph.crs, &fixed)?.apply_with(space, &mut matrix, &mut rhs, &exact)?;

    // 4. Preconditioned by the diagonal of A, and for pressures by the volume of a cell.
    let (mut diagonal, mut found) = (matrix.diagonal()?, vec![0.0; count]);
    diagonal[velocities..].fill(1.0 / cells.pow(3) as f64);
    let mut jacobi = Jacobi::new(space, &diagonal)?;
    let options = Options { method: Method::MinRes, preconditioner: Some(&mut jacobi), ..Options::default() };
    let info = solve(space, &matrix, &rhs, &mut found, options)?;
    println!("{count} dofs: {} MINRES iterations", info.iterations);
    let errors: Vec<f64> = found.iter().zip(&exact).map(|(found, exact)| found - exact).collect();
    let (of_u, of_p) = errors.split_at(velocities);
    let mean = of_p.iter().sum::<f64>() / of_p.len() as f64;
    let largest = |errors: &[f64], mean: f64| errors.iter().map(|error| (error - mean).abs()).fold(0.0, f64::max);
    Ok([largest(of_u, 0.0), largest(of_p, mean)])
}

fn cross(p: [f64; 3], q: [f64; 3]) -> [f64; 3] {
    [[1, 2], [2, 0], [0, 1]].map(|[i, j]| p[i] * q[j] - p[j] * q[i])
}
