//! Element matrices of a scalar equation on trilinear hexahedra by contractions on tensor cores: launches of
//! `kernels/fill_contraction.cu`, which is compiled for the equation.
//!
//! Shapes: matrices `[packed(i, j), column]` for i <= j, residuals `[i, column]`. The kernel reads 32 bytes per element and 32
//! per node, and writes 352 per element; nothing between geometry and matrices passes through memory.

use super::EquationText;
use super::gather::Arrays;
use super::system::EquationInput;
use super::windows::Batch;
use crate::Result;
use crate::element::{BasisTables, HEX8_NODES};
use crate::fill::kernel_files::FILL_CONTRACTION;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, Grid, arguments};

/// Blocks per multiprocessor and elements per warp, as in the kernel.
const BLOCKS: usize = 1;
const ELEMS: usize = 16;
const WARP: usize = 32;

/// The kernel for an equation, and the numbers of the equation.
#[derive(Debug)]
pub(super) struct TensorContraction {
    front: String,
    threads: usize,
    parameters: CudaArray<f64>,
}

impl TensorContraction {
    /// Returns `None` where the kernel does not exist: other elements, unknowns per node or rules, matrices that are not symmetric,
    /// GPUs without tensor cores for f64.
    pub fn new(space: &Cuda, text: &EquationText, tables: &BasisTables) -> Result<Option<Self>> {
        let front = text.contraction_front(tables).filter(|_| space.device().info().capability >= (8, 0));
        let Some(front) = front else { return Ok(None) };
        let parameters = space.upload(&text.parameters_on_device())?;
        Ok(Some(TensorContraction { front, threads: text.contraction_threads(), parameters }))
    }

    /// Compiles and loads the kernel, which otherwise happens at its first launch.
    pub fn load(&self, space: &Cuda) -> Result<()> {
        space.load_specialised(&FILL_CONTRACTION, &self.front)
    }

    /// Stores matrices and residuals of a batch of elements. The caller has checked the input.
    pub fn store(&self, space: &Cuda, input: EquationInput<'_>, batch: Batch, arrays: &mut Arrays) -> Result<()> {
        let (Batch { first, count, column, capacity }, Arrays { matrices, residuals }) = (batch, arrays);
        let nodes = Argument::from_item(input.elem_node.nodes(), first * HEX8_NODES);
        #[rustfmt::skip]
        let arguments = arguments![
            count as u64, column as u64, capacity as u64, nodes, input.node_coord, input.solution, &self.parameters, matrices,
            residuals,
        ];
        // Resident blocks walk the elements: each computes the table of reference products once.
        let resident = BLOCKS * space.device().info().multiprocessors as usize;
        let blocks = count.div_ceil(self.threads / WARP * ELEMS).min(resident);
        let grid = Grid::new(blocks, self.threads as u32);
        space.launch_specialised(&FILL_CONTRACTION, &self.front, "contract_equation", grid, arguments)
    }
}
