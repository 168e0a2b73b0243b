//! The operator of a matrix on host spaces: what its products read.

use super::{LinearOperator, MatrixOperator};
use crate::Result;
use crate::blas::Reductions;
use crate::space::HostSpace;
use crate::sparse::{HostMatrix, HostStored, Product};

impl<S: HostSpace> MatrixOperator for S {
    type Operator<'a> = HostStored<'a>;

    fn operator(matrix: &HostMatrix) -> HostStored<'_> {
        matrix.view()
    }

    fn assembled(matrix: &HostMatrix) -> HostStored<'_> {
        matrix.assembled_view()
    }
}

/// A matrix of a single process is an operator: it has no ghosts.
impl<S: HostSpace> LinearOperator<S> for HostStored<'_> {
    fn rows(&self) -> usize {
        Product::<S>::extents(self).0
    }

    fn columns(&self) -> usize {
        Product::<S>::extents(self).1
    }

    fn apply(&mut self, space: &S, x: &mut [f64], y: &mut [f64]) -> Result<()> {
        self.multiply(space, x, y)
    }

    fn apply_dot(
        &mut self,
        space: &S,
        x: &mut [f64],
        y: &mut [f64],
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        let rows = Product::<S>::extents(self).0;
        self.multiply_dot(space, 0..rows, x, y, sums, slot)
    }
}
