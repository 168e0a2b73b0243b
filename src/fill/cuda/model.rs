//! Assembly of the program's equations on a GPU: the kernels of their [`EquationText`] with any strategy and storage format.
//!
//! The kernels store element matrices and residuals, which the strategy sums. `Gather` computes as many elements at a time as hold
//! about the bytes of its windows of hexahedra of the heat equation; other strategies store those of all elements. What hosts have to
//! check or compare, once per run, is done by their threads.

use super::{CudaEquationKernel, CudaFill, EquationInput, EquationText};
use crate::element::equations::{Model, ModelEquation, Scalar, on_scalar};
use crate::element::{Basis, BasisTables, ElementType};
use crate::error::check_length;
use crate::fill::{AssembleModel, FieldErrors, FieldOn, Sample, StoredSystem, Strategy, norms, step_of};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::space::{ExecutionSpace, HostMemory, Threads, allowed_cores};
use crate::{Error, Result};

/// Numbers of a stored hexahedron of the heat equation, by which [`step_of`] counts.
const HEXAHEDRON: usize = 36 + 8;
/// Steps are multiples of so many elements, that each begins at a cache line of every array.
const STEP_UNIT: usize = 1 << 12;

/// The kernels of a model on an element type.
#[derive(Debug)]
enum Kernels {
    Scalar(CudaEquationKernel<1>),
    Elastic(CudaEquationKernel<3>),
}

impl Kernels {
    fn new(space: &Cuda, model: &Model, element: ElementType) -> Result<Self> {
        let tables = volume(element)?;
        let scalar = |text: EquationText<1>| {
            CudaEquationKernel::new(space, &text.with_jacobian(model.jacobian), &tables).map(Kernels::Scalar)
        };
        match &model.equation {
            ModelEquation::Scalar(of) => on_scalar!(of, equation => scalar(EquationText::of(equation))),
            ModelEquation::Elastic(equation) => {
                let text = EquationText::of(equation).with_jacobian(model.jacobian);
                CudaEquationKernel::new(space, &text, &tables).map(Kernels::Elastic)
            }
        }
    }

    fn load(&self, space: &Cuda) -> Result<()> {
        match self {
            Kernels::Scalar(kernel) => kernel.load(space),
            Kernels::Elastic(kernel) => kernel.load(space),
        }
    }

    /// Numbers of an element that are stored.
    fn stored_per_elem(&self) -> usize {
        match self {
            Kernels::Scalar(kernel) => kernel.stored_per_elem(),
            Kernels::Elastic(kernel) => kernel.stored_per_elem(),
        }
    }
}

/// Returns the basis at the points of an element's rule.
pub(super) fn volume(element: ElementType) -> Result<BasisTables> {
    if element.dim() != 3 {
        let message = format!("model_assembly: {element} has 2 dimensions, expected an element of 3");
        return Err(Error::Invalid(message));
    }
    Ok(Basis::new(element).at(&element.rule()))
}

/// The assembly of a model on a GPU.
#[derive(Debug)]
pub struct CudaModelAssembly {
    fill: CudaFill,
    kernels: Kernels,
    /// Nodes of the elements; the assembly's own table has their dofs.
    elem_node: ElemNode<CudaMemory>,
}

impl AssembleModel for Cuda {
    type ModelAssembly = CudaModelAssembly;

    fn load_model(&self, model: &Model, element: ElementType) -> Result<()> {
        Kernels::new(self, model, element)?.load(self)
    }

    fn dof_graph(&self, nodes: Graph<CudaMemory>, dofs: usize) -> Result<Graph<CudaMemory>> {
        if dofs == 1 { Ok(nodes) } else { nodes.with_dofs(self, dofs) }
    }

    fn model_assembly(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, CudaMemory>,
        system: &StoredSystem<Cuda>,
    ) -> Result<CudaModelAssembly> {
        const NAME: &str = "model_assembly";
        let elem_node = on.elem_node;
        check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), on.element.nodes())?;
        let kernels = Kernels::new(self, model, on.element)?;
        let step = step_of(elem_node.elem_count()) * HEXAHEDRON / kernels.stored_per_elem();
        let step = step.next_multiple_of(STEP_UNIT);
        let fill = CudaFill::prepare(self, strategy, step, system.matrix.layout(), &system.places)?;
        Ok(CudaModelAssembly { fill, kernels, elem_node: elem_node.clone() })
    }

    fn assemble_model(
        &self,
        assembly: &mut CudaModelAssembly,
        node_coord: &CudaArray<[f64; 3]>,
        unknowns: &CudaArray<f64>,
        system: &mut StoredSystem<Cuda>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "assemble_model";
        let CudaModelAssembly { fill, kernels, elem_node } = assembly;
        if !system.places.is_clone_of(&fill.places) {
            return Err(Error::Invalid(format!("{NAME}: expected the system that the assembly was made for")));
        }
        let (layout, values) = system.matrix.assembled();
        let view = fill.system(NAME, self, &system.places, layout, values, residual)?;
        let input = EquationInput { elem_node, node_coord, solution: unknowns };
        match kernels {
            Kernels::Scalar(kernel) => fill.equation(NAME, kernel, input, view),
            Kernels::Elastic(kernel) => fill.equation(NAME, kernel, input, view),
        }
    }

    fn model_stored_bytes(assembly: &CudaModelAssembly) -> u64 {
        // Written and read.
        2 * (assembly.kernels.stored_per_elem() * assembly.fill.elems() * size_of::<f64>()) as u64
    }

    fn check_elements(&self, on: FieldOn<'_, HostMemory>) -> Result<()> {
        norms::check_elements(&Threads::new(allowed_cores())?, on)
    }

    fn field_errors(
        &self,
        on: FieldOn<'_, HostMemory>,
        owned: usize,
        dofs: usize,
        field: &CudaArray<f64>,
        exact: Sample<'_>,
    ) -> Result<FieldErrors> {
        norms::field_errors(&Threads::new(allowed_cores())?, on, owned, dofs, &self.download(field)?, exact)
    }
}
