//! Forecast of a run without a matrix, on the box of trilinear hexahedra.
//!
//! ```text
//! table   lasts      host                                   GPU
//! mesh    always     32 E + 25 L + 4 M                      32 E + 25 L
//! fill    always     9 L; gather 8 N + 4 I + 64 E           9 L; gather 8 N + 4 I + 64 E, colour 4 E
//!         meanwhile  colour 8 L, scatter 4 N                gather 4 N + 4 I, colour 4 E + 16 L
//!         always     scatter N
//! CG      always     its vectors; 12 M + 8 G                its vectors; 12 M
//! solve   always     8 L + 16 N                             8 L + 16 N
//! ```

use super::{Choices, Forecast, Sizes};
use crate::fill::Strategy;

/// Returns the forecast for threads of the host.
pub fn on_host(sizes: &Sizes, choices: &Choices) -> Forecast {
    let &Sizes { owned, ghosts, elems, corners, sent, .. } = sizes;
    let local = owned + ghosts;
    let mesh = 32 * elems + 25 * local + 4 * sent;
    let (kept, meanwhile) = match choices.fill {
        Strategy::Gather => (8 * owned + 4 * corners + 64 * elems, 0),
        Strategy::Scatter => (owned, 4 * owned),
        Strategy::Colour => (0, 8 * local),
    };
    // Conditions and unknowns.
    let tables = mesh + 9 * local + kept;
    let vectors = choices.variant.bytes(owned, local) + 12 * sent + 8 * ghosts;
    Forecast::new(owned, [mesh, mesh, tables + meanwhile.max(vectors), tables + vectors + 8 * local + 16 * owned], 0)
}

/// Returns the forecast for a GPU.
pub fn on_gpu(sizes: &Sizes, choices: &Choices) -> Forecast {
    let &Sizes { owned, ghosts, elems, corners, sent, .. } = sizes;
    let local = owned + ghosts;
    let mesh = 32 * elems + 25 * local;
    let (kept, meanwhile) = match choices.fill {
        Strategy::Gather => (8 * owned + 4 * corners + 64 * elems, 4 * owned + 4 * corners),
        Strategy::Scatter => (0, 0),
        Strategy::Colour => (4 * elems, 4 * elems + 16 * local),
    };
    let tables = mesh + 9 * local + kept;
    let vectors = choices.variant.bytes(owned, local) + 12 * sent;
    let staging = 12 * sent + 8 * ghosts;
    let solve = tables + vectors + 8 * local + 16 * owned;
    Forecast::new(owned, [mesh, mesh, tables + meanwhile.max(vectors), solve], staging)
}
