//! Assembly of the heat equation on a GPU: the fused kernel, or contractions on tensor cores with stored element matrices.

use super::CudaFill;
use super::EquationText;
use super::element_matrices::{check_input, equation_input};
use super::gather::Arrays;
use super::scatter::HEAT_THREADS;
use super::tensor_cores::TensorContraction;
use super::windows::Batch;
use crate::element::equations::Heat;
use crate::element::{Analytic, Basis, ElementType, HEX8_NODES};
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::HEAT;
use crate::fill::{Assemble, Dirichlet, HeatInput, Kernel, StoredSystem, Strategy, step_of};
use crate::graph::Graph;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::MatrixStorage;
use crate::{Error, Result};

/// `Heat` of `kernels/element.cuh`.
impl From<Heat> for Argument {
    fn from(heat: Heat) -> Self {
        heat.conductivity.into()
    }
}

/// The heat equation's assembly on a GPU.
#[derive(Debug)]
pub struct CudaHeatAssembly {
    fill: CudaFill,
    /// For [`Kernel::Contraction`].
    contraction: Option<TensorContraction>,
    /// All element matrices, for [`Kernel::Contraction`]; `None` with `Gather`, which stores them in windows.
    arrays: Option<Arrays>,
}

impl CudaHeatAssembly {
    /// Prepares a strategy and an element kernel for a system. `Gather` computes `step` elements at a time.
    ///
    /// # Errors
    /// Those of [`Assemble::heat_assembly`]; [`Error::Invalid`](crate::Error::Invalid) for a strategy other than `Gather` on a
    /// system that is assembled in slices.
    pub fn new(
        space: &Cuda,
        strategy: Strategy,
        kernel: Kernel,
        step: usize,
        system: &StoredSystem<Cuda>,
    ) -> Result<Self> {
        let elem_node = system.places.elem_node();
        let nodes = elem_node.nodes_per_elem();
        check_length("heat_assembly", "elem_node (nodes per element)", nodes, HEX8_NODES)?;
        let arrays = match (kernel, strategy) {
            (Kernel::Fused, _) | (_, Strategy::Gather) => None,
            (Kernel::Contraction, _) => Some(Arrays::symmetric(space, elem_node.elem_count())?),
        };
        let contraction = match kernel {
            Kernel::Fused => None,
            Kernel::Contraction => Some(contraction(space)?),
        };
        let fill = CudaFill::prepare(space, strategy, step, system.matrix.layout(), &system.places)?;
        Ok(CudaHeatAssembly { fill, contraction, arrays })
    }

    /// Returns the number of element matrices that are stored at once by the strategy.
    pub fn stored_elements(&self) -> usize {
        self.fill.stored_elements()
    }
}

/// Prepares the contractions of the heat equation.
fn contraction(space: &Cuda) -> Result<TensorContraction> {
    let (hex8, text) = (ElementType::Hex8, EquationText::of(&Heat::new(1.0)));
    TensorContraction::new(space, &text, &Basis::new(hex8).at(&hex8.rule()))?.ok_or_else(|| {
        let (major, minor) = space.device().info().capability;
        Error::Invalid(format!("kernel contraction on compute capability {major}.{minor}: expected at least 8.0"))
    })
}

impl Assemble for Cuda {
    // The fastest strategy on a GPU, and its bits are the same in every run.
    const STRATEGY: Strategy = Strategy::Gather;

    type HeatAssembly = CudaHeatAssembly;

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

    fn heat_assembly(
        &self,
        strategy: Strategy,
        kernel: Kernel,
        system: &StoredSystem<Self>,
    ) -> Result<CudaHeatAssembly> {
        let step = step_of(system.places.elem_node().elem_count());
        CudaHeatAssembly::new(self, strategy, kernel, step, system)
    }

    fn assemble_heat(
        &self,
        assembly: &mut CudaHeatAssembly,
        input: HeatInput<'_, CudaMemory>,
        system: &mut StoredSystem<Self>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "assemble_heat";
        let CudaHeatAssembly { fill, contraction, arrays } = assembly;
        if let Some(contraction) = contraction {
            contraction.set_parameters(self, &[input.heat.conductivity])?;
        }
        let (layout, values) = system.matrix.assembled();
        if !system.places.is_clone_of(&fill.places) {
            return Err(Error::Invalid(format!("{NAME}: expected the system that the assembly was made for")));
        }
        let places = &system.places;
        let view = fill.system(NAME, self, places, layout, values, residual)?;
        match (contraction, arrays) {
            (Some(contraction), Some(arrays)) => {
                check_input(NAME, places.elem_node(), input)?;
                let nodes = equation_input(places.elem_node(), input);
                contraction.store(self, nodes, Batch::whole(fill.elems()), arrays)?;
                fill.matrices(view, arrays.view(true))
            }
            (contraction, _) => fill.heat(NAME, contraction.as_ref(), view, input),
        }
    }

    fn stored_bytes(assembly: &CudaHeatAssembly) -> u64 {
        match &assembly.arrays {
            None => assembly.fill.stored_bytes(),
            Some(arrays) => 2 * arrays.bytes(),
        }
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
