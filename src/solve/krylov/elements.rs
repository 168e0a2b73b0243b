//! The Jacobian of a model as a Krylov method sees it: applied by elements, which read ghosts wherever they lie beside other ranks, so
//! that a product cannot be divided into rows.

use crate::Result;
use crate::blas::Reductions;
use crate::fill::{ApplyCost, ApplyModel};
use crate::space::Slice;
use crate::sparse::Operator;
use std::cell::RefCell;

/// A model's Jacobian without a matrix.
#[derive(Debug)]
pub struct ElementOperator<'a, S: ApplyModel> {
    operator: RefCell<S::ModelOperator>,
    node_coord: &'a Slice<S, [f64; 3]>,
    /// Owned unknowns, and all of them.
    sizes: [usize; 2],
}

impl<'a, S: ApplyModel> ElementOperator<'a, S> {
    /// An operator of `rows` owned unknowns of `columns`.
    pub fn new(operator: S::ModelOperator, node_coord: &'a Slice<S, [f64; 3]>, [rows, columns]: [usize; 2]) -> Self {
        ElementOperator { operator: RefCell::new(operator), node_coord, sizes: [rows, columns] }
    }

    /// Takes the Jacobian at the unknowns, and overwrites the residual.
    ///
    /// # Errors
    /// Those of [`ApplyModel::linearise`].
    pub fn linearise(&mut self, space: &S, unknowns: &Slice<S, f64>, residual: &mut Slice<S, f64>) -> Result<()> {
        space.linearise(self.operator.get_mut(), self.node_coord, unknowns, residual)
    }

    /// Returns what an application moves and computes.
    pub fn cost(&self) -> ApplyCost {
        S::apply_cost(&self.operator.borrow())
    }
}

impl<S: ApplyModel> Operator<S> for ElementOperator<'_, S> {
    fn rows(&self) -> usize {
        self.sizes[0]
    }

    fn columns(&self) -> usize {
        self.sizes[1]
    }

    fn bytes(&self) -> usize {
        self.cost().bytes as usize
    }

    fn apply(&self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        space.apply_model(&mut self.operator.borrow_mut(), self.node_coord, x, y, None)
    }

    fn apply_dot(
        &self,
        space: &S,
        p: &mut Slice<S, f64>,
        q: &mut Slice<S, f64>,
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        space.apply_model(&mut self.operator.borrow_mut(), self.node_coord, p, q, Some(sums))?;
        space.dot(self.sizes[0], p, q, sums, slot)
    }
}
