//! The nonlinear heat problem -K laplace(T) + T^2 = 0 on trilinear hexahedra, T given at zmin and zmax.

use super::{Discrete, Problem, Setting};
use crate::Result;
use crate::comm::{Links, Map};
use crate::element::ElementType;
use crate::element::equations::{Heat, Jacobian, Model, ModelEquation, Scalar, is_symmetric};
use crate::fill::{self, FieldOn, HeatInput, StoredSystem};
use crate::graph::Graph;
use crate::mesh::{Face, Mesh};
use crate::run::{Deck, Job, Phases, Progress};
use crate::space::{Array, MemorySpace, Slice};

/// The data from which the problem is built.
#[derive(Clone, Copy)]
pub struct ProblemInput<'a, S: Job> {
    /// The settings.
    pub deck: &'a Deck,
    /// The connections to the other ranks.
    pub links: &'a Links<'a, S>,
    /// The tables of this rank.
    pub mesh: &'a Mesh<S::Memory>,
    /// The equation.
    pub heat: Heat,
    /// Receives the times.
    pub phases: &'a Phases,
    /// Receives progress.
    pub progress: &'a dyn Progress,
}

impl<S: Job> std::fmt::Debug for ProblemInput<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProblemInput").field("deck", self.deck).finish_non_exhaustive()
    }
}

/// The heat equation on a mesh of hexahedra.
pub struct HeatBox<'a, S: Job> {
    mesh: &'a Mesh<S::Memory>,
    heat: Heat,
}

impl<S: Job> std::fmt::Debug for HeatBox<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeatBox").field("heat", &self.heat).finish_non_exhaustive()
    }
}

/// The heat problem with its matrix and working memory.
pub type HeatProblem<'a, S> = Problem<'a, S, HeatBox<'a, S>>;

impl<'a, S: Job> HeatProblem<'a, S> {
    /// Prepares halo, boundary conditions, matrix, assembly and solver. All ranks call it together. Takes the graph of this rank's
    /// rows, and frees what the matrix does not need of it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) where the memory cannot be had; a failure of a device or of MPI.
    pub fn new(space: &'a S, input: ProblemInput<'a, S>, graph: Graph<S::Memory>) -> Result<Self> {
        let ProblemInput { deck, links, mesh, heat, phases, progress } = input;
        Problem::of(space, Setting { deck, links, phases, progress }, HeatBox { mesh, heat }, graph)
    }

    /// As [`new`](Self::new), without a matrix: the Jacobian is applied by elements.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_matrix_free(space: &'a S, input: ProblemInput<'a, S>) -> Result<Self> {
        let ProblemInput { deck, links, mesh, heat, phases, progress } = input;
        Problem::matrix_free(space, Setting { deck, links, phases, progress }, HeatBox { mesh, heat })
    }
}

impl<S: Job> Discrete<S> for HeatBox<'_, S> {
    type Assembly = S::HeatAssembly;

    fn map(&self) -> &Map {
        &self.mesh.map
    }

    fn interior_rows(&self) -> usize {
        self.mesh.interior_count()
    }

    fn is_symmetric(&self) -> bool {
        is_symmetric(&self.heat)
    }

    fn model(&self) -> Model {
        Model { equation: ModelEquation::Scalar(Scalar::Heat(self.heat)), jacobian: Jacobian::Analytic }
    }

    fn on(&self) -> FieldOn<'_, S::Memory> {
        let node_coord = S::Memory::slice(&self.mesh.node_coord);
        FieldOn { element: ElementType::Hex8, elem_node: &self.mesh.elem_node, node_coord }
    }

    fn fixed(&self, space: &S) -> Result<Array<S, u8>> {
        space.on_faces(self.mesh, [Face::ZMin, Face::ZMax])
    }

    fn start(&self, space: &S, deck: &Deck) -> Result<Array<S, f64>> {
        let mut temperature = space.zeros(self.mesh.map.local_count())?;
        let nodes = S::Memory::slice_mut(&mut temperature);
        space.set_on_face(self.mesh, Face::ZMin, deck.problem.t_min, nodes)?;
        space.set_on_face(self.mesh, Face::ZMax, deck.problem.t_max, nodes)?;
        Ok(temperature)
    }

    fn assembly(
        &self,
        space: &S,
        deck: &Deck,
        strategy: fill::Strategy,
        system: &StoredSystem<S>,
    ) -> Result<S::HeatAssembly> {
        space.heat_assembly(strategy, deck.element_kernel(), system)
    }

    fn assemble(
        &self,
        space: &S,
        assembly: &mut S::HeatAssembly,
        temperature: &Slice<S, f64>,
        system: &mut StoredSystem<S>,
        residual: &mut Slice<S, f64>,
    ) -> Result<()> {
        let (node_coord, heat) = (S::Memory::slice(&self.mesh.node_coord), self.heat);
        space.assemble_heat(assembly, HeatInput { node_coord, temperature, heat }, system, residual)
    }

    fn stored_bytes(assembly: &S::HeatAssembly) -> u64 {
        S::stored_bytes(assembly)
    }

    fn scatter_by_id(&self, space: &S, seed: u64, vector: &mut Slice<S, f64>) -> Result<()> {
        space.scatter_by_id(self.mesh, seed, vector)
    }
}

#[cfg(test)]
mod tests;
