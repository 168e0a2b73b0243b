//! The gallery of element kernels on host memory, and assembly with them.
//!
//! | equation | element | [`Kernel`] | kernel |
//! |---|---|---|---|
//! | heat, derivatives by hand | `hex8` | `Fused` | [`FusedKernel`] |
//! | heat, derivatives by hand | `hex8` | `Contraction` | [`ContractionKernel`] |
//! | any | any volume type | `Contraction` | [`EquationKernel`] |

use super::any_equation::{AnyEquation, elastic, scalar};
use super::kernel::EquationKernel;
use super::volumes::on_volume;
use super::{ContractionKernel, Elements, Fill, FusedKernel};
use crate::element::equations::{Heat, Model, ModelEquation};
use crate::element::{Analytic, Basis, BasisTables, ElementType, HEX8_NODES};
use crate::error::{check_at_least, check_length};
use crate::fill::{
    Assemble, Dirichlet, FieldErrors, FieldOn, Kernel, Sample, StoredSystem, Strategy, heat_on_hex8, no_kernel, norms,
};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::{HostMemory, HostSpace};
use crate::sparse::{HostMatrix, MatrixStorage};
use crate::{Error, Result};
use std::fmt::Debug;

/// An element kernel with its strategy; numbers of nodes and dofs are constants inside.
pub trait HostAssembly<S: HostSpace>: Debug {
    /// Assembles as [`Assemble::assemble`].
    ///
    /// # Errors
    /// As there.
    fn assemble(
        &mut self,
        space: &S,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        system: &mut StoredSystem<S>,
        residual: &mut [f64],
    ) -> Result<()>;

    /// Returns the bytes of stored element matrices.
    fn stored_bytes(&self) -> u64;
}

/// [`FusedKernel`] or [`ContractionKernel`].
#[derive(Debug)]
struct HeatOnHex8 {
    heat: Heat,
    kernel: Kernel,
    fill: Fill<HEX8_NODES>,
}

impl<S: HostSpace> HostAssembly<S> for HeatOnHex8 {
    fn assemble(
        &mut self,
        space: &S,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        system: &mut StoredSystem<S>,
        residual: &mut [f64],
    ) -> Result<()> {
        let elem_node = self.fill.elem_node().clone();
        let elements = Elements::new(&elem_node, node_coord, unknowns, self.heat)?;
        let matrix = system.matrix.assembled_mut();
        match self.kernel {
            Kernel::Fused => self.fill.assemble(space, &FusedKernel::new(elements), matrix, residual),
            Kernel::Contraction => self.fill.assemble(space, &ContractionKernel::new(elements), matrix, residual),
        }
    }

    fn stored_bytes(&self) -> u64 {
        self.fill.stored_bytes()
    }
}

/// [`EquationKernel`] of an element of `NN` nodes and `ND` dofs.
#[derive(Debug)]
struct OfElement<const D: usize, const NN: usize, const ND: usize> {
    equation: Box<dyn AnyEquation<D>>,
    tables: BasisTables,
    elem_node: ElemNode,
    fill: Fill<ND>,
}

impl<S: HostSpace, const D: usize, const NN: usize, const ND: usize> HostAssembly<S> for OfElement<D, NN, ND> {
    fn assemble(
        &mut self,
        space: &S,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        system: &mut StoredSystem<S>,
        residual: &mut [f64],
    ) -> Result<()> {
        let OfElement { equation, tables, elem_node, fill } = self;
        let (of_nodes, rest) = unknowns.as_chunks::<D>();
        check_length("assemble", "unknowns (beyond the last node)", rest.len(), 0)?;
        let kernel = EquationKernel::<D, NN, ND>::of_any(&**equation, tables, elem_node, node_coord, of_nodes)?;
        fill.assemble(space, &kernel, system.matrix.assembled_mut(), residual)
    }

    fn stored_bytes(&self) -> u64 {
        self.fill.stored_bytes()
    }
}

impl<S: HostSpace> Assemble for S {
    const STRATEGY: Strategy = Strategy::Colour;

    type Assembly = Box<dyn HostAssembly<S>>;

    fn dof_graph(&self, nodes: Graph, dofs: usize) -> Result<Graph> {
        if dofs == 1 { Ok(nodes) } else { nodes.with_dofs(self, dofs) }
    }

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

    fn assembly(
        &self,
        strategy: Strategy,
        kernel: Kernel,
        model: &Model,
        on: FieldOn<'_, HostMemory>,
        system: &StoredSystem<S>,
    ) -> Result<Box<dyn HostAssembly<S>>> {
        let (crs, elem) = (system.matrix.assembled().graph().clone(), system.places.clone());
        check_length("assembly", "elem_node (nodes per element)", on.elem_node.nodes_per_elem(), on.element.nodes())?;
        if let Some(heat) = heat_on_hex8(model, on.element) {
            return Ok(Box::new(HeatOnHex8 { heat, kernel, fill: Fill::prepare(self, strategy, crs, elem)? }));
        }
        if kernel == Kernel::Fused {
            return Err(no_kernel(on.element));
        }
        let tables = Basis::new(on.element).at(&on.element.rule());
        let refused = || Err(two_dimensional("assembly", on.element));
        macro_rules! of_element {
            ($equation:expr, $dofs:literal, $nodes:expr, $points:expr) => {
                Ok(Box::new(OfElement::<$dofs, $nodes, { $dofs * $nodes }> {
                    equation: $equation,
                    tables,
                    elem_node: on.elem_node.clone(),
                    fill: Fill::prepare(self, strategy, crs, elem)?,
                }))
            };
        }
        match model.equation {
            ModelEquation::Scalar(of) => on_volume!(on.element, of_element(scalar(model, of), 1), refused()),
            ModelEquation::Elastic(of) => on_volume!(on.element, of_element(elastic(model, of), 3), refused()),
        }
    }

    fn assemble(
        &self,
        assembly: &mut Box<dyn HostAssembly<S>>,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        system: &mut StoredSystem<S>,
        residual: &mut [f64],
    ) -> Result<()> {
        assembly.assemble(self, node_coord, unknowns, system, residual)
    }

    fn stored_bytes(assembly: &Box<dyn HostAssembly<S>>) -> u64 {
        assembly.stored_bytes()
    }

    fn sample(&self, exact: &Analytic, node_coord: &[[f64; 3]], count: usize) -> Result<Vec<f64>> {
        check_at_least("sample", "node_coord", node_coord.len(), count)?;
        self.map(count, |node| exact.at(node_coord[node][2]))
    }

    fn check_elements(&self, on: FieldOn<'_, HostMemory>) -> Result<()> {
        norms::check_elements(self, on)
    }

    fn field_errors(
        &self,
        on: FieldOn<'_, HostMemory>,
        owned: usize,
        dofs: usize,
        field: &[f64],
        exact: Sample<'_>,
    ) -> Result<FieldErrors> {
        norms::field_errors(self, on, owned, dofs, field, exact)
    }
}

/// Refuses an element that has no volume.
pub(super) fn two_dimensional(name: &'static str, element: ElementType) -> Error {
    Error::Invalid(format!("{name}: {element} has 2 dimensions, expected an element of 3"))
}
