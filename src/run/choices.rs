//! The forecast of a run on a space: sizes of its part, the choices of its deck, the memory.

use super::forecast::{Choices, Forecast, Sizes};
use super::problem::{Case, expected};
use super::{Deck, Job};
use crate::mesh::BoxPart;
use crate::sparse::RowShape;

/// A part's numbers, for a table; the choices; and the memory.
pub(super) type Forecasted = (Sizes, Choices, Forecast);

/// Forecasts the run of a case on a part.
pub(super) fn forecast<S: Job>(part: &BoxPart, case: &Case, deck: &Deck, threads: usize) -> Forecasted {
    let sizes = Sizes::of(part, deck.mesh.element, case.model.dofs(), case.fixes_all_faces());
    let choices = choices::<S>(deck, threads, &sizes);
    (sizes, choices, S::forecast(&sizes, &choices))
}

/// The choices on which the memory of a run with these sizes depends.
pub(super) fn choices<S: Job>(deck: &Deck, threads: usize, sizes: &Sizes) -> Choices {
    let &Sizes { dofs, owned, nnz, lined, longest, .. } = sizes;
    let [rows, entries, padded, longest] =
        [dofs * owned, dofs * dofs * nnz, dofs * dofs * lined, dofs * longest].map(|number| number as usize);
    let shape = RowShape { rows, entries, padded, longest, is_symmetric: true };
    Choices {
        graph: deck.graph.strategy.or_default(),
        fill: deck.fill.strategy.or(S::STRATEGY),
        kernel: deck.element_kernel(),
        workset: deck.workset(),
        storage: expected::<S>(deck, shape),
        operator: deck.cg.operator,
        variant: deck.cg.variant.or_default(),
        threads: threads as u64,
    }
}
