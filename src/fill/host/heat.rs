//! Assembly of the heat equation on host memory.

use super::{ContractionKernel, Elements, Fill, FusedKernel};
use crate::Result;
use crate::element::{Analytic, HEX8_NODES};
use crate::error::check_at_least;
use crate::fill::{Assemble, Dirichlet, HeatInput, Kernel, StoredSystem, Strategy};
use crate::graph::Graph;
use crate::space::{HostMemory, HostSpace};
use crate::sparse::{HostMatrix, MatrixStorage};

/// The heat equation's assembly on host memory.
#[derive(Debug)]
pub struct HostHeatAssembly {
    fill: Fill<HEX8_NODES>,
    kernel: Kernel,
}

impl<S: HostSpace> Assemble for S {
    const STRATEGY: Strategy = Strategy::Colour;

    type HeatAssembly = HostHeatAssembly;

    fn stored_system(
        &self,
        _: Strategy,
        storage: MatrixStorage,
        graph: Graph,
        conditions: Dirichlet,
    ) -> Result<StoredSystem<Self>> {
        let Graph { crs, elem: places, .. } = graph;
        Ok(StoredSystem { matrix: HostMatrix::new(self, storage, crs)?, places, conditions })
    }

    fn heat_assembly(
        &self,
        strategy: Strategy,
        kernel: Kernel,
        system: &StoredSystem<Self>,
    ) -> Result<HostHeatAssembly> {
        let (crs, elem) = (system.matrix.assembled().graph().clone(), system.places.clone());
        Ok(HostHeatAssembly { fill: Fill::prepare(self, strategy, crs, elem)?, kernel })
    }

    fn assemble_heat(
        &self,
        assembly: &mut HostHeatAssembly,
        input: HeatInput<'_, HostMemory>,
        system: &mut StoredSystem<Self>,
        residual: &mut [f64],
    ) -> Result<()> {
        let HeatInput { node_coord, temperature, heat } = input;
        let HostHeatAssembly { fill, kernel } = assembly;
        let elem_node = fill.elem_node().clone();
        let elements = Elements::new(&elem_node, node_coord, temperature, heat)?;
        match kernel {
            Kernel::Fused => fill.assemble(self, &FusedKernel::new(elements), system.matrix.assembled_mut(), residual),
            Kernel::Contraction => {
                fill.assemble(self, &ContractionKernel::new(elements), system.matrix.assembled_mut(), residual)
            }
        }
    }

    fn stored_bytes(assembly: &HostHeatAssembly) -> u64 {
        assembly.fill.stored_bytes()
    }

    fn sample(&self, exact: &Analytic, node_coord: &[[f64; 3]], count: usize) -> Result<Vec<f64>> {
        check_at_least("sample", "node_coord", node_coord.len(), count)?;
        self.map(count, |node| exact.at(node_coord[node][2]))
    }
}
