//! Patch tests: a linear field solves a problem with constant coefficients on any mesh.
//!
//! ```text
//! R(u) - R(0) = K u, 0 in the rows of free nodes for linear u, whatever the shape of the elements
//! ```
//! Source: Irons and Loikkanen, An engineers' defence of the patch test, International Journal for Numerical Methods in Engineering 19, 1983.

use super::alone::on_one_rank;
use crate::Result;
use crate::element::ElementType;
use crate::mesh::CoordinateMap;
use crate::run::deck::{Nodes, ProblemKind};
use crate::run::{Deck, Job};
use crate::solve::NonlinearProblem;
use crate::space::{Array, MemorySpace};

/// Problems with constant coefficients, of one and of three unknowns per node.
pub(super) const PROBLEMS: [ProblemKind; 2] = [ProblemKind::Poisson, ProblemKind::Elasticity];

/// Nodes along an edge.
const NODES: u64 = 9;

/// Returns the largest residual of a linear field on twisted elements, relative to that of a field without any order.
pub(super) fn residual<S: Job>(space: &S, deck: &Deck, element: ElementType, kind: ProblemKind) -> Result<f64> {
    let mut deck = deck.clone();
    (deck.problem.kind, deck.mesh.element, deck.mesh.map) = (kind, element, CoordinateMap::TWIST);
    deck.mesh.nodes = Some(Nodes::new([NODES; 3])?);
    let (deck, dofs) = (&deck.resolved(), kind.dofs());
    on_one_rank(space, deck, |problem, mesh| {
        let coords = space.download(&mesh.node_coord)?;
        let mut residual_of = |field: &dyn Fn([f64; 3], usize) -> f64| -> Result<Vec<f64>> {
            let values: Vec<f64> = coords.iter().flat_map(|&x| (0..dofs).map(move |c| field(x, c))).collect();
            let (mut x, mut residual): (_, Array<S, f64>) = (space.upload(&values)?, space.zeros(problem.rows())?);
            problem.assemble(S::Memory::slice_mut(&mut x), S::Memory::slice_mut(&mut residual))?;
            space.download(&residual)
        };
        let zero = residual_of(&|_, _| 0.0)?;
        let linear = residual_of(&|[x, y, z], c| {
            let [a, b, d] = [[1.0, -0.5, 0.25], [0.5, 2.0, -1.0], [-0.75, 0.3, 1.5]][c];
            1.0 + a * x + b * y + d * z
        })?;
        let rough = residual_of(&|x, c| (1e3 * (x[0] + 2.0 * x[1] + 3.0 * x[2]) + c as f64).sin())?;
        let largest = |residual: &[f64]| {
            residual
                .iter()
                .zip(&zero)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, |most: f64, x| if x > most || x.is_nan() { x } else { most })
        };
        Ok(largest(&linear) / largest(&rough))
    })
}
