//! The operator of a matrix that lies on a GPU, in any format.

use super::LinearOperator;
use crate::Result;
use crate::space::{Cuda, CudaArray};
use crate::sparse::{DeviceValue, Stored};

impl<V: DeviceValue> LinearOperator<Cuda> for Stored<'_, V> {
    fn rows(&self) -> usize {
        self.matrix().graph().rows()
    }

    fn columns(&self) -> usize {
        self.matrix().graph().columns()
    }

    fn apply_dot(
        &mut self,
        space: &Cuda,
        p: &mut CudaArray<f64>,
        q: &mut CudaArray<f64>,
        partials: &mut CudaArray<f64>,
        slot: usize,
        scalars: &mut CudaArray<f64>,
    ) -> Result<()> {
        self.spmv_dot(space, 0..self.matrix().graph().rows(), p, q, partials, slot, scalars)
    }
}
