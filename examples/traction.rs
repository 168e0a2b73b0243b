//! Pulls a bar in plane strain at one end: quadratic triangles, and an integral over the lines at the end.
//!
//! ```text
//! cargo run --release --example traction -- bar.vtu      (with a name: writes the displacements for ParaView)
//!
//! div sigma = 0,  sigma = lambda tr(eps) I + 2 mu eps    u_x = 0 at x = 0, u_y = 0 at y = 0
//! sigma n = PULL n at x = 2, 0 at y = 1                  u = (a x, b y): sigma_xx = PULL, sigma_yy = 0
//!
//! 1  boundary_faces   the lines at x = 2, with normals that point outwards
//! 2  fill             the bar overwrites matrix and residual, the lines add
//! 3  apply_with, solve
//! ```

use minifenl::contraction::Sum;
use minifenl::element::equations::{EquationAt, Field, PlaneStrain, Point, Weak};
use minifenl::element::{BasisTables, ElementType};
use minifenl::fill::{Dirichlet, EquationKernel, Fill, Parts, Strategy, WithGiven};
use minifenl::mesh::{ElemNode, Vtu, VtuField, boundary_faces};
use minifenl::solve::{Options, solve};
use minifenl::space::{Threads, lanes::Number};
use minifenl::{Result, comm::Solo, graph, sparse::CrsMatrix};

const CELLS: [u32; 2] = [12, 6];
const PULL: f64 = 0.3;

/// A force of `PULL` per area along the normal.
struct Traction;

impl EquationAt<2, 0> for Traction {
    fn weak<N: Number>(&self, at: Point<N, 0>, _: [Field<N>; 2]) -> [Weak<N>; 2] {
        [0, 1].map(|c| Weak { flux: [N::from(0.0); 3], source: N::from(-PULL) * at.normal[c] })
    }
}

fn main() -> Result<()> {
    let (space, points) = (Threads::new(2)?, CELLS.map(|cells| 2 * cells + 1));
    let count = (points[0] * points[1]) as usize;
    let at = |node: u32| [node % points[0], node / points[0]].map(|i| f64::from(i) / f64::from(2 * CELLS[1]));
    let coord: Vec<[f64; 3]> = (0..count as u32).map(|node| [at(node)[0], at(node)[1], 0.0]).collect();
    // Two triangles per cell: corners, then the nodes between them.
    let mut table = vec![];
    for cell in (0..CELLS[1]).flat_map(|y| (0..CELLS[0]).map(move |x| [2 * x, 2 * y])) {
        for [a, b, c] in [[[0, 0], [2, 0], [2, 2]], [[0, 0], [2, 2], [0, 2]]] {
            let mid = |p: [u32; 2], q: [u32; 2]| [0, 1].map(|axis| (p[axis] + q[axis]) / 2);
            let corners = [a, b, c, mid(a, b), mid(b, c), mid(c, a)];
            table.extend(corners.map(|[i, j]| cell[0] + i + points[0] * (cell[1] + j)));
        }
    }
    let bar = ElemNode::new(table, 6, count)?;
    // 1. Nodes of the lines at the end.
    let is_at_end = |nodes: &[u32]| nodes.iter().all(|&node| at(node)[0] == 2.0);
    let end = &boundary_faces(ElementType::Tri6, &bar, &is_at_end)?[0];
    // 2. Matrix and residual at u = 0.
    let (solid, pull) =
        (PlaneStrain { lambda: 1.2, mu: 0.8, force: [0.0; 2] }, WithGiven { equation: &Traction, given: [] });
    let (of_bar, of_end, u) = (BasisTables::of(ElementType::Tri6), BasisTables::of(end.element), vec![[0.0; 2]; count]);
    let nodes = graph::build_groups(&space, &[&bar, &end.elem_node], count, graph::Strategy::default())?;
    let graphs = [nodes[0].with_dofs(&space, 2)?, nodes[1].with_dofs(&space, 2)?];
    let (mut matrix, mut rhs) = (CrsMatrix::zero(graphs[0].crs.clone()), vec![0.0; 2 * count]);
    let kernel = EquationKernel::<2, 6, 12>::new(&solid, &of_bar, &bar, &coord, &u)?;
    Fill::<12>::new(&space, Strategy::default(), &graphs[0])?.assemble(&space, &kernel, &mut matrix, &mut rhs)?;
    let kernel = EquationKernel::<2, 3, 6>::on_boundary(&pull, &of_end, &end.elem_node, &coord, &u)?;
    let both = Parts::Both(&mut matrix, &mut rhs);
    Fill::<6>::new(&space, Strategy::default(), &graphs[1])?.assemble_parts(&space, &kernel, Sum::Into, both)?;
    rhs.iter_mut().for_each(|rhs| *rhs = -*rhs);
    // 3. Both sides slide.
    let fixed: Vec<u8> = coord.iter().flat_map(|&[x, y, _]| [u8::from(x == 0.0), u8::from(y == 0.0)]).collect();
    let conditions = Dirichlet::new(&space, &graphs[0].crs, &fixed)?;
    conditions.apply_with(&space, &mut matrix, &mut rhs, &vec![0.0; 2 * count])?;
    let mut u = vec![0.0; 2 * count];
    let info = solve(&space, &matrix, &rhs, &mut u, Options { rtol: 1e-13, ..Options::default() })?;
    let PlaneStrain { lambda, mu, .. } = solid;
    let strain = [lambda + 2.0 * mu, -lambda].map(|of| PULL * of / (4.0 * mu * (lambda + mu)));
    let exact = coord.iter().flat_map(|x| [strain[0] * x[0], strain[1] * x[1]]);
    let error = u.iter().zip(exact).map(|(u, exact)| (u - exact).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    println!("{count} nodes: {} CG iterations, largest error {error:.1e}", info.iterations);
    assert!(error < 1e-10, "the error is {error:.1e}, expected rounding");
    if let Some(path) = std::env::args().nth(1).filter(|path| path.ends_with(".vtu")) {
        let fields = &[VtuField::nodes("displacement", 2, &u)];
        let vtu = Vtu { element: ElementType::Tri6, elem_node: &bar, node_coord: &coord, owned: count, fields };
        vtu.write(path.as_ref(), &Solo)?;
    }
    Ok(())
}
