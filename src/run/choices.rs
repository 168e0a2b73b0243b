//! The forecast of a run on a space: sizes of its part, the choices of its deck, the memory.

use super::deck::{Operator, Preconditioning};
use super::forecast::{Choices, Forecast, Sizes};
use super::meshes::{CoarseBox, coarse_boxes};
use super::problem::{Case, expected};
use super::{Deck, Job, vtk};
use crate::element::ElementType;
use crate::mesh::BoxPart;
use crate::solve::{Hierarchy, Level, SmoothedAggregation, Sweeps};
use crate::sparse::RowShape;

/// A part's numbers, for a table; the choices; and the memory.
pub(super) type Forecasted = (Sizes, Choices, Forecast);

/// Forecasts the run of a case on the part of a rank of several.
pub(super) fn forecast<S: Job>(
    [rank, ranks]: [usize; 2],
    part: &BoxPart,
    case: &Case,
    deck: &Deck,
    threads: usize,
) -> Forecasted {
    let of_part = |part: &BoxPart, element, operator| {
        let sizes = Sizes::of(part, element, case.model.dofs(), case.fixes_all_faces);
        let choices = Choices { operator, ..choices::<S>(deck, threads, &sizes) };
        (sizes, choices, Forecast::of::<S>(&sizes, &choices))
    };
    let (sizes, choices, forecast) = of_part(part, deck.mesh.element, deck.cg.operator);
    // Each level of a preconditioner, and its transfers from the next finer one.
    let (rows, entries) = (sizes.rows(), sizes.matrix().shape.entries as u64);
    let mut levels = match deck.preconditioning() {
        Preconditioning::None => 0,
        Preconditioning::GaussSeidel | Preconditioning::Cholesky => Sweeps::<S>::bytes(rows, entries),
        Preconditioning::Algebraic => {
            let dofs = case.model.dofs() as u64;
            // Of displacements the six rigid body modes.
            let (unknowns, vectors) = (dofs * part.spec().node_count(), if dofs == 3 { 6 } else { dofs });
            let coarsest = SmoothedAggregation::<S>::coarsest_bytes(unknowns, ranks, vectors);
            Level::<S>::bytes(rows) + SmoothedAggregation::<S>::bytes(rows, entries) + coarsest
        }
        _ if deck.has_matrix() => Level::<S>::bytes(rows),
        // Its diagonal is probed: four vectors and one for each component, numbers of nodes, a copy of a vector.
        _ => Level::<S>::bytes(rows) + (48 + 8 * case.model.dofs() as u64) * sizes.columns(),
    };
    let (mut points, mut finer) = (part.used().count(), sizes);
    let (mut shared, boxes) = (ranks, coarse_boxes(deck, part.spec(), ranks));
    for &CoarseBox { spec, element, ranks } in &boxes {
        let Ok(part) = BoxPart::new(&spec, rank % ranks, ranks) else { break };
        let (sizes, _, of_level) = of_part(&part, element, Operator::Assembled);
        // 4 bytes per row and column of interpolation, its transpose, and that of unknowns to the coarser box; nothing for boxes of hexahedra
        // on one rank.
        let is_numbered = shared > 1 || deck.mesh.element != ElementType::Hex8;
        let tables = if is_numbered { 12 * (points + part.used().count()) } else { 0 };
        // The finer unknowns, ghosts of five vectors, and vectors of the coarser box.
        let ghosts = finer.columns() - finer.rows();
        levels += of_level.peak() + tables + 8 * finer.rows() + 40 * ghosts + 36 * sizes.rows();
        if ranks < shared {
            // Twice, of residuals and of unknowns: the parts of all ranks, and a matrix of ones.
            levels += 2 * 48 * sizes.rows();
        }
        (points, finer, shared) = (part.used().count(), sizes, ranks);
    }
    if let Some(last) = boxes.last() {
        let all = case.model.dofs() as u64 * last.spec.node_count();
        levels += Hierarchy::<S>::inverse_bytes([finer.rows(), all], last.ranks as u64);
    }
    let general = deck.solver().method().bytes(sizes.rows(), sizes.columns());
    let mut forecast = forecast.with(levels + general);
    if deck.run.vtk.is_some() {
        forecast.vtk = vtk::bytes(&sizes, case);
    }
    (sizes, choices, forecast)
}

/// The choices on which the memory of a run with these sizes depends.
pub(super) fn choices<S: Job>(deck: &Deck, threads: usize, sizes: &Sizes) -> Choices {
    Choices {
        graph: deck.graph.strategy.or_default(),
        fill: deck.fill.strategy.or(S::STRATEGY),
        kernel: deck.element_kernel(),
        workset: deck.workset(),
        // Coarse boxes have no advection: of them the forecast is a bound.
        is_symmetric: !deck.has_advection(),
        storage: expected::<S>(deck, RowShape { is_symmetric: !deck.has_advection(), ..sizes.matrix().shape }),
        operator: deck.cg.operator,
        variant: deck.cg.variant.or_default(),
        threads: threads as u64,
    }
}
