//! A [`Case`] on this rank's mesh: unknowns are the interleaved components of the nodes, owned ones first, then ghosts.

use super::{Case, ProblemInput};
use crate::Result;
use crate::comm::Map;
use crate::fill::{FieldOn, StoredSystem, Strategy};
use crate::mesh::Mesh;
use crate::run::Job;
use crate::run::clock::Clock;
use crate::space::{Array, Item, MemorySpace, Slice, try_zeroed};
use std::borrow::Cow;

/// A case on a mesh.
pub(super) struct Discrete<'a, S: Job> {
    pub case: Case,
    mesh: &'a Mesh<S::Memory>,
    /// Owners of the unknowns.
    map: Cow<'a, Map>,
}

impl<'a, S: Job> Discrete<'a, S> {
    pub fn new(input: ProblemInput<'a, S>) -> Result<Self> {
        let ProblemInput { deck, mesh, .. } = input;
        let case = Case::new(deck, mesh.spec());
        let map = match case.model.dofs() {
            1 => Cow::Borrowed(&mesh.map),
            dofs => Cow::Owned(mesh.map.expand(dofs)?),
        };
        Ok(Discrete { case, mesh, map })
    }

    /// Owners of the unknowns.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Number of leading rows that read no ghost.
    pub fn interior_rows(&self) -> usize {
        self.case.model.dofs() * self.mesh.interior_count()
    }

    /// This rank's elements.
    pub fn on(&self) -> FieldOn<'_, S::Memory> {
        let Mesh { element, elem_node, node_coord, .. } = self.mesh;
        FieldOn { element: *element, elem_node, node_coord: S::Memory::slice(node_coord) }
    }

    /// 1 for each unknown that the boundary conditions fix, 0 for the others.
    pub fn fixed(&self, space: &S) -> Result<Array<S, u8>> {
        match self.case.model.dofs() {
            1 => space.on_faces(self.mesh, self.case.fixed_faces().iter().copied()),
            _ => space.upload(&self.of_nodes("fixed unknowns", |(_, faces)| [u8::from(self.case.fixes(faces)); 3])?),
        }
    }

    /// The unknowns at the start: boundary values, zero elsewhere.
    pub fn start(&self, space: &S) -> Result<Array<S, f64>> {
        let (case, mesh) = (&self.case, self.mesh);
        let Some(faces) = case.constants() else {
            let given = |(x, faces)| if case.fixes(faces) { case.at(x) } else { [0.0; 3] };
            return space.upload(&self.of_nodes("unknowns", given)?);
        };
        let mut unknowns = space.zeros(mesh.map.local_count())?;
        for (face, value) in faces {
            space.set_on_face(mesh, face, value, S::Memory::slice_mut(&mut unknowns))?;
        }
        Ok(unknowns)
    }

    /// A value for each unknown, from coordinates and faces of its node.
    fn of_nodes<T: Item>(&self, what: &'static str, value: impl Fn(([f64; 3], u8)) -> [T; 3]) -> Result<Vec<T>> {
        let dofs = self.case.model.dofs();
        let mut all = try_zeroed(what, dofs * self.mesh.map.local_count())?;
        for (node, of_node) in all.chunks_exact_mut(dofs).enumerate() {
            of_node.copy_from_slice(&value(self.mesh.point(node as u32))[..dofs]);
        }
        Ok(all)
    }

    /// Prepares the assembly for a system.
    pub fn assembly(
        &self,
        input: ProblemInput<'_, S>,
        space: &S,
        strategy: Strategy,
        system: &StoredSystem<S>,
    ) -> Result<S::Assembly> {
        space.assembly(strategy, input.deck.element_kernel(), &self.case.model, self.on(), system)
    }

    /// Overwrites the system's values with the Jacobian at `unknowns`, whose ghosts are fresh, and `residual` with the residual.
    pub fn assemble(
        &self,
        space: &S,
        assembly: &mut S::Assembly,
        unknowns: &Slice<S, f64>,
        system: &mut StoredSystem<S>,
        residual: &mut Slice<S, f64>,
    ) -> Result<()> {
        space.assemble(assembly, S::Memory::slice(&self.mesh.node_coord), unknowns, system, residual)
    }

    /// Writes pseudo-random numbers, functions of `seed` and the unknown's global id, to the owned items of a vector.
    pub fn scatter_by_id(&self, space: &S, seed: u64, vector: &mut Slice<S, f64>) -> Result<()> {
        space.scatter_by_id(self.mesh, seed, self.case.model.dofs(), vector)
    }
}

/// Phase, calls, begin and end of each piece of work.
pub(super) type Marks<S> = Vec<(&'static str, u64, <S as Clock>::Mark, <S as Clock>::Mark)>;

/// Does `work` between two marks, without waiting.
pub(super) fn step<S: Job, R>(
    space: &S,
    marks: &mut Marks<S>,
    phase: &'static str,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let before = space.mark()?;
    let result = work()?;
    marks.push((phase, 1, before, space.mark()?));
    Ok(result)
}
