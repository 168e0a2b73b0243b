//! Forecast of the memory of a run, in bytes by stage, before anything is allocated.
//!
//! Each plan states its bytes beside its allocation, as a function of the [`Sizes`] of a part; [`Forecast::of`] adds them up:
//! ```text
//! stage  in use at its peak
//! mesh   the tables that are made
//! graph  mesh; the graph that is built
//! setup  mesh, pattern and positions; conditions that are listed, or the system that is made, or assembly and CG's vectors
//! solve  mesh, positions, conditions, system, assembly with its element matrices, CG's and Newton's vectors
//! ```
//! Without a matrix, an operator takes the place of graph and system. `tests/resources` compares the sums with measured peaks.

use super::Job;
use super::deck::{Operator, flag};
use crate::comm::Communicator;
use crate::fill::{self, AssemblyChoice, Dirichlet, operator_bytes};
use crate::graph::{self, Strategy as Graph};
use crate::mesh::Mesh;
pub use crate::mesh::Sizes;
use crate::solve::{CgVariant, newton_bytes};
use crate::sparse::MatrixStorage;
use crate::{Error, Result};

/// Choices on which the memory depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Strategy of the graph.
    pub graph: Graph,
    /// Strategy of the assembly.
    pub fill: fill::Strategy,
    /// Element kernel.
    pub kernel: fill::Kernel,
    /// Worksets of the element kernel.
    pub workset: fill::Workset,
    /// Whether element matrices are symmetric.
    pub is_symmetric: bool,
    /// Storage of the matrix.
    pub storage: MatrixStorage,
    /// What CG multiplies by.
    pub operator: Operator,
    /// Variant of CG.
    pub variant: CgVariant,
    /// Threads of the rank.
    pub threads: u64,
}

/// Names of the stages, in their order.
pub const STAGES: [&str; 4] = ["mesh", "graph", "setup", "solve"];

/// The memory that one rank needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Bytes in use at the peak of each of [`STAGES`], in the memory of the space.
    pub stages: [u64; 4],
    /// Host memory of a rank that works on a GPU, at its peak.
    pub staging: u64,
    /// Host memory at its peak while a file for VTK is composed; 0 without one.
    pub vtk: u64,
    /// Nodes of the rank.
    pub nodes: u64,
}

impl Forecast {
    /// Returns the memory that a run with these sizes and choices needs on a space.
    pub fn of<S: Job>(sizes: &Sizes, choices: &Choices) -> Self {
        let &Sizes { owned, ghosts, elems, corners, sent, dofs, .. } = sizes;
        let &Choices { graph, fill, kernel, workset, is_symmetric, storage, operator, variant, threads } = choices;
        let (rows, columns, on_host) = (sizes.rows(), sizes.columns(), S::SYNCHRONOUS);
        let [exchange, staged] = S::exchange_bytes(dofs * sent, dofs * ghosts);
        let [making, mesh] = if sizes.is_generated() { [Mesh::bytes(sizes); 2] } else { Mesh::listed_bytes(sizes) };
        // A mesh with listed ids is made on the host, for a GPU too.
        let (making, mesh, staging) = match (on_host, sizes.is_generated()) {
            (true, true) => (making + 4 * sent, mesh + 4 * sent, 0),
            (true, false) => (making, mesh, 0),
            (false, true) => (making, mesh, staged),
            (false, false) => (Mesh::bytes(sizes), Mesh::bytes(sizes), making.max(mesh + 16 * columns)),
        };
        // Owners of several unknowns per node are listed anew.
        let owners = if on_host && dofs > 1 { 4 * dofs * sent } else { 0 };
        let vectors = variant.bytes(rows, columns) + exchange + owners;
        // A host keeps the unknowns of the start.
        let start = 8 * columns * u64::from(on_host);
        let newton = newton_bytes(rows, columns);
        if operator == Operator::MatrixFree {
            let [lists, meanwhile] = S::strategy_bytes(fill, [owned, corners, sizes.local(), elems]);
            let [of_elements, unknowns] = operator_bytes(fill, sizes);
            let conditions = 4 * dofs * sizes.fixed;
            let tables = mesh + columns + lists + of_elements + conditions;
            // A host copies the unknowns where it linearises.
            let kept = if on_host { 0 } else { unknowns };
            let setup = tables + kept + meanwhile.max(vectors + start);
            let solve = tables + unknowns + vectors + newton;
            return Forecast { stages: [making, making, setup, solve], staging, vtk: 0, nodes: owned };
        }
        let [building, pattern, places] = graph::bytes::<S>(graph, sizes);
        let [storing, stored] = S::system_bytes(fill, storage, sizes, pattern);
        let [lists, meanwhile] = S::strategy_bytes(fill, [rows, dofs * corners, columns, elems]);
        let assembly = AssemblyChoice { strategy: Some(fill), kernel, workset };
        let matrices = S::matrices_bytes((assembly, is_symmetric), sizes, threads);
        let (tables, conditions) = (mesh + places, Dirichlet::bytes(sizes));
        let [assembled, solving] = matrices.map(|matrices| conditions + stored + lists + matrices);
        let setup = (pattern + S::listing_bytes(sizes)).max(conditions + storing);
        let setup = tables + setup.max(assembled + meanwhile.max(vectors + start));
        let solve = tables + solving + vectors + newton;
        Forecast { stages: [making, mesh + building, setup, solve], staging, vtk: 0, nodes: owned }
    }

    /// Returns the forecast with `more` bytes from the set-up on.
    pub(super) fn with(mut self, more: u64) -> Self {
        self.stages[2..].iter_mut().for_each(|bytes| *bytes += more);
        self
    }

    /// Returns the forecast with copies of results on the host beside each stage but the first.
    pub(super) fn with_copies<S: Job>(mut self, bytes: u64) -> Self {
        if S::SYNCHRONOUS {
            self.stages[1..].iter_mut().for_each(|stage| *stage += bytes);
        } else {
            self.staging += bytes;
        }
        self
    }

    /// Returns the largest number of bytes over all stages.
    pub fn peak(&self) -> u64 {
        self.stages.into_iter().fold(0, u64::max)
    }

    /// Rejects a run that needs more memory than is free. Stages have `free` bytes in the memory of the space; staging and a file for VTK
    /// have `free_on_host`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] that names the first such stage and, on several ranks, the rank.
    pub fn check(&self, comm: &dyn Communicator, free: u64, free_on_host: u64) -> Result<()> {
        let stages = STAGES.into_iter().zip(self.stages).map(|(name, wanted)| (name, wanted, free));
        let on_host = [("mesh", self.staging, free_on_host), ("vtk", self.vtk, free_on_host)];
        let all = || stages.clone().chain(on_host);
        let Some((name, wanted, free)) = all().find(|(_, wanted, free)| wanted > free) else { return Ok(()) };
        // Memory grows with the nodes, and a smaller box has to fit in each stage.
        let of_stage = |wanted, free| u128::from(self.nodes) * u128::from(free) / u128::from(wanted);
        let fitting = all().filter(|(_, wanted, _)| *wanted > 0).map(|(_, wanted, free)| of_stage(wanted, free)).min();
        let what = format!(
            "this number of nodes ({} or {}; about {} on this rank would fit)",
            flag("mesh.nodes"),
            flag("mesh.nodes_per_rank"),
            fitting.unwrap_or(0)
        );
        let error = Error::OutOfMemory { rank: None, stage: None, what, wanted, free };
        Err(error.in_stage(name, (comm.size() > 1).then(|| comm.rank())))
    }
}

#[cfg(test)]
mod tests;
