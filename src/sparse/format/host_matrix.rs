//! A matrix on a host: the CRS matrix that assembly writes, and the storage made from it that products read.
//!
//! | format | products read, f64 | with f32 values |
//! |---|---|---|
//! | `crs` | the assembled matrix | its graph and rounded values |
//! | `pattern`, `symmetric` | slices | slices of rounded values |

use super::copy::HostCopy;
use super::{Format, FormatCopy, Formats, MatrixSizes, MatrixStorage};
use crate::space::Threads;
use crate::sparse::{CrsGraph, CrsMatrix, Operator};
use crate::{Error, Result};
use std::sync::Arc;

/// One row in this many may lie in a slice without a table where `auto` chooses slices: such rows are no faster than in CRS.
const IRREGULAR: usize = 4;

/// A matrix on a host in a storage.
#[derive(Debug)]
pub struct HostMatrix {
    crs: CrsMatrix,
    /// What products read in place of the assembled matrix.
    copy: HostCopy,
    /// Whether the copy has the assembled values, and whether entries that share a place were equal then.
    copied: Option<bool>,
}

impl HostMatrix {
    /// Returns a matrix of a graph, with arbitrary values until it is assembled.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; those of the format.
    pub fn new(space: &Threads, storage: MatrixStorage, graph: Arc<CrsGraph>) -> Result<Self> {
        let copy = (storage.format.maker().on_host)(space, storage.values, &graph)?;
        Ok(HostMatrix { crs: CrsMatrix::unfilled_on(space, graph)?, copy, copied: None })
    }

    /// Returns the bytes of the values and of what products read in their place.
    pub fn bytes(storage: MatrixStorage, sizes: &MatrixSizes) -> u64 {
        8 * sizes.shape.entries as u64 + storage.copy_bytes(sizes, false)
    }

    /// Returns the matrix that assembly writes.
    pub fn assembled(&self) -> &CrsMatrix {
        &self.crs
    }

    /// Returns the matrix that assembly writes, writable.
    pub fn assembled_mut(&mut self) -> &mut CrsMatrix {
        self.copied = None;
        &mut self.crs
    }

    /// Returns the matrix as products read it: in its storage after an [`update`](Formats::update), as it is assembled before.
    pub fn operator(&self) -> &dyn Operator<Threads> {
        match &self.copy {
            Some(copy) if self.copied.is_some() => &**copy,
            _ => &self.crs,
        }
    }
}

/// Replaces the refusals that a storage may have by another value.
fn unsuited<T>(result: Result<T>, other: T) -> Result<T> {
    match result {
        Err(Error::Invalid(_) | Error::OutOfMemory { .. }) => Ok(other),
        result => result,
    }
}

impl Formats for Threads {
    type Matrix = HostMatrix;

    fn operator(matrix: &HostMatrix) -> &dyn Operator<Threads> {
        matrix.operator()
    }

    fn in_f64(matrix: &HostMatrix) -> &dyn Operator<Threads> {
        &matrix.crs
    }

    fn update(&self, matrix: &mut HostMatrix) -> Result<bool> {
        let HostMatrix { crs, copy, copied } = matrix;
        if copied.is_some() {
            return Ok(false);
        }
        *copied = Some(copy.as_mut().map_or(Ok(true), |copy| copy.update(self, crs))?);
        Ok(copy.is_some())
    }

    const FORMAT: Format = Format::Crs;

    const CHOICES: &'static [Format] = &[Format::Symmetric, Format::Pattern];

    fn store(&self, matrix: &mut HostMatrix, storage: MatrixStorage) -> Result<bool> {
        let rows = matrix.crs.graph().rows();
        let is_regular = |copy: &dyn FormatCopy<Threads>| IRREGULAR * copy.irregular_rows() <= rows;
        // Made, whether or not there is a copy.
        let made =
            unsuited((storage.format.maker().on_host)(self, storage.values, matrix.crs.graph()).map(Some), None)?;
        let Some(copy) = made.filter(|copy| copy.as_deref().is_none_or(is_regular)) else { return Ok(false) };
        (matrix.copy, matrix.copied) = (copy, None);
        let is_exact = self.update(matrix).map(|_| matrix.copied == Some(true));
        let suits = unsuited(is_exact, false)?;
        if !suits {
            matrix.copy = None;
        }
        Ok(suits)
    }

    fn crs(matrix: &HostMatrix) -> Result<&CrsMatrix> {
        Ok(&matrix.crs)
    }

    fn assembled<'a>(&self, matrix: &'a HostMatrix, _: &'a mut Option<CrsMatrix>) -> Result<&'a CrsMatrix> {
        Ok(&matrix.crs)
    }

    fn assembled_len(matrix: &HostMatrix) -> usize {
        matrix.crs.values().len()
    }

    fn values_mut(matrix: &mut HostMatrix) -> &mut Vec<f64> {
        matrix.assembled_mut().values_mut()
    }
}
