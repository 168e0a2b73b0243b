//! The forecast of a run on a space: sizes of its part, the choices of its deck, the memory.

use super::forecast::{Choices, Forecast, Sizes};
use super::problem::{Case, expected};
use super::{Deck, Job};
use crate::mesh::BoxPart;

/// A part's numbers, for a table; the choices; and the memory.
pub(super) type Forecasted = (Sizes, Choices, Forecast);

/// Forecasts the run of a case on a part.
pub(super) fn forecast<S: Job>(part: &BoxPart, case: &Case, deck: &Deck, threads: usize) -> Forecasted {
    let sizes = Sizes::of(part, deck.mesh.element, case.model.dofs(), case.fixes_all_faces());
    let choices = choices::<S>(deck, threads, &sizes);
    (sizes, choices, Forecast::of::<S>(&sizes, &choices))
}

/// The choices on which the memory of a run with these sizes depends.
pub(super) fn choices<S: Job>(deck: &Deck, threads: usize, sizes: &Sizes) -> Choices {
    Choices {
        graph: deck.graph.strategy.or_default(),
        fill: deck.fill.strategy.or(S::STRATEGY),
        kernel: deck.element_kernel(),
        workset: deck.workset(),
        storage: expected::<S>(deck, sizes.matrix().shape),
        operator: deck.cg.operator,
        variant: deck.cg.variant.or_default(),
        threads: threads as u64,
    }
}
