//! CRS as a format: products read the arrays of a [`CrsMatrix`], on every space.

#[cfg(feature = "cuda")]
mod cuda;

#[cfg(feature = "cuda")]
pub use cuda::DeviceCrs;

use super::copy::Maker;
use super::slices::{first_fault, not_stored};
use crate::Result;
use crate::blas::Blas;
use crate::space::{Item, Slice, Threads};
use crate::sparse::{CrsMatrix, FormatCopy, Operator, Precision, RowProduct, Spmv, StoredValue};
use crate::{LocalOrdinal, RowOffset};
use rayon::prelude::*;

/// Values in single precision, on the graph of the assembled matrix; products read that matrix itself in f64.
pub(super) const MAKER: Maker = Maker {
    on_host: |space, values, graph| {
        Ok(match values {
            Precision::F64 => None,
            Precision::F32 => Some(Box::new(CrsMatrix::<f32>::unfilled_on(space, graph.clone())?)),
        })
    },
    #[cfg(feature = "cuda")]
    on_device: |space, values, graph| {
        Ok(match values {
            Precision::F64 => None,
            Precision::F32 => Some(Box::new(DeviceCrs::from(CrsMatrix::<f32, _>::unfilled_on(space, graph.clone())?))),
        })
    },
    lengths: |sizes, _| [sizes.shape.entries as u64, 0],
};

impl<V: Item, S: Blas + Spmv<V>> Operator<S> for CrsMatrix<V, S::Memory> {
    fn rows(&self) -> usize {
        self.graph().rows()
    }

    fn columns(&self) -> usize {
        self.graph().columns()
    }

    fn bytes(&self) -> usize {
        let (rows, columns) = (self.graph().rows(), self.graph().columns());
        let entry = size_of::<V>() + size_of::<LocalOrdinal>();
        entry * self.graph().nnz() + size_of::<RowOffset>() * (rows + 1) + size_of::<f64>() * (rows + columns)
    }

    fn apply(&self, space: &S, x: &mut Slice<S, f64>, y: &mut Slice<S, f64>) -> Result<()> {
        space.spmv(self, x, y)
    }

    fn row_block(&self) -> Option<usize> {
        Some(<S as Spmv<V>>::ROW_BLOCK)
    }

    fn apply_dot_rows(&self, space: &S, product: RowProduct<'_, S>) -> Result<()> {
        space.spmv_dot(self, product)
    }
}

/// CRS with values in single precision.
impl FormatCopy<Threads> for CrsMatrix<f32> {
    fn update(&mut self, space: &Threads, a: &CrsMatrix) -> Result<()> {
        to_single(space, a, self)
    }
}

/// Rounds the values of a matrix into those of a single-precision one on the same graph.
fn to_single(space: &Threads, a: &CrsMatrix, single: &mut CrsMatrix<f32>) -> Result<()> {
    let chunk = Threads::CHUNK;
    let mut faults = vec![None; a.values().len().div_ceil(chunk)];
    let tasks =
        single.parts_mut().1.par_chunks_mut(chunk).zip(a.values().par_chunks(chunk)).zip(&mut faults).enumerate();
    space.for_each(tasks, |(task, ((single, values), fault))| {
        for (i, (single, &value)) in single.iter_mut().zip(values).enumerate() {
            *single = f32::rounded(value);
            if fault.is_none() && !f32::holds(value, *single) {
                *fault = Some(task * chunk + i);
            }
        }
    });
    first_fault(&faults).map_or(Ok(()), |entry| Err(not_stored(a, entry)))
}
