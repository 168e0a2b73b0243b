//! Assembly of the program's equations on host memory.

use super::Fill;
use super::any_equation::{AnyEquation, elastic, scalar};
use super::kernel::EquationKernel;
use super::volumes::on_volume;
use crate::element::equations::{Model, ModelEquation};
use crate::element::{Basis, BasisTables, ElementType};
use crate::error::check_length;
use crate::fill::{AssembleModel, FieldErrors, FieldOn, Sample, StoredSystem, Strategy, norms};
use crate::graph::Graph;
use crate::mesh::ElemNode;
use crate::space::{HostMemory, HostSpace};
use crate::{Error, Result};
use std::fmt::Debug;

/// A model on one element type, whose numbers of nodes and dofs are constants.
pub trait ModelFill<S: HostSpace>: Debug {
    /// Assembles as [`AssembleModel::assemble_model`].
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

#[derive(Debug)]
struct OfElement<const D: usize, const NN: usize, const ND: usize> {
    equation: Box<dyn AnyEquation<D>>,
    tables: BasisTables,
    elem_node: ElemNode,
    fill: Fill<ND>,
}

impl<S: HostSpace, const D: usize, const NN: usize, const ND: usize> ModelFill<S> for OfElement<D, NN, ND> {
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
        check_length("assemble_model", "unknowns (beyond the last node)", rest.len(), 0)?;
        let kernel = EquationKernel::<D, NN, ND>::of_any(&**equation, tables, elem_node, node_coord, of_nodes)?;
        fill.assemble(space, &kernel, system.matrix.assembled_mut(), residual)
    }

    fn stored_bytes(&self) -> u64 {
        self.fill.stored_bytes()
    }
}

impl<S: HostSpace> AssembleModel for S {
    type ModelAssembly = Box<dyn ModelFill<S>>;

    fn dof_graph(&self, nodes: Graph, dofs: usize) -> Result<Graph> {
        if dofs == 1 { Ok(nodes) } else { nodes.with_dofs(self, dofs) }
    }

    fn model_assembly(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, HostMemory>,
        system: &StoredSystem<S>,
    ) -> Result<Box<dyn ModelFill<S>>> {
        let (crs, elem) = (system.matrix.assembled().graph().clone(), system.places.clone());
        check_length(
            "model_assembly",
            "elem_node (nodes per element)",
            on.elem_node.nodes_per_elem(),
            on.element.nodes(),
        )?;
        let tables = Basis::new(on.element).at(&on.element.rule());
        let refused = || Err(two_dimensional("model_assembly", on.element));
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

    fn assemble_model(
        &self,
        assembly: &mut Box<dyn ModelFill<S>>,
        node_coord: &[[f64; 3]],
        unknowns: &[f64],
        system: &mut StoredSystem<S>,
        residual: &mut [f64],
    ) -> Result<()> {
        assembly.assemble(self, node_coord, unknowns, system, residual)
    }

    fn model_stored_bytes(assembly: &Box<dyn ModelFill<S>>) -> u64 {
        assembly.stored_bytes()
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
