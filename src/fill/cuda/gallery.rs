//! The gallery of element kernels on a GPU, and assembly with them.
//!
//! | equation | element | [`Kernel`] | kernel |
//! |---|---|---|---|
//! | heat, derivatives by hand | `hex8` | `Fused` | `kernels/heat.cu`: sum-factorised moments |
//! | any of one unknown, symmetric | `hex8` | `Table` | `kernels/fill_contraction.cu`, where the GPU has tensor cores for f64 |
//! | any | any volume type | `Table` | `kernels/equation.cu` |
//! | any | any volume type | `Intrepid` | `kernels/intrepid.cu`, then the [contractions](crate::contraction) |
//!
//! The kernels of an [`EquationText`] store element matrices and residuals, which the strategy sums, a step of elements at a time: as many
//! as hold about the bytes of a step of hexahedra of the heat equation. With `Intrepid` and strategies other than `Gather` a step is a workset or several small ones.

use super::adds::HEAT_THREADS;
use super::points::work_bytes;
use super::system::{WIDTHS, check_tables, positions};
use super::worksets::{self, operand_bytes};
use super::{Adds, CudaEquationKernel, CudaFill, EquationInput, EquationText, Method, gather};
use crate::element::equations::Model;
use crate::element::{Analytic, BasisTables, ElementType};
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::{FILL, HEAT};
use crate::fill::{
    Additions, Assemble, AssemblyChoice, ContractionCalls, Dirichlet, FieldOn, Kernel, StoredSystem, Strategy,
    heat_on_hex8, no_kernel, no_volume, step_of,
};
use crate::graph::{Graph, NodeElem};
use crate::mesh::{ElemNode, Sizes};
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::MatrixStorage;
use crate::{Error, Result};

/// Numbers of a stored hexahedron of the heat equation, by which [`step_of`] counts.
const HEXAHEDRON: usize = 36 + 8;
/// Steps are multiples of so many elements, that each begins at a cache line of every array.
const STEP_UNIT: usize = 1 << 12;

/// Returns the element kernel of a model.
fn kernel_of(space: &Cuda, choice: AssemblyChoice, model: &Model, element: ElementType) -> Result<CudaEquationKernel> {
    let AssemblyChoice { kernel, workset, .. } = choice;
    let workset = match kernel {
        Kernel::Fused => {
            let heat = heat_on_hex8(model, element).ok_or_else(|| no_kernel(kernel, element))?;
            return CudaEquationKernel::fused(heat);
        }
        Kernel::Intrepid => Some(workset),
        Kernel::Table => None,
    };
    CudaEquationKernel::with_worksets(space, &EquationText::of_model(model), &volume(element)?, workset)
}

/// Returns the basis at the points of an element's rule.
pub(super) fn volume(element: ElementType) -> Result<BasisTables> {
    if element.dim() != 3 {
        return Err(no_volume("assembly", element));
    }
    Ok(BasisTables::of(element))
}

/// Elements with so many stored numbers that have the bytes of `step` hexahedra of the heat equation.
fn scaled(step: usize, stored: usize) -> usize {
    match stored {
        HEXAHEDRON => step,
        stored => (step * HEXAHEDRON / stored).next_multiple_of(STEP_UNIT),
    }
}

/// The assembly of a model on a GPU.
#[derive(Debug)]
pub struct CudaAssembly {
    fill: CudaFill,
    kernel: CudaEquationKernel,
    /// Nodes of the elements; the assembly's own table has their dofs.
    elem_node: ElemNode<CudaMemory>,
}

impl CudaAssembly {
    /// Prepares a strategy and an element kernel as [`Assemble::assembly`]. Elements are computed in steps of as many bytes as
    /// `step` hexahedra of the heat equation have; the result of `Gather` does not depend on it.
    ///
    /// # Errors
    /// Those of [`Assemble::assembly`]; [`Error::Invalid`] for a strategy other than `Gather` on a system that is assembled in slices.
    pub fn with_step(
        space: &Cuda,
        (choice, step): (AssemblyChoice, usize),
        model: &Model,
        on: FieldOn<'_, CudaMemory>,
        system: &StoredSystem<Cuda>,
    ) -> Result<Self> {
        let elem_node = on.elem_node;
        check_length("assembly", "elem_node (nodes per element)", elem_node.nodes_per_elem(), on.element.nodes())?;
        let kernel = kernel_of(space, choice, model, on.element)?;
        let step = scaled(step, kernel.stored_per_elem());
        let (layout, strategy) = (system.matrix.layout(), choice.strategy.unwrap_or(Strategy::Scatter));
        let mut fill = CudaFill::prepare(space, strategy, step, layout, &system.places)?;
        if choice.strategy.is_none() {
            fill.method = Method::Adds(Adds::Racy, Adds::Racy.count(space, &system.places, layout.rows)?);
        }
        Ok(CudaAssembly { fill, kernel, elem_node: elem_node.clone() })
    }
}

impl Assemble for Cuda {
    // The fastest strategy on a GPU, and its bits are the same in every run.
    const STRATEGY: Strategy = Strategy::Gather;

    type Assembly = CudaAssembly;

    fn load_assembly(&self, choice: AssemblyChoice, model: &Model, element: ElementType) -> Result<()> {
        kernel_of(self, choice, model, element)?.load(self)
    }

    fn dof_graph(&self, nodes: Graph<CudaMemory>, dofs: usize) -> Result<Graph<CudaMemory>> {
        if dofs == 1 { Ok(nodes) } else { nodes.with_dofs(self, dofs) }
    }

