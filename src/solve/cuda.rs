//! The operator of a matrix that lies on a GPU, in any format.

use super::{LinearOperator, Sums};
use crate::Result;
use crate::comm::Communicator;
use crate::space::{Cuda, CudaArray, ExecutionSpace};
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

/// Scalars of a GPU go over the host where there are several ranks.
impl Sums<Cuda> for dyn Communicator + '_ {
    fn sum(&self, space: &Cuda, scalars: &mut CudaArray<f64>, slot: usize) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        let mut all = space.download(scalars)?;
        self.all_sum(&mut all[slot..=slot]);
        *scalars = space.upload(&all)?;
        Ok(())
    }
}
