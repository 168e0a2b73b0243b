//! Element matrices of any equation on a GPU, and their assembly; launches `kernels/equation.cu`. Twin of the host's
//! `EquationKernel`.
//!
//! ```text
//! kernel `intrepid`              the nine contractions over worksets, see `worksets.rs`
//! hex8, one unknown, symmetric   contract_equation of `kernels/fill_contraction.cu`, on GPUs with tensor cores for f64
//! matrices of up to 36 entries   store_equation: one thread per element
//! others, hex27 by layers        equation_points: coefficients at the points, one thread each, 8 (16 D^2 + 4 D) bytes per point
//!                                equation_tiles: one thread per element and tile of at most 8 x 8 nodes
//! ```
//! The result has the same bits in every run, with `Gather` and `Colour` after assembly, too. The first use of an equation and an
//! element compiles the kernels, in about a second, unless the cache on disk has them.

use super::element_shape::ElementShape;
use super::equation_text::EquationText;
use super::gather::Arrays;
use super::system::{EquationInput, SystemView, blocks};
use super::tensor_cores::TensorContraction;
use super::windows::Batch;
use super::worksets::Worksets;
use super::{CudaFill, Method};
use crate::element::BasisTables;
use crate::error::{check_at_least, check_length};
use crate::fill::kernel_files::EQUATION;
use crate::fill::{ContractionCalls, Workset};
use crate::mesh::Sizes;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};
use crate::sparse::{CrsMatrix, RowLayout};
use crate::{Error, Result};
use std::ops::Range;

/// Threads per block, as in the kernels.
const THREADS: u32 = 128;
/// Bytes of coefficients between the two kernels. With less, launches are too small: on an H200, matrices of `hex27` with one unknown
/// take 1.20 ns per node with a quarter of it, 0.91 with all.
const WORK_BYTES: usize = 64 << 20;

/// Contractions that take the place of the kernels of `kernels/equation.cu`.
#[derive(Debug)]
enum Contractions {
    OnTensorCores(TensorContraction),
    OfWorksets(Box<Worksets>),
}

/// The kernels of an equation on one element type.
#[derive(Debug)]
pub struct CudaEquationKernel {
    front: String,
    contractions: Option<Contractions>,
    parameters: CudaArray<f64>,
    shape: ElementShape,
    tables: CudaArray<f64>,
    /// Coefficients of `cells` elements, and their number; empty where one kernel does all.
    work: CudaArray<f64>,
    cells: usize,
    /// Matrices and residuals of all elements, for strategies other than `Gather`.
    stored: Option<Arrays>,
}

impl CudaEquationKernel {
    /// Prepares an equation on elements with these tables of their basis.
    ///
    /// # Errors
    /// [`Error::Invalid`] without nodes, points or unknowns, [`Error::Shape`] when the tables do not fit each other,
    /// [`Error::TooLarge`] when the tables exceed a block's shared memory, [`Error::OutOfMemory`] when the memory is not available.
    pub fn new(space: &Cuda, text: &EquationText, tables: &BasisTables) -> Result<Self> {
        Self::with_worksets(space, text, tables, None)
    }

    /// [`new`](Self::new); with worksets, element matrices are computed by the nine contractions.
    pub(super) fn with_worksets(
        space: &Cuda,
        text: &EquationText,
        tables: &BasisTables,
        workset: Option<Workset>,
    ) -> Result<Self> {
        const NAME: &str = "CudaEquationKernel::new";
        let (nodes, points) = (tables.nodes, tables.weights.len());
        let dofs = text.dofs;
        if nodes == 0 || points == 0 || dofs == 0 {
            let found = format!("{nodes} nodes, {points} points, {dofs} unknowns");
            return Err(Error::Invalid(format!("{NAME}: {found}: expected at least 1 of each")));
        }
        check_length(NAME, "tables (values)", tables.values.len(), nodes * points)?;
        check_length(NAME, "tables (gradients)", tables.gradients.len(), nodes * points)?;
        let shape = ElementShape::new(dofs, text.is_symmetric(), tables)?;
        let on_device = shape.tables(tables);
        let contractions = match workset {
            Some(workset) => {
                let worksets = Worksets::new(space, text, shape, &on_device, workset)?;
                Some(Contractions::OfWorksets(Box::new(worksets)))
            }
            None => TensorContraction::new(space, text, tables)?.map(Contractions::OnTensorCores),
        };
        Ok(CudaEquationKernel {
            front: text.front(&shape),
            contractions,
            parameters: space.upload(&text.parameters_on_device())?,
            tables: space.upload(&on_device)?,
            shape,
            work: space.unfilled(0)?,
            cells: 0,
            stored: None,
        })
    }

