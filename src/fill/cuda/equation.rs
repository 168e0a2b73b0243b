//! Element matrices of an equation on a GPU, and their assembly. Twin of the host's element kernels.
//!
//! ```text
//! kernel `fused`                 store_heat of `kernels/heat.cu`; with `Scatter` scatter_heat, which stores no matrices
//! kernel `intrepid`              the nine contractions over worksets, see `worksets.rs`
//! hex8, one unknown, symmetric   contract_equation of `kernels/fill_contraction.cu`, on GPUs with tensor cores for f64
//! others                         `kernels/equation.cu`, see `points.rs`
//! ```
//! Element matrices have the same bits in every run, with `Gather` the assembled system, too. The first use of an equation and an
//! element compiles the kernels, in about a second, unless the cache on disk has them.

use super::element_matrices::store_heat;
use super::element_shape::ElementShape;
use super::equation_text::EquationText;
use super::gather::Arrays;
use super::points::PointKernels;
use super::system::{EquationInput, SystemView};
use super::tensor_cores::TensorContraction;
use super::windows::Batch;
use super::worksets::Worksets;
use super::{CudaFill, Method};
use crate::contraction::Sum;
use crate::element::equations::Heat;
use crate::element::{BasisTables, ElementType};
use crate::error::{check_at_least, check_length};
use crate::fill::{ContractionCalls, Workset};
use crate::space::cuda::{Cuda, CudaArray, CudaMemory};
use crate::sparse::{CrsMatrix, RowLayout};
use crate::{Error, Result};

/// What computes element matrices.
#[derive(Debug)]
enum Kernels {
    Fused(Heat),
    OnTensorCores(TensorContraction),
    OfWorksets(Box<Worksets>),
    AtPoints(PointKernels),
}

/// The kernels of an equation on one element type.
#[derive(Debug)]
pub struct CudaEquationKernel {
    kernels: Kernels,
    shape: ElementShape,
    /// Number of given fields.
    given: usize,
    /// Matrices and residuals of the elements of a step, for strategies other than `Gather`.
    stored: Option<Arrays>,
}

impl CudaEquationKernel {
    /// Prepares an equation on elements with these tables of their basis.
    ///
    /// # Errors
    /// [`Error::Invalid`] without nodes, points or unknowns, and for cells as a boundary, [`Error::Shape`] when the tables do not fit each other,
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
        let shape = text.shape(tables)?;
        let kernels = if let Some(workset) = workset {
            Kernels::OfWorksets(Box::new(Worksets::new(space, text, shape, &shape.tables(tables), workset)?))
        } else if let Some(contraction) = TensorContraction::new(space, text, tables)? {
            Kernels::OnTensorCores(contraction)
        } else {
            Kernels::AtPoints(PointKernels::new(space, text, shape, tables)?)
        };
        Ok(CudaEquationKernel { kernels, shape, given: text.given(), stored: None })
    }

    /// Takes the kernels made for the heat equation on trilinear hexahedra, with derivatives by hand.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn fused(heat: Heat) -> Result<Self> {
        let shape = ElementShape::new(1, true, true, &BasisTables::of(ElementType::Hex8))?;
        Ok(CudaEquationKernel { kernels: Kernels::Fused(heat), shape, given: 0, stored: None })
    }

    /// Compiles and loads the kernels, which otherwise happens at their first launch.
    pub(super) fn load(&mut self, space: &Cuda) -> Result<()> {
        match &mut self.kernels {
            // Its file is compiled as it is, with others.
            Kernels::Fused(_) => Ok(()),
            Kernels::OnTensorCores(contraction) => contraction.load(space),
            Kernels::OfWorksets(worksets) => worksets.load(space),
            Kernels::AtPoints(kernels) => kernels.load(space),
        }
    }

    /// Returns the numbers of an element's matrix and residual that are stored.
    pub(super) fn stored_per_elem(&self) -> usize {
        self.stored_entries() + self.shape.rows()
    }

    /// Returns the calls of contractions so far.
    pub(super) fn calls(&self) -> ContractionCalls {
        match &self.kernels {
            Kernels::OfWorksets(worksets) => worksets.calls(),
            _ => ContractionCalls::default(),
        }
    }

    /// Returns whether `scatter` adds without stored matrices.
    pub(super) fn adds_at_once(&self) -> bool {
        matches!(self.kernels, Kernels::Fused(_))
    }

    /// Returns how many elements are computed before they are added, where the plan has steps of `step`: those of a workset, whose matrices
    /// the L2 cache mostly holds.
    fn step(&self, step: usize) -> usize {
        match &self.kernels {
            Kernels::OfWorksets(worksets) => worksets.step(),
            _ => step,
        }
    }

    /// Whether one half of each matrix is stored.
    fn is_packed(&self) -> bool {
        self.shape.symmetric && !matches!(self.kernels, Kernels::OfWorksets(_))
    }

    /// Stored entries of a matrix.
    fn stored_entries(&self) -> usize {
        if self.is_packed() { self.shape.entries() } else { self.shape.rows() * self.shape.rows() }
    }

    /// Computes the elements of a batch.
    fn batch(&mut self, space: &Cuda, input: EquationInput<'_>, batch: Batch, arrays: &mut Arrays) -> Result<()> {
        let Batch { first, count, column, capacity } = batch;
        // Elements behind the last column go to the first ones.
        let head = count.min(capacity - column);
        for (elems, column) in [(first..first + head, column), (first + head..first + count, 0)] {
            match &mut self.kernels {
                Kernels::Fused(heat) => return store_heat(space, input, *heat, batch, arrays),
                Kernels::OnTensorCores(contraction) => return contraction.store(space, input, batch, arrays),
                _ if elems.is_empty() => {}
                Kernels::OfWorksets(worksets) => worksets.store(space, input, elems, [column, capacity], arrays)?,
                Kernels::AtPoints(kernels) => kernels.store(space, input, elems, [column, capacity], arrays)?,
            }
        }
        Ok(())
    }
}

