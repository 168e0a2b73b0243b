//! The Jacobian of a model by elements on a GPU; launches `kernels/apply.cu`, which is compiled for equation and element. Twin of the
//! host's operator.
//!
//! ```text
//! up to 8 nodes, one unknown   one thread per element
//! others                       blocks of elements, one thread per point or node; hex8 and hex27 axis by axis
//! ```
//! `Scatter` adds with hardware additions, `Gather` stores element vectors, 8 bytes per dof of an
//! element, which one thread per row sums. An application only enqueues work, so it may be part of a CUDA graph.

use super::EquationText;
use super::apply_shape::{ApplyShape, THREADS};
use super::gallery::volume;
use super::system::blocks;
use crate::Result;
use crate::blas::Reductions;
use crate::element::equations::{Model, ModelEquation};
use crate::element::{ElementType, Interpolation};
use crate::error::{check_at_least, check_length};
use crate::fill::host::any_equation;
use crate::fill::kernel_files::APPLY;
use crate::fill::operator::ApplySizes;
use crate::fill::{ApplyCost, ApplyModel, FieldOn, Strategy};
use crate::graph::NodeElem;
use crate::mesh::ElemNode;
use crate::space::ExecutionSpace;
use crate::space::cuda::{Argument, Cuda, CudaArray, CudaMemory, Grid, arguments};

#[derive(Debug)]
enum Method {
    Scatter,
    /// Lists of each node's slots, and the element vectors `[m dofs + c][elem]`.
    Gather(NodeElem<CudaMemory>, CudaArray<f64>),
}

/// The Jacobian of a model on a GPU.
#[derive(Debug)]
pub struct CudaModelOperator {
    front: String,
    shape: ApplyShape,
    parameters: CudaArray<f64>,
    numbers: CudaArray<f64>,
    elem_node: ElemNode<CudaMemory>,
    dofs: usize,
    owned: usize,
    method: Method,
    /// `[node][component]`, owned and ghosts.
    fixed: CudaArray<u8>,
    /// u of J(u) if J depends on it.
    unknowns: Option<CudaArray<f64>>,
    cost: ApplyCost,
}

impl CudaModelOperator {
    /// Overwrites `y` with the sums of element vectors, of the Jacobian or of the residual.
    fn sum(
        &mut self,
        space: &Cuda,
        is_residual: bool,
        node_coord: &CudaArray<[f64; 3]>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        stop: Argument,
    ) -> Result<()> {
        const NAME: &str = "model operator";
        let local = self.elem_node.node_count();
        let rows = self.dofs * self.owned;
        check_at_least(NAME, "node_coord", node_coord.len(), local)?;
        check_at_least(NAME, "x", x.len(), self.dofs * local)?;
        check_at_least(NAME, "y", y.len(), rows)?;
        // Fixed unknowns have their own x, or 0 in a residual.
        let own = if is_residual { Argument::NULL } else { x.into() };
        let vectors = match &mut self.method {
            Method::Gather(_, vectors) => Argument::from(&mut *vectors),
            Method::Scatter => {
                let arguments = arguments![rows as u64, &self.fixed, own, stop, &mut *y];
                let grid = Grid::cover(rows, THREADS as u32);
                space.launch_specialised(&APPLY, &self.front, "apply_begin", grid, arguments)?;
                Argument::NULL
            }
        };
        let elems = self.elem_node.elem_count();
        let u = self.unknowns.as_ref().map_or(Argument::NULL, Argument::from);
        let name = if is_residual { "apply_residual" } else { "apply_jacobian" };
        #[rustfmt::skip]
        let arguments = arguments![
            elems as u64, self.owned as u64, self.elem_node.nodes(), node_coord, &self.fixed, x, u, &self.parameters,
            &self.numbers, stop, &mut *y, vectors,
        ];
        let grid = match self.shape.group {
            0 => Grid::cover(elems, THREADS as u32),
            group => Grid::new(blocks(elems.div_ceil(group))?, THREADS as u32),
        };
        space.launch_specialised(&APPLY, &self.front, name, grid, arguments)?;
        let Method::Gather(lists, vectors) = &self.method else { return Ok(()) };
        #[rustfmt::skip]
        let arguments = arguments![
            rows as u64, elems as u64, lists.row_map(), lists.slots_array(), &self.fixed, own, vectors, stop, y,
        ];
        space.launch_specialised(&APPLY, &self.front, "apply_gather", Grid::cover(rows, THREADS as u32), arguments)
    }
}

