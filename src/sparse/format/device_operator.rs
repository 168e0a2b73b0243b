//! The matrix of a device as its products read it: values as assembled, or rounded to single precision.

use super::{Product, Stored};
use crate::Result;
use crate::blas::Reductions;
use crate::space::cuda::{Cuda, CudaArray, PeerExchange};
use std::ops::Range;

/// A [`DeviceMatrix`](super::DeviceMatrix), borrowed for products.
#[derive(Clone, Copy, Debug)]
pub enum DeviceOperator<'a> {
    /// Values in f64.
    Double(Stored<'a, f64>),
    /// Values in f32.
    Single(Stored<'a, f32>),
}

/// Calls a method of the matrix that is stored.
macro_rules! stored {
    ($operator:expr, $stored:ident => $call:expr) => {
        match $operator {
            DeviceOperator::Double($stored) => $call,
            DeviceOperator::Single($stored) => $call,
        }
    };
}
pub(crate) use stored;

impl Product<Cuda> for DeviceOperator<'_> {
    const ROW_BLOCK: usize = <Stored<'_> as Product<Cuda>>::ROW_BLOCK;

    fn extents(&self) -> (usize, usize) {
        stored!(self, stored => stored.extents())
    }

    fn bytes(&self) -> usize {
        stored!(self, stored => stored.bytes())
    }

    fn multiply(&self, space: &Cuda, x: &CudaArray<f64>, y: &mut CudaArray<f64>) -> Result<()> {
        stored!(self, stored => stored.multiply(space, x, y))
    }

    fn multiply_dot(
        &self,
        space: &Cuda,
        rows: Range<usize>,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<()> {
        stored!(self, stored => stored.multiply_dot(space, rows, x, y, sums, slot))
    }

    fn multiply_dot_exchanging(
        &self,
        space: &Cuda,
        interior: usize,
        exchange: &PeerExchange,
        x: &CudaArray<f64>,
        y: &mut CudaArray<f64>,
        sums: &mut Reductions<Cuda>,
        slot: usize,
    ) -> Result<bool> {
        stored!(self, stored => stored.multiply_dot_exchanging(space, interior, exchange, x, y, sums, slot))
    }
}
