//! Checks before allocation whether a run fits into memory: the forecast for its part, settings and space.

use super::forecast::{Choices, Forecast, ModelSizes, Sizes};
use super::problem::{Case, expected};
use super::{Deck, Job};
use crate::Result;
use crate::comm::Communicator;
use crate::mesh::BoxPart;
use crate::solve::CgVariant;
use crate::space::FreeMemory;
use crate::sparse::RowShape;

/// A part's numbers, for a table; the choices; and the memory.
pub(super) type Forecasted = (Sizes, Choices, Forecast);

/// Forecasts the heat problem on `hex8`.
pub(super) fn forecast<S: Job>(part: &BoxPart, deck: &Deck, threads: usize) -> Forecasted {
    let sizes = Sizes::of(part);
    let choices = choices::<S>(deck, threads, shape([sizes.owned, sizes.nnz, sizes.nnz, LONGEST]));
    (sizes, choices, S::forecast(&sizes, &choices))
}

/// Forecasts any other problem.
pub(super) fn forecast_model<S: Job>(part: &BoxPart, case: &Case, deck: &Deck, threads: usize) -> Forecasted {
    let sizes = ModelSizes::of(part, deck.mesh.element, case.model.dofs(), case.fixes_all_faces());
    let (d, Sizes { owned, nnz, .. }) = (sizes.dofs, sizes.of_nodes);
    let choices = choices::<S>(deck, threads, shape([d * owned, d * d * nnz, d * d * sizes.padded, d * sizes.longest]));
    (sizes.of_nodes, choices, S::model_forecast(&sizes, &choices))
}

/// Returns the bytes that the run needs. Rejects a run whose forecast exceeds the `free` memory of the space, or that of the host
/// where a GPU works.
pub(super) fn fits<S: Job>(
    part: &BoxPart,
    deck: &Deck,
    comm: &dyn Communicator,
    threads: usize,
    free: u64,
) -> Result<u64> {
    checked(&forecast::<S>(part, deck, threads).2, comm, free)
}

/// [`fits`] for any other problem.
pub(super) fn fits_model<S: Job>(
    part: &BoxPart,
    case: &Case,
    deck: &Deck,
    comm: &dyn Communicator,
    threads: usize,
    free: u64,
) -> Result<u64> {
    checked(&forecast_model::<S>(part, case, deck, threads).2, comm, free)
}

fn checked(forecast: &Forecast, comm: &dyn Communicator, free: u64) -> Result<u64> {
    forecast.check(comm, free, FreeMemory::now().share(comm.ranks_on_node() as u64))?;
    Ok(forecast.peak())
}

/// Entries of the longest row of the box of hexahedra.
pub(super) const LONGEST: u64 = 27;

/// The rows of a symmetric matrix: their number, entries, entries of slices, entries of the longest row.
pub(super) fn shape(numbers: [u64; 4]) -> RowShape {
    let [rows, entries, padded, longest] = numbers.map(|number| number as usize);
    RowShape { rows, entries, padded, longest, is_symmetric: true }
}

/// The choices on which the memory of a run with such rows depends.
pub(super) fn choices<S: Job>(deck: &Deck, threads: usize, shape: RowShape) -> Choices {
    Choices {
        graph: deck.graph.strategy,
        fill: deck.fill.strategy.or(S::STRATEGY),
        kernel: deck.element_kernel(),
        storage: expected::<S>(deck, shape),
        operator: deck.cg.operator,
        variant: deck.cg.variant.or(CgVariant::default()),
        threads: threads as u64,
    }
}