impl ApplyModel for Cuda {
    type ModelOperator = CudaModelOperator;

    fn load_operator(&self, model: &Model, element: ElementType) -> Result<()> {
        let shape = ApplyShape::new(element, model.dofs());
        self.load_specialised(&APPLY, &EquationText::of_model(model).apply_front(shape))
    }

    fn model_operator(
        &self,
        strategy: Strategy,
        model: &Model,
        on: FieldOn<'_, CudaMemory>,
        owned: usize,
        fixed: CudaArray<u8>,
    ) -> Result<CudaModelOperator> {
        const NAME: &str = "model_operator";
        let FieldOn { element, elem_node, .. } = on;
        let (dofs, local, elems) = (model.dofs(), elem_node.node_count(), elem_node.elem_count());
        volume(element)?;
        check_length(NAME, "elem_node (nodes per element)", elem_node.nodes_per_elem(), element.nodes())?;
        check_at_least(NAME, "elem_node", elem_node.nodes().len(), elems * element.nodes())?;
        check_length(NAME, "fixed", fixed.len(), dofs * local)?;
        check_at_least(NAME, "elem_node (its nodes)", local, owned)?;
        elem_node.check_distinct(NAME)?;
        let shape = ApplyShape::new(element, dofs);
        let text = EquationText::of_model(model);
        let (_, flops) = match model.equation {
            ModelEquation::Scalar(equation) => any_equation::scalar(model, equation).product(element),
            ModelEquation::Elastic(equation) => any_equation::elastic(model, equation).product(element),
        };
        let method = match strategy {
            Strategy::Scatter => Method::Scatter,
            Strategy::Colour => return Err(super::on_hosts(strategy)),
            Strategy::Gather => {
                let vectors = self.unfilled(dofs * element.nodes() * elems)?;
                Method::Gather(NodeElem::on_device(self, elem_node, owned)?, vectors)
            }
        };
        let sizes = ApplySizes { elems, nodes: shape.nodes, dofs, owned, local, reads_unknowns: text.is_tangent };
        Ok(CudaModelOperator {
            front: text.apply_front(shape),
            shape,
            parameters: self.upload(&text.parameters_on_device())?,
            numbers: self.upload(&Interpolation::new(element).numbers())?,
            elem_node: elem_node.clone(),
            dofs,
            owned,
            method,
            unknowns: if text.is_tangent { Some(self.zeros(dofs * local)?) } else { None },
            fixed,
            cost: sizes.cost(strategy, flops),
        })
    }

    fn linearise(
        &self,
        operator: &mut CudaModelOperator,
        node_coord: &CudaArray<[f64; 3]>,
        unknowns: &CudaArray<f64>,
        residual: &mut CudaArray<f64>,
    ) -> Result<()> {
        check_at_least("linearise", "unknowns", unknowns.len(), operator.fixed.len())?;
        if let Some(kept) = &mut operator.unknowns {
            self.copy_items(operator.fixed.len(), unknowns, kept)?;
        }
        operator.sum(self, true, node_coord, unknowns, residual, Argument::NULL)
    }

    fn apply_model(
        &self,
        operator: &mut CudaModelOperator,
        node_coord: &CudaArray<[f64; 3]>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: Option<&Reductions<Cuda>>,
    ) -> Result<()> {
        let stop = sums.map_or(Argument::NULL, Reductions::stop_argument);
        operator.sum(self, false, node_coord, x, y, stop)
    }

    fn apply_cost(operator: &CudaModelOperator) -> ApplyCost {
        operator.cost
    }
}
