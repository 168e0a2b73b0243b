//! Strategies that add to shared rows: `scatter`, all elements at once with hardware additions in no fixed order, and `colour`.
//!
//! Scatter is bound by the rate of additions in the second-level cache, one 32-byte sector each. Therefore the lanes of a warp take
//! neighbouring columns of a row.

use super::colour::Colour;
use super::system::{ElementMatrices, SystemView, WIDTHS, blocks};
use crate::Result;
use crate::fill::kernel_files::{FILL, HEAT};
use crate::fill::{Additions, HeatInput};
use crate::graph::ElemGraph;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments};

/// Threads per block, as in `heat.cu`.
pub(super) const HEAT_THREADS: u32 = 64;
/// Threads per block, elements and entries per tile, as in `fill.cu`.
const THREADS: u32 = 256;
const ELEMS: usize = 32;
const ENTRIES: usize = 64;

/// Which elements add in one launch, and how.
#[derive(Debug)]
pub(super) enum Adds {
    /// All, atomically.
    Atomic,
    /// All, by a load, an addition and a store in place of each atomic: terms are lost.
    Racy,
    /// Those of a colour, which share no node.
    Coloured(Colour),
}

impl Adds {
    /// Returns the number and the list of the elements of each launch.
    fn launches(&self, elems: usize) -> Vec<(usize, Argument)> {
        match self {
            Adds::Atomic | Adds::Racy => vec![(elems, Argument::NULL)],
            Adds::Coloured(colour) => colour.parts().collect(),
        }
    }

    /// Computes and adds the heat equation's elements.
    pub(super) fn heat(&self, mut system: SystemView<'_>, input: HeatInput<'_>) -> Result<()> {
        // Additions need zeros to start from.
        system.clear()?;
        let name = match self {
            Adds::Atomic => "scatter_heat",
            Adds::Racy => "racy_heat",
            Adds::Coloured(_) => "colour_heat",
        };
        let (rows, (positions, kind)) = (system.rows() as u64, system.positions());
        let (nodes, row_map) = (system.elem_node().nodes(), system.layout.starts);
        let HeatInput { node_coord, temperature, heat } = input;
        self.launches(system.elems()).into_iter().try_for_each(|(count, list)| {
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, rows, WIDTHS[kind], list, nodes, positions, row_map, node_coord, temperature, heat,
                &mut *system.values, &mut *system.residual,
            ];
            system.space.launch(&HEAT, name, Grid::cover(count, HEAT_THREADS), arguments)
        })
    }

    /// Adds stored matrices, with the kernel for the type of the positions.
    pub(super) fn matrices(&self, mut system: SystemView<'_>, elements: ElementMatrices<'_>) -> Result<()> {
        system.clear()?;
        let names = match self {
            Adds::Atomic => ["scatter_u8", "scatter_u16", "scatter_u32"],
            Adds::Racy | Adds::Coloured(_) => ["colour_u8", "colour_u16", "colour_u32"],
        };
        let (nn, (positions, kind)) = (system.nodes_per_elem(), system.positions());
        let (elems, rows) = (system.elems() as u64, system.rows() as u64);
        let (nodes, row_map) = (system.elem_node().nodes(), system.layout.starts);
        self.launches(system.elems()).into_iter().try_for_each(|(count, list)| {
            let tiles = count.div_ceil(ELEMS) * (nn * nn).div_ceil(ENTRIES);
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, elems, rows, nn as u32, u32::from(elements.symmetric), list, nodes, positions, row_map,
                elements.matrices, elements.residuals, &mut *system.values, &mut *system.residual,
            ];
            system.space.launch(&FILL, names[kind], Grid::new(blocks(tiles)?, THREADS), arguments)
        })
    }

    /// Counts the additions to `rows` rows in the table; waits for the GPU.
    pub(super) fn count(&self, space: &Cuda, places: &ElemGraph<CudaMemory>, rows: usize) -> Result<Additions> {
        let (elem_node, mut corners) = (places.elem_node(), space.zeros::<u64>(1)?);
        let slots = elem_node.elem_count() * elem_node.nodes_per_elem();
        let arguments = arguments![slots as u64, rows as u64, elem_node.nodes(), &mut corners];
        space.launch(&FILL, "count_corners", Grid::cover(slots, THREADS), arguments)?;
        let mut host = [0];
        space.read(&corners, &mut host)?;
        let all = host[0] * (elem_node.nodes_per_elem() as u64 + 1);
        Ok(match self {
            Adds::Atomic => Additions { atomic: all, plain: 0 },
            Adds::Racy | Adds::Coloured(_) => Additions { atomic: 0, plain: all },
        })
    }
}
