//! A matrix on a host: the CRS matrix that assembly writes, and the storage made from it that products read.
//!
//! | format | products read, f64 | with f32 values |
//! |---|---|---|
//! | `crs` | the assembled matrix | its graph and rounded values |
//! | `pattern`, `symmetric` | slices | slices of rounded values |

use super::stored_value::{StoredValue, first_fault, not_stored};
use super::{Format, Formats, HostSlices, MatrixStorage, Precision, Product};
use crate::blas::Reductions;
use crate::space::HostSpace;
use crate::sparse::{CrsGraph, CrsMatrix};
use crate::{Error, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// One row in this many may lie in a slice without a table where `auto` chooses slices: such rows are no faster than in CRS.
const IRREGULAR: usize = 4;

/// A matrix on a host in a storage.
#[derive(Debug)]
pub struct HostMatrix {
    crs: CrsMatrix,
    copy: Copied,
    /// Whether the copy has the assembled values, and whether entries that share a place were equal then.
    copied: Option<bool>,
}

/// What products read in place of the assembled matrix.
#[derive(Debug)]
enum Copied {
    Nothing,
    Single(CrsMatrix<f32>),
    Slices(HostSlices<f64>),
    SingleSlices(HostSlices<f32>),
}

impl HostMatrix {
    /// Returns a matrix of a graph, with arbitrary values until it is assembled.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] where the memory cannot be had; [`Error::Invalid`] for [`Format::Sell`]; those of [`HostSlices::new`].
    pub fn new<S: HostSpace>(space: &S, storage: MatrixStorage, graph: Arc<CrsGraph>) -> Result<Self> {
        let copy = Copied::new(space, storage, &graph)?;
        Ok(HostMatrix { crs: CrsMatrix::unfilled_on(space, graph)?, copy, copied: None })
    }

    /// Returns the matrix that assembly writes.
    pub fn assembled(&self) -> &CrsMatrix {
        &self.crs
    }

    /// Returns the matrix that assembly wrote.
    pub fn into_assembled(self) -> CrsMatrix {
        self.crs
    }

    /// Returns the matrix that assembly writes, writable.
    pub fn assembled_mut(&mut self) -> &mut CrsMatrix {
        self.copied = None;
        &mut self.crs
    }

    /// Returns the matrix as products read it. Its values are those of the last [`update`](Formats::update).
    pub fn view(&self) -> HostStored<'_> {
        HostStored(match &self.copy {
            Copied::Nothing => Stored::Crs(&self.crs),
            Copied::Single(single) => Stored::Single(single),
            Copied::Slices(slices) => Stored::Slices(slices),
            Copied::SingleSlices(slices) => Stored::SingleSlices(slices),
        })
    }

    /// Returns the assembled matrix as an operand of products.
    pub fn assembled_view(&self) -> HostStored<'_> {
        HostStored(Stored::Crs(&self.crs))
    }
}

impl Copied {
    fn new<S: HostSpace>(space: &S, storage: MatrixStorage, graph: &Arc<CrsGraph>) -> Result<Self> {
        let symmetric = storage.format == Format::Symmetric;
        Ok(match (storage.format, storage.values) {
            (Format::Crs, Precision::F64) => Copied::Nothing,
            (Format::Crs, Precision::F32) => Copied::Single(CrsMatrix::unfilled_on(space, graph.clone())?),
            (Format::Sell, _) => return Err(sell_refused()),
            (Format::Pattern | Format::Symmetric, Precision::F64) => {
                Copied::Slices(HostSlices::new(space, graph, symmetric)?)
            }
            (Format::Pattern | Format::Symmetric, Precision::F32) => {
                Copied::SingleSlices(HostSlices::new(space, graph, symmetric)?)
            }
        })
    }
}

impl Copied {
    /// Takes the values of a matrix. Returns whether the entries that share a place were equal.
    fn update<S: HostSpace>(&mut self, space: &S, a: &CrsMatrix) -> Result<bool> {
        match self {
            Copied::Nothing => Ok(true),
            Copied::Single(single) => to_single(space, a, single).map(|()| true),
            Copied::Slices(slices) => slices.update(space, a),
            Copied::SingleSlices(slices) => slices.update(space, a),
        }
    }

    /// Whether most rows lie in slices with tables.
    fn is_regular(&self) -> bool {
        let (listed, rows) = match self {
            Copied::Nothing | Copied::Single(_) => return true,
            Copied::Slices(slices) => (slices.listed_rows(), slices.extents().0),
            Copied::SingleSlices(slices) => (slices.listed_rows(), slices.extents().0),
        };
        IRREGULAR * listed <= rows
    }
}

fn sell_refused() -> Error {
    Error::Invalid(
        "matrix.format (--format) sell: a GPU's format; on the cpu choose one of auto, crs, pattern, symmetric".into(),
    )
}

