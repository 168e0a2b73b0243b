//! A [`Case`] on this rank's mesh: unknowns are the interleaved components of the nodes, owned ones first, then ghosts.

use super::{Case, ProblemInput};
use crate::Result;
use crate::comm::Map;
use crate::fill::FieldOn;
use crate::mesh::Mesh;
use crate::run::Job;
use crate::space::{Array, MemorySpace, Slice, try_zeroed};
use std::borrow::Cow;

/// A case on a mesh, and what its problem is built from.
pub(super) struct Discrete<'a, S: Job> {
    pub space: &'a S,
    pub input: ProblemInput<'a, S>,
    pub case: Case,
    /// Owners of the unknowns.
    map: Cow<'a, Map>,
}

impl<'a, S: Job> Discrete<'a, S> {
    pub fn new(space: &'a S, input: ProblemInput<'a, S>) -> Result<Self> {
        let case = Case::new(input.deck, input.mesh.spec());
        let map = match case.model.dofs() {
            1 => Cow::Borrowed(&input.mesh.map),
            dofs => Cow::Owned(input.mesh.map.expand(dofs)?),
        };
        Ok(Discrete { space, input, case, map })
    }

    /// Owners of the unknowns.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Number of leading rows that read no ghost.
    pub fn interior_rows(&self) -> usize {
        self.case.model.dofs() * self.input.mesh.interior_count()
    }

    /// This rank's elements.
    pub fn on(&self) -> FieldOn<'a, S::Memory> {
        let Mesh { element, elem_node, node_coord, .. } = self.input.mesh;
        FieldOn { element: *element, elem_node, node_coord: S::Memory::slice(node_coord) }
    }

    /// 1 for each unknown that the boundary conditions fix, 0 for the others.
    pub fn fixed(&self) -> Result<Array<S, u8>> {
        match self.case.model.dofs() {
            1 => self.space.on_faces(self.input.mesh, self.case.fixed_faces().iter().copied()),
            dofs => {
                let mut fixed = try_zeroed("fixed unknowns", dofs * self.input.mesh.map.local_count())?;
                for node in self.input.mesh.nodes_on(self.case.fixed_faces()) {
                    fixed[dofs * node as usize..][..dofs].fill(1);
                }
                self.space.upload(&fixed)
            }
        }
    }

    /// The unknowns at the start: boundary values, zero elsewhere.
    pub fn start(&self) -> Result<Array<S, f64>> {
        let (case, mesh) = (&self.case, self.input.mesh);
        let dofs = case.model.dofs();
        let mut unknowns = self.space.zeros(dofs * mesh.map.local_count())?;
        if let Some(faces) = case.constants() {
            for (face, value) in faces {
                self.space.set_on_face(mesh, face, value, S::Memory::slice_mut(&mut unknowns))?;
            }
            return Ok(unknowns);
        }
        let nodes = mesh.nodes_on(case.fixed_faces());
        let given = self.space.host()?.map(nodes.len(), |i| case.at(mesh.point(nodes[i]).0))?;
        let values: Vec<f64> = given.into_iter().flat_map(|of_node| of_node.into_iter().take(dofs)).collect();
        self.space.set_nodes(&nodes, &values, S::Memory::slice_mut(&mut unknowns))?;
        Ok(unknowns)
    }

    /// Writes pseudo-random numbers, functions of `seed` and the unknown's global id, to the owned items of a vector.
    pub fn scatter_by_id(&self, seed: u64, vector: &mut Slice<S, f64>) -> Result<()> {
        self.space.scatter_by_id(self.input.mesh, seed, self.case.model.dofs(), vector)
    }
}

/// Phase, begin and end of each piece of work.
pub(super) type Marks<S> = Vec<(&'static str, <S as Job>::Mark, <S as Job>::Mark)>;

/// Does `work` between two marks, without waiting.
pub(super) fn step<S: Job, R>(
    space: &S,
    marks: &mut Marks<S>,
    phase: &'static str,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let before = space.mark()?;
    let result = work()?;
    marks.push((phase, before, space.mark()?));
    Ok(result)
}