    fn stored_system(
        &self,
        strategy: Strategy,
        storage: MatrixStorage,
        graph: Graph<CudaMemory>,
        conditions: Dirichlet<CudaMemory>,
    ) -> Result<StoredSystem<Self>> {
        let direct = strategy.assembles_in_slices(graph.crs.rows());
        StoredSystem::new(self, storage, direct, graph, conditions)
    }

    fn assembly(
        &self,
        choice: AssemblyChoice,
        model: &Model,
        on: FieldOn<'_, CudaMemory>,
        system: &StoredSystem<Cuda>,
    ) -> Result<CudaAssembly> {
        CudaAssembly::with_step(self, (choice, step_of(on.elem_node.elem_count())), model, on, system)
    }

    fn system_bytes(strategy: Strategy, storage: MatrixStorage, sizes: &Sizes, pattern: u64) -> [u64; 2] {
        let direct = strategy.assembles_in_slices(sizes.rows() as usize);
        StoredSystem::<Cuda>::bytes(storage, direct, sizes, pattern)
    }

    fn strategy_bytes(strategy: Strategy, [rows, slots, ..]: [u64; 4]) -> [u64; 2] {
        match strategy {
            Strategy::Scatter | Strategy::Colour => [0; 2],
            Strategy::Gather => [NodeElem::bytes(rows, slots), 4 * rows + 4 * slots],
        }
    }

    fn matrices_bytes((choice, is_symmetric): (AssemblyChoice, bool), sizes: &Sizes, _: u64) -> [u64; 2] {
        let AssemblyChoice { strategy, kernel, workset } = choice;
        let (elems, rows) = (sizes.elems, sizes.per_elem());
        // Contractions store all of a matrix, other kernels the half of a symmetric one; and the residual.
        let (entries, work) = match kernel {
            Kernel::Intrepid => (rows * rows, operand_bytes(workset, sizes)),
            _ if is_symmetric => (rows * (rows + 1) / 2, work_bytes(sizes, true)),
            _ => (rows * rows, work_bytes(sizes, false)),
        };
        let per_elem = entries + rows;
        let stored = match (strategy, kernel) {
            (Some(Strategy::Gather), _) => {
                gather::stored_elems(sizes, scaled(step_of(elems as usize), per_elem as usize) as u64)
            }
            (_, Kernel::Fused) => 0,
            (_, Kernel::Intrepid) => worksets::stored_elems(workset, sizes),
            _ => elems.min(scaled(step_of(elems as usize), per_elem as usize) as u64),
        };
        [0, 8 * per_elem * stored + work]
    }

    fn assemble(
        &self,
        assembly: &mut CudaAssembly,
        node_coord: &CudaArray<[f64; 3]>,
        unknowns: &CudaArray<f64>,
        system: &mut StoredSystem<Cuda>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "assemble";
        let CudaAssembly { fill, kernel, elem_node } = assembly;
        if !system.places.is_clone_of(&fill.places) {
            return Err(Error::Invalid(format!("{NAME}: expected the system that the assembly was made for")));
        }
        let (layout, values) = system.matrix.assembled();
        let view = fill.system(NAME, self, &system.places, layout, values, residual)?;
        fill.equation(NAME, kernel, EquationInput { elem_node, node_coord, solution: unknowns, given: &[] }, view)
    }

    fn inverse_diagonal(&self, system: &StoredSystem<Self>, inverse: &mut CudaArray<f64>) -> Result<()> {
        let (layout, places) = (system.matrix.layout(), &system.places);
        check_tables("inverse_diagonal", places, layout)?;
        check_at_least("inverse_diagonal", "inverse", inverse.len(), layout.rows)?;
        let (elem_node, (positions, kind)) = (places.elem_node(), positions(places));
        let (nodes, nn) = (elem_node.nodes(), elem_node.nodes_per_elem());
        let slots = elem_node.elem_count() * nn;
        #[rustfmt::skip]
        let arguments = arguments![
            slots as u64, layout.rows as u64, nn as u32, layout.shift, nodes, WIDTHS[kind], positions, layout.starts,
            system.matrix.values(), inverse,
        ];
        self.launch(&FILL, "inverse_diagonal", Grid::cover(slots, 256), arguments)
    }

    fn stored_bytes(assembly: &CudaAssembly) -> u64 {
        let CudaAssembly { fill, kernel, .. } = assembly;
        if kernel.adds_at_once() && matches!(fill.method, Method::Adds(..)) {
            return 0;
        }
        // Written and read.
        2 * (kernel.stored_per_elem() * fill.elems() * size_of::<f64>()) as u64
    }

    fn contractions(assembly: &CudaAssembly) -> ContractionCalls {
        assembly.kernel.calls()
    }

    fn additions(assembly: &CudaAssembly) -> Option<Additions> {
        assembly.fill.additions()
    }

    fn sample(&self, exact: &Analytic, node_coord: &CudaArray<[f64; 3]>, count: usize) -> Result<CudaArray<f64>> {
        check_at_least("sample", "node_coord", node_coord.len(), count)?;
        let mut out = self.unfilled(count)?;
        let [a, zmin, b] = exact.coefficients();
        let arguments = arguments![count as u64, node_coord, a, zmin, b, &mut out];
        self.launch(&HEAT, "inverse_square", Grid::cover(count, HEAT_THREADS), arguments)?;
        Ok(out)
    }
}