/// Replaces the refusals that a storage may have by another value.
fn unsuited<T>(result: Result<T>, other: T) -> Result<T> {
    match result {
        Err(Error::Invalid(_) | Error::OutOfMemory { .. }) => Ok(other),
        result => result,
    }
}

/// Rounds the values of a matrix into those of a single-precision one on the same graph.
fn to_single<S: HostSpace>(space: &S, a: &CrsMatrix, single: &mut CrsMatrix<f32>) -> Result<()> {
    let chunk = S::CHUNK;
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

impl<S: HostSpace> Formats for S {
    type Matrix = HostMatrix;

    fn update(&self, matrix: &mut HostMatrix) -> Result<bool> {
        let HostMatrix { crs, copy, copied } = matrix;
        if copied.is_some() {
            return Ok(false);
        }
        *copied = Some(copy.update(self, crs)?);
        Ok(!matches!(copy, Copied::Nothing))
    }

    const FORMATS: &'static [Format] = &[Format::Crs, Format::Pattern, Format::Symmetric];

    const FORMAT: Format = Format::Crs;

    const CHOICES: &'static [Format] = &[Format::Symmetric, Format::Pattern];

    fn store(&self, matrix: &mut HostMatrix, storage: MatrixStorage) -> Result<bool> {
        let copy = unsuited(Copied::new(self, storage, matrix.crs.graph()).map(Some), None)?;
        let Some(copy) = copy.filter(Copied::is_regular) else { return Ok(false) };
        (matrix.copy, matrix.copied) = (copy, None);
        let is_exact = self.update(matrix).map(|_| matrix.copied == Some(true));
        let suits = unsuited(is_exact, false)?;
        if !suits {
            matrix.copy = Copied::Nothing;
        }
        Ok(suits)
    }

    /// All storages but SELL, whose prototypes were no faster than CRS.
    fn check_storage(storage: MatrixStorage) -> Result<()> {
        if storage.format == Format::Sell { Err(sell_refused()) } else { Ok(()) }
    }

    fn assembled_len(matrix: &HostMatrix) -> usize {
        matrix.crs.values().len()
    }

    fn values_mut(matrix: &mut HostMatrix) -> &mut Vec<f64> {
        matrix.assembled_mut().values_mut()
    }
}

/// A matrix on a host as products read it.
#[derive(Clone, Copy, Debug)]
pub struct HostStored<'a>(Stored<'a>);

#[derive(Clone, Copy, Debug)]
enum Stored<'a> {
    Crs(&'a CrsMatrix),
    Single(&'a CrsMatrix<f32>),
    Slices(&'a HostSlices<f64>),
    SingleSlices(&'a HostSlices<f32>),
}

impl<S: HostSpace> Product<S> for HostStored<'_> {
    const ROW_BLOCK: usize = S::CHUNK;

    // The rows of a slice of nodes read the same columns, where some multiply them by 0. Slices lie in such blocks.
    fn row_block(&self) -> usize {
        match self.0 {
            Stored::Crs(_) | Stored::Single(_) => S::CHUNK,
            Stored::Slices(a) => a.dofs() * S::CHUNK,
            Stored::SingleSlices(a) => a.dofs() * S::CHUNK,
        }
    }

    fn extents(&self) -> (usize, usize) {
        match self.0 {
            Stored::Crs(a) => Product::<S>::extents(&a),
            Stored::Single(a) => Product::<S>::extents(&a),
            Stored::Slices(a) => a.extents(),
            Stored::SingleSlices(a) => a.extents(),
        }
    }

    fn bytes(&self) -> usize {
        let (rows, columns) = Product::<S>::extents(self);
        let vectors = size_of::<f64>() * (rows + columns);
        match self.0 {
            Stored::Crs(a) => Product::<S>::bytes(&a),
            Stored::Single(a) => Product::<S>::bytes(&a),
            Stored::Slices(a) => a.bytes() + vectors,
            Stored::SingleSlices(a) => a.bytes() + vectors,
        }
    }

    fn multiply(&self, space: &S, x: &[f64], y: &mut [f64]) -> Result<()> {
        match self.0 {
            Stored::Crs(a) => a.multiply(space, x, y),
            Stored::Single(a) => a.multiply(space, x, y),
            Stored::Slices(a) => a.spmv(space, 1.0, x, 0.0, y),
            Stored::SingleSlices(a) => a.spmv(space, 1.0, x, 0.0, y),
        }
    }

    fn multiply_dot(
        &self,
        space: &S,
        rows: Range<usize>,
        x: &[f64],
        y: &mut [f64],
        sums: &mut Reductions<S>,
        slot: usize,
    ) -> Result<()> {
        match self.0 {
            Stored::Crs(a) => a.multiply_dot(space, rows, x, y, sums, slot),
            Stored::Single(a) => a.multiply_dot(space, rows, x, y, sums, slot),
            Stored::Slices(a) => a.spmv_dot(space, rows, x, y, sums, slot),
            Stored::SingleSlices(a) => a.spmv_dot(space, rows, x, y, sums, slot),
        }
    }
}
