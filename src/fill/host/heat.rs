//! Assembly of the heat equation on host memory.

use super::{ContractionKernel, Elements, Fill, FusedKernel};
use crate::Result;
use crate::element::{Analytic, HEX8_NODES};
use crate::error::check_at_least;
use crate::fill::{Assemble, HeatInput, Kernel, Strategy};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::{HostMemory, HostSpace};
use crate::sparse::CrsMatrix;

/// The heat equation's assembly on host memory.
#[derive(Debug)]
pub struct HostHeatAssembly {
    fill: Fill<HEX8_NODES>,
    kernel: Kernel,
}

impl<S: HostSpace> Assemble for S {
    const STRATEGY: Strategy = Strategy::Colour;

    type HeatAssembly = HostHeatAssembly;

    fn heat_assembly(
        &self,
        strategy: Strategy,
        kernel: Kernel,
        elem_node: &ElemNode,
        graph: &Graph,
    ) -> Result<HostHeatAssembly> {
        Ok(HostHeatAssembly { fill: Fill::new(self, strategy, elem_node, graph)?, kernel })
    }

    fn assemble_heat(
        &self,
        assembly: &mut HostHeatAssembly,
        input: HeatInput<'_, HostMemory>,
        graph: &Graph,
        matrix: &mut CrsMatrix,
        residual: &mut Vec<f64>,
    ) -> Result<()> {
        let HeatInput { elem_node, node_coord, temperature, conductivity } = input;
        let elements = Elements::new(elem_node, node_coord, temperature, conductivity)?;
        let HostHeatAssembly { fill, kernel } = assembly;
        match kernel {
            Kernel::Fused => fill.assemble(self, &FusedKernel::new(elements), elem_node, graph, matrix, residual),
            Kernel::Contraction => {
                fill.assemble(self, &ContractionKernel::new(elements), elem_node, graph, matrix, residual)
            }
        }
    }

    fn stored_bytes(assembly: &HostHeatAssembly) -> u64 {
        assembly.fill.stored_bytes()
    }

    fn sample(&self, exact: &Analytic, node_coord: &Vec<[f64; 3]>, count: usize) -> Result<Vec<f64>> {
        check_at_least("sample", "node_coord", node_coord.len(), count)?;
        self.map(count, |node| exact.at(node_coord[node][2]))
    }
}
