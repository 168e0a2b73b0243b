//! A matrix in compressed-row storage: values on a shared graph.
//!
//! Matrices on one graph share it, so that a new Jacobian costs only its values.

use super::CrsGraph;
use crate::Result;
use crate::error::check_length;
use crate::space::{ExecutionSpace, HostMemory, Item, MemorySpace, zeroed};
use std::sync::Arc;

/// Compressed-row matrix: a shared graph and one value of type `V` per entry.
#[derive(Clone, Debug)]
pub struct CrsMatrix<V: Item = f64, M: MemorySpace = HostMemory> {
    graph: Arc<CrsGraph<M>>,
    values: M::Array<V>,
}

/// A [`CrsMatrix`] of f64 in the memory of space `S`.
pub type MatrixOf<S> = CrsMatrix<f64, <S as ExecutionSpace>::Memory>;

impl<V: Item> CrsMatrix<V> {
    /// Makes a matrix from a graph and its values.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is one value per entry.
    pub fn new(graph: Arc<CrsGraph>, values: Vec<V>) -> Result<Self> {
        check_length("CrsMatrix::new", "values", values.len(), graph.nnz())?;
        Ok(CrsMatrix { graph, values })
    }

    /// Returns the zero matrix on a graph. As `vec!`, it aborts when the memory is not available;
    /// [`zeros_on`](Self::zeros_on) returns an error instead.
    pub fn zero(graph: Arc<CrsGraph>) -> Self {
        let values = zeroed(graph.nnz());
        CrsMatrix { graph, values }
    }

    /// Copies the matrix into the memory of a space. The copy has its own graph, so it shares none with other copies.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available, [`Error::Device`](crate::Error::Device)
    /// when a device fails.
    pub fn upload<S: ExecutionSpace>(&self, space: &S) -> Result<CrsMatrix<V, S::Memory>> {
        Ok(CrsMatrix { graph: Arc::new(self.graph.upload(space)?), values: space.upload(&self.values)? })
    }

    /// Returns the value at (row, column), or `None` if the graph has no such row or entry.
    pub fn get(&self, row: usize, column: u32) -> Option<V> {
        if row >= self.graph.rows() {
            return None;
        }
        let position = self.graph.row(row).binary_search(&column).ok()?;
        Some(self.values[self.graph.row_range(row).start + position])
    }
}

impl<V: Item, M: MemorySpace> CrsMatrix<V, M> {
    /// Returns the zero matrix on a graph in a space's memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    pub fn zeros_on(space: &impl ExecutionSpace<Memory = M>, graph: Arc<CrsGraph<M>>) -> Result<Self> {
        let values = space.zeros(graph.nnz())?;
        Ok(CrsMatrix { graph, values })
    }

    /// Returns a matrix with arbitrary values, to be written before they are read.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available.
    #[cfg_attr(not(feature = "cli"), allow(dead_code))]
    pub(crate) fn unfilled_on(space: &impl ExecutionSpace<Memory = M>, graph: Arc<CrsGraph<M>>) -> Result<Self> {
        let values = space.to_be_written(graph.nnz())?;
        Ok(CrsMatrix { graph, values })
    }

    /// Takes one value per entry of the graph.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn from_parts(graph: Arc<CrsGraph<M>>, values: M::Array<V>) -> Self {
        CrsMatrix { graph, values }
    }

    /// Returns the graph and the values, the latter writable: one per entry, in the order of the graph's entries. Their number stays:
    ///
    /// ```compile_fail,E0599
    /// # fn grow(matrix: &mut minifenl::sparse::CrsMatrix) {
    /// let (_, values) = matrix.parts_mut();
    /// values.push(1.0);
    /// # }
    /// ```
    pub fn parts_mut(&mut self) -> (&CrsGraph<M>, &mut M::Slice<V>) {
        (&self.graph, M::slice_mut(&mut self.values))
    }

    /// Returns the values as an array, whose length the caller keeps.
    pub(crate) fn values_mut(&mut self) -> &mut M::Array<V> {
        &mut self.values
    }

    /// Returns the graph and the values.
    pub fn into_parts(self) -> (Arc<CrsGraph<M>>, M::Array<V>) {
        (self.graph, self.values)
    }

    /// Returns the graph.
    pub fn graph(&self) -> &Arc<CrsGraph<M>> {
        &self.graph
    }

    /// Returns the value of each entry, in the order of the graph's entries.
    pub fn values(&self) -> &M::Array<V> {
        &self.values
    }
}

#[cfg(feature = "cuda")]
impl<V: Item> CrsMatrix<V, crate::space::CudaMemory> {
    /// Copies the values on the device; both matrices share the graph.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) when the memory is not available, [`Error::Device`](crate::Error::Device)
    /// when the GPU fails.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(CrsMatrix { graph: self.graph.clone(), values: self.values.try_clone()? })
    }
}
