//! Forecast of a run without a matrix.
//!
//! ```text
//! of nodes: N owned, G ghosts, L = N + G, E elements, I corners at owned nodes, M values sent; n nodes of an element, d unknowns of a node
//! table   lasts      host                                     GPU
//! mesh    always     as with a matrix                         as with a matrix
//! fill    always     9 d L; gather 8 N + 4 I + 8 d n E        the same; colour 4 E
//!         always     scatter N                                -
//!         meanwhile  colour 8 L, scatter 4 N                  gather 4 N + 4 I, colour 4 E + 16 L
//! CG      always     its vectors; 12 d M + 8 d G              its vectors; 12 d M
//! solve   always     8 d L + 16 d N                           8 d L + 16 d N
//! ```

use super::model::elements;
use super::{Choices, Forecast, ModelSizes, Sizes};
use crate::fill::Strategy;

/// Nodes of a hexahedron.
const HEX8: u64 = 8;

/// What the elements of a part have.
#[derive(Clone, Copy)]
struct Shape {
    nodes: u64,
    dofs: u64,
    /// Peak while the host makes the mesh, and what stays of it.
    mesh: [u64; 2],
    /// Bytes of the unknowns at the start where they are made in the set-up.
    start: u64,
}

impl Shape {
    fn of(model: &ModelSizes, mesh: [u64; 2]) -> Self {
        let &ModelSizes { nodes, dofs, of_nodes: Sizes { owned, ghosts, .. }, .. } = model;
        Shape { nodes, dofs, mesh, start: 8 * dofs * (owned + ghosts) }
    }
}

/// Returns the forecast of the heat problem on `hex8` for threads of the host.
pub fn on_host(sizes: &Sizes, choices: &Choices) -> Forecast {
    let mesh = 32 * sizes.elems + 25 * (sizes.owned + sizes.ghosts) + 4 * sizes.sent;
    host(sizes, choices, Shape { nodes: HEX8, dofs: 1, mesh: [mesh; 2], start: 0 })
}

/// Returns the forecast of any other problem for threads of the host.
pub fn model_on_host(model: &ModelSizes, choices: &Choices) -> Forecast {
    let sizes = &model.of_nodes;
    let [making, kept] = elements(model);
    let mesh = kept + 4 * model.nodes * sizes.elems + 24 * (sizes.owned + sizes.ghosts);
    host(sizes, choices, Shape::of(model, [making.max(mesh), mesh]))
}

fn host(sizes: &Sizes, choices: &Choices, shape: Shape) -> Forecast {
    let &Sizes { owned, ghosts, elems, corners, sent, .. } = sizes;
    let Shape { nodes, dofs, mesh: [making, mesh], start } = shape;
    let (local, rows) = (owned + ghosts, dofs * owned);
    let (kept, meanwhile) = match choices.fill {
        Strategy::Gather => (8 * owned + 4 * corners + 8 * dofs * nodes * elems, 0),
        Strategy::Scatter => (owned, 4 * owned),
        Strategy::Colour => (0, 8 * local),
    };
    // Conditions and unknowns.
    let tables = mesh + 9 * dofs * local + kept;
    let vectors = choices.variant.bytes(rows, dofs * local) + dofs * (12 * sent + 8 * ghosts);
    let solve = tables + vectors + 8 * dofs * local + 16 * rows;
    Forecast::new(owned, [making, making, tables + meanwhile.max(vectors + start), solve], 0)
}

/// Returns the forecast of the heat problem on `hex8` for a GPU.
pub fn on_gpu(sizes: &Sizes, choices: &Choices) -> Forecast {
    let mesh = 32 * sizes.elems + 25 * (sizes.owned + sizes.ghosts);
    gpu(sizes, choices, Shape { nodes: HEX8, dofs: 1, mesh: [mesh; 2], start: 0 }, 12 * sizes.sent + 8 * sizes.ghosts)
}

/// Returns the forecast of any other problem for a GPU.
pub fn model_on_gpu(model: &ModelSizes, choices: &Choices) -> Forecast {
    let (sizes, [making, kept]) = (&model.of_nodes, elements(model));
    let local = sizes.owned + sizes.ghosts;
    let mesh = 4 * model.nodes * sizes.elems + 24 * local;
    let staging = making.max(kept + 16 * model.dofs * local);
    gpu(sizes, choices, Shape::of(model, [mesh; 2]), staging)
}

fn gpu(sizes: &Sizes, choices: &Choices, shape: Shape, staging: u64) -> Forecast {
    let &Sizes { owned, ghosts, elems, corners, sent, .. } = sizes;
    let Shape { nodes, dofs, mesh: [making, mesh], start } = shape;
    let (local, rows) = (owned + ghosts, dofs * owned);
    let (kept, meanwhile) = match choices.fill {
        Strategy::Gather => (8 * owned + 4 * corners + 8 * dofs * nodes * elems, 4 * owned + 4 * corners),
        Strategy::Scatter => (0, 0),
        Strategy::Colour => (4 * elems, 4 * elems + 16 * local),
    };
    let tables = mesh + 9 * dofs * local + kept;
    let vectors = choices.variant.bytes(rows, dofs * local) + 12 * dofs * sent;
    let solve = tables + vectors + 8 * dofs * local + 16 * rows;
    Forecast::new(owned, [making, making, tables + meanwhile.max(vectors + start), solve], staging)
}
