//! Strategy `scatter` on a GPU: elements add to shared rows with hardware additions, in no fixed order: all at once
//! with the fused kernel, else those of a step.
//!
//! Scatter is bound by the rate of additions in the second-level cache, one 32-byte sector each. Therefore the lanes of a warp take
//! neighbouring columns of a row.

use super::system::{ElementMatrices, EquationInput, SystemView, WIDTHS, blocks, positions_from};
use crate::Result;
use crate::element::equations::Heat;
use crate::fill::Additions;
use crate::fill::kernel_files::{FILL, HEAT};
use crate::graph::ElemGraph;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaMemory, Grid, arguments};

/// Threads per block, as in `heat.cu`.
pub(super) const HEAT_THREADS: u32 = 64;
/// Threads per block, elements and entries per tile, as in `fill.cu`.
const THREADS: u32 = 256;
const ELEMS: usize = 32;
const ENTRIES: usize = 64;

/// How elements add.
#[derive(Clone, Copy, Debug)]
pub(super) enum Adds {
    Atomic,
    /// By a load, an addition and a store in place of each atomic: terms are lost.
    Racy,
}

impl Adds {
    /// Computes and adds the heat equation's elements.
    pub(super) fn heat(self, mut system: SystemView<'_>, input: EquationInput<'_>, heat: Heat) -> Result<()> {
        // Additions need zeros to start from.
        system.clear()?;
        let name = if matches!(self, Adds::Atomic) { "scatter_heat" } else { "racy_heat" };
        let (elem_node, (positions, kind)) = (system.elem_node(), system.positions());
        let (elems, rows, row_map) = (elem_node.elem_count(), system.layout.rows as u64, system.layout.starts);
        #[rustfmt::skip]
        let arguments = arguments![
            elems as u64, rows, WIDTHS[kind], elem_node.nodes(), positions, row_map, input.node_coord, input.solution, heat,
            &mut *system.values, &mut *system.residual,
        ];
        system.space.launch(&HEAT, name, Grid::cover(elems, HEAT_THREADS), arguments)
    }

    /// Adds the stored matrices of `count` elements from `first` on, with the kernel for the type of the positions.
    pub(super) fn matrices(
        self,
        system: &mut SystemView<'_>,
        (first, count): (usize, usize),
        elements: ElementMatrices<'_>,
    ) -> Result<()> {
        let names = match self {
            Adds::Atomic => ["scatter_u8", "scatter_u16", "scatter_u32"],
            Adds::Racy => ["racy_u8", "racy_u16", "racy_u32"],
        };
        let (elem_node, nn) = (system.elem_node(), system.elem_node().nodes_per_elem());
        let (rows, row_map) = (system.layout.rows as u64, system.layout.starts);
        let nodes = Argument::from_item(elem_node.nodes(), first * nn);
        let (positions, kind) = positions_from(system.places, first * nn * nn);
        let tiles = count.div_ceil(ELEMS) * (nn * nn).div_ceil(ENTRIES);
        #[rustfmt::skip]
        let arguments = arguments![
            count as u64, rows, nn as u32, u32::from(elements.symmetric), nodes, positions, row_map, elements.matrices,
            elements.residuals, &mut *system.values, &mut *system.residual,
        ];
        system.space.launch(&FILL, names[kind], Grid::new(blocks(tiles)?, THREADS), arguments)
    }

    /// Counts the additions to `rows` rows in the table; waits for the GPU.
    pub(super) fn count(self, space: &Cuda, places: &ElemGraph<CudaMemory>, rows: usize) -> Result<Additions> {
        let (elem_node, mut corners) = (places.elem_node(), space.zeros::<u64>(1)?);
        let slots = elem_node.elem_count() * elem_node.nodes_per_elem();
        let arguments = arguments![slots as u64, rows as u64, elem_node.nodes(), &mut corners];
        space.launch(&FILL, "count_corners", Grid::cover(slots, THREADS), arguments)?;
        let mut host = [0];
        space.read(&corners, &mut host)?;
        let all = host[0] * (elem_node.nodes_per_elem() as u64 + 1);
        Ok(match self {
            Adds::Atomic => Additions { atomic: all, plain: 0 },
            Adds::Racy => Additions { atomic: 0, plain: all },
        })
    }
}
