//! Element matrices on a GPU as Intrepid composes them: geometry of a workset of cells, then four contractions.
//!
//! ```text
//! A = FieldFieldVector(k m g, g) + FieldFieldScalar(2 T m phi, phi)      m = w det J at the points
//! R = DataFieldVector(grad T, k m g) + DataFieldScalar(T^2 m, phi)
//! ```
//!
//! The twin of the host's `ContractionKernel`, with every intermediate array in memory: 4352 bytes per cell of a
//! workset, written once and read about twice. It exists for studies of layouts and variants; assembly uses
//! `kernels/fill_contraction.cu`, which keeps all of them in registers.

use crate::Result;
use crate::contraction::{
    Sum, Variant, With, data_field_scalar, data_field_vector, field_field_scalar, field_field_vector,
};
use crate::element::cubature::HEX8_POINTS;
use crate::element::{DIM, HEX8_NODES};
use crate::error::{check_at_least, check_length};
use crate::fill::HeatInput;
use crate::fill::kernel_files::WORKSET;
use crate::mesh::ElemNode;
use crate::space::cuda::{Argument, Grid, arguments};
use crate::space::{Cuda, CudaArray, CudaMemory, DeviceView, DeviceViewMut, Layout};
use std::ops::Range;

/// Threads per block, as in the kernel: the points of 32 cells.
const THREADS: u32 = 256;

/// The intermediate arrays of a workset of trilinear hexahedra, and how they are contracted.
#[derive(Debug)]
pub struct ContractionWorkset {
    cells: usize,
    layout: Layout,
    variant: Variant,
    /// k m g and g, `[cell, node, point, axis]`.
    fluxes: CudaArray<f64>,
    gradients: CudaArray<f64>,
    /// 2 T m phi and phi, `[cell, node, point]`.
    masses: CudaArray<f64>,
    phi: CudaArray<f64>,
    /// grad T, `[cell, point, axis]`.
    slope: CudaArray<f64>,
    /// T^2 m, `[cell, point]`.
    load: CudaArray<f64>,
}

impl ContractionWorkset {
    /// Allocates worksets of `cells_per_workset` cells (at least 1).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn new(space: &Cuda, cells_per_workset: usize) -> Result<Self> {
        let cells = cells_per_workset.max(1);
        let array = |items: usize| space.unfilled(cells.saturating_mul(items));
        Ok(ContractionWorkset {
            cells,
            layout: Layout::Left,
            variant: Variant::AutoInOrder,
            fluxes: array(HEX8_NODES * HEX8_POINTS * DIM)?,
            gradients: array(HEX8_NODES * HEX8_POINTS * DIM)?,
            masses: array(HEX8_NODES * HEX8_POINTS)?,
            phi: array(HEX8_NODES * HEX8_POINTS)?,
            slope: array(HEX8_POINTS * DIM)?,
            load: array(HEX8_POINTS)?,
        })
    }

    /// Sets the layout of the intermediate arrays. The default is [`Layout::Left`], cells side by side.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        ContractionWorkset { layout, ..self }
    }

    /// Sets the variant of the contractions. The default is [`Variant::AutoInOrder`].
    #[must_use]
    pub fn variant(self, variant: Variant) -> Self {
        ContractionWorkset { variant, ..self }
    }

    /// Returns the number of cells per workset.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Computes matrices `[i * 8 + j][elem]` and residuals `[i][elem]` of the elements `elems`; columns of other elements
    /// do not change. The result has the same bits in every call and for any size of workset, with any variant that
    /// keeps the order of the terms.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) when elements do not have 8 nodes, when `elems` exceeds the table, or when an
    /// array is shorter than the table requires.
    pub fn evaluate(
        &mut self,
        space: &Cuda,
        elem_node: &ElemNode<CudaMemory>,
        input: HeatInput<'_, CudaMemory>,
        elems: Range<usize>,
        matrices: &mut CudaArray<f64>,
        residuals: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "ContractionWorkset";
        let (count, nodes) = (elem_node.elem_count(), elem_node.node_count());
        check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), HEX8_NODES)?;
        check_at_least(NAME, "elem_node (elements)", count, elems.end)?;
        check_at_least(NAME, "node_coord", input.node_coord.len(), nodes)?;
        check_at_least(NAME, "temperature", input.temperature.len(), nodes)?;
        check_at_least(NAME, "matrices", matrices.len(), HEX8_NODES * HEX8_NODES * count)?;
        check_at_least(NAME, "residuals", residuals.len(), HEX8_NODES * count)?;
        for first in elems.clone().step_by(self.cells) {
            let cells = self.cells.min(elems.end - first);
            self.geometry(space, elem_node, input, first..first + cells)?;
            // The views place a workset's results among those of all elements, so no copy follows.
            let matrices = DeviceViewMut::strided(
                matrices,
                first,
                [cells, HEX8_NODES, HEX8_NODES],
                [1, HEX8_NODES * count, count],
            )?;
            let residuals = DeviceViewMut::strided(residuals, first, [cells, HEX8_NODES], [1, count])?;
            self.contract(space, cells, matrices, residuals)?;
        }
        Ok(())
    }

    /// Computes the intermediate arrays of the elements `elems`, packed.
    fn geometry(
        &mut self,
        space: &Cuda,
        elem_node: &ElemNode<CudaMemory>,
        input: HeatInput<'_, CudaMemory>,
        elems: Range<usize>,
    ) -> Result<()> {
        let HeatInput { node_coord, temperature, heat } = input;
        let name = match self.layout {
            Layout::Left => "workset_left",
            Layout::Right => "workset_right",
        };
        space.launch(
            &WORKSET,
            name,
            Grid::new(elems.len().div_ceil(THREADS as usize / HEX8_POINTS), THREADS),
            arguments![
                elems.len() as u64,
                heat,
                Argument::from_item(elem_node.nodes(), elems.start * HEX8_NODES),
                node_coord,
                temperature,
                &mut self.fluxes,
                &mut self.gradients,
                &mut self.masses,
                &mut self.phi,
                &mut self.slope,
                &mut self.load,
            ],
        )
    }

    fn contract(
        &self,
        space: &Cuda,
        cells: usize,
        mut matrices: DeviceViewMut<'_, f64, 3>,
        mut residuals: DeviceViewMut<'_, f64, 2>,
    ) -> Result<()> {
        let with = With(space, self.variant);
        let vectors = |array| DeviceView::new(array, [cells, HEX8_NODES, HEX8_POINTS, DIM], self.layout);
        let scalars = |array| DeviceView::new(array, [cells, HEX8_NODES, HEX8_POINTS], self.layout);
        let (fluxes, gradients) = (vectors(&self.fluxes)?, vectors(&self.gradients)?);
        let (masses, phi) = (scalars(&self.masses)?, scalars(&self.phi)?);
        let slope = DeviceView::new(&self.slope, [cells, HEX8_POINTS, DIM], self.layout)?;
        let load = DeviceView::new(&self.load, [cells, HEX8_POINTS], self.layout)?;
        // Stiffness first, then mass: a fixed order of the terms keeps the bits.
        field_field_vector(&with, &fluxes, &gradients, &mut matrices, Sum::Overwrite)?;
        field_field_scalar(&with, &masses, &phi, &mut matrices, Sum::Into)?;
        data_field_vector(&with, &slope, &fluxes, &mut residuals, Sum::Overwrite)?;
        data_field_scalar(&with, &load, &phi, &mut residuals, Sum::Into)
    }
}
