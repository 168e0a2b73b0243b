//! Assembly of the heat equation on a GPU: the fused kernel, or contractions with stored element matrices.

use super::gather::stored_per_elem;
use super::scatter::HEAT_THREADS;
use super::{ContractionWorkset, CudaFill, ElementMatrices};
use crate::element::{Analytic, HEX8_NODES};
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::HEAT;
use crate::fill::{Assemble, Dirichlet, HeatInput, Kernel, StoredSystem, Strategy, step_of};
use crate::graph::Graph;
use crate::space::cuda::{Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::Format;
use crate::{Error, Result};

/// Cells of a workset: enough to fill the GPU, 4352 bytes each.
const WORKSET: usize = 65_536;

/// The heat equation's assembly on a GPU.
#[derive(Debug)]
pub struct CudaHeatAssembly {
    fill: CudaFill,
    /// For [`Kernel::Contraction`]; the fused kernel needs no memory here.
    contraction: Option<Contraction>,
}

/// A workset of contractions.
#[derive(Debug)]
struct Contraction {
    workset: ContractionWorkset,
    /// Element matrices `[i * 8 + j, elem]` and residuals `[i, elem]` of the whole mesh; `None` with `Gather`, which stores them.
    arrays: Option<(CudaArray<f64>, CudaArray<f64>)>,
}

impl Contraction {
    fn new(space: &Cuda, strategy: Strategy, elems: usize) -> Result<Self> {
        let workset = ContractionWorkset::new(space, WORKSET.min(elems))?;
        let arrays = match strategy {
            Strategy::Gather => None,
            Strategy::Scatter | Strategy::Colour => {
                Some((space.unfilled(HEX8_NODES * HEX8_NODES * elems)?, space.unfilled(HEX8_NODES * elems)?))
            }
        };
        Ok(Contraction { workset, arrays })
    }
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
        let contraction = match kernel {
            Kernel::Fused => None,
            Kernel::Contraction => Some(Contraction::new(space, strategy, elem_node.elem_count())?),
        };
        let fill = CudaFill::prepare(space, strategy, step, system.matrix.layout(), &system.places)?;
        Ok(CudaHeatAssembly { fill, contraction })
    }

    /// Returns the number of element matrices that are stored at once by the strategy.
    pub fn stored_elements(&self) -> usize {
        self.fill.stored_elements()
    }
}

impl Assemble for Cuda {
    // The fastest strategy on a GPU, and its bits are the same in every run.
    const STRATEGY: Strategy = Strategy::Gather;

    type HeatAssembly = CudaHeatAssembly;

    fn stored_system(
        &self,
        strategy: Strategy,
        format: Format,
        graph: Graph<CudaMemory>,
        conditions: Dirichlet<CudaMemory>,
    ) -> Result<StoredSystem<Self>> {
        let direct = strategy.assembles_in_slices(graph.crs.rows());
        StoredSystem::new(self, format, direct, graph, conditions)
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
        let CudaHeatAssembly { fill, contraction } = assembly;
        let (layout, values) = system.matrix.assembled();
        if !system.places.is_clone_of(&fill.places) {
            return Err(Error::Invalid(format!("{NAME}: expected the system that the assembly was made for")));
        }
        let places = &system.places;
        let view = fill.system(NAME, self, places, layout, values, residual)?;
        match contraction {
            None => fill.heat(NAME, view, input),
            Some(Contraction { workset, arrays: None }) => fill.contractions(NAME, workset, view, input),
            Some(Contraction { workset, arrays: Some((matrices, residuals)) }) => {
                workset.evaluate(self, places.elem_node(), input, 0..fill.elems(), matrices, residuals)?;
                // The contractions compute all 64 entries: each takes any pair of operands and knows no symmetry.
                fill.matrices(view, ElementMatrices { matrices, residuals, symmetric: false })
            }
        }
    }

    fn stored_bytes(assembly: &CudaHeatAssembly) -> u64 {
        match &assembly.contraction {
            None => assembly.fill.stored_bytes(),
            Some(_) => 2 * (stored_per_elem(false) * assembly.fill.elems() * size_of::<f64>()) as u64,
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