impl CudaFill {
    /// Overwrites the values of `matrix` and `residual[..rows]` with Jacobian and residual of an equation. The plan's elements have
    /// D dofs per node, those of the equation, dof `D m + c` for component c at node m, as `Graph::with_dofs` makes them.
    ///
    /// The first call allocates element matrices: those of a window or a step.
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

    /// Adds Jacobian and residual of an equation to `matrix` and `residual`, as [`assemble_equation`](Self::assemble_equation): those of
    /// a boundary to those of the cells, of plans for the graphs of [`build_groups`](crate::graph::build_groups). By hardware additions.
    ///
    /// # Errors
    /// Those of [`assemble_equation`](Self::assemble_equation), and [`Error::Invalid`] for a plan with another strategy than `Scatter`.
    pub fn add_equation(
        &mut self,
        space: &Cuda,
        kernel: &mut CudaEquationKernel,
        input: EquationInput<'_>,
        matrix: &mut CrsMatrix<f64, CudaMemory>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        const NAME: &str = "CudaFill::add_equation";
        if matches!(self.method, Method::Gather(_)) {
            return Err(Error::Invalid(format!("{NAME}: a plan with strategy gather: expected scatter")));
        }
        let (crs, values) = self.graph_of(NAME, matrix)?;
        let places = self.places.clone();
        let system = self.system(NAME, space, &places, RowLayout::of_graph(&crs), values, residual)?;
        self.equation(NAME, kernel, input, SystemView { sum: Sum::Into, ..system })
    }

    /// [`assemble_equation`](Self::assemble_equation) in any layout.
    pub(super) fn equation(
        &mut self,
        name: &'static str,
        kernel: &mut CudaEquationKernel,
        input: EquationInput<'_>,
        mut system: SystemView<'_>,
    ) -> Result<()> {
        let (space, shape, elem_node) = (system.space, kernel.shape, input.elem_node);
        check_length(name, "elem_node (nodes per element)", elem_node.nodes_per_elem(), shape.nodes)?;
        check_length(name, "elem_node (elements)", elem_node.elem_count(), self.elems())?;
        check_length(name, "graph (dofs per element)", self.places.nodes_per_elem(), shape.rows())?;
        check_at_least(name, "elem_node", elem_node.nodes().len(), elem_node.elem_count() * shape.nodes)?;
        check_at_least(name, "node_coord", input.node_coord.len(), elem_node.node_count())?;
        check_at_least(name, "solution", input.solution.len(), shape.dofs * elem_node.node_count())?;
        check_length(name, "given (fields)", input.given.len(), kernel.given)?;
        input.given.iter().try_for_each(|field| field.check(name, elem_node, shape.points))?;
        if system.layout.halves && !shape.symmetric {
            let expected = "expected an equation with symmetric element matrices, or the format pattern";
            return Err(Error::Invalid(format!("{name}: a matrix in the format symmetric: {expected}")));
        }
        let (sizes, is_packed) = ([kernel.stored_entries(), shape.rows()], kernel.is_packed());
        match (&mut self.method, &kernel.kernels) {
            (Method::Gather(gather), _) => {
                return gather
                    .computed(system, sizes, is_packed, |batch, arrays| kernel.batch(space, input, batch, arrays));
            }
            (Method::Adds(adds, _), Kernels::Fused(heat)) => return adds.heat(system, input, *heat),
            _ => {}
        }
        let Method::Adds(adds, _) = self.method else { return Ok(()) };
        let (elems, step) = (self.elems(), kernel.step(self.step).min(self.elems()).max(1));
        system.clear()?;
        // Taken out while the kernel is borrowed, and put back below.
        let mut arrays = Arrays::of(kernel.stored.take(), space, sizes, step)?;
        let done = (0..elems).step_by(step).try_for_each(|first| {
            let count = step.min(elems - first);
            let batch = Batch { first, count, column: 0, capacity: count };
            kernel.batch(space, input, batch, &mut arrays)?;
            adds.matrices(&mut system, (first, count), arrays.view(is_packed))
        });
        kernel.stored = Some(arrays);
        done
    }
}