    /// Compiles and loads the kernels, which otherwise happens at their first launch.
    pub(super) fn load(&mut self, space: &Cuda) -> Result<()> {
        match &mut self.contractions {
            Some(Contractions::OnTensorCores(contraction)) => contraction.load(space),
            Some(Contractions::OfWorksets(worksets)) => worksets.load(space),
            None => space.load_specialised(&EQUATION, &self.front),
        }
    }

    /// Returns the numbers of an element's matrix and residual that are stored.
    pub(super) fn stored_per_elem(&self) -> usize {
        self.entries() + self.shape.rows()
    }

    /// Returns the calls of contractions so far.
    pub(super) fn calls(&self) -> ContractionCalls {
        match &self.contractions {
            Some(Contractions::OfWorksets(worksets)) => worksets.calls(),
            _ => ContractionCalls::default(),
        }
    }

    /// Whether one half of each matrix is stored.
    fn is_packed(&self) -> bool {
        self.shape.symmetric && !matches!(self.contractions, Some(Contractions::OfWorksets(_)))
    }

    /// Stored entries of a matrix.
    fn entries(&self) -> usize {
        if self.is_packed() { self.shape.entries() } else { self.shape.rows() * self.shape.rows() }
    }

    /// Computes the elements of a batch.
    fn batch(&mut self, space: &Cuda, input: EquationInput<'_>, batch: Batch, arrays: &mut Arrays) -> Result<()> {
        if let Some(Contractions::OnTensorCores(contraction)) = &self.contractions {
            return contraction.store(space, input, batch, arrays);
        }
        let Batch { first, count, column, capacity } = batch;
        // Elements behind the last column go to the first ones.
        let head = count.min(capacity - column);
        self.columns(space, input, first..first + head, [column, capacity], arrays)?;
        self.columns(space, input, first + head..first + count, [0, capacity], arrays)
    }

    /// Computes elements into columns from `column` on.
    fn columns(
        &mut self,
        space: &Cuda,
        input: EquationInput<'_>,
        elems: Range<usize>,
        [column, capacity]: [usize; 2],
        arrays: &mut Arrays,
    ) -> Result<()> {
        if elems.is_empty() {
            return Ok(());
        }
        if let Some(Contractions::OfWorksets(worksets)) = &mut self.contractions {
            return worksets.store(space, input, elems, [column, capacity], arrays);
        }
        let shape = self.shape;
        let nodes = |elem: usize| Argument::from_item(input.elem_node.nodes(), elem * shape.nodes);
        if shape.fused {
            #[rustfmt::skip]
            let arguments = arguments![
                elems.len() as u64, column as u64, capacity as u64, nodes(elems.start), input.node_coord, input.solution,
                &self.parameters, &self.tables, &mut arrays.matrices, &mut arrays.residuals,
            ];
            let grid = Grid::cover(elems.len(), THREADS);
            return space.launch_specialised(&EQUATION, &self.front, "store_equation", grid, arguments);
        }
        self.make_room(space, elems.len())?;
        for first in elems.clone().step_by(self.cells) {
            let count = self.cells.min(elems.end - first);
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, self.cells as u64, nodes(first), input.node_coord, input.solution, &self.parameters, &self.tables,
                &mut self.work,
            ];
            let grid = Grid::new(blocks(count.div_ceil(shape.group()))?, THREADS);
            space.launch_specialised(&EQUATION, &self.front, "equation_points", grid, arguments)?;
            #[rustfmt::skip]
            let arguments = arguments![
                count as u64, self.cells as u64, (column + first - elems.start) as u64, capacity as u64, &self.tables, &self.work,
                &mut arrays.matrices, &mut arrays.residuals,
            ];
            let grid = Grid::new(blocks(count.div_ceil(THREADS as usize) * shape.tiles())?, THREADS);
            space.launch_specialised(&EQUATION, &self.front, "equation_tiles", grid, arguments)?;
        }
        Ok(())
    }

    /// Allocates coefficients for up to `elems` elements at a time.
    fn make_room(&mut self, space: &Cuda, elems: usize) -> Result<()> {
        let per_elem = self.shape.work_items();
        let most = (WORK_BYTES / size_of::<f64>() / per_elem).max(1).next_multiple_of(THREADS as usize);
        let cells = most.min(elems.next_multiple_of(THREADS as usize));
        if cells > self.cells {
            self.work = space.unfilled(cells.saturating_mul(per_elem))?;
            self.cells = cells;
        }
        Ok(())
    }
}

