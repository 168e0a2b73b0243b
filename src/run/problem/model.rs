//! Any [`Case`] on elements of any type, as a [`Discrete`] problem: unknowns are the interleaved components of the nodes.

use super::{Case, Discrete, Problem};
use crate::Result;
use crate::comm::{Communicator, Map};
use crate::element::equations::Model;
use crate::fill::{self, FieldErrors, FieldOn, StoredSystem};
use crate::mesh::{ElemNode, ElementPart};
use crate::run::deck::ProblemKind;
use crate::run::{Deck, Job};
use crate::space::{Array, HostMemory, Item, MemorySpace, Slice, try_zeroed};

/// This rank's elements with their tables in the memory of the space.
pub(in crate::run) struct Elements<'a, S: Job> {
    pub part: &'a ElementPart,
    pub elem_node: ElemNode<S::Memory>,
    pub node_coord: Array<S, [f64; 3]>,
}

impl<'a, S: Job> Elements<'a, S> {
    pub fn new(space: &S, part: &'a ElementPart) -> Result<Self> {
        let (elem_node, node_coord) = (part.elem_node.upload(space)?, space.upload(&part.node_coord)?);
        Ok(Elements { part, elem_node, node_coord })
    }

    pub fn on(&self) -> FieldOn<'_, S::Memory> {
        let node_coord = S::Memory::slice(&self.node_coord);
        FieldOn { element: self.part.element, elem_node: &self.elem_node, node_coord }
    }

    /// The errors of a field on this rank's elements. Those of miniFE's brick are taken at the nodes nearest to the centre of the box,
    /// where its series converges; `interpolation` is h^2 / 3 there, with h the extent of an element: the error is 0.55 to 0.59 h^2 on `hex8`. All ranks call it together.
    pub fn errors(
        &self,
        space: &S,
        comm: &dyn Communicator,
        case: &Case,
        field: &Array<S, f64>,
    ) -> Result<FieldErrors> {
        let (owned, dofs) = (self.part.map.owned_count(), case.model.dofs());
        if case.kind != ProblemKind::Minife {
            return space.field_errors(on_host(self.part), owned, dofs, S::Memory::slice(field), &|x| case.at(x));
        }
        let coord = &self.part.node_coord[..owned];
        let distance = |x: &[f64; 3]| x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>();
        let mut nearest = [coord.iter().map(|x| -distance(x)).fold(f64::NEG_INFINITY, f64::max)];
        comm.all_max(&mut nearest);
        let values = space.download(field)?;
        let mut errors = FieldErrors { scale: 1.0, ..FieldErrors::default() };
        for (x, u) in coord.iter().zip(values).filter(|(x, _)| -distance(x) == nearest[0]) {
            let [exact, ..] = case.at(*x);
            errors = errors.with(FieldErrors {
                max: (u - exact).abs(),
                interpolation: (0..3).map(|axis| self.part.extent(axis).powi(2) / 3.0).fold(0.0, f64::max),
                scale: 1.0,
                square: (u - exact).powi(2),
                scale_square: exact.powi(2),
            });
        }
        Ok(errors)
    }
}

/// The elements of a part in the host's memory, where they are made.
pub(in crate::run) fn on_host(part: &ElementPart) -> FieldOn<'_, HostMemory> {
    FieldOn { element: part.element, elem_node: &part.elem_node, node_coord: &part.node_coord }
}

/// A problem on this rank's elements.
pub(in crate::run) struct OnElements<'a, S: Job> {
    pub elements: &'a Elements<'a, S>,
    pub case: &'a Case,
    /// Owners of the unknowns.
    pub map: Map,
}

/// A problem of the program on elements of any type.
pub(in crate::run) type ModelProblem<'a, S> = Problem<'a, S, OnElements<'a, S>>;

impl<S: Job> OnElements<'_, S> {
    /// A value for each unknown of the nodes with these faces and coordinates, owned and ghosts.
    fn of_nodes<T: Item>(&self, what: &'static str, value: impl Fn(usize) -> [T; 3]) -> Result<Vec<T>> {
        let dofs = self.case.model.dofs();
        let mut all = try_zeroed(what, dofs * self.elements.part.node_coord.len())?;
        for (node, of_node) in all.chunks_exact_mut(dofs).enumerate() {
            of_node.copy_from_slice(&value(node)[..dofs]);
        }
        Ok(all)
    }
}

impl<S: Job> Discrete<S> for OnElements<'_, S> {
    type Assembly = S::ModelAssembly;

    fn map(&self) -> &Map {
        &self.map
    }

    fn interior_rows(&self) -> usize {
        self.case.model.dofs() * self.elements.part.interior_count()
    }

    fn is_symmetric(&self) -> bool {
        self.case.model.is_symmetric()
    }

    fn model(&self) -> Model {
        self.case.model
    }

    fn on(&self) -> FieldOn<'_, S::Memory> {
        self.elements.on()
    }

    fn fixed(&self, space: &S) -> Result<Array<S, u8>> {
        let faces = &self.elements.part.node_faces;
        space.upload(&self.of_nodes("fixed unknowns", |node| [u8::from(self.case.fixes(faces[node])); 3])?)
    }

    fn start(&self, space: &S, _: &Deck) -> Result<Array<S, f64>> {
        let (part, case) = (self.elements.part, self.case);
        space.upload(&self.of_nodes("unknowns", |node| {
            let faces = part.node_faces[node];
            if case.fixes(faces) { case.given(part.node_coord[node], faces) } else { [0.0; 3] }
        })?)
    }

    fn assembly(
        &self,
        space: &S,
        _: &Deck,
        strategy: fill::Strategy,
        system: &StoredSystem<S>,
    ) -> Result<S::ModelAssembly> {
        space.model_assembly(strategy, &self.case.model, self.elements.on(), system)
    }

    fn assemble(
        &self,
        space: &S,
        assembly: &mut S::ModelAssembly,
        unknowns: &Slice<S, f64>,
        system: &mut StoredSystem<S>,
        residual: &mut Slice<S, f64>,
    ) -> Result<()> {
        let node_coord = S::Memory::slice(&self.elements.node_coord);
        space.assemble_model(assembly, node_coord, unknowns, system, residual)
    }

    fn stored_bytes(assembly: &S::ModelAssembly) -> u64 {
        S::model_stored_bytes(assembly)
    }

    fn scatter_by_id(&self, space: &S, seed: u64, vector: &mut Slice<S, f64>) -> Result<()> {
        let numbers = self.elements.part.random(seed, self.case.model.dofs());
        space.copy(numbers.len(), S::Memory::slice(&space.upload(&numbers)?), vector)
    }
}
