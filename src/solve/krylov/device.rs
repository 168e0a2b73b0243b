//! The operator of a matrix in GPU memory, whatever its values are stored in.

use super::{LinearOperator, MatrixOperator};
use crate::Result;
use crate::blas::Reductions;
use crate::space::{Cuda, CudaArray};
use crate::sparse::{DeviceMatrix, DeviceOperator, stored};

impl LinearOperator<Cuda> for DeviceOperator<'_> {
    fn rows(&self) -> usize {
        stored!(self, stored => stored.rows())
    }

    fn columns(&self) -> usize {
        stored!(self, stored => stored.columns())
    }

    fn apply(&mut self, space: &Cuda, x: &mut CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        stored!(self, stored => stored.apply(space, x, y))
    }

    fn apply_dot(
        &mut self,
        space: &Cuda,
        x: &mut CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        stored!(self, stored => stored.apply_dot(space, x, y, sums, slot))
    }

    fn is_recordable(&self) -> bool {
        stored!(self, stored => stored.is_recordable())
    }

    fn cg_at_once(
        &mut self,
        space: &Cuda,
        x: &mut CudaArray<f64>,
        r: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
    ) -> Result<bool> {
        stored!(self, stored => stored.cg_at_once(space, x, r, sums))
    }
}

impl MatrixOperator for Cuda {
    type Operator<'a> = DeviceOperator<'a>;

    fn operator(matrix: &DeviceMatrix) -> DeviceOperator<'_> {
        matrix.operator()
    }

    fn assembled(matrix: &DeviceMatrix) -> DeviceOperator<'_> {
        DeviceOperator::Double(matrix.view())
    }
}