/// Bytes of coefficients at points, at most.
pub(super) fn work_bytes(sizes: &Sizes) -> u64 {
    if sizes.per_elem() <= 8 { 0 } else { (WORK_BYTES as u64).min(1024 * sizes.per_elem() * sizes.elems) }
}

impl CudaFill {
    /// Overwrites the values of `matrix` and `residual[..rows]` with Jacobian and residual of an equation. The plan's elements have
    /// D dofs per node, those of the equation, dof `D m + c` for component c at node m, as `Graph::with_dofs` makes them.
    ///
    /// The first call allocates element matrices: with `Gather` those of a window, else all.
    ///
    /// # Errors
    /// [`Error::Shape`] when an array does not fit the tables or the elements, [`Error::Invalid`] when the matrix is not on the graph
    /// of the plan or a copy, [`Error::OutOfMemory`] when the memory is not available, [`Error::Device`] when NVRTC refuses the text.
    pub fn assemble_equation(
        &mut self,
        space: &Cuda,
        kernel: &mut CudaEquationKernel,
        input: EquationInput<'_>,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaFill::assemble_equation";
        let (crs, values) = self.graph_of(NAME, matrix)?;
        let places = self.places.clone();
        let system = self.system(NAME, space, &places, RowLayout::of_graph(&crs), values, residual)?;
        self.equation(NAME, kernel, input, system)
    }

    /// [`assemble_equation`](Self::assemble_equation) in any layout.
    pub(super) fn equation(
        &mut self,
        name: &'static str,
        kernel: &mut CudaEquationKernel,
        input: EquationInput<'_>,
        system: SystemView<'_>,
    ) -> Result<()> {
        let (space, shape, elem_node) = (system.space, kernel.shape, input.elem_node);
        check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), shape.nodes)?;
        check_length(name, "elem_node (elements)", elem_node.elem_count(), self.elems())?;
        check_length(name, "graph (dofs per element)", self.places.nodes_per_elem(), shape.rows())?;
        check_at_least(name, "elem_node", elem_node.nodes().len(), elem_node.elem_count() * shape.nodes)?;
        check_at_least(name, "node_coord", input.node_coord.len(), elem_node.node_count())?;
        check_at_least(name, "solution", input.solution.len(), shape.dofs * elem_node.node_count())?;
        if system.layout.halves && !shape.symmetric {
            let expected = "expected an equation with symmetric element matrices, or the format pattern";
            return Err(Error::Invalid(format!("{name}: a matrix in the format symmetric: {expected}")));
        }
        let (sizes, is_packed) = ([kernel.entries(), shape.rows()], kernel.is_packed());
        if let Method::Gather(gather) = &mut self.method {
            return gather
                .computed(system, sizes, is_packed, |batch, arrays| kernel.batch(space, input, batch, arrays));
        }
        let elems = self.elems();
        // Taken out while the kernel is borrowed, and put back below.
        let mut arrays = Arrays::of(kernel.stored.take(), space, sizes, elems)?;
        let done = kernel
            .batch(space, input, Batch::whole(elems), &mut arrays)
            .and_then(|()| self.matrices(system, arrays.view(is_packed)));
        kernel.stored = Some(arrays);
        done
    }
}
