//! Orders of convergence: of the discretisation by two meshes, of Newton's method by its residuals.
//!
//! ```text
//! order = log(e_1 / e_2) / log(h_1 / h_2)
//! L2: ||u - exact||, H1: ||grad u - grad exact||, by the rule of degree 2 of the element's shape
//! ```
//! The gradient of the exact solution is its central difference. Norms are computed on the host from the field of the device.

use crate::Result;
use crate::comm::Solo;
use crate::element::{BasisTables, DIM, ElementType, geometry};
use crate::mesh::{CoordinateMap, Mesh};
use crate::run::deck::{Choice, Forcing, Nodes, ProblemKind};
use crate::run::problem::Case;
use crate::run::{Deck, Job, Solution, silent, solution_on};

/// Relative residuals, far below the errors of these meshes.
const TOLERANCE: f64 = 1e-11;
/// Step of the differences.
const STEP: f64 = 1e-5;
/// Cells along an edge, of elements of degree 1 and 2.
const CELLS: [[u64; 2]; 2] = [[12, 24], [8, 16]];

/// Returns the observed orders in L2 and H1 of Poisson's problem.
pub(super) fn of_errors<S: Job>(space: &S, deck: &Deck, element: ElementType, map: CoordinateMap) -> Result<[f64; 2]> {
    let mut deck = deck.clone();
    (deck.problem.kind, deck.mesh.element, deck.mesh.map) = (ProblemKind::Poisson, element, map);
    (deck.newton.tolerance, deck.cg.tolerance) = (Some(TOLERANCE), Some(TOLERANCE));
    let degree = element.degree();
    let mut errors_on = |cells: u64| -> Result<[f64; 2]> {
        deck.mesh.nodes = Some(Nodes::new([degree as u64 * cells + 1; 3])?);
        let Solution { mesh, field, report } = solution_on(space, &deck, &Solo, &silent)?.download(space)?;
        match report.stopped {
            Some(error) => Err(error),
            None => errors(&mesh, element, &field, &Case::new(&deck, &deck.spec(deck.nodes(1)?)?)),
        }
    };
    let [coarse, fine] = CELLS[degree - 1];
    let (at_coarse, at_fine) = (errors_on(coarse)?, errors_on(fine)?);
    let ratio = (fine as f64 / coarse as f64).ln();
    Ok([0, 1].map(|norm| (at_coarse[norm] / at_fine[norm]).ln() / ratio))
}

/// Returns the errors of a scalar field in L2 and in the seminorm of H1.
fn errors(mesh: &Mesh, element: ElementType, field: &[f64], case: &Case) -> Result<[f64; 2]> {
    // More points than the element's own: at those, gradients can be exact by one order more.
    let tables = BasisTables::with_rule(element, &element.of_degree_two().rule())?;
    let exact = |x: [f64; DIM]| case.at(x)[0];
    let slope = |x: [f64; DIM], axis: usize| {
        let moved = |by: f64| {
            let mut at = x;
            at[axis] += by;
            exact(at)
        };
        (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
    };
    let mut squares = [0.0; 2];
    for nodes in mesh.elem_node.iter() {
        let coords = || nodes.iter().map(|&node| mesh.node_coord[node as usize]);
        let at_points = tables.values.chunks(tables.nodes).zip(tables.gradients.chunks(tables.nodes));
        for ((values, gradients), weight) in at_points.zip(&tables.weights) {
            let (determinant, inverse) = geometry::determinant_inverse(&geometry::jacobian(coords(), gradients));
            let (mut x, mut u, mut slopes) = ([0.0; DIM], 0.0, [0.0; DIM]);
            for (((at, &node), phi), gradient) in coords().zip(nodes).zip(values).zip(gradients) {
                let (value, gradient) = (field[node as usize], geometry::transform(&inverse, gradient));
                u += phi * value;
                for axis in 0..DIM {
                    x[axis] += phi * at[axis];
                    slopes[axis] += gradient[axis] * value;
                }
            }
            squares[0] += weight * determinant * (u - exact(x)).powi(2);
            for axis in 0..DIM {
                squares[1] += weight * determinant * (slopes[axis] - slope(x, axis)).powi(2);
            }
        }
    }
    Ok(squares.map(f64::sqrt))
}

/// Returns the order of the last three residuals (NaN if there are fewer) of Newton's method above rounding, for the heat equation.
pub(super) fn of_newton<S: Job>(space: &S, deck: &Deck) -> Result<f64> {
    let mut deck = deck.clone();
    deck.mesh.map = CoordinateMap::TWIST;
    deck.mesh.nodes = Some(Nodes::new([13; 3])?);
    (deck.newton.tolerance, deck.cg.tolerance) = (Some(TOLERANCE), Some(1e-13));
    deck.newton.forcing = Choice::Given(Forcing::Fixed);
    let report = solution_on(space, &deck, &Solo, &silent)?.report;
    let residuals: Vec<f64> = report.history.iter().map(|step| step.residual).collect();
    let above: Vec<f64> = residuals.iter().copied().filter(|norm| *norm > 1e-12 * residuals[0]).collect();
    match above[..] {
        [.., a, b, c] => Ok((c / b).ln() / (b / a).ln()),
        // Two residuals have no order, and NaN passes no check.
        _ => Ok(f64::NAN),
    }
}
